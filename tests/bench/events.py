"""Rows about the event stream: what comes after a cut, what idle subscribers cost, what one that does not read does
to the others, and what goes by way of od-runtime listen."""
import os
import resource
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from rows import row

import harness
from harness import Client, Conn, action, own_kib, request
from test_actions import put
from test_listen import Listen
from test_output import numbers
from test_storm import storm
from ws_peer import Stream

IDLE, FAST, BURSTS = 1000, 100, 100
BOXES = int(os.environ.get("OD_BOXES", "1000"))
BOXES_FROM = 20000  # below the ports that connections take for themselves


def many_files():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))


def rank(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def storms():
    """kill -9 of the server every 50 ms for a minute, under load."""
    with Client(role="init") as client:
        loads, times = storm(client, 60)
    done = sum((load.done for load in loads), [])
    row("kill -9 every 50 ms for 60 s: sessions and outputs that were wrong", sum(bool(load.wrong) for load in loads), "", 0)
    row("kills", len(times), "")
    row("actions, whose bytes were compared as they came", len(done), "")
    row("the API is back, p50", statistics.median(times), "ms", 100)
    row("the API is back, p99", rank(times, 0.99), "ms", 100)
    row("the API is back, at most", max(times), "ms")


def idle():
    """Subscribers of a session to which nothing happens."""
    many_files()
    with Client() as client:
        before, streams = own_kib(client.pid), []
        for _ in range(IDLE):
            s = Stream.connect(client.port)
            s.say("open", id=1, kind="session")
            streams.append(s)
        for s in streams:
            s.expect("opened")
        row(f"{IDLE} idle subscribers, memory of each (PSS)", (own_kib(client.pid) - before) / IDLE, "KiB", 16)
        t = time.perf_counter()
        client.run("echo to-all")
        row("a command beside them", (time.perf_counter() - t) * 1000, "ms")
        for s in streams:
            s.until(1, b"to-all")
            s.close()


PRINT = (f"{sys.executable} -c 'import time,sys\nfor i in range({BURSTS}):\n"
         "    sys.stdout.write(\"x\"*4000+\"\\nT%d;\\n\"%time.monotonic_ns()); sys.stdout.flush()\n"
         "    time.sleep(0.03)'")


def follow(fast, due):
    """Milliseconds from each print to each socket."""
    poll = select.epoll()
    by_fd = {s.fileno(): s for s in fast}
    rest = {s: b"" for s in fast}
    for fd in by_fd:
        poll.register(fd, select.EPOLLIN)
    took = []
    end = time.monotonic() + 60
    while len(took) < due and time.monotonic() < end:
        for fd, _ in poll.poll(1):
            now, sock = time.monotonic_ns(), by_fd[fd]
            data = rest[sock] + sock.recv(65536)
            parts = data.split(b"\nT")
            for part in parts[1:]:
                if b";" in part:
                    took.append((now - int(part[:part.index(b";")])) / 1e6)
            last = parts[-1] if len(parts) > 1 else data
            rest[sock] = b"" if b";" in last[:25] else data[-40:]
    return took


def latencies(stalled):
    with Client() as client:
        others, fast = [], []
        for i in range(stalled + FAST):
            s = Stream.connect(client.port)
            if i < stalled:
                s.ws.conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                s.say("open", id=1, kind="session", window=131072)
                others.append(s)
                continue
            s.say("open", id=1, kind="session")
            s.expect("opened")
            s.ws.conn.sock.setblocking(False)
            fast.append(s)
        conn = Conn(client.port)
        conn.send(request("POST", "/execute_action", action("run", command=PRINT, timeout=60)))
        took = follow([s.ws.conn.sock for s in fast], FAST * BURSTS)
        conn.close()
        for s in fast + others:
            s.close()
        return took


def stalled():
    """One subscriber that reads nothing, beside a hundred that do; in turns, for a machine has its moods."""
    many_files()
    alone, beside = [], []
    for _ in range(3):
        alone.append(rank(latencies(0), 0.99))
        beside.append(rank(latencies(1), 0.99))
    floor = statistics.median(alone)
    row(f"{FAST} subscribers, from the print to the socket, p99", floor, "ms")
    row("the same beside one that reads nothing", statistics.median(beside), "ms", None, floor, "without it")
    row("difference of the two", statistics.median(beside) - floor, "ms", 5)


def through_socket(data):
    """Seconds that Python takes to receive as much from somebody who only sends."""
    a, b = socket.socketpair()
    sender = threading.Thread(target=lambda: (a.sendall(data), a.close()))
    t = time.perf_counter()
    sender.start()
    while b.recv(1 << 16):
        pass
    took = time.perf_counter() - t
    sender.join()
    b.close()
    return took


def replay():
    """A reader that was away for 30 s while 100 MB were printed, by offset and as fast as it comes."""
    last, names, parts = 1_700_000, [f"r{i}" for i in range(8)], []
    want = numbers(last)
    with tempfile.TemporaryDirectory() as top, Client("--state-dir", top + "/state", role="init") as client:
        left = time.monotonic()
        for name in names:
            put(client, name, f"seq {last}", session=name, timeout=300, blocking=True)
        # What is cut off knows nothing of it.
        for name in names:
            client.ask(request("GET", f"/v1/actions/{name}?wait=100"), 200)
        time.sleep(max(0, left + 30 - time.monotonic()))
        t = time.perf_counter()
        with Conn(client.port) as conn:
            for name in names:
                at, length = 0, None
                while at != length:
                    r = conn.send(request("GET", f"/v1/actions/{name}/out?from={at}")).response()
                    parts.append(r.body)
                    at, length = int(r.field("x-next-offset")), int(r.field("x-length"))
        took = time.perf_counter() - t
    got = b"".join(parts)
    row(f"{len(got) // 1000000} MB after 30 s without a connection", took, "s", 2, through_socket(got),
        "as many bytes through a socket")
    row("bytes that are lost, doubled or others", 0 if got == want * len(names) else 1, "", 0)


def asked(ask):
    took = []
    for _ in range(500):
        t = time.perf_counter()
        ask()
        took.append((time.perf_counter() - t) * 1000)
    return took


def dialled():
    """Sandboxes that have dialled in, a process each, and an action of one of them."""
    many_files()
    body = action("run", command="true")
    with Listen() as l:
        url = f"ws://127.0.0.1:{l.port}/connect"
        boxes = [subprocess.Popen(
            [harness.CLIENT, "serve", str(BOXES_FROM + i), "--address", "127.0.0.1", "--connect", url,
             *l.token_of(f"b{i}")], env={**os.environ, "SU_TO_USER": "0"}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i in range(BOXES - 1)]
        try:
            with Client("--connect", url, *l.token_of("me")) as c:
                there = harness.until(lambda: sum(b["connected"] for b in l.list()) == BOXES, 120, step=0.5)
                row("sandboxes that have dialled in", BOXES if there else 0, "", BOXES, most=False)
                row("od-runtime listen, memory (PSS)", own_kib(l.process.pid) / 1024, "MiB", 64)

                def one(port, path):
                    with Conn(port) as conn:
                        conn.send(request("POST", path, body))
                        conn.response()
                direct = asked(lambda: one(c.port, "/execute_action"))
                by_way = asked(lambda: one(l.port, "/sandboxes/me/execute_action"))
                for name, part in (("p50", 0.5), ("p99", 0.99)):
                    floor = rank(direct, part)
                    row(f"an action by way of it, {name}", rank(by_way, part), "ms", None, floor, "the same asked directly")
                    row("as a multiple of the direct one", rank(by_way, part) / floor, "times", 3 if part > 0.9 else None)
        finally:
            for b in boxes:
                b.kill()
            for b in boxes:
                b.wait()


STEPS = (idle, stalled, replay)
BY_NAME = (storms, dialled)
