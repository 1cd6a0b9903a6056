#!/usr/bin/env python3
"""One exchange (submit, output, acknowledge) cut at every byte, in both directions: nothing lost, nothing doubled."""
import concurrent.futures
import json
import socket

import harness
from harness import Client, Closed, eq, request

WORKERS = 4


def requests_for(name, effects):
    command = f"echo {name} >>{effects}; echo out of {name}"
    body = json.dumps({"action": "run", "args": {"command": command, "session": "s" + name[-1], "blocking": True}}).encode()
    return [request("PUT", f"/v1/actions/{name}?wait=20", body, Content_Length=str(len(body))),
            request("GET", f"/v1/actions/{name}/out"),
            request("DELETE", f"/v1/actions/{name}")]


def cut_sending(client, asked, at, end):
    """Sends so many bytes, each request behind the answer to the one before, and leaves."""
    with client.conn() as c:
        for one in asked:
            c.send(one[:at])
            if at < len(one):
                break
            at -= len(one)
            c.response()
        end(c)


def cut_receiving(client, asked, at, end):
    """The same, but leaves when so many bytes of answers have come."""
    with client.conn() as c:
        for one in asked:
            c.send(one)
            left, size = at, None
            while left and (size is None or size > 0):
                data = c.sock.recv(min(left, size or left))
                if not data:
                    raise Closed(b"")
                left -= len(data)
                c.data += data
                if size is None and b"\r\n\r\n" in c.data:
                    head, rest = c.data.split(b"\r\n\r\n", 1)
                    size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]) - len(rest)
                elif size is not None:
                    size -= len(data)
            if not left:
                break
            at, c.data = left, b""
        end(c)


def fin(c):
    c.sock.shutdown(socket.SHUT_RDWR)


def rst(c):
    c.reset()


def whole(client, asked):
    """The exchange without a cut: its answers."""
    with client.conn() as c:
        return [c.send(one).response() for one in asked]


def one_run(client, effects, name, cut, at, end):
    """What is wrong, or None."""
    asked = requests_for(name, effects)
    cut(client, asked, at, end)
    done, out, acked = whole(client, asked)
    want = f"out of {name}"
    if done.status != 200 or done.json()["observation"]["content"] != want:
        return f"{cut.__name__} at {at}: {done!r}"
    # What was acknowledged before the cut keeps no bytes.
    if out.body not in (want.encode() + b"\r\n", b"") or (not out.body and not out.field("x-gap")):
        return f"{cut.__name__} at {at}: {out!r}"
    if acked.status != 200:
        return f"{cut.__name__} at {at}: {acked!r}"
    return None


def test_cut():
    with Client() as client:
        effects = client.work + "/effects"
        asked = requests_for("first-00000-0", effects)
        answers = whole(client, asked)
        eq([r.status for r in answers], [200, 200, 200], "the exchange")
        sent = sum(map(len, asked))
        got = received(client, asked)
        runs = [(cut, at, end) for cut, n in ((cut_sending, sent), (cut_receiving, got)) for at in range(1, n) for end in (fin, rst)]

        def work(w):
            for i in range(w, len(runs), WORKERS):
                found = one_run(client, effects, f"cut-{i:05}-{w}", *runs[i])
                if found:
                    return found
            return None

        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            wrong = [r for r in pool.map(work, range(WORKERS)) if r]
        eq(wrong, [], f"cut {len(runs)} times, with FIN and RST")
        with open(effects, encoding="ascii") as f:
            names = f.read().split()
        eq(len(names), len(runs) + 1, "each was done")
        eq(len(set(names)), len(names), "once")


def received(client, asked):
    """How many bytes the answers have; those of an exchange that is repeated are a bit longer."""
    total = 0
    with client.conn() as c:
        for one in asked:
            c.send(one)
            data = b""
            while b"\r\n\r\n" not in data:
                data += c.sock.recv(65536)
            head, rest = data.split(b"\r\n\r\n", 1)
            size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            while len(rest) < size:
                rest += c.sock.recv(65536)
            total += len(head) + 4 + size
    return total


if __name__ == "__main__":
    harness.main()
