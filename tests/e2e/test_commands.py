#!/usr/bin/env python3
"""Commands for scripts with a real engine: DOCKER_HOST.

Skipped by name where there is none, or no static busybox to make images of.
"""
import json
import os

import engine as real
import harness
from harness import eq, ok

BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
LINKS = ("sh", "cat", "sleep", "true", "ls", "id", "env", "touch", "stat")


def load(box):
    with open(BUSYBOX, "rb") as f:
        files = {"bin/busybox": f.read(), "tmp/": b""}
    files.update({f"bin/{name}": "busybox" for name in LINKS})
    name = f"{real.PREFIX}/commands:1"
    box.engine.load(real.archive(files), name)
    return name


def od(*argv, **more):
    return BOX.od(*argv, **more)


def good(*argv):
    got = od(*argv)
    eq((got.returncode, got.stderr), (0, ""), " ".join(argv)[:70])
    return got.stdout


def ps(name, *options):
    rows = json.loads(good("ps", "--json", "--filter", "name=" + name, *options))
    return next((r for r in rows if r["name"] == name), None)


# --- ps -----------------------------------------------------------------------------


def test_ps_usage():
    name, apart = BOX.run(IMAGE), BOX.run(IMAGE, "--network", "none")
    BOX.content(name, "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done")
    row = ps(name)
    stats = ENGINE.call("GET", f"/containers/{name}/stats", query={"stream": "0", "one-shot": "1"})
    used = stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9
    ok(0 < row["cpu_seconds"] <= used, "ps: cpu_seconds is not more than the engine measures later", (row, used))
    ok(0 < row["memory"] <= stats["memory_stats"]["usage"] * 4, "ps: memory is near to what the engine measures",
       (row, stats["memory_stats"]["usage"]))
    eq([ps(name, "--no-stats")[k] for k in ("cpu_seconds", "memory")], [None, None], "ps --no-stats")
    eq(ps(apart)["cpu_seconds"], None, "ps does not measure a sandbox without a port")
    row = ps(apart, "--stats")
    ok(row["cpu_seconds"] > 0 and row["memory"] > 0, "ps --stats has the engine measure it", row)
    head, line = good("ps", "--filter", "name=" + name).splitlines()
    eq((head.split(), len(line.split())),
       (["NAME", "IMAGE", "STATE", "METHOD", "PORT", "CPU", "MEMORY", "AGE"], 8), "ps: columns")
    eq(good("ps", "--no-stats", "--filter", "name=" + name).splitlines()[0].split(),
       ["NAME", "IMAGE", "STATE", "METHOD", "PORT", "AGE"], "ps --no-stats: columns")
    good("pause", name)
    eq(ps(name)["cpu_seconds"], None, "ps does not wait for a paused sandbox")
    good("resume", name)
    good("stop", "-t", "1", name)
    eq(ps(name)["cpu_seconds"], None, "ps: a stopped sandbox uses nothing")
    good("rm", "-f", name, apart)
    name = BOX.run(IMAGE, "--tls")
    ok(ps(name)["cpu_seconds"] > 0, "ps measures by way of TLS")
    good("rm", "-f", name)


ENGINE = real.find()
if not ENGINE or not BUSYBOX or not os.path.exists(harness.BOXED):
    print("1..0 # SKIP no engine, no busybox or no od-runtime-client")
else:
    with real.Box(ENGINE) as BOX:
        IMAGE = load(BOX)
        harness.main()
