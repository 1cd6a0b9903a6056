#!/usr/bin/env python3
"""od-runtime shell and attach when the connection to the sandbox is cut: they come back, and
the user's terminal goes on where it was."""
import fcntl
import hashlib
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time

import harness
from fake_engine import Engine
from harness import Client, action, eq, has, ok, request, until
from wire import Wire

TEMP = harness.scratch("od-lost-")


def environment(e):
    env = {"PATH": "/bin:/usr/bin", "OD_STATE_DIR": os.path.join(TEMP, "state"),
           "OD_RUNTIME_CLIENT": harness.BOXED, "DOCKER_HOST": "unix://" + e.path}
    return env | {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS")
                  if name in os.environ}


def od(e, *argv):
    return subprocess.run([*harness.WRAP, harness.RUNTIME, *argv], capture_output=True,
                          env=environment(e), timeout=3 * harness.DEADLINE)


class Terminal:
    def __init__(self, e, *argv):
        self.fd, self.slave = pty.openpty()
        self.resize(33, 101)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.p = subprocess.Popen([*harness.WRAP, harness.RUNTIME, *argv], stdin=self.slave,
                                  stdout=self.slave, stderr=self.slave, env=environment(e),
                                  start_new_session=True,
                                  preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, mark, seconds=harness.DEADLINE):
        end = time.monotonic() + seconds
        while mark not in self.seen and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.fd, 65536)
                except OSError:
                    break
        has(self.seen, mark, f"the terminal shows {mark!r}")
        out, self.seen = self.seen, b""
        return out

    def ready(self):
        self.type("echo rea''dy\n")
        self.until(b"ready")

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        code = self.p.wait(timeout=3 * harness.DEADLINE)
        same = termios.tcgetattr(self.slave) == self.before
        os.close(self.fd)
        os.close(self.slave)
        return code, same


class Box:
    """A real server behind a wire, which a made-up engine takes for a container."""

    def __init__(self, wire=Wire):
        self.e = Engine(os.path.join(TEMP, "engine"))
        got = od(self.e, "run", "--via", "build", "base:1", "--name", "box")
        eq((got.returncode, got.stderr), (0, b""), "a sandbox")
        with open(os.path.join(TEMP, "state", "sandboxes", "box.json")) as f:
            self.key = json.load(f)["key"]
        self.client = Client("--key-sha256", hashlib.sha256(self.key.encode()).hexdigest(),
                             role="init")
        self.wire = wire(self.client.port)
        self.container = next(iter(self.e.containers.values()))
        self.container.port = self.wire.port

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wire.cut()
        self.wire.listener.close()
        self.client.__exit__(None, None, None)
        od(self.e, "rm", "-f", "box")
        self.e.close()


def test_shell():
    with Box() as box:
        t = Terminal(box.e, "shell", "box")
        t.ready()
        gate = harness.Gate(box.client)
        t.type(f"A=kept; stty -echo; cat {gate}; seq 1 20000; echo the''-end\n")
        until(lambda: gate.path in t.seen.decode() or t.until(gate.path.encode()))
        gate.go(b"go\n")
        whole = t.until(b"\r\n2000\r\n")
        box.wire.cut()
        whole += t.until(b"the-end")
        numbers = [int(x) for x in whole.split(b"go\r\n")[1].split(b"the-end")[0].split()]
        eq(numbers, list(range(1, 20001)), "a connection that is cut costs no byte, and none comes twice")
        for i in range(5):
            box.wire.cut()
            t.type(f"echo $A-$(({i}+40))\n")
            t.until(f"kept-{i + 40}".encode())
        box.wire.down = True
        box.wire.cut()
        t.resize(34, 102)
        time.sleep(0.2)
        box.wire.down = False
        t.type("stty size\n")
        t.until(b"34 102")
        # The way to both is lost: what the engine does not say is no reason to give up.
        box.wire.down = True
        os.rename(box.e.path, box.e.path + ".away")
        box.wire.cut()
        t.type("echo typed-$((6*7)) >>typed; cat typed\n")
        ok(b"engine" not in t.until(b"connecting again"), "the engine is asked without a word")
        os.rename(box.e.path + ".away", box.e.path)
        box.wire.down = False
        t.until(b"connection was restored")
        t.type("echo it-is-$((6*8))\n")
        t.until(b"it-is-48")
        t.type("exit 3\n")
        eq(t.end(), (3, True), "its exit code, and the terminal as before")


def test_giving_up():
    with Box() as box:
        t = Terminal(box.e, "shell", "box")
        t.ready()
        box.wire.down = True
        box.wire.cut()
        t.until(b"connecting again")
        t.resize(34, 102)
        t.type("\x03")
        t.until(b"was lost")
        eq(t.end(), (111, True), "who has had enough leaves")
        box.wire.down = False
        t = Terminal(box.e, "shell", "box")
        t.ready()
        box.container.state = "exited"
        box.wire.cut()
        t.until(b"was lost")
        eq(t.end(), (111, True), "of a sandbox that does not run nothing is hoped for")
        box.container.state = "running"
        t = Terminal(box.e, "shell", "box")
        t.ready()
        # The server is killed, and with it the terminal, but not for long.
        harness.os.kill(harness.descendants(box.client.pid)[0], 9)
        t.until(b"No terminal has this name")
        eq(t.end(), (111, True), "with its server a terminal is gone, which is told")


def test_attach():
    with Box() as box:
        gate = harness.Gate(box.client, 2)
        conn = harness.Conn(box.client.port)
        conn.send(request("POST", "/execute_action", action(
            "run", command=f"echo first; cat {gate}; seq 1 5000; cat {gate.path}.1"), X_Session_API_Key=box.key))
        t = Terminal(box.e, "attach", "box", "--session", "default")
        t.until(b"first\r\n")
        box.wire.cut()
        gate.go(b"second\n")
        whole = t.until(b"\r\n5000\r\n")
        eq([int(x) for x in whole.split(b"second")[1].split()], list(range(1, 5001)),
           "what came meanwhile is shown, once")
        t.type("\x1d")
        eq(t.end(), (0, True), "and it is left as before")
        gate.go(b"\n")
        conn.response()
        conn.close()


class AtOnce(Wire):
    """The first stream's greeting comes with the answer, and the end of the connection after it."""

    lost = False

    def carry(self, near, far):
        asked = near.recv(65536)
        far.sendall(asked)
        if b"/v1/stream" not in asked or self.lost:
            return super().carry(near, far)
        self.lost, greeting = True, b""
        while b"hello" not in greeting:
            greeting += far.recv(65536)
        near.sendall(greeting)


def test_lost_at_once():
    with Box(AtOnce) as box:
        eq(box.client.ask(request("POST", "/execute_action", action("run", command="seq 30000"),
                                  X_Session_API_Key=box.key)).status, 200, "a session")
        t = Terminal(box.e, "attach", "box", "--session", "default")
        shown = t.until(b"\r\n30000")
        ok(box.wire.lost, "a connection that is lost at once is made again")
        ok(b"\r\n10000\r\n" not in shown, "and begins with the screen as any other", shown[:99])
        t.type("\x1d")
        eq(t.end(), (0, True), "and left as any other")


if __name__ == "__main__":
    harness.main()
