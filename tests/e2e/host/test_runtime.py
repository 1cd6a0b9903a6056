#!/usr/bin/env python3
"""od-runtime against a real engine: every command, and nothing left behind."""
import functools
import hashlib
import io
import json
import os
import signal
import socket
import subprocess
import tarfile

import harness
from engine import PREFIX, Box, archive, find, has_images, load_images, port_of
from harness import eq, has, main, note, ok, until

ENGINE = find()
IMAGES = load_images(ENGINE, "debian", "busybox", "static") if ENGINE else None
usable = functools.partial(has_images, ENGINE, IMAGES)


def foreign_image(name, architecture):
    """An image of another machine, loaded as docker save would have written it."""
    layer = archive({"hello": b"\x7fELF\x02\x01\x01" + bytes(9) + (2).to_bytes(2, "little")
                     + (183).to_bytes(2, "little") + bytes(44)})
    config = json.dumps({
        "architecture": architecture, "os": "linux", "config": {"Cmd": ["/hello"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created_by": "test"}]}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name],
                            "Layers": ["layer.tar"]}]).encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for entry, data in (("config.json", config), ("layer.tar", layer),
                            ("manifest.json", manifest)):
            info = tarfile.TarInfo(entry)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    ENGINE.call("POST", "/images/load", out.getvalue(), {"quiet": 1})


def nothing_left(box, name):
    """No container, no image, no state file, nothing in the temporary folder."""
    images, containers = box.new()
    folder = os.path.join(box.state, "sandboxes")
    states = os.listdir(folder) if os.path.isdir(folder) else []
    eq((sorted(images), sorted(containers), states, os.listdir(box.top + "/tmp")),
       ([], [], [], []), f"{name}: nothing is left")


class Strict(Box):
    """A Box with an empty TMPDIR, to see what is left there."""

    def __init__(self, engine):
        super().__init__(engine)
        os.mkdir(self.top + "/tmp")

    def od(self, *argv, env=None, **more):
        return super().od(*argv, env=dict({"TMPDIR": self.top + "/tmp"}, **(env or {})), **more)

    def fails(self, code, parts, *argv, env=None, name=None):
        """The exit code, a cause and a next step on stderr, and nothing left."""
        done = self.od(*argv, env=env)
        name = name or " ".join(argv)
        missing = [p for p in parts if p not in done.stderr]
        ok(done.returncode == code and not done.stdout and not missing
           and done.stderr.startswith(("od-runtime: ", "  | ")), f"{name}: {code} and why",
           f"{done.returncode} {done.stdout!r} {done.stderr!r}", f"not said: {missing}")
        return done


def test_build():
    if not usable("build"):
        return
    with Strict(ENGINE) as box:
        done = box.od("build", IMAGES["debian"])
        name = done.stdout.strip()
        ok(done.returncode == 0 and name.startswith("od-runtime:") and done.stdout.count("\n") == 1,
           "build prints the name of the image", done)
        config = ENGINE.image(name)["Config"]
        eq(config["Entrypoint"], ["/.od/od-runtime-client", "init"], "its entry point")
        eq(config["Labels"]["od.base.ref"], IMAGES["debian"], "its label tells the base")
        again = box.od("build", IMAGES["debian"])
        eq(again.stdout.strip(), name, "a second build gives the same")
        ENGINE.remove_image(name)
        once_more = box.od("build", "--json", IMAGES["debian"])
        said = json.loads(once_more.stdout)
        has(json.dumps(said), name, "--json names it as well, built anew")
        forced = box.od("build", "--force", IMAGES["debian"])
        eq((forced.returncode, forced.stdout.strip()), (0, name), "--force")
        dockerfile = box.od("dockerfile", IMAGES["debian"])
        lines = [x for x in dockerfile.stdout.splitlines() if x and x[0].isupper()]
        eq([x.split()[0] for x in lines], ["FROM", "LABEL", "COPY", "ENTRYPOINT"],
           "the Dockerfile: no RUN, one COPY")
        base = len(ENGINE.image(IMAGES["debian"])["RootFS"]["Layers"])
        eq(len(ENGINE.image(name)["RootFS"]["Layers"]), base + 1, "one layer is added")
        made = ENGINE.call("POST", "/containers/create", {"Image": name})["Id"]
        tar = tarfile.open(fileobj=io.BytesIO(ENGINE.call(
            "GET", f"/containers/{made}/archive", query={"path": "/.od"})))
        members = {m.name: (m.mode & 0o7777, m.uid, m.gid) for m in tar.getmembers()}
        eq(members.get(".od/od-runtime-client"), (0o555, 0, 0), "the client in the image")
        with open(harness.BOXED, "rb") as f:
            ok(tar.extractfile(".od/od-runtime-client").read() == f.read(), "byte by byte")
        ENGINE.remove(made)


def test_exec():
    if not usable("exec"):
        return
    with Strict(ENGINE) as box:
        name = box.run(IMAGES["debian"])
        for words, out, code in (
                (["echo", "hi"], "hi\n", 0), (["echo", "a  b", "*"], "a  b *\n", 0), (["false"], "", 1),
                (["--", "echo", "--"], "--\n", 0), (["sh", "-c", "(exit 255)"], "", 255),
                (["no_such"], "", 127), (["/etc/passwd"], "", 126), (["printf", "no newline"], "no newline", 0),
                (["sh", "-c", "cat <<'E'\n$x \"y\"\nE"], "$x \"y\"\n", 0), (["echo", "é ⛄"], "é ⛄\n", 0)):
            done = box.od("exec", name, *words)
            ok(done.returncode == code and out == done.stdout, f"exec {words}: {code}",
               f"{done.returncode} {done.stdout!r} {done.stderr!r}")
        for text, out in (("cd /etc; A=b", ""), ("pwd; echo $A", "/etc\nb\n")):
            done = box.od("exec", "--session", "s1", name, "--", text)
            eq((done.returncode, done.stdout, done.stderr), (0, out, ""), f"exec --session: {text}")
        data = json.loads(box.od("exec", "--json", name, "sh", "-c", "echo hi; false").stdout)
        eq(data, {"exit_code": 1, "timed_out": False, "stdout": "hi\n", "stderr": ""}, "exec --json")
        box.fails(111, ["no-such-box"], "exec", "no-such-box", "true")
        box.fails(100, ["needs"], "exec", name, name="exec without a command")


def test_action():
    if not usable("action"):
        return
    with Strict(ENGINE) as box:
        name = box.run(IMAGES["busybox"])
        event = '{"action":"write","args":{"path":"/tmp/f","content":"x"}}'
        eq(box.od("action", name, event).returncode, 0, "an action as an argument")
        done = box.od("action", "--json", name, "-",
                      stdin='{"action":"read","args":{"path":"/tmp/f"}}')
        eq(json.loads(done.stdout)["content"], "x\n", "an action from standard input")
        done = box.od("action", "--json", name, '{"action":"read","args":{"path":"/nope"}}')
        eq((done.returncode, json.loads(done.stdout)["observation"]), (1, "error"),
           "an error observation is printed, and the exit code is 1")
        for text in ("nonsense", "[]", "{}", "", '{"action":1}'):
            box.fails(100, [], "action", name, text, name=f"action {text!r}")
        done = box.od("action", name, "-", stdin="nonsense")
        eq(done.returncode, 100, "nonsense from standard input")


def test_life():
    if not usable("the life of a sandbox"):
        return
    with Strict(ENGINE) as box:
        name = box.name()
        done = box.od("run", "--name", name, IMAGES["busybox"])
        eq((done.returncode, done.stdout), (0, name + "\n"), "run prints the name")
        has(box.od("ps").stdout, name, "ps lists it")
        row = [r for r in json.loads(box.od("ps", "--json").stdout) if r["name"] == name][0]
        eq((row["image"], row["state"], row["port"]),
           (IMAGES["busybox"], "running", port_of(ENGINE, name)[0][1]), "ps --json")
        ok(until(lambda: "Runtime client initialized." in box.od("logs", name).stdout), "logs")
        done = box.od("rm", name)
        ok(done.returncode == 111 and "next: stop it first" in done.stderr, "rm of a running one is refused", done)
        box.fails(111, [name], "run", "--name", name, IMAGES["busybox"], name="a name that is taken")
        eq(box.od("exec", name, "echo", "still").stdout, "still\n", "whose owner lives on")
        eq(box.od("stop", name).returncode, 0, "stop")
        eq(ENGINE.container(name)["State"]["Status"], "exited", "it is stopped")
        row = [r for r in json.loads(box.od("ps", "--json").stdout) if r["name"] == name][0]
        eq((row["state"], row["port"]), ("exited", None), "and ps says so")
        box.fails(111, [], "exec", name, "--", "true", name="exec in a stopped one")
        eq(box.od("stop", name).returncode, 0, "stop once more")
        eq(box.od("rm", name).returncode, 0, "rm")
        eq(box.new()[1], set(), "the container is gone")
        eq(os.listdir(box.state + "/sandboxes"), [], "and its key")
        for command in ("stop", "rm", "logs"):
            box.fails(111, ["no-such-box"], command, "no-such-box")
        done = box.od("run", IMAGES["busybox"])
        ok(done.stdout.startswith("od-"), "a name is made up", done.stdout)
        eq(box.od("rm", "--force", done.stdout.strip()).returncode, 0, "rm --force")


def test_run_a_command():
    if not usable("run with a command"):
        return
    with Strict(ENGINE) as box:
        box.od("build", IMAGES["busybox"])
        box.mark()
        done = box.od("run", "--rm", IMAGES["busybox"], "sh", "-c", "echo hi; exit 9")
        eq((done.returncode, done.stdout), (9, "hi\n"), "its output and exit code")
        nothing_left(box, "run --rm with a command")
        done = box.od("run", "--rm", "--working-dir", "/some/where", IMAGES["busybox"], "--", "pwd")
        eq(done.stdout, "/some/where\n", "--working-dir")
        done = box.od("run", "--rm", "--username", "agent", "--user-id", "4321", IMAGES["busybox"],
                      "id", "-u")
        ok(done.returncode == 0, "--username and --user-id", done)
        note(f"id -u says {done.stdout.strip()}")
        name = box.name()
        box.od("run", "--rm", "--name", name, IMAGES["busybox"])
        box.od("stop", name)
        ok(until(lambda: not ENGINE.containers() - box.before[1]), "--rm: gone when it has stopped")
        box.od("rm", name)
        nothing_left(box, "run --rm and stop")


def test_engine_absent():
    if not usable("an engine that is absent"):
        return
    with Strict(ENGINE) as box:
        for url in ("unix:///nonexistent/docker.sock", f"unix://{box.top}/file"):
            open(box.top + "/file", "w").close()
            for argv in (["build", "xx"], ["run", "xx"], ["ps"], ["exec", "xx", "--", "true"],
                         ["stop", "xx"], ["rm", "xx"], ["logs", "xx"]):
                box.fails(111, ["next: "], *argv, env={"DOCKER_HOST": url},
                          name=f"{argv[0]} with {url.split('/')[-1]}")
            for argv in (["build", "UPPER:x"], ["build", ""], ["build", "a b"], ["dockerfile", "deb\nRUN x"],
                         ["run", "--name", "../x", "debian"], ["exec", "../x", "--", "true"]):
                box.fails(100, ["next: "], *argv, env={"DOCKER_HOST": url},
                          name=f"wrong arguments come before a missing engine: {argv}")
        nothing_left(box, "an engine that is absent")


def test_bad_images():
    if not usable("images that cannot be used"):
        return
    with Strict(ENGINE) as box:
        for command in ("build", "run"):
            box.fails(111, ["no-such-image", "next: "], command, f"{PREFIX}/no-such-image:1")
            box.fails(100, [], command, "Not:A:Name")
        nothing_left(box, "an image that is missing")
        foreign = f"{PREFIX}/foreign:1"
        foreign_image(foreign, "arm64")
        box.mark()
        for command in ("build", "run"):
            box.fails(111, ["arm64"], command, foreign)
        nothing_left(box, "an image of another machine")
        ENGINE.remove_image(foreign)


def test_bad_client():
    if not usable("a client that is none"):
        return
    with Strict(ENGINE) as box:
        text = box.top + "/text"
        with open(text, "w") as f:
            f.write("#!/bin/sh\nexit 0\n")
        for path, name in ((text, "a script"), (box.top, "a folder"), ("/nonexistent", "nothing")):
            for command in ("build", "run"):
                box.fails(111, [path], command, IMAGES["busybox"], env={"OD_RUNTIME_CLIENT": path},
                          name=f"{command} with {name} as client")
        nothing_left(box, "a client that is none")
        # a program that ends at once instead of becoming ready
        with tarfile.open(os.path.join(os.environ["OD_IMAGES"], "static.tar")) as tar:
            tar.extract("hello", box.top)
        # its image is the work of a build that went well
        hello = box.top + "/hello"
        box.od("build", IMAGES["busybox"], env={"OD_RUNTIME_CLIENT": hello})
        box.mark()
        box.fails(111, ["Hello from an image of one file."], "run", IMAGES["busybox"],
                  env={"OD_RUNTIME_CLIENT": hello}, name="a sandbox that ends before it is ready")
        nothing_left(box, "a sandbox that ends before it is ready")


def test_ports():
    if not usable("ports"):
        return
    with Strict(ENGINE) as box:
        box.od("build", IMAGES["busybox"])
        box.mark()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            port = s.getsockname()[1]
            box.fails(111, [str(port)], "run", "--port", str(port), IMAGES["busybox"],
                      name="a port that is taken")
            nothing_left(box, "a port that is taken")
        name = box.run(IMAGES["busybox"], "--port", str(port))
        eq(port_of(ENGINE, name), [("127.0.0.1", port)], "--port, once it is free")
        for bad in ("0", "65536", "x", "-1"):
            box.fails(100, ["--port"], "run", "--port", bad, IMAGES["busybox"])


def test_interrupted():
    """SIGINT and SIGTERM in the middle of it: nothing may be left."""
    if not usable("interrupted"):
        return
    with Strict(ENGINE) as box:
        box.od("build", IMAGES["busybox"])
        box.mark()
        env = dict(os.environ, OD_STATE_DIR=box.state, OD_RUNTIME_CLIENT=harness.BOXED,
                   TMPDIR=box.top + "/tmp")
        for signo, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            p = subprocess.Popen([harness.RUNTIME, "run", "--name", box.name(), IMAGES["busybox"],
                                  "--", "sleep", "1000"], env=env, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
            until(lambda: box.new()[1], step=0.001)
            p.send_signal(signo)
            out, err = p.communicate(timeout=30 * harness.SLOW)
            note(f"{signo}: {p.returncode} {out!r} {err!r}")
            eq(p.returncode, code, f"signal {signo} while it starts: exit code")
            nothing_left(box, f"signal {signo} while it starts")


def test_zz_clean_up():
    if not usable("clean up"):
        return
    for image in IMAGES.values():
        ENGINE.remove_image(image)
    eq(ENGINE.ours(), set(), "no image of the tests is left")


if __name__ == "__main__":
    main()
