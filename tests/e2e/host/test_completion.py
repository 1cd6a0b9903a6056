#!/usr/bin/env python3
"""What is made from the option table, tried in the shells and readers it is for."""
import os
import pty
import re
import select
import shutil
import subprocess
import time

import harness
from harness import eq, has, ok, skip

TEMP = harness.scratch("od-completion-")
BIN = os.path.join(TEMP, "bin")
ENV = {"PATH": BIN + ":/usr/bin:/bin", "HOME": TEMP, "TERM": "dumb", "LANG": "C.UTF-8"}


def od(*argv):
    return subprocess.run([harness.RUNTIME, *argv], capture_output=True, text=True)


def run(*argv, stdin=""):
    return subprocess.run(argv, input=stdin, capture_output=True, text=True, env=ENV,
                          cwd=TEMP, timeout=harness.DEADLINE)


def script(shell):
    got = od("completion", shell)
    eq((got.returncode, got.stderr), (0, ""), f"completion {shell}")
    path = os.path.join(TEMP, "od-runtime." + shell)
    with open(path, "w") as f:
        f.write(got.stdout)
    return path


def make_program():
    """An od-runtime that has sandboxes without an engine."""
    os.mkdir(BIN)
    with open(os.path.join(BIN, "od-runtime"), "w") as f:
        f.write("#!/bin/sh\n[ \"$*\" = 'ps -q' ] && printf 'alpha\\nbeta\\n'\n")
    os.chmod(f.name, 0o755)
    with open(os.path.join(TEMP, "some.env"), "w"):
        pass


CASES = [
    (["od-runtime", "pau"], ["pause"]),
    (["od-runtime", "exec", ""], ["alpha", "beta"]),
    (["od-runtime", "run", "--shm"], ["--shm-size"]),
    (["od-runtime", "run", "--pull=m"], ["missing"]),
    (["od-runtime", "run", "--pull", "al"], ["always"]),
    (["od-runtime", "run", "--privi"], ["--privileged"]),
    (["od-runtime", "run", "--env-file", "so"], ["some.env"]),
    (["od-runtime", "stop", "--ti"], ["--time"]),
    (["od-runtime", "stop", "--shm"], []),
    (["od-runtime", "cp", "al"], ["alpha:"]),
    (["od-runtime", "completion", "z"], ["zsh"]),
]


def test_bash():
    if not shutil.which("bash"):
        return skip("bash", "there is none")
    path = script("bash")
    eq(run("bash", "-n", path).stderr, "", "bash reads it")
    for words, expect in CASES:
        # As bash cuts words: = is one of its own.
        cut = [w for word in words for w in (re.findall(r"=|[^=]+", word) or [""])]
        line = " ".join("'%s'" % w for w in cut)
        got = run("bash", "-c", f". {path}; COMP_WORDS=({line}); "
                  f"COMP_CWORD={len(cut) - 1}; _od_runtime; "
                  "printf '%s\\n' \"${COMPREPLY[@]}\"")
        eq((got.stdout.split(), got.stderr), (expect, ""), f"bash: {words}")


def test_fish():
    if not shutil.which("fish"):
        return skip("fish", "there is none")
    path = script("fish")
    eq(run("fish", "-n", path).stderr, "", "fish reads it")
    for words, expect in CASES:
        got = run("fish", "--no-config", "-c",
                  f"source {path}; complete -C '{' '.join(words)}'")
        names = [line.split("\t")[0].removeprefix("--pull=")
                 for line in got.stdout.splitlines()]
        eq((sorted(names), got.stderr), (expect, ""), f"fish: {words}")


def read_until(fd, pattern):
    out, end = b"", time.monotonic() + harness.DEADLINE
    while not re.search(pattern, out) and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                out += os.read(fd, 4096)
            except OSError:
                break
    return out


def test_zsh():
    if not shutil.which("zsh"):
        return skip("zsh", "there is none")
    path = script("zsh")
    eq(run("zsh", "-n", path).stderr, "", "zsh reads it")
    os.mkdir(os.path.join(TEMP, "functions"))
    shutil.copy(path, os.path.join(TEMP, "functions", "_od-runtime"))
    with open(os.path.join(TEMP, ".zshrc"), "w") as f:
        f.write(f"fpath=({TEMP}/functions $fpath)\nautoload -U compinit; compinit -u -D\n"
                "PS1='@@'; unsetopt zle_bracketed_paste prompt_cr prompt_sp\n"
                "LISTMAX=1000; bindkey '^I' complete-word; bindkey '^X' accept-line\n"
                "show() { BUFFER=\"print -r -- \\<${BUFFER}\\>\"; zle accept-line }\n"
                "zle -N show; bindkey '^T' show\n")
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(TEMP)
        os.execvpe("zsh", ["zsh", "-i"], {**ENV, "TERM": "vt100"})
    read_until(fd, b"@@")
    for words, expect in CASES:
        if len(expect) != 1:
            continue
        os.write(fd, " ".join(words).encode() + b"\t\x14")
        # With the next prompt, which may come in the same piece.
        out = read_until(fd, rb"\n<[^\n]*>\r\n(?s:.)*@@")
        want = " ".join([*words[:-1], words[-1].partition("=")[0] + "=" + expect[0]
                         if "=" in words[-1] else expect[0]])
        has(re.sub(rb"[ =]*>", b">", out), b"<" + want.encode() + b">", f"zsh: {words}")
    os.write(fd, b"exit\n")
    os.close(fd)
    os.waitpid(pid, 0)


def test_words():
    eq(od("completion", "csh").returncode, 100, "a shell that is none of them")
    eq(od("man", "html").returncode, 100, "a form that is none")


def test_man():
    page = os.path.join(TEMP, "od-runtime.1")
    got = od("man")
    eq((got.returncode, got.stderr), (0, ""), "man")
    with open(page, "w") as f:
        f.write(got.stdout)
    if shutil.which("mandoc"):
        eq(run("mandoc", "-T", "lint", "-W", "warning", page).stdout, "", "mandoc")
    if not shutil.which("man"):
        return skip("man", "there is none")
    got = run("man", "--warnings", "-l", page)
    eq((got.returncode, got.stderr), (0, ""), "man has no warnings")
    text = re.sub(r".\x08", "", got.stdout)
    for word in ("NAME", "SYNOPSIS", "--env-file FILE", "EXIT STATUS", "docker cp"):
        has(text, word, f"the page has {word}")


def test_docs():
    path = os.path.join(harness.TOP, "docs", "commands.md")
    with open(path) as f:
        eq(f.read(), od("man", "markdown").stdout,
           "docs/commands.md is what the program says")


def titles(text):
    return re.findall(r"^(\S.*):$", text, re.M)


def test_help():
    """The help of each command: its usage, its purpose, its groups of options and its examples."""
    commands = re.findall(r"^  ([a-z]+) ", od("--help").stdout.split("Options")[0], re.M)
    last = "Options of every command"
    for command in commands:
        text = od(command, "--help").stdout
        eq(od("help", command).stdout, text, f"{command} --help is help {command}")
        eq([line for line in text.splitlines() if len(line) > 79], [], f"{command}: lines have 79 columns")
        terms = [re.split(" {2,}", line.strip())[0] for line in text.splitlines() if re.match(" {2,6}-", line)]
        eq([t for t in terms if not re.fullmatch(r"(-\w, )?--[a-z-]+( \S+)?", t)], [],
           f"{command}: two blanks separate an option from its help")
        ok(text.startswith(f"Usage: od-runtime {command} "), f"{command}: usage")
        ok(re.match(r"[A-Z][a-z]+ .*[^.]\.", text.split("\n\n")[1], re.S), f"{command}: a sentence")
        ok(titles(text)[-2:] in ([last, "Example"], [last, "Examples"]), f"{command}: the last titles", titles(text))
        ok(text.splitlines()[-1].find("od-runtime " + command) > 0, f"{command}: an example")
    eq(titles(od("run", "--help").stdout),
       ["Image", "Client and API", "Command and environment", "Files", "Network", "Resources",
        "Privileges and isolation", "Name, lifecycle and log", last, "Examples"], "the groups of run")
    eq(titles(od("logs", "--help").stdout), ["Options", last, "Examples"], "logs has one group")


def test_complete_table():
    """Each option and command of the help is in every script and in the page."""
    commands = re.findall(r"^  ([a-z]+) ", od("--help").stdout.split("Options")[0], re.M)
    ok(len(commands) > 15, "there are commands")
    texts = {s: od("completion", s).stdout for s in ("bash", "zsh", "fish")}
    texts["man"] = od("man").stdout.replace("\\-", "-")
    for command in commands:
        names = re.findall(r"--([a-z-]+)", re.sub(r"(?m)^ {20,}.*$", "",
                                                  od("help", command).stdout))
        for where, text in texts.items():
            missing = [n for n in names if "-l " + n not in text and "--" + n not in text]
            eq((command in text, missing), (True, []), f"{where}: {command}")


make_program()
harness.main()
