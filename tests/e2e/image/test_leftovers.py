#!/usr/bin/env python3
"""Objects that a killed od-runtime leaves at an engine are removed by a later command."""
import json
import os
import signal
import socket
import subprocess
import threading
import time

import harness
from engine import PREFIX, Box, archive, find
from harness import eq, has, main, ok, until

ENGINE = find()
IMAGE = f"{PREFIX}-left:1"
OWNER = "od.sandbox.owner"
TAG = PREFIX[-8:].lstrip("-.")


def usable(name):
    busybox = "/bin/busybox"
    if not ENGINE or not os.path.exists(busybox):
        harness.skip(name, "no engine" if not ENGINE else "no busybox")
        return False
    if not any(IMAGE in (i["RepoTags"] or []) for i in ENGINE.call("GET", "/images/json")):
        with open(busybox, "rb") as f:
            data = f.read()
        ENGINE.load(archive({"bin/": b"", "bin/busybox": data, "bin/sh": "busybox",
                             "bin/sleep": "busybox", "tmp/": b""}), IMAGE, 'CMD ["sh"]')
    return True


class Killer:
    """An engine's socket in front of the real one. The program that is set as process is
    killed at the request number `at`: before the engine has it, or once the engine has
    answered. With stall, that request waits for the event instead."""

    def __init__(self, path, at, after, stall=None):
        self.path, self.at, self.after, self.stall = path, at, after, stall
        self.seen, self.process = 0, None
        self.ready, self.done = threading.Event(), threading.Event()
        self.requests = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            self.seen += 1
            threading.Thread(target=self.serve, args=(conn, self.seen), daemon=True).start()

    def kill(self):
        self.ready.wait()
        self.process.kill()
        self.process.wait()
        self.done.set()

    def serve(self, conn, number):
        engine = socket.socket(socket.AF_UNIX)
        try:
            engine.connect(ENGINE.path)
            head = conn.recv(65536)
            self.requests.append(head.split(b"\r\n")[0].decode())
            if number == self.at and self.stall:
                self.done.set()
                self.stall.wait()
            elif number == self.at and not self.after:
                return self.kill()
            up = threading.Thread(target=self.relay, args=(conn, engine, head), daemon=True)
            up.start()
            if number == self.at and self.after:
                while engine.recv(65536):
                    pass
                return self.kill()
            self.relay(engine, conn)
        except OSError:
            pass
        finally:
            conn.close()
            engine.close()

    @staticmethod
    def relay(source, target, first=b""):
        try:
            if first:
                target.sendall(first)
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()
        os.unlink(self.path)


class Left(Box):
    def begin(self, socket_path, *argv):
        env = dict(os.environ, OD_STATE_DIR=self.state, OD_RUNTIME_CLIENT=harness.BOXED,
                   DOCKER_HOST="unix://" + socket_path)
        return subprocess.Popen([harness.RUNTIME, *argv], env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def killed(self, at, after, *argv):
        """Whether a command is killed at that request; else it has come to its end."""
        killer = Killer(f"{self.top}/s{time.monotonic_ns()}", at, after)
        p = killer.process = self.begin(killer.path, *argv)
        killer.ready.set()
        _, err = p.communicate(timeout=harness.DEADLINE * 6)
        if p.returncode == -signal.SIGKILL:
            killer.done.wait(harness.DEADLINE)
        elif p.returncode:
            raise RuntimeError(f"{argv}: {p.returncode} at request {at}: {err}")
        killer.close()
        self.last = killer.requests[-1] if killer.requests else ""
        return p.returncode == -signal.SIGKILL

    def states(self):
        """The containers of these tests: (name, state)."""
        return [(c["Names"][0], c["State"]) for c in self.rows()]

    def rows(self):
        rows = ENGINE.call("GET", "/containers/json", query={"all": "1"})
        return [c for c in rows if c["Image"] in (IMAGE, ENGINE.image(IMAGE)["Id"])
                or any(PREFIX in n for n in c["Names"])]

    def containers(self):
        return [c["Id"] for c in self.rows()]

    def volumes(self):
        """Volumes for sandboxes of these tests: other programs may use the engine, too."""
        found = ENGINE.call("GET", "/volumes", query={
            "filters": json.dumps({"label": [OWNER]})})["Volumes"] or []
        return {v["Name"] for v in found if v["Labels"].get("od.sandbox.name", "").startswith(PREFIX)}

    def clear(self):
        for c in self.containers():
            ENGINE.remove(c)

    def owner(self):
        """The owner's text of a process that was killed."""
        for at in range(1, 30):
            self.killed(at, True, "run", "--name", f"{PREFIX}-k", IMAGE)
            if self.states():
                break
        label = ENGINE.container(self.containers()[0])["Config"]["Labels"][OWNER]
        self.clear()
        return label.split(" ")[1]


def kill_everywhere(box, name, *argv):
    """Kills a command at each of its requests; the next one takes away what is left."""
    left = points = 0
    volumes = box.volumes()
    for after in (False, True):
        for at in range(1, 200):
            if not box.killed(at, after, *argv):
                break
            points += 1
            created = [s for _, s in box.states() if s == "created"]
            left += bool(created) or bool(box.volumes() - volumes)
            done = box.od("prune", f"{PREFIX}-none:1") if "overlay" in str(argv) \
                else box.od("build", "--dry-run", IMAGE)
            eq(done.returncode, 0, f"{name}: the next command, after {box.last[:60]}")
            rest = [s for s in box.states() if s[1] != "running"]
            eq((rest, box.volumes() - volumes if not any(
                s[1] == "running" for s in box.states()) else set()), ([], set()),
               f"{name}: nothing is left of request {at}, {'after' if after else 'before'} it")
            box.clear()
            for volume in box.volumes() - volumes:
                ENGINE.call("DELETE", f"/volumes/{volume}", expect=(204, 404))
        box.clear()
    ok(left, f"{name}: {left} of {points} kills left something before")


def test_killed_run():
    if not usable("killed run"):
        return
    with Left(ENGINE) as box:
        kill_everywhere(box, "run", "run", "--name", f"{PREFIX}-k", IMAGE)


def test_killed_overlay():
    if not usable("killed overlay"):
        return
    with Left(ENGINE) as box:
        os.mkdir(box.top + "/source")
        kill_everywhere(box, "an overlay", "run", "--name", f"{PREFIX}-k", "--via", "build",
                        "-v", f"{box.top}/source:/src:overlay", IMAGE)


def test_killed_build():
    if not usable("killed build"):
        return
    with Left(ENGINE) as box:
        kill_everywhere(box, "a commit", "build", "--force", IMAGE)


def test_living():
    """A container of a living process stays, though it was never started."""
    if not usable("living"):
        return
    with Left(ENGINE) as box:
        gate = threading.Event()
        found = None
        for at in range(1, 30):  # up to the request that starts it
            box_path = f"{box.top}/l{at}"
            probe = Killer(box_path, at, False)
            p = probe.process = box.begin(box_path, "run", "--name", f"{PREFIX}-l", IMAGE)
            probe.ready.set()
            p.communicate(timeout=harness.DEADLINE * 6)
            probe.close()
            box.clear()
            if "/start " in probe.requests[-1]:
                found = at
                break
        ok(found, "the request that starts a sandbox is found")
        stalled = Killer(f"{box.top}/l", found, False, gate)
        p = box.begin(stalled.path, "run", "--name", f"{PREFIX}-l", IMAGE)
        ok(stalled.done.wait(harness.DEADLINE), "a run that is about to start its sandbox")
        eq(box.states(), [(f"/{PREFIX}-l", "created")], "has created it")
        done = box.od("run", "--name", f"{PREFIX}-m", IMAGE)
        eq(done.returncode, 0, "another run, meanwhile")
        has(box.states(), (f"/{PREFIX}-l", "created"), "leaves it alone")
        gate.set()
        _, err = p.communicate(timeout=harness.DEADLINE * 3)
        eq((p.returncode, err), (0, b""), "and it comes to its end")
        has(box.states(), (f"/{PREFIX}-l", "running"), "with its sandbox running")
        stalled.close()
        box.clear()


def test_bound():
    """A sandbox that is removed when its command has ended goes when od-runtime was killed;
    others that were started are handed over."""
    if not usable("bound"):
        return
    with Left(ENGINE) as box:
        kept = box.run(IMAGE)
        p = box.begin(ENGINE.path, "run", "--rm", "--name", f"{PREFIX}-b", IMAGE,
                      "sh", "-c", "echo up; sleep 1000")
        until(lambda: any(n == f"/{PREFIX}-b" and s == "running" for n, s in box.states()))
        box.od("build", "--dry-run", IMAGE)
        has(str(box.states()), f"/{PREFIX}-b", "it stays while od-runtime lives")
        p.kill()
        p.communicate()
        box.od("build", "--dry-run", IMAGE)
        eq(box.states(), [(f"/{kept}", "running")], "it goes once od-runtime was killed")
        box.clear()


def test_not_ours():
    """Labels that say something else than that a process of this machine is gone."""
    if not usable("not ours"):
        return
    with Left(ENGINE) as box:
        machine, boot, space, pid, start, when = box.owner().split(".")

        def create(name, owner):
            ENGINE.call("POST", "/containers/create", {
                "Image": IMAGE, "Labels": {OWNER: owner}}, {"name": f"{PREFIX}-{name}"})

        def value(**more):
            parts = dict(machine=machine, boot=boot, space=space, pid=pid, start=start,
                         when=when, **{})
            parts.update(more)
            return ".".join(parts.values())

        other = "0123456789abcdef"
        long_ago = str(int(when) - 7200)
        stay = {"other": value(machine=other, boot=other), "space": value(space="7"),
                "soon": value(boot=other), "none": "text"}
        for name, owner in stay.items():
            create(name, f"{PREFIX}-{name} {owner}")
        create("inherited", f"{PREFIX}-elsewhere {value()}")
        create("gone", f"{PREFIX}-gone {value()}")
        create("before", f"{PREFIX}-before {value(boot=other, when=long_ago)}")
        ENGINE.start(IMAGE, Labels={OWNER: f"{PREFIX}-k {value()}"})
        box.od("build", "--dry-run", IMAGE)
        names = {n.removeprefix(f"/{PREFIX}-") for n, s in box.states() if s == "created"}
        eq(names, {*stay, "inherited"}, "only those whose process is gone are removed")
        box.clear()


def test_committed():
    """Labels of a sandbox that an image of it hands on to containers of the same name."""
    if not usable("committed"):
        return
    with Left(ENGINE) as box:
        name, image = f"{PREFIX}-c", f"{PREFIX}-left:committed"
        p = box.begin(ENGINE.path, "run", "--rm", "--name", name, IMAGE,
                      "sh", "-c", "echo up; sleep 1000")
        until(lambda: (f"/{name}", "running") in box.states())
        sandbox, = box.containers()
        repo, tag = image.split(":")
        ENGINE.call("POST", "/commit", query={"container": sandbox, "repo": repo, "tag": tag})
        p.kill()
        p.communicate()
        ENGINE.remove(sandbox)
        made = ENGINE.call("POST", "/containers/create", {
            "Image": image, "Entrypoint": ["sleep", "1000"]}, {"name": name})["Id"]
        box.od("build", "--dry-run", IMAGE)
        eq(box.states(), [(f"/{name}", "created")], "a created container of the image stays")
        ENGINE.call("POST", f"/containers/{made}/start")
        box.od("build", "--dry-run", IMAGE)
        eq(box.states(), [(f"/{name}", "running")], "a running container of the image stays")
        box.clear()
        ENGINE.remove_image(image)


def test_lent_names():
    """Names that BuildKit is given for base images, until the build has ended."""
    if not usable("lent names"):
        return
    with Left(ENGINE) as box:
        gone = box.owner()
        other = gone.replace(gone[:16], "0123456789abcdef").split(".")
        other[1] = other[0]
        tags = {f"{TAG}1.{gone}", f"{TAG}2.{'.'.join(other)}", f"{TAG}3"}
        for tag in tags:
            ENGINE.call("POST", f"/images/{IMAGE}/tag", query={
                "repo": "od-runtime-base", "tag": tag})
        done = box.od("prune", "--dry-run", f"{PREFIX}-none:1")
        eq(done.returncode, 0, "prune --dry-run")
        names = ENGINE.image(IMAGE)["RepoTags"]
        eq(len([n for n in names if n.startswith("od-runtime-base:")]), 3, "removes nothing")
        box.od("prune", f"{PREFIX}-none:1")
        names = set(ENGINE.image(IMAGE)["RepoTags"])
        eq({t for t in tags if f"od-runtime-base:{t}" in names}, set(tags) - {
            f"{TAG}1.{gone}"}, "prune removes the name whose owner is gone")
        has(names, IMAGE, "and leaves the image")
        for tag in tags:
            ENGINE.call("DELETE", f"/images/od-runtime-base:{tag}", expect=(200, 404))


def left_lines(got):
    """Of the output of prune: what is no image."""
    return {line for line in got.stdout.splitlines() if line.split(" ")[0] in ("container", "volume", "name")
            and (PREFIX in line or TAG in line or "od-overlay" in line)}


def test_prune_lists():
    if not usable("prune lists"):
        return
    with Left(ENGINE) as box:
        gone, name = box.owner(), f"{PREFIX}-left"
        volume, used = ("od-overlay-" + os.urandom(8).hex() for _ in range(2))
        ENGINE.call("POST", "/containers/create", {
            "Image": IMAGE, "Labels": {OWNER: f"{name} {gone}"}}, {"name": name})
        for v in (volume, used):
            ENGINE.call("POST", "/volumes/create", {"Name": v, "Labels": {
                "od.sandbox.overlay": "1", "od.sandbox.name": name, OWNER: f"{v} {gone}"}})
        holder = ENGINE.start(IMAGE, Cmd=["sleep", "1000"], HostConfig={"Binds": [f"{used}:/x"]})
        ENGINE.call("POST", f"/images/{IMAGE}/tag", query={"repo": "od-runtime-base", "tag": f"{TAG}9.{gone}"})
        want = {f"container {name}", f"volume {volume}", f"name od-runtime-base:{TAG}9.{gone}"}
        got = box.od("prune", "--dry-run", f"{PREFIX}-none:1")
        eq((got.returncode, left_lines(got)), (0, want), "prune --dry-run lists what killed commands have left")
        eq(len(box.states()), 2, "and removes nothing")
        doc = json.loads(box.od("prune", "--dry-run", "--json", f"{PREFIX}-none:1").stdout)
        ok(want <= {f"{d['kind']} {d.get('name')}" for d in doc}, "prune --json has them, too", doc)
        got = box.od("prune", f"{PREFIX}-none:1")
        eq((got.returncode, left_lines(got)), (0, want), "prune lists what it removes")
        eq([s for _, s in box.states()], ["running"], "and removes it")
        eq(left_lines(box.od("prune", f"{PREFIX}-none:1")), set(), "then nothing is left")
        ENGINE.remove(holder)
        ENGINE.call("DELETE", f"/volumes/{used}", expect=(204, 404))
        box.clear()


def test_zz_clean_up():
    if ENGINE:
        ENGINE.remove_image(IMAGE)


if __name__ == "__main__":
    main()
