#!/usr/bin/env python3
"""od-runtime exec -t and run -it on a terminal, and exec --session, with a real engine.

Skipped by name where there is no engine, or no static busybox to make images of.
"""
import os
import signal
import subprocess
import threading
import time

import harness
from harness import eq, has, ok, until
import engine as real
from terminals import Terminal

BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
LINKS = ("sh", "ls", "cat", "sleep", "true", "stty", "tty", "seq", "printf", "ps", "grep", "kill", "pwd", "head", "od")


def load(engine):
    with open(BUSYBOX, "rb") as f:
        files = {"bin/busybox": f.read(), "tmp/": (b"", 0o1777)}
    files.update({f"bin/{link}": "busybox" for link in LINKS})
    image = f"{real.PREFIX}/terminal:1"
    engine.load(real.archive(files), image)
    return image


def environment():
    return {**os.environ, "OD_STATE_DIR": BOX.state, "OD_RUNTIME_CLIENT": harness.BOXED}


def terminal(*argv):
    return Terminal(*argv, env=environment())


def execute(*argv, stdin=b""):
    return subprocess.run([harness.RUNTIME, "exec", *argv], input=stdin, capture_output=True, env=environment(),
                          timeout=12 * harness.DEADLINE)


def commands():
    top = ENGINE.call("GET", f"/containers/{NAME}/top", query={"ps_args": "-eo pid,args"})
    return [row[-1] for row in top["Processes"]]


def gone(mark):
    start = time.monotonic()
    return until(lambda: not [c for c in commands() if mark in c], 10) and time.monotonic() - start <= 2


# --- A terminal ------------------------------------------------------------------------


def test_size():
    t = terminal("exec", "-it", NAME, "sh")
    t.until(b"# ")
    t.type("stty size; tty; echo $((6*7))x\n")
    out = t.until(b"42x\r\n")
    has(out, b"33 101\r\n/dev/pts/", "the terminal in the sandbox has the size of the user's")
    t.resize(44, 122)
    t.type("while test \"$(stty size)\" != '44 122'; do sleep 0.1; done; echo changed-$((1))\n")
    t.until(b"changed-1\r\n")
    t.type("exit 7\n")
    eq(t.end(), (7, True), "the exit code, and the terminal is as before")


def test_keys():
    t = terminal("exec", "-it", NAME, "sh", "-c", "trap 'echo int; exit 4' INT; echo ready; while :; do sleep 0.1; done")
    t.until(b"ready\r\n")
    t.type("\x03")
    t.until(b"int\r\n")
    eq(t.end(), (4, True), "^C reaches the command as a key")
    t = terminal("exec", "-it", NAME, "sh", "-c", "stty raw -echo; echo raw; head -c 7 | od -An -tx1; exit 3")
    t.until(b"raw\n")
    t.type("\x03\x04\x1a\x1c\x11\r\n")
    t.until(b"03 04 1a 1c 11 0d 0a")
    eq(t.end(), (3, True), "no key is taken away")


def test_ends():
    """However exec ends but by SIGKILL, the user's terminal is as it was."""
    for signo in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        t = terminal("exec", "-it", NAME, "sh", "-c", "echo ready; exec sleep 3131")
        t.until(b"ready")
        t.p.send_signal(signo)
        eq(t.end(), (128 + signo, True), f"{signo.name} to exec -it")
        ok(gone("sleep 3131"), f"{signo.name}: no process is left after 2 s")
    t = terminal("exec", "-it", NAME, "sh", "-c", "kill -9 $$")
    eq(t.end(), (137, True), "a command that kills itself")
    t = terminal("exec", "-it", NAME, "no-such-program")
    t.until(b"no program named")
    eq(t.end(), (127, True), "a command that is not there")
    t = terminal("exec", "-it", "--timeout", "1", NAME, "sleep", "3131")
    t.until(b"--timeout 1")
    eq(t.end(), (124, True), "--timeout")


def test_closed_terminal():
    t = terminal("exec", "-it", NAME, "sh", "-c", "trap '' HUP; echo ready; sleep 4141; sleep 4142")
    t.until(b"ready")
    os.close(t.slave)
    os.close(t.fd)
    t.p.wait(harness.DEADLINE)
    ok(gone("sleep 414"), "when the terminal is closed no process is left after 2 s")


def test_shapes():
    got = execute("-t", NAME, "sh", "-c", "tty; stty size; echo err >&2")
    ok(got.returncode == 0 and got.stdout.startswith(b"/dev/pts/") and got.stdout.endswith(b"\r\n24 80\r\nerr\r\n"),
       "-t without a terminal here", got)
    got = execute("-it", NAME, "true")
    eq((got.returncode, got.stdout), (100, b""), "-it without a terminal here is refused")
    has(got.stderr, b"needs a terminal", "the error says why")
    t = terminal("exec", NAME, "tty")
    t.until(b"not a tty\r\n")
    eq(t.end(), (1, True), "without -t the command has no terminal")
    t = terminal("exec", "-i", NAME, "cat")
    t.type("line\n")
    t.until(b"line\r\nline\r\n")
    t.type("\x04")
    eq(t.end(), (0, True), "-i alone: the local terminal collects lines, and ^D ends the input")


def test_run():
    t = terminal("run", "-it", "--rm", IMAGE, "sh")
    t.until(b"# ")
    t.type("stty size; exit 5\n")
    t.until(b"33 101\r\n")
    eq(t.end(), (5, True), "run -it --rm IMAGE CMD")
    got = subprocess.run([harness.RUNTIME, "run", "-it", IMAGE], capture_output=True, env=environment(),
                         stdin=subprocess.DEVNULL, timeout=harness.DEADLINE)
    eq(got.returncode, 100, "run -it without CMD is refused")


# --- exec --session --------------------------------------------------------------------


def session(text, *options, name="s1"):
    return execute("--session", name, *options, NAME, "--", text)


def test_session():
    for text, out, code in (
            ("cd /tmp; A='x  y'", b"", 0), ("pwd; echo \"$A\"", b"/tmp\nx  y\n", 0), ("(exit 3)", b"", 3),
            ("echo one\necho two\nfalse", b"one\ntwo\n", 1),
            ("cat <<'E'\n$A 'q' \"d\" \\\nE\necho \"it's\"", b"$A 'q' \"d\" \\\nit's\n", 0),
            ("f() {\n\techo in-$1\n}", b"", 0), ("f x", b"in-x\n", 0),
            ("printf 'no newline'", b"no newline", 0), ("printf 'a\\r\\nb\\rc\\r'", b"a\r\nb\rc\r", 0),
            ("printf '\\033[31mred\\033[0m\\377\\n'", b"\x1b[31mred\x1b[0m\xff\n", 0),
            ("echo err >&2", b"err\n", 0), ("", b"", 0), ("C-c", None, 127), ("# a comment", b"", 0)):
        got = session(text)
        ok(got.returncode == code and out in (None, got.stdout) and got.stderr == b"", f"--session: {text!r}", got)
    got = session("seq 1 200000")
    ok(got.stdout == b"".join(b"%d\n" % i for i in range(1, 200001)), "200,000 lines", len(got.stdout))
    eq(session("pwd", name="s2").stdout, b"/\n", "another session has another directory")


def test_session_live():
    p = subprocess.Popen([harness.RUNTIME, "exec", "--session", "live", NAME, "--",
                          "echo first; sleep 5151; echo never"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env=environment())
    eq(p.stdout.readline(), b"first\n", "output comes while the text is executed")
    got = session("echo x", name="live")
    eq((got.returncode, got.stdout), (111, b""), "a session that is busy")
    text = got.stderr.decode()
    for part in ("the session live is busy", "sleep 5151", "--kill", "--session OTHER"):
        has(text, part, f"the error has {part!r}")
    ok("[" not in text and "NOT executed" not in text, "no words for agents", text)
    p.send_signal(signal.SIGINT)
    eq(p.wait(harness.DEADLINE), 130, "SIGINT interrupts the text")
    eq(p.communicate()[0], b"^C\n", "the rest was not executed")
    eq(session("echo on", name="live").stdout, b"on\n", "the session goes on")
    got = session("echo first; sleep 6161", "--timeout", "1", name="live")
    eq((got.returncode, got.stdout), (124, b"first\n^C\n"), "--timeout")
    eq(session("echo on", name="live").stdout, b"on\n", "the session goes on after --timeout")
    got = session("exit 3", name="live")
    note = got.returncode, got.stdout, got.stderr
    ok(got.returncode == 3 or got.returncode == 111, "the end of the shell", note)
    eq(session("echo anew", name="live").stdout, b"anew\n", "the next one has a new shell")
    got = session("x", name="bad/name")
    ok(got.returncode != 0 and not got.stdout and got.stderr.startswith(b"od-runtime: "), "a bad name", got)


def test_session_many():
    bad = []

    def one(n):
        got = session(f"for i in 1 2 3; do echo {n}-$i; done; (exit {n})", name=f"m{n}")
        if (got.returncode, got.stdout) != (n, b"".join(b"%d-%d\n" % (n, i) for i in (1, 2, 3))):
            bad.append((n, got))
    threads = [threading.Thread(target=one, args=(n,)) for n in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    eq(bad, [], "20 sessions at once")


ENGINE = real.find()
if not ENGINE or not BUSYBOX or not os.path.exists(harness.BOXED):
    print("1..0 # SKIP no engine, no busybox or no od-runtime-client")
else:
    with real.Box(ENGINE) as BOX:
        IMAGE = load(ENGINE)
        NAME = BOX.run(IMAGE)
        harness.main()
