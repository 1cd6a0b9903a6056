"""Rows of cells, each beside the bare interpreter or kernel in the same run.

The floor of the embedded driver is a Python that is handed lines through a pipe, that of
a Jupyter kernel is Jupyter's own client (kernel_peer.py), both of /usr/bin/python3.
"""
import json
import os
import statistics
import subprocess
import tempfile
import time

from rows import row

import harness

PYTHON = "/usr/bin/python3"
PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel_peer.py")
STARTS = 5
CELLS = 500
HIGHEST = 32768  # KiB: 4 MiB of text are kept, decoded, escaped and sent
LIMIT = 120
PRINTS = """import sys
text = 'x' * 1048575 + '\\n'
for i in range(%d):
    sys.stdout.write(text)
    sys.stdout.flush()
"""
PLAIN_LOOP = """import sys
print('ready', flush=True)
for line in sys.stdin:
    print(eval(line), flush=True)
    print('done', flush=True)
"""
IPYTHON_LOOP = """import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.history_manager.enabled = False
print('ready', flush=True)
for line in sys.stdin:
    shell.run_cell(line, store_history=False)
    print('done', flush=True)
"""


def cell(client, kernel, code="1+1", timeout=LIMIT):
    return client.act("run_ipython", float(timeout), code=code, kernel=kernel, include_extra=False)["content"]


def timed_ms(step, *words):
    t = time.perf_counter()
    step(*words)
    return (time.perf_counter() - t) * 1000


def sandbox(python):
    """Whose default kernel is none, so that a first cell shows the whole start."""
    return harness.Client("--plugins", "jupyter", role="init", env={
        "OD_PYTHON": python, "JUPYTER_KERNEL": "no-such-kernel"})


def bare(python, loop):
    """Until it is ready, and 1+1, in ms."""
    def wait(word):
        while p.stdout.readline().strip() != word:
            pass

    def ask():
        p.stdin.write("1+1\n")
        p.stdin.flush()
        wait("done")
    t = time.perf_counter()
    with subprocess.Popen([python, "-u", "-c", loop], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as p:
        wait("ready")
        ready = (time.perf_counter() - t) * 1000
        took = statistics.median(timed_ms(ask) for _ in range(CELLS))
        p.stdin.close()
    return ready, took


def medians(pairs):
    return [statistics.median(x) for x in zip(*pairs)]


def peer():
    done = subprocess.run([PYTHON, PEER, "--json", "python3"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    got = json.loads(done.stdout)
    return got["ready_ms"], got["p50_ms"]


def ours(python, kernel):
    with sandbox(python) as client:
        ready = timed_ms(cell, client, kernel)
        return ready, statistics.median(timed_ms(cell, client, kernel) for _ in range(CELLS))


def plain_python(top):
    path = os.path.join(top, "python")
    with open(path, "w") as f:
        f.write(f"#!/bin/sh\nexec {PYTHON} -S -I \"$@\"\n")
    os.chmod(path, 0o755)
    return path


def has(module):
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode == 0


def ways(top):
    """What runs cells, the targets in ms, which Python that takes, and what it is without us."""
    python = plain_python(top)
    yield ("driver alone", (80, 0.5), python, "embedded", lambda: bare(python, PLAIN_LOOP),
           "Python on a pipe")
    if has("IPython"):
        yield ("driver with IPython", (600, 2), PYTHON, "embedded", lambda: bare(PYTHON, IPYTHON_LOOP),
               "IPython on a pipe")
    else:
        print("left out: cells of IPython: it is not there")
    if has("ipykernel"):
        yield "ipykernel", (800, 8), PYTHON, "python3", peer, "Jupyter's client"
    else:
        print("left out: cells of ipykernel: it is not there")


def cells():
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        for name, targets, python, kernel, floor, floor_is in ways(top):
            pairs = [(ours(python, kernel), floor()) for _ in range(STARTS)]
            ready, took = medians(p[0] for p in pairs)
            floor_ready, floor_took = medians(p[1] for p in pairs)
            row(f"{name}: first cell, with its start", ready, "ms", targets[0], floor_ready,
                f"{floor_is}, until it is ready")
            row(f"{name}: 1+1, p50", took, "ms", targets[1], floor_took, floor_is)


def memory_of(pid, field):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field + ":"))


def many_cells():
    """Some minutes with ipykernel: what is left of 10,000 cells and of 1 GiB."""
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        for name, _, python, kernel, _, _ in ways(top):
            with sandbox(python) as client:
                serve = client.serve_pid()
                for _ in range(200):
                    cell(client, kernel)
                before = memory_of(serve, "VmHWM")
                cell(client, kernel, PRINTS % 16)
                fds, memory = len(os.listdir(f"/proc/{serve}/fd")), harness.own_kib(serve)
                took = sum(timed_ms(cell, client, kernel) for _ in range(10000))
                row(f"{name}: 10,000 cells", took / 1000, "s")
                row(f"{name}: descriptors more than before",
                    len(os.listdir(f"/proc/{serve}/fd")) - fds, "", 0)
                row(f"{name}: memory more than before", harness.own_kib(serve) - memory, "KiB", 64)
                took = timed_ms(cell, client, kernel, PRINTS % 1024, 600)
                row(f"{name}: 1 GiB printed", took / 1000, "s")
                row(f"{name}: growth of serve's resident memory at its peak",
                    memory_of(serve, "VmHWM") - before, "KiB", HIGHEST)
                cell(client, kernel)
                row(f"{name}: memory more than before, after 1 GiB", harness.own_kib(serve) - memory, "KiB", 64)


STEPS = (cells, many_cells)
