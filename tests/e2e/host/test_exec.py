#!/usr/bin/env python3
"""od-runtime exec and run with a command, with a real engine, beside docker exec where there is a docker.

Skipped by name where there is no engine, or no static busybox to make images of.
"""
import hashlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import harness
from harness import eq, has, ok, until
import engine as real

BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
LINKS = ("sh", "ls", "id", "cat", "sleep", "true", "false", "env", "pwd", "seq", "echo", "printf", "yes", "head",
         "kill", "setsid", "nohup", "dd", "wc", "stty", "tty", "sha256sum", "tr", "ps", "grep", "cut")
DOCKER = shutil.which("docker")


def load(engine, name, shell=True):
    with open(BUSYBOX, "rb") as f:
        files = {"tmp/": (b"", 0o1777), "etc/passwd": (b"root:x:0:0::/:/bin/sh\nme:x:7:8::/:/bin/sh\n", 0o644),
                 "etc/group": (b"root:x:0:\ngg:x:9:me\n", 0o644), "plain": (b"#!/bin/sh\n", 0o644)}
        files.update({"bin/busybox": f.read()} if shell else {})
    files.update({f"bin/{link}": "busybox" for link in LINKS if shell})
    image = f"{real.PREFIX}/{name}:1"
    engine.load(real.archive(files), image)
    return image


def environment():
    return {**os.environ, "OD_STATE_DIR": BOX.state, "OD_RUNTIME_CLIENT": harness.BOXED}


def run(*argv, stdin=b"", **more):
    return subprocess.run([harness.RUNTIME, *argv], input=stdin, capture_output=True, env=environment(),
                          timeout=12 * harness.DEADLINE, **more)


def execute(*argv, stdin=b""):
    return run("exec", *argv, stdin=stdin)


def begin(*argv, program="exec", **more):
    more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.Popen([harness.RUNTIME, program, *argv], env=environment(), **more)


def commands(name=None):
    """The command lines of all processes of the sandbox."""
    top = ENGINE.call("GET", f"/containers/{name or NAME}/top", query={"ps_args": "-eo pid,args"})
    return [row[-1] for row in top["Processes"]]


def gone(mark, name=None):
    """Waits until no process has mark in its command line; how long that took."""
    start = time.monotonic()
    left = until(lambda: not [c for c in commands(name) if mark in c], 10)
    return time.monotonic() - start if left else 1000


# --- Bytes and exit codes, beside docker ------------------------------------------------

ROWS = [
    # options, argv, stdin
    ([], ["echo", "a  b", "*", "$HOME", "'", "é"], b""),
    ([], ["sh", "-c", "echo out; echo err >&2; exit 3"], b""),
    ([], ["printf", "a\\0b\\377"], b""),
    ([], ["printf", "\\033[31mred\\033[0m\\r\\n"], b""),
    ([], ["true"], b""), ([], ["false"], b""),
    ([], ["sh", "-c", "exit 255"], b""),
    ([], ["sh", "-c", "kill -9 $$"], b""), ([], ["sh", "-c", "kill -15 $$"], b""),
    ([], ["cat"], b"not read"),
    (["-i"], ["cat"], b""), (["-i"], ["cat"], b"a\0b\xff\r\n\x03\x04"), (["-i"], ["head", "-c", "3"], b"abcdef"),
    (["-i"], ["true"], b"x" * 1000000),
    (["-i"], ["sh", "-c", "read x; echo got:$x; cat"], b"one\ntwo\n"),
    (["-w", "/tmp"], ["pwd"], b""),
    (["-e", "A=1", "-e", "B=x y=z", "-e", "A=2", "-e", "E="], ["sh", "-c", "echo \"$A|$B|${E-unset}\""], b""),
    (["-u", "me"], ["id"], b""), (["-u", "7:9"], ["id"], b""), (["-u", "4711"], ["id", "-u"], b""),
    (["-u", "me:gg"], ["id"], b""), (["-u", "1:2"], ["id", "-G"], b""),
    ([], ["seq", "1", "100000"], b""),
    ([], ["ls", "-l", "/no/such"], b""),
    ([], ["sh", "-c", "echo $0 $# \"$2\"", "zero", "one", "two  words"], b""),
    (["-t"], ["sh", "-c", "echo hi; tty; echo err >&2"], b""),
]


def test_beside_docker():
    if not DOCKER:
        return harness.skip("exec beside docker exec", "no docker on the PATH")
    for options, argv, stdin in ROWS:
        want = subprocess.run([DOCKER, "exec", *options, NAME, *argv], input=stdin, capture_output=True,
                              timeout=12 * harness.DEADLINE)
        got = execute(*options, NAME, *argv, stdin=stdin)
        same = [(r.returncode, re.sub(rb"pts/\d+", b"pts/N", r.stdout), r.stderr) for r in (got, want)]
        ok(same[0] == same[1], f"exec {options} {[a[:30] for a in argv]} is as docker exec",
           *[str(s)[:500] for s in same])


def test_exact():
    got = execute(NAME, "seq", "1", "3000000")
    eq(hashlib.sha256(got.stdout).hexdigest(),
       hashlib.sha256(b"".join(b"%d\n" % i for i in range(1, 3000001))).hexdigest(), "seq 1 3000000")
    data = os.urandom(64 << 20)
    got = execute("-i", NAME, "cat", stdin=data)
    ok(got.returncode == 0 and got.stdout == data and not got.stderr, "64 MiB of random bytes through cat",
       len(got.stdout), got.stderr)
    got = execute("-i", NAME, "sh", "-c", "cat >&2; echo out", stdin=data[:3 << 20])
    ok(got.stderr == data[:3 << 20] and got.stdout == b"out\n", "random bytes through stderr")
    text = "x" * 100000
    eq(execute(NAME, "printf", "%s", text).stdout.decode(), text, "an argument of 100,000 bytes")


def test_not_started():
    for argv, code, words in ((["nosuch"], 127, "no program named 'nosuch'"),
                              (["ls -l | wc"], 127, "sh -c 'ls -l | wc'"), (["/plain"], 126, "'/plain' cannot be"),
                              (["/tmp"], 126, "'/tmp' cannot be"), (["/no/such"], 127, "no program named"),
                              (["-u", "nobody-here", NAME, "true"], 111, "nobody-here"),
                              (["-w", "/no/such", NAME, "true"], 111, "/no/such")):
        got = execute(*(argv if argv[0].startswith("-") else [NAME, *argv]))
        eq((got.returncode, got.stdout), (code, b""), f"the exit code of {argv}")
        has(got.stderr.decode(), words, f"the error of {argv}")
        has(got.stderr, b"  next: ", f"the next step of {argv}")


# --- Streams ---------------------------------------------------------------------------


def test_as_it_comes():
    p = begin("-i", NAME, "sh", "-c", "echo ready; read x; echo got:$x; read y", stdin=subprocess.PIPE)
    eq(p.stdout.readline(), b"ready\n", "output comes while the command runs")
    p.stdin.write(b"line\n")
    p.stdin.flush()
    eq(p.stdout.readline(), b"got:line\n", "input goes while the command runs")
    p.stdin.close()
    eq(p.wait(harness.DEADLINE), 1, "the end of stdin reaches the command")


def test_without_stdin():
    """Without -i a stdin that never ends is not read, and the command does not wait for it."""
    r, w = os.pipe()
    p = begin(NAME, "cat", stdin=r)
    eq((p.wait(harness.DEADLINE), p.stdout.read()), (0, b""), "cat without -i ends at once")
    os.write(w, b"x")
    os.close(w)
    eq(os.read(r, 10), b"x", "the caller's stdin is left alone")
    os.close(r)


def test_closed_output():
    got = subprocess.run(["bash", "-c", f"set -o pipefail; '{harness.RUNTIME}' exec {NAME} yes yes-{os.getpid()} | "
                          "head -n 1"], capture_output=True, env=environment(), timeout=6 * harness.DEADLINE)
    eq((got.returncode, got.stdout, got.stderr), (141, b"yes-%d\n" % os.getpid(), b""),
       "exec ends as by SIGPIPE when its reader has closed")
    ok(gone(f"yes-{os.getpid()}") <= 2, "the command is gone within 2 s")


def test_stalled_output():
    """A reader that stalls holds up the command; stdin and signals are handled all the same."""
    p = begin("-i", NAME, "sh", "-c", "trap 'exit 9' TERM; yes stalled-$$; :", stdin=subprocess.PIPE)
    p.stdout.read(1)
    for _ in range(50):
        p.stdin.write(b"x" * 1000)
        p.stdin.flush()
    p.send_signal(signal.SIGTERM)
    eq(p.wait(harness.DEADLINE), 143, "SIGTERM ends exec although nobody reads its output")
    ok(gone("stalled-") <= 2, "the command is gone within 2 s")


def test_background():
    """exec ends with its command; what that has left in the background lives on, as with docker exec."""
    got = execute(NAME, "sh", "-c", "sleep 4321 & echo hi")
    eq((got.returncode, got.stdout), (0, b"hi\n"), "a background child is not waited for")
    ok([c for c in commands() if "sleep 4321" in c], "a background child lives on")
    execute(NAME, "sh", "-c", "kill $(ps | grep 'sleep 432[1]' | while read -r pid x; do echo $pid; done)")
    ok(gone("sleep 4321") < 10, "it can be killed")


def shared_memory():
    """The bytes of memory files that the sandbox holds, in its own control group."""
    got = execute(NAME, "sh", "-c", "cat /sys/fs/cgroup/memory.stat /sys/fs/cgroup/memory/memory.stat 2>/dev/null")
    return next(int(line.split()[1]) for line in got.stdout.splitlines() if line.startswith(b"shmem "))


def test_memory():
    """The output of commands that have ended takes no memory of the sandbox."""
    before = shared_memory()
    for _ in range(10):
        execute(NAME, "seq", "1", "500000")
    left = until(lambda: shared_memory() - before < 4 << 20)
    ok(left, "what 10 commands have printed, 34 MB, is not kept", shared_memory() - before)
    p = begin(NAME, "sh", "-c", "seq 1 5000; (sleep 1; seq 1 5000; echo alive >/tmp/alive; exec sleep 8765) & :")
    ok(p.stdout.read() and p.wait(harness.DEADLINE) == 0, "a command with a child that prints later")
    ok(until(lambda: execute(NAME, "cat", "/tmp/alive").stdout == b"alive\n"), "the child can print to its end")
    execute(NAME, "sh", "-c", "kill $(ps | grep 'sleep 876[5]' | while read -r pid x; do echo $pid; done)")


def test_detached():
    got = execute("-d", NAME, "sh", "-c", "sleep 1234; exit 3")
    eq((got.returncode, got.stdout, got.stderr), (0, b"", b""), "exec -d prints nothing and ends")
    ok([c for c in commands() if "sleep 1234" in c], "the command lives on")
    execute(NAME, "sh", "-c", "kill $(ps | grep 'sleep 123[4]' | while read -r pid x; do echo $pid; done)")


def test_run_detached():
    name = f"{real.PREFIX}-detached"
    got = run("run", "-d", "--name", name, IMAGE, "sh", "-c", "echo out; echo err >&2; exec sleep 4321")
    eq((got.returncode, got.stdout, got.stderr), (0, name.encode() + b"\n", b""), "run -d IMAGE CMD prints the name")
    ok([c for c in commands(name) if "sleep 4321" in c], "the command runs on")
    ok(until(lambda: b"out\n" in run("logs", name).stdout), "od-runtime logs prints the stdout of the command")
    ok(until(lambda: b"err\n" in run("logs", name).stderr), "od-runtime logs prints the stderr of the command")
    run("exec", name, "sh", "-c", "kill $(ps | grep 'sleep 432[1]' | while read -r pid x; do echo $pid; done)")
    ok(until(lambda: not [c for c in commands(name) if "sleep 4321" in c]), "the command has ended")
    eq(run("exec", name, "true").returncode, 0, "without --rm the sandbox runs on after the command")
    run("rm", "-f", name)
    got = run("run", "-d", "--name", name, IMAGE, "nosuch")
    eq((got.returncode, got.stdout), (127, b""), "run -d of a command that does not exist")
    has(got.stderr, b"no program named 'nosuch'", "the error names the command")
    has(got.stderr, b"rm -f " + name.encode(), "the error names the sandbox that is left")
    eq(run("rm", "-f", name).returncode, 0, "that sandbox exists")
    eq(run("run", "-d", IMAGE, "/plain").returncode, 126, "run -d of a file that cannot be executed")
    got = run("run", "-d", "-t", IMAGE, "sh")
    eq(got.returncode, 100, "run -d -t IMAGE CMD is refused")
    has(got.stderr, b"next: leave -i and -t out", "the refusal names the next step")


def test_run_detached_rm():
    before = ENGINE.containers()
    got = run("run", "-d", "--rm", IMAGE, "nosuch")
    eq((got.returncode, got.stdout), (127, b""), "run -d --rm of a command that does not exist")
    eq(ENGINE.containers(), before, "the sandbox is removed")
    name = f"{real.PREFIX}-detached-rm"
    got = run("run", "-d", "--rm", "--name", name, IMAGE, "sh", "-c", "until [ -e /tmp/end ]; do sleep 0.1; done; exit 7")
    eq((got.returncode, got.stdout), (0, name.encode() + b"\n"), "run -d --rm IMAGE CMD prints the name")
    p = begin(name, program="wait")
    eq(run("exec", name, "sh", "-c", ": >/tmp/end").returncode, 0, "the sandbox runs while the command does")
    eq((p.wait(harness.DEADLINE), p.stdout.read()), (0, b"7\n"), "wait prints the exit code of the command")
    ok(until(lambda: ENGINE.containers() == before), "the sandbox is removed when the command has ended")
    for _ in range(5):
        got = run("run", "-d", "--rm", "--json", IMAGE, "true")
        eq((got.returncode, got.stderr), (0, b""), "run -d --rm with a command that ends at once")
        has(got.stdout, b'"name"', "--json prints the sandbox")
    ok(until(lambda: ENGINE.containers() == before), "their sandboxes are removed")


def test_timeout():
    got = execute("--timeout", "1", NAME, "sh", "-c", "trap '' TERM INT; echo first; setsid sleep 2468 & sleep 2468")
    eq((got.returncode, got.stdout), (124, b"first\n"), "--timeout")
    has(got.stderr, b"did not end within --timeout 1", "the error of --timeout")
    ok(gone("sleep 2468") <= 2, "the whole tree is killed")


# --- Signals ---------------------------------------------------------------------------

TREE = ("echo ready; sleep 77{0} & setsid sleep 77{0} & (sleep 77{0}; echo never) & sleep 77{0}; echo never")


def ready(*argv, **more):
    p = begin(*argv, **more)
    eq(p.stdout.readline(), b"ready\n", "the command has begun")
    return p


def test_handled_signals():
    for signo in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        name = signo.name[3:]
        p = ready(NAME, "sh", "-c", f"trap 'echo got {name}; exit 5' {name}; echo ready; while :; do sleep 0.05; done")
        p.send_signal(signo)
        eq((p.wait(harness.DEADLINE), p.stdout.read()), (5, b"got %s\n" % name.encode()),
           f"{signo.name} reaches the command, whose exit code counts")
    p = ready("-i", NAME, "sh", "-c", "trap 'echo got; :' INT; echo ready; read x || read x; echo $x; exit 7",
              stdin=subprocess.PIPE)
    p.send_signal(signal.SIGINT)
    eq(p.stdout.readline(), b"got\n", "SIGINT reaches a command that goes on")
    p.stdin.write(b"a\nb\n")
    p.stdin.close()
    eq((p.wait(harness.DEADLINE), p.stdout.read()[:2]), (7, b"a\n"), "a command that goes on is waited for")


def test_killed():
    for number, signo in enumerate((signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)):
        for how in ("", "trap '' TERM HUP INT; "):
            mark = f"{number}{int(bool(how))}"
            p = ready(NAME, "sh", "-c", how + TREE.format(mark))
            p.send_signal(signo)
            code = p.wait(harness.DEADLINE)
            ok(gone(f"sleep 77{mark}") <= 2, f"{signo.name}{' ignored' * bool(how)}: no process is left after 2 s",
               commands())
            want = -9 if signo == signal.SIGKILL else 128 + signo
            eq((code, p.stdout.read()), (want, b""), f"{signo.name}{' ignored' * bool(how)}: the exit code")
    p = ready(NAME, "sh", "-c", "echo ready; exec sleep 7791")
    p.send_signal(signal.SIGINT)
    eq(p.wait(harness.DEADLINE), 130, "SIGINT ends a command that does not handle it")
    ok(gone("sleep 7791") <= 2, "SIGINT: no process is left after 2 s")


def test_run():
    got = run("run", "--rm", IMAGE, "--", "sh", "-c", "echo out; echo err >&2; exit 4")
    eq((got.returncode, got.stdout, got.stderr), (4, b"out\n", b"err\n"), "run --rm IMAGE -- CMD")
    got = run("run", "--rm", "-i", IMAGE, "cat", "-", stdin=b"\0in")
    eq((got.returncode, got.stdout), (0, b"\0in"), "run --rm -i IMAGE CMD")
    got = run("run", "--rm", "-e", "A=1", "-w", "/tmp", "-u", "me", IMAGE, "sh", "-c", "echo $A; pwd; id -u")
    eq((got.returncode, got.stdout), (0, b"1\n/tmp\n7\n"), "the command has the settings of the sandbox")
    got = run("run", "--rm", IMAGE, "nosuch")
    eq(got.returncode, 127, "a command that is not there")
    before = ENGINE.containers()
    p = ready("--rm", IMAGE, "sh", "-c", "echo ready; sleep 1000", program="run")
    p.send_signal(signal.SIGINT)
    eq(p.wait(harness.DEADLINE), 130, "SIGINT ends run --rm")
    eq(ENGINE.containers(), before, "nothing is left of it")


def test_bundled_shell():
    image = load(ENGINE, "no-shell", shell=False)
    name = BOX.run(image)
    got = execute(name, "sh", "-c", "echo $((6*7)); echo $0", "zero")
    eq((got.returncode, got.stdout, got.stderr), (0, b"42\nzero\n", b""), "sh in an image without a shell")
    got = execute(name, "ls")
    eq(got.returncode, 127, "no other program comes with it")
    BOX.od("rm", "-f", name)


def test_many():
    """A hundred at once, each with its own input, output, error and exit code."""
    bad = []

    def one(n):
        data = b"%d-" % n * 20000
        got = execute("-i", NAME, "sh", "-c", f"echo err{n} >&2; cat; exit {n}", stdin=data)
        if (got.returncode, got.stdout, got.stderr) != (n, data, b"err%d\n" % n):
            bad.append((n, got.returncode, len(got.stdout), got.stderr))
    threads = [threading.Thread(target=one, args=(n,)) for n in range(100)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    eq(bad, [], "100 at once are all correct")


# --- Every path to a sandbox ---------------------------------------------------------------


def check_path(name, what):
    data = os.urandom(1 << 20)
    got = execute("-i", name, "sh", "-c", "cat; echo err >&2; exit 6", stdin=data)
    ok((got.returncode, got.stdout, got.stderr) == (6, data, b"err\n"), f"{what}: bytes and exit code",
       got.returncode, len(got.stdout), got.stderr)
    p = ready(name, "sh", "-c", "echo ready; exec sleep 5566")
    p.send_signal(signal.SIGTERM)
    eq(p.wait(harness.DEADLINE), 143, f"{what}: a signal")
    p = ready(name, "sh", "-c", "echo ready; trap '' TERM HUP; sleep 5577; sleep 5577")
    p.kill()
    ok(gone("sleep 5577", name) <= 2, f"{what}: no process is left 2 s after SIGKILL to exec")


def test_paths():
    for what, options in (("no network", ["--network", "none"]), ("TLS", ["--tls"]),
                          ("the host's network", ["--network", "host"])):
        name = BOX.run(IMAGE, *options)
        check_path(name, what)
        BOX.od("rm", "-f", name)
    theirs = BOX.name()
    ENGINE.call("POST", "/containers/create", {"Image": IMAGE, "Cmd": ["sleep", "1000"]}, query={"name": theirs})
    ENGINE.call("POST", f"/containers/{theirs}/start")
    eq(BOX.od("inject", theirs).returncode, 0, "inject")
    check_path(theirs, "an injected container")
    BOX.od("rm", "-f", theirs)
    ENGINE.remove(theirs)


def serves():
    """The pids, in the sandbox, of the server that init has started."""
    got = execute(NAME, "sh", "-c", "for p in /proc/[0-9]*; do read -r x <$p/stat || continue; set -- $x; "
                  "test $4 = 1 && grep -q od-runtime-client $p/cmdline && echo $1; done 2>/dev/null")
    return got.stdout.split()


def test_crash():
    """The server is killed while a command runs: nothing is lost, and nothing comes twice."""
    for n in range(3):
        p = begin("-i", NAME, "sh", "-c", "seq 1 400000; cat; echo end; exit 8", stdin=subprocess.PIPE)
        data = b"".join(b"line %d\n" % i for i in range(200000))
        out = []
        reader = threading.Thread(target=lambda: out.append(p.stdout.read()))
        first = os.read(p.stdout.fileno(), 1000)
        reader.start()
        p.stdin.write(data[:len(data) // 2])
        pids = serves()
        eq(len(pids), 1, f"crash {n}: there is one server")
        execute(NAME, "kill", "-9", *[pid.decode() for pid in pids])
        p.stdin.write(data[len(data) // 2:])
        p.stdin.close()
        reader.join()
        want = b"".join(b"%d\n" % i for i in range(1, 400001)) + data + b"end\n"
        got = first + b"".join(out)
        eq(p.wait(harness.DEADLINE), 8, f"crash {n}: the exit code")
        ok(got == want, f"crash {n}: every byte once", len(got), len(want), p.stderr.read())


def test_stopped():
    name = BOX.run(IMAGE)
    BOX.od("stop", name)
    got = execute(name, "true")
    eq((got.returncode, got.stdout), (111, b""), "exec in a stopped sandbox")
    has(got.stderr, b"od-runtime start", "the next step is start")
    BOX.od("rm", "-f", name)


ENGINE = real.find()
if not ENGINE or not BUSYBOX or not os.path.exists(harness.BOXED):
    print("1..0 # SKIP no engine, no busybox or no od-runtime-client")
else:
    with real.Box(ENGINE) as BOX:
        IMAGE = load(ENGINE, "exec")
        NAME = BOX.run(IMAGE)
        harness.main()
