#!/usr/bin/env python3
"""--entrypoint: the image's own program beside the server, or to its end before it."""
import json
import os
import select
import shutil
import signal
import tempfile

from harness import (DEADLINE, Client, alive, eq, has, listening, main, ok, run_client, until,
                     wait_exit)


def run(how, *words, role="init", **more):
    return Client("--entrypoint", how, "--", *words, role=role, **more)


def info(client):
    return client.get("/server_info").json().get("entrypoint")


def ended(client):
    """What is known of it once it has ended."""
    return until(lambda: info(client)["state"] != "running" and info(client))


def output(client, lines):
    """So many lines of what it has printed, or those that came in time."""
    out = client.process.stdout
    while client.stdout.count(b"\n") < lines and select.select([out], [], [], DEADLINE)[0]:
        piece = os.read(out.fileno(), 4096)
        if not piece:
            break
        client.stdout += piece
    return client.stdout.decode().splitlines()


def murder(client):
    pid = client.serve_pid()
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), step=0.001)
    client.shared = None
    until(lambda: listening(client.port))


def start_process(client, *argv, **spec):
    answer = client.post("/v1/processes", json.dumps({"argv": argv, **spec}).encode())
    eq(answer.status, 201, f"{argv} starts")
    return answer.json()


def test_process_output_in_log():
    with Client() as client:
        process = start_process(client, "sh", "-c", "readlink /proc/self/fd/0; echo to-stdout; echo to-stderr >&2",
                                output="log", tag="logged")
        eq(output(client, 3)[1:], ["/dev/null", "to-stdout"], "stdout of the process is that of the server")
        ok(until(lambda: "to-stderr" in client.log()), "stderr of the process is that of the server")
        eq([process["outputs"][name]["open"] for name in ("stdout", "stderr")], [False, False],
           "the process has no outputs of its own")
        got = until(lambda: (lambda p: p["state"] == "exited" and p)(client.get(f"/v1/processes/{process['id']}").json()))
        eq((got["exit_code"], got["outputs"]["stdout"]["end"]), (0, 0), "its exit code is kept")


def test_process_stops_sandbox():
    for role in ("serve", "init"):
        for script, code in (("exit 7", 7), ("exit 0", 0), ("kill -9 $$", 137)):
            with Client(role=role) as client:
                other = start_process(client, "sleep", "1000")["pid"]
                start_process(client, "sh", "-c", script, on_exit="stop")
                eq(wait_exit(client.process), code, f"{role}: the sandbox stops with the exit code of '{script}'")
                ok(not alive(other), f"{role}: other processes end with the sandbox")
    with Client(role="init") as client:
        pid = start_process(client, "sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done",
                            on_exit="stop", output="log")["pid"]
        eq(output(client, 2)[1:], ["ready"], "a process that outlives a crash of the server")
        murder(client)
        os.kill(pid, signal.SIGTERM)
        eq(wait_exit(client.process), 5, "it stops the sandbox after a crash of the server, too")


def test_run():
    for role in ("serve", "init"):
        with run("run", "sh", "-c", "pwd; id -u; echo ${SESSION_API_KEY-none}; "
                 "readlink /proc/self/fd/0; ls -l /proc/self/fd | grep -c ' -> '; "
                 "echo to-stderr >&2; exec sleep 1000", role=role,
                 env={"SESSION_API_KEY": "k"}) as client:
            until(lambda: "to-stderr" in client.log())
            said = info(client)
            eq(said["state"], "running", f"{role}: it runs")
            eq(output(client, 6), ["Runtime client initialized.", client.work,
                                   str(os.getuid()), "none", "/dev/null", "4"], f"{role}: once the server is ready, as any program")
            pid = said["pid"]
            client.process.terminate()
            eq(wait_exit(client.process), 0, f"{role}: SIGTERM ends the sandbox")
            ok(not alive(pid), f"{role}: and the program")
    with Client() as client:
        eq(info(client), None, "nothing is said where none is wanted")


def test_ends():
    """Its end is told, and ends nothing else."""
    for words, want, log in (
            (["true"], {"state": "ended", "exit_code": 0}, "the entrypoint has ended\n"),
            (["sh", "-c", "exit 7"], {"state": "ended", "exit_code": 7}, "with exit code 7"),
            (["sh", "-c", "kill -9 $$"], {"state": "ended", "signal": 9}, "by signal 9"),
            (["no-such-program"], {"state": "failed", "why": "No such file or directory"},
             "cannot be started: no-such-program: No such"),
            (["/no/such"], {"state": "failed", "why": "No such file or directory"},
             "cannot be started: executing the program: No such"),
            ([""], {"state": "failed", "why": "No such file or directory"}, "cannot be started"),
            (["/etc"], {"state": "failed", "why": "Permission denied"}, "cannot be started")):
        with run("run", *words) as client:
            eq(ended(client), want, f"{words}: what /server_info says")
            has(client.log(), log, f"{words}: and the log")
            eq(client.run("echo on")["content"], "on", f"{words}: the sandbox goes on")


def test_wait():
    top = tempfile.mkdtemp(prefix="od-entry-")
    gate, done = os.path.join(top, "gate"), os.path.join(top, "done")
    os.mkfifo(gate)
    client = run("wait", "sh", "-c", f"read x <{gate}; echo $x >{done}; exit 3", ready=False)
    try:
        until(lambda: "is process" in client.log())
        ok(not listening(client.port), "nobody listens while it runs")
        # Also for reading: to open it waits for nobody then.
        fd = os.open(gate, os.O_RDWR)
        os.write(fd, b"go\n")
        ok(client.wait_ready(), "its end is the start of the server, whatever its exit code")
        eq(info(client), {"state": "ended", "exit_code": 3}, "which is told")
        eq(client.run(f"cat {done}")["content"], "go", "what it did is there")
        os.close(fd)
    finally:
        client.kill()
        shutil.rmtree(top)


def test_wait_stopped():
    """A sandbox that is stopped while it waits."""
    with run("wait", "sleep", "1000", ready=False) as client:
        until(lambda: "is process" in client.log())
        pid = int(client.log().split("is process ")[1].split()[0])
        client.process.terminate()
        eq(wait_exit(client.process), 0, "ends")
        ok(not alive(pid), "and so does the program")
    with run("wait", "sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.01; done",
             role="serve", ready=False) as client:
        until(lambda: "is process" in client.log())
        client.process.terminate()
        eq(wait_exit(client.process), 0, "one that ends itself then starts no server")
        ok(b"initialized" not in client.stdout, "no server", client.stdout)


def test_crash():
    """kill -9 of the server: the program is neither lost nor started again."""
    with tempfile.NamedTemporaryFile() as count:
        with run("run", "sh", "-c", f"echo x >>{count.name}; sleep 1000 & wait") as client:
            until(lambda: os.path.getsize(count.name))
            pid = info(client)["pid"]
            murder(client)
            eq(info(client), {"state": "running", "pid": pid}, "it runs on")
            os.kill(pid, signal.SIGTERM)
            eq(ended(client), {"state": "ended", "signal": 15}, "init tells of its end")
            murder(client)
            eq(info(client), {"state": "ended", "signal": 15}, "which is remembered")
            eq(os.path.getsize(count.name), 2, "it was started once")
        with run("run", "sh", "-c", "exit 5") as client:
            ended(client)
            murder(client)
            eq(info(client), {"state": "ended", "exit_code": 5}, "also where we have seen it")
    with run("wait", "sleep", "1000", ready=False) as client:
        until(lambda: "is process" in client.log())
        pid = int(client.log().split("is process ")[1].split()[0])
        os.kill(client.serve_pid(), signal.SIGKILL)
        until(lambda: "starting it again" in client.log() and client.serve_pid())
        ok(alive(pid) and not listening(client.port), "while it waits: the next one waits, too")
        os.kill(pid, signal.SIGKILL)
        ok(client.wait_ready(), "and starts when it has ended")
        eq(info(client), {"state": "ended", "signal": 9}, "as it has ended")


def test_wrong_arguments():
    for argv, words in (
            (["--entrypoint", "run"], "give it after --"),
            (["--entrypoint", "wait", "--"], "give it after --"),
            (["--", "true"], "without --entrypoint"),
            (["--entrypoint", "x", "--", "y"], "none, run or wait"),
            (["--entrypoint", "none", "--", "y"], "without --entrypoint")):
        code, _, err = run_client("serve", "8000", *argv)
        ok(code == 100 and words in err, f"{argv}", code, err)


if __name__ == "__main__":
    main()
