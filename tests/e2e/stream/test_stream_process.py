#!/usr/bin/env python3
"""Processes in channels of /v1/stream: started or found by id, outputs apart, stdin, signals, exit."""
import hashlib
import os
import random
import signal

from harness import Client, Closed, Gate, alive, eq, has, main, ok, request, until
from attach_peer import start
from ws_peer import Stream


def connect(client):
    s = Stream.connect(client.port)
    s.expect("hello")
    return s


def open_new(s, id, *argv, window=None, **members):
    """Starts a process in a channel; its object."""
    more = {"window": window} if window else {}
    s.say("open", id=id, kind="process", start={"argv": argv, **members}, **more)
    s.expect("opened", id=id)
    return s.expect("started", id=id)["process"]


def test_start():
    with Client() as c:
        s = connect(c)
        p = open_new(s, 1, "sh", "-c", "cat; echo out; echo err >&2; exit 7", tag="a-tag",
                     stdin=True)
        eq([p["tag"], p["state"]], ["a-tag", "running"], "started has the process object")
        s.say("end", id=1)
        eq(s.expect("closed", id=1)["exit_code"], 7, "closed has the exit code")
        eq([s.output[1], s.stderr[1]], [b"out\n", b"err\n"], "stdout and stderr are apart")
        open_new(s, 2, "sh", "-c", "kill -TERM $$")
        eq(s.expect("closed", id=2)["exit_code"], 128 + 15, "a signal gives 128 and its number")
        data = random.Random(1).randbytes(3 << 20)
        open_new(s, 3, "sha256sum", stdin=True)
        for i in range(0, len(data), 65536):
            while i + 65536 - s.taken.get(3, 0) > 262144:
                s.step()
            s.put_in(3, data[i:i + 65536])
        s.say("end", id=3)
        eq(s.expect("closed", id=3)["exit_code"], 0, "stdin ends")
        eq(s.output[3][:64], hashlib.sha256(data).hexdigest().encode(), "and was exact")
        open_new(s, 4, "seq", "1", "500000", when_full="wait", output_limit=65536, window=16384)
        eq(s.expect("closed", id=4, seconds=60)["exit_code"], 0, "a process that waits for its reader ends")
        eq(s.output[4], b"".join(b"%d\n" % i for i in range(1, 500001)), "each byte arrives")


def test_failures():
    with Client() as c:
        s = connect(c)
        for id, spec, code, words in ((1, {"argv": ["/no/such/program"]}, 127, "/no/such/program"),
                                      (2, {"argv": ["/etc/passwd"]}, 126, "/etc/passwd"),
                                      (3, {"argv": ["true"], "cwd": "/no/such/folder"}, None, "/no/such/folder")):
            s.say("open", id=id, kind="process", start=spec)
            closed = s.expect("closed", id=id)
            eq(closed.get("exit_code"), code, "a start that fails closes the channel")
            has(closed["detail"], words, "with the reason")
        for id, members, status in ((4, {"start": {"argv": []}}, 422), (5, {"start": {}}, 422),
                                    (6, {"process": "p99"}, 404), (7, {}, 404)):
            s.say("open", id=id, kind="process", **members)
            eq(s.expect("closed", id=id).get("status"), status, f"refused: {members}")
        p = start(c, "true")
        s.say("open", id=8, kind="process", process=p["id"], offset=1000)
        eq(s.expect("closed", id=8).get("status"), 416, "an offset that is not there")


def test_find():
    with Client() as c:
        s = connect(c)
        gate = Gate(c)
        p = start(c, "sh", "-c", f"echo 12345; echo 67890 >&2; cat {gate}")
        ok(until(lambda: all(o["end"] == 6 for o in
                             c.get("/v1/processes/" + p["id"]).json()["outputs"].values())), "it has printed")
        s.say("open", id=1, kind="process", process=p["id"], offset=2, stderr=3)
        eq(s.expect("opened", id=1)["process"]["id"], p["id"], "opened has the process object")
        s.until(1, b"345\n")
        until(lambda: b"90\n" in s.stderr.get(1, b"") or s.step(), 10)
        gate.go(b"more\n")
        eq(s.expect("closed", id=1)["exit_code"], 0, "and the channel ends with the process")
        eq([s.output[1], s.stderr[1]], [b"345\nmore\n", b"90\n"], "outputs begin at the offsets given")
        p = start(c, "sleep", "1000")
        for id in 2, 3:
            s.say("open", id=id, kind="process", process=p["id"])
            s.expect("opened", id=id)
        s.say("close", id=2)
        s.expect("closed", id=2)
        ok(alive(p["pid"]), "a channel that is closed leaves the process alone")
        eq(c.ask(request("DELETE", "/v1/processes/" + p["id"])).status, 200, "it is deleted")
        ok(s.expect("closed", id=3), "which closes the other channel")


def test_control():
    with Client() as c:
        s = connect(c)
        for id, mode, code in ((1, "int", 130), (2, "term", 143), (3, "kill", 137)):
            open_new(s, id, "sleep", "1000")
            s.say("cancel", id=id, mode=mode)
            eq(s.expect("closed", id=id)["exit_code"], code, f"cancel with {mode}")
        open_new(s, 4, "sh", "-c", "stty size; read x; stty size", pty={"rows": 20, "columns": 50})
        s.until(4, b"20 50")
        s.say("resize", id=4, rows=33, columns=77)
        s.put_in(4, b"\r")
        s.expect("closed", id=4)
        has(s.output[4], b"33 77", "a pty is resized")
        p = open_new(s, 5, "sleep", "1000")
        s.say("resize", id=5, rows=3, columns=3)
        has(s.expect("error", id=5)["detail"], "no pty", "a process without a pty says so")
        s.close()
        ok(alive(p["pid"]), "the process outlives the stream")


def test_owned():
    """on_disconnect: kill, with a channel in the place of a connection."""
    with Client() as c:
        s = connect(c)
        p = open_new(s, 1, "sh", "-c", "sleep 1000 & echo on; wait", on_disconnect="kill")
        s.until(1, b"on")
        s.say("close", id=1)
        ok(until(lambda: not alive(p["pid"])), "the channel is closed: the process is killed")
        p = open_new(s, 2, "sleep", "1000", on_disconnect="kill")
        s.ws.conn.reset()
        ok(until(lambda: not alive(p["pid"])), "the stream is lost: it is killed")


def test_crash():
    with Client(role="init") as c:
        s = connect(c)
        p = open_new(s, 1, "sh", "-c", "seq 1 100000; read x; echo $x", stdin=True)
        s.until(1, b"\n100000\n")
        os.kill(c.serve_pid(), signal.SIGKILL)
        c.shared = None
        out = s.output[1]
        s = until(lambda: back(c))
        s.say("open", id=1, kind="process", process=p["id"], offset=len(out) // 2)
        s.expect("opened", id=1)
        s.put_in(1, b"hello\n")
        eq(s.expect("closed", id=1)["exit_code"], 0, "the process goes on after a crash")
        eq(out[:len(out) // 2] + s.output[1], out + b"hello\n", "from the offset on")


def back(client):
    try:
        return connect(client)
    except (OSError, AssertionError, Closed):
        return None


if __name__ == "__main__":
    main()
