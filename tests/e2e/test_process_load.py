#!/usr/bin/env python3
"""Peers that ask for much at once: other peers are answered, and processes end in time."""
import json
import time

from attach_peer import Attached, control
from harness import SLOW, Client, Conn, alive, eq, main, ok, request, until
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
        all = Processes(c)
        p = all.start("sh", "-c", f"trap 'echo got' USR1; i=0; while [ $i -lt {CHILDREN} ]; do sleep 1000 & "
                                  "i=$((i + 1)); done; echo; while :; do wait; done")
        ok(all.part(p, query="?wait=20").body, "the tree is complete")
        began = time.monotonic()
        all.signal(p, "SIGCONT")
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


if __name__ == "__main__":
    main()
