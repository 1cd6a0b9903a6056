"""500 images in a row, each of a base of its own, eight at a time; nothing may stay of
what was needed on the way. Beside it what the engine takes for the same without us."""
import concurrent.futures
import glob
import hashlib
import io
import json
import os
import tarfile
import tempfile
import time

import engine as engines
import harness
from rows import row

IMAGES, AT_ONCE, FLOOR_IMAGES = 500, 8, 60
REPO = f"{engines.PREFIX}/many"
BUSYBOX = "/bin/busybox"
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]


def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def bases():
    """What docker save would write of all of them: one layer is in every image, the other,
    of one file, is its own."""
    with open(BUSYBOX, "rb") as f:
        shared = engines.archive({"bin/": b"", "bin/busybox": f.read(), "bin/sh": "busybox"})
    out, manifest = io.BytesIO(), []
    with tarfile.open(fileobj=out, mode="w") as tar:
        add(tar, "shared.tar", shared)
        for i in range(IMAGES):
            own = engines.archive({"etc/": b"", "etc/number": b"%d\n" % i})
            config = json.dumps({
                "architecture": ARCH, "os": "linux", "config": {"Cmd": ["sh"]},
                "rootfs": {"type": "layers", "diff_ids": [
                    "sha256:" + hashlib.sha256(x).hexdigest() for x in (shared, own)]}}).encode()
            add(tar, f"{i}.tar", own)
            add(tar, f"{i}.json", config)
            manifest.append({"Config": f"{i}.json", "RepoTags": [f"{REPO}:{i}"],
                             "Layers": ["shared.tar", f"{i}.tar"]})
        add(tar, "manifest.json", json.dumps(manifest).encode())
    return out.getvalue()


def in_parallel(work, n):
    """How many of work(0) to work(n - 1) are done in a second."""
    began = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(work, range(n)))
    return n / (time.perf_counter() - began)


def left(engine):
    """All that a build may leave: ids and names, of the engine and of the file system."""
    images = engine.call("GET", "/images/json", query={"all": "1"})
    names = {t for i in images for t in i["RepoTags"] or []}
    return {
        "containers": {c["Id"] for c in engine.call("GET", "/containers/json", query={"all": "1"})},
        "images without a name": {i["Id"] for i in images
                                  if not set(i["RepoTags"] or []) - {"<none>:<none>"}},
        "lent names": {t for t in names if t.startswith("od-runtime-base:")},
        "volumes": {v["Name"] for v in engine.call("GET", "/volumes")["Volumes"] or []},
        "files": set(glob.glob(os.path.join(tempfile.gettempdir(), "od-runtime*"))),
    }


def floor_build(engine, context):
    """The engine's builder with the very same context but for the base."""
    def one(i):
        engine.call("POST", "/build", context(i), {"rm": 1, "forcerm": 1, "networkmode": "none",
                                                   "t": f"{REPO}-plain:{i}"})
    return one


def floor_commit(engine, tar):
    """A container, the files put into it, a commit: what no builder is needed for."""
    def one(i):
        made = engine.call("POST", "/containers/create", {"Image": f"{REPO}:{i}"})["Id"]
        engine.call("PUT", f"/containers/{made}/archive?path=/", tar)
        engine.call("POST", "/commit", {}, {"container": made, "repo": f"{REPO}-plain",
                                            "tag": f"c{i}", "pause": 0})
        engine.remove(made)
    return one


def build_of(box, failed):
    def one(i):
        done = box.od("build", f"{REPO}:{i}")
        if done.returncode:
            failed.append(done.stderr)
    return one


def measure(engine, box):
    failed = []
    engine.call("POST", "/images/load", bases())
    dockerfile = box.od("dockerfile", f"{REPO}:0").stdout
    with open(harness.CLIENT, "rb") as f:
        client = f.read()
    with open(harness.PLUGINS, "rb") as f:
        plugins = f.read()
    files = {"rootfs/": b"", "rootfs/.od/": b"", "rootfs/.od/od-plugins": plugins,
             "rootfs/.od/od-runtime-client": client}
    put = engines.archive({".od/": b"", ".od/od-plugins": plugins, ".od/od-runtime-client": client})
    id0 = engine.image(f"{REPO}:0")["Id"]

    def context(i):
        own = dockerfile.replace(id0, engine.image(f"{REPO}:{i}")["Id"])
        return engines.archive({"Dockerfile": own.encode(), **files})

    builds = in_parallel(floor_build(engine, context), FLOOR_IMAGES)
    commits = in_parallel(floor_commit(engine, put), FLOOR_IMAGES)
    before = left(engine)
    speed = in_parallel(build_of(box, failed), IMAGES)
    after = left(engine)
    row(f"{IMAGES} images, {AT_ONCE} at a time", speed, "per s", 10, builds,
        "the engine with the same contexts, sent by hand", most=False)
    row("the same by commits, sent by hand", commits, "per s")
    row("of them failed", len(failed), "", 0)
    for what, there in after.items():
        row(f"left by them: {what}", len(there - before[what]), "", 0)


def images():
    engine = engines.find()
    if not engine or not os.path.exists(BUSYBOX):
        print("left out: many images: no container engine, or no busybox")
        return
    with engines.Box(engine) as box:
        try:
            measure(engine, box)
        finally:
            box.sweep()
