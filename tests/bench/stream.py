#!/usr/bin/env python3
"""Figures of the stream: the memory of idle subscribers; what one that does not read does to
the others; what a request costs by way of od-runtime listen. Prints them; asserts nothing."""
import os
import resource
import select
import socket
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import harness
from harness import Client, Conn, action, own_kib, request
from test_listen import Listen
from ws_peer import Stream, WebSocket

IDLE, FAST, BURSTS = 1000, 100, 100


def rank(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def idle():
    with Client() as c:
        before, streams = own_kib(c.pid), []
        for _ in range(IDLE):
            s = Stream.connect(c.port)
            s.say("open", id=1, kind="session")
            streams.append(s)
        for s in streams:
            s.expect("opened")
        after = own_kib(c.pid)
        print(f"{IDLE} idle subscribers of a session: {(after - before) / IDLE:.2f} KiB each")
        start = time.monotonic()
        with Conn(c.port) as conn:
            conn.send(request("POST", "/execute_action", action("run", command="echo to-all")))
            conn.response()
            print(f"  a command beside them: {(time.monotonic() - start) * 1000:.1f} ms")
        for s in streams:
            s.until(1, b"to-all")
        print(f"  all of them have its output after {(time.monotonic() - start) * 1000:.0f} ms, "
              f"by one Python")


PRINT = (f"python3 -c 'import time,sys\nfor i in range({BURSTS}):\n"
         "    sys.stdout.write(\"x\"*4000+\"\\nT%d;\\n\"%time.monotonic_ns()); sys.stdout.flush()\n"
         "    time.sleep(0.03)'")


def latencies(stalled):
    """Milliseconds from the print to the socket, of all fast subscribers."""
    with Client() as c:
        others = []
        for _ in range(stalled):
            s = Stream.connect(c.port)
            s.ws.conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.say("open", id=1, kind="session", window=131072)
            others.append(s)
        fast = {}
        for _ in range(FAST):
            s = Stream.connect(c.port)
            s.say("open", id=1, kind="session")
            s.expect("opened")
            s.ws.conn.sock.setblocking(False)
            fast[s.ws.conn.sock] = b""
        poll = select.epoll()
        by_fd = {s.fileno(): s for s in fast}
        for fd in by_fd:
            poll.register(fd, select.EPOLLIN)
        conn = Conn(c.port)
        conn.send(request("POST", "/execute_action", action("run", command=PRINT, timeout=60)))
        took, due = [], FAST * BURSTS
        end = time.monotonic() + 30
        while len(took) < due and time.monotonic() < end:
            for fd, _ in poll.poll(1):
                now, sock = time.monotonic_ns(), by_fd[fd]
                data = fast[sock] + sock.recv(65536)
                parts = data.split(b"\nT")
                for part in parts[1:]:
                    if b";" in part:
                        took.append((now - int(part[:part.index(b";")])) / 1e6)
                last = parts[-1] if len(parts) > 1 else data
                fast[sock] = b"" if b";" in last[:25] else data[-40:]
        conn.close()
        return took


def direct(ask):
    took = []
    for _ in range(300):
        start = time.monotonic()
        ask()
        took.append((time.monotonic() - start) * 1000)
    return f"median {statistics.median(took):.2f} ms, p99 {rank(took, 0.99):.2f} ms"


def listen(n):
    body = action("run", command="true")
    with Listen() as l:
        boxes = [subprocess.Popen(
            [harness.CLIENT, "serve", str(harness.free_port()), "--address", "127.0.0.1",
             "--connect", f"ws://127.0.0.1:{l.port}/connect", "--connect-id", f"b{i}"],
            env={**os.environ, "SU_TO_USER": "0"}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL) for i in range(n - 1)]
        with Client("--connect", f"ws://127.0.0.1:{l.port}/connect", "--connect-id", "me") as c:
            harness.until(lambda: sum(b["connected"] for b in l.ask("GET", "/sandboxes").json()
                                      ["sandboxes"]) == n, 60)
            print(f"od-runtime listen with {n} sandboxes: {own_kib(l.process.pid) / 1024:.1f} MiB")

            def one(port, path):
                with Conn(port) as conn:
                    conn.send(request("POST", path, body))
                    conn.response()
            print("  an action, directly:", direct(lambda: one(c.port, "/execute_action")))
            print("  an action, by listen:",
                  direct(lambda: one(l.port, "/sandboxes/me/execute_action")))
        for b in boxes:
            b.terminate()
        for b in boxes:
            b.wait()


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    idle()
    for stalled in (0, 1):
        took = latencies(stalled)
        print(f"{FAST} fast subscribers, {stalled} that read nothing: {len(took)} times, "
              f"median {statistics.median(took):.2f} ms, p99 {rank(took, 0.99):.2f} ms")
    listen(int(os.environ.get("BOXES", "20")))


main()
