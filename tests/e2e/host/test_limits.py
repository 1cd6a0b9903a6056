#!/usr/bin/env python3
"""Time limits of od-runtime: peers that stay silent, and peers that send a byte now and then."""
import os
import socket
import subprocess
import threading

import harness
import fake_engine
from accept import serve_each
from fake_engine import Engine
from harness import eq, has, ok, until
from program import write_program
from ws_peer import accept_of

TEMP = harness.scratch("od-limits-")
CLIENT = os.path.join(TEMP, "client")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
COUNT = 0


class Slow:
    """Accepts connections and reads what comes. It answers nothing, or, with first, those
    bytes and then one byte every `pause` seconds, `bytes_n` of them; then it closes."""

    def __init__(self, first=None, pause=0.1, bytes_n=300, address=("127.0.0.1", 0)):
        self.first, self.pause, self.bytes_n = first, pause, bytes_n
        self.left = threading.Event()   # the peer closed first
        self.ended = threading.Event()  # all bytes were sent
        if isinstance(address, str):
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(address)
            self.listener.listen(16)
        else:
            self.listener = socket.create_server(address)
            self.port = self.listener.getsockname()[1]
        serve_each(self.listener, self.serve)

    def serve(self, conn):
        with conn:
            try:
                self.answer(conn)
            except OSError:
                self.left.set()

    def answer(self, conn):
        conn.recv(65536)
        if self.first is None:
            while conn.recv(65536):
                pass
            self.left.set()
            return
        conn.sendall(self.first)
        conn.settimeout(self.pause)
        for _ in range(self.bytes_n):
            try:
                if not conn.recv(65536):
                    self.left.set()
                    return
            except TimeoutError:
                pass
            conn.sendall(b" ")
        self.ended.set()

    def close(self):
        self.listener.close()


def slow_peers():
    return (("silent", Slow()),
            ("dripping in the head", Slow(HEAD + b"X: ")),
            ("dripping in the body", Slow(HEAD + b"Content-Length: 1000000\r\n\r\n")))


def od(host, *argv):
    """Runs the tool with the engine at this socket."""
    env = {"PATH": "/bin:/usr/bin", "OD_STATE_DIR": os.path.join(TEMP, "state"),
           "OD_RUNTIME_CLIENT": CLIENT, "DOCKER_HOST": "unix://" + host}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
    return subprocess.run([*harness.WRAP, harness.RUNTIME, *argv], capture_output=True,
                          env=env, timeout=harness.DEADLINE * 6, text=True)


def engine():
    global COUNT
    COUNT += 1
    return Engine(os.path.join(TEMP, f"e{COUNT}"))


def sandbox():
    """An engine with a sandbox called box."""
    e = engine()
    got = od(e.path, "run", "--via", "build", "base:1", "--name", "box")
    eq((got.returncode, got.stderr), (0, ""), "a sandbox is started")
    return e


def ended(got, peer, name, what):
    eq(got.returncode, 124, f"{name}: {what} ends with 124")
    has(got.stderr, "no answer within --timeout 1", f"{name}: the error names the limit")
    until(peer.left.is_set)
    ok(not peer.ended.is_set(), f"{name}: the connection is closed before the peer is done")


def test_timeout_of_a_command():
    e = sandbox()
    box = e.find_container("box")
    for name, peer in slow_peers():
        box.port = peer.port
        ended(od(e.path, "exec", "--timeout", "1", "box", "--", "ls"), peer, name, "exec")
        peer.left.clear()
        ended(od(e.path, "action", "--timeout", "1", "box",
                 '{"action":"run","args":{"command":"ls"}}'), peer, name, "action")
        peer.close()
    od(e.path, "rm", "-f", "box")
    e.close()


def test_timeout_of_run():
    e = engine()
    gate = threading.Event()
    e.process = lambda request: gate.wait() and b""
    got = od(e.path, "run", "--rm", "--timeout", "1", "--via", "build", "base:1", "--name",
             "box", "--", "ls")
    eq(got.returncode, 124, "run ends with 124 when the sandbox stays silent")
    has(got.stderr, "no answer within --timeout 1", "the error names the limit")
    eq(e.find_container("box"), None, "--rm removes the sandbox all the same")
    gate.set()
    e.close()


def test_dripping_readiness():
    """A sandbox whose server begins an answer and never ends it is not ready."""
    e = engine()
    ended = threading.Event()

    def serve(sandbox, conn):
        conn.recv(65536)
        conn.sendall(HEAD + b"X: ")
        conn.settimeout(0.1)
        for _ in range(600):
            try:
                if not conn.recv(65536):
                    return
            except TimeoutError:
                conn.sendall(b" ")
        ended.set()
    kept, fake_engine.Sandbox.serve = fake_engine.Sandbox.serve, serve
    got = od(e.path, "run", "--timeout-start", "2", "--via", "build", "base:1", "--name", "box")
    fake_engine.Sandbox.serve = kept
    eq(got.returncode, 111, "--timeout-start ends a run whose sandbox drips")
    has(got.stderr, "was not ready after 2 s", "the error names the limit")
    ok(not ended.is_set(), "before the sandbox is done")
    e.close()


def test_timeout_at_the_engine():
    for i, (name, first) in enumerate((("silent", None), ("dripping", HEAD + b"X: "))):
        path = os.path.join(TEMP, f"slow{i}")
        peer = Slow(first, address=path)
        ended(od(path, "exec", "--timeout", "1", "box", "--", "ls"), peer, name,
              "exec at such an engine")
        peer.close()


def test_dripping_registry():
    """Without --timeout: the grace for what is read, then a minimum rate."""
    peer = Slow(HEAD + b"X: ", pause=0.5)
    got = od("/nowhere", "build", f"registry:127.0.0.1:{peer.port}/r/img:1", "--output",
             "oci:" + os.path.join(TEMP, "out"))
    eq(got.returncode, 111, "a build from a registry that drips ends")
    has(got.stderr, "its reply was not complete in time", "the error says why")
    until(peer.left.is_set)
    ok(not peer.ended.is_set(), "the connection is closed before the registry is done")


class Dripping:
    """A server that agrees to a WebSocket, and sends the bytes of a frame one by one."""

    def __init__(self):
        self.left = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        serve_each(self.listener, self.serve)

    def serve(self, conn):
        with conn:
            head = conn.recv(65536)
            if b"/v1/stream" not in head:
                conn.sendall(HEAD + b'Content-Length: 15\r\n\r\n{"status":"ok"}')
                return
            key = next(line[19:] for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key: "))
            conn.sendall(b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                         b"Sec-WebSocket-Accept: " + accept_of(key).encode() + b"\r\n\r\n\x81\x7e\x7f\xff")
            try:
                for _ in range(200):
                    conn.sendall(b"a")
                    self.left.wait(0.5)
            except OSError:
                self.left.set()


def test_dripping_stream():
    e = sandbox()
    peer = Dripping()
    e.find_container("box").port = peer.port
    got = od(e.path, "attach", "--session", "s1", "box")
    eq(got.returncode, 111, "attach ends at a frame that has no end")
    has(got.stderr, "the connection to the sandbox box was lost", "the error says so")
    peer.listener.close()
    od(e.path, "rm", "-f", "box")
    e.close()


class Copied:
    """A server with a folder whose archive comes when the event archive is set; alive says whether it answers others."""

    def __init__(self, alive):
        self.alive, self.archive, self.asked = alive, threading.Event(), threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        serve_each(self.listener, self.serve)

    def serve(self, conn):
        with conn:
            path = conn.recv(65536).split(b" ")[1].split(b"?")[0]
            if path == b"/v1/files":
                conn.sendall(b"HTTP/1.1 409 X\r\nContent-Length: 2\r\n\r\n{}")
            elif path == b"/alive":
                self.asked.set()
                if self.alive:
                    conn.sendall(HEAD + b'Content-Length: 15\r\n\r\n{"status":"ok"}')
                    self.archive.set()
                else:
                    conn.recv(65536)
            else:
                conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n")
                if self.archive.wait(100):
                    conn.sendall(bytes(1024))


def test_silent_copy():
    """A copy waits for a sandbox that is silent for long if that answers other requests."""
    e = sandbox()
    box, outcomes = e.find_container("box"), {}
    for alive in (True, False):
        server = Copied(alive)
        box.port = server.port
        target = os.path.join(TEMP, f"copied-{alive}")
        os.mkdir(target)
        outcomes[alive] = od(e.path, "cp", "box:/x/.", target)
        ok(server.asked.is_set(), "it is asked whether it is alive")
        server.archive.set()
        server.listener.close()
    eq((outcomes[True].returncode, outcomes[True].stderr), (0, ""), "from one that is alive the archive comes")
    eq(outcomes[False].returncode, 111, "from one that is not the copy ends")
    has(outcomes[False].stderr, "the sandbox box did not answer", "the error says why")
    od(e.path, "rm", "-f", "box")
    e.close()


write_program(CLIENT)
harness.main()
