#!/usr/bin/env python3
"""Commands that work against us: the truth within the deadline, and the next command works.

OD_SHELL=NAME chooses one of the shells."""
import os
import signal
import sys
import time

from harness import (DEADLINE, SLOW, alive, eq, has, main, marked, ok, proc, request, skip, slim,
                     under, until)
from contract import BASH, SHORT, code_of, completed, each_shell, says_alive, short, suffix_of

CUT = "[... Observation truncated due to length ...]"
PATIENCE = 5 * SLOW  # seconds for an answer that does not depend on the command


def works(client, sh, name, command="echo alive"):
    t = time.monotonic()
    good, got = says_alive(client, command, timeout=PATIENCE)
    ok(good, f"{sh.name}: the next command after {name}", got)
    if code_of(got) == -1:  # one row that fails is one that fails
        client.ask(request("DELETE", "/v1/sessions/default"))
    under(time.monotonic() - t, PATIENCE, f"{sh.name}: seconds for it")


def soon(client, sh, command, name=None, **args):
    """An answer within the deadline; what it says is for the caller to judge."""
    t = time.monotonic()
    got = client.run(command, timeout=PATIENCE, **args)
    under(time.monotonic() - t, PATIENCE + 1 * SLOW,
          f"{sh.name}: {name or command}: seconds to the answer")
    return got


@each_shell
def test_forged_marks(sh):
    with sh.client() as client:
        forged = "".join(f"\\033]7777;{nonce};{kind};{n};0;;/;;{nonce}\\007"
                         for nonce in ("", "0" * 16, "@") for kind in "spte" for n in (0, 1, "a" * 16))
        got = client.run(f"printf '{forged}'; echo on; (exit 9)")
        eq(short(got), ("on", 9, ""), f"{sh.name}: marks with a made-up nonce end nothing")
        works(client, sh, "made-up marks")
        got = client.run("env | grep -c od_; tr '\\0' '\\n' </proc/$$/environ | grep -c od_; true")
        eq(got["content"], "0\n0", f"{sh.name}: no child is told the nonce")
        # The shell itself knows it: who asks it lies to himself alone, and only once.
        got = soon(client, sh, "__od_mark p 7; echo after; (exit 9)", "our own function")
        ok(code_of(got) in (7, 9), f"{sh.name}: our own function: an answer", got)
        for _ in range(2):
            works(client, sh, "our own function")


@each_shell
def test_closed_output(sh):
    with sh.client() as client:
        for command in ("exec 1>&-", "exec 1>/dev/null", "exec 2>&-", "exec 1>&- 2>&-"):
            got = soon(client, sh, command)
            eq(short(got), ("", 0, ""), f"{sh.name}: {command}")
            got = soon(client, sh, "echo lost")
            ok(code_of(got) != -1, f"{sh.name}: {command}: a command without output", got)
            works(client, sh, command, "exec 1>/dev/tty 2>&1; echo alive")
            works(client, sh, f"{command} and back")
        for command in ("exec 0<&-", "exec </dev/null", "exec 0<&- 1>&- 2>&-"):
            got = soon(client, sh, command)
            ok(code_of(got) != -1, f"{sh.name}: {command}: it is answered", got)
            works(client, sh, command, "exec 0<>/dev/tty 1>&0 2>&0; echo alive")


@each_shell
def test_ignored_signals(sh):
    with sh.client() as client:
        eq(code_of(soon(client, sh, "trap '' INT TERM")), 0, f"{sh.name}: signals are ignored")
        works(client, sh, "trap")
        client.run("sleep 1000", timeout=SHORT)
        got = client.run("C-c", is_input=True, timeout=SHORT)
        eq(code_of(got), -1, f"{sh.name}: C-c ends nothing, and that is said")
        got = soon(client, sh, "C-\\", is_input=True)
        eq((code_of(got), suffix_of(got)), (131, completed(131, "\\")), f"{sh.name}: C-\\ does")
        works(client, sh, "C-\\")
        client.run("while :; do sleep 0.1; done", timeout=SHORT)
        for key in ("C-c", "C-\\"):
            got = client.run(key, is_input=True, timeout=SHORT)
        if code_of(got) == -1:  # no key ends it: its session can be ended
            eq(client.ask(request("DELETE", "/v1/sessions/default")).status, 200,
               f"{sh.name}: the session is ended")
        works(client, sh, "a loop that no key ends")


@each_shell
def test_not_taken(sh):
    """A shell that does not take its command: the command is not run, and that is said."""
    with sh.client() as client:
        pid = int(client.run("echo $$")["content"])
        os.kill(pid, signal.SIGSTOP)
        ok(until(lambda: b") T " in proc(pid, "stat")), f"{sh.name}: a shell stops")
        got = client.run("touch ran", timeout=SHORT)
        eq(code_of(got), -1, f"{sh.name}: a stopped shell takes nothing")
        got = soon(client, sh, "C-c", is_input=True)
        works(client, sh, "a cancelled command")
        told = "it was not run" in suffix_of(got) or "did not take the command" in suffix_of(got)
        # A shell that goes on before the key comes may have taken it after all, and then the key ends it.
        ran = os.path.exists(client.work + "/ran")
        ok(not ran if told else ran or code_of(got) == 130,
           f"{sh.name}: C-c cancels the command, or it has run", got)


@each_shell
def test_thief(sh):
    """A daemon that reads the terminal takes what is meant for the shell."""
    with sh.client() as client:
        with open(client.work + "/thief.py", "w") as f:
            f.write("import os, sys\n"
                    "if os.fork():\n"
                    "    os._exit(0)\n"
                    "os.setsid()\n"
                    "for line in sys.stdin:\n"
                    "    pass\n")
        client.run(f"{sys.executable} thief.py")
        for i in range(10):
            got = client.run(f"echo {i}; touch ran{i}", timeout=4 * PATIENCE, blocking=True)
            if short(got) != (str(i), 0, ""):
                break
        has(suffix_of(got), "did not take the command", f"{sh.name}: a stolen command is told")
        ok(not os.path.exists(f"{client.work}/ran{i}"), f"{sh.name}: and not run")
        works(client, sh, "a thief")


@each_shell
def test_terminal_settings(sh):
    with sh.client() as client:
        for command in ("stty raw", "stty raw -echo", "stty -icanon min 255 time 0", "stty -opost",
                        "stty echo",
                        "stty -isig", "stty intr ^X", "stty eof x", "stty rows 1 cols 1",
                        "stty ixon ixoff",
                        "printf '\\033[?1049h'", "printf '\\033[2;3r\\033[?25l\\033[?7l'",
                        "printf '\\033c'",
                        "printf '\\033P unfinished'", "printf '\\033]0;unfinished'",
                        "printf '\\033[6n\\033[c\\033[5n'",
                        "printf '\\016\\033(0'"):
            got = soon(client, sh, command)
            eq(code_of(got), 0, f"{sh.name}: {command}")
            works(client, sh, command)
            got = client.run("echo '1\n2'; seq 3 4", timeout=PATIENCE)
            eq(short(got), ("1\n2\n3\n4", 0, ""), f"{sh.name}: lines after {command}")
        client.run("stty -isig; sleep 1000", timeout=SHORT)
        got = client.run("C-c", is_input=True, timeout=PATIENCE)
        if code_of(got) == -1:  # as at any terminal; who wants to go on ends the session
            skip(f"{sh.name}: C-c under stty -isig", "the terminal makes no signal of it")


@each_shell
def test_stopped_shell(sh):
    with sh.client() as client:
        got = soon(client, sh, "kill -STOP $$; echo went on")
        ok(code_of(got) in (0, -1), f"{sh.name}: a shell that stops itself: it is answered", got)
        if code_of(got) == -1:
            got = soon(client, sh, "C-c", is_input=True)
        works(client, sh, "kill -STOP")
        got = soon(client, sh, "kill -TSTP $$; kill -TTIN $$; echo went on")
        if code_of(got) == -1:
            got = soon(client, sh, "C-c", is_input=True)
        works(client, sh, "kill -TSTP")


def figure(pid, name):
    for line in proc(pid, "status").decode().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    return 0


@each_shell
def test_endless_line(sh):
    """A gigabyte without a line's end: answered, and next to no memory for it."""
    with sh.client() as client:
        client.run("echo warm; seq 100000", timeout=60)
        with open(f"/proc/{client.pid}/clear_refs", "w") as f:
            f.write("5")
        before = figure(client.pid, "VmRSS")
        size = 1 << 30 if sh is BASH else 1 << 26  # what a pty passes on takes its time
        got = client.run(f"head -c {size} /dev/zero | tr '\\0' x", timeout=300.0, blocking=True)
        eq((code_of(got), suffix_of(got)), (0, completed(0)),
           f"{sh.name}: {size >> 20} MiB without a newline")
        ok(got["content"].startswith("xxx") and got["content"].endswith("xxx") and len(got["content"]) == 30047,
           f"{sh.name}: its head and tail", got["content"][:100])
        grown = figure(client.pid, "VmHWM") - before
        slim(grown, 4096, f"{sh.name}: KiB that serve has grown at most")
        works(client, sh, "an endless line")


@each_shell
def test_floods(sh):
    with sh.client() as client:
        client.run("while :; do echo flood; done", timeout=SHORT)
        got = sh.interrupt(client)
        ok(code_of(got) in sh.break_codes, f"{sh.name}: C-c in a flood", got)
        works(client, sh, "a flood")
        client.run("cat /dev/urandom", timeout=SHORT)
        got = soon(client, sh, "C-c", is_input=True)
        eq(code_of(got), 130, f"{sh.name}: C-c in noise")
        works(client, sh, "noise")
        got = client.run("head -c 5000000 /dev/urandom", timeout=60.0 * SLOW, blocking=True)
        eq(code_of(got), 0, f"{sh.name}: noise that ends")
        works(client, sh, "noise that ends")
        got = client.run("while :; do echo behind; done &")
        pid = got["extras"]["metadata"]["pid"]
        got = soon(client, sh, "echo mine | tee mine; (exit 3)", "a command beside a flood")
        # Much of the flood before it and much behind it: then it stands in what is cut out.
        ok(code_of(got) == 3 and ("mine" in got["content"] or CUT in got["content"]),
           f"{sh.name}: a command beside a flood", got)
        with open(client.work + "/mine") as f:
            eq(f.read(), "mine\n", f"{sh.name}: which has run")
        got = soon(client, sh, f"kill -9 {pid}")
        eq(code_of(got), 0, f"{sh.name}: its end")
        ok(until(lambda: not alive(pid)), f"{sh.name}: it is gone")
        client.run("true")
        works(client, sh, "a flood behind")


@each_shell
def test_odd_places(sh):
    with sh.client() as client:
        for command in ("mkdir gone && cd gone && rmdir ../gone", "cd /; umask 777", "umask 022; PATH=",
                        "PATH=/usr/bin:/bin",
                        "ulimit -f 0", "ulimit -s 256", "HOME=/nonexistent", "unset HOME", "TERM=",
                        "set -f", "set -C", "set -a", "set -b", "set -v", "set +v",
                        "readonly x=1"):
            got = soon(client, sh, command)
            ok(code_of(got) == 0 or (code_of(got) > 0 and got["content"]), f"{sh.name}: {command}", got)
            works(client, sh, command)


HOLDERS = ("sleep {} &", "(sleep {} &)", "setsid sleep {} </dev/tty &", "nohup sleep {} &",
           "(trap '' HUP INT TERM; setsid sleep {} >/dev/tty 2>&1 &)")


def runs(words):
    """Whether the program itself does: who starts it has the words in its command line, too, and may print."""
    return any(proc(pid, "cmdline").startswith(words.encode()) for pid in marked(words))


@each_shell
def test_held_terminal(sh):
    """Jobs and daemons that keep the terminal open when the shell ends, or do not let go."""
    for role in ("serve", "init"):
        mark = f"7{os.getpid()}.{role == 'init':d}"
        with sh.client(role=role) as client:
            for i, command in enumerate(HOLDERS):
                name, daemon = f"{role}: {command}", f"{mark}{i}"
                got = soon(client, sh, command.format(daemon), name)
                eq(code_of(got), 0, f"{sh.name}: {name}: at once")
                ok(until(lambda: runs(f"sleep\0{daemon}")), f"{sh.name}: {name}: it runs")
                works(client, sh, name)
                got = soon(client, sh, "exit 3", f"{name}, exit")
                if code_of(got) != 3:  # some warn once
                    got = soon(client, sh, "exit 3", f"{name}, exit again")
                eq(code_of(got), 3, f"{sh.name}: {name}: the shell ends, the truth is told")
                works(client, sh, f"{name}, exit")
            got = soon(client, sh, f"sleep {mark}8 & exec true")
            eq(code_of(got), 0, f"{sh.name}: {role}: a job, and a shell that is replaced")
            works(client, sh, "exec with a job")
            eq(client.stop(), 0, f"{sh.name}: {role} stops")
            none_left(sh, mark, f"{role} has stopped")


ESCAPE = ("i=0; while [ $i -lt 500 ]; do ( setsid sh -c '(trap \"\" HUP TERM INT; exec sleep {0}) >/dev/null 2>&1 &' "
          "</dev/null >/dev/null 2>&1 & ); i=$((i + 1)); done")


def escaped(sh, client, mark):
    got = client.run(ESCAPE.format(mark), timeout=120 * SLOW, blocking=True)
    eq(code_of(got), 0, f"{sh.name}: 500 processes escape")
    ok(until(lambda: len(marked(f"sleep\0{mark}")) == 500, 60 * SLOW, 0.1), f"{sh.name}: all of them run")
    works(client, sh, "500 processes")


def none_left(sh, mark, what):
    ok(until(lambda: not marked(f"sleep\0{mark}"), DEADLINE, 0.1), f"{sh.name}: {what}: none is left",
       len(marked(f"sleep\0{mark}")))
    for pid in marked(f"sleep\0{mark}"):
        os.kill(pid, signal.SIGKILL)


@each_shell
def test_escaped_stop(sh):
    for role in ("serve", "init"):
        mark = f"8{os.getpid()}.{role == 'init':d}"
        with sh.client(role=role) as client:
            escaped(sh, client, mark)
            t = time.monotonic()
            eq(client.stop(), 0, f"{sh.name}: {role} stops")
            under(time.monotonic() - t, 5 * SLOW, f"{sh.name}: {role}: seconds")
            none_left(sh, mark, f"{role} has stopped")


@each_shell
def test_escaped_session(sh):
    mark = f"9{os.getpid()}"
    with sh.client() as client:
        client.run("cd /etc")
        escaped(sh, client, mark)
        got = client.ask(request("DELETE", "/v1/sessions/default"))
        if eq(got.status, 200, f"{sh.name}: the session is ended"):
            answer = got.json()
            ok(answer["name"] == "default" and answer["killed"] >= 500 and answer["left"] == [],
               f"{sh.name}: what was killed is told", answer)
        none_left(sh, mark, "the session has ended")
        eq(client.run("pwd")["content"], "/etc", f"{sh.name}: the next shell is in the same place")
        works(client, sh, "the end of its session")


@each_shell
def test_escaped_named_session(sh):
    """The end of one session is not that of another."""
    mark = f"6{os.getpid()}"
    with sh.client() as client:
        client.run(f"sleep {mark}.1 &")
        got = client.run(f"(setsid sleep {mark}.2 &)", session="other")
        eq(code_of(got), 0, f"{sh.name}: a session beside the default one")
        ok(until(lambda: marked(f"sleep\0{mark}.2")), f"{sh.name}: a process of it")
        eq(client.ask(request("DELETE", "/v1/sessions/other")).status, 200, f"{sh.name}: it is ended")
        ok(until(lambda: not marked(f"sleep\0{mark}.2")), f"{sh.name}: its process as well")
        ok(marked(f"sleep\0{mark}.1"), f"{sh.name}: but nobody else's")
        for pid in marked(f"sleep\0{mark}"):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
