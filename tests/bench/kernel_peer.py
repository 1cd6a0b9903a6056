#!/usr/bin/python3
"""Jupyter's own client beside ours, with the same kernels in the same run.

    tests/bench/kernel_peer.py build/x86_64/release/integration/kernel/test_kernel
    tests/bench/kernel_peer.py --json NAME

Prints the time until a kernel is ready and that of `1+1`, of ours as test_kernel
measures them and of jupyter_client (Debian's python3-ipykernel brings it); or of the
latter alone, for other programs.
"""
import json
import statistics
import subprocess
import sys
import time

RUNS = 200


def peer(name):
    from jupyter_client import KernelManager

    began = time.monotonic()
    manager = KernelManager(kernel_name=name)
    manager.start_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        ready = time.monotonic() - began
        took = []
        for _ in range(RUNS):
            began = time.perf_counter()
            client.execute_interactive("1+1", store_history=False, allow_stdin=False,
                                       output_hook=lambda m: None, timeout=20)
            took.append(time.perf_counter() - began)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    took.sort()
    return ready, took


def show(name):
    ready, took = peer(name)
    print(f"# {name} by jupyter_client: ready in {ready * 1000:.0f} ms")
    print(f"# {name} by jupyter_client: 1+1 p50 {statistics.median(took) * 1000:.2f} ms, "
          f"p99 {took[RUNS * 99 // 100] * 1000:.2f} ms", flush=True)


def main():
    if sys.argv[1:2] == ["--json"]:
        ready, took = peer(sys.argv[2])
        print(json.dumps({"ready_ms": ready * 1000, "p50_ms": statistics.median(took) * 1000}))
        return 0
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 100
    ours = subprocess.run([sys.argv[1]], capture_output=True, text=True)
    print("\n".join(line for line in ours.stdout.splitlines() if line.startswith("# ")))
    for name in ("python3", "ir"):
        try:
            show(name)
        except Exception as e:  # no such kernel, or no client: the row is missing
            print(f"# {name} by jupyter_client: {type(e).__name__}: {e}")
    return ours.returncode


sys.exit(main())
