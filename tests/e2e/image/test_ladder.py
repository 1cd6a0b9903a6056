#!/usr/bin/env python3
"""Rungs, pruning and development mode against a real engine: DOCKER_HOST, or the usual.

Skipped by name where there is none. Everything that is made is taken away again.
"""
import concurrent.futures
import hashlib
import json
import os
import shutil
import socket
import subprocess
import time

import harness
from engine import PREFIX, Box, archive, find
from harness import eq, has, ok
from wire import Wire

ENGINE = find()
BUSYBOX = "/bin/busybox" if os.path.exists("/bin/busybox") else "/usr/bin/busybox"
TEMP = harness.scratch("od-ladder-")
LINKS = ("sh", "ls", "id", "stat", "cat", "echo", "sha256sum", "mkdir", "test")


def base(name, *changes, more=None):
    with open(BUSYBOX, "rb") as f:
        files = {"bin/busybox": (f.read(), 0o755), "data": (b"", 0o644)}
    files.update({"bin/" + link: "busybox" for link in LINKS}, **(more or {}))
    ref = f"{PREFIX}/{name}:1"
    ENGINE.load(archive(files), ref, *changes)
    return ref


def another_client():
    """The same program with other bytes."""
    path = os.path.join(TEMP, "client")
    shutil.copy(harness.BOXED, path)
    with open(path, "ab") as f:
        f.write(b"\0")
    return path


def plugin():
    top = os.path.join(TEMP, "plug")
    os.makedirs(os.path.join(top, "sub"), exist_ok=True)
    with open(os.path.join(top, "sub/run"), "w") as f:
        f.write("#!/bin/sh\necho I am a plugin\n")
    os.chmod(os.path.join(top, "sub/run"), 0o755)
    return top


def build(box, *argv):
    done = box.od("build", "--json", *argv)
    eq((done.returncode, done.stderr), (0, ""), f"build {' '.join(argv[1:])[:50]}")
    return json.loads(done.stdout or "null")


def settings(doc):
    return {k: v for k, v in doc["Config"].items() if k not in ("Image", "Hostname")}


def config(name):
    return settings(ENGINE.image(name))


def test_ladder():
    with Box(ENGINE) as box:
        ref = base("rungs", "USER 1001")
        more = (ref, "--extra-deps", "id -u > /who; echo \"a <<b\" > /dep", "--plugin",
                "p=" + plugin(), "--plugin", "q=" + ref)
        first = build(box, *more)
        eq(first["from"], "base", "the first time")
        name = box.run(first["image"])
        eq(box.content(name, "cat /who /dep; id -u; /.od/plugins/p/sub/run; "
                             "ls /.od/plugins/q/data; stat -c '%a %u' /.od/plugins/p/sub/run"),
           "0\na <<b\n1001\nI am a plugin\n/.od/plugins/q/data\n755 0",
           "what is in it, and who one is")
        again = build(box, *more)
        eq((again["built"], again["image"]), (False, first["image"]), "the second time")
        client = another_client()
        made = build(box, *more, "--client", client)
        eq(made["from"], "lock", "with another client only that is put on the lock")
        layers = [ENGINE.image(i["image"])["RootFS"]["Layers"] for i in (first, made)]
        eq((len(layers[0]), layers[0][:-1], layers[0][-1] != layers[1][-1]),
           (len(layers[1]), layers[1][:-1], True), "on the very same layers")
        eq(build(box, *more[:-2], "--client", client)["from"], "versioned",
           "with other plugins")
        tags = json.loads(box.od("tags", "--json", *more).stdout)
        eq([tags[k]["present"] for k in ("source", "lock", "versioned")], [True] * 3,
           "all three are there")
        nothing = (ref, "--extra-deps", "true")
        eq([build(box, *nothing)["from"], build(box, *nothing, "--client", client)["from"]],
           ["base", "lock"], "commands that change nothing")
        broken = box.od("build", ref, "--extra-deps", "echo no mirror >&2; exit 7")
        ok(broken.returncode == 111 and "7" in broken.stderr, "commands that fail",
           broken.stderr)
        has(broken.stderr, "  | no mirror\n", "their output explains it")
        box.engine.remove(name)
        box.od("prune", ref, "--keep", "0")
        left = [i for i in ENGINE.call("GET", "/images/json", query={"all": "1"})
                if ref in (i["Labels"] or {}).get("od.base.ref", "")]
        eq(left, [], "prune takes all of it, steps included")
        ok(ENGINE.image(ref), "but for the user's own image")


def test_folder_is_the_same_image():
    """docker build of the folder gives what the engine was sent."""
    if not shutil.which("docker"):
        harness.skip("docker build of a folder", "no docker program")
        return
    with Box(ENGINE) as box:
        ref = base("folder", "CMD [\"x\"]", "HEALTHCHECK CMD false")
        top, name = os.path.join(TEMP, "context"), f"{PREFIX}/folder:made"
        more = (ref, "--plugin", "p=" + plugin())
        build(box, *more, "--build-folder", top)
        with open(os.path.join(top, "unwanted"), "w") as f:
            f.write("x")
        done = subprocess.run(["docker", "build", "-q", "-t", name, top],
                              capture_output=True, text=True, timeout=harness.DEADLINE * 6)
        eq(done.returncode, 0, "docker build")
        image = build(box, *more, "--force")["image"]
        eq(config(name), config(image), "the same settings and labels")
        eq(ENGINE.image(name)["RootFS"], ENGINE.image(image)["RootFS"], "the same layers")


def test_commit_is_the_same_image():
    """What needs no builder is made without one, and nobody can tell."""
    with Box(ENGINE) as box:
        ref = base("commit", more={"srv/": b""})
        ENGINE.call("POST", "/build", archive({"Dockerfile": f"""FROM {ref}
USER 1001
WORKDIR /srv
ENV A="b c" D=$
EXPOSE 80
STOPSIGNAL SIGINT
LABEL own="x y"
HEALTHCHECK CMD false
ENTRYPOINT ["/bin/sh"]
CMD ["-c", "true"]
SHELL ["/bin/sh", "-ec"]
""".encode()}), {"t": ref})
        built, committed = (ENGINE.image(build(box, ref, "--force", *way)["image"])
                            for way in (("--via", "build"), ()))
        eq(committed["RootFS"], built["RootFS"], "the same layers")
        eq(*({k: v for k, v in i["Config"].items() if k not in ("Image", "Hostname")}
             for i in (committed, built)), "the same settings and labels")
        eq(len(committed["RootFS"]["Layers"]), 2, "one of them ours")


class WithBuildKit(Wire):
    """The engine, but it says that BuildKit is its builder, as newer ones do: self.path."""

    def __init__(self):
        self.path, self.asked = os.path.join(TEMP, "engine"), b""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen()
        super().__init__(ENGINE.path, listener)

    def passes(self, data, up):
        if not up:
            return data.replace(b"\r\nApi-Version:", b"\r\nBuilder-Version: 2\r\nApi-Version:")
        if data.startswith(b"POST "):
            self.asked += data.split(b"\r\n")[0] + b"\n"
        return data


def test_buildkit_is_the_same_image():
    """With every kind of rung; the names that images were lent go again."""
    with Box(ENGINE) as box:
        ref, bad = base("buildkit", "USER 7", "CMD [\"x\"]"), base("buildkit-bad")
        proxy = WithBuildKit()
        plugins = ("--plugin", "p=" + plugin(), "--plugin", "q=" + ref)
        host = ("--host", "unix://" + proxy.path)
        for more in (("--via", "build"), plugins, (*plugins, "--extra-deps", "echo hi > /said")):
            made = build(box, ref, *more, *host)["image"]
            has(proxy.asked, b"&version=2", "BuildKit builds it")
            new = ENGINE.image(made)
            again = build(box, ref, *more, "--force")["image"]
            eq(again, made, "the name is the same")
            eq(config(again), settings(new), "the settings are those of the classic builder")
            # The times of what they copy from an image are their own.
            if "--plugin" not in more:
                eq(ENGINE.image(again)["RootFS"], new["RootFS"], "and the layers")
            proxy.asked = b""
        done = box.od("build", bad, "--extra-deps", "echo no >&2; exit 7", *host)
        ok(done.returncode == 111 and "7" in done.stderr, "commands that fail", done.stderr)
        has(done.stderr, "  | no\n", "their output explains it with BuildKit, too")
        has(box.od("run", "--rm", ref, *plugins, *host, "--", "sh", "-c", "echo /.od/plugins/*").stdout,
            "/.od/plugins/p /.od/plugins/q",
            "a sandbox with both")
        lent = [t for i in ENGINE.call("GET", "/images/json") for t in i["RepoTags"] or ()
                if t.startswith("od-runtime-base:")]
        eq(lent, [], "no lent name is left")


def test_several_at_once():
    """Who builds at the same time finds what the first one has made."""
    with Box(ENGINE) as box, concurrent.futures.ThreadPoolExecutor(4) as pool:
        ref = base("atonce")
        query = {"filters": json.dumps({"label": ["od.base.ref=" + ref]})}
        for way in ("commit", "build"):
            done = list(pool.map(lambda _: box.od("build", "--via", way, ref), range(4)))
            eq({(d.returncode, d.stderr) for d in done}, {(0, "")}, f"{way}: all succeed")
            eq(len({d.stdout for d in done}), 1, "with one name")
            images = ENGINE.call("GET", "/images/json", query=query)
            eq([i["RepoTags"] for i in images], [[done[0].stdout.strip()]], "for one image")
            ENGINE.remove_image(done[0].stdout.strip())


def test_onbuild():
    with Box(ENGINE) as box:
        ref = base("onbuild", "ONBUILD RUN false", "USER 77", "WORKDIR /srv",
                   "HEALTHCHECK CMD false", "ENV A=b", "CMD [\"x\"]")
        made = build(box, ref)
        got = ENGINE.image(made["image"])["Config"]
        eq((got["User"], got["WorkingDir"], got["Env"], got["OnBuild"], got["Healthcheck"]),
           ("77", "/srv", ["A=b"], None, {"Test": ["NONE"]}), "the base's settings")
        name = box.run(made["image"])
        eq(box.content(name, "id -u; pwd; stat -c %a%u /.od/od-runtime-client"),
           "77\n/srv\n5550", "it runs")
        eq(build(box, ref)["built"], False, "and is found again")


def test_prune_spares_what_is_used():
    with Box(ENGINE) as box:
        ref = base("used")
        names = [build(box, ref, "--extra-deps", f"echo {i} > /n")["image"]
                 for i in range(3)]
        name = box.run(names[0], "--via", "build")
        gone = box.od("prune", ref, "--keep", "1").stdout
        ok(names[1] in gone and names[0] not in gone and names[2] not in gone,
           "the newest stays and so does what a container uses", gone)
        has(ENGINE.call("GET", f"/images/{names[1]}/json", expect=(404,))["message"].lower(),
            "no such", "it is gone")
        eq(box.content(name, "cat /n"), "0", "the sandbox goes on")


def test_update():
    """Development: another client in a sandbox without a build."""
    with Box(ENGINE) as box:
        ref, client, name = base("dev"), another_client(), box.name()
        before = ENGINE.ours()
        dev = {"SANDBOX_UPDATE_SOURCE_CODE": "true"}
        began = time.monotonic()
        eq(box.od("run", ref, "--name", name, env=dev).returncode, 0, "a new sandbox")
        harness.note(f"a new sandbox: {time.monotonic() - began:.3f} s")
        box.content(name, "echo kept > /file")
        began = time.monotonic()
        done = box.od("update", name, "--client", client, "--json")
        harness.note(f"another client: {time.monotonic() - began:.3f} s")
        eq((done.returncode, done.stderr), (0, ""), "a running one gets another client")
        with open(client, "rb") as f:
            want = hashlib.sha256(f.read()).hexdigest()
        eq(json.loads(done.stdout)["client_sha256"], want, "says which")
        eq(box.content(name, "cat /file; sha256sum < /.od/od-runtime-client"),
           f"kept\n{want}  -",
           "which runs now, with the files that were there")
        eq(ENGINE.ours(), before, "no image is made")
        done = box.od("update", name, "--client", client, "--no-od-plugins", "--stop-timeout", "3s")
        eq((done.returncode, done.stderr), (0, ""), "update takes --no-od-plugins and --stop-timeout")
        other = box.run(ref, "--via", "bind")
        if "od.sandbox.via" in str(ENGINE.container(other)["Config"]["Labels"]):
            done = box.od("update", other, "--client", client)
            ok(done.returncode == 111 and "--via put" in done.stderr,
               "a client that is a file of this machine", done.stderr)
        has(box.od("update", "absent-" + PREFIX).stderr, "no sandbox", "one that is not")


def main():
    if not ENGINE or not os.path.exists(BUSYBOX) or not os.path.exists(harness.BOXED):
        print("1..0 # SKIP no container engine answers, or no busybox, or no client")
        return
    harness.main()


if __name__ == "__main__":
    main()
