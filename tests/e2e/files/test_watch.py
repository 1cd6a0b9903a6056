#!/usr/bin/env python3
"""The route /v1/watch."""
import base64
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlencode

from harness import DEADLINE, Client, Closed, alive, children, eq, has, main, ok, skip, until


class Stream:
    """One watch. HTTP/1.0 has no chunks: what comes are the events themselves."""

    def __init__(self, client, small=False, **params):
        self.sock = socket.socket()
        self.sock.settimeout(DEADLINE)
        if small:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.connect(("127.0.0.1", client.port))
        target = "/v1/watch?" + urlencode({"path": client.work, **params})
        self.sock.sendall(f"GET {target} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        self.data = b""
        self.comments = 0
        self.last = 0
        head = self.until(b"\r\n\r\n").decode()
        self.status = int(head.split()[1])
        self.head = head.lower()

    def more(self):
        data = self.sock.recv(1 << 18)
        if not data:
            raise Closed(self.data)
        self.data += data

    def until(self, mark):
        while mark not in self.data:
            self.more()
        part, self.data = self.data.split(mark, 1)
        return part

    def event(self):
        """The next (name, data)."""
        end = time.monotonic() + DEADLINE
        while True:
            lines = self.until(b"\n\n").split(b"\n")
            if lines == [b":"]:
                self.comments += 1
                # Signs of life keep recv from giving up.
                if time.monotonic() > end:
                    raise TimeoutError("no event")
                continue
            fields = dict(line.split(b": ", 1) for line in lines)
            if int(fields[b"id"]) != self.last + 1:
                raise RuntimeError(f"id {fields[b'id']} after {self.last}")
            self.last += 1
            return fields[b"event"].decode(), json.loads(fields[b"data"])

    def ready(self):
        """What comes up to the first "ready", and that."""
        seen = []
        while not seen or seen[-1][0] != "ready":
            seen.append(self.event())
        return seen

    def short(self):
        """The next event as "name path", "name from path" and a slash behind folders."""
        name, data = self.event()
        words = [name] + [data[k] for k in ("from", "path") if k in data]
        return " ".join(words) + "/" * data.get("dir", False)

    def upto(self, last):
        seen = []
        while not seen or seen[-1] != last:
            seen.append(self.short())
        return seen

    def closed(self):
        try:
            while True:
                self.more()
        except Closed:
            return not self.data
        except ConnectionResetError:
            return False

    def close(self):
        self.sock.close()


def watch(client, **params):
    s = Stream(client, **params)
    if s.status != 200:
        raise RuntimeError(f"{s.head} {s.data}")
    s.first = s.ready()
    return s


def touch(path, text="x"):
    with open(path, "w") as f:
        f.write(text)


# --- Kinds ------------------------------------------------------------------------

def test_kinds():
    with Client() as client:
        w = client.work
        os.makedirs(w + "/old/deep")
        s = watch(client, recursive=1)
        has(s.head, "content-type: text/event-stream\r\n", "the type")
        has(s.head, "cache-control: no-cache", "nobody keeps it")
        eq(s.first, [("ready", {"path": w, "folders": 3})], "ready")
        touch(w + "/f")
        eq(s.upto("write f"), ["create f", "write f"], "a file is made and written")
        os.chmod(w + "/f", 0o600)
        eq(s.short(), "chmod f", "a mode")
        os.rename(w + "/f", w + "/old/deep/g")
        eq(s.short(), "rename f old/deep/g", "a rename to another folder")
        os.rename(w + "/old", w + "/new")
        eq(s.short(), "rename old new/", "of a folder")
        touch(w + "/new/deep/g", "yy")
        eq(s.short(), "write new/deep/g", "whose new path is known, deep down")
        os.rename(w + "/new/deep", client.top + "/away")
        eq(s.short(), "remove new/deep/", "moved away is removed")
        touch(client.top + "/away/h")
        os.rename(client.top + "/away", w + "/back")
        eq([s.short(), *sorted([s.short(), s.short()])],
           ["create back/", "create back/g", "create back/h"],
           "moved here is made, with what is in it")
        os.makedirs(w + "/p/q/r")
        touch(w + "/p/q/r/s")
        seen = s.upto("create p/q/r/s")
        ok({"create p/", "create p/q/", "create p/q/r/", "create p/q/r/s"} <= set(seen),
           "new folders in new folders", seen)
        os.remove(w + "/p/q/r/s")
        eq(s.upto("remove p/q/r/s")[-1], "remove p/q/r/s", "a file is removed")
        os.rmdir(w + "/p/q/r")
        eq(s.short(), "remove p/q/r/", "a folder is")
        os.symlink("/etc", w + "/link")
        eq(s.short(), "create link", "a link is no folder")
        with open(w + "/log", "w") as f:
            f.write("1")
            f.flush()
            eq(s.upto("write log"), ["create log", "write log"], "a file that stays open is told")
            for _ in range(1000):
                f.write("2")
                f.flush()
        seen = 0
        touch(w + "/end")
        while s.short() != "create end":
            seen += 1
        ok(1 <= seen <= 8, "a burst of writes is few events", seen)
        s.close()


def test_flat():
    with Client() as client:
        os.mkdir(client.work + "/a")
        client.run("cd " + client.work)
        s = watch(client, path=".")
        eq(s.first[0][1]["folders"], 1, "one folder alone")
        touch(client.work + "/a/unseen")
        os.mkdir(client.work + "/b")
        touch(client.work + "/b/unseen")
        os.rename(client.work + "/a", client.work + "/c")
        eq([s.short(), s.short()], ["create b/", "rename a c/"], "what is in folders is not told")
        s.close()


def test_existing():
    with Client() as client:
        os.makedirs(client.work + "/a/b")
        touch(client.work + "/a/b/f")
        touch(client.work + "/g")
        for recursive, want in ((1, ["a", "a/b", "a/b/f", "g"]), (0, ["a", "g"])):
            s = watch(client, recursive=recursive, existing=1)
            eq(sorted(d["path"] for n, d in s.first if n == "create"), want, "what is there already")
            s.close()


def test_file():
    with Client() as client:
        w = client.work
        touch(w + "/f")
        os.symlink("f", w + "/l")
        s = watch(client, path=w + "/l", recursive=1)
        touch(w + "/other")
        touch(w + "/f", "2")
        touch(w + "/tmp")
        eq(s.upto("write f")[-1], "write f", "one file, through a link")
        os.rename(w + "/tmp", w + "/f")
        eq(s.short(), "create f", "replaced by a rename, as editors do, it is watched on")
        touch(w + "/f", "3")
        os.remove(w + "/f")
        touch(w + "/f")
        eq([s.short() for _ in range(4)], ["write f", "remove f", "create f", "write f"],
           "and when it comes back")
        s.close()


def test_names():
    with Client() as client:
        s = watch(client, recursive=1)
        for name in (b"new\nline", b"bad\xff\xfe", "ünï".encode(), b'quo"te\\', b"x" * 255):
            top = client.work.encode() + b"/" + name
            os.mkdir(top)
            event, data = s.event()
            raw = base64.b64decode(data["path_base64"]) if "path_base64" in data else data["path"].encode()
            eq((event, raw), ("create", name), f"{name[:20]!r}")
            eq("path_base64" in data, name.startswith(b"bad"), "base64 where it has to be")
            os.rename(top, top[:-1])
            event, data = s.event()
            raw = base64.b64decode(data["from_base64"]) if "from_base64" in data else data["from"].encode()
            eq((event, raw), ("rename", name), "renamed")
        s.close()


# --- What is left out -----------------------------------------------------------------

def test_left_out():
    with Client() as client:
        w = client.work
        for d in ("node_modules/a", "src", ".git", "build"):
            os.makedirs(w + "/" + d)
        s = watch(client, recursive=1, exclude="{node_modules,*.tmp}")
        eq(s.first[-1][1]["folders"], 4, "what is excluded is not watched")
        touch(w + "/node_modules/a/x")
        touch(w + "/src/a.tmp")
        os.rename(w + "/src/a.tmp", w + "/src/a.c")
        eq(s.short(), "create src/a.c", "to come from there is to be made")
        os.rename(w + "/src/a.c", w + "/src/b.tmp")
        eq(s.short(), "remove src/a.c", "to go there is to be removed")
        s.close()
        touch(w + "/.gitignore", "build/\n*.o\n")
        s = watch(client, recursive=1, ignore=1)
        eq(s.first[-1][1]["folders"], 4, "nor is what git ignores")
        for name in (".git/x", "build/x", "src/x.o", "src/seen"):
            touch(w + "/" + name)
        eq(s.short(), "create src/seen", "and not told")
        touch(w + "/.gitignore", "*.c\n")
        touch(w + "/src/y.c")
        touch(w + "/src/y.o")
        seen = s.upto("create src/y.o")
        ok("create src/y.c" not in seen, "rules that have changed count", seen)
        s.close()


def test_errors():
    with Client() as client:
        os.mkfifo(client.work + "/pipe")
        for params, status, words in (
                ({"path": client.work + "/none"}, 404, "No such file"),
                ({"exclude": "{a"}, 422, "exclude"),
                ({"heartbeat": "0"}, 422, "heartbeat"),
                ({"session": "nobody"}, 422, "session"),
                ({"recursive": "perhaps"}, 422, "true or false")):
            s = Stream(client, **params)
            s.closed()
            eq(s.status, status, f"{params}")
            has(s.data.decode(), words, "and says why")
        answer = client.get("/v1/watch")
        eq(answer.status, 422, "a path is required")


def test_rights():
    if os.geteuid():
        return skip("as another user", "only root can change it")
    with Client("--username", "nobody", user=False,
                env={"SU_TO_USER": None, "RUNTIME_USERNAME": "nobody"}) as client:
        for d, mode in (("open", 0o755), ("shut", 0o700)):
            os.mkdir(f"{client.work}/{d}")
            os.chown(f"{client.work}/{d}", 0, 0)
            os.chmod(f"{client.work}/{d}", mode)
        os.chmod(client.top, 0o755)
        s = Stream(client, path=client.work + "/shut")
        eq(s.status, 403, "a folder that may not be read")
        s = watch(client, recursive=1)
        eq([(n, d["path"]) for n, d in s.first], [("unwatched", "shut"), ("ready", client.work)],
           "one below is told")
        touch(client.work + "/shut/x")
        os.chmod(client.work + "/shut", 0o755)
        eq([s.short(), s.short()], ["chmod shut/", "create shut/x"], "until it may be read")
        touch(client.work + "/shut/y")
        eq(s.short(), "create shut/y", "and is watched")
        s.close()


# --- Ends -----------------------------------------------------------------------------

def jobs(client):
    return [p for p in children(client.pid)]


def test_ends():
    with Client() as client:
        for how, reason in ((os.rmdir, "removed"), (lambda p: os.rename(p, p + "2"), "moved")):
            top = client.work + "/top"
            os.mkdir(top)
            s = watch(client, path=top, recursive=1)
            how(top)
            name, data = s.event()
            eq((name, data["reason"]), ("end", reason), f"the folder is {reason}")
            ok(s.closed(), "and the stream ends")
        s = watch(client, heartbeat=1)
        until(lambda: s.more() or s.data.count(b":\n\n") >= 2)
        ok(s.data.count(b":\n\n") >= 2, "signs of life")
        before = jobs(client)
        s.close()
        ok(until(lambda: len(jobs(client)) == len(before) - 1, 0.5 * DEADLINE / 10),
           "who leaves takes the process with him")
        s = watch(client, recursive=1)
        pids = jobs(client)
        started = time.monotonic()
        client.process.terminate()
        name, data = s.event()
        eq((name, data["reason"]), ("end", "stopping"), "the server stops")
        ok(s.closed(), "and so does the stream")
        s.close()
        eq(client.process.wait(DEADLINE), 0, "the server ends")
        ok(time.monotonic() - started < 2, "at once")
        ok(not any(alive(p) for p in pids), "no process stays")


def test_many():
    with Client() as client:
        streams = [watch(client) for _ in range(8)]
        s = Stream(client)
        eq(s.status, 503, "there is a limit")
        streams.pop().close()
        s = until(lambda: (lambda s: s if s.status == 200 else s.close())(Stream(client)))
        ok(s, "and a place again when one has ended")
        touch(client.work + "/f")
        for stream in streams:
            eq(stream.upto("write f"), ["create f", "write f"], "each is told")
        answer = client.get("/v1/files/stat?path=" + client.work)
        eq(answer.status, 200, "others find a place")
        streams.pop().close()
        again = until(lambda: (lambda s: s if s.status == 200 else s.close())(Stream(client)))
        eq((again.ready()[0][0], again.last), ("ready", 1), "who comes again begins anew")


def test_http():
    """With chunks, as browsers and curl have it."""
    if not shutil.which("curl"):
        return skip("curl -N", "there is no curl")
    with Client() as client:
        url = f"http://127.0.0.1:{client.port}/v1/watch?path={client.work}"
        curl = subprocess.Popen(["curl", "-sN", url], stdout=subprocess.PIPE)
        os.set_blocking(curl.stdout.fileno(), False)
        data = b""

        def got(mark):
            nonlocal data
            data += curl.stdout.read() or b""
            return mark in data
        ok(until(lambda: got(b"event: ready")), "curl -N is told that all is ready", data)
        touch(client.work + "/f")
        ok(until(lambda: got(b'event: write\ndata: {"path":"f","dir":false}\n\n')), "and of changes", data)
        curl.terminate()
        curl.wait()
        curl.stdout.close()


# --- A copy that is made of events alone -------------------------------------------------

class Shadow:
    """What a client knows: paths and whether they are folders."""

    def __init__(self):
        self.known = {}

    def drop(self, path):
        for p in [p for p in self.known if p == path or p.startswith(path + b"/")]:
            del self.known[p]

    def apply(self, name, data):
        def raw(key):
            return (base64.b64decode(data[key + "_base64"]) if key + "_base64" in data
                    else data[key].encode())
        if name == "create":
            self.known[raw("path")] = data["dir"]
        elif name == "remove":
            self.drop(raw("path"))
        elif name == "rename":
            old, new = raw("from"), raw("path")
            moved = {p: d for p, d in self.known.items() if p == old or p.startswith(old + b"/")}
            self.drop(old)
            self.drop(new)
            self.known[new] = data["dir"]
            for p, d in moved.items():
                self.known[new + p[len(old):]] = d


def real(top):
    top = top.encode()
    out = {}
    for folder, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(folder, name)
            out[path[len(top) + 1:]] = os.path.isdir(path) and not os.path.islink(path)
    return out


LOAD = r'''
import os, random, shutil, sys
seed, top, away, n = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
r = random.Random(seed)
def place(): return os.path.join(top, *(r.choice("abcd") for _ in range(r.randint(1, 4))))
def one():
    k = r.random()
    if k < .35: os.makedirs(place(), exist_ok=True)
    elif k < .55:
        with open(place() + r.choice("xyz"), "w") as f: f.write("1")
    elif k < .75: os.rename(place(), place())
    elif k < .8: os.rename(place(), place() + "/" + r.choice("abcd"))
    elif k < .85: os.rename(place(), os.path.join(away, str(seed) + r.choice("ab")))
    elif k < .9: os.rename(os.path.join(away, str(seed) + r.choice("ab")), place())
    elif k < .93: shutil.rmtree(place())
    else: os.remove(place() + r.choice("xyz"))
for _ in range(n):
    try: one()
    except OSError: pass
'''


def follow(client, s, shadow, done):
    """Applies events up to that of a file that is made when done() says so."""
    overflows = 0
    mark = "the-end"
    waiting = gap = False
    s.sock.settimeout(0.02)
    end = time.monotonic() + 6 * DEADLINE
    while time.monotonic() < end:
        if not waiting and done():
            touch(f"{client.work}/{mark}")
            waiting = True
        try:
            name, data = s.event()
        except TimeoutError:
            continue
        if name == "overflow":
            overflows += 1
            gap = True
            shadow.known = {}
        gap = gap and name != "ready"
        shadow.apply(name, data)
        if not gap and mark.encode() in shadow.known:
            return overflows
    raise RuntimeError("the last event does not come")


def differences(a, b):
    return sorted(set(a.items()) ^ set(b.items()))[:20]


def shadowed(client):
    """A watch, and the copy of what it has told so far."""
    s = watch(client, recursive=1, existing=1)
    shadow = Shadow()
    for event in s.first:
        shadow.apply(*event)
    return s, shadow


def test_shadow():
    """Renames, moves in and out, removals, by three at a time; the copy is the tree."""
    for seed in range(int(os.environ.get("OD_WATCH_ROUNDS", "6"))):
        with Client() as client:
            away = client.top + "/away"
            os.mkdir(away)
            s = watch(client, recursive=1, existing=1)
            shadow = Shadow()
            load = [subprocess.Popen([sys.executable, "-c", LOAD, str(3 * seed + i), client.work, away,
                                      "1500"]) for i in range(3)]
            follow(client, s, shadow, lambda: all(p.poll() is not None for p in load))
            eq(differences(shadow.known, real(client.work)), [], f"seed {seed}: the same tree")
            s.close()


def test_overflow():
    """Who does not read is told that something is missing, and nothing grows."""
    with Client() as client:
        for i in range(60):
            os.mkdir(f"{client.work}/{'d' * 200}{i}")
        s = watch(client, small=True, recursive=1, existing=1)
        job = [p for p in children(client.pid) if b"serve" in open(f"/proc/{p}/cmdline", "rb").read()]
        for i in range(60):
            top = f"{client.work}/{'d' * 200}{i}"
            for k in range(500):
                os.close(os.open(f"{top}/{'f' * 200}{k}", os.O_CREAT | os.O_WRONLY))
        kib = max(int(line.split()[1]) for p in job for line in open(f"/proc/{p}/status")
                  if line.startswith("VmRSS"))
        ok(kib < 30000, f"its process stays small ({kib} KiB)")
        shadow = Shadow()
        n = follow(client, s, shadow, lambda: True)
        ok(n >= 1, "the overflow is told")
        eq(differences(shadow.known, real(client.work)), [], "after it the copy is right again")
        touch(f"{client.work}/{'d' * 200}7/new")
        s.sock.settimeout(DEADLINE)
        ok(s.upto("write " + "d" * 200 + "7/new"), "and all folders are watched")
        s.close()


NOISE = r"""
import os, sys
while True:
    for i in range(10):
        path = sys.argv[1] + "/" + str(i)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.rename(path, path + "x")
        os.remove(path + "x")
"""


def exchange(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    r = libc.syscall({"x86_64": 316, "aarch64": 276}[os.uname().machine], -100, a.encode(), -100,
                     b.encode(), 2)
    return os.strerror(ctypes.get_errno()) if r else None


def test_exchange():
    """Two names that change places at once, while the records of others come in between."""
    with Client() as client:
        w = client.work
        for seed in range(10):
            for name in ("a", "b", "noise"):
                os.mkdir(f"{w}/{name}")
                touch(f"{w}/{name}/in-{name}")
            s, shadow = shadowed(client)
            noise = subprocess.Popen([sys.executable, "-c", NOISE, w + "/noise"])
            until(lambda: s.event()[1]["path"] == "noise/9x")
            why = exchange(w + "/a", w + "/b")
            noise.kill()
            noise.wait()
            if why:
                return skip("renameat2", why)
            follow(client, s, shadow, lambda: True)
            eq(differences(shadow.known, real(w)), [], f"round {seed}: the same tree")
            touch(w + "/a/late")
            touch(w + "/b/late")
            s.sock.settimeout(DEADLINE)
            ok("create a/late" in s.upto("create b/late"), "and both are watched")
            s.close()
            for name in os.listdir(w):
                remove = shutil.rmtree if os.path.isdir(f"{w}/{name}") else os.remove
                remove(f"{w}/{name}")


def test_exchange_and_move():
    """All of it before anything is read: the folder is not where it was."""
    with Client() as client:
        w = client.work
        for name in ("a", "b"):
            os.makedirs(f"{w}/d/{name}")
            touch(f"{w}/d/{name}/in-{name}")
        s, shadow = shadowed(client)
        pids = jobs(client)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        why = exchange(w + "/d/a", w + "/d/b")
        os.rename(w + "/d", w + "/e")
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        if why:
            return skip("renameat2", why)
        follow(client, s, shadow, lambda: True)
        eq(differences(shadow.known, real(w)), [], "the same tree")
        touch(w + "/e/a/late")
        touch(w + "/e/b/late")
        s.sock.settimeout(DEADLINE)
        ok("create e/a/late" in s.upto("create e/b/late"), "and both are watched")
        s.close()


def test_there_and_back():
    """What looks like an exchange in the records is none: nobody has to list all anew."""
    with Client() as client:
        w = client.work
        for recursive in (0, 1):
            os.makedirs(w + "/d", exist_ok=True)
            touch(w + "/f")
            s = watch(client, recursive=recursive)
            for name, dir in (("f", ""), ("d", "/")):
                for _ in range(3):
                    os.rename(f"{w}/{name}", f"{w}/{name}.bak")
                    os.rename(f"{w}/{name}.bak", f"{w}/{name}")
                    eq([s.short(), s.short()],
                       [f"rename {name} {name}.bak{dir}", f"rename {name}.bak {name}{dir}"], f"{name}{dir}")
            touch(w + "/f.tmp")
            os.rename(w + "/f.tmp", w + "/f")
            os.rename(w + "/f", client.top + "/f")
            seen = s.upto("remove f")
            ok("overflow" not in " ".join(seen), "saved, and moved out", seen)
            s.close()


def test_exchange_outside():
    """With something that is not watched."""
    with Client() as client:
        w, top = client.work, client.top
        for order in (1, -1):
            for make in (touch, os.mkdir):
                make(w + "/in")
                make(top + "/out")
                s, shadow = shadowed(client)
                why = exchange(*(w + "/in", top + "/out")[::order])
                if why:
                    return skip("renameat2", why)
                follow(client, s, shadow, lambda: True)
                s.sock.settimeout(DEADLINE)
                while s.data or b"in" not in shadow.known:
                    shadow.apply(*s.event())
                eq(differences(shadow.known, real(w)), [], "the same tree")
                if make == os.mkdir:
                    touch(w + "/in/late")
                    ok(s.upto("create in/late"), "and what has come is watched")
                s.close()
                for path in (w + "/in", top + "/out"):
                    (os.remove if make == touch else shutil.rmtree)(path)
                os.remove(w + "/the-end")


def test_limit():
    """No watch is left for all the folders."""
    path = "/proc/sys/fs/inotify/max_user_watches"
    try:
        old = open(path).read()
        open(path, "w").write(old)
    except OSError:
        return skip("max_user_watches", "it cannot be set here")
    with Client() as client:
        for i in range(50):
            os.mkdir(f"{client.work}/{i}")
        try:
            open(path, "w").write("20")
            s = watch(client, recursive=1)
            eq([n for n, _ in s.first], ["unwatched", "ready"], "it is told once")
            has(s.first[0][1]["detail"], "max_user_watches", "and why")
            touch(client.work + "/f")
            eq(s.upto("write f"), ["create f", "write f"], "what is watched stays so")
            open(path, "w").write("0")
            t = Stream(client)
            eq(t.status, 503, "no watch at all is an error")
            s.close()
        finally:
            open(path, "w").write(old)


if __name__ == "__main__":
    main()
