"""The words of the contract for the run action, and the shells it is tried on."""
import os
import re
import shutil

from harness import SLOW, Client, note, ok, skip

WHAT_NOW = (
    "You may wait longer to see additional output by sending empty command '', send other commands "
    "to interact with the current process, send keys (\"C-c\", \"C-z\", \"C-d\") to interrupt/kill "
    "the previous command before sending your new command, or use the timeout parameter in "
    "execute_bash for future commands.")
PREVIOUS = "[Below is the output of the previous command.]\n"
HUNG = ("\n[The shell hung in a lock of its own when it was interrupted, which is a defect of that shell, and was "
        "killed. The next command gets a new one in the same directory, without the variables and functions of "
        "the old one.]")
SHORT = 0.3 * SLOW  # seconds: the end of patience with what goes on anyway


def refusal(command):
    return (f"\n[Your command \"{command}\" is NOT executed. The previous command is still running"
            " - You CANNOT send new commands until the previous command is completed. By setting "
            f"`is_input` to `true`, you can interact with the current process: {WHAT_NOW}]")


def completed(code, key=None):
    sent = f" CTRL+{key} was sent." if key else ""
    return f"\n[The command completed with exit code {code}.{sent}]"


def timed_out(seconds):
    return f"\n[The command timed out after {float(seconds)} seconds. {WHAT_NOW}]"


def silent(seconds):
    return f"\n[The command has no new output after {seconds} seconds. {WHAT_NOW}]"


def suffix_of(o):
    return o["extras"]["metadata"]["suffix"]


def prefix_of(o):
    return o["extras"]["metadata"]["prefix"]


def code_of(o):
    return o["extras"]["metadata"]["exit_code"]


def short(o):
    """What a check of content, code and prefix compares."""
    return o["content"], code_of(o), prefix_of(o)


def says_alive(client, command="echo alive", **args):
    """Whether the next command works, and its answer. Notices of jobs may stand around it;
    a shell that ends on its own may take one command with it, if that is said."""
    got = client.run(command, **args)
    if "\n[The shell ended before it took the command: it was not run." in suffix_of(got):
        got = client.run(command, **args)
    return "alive" in got["content"].splitlines() and code_of(got) == 0, got


def follow(client, got, part):
    """Polls on until part is in the output; all of it, and the last answer."""
    text = got["content"]
    for _ in range(int(20 * SLOW / SHORT)):
        if part in text or code_of(got) != -1:
            break
        got = client.run("", timeout=SHORT)
        text += "\n" + got["content"]
    return text, got


def install_first(name, why):
    """A skip by name; in CI what can be installed is there, or the test has failed."""
    if os.environ.get("CI"):
        ok(False, name, why)
    else:
        skip(name, why)


class Shell:
    """A shell, and where it differs from bash."""

    def __init__(self, name, path, unknown, ask="read -p '{text}' {var}", escapes="echo -e",
                 ranges=False, lists=False, tests=True, source=True, job=r"\[1\] {pid}",
                 stopped="Stopped", stop_code=148, break_codes=(130,), rc=None, loses_keys=False,
                 hangs=False):
        self.name, self.path = name, path
        self.unknown = unknown  # its words for a command that is not there, a pattern
        self.ask = ask          # reads an answer to a question
        self.escapes = escapes  # echo that knows \n
        self.ranges = ranges    # {1..4}
        self.lists = lists      # {a,b}
        self.tests = tests      # [[ a == b ]]
        self.source = source    # the word for "."
        self.job = job          # what `cmd &` says
        self.stopped = stopped  # what C-z says
        self.stop_code = stop_code    # its code then
        self.break_codes = break_codes  # those of C-c while the shell itself is busy, or idle
        self.rc = rc            # its start-up file
        # C-c is lost on a child that has not executed its program yet; at any terminal.
        self.loses_keys = loses_keys
        self.hangs = hangs  # it may, over C-c while it is busy itself, and is replaced then

    def read(self, text, var):
        return self.ask.format(text=text, var=var)

    def interrupt(self, client):
        """C-c, again if the shell lost it, as a person would; any may lose one that comes between two programs."""
        for _ in range(10 if self.loses_keys else 2):
            got = client.run("C-c", is_input=True, timeout=2 * SLOW if self.loses_keys else 10)
            if code_of(got) != -1:
                break
        return got

    def hung(self, got):
        """Whether it was replaced over C-c, and its variables are gone: only one that may, and only if it is said."""
        return self.hangs and suffix_of(got).endswith(HUNG)

    def broke(self, got):
        """Whether all that is told besides the code is that C-c has ended the command."""
        suffix = suffix_of(got)
        return completed(code_of(got), "C") == (suffix[:-len(HUNG)] if self.hung(got) else suffix)

    def numbers(self, first, last):
        """The words of a loop; with as many digits as they are given with."""
        if self.ranges:
            return "{%s..%s}" % (first, last)
        return " ".join(str(i).zfill(len(first)) for i in range(int(first), int(last) + 1))

    def client(self, *options, **more):
        return Client("--shell", self.path, *options, **more)


SHELLS = (
    Shell("bash", "/bin/bash", "bash: {}: command not found", ranges=True, lists=True, rc=".bashrc"),
    Shell("dash", "/bin/dash", "{}: not found", escapes="echo", tests=False, source=False, job="",
          loses_keys=True),
    Shell("ash", "/bin/busybox", "{}: not found", job="", loses_keys=True, hangs=True),
    Shell("mksh", "/bin/mksh", "{}: .*not found", ask="read '{var}?{text}'", lists=True,
          stop_code=0, rc=".mkshrc", loses_keys=True),
    Shell("zsh", "/bin/zsh", "command not found: {}", ask="read '{var}?{text}'", ranges=True,
          lists=True, job=r"\[\d+\] {pid}", stopped="suspended", break_codes=(130, 2), rc=".zshrc"),
)
BASH = SHELLS[0]


def each_shell(story):
    """A story that is told of every shell: its client is a fresh one each time."""
    def test():
        for shell in SHELLS:
            name = f"{shell.name}: {story.__name__[len('test_'):]}"
            if os.environ.get("OD_SHELL", shell.name) != shell.name:
                continue
            if not shutil.which(shell.path):
                install_first(name, f"{shell.path} is not installed")
                continue
            note(name)
            try:
                story(shell)
            except Exception as e:
                said = "".join(c.log() for c in Client.alive)
                ok(False, f"{name} ran to its end", f"{type(e).__name__}: {e}", said)
                for client in list(Client.alive):
                    client.kill()
    test.__name__ = story.__name__
    return test


def matches(text, pattern, name):
    return ok(re.search(pattern, text), name, f"got {text!r}", f"not like {pattern!r}")
