#!/usr/bin/env python3
"""What happens in a sandbox, in its order; who it is; who may drive it."""
import json
import os
import signal
import tempfile
import time

import harness
from harness import DEADLINE, Client, Gate, descendants, eq, has, ok, request, until

from test_actions import ask, get, lines, put
from test_crash import answers, murder


def events(client, after=0, query="", **fields):
    return ask(client, "GET", f"/v1/events?after={after}{query}", **fields).json()


def brief(found):
    return [(e["event"], e["name"], e["state"]) for e in found["events"]]


def blocks(conn, wanted):
    """Events of a stream until one is wanted."""
    text, got, end = b"", [], time.monotonic() + DEADLINE
    conn._until(b"\r\n\r\n", end)
    while True:
        text += conn._take(int(conn._until(b"\r\n", end), 16), end)
        conn._take(2, end)
        while b"\n\n" in text:
            block, text = text.split(b"\n\n", 1)
            fields = dict(line.split(": ", 1) for line in block.decode().split("\n") if ": " in line)
            if "event" in fields:
                got.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
                if wanted(got):
                    return got


def test_order():
    with Client() as client:
        start = events(client)
        eq(brief(start), [("boot", "1", "begun")], "the first one")
        gate = Gate(client)
        put(client, "a", f"read x <{gate}; echo", session="s", blocking=True)
        put(client, "b", "true", session="s")
        gate.go()
        get(client, "b", "?wait=20")
        found = events(client, start["next"])
        eq([e["seq"] for e in found["events"]], list(range(2, found["last"] + 1)), "numbers without a gap")
        told = brief(found)
        for name in ("a", "b"):
            eq([s for k, n, s in told if (k, n) == ("action", name)], ["accepted", "running", "done"], f"{name}: its life")
        ok(told.index(("action", "a", "done")) < told.index(("action", "b", "running")), "one at a time")
        ok(("session", "s", "begun") in told, "its session")
        eq(events(client, 3, "&max=2")["next"], 5, "a part")
        eq(events(client, found["last"])["events"], [], "the end")
        eq(ask(client, "GET", "/v1/events?after=1000").status, 416, "beyond it")
        eq(ask(client, "GET", "/v1/events?after=x").status, 422, "no number")
        with client.conn() as c:
            c.send(request("GET", f"/v1/events?after={found['last']}&wait=20"))
            ask(client, "DELETE", "/v1/sessions/s")
            eq(brief(c.response().json()), [("session", "s", "ended")], "who waits is told")
        snapshot = events(client, 0, "&snapshot=true")
        eq((snapshot["events"], snapshot["next"]), ([], snapshot["last"]), "how all stands")
        eq([a for a in snapshot["actions"]], [{"id": n, "state": "done"} for n in "ab"], "the actions")
        eq(snapshot["sessions"], ["default"], "the sessions")


def test_large_snapshot():
    """A client that acknowledges nothing: how all stands is long, and one event."""
    with Client() as client:
        with client.conn() as c:
            names = [f"{'a' * 60}{i:04}" for i in range(3500)]
            for name in names:
                c.send(request("PUT", f"/v1/actions/{name}", b'{"action":"none"}'))
                c.response()
        with client.conn() as c:
            c.send(request("GET", "/v1/events?snapshot=true", Accept="text/event-stream"))
            ((_, kind, data),) = blocks(c, lambda g: g)
        eq((kind, [a["id"] for a in data["actions"]]), ("snapshot", names), "all of them")


def test_stream():
    with Client(role="init") as client:
        with client.conn() as c:
            c.send(request("GET", "/v1/events?snapshot=true", Accept="text/event-stream"))
            put(client, "a", "true", "?wait=20")
            got = blocks(c, lambda g: g[-1][2].get("state") == "done")
        eq(got[0][1], "snapshot", "how all stands comes first")
        eq([g[0] for g in got], list(range(got[0][0], got[-1][0] + 1)), "then each event once")
        gate = Gate(client)
        put(client, "b", f"echo b >>done; read x <{gate}", blocking=True)
        ok(until(lambda: lines(client) == ["b"]), "one runs")
        before = events(client)
        murder(client)
        ok(until(lambda: answers(client)), "the server is back")
        after = events(client)
        eq(after["events"][:len(before["events"])], before["events"], "a crash changes none of them")
        eq((after["box"], after["boot"]), (before["box"], before["boot"]), "it is the same box")
        with client.conn() as c:
            c.send(request("GET", "/v1/events", Accept="text/event-stream", Last_Event_ID=str(before["last"])))
            gate.go()
            got = blocks(c, lambda g: g[-1][2].get("state") == "done")
        eq(got[0][0], before["last"] + 1, "a stream is taken up again")


def test_status():
    with tempfile.TemporaryDirectory() as top:
        state = top + "/state"
        with Client("--state-dir", state) as client:
            first = client.get("/v1/status").json()
            eq((first["boot"], first["durability"], first["lease"]), (1, "file", 0), "of a new box")
            eq(len(first["box"]), 32, "its name")
            eq(first["hardening"]["not_dumpable"], True, "what protects it")
            has(first["fallbacks"]["init"], "none", "what it does without")
            eq(client.get("/v1/events", X_Lease="7").status, 200, "a lease")
            eq(client.get("/v1/events", X_Lease="7").status, 200, "again")
            r = client.get("/v1/events", X_Lease="6")
            eq(r.status, 409, "a lower one")
            has(r.json()["detail"], "fenced", "is told")
            eq(client.get("/v1/events", X_Lease="x").status, 422, "no number")
            eq(client.get("/v1/events").status, 200, "without one")
            last = events(client)["last"]
            for pid in [client.pid, *descendants(client.pid)]:
                os.kill(pid, signal.SIGKILL)
            client.kill()
        with Client("--state-dir", state) as client:
            again = client.get("/v1/status").json()
            eq((again["box"], again["boot"], again["lease"]), (first["box"], 2, 7), "the same box, started again")
            eq(client.get("/v1/status", X_Lease="6").status, 409, "leases last")
            eq(brief(events(client, last))[0], ("boot", "2", "begun"), "and so do numbers of events")
        with Client("--state-dir", state, "--state-sync") as client:
            eq(client.get("/v1/status").json()["durability"], "fsync", "forced to the disk")
            eq(put(client, "a", "echo a", "?wait=20").json()["observation"]["content"], "a", "it works")
    with Client("--state-sync", role="init") as client:
        eq(client.get("/v1/status").json()["durability"], "memory", "without a folder")


if __name__ == "__main__":
    harness.main()
