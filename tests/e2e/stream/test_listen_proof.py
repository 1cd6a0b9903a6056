#!/usr/bin/env python3
"""od-runtime listen: a sandbox proves its session key, and the key of a client never leaves the backend."""
import hashlib
import hmac
import os
import threading

import harness
from fake_sandbox import SECRETS, Fake, saw_nothing, shows
from harness import Conn, action, eq, has, ok, request, until
from test_dial_proof import VERIFIER, proof
from test_listen import DIGEST, KEY, Listen, closed, dialled
from wire import Wire
from ws_peer import Stream, WebSocket, upgrade


def test_stolen_token():
    """A token without the key gives a name, and no request with a key."""
    with Listen() as l:
        with Fake(l) as fake:
            client = shows(l)
            challenge = fake.prove(os.urandom(32))
            got = client.response()
            eq(got.status, 403, "a proof by another key: the client is refused")
            has(got.json()["detail"], "did not prove", "the error says why")
            eq(shows(l).response().status, 403, "so is the next client, by the proof that was given")
            with Conn(l.port) as conn:
                conn.send(request("GET", "/sandboxes/v/alive"))
                frame, data = fake.answer(b"hello")
                ok("authorized" not in frame, "a request without a key opens a plain channel", frame)
                has(data, b"GET /alive HTTP/1.1", "a request without a key is relayed")
                eq(conn.response().body, b"hello", "its answer comes back")
            eq(fake.frames.count("prove"), 1, "one proof is asked for on a connection")
            ok("proof" not in fake.frames, "the backend proves nothing to it", fake.frames)
            saw_nothing(fake, "a sandbox with a stolen token")
        old = fake.nonce, proof("sandbox", fake.nonce, challenge, "v")
        with Fake(l, nonce=old[0]) as fake:
            client = shows(l)
            fake.expect("prove")
            fake.say("proof", proof=old[1])
            eq(client.response().status, 403, "the proof of an earlier connection is refused")
            saw_nothing(fake, "one that replays a proof")


def test_reflection():
    """A proof is that of one role, one name, and two nonces."""
    with Listen() as l:
        for name, make in (
                ("the backend's proof", lambda f, c: proof("backend", f.nonce, c, "v")),
                ("a proof for another name", lambda f, c: proof("sandbox", f.nonce, c, "w")),
                ("a proof with the nonces exchanged", lambda f, c: proof("sandbox", c, f.nonce, "v")),
                ("a proof without a label",
                 lambda f, c: hmac.new(VERIFIER, bytes.fromhex(f.nonce + c), hashlib.sha256).hexdigest()),
                ("the digest of the key", lambda f, c: DIGEST)):
            with Fake(l) as fake:
                client = shows(l)
                challenge = fake.expect("prove")["nonce"]
                fake.say("proof", proof=make(fake, challenge))
                eq(client.response().status, 403, f"{name} is refused")
                client.close()
                fake.ws.conn.reset()
            ok(until(lambda: not l.connected("v")), "the name is free")
        for name, frames in (("a proof that nobody asked for", [{"proof": "0" * 64}]),
                             ("a proof that is no hex", None)):
            with Fake(l) as fake:
                ok(until(lambda: l.connected("v")), "a sandbox dials in")
                if not frames:
                    client = shows(l)
                    fake.expect("prove")
                    frames = [{"proof": "x" * 64}]
                fake.say("proof", **frames[0])
                eq(closed(fake.ws), 1008, f"{name} ends the connection")
            ok(until(lambda: not l.connected("v")), "the name is free")
        eq(client.response().status, 503, "the client that waited for it may try again")


def test_no_proof():
    with Listen() as l:
        with Fake(l, nonce="00") as fake:
            ok(until(lambda: l.connected("v")), "a sandbox of an earlier version dials in")
            got = shows(l).response()
            eq(got.status, 502, "a request with a key is refused")
            has(got.json()["detail"], "update its od-runtime-client", "the error says what to do")
            ok(not fake.frames, "the sandbox sees nothing of it", fake.frames)
        ok(until(lambda: not l.connected("v")), "it leaves")
        with Fake(l) as fake:
            ok(until(lambda: l.connected("v")), "a sandbox that does not answer")
            client = shows(l)
            challenge = fake.expect("prove")["nonce"]
            got = client.response(20)
            eq([got.status, got.field("retry-after")], [504, "1"], "the wait for a proof is bounded")
            waiting = [shows(l) for _ in range(5)]
            ok(until(lambda: l.list()[0]["requests"] == 5), "requests that wait count as requests")
            gone = shows(l)
            ok(until(lambda: l.list()[0]["requests"] == 6), "one more waits")
            gone.reset()
            ok(until(lambda: l.list()[0]["requests"] == 5), "a client that leaves frees its place")
            wrong = shows(l, key="another")
            ok(until(lambda: l.list()[0]["requests"] == 6), "one with another key waits, too")
            fake.say("proof", proof=proof("sandbox", fake.nonce, challenge, "v"))
            eq(wrong.response().status, 403, "a late proof counts: a wrong key is refused")
            eq(fake.expect("proof")["proof"], proof("backend", fake.nonce, challenge, "v"),
               "the backend proves the key in turn")
            for _ in range(5):
                frame, data = fake.answer(b"x")
                ok(frame["authorized"] is True and b"body-canary" in data, "a request of the right key arrives", frame)
            eq([c.response().status for c in waiting], [200] * 5, "all who waited are answered")
            eq(shows(l, key="another").response().status, 403, "a wrong key is refused at once")
            eq([fake.frames.count(t) for t in ("prove", "open")], [1, 5], "the sandbox sees nothing of that")
            for what, secret in SECRETS[:3]:
                ok(secret not in fake.seen, f"it receives the requests without {what}", fake.seen)


def test_full():
    """Requests that wait for a proof have the share of a sandbox, and no more."""
    with Listen() as l, Fake(l) as fake:
        ok(until(lambda: l.connected("v")), "a sandbox dials in")
        waiting = [shows(l) for _ in range(64)]
        ok(until(lambda: l.list()[0]["requests"] == 64), "64 requests wait for its proof")
        eq(shows(l).response().status, 503, "one more is refused")
        fake.ws.conn.reset()
        eq({c.response().status for c in waiting}, {503}, "all may try again when it leaves")


class Sniffer(Wire):
    """Keeps all that passes."""

    def __init__(self, to):
        self.seen, self.lock = {"near": b"", "far": b""}, threading.Lock()
        super().__init__(to)

    def carry(self, near, far):
        ends = {near: (far, "near"), far: (near, "far")}

        def pump(one):
            other, name = ends[one]
            try:
                while data := one.recv(65536):
                    with self.lock:
                        self.seen[name] += data
                    other.sendall(data)
                other.shutdown(1)
            except OSError:
                pass
        threads = [threading.Thread(target=pump, args=(one,), daemon=True) for one in ends]
        for t in threads:
            t.start()
        for t in threads:
            t.join()




def payloads(data):
    """The frames of a WebSocket's client, without their masks."""
    data, out = data.split(b"\r\n\r\n", 1)[1], b""
    while len(data) >= 6:
        n, at = data[1] & 127, 2
        if n == 126:
            n, at = int.from_bytes(data[2:4], "big"), 4
        elif n == 127:
            n, at = int.from_bytes(data[2:10], "big"), 10
        mask = data[at:at + 4]
        out += bytes(b ^ mask[i % 4] for i, b in enumerate(data[at + 4:at + 4 + n]))
        data = data[at + 4 + n:]
    return out


def ask_all_ways(l, box):
    """Requests with the key in every form that the sandbox accepts; what should have worked."""
    path, body = f"/sandboxes/{box}/v1/sessions", action("run", command="echo fine")
    for name, fields in (("its own header", {"X_Session_API_Key": KEY}), ("a bearer token", {"Authorization": "Bearer " + KEY}),
                         ("a bearer token in other letters", {"Authorization": "bEARER  " + KEY}),
                         ("two headers", {"X_Session_API_Key": KEY, "Authorization": "Bearer " + KEY}),
                         ("another header and a wrong bearer", {"X_Session_API_Key": KEY, "Authorization": "Bearer no" + KEY})):
        with Conn(l.port) as conn:
            eq(conn.send(request("GET", path, **fields)).response().status, 200, f"the key in {name} counts")
    for name, fields in (("two keys", f"X-Session-API-Key: {KEY}\r\nX-Session-API-Key: {KEY}\r\n"),
                         ("a key behind a tab", f"Authorization: Bearer\t{KEY}\r\n"),
                         ("an empty key, and one elsewhere", f"X-Session-API-Key:\r\nAuthorization: Bearer {KEY}\r\n")):
        with Conn(l.port) as conn:
            conn.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n{fields}\r\n".encode())
            eq(conn.response().status, 403, f"{name} does not count")
    for name, fields in (("its own header", {"key": KEY}),
                         ("a subprotocol", {"Sec_WebSocket_Protocol": "od.stream.v1, od.key." + KEY})):
        conn, answer = upgrade(l.port, f"/sandboxes/{box}/v1/stream", **fields)
        eq(answer.status, 101, f"a WebSocket with the key in {name}")
        s = Stream(WebSocket(conn))
        s.say("open", id=1, kind="terminal")
        s.expect("opened")
        s.put_in(1, b"echo $((6*7))\r")
        s.until(1, b"42\r\n")
        s.close()
    again = request("GET", path, X_Session_API_Key=KEY)
    for name, first in (("a request", request("GET", path, X_Session_API_Key=KEY)),
                        ("a body", request("POST", f"/sandboxes/{box}/execute_action", body, X_Session_API_Key=KEY)),
                        ("a chunked body",
                         f"POST /sandboxes/{box}/execute_action HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: {KEY}\r\n"
                         f"Transfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")):
        with Conn(l.port) as conn:
            conn.send(first + again)
            eq(conn.response().status, 200, f"{name} with another request behind it is answered")
            conn.send(again)
            ok(conn.closed(), "the connection carries no second one")
    conn, answer = upgrade(l.port, f"/sandboxes/{box}/v1/sessions", KEY)
    ok(answer.status != 101, "a WebSocket is refused", answer)
    try:
        conn.send(again)
        conn.send(again)
    except OSError:
        pass
    ok(conn.closed(), "the refused one carries no next request")
    conn.close()
    with Conn(l.port) as conn:
        conn.send(f"POST /sandboxes/{box}/execute_action HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: {KEY}\r\n"
                  f"Transfer-Encoding: chunked\r\n\r\nzz\r\n{KEY}".encode())
        eq(conn.response().status, 400, "malformed chunks")


def test_sniffer():
    """Between the sandbox and the backend, without TLS, the key is in no byte."""
    with Listen() as l, Sniffer(l.port) as wire, dialled(l, "v", port=wire.port) as c:
        with Conn(l.port) as conn:
            eq(conn.send(request("GET", "/sandboxes/v/v1/sessions")).response().status, 403, "the sandbox wants a key")
        ask_all_ways(l, "v")
        got = shows(l, key="another").response()
        eq([got.status, got.json()["detail"][:15]], [403, "Invalid API Key"], "a wrong key is refused")
        got = l.ask("GET", "/sandboxes/v/v1/sessions", X_Lease="3")
        eq(got.status, 200, "a lease is shown by way of it")
        got = l.ask("GET", "/sandboxes/v/v1/sessions", X_Lease="2")
        eq(got.status, 409, "an older one is refused")
        with wire.lock:
            head, near, far = wire.seen["near"][:1000], payloads(wire.seen["near"]), wire.seen["far"]
        has(near, b'"nonce":"', "the sandbox offers a proof")
        has(near, b"42\r\n", "(and what it sends can be read)")
        eq(far.count(b'"type":"prove"'), 1, "one proof is asked for")
        has(far, b'"authorized":true', "(and what the backend sends can be read)")
        for what, secret in SECRETS[:3]:
            ok(secret not in far, f"the backend does not send {what}")
            ok(secret not in head + near, f"the sandbox does not send {what}")
        ok(KEY not in c.log(), "nor does the log of the sandbox have it")


if __name__ == "__main__":
    harness.main()
