#!/usr/bin/env python3
"""Options of run with a real engine (DOCKER_HOST); skipped by name where there is none."""
import os

import engine as real
import harness
from harness import eq, has, skip

BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
LINKS = ("sh", "ls", "id", "cat", "sleep", "true", "hostname", "grep", "pwd", "test", "ps", "kill", "touch", "mount")


def load(box, name="options", *changes):
    with open(BUSYBOX, "rb") as f:
        files = {"bin/busybox": f.read(), "etc/": b"", "root/": (b"", 0o700),
                 "etc/passwd": b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"}
    files.update({f"bin/{link}": "busybox" for link in LINKS})
    name = f"{real.PREFIX}/{name}:1"
    box.engine.load(real.archive(files), name, *changes)
    return name


def usable(name):
    if BOX:
        return True
    skip(name, "no engine, no busybox or no od-runtime-client")
    return False


def test_workdir():
    """As with docker, a folder that is absent is made; one that the user cannot enter is an error."""
    if not usable("--workdir"):
        return
    name = BOX.name()
    got = BOX.od("run", "--rm", "--name", name, "--workdir", "/root", "-u", "nobody", IMAGE, "--", "pwd")
    eq((got.returncode, got.stdout), (111, ""), "a folder that the user cannot enter")
    has(got.stderr, "user nobody (uid 65534) cannot enter the working directory /root: Permission denied",
        "the error names the user, the folder and the reason")
    eq(BOX.od("ps", "-q", "--filter", "name=" + name).stdout, "", "no sandbox is left")
    for user, folder in (("nobody", "/made/for/it"), ("nobody", "/etc"), ("0", "/root"), ("1234:5", "/made/too")):
        got = BOX.od("run", "--rm", "-w", folder, "-u", user, IMAGE, "--", "pwd")
        eq((got.returncode, got.stdout), (0, folder + "\n"), f"{folder} as {user}")
    got = BOX.od("run", "--rm", "-w", "/etc/passwd", IMAGE, "--", "pwd")
    eq((got.returncode, got.stdout), (111, ""), "a file is no working directory")
    has(got.stderr, "/etc/passwd", "the error names it")


ENGINE = real.find()
BOX = None
if not ENGINE or not BUSYBOX or not os.path.exists(harness.BOXED):
    harness.main()
else:
    with real.Box(ENGINE) as BOX:
        IMAGE = load(BOX)
        harness.main()
