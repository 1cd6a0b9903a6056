"""Rows of od-runtime exec, each beside the same work without us in the same run; they need a container engine.

The floor of the throughput has the same network path as exec: a cat in a container, whose stdin and stdout are a
connection of a port that the engine publishes on 127.0.0.1. The peer, this program, has that connection itself; with
exec it has two pipes and od-runtime. The other two rows show the same work with fewer and with more copies: a cat on a
connection of the loopback, without a container, and docker exec.
"""
import os
import shutil
import socket
import statistics
import subprocess
import threading
import time

import engine as engines
import harness
from rows import row

TURNS, PAIRS, SIZE, PIECE = 30, 5, 1 << 30, 1 << 18
BUSYBOX = "/bin/busybox"
FLOOR_PORT = "7000/tcp"


def with_sandbox(step):
    """step(environment, box, image, name) with a sandbox that has busybox's true, cat and nc."""
    engine = engines.find()
    if not engine or not os.path.exists(BUSYBOX):
        print(f"left out: {step.__name__}: no container engine or no static busybox")
        return
    with engines.Box(engine) as box:
        with open(BUSYBOX, "rb") as f:
            files = {"bin/busybox": f.read(), "bin/true": "busybox", "bin/cat": "busybox", "bin/nc": "busybox"}
        image = f"{engines.PREFIX}/execs:1"
        engine.load(engines.archive(files), image)
        env = {**os.environ, "OD_STATE_DIR": box.state, "OD_RUNTIME_CLIENT": harness.BOXED}
        step(env, box, image, box.run(image))


def milliseconds(argv, env):
    start = time.perf_counter()
    subprocess.run(argv, check=True, env=env, stdin=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def start_rows(env, _box, _image, name):
    docker = shutil.which("docker")
    ours, theirs = [], []
    for _ in range(TURNS):
        ours.append(milliseconds([harness.RUNTIME, "exec", name, "true"], env))
        if docker:
            theirs.append(milliseconds([docker, "exec", name, "true"], env))
    floor = statistics.median(theirs) if docker else None
    row("od-runtime exec SANDBOX true, p50", statistics.median(ours), "ms", floor / 10 if docker else None, floor,
        "docker exec of the same")


def feed(write):
    piece, left = bytes(PIECE), SIZE
    while left:
        left -= write(piece[:left])


def drain(read):
    """Reads to the end: how many bytes that were."""
    total, memory = 0, bytearray(PIECE)
    while n := read(memory):
        total += n
    return total


def carried(begin):
    """The seconds for SIZE bytes through a program; begin gives write, its end, and read."""
    start = time.perf_counter()
    write, end, read = begin()
    feeder = threading.Thread(target=lambda: (feed(write), end()))
    feeder.start()
    if drain(read) != SIZE:
        raise RuntimeError("bytes are lost")
    feeder.join()
    return time.perf_counter() - start


def loopback():
    """cat, whose stdin and stdout are a connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        conn = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
    subprocess.Popen(["cat"], stdin=other, stdout=other)
    other.close()
    return conn.send, lambda: conn.shutdown(socket.SHUT_WR), conn.recv_into


def start_published_cat(box, image):
    """The port of 127.0.0.1 at which each connection gets a cat in a container of its own image."""
    ident = box.engine.start(
        image, Cmd=["nc", "-ll", "-p", FLOOR_PORT.split("/")[0], "-e", "cat"], ExposedPorts={FLOOR_PORT: {}},
        HostConfig={"PortBindings": {FLOOR_PORT: [{"HostIp": "127.0.0.1", "HostPort": ""}]}})
    port = int(box.engine.container(ident)["NetworkSettings"]["Ports"][FLOOR_PORT][0]["HostPort"])
    if not harness.until(lambda: is_answered(port)):
        raise RuntimeError("the cat behind a published port does not answer")
    return port


def is_answered(port):
    """The engine accepts connections before the program in the container listens."""
    with socket.create_connection(("127.0.0.1", port)) as conn:
        try:
            conn.sendall(b"x")
            return conn.recv(1) == b"x"
        except ConnectionError:
            return False


def published(port):
    conn = socket.create_connection(("127.0.0.1", port))
    return conn.send, lambda: conn.shutdown(socket.SHUT_WR), conn.recv_into


def execute(argv, env):
    p = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    return p.stdin.write, p.stdin.close, p.stdout.readinto


def speeds(ways):
    """{name: MB/s}, the medians of PAIRS turns in which each way has its turn."""
    measured = {name: [] for name in ways}
    for _ in range(PAIRS):
        for name, begin in ways.items():
            measured[name].append(SIZE / carried(begin) / 1e6)
    return {name: statistics.median(values) for name, values in measured.items()}


def throughput_rows(env, box, image, name):
    docker, port = shutil.which("docker"), start_published_cat(box, image)
    ways = {
        "floor": lambda: published(port),
        "ours": lambda: execute([harness.RUNTIME, "exec", "-i", name, "cat"], env),
        "loopback": loopback,
    }
    if docker:
        ways["docker"] = lambda: execute([docker, "exec", "-i", name, "cat"], env)
    got = speeds(ways)
    row("od-runtime exec -i SANDBOX cat, 1 GiB each way", got["ours"], "MB/s", got["floor"] * 0.6, got["floor"],
        "cat behind a published port", most=False)
    row("the same without a container: cat on a loopback connection", got["loopback"], "MB/s")
    if docker:
        row("docker exec -i SANDBOX cat, 1 GiB each way", got["docker"], "MB/s")


def exec_start():
    with_sandbox(start_rows)


def exec_throughput():
    with_sandbox(throughput_rows)


STEPS = (exec_start, exec_throughput)
