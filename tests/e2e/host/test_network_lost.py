#!/usr/bin/env python3
"""exec, action and cp end with an error when the network to the sandbox is lost."""
import contextlib
import subprocess
import threading
import time

import harness
from fake_process import Ran
from harness import eq, has, ok, skip, until
from test_attach import in_namespace
from test_exec_fake import Box, environment

BOUND = 25  # seconds: 15 without an acknowledgement, the time until the next look, a slow machine


def set_loopback(state):
    subprocess.run(["ip", "link", "set", "lo", state], check=True)


CASES = (
    (["exec", "box", "x"], b""),
    (["exec", "-i", "box", "x"], b"bytes that nobody acknowledges"),
    (["action", "box", '{"action": "run", "args": {"command": "x"}}'], b""),
    (["cp", "box:/x", "-"], b""),
)


def begin(stack, done, argv):
    """Starts od-runtime and waits until the sandbox has the request."""
    box = stack.enter_context(Box())
    box.process = lambda request: Ran(reads=True)
    box.execute = lambda request: done.wait(4 * BOUND) and b""
    p = subprocess.Popen([harness.RUNTIME, *argv], env=environment(box), stdin=subprocess.PIPE,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    begun = "/attach" if argv[0] == "exec" else ""
    ok(until(lambda: [r for r in box.sandbox_log if begun in r.path]), f"{argv[:2]}: the sandbox has the request")
    return p


def finish(p, argv, end):
    try:
        eq(p.wait(end - time.monotonic()), 111, f"{argv[:2]}: the exit code after the network is lost")
    except subprocess.TimeoutExpired:
        ok(False, f"{argv[:2]} ends when the network is lost")
        p.kill()
    error = p.stderr.read()
    has(error, b"the network connection to the sandbox box was lost", f"{argv[:2]}: the error names the cause")
    has(error, b"next: check the network", f"{argv[:2]}: the error names the next step")
    p.stdin.close()


def lose_all(libc):
    done = threading.Event()
    with contextlib.ExitStack() as stack:
        running = [begin(stack, done, argv) for argv, _ in CASES]
        set_loopback("down")
        end = time.monotonic() + BOUND * harness.SLOW
        for p, (_, stdin) in zip(running, CASES):
            p.stdin.write(stdin)
            p.stdin.flush()
        for p, (argv, _) in zip(running, CASES):
            finish(p, argv, end)
        set_loopback("up")
        done.set()


def test_lost():
    if harness.os.geteuid() or not in_namespace(lose_all):
        skip("a network that is lost", "needs root and network namespaces")


harness.main()
