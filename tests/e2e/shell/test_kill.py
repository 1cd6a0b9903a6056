#!/usr/bin/env python3
"""Ends: whatever a command has started is gone afterwards, and the answer says so.

Each way to get out of reach is tried with each way to end. All processes of a case have
its mark on their command line; /proc tells who is left."""
import ctypes
import itertools
import os
import signal
import sys
import time

from harness import (SLOW, Client, action, alive, children, eq, has, main, marked, ok, proc, request, skip,
                     under, until, wait_exit)

numbers = itertools.count()

# {s} is "sleep MARK", which does not end; the number is of those that are there then
AWAY = [
    ("a background job", 1, "{s} &"),
    ("setsid", 1, "setsid {s} </dev/null >/dev/null 2>&1 &"),
    ("nohup", 1, "nohup {s} >/dev/null 2>&1 &"),
    ("a daemon that holds the terminal", 1, "(setsid {s} & exit)"),
    ("a double fork", 1, "((setsid {s} </dev/null >/dev/null 2>&1 &) &)"),
    ("a deaf one", 1, "(trap '' INT TERM HUP QUIT; exec {s}) &"),
    ("a deaf one with a session of its own", 2, "setsid sh -c \"trap '' INT TERM HUP; {s}; :\" &"),
    ("a stopped one", 1, f"{sys.executable} -c 'import os; os.kill(os.getpid(), 19)' {{m}} &"),
    ("a coprocess of another shell", 2, "sh -c '{s} & wait' & "),
]
IN_FRONT = [
    ("a command", 1, "{s}"),
    ("a deaf shell", 1, "trap '' INT TERM HUP; {s}"),
    ("a deaf program", 2, "sh -c \"trap '' INT TERM HUP; {s}; :\""),
    ("a command with more behind it", 1, "{s}; touch behind"),
    ("a loop that goes on", 1, "while :; do {s}; touch behind; done"),
    ("a loop without a process", 0, "while :; do :; done"),
]


class Case:
    def __init__(self, text):
        self.mark = f"86399.{os.getpid()}{next(numbers):03}"
        self.command = text.format(s=f"sleep {self.mark}", m=self.mark)

    def come(self, n):
        """Waits until n processes are there, those that only hand on left aside."""
        return until(lambda: len(marked(self.mark)) == n)

    def gone(self, name):
        left = until(lambda: not marked(self.mark), 0.5 * SLOW) or marked(self.mark)
        ok(left is True, f"{name}: nothing is left", left)
        for pid in left if left is not True else ():
            print("#  ", pid, proc(pid, "cmdline"), proc(pid, "stat"))
            os.kill(pid, signal.SIGKILL)


def killed(n):
    return "1 process was killed." if n == 1 else f"{n} processes were killed."


def static(client, case, wait, seconds=1.0, **args):
    """The suffix of a static run that is timed out, with seconds until then."""
    t = time.monotonic()
    got = client.run(case.command + wait, timeout=seconds * SLOW, is_static=True, **args)
    return got["extras"]["metadata"]["suffix"], time.monotonic() - t


def test_static_in_front():
    with Client() as client:
        for name, n, text in IN_FRONT:
            case = Case(text)
            suffix, seconds = static(client, case, "")
            has(suffix, "timed out after", f"static, {name}: the timeout is told")
            has(suffix, killed(n + 1), f"static, {name}: and who was killed, the shell too")
            under(seconds, 4 * SLOW, f"static, {name}: seconds")
            case.gone(f"static, {name}")
        ok(not os.path.exists(client.work + "/behind"), "what stands behind is not executed")


def test_static_and_away():
    with Client() as client:
        for name, n, text in AWAY:
            case = Case("{{ " + text + (" " if text.rstrip().endswith("&") else "; ") + "sleep 1000; }}")
            suffix, _ = static(client, case, "")
            has(suffix, killed(n + 2), f"static, {name}: who was killed")
            case.gone(f"static, {name}")


def test_static_and_finished():
    """The end of the command is the end of the run."""
    with Client() as client:
        for name, n, text in AWAY:
            case = Case("{{ " + text + (" " if text.rstrip().endswith("&") else "; ") + "echo x; }}")
            got = client.run(case.command, timeout=10, is_static=True)
            eq(got["extras"]["metadata"]["exit_code"], 0, f"finished, {name}: exit code")
            case.gone(f"finished, {name}")


def test_static_and_left():
    """The one who asked hangs up."""
    with Client() as client:
        case = Case("{{ setsid {s} & {s}; }}")
        conn = client.conn()
        conn.send(request("POST", "/execute_action", action(
            "run", 100.0, command=case.command, is_static=True)))
        ok(case.come(2), "a static run and a daemon")
        conn.close()
        ok(until(lambda: not marked(case.mark), 5 * SLOW), "end when nobody waits for them")
        case.gone("left")


def test_static_and_no_change():
    with Client(env={"NO_CHANGE_TIMEOUT_SECONDS": "1"}) as client:
        case = Case("{{ setsid {s} & {s}; }}")
        got = client.run(case.command, timeout=0, is_static=True)
        has(got["extras"]["metadata"]["suffix"], "no new output after 1 seconds", "no output")
        has(got["extras"]["metadata"]["suffix"], killed(3), "ends it as well")
        case.gone("no change")


def test_many():
    """500 that have escaped, and one that does not stay in any process."""
    text = ("import os, sys, time\n"
            "for i in range(500):\n"
            "    if os.fork() == 0:\n"
            "        os.setsid()\n"
            "        if os.fork() == 0:\n"
            "            time.sleep(1e6)\n"
            "        os._exit(0)\n"
            "    os.wait()\n"
            "    print(i, flush=True)\n"
            "open('ready', 'w').close()\n"
            "time.sleep(1e6)\n")
    with Client(env={"NO_CHANGE_TIMEOUT_SECONDS": "3"}) as client:
        with open(client.work + "/many", "w") as f:
            f.write(text)
        case = Case(f"exec {sys.executable} many {{m}}")
        conn = client.conn()
        conn.send(request("POST", "/execute_action", action(
            "run", 0, command=case.command, is_static=True)))
        ok(until(lambda: os.path.exists(client.work + "/ready"), 20 * SLOW), "500 have escaped")
        t = time.monotonic()
        got = conn.response(30 * SLOW).json()
        conn.close()
        has(got["extras"]["metadata"]["suffix"], killed(501), "all are killed and counted")
        print(f"#   {time.monotonic() - t:.2f} s after the last one had started")
        case.gone("500")


def test_hopper():
    # Should it escape us, it must not go on for ever.
    text = ("import os, time\n"
            "open('ready', 'w').close()\n"
            "end = time.monotonic() + 120\n"
            "while time.monotonic() < end:\n"
            "    if os.fork():\n"
            "        os._exit(0)\n"
            "    os.setsid()\n")
    with Client() as client:
        with open(client.work + "/hop", "w") as f:
            f.write(text)
        case = Case(f"{{{{ {sys.executable} hop {{m}} & sleep 1000; }}}}")
        suffix, seconds = static(client, case, "")
        has(suffix, "processes were killed.", "one that is never the same process")
        under(seconds, 4 * SLOW, "seconds")
        case.gone("never the same process")


def shut_down(role, signals, name):
    with Client(role=role) as client:
        cases = []
        for row, n, text in AWAY:
            case = Case(text)
            client.run(case.command)
            ok(case.come(n), f"{name}, {row}")
            cases.append((row, case))
        t = time.monotonic()
        for signo in signals:
            client.process.send_signal(signo)
        eq(wait_exit(client.process), 0, f"{name}: exit code")
        under(time.monotonic() - t, 1 * SLOW, f"{name}: seconds")
        for row, case in cases:
            case.gone(f"{name}, {row}")


def test_shut_down():
    shut_down("init", [signal.SIGTERM], "init, SIGTERM")
    shut_down("serve", [signal.SIGTERM], "serve, SIGTERM")
    shut_down("init", [signal.SIGINT], "init, SIGINT")


def test_shut_down_busy():
    for role in ("init", "serve"):
        with Client(role=role) as client:
            front, away = Case("trap '' INT TERM HUP; {s}"), Case("{{ setsid {s} & {s}; }}")
            conns = [client.conn(), client.conn()]
            for conn, case, is_static in zip(conns, (front, away), (False, True)):
                conn.send(request("POST", "/execute_action", action(
                    "run", 100.0, command=case.command, is_static=is_static)))
            ok(front.come(1) and away.come(2), f"{role}: a command and a static run")
            t = time.monotonic()
            client.process.send_signal(signal.SIGTERM)
            for conn, what in zip(conns, ("command", "static run")):
                got = conn.response().json()
                has(got["extras"]["metadata"]["suffix"], "[The sandbox is shutting down.]",
                    f"{role}: the {what} is answered")
                conn.close()
            eq(wait_exit(client.process), 0, f"{role}: exit code")
            under(time.monotonic() - t, 5 * SLOW, f"{role}: seconds")
            front.gone(f"{role}, busy, command")
            away.gone(f"{role}, busy, static run")


def test_shut_down_after_a_crash():
    """The shell is a child of init then, and what it started as well."""
    with Client(role="init") as client:
        case = Case("{{ setsid {s} & nohup {s} >/dev/null 2>&1 & }}")
        client.run(case.command)
        ok(case.come(2), "two daemons")
        serve = client.serve_pid()
        os.kill(serve, signal.SIGKILL)
        client.shared.close()
        client.shared = None
        ok(until(lambda: not alive(serve) and client.serve_pid()), "serve is back")
        eq(client.stop(), 0, "and is stopped")
        case.gone("after a crash")


def test_shut_down_while_serve_is_gone():
    with Client(role="init") as client:
        case = Case("{{ setsid {s} & nohup {s} >/dev/null 2>&1 & }}")
        client.run(case.command)
        ok(case.come(2), "two daemons")
        serve = client.serve_pid()
        os.kill(serve, signal.SIGSEGV)
        client.process.send_signal(signal.SIGTERM)
        eq(wait_exit(client.process), 0, "init ends while serve is not there")
        case.gone("without serve")


def test_init_killed():
    """Serve cannot outlive init, and takes its own with it."""
    with Client(role="init") as client:
        case = Case("setsid {s} &")
        client.run(case.command)
        ok(case.come(1), "a daemon")
        serve = client.serve_pid()
        os.kill(client.pid, signal.SIGKILL)
        ok(until(lambda: not alive(serve)), "serve ends when init is killed")
        case.gone("init is killed")


def test_other_processes_live():
    """Of the same user, next to ours: a tree ends where it ends."""
    with Client() as client, Client(role="init") as other:
        case, theirs = Case("setsid {s} &"), Case("setsid {s} &")
        client.run(case.command)
        other.run(theirs.command)
        ok(case.come(1) and theirs.come(1), "two sandboxes")
        static(client, Case("{s}"), "", 0.3)
        eq(len(marked(case.mark)), 1, "a static run leaves the session alone")
        eq(client.stop(), 0, "one sandbox ends")
        case.gone("one sandbox")
        eq(len(marked(theirs.mark)), 1, "the other goes on")
        ok("x" in other.run("echo x")["content"].splitlines(), "and works")


def zombies(pid):
    return [c for c in children(pid) if not alive(c)]


def test_no_zombies():
    """1,000 daemons that end soon: who got them has to bury them."""
    for shell in ("bash", "dash", "busybox", "mksh"):
        path = next((d + shell for d in ("/bin/", "/usr/bin/") if os.path.exists(d + shell)), None)
        if not path:
            skip(f"{shell}: no zombies", "no such shell here")
            continue
        with Client("--shell", path, role="init") as client:
            got = client.run("for i in 1 2 3 4 5 6 7 8 9 10; do sh -c 'i=0; while [ $i -lt 100 ]; do "
                             "(setsid sh -c : &); i=$((i+1)); done'; done; echo done", timeout=60)
            eq(got["content"].splitlines()[-1:], ["done"], f"{shell}: 1,000 daemons")
            pid = int(client.run("echo $$")["content"].split()[-1])
            ok(until(lambda: client.run("true") and not zombies(pid) and not zombies(client.pid)),
               f"{shell}: no zombies", zombies(pid), zombies(client.pid))


def test_hanging_directory():
    """A static run in a directory of a dead network disk holds up nobody but itself."""
    with Client() as client:
        os.mkdir(client.work + "/dead")
        path = (client.work + "/dead").encode()
        libc = ctypes.CDLL(None, use_errno=True)
        fd = os.open("/dev/fuse", os.O_RDWR) if os.access("/dev/fuse", os.W_OK) else -1
        if fd < 0 or libc.mount(b"none", path, b"fuse", 0,
                                b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fd):
            skip("a directory that hangs", "mounting is not allowed here")
            return
        conn = client.conn()
        conn.send(request("POST", "/execute_action", action(
            "run", 60.0, command="pwd", is_static=True, cwd=path.decode())))
        for _ in range(10):
            t = time.monotonic()
            eq((client.get("/alive").status, client.run("echo x")["content"]), (200, "x"), "others are served")
            under(time.monotonic() - t, 1 * SLOW, "seconds")
        got = conn.response(20 * SLOW).json()
        ok(got["observation"] == "error" and "entering a directory" in got["content"],
           "it does not run elsewhere", got)
        conn.close()
        libc.umount2(path, 2)
        os.close(fd)


if __name__ == "__main__":
    main()
