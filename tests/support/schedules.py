#!/usr/bin/env python3
"""Seeded schedules of faults, and the oracles that judge them.

A schedule is some twenty steps, chosen by its seed: actions are submitted, repeated, repeated with another
body, cancelled, acknowledged, read; connections are dropped; the server is killed, or the whole box. When all
has come to an end three oracles look at it:

1. effects: each action appends its id to a file: at most once, and exactly once if it went well;
2. bytes: the output of an action is a function of its id: every slice, at every moment, and the digest;
3. history: what was said once stays true: accepted actions are known, states go forward only, an end never
   changes, events have consecutive numbers, and no two actions of a session run at a time.

By hand: tests/support/schedules.py FIRST_SEED COUNT
"""
import concurrent.futures
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time

import harness
from harness import Client, Closed, descendants, request

ENDS = ("done", "cancelled", "interrupted")
RANK = {"accepted": 0, "running": 1, "done": 2, "cancelled": 2, "interrupted": 2}
SESSIONS = 2
IDS = 4
STEPS = 20


class Violation(Exception):
    """An oracle has spoken."""


def check(cond, what):
    if not cond:
        raise Violation(what)


class Action:
    """What the model knows of one id."""

    def __init__(self, rng, name, effects):
        self.name = name
        self.session = f"s{rng.randrange(SESSIONS)}"
        self.first, self.count = rng.randrange(1000), rng.choice((0, 1, 10, 2000))
        pause = rng.choice(("", "", "sleep 0.01; ", "sleep 0.05; "))
        command = f"echo {name} >>{effects}; seq {self.first} {self.first + self.count - 1}; {pause}echo {name}"
        self.body = self.make(command)
        self.other = self.make(command + " ")
        self.want = b"".join(b"%d\r\n" % n for n in range(self.first, self.first + self.count)) + name.encode() + b"\r\n"
        self.accepted = self.acked = self.cancelled = self.left = False
        self.state = None
        self.end = None
        self.length = 0

    def make(self, command):
        args = {"command": command, "session": self.session, "blocking": True}
        return json.dumps({"action": "run", "args": args, "timeout": 60}).encode()

    def saw(self, status, said):
        """An answer about it."""
        state = said["state"]
        if self.state is not None:
            check(RANK[state] >= RANK[self.state], f"{self.name}: {self.state}, then {state}")
        if self.end is not None:
            end = (state, said.get("observation"))
            check(self.end == end, f"{self.name}: ended as {self.end}, then as {end}")
        elif state in ENDS:
            self.end = (state, said.get("observation"))
        check((status == 200) == (state in ENDS), f"{self.name}: {status} with {state}")
        self.state = state


class Box:
    """A sandbox that may be killed, in part or as a whole."""

    def __init__(self, top, durable):
        self.top = top
        self.durable = durable
        self.conn = None
        self.keyed = set()  # sessions in which something was interrupted
        self.start()

    def start(self):
        more = ["--state-dir", self.top + "/state"] if self.durable else []
        self.client = Client(*more, role="init")

    def drop(self):
        if self.conn:
            self.conn.close()
        self.conn = None

    def ask(self, method, path, body=b""):
        """A request that is repeated until it is answered: that is what ids are for."""
        end = time.monotonic() + harness.DEADLINE
        while True:
            try:
                self.conn = self.conn or self.client.conn()
                return self.conn.send(request(method, path, body, Content_Length=str(len(body)))).response()
            except (Closed, OSError):
                self.drop()
                if time.monotonic() > end:
                    raise
                time.sleep(0.002)

    def send_only(self, method, path, body):
        """Asks, and leaves without the answer."""
        try:
            with self.client.conn() as c:
                c.send(request(method, path, body, Content_Length=str(len(body))))
        except (Closed, OSError):
            pass

    def kill_serve(self):
        pid = self.client.serve_pid()
        if pid:
            os.kill(pid, signal.SIGKILL)

    def kill_box(self):
        self.drop()
        for pid in [self.client.pid, *descendants(self.client.pid)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.client.kill()
        self.start()


class Schedule:
    def __init__(self, box, seed, often):
        self.rng = random.Random(seed)
        self.often = often  # the part of schedules in which the server is killed
        self.box = box
        self.effects = f"{box.top}/effects"
        self.actions = [Action(self.rng, f"a{seed}-{i}", self.effects) for i in range(IDS)]
        self.log = []

    # --- Steps --------------------------------------------------------------------

    def submit(self, a):
        r = self.box.ask("PUT", f"/v1/actions/{a.name}" + self.rng.choice(("", "?wait=1")), a.body)
        check(r.status in (200, 202), f"{a.name}: submitted: {r!r}")
        a.accepted = True
        a.saw(r.status, r.json())

    def leave(self, a):
        a.left = True
        self.box.send_only("PUT", f"/v1/actions/{a.name}?wait=5", a.body)

    def conflict(self, a):
        if a.accepted:
            r = self.box.ask("PUT", f"/v1/actions/{a.name}", a.other)
            check(r.status == 409, f"{a.name}: another one under its id: {r!r}")

    def get(self, a):
        r = self.box.ask("GET", f"/v1/actions/{a.name}" + self.rng.choice(("", "", "?wait=1")))
        if r.status == 404:
            check(not a.accepted, f"{a.name}: was accepted, and is not known")
            return
        a.accepted = True
        a.saw(r.status, r.json())

    def cancel(self, a):
        mode = self.rng.choice(("int", "int", "term"))
        r = self.box.ask("POST", f"/v1/actions/{a.name}/cancel?mode={mode}")
        if r.status == 404:
            check(not a.accepted, f"{a.name}: was accepted, and is not known")
            return
        a.accepted = a.cancelled = True
        self.box.keyed.add(a.session)
        a.saw(r.status, r.json())

    def ack(self, a):
        r = self.box.ask("DELETE", f"/v1/actions/{a.name}")
        if r.status == 404:
            check(not a.accepted, f"{a.name}: was accepted, and is not known")
        elif r.status == 200:
            a.acked = True
            a.saw(200, r.json())
        else:
            check(r.status == 409, f"{a.name}: acknowledged: {r!r}")

    def read(self, a):
        at = self.rng.randrange(a.length + 1)
        r = self.box.ask("GET", f"/v1/actions/{a.name}/out?from={at}")
        if r.status == 404:
            check(not a.accepted, f"{a.name}: was accepted, and is not known")
            return
        check(r.status == 200, f"{a.name}: {a.length} bytes were there: {r!r}")
        self.judge_part(a, at, r)

    def judge_part(self, a, at, r):
        start, stop = int(r.field("x-offset")), int(r.field("x-next-offset"))
        check(len(r.body) == stop - start, f"{a.name}: {len(r.body)} bytes, {start} to {stop}")
        check((start == at) == (r.field("x-gap") is None), f"{a.name}: a gap that is not told")
        check(start == at or a.acked, f"{a.name}: a gap")
        # What is cancelled prints more: the key, and what the shell says to it.
        if not a.cancelled:
            self.judge_bytes(a, start, r.body)
        a.length = max(a.length, stop)

    def judge_bytes(self, a, start, body):
        stop = start + len(body)
        # A key that came when its command had just ended was the shell's, which begins a new line then.
        late_key = b"\r\n" + a.want
        if a.want[start:stop] != body and a.session in self.box.keyed and late_key[start:stop] == body:
            a.want = late_key
        check(a.want[start:stop] == body, f"{a.name}: {body[:80]!r} at {start}, not {a.want[start:stop][:80]!r}")

    def kill(self, a):
        del a
        self.box.kill_serve()

    def submit_and_kill(self, a):
        self.submit(a)
        self.box.kill_serve()

    def step(self):
        steps = ((self.submit, 8), (self.leave, 3), (self.conflict, 2), (self.get, 4), (self.cancel, 1), (self.ack, 1),
                 (self.read, 4), (self.kill, 0.3 * self.kills), (self.submit_and_kill, 0.3 * self.kills))
        what = self.rng.choices([s for s, _ in steps], [w for _, w in steps])[0]
        a = self.rng.choice(self.actions)
        self.log.append(f"{what.__name__} {a.name}")
        what(a)

    # --- The whole ----------------------------------------------------------------

    def run(self):
        self.kills = self.rng.random() < self.often
        for _ in range(STEPS):
            self.step()
        if self.box.durable and self.rng.random() < 0.1:
            self.log.append("kill the box")
            self.box.kill_box()
        for a in self.actions:
            self.finish(a)

    def finish(self, a):
        if not a.accepted:
            self.get(a)
        if not a.accepted and a.left:
            # It may still be on its way: asked again, it is done once.
            self.submit(a)
        end = time.monotonic() + harness.DEADLINE
        while a.accepted and a.end is None:
            r = self.box.ask("GET", f"/v1/actions/{a.name}?wait=5")
            check(r.status in (200, 202), f"{a.name}: was accepted, and is not known")
            a.saw(r.status, r.json())
            check(time.monotonic() < end, f"{a.name}: never ends")
        if not a.accepted:
            return
        r = self.box.ask("GET", f"/v1/actions/{a.name}/out")
        check(r.status == 200, f"{a.name}: it has ended: {r!r}")
        self.judge_part(a, 0, r)
        if self.went_well(a) and not a.cancelled and not a.acked:
            check(r.field("x-length") == str(len(a.want)), f"{a.name}: its length")
            check(r.field("x-sha256") == hashlib.sha256(a.want).hexdigest(), f"{a.name}: its digest")

    @staticmethod
    def went_well(a):
        if a.end is None or a.end[0] != "done":
            return False
        return a.end[1].get("extras", {}).get("metadata", {}).get("exit_code") == 0

    def judge_effects(self, lines):
        for a in self.actions:
            n = lines.count(a.name)
            check(n <= 1, f"{a.name}: was done {n} times")
            if self.went_well(a):
                check(n == 1, f"{a.name}: went well, and was never done")
            if a.end and a.end[0] == "cancelled" or not a.accepted:
                check(n == 0, f"{a.name}: was done, though it was never started")


def judge_events(box, schedules, start):
    """The history, as the box tells it: the last number."""
    state, busy = {}, {}
    session = {a.name: a.session for s in schedules for a in s.actions}
    at = start
    while True:
        r = box.ask("GET", f"/v1/events?after={at}").json()
        check("gap" not in r, "events are missing")
        for e in r["events"]:
            at += 1
            check(e["seq"] == at, f"event {e['seq']} in place of {at}")
            if e["event"] != "action" or e["name"] not in session:
                continue
            name, now = e["name"], e["state"]
            was = state.get(name)
            check(was is not None or now == "accepted", f"{name}: began as {now}")
            check(was is None or RANK[now] > RANK[was], f"{name}: {was}, then {now}")
            state[name] = now
            where = session[name]
            if now == "running":
                check(busy.get(where) is None, f"{name}: began while {busy.get(where)} ran")
                busy[where] = name
            elif now in ENDS and busy.get(where) == name:
                busy[where] = None
        if at == r["last"]:
            break
    for s in schedules:
        for a in s.actions:
            if a.end:
                check(state.get(a.name) == a.end[0], f"{a.name}: {a.end[0]}, in the events {state.get(a.name)}")
    return at


def run_batch(seeds, durable, often):
    """The first violation in words with its seed, or None."""
    with tempfile.TemporaryDirectory(prefix="od-schedules-") as top:
        box = Box(top, durable)
        done = []
        try:
            at = box.ask("GET", "/v1/events").json()["last"]
            for seed in seeds:
                s = Schedule(box, seed, often)
                done.append(s)
                s.run()
                with open(s.effects, "a+", encoding="ascii") as f:
                    f.seek(0)
                    s.judge_effects(f.read().split())
            judge_events(box, done, at)
        except Violation as v:
            return f"seed {seed}: {v} [{'; '.join(done[-1].log)}]"
        finally:
            box.drop()
            box.client.kill()
    return None


def run(first, count, often=0.4, batch=25, workers=4, say=None):
    """Runs so many schedules, some beside each other; every second batch on a box with a disk."""
    found = None
    batches = [range(at, min(at + batch, first + count)) for at in range(first, first + count, batch)]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        work = {pool.submit(run_batch, seeds, i % 2 == 1, often): seeds for i, seeds in enumerate(batches)}
        for done in concurrent.futures.as_completed(work):
            if done.cancelled():
                continue
            found = found or done.result()
            if say:
                say(work[done])
            if found:
                for other in work:
                    other.cancel()
    return found


def by_hand():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    began = time.monotonic()
    found = run(first, count, say=lambda seeds: print(f"{time.monotonic() - began:.0f} s: {seeds}", flush=True))
    print(found or f"{count} schedules, no violation", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(by_hand())
