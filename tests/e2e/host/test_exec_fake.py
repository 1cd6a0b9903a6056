#!/usr/bin/env python3
"""od-runtime exec against a sandbox that is made up: what it sends, and every bad answer."""
import json
import os
import subprocess

import harness
from fake_engine import Engine, response
from fake_process import Ran, control, frame, state
from harness import eq, has, ok, under
from program import X86_64, write_program

TEMP = harness.scratch("od-exec-")
CLIENT = os.path.join(TEMP, "client")
COUNT = 0


def environment(e, **more):
    env = {"PATH": "/bin:/usr/bin", "OD_STATE_DIR": os.path.join(TEMP, "state"),
           "OD_RUNTIME_CLIENT": CLIENT, "DOCKER_HOST": "unix://" + e.path}
    env.update(more)
    env.update({n: os.environ[n] for n in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if n in os.environ})
    return env


def od(e, *argv, stdin=b"", **more):
    return subprocess.run([*harness.WRAP, harness.RUNTIME, *argv], input=stdin, capture_output=True,
                          env=environment(e, **more), timeout=harness.DEADLINE * 3)


class Box(Engine):
    """A fake engine with the sandbox box."""

    def __init__(self, **options):
        global COUNT
        COUNT += 1
        super().__init__(os.path.join(TEMP, f"s{COUNT}"), **options)
        od(self, "run", "--via", "build", "base:1", "--name", "box")
        self.sandbox_log.clear()
        self.log.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process = lambda request: Ran()
        od(self, "rm", "-f", "box")

    def exec(self, ran, *argv, stdin=b"", **more):
        self.process = lambda request: ran
        return od(self, "exec", *argv, stdin=stdin, **more)


def test_requests():
    with Box() as box:
        got = box.exec(Ran(b"out", b"err"), "box", "ls", "-l", "a  b")
        eq((got.returncode, got.stdout, got.stderr), (0, b"out", b"err"), "stdout and stderr are apart")
        eq([r.target for r in box.log], ["/containers/box/json"], "exec asks the engine once")
        start, attach = box.sandbox_log
        eq(start.json(), {"argv": ["ls", "-l", "a  b"], "stdin": False, "when_full": "wait",
                          "on_disconnect": "kill"}, "the request of exec")
        eq((attach.path, attach.query, attach.fields["upgrade"]),
           ("/v1/processes/p1/attach", {"stdout": "0", "stderr": "0"}, "od.process.v1"),
           "the request to attach")
        box.exec(Ran(reads=True), "-i", "-u", "me", "-w", "/work", "-e", "A=1", "-e", "A=2", "-e", "HERE",
                 "--timeout", "9", "box", "--", "x", HERE="there")
        eq(box.sandbox_log[-2].json(), {
            "argv": ["x"], "env": {"A": "2", "HERE": "there"}, "cwd": "/work", "user": "me", "stdin": True,
            "timeout": 9, "when_full": "wait", "on_disconnect": "kill"}, "the options of exec")
        got = box.exec(Ran(), "-dit", "box", "x")
        eq((got.returncode, got.stdout, got.stderr), (0, b"", b""), "exec -d prints nothing")
        sent = box.sandbox_log[-1].json()
        eq((sent["stdin"], sent["pty"], sent["on_disconnect"], sent["when_full"]),
           (False, {"rows": 24, "columns": 80}, "continue", "discard"), "the request of exec -dit")
        got = box.exec(Ran(), "-t", "box", "x")
        eq(box.sandbox_log[-1].query, {"pty": "0", "stderr": "0"}, "a terminal is attached as pty")


def test_bytes():
    data = os.urandom(3 << 20)
    with Box() as box:
        got = box.exec(Ran(data, data[:1000]), "box", "x")
        ok(got.stdout == data and got.stderr == data[:1000], "random bytes arrive as they are")
        ran = Ran(reads=True)
        got = box.exec(ran, "-i", "box", "x", stdin=data)
        ok(ran.stdin == data, "random bytes are passed on as they are", len(ran.stdin))
        eq(ran.controls, [{"type": "end"}], "the end of stdin follows them")
        ran = Ran(reads=True)
        box.exec(ran, "-i", "box", "x")
        eq((ran.stdin, ran.controls), (b"", [{"type": "end"}]), "an empty stdin ends at once")
        pieces = [(1 + i % 2, b"%d," % i) for i in range(2000)]
        got = box.exec(Ran(sends=pieces), "box", "x")
        eq((got.stdout, got.stderr), tuple(b"".join(p for t, p in pieces if t == n) for n in (1, 2)),
           "2,000 small frames")
        path = os.path.join(TEMP, "out")
        with open(path, "wb") as out:
            box.process = lambda request: Ran(data)
            subprocess.run([harness.RUNTIME, "exec", "box", "x"], stdout=out, env=environment(box),
                           timeout=harness.DEADLINE)
        with open(path, "rb") as out:
            ok(out.read() == data, "output to a file")


def test_codes():
    with Box() as box:
        for code in (0, 1, 100, 111, 124, 255):
            got = box.exec(Ran(code=code), "box", "x")
            eq((got.returncode, got.stdout, got.stderr), (code, b"", b""), f"exit code {code}")
        for code in (256, -256, 2**40):
            eq(box.exec(Ran(code=code), "box", "x").returncode, 255, f"exit code {code} is no success")
        for signal, code in (("SIGKILL", 137), ("SIGTERM", 143), ("SIG40", 168)):
            eq(box.exec(Ran(signal=signal), "box", "x").returncode, code, f"ended by {signal}")
        got = box.exec(Ran(signal="SIGKILL", timed_out=True), "--timeout", "0m3s", "box", "x")
        eq(got.returncode, 124, "the exit code when --timeout ended")
        has(got.stderr, b"within --timeout 0m3s and", "the error repeats --timeout as the user wrote it")
        got = box.exec(Ran(b"a\xff", b"b", 3), "--json", "box", "x")
        eq(got.returncode, 3, "--json keeps the exit code")
        eq(json.loads(got.stdout), {"exit_code": 3, "timed_out": False, "stdout_base64": "Yf8=", "stderr": "b"},
           "--json prints one object")


def refused(reason):
    return response(422, {"detail": "a \x1b[1msentence", "reason": reason})


def test_not_started():
    with Box() as box:
        for reason, argv, code, words in (
                ("not_found", ["lss"], 127, "no program named 'lss' in the sandbox"),
                ("not_found", ["ls -l | wc"], 127, "exec SANDBOX sh -c 'ls -l | wc'"),
                ("not_executable", ["/etc/passwd"], 126, "'/etc/passwd' cannot be executed: a \\x1b[1msentence"),
                ("no_directory", ["x"], 111, "was not started: a \\x1b[1msentence"),
                ("no_user", ["x"], 111, "was not started"), ("what", ["x"], 111, "was not started")):
            got = box.exec(refused(reason), "box", *argv)
            eq((got.returncode, got.stdout), (code, b""), f"the exit code for {reason}")
            has(got.stderr.decode(), words, f"the error for {reason}")
            ok(b"  next: " in got.stderr, f"{reason}: the error has a next step", got.stderr)
        for answer, words in (
                (response(404, {"detail": "not found"}), "od-runtime update"),
                (response(403, {"detail": "Invalid API Key"}), "does not accept the key that od-runtime stored"),
                (response(500, {"detail": "it broke"}), "status 500: it broke"),
                (response(201, b"[]"), "cannot be read"), (response(201, {"id": "../x"}), "cannot be read"),
                (b"", "did not answer"), (b"garbage\r\n\r\n", "did not answer")):
            got = box.exec(answer, "box", "x")
            eq((got.returncode, got.stdout), (111, b""), f"the exit code for {answer[:30]}")
            has(got.stderr.decode(), words, f"the error for {answer[:30]}")


def test_bad_frames():
    with Box() as box:
        for raw, words in (
                (b"\x07" + bytes(7), "cannot be read"), (frame(0, b"x"), "cannot be read"),
                (b"\x01\x01" + bytes(6), "cannot be read"), (b"\x01\0\0\0\xff\xff\xff\xff", "cannot be read"),
                (frame(4, b"{"), "cannot be read"), (frame(4, b"[]" * 600000), "cannot be read"),
                (control(type="attached", window=1), "cannot be read"),
                (control(type="gap", output="stdout", **{"from": 0, "to": 9}), "output of the command is lost"),
                (control(type="error", detail="you \x1b broke it"), "ended the connection: you \\x1b broke it")):
            got = box.exec(Ran(b"part", raw=raw), "box", "x")
            eq((got.returncode, got.stdout), (111, b"part"), f"the exit code for the frame {raw[:40]}")
            has(got.stderr.decode(), words, f"the error for the frame {raw[:40]}")
        got = box.exec(Ran(raw=control(type="news") + control(type="exited", exit_code=5)), "box", "x")
        eq(got.returncode, 5, "a control frame of an unknown type is passed over")


def test_lost():
    """A lost connection is replaced by another one, which goes on at the offsets."""
    with Box() as box:
        rans = [Ran(b"one", b"err", raw=b""), Ran(b" two", b"or")]
        box.process = lambda request: rans.pop(0)
        box.attach = lambda request: rans.pop(0)
        got = od(box, "exec", "box", "x")
        eq((got.returncode, got.stdout, got.stderr), (0, b"one two", b"error"), "the output of both connections")
        eq([r.query for r in box.sandbox_log if r.path.endswith("/attach")],
           [{"stdout": "0", "stderr": "0"}, {"stdout": "3", "stderr": "3"}], "the offsets of both connections")
        box.attach = lambda request: response(404, {"detail": "not found"})
        got = box.exec(Ran(b"part", raw=b""), "box", "x")
        eq((got.returncode, got.stdout), (111, b"part"), "a process that is forgotten")
        has(got.stderr, b"no longer has the process", "the error for a process that is forgotten")
        box.attach = lambda request: Ran(b"out")
        got = box.exec(response(201, state(Ran())), "box", "x")
        eq((got.returncode, got.stdout, got.stderr), (0, b"out", b""), "a connection that is lost before it is attached")
        box.sandbox_log.clear()
        box.attach = lambda request: Ran(raw=b"")
        got = box.exec(Ran(raw=b""), "box", "x")
        eq(got.returncode, 111, "a sandbox that closes each connection at once is lost")
        has(got.stderr, b"was lost", "the error for a sandbox that closes each connection")
        under(len(box.sandbox_log), 50, "exec pauses between its attempts")


def test_usage():
    with Box() as box:
        for argv, words in (
                (["-it", "box", "x"], "-i -t needs a terminal"), (["-w", "work", "box", "x"], "not an absolute path"),
                (["--session", "s", "-i", "box", "x"], "a session has its own terminal"),
                (["box", b"\xff"], "is not UTF-8"), (["-e", "=", "box", "x"], "has no name, or its name contains a blank"),
                (["--env-file", "/no/such", "box", "x"], "--env-file"), (["box"], "exec needs"),
                *((["--session", "s", *unfit, "box", "x"], "a session keeps its user")
                  for unfit in (["-u", "0"], ["-w", "/"], ["-e", "A=1"], ["--env-file", "/dev/null"])),
                (["-iq", "box", "x"], "exec has no option -iq\n  next: od-runtime help exec")):
            got = box.exec(Ran(), *argv)
            eq((got.returncode, got.stdout), (100, b""), f"usage: exec {argv}")
            has(got.stderr.decode(), words, f"usage: the error for exec {argv}")
        eq(box.sandbox_log, [], "nothing was asked of the sandbox")
        ran = Ran()
        eq(box.exec(ran, "--", "box", "--", "x").returncode, box.exec(Ran(), "box", "x").returncode,
           "usage: -- ends the options in front of the sandbox")
        next(iter(box.containers.values())).state = "exited"
        got = box.exec(Ran(), "box", "x")
        eq(got.returncode, 111, "exec in a stopped sandbox")
        has(got.stderr, b"od-runtime start", "the next step names start")
        got = box.exec(Ran(), "no-such-box", "x")
        eq(got.returncode, 111, "exec in no sandbox")
        has(got.stderr, b"no sandbox is named no-such-box", "the error for no sandbox")


write_program(CLIENT, X86_64)
if __name__ == "__main__":
    harness.main()
