#!/usr/bin/env python3
"""kill -9 of the server: init starts it again, and nobody's work is lost."""
import os
import signal
import time

from harness import (SLOW, Client, Closed, Gate, action, alive, descendants, eq, main, ok, proc, request,
                     under, until, wait_exit)


def forget(client):
    """The connection that was kept for requests is of no use any more."""
    if client.shared:
        client.shared.close()
        client.shared = None


def murder(client, signo=signal.SIGKILL):
    pid = client.serve_pid()
    os.kill(pid, signo)
    until(lambda: not alive(pid), step=0.001)
    forget(client)


def answers(client):
    """Whether /alive is answered on a new connection."""
    try:
        with client.conn() as c:
            return c.send(request("GET", "/alive")).response().status == 200
    except (Closed, OSError):
        return False


def settle(client):
    """Takes what a killed server cannot know to have been received: it is said again."""
    client.run("", timeout=10)


def state_of(pid):
    """The letter of /proc/PID/stat; None when it has ended."""
    text = proc(pid, "stat")
    return text.rpartition(b")")[2].split()[0].decode() if text else None


def back(client, name="the server is back"):
    return ok(until(lambda: answers(client), step=0.001), name, client.log())


def test_amid_an_end():
    """The shell of a session that is being ended is stopped, and must not stay so."""
    with Client(role="init") as client:
        shell = client.shell_pid()
        client.run("trap '' INT TERM HUP; touch on; while :; do sleep 1; done", timeout=0.1)
        ok(until(lambda: os.path.exists(client.work + "/on")), "it runs")
        with client.conn() as c:
            c.send(request("DELETE", "/v1/sessions/default"))
            ok(until(lambda: state_of(shell) == "T", step=0.001), "the shell is stopped")
            murder(client)
        back(client)
        ok(until(lambda: state_of(shell) != "T"), "until there is a server again")


def test_idle():
    with Client(role="init") as client:
        client.run("cd /etc; A=kept; export B=too; f() { echo fun; }; set -o pipefail")
        shell = client.shell_pid()
        first = client.serve_pid()
        t = time.monotonic()
        os.kill(first, signal.SIGKILL)
        forget(client)
        back(client)
        under((time.monotonic() - t) * 1000, 100 * SLOW, "ms until a new connection is answered")
        ok(client.serve_pid() != first, "it is a new process")
        settle(client)
        eq(client.run("echo $$ $A $B; f; pwd; set -o | grep pipefail | cut -f2")["content"],
           f"{shell} kept too\nfun\n/etc\non", "the same shell, with all that it knew")
        eq(client.act("read", path="hostname")["observation"], "read", "relative paths hold")
        for _ in range(10):
            murder(client)
            until(lambda: answers(client), step=0.001)
        settle(client)
        eq(client.run("echo $$")["content"], str(shell), "still the same shell after ten more")


def test_connections_wait():
    """Between two servers a client waits; it is not refused."""
    with Client(role="init") as client:
        refused = 0
        for _ in range(10):
            os.kill(client.serve_pid(), signal.SIGKILL)
            for _ in range(20):
                try:
                    client.conn().close()
                except ConnectionRefusedError:
                    refused += 1
        eq(refused, 0, "no connection is refused while it restarts")
        back(client)


def test_in_the_middle():
    """A numbered sequence while the server is killed again and again."""
    step, steps = 500, 18
    with Client(role="init") as client:
        client.run("cd /; A=kept")
        shell = client.shell_pid()
        gate, mark = Gate(client, steps), client.top + "/mark"
        command = (f"for i in $(seq 0 {step * steps - 1}); do "
                   f"if [ $((i % {step})) = 0 ]; then echo $i >{mark}; "
                   f"read x <{gate.path}.$((i / {step})); fi; "
                   "echo \"$i is a number of a long sequence\"; done; (exit 42)")
        waiting = client.conn()
        waiting.send(request("POST", "/execute_action",
                             action("run", 60.0, command=command, hidden=True)))

        def reached(i):
            try:
                with open(mark) as f:
                    return f.read() == f"{i}\n"
            except FileNotFoundError:
                return False

        for i in range(steps):
            if not until(lambda: reached(i * step), step=0.001):
                ok(False, f"the command goes on at {i * step}", client.log())
                return
            if i % 3 == 0:
                murder(client)    # before the output: nobody reads it
                gate.go()
            elif i % 3 == 1:
                gate.go()
                murder(client)    # in the middle of it
            else:
                gate.go()
                until(lambda: answers(client), step=0.001)
                murder(client)    # a little later
        waiting.close()
        back(client, f"the server is back after {steps} kills")
        got = client.run("", timeout=30, hidden=True)
        lines = got["content"].splitlines()
        want = [f"{i} is a number of a long sequence" for i in range(step * steps)]
        ok(lines == want, f"all {len(want)} lines, each once, in order",
           f"got {len(lines)}", *[f"line {n}: {a!r} for {b!r}" for n, (a, b) in
                                  enumerate(zip(lines, want)) if a != b][:3], got["extras"])
        eq(got["extras"]["metadata"]["exit_code"], 42, "and the exit code")
        eq(client.run("echo $$ $A; pwd")["content"], f"{shell} kept\n/", "the same shell")


def test_bytes_of_all_kinds():
    """Escape sequences and multi-byte letters, cut anywhere by a kill, stay whole."""
    with Client(role="init") as client:
        gate = Gate(client, 8)
        line = "é⛄𝄞 \\033[31mred\\033[0m"
        command = (f"for i in 0 1 2 3 4 5 6 7; do read x <{gate.path}.$i; for j in $(seq 100); do "
                   f"printf '%s {line}\\n' $i.$j; done; done")
        client.run(command, timeout=0.2, hidden=True)
        for _ in range(8):
            gate.go()
            murder(client)
        until(lambda: answers(client))
        answer = client.run("", timeout=30, hidden=True)
        got = answer["content"].splitlines()
        want = [f"{i}.{j} é⛄𝄞 red" for i in range(8) for j in range(1, 101)]
        ok(got == want, "800 lines with colours and wide letters",
           *[f"line {n}: {a!r} for {b!r}" for n, (a, b) in enumerate(zip(got, want)) if a != b][:3],
           f"got {len(got)}", answer["extras"], client.log())


def test_finished_meanwhile():
    """A command that ends while nobody is there has its result waiting."""
    with Client(role="init") as client:
        gate = Gate(client)
        client.run(f"read x <{gate}; echo done by itself; touch {client.top}/over; (exit 7)",
                   timeout=0.2)
        # stopped, so that the command surely ends in the absence of a server
        pid = client.serve_pid()
        os.kill(pid, signal.SIGSTOP)
        gate.go()
        ok(until(lambda: os.path.exists(client.top + "/over")), "it ends while nobody listens")
        murder(client)
        back(client)
        got = client.run("", timeout=30)
        eq((got["content"], got["extras"]["metadata"]["exit_code"]), ("done by itself", 7),
           "its output and exit code are there")


def test_shell_dies_meanwhile():
    with Client(role="init") as client:
        shell = client.shell_pid()
        client.run("cd /etc; sleep 1000", timeout=0.3)
        pid = client.serve_pid()
        os.kill(pid, signal.SIGSTOP)
        os.kill(shell, signal.SIGKILL)
        until(lambda: not alive(shell))
        murder(client)
        back(client)
        got = client.run("", timeout=10)
        ok(got["extras"]["metadata"]["exit_code"] == 137, "the end of the shell is told", got)
        got = client.run("echo new; pwd")
        eq(got["content"].splitlines()[0], "new", "the next command has a new shell")


def test_crashes():
    """A crash is no kill: five within a minute end it all."""
    with Client(role="init") as client:
        for i in range(4):
            murder(client, signal.SIGSEGV)
            if not back(client, f"back after crash {i + 1}"):
                return
        os.kill(client.serve_pid(), signal.SIGSEGV)
        eq(wait_exit(client.process), 111, "the fifth crash ends it with 111")


def test_init_dies():
    """Without process 1 in its hand nobody would restart the server: it ends as well."""
    with Client(role="init") as client:
        client.run("sleep 1000 &")
        client.run("sleep 2000", timeout=0.2)
        family = descendants(client.pid)
        ok(len(family) >= 3, "a server, a shell and two sleepers", family)
        os.kill(client.pid, signal.SIGKILL)
        client.process.wait()
        ok(until(lambda: not any(alive(p) for p in family)), "all of them end with init",
           [p for p in family if alive(p)])
        for pid in family:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
