#!/usr/bin/env python3
"""Terminal sequences that change the whole screen do not hold up the server."""
import os
import shutil
import signal
import sys
import tempfile
import time

from harness import DEADLINE, SLOW, Client, action, eq, has, main, ok, request, until
from flood_texts import FLOODS, flood_text


class Floods:
    """A folder with a file for each flood of about size bytes."""

    def __init__(self, size=1 << 18):
        self.path = tempfile.mkdtemp(prefix="od-e2e-")
        for i, (_, before, unit) in enumerate(FLOODS):
            with open(self.file(i), "w", encoding="utf-8") as f:
                f.write(flood_text(before, unit, size))

    def file(self, i):
        return os.path.join(self.path, f"flood{i}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)


def code_of(o):
    return o["extras"]["metadata"]["exit_code"]


def suffix_of(o):
    return o["extras"]["metadata"]["suffix"]


def end_of(client, session):
    """The observation after C-c, polled until the flood is over."""
    deadline = time.monotonic() + DEADLINE * SLOW
    o = client.run("C-c", session=session, is_input=True)
    while code_of(o) == -1 and time.monotonic() < deadline:
        o = client.run("", 1.0, session=session)
    return o


def test_all_floods():
    with Floods() as floods, Client() as client:
        for i in range(len(FLOODS)):
            o = client.run(f"while :; do cat {floods.file(i)}; done", 0.2, session=f"f{i}")
            eq(code_of(o), -1, f"the flood of {FLOODS[i][0]} runs")
        answers = {client.ask(request("GET", "/alive")).status for _ in range(100)}
        eq(answers, {200}, "/alive answers while each flood is printed in a session")
        eq(client.run("echo still here").get("content"), "still here",
           "another session runs a command meanwhile")
        for i in range(len(FLOODS)):
            eq(code_of(end_of(client, f"f{i}")), 130, f"C-c ends the flood of {FLOODS[i][0]}")
            o = client.run("printf '\\033c'; echo next", session=f"f{i}")
            has(o["content"], "next", f"the shell of {FLOODS[i][0]} runs the next command")


def test_last_output():
    """A shell that ends right behind a flood: all of its output is still shown."""
    with Floods(1 << 14) as floods, Client() as client:
        for i, (name, _, _) in enumerate(FLOODS):
            o = client.run(f"cat {floods.file(i)}; printf '\\033c'; echo the end; exit 3",
                           30.0 * SLOW, session="last", blocking=True)
            eq(code_of(o), 3, f"{name}: the shell's exit code is the command's")
            has(o["content"], "the end", f"{name}: the last line is shown")
            has(suffix_of(o), "The shell has ended", f"{name}: the end of the shell is reported")


def flood_and_exit(client, conn, floods):
    """Sends a command whose shell prints a flood and ends; returns when the shell has been reaped."""
    pid_file = os.path.join(client.work, "pid")
    command = f"echo $$ >{pid_file}.new; mv {pid_file}.new {pid_file}; cat {floods.file(0)}; exit 3"
    conn.send(request("POST", "/execute_action", action("run", 30.0 * SLOW, command=command, session="last")))
    ok(until(lambda: os.path.exists(pid_file)), "the command runs")
    with open(pid_file, encoding="ascii") as f:
        pid = f.read().strip()
    ok(until(lambda: not os.path.exists(f"/proc/{pid}"), DEADLINE * SLOW), "the shell has ended")


def test_crash_within_last_output():
    """The server is killed while the last output of a shell, which it has reaped, is still being read."""
    with Floods() as floods, Client(role="init") as client:
        serve = client.serve_pid()
        with client.conn() as conn:
            flood_and_exit(client, conn, floods)
            os.kill(serve, signal.SIGKILL)
        o = client.run("", 30.0 * SLOW, session="last")
        eq(code_of(o), 3, "the next server reports the exit code")
        has(suffix_of(o), "The shell has ended", "and the end of the shell")
        eq(client.run("echo next", session="last")["content"], "next", "the session gets a new shell")


def test_end_within_last_output():
    """A session is deleted while the last output of its shell, which has ended, is still being read."""
    with Floods() as floods, Client() as client, client.conn() as conn:
        flood_and_exit(client, conn, floods)
        eq(client.ask(request("DELETE", "/v1/sessions/last")).status, 200, "its session is deleted")
        eq(code_of(conn.response(DEADLINE * SLOW).json()), 3, "the command is answered with its exit code")
        eq([s["name"] for s in client.get("/v1/sessions").json()["sessions"]], ["default"],
           "the session is not listed any more")


def test_noise():
    """A background job that floods: commands of its session end, and /alive answers."""
    with Floods() as floods, Client() as client:
        o = client.run(f"(while :; do cat {floods.file(0)}; done) & echo $!")
        eq(code_of(o), 0, "the command ends before its background job")
        for i in range(3):
            eq(code_of(client.run(f"(exit {i})")), i, f"command {i} ends with its exit code")
            eq(client.ask(request("GET", "/alive")).status, 200, "/alive answers behind it")
        eq(code_of(client.run("kill %1; wait", 30.0 * SLOW)), 0, "the background job ends")


if __name__ == "__main__":
    sys.exit(main())
