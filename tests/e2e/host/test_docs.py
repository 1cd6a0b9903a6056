#!/usr/bin/env python3
"""The examples of the documents, executed with a real engine: what a page shows is what is printed.

The pages are README.md and the task pages, which the table "By task" of README.md lists.

A block marked "console" is one shell session: a line that begins with "$ " is a command, the lines
behind it are its output, standard output and standard error together. A backslash at the end of a
line joins it with the next one. A command with "exec -it" is executed on a terminal: a line that begins
with "/ # " has what is typed there."""
import contextlib
import fcntl
import functools
import glob
import json
import os
import pty
import re
import select
import signal
import subprocess
import termios

import harness
from harness import eq, has, ok, skip
import engine as real
import test_plugin_browser as browser_plugin
import test_plugin_python as python_plugin

TASKS = re.compile(r"^## By task\n(.*?)^## ", re.M | re.S)
PAGE = re.compile(r"\]\((docs/[\w-]+\.md)\)")
# Commands that make the folder of a plugin: (the folder, why it cannot be made here or None).
PLUGIN_COMMANDS = {
    "tools/plugin-python": (python_plugin.FOLDER, lambda: python_plugin.folder()[1]),
    "tools/plugin-browser": (browser_plugin.FOLDER, browser_plugin.missing),
}
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
IMAGE = "busybox:1"  # the pages' image; the test has one of its own
BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
# Sandboxes, containers, networks and images of the pages.
NAMES = r"(?<![\w.-])(?<!(?<!/)/)(box|small|server|agents|web|worker|my-image)\b(?![.-])"
PROMPT = re.compile(r"^/\w* # ", re.M)  # of a shell on a terminal; the line has what is typed
# Escape sequences, and the greeting that the busybox of some distributions prints.
UNSHOWN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n*BusyBox v.*\n+Enter 'help'.*\n+")
# What differs from run to run: (what it looks like, what it is replaced by).
VOLATILE = [
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"(od-runtime:oh_v[\d.]+)(_[0-9a-z]{16})+"), r"\1_HASHES"),
    (re.compile(r"\b\d+(\.\d+)?(B|KiB|MiB)(?!\w)"), "SIZE"),
    (re.compile(r"\b\d+(\.\d+)?[sm](?= |$)", re.M), "TIME"),
    (re.compile(r"(running +)\w+( +)\d+"), r"\1METHOD\2PORT"),
    (re.compile(r"(http://127\.0\.0\.1:)\d{5}\b(?!/)"), r"\1PORT"),
    (re.compile(r"at /\S*\.sock\b"), "at SOCKET"),
]


def task_pages():
    """README.md and the pages of its table "By task"."""
    with open(os.path.join(harness.TOP, "README.md")) as f:
        text = f.read()
    return ["README.md", *PAGE.findall(TASKS.search(text)[1])]


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


def test_masks():
    eq(mask("box busybox:1 running bind 33596 0.0s 1.2MiB 8s"), mask("box busybox:1 running put 41000 1s 900KiB 12s"),
       "ports, sizes and times are not compared")
    ok(mask("a 1 b 0s") != mask("a 2 b 0s"), "other numbers are compared")
    eq(rename("box busybox:1 box:/tmp /box //box/ od.box", "p-"), "p-box busybox:1 p-box:/tmp /box //p-box/ od.box",
       "names of sandboxes get a prefix")


def test_programs():
    """The programs that the pages show are the files that their examples execute."""
    for path, language, page in (("examples/drive.sh", "sh", "docs/drive.md"),
                                 ("examples/drive.py", "python", "docs/drive.md"),
                                 ("examples/mcp.py", "python", "docs/mcp.md")):
        with open(os.path.join(harness.TOP, page)) as text, open(os.path.join(harness.TOP, path)) as program:
            has(text.read(), f"```{language}\n{program.read()}```\n", f"{page} shows {path}")


def make_image(box):
    with open(BUSYBOX, "rb") as f:
        files = {"bin/busybox": f.read(), "tmp/": (b"", 0o1777)}
    names = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split()
    files.update({f"bin/{name}": "busybox" for name in names if name != "busybox"})
    name = f"{real.PREFIX}/docs:1"
    box.engine.load(real.archive(files), name)
    return name


def mask(text):
    """The lines with single blanks, as programs lay out their columns in their own ways, without what differs."""
    for pattern, name in VOLATILE:
        text = pattern.sub(name, text)
    return [" ".join(line.split()) for line in text.splitlines()]


def rename(text, prefix):
    """The text with the prefix in front of the names of the pages."""
    return re.sub(NAMES, prefix + r"\1", text)


class MissingPlugin(Exception):
    """The folder of a plugin cannot be made here: the rest of the page is left out."""


class Shell:
    """Executes the commands of a page in a folder of its own."""

    def __init__(self, box, image):
        self.box, self.image, self.prefix = box, image, real.PREFIX + "-"
        self.networks = []
        self.folder = harness.scratch("od-docs-")
        os.mkdir(os.path.join(self.folder, "bin"))
        os.symlink(os.path.abspath(harness.RUNTIME), os.path.join(self.folder, "bin/od-runtime"))
        for name in "examples", "tests":
            os.symlink(os.path.join(harness.TOP, name), os.path.join(self.folder, name))
        self.env = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "OD_STATE_DIR": box.state,
                    "OD_RUNTIME_CLIENT": harness.BOXED}

    def network(self, verb, name):
        if verb == "create":
            self.networks.append(name)
            return self.box.engine.call("POST", "/networks/create", {"Name": name})["Id"]
        self.box.engine.call("DELETE", f"/networks/{name}")
        self.networks.remove(name)
        return name

    def docker(self, verb, *words):
        """What the pages execute with docker, by the engine's API: no docker command is needed."""
        call = self.box.engine.call
        if verb == "network":
            return self.network(*words)
        if verb == "save":  # -o FILE IMAGE
            with open(os.path.join(self.folder, words[1]), "wb") as f:
                f.write(call("GET", f"/images/{words[2]}/get"))
            return ""
        if verb == "load":  # -i FILE
            with open(os.path.join(self.folder, words[1]), "rb") as f:
                return json.loads(f"[{','.join(self.lines_of(call('POST', '/images/load', f.read())))}]")[-1]["stream"]
        if verb == "run":  # -d --name NAME IMAGE WORD...
            made = call("POST", "/containers/create", {"Image": words[3], "Cmd": words[4:]}, {"name": words[2]})["Id"]
            call("POST", f"/containers/{made}/start")
            return made
        self.box.engine.remove(words[-1])
        return words[-1]

    @staticmethod
    def lines_of(answer):
        """The lines of a stream of JSON objects, which the engine class has parsed if it is one object."""
        return [json.dumps(answer)] if isinstance(answer, dict) else answer.decode().splitlines()

    def make_plugin(self, tool, folder):
        """The folder of a plugin, which is made once for all tests."""
        path, missing = PLUGIN_COMMANDS[tool]
        reason = missing()
        if reason:
            raise MissingPlugin(reason)
        os.symlink(path, os.path.join(self.folder, folder))
        return ""

    def close(self):
        """Removes what a page that failed has left, as far as the box does not."""
        for name in glob.glob(os.path.join(self.folder, "*.pid")):
            with open(name) as f, contextlib.suppress(ProcessLookupError):
                os.kill(int(f.read()), signal.SIGKILL)
        if self.networks:
            self.box.sweep()
        for name in list(self.networks):
            self.network("rm", name)

    def execute(self, command, output):
        """The output of a command of a page."""
        command = rename(command, self.prefix).replace(IMAGE, self.image)
        if command.startswith("docker "):
            text = self.docker(*command.split()[1:])
        elif command.split()[0] in PLUGIN_COMMANDS:
            text = self.make_plugin(*command.split())
        elif "exec -it " in command:
            text = self.on_terminal(command, [line[m.end():] for line in output.splitlines()
                                              if (m := PROMPT.match(line))])
        else:
            text = subprocess.run(["sh", "-c", command], env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=12 * harness.DEADLINE).stdout
        return text.replace(self.image, IMAGE).replace(self.prefix, "").rstrip("\n")

    def on_terminal(self, command, lines):
        """The text on a terminal on which the lines are typed, one at each prompt."""
        master, slave = pty.openpty()
        process = subprocess.Popen(["sh", "-c", command], env=self.env, cwd=self.folder, stdin=slave, stdout=slave,
                                   stderr=slave, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        text = ""
        while select.select([master], [], [], harness.DEADLINE)[0]:
            try:
                text += os.read(master, 4096).decode()
            except OSError:
                break
            text = UNSHOWN.sub("", text)
            if lines and PROMPT.fullmatch(text[text.rfind("\n") + 1:]):
                os.write(master, lines.pop(0).encode() + b"\n")
        eq((process.wait(harness.DEADLINE), lines), (0, []), "the program on the terminal has read all lines")
        os.close(master)
        return text.lstrip("\n")


def execute_page(page):
    engine = real.find()
    if not engine or not BUSYBOX:
        skip(f"the examples of {page}", "no container engine answers, or there is no static busybox")
        return
    with open(os.path.join(harness.TOP, page)) as f:
        blocks = list(examples_of(f.read()))
    ok(blocks, f"{page} has examples")
    with real.Box(engine) as box:
        image = make_image(box)
        shell = Shell(box, image)
        try:
            for command, output in (step for block in blocks for step in block):
                eq(mask(shell.execute(command, output)), mask(output), f"{page}: {command}")
        except MissingPlugin as e:
            skip(f"the rest of the examples of {page}", str(e))
        finally:
            shell.close()
        box.engine.remove_image(image)


def define_tests():
    """A test for each page: test_page_run for docs/run.md."""
    for page in task_pages():
        name = os.path.splitext(os.path.basename(page))[0].replace("-", "_")
        globals()[f"test_page_{name}"] = functools.partial(execute_page, page)


define_tests()
if __name__ == "__main__":
    harness.main()
