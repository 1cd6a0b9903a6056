#!/usr/bin/env python3
"""The end, and what is left behind: no process, no file. And how little it takes."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

from harness import (CLIENT, ME, SHIPS, SLOW, WRAP, Client, Gate, action, alive, cold, descendants, eq,
                     free_port, main, marked, note, ok, pss_kib, request, skip, under, until, wait_exit)
from test_actions import get, put


def leave(client, signo, most, name):
    """Ends it by a signal and looks for survivors."""
    family = descendants(client.pid)
    t = time.monotonic()
    code = client.stop(signo)
    under(time.monotonic() - t, most * SLOW, f"{name}: seconds to the end")
    eq(code, 0, f"{name}: exit code")
    ok(until(lambda: not any(alive(p) for p in family), 1), f"{name}: nothing runs on",
       [p for p in family if alive(p)])


def test_idle():
    for role in ("init", "serve"):
        for signo in (signal.SIGTERM, signal.SIGINT):
            with Client(role=role) as client:
                client.run("echo x")
                leave(client, signo, 1, f"{role}, idle, signal {signo}")


def test_while_a_command_runs():
    for role in ("init", "serve"):
        with Client(role=role) as client:
            waiting = client.conn()
            waiting.send(request("POST", "/execute_action", action(
                "run", 60.0, command="touch on; echo partly; sleep 1000")))
            until(lambda: os.path.exists(client.work + "/on"))
            family = descendants(client.pid)
            t = time.monotonic()
            client.process.send_signal(signal.SIGTERM)
            got = waiting.response().json()
            eq((got["observation"], got["content"]), ("run", "partly"),
               f"{role}: the one who waits is answered with what there is")
            code = wait_exit(client.process)
            under(time.monotonic() - t, 5 * SLOW, f"{role}: seconds to the end")
            eq(code, 0, f"{role}: exit code")
            ok(until(lambda: not any(alive(p) for p in family), 1), f"{role}: nothing runs on",
               [p for p in family if alive(p)])
            waiting.close()


def test_requests_in_flight():
    """The listener closes at once; a running request is still answered."""
    with Client(role="init") as client:
        gate = Gate(client)
        waiting = client.conn()
        waiting.send(request("POST", "/execute_action",
                             action("run", 60.0, command=f"touch on; read x <{gate}; echo whole")))
        until(lambda: os.path.exists(client.work + "/on"))
        client.process.send_signal(signal.SIGTERM)

        def closed():
            try:
                client.conn().close()
            except OSError:
                return True
            return False
        ok(until(closed, 1 * SLOW), "no new connection is taken")
        gate.go()
        eq(waiting.response().json()["content"], "whole", "the running request gets its answer")
        eq(wait_exit(client.process), 0, "then it ends")
        waiting.close()


def test_actions_with_an_id():
    """Nobody waits for them: they are answered with what there is, which a new start knows."""
    for signals in (1, 2):
        with tempfile.TemporaryDirectory() as top:
            with Client("--state-dir", top + "/state") as client:
                put(client, "a", "touch on; echo partly; sleep 1000", timeout=0)
                put(client, "b", "echo never")
                put(client, "c", "touch on.c; sleep 1001", timeout=0, is_static=True)
                ok(until(lambda: all(os.path.exists(f"{client.work}/{f}") for f in ("on", "on.c"))), "they run")
                for _ in range(1, signals):
                    client.process.send_signal(signal.SIGTERM)
                leave(client, signal.SIGTERM, 1, f"actions with an id, signals: {signals}")
                ok("Assertion" not in client.log(), "in order", client.log())
            with Client("--state-dir", top + "/state") as client:
                for name, words in (("a", "partly"), ("a", "shutting down"), ("b", "was not run"),
                                    ("c", "shutting down")):
                    got = get(client, name, "?wait=9").json()
                    ok(got["state"] == "done" and words in str(got), f"{name}: {words}", got)


def test_while_it_is_restored():
    """After a crash all of the output is shown again before it is told for the last time."""
    with tempfile.TemporaryDirectory() as top:
        with Client("--state-dir", top + "/state", role="init") as client:
            put(client, "a", "seq 2000000 | head -c 13000000; touch on; sleep 1000", timeout=0, session="a")
            ok(until(lambda: os.path.exists(client.work + "/on"), 60 * SLOW), "much is printed")
            first = client.serve_pid()
            os.kill(first, signal.SIGKILL)
            ok(until(lambda: client.serve_pid() not in (None, first), step=0.001), "it is started again")
            leave(client, signal.SIGTERM, 2, "amid a terminal that is shown again")
        with Client("--state-dir", top + "/state") as client:
            content = get(client, "a", "?wait=9").json()["observation"]["content"]
            ok(content.endswith("\n1763887\n1763888"), "the last of the output", content[-80:])


def test_signals_until_the_end():
    codes = []
    for _ in range(10):
        with Client(role="serve") as client:
            while client.process.poll() is None:
                client.process.send_signal(signal.SIGTERM)
            codes.append(client.process.returncode)
    eq(codes, [0] * 10, "who is told to stop until it has ends as who is told once")


def test_second_signal():
    with Client(role="serve") as client:
        client.run("trap '' HUP INT TERM; sleep 1000", timeout=0.3)
        waiting = client.conn()
        waiting.send(request("POST", "/execute_action", action("run", 60.0, command="")))
        client.get("/alive")
        t = time.monotonic()
        client.process.send_signal(signal.SIGTERM)
        until(lambda: "stopping" in client.log())
        client.process.send_signal(signal.SIGTERM)
        eq(wait_exit(client.process), 0, "a second signal does not wait for anybody")
        under(time.monotonic() - t, 2 * SLOW, "seconds")
        waiting.close()


def test_stubborn_children():
    """Background jobs, and programs that do not want to hear."""
    mark = f"OD_TEST_{os.getpid()}"
    with Client(role="init", env={mark: "1"}) as client:
        client.run("sleep 1000 & nohup sleep 1001 >/dev/null 2>&1 &")
        client.run("sh -c 'trap \"\" HUP TERM INT; while :; do read -t 1 x; sleep 1; done' &")
        client.run("(trap '' HUP; sleep 1002) & disown")
        leave(client, signal.SIGTERM, 5, "stubborn children")
        left = until(lambda: not marked(mark), 2) or marked(mark)
        ok(left is True, "no process with our environment is left", left)
        for pid in left if left is not True else ():
            os.kill(pid, signal.SIGKILL)


def test_no_files_left():
    """In a mount namespace of its own, /tmp and /dev/shm are empty before and after."""
    if os.geteuid() != 0:
        skip("no files are left", "mounting needs root")
        return
    script = ("mount -t tmpfs none /tmp 2>/dev/null && mount -t tmpfs none /dev/shm 2>/dev/null "
              "&& mount -t tmpfs none /var/tmp && echo ready && exec cat")
    holder = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if holder.stdout.readline() != b"ready\n":
        holder.stdin.close()
        holder.wait()
        skip("no files are left", "mounting is not allowed here")
        return
    root = f"/proc/{holder.pid}/root"
    try:
        port = free_port()
        # a copy, because the program may lie below the /tmp that is hidden now
        copy = "/var/tmp/od-runtime-client"
        shutil.copy(CLIENT, root + copy)
        argv = [*WRAP, copy, "init", str(port), "--address", "127.0.0.1", "--working-dir", "/tmp/work",
                "--username", ME]
        client = Client(prefix=["nsenter", "-t", str(holder.pid), "-m"], argv=argv, user=False,
                        env={"HOME": "/root"})
        client.port = port
        with client:
            client.run("echo x >kept")
            client.act("write", path="f", content="x")
            client.run("sleep 1000", timeout=0.2)
            # a name like that belongs to a command that still runs, or to nobody
            os.kill(client.serve_pid(), signal.SIGKILL)
            if client.shared:
                client.shared.close()
                client.shared = None
            until(lambda: _alive(client))
            client.run("C-c", is_input=True)
            eq(client.stop(), 0, "it ends")
        seen = sorted(os.path.join(d, f) for d in ("/tmp", "/dev/shm", "/var/tmp")
                      for f in os.listdir(root + d))
        eq(seen, ["/tmp/work", copy], "nothing of ours is left in /tmp, /dev/shm and /var/tmp")
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()


def _alive(client):
    try:
        return client.get("/alive").status == 200
    except Exception:
        return False


def test_memory():
    """Idle, right after the start and after some work."""
    if not SHIPS:
        skip("idle memory", "only the release program's is of interest")
        return
    with Client(role="init", prefix=cold()) as client:
        init, serve = client.pid, client.serve_pid()
        under(pss_kib(init) + pss_kib(serve), 1024, "KiB of init and serve together at the start")
        for i in range(200):
            client.run(f"echo {i}")
        client.act("write", path="f", content="x" * 1000000)
        client.act("read", path="f")
        client.run("seq 10000", timeout=30)
        client.run("true")
        under(pss_kib(init) + pss_kib(serve), 3072, "KiB after some work with large answers")
        note(f"init {pss_kib(init)}, serve {pss_kib(serve)}")


if __name__ == "__main__":
    main()
