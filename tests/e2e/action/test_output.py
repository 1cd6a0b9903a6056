#!/usr/bin/env python3
"""What actions print, by offset: as it comes, after a crash of the server and a restart of the box."""
import base64
import hashlib
import json
import os
import signal
import tempfile
import time

import harness
from harness import DEADLINE, Client, Gate, descendants, eq, has, ok, request, until

from test_actions import ask, get, keyed, put
from test_crash import answers, murder
from ws_peer import Stream


def out(client, name, query="", **fields):
    return ask(client, "GET", f"/v1/actions/{name}/out{query}", **fields)


def numbers(last):
    return b"".join(b"%d\r\n" % i for i in range(1, last + 1))


def collect(client, name, start=0):
    """All of an output in parts: its bytes, its gaps, the last reply."""
    data, gaps, at = [], [], start
    while True:
        r = out(client, name, f"?from={at}&wait=20")
        if r.status != 200:
            raise RuntimeError(f"{r!r}")
        if r.field("x-gap"):
            gaps.append(tuple(map(int, r.field("x-gap").split("-"))))
        data.append(r.body)
        done = r.field("x-state") not in ("accepted", "running")
        if done and int(r.field("x-next-offset")) == int(r.field("x-length")):
            return b"".join(data), gaps, r
        at = int(r.field("x-next-offset"))


def events(client, name, query="", last=None, stop=None):
    """The events of a stream up to its end, or until stop(events)."""
    got = []
    with client.conn() as c:
        more = {"Last_Event_ID": str(last)} if last is not None else {}
        c.send(request("GET", f"/v1/actions/{name}/out{query}", Accept="text/event-stream", **more))
        for block in stream(c):
            fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
            if "event" not in fields:
                continue
            got.append((fields["event"], int(fields["id"]), json.loads(fields["data"])))
            if fields["event"] == "end" or (stop and stop(got)):
                return got
    return got


def stream(conn):
    """Blocks of a text/event-stream that comes in chunks."""
    text = b""
    end = time.monotonic() + DEADLINE
    has(conn._until(b"\r\n\r\n", end).decode(), "text/event-stream", "a stream of events")
    while True:
        size = int(conn._until(b"\r\n", end), 16)
        if not size:
            return
        text += conn._take(size, end)
        conn._take(2, end)
        while b"\n\n" in text:
            block, text = text.split(b"\n\n", 1)
            yield block.decode()


def joined(got):
    return b"".join(d["text"].encode() if "text" in d else base64.b64decode(d["base64"])
                    for kind, _, d in got if kind == "out")


def test_parts():
    with Client() as client:
        put(client, "a", "printf 'one\\ntwo'; printf '\\033[31mred\\r'", "?wait=20")
        r = out(client, "a")
        want = b"one\r\ntwo\x1b[31mred\r"
        eq((r.status, r.body), (200, want), "what the terminal got, byte by byte")
        eq([r.field(f) for f in ("x-state", "x-offset", "x-next-offset", "x-length", "x-gap")],
           ["done", "0", str(len(want)), str(len(want)), None], "and where it stands")
        eq(r.field("x-sha256"), hashlib.sha256(want).hexdigest(), "its digest")
        for at in range(len(want) + 1):
            eq(out(client, "a", f"?from={at}").body, want[at:], f"from {at} on")
        eq(out(client, "a", "?from=3&max=4").body, want[3:7], "a part")
        eq(out(client, "a", f"?from={len(want) + 1}").status, 416, "beyond the end")
        eq(out(client, "a", "?from=x").status, 422, "no number")
        eq(out(client, "b").status, 404, "no such action")
        part = out(client, "a", Range="bytes=4-8")
        eq((part.status, part.body, part.field("content-range")), (206, want[4:9], f"bytes 4-8/{len(want)}"), "a range")
        eq(out(client, "a", Range="bytes=99-").status, 416, "one beyond the end")
        eq(out(client, "a", Range="lines=1-2").status, 200, "another unit")
        ask(client, "PUT", "/v1/actions/r?wait=9", b'{"action":"read","args":{"path":"/etc/hostname"}}')
        r = out(client, "r")
        eq((r.status, r.body, r.field("x-length"), r.field("x-sha256")), (200, b"", "0", None), "who prints nothing")
        keyed(client, "k", "echo keyed")
        eq(out(client, "k").body, b"keyed\r\n", "of a request with a key")
        put(client, "s", "echo static", "?wait=9", is_static=True)
        eq(out(client, "s").body, b"static\r\n", "of a shell of its own")
        eq(ask(client, "DELETE", "/v1/actions/a").status, 200, "acknowledged")
        r = out(client, "a")
        eq((r.status, r.body, r.field("x-gap"), r.field("x-length")), (200, b"", f"0-{len(want)}", str(len(want))),
           "its bytes are gone, and that is told")


def test_live():
    with Client() as client:
        gate, second = Gate(client), Gate(client)
        put(client, "a", f"printf caf; printf '\\303'; read x <{gate}; printf '\\251 ol\\377'; read x <{second}; echo",
            blocking=True)
        ok(until(lambda: out(client, "a").body == b"caf\xc3"), "the beginning is there")
        with client.conn() as c:
            c.send(request("GET", "/v1/actions/a/out?from=4&wait=20"))
            eq(out(client, "a", "?from=4").body, b"", "no more yet")
            gate.go()
            r = c.response()
        ok(r.body and b"\xa9 ol\xff".startswith(r.body), "who waits gets the next bytes")
        eq(out(client, "a", "?from=4&wait=1").field("x-state"), "running", "it runs")
        got = events(client, "a", stop=lambda g: len(joined(g)) >= 9)
        eq(joined(got), b"caf\xc3\xa9 ol\xff", "as events")
        second.go()
        rest = events(client, "a", last=got[-1][1])
        eq(joined(rest), b"\r\n", "a stream is taken up again")
        whole = b"caf\xc3\xa9 ol\xff\r\n"
        eq(rest[-1][2], {"state": "done", "length": 11, "sha256": hashlib.sha256(whole).hexdigest()}, "its end")
        eq(joined(events(client, "a")), whole, "all of it once more")
        with client.conn() as c:
            c.send(request("GET", "/v1/actions/a/out?from=11&wait=20"))
            eq(c.response().field("x-state"), "done", "who is at the end does not wait")


def test_cut_character():
    """A gap may begin inside of a character: what stands before it is told, and then the gap."""
    with Client() as client:
        put(client, "a", "yes $'\\u20ac' | head -n 6000000 | tr -d '\\n'", "?wait=100", timeout=120, blocking=True)
        got = events(client, "a", "?from=1000000")
        (gap,) = [d for kind, _, d in got if kind == "gap"]
        eq((got[-1][0], got[-1][1]), ("end", 18000000), "it comes to the end")
        ok(gap["from"] % 3, "the gap is inside of a character")


def test_large():
    """What is too much loses its middle, which is told; a reader that stalls keeps nobody."""
    with Client() as client:
        lazy = client.conn()
        gate = Gate(client)
        put(client, "a", f"read x <{gate}; seq 1 3000000", timeout=120, blocking=True)
        lazy.send(request("GET", "/v1/actions/a/out", Accept="text/event-stream"))
        gate.go()
        get(client, "a", "?wait=100")
        data, gaps, r = collect(client, "a")
        want = numbers(3000000)
        eq(int(r.field("x-length")), len(want), "its length")
        eq(r.field("x-sha256"), hashlib.sha256(want).hexdigest(), "the digest of all of it")
        eq(len(gaps), 1, "one gap")
        (a, b), = gaps
        ok(a >= 1 << 20 and len(want) - b >= 14 << 20, "the head and the tail are there")
        ok(data == want[:a] + want[b:], "byte for byte")
        lazy.close()
        put(client, "small", "echo small", "?wait=20")
        eq(out(client, "small").body, b"small\r\n", "the next one has room")
        for i in range(3):
            put(client, f"more{i}", "seq 1 2500000", "?wait=100", timeout=120, blocking=True)
        kept = collect(client, "more2")
        eq(kept[2].field("x-length"), str(len(numbers(2500000))), "and large ones, too")
        old = out(client, "a")
        eq((old.status, old.field("x-sha256")), (200, r.field("x-sha256")), "of the first the digest is left at least")


def test_crash():
    """kill -9 again and again: not a byte is lost, doubled or another."""
    with Client(role="init") as client:
        command = "for i in $(seq 1 400); do seq $i $((i + 99)); sleep 0.005; done"
        want = b"".join(b"%d\r\n" % n for i in range(1, 401) for n in range(i, i + 100))
        put(client, "a", command, timeout=100, blocking=True)
        for _ in range(8):
            ok(until(lambda: (out(client, "a").field("x-next-offset") or "0") != "0"), "it prints")
            murder(client)
            ok(until(lambda: answers(client)), "the server is back")
        data, gaps, r = collect(client, "a")
        eq((len(data), gaps), (len(want), []), "all is there")
        ok(data == want, "byte for byte")
        eq(r.field("x-sha256"), hashlib.sha256(want).hexdigest(), "its digest")
        murder(client)
        ok(until(lambda: answers(client)), "the server is back")
        data, _, again = collect(client, "a")
        ok(data == want and again.field("x-sha256") == r.field("x-sha256"), "after its end, too")
        eq(get(client, "a").json()["observation"]["extras"]["metadata"]["exit_code"], 0, "it went well")


def ask_next(client, *requests):
    """Kills the server; the next one finds these at its listener, and answers them in turns."""
    pid = client.serve_pid()
    os.kill(pid, signal.SIGSTOP)
    with client.conn() as c:
        c.send(b"".join(requests))
        os.kill(pid, signal.SIGKILL)
        client.shared = None
        return [c.response() for _ in requests]


def check_screen(client, name, shown):
    """Who looks on gets a screen that is whole."""
    watcher = Stream.connect(client.port)
    watcher.say("open", id=1, kind="session", session=name)
    until(lambda: watcher.snapshots or watcher.step(), DEADLINE)
    screen = watcher.snapshots.get(1, b"")
    ok(len(screen) > 60000 and screen in shown[-200_000:], "who looks on sees the screen", len(screen), screen[-100:])
    watcher.close()


def test_restoring():
    """While a terminal is shown again what it had shown, requests for that session alone wait."""
    most, there = 13_000_000, "seq 2000000 | head -c 13000000; touch there.%s; read x <%s; echo last; (exit 7)"
    shown = numbers(2_000_000).replace(b"\r", b"")[:most]
    want = shown.replace(b"\n", b"\r\n") + b"last\r\n"
    sessions = request("GET", "/v1/sessions")
    half = request("GET", f"/v1/sessions/crashed/output?offset={most // 2}")
    results = {}
    with Client(role="init") as client:
        for name in ("whole", "crashed"):
            gate = Gate(client)
            put(client, name, there % (name, gate), session=name, timeout=100, blocking=True)
            ok(until(lambda: os.path.exists(f"{client.work}/there.{name}")), f"{name}: much is printed")
            for i in range(3 if name == "crashed" else 0):
                got = ask_next(client, request("GET", "/alive"), sessions, half, sessions)
                eq([r.status for r in got], [200] * 4, f"kill {i + 1}: all is answered")
                eq([[s["state"] for s in r.json()["sessions"] if s["name"] == name] for r in (got[1], got[3])],
                   [["restoring"]] * 2, "at once")
                ok(len(got[2].body) > 1_000_000 and got[2].body in want, "and output by its offset")
            if name == "crashed":
                check_screen(client, name, shown)
            gate.go()
            data, gaps, _ = collect(client, name)
            ok(data == want and not gaps, f"{name}: every byte, each once", len(data), len(want), gaps)
            results[name] = get(client, name, "?wait=20").json()["observation"]
        content = [r["content"] for r in results.values()]
        ok(content[0] == content[1] and content[0].endswith("last"), "the observation is the same",
           *[c[:200] for c in content])
        eq([r["extras"]["metadata"]["exit_code"] for r in results.values()], [7, 7], "with its exit code")


def test_restart():
    """A new start of the box: what was printed up to its death."""
    with tempfile.TemporaryDirectory() as top:
        state = top + "/state"
        with Client("--state-dir", state) as client:
            put(client, "done", "seq 1 20000", "?wait=20")
            gate = Gate(client)
            put(client, "cut", f"seq 1 2000; read x <{gate}; echo never", blocking=True)
            ok(until(lambda: out(client, "cut").field("x-next-offset") == str(len(numbers(2000)))), "one prints")
            for pid in [client.pid, *descendants(client.pid)]:
                os.kill(pid, signal.SIGKILL)
            client.kill()
        with Client("--state-dir", state) as client:
            data, gaps, r = collect(client, "done")
            eq((data, gaps), (numbers(20000), []), "what had ended")
            data, gaps, r = collect(client, "cut")
            eq((data, gaps), (numbers(2000), []), "what was cut off")
            eq((r.field("x-state"), r.field("x-sha256")),
               ("interrupted", hashlib.sha256(numbers(2000)).hexdigest()), "is told as that")


if __name__ == "__main__":
    harness.main()
