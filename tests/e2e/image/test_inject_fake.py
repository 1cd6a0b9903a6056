#!/usr/bin/env python3
"""od-runtime against an engine that is made up: every bad day of an engine."""
import base64
import hashlib
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import harness
from fake_engine import (BASE_ID, EARLY, STATIC, Container, Engine, chunked, image, lines, refusal,
                         response, run_observation)
from fake_process import Ran
from harness import eq, has, ok
from program import X86_64, write_program

TEMP = harness.scratch("od-inject-")
STATE = os.path.join(TEMP, "state")
CLIENT = os.path.join(TEMP, "client")
COUNT = 0

DIR = 1 << 31
RISCV = 243  # a machine for which this host has nothing


def write_client(machine=X86_64):
    write_program(CLIENT, machine)


def engine(**options):
    global COUNT
    COUNT += 1
    return Engine(os.path.join(TEMP, f"s{COUNT}"), **options)


def environment(e, **more):
    env = {"PATH": "/bin:/usr/bin", "OD_STATE_DIR": STATE, "OD_RUNTIME_CLIENT": CLIENT}
    if e:
        env["DOCKER_HOST"] = "unix://" + (e if isinstance(e, str) else e.path)
    env.update(more)
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    return env


def od(e, *argv, stdin=b"", **more):
    if argv[:1] == ("run",) and "--via" not in argv:  # test_ways.py has the others
        argv = ("run", "--via", "build", *argv[1:])
    if argv[:1] == ("build",):  # test_ladder_fake.py has the commits
        argv = ("build", "--via", "build", *argv[1:])
    return subprocess.run([*harness.WRAP, harness.RUNTIME, *argv], input=stdin,
                          capture_output=True, env=environment(e, **more),
                          timeout=harness.DEADLINE * 3)


def fails(got, code, words, name):
    """Ends with code; its error has the words, two lines at most, stdout nothing."""
    text = got.stderr.decode()
    good = got.returncode == code and words in text and not got.stdout
    said = [line for line in text.splitlines() if not line.startswith("  | ")]
    ok(good and len(said) <= 2 and text.startswith(("od-runtime: ", "  | ")), name,
       f"code {got.returncode}, wanted {code}", got.stdout, text, f"wanted {words!r}")
    ok("\x1b" not in text, name + ": no control bytes")


def states():
    folder = os.path.join(STATE, "sandboxes")
    return os.listdir(folder) if os.path.isdir(folder) else []


def clean(e, name, containers=0):
    """Nothing of a failure is left."""
    names = [n for n in e.images if n.startswith("od-runtime")]
    eq((names, len(e.containers), states()), ([], containers, []),
       name + ": nothing is left")


# --- The command line -------------------------------------------------------------


def test_usage():
    got = od(None, "--version")
    has(got.stdout, b"od-runtime ", "version")
    eq(od(None, "--help").returncode, 0, "help")
    has(od(None, "help", "run").stdout, b"--timeout-start", "help of a command")
    for argv in ([], ["nonsense"], ["build"], ["run", "a", "-t"], ["exec", "a"],
                 ["help", "nonsense"], ["build", "Bad:Name"], ["exec", "a/b", "--", "x"],
                 ["action", "ab", "not json"], ["action", "ab", "{}"],
                 ["action", "ab", "[1]"]):
        e = engine()
        got = od(e, *argv)
        eq((got.returncode, got.stdout), (100, b""), f"usage: {argv}")
    for argv, words in ((["build", "UPPER:x"], "'UPPER:x' is not the name of an image"),
                        (["build", ""], "'' is not the name"),
                        (["run", "a b"], "'a b' is not the name"),
                        (["dockerfile", "deb\nRUN x"], "'deb\\x0aRUN x' is not the name"),
                        (["run", "--name", "../x", "base:1"], "'../x' is not a valid name"),
                        (["exec", "../x", "--", "y"], "'../x' is not a valid name"),
                        (["rm", "x"], "'x' is not a valid name")):
        fails(od(os.path.join(TEMP, "absent"), *argv), 100, words,
              f"the arguments come before the engine: {argv}")
    fails(od(None, "ps", "--host", "ssh://1.2.3.4:5"), 100, "only through unix sockets and TLS",
          "a host that is neither a unix socket nor TLS")
    fails(od(None, "ps", "--host", "unix://" + "x" * 200), 100, "path of a socket",
          "a socket's path that is too long")


# --- Finding the engine -----------------------------------------------------------


def test_no_engine():
    fails(od(os.path.join(TEMP, "absent"), "ps"), 111, "no container engine at",
          "no socket")
    path = os.path.join(TEMP, "refuses")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    fails(od(path, "ps"), 111, "was refused", "a socket that refuses")
    listener.close()
    for name, answer in (
            ("garbage", b"SSH-2.0-OpenSSH\r\n"), ("silence", b""),
            ("half a head", b"HTTP/1.1 200 OK\r\nApi-V"),
            ("no version", response(200, b"OK")),
            ("a strange version", response(200, b"OK", [("Api-Version", "2.0")])),
            ("an error", response(500, b"x", [("Api-Version", "1.41")]))):
        got = od(engine(answers=[("GET", "/_ping", answer)]), "ps")
        fails(got, 111, "engine", name)
    fails(od(engine(api="1.23"), "ps"), 111, "too old", "an engine that is too old")


def catches(pid, signo):
    with open(f"/proc/{pid}/status") as f:
        caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", f.read(), re.M).group(1)
    return int(caught, 16) >> (signo - 1) & 1


def test_stuck_engine():
    path = os.path.join(TEMP, "stuck")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(0)
    first = socket.socket(socket.AF_UNIX)
    first.connect(path)
    p = subprocess.Popen([*harness.WRAP, harness.RUNTIME, "ps"], env=environment(path),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    harness.until(lambda: catches(p.pid, signal.SIGINT))
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=harness.DEADLINE)
    eq((p.returncode, out, err), (130, b"", b""), "a socket that takes nobody: Ctrl-C")
    first.close()
    listener.close()


def test_versions():
    for api, want in (("1.24", "/v1.24/"), ("1.41", "/v1.41/"), ("1.47", "/v1.47/"),
                      ("1.55", "/v1.47/")):
        e = engine(api=api)
        eq(od(e, "ps").returncode, 0, f"API {api}")
        ok(all(r.target.startswith(want) for r in e.log[1:]), f"is spoken as {want}")
    e = engine(answers=[("GET", "/version", response(200, {"Components": None}))])
    eq(od(e, "ps").returncode, 0, "a list of components that is null")


# --- Building ---------------------------------------------------------------------


def test_build():
    e = engine()
    got = od(e, "build", "base:1")
    name = got.stdout.decode().strip()
    eq(got.returncode, 0, "a build")
    ok(re.fullmatch(r"od-runtime:oh_v[0-9.]+_[0-9a-z]{1,16}_[0-9a-z]{1,16}", name),
       "prints the tag", name)
    build = e.called("POST", "/build")[0]
    eq(build.fields.get("transfer-encoding"), "chunked", "the context is streamed")
    eq((build.query["version"], build.query["networkmode"], build.query["pull"]),
       ("1", "none", "0"), "classic builder, no network, no pull")
    member = e.context["rootfs/.od/od-runtime-client"]
    eq((member.mode, member.uid, member.gid, member.mtime, member.size),
       (0o555, 0, 0, 0, os.path.getsize(CLIENT)), "the client in the context")
    link = e.context["rootfs/openhands/micromamba/bin/micromamba"]
    eq(link.linkname, "/.od/od-runtime-client", "the drop-in link")
    has(e.dockerfile, f"FROM {BASE_ID}\n", "the base is pinned by its id")
    ok("RUN" not in e.dockerfile, "no RUN")
    eq(len(e.containers), 0, "the container that was looked into is gone")
    shown = od(e, "dockerfile", "base:1").stdout.decode()
    eq(shown, e.dockerfile, "dockerfile prints what build sent")
    again = od(e, "build", "base:1", "--json")
    doc = json.loads(again.stdout)
    eq((doc["image"], doc["built"]), (name, False), "the second time nothing is built")
    eq(len(e.called("POST", "/build")), 1, "indeed")
    eq(od(e, "build", "base:1", "--force").returncode, 0, "--force")
    builds = e.called("POST", "/build")
    eq((len(builds), builds[1].query.get("nocache")), (2, "1"), "builds again")
    eq(builds[0].body, builds[1].body, "from the same bytes")
    eq(od(e, "build", "docker.io/library/base:1").returncode, 111, "not a local name")


def test_build_key():
    e = engine()
    first = od(e, "build", "base:1").stdout
    e.images["base:1"] = image(id_="sha256:" + "cd" * 32, layers=("l9",))
    second = od(e, "build", "base:1").stdout
    ok(first != second and second, "another image under the name gives another tag")
    write_client()
    with open(CLIENT, "ab") as f:
        f.write(b"more")
    third = od(e, "build", "base:1").stdout
    write_client()
    ok(third not in (first, second), "another client gives another tag")
    eq(third.split(b"_")[2], second.split(b"_")[2], "in its second hash only")


def test_build_splits():
    for split in (1, 7):
        e = engine(split=split, chunk=3)
        got = od(e, "build", "base:1")
        eq((got.returncode, got.stderr), (0, b""), f"answers in pieces of {split}")


def test_buildkit():
    e = engine(builder="2")
    eq(od(e, "build", "base:1").returncode, 0, "BuildKit")
    eq(e.called("POST", "/build")[0].query["version"], "2", "is asked for")
    ok(re.search(r"^FROM od-runtime-base:[0-9a-f]{16}(\.[0-9a-f]+){6}$", e.dockerfile, re.M),
       "the base has a name for a while", e.dockerfile)
    ok(not [n for n in e.images if n.startswith("od-runtime-base")], "not longer")
    e = engine(builder="2", images={BASE_ID: image(names=())})
    eq(od(e, "build", BASE_ID).returncode, 0, "a base without a name")
    eq(e.called("POST", "/build")[0].query["version"], "1", "goes to the classic one")
    eq(len(e.called("POST", "/images/.*/tag")), 0, "and never gets a name")
    ok(BASE_ID in e.images, "so that it cannot be lost")


def test_podman():
    for name, options in (
            ("by its header", {"fields": [("Libpod-Api-Version", "4.3.1")]}),
            ("by its version", {"answers": [("GET", "/version", response(
                200, {"Components": [{"Name": "Podman Engine"}]}))]})):
        e = engine(builder="2", **options)
        eq(od(e, "build", "base:1").returncode, 0, "Podman " + name)
        eq(e.called("POST", "/build")[0].query["version"], "1", "builds its own way")


def test_omitted_keys():
    doc = image()
    doc["Config"] = {}
    del doc["RepoDigests"], doc["Parent"]
    e = engine(api="1.52", images={"base:1": doc})
    eq(od(e, "build", "base:1").returncode, 0, "inspect without unset members")
    del doc["Config"]
    eq(od(engine(images={"base:1": doc}), "dockerfile", "base:1").returncode, 0,
       "and without Config at all")


def test_missing_image():
    e = engine(images={})
    got = od(e, "build", "base:1", "--pull", "never")
    fails(got, 111, "does not have the image base:1", "an image that is not there")
    has(got.stderr, b"docker load", "the next step says how to bring it")
    eq(len(e.called("POST", "/images/create")), 0, "--pull never fetches nothing")

    def pull(request):
        e.images["base:1"] = image()
        return chunked(lines({"status": "Pulling"}, {"status": "Done"}), 5)

    e.answers.append(("POST", "/images/create", pull))
    eq(od(e, "build", "base:1").returncode, 0, "an image that the engine fetches")
    create = e.called("POST", "/images/create")[0]
    eq((create.query["fromImage"], create.query["tag"]), ("base", "1"), "asks for it")
    ok("x-registry-auth" not in create.fields, "with no login, as there is none")
    e.images.clear()
    e.log.clear()
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/config.json", "w") as f:
            f.write('{"auths":{"https://index.docker.io/v1/":{"auth":"dTpw"}}}')
        eq(od(e, "build", "base:1", DOCKER_CONFIG=folder).returncode, 0,
           "an image that is fetched after docker login")
    auth = e.called("POST", "/images/create")[-1].fields.get("x-registry-auth", "")
    eq(json.loads(base64.urlsafe_b64decode(auth) or b"{}"),
       {"username": "u", "password": "p", "serveraddress": "https://index.docker.io/v1/"},
       "the login goes along")
    for name, answer in (
            ("after 200", chunked(lines({"status": "x"}, {"errorDetail": {
                "message": "pull \x1b[31mdenied"}, "error": "e"}), 9)),
            ("with a status", refusal(404, "pull \x1b[31mdenied"))):
        e = engine(images={}, answers=[("POST", "/images/create", answer)])
        fails(od(e, "build", "base:1"), 111, "pull \\x1b[31mdenied",
              "a pull that fails " + name)


def test_unfit_images():
    for words, doc in (
            ("not a Linux image", image(Os="windows")),
            ("does not declare its architecture", image(Architecture="")),
            ("is for arm64", image(Architecture="arm64")),
            ("VOLUME at or above /.od", image(config={"Volumes": {"/.od": {}}})),
            ("too long", image(config={"Cmd": ["x" * 40000]})),
            ("cannot be read", {"Id": 5})):
        e = engine(images={"base:1": doc} if isinstance(doc["Id"], str) else {},
                   answers=[] if isinstance(doc["Id"], str) else
                   [("GET", "/images/.*/json", response(200, doc))])
        fails(od(e, "build", "base:1"), 111, words, f"refused: {words}")
        clean(e, "then")
    e = engine()
    e.paths = {"/.od": "/somewhere"}
    fails(od(e, "build", "base:1"), 111, "its /.od is not a directory", "a link at /.od")
    clean(e, "then")
    e.paths = {"/.od": DIR | 0o755, "/openhands": DIR | 0o755}
    got = od(e, "build", "base:1")
    eq(got.returncode, 0, "an /openhands of its own")
    ok(not [n for n in e.context if "openhands" in n], "stays as it is")
    has(got.stderr, b"base:1 already contains /openhands", "a note names what is left out")
    for name, kind in (("file", 0o644), ("link", "/elsewhere")):
        e.paths["/openhands"] = kind
        has(od(e, "build", "--force", "base:1").stderr, b"already contains /openhands",
            f"the note for an /openhands that is a {name}")
    e.paths["/openhands"] = DIR | 0o755
    e.paths["/openhands/micromamba/bin/micromamba"] = "/.od/od-runtime-client"
    eq(od(e, "build", "--force", "base:1").stderr, b"", "no note if the link is there already")


def test_bad_client():
    e = engine()
    fails(od(e, "build", "base:1", OD_RUNTIME_CLIENT="/nonexistent"), 111,
          "no client binary", "no client")
    fails(od(e, "build", "base:1", "--client", "/dev/null"), 111, "no client binary",
          "a client that is no file")
    write_client(machine=183)
    fails(od(e, "build", "base:1"), 111, "the client binary for arm64",
          "a client for another machine")
    write_client()
    clean(e, "then")


def built(e, *argv, **more):
    """build --json, which has to go well."""
    got = od(e, "build", "--json", *argv, **more)
    ok(got.returncode == 0, f"build {' '.join(argv)}", got.stderr)
    return json.loads(got.stdout or b"{}")


def elf(loader):
    """A dynamic program, as far as its loader's name."""
    head = STATIC[:32] + (64).to_bytes(8, "little") + bytes(14) + (56).to_bytes(2, "little") + (1).to_bytes(8, "little")
    name = loader.encode() + b"\0"
    return (head + (3).to_bytes(8, "little") + (120).to_bytes(8, "little") + bytes(16)
            + len(name).to_bytes(8, "little") + bytes(16) + name)


def test_finding_a_shell():
    for paths in ({"/bin/bash": 0o755}, {"/usr/bin/sh": 0o101 | 1 << 23},
                  {"/bin/sh": "/bin/busybox", "/bin/busybox": 0o755},
                  {"/bin/sh": "dash", "/bin/dash": 0o755},
                  {"/bin/sh": "../opt/sh x", "/bin/../opt/sh x": 0o755},
                  {"/busybox/busybox": 0o555}):
        e = engine()
        e.paths = paths
        eq(built(e, "base:1", "--no-busybox")["shell"], "own", f"a shell: {paths}")
    for paths in ({}, {"/bin/sh": 0o644}, {"/bin/sh": 0o750}, {"/bin/sh": 0o100}, {"/bin/sh": DIR | 0o755}, {"/bin/sh": "/gone"},
                  {"/bin/sh": "/bin/sh"}, {"/bin/sh": ""}, {"/bin/sh": "/" + "x" * 5000},
                  {"/bin/sh": 0o755 | 1 << 26}):
        e = engine()
        e.paths = paths
        eq(built(e, "base:1", "--no-busybox")["shell"], "none",
           f"no shell: {str(paths)[:60]}")
        eq(len(e.containers), 0, "the container that was looked into is gone")
    dynamic, script = elf("/lib/ld.so"), b"#! /bin/dash -e\n"
    for content, paths, shell in ((b"", {}, "none"), (b"text", {}, "none"), (dynamic, {}, "none"),
                                  (dynamic, {"/lib/ld.so": 0o644}, "none"), (dynamic, {"/lib/ld.so": 0o755}, "own"),
                                  (dynamic, {"/lib/ld.so": "ld.so.1", "/lib/ld.so.1": 0o755}, "own"),
                                  (script, {}, "none"), (script, {"/bin/dash": 0o755}, "own"),
                                  (dynamic, {"/bin/busybox": 0o755}, "own")):
        e = engine()
        e.paths = {"/bin/sh": 0o755, **paths}
        e.programs = {"/bin/sh": content}
        eq(built(e, "base:1", "--no-busybox")["shell"], shell, f"/bin/sh is {content[:9]!r} and there is {paths}")
    label = e.called("POST", "/containers/create")[0].json()["Labels"]
    eq({k: v for k, v in label.items() if v}, {"od.probe": "1"}, "and bore our label alone")
    eq(label.get("od.sandbox"), "", "which hides those of the image")


def test_od_plugins():
    """od-plugins beside the client goes along, and belongs to the name of the product."""
    beside = os.path.join(TEMP, "od-plugins")
    e = engine()
    alone = built(e, "base:1")
    ok("rootfs/.od/od-plugins" not in e.context, "a client alone goes in alone")
    write_program(beside, size=4000)
    both = built(e, "base:1")
    member = e.context["rootfs/.od/od-plugins"]
    eq((member.mode, member.uid, member.gid, member.mtime, member.size),
       (0o555, 0, 0, 0, os.path.getsize(beside)), "od-plugins is in the context")
    ok(both["built"] and both["image"] != alone["image"], "od-plugins makes another product")
    eq(both["image"].split("_")[1], alone["image"].split("_")[1], "its name differs in the second hash only")
    with open(beside, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    labels = e.images[both["image"]]["Config"]["Labels"]
    eq((labels["od.plugins.sha256"], labels["od.plugins"]), (digest, ""), "a label has its digest")
    eq(json.loads(od(e, "tags", "base:1", "--json").stdout)["inputs"]["plugins_sha256"], digest,
       "tags --json shows its digest")
    has(od(e, "tags", "base:1").stdout, b"  od-plugins    " + digest.encode(), "tags shows its digest")
    eq(built(e, both["image"])["built"], False, "the product serves as it is")
    eq(built(e, "base:1", "--no-od-plugins")["image"], alone["image"], "--no-od-plugins gives the product without it")
    eq(built(e, both["image"], "--no-od-plugins")["image"], alone["image"],
       "--no-od-plugins does not take a product that has it")
    with open(beside, "ab") as f:
        f.write(b"more")
    other = built(e, "base:1")
    ok(other["built"] and other["image"] not in (both["image"], alone["image"]),
       "another od-plugins makes another product")
    write_program(beside, RISCV)
    eq(built(e, "base:1")["image"], alone["image"], "od-plugins for another machine is left out")
    with open(beside, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n")
    fails(od(e, "build", "base:1"), 111, "no od-plugins: " + beside, "an od-plugins that is a script")
    folder = os.path.join(TEMP, "folder")
    write_program(beside, size=4000)
    od(e, "build", "base:1", "--build-folder", folder)
    eq(os.stat(folder + "/rootfs/.od/od-plugins").st_size, os.path.getsize(beside), "--build-folder writes it")
    os.unlink(beside)


def test_busybox():
    e = engine()
    e.paths = {}
    box = os.path.join(TEMP, "busybox")
    write_program(box, size=5000)
    first = built(e, "base:1", "--busybox", box)
    eq((first["built"], first["shell"]), (True, "busybox"), "an image without a shell")
    member = e.context["rootfs/.od/bin/busybox"]
    eq((member.mode, member.uid, member.gid, member.mtime, member.size),
       (0o755, 0, 0, 0, os.path.getsize(box)), "gets a busybox")
    eq(list(e.context)[:6], ["Dockerfile", "rootfs", "rootfs/.od", "rootfs/.od/bin",
                             "rootfs/.od/bin/busybox", "rootfs/.od/od-runtime-client"],
       "in the order of an archive")
    labels = e.images[first["image"]]["Config"]["Labels"]
    with open(box, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    eq((labels["od.shell"], labels["od.busybox.sha256"]), ("busybox", digest), "labels")
    probes = len(e.called("POST", "/containers/create"))
    again = built(e, "base:1", "--busybox", box)
    eq((again["built"], again["image"], again["shell"]), (False, first["image"], "busybox"),
       "the second time nothing is built")
    eq(len(e.called("POST", "/containers/create")), probes, "nor looked into")
    eq(od(e, "dockerfile", "base:1", "--busybox", box).stdout.decode(), e.dockerfile,
       "dockerfile prints what build sent")
    without = od(e, "build", "--json", "base:1", "--no-busybox")
    eq(without.stderr, b"", "one who declines needs no note")
    without = json.loads(without.stdout)
    ok("rootfs/.od/bin/busybox" not in e.context, "--no-busybox leaves it out")
    eq((without["built"], without["shell"]), (True, "none"), "and is another product")
    ok(without["image"] != first["image"], "with another name")
    for argv, image_, shell in (((), first, "busybox"), (("--no-busybox",), without, "none")):
        argv = argv or ("--busybox", box)
        got = built(e, "base:1", *argv)
        eq((got["built"], got["image"], got["shell"]), (False, image_["image"], shell),
           f"each is found again: {argv[0]}")
    got = built(e, first["image"])
    eq((got["built"], got["shell"]), (False, "busybox"), "by its name it is as it is")
    got = built(e, first["image"], "--busybox", box)
    eq(got["built"], False, "with the busybox that it has, too")
    got = built(e, first["image"], "--no-busybox")
    eq((got["built"], got["image"]), (False, without["image"]), "without: the other one")
    got = built(e, without["image"], "--no-busybox")
    eq((got["built"], got["image"]), (False, e.images[without["image"]]["Id"]),
       "which is as it is")
    got = built(e, without["image"], "--busybox", box)
    eq((got["built"], got["image"]), (False, first["image"]), "and back")
    write_program(box, size=6000)
    other = built(e, "base:1", "--busybox", box)
    eq((other["built"], other["image"] != first["image"]), (True, True),
       "another busybox is another product")
    eq(other["image"].split("_")[1], first["image"].split("_")[1], "in its second hash")
    eq(built(e, first["image"], "--busybox", box)["image"], other["image"],
       "also when the first one is named")
    forced = built(e, "base:1", "--busybox", box, "--force")
    eq((forced["built"], forced["image"]), (True, other["image"]), "--force")


def test_busybox_not_wanted():
    """A shell of the image's own needs none, whatever is given."""
    e = engine()
    box = os.path.join(TEMP, "busybox")
    write_program(box)
    first = built(e, "base:1")
    for argv in (["--busybox", box], ["--no-busybox"]):
        got = built(e, "base:1", *argv)
        eq((got["built"], got["image"], got["shell"]), (False, first["image"], "own"),
           f"the same product with {argv[0]}")
    ok("rootfs/.od/bin/busybox" not in e.context, "there is none in it")


def test_no_busybox_here():
    e = engine(images={"base:1": image(Architecture="riscv64")})
    e.paths = {}
    write_client(RISCV)
    for what in ("is built", "is there already"):
        got = od(e, "build", "base:1")
        said = got.stderr.decode().splitlines()
        eq((got.returncode, len(said)), (0, 1), f"none to be found: it {what}")
        for words in ("base:1 has no shell", "commands will fail", "--busybox"):
            has(said[0], words, "one line says: " + words)
    eq(len(e.called("POST", "/build")), 1, "it is built once")
    box = os.path.join(TEMP, "busybox")
    write_program(box, RISCV)
    eq(built(e, "base:1", "--busybox", box)["shell"], "busybox", "once there is one")
    theirs = dict(e.images[got.stdout.decode().strip()], Id="sha256:" + "dd" * 32,
                  RepoTags=["theirs:1"])
    theirs["RootFS"] = {"Layers": theirs["RootFS"]["Layers"] + ["theirs"]}
    e.images["theirs:1"] = theirs
    got = od(e, "build", "theirs:1")
    eq((got.stdout.decode().strip(), got.stderr), (theirs["Id"], b""),
       "what others made from it is as it is, and may have a shell")
    e.paths = {"/bin/sh": 0o755}
    eq(built(e, "theirs:1", "--busybox", box)["shell"], "own", "which is looked for")
    e = engine(images={"base:1": image(Architecture="riscv64")})
    e.paths, e.sees_files = {}, False
    got = od(e, "run", "base:1", "--name", "box", "--via", "auto")
    eq((got.returncode, got.stderr.count(b"has no shell")), (0, 1),
       "run says so once, whatever ways it tries")
    od(e, "rm", "-f", "box")
    write_client()
    write_client()


def test_bad_busybox():
    e = engine()
    box = os.path.join(TEMP, "busybox")
    fails(od(e, "build", "base:1", "--busybox", "/nonexistent"), 111,
          "no busybox: /nonexistent: No such file", "a busybox that is not there")
    fails(od(e, "build", "base:1", "--busybox", "/dev/null"), 111, "is not a Linux executable",
          "one that is no file")
    write_program(box, RISCV)
    fails(od(e, "build", "base:1", "--busybox", box), 111, "is for riscv64",
          "one for another machine")
    fails(od(e, "build", "base:1", "--busybox", box, "--no-busybox"), 100, "cannot be combined",
          "one that is given and declined")
    clean(e, "then")


def test_probe_fails():
    archive = "/containers/.*/archive"
    for name, answer in (
            ("an engine that cannot look", refusal(500, "oops")),
            ("a stat that is missing", response(200)),
            ("a stat that is none", response(200, b"", [
                ("X-Docker-Container-Path-Stat", "e30=")])),
            ("a connection that breaks off", b"")):
        e = engine(answers=[("HEAD", archive, answer)])
        eq(od(e, "build", "base:1").returncode, 111, name)
        clean(e, name)
    for at in ("/.od", "/bin/sh"):
        e = engine()
        event = threading.Event()

        def stat(request):
            if request.query["path"] == at:
                event.wait(harness.DEADLINE)
            return None

        e.answers.append(("HEAD", archive, stat))
        interrupted(e, ["build", "base:1"],
                    lambda: [r for r in e.called("HEAD", archive) if r.query["path"] == at],
                    signal.SIGINT, f"Ctrl-C while it looks for {at}")
        event.set()


ERROR = {"errorDetail": {"message": "disk \x1b[2Jfull\n"}, "error": "disk full"}


def test_long_error():
    """A line of error is bounded; its begin and its end are kept."""
    for words in ("x" * 900 + "é" * 300 + " the end", "\x1b" * 400 + " the end"):
        e = engine(answers=[("POST", "/build", refusal(500, words))])
        got = od(e, "build", "base:1")
        fails(got, 111, "the end", f"{len(words)} characters of a peer")
        line = got.stderr.decode().splitlines()[0]
        ok(" ... " in line and len(line.encode()) <= 1000, "the middle is left out", len(line))
        ok(line.startswith("od-runtime: building: "), "the begin says what failed", line[:60])


def test_build_fails():
    broken = {
        "an error after 200": [{"stream": "Step 1\n"}, ERROR],
        "an error without words": [{"error": ""}],
    }
    for name, said in broken.items():
        for builder in ("1", "2"):
            e = engine(builder=builder)
            e.build_lines = said
            got = od(e, "build", "base:1")
            fails(got, 111, "building: ", name)
            clean(e, name)
            eq(list(e.images), ["base:1"], "of the steps neither")
    e = engine()
    e.build_lines = [ERROR]
    has(od(e, "build", "base:1").stderr, b"disk \\x1b[2Jfull", "the engine's own words")
    for name, answer in (
            ("a refusal", refusal(500, "no room")),
            ("a refusal before the body was read", EARLY(refusal(500, "no room"))),
            ("one in plain text", response(400, b"no room\n"))):
        e = engine(answers=[("POST", "/build", answer)])
        fails(od(e, "build", "base:1"), 111, "no room", name)
        clean(e, name)
    for name, answer in (
            ("a stream that breaks off", chunked(lines({"stream": "x"}), 9)[:-9]),
            ("a connection that breaks off", b""),
            ("a chunk that is none", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
             b"\r\n\r\nzz\r\n"),
            ("a line without end", chunked(b"x" * (2 << 20), 65536))):
        e = engine(answers=[("POST", "/build", answer)])
        fails(od(e, "build", "base:1"), 111, "engine", name)
        clean(e, name)


def test_build_lies():
    e = engine(answers=[("POST", "/build", chunked(lines({"stream": "fine"}), 99))])
    fails(od(e, "build", "base:1"), 111, "does not have it", "success without an image")
    e = engine()

    def other(request):
        e.images[request.query["t"]] = image(id_="sha256:" + "ee" * 32, layers=("z",))
        return chunked(lines({"stream": "fine"}), 99)

    e.answers.append(("POST", "/build", other))
    fails(od(e, "build", "base:1"), 111, "is not the one that was built", "success with another image")
    clean(e, "then")


def test_our_images():
    e = engine()
    name = od(e, "build", "base:1").stdout.decode().strip()
    product = e.images[name]
    again = json.loads(od(e, "build", name, "--json").stdout)
    eq((again["image"], again["built"]), (product["Id"], False), "ours is used as it is")
    derived = dict(product, Id="sha256:" + "dd" * 32, RepoTags=["derived:1"])
    derived["RootFS"] = {"Layers": product["RootFS"]["Layers"] + ["theirs"]}
    e.images["derived:1"] = derived
    again = json.loads(od(e, "build", "derived:1", "--json").stdout)
    eq(again["image"], derived["Id"], "and so is what was made from it")
    with open(CLIENT, "ab") as f:
        f.write(b"newer")
    got = json.loads(od(e, "build", name, "--json").stdout)
    eq((got["built"], len(e.images[got["image"]]["RootFS"]["Layers"])), (True, 2),
       "with a newer client it is made from the user's base again")
    got = json.loads(od(e, "build", "derived:1", "--json").stdout)
    eq(len(e.images[got["image"]]["RootFS"]["Layers"]), 4, "what was made from it is not")
    del e.images["base:1"]
    fails(od(e, "build", name), 111, "which the engine no longer has", "a base that has gone")
    e.images["base:1"] = image(layers=("other",))
    fails(od(e, "build", name), 111, "which the engine no longer has", "labels alone decide nothing")
    write_client()


# --- Running ----------------------------------------------------------------------


def test_run():
    e = engine(not_yet=4, split=11)
    got = od(e, "run", "base:1")
    name = got.stdout.decode().strip()
    eq((got.returncode, got.stderr), (0, b""), "run")
    ok(re.fullmatch(r"od-[0-9a-f]{8}", name), "prints the name", name)
    path = os.path.join(STATE, "sandboxes", name + ".json")
    eq(os.stat(path).st_mode & 0o777, 0o600, "its key is ours alone")
    with open(path) as f:
        key = json.load(f)["key"]
    create = e.called("POST", "/containers/create")[-1]
    spec = create.json()
    ok(re.fullmatch("[0-9a-f]{64}", key), "256 bits")
    ok(not [r for r in e.log if key.encode() in r.body or key in r.target],
       "the engine never sees it")
    words = spec["Cmd"]
    eq(words[words.index("--key-sha256") + 1],
       hashlib.sha256(key.encode()).hexdigest(), "only its hash")
    eq(spec["Entrypoint"], ["/.od/od-runtime-client", "init"], "entry point")
    eq((words[0], words[words.index("--working-dir") + 1]), ("8000", "/"), "command")
    eq(spec["HostConfig"]["PortBindings"],
       {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": ""}]}, "a port of loopback")
    eq((spec["Healthcheck"], spec["StopSignal"], "User" in spec, "Env" in spec),
       ({"Test": ["NONE"]}, "SIGTERM", False, False), "the rest of it")
    got = od(e, "exec", name, "echo", "a b", "$HOME", "'")
    eq((got.returncode, got.stdout, got.stderr), (0, b"hello\n", b""), "exec prints the output")
    start, attach = e.sandbox_log[-2:]
    eq([r.fields["x-session-api-key"] for r in (start, attach)], [key] * 2,
       "both requests of exec have the key")
    eq((start.path, start.json()["argv"]), ("/v1/processes", ["echo", "a b", "$HOME", "'"]),
       "exec sends the words as they are")
    fails(od(e, "run", "base:1", "--name", name), 111, "named " + name + " exists already",
          "a name that is taken")
    eq(len(e.containers), 1, "costs nothing")
    ok(os.path.exists(path), "and leaves the other's key alone")
    fails(od(e, "rm", name), 111, "is running", "rm of a running one")
    eq(od(e, "rm", "-f", name).stdout.decode(), name + "\n", "rm -f")
    clean_images(e)
    clean(e, "after rm")


def clean_images(e):
    for name in [n for n in e.images if n.startswith("od-runtime")]:
        del e.images[name]


def test_run_options():
    e = engine(images={"base:1": image(config={"WorkingDir": "/srv", "User": "7"})})
    got = od(e, "run", "base:1", "--name", "box", "--port", "4321", "--username", "me",
             "--user-id", "0", "--json")
    doc = json.loads(got.stdout)
    eq((got.returncode, doc["name"]), (0, "box"), "run --json")
    eq(sorted(doc["timings"]), sorted(["resolve", "build", "create", "start", "ready"]),
       "timings of every step")
    spec = e.called("POST", "/containers/create")[-1].json()
    eq(spec["Cmd"][3:], ["--working-dir", "/srv", "--username", "me", "--user-id", "0"],
       "words for the client")
    eq(spec["HostConfig"]["PortBindings"]["8000/tcp"][0]["HostPort"], "4321", "--port")
    fails(od(e, "run", "base:1", "--name", "-x"), 100, "is not a valid name of a sandbox",
          "a name that is none")
    od(e, "rm", "-f", "box")


def test_run_command():
    e = engine()
    e.process = lambda request: Ran(b"out\n", code=3)
    got = od(e, "run", "--rm", "base:1", "--", "false")
    eq((got.returncode, got.stdout, got.stderr), (3, b"out\n", b""), "run --rm IMAGE -- CMD")
    clean_images(e)
    clean(e, "then")
    got = od(e, "run", "base:1", "--name", "kept", "false", "--x")
    eq(e.sandbox_log[-2].json()["argv"], ["false", "--x"], "the words behind CMD are its own")
    eq((got.returncode, got.stdout, got.stderr), (3, b"out\n", b"sandbox kept\n"),
       "without --rm it stays and is named")
    od(e, "rm", "-f", "kept")
    eq(od(e, "run", "--rm", "base:1", "--name", "auto").returncode, 0, "--rm alone")
    ok(e.called("POST", "/containers/create")[-1].json()["HostConfig"]["AutoRemove"],
       "leaves it to the engine")
    eq(od(e, "stop", "auto").returncode, 0, "once it is stopped")
    clean_images(e)
    clean(e, "then")


def test_start_fails():
    start = "/containers/.*/start"
    for words, answer, argv in (
            ("port 4321 of 127.0.0.1 is already in use",
             refusal(500, "Bind for 127.0.0.1:4321 failed: port is already allocated"),
             ["--port", "4321"]),
            ("unable to find user x", refusal(500, "unable to find user x"), []),
            ("another architecture", refusal(400, "exec /.od/x: exec format error"), []),
            ("the engine has no GPU: could not select device driver", refusal(
                500, 'could not select device driver "" with capabilities: [[gpu]]'),
             ["--gpus", "all"]),
            ("connection closed", b"", [])):
        e = engine(answers=[("POST", start, answer)])
        fails(od(e, "run", "base:1", *argv), 111, words, f"start: {words}")
        clean_images(e)
        clean(e, "then")
    for words, answer in (("no room", refusal(500, "no room")),
                          ("did not return its id", response(201, {"Id": ""})),
                          ("did not return its id", response(201, b"oops"))):
        e = engine()
        od(e, "build", "base:1")
        e.answers.append(("POST", "/containers/create", answer))
        fails(od(e, "run", "base:1"), 111, words, f"create: {words}")
        clean_images(e)
        clean(e, "then")


def test_dies_early():
    for argv in ([], ["--rm"]):
        e = engine(container=(7, b"first\nbad \x1b[31mnews\n"))
        got = od(e, "run", *argv, "base:1")
        fails(got, 111, "before it was ready", f"a sandbox that ends {argv}")
        has(got.stderr, b"  | first\n  | bad \\x1b[31mnews\n", "its last lines")
        if not argv:
            has(got.stderr, b"exit code 7", "its exit code")
        clean_images(e)
        clean(e, "then")
    e = engine(container=(1, b"exec /.od/x: exec format error\n"))
    has(od(e, "run", "base:1").stderr, b"another architecture", "a foreign machine")


def test_never_ready():
    e = engine(not_yet=1 << 30)
    got = od(e, "run", "base:1", "--timeout-start", "1")
    fails(got, 111, "not ready after 1 s", "a sandbox that never gets ready")
    has(got.stderr, b"  | line one\n  | line two\n", "its last lines")
    clean_images(e)
    clean(e, "then")


def interrupted(e, argv, reached, signo, name):
    p = subprocess.Popen([*harness.WRAP, harness.RUNTIME, *argv], env=environment(e),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    harness.until(reached)
    p.send_signal(signo)
    out, err = p.communicate(timeout=harness.DEADLINE)
    eq((p.returncode, out, err), (128 + signo, b"", b""), name)
    clean_images(e)
    clean(e, name)


def test_no_listening():
    """What is listened to in case the start fails is missed only then."""
    for what, answer in (("closes", EARLY(b"")), ("no HTTP", b"rubbish\r\n\r\n"),
                         ("refuses", refusal(500, "not now"))):
        e = engine(answers=[("POST", "/containers/.+/attach", answer)])
        got = od(e, "run", "base:1", "--name", "box", "--rm")
        eq((got.returncode, got.stdout, got.stderr), (0, b"box\n", b""), f"attach {what}")
        od(e, "rm", "-f", "box")
        e = engine(answers=[("GET", "/containers/.+/logs", answer)], container=(3, b"x\n"))
        fails(od(e, "run", "base:1", "--name", "box"), 111, "exit code 3", f"logs: {what}")


def test_late_containers():
    """A creation that is not answered may succeed all the same, at once or soon."""
    for argv in (("run", "base:1", "--name", "box"), ("build", "base:1"),
                 ("run", "base:1", "--name", "box", "--via", "put")):
        for later in (0, 0.5):
            e = engine()
            timers = []

            def create(request):
                made = threading.Timer(later, Engine.container_create, (e, request))
                timers.append(made)
                made.start()
                if not later:
                    made.join()
                return b""
            e.answers.append(("POST", "/containers/create", create))
            got = od(e, *argv)
            for made in timers:
                made.join()
            eq((got.returncode, e.containers), (111, {}), f"{argv[0]}: {later} s later")
            ok(timers, "it was made indeed")
    e = engine()
    e.answers.append(("POST", "/containers/create", lambda r: b""))
    theirs = Container("f" * 64, "box", {"Cmd": ["theirs"]})
    e.containers[theirs.id] = theirs
    got = od(e, "run", "base:1", "--name", "box", "--via", "put")
    eq((got.returncode, list(e.containers)), (111, [theirs.id]), "somebody else's stays")


def test_signals():
    e = engine(not_yet=1 << 30)
    interrupted(e, ["run", "base:1"], lambda: e.sandbox_log, signal.SIGINT,
                "Ctrl-C while it starts")
    for builder in ("1", "2"):
        e = engine(builder=builder)
        event = threading.Event()

        def build(request):
            event.wait(harness.DEADLINE)
            return b""

        e.answers.append(("POST", "/build", build))
        interrupted(e, ["build", "--via", "build", "base:1"], lambda: e.called("POST", "/build"),
                    signal.SIGTERM, f"SIGTERM while it builds ({builder})")
        event.set()
    e = engine()
    event = threading.Event()

    def execute(request):
        event.wait(harness.DEADLINE)
        return b""

    e.process = execute
    interrupted(e, ["run", "--rm", "base:1", "sleep"],
                lambda: [r for r in e.sandbox_log if r.method == "POST"],
                signal.SIGINT, "Ctrl-C while CMD runs")
    event.set()


# --- Talking ----------------------------------------------------------------------


def test_action():
    e = engine()
    od(e, "run", "base:1", "--name", "box")
    bare = {"action": "read", "args": {"path": "/x"}}
    for given in (bare, {"action": bare}):
        got = od(e, "action", "box", json.dumps(given))
        eq(e.sandbox_log[-1].json(), {"action": bare}, "the envelope is there")
        has(got.stdout, b"run\n  command: c\n  metadata.exit_code: 0\n", "for people")
        ok(got.stdout.endswith(b"\n\nhello\n"), "then the content")
    got = od(e, "action", "box", "-", "--json", stdin=json.dumps(bare).encode())
    eq(json.loads(got.stdout), run_observation("hello"), "from stdin, as JSON")
    for answer, code in ((run_observation("", 3), 1), (run_observation("x", -1), 0),
                         ({"observation": "error", "content": "no", "extras": {}}, 1)):
        e.execute = lambda request: answer
        eq(od(e, "action", "box", json.dumps(bare)).returncode, code,
           f"the exit code of action for {answer['observation']}")
    go_on = threading.Event()
    e.execute = lambda _: go_on.wait(harness.DEADLINE) and run_observation("late")
    got = od(e, "action", "box", "--timeout", "1s", json.dumps(bare))
    go_on.set()
    eq(got.returncode, 124, "an action that takes longer than --timeout")
    has(got.stderr, b"no answer within --timeout 1s\n", "the error repeats --timeout as the user wrote it")
    od(e, "rm", "-f", "box")


def test_screenshot():
    e = engine()
    od(e, "run", "base:1", "--name", "box")
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    said = {"status": 200, "body": picture}
    e.execute = lambda request: (f"HTTP/1.1 {said['status']} X\r\nContent-Length: {len(said['body'])}\r\n\r\n"
                                 .encode() + said["body"])
    eq(od(e, "screenshot", "box").stdout, picture, "a screenshot")
    sent = e.sandbox_log[-1]
    eq((sent.method, sent.path), ("GET", "/v1/browser/screen"), "asks for it")
    path = os.path.join(TEMP, "screen.png")
    for _ in range(2):
        eq((od(e, "screenshot", "box", "-o", path).stdout, open(path, "rb").read()), (b"", picture), "-o")
    fails(od(e, "screenshot", "box", "-o", "/nowhere/x"), 111, "/nowhere/x: ", "-o to nowhere")
    main_side, terminal = os.openpty()
    got = subprocess.run([harness.RUNTIME, "screenshot", "box"], stdout=terminal, stderr=subprocess.PIPE, timeout=20)
    has(got.stderr, b"the output is a terminal, which cannot show a PNG", "not to a terminal")
    eq(got.returncode, 100, "...which is a mistake")
    os.close(terminal)
    os.close(main_side)
    said.update(body=b"<html>")
    fails(od(e, "screenshot", "box"), 111, "is not a PNG picture", "another answer")
    said.update(status=409, body=b'{"detail":"No browser has been started yet."}')
    fails(od(e, "screenshot", "box", "-o", path), 111, "no browser runs in the sandbox box yet", "no browser")
    has(od(e, "screenshot", "box", "-o", path).stderr.decode(), "od-runtime action box '{\"action\":\"browse\",",
        "and how to start it")
    eq(open(path, "rb").read(), picture, "...leaves the file as it is")
    od(e, "rm", "-f", "box")


def test_ps_logs_stop():
    e = engine()
    eq(json.loads(od(e, "ps", "--json").stdout), [], "none")
    od(e, "run", "base:1", "--name", "box")
    row = json.loads(od(e, "ps", "--json").stdout)[0]
    eq((row["name"], row["image"], row["state"]), ("box", "base:1", "running"), "one")
    shutil.rmtree(STATE)
    has(od(e, "ps").stdout, b"box ", "ps works without the state")
    next(iter(e.containers.values())).spec["Labels"]["od.sandbox.image"] = "\x1b[31m"
    ok(b"\x1b" not in od(e, "ps").stdout, "ps cleans what it prints")
    got = od(e, "logs", "box")
    eq((got.stdout, got.stderr), (b"line one\n", b"line two\n"), "logs")
    e.chunk = 1
    eq(od(e, "logs", "-f", "--tail", "5", "box").stdout, b"line one\n", "logs -f")
    asked = e.called("GET", "/containers/.*/logs")[-1].query
    eq((asked["follow"], asked["tail"]), ("1", "5"), "asks for it")
    e.output = b"no frames at all"
    eq(od(e, "logs", "box").returncode, 111, "a log that is none")
    eq(od(e, "stop", "box", "--time", "3").stdout, b"box\n", "stop")
    eq(e.called("POST", "/containers/.*/stop")[-1].query["t"], "3", "--time")
    fails(od(e, "exec", "box", "--", "c"), 111, "is not running", "exec in a stopped one")
    eq(od(e, "stop", "box").returncode, 0, "stop again")
    eq(od(e, "rm", "box").returncode, 0, "rm")
    for argv in (["stop"], ["rm"], ["logs"], ["exec"]):
        more = ["--", "c"] if argv == ["exec"] else []
        fails(od(e, *argv, "box", *more), 111, "no sandbox is named box", f"{argv}")


def test_doctor_of_a_liar():
    """An answer that doctor cannot read is a line of its report, and no bug of od-runtime."""
    for path in "/version", "/info":
        for body in (b"{", b"[" * 100000, b'{"a":"\xff"}', b'{"a":1,"a":2}', b""):
            # The first answer to /version is for the beginning of every command.
            said = [response(200, {"Components": []})] if path == "/version" else []
            e = engine(answers=[("GET", path, lambda _: said.pop() if said else response(200, body))])
            got = od(e, "doctor")
            eq((got.returncode, got.stderr), (111, b""), f"doctor with {body[:10]} for {path}")
            has(got.stdout, f"its reply to {path} is not JSON".encode(), "the report says which answer")


def test_foreign_container():
    e = engine()
    od(e, "run", "base:1", "--name", "box")
    next(iter(e.containers.values())).spec["Labels"] = {"x": "1"}
    shutil.rmtree(STATE)
    for argv in (["stop", "box"], ["rm", "-f", "box"], ["logs", "box"],
                 ["exec", "box", "--", "c"]):
        fails(od(e, *argv), 111, "is not a sandbox of od-runtime", f"foreign: {argv[0]}")
    eq(len(e.containers), 1, "it stays")


def test_terminal():
    """For people: control bytes of a sandbox do not reach the terminal."""
    e = engine()
    e.execute = lambda request: run_observation("a\x1b]0;x\x07b\tc\nd\u009bm")
    od(e, "run", "base:1", "--name", "box")
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(harness.RUNTIME, [harness.RUNTIME, "action", "box", '{"action":"x"}'],
                  environment(e))
    out = b""
    while True:
        try:
            more = os.read(fd, 4096)
        except OSError:
            break
        if not more:
            break
        out += more
    eq(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, "action on a terminal")
    has(out, b"a\\x1b]0;x\\x07b\tc\r\nd\\xc2\\x9bm\r\n", "action shows them as text")
    od(e, "rm", "-f", "box")


write_client()
harness.main()
