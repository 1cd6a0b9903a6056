#!/usr/bin/env python3
"""Peers that ask for much at once: other peers are answered, and processes end in time."""
import json
import time

from harness import SLOW, Client, Conn, alive, eq, main, ok, request, until
from attach_peer import Attached, control
from processes import Processes

OWNERS = 100
CHILDREN = 200
SIGNALS = 1000


def test_owners_leave_at_once():
    """The connections of many processes are closed at once, as when a backend is killed."""
    with Client() as c:
        body = json.dumps({"argv": ["sh", "-c", "sleep 1000 & wait"], "on_disconnect": "kill"}).encode()
        owners = [Conn(c.port) for _ in range(OWNERS)]
        for conn in owners:
            conn.send(request("POST", "/v1/processes", body))
        pids = [conn.response().json()["pid"] for conn in owners]
        eq(len(pids), OWNERS, "each connection has started a process")
        for conn in owners:
            conn.close()
        ok(until(lambda: not any(map(alive, pids)), 2 * SLOW), "all of them end within two seconds")


def test_signals_at_once():
    """Each signal to a tree needs a list of all processes."""
    with Client() as c:
        proc = Processes(c)
        p = proc.start("sh", "-c", f"trap 'echo got' USR1; i=0; while [ $i -lt {CHILDREN} ]; do sleep 1000 & "
                                  "i=$((i + 1)); done; echo; while :; do wait; done")
        ok(proc.part(p, query="?wait=20").body, "the tree is complete")
        began = time.monotonic()
        proc.signal(p, "SIGCONT")
        one = max(time.monotonic() - began, 0.005)
        with c.conn() as conn:
            a = Attached.connect(c.port, p["id"])
            a.send(control("signal", signal="SIGCONT") * SIGNALS)
            began = time.monotonic()
            conn.send(request("GET", "/alive")).response(one * SIGNALS + 10)
            took = time.monotonic() - began
            ok(took < one * SIGNALS / 10, "a peer is answered while 1000 signals wait",
               f"{took * 1000:.0f} ms; one signal takes {one * 1000:.0f} ms")
            a.control("signal", signal="SIGUSR1")
            ok(a.until(lambda: b"got\n" in a.out[1]), "a signal that waits arrives")
            a.close()


def test_list():
    """The longest arguments of many processes do not fit into one answer."""
    with Client() as c:
        proc = Processes(c)
        ids = [proc.start("true", *["\1" * 1000] * 130)["id"] for _ in range(100)]
        rows = proc.list()
        eq([row["id"] for row in rows], ids, "all processes are listed")
        ok(all(row["argv_truncated"] and len(row["argv"]) == 2 for row in rows), "with their first arguments")
        eq(len(proc.get(rows[0])["argv"]), 131, "a process alone has all of them")


def test_environment():
    with Client() as c:
        proc = Processes(c)
        env = {"X" * 1500 + str(i): "" for i in range(2000)}
        began = time.monotonic()
        ok("errors" in proc.refusal(env=env)[1], "a request without a program is refused before its environment is read")
        floor = time.monotonic() - began
        began = time.monotonic()
        eq(proc.refusal("true", env=env)[0], 422, "the kernel does not take so long an environment")
        took = time.monotonic() - began
        ok(took < 10 * floor, "2,000 variables with long names are read in linear time", f"{took:.3f} s, {floor:.3f} s")
        env = {"B": "1", "HOME": None, "PATH": None, "A": "2"}
        out = proc.run("/usr/bin/env", env=env)[1].decode().splitlines()
        eq([line for line in out if line.split("=")[0] in env], ["B=1", "A=2"], "null removes a variable")


def test_texts_are_bounded():
    """The record of a process keeps them, outside of the memory limit of the server."""
    with Client() as c:
        proc = Processes(c)
        ok("errors" in proc.refusal("true", user="0" * 257)[1], "a user of more than 256 bytes is refused")
        ok("errors" in proc.refusal("true", cwd="/" * 4096)[1], "a directory that is longer than any path is refused")


if __name__ == "__main__":
    main()
