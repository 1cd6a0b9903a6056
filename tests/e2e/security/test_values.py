#!/usr/bin/env python3
"""Values of an engine or a sandbox that is hostile: none becomes a request, a word of a
shell or a control sequence of a terminal."""
import io
import json
import os
import pty
import shutil
import subprocess
import tarfile

import harness
from fake_engine import OWNER, Engine, response
from harness import eq, has, ok

TEMP = harness.scratch("od-values-")
COUNT = 0
ID = "ab" * 32
# Values that no id, name or volume may have.
HOSTILE = ["", "x", "..", "a/b", "../volumes/victim", "a?force=1", "a#b", "a b", "a%2fb",
           "x HTTP/1.1\r\nHost: a\r\n\r\nDELETE /containers/victim", "a\nb", "a\u001b[2J",
           "\u009b31m", "a" * 500]


def engine(**options):
    global COUNT
    COUNT += 1
    return Engine(os.path.join(TEMP, f"s{COUNT}"), **options)


def environment(e):
    env = {"PATH": "/bin:/usr/bin", "OD_STATE_DIR": os.path.join(TEMP, "state"),
           "DOCKER_HOST": "unix://" + e.path, "OD_RUNTIME_CLIENT": harness.BOXED}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    return env


def od(e, *argv):
    return subprocess.run([*harness.WRAP, harness.RUNTIME, *argv], capture_output=True,
                          env=environment(e), timeout=harness.DEADLINE * 3)


def on_terminal(e, *argv):
    """The bytes that it writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*harness.WRAP, harness.RUNTIME, *argv], stdout=theirs,
                          stderr=subprocess.DEVNULL, env=environment(e)) as p:
        os.close(theirs)
        got = b""
        try:
            while more := os.read(ours, 65536):
                got += more
        except OSError:
            pass  # EIO: the other end is closed
        p.wait(harness.DEADLINE * 3)
    os.close(ours)
    return got


LABELS = {"od.sandbox": "1", "od.sandbox.owner": "box " + OWNER}


def described(**more):
    doc = {"Id": ID, "Name": "/box", "State": {"Running": False, "ExitCode": 0},
           "Image": "sha256:0", "HostConfig": {"NetworkMode": "default"},
           "Config": {"Labels": LABELS}, "NetworkSettings": {"Ports": {}}}
    return dict(doc, **more)


def paths(e):
    """The requests after the engine was found."""
    return [(r.method, r.path) for r in e.log if r.path not in ("/_ping", "/version", "/images/json")]


def test_container():
    for value in HOSTILE:
        for member in ({"Id": value}, {"Name": "/" + value}):
            doc = described(**member)
            e = engine(answers=[("GET", "/containers/box/json", response(200, doc))])
            got = od(e, "rm", "-f", "box")
            eq((got.returncode, paths(e)), (111, [("GET", "/containers/box/json")]),
               f"rm stops at a description with {member!r:.60}")


def test_overlay():
    for value in [*HOSTILE, "victim", "od-overlay-0123456789abcdef0", "od-overlay-../victim",
                  "od-overlay-0123456789ABCDEF"]:
        labels = {**LABELS, "od.sandbox.overlay": value}
        doc = described(Config={"Labels": labels})
        e = engine(answers=[("GET", "/containers/box/json", response(200, doc)),
                            ("DELETE", "/containers/.*", response(204))])
        got = od(e, "rm", "-f", "box")
        eq((got.returncode, [p for m, p in paths(e) if "volumes" in p or "victim" in p]),
           (0, []), f"rm asks for no volume {value!r:.40}")


def test_overlay_of_another():
    name = "od-overlay-0123456789abcdef"
    doc = described(Config={"Labels": {**LABELS, "od.sandbox.overlay": name}})
    ours = {"od.sandbox.overlay": "1", "od.sandbox.name": "box"}
    for volume, gone in (({"Labels": ours}, True),
                         ({"Labels": {"od.sandbox.overlay": "1"}}, True),
                         ({"Labels": dict(ours, **{"od.sandbox.name": "other"})}, False),
                         ({"Labels": {"od.sandbox.overlay": "yes"}}, False),
                         ({"Labels": None}, False), ({}, False),
                         ({"Labels": ours, "Name": "victim"}, False)):
        about = dict({"Name": name}, **volume)
        e = engine(answers=[("GET", "/containers/box/json", response(200, doc)),
                            ("GET", "/volumes/.*", response(200, about)),
                            ("DELETE", ".*", response(204))])
        od(e, "rm", "-f", "box")
        eq([p for m, p in paths(e) if m == "DELETE"],
           ["/containers/" + ID, *["/volumes/" + name] * gone],
           f"a volume {volume} is {'removed' if gone else 'kept'}")


def test_created():
    for value in HOSTILE:
        e = engine(answers=[("POST", "/containers/create", response(201, {"Id": value}))])
        got = od(e, "run", "--via", "put", "--name", "box", "base:1")
        eq(got.returncode, 111, f"run refuses an id {value!r:.40}")
        ok(all(r.path in ("/containers/create", "/containers/box/json", "/images/base:1/json",
                          "/containers/json", "/_ping", "/version") for r in e.log),
           "and asks for nothing at that id", [r.path for r in e.log])


def test_exec():
    for value in HOSTILE:
        e = engine(answers=[("POST", "/containers/.*/exec", response(201, {"Id": value}))])
        got = od(e, "run", "--via", "put", "--name", "box", "--network", "none", "base:1",
                 "--timeout-start", "1")
        eq(got.returncode, 111, f"run refuses an exec {value!r:.40}")
        eq(e.called("POST", "/exec/.*"), [], "and starts none")


def test_names_of_ps():
    names = ["good", "$(touch /tmp/x)", "a b", "a\nb", "`x`", "", "a;b", "\u001b[2J", "Good-1"]
    rows = [{"Id": ID, "Names": ["/" + n], "Image": "i", "State": "running\u009b31m",
             "Labels": {"od.sandbox": "1", "od.sandbox.owner": f"{n} {OWNER}",
                        "od.sandbox.image": "x\u001b[31m", "od.sandbox.port": "77"},
             "HostConfig": {"NetworkMode": "none"},
             "Created": 1, "Ports": []} for n in names]
    e = engine(answers=[("GET", "/containers/json", response(200, rows))])
    eq(od(e, "ps", "-q").stdout, b"Good-1\ngood\n", "ps -q prints names of containers alone")
    got = od(e, "ps").stdout
    ok(b"\x1b" not in got and "\u009b".encode() not in got, "ps prints no control bytes", got)
    ok(b" 77 " not in got, "nor the port of a label without the host's network")
    eq([r["name"] for r in json.loads(od(e, "ps", "--json").stdout)], ["Good-1", "good"],
       "ps --json lists names of containers alone")
    got = on_terminal(e, "ps", "--json")
    ok(b"good" in got and b"\x1b" not in got and "\u009b".encode() not in got,
       "ps --json prints no control bytes to a terminal", got)


def test_names_of_ls():
    e = engine()
    eq(od(e, "run", "--via", "put", "--name", "box", "base:1").returncode, 0, "a sandbox")
    e.execute = lambda request: ["plain", "two\nlines", "esc\u001b[2J", "c1\u009b31m"]
    eq(od(e, "ls", "box").stdout.decode().splitlines(),
       ["plain", "two\\x0alines", "esc\\x1b[2J", "c1\\xc2\\x9b31m"],
       "ls prints a line for each name")
    has(od(e, "ls", "--json", "box").stdout, b"two\\nlines", "ls --json has the bytes")
    od(e, "rm", "-f", "box")


def archive(*entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind, more in entries:
            info = tarfile.TarInfo()
            info.name, info.type, info.mode = name, kind, 0o6777
            if kind == tarfile.REGTYPE:
                info.size = len(more)
                tar.addfile(info, io.BytesIO(more))
            else:
                info.linkname = more
                tar.addfile(info)
    return out.getvalue()


def test_names_of_cp():
    """An archive of a sandbox writes below the folder that cp was given, and nowhere else."""
    e = engine()
    eq(od(e, "run", "--via", "put", "--name", "box", "base:1").returncode, 0, "a sandbox")
    top = os.path.join(TEMP, "cp")
    outside = os.path.join(top, "outside")
    file, link, hard = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
    for what, entries in (
            ("a way up", [("../outside", file, b"new")]),
            ("a hidden way up", [("a/../../outside", file, b"new")]),
            ("an absolute name", [(outside, file, b"new")]),
            ("a link that leads out, and a file behind it",
             [("l", link, ".."), ("l/outside", file, b"new")]),
            ("an absolute link, and a file behind it",
             [("l", link, top), ("l/outside", file, b"new")]),
            ("a link in the place of the file", [("f", link, outside), ("f", file, b"new")]),
            ("a hard link that leads out", [("h", hard, "../outside"), ("h", file, b"new")])):
        shutil.rmtree(top, ignore_errors=True)
        os.makedirs(os.path.join(top, "to"))
        with open(outside, "w") as f:
            f.write("old")
        body = archive(*entries)
        e.execute = lambda request: (
            response(200, body) if request.path == "/v1/files/tar" else response(409))
        od(e, "cp", "box:/src/.", os.path.join(top, "to"))
        with open(outside) as f:
            eq((sorted(os.listdir(top)), f.read()), (["outside", "to"], "old"),
               f"cp writes nothing outside: {what}")
    body = archive(("f", file, b"new"))
    od(e, "cp", "box:/src/.", os.path.join(top, "to"))
    eq(os.stat(os.path.join(top, "to", "f")).st_mode & 0o7000, 0, "cp sets no setuid bit")
    od(e, "rm", "-f", "box")


harness.main()
