#!/usr/bin/env python3
"""--connect: the sandbox proves its session key to a backend, and accepts the backend's proof."""
import hashlib
import hmac
import os

import harness
from harness import Client, Closed, Conn, action, eq, has, ok, request, until
from test_dial import DIGEST, KEY, Backend
from ws_peer import CLOSE, Stream

VERIFIER = hashlib.sha256(KEY.encode()).digest()


def proof(role, nonce, challenge, box, verifier=VERIFIER):
    """The proof of net/proof.h, made by another implementation of HMAC."""
    text = f"od-runtime {role} proof\0".encode() + bytes.fromhex(nonce) + bytes.fromhex(challenge) + box.encode()
    return hmac.new(verifier, text, hashlib.sha256).hexdigest()


def test_proof():
    """The sandbox accepts a valid proof of a backend, once."""
    with Backend() as b, Client("--key-sha256", DIGEST, "--connect", f"ws://127.0.0.1:{b.port}/", "--connect-id", "v") as c:
        def meet():
            s = b.stream()
            return s, s.expect("hello")["nonce"]
        challenge = os.urandom(16).hex()
        s, nonce = meet()
        eq(len(nonce), 32, "its hello has a nonce of 16 bytes")
        s.say("open", id=1, kind="http", authorized=True)
        eq(s.expect("closed", id=1)["status"], 403, "no channel is authorized before the proof")
        s.say("prove", nonce="12")
        has(s.expect("error")["detail"], "16 bytes", "a short nonce is refused")
        s.say("prove", nonce=challenge)
        mine = s.expect("proof")["proof"]
        eq(mine, proof("sandbox", nonce, challenge, "v"), "its proof is that of another implementation")
        s.say("prove", nonce=os.urandom(16).hex())
        has(s.expect("error")["detail"], "once", "it proves once")
        s.say("open", id=2, kind="http", authorized=True)
        eq(s.expect("closed", id=2)["status"], 403, "to ask for its proof is not to prove")
        s.say("proof", proof=mine)
        try:
            while True:
                s.step()
        except Closed as e:
            eq(e.args[0][:2], b"\x03\xf0", "its own proof, sent back, ends the stream")
            s.ws.frame(CLOSE, e.args[0][:2])
        ok(until(lambda: "no connection to the backend: the backend's proof is wrong" in c.log()),
           "the log has the reason of this side", c.log())
        s.close()
        s, _ = meet()
        s.ws.frame(CLOSE, b"\x03\xf0no space \xe2\x9c\x97 here")
        ok(until(lambda: "no connection to the backend: no space ??? here" in c.log()),
           "the log has the reason of the backend in printable characters", c.log())
        s.close()
        s, other = meet()
        ok(other != nonce, "each stream has a nonce of its own")
        s.say("prove", nonce=challenge)
        s.expect("proof")
        s.say("proof", proof=proof("backend", other, challenge, "v"))
        s.say("open", id=1, kind="http", authorized=True)
        s.expect("opened", id=1)
        s.put_in(1, request("POST", "/execute_action", action("run", command="echo prov''ed")))
        has(s.until(1, b"proved"), b"200 OK", "behind the proof a request needs no key")
        s.say("open", id=2, kind="http")
        s.put_in(2, request("GET", "/v1/sessions"))
        has(s.until(2, b"Invalid API Key"), b"403", "in a plain channel it does")
        s.say("lease", lease=4)
        eq(s.expect("lease")["lease"], 4, "the proof counts as the key: for leases")
        s.say("open", id=3, kind="session")
        s.expect("opened", id=3)
        ok(True, "and for channels")
        s.say("proof", proof=proof("backend", other, challenge, "v"))
        has(s.expect("error")["detail"], "No proof was requested", "a proof counts once")
        with Conn(c.port) as conn:
            conn.send(request("GET", "/v1/sessions", X_Session_API_Key=DIGEST))
            eq(conn.response().status, 403, "the digest of the key is no key")
        inbound = Stream.connect(c.port, KEY)
        ok("nonce" not in inbound.expect("hello"), "a stream that others open offers no proof")
        inbound.say("prove", nonce=challenge)
        has(inbound.expect("error")["detail"], "hello has a nonce", "it answers no challenge")
        inbound.say("proof", proof=proof("backend", "00" * 16, "00" * 16, "v"))
        has(inbound.expect("error")["detail"], "No proof was requested", "and takes no proof")
        inbound.say("open", id=1, kind="http", authorized=True)
        eq(inbound.expect("closed", id=1)["status"], 403, "nor are its channels authorized")
        inbound.close()
        s.close()
    with Backend() as b, Client("--connect", f"ws://127.0.0.1:{b.port}/"):
        s = b.stream()
        ok("nonce" not in s.expect("hello"), "a sandbox without a key offers no proof")
        s.close()


if __name__ == "__main__":
    harness.main()
