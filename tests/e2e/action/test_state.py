#!/usr/bin/env python3
"""The folder for the state: none that can be used, and one that is full."""
import os
import signal
import tempfile

import harness
from harness import Client, Disk, Gate, descendants, eq, ok, scratch, skip, until

from test_actions import ask, get, lines, put
from test_crash import answers, murder


def durability(client):
    status = client.get("/v1/status").json()
    return status["durability"], status["fallbacks"].get("state")


def kill_all(client):
    for pid in [client.pid, *descendants(client.pid)]:
        os.kill(pid, signal.SIGKILL)
    client.kill()


def test_unusable():
    """What cannot be written is in memory, which is told, also by the next server."""
    with tempfile.TemporaryDirectory() as top:
        foreign = top + "/foreign"
        os.mkdir(foreign)
        with open(foreign + "/actions", "w", encoding="ascii") as f:
            f.write("of somebody else")
        with open(top + "/file", "w", encoding="ascii"):
            pass
        for state in (foreign, top + "/file", "/proc/none"):
            with Client("--state-dir", state, role="init") as client:
                put(client, "a", "echo a >>done; echo $RANDOM", "?wait=20")
                said = get(client, "a").json()
                want = ("memory", "in memory: the folder for it cannot be used")
                eq(durability(client), want, f"{os.path.basename(state)}: it is in memory")
                murder(client)
                ok(until(lambda: answers(client)), "the server is back")
                eq(durability(client), want, "it still is")
                eq(get(client, "a").json()["observation"], said["observation"], "with all that it knew")
                eq(put(client, "a", "echo a >>done; echo $RANDOM").json()["state"], "done", "which is not done again")
                eq(lines(client), ["a"], "once")
        with open(foreign + "/actions", encoding="ascii") as f:
            eq(f.read(), "of somebody else", "a file of others is not touched")


def fill(path):
    with open(path, "wb", buffering=0) as f:
        try:
            while True:
                f.write(bytes(4096))
        except OSError:
            pass


def test_full():
    with Disk(scratch(), "-t", "tmpfs", "-o", "size=1m", "none") as disk:
        if not disk:
            skip("a full disk", "nothing can be mounted here")
            return
        full(disk)


def full(disk):
    known = {}
    with Client("--state-dir", disk + "/state", role="init") as client:
        eq(durability(client), ("file", None), "a state on a disk")
        put(client, "before", "echo before >>done; echo before", "?wait=20")
        gate = Gate(client)
        put(client, "runs", f"echo runs >>done; read x <{gate}; seq 1000; exit 3", blocking=True)
        ok(until(lambda: "runs" in lines(client)), "one runs")
        fill(disk + "/ballast")
        refused = next((i for i in range(1000) if put(client, f"n{i}", f"echo n{i} >>done", "?wait=20", session="n").status == 507), None)
        ok(refused is not None, "on a full disk the next is refused", refused)
        ok(f"n{refused}" not in lines(client), "and not done")
        eq(get(client, f"n{refused}").status, 404, "nor known")
        gate.go()
        end = get(client, "runs", "?wait=20").json()
        eq(end["state"], "done", "what runs ends")
        eq(client.run("echo on")["content"].split()[-1], "on", "what needs no record goes on")
        eq(ask(client, "GET", "/alive").status, 200, "as does the server")
        eq(get(client, "before").json()["observation"]["content"], "before", "what is known is")
        out = ask(client, "GET", "/v1/actions/runs/out?max=1000000")
        whole = b"".join(b"%d\r\n" % i for i in range(1, 1001))
        start = int(out.field("x-offset"))
        ok(whole[start:start + len(out.body)] == out.body and (start == 0) == (out.field("x-gap") is None),
           "its output is what it was, or a gap that is told", out)
        murder(client)
        ok(until(lambda: answers(client)), "killed on a full disk, the server is back")
        again = get(client, "runs").json()
        ok(again["state"] in ("done", "interrupted"), "what could not be recorded is not invented", again)
        eq(put(client, "other", "echo other >>done").status, 507, "still nothing new")
        os.unlink(disk + "/ballast")
        eq(put(client, f"n{refused}", f"echo n{refused} >>done", "?wait=20", session="n").json()["state"], "done",
           "with room the refused one is done")
        eq(lines(client).count(f"n{refused}"), 1, "once")
        for name in ("before", "runs", f"n{refused}"):
            known[name] = get(client, name).json()["state"]
        kill_all(client)
    with Client("--state-dir", disk + "/state", role="init") as client:
        eq({name: get(client, name).json()["state"] for name in known}, known, "and all is known after a restart")
        seqs = [e["seq"] for e in ask(client, "GET", "/v1/events?max=1000").json()["events"]]
        eq(seqs, list(range(seqs[0], seqs[0] + len(seqs))), "the events have no holes")


if __name__ == "__main__":
    harness.main()
