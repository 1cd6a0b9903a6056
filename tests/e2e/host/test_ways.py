#!/usr/bin/env python3
"""The ways by which the client gets into a sandbox: with a fake engine, then a real one.

The part with a real engine is skipped by name where there is none, or no busybox.
"""
import atexit
import concurrent.futures
import hashlib
import io
import json
import os
import re
import shutil
import stat
import subprocess
import tarfile
import tempfile
import threading

import harness
from harness import eq, has, ok, skip
import engine as real
from fake_engine import Container, Engine, image, refusal

BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
TEMP = harness.scratch("od-ways-")
CLIENT = harness.BOXED
PLUGINS = harness.BOXED_PLUGINS
COUNT = 0
LINKS = ("sh", "ls", "id", "cat", "sleep", "true", "ip", "nc", "touch", "mount")


def engine(**options):
    global COUNT
    COUNT += 1
    return Engine(os.path.join(TEMP, f"s{COUNT}"), **options)


def od(e, *argv, stdin=b"", **more):
    env = {"PATH": "/bin:/usr/bin", "OD_STATE_DIR": os.path.join(TEMP, "state"),
           "XDG_CACHE_HOME": os.path.join(TEMP, "cache"), "OD_RUNTIME_CLIENT": CLIENT,
           "DOCKER_HOST": "unix://" + e.path, **more}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    return subprocess.run([*harness.WRAP, harness.RUNTIME, *argv], input=stdin,
                          capture_output=True, env=env, timeout=harness.DEADLINE * 3)


def created(e):
    return e.called("POST", "/containers/create")[-1].json()


def mounts(e):
    return [(m["Type"], m["Target"], m["ReadOnly"])
            for m in e.find_container("box").spec["HostConfig"].get("Mounts", [])]


# --- With a fake engine -------------------------------------------------------------

def test_bind():
    e = engine()
    got = od(e, "run", "base:1", "--name", "box")
    eq((got.returncode, got.stdout, got.stderr), (0, b"box\n", b""), "run")
    eq(mounts(e), [("bind", "/.od/od-runtime-client", True), ("bind", "/.od/od-plugins", True)],
       "two files, read-only")
    with open(created(e)["HostConfig"]["Mounts"][1]["Source"], "rb") as a, open(PLUGINS, "rb") as b:
        ok(a.read() == b.read(), "the second mount shows the bytes of od-plugins")
    source = created(e)["HostConfig"]["Mounts"][0]["Source"]
    with open(source, "rb") as a, open(CLIENT, "rb") as b:
        ok(a.read() == b.read(), "of the client's bytes")
    eq(stat.S_IMODE(os.stat(source).st_mode), 0o555, "that nobody changes")
    eq(stat.S_IMODE(os.stat(os.path.dirname(source)).st_mode), 0o700, "in a folder of ours")
    eq((e.called("POST", "/build"), e.called("PUT", ".*")), ([], []), "no image is made")
    eq(created(e)["Labels"]["od.sandbox.via"], "bind", "a label says how")
    od(e, "rm", "-f", "box")
    before = os.stat(source).st_ino
    os.chmod(source, 0o755)
    with open(source, "ab") as f:
        f.write(b"more")
    od(e, "run", "base:1", "--name", "box")
    ok(os.stat(source).st_ino != before and os.stat(source).st_size ==
       os.stat(CLIENT).st_size, "a file that was changed is made anew, beside the old one")
    od(e, "rm", "-f", "box")


def test_bind_busybox():
    e = engine()
    e.paths = {}
    got = od(e, "run", "base:1", "--name", "box", "--busybox", BUSYBOX)
    eq((got.returncode, got.stderr), (0, b""), "an image without a shell")
    eq(mounts(e), [("bind", "/.od/od-runtime-client", True), ("bind", "/.od/od-plugins", True),
                   ("bind", "/.od/bin/busybox", True)], "gets a busybox")
    eq(len(e.containers), 1, "and the first try is gone")
    od(e, "rm", "-f", "box")
    got = od(e, "run", "base:1", "--name", "box", "--no-busybox")
    eq((got.returncode, got.stderr, len(mounts(e))), (0, b"", 2), "unless it is not wanted")
    od(e, "rm", "-f", "box")
    got = od(e, "run", "base:1", "--name", "box", "--busybox", BUSYBOX, "--no-od-plugins")
    eq((got.returncode, got.stderr, mounts(e)),
       (0, b"", [("bind", "/.od/od-runtime-client", True), ("bind", "/.od/bin/busybox", True)]),
       "--no-od-plugins leaves od-plugins out and keeps the busybox")
    od(e, "rm", "-f", "box")


def test_kept():
    """What the image would have started is kept where it was with images of ours."""
    config = {"Entrypoint": ["/a", "b"], "Cmd": ["c"], "StopSignal": "SIGQUIT",
              "OnBuild": ["RUN false"]}
    e = engine(images={"base:1": image(config=config)})
    got = od(e, "run", "base:1", "--name", "box", "-v", "/tmp:/x:ro",
             "--mount", "type=tmpfs,target=/t")
    eq((got.returncode, got.stderr), (0, b""), "an image with ONBUILD")
    spec = created(e)
    eq((spec["Labels"]["od.orig.entrypoint"], spec["Labels"]["od.orig.cmd"],
        spec["Labels"]["od.orig.stopsignal"]), ('["/a", "b"]', '["c"]', '"SIGQUIT"'), "labels")
    eq(spec["Image"], e.images["base:1"]["Id"], "the very image that was looked at")
    eq((spec["HostConfig"]["Binds"], [m["Target"] for m in spec["HostConfig"]["Mounts"]]),
       (["/tmp:/x:ro"], ["/t", "/.od/od-runtime-client", "/.od/od-plugins"]), "the user's mounts stay")
    od(e, "rm", "-f", "box")


def test_put():
    e = engine()
    e.sees_files = False
    got = od(e, "run", "base:1", "--name", "box")
    eq(got.returncode, 0, "an engine on another machine")
    c = e.find_container("box")
    eq(sorted(c.files), ["/.od", "/.od/od-plugins", "/.od/od-runtime-client", "/openhands",
                         "/openhands/micromamba", "/openhands/micromamba/bin",
                         "/openhands/micromamba/bin/micromamba"], "the client is put in")
    eq(c.files["/.od/od-runtime-client"], (0o555, os.stat(CLIENT).st_size), "as a program")
    eq(c.files["/.od/od-plugins"], (0o555, os.stat(PLUGINS).st_size), "od-plugins is a program, too")
    eq((mounts(e), len(e.containers)), ([], 1), "without a mount")
    od(e, "rm", "-f", "box")
    e.paths["/openhands"] = 1 << 31 | 0o755
    od(e, "run", "base:1", "--name", "box", "--via", "put")
    eq(sorted(e.find_container("box").files), ["/.od", "/.od/od-plugins", "/.od/od-runtime-client"],
       "an /openhands of the image's own stays as it is")
    od(e, "rm", "-f", "box")
    od(e, "run", "base:1", "--name", "box", "--via", "put", "--no-od-plugins")
    eq(sorted(e.find_container("box").files), ["/.od", "/.od/od-runtime-client"],
       "--no-od-plugins puts the client in alone")
    od(e, "rm", "-f", "box")
    got = od(e, "run", "base:1", "--name", "box", "--via", "bind")
    eq((got.returncode, got.stdout, e.containers), (111, b"", {}), "--via bind there")
    has(got.stderr, b"cannot access the files of this machine", "is told why not")


def test_podman():
    """Podman 4 fails when it is asked about a file that is mounted."""
    e = engine(fields=[("Libpod-Api-Version", "4.3.1")])
    got = od(e, "run", "base:1", "--name", "box")
    eq((got.returncode, mounts(e), got.stderr), (0, [], b""), "Podman: it is put in")
    od(e, "rm", "-f", "box")
    e.sees_files = False
    got = od(e, "run", "base:1", "--name", "box", "--via", "bind")
    eq((got.returncode, len(mounts(e))), (0, 2), "--via bind is not asked about")
    od(e, "rm", "-f", "box")


def test_create_refuses():
    """Engines that know at once that a source is not there."""
    def refuse(request):
        if request.json().get("HostConfig", {}).get("Mounts"):
            source = request.json()["HostConfig"]["Mounts"][0]["Source"]
            return harness_refusal("invalid mount config for type \"bind\": bind source "
                                   "path does not exist: " + source)
        return None
    from fake_engine import refusal

    def harness_refusal(words):
        return refusal(400, words)
    e = engine(answers=[("POST", "/containers/create", refuse)])
    got = od(e, "run", "base:1", "--name", "box")
    eq((got.returncode, len(e.containers)), (0, 1), "a refused mount")
    ok(e.find_container("box").files, "is no reason not to put it in")
    od(e, "rm", "-f", "box")


def test_volume():
    e = engine()
    e.sees_files = e.takes_files = True
    e.sees_files = False
    got = od(e, "run", "base:1", "--name", "box", "--read-only")
    eq(got.returncode, 0, "read-only, and the engine elsewhere")
    eq(mounts(e), [("volume", "/.od", True)], "a volume")
    name, = e.volumes
    ok(name.startswith("od-client-") and name.endswith("-amd64"), "of the client", name)
    eq(sorted(e.volumes[name])[-2:], ["/.od/od-plugins", "/.od/od-runtime-client"], "filled")
    eq(len(e.containers), 1, "by a container that is gone")
    od(e, "rm", "-f", "box")
    before = len(e.called("PUT", ".*"))
    od(e, "run", "base:1", "--name", "box", "--via", "volume")
    eq(len(e.called("PUT", ".*")), before, "once")
    od(e, "rm", "-f", "box")
    e.volumes[name].clear()
    e.paths = {}
    od(e, "run", "base:1", "--name", "box", "--via", "volume", "--busybox", BUSYBOX)
    ok("/.od/bin/busybox" in e.volumes[name], "one that is empty is filled again")
    od(e, "rm", "-f", "box")
    od(e, "run", "base:1", "--name", "box", "--via", "volume", "--no-busybox", "--no-od-plugins")
    other, = set(e.volumes) - {name}
    eq(sorted(e.volumes[other])[-1:], ["/.od/od-runtime-client"], "--no-od-plugins has a volume of its own")
    ok("/.od/od-plugins" not in e.volumes[other], "that volume has no od-plugins")
    od(e, "rm", "-f", "box")


def puts(e):
    return len(e.called("PUT", ".*"))


def test_volume_by_turns():
    """Two runs at a time must not fill a volume twice, nor start from half a client."""
    e = engine()
    run = ("run", "base:1", "--via", "volume", "--name")
    begun, go_on = threading.Event(), threading.Event()

    def slowly(_):
        begun.set()
        go_on.wait(harness.DEADLINE)
    e.answers.append(("PUT", ".*", slowly))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = pool.submit(od, e, *run, "one")
        begun.wait(harness.DEADLINE)
        second = pool.submit(od, e, *run, "two")
        harness.until(lambda: len(e.called("POST", "/containers/create")) >= 5)
        eq((puts(e), e.called("POST", "/containers/.*/start")), (1, []),
           "nobody starts, nor fills it as well")
        go_on.set()
        got = [f.result() for f in (first, second)]
    eq([(g.returncode, g.stderr) for g in got], [(0, b"")] * 2, "both run in the end")
    eq((puts(e), len(e.containers)), (1, 2), "from a volume that was filled once")
    name, = e.volumes
    path = "/.od/od-runtime-client"
    e.volume_contents[name][path] = bytes(os.stat(CLIENT).st_size)
    eq(od(e, *run, "three").returncode, 0, "the right length, and other bytes")
    with open(CLIENT, "rb") as f:
        eq((puts(e), e.volume_contents[name][path] == f.read()), (2, True), "are replaced")
    e.paths = {}
    eq(od(e, *run, "four", "--busybox", BUSYBOX).returncode, 0, "a busybox is wanted as well")
    with tarfile.open(fileobj=io.BytesIO(e.called("PUT", ".*")[-1].body)) as tar:
        eq(tar.getnames(), ["bin", "bin/busybox"],
           "the client, from which others may just start, stays as it is")
    for box in ("one", "two", "three", "four"):
        od(e, "rm", "-f", box)


def test_volume_left_half():
    """Who had the turn was killed: the next one waits for a while and takes it."""
    e = engine()
    od(e, "run", "base:1", "--via", "volume", "--name", "box", "--read-only")
    od(e, "rm", "-f", "box")
    name, = e.volumes
    e.volumes[name].clear()
    filler = e.called("POST", "/containers/create")[1]
    eq((filler.query["name"], filler.json()["Labels"]["od.probe"]), (name, "1"),
       "the container that fills it has its name, and our label")
    Engine.container_create(e, filler)
    got = od(e, "run", "base:1", "--via", "volume", "--name", "box")
    eq((got.returncode, list(e.volumes[name])[-1]), (0, "/.od/od-runtime-client"), "filled")
    od(e, "rm", "-f", "box")
    eq(len(e.containers), 0, "and its container is gone")


def test_volume_turn_lost():
    """Who took too long finds his container gone, and does not mind."""
    e = engine()

    def gone(_):
        if puts(e) > 1:
            return None
        filler, = [c for c in e.containers.values() if c.name.startswith("od-client-")]
        del e.containers[filler.id]
        return refusal(404, "No such container: " + filler.id)
    e.answers.append(("PUT", ".*", gone))
    got = od(e, "run", "base:1", "--via", "volume", "--name", "box")
    eq((got.returncode, got.stderr, puts(e)), (0, b"", 2), "he has another turn")
    od(e, "rm", "-f", "box")
    eq(len(e.containers), 0, "and leaves nothing")


def test_volume_name_taken():
    """A container of that name that is not ours is no turn that ends."""
    e = engine()
    od(e, "run", "base:1", "--via", "volume", "--name", "box")
    od(e, "rm", "-f", "box")
    name, = e.volumes
    e.volumes[name].clear()
    theirs = Container("f" * 64, name, {"Cmd": ["theirs"]})
    e.containers[theirs.id] = theirs
    got = od(e, "run", "base:1", "--via", "volume", "--name", "box")
    eq((got.returncode, list(e.containers)), (111, [theirs.id]), "it stays")
    has(got.stderr, f"a container with the name {name} exists already".encode(), "and is named")
    eq(e.volumes, {}, "the volume that came of it goes")


def test_no_way():
    e = engine()
    e.sees_files = e.takes_files = False
    got = od(e, "run", "base:1", "--name", "box")
    eq((got.returncode, got.stdout, e.containers), (111, b"", {}), "no way in")
    has(got.stderr, b"--via build", "names one that is left")
    got = od(e, "run", "base:1", "--via", "put", "--read-only")
    eq(got.returncode, 111, "put into a read-only sandbox")
    has(got.stderr, b"--read-only", "is refused before it is made")
    got = od(e, "run", "base:1", "--via", "hope")
    eq(got.returncode, 100, "a way that is none")
    e = engine()
    got = od(e, "run", "base:1", "--name", "box", "--via", "bind", XDG_CACHE_HOME="/proc/x")
    eq(got.returncode, 111, "no cache")
    has(got.stderr, b"cache", "is told")
    got = od(e, "run", "base:1", "--name", "box", XDG_CACHE_HOME="/proc/x")
    eq((got.returncode, mounts(e)), (0, []), "and auto does without")
    od(e, "rm", "-f", "box")


def test_as_is():
    """An image that has this client in it needs nothing."""
    e = engine()
    name = od(e, "build", "--via", "build", "base:1").stdout.decode().strip()
    got = od(e, "run", name, "--name", "box")
    eq((got.returncode, mounts(e), e.called("PUT", ".*")), (0, [], []), "as it is")
    eq(created(e)["Labels"]["od.sandbox.via"], "", "without a way")
    od(e, "rm", "-f", "box")


def test_no_network():
    e = engine(split=7)
    got = od(e, "run", "base:1", "--name", "box", "--network", "none")
    eq((got.returncode, got.stderr), (0, b""), "without a network")
    spec = created(e)
    eq(("PortBindings" in spec["HostConfig"], "ExposedPorts" in spec), (False, False),
       "nothing is published")
    eq([s["Cmd"] for _, s in e.execs.values()][-1],
       ["/.od/od-runtime-client", "connect", "8000"], "the engine carries it")
    got = od(e, "exec", "box", "--", "x")
    eq((got.returncode, got.stdout, got.stderr), (0, b"hello\n", b""), "exec")
    od(e, "rm", "-f", "box")


def test_inject():
    e = engine()
    with harness_container(e) as c:
        got = od(e, "inject", "theirs")
        eq((got.returncode, got.stdout, got.stderr), (0, b"theirs\n", b""), "inject")
        ok({"/.od/od-runtime-client", "/.od/od-plugins"} <= set(c.files), "puts both programs in")
        words = [s["Cmd"] for _, s in e.execs.values()][0]
        eq((words[:3], words[words.index("--address") + 1]),
           (["/.od/od-runtime-client", "init", "8000"], "127.0.0.1"), "and starts it")
        got = od(e, "exec", "theirs", "--", "x")
        eq((got.returncode, got.stdout), (0, b"hello\n"), "exec works in it")
        got = od(e, "inject", "theirs")
        eq(got.returncode, 111, "twice")
        has(got.stderr, b"already", "is told")
        got = od(e, "stop", "theirs")
        eq((got.returncode, c.state), (111, "running"), "stop does not touch it")
        got = od(e, "rm", "-f", "theirs")
        eq((got.returncode, c.state), (0, "running"), "rm forgets it")
        eq(od(e, "exec", "theirs", "--", "x").returncode, 111, "then it is none of ours")
        c.state = "exited"
        has(od(e, "inject", "theirs").stderr, b"is stopped or paused", "one that has stopped")
    has(od(e, "inject", "nobody").stderr, b"no container named", "one that is not there")


def test_inject_polls():
    """An engine whose tunnel fails each time is asked again; the error is printed once."""
    e = engine()
    cut = b"HTTP/1.1 101 UPGRADED\r\nConn"
    e.answers.append(("POST", "/exec/.*/start", lambda request: None if request.json()["Detach"] else cut))
    with harness_container(e):
        got = od(e, "inject", "--timeout-start", "1", "theirs")
        lines = got.stderr.decode().splitlines()
        eq((got.returncode, len(lines)), (111, 2), f"one error and its next step: {lines[:4]}")
        has(lines[0], "the client in theirs was not ready after 1 s", "the error")
    ok(len(e.called("POST", "/exec/.*/start")) > 2, "after several attempts")


class harness_container:
    """A container that somebody else has started."""
    def __init__(self, e):
        self.e = e

    def __enter__(self):
        from fake_engine import Container
        c = Container("f" * 64, "theirs", {"HostConfig": {}, "Image": "base:1"})
        c.state, c.image = "running", self.e.images["base:1"]["Id"]
        self.e.containers[c.id] = c
        return c

    def __exit__(self, *_):
        self.e.containers.clear()


def test_doctor():
    e = engine(images={"base:1": image(), "arm:1": image(Architecture="arm64"),
                       "win:1": image(Os="windows")})
    got = od(e, "doctor", "base:1", "--json")
    doc = json.loads(got.stdout)
    eq((got.returncode, doc["problems"]), (0, 0), "an image that is fine")
    ok({"engine", "shell", "python"} <= {f["about"] for f in doc["findings"]}, "what it saw")
    eq(e.containers, {}, "leaves nothing")
    has(od(e, "doctor", "base:1").stdout, b"python      none", "an image without Python")
    folder = os.path.join(TEMP, "plugin-python")
    os.makedirs(os.path.join(folder, "bin"))
    has(od(e, "doctor", "base:1", "--plugin", "python=" + folder).stdout, b"python      none",
        "a plugin python without Python")
    with open(os.path.join(folder, "bin", "python3"), "w"):
        pass
    has(od(e, "doctor", "base:1", "--plugin", "python=" + folder).stdout, b"python      in the plugin python",
        "doctor counts the Python of a plugin")
    got = od(e, "doctor", "base:1", "--plugin", "python=/no/such")
    eq(got.returncode, 111, "doctor refuses a plugin that does not exist")
    got = od(e, "doctor", "win:1")
    eq(got.returncode, 111, "an image for Windows")
    has(got.stdout, b"not a Linux image", "is told")
    got = od(e, "doctor", "arm:1")
    eq(got.returncode, 111, "no client for it")
    has(got.stdout, b"for arm64, the client for amd64", "is told")
    e.log.clear()
    got = od(e, "run", "arm:1")
    eq((got.returncode, e.called("POST", "/containers/create")), (111, []),
       "and run refuses before it makes anything")
    has(od(e, "doctor", "gone:1").stdout, b"has no image gone:1", "one that is not there")
    eq(od(e, "doctor", "A B").returncode, 100, "a name that is none")


def test_stop_timeout():
    """The engine gets the limit of the option, or of the sandbox, for the end of the client."""
    e = engine(images={"base:1": image()})
    od(e, "run", "base:1", "--name", "box", "--via", "put", "--stop-timeout", "1m")
    for options, seconds in ((["--stop-timeout", "3s"], "3"), ([], "60")):
        e.log.clear()
        od(e, "update", "box", "--no-od-plugins", *options)
        asked = [r.query.get("t") for r in e.log if r.path.endswith("/restart")]
        eq(asked, [seconds], f"update {options}: the limit in the request of the engine")
    for command, *options, seconds in (("restart", "60"), ("restart", "-t", "2s", "2"), ("stop", "60")):
        e.log.clear()
        od(e, command, *options, "box")
        asked = [r.query.get("t") for r in e.log if r.path.endswith("/" + command)]
        eq(asked, [seconds], f"{command} {options}: the limit in the request of the engine")


# --- What is inside od-runtime -------------------------------------------------------

def test_carried():
    alone = os.path.join(TEMP, "alone")
    os.mkdir(alone)
    path = os.path.join(alone, "od-runtime")
    shutil.copy(harness.RUNTIME, path)
    doc = json.loads(subprocess.run([path, "--version", "--json"], capture_output=True,
                                    check=True).stdout)
    if not doc["clients"]:
        return skip("the clients inside", "this od-runtime has none")
    e = engine(images={"base:1": image(), "arm:1": image(Architecture="arm64")})
    env = {"PATH": "/bin", "OD_STATE_DIR": os.path.join(TEMP, "state"),
           "XDG_CACHE_HOME": os.path.join(TEMP, "cache2"), "DOCKER_HOST": "unix://" + e.path}
    for name, arch in (("base:1", "amd64"), ("arm:1", "arm64")):
        got = subprocess.run([path, "run", name, "--name", "box"], env=env,
                             capture_output=True)
        if arch not in doc["clients"]:
            eq(got.returncode, 111, f"{arch} is not in it")
            has(got.stderr, b"is for " + arch.encode(), "which is told")
            continue
        eq((got.returncode, got.stderr), (0, b""), f"alone, for {arch}")
        with open(created(e)["HostConfig"]["Mounts"][0]["Source"], "rb") as f:
            head = f.read(20)
        eq(head[18], {"amd64": 62, "arm64": 183}[arch], "the client is for it")
        ok(arch in doc["plugins"], f"od-plugins for {arch} is inside as well")
        with open(created(e)["HostConfig"]["Mounts"][1]["Source"], "rb") as f:
            head = f.read(20)
        eq(head[18], {"amd64": 62, "arm64": 183}[arch], "od-plugins is for it")
        subprocess.run([path, "rm", "-f", "box"], env=env, capture_output=True)
    with open(path, "r+b") as f:  # damage in the middle of the last section
        size = f.seek(0, 2)
        f.seek(size // 2 + 200000 if size > 700000 else size // 2)
        f.write(bytes(64))
    got = subprocess.run([path, "run", "base:1", "--name", "box"], env=env,
                         capture_output=True)
    if got.returncode == 0:
        print("# the damage hit the other client")
    else:
        ok(re.match(b"od-runtime: no (client binary|od-plugins): ", got.stderr), "a damaged one is told", got.stderr)
    subprocess.run([harness.RUNTIME, "rm", "-f", "box"], env=env, capture_output=True)


# --- With a real engine ---------------------------------------------------------------

def load(box):
    with open(BUSYBOX, "rb") as f:
        busybox = f.read()
    files = {"bin/busybox": busybox}
    files.update({f"bin/{name}": "busybox" for name in LINKS})
    with open(CLIENT, "rb") as f:
        static = {"app": f.read()}  # any static program
    names = [f"{real.PREFIX}/{what}:1" for what in ("shell", "static")]
    box.engine.load(real.archive(files), names[0])
    box.engine.load(real.archive(static), names[1])
    return names


# Lists what is in the sandbox and executes a skill.
SKILL = "echo hi; ls /.od; echo a line >/f; open_file /f; true"


def real_ways(box, shell, static):
    cache = {"XDG_CACHE_HOME": os.path.join(TEMP, "real")}
    for way in ("auto", "bind", "put", "volume", "build", "commit"):
        for what in (shell, static):
            got = box.od("run", what, "--via", way, "--rm", "--", "sh", "-c", SKILL, env=cache)
            ok(got.returncode == 0 and got.stdout.startswith("hi\n") and
               "od-runtime-client" in got.stdout, f"{way} into {what[-8:]}", got.stderr)
            has(got.stdout, "1|a line", f"{way} into {what[-8:]}: a skill is executed")
        got = box.od("run", shell, "--via", way, "--no-od-plugins", "--rm", "--", "sh", "-c", SKILL, env=cache)
        has(got.stdout, "od-runtime-client", f"{way} with --no-od-plugins: the client is there")
        ok("od-plugins" not in got.stdout and "1|a line" not in got.stdout,
           f"{way} with --no-od-plugins: od-plugins and the skills are not there", got.stdout)
    onbuild = f"{real.PREFIX}/onbuild:1"
    with open(BUSYBOX, "rb") as f:
        box.engine.load(real.archive({"bin/sh": f.read()}), onbuild, "ONBUILD RUN false")
    eq(box.od("run", onbuild, "--via", "build", "--rm", "--", "sh", "-c", "true").returncode, 0,
       "ONBUILD would run: build makes a commit of it")
    name = box.run(onbuild, "--via", "commit", "--network", "none")
    made = box.engine.image(box.engine.container(name)["Image"])
    eq((made["Config"]["OnBuild"], made["Config"]["Entrypoint"],
        made["Config"]["Labels"]["od.managed"], len(made["RootFS"]["Layers"])),
       (None, ["/.od/od-runtime-client", "init"], "1", 2), "a commit leaves it out")
    box.od("rm", "-f", name)


def real_apart(box, shell):
    name = box.run(shell, "--network", "none")
    eq(box.content(name, "ip link | grep -c mtu"), "1", "a loopback only")
    path = os.path.join(TEMP, "big")
    with open(path, "wb") as f:
        f.write(os.urandom(3 << 20))
    eq(box.od("cp", path, name + ":/big").returncode, 0, "cp to it")
    eq(box.od("cp", name + ":/big", path + "2").returncode, 0, "cp from it")
    with open(path, "rb") as a, open(path + "2", "rb") as b:
        ok(a.read() == b.read(), "the same bytes")
    got = box.od("shell", name, stdin="echo in; exit 3\n")
    eq((got.returncode, got.stdout), (3, "in\n"), "shell")
    eq(box.od("doctor", name).returncode, 0, "doctor")
    box.od("rm", "-f", name)


FAR = """
mount --bind "$1" "$2/engine"
mount --bind /proc "$2/proc"
ip link set lo up
for words in "run $4 --name $3 --client /client" "exec $3 sh -c pwd" "rm -f $3"; do
	HOME=/tmp DOCKER_HOST=unix:///engine chroot "$2" /od-runtime $words </dev/null || exit
done
"""


def real_far(box, engine, shell):
    """As on another machine: its socket alone is here, not its files, nor its ports."""
    top = tempfile.mkdtemp(dir=TEMP)
    for name, program in (("od-runtime", harness.RUNTIME), ("client", CLIENT)):
        shutil.copy(program, os.path.join(top, name))
    for name in ("proc", "tmp"):
        os.mkdir(os.path.join(top, name))
    open(os.path.join(top, "engine"), "w").close()
    name = box.name("far")
    got = subprocess.run(["unshare", "-n", "-m", "sh", "-c", FAR, "sh", engine.path, top, name,
                          shell], capture_output=True, text=True, timeout=12 * harness.DEADLINE)
    # No namespaces for us, or a program with libraries that are not there.
    if re.match("unshare:|mount:|chroot: failed to run", got.stderr):
        harness.skip("an engine on another machine", got.stderr.splitlines()[0])
        return
    eq((got.returncode, got.stdout), (0, f"{name}\n/\n{name}\n"), "an engine on another machine")
    has(got.stderr, "using --via put", "which sees no file of ours")


def real_inject(box, engine, shell):
    name = box.name("guest")
    made = engine.call("POST", "/containers/create",
                       {"Image": shell, "Cmd": ["sleep", "1000"]}, {"name": name})
    engine.call("POST", f"/containers/{made['Id']}/start")
    got = box.od("inject", name)
    eq((got.returncode, got.stdout), (0, name + "\n"), "inject" + got.stderr)
    eq(box.content(name, "cat /proc/1/comm"), "sleep", "beside what runs there")
    has(box.content(name, "echo a line >/f; open_file /f"), "1|a line", "a skill is executed there")
    eq(box.od("rm", name).returncode, 0, "rm forgets")
    eq(engine.container(name)["State"]["Running"], True, "and leaves it")
    engine.remove(made["Id"])


BINFMT = "/proc/sys/fs/binfmt_misc/"
QEMU = "/usr/bin/qemu-aarch64-static"


def emulated():
    """Whether the kernel executes arm64 programs; with OD_BINFMT=1 it is made to."""
    if os.path.exists(BINFMT + "od-arm64") or os.path.exists(BINFMT + "qemu-aarch64"):
        return True
    if os.environ.get("OD_BINFMT") != "1" or not os.path.exists(QEMU):
        return False
    try:
        if not os.path.exists(BINFMT + "register"):
            subprocess.run(["mount", "-t", "binfmt_misc", "none", BINFMT], check=True)
        magic = rb"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
        mask = rb"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
        with open(BINFMT + "register", "wb") as f:
            f.write(b":od-arm64:M::" + magic + b":" + mask + b":" + QEMU.encode() + b":F")
        atexit.register(forget_arm64)
        return True
    except (OSError, subprocess.SubprocessError):
        return False


def forget_arm64():
    with open(BINFMT + "od-arm64", "w") as f:
        f.write("-1")


def load_arm64(e, name):
    """An image for arm64 with one file, as docker save writes it."""
    layer = real.archive({"etc/": b"", "etc/motd": b"arm64\n"})
    config = {"architecture": "arm64", "os": "linux", "config": {}, "rootfs": {
        "type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}
    manifest = [{"Config": "c.json", "RepoTags": [name], "Layers": ["l.tar"]}]
    e.call("POST", "/images/load", real.archive({
        "c.json": json.dumps(config).encode(), "l.tar": layer,
        "manifest.json": json.dumps(manifest).encode()}), {"quiet": 1})


def test_arm64():
    e = real.find()
    own = subprocess.run([harness.RUNTIME, "--version", "--json"], capture_output=True)
    if not e or b"arm64" not in own.stdout:
        return skip("arm64 images", "no container engine" if not e else "od-runtime has no client for arm64 inside (make both)")
    with real.Box(e) as box:
        name = f"{real.PREFIX}/arm:1"
        load_arm64(e, name)
        got = box.od("run", name)
        ok(got.returncode == 111 and "for arm64, the client binary for amd64" in got.stderr,
           "another's client is refused", got.stderr)
        if not emulated():
            return skip("arm64 sandboxes", "the kernel does not execute such programs (OD_BINFMT=1)")
        for way in ("bind", "put", "build"):
            box_name = box.name()
            got = box.od("run", name, "--via", way, "--name", box_name,
                         env={"OD_RUNTIME_CLIENT": "", "XDG_CACHE_HOME": TEMP}, seconds=120)
            eq(got.returncode, 0, f"{way}: an arm64 sandbox " + got.stderr)
            doc = box.act(box_name, "read", path="/etc/motd")
            has(doc["content"], "arm64", "that works")
            box.od("rm", "-f", box_name)


def test_real():
    e = real.find()
    if not e:
        return skip("with an engine", "no container engine")
    with real.Box(e) as box:
        shell, static = load(box)
        real_ways(box, shell, static)
        real_apart(box, shell)
        real_far(box, e, shell)
        real_inject(box, e, shell)
        for v in e.call("GET", "/volumes")["Volumes"] or []:
            if v["Name"].startswith("od-client-"):
                e.call("DELETE", "/volumes/" + v["Name"], expect=(204, 404, 409))


if not BUSYBOX or not os.path.exists(CLIENT):
    print("1..0 # SKIP no busybox or no od-runtime-client")
else:
    harness.main()
