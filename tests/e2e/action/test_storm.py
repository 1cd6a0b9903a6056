#!/usr/bin/env python3
"""kill -9 of the server every 50 ms under load: no session is lost, and no byte lost, doubled or another.

By hand: OD_STORM=60 tests/e2e/action/test_storm.py, seconds instead of a few."""
import hashlib
import json
import os
import signal
import threading
import time

import harness
from harness import Client, Closed, DEADLINE, alive, eq, note, ok, proc, request

from test_output import numbers

SECONDS = float(os.environ.get("OD_STORM", "3"))
EVERY = 0.05
SESSIONS = 4
PATIENCE = 6 * DEADLINE


class Wrong(Exception):
    """What must not be."""


class Interrupted(Exception):
    """The server was killed between the record of the start and the shell: there was no effect."""


class Load(threading.Thread):
    """Somebody who has one action after the other done in a session, and reads what it prints."""

    def __init__(self, client, name, stop):
        super().__init__()
        self.client, self.name, self.stop = client, name, stop
        self.conn = None
        self.done, self.interrupted, self.bytes, self.wrong = [], [], 0, None

    def ask(self, method, path, body=b""):
        """Asked until it is answered."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.conn = self.conn or self.client.conn()
                return self.conn.send(request(method, path, body, Content_Length=str(len(body)))).response()
            except (Closed, OSError):
                if self.conn:
                    self.conn.close()
                self.conn = None
                if time.monotonic() > end:
                    raise
                time.sleep(0.002)

    def submit(self, name, command):
        args = {"command": command, "session": self.name, "blocking": True}
        body = json.dumps({"action": "run", "args": args, "timeout": 600}).encode()
        r = self.ask("PUT", f"/v1/actions/{name}", body)
        if r.status not in (200, 202):
            raise Wrong(f"{name}: {r!r}")

    def read(self, name, want):
        """All that it prints, as it comes, in one piece."""
        at = 0
        while True:
            r = self.ask("GET", f"/v1/actions/{name}/out?from={at}&wait=2")
            if r.status != 200 or r.field("x-gap") or int(r.field("x-offset")) != at:
                raise Wrong(f"{name} at {at}: {r!r}")
            if r.body != want[at:at + len(r.body)] or at + len(r.body) != int(r.field("x-next-offset")):
                raise Wrong(f"{name} at {at}: {r.body[:200]!r} in place of {want[at:at + 200]!r}")
            at += len(r.body)
            self.bytes += len(r.body)
            if r.field("x-state") == "interrupted" and not at:
                raise Interrupted
            if r.field("x-state") != "running" and r.field("x-state") != "accepted" and at == int(r.field("x-length")):
                break
        if at != len(want) or r.field("x-sha256") != hashlib.sha256(want).hexdigest():
            raise Wrong(f"{name}: {at} bytes in place of {len(want)}: {r!r}")

    def end(self, name):
        said = self.ask("DELETE", f"/v1/actions/{name}").json()
        code = said["observation"]["extras"]["metadata"]["exit_code"] if said["state"] == "done" else None
        if code != 7:
            raise Wrong(f"{name}: {said!r}")

    def one(self, i):
        name, last, pieces = f"{self.name}-{i}", 200, 100
        self.submit(name, f"echo {name} >>effects; for i in $(seq {pieces}); do seq {last}; sleep 0.005; done; (exit 7)")
        try:
            self.read(name, numbers(last) * pieces)
        except Interrupted:
            self.interrupted.append(name)
            return
        self.end(name)
        self.done.append(name)

    def run(self):
        try:
            while not self.stop.is_set():
                self.one(len(self.done) + len(self.interrupted))
        except Exception as e:  # told by the one who has started us
            self.wrong = f"{type(e).__name__}: {e}"
            self.stop.set()


def serve_pid(client):
    """The server, at once, if there is one."""
    for pid in proc(client.pid, f"task/{client.pid}/children").split():
        if proc(pid.decode(), "cmdline") == proc(client.pid, "cmdline"):
            return int(pid)
    return None


def kill_and_wait(client, times):
    """Kills the server; how long until somebody new is answered, in ms, unless it never was there."""
    pid = serve_pid(client)
    if not pid:
        return
    began = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    while time.monotonic() - began < DEADLINE:
        try:
            with client.conn() as c:
                if c.send(request("GET", "/alive")).response().status == 200:
                    break
        except (Closed, OSError):
            pass
    times.append((time.monotonic() - began) * 1000)


def storm(client, seconds):
    """(loads, ms until the server was back of each kill), with the loads at their end."""
    stop, times = threading.Event(), []
    loads = [Load(client, f"s{i}", stop) for i in range(SESSIONS)]
    shells = [shell(client, load.name) for load in loads]
    for load in loads:
        load.start()
    begin = time.monotonic()
    while time.monotonic() - begin < seconds and not stop.is_set():
        kill_and_wait(client, times)
        due = begin + (int((time.monotonic() - begin) / EVERY) + 1) * EVERY
        time.sleep(max(0, due - time.monotonic()))
    stop.set()
    for load in loads:
        load.join()
    for load, was in zip(loads, shells):
        if shell(client, load.name) != was:
            load.wrong = load.wrong or "another shell"
    return loads, times


def shell(client, name):
    """What only the very same shell can know; asked as an action, for the server may just be away."""
    load = Load(client, name, None)
    said = load.ask("PUT", f"/v1/actions/shell-{name}-{time.monotonic_ns()}?wait=60", json.dumps({
        "action": "run", "args": {"command": "echo $$ ${A=$RANDOM$RANDOM}", "session": name, "blocking": True}}).encode())
    return said.json()["observation"]["content"]


def test_storm():
    with Client(role="init") as client:
        loads, times = storm(client, SECONDS)
        eq([load.wrong for load in loads], [None] * SESSIONS, "every session, and every byte")
        with open(f"{client.work}/effects", encoding="ascii") as f:
            eq(sorted(f.read().split()), sorted(sum((load.done for load in loads), [])), "each was done once, and those that were interrupted never")
        interrupted = sum((load.interrupted for load in loads), [])
        ok(len(interrupted) <= len(times) / 50 + 1, f"few are interrupted: {len(interrupted)}")
        ok(alive(client.pid) and len(times) > 5, f"the server was killed {len(times)} times")
        times.sort()
        note(f"{len(sum((load.done for load in loads), []))} actions, {sum(load.bytes for load in loads)} bytes; back after "
             f"{times[len(times) // 2]:.0f} ms, p99 {times[len(times) * 99 // 100]:.0f} ms, at most {times[-1]:.0f} ms")


if __name__ == "__main__":
    harness.main()
