"""What it costs to put our layer on an image of 2 GB without an engine, in an archive, a
layout and a registry; beside it what cp takes for as many bytes."""
import contextlib
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import tarfile
import tempfile

import harness
import many
from rows import LOAD, row

SIZE, TIMES = 2_000_000_000, 5
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]


def layer(path):
    """A layer of random bytes; its digest."""
    sha = hashlib.sha256()
    head = tarfile.TarInfo("random")
    head.size = SIZE
    with open(path, "wb") as f:
        def put(data):
            sha.update(data)
            f.write(data)
        put(head.tobuf())
        for at in range(0, SIZE, 1 << 24):
            put(os.urandom(min(1 << 24, SIZE - at)))
        put(bytes(-SIZE % 512 + 1024))
    return "sha256:" + sha.hexdigest()


def archive(top):
    """What docker save would write."""
    blob, path = os.path.join(top, "layer"), os.path.join(top, "base.tar")
    config = json.dumps({"architecture": ARCH, "os": "linux", "config": {"Cmd": ["sh"]}, "rootfs": {
        "type": "layers", "diff_ids": [layer(blob)]}}).encode()
    with tarfile.open(path, "w") as tar:
        tar.add(blob, "layer.tar")
        many.add(tar, "config.json", config)
        many.add(tar, "manifest.json", json.dumps([{
            "Config": "config.json", "RepoTags": ["big:1"], "Layers": ["layer.tar"]}]).encode())
    os.unlink(blob)
    return path


@contextlib.contextmanager
def registry(top):
    port = harness.free_port()
    with open(f"{top}/registry.yml", "w") as f:
        f.write(f"version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem:\n"
                f"    rootdirectory: {top}/data\nhttp:\n  addr: 127.0.0.1:{port}\n")
    process = subprocess.Popen(["docker-registry", "serve", f"{top}/registry.yml"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        harness.until(lambda: harness.listening(port))
        yield f"registry:localhost:{port}"
    finally:
        process.kill()
        process.wait()


def spent(*argv):
    """What the program has printed, and its cost."""
    done = subprocess.run([LOAD, "spent", *argv], capture_output=True, text=True, check=True)
    *said, cost = done.stdout.splitlines()
    return said, json.loads(cost)


def build(source, target, *more):
    return spent(harness.RUNTIME, "build", source, "--output", target, "-t", "big:2",
                 "--client", harness.CLIENT, *more)


def remove(path):
    shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.unlink(path)


def measure(name, source, target, path, floor=None):
    """In turns with the floor, which leaves out what writing such a file takes here."""
    digests, users, totals, mores, walls, peaks, floors = set(), [], [], [], [], [], []
    for _ in range(TIMES):
        if floor:
            cost = spent("cp", "--reflink=never", source.split(":", 1)[1], floor)[1]
            floors.append(cost["user"] + cost["system"])
            os.unlink(floor)
        said, cost = build(source, target)
        digests.update(said)
        users.append(cost["user"])
        totals.append(cost["user"] + cost["system"])
        mores.append(totals[-1] - floors[-1] if floor else totals[-1])
        walls.append(cost["wall"])
        peaks.append(cost["peak_kib"])
        if path:
            remove(path)
    row(f"append to 2 GB, {name}: whole", statistics.median(walls), "s")
    row("  processor time outside the kernel", statistics.median(users), "s", 1)
    row("  with the kernel's, more than cp's" if floor else "  with the kernel's",
        statistics.median(mores), "s", 1, statistics.median(floors) if floor else None,
        "cp of the archive")
    row("  resident at most", max(peaks), "KiB", 16 << 10)
    row("  digests in all runs", len(digests), "", 1)


def appends():
    if not shutil.which("docker-registry"):
        print("left out: append: no docker-registry")
        return
    with tempfile.TemporaryDirectory(prefix="od-bench-", dir="/var/tmp") as top:
        base = f"archive:{archive(top)}"
        out, layout = f"{top}/out.tar", f"{top}/layout"
        measure("archive to archive", base, f"archive:{out}", out, f"{top}/floor.tar")
        said, cost = build(base, f"archive:{out}", "--verify")
        row("  with --verify, outside the kernel", cost["user"], "s")
        os.unlink(out)
        build(base, f"oci:{layout}")
        measure("layout to layout", f"oci:{layout}", f"oci:{layout}2", f"{layout}2")
        with registry(top) as host:
            build(f"oci:{layout}", f"{host}/base:1")
            shutil.rmtree(layout)
            measure("registry to registry", f"{host}/base:1", f"{host}/other:1", None)
