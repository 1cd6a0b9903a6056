"""Rows of attached processes, each beside the same work without us.

For 1 GiB the floor is a cat whose stdin and stdout are a connection of the loopback; the same peer
sends and receives in both. Floor and ours alternate. For a start the floor is fork, exec and wait.
"""
import json
import os
import statistics
import subprocess
import threading
import time

from rows import BUILD, bare_environment, row

import harness

PEER = os.path.join(BUILD, "release", "bench", "attach")
GIB = 1 << 30


def peer(*words, timeout=300):
    done = subprocess.run([PEER, *map(str, words)], capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise RuntimeError(f"attach {words}: {done.stderr}")
    return json.loads(done.stdout)


class Watch:
    """The longest answer of /alive, asked again and again beside the work."""

    def __init__(self, client):
        self.longest, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.run, args=(client,))

    def run(self, client):
        with client.conn() as conn:
            while not self.over.is_set():
                t = time.perf_counter()
                conn.send(harness.request("GET", "/alive")).response()
                self.longest = max(self.longest, time.perf_counter() - t)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def attach_throughput(pairs=5):
    floors, ours = [], []
    with harness.Client(role="init", env=bare_environment()[1]) as client:
        for _ in range(pairs):
            floors.append(peer("floor", GIB)["seconds"])
            ours.append(peer("cat", client.port, GIB)["seconds"])
        with Watch(client) as watch:
            peer("cat", client.port, GIB)
    floor = statistics.median(floors)
    row("1 GiB through an attached cat", statistics.median(ours), "s", None, floor, "cat on a loopback connection")
    row("as a part of that speed", statistics.median(100 * f / o for f, o in zip(floors, ours)), "%", 60, most=False)
    row("/alive beside it, longest", watch.longest * 1000, "ms")


def attach_start():
    with harness.Client(role="init", env=bare_environment()[1]) as client:
        peer("true", client.port, 20)
        ours, floor = peer("true", client.port, 500), peer("spawn", 500)
    row("true by POST and attach, start to exit, p50", ours["p50_ms"], "ms", None, floor["p50_ms"],
        "fork, exec and wait")


STEPS = (attach_throughput, attach_start)
