"""Rows of od-runtime exec, each beside the same work without us in the same run; they need a container engine."""
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

TURNS, SIZE, PIECE = 30, 1 << 30, 1 << 18
BUSYBOX = "/bin/busybox"


def with_sandbox(step):
    """step(environment, name) with a sandbox that has busybox's true and cat."""
    engine = engines.find()
    if not engine or not os.path.exists(BUSYBOX):
        print(f"left out: {step.__name__}: no container engine or no static busybox")
        return
    with engines.Box(engine) as box:
        with open(BUSYBOX, "rb") as f:
            files = {"bin/busybox": f.read(), "bin/true": "busybox", "bin/cat": "busybox"}
        image = f"{engines.PREFIX}/execs:1"
        engine.load(engines.archive(files), image)
        env = {**os.environ, "OD_STATE_DIR": box.state, "OD_RUNTIME_CLIENT": harness.BOXED}
        step(env, box.run(image))


def milliseconds(argv, env):
    start = time.perf_counter()
    subprocess.run(argv, check=True, env=env, stdin=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def start_rows(env, name):
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


def execute(env, name):
    p = subprocess.Popen([harness.RUNTIME, "exec", "-i", name, "cat"], env=env, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, bufsize=0)
    return p.stdin.write, p.stdin.close, p.stdout.readinto


def throughput_rows(env, name):
    floors, ours = [], []
    for _ in range(5):
        floors.append(SIZE / carried(loopback) / 1e6)
        ours.append(SIZE / carried(lambda: execute(env, name)) / 1e6)
    floor = statistics.median(floors)
    row("od-runtime exec -i SANDBOX cat, 1 GiB each way", statistics.median(ours), "MB/s", floor * 0.6, floor,
        "cat on a loopback connection", most=False)


def exec_start():
    with_sandbox(start_rows)


def exec_throughput():
    with_sandbox(throughput_rows)


STEPS = (exec_start, exec_throughput)
