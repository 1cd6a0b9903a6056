#!/usr/bin/env python3
"""Every command of od-runtime that talks to a peer, against every behaviour of tests/support/hostile.py.

For each command the honest run shows which requests it sends to which peer. Each case lies in the answers from one of
these on. Each (peer, behaviour) meets some commands, chosen by a seed, and each command meets every kind of behaviour;
with OD_HOSTILE=all each (command, request, behaviour) has a case, which takes six minutes.

  OD_HOSTILE  all, or words that a case's name must contain, as "exec silent"
  OD_SEED     of the choice; OD_RESULTS: a file for all results, as JSON
"""
import copy
import itertools
import json
import os
import random
import re
import resource
import shutil
import stat
import threading
import time

import harness
import hostile
import registry
import sandbox
import verdict
from fake_engine import Container, image
from harness import BUILD, eq, main, note, ok, todo
from proxy import Proxy
from whole_engine import WholeEngine

TOP = harness.scratch("od-peers-")
PROGRAM = os.path.join(BUILD, "od-runtime-client")
PLAIN, BOX = "a1" * 32, "a2" * 32
ENGINE, SANDBOX, REGISTRY = "engine", "sandbox", "registry"
SEED = int(os.environ.get("OD_SEED", "1"))
# Commands that meet each behaviour of a peer: of behaviours that end, and of endless ones.
SOME = {ENGINE: (8, 2), SANDBOX: (6, 2), REGISTRY: (3, 1)}
# Faults that are known: (pattern of the fault, pattern of the case's name, what is missing).
OPEN = (
    ("does not end by (itself|SIGINT)", " endless", "64 MiB of an endless answer take long on a busy machine"),
)
WORKERS, THREADS = 3, 16
WAIT_SECONDS = 75.0  # for a case to end by itself: an engine may be silent for 30 s, then once more behind a clean-up
RSS_KIB = 65536  # the largest answer that is kept, its index and the program
ENDS = (0, 111)
ANY = tuple(range(256))
ASAN = "asan" in harness.RUNTIME


def messages(*rows):
    return b"".join(json.dumps({"jsonrpc": "2.0", **row}).encode() + b"\n" for row in rows)


MCP = messages({"id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
    {"method": "notifications/initialized"}, {"id": 2, "method": "tools/list"},
    {"id": 3, "method": "tools/call", "params": {"name": "run", "arguments": {"command": "echo"}}})


class Command:
    """name, words, and what is known of its end.

    codes: exit codes that it may have; data: its output is content of the sandbox; ends: False if it waits by contract
    for something that a silent peer never says; a user ends it by SIGINT; report: it tells what is wrong on standard
    output; honest: its exit codes with honest peers, as the fake exec ends before or after its output."""

    def __init__(self, name, *words, stdin=b"", codes=ENDS, data=False, ends=True, honest=(0,), report=False):
        self.name, self.words, self.stdin, self.report = name, words, stdin, report
        self.codes, self.data, self.ends, self.honest = codes, data, ends, honest
        self.requests = []  # (peer, number of the request at that peer, its kind)


CMD = ("--", "echo")
READY = ("--timeout-start", "3")
COMMANDS = (
    Command("run", "run", "--via", "bind", "--name", "new", *READY, "base:1"),
    Command("run-put", "run", "--via", "put", "--name", "new", *READY, "base:1"),
    Command("run-volume", "run", "--via", "volume", "--name", "new", *READY, "base:1"),
    Command("run-build", "run", "--via", "build", "--rm", "--name", "new", *READY, "base:1", *CMD, codes=ANY, data=True,
            ends=False),
    Command("build", "build", "--via", "build", "base:1"),
    Command("build-tag", "build", "--via", "build", "-t", "made:1", "base:1"),
    Command("build-commit", "build", "--via", "commit", "base:1"),
    Command("dockerfile", "dockerfile", "base:1"),
    Command("tags", "tags", "base:1"),
    Command("prune", "prune"),
    Command("inject", "inject", *READY, "plain"),
    Command("doctor", "doctor", report=True),
    Command("doctor-image", "doctor", "base:1", report=True),
    Command("doctor-box", "doctor", "box", report=True),
    Command("exec", "exec", "box", *CMD, codes=ANY, data=True, ends=False),
    Command("exec-timeout", "exec", "box", "--timeout", "1", *CMD, codes=ANY, data=True),
    Command("action", "action", "box", '{"action":"run","args":{"command":"c"}}', codes=(0, 1, 111, 124), data=True, ends=False),
    Command("action-timeout", "action", "box", "--timeout", "2", '{"action":"run","args":{"command":"c"}}',
            codes=(0, 1, 111, 124), data=True),
    Command("cp-down", "cp", "box:/work", "got"),
    Command("cp-file", "cp", "box:/work/a", "got"),
    Command("cp-tar", "cp", "box:/work", "-", data=True, ends=False),
    Command("cp-up", "cp", "given", "box:/work/a"),
    Command("ls", "ls", "box", "/work", data=True),
    Command("screenshot", "screenshot", "box", "-o", "shot.png"),
    Command("ps", "ps"),
    Command("ps-json", "ps", "--json"),
    Command("ps-stats", "ps", "--stats"),
    Command("inspect", "inspect", "box"),
    Command("env", "env", "box"),
    Command("sessions", "sessions", "box", honest=(0, 111)),
    Command("sessions-kill", "sessions", "box", "--kill", "s1", honest=(0, 111)),
    Command("start", "start", *READY, "box"),
    Command("restart", "restart", *READY, "box"),
    Command("logs", "logs", "box", data=True),
    Command("logs-follow", "logs", "-f", "box", data=True, ends=False),
    Command("attach", "attach", "box", data=True, ends=False),
    Command("attach-session", "attach", "box", "--session", "s1", data=True, ends=False, codes=ANY),
    Command("shell", "shell", "box", stdin=b"echo\n", data=True, ends=False, codes=ANY, honest=(0, 111)),
    Command("mcp", "mcp", "box", stdin=MCP, ends=False),
    Command("pause", "pause", "box"),
    Command("resume", "resume", "paused"),
    Command("wait", "wait", "box", ends=False),
    Command("kill", "kill", "box"),
    Command("update", "update", "box"),
    Command("stop", "stop", "box"),
    Command("rm", "rm", "-f", "box"),
    Command("pull", "build", "registry:REGISTRY/r/img:1", "--output", "oci:got", "-t", "a:1"),
    Command("pull-archive", "build", "registry:REGISTRY/r/img:1", "--output", "archive:got.tar", "-t", "a:1"),
    Command("append", "build", "registry:REGISTRY/r/img:1", "--output", "registry:REGISTRY/r/img:2"),
    Command("push", "build", "oci:OCI", "--output", "registry:REGISTRY/r/out:1"),
)


# --- One case -------------------------------------------------------------------

class World:
    """Peers and folders of one case; honest until a proxy lies."""

    count = itertools.count()

    def __init__(self, peer=None, number=None, behaviour=None, turn=0):
        # A socket's path is short.
        self.top = os.path.join(TOP, f"{os.getpid()}-{next(World.count)}")
        for folder in ("home", "state/sandboxes", "out"):
            os.makedirs(os.path.join(self.top, folder))
        os.chmod(self.path("state"), 0o700)
        os.chmod(self.path("state/sandboxes"), 0o700)
        for file in ("canary", "out/given"):
            with open(self.path(file), "w") as f:
                f.write("canary\n")
        self.peer, self.number, self.behaviour, self.turn = peer, number, behaviour, turn
        self.proxies = {}
        self.sandbox = self.proxy(SANDBOX, HONEST.sandbox.port)
        self.registry = self.proxy(REGISTRY, HONEST.registry.origin.port)
        self.engine = WholeEngine(self.path("e"), images={"base:1": image(Created="2024-01-01T00:00:00Z")})
        self.engine.sandbox = lambda _: self.sandbox
        self.engine.output = b"\1\0\0\0\0\0\0\5line\n"
        self.proxy(ENGINE, self.path("e"), self.path("p"))
        self.fill()

    def path(self, name):
        return os.path.join(self.top, name)

    def proxy(self, peer, to, path=None):
        seen = []

        def when(request):
            seen.append(request)
            # Everything from there on: a program that asks again meets the same.
            return peer == self.peer and len(seen) > self.number
        self.proxies[peer] = Proxy(to, self.behaviour, when, path, self.turn)
        return self.proxies[peer]

    def fill(self):
        """A sandbox that runs, one that is paused, a container that is no sandbox, a bystander."""
        for name, id_, spec, state in (
                ("box", BOX, HONEST.spec, "running"), ("paused", "a3" * 32, HONEST.spec, "paused"),
                ("plain", PLAIN, {"Image": "base:1", "Labels": {}, "HostConfig": {}}, "running"),
                ("bystander", hostile.BYSTANDER, {"Image": "base:1", "Labels": {}, "HostConfig": {}}, "running")):
            c = Container(id_, name, copy.deepcopy(spec))
            c.state, c.port, c.image = state, self.sandbox.port, self.engine.images["base:1"]["Id"]
            self.engine.containers[id_] = c
        for name, id_ in (("box", BOX), ("paused", "a3" * 32)):
            with open(self.path(f"state/sandboxes/{name}.json"), "w") as f:
                json.dump({"name": name, "id": id_, "engine": self.path("p"), "key": "5a" * 32}, f)
            os.chmod(f.name, 0o600)

    def environment(self):
        env = {"PATH": "/bin:/usr/bin", "HOME": self.path("home"), "OD_STATE_DIR": self.path("state"),
               "OD_RUNTIME_CLIENT": PROGRAM, "DOCKER_HOST": "unix://" + self.path("p")}
        env.update({k: os.environ[k] for k in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if k in os.environ})
        return env

    def run(self, command, seconds=WAIT_SECONDS, interrupt=None):
        words = [w.replace("REGISTRY", f"127.0.0.1:{self.registry.port}").replace("OCI", HONEST.oci)
                 for w in command.words]
        return verdict.run_bounded([harness.RUNTIME, *words], self.environment(), self.path("out"), command.stdin,
                                   seconds, interrupt)

    def changed(self):
        return sum(p.changed for p in self.proxies.values())

    def damage(self, command):
        """Actions to which a lie has led the program, as texts."""
        out = []
        for peer, proxy in self.proxies.items():
            for request in proxy.requests:
                reason = request.illegal()
                if reason:
                    out.append(f"a request to the {peer} has {reason}")
                # An engine can name any of its containers; nobody else can, and no id becomes two segments.
                led = hostile.BYSTANDER in request.target and request.method not in ("GET", "HEAD")
                if peer == ENGINE and led and (self.peer != ENGINE or "kill?x=" in request.target):
                    out.append(f"the bystander is touched: {request!r}")
        bystander = self.engine.containers.get(hostile.BYSTANDER)
        if self.peer != ENGINE and (not bystander or bystander.state != "running" or bystander.files):
            out.append("the bystander is not as it was")
        if os.path.lexists(hostile.OUTSIDE):
            out.append(f"{hostile.OUTSIDE} was made")
        with open(self.path("canary")) as f:
            if f.read() != "canary\n" or os.stat(self.path("canary")).st_nlink != 1:
                out.append("a file outside the target has changed")
        for name, (mode, links) in verdict.tree(self.top).items():
            out += self.misplaced(name, mode, links)
        return out

    def misplaced(self, name, mode, links):
        allowed = r"canary|[ep]|home(/\.cache.*)?|state(/sandboxes(/[\w.-]+\.json)?)?|out(/(given|got.*|shot\.png))?"
        if not re.fullmatch(allowed, name, re.S):
            return [f"{name!r} was made"]
        kind = stat.S_IFMT(mode)
        if name.startswith("out/") and kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
            return [f"{name!r} is no regular file"]
        if kind == stat.S_IFREG and mode & 0o7000:
            return [f"{name!r} has mode {mode:o}"]
        return []

    def end(self):
        for proxy in self.proxies.values():
            proxy.end()
        self.engine.close()
        shutil.rmtree(self.top, ignore_errors=True)


class HONEST:
    """Peers that all cases share; they hold no state that a case sees."""

    @classmethod
    def start(cls):
        cls.sandbox = sandbox.Sandbox()
        cls.registry = registry.Mock()
        cls.oci = os.path.join(TOP, "oci")
        if not os.path.isdir(cls.oci):
            registry.write_oci(cls.oci, registry.MADE)
        cls.spec = {"Image": "base:1", "Labels": {
            "od.sandbox": "1", "od.sandbox.image": "base:1"}, "HostConfig": {
            "PortBindings": {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": ""}]}, "AutoRemove": False}}


class Case:
    def __init__(self, command, peer, number, kind, behaviour, turn):
        self.command, self.peer, self.number = command, peer, number
        self.behaviour, self.turn, self.kind = behaviour, turn, kind
        self.name = f"{command.name} {peer} {kind} {behaviour.name} {turn}"

    @property
    def waits(self):
        """Whether it mostly waits: for a deadline, or for a sandbox that is never ready."""
        return self.behaviour.endless or (
            self.command.name in ("update", "start", "restart") and self.peer == SANDBOX)

    def judge(self, world):
        command, b = self.command, self.behaviour
        # The commands of a build take as long as they take.
        waits = b.endless and not (command.ends and self.kind != "POST /build")
        got = world.run(command, interrupt=2.0 if waits else None)
        out = []
        if world.changed():
            # The figure of a child begins with what its parent had at the fork.
            floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            out = verdict.faults(got, command.codes, not waits, command.data, 0 if ASAN else max(RSS_KIB, floor),
                                 command.report)
        return out + world.damage(command), got, world.changed()

    def run(self):
        world = World(self.peer, self.number, self.behaviour, self.turn)
        try:
            found, got, changed = self.judge(world)
        finally:
            world.end()
        return {"name": self.name, "faults": found, "changed": changed, "seconds": got.seconds, "code": got.code,
                "rss": got.rss_kib, "err": got.err[-600:].decode(errors="replace"),
                "out": got.out[:200].decode(errors="replace")}


# --- The matrix -----------------------------------------------------------------

def kind_of(request):
    """A request's kind: its method and path without ids and names."""
    path = re.sub(r"[0-9a-f]{32,}|od-[\w-]*|sha256:\w+", "ID", request.path)
    return f"{request.method} {path}"


def learn(command):
    """Runs a command against honest peers, which shows what it asks them."""
    world = World()
    got = world.run(command)
    for peer, proxy in world.proxies.items():
        seen = set()
        for number, request in enumerate(proxy.requests):
            kind = kind_of(request)
            if kind not in seen:
                command.requests.append((peer, number, kind))
            seen.add(kind)
    damage = world.damage(command)
    world.end()
    ok(got.code in command.honest and not damage, f"{command.name} works with honest peers",
       got.code, got.out[-300:], got.err, damage)


def chosen(peer, behaviour, wanted):
    """(command, request) pairs for a behaviour of a peer."""
    pairs = [(c, r) for c in COMMANDS for r in c.requests if r[0] == peer]
    if wanted:
        return pairs
    rng = random.Random(f"{SEED} {peer} {behaviour.name}")
    rng.shuffle(pairs)
    first = {}
    for command, request in pairs:
        first.setdefault(command, (command, request))
    return list(first.values())[:SOME[peer][behaviour.endless]]


def cases(wanted):
    """All cases, in an order of the seed; those that wait come first."""
    out = []
    for b in hostile.BEHAVIOURS:
        for peer in (ENGINE, SANDBOX, REGISTRY):
            for command, request in chosen(peer, b, wanted):
                out.append(Case(command, *request, b, random.Random(f"{SEED} {command.name} {b.name}").randrange(1000)))
    if wanted not in ("", "all"):
        out = [c for c in out if all(w in c.name.split() for w in wanted.split())]
    random.Random(SEED).shuffle(out)
    return sorted(out, key=lambda c: not c.waits)


def work(given, write):
    """A worker: its cases in threads, a line of JSON for each."""
    HONEST.start()
    slow = [c for c in given if c.waits]
    fast = [c for c in given if not c.waits]
    lock = threading.Lock()

    def serve(some):
        while True:
            with lock:
                if not some:
                    return
                case = some.pop(0)
            try:
                result = case.run()
            except Exception as e:
                result = {"name": case.name, "faults": [f"the test failed: {e!r}"], "changed": 0, "seconds": 0,
                          "code": None, "err": "", "out": "", "rss": 0}
            with lock:
                write(result)
    threads = [threading.Thread(target=serve, args=(slow,)) for _ in range(60)]
    threads += [threading.Thread(target=serve, args=(fast,)) for _ in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def spread(given):
    """The results of all cases, made by some processes."""
    files, pids = [], []
    for i in range(WORKERS):
        path = os.path.join(TOP, f"results-{i}")
        files.append(path)
        pid = os.fork()
        if pid == 0:
            with open(path, "w") as f:
                work(given[i::WORKERS], lambda r: print(json.dumps(r), file=f, flush=True))
            os._exit(0)
        pids.append(pid)
    good = all(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 for pid in pids)
    ok(good, "all workers ran to their end")
    return [json.loads(line) for path in files for line in open(path)]


def test_matrix():
    start = time.monotonic()
    HONEST.start()
    for command in COMMANDS:
        learn(command)
    wanted = os.environ.get("OD_HOSTILE", "")
    given = cases(wanted)
    results = spread(given)
    eq(len(results), len(given), "every case has a result")
    note(f"seed {SEED}, {len(given)} cases, {sum(r['changed'] > 0 for r in results)} of them lied, "
         f"{time.monotonic() - start:.0f} s")
    if os.environ.get("OD_RESULTS"):
        with open(os.environ["OD_RESULTS"], "w") as f:
            json.dump(results, f)
    known = [[] for _ in OPEN]
    by_behaviour = {}
    for r in results:
        r["new"] = []
        for fault in r["faults"]:
            row = next((k for k, (f, n, _) in zip(known, OPEN) if re.search(f, fault) and re.search(n, r["name"])), None)
            (r["new"] if row is None else row).append(f"{r['name']}: {fault}")
        by_behaviour.setdefault(r["name"].split()[-2], []).append(r)
    for name, rows in by_behaviour.items():
        bad = [r for r in rows if r["new"]]
        ok(not bad, f"{name}: {len(rows)} cases", *[json.dumps(r)[:900] for r in bad[:5]])
    for rows, (fault, name, missing) in zip(known, OPEN):
        todo(not rows, f"no case has the fault: {fault} {name}", missing, f"{len(rows)} cases", *rows[:5])
    for command in COMMANDS if wanted in ("", "all") else ():
        ok(any(r["changed"] for r in results if r["name"].split()[0] == command.name), f"{command.name} met a liar")


if __name__ == "__main__":
    harness.PATIENCE = max(harness.PATIENCE, 800)  # it takes 90 s alone, and more beside other tests
    main()
