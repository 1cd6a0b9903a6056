#!/usr/bin/env python3
"""The examples of the documents, executed with a real engine: what a page shows is what is printed.

A block marked "console" is one shell session: a line that begins with "$ " is a command, the lines
behind it are its output, standard output and standard error together. A backslash at the end of a
line joins it with the next one."""
import os
import re
import subprocess

import engine as real
import harness
from harness import eq, ok, skip

PAGES = ["docs/security.md"]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
IMAGE = "busybox:1"  # the pages' image; the test has one of its own
BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
LINKS = ("sh", "cat", "echo", "env", "grep", "id", "ip", "ls", "mount", "sleep", "touch", "tr", "wc", "wget")


def examples_of(text):
    """Each block as a list of (command, output)."""
    for block in BLOCK.findall(text):
        steps = []
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
        yield [(command, "\n".join(lines)) for command, lines in steps]


def test_parser():
    text = "a\n```console\n$ echo a; echo b\na\nb\n$ true\n$ c \\\n  d\n```\n```\n$ no\n```\n"
    eq(list(examples_of(text)), [[("echo a; echo b", "a\nb"), ("true", ""), ("c    d", "")]],
       "the examples of a page are found")


def make_image(box):
    with open(BUSYBOX, "rb") as f:
        files = {"bin/busybox": f.read(), "tmp/": (b"", 0o1777)}
    files.update({f"bin/{name}": "busybox" for name in LINKS})
    name = f"{real.PREFIX}/docs:1"
    box.engine.load(real.archive(files), name)
    return name


def words(text):
    """The lines with single blanks: programs lay out their columns in their own ways."""
    return [" ".join(line.split()) for line in text.splitlines()]


def run_step(box, folder, image, command):
    """The output of a command of a page."""
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "OD_STATE_DIR": box.state,
           "OD_RUNTIME_CLIENT": harness.BOXED}
    done = subprocess.run(["sh", "-c", command.replace(IMAGE, image)], env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=12 * harness.DEADLINE)
    return done.stdout.replace(image, IMAGE).rstrip("\n")


def test_pages():
    engine = real.find()
    if not engine or not BUSYBOX:
        skip("the examples of the documents", "no container engine answers, or there is no static busybox")
        return
    folder = harness.scratch("od-docs-")
    os.symlink(os.path.abspath(harness.RUNTIME), os.path.join(folder, "od-runtime"))
    with real.Box(engine) as box:
        image = make_image(box)
        for page in PAGES:
            with open(os.path.join(harness.TOP, page)) as f:
                blocks = list(examples_of(f.read()))
            ok(blocks, f"{page} has examples")
            for command, output in (step for block in blocks for step in block):
                eq(words(run_step(box, folder, image, command)), words(output), f"{page}: {command}")
        box.engine.remove_image(image)


if __name__ == "__main__":
    harness.main()
