#!/usr/bin/env python3
"""The figures that the project promises, each beside its floor in the same run.

Prints each row as it is measured and writes build/figures.json. Without a container engine
and images (DOCKER_HOST, OD_IMAGES) those rows are left out by name. Exit status 1 if a figure
misses its target. Names on the command line choose among the steps; --help lists them.
"""
import argparse
import io
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.parse

import rows
from rows import BUILD, CROWD, LOAD, bare_environment, load, row

import appends
import attaches
import browser
import cells
import engine as engines
import events
import execs
import floods
import harness
import many
import tls
import transfers


def median_ms(times, measure):
    """The median of several runs, in milliseconds."""
    out = []
    for _ in range(times):
        t = time.perf_counter()
        measure()
        out.append((time.perf_counter() - t) * 1000)
    return statistics.median(out)


def paired(values, floors):
    """What is on top, by the median of pairs measured one after the other."""
    return statistics.median(v - f for v, f in zip(values, floors))


def vt():
    subprocess.run([os.path.join(BUILD, "release/bench/bench_vt")], check=True)


def json_hostile():
    subprocess.run([os.path.join(BUILD, "release/bench/bench_json_hostile")], check=True)


def size():
    for arch in ("x86_64", "aarch64"):
        for name in "od-runtime-client", "od-plugins":
            path = os.path.join(os.path.dirname(BUILD), arch, name)
            if os.path.exists(path):
                row(f"{name}, {arch}", os.path.getsize(path) / 1000, "kB", 1000)
            else:
                print(f"left out: {name}, {arch}: make ARCH={arch}")


def memory():
    with harness.Client(role="init", prefix=harness.cold()) as client:
        client.get("/alive")
        parts = [harness.pss_kib(client.pid), harness.pss_kib(client.serve_pid())]
        row("idle memory, init and serve (PSS)", sum(parts), "KiB", 1024)


def start():
    home, env = bare_environment()
    floor = statistics.median(load("pty", 10, "true", env=env)["start_us"] for _ in range(10)) / 1000
    got = load("start", 30, harness.CLIENT, env=env)
    row("exec to first 200 on /alive, with bash, p50", got["p50_us"] / 1000, "ms", 20, floor,
        "bash on a raw pty to its first mark")
    row("exec to first 200 on /alive, with bash, max of 30", got["max_us"] / 1000, "ms")
    shutil.rmtree(home)


def latency():
    home, env = bare_environment()
    for command, multiples in (("echo hi", (5, 5)), ("true", (3, 5))):
        before = load("pty", 2000, command, env=env)
        with harness.Client(role="init", env=env) as client:
            got = load("run", client.port, 2000, command)
        after = load("pty", 2000, command, env=env)
        for p, most, times in zip(("p50", "p99"), (1, 5), multiples):
            floor = statistics.mean((before[p + "_us"], after[p + "_us"])) / 1000
            value = got[p + "_us"] / 1000
            row(f"{command}, keep-alive, {p}", value, "ms", most, floor,
                "raw pty round trip to bash")
            row(f"{command}, {p}, as a multiple of the floor", value / floor, "times", times)
    shutil.rmtree(home)


def text_file(size):
    """Lines of text as a log has them, in memory, so that no disk is measured."""
    line = b"2025-01-02 03:04:05 INFO worker-7: request 12345 handled in 0.031 s, 200 OK\n"
    f = tempfile.NamedTemporaryFile(prefix="od-bench-", dir="/dev/shm")
    for _ in range(size // (1 << 20)):
        f.write((line * ((1 << 20) // len(line) + 1))[:1 << 20])
    f.flush()
    return f


def throughput():
    with text_file(1 << 30) as f, harness.Client(role="init") as client:
        client.run("true")
        floor = [load("cat", f.name)["seconds"]]
        before = memory_of(client.serve_pid(), "VmHWM")
        t = time.perf_counter()
        client.run(f"cat {f.name}", timeout=300.0, blocking=True)
        took = time.perf_counter() - t
        grown = memory_of(client.serve_pid(), "VmHWM") - before
        floor.append(load("cat", f.name)["seconds"])
    floor = statistics.mean(floor)
    row("cat of 1 GiB of text", took, "s", None, floor, "a raw pty reader")
    row("cat of 1 GiB, share of the raw reader's speed", floor / took * 100, "%", 80, most=False)
    row("cat of 1 GiB, growth of serve's resident memory at its peak", grown, "KiB", 4096)


def memory_of(pid, field):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field + ":"))


def sessions():
    """What 255 idle sessions cost us, their shells apart."""
    with harness.Client(role="init") as client:
        client.run("true")
        pids = client.pid, client.serve_pid()
        before = sum(map(harness.pss_kib, pids))
        got = load("many", client.port, 255, 2)
        after = sum(map(harness.pss_kib, pids))
    row("255 more sessions, wrong or missing answers", got["wrong"] + got["unanswered"], "", 0)
    row("an idle session, our own memory (PSS)", (after - before) / 255, "KiB", 48)


def soak():
    """Some minutes: only by name."""
    def delete(i):
        conn = client.conn()
        conn.send(harness.request("DELETE", f"/v1/sessions/s{i}"))
        conn.response()
        conn.close()
    with text_file(1 << 30) as f, harness.Client(role="init") as client:
        client.run("true")
        before = memory_of(client.serve_pid(), "VmHWM")
        client.run(f"for i in 1 2 3 4 5 6 7 8 9 10; do cat {f.name}; done", timeout=3600.0,
                   blocking=True)
        row("10 GiB of text, growth of serve's resident memory at its peak",
            memory_of(client.serve_pid(), "VmHWM") - before, "KiB", 4096)
    with harness.Client(role="init") as client:
        client.run("true")
        pids = client.pid, client.serve_pid()
        fds = [len(os.listdir(f"/proc/{pid}/fd")) for pid in pids]
        load("run", client.port, 1000, "echo hi")
        before = sum(map(harness.pss_kib, pids))
        got = load("many", client.port, 1, 1_000_000, timeout=3600)
        row("1,000,000 echo in sequence, wrong", got["wrong"] + got["unanswered"], "", 0)
        row("1,000,000 echo in sequence", got["seconds"], "s")
        delete(0)
        row("memory more than before", sum(map(harness.pss_kib, pids)) - before, "KiB", 64)
        got = load("many", client.port, 200, 500, timeout=3600)
        row("200 sessions of 500 commands, wrong", got["wrong"] + got["unanswered"], "", 0)
        row("200 sessions of 500 commands", got["seconds"], "s")
        for i in range(200):
            delete(i)
        row("memory more than before, sessions deleted",
            sum(map(harness.pss_kib, pids)) - before, "KiB", 128)
        now = [len(os.listdir(f"/proc/{pid}/fd")) for pid in pids]
        row("descriptors more than before", sum(now) - sum(fds), "", 0)


def headers_tree(size):
    """A tree of C, as large as asked: the machine's own headers, over and over."""
    top = tempfile.mkdtemp(prefix="od-bench-")
    have = 0
    copy = 0
    while have < size:
        for folder, _, names in os.walk("/usr/include"):
            to = os.path.join(top, f"copy{copy}", os.path.relpath(folder, "/usr/include"))
            os.makedirs(to, exist_ok=True)
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    shutil.copyfile(path, os.path.join(to, name))
                    have += os.path.getsize(path)
        if not have:
            raise RuntimeError("there are no headers in /usr/include")
        copy += 1
    return top


def gnu_grep(top, pattern):
    """The lines, and the seconds; not into /dev/null, where grep stops at the first."""
    with tempfile.TemporaryFile() as out:
        t = time.perf_counter()
        subprocess.run(["grep", "-rInE", pattern, "."], cwd=top, stdout=out,
                       env={**os.environ, "LC_ALL": "C.UTF-8"})
        took = time.perf_counter() - t
        out.seek(0)
        lines = [line[2:].split(b":", 2) for line in out.read().splitlines()]
    return sorted((path.decode(), int(number), text.decode(errors="replace"))
                  for path, number, text in lines), took


def our_grep(client, top, pattern):
    query = urllib.parse.urlencode({"path": top, "pattern": pattern, "hidden": 1, "gitignore": 0,
                                    "limit": 0, "line_max": 100000, "timeout": 600})
    t = time.perf_counter()
    answer = client.ask(harness.request("GET", "/v1/grep?" + query), 600)
    took = time.perf_counter() - t
    answer = answer.json()
    if answer["truncated"]:
        raise RuntimeError(f"{pattern}: truncated: {answer['truncated']}")
    return sorted((r["path"], x["line"], x["text"])
                  for r in answer["results"] for x in r["lines"]), took


def grep():
    """Every run of ours beside one of GNU grep's, on the same tree, warm."""
    top = headers_tree(1 << 30)
    home, env = bare_environment()
    try:
        with harness.Client(role="init", env=env) as client:
            for pattern in ("pthread_mutex_lock", "EINTR|EAGAIN", "[a-z]+_init_[a-z]+\\(",
                            "\\bgoto\\b", "no such line anywhere"):
                ours, gnus, differ = [], [], 0
                for _ in range(6):
                    want, gnu = gnu_grep(top, pattern)
                    got, our = our_grep(client, top, pattern)
                    differ += got != want
                    ours.append(our)
                    gnus.append(gnu)
                # The first pair warms the cache.
                our, gnu = (statistics.median(x[1:]) for x in (ours, gnus))
                row(f"grep {pattern} in 1 GiB ({len(want)} lines)", our, "s", None, gnu, "GNU grep -r")
                row("as a multiple of GNU grep's time", our / gnu, "times", 2)
                row("runs with other lines than GNU grep's", differ, "", 0)
    finally:
        shutil.rmtree(home)
        shutil.rmtree(top)


def requests():
    port = harness.free_port()
    server = subprocess.Popen([LOAD, "floor", str(port)], stdout=subprocess.PIPE)
    server.stdout.readline()
    floor = load("alive", port, 100, 3)
    server.kill()
    server.wait()
    with harness.Client(role="init") as client:
        got = load("alive", client.port, 100, 3)
    row("/alive, 100 connections", got["per_second"], "per s", 30000, floor["per_second"],
        "a server that does not parse", most=False)
    row("/alive, 100 connections, p99", got["p99_us"] / 1000, "ms", 10, floor["p99_us"] / 1000,
        "a server that does not parse")


def crowd(port, peers, mode):
    done = subprocess.run([CROWD, str(port), str(peers), "5", mode], capture_output=True, text=True,
                          timeout=120)
    if done.returncode:
        raise RuntimeError(f"crowd {mode}: {done.stderr}")
    return json.loads(done.stdout)


def peers():
    """A new connection's /alive beside 10,000 others; the floor is the same without them."""
    with harness.Client(role="init") as client:
        floor = crowd(client.port, 0, "idle")["p99_us"] / 1000
    for mode, what in (("idle", "idle peers"), ("again", "peers that connect again when closed"),
                       ("silent", "silent peers that connect again when closed")):
        with harness.Client(role="init") as client:
            got = crowd(client.port, 10000, mode)
        row(f"/alive on a new connection, 10,000 {what}, p99", got["p99_us"] / 1000, "ms",
            100 if mode == "idle" else None, floor, "without them")
        row(f"probes without an answer, 10,000 {what}", got["unanswered"], "", 0)


def first_answer(client):
    """Seconds from a kill -9 of serve to the first answer to somebody new."""
    request = harness.request("GET", "/alive")
    pid = client.serve_pid()
    t = time.perf_counter()
    os.kill(pid, signal.SIGKILL)
    client.shared = None
    while True:
        try:
            with client.conn() as c:
                if c.send(request).response().status == 200:
                    return time.perf_counter() - t
        except (harness.Closed, OSError):
            pass


def restart():
    with harness.Client(role="init") as client:
        client.run("true")
        times = [first_answer(client) * 1000 for _ in range(20)]
        row("kill -9 of serve to the first answer, p50", statistics.median(times), "ms", 100)
        row("kill -9 of serve to the first answer, max of 20", max(times), "ms", 100)
        client.run("seq 2000000 | head -c 13000000; sleep 1000", timeout=3)
        times, whole = [], []
        for _ in range(20):
            times.append(first_answer(client) * 1000)
            t = time.perf_counter()
            client.run("second")  # which is refused, with what has been printed
            whole.append((time.perf_counter() - t) * 1000)
    row("the same after 13 MB of short lines, p50", statistics.median(times), "ms", 100)
    row("the same after 13 MB of short lines, max of 20", max(times), "ms", 100)
    row("from then to that terminal's first answer, p50", statistics.median(whole), "ms")


def big_image(engine, name):
    """Debian and a file of random bytes: 200 MB, as a user's image would be."""
    with open(os.path.join(os.environ["OD_IMAGES"], "debian.tar"), "rb") as f:
        base = f.read()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo("random")
        info.size = max(0, 200_000_000 - len(base))
        tar.addfile(info, io.BytesIO(os.urandom(info.size)))
    # a tar ends in blocks of zeros: the second one goes in front, without its end
    engine.load(out.getvalue()[:512 + (info.size + 511) // 512 * 512] + base, name)


def raw_context(box, name):
    """What od-runtime sends to the engine, made by hand."""
    dockerfile = box.od("dockerfile", name).stdout
    with open(harness.CLIENT, "rb") as f:
        client = f.read()
    with open(harness.PLUGINS, "rb") as f:
        plugins = f.read()
    return engines.archive({
        "Dockerfile": dockerfile.encode(), "rootfs/": b"", "rootfs/.od/": b"",
        "rootfs/.od/od-plugins": plugins, "rootfs/.od/od-runtime-client": client, "rootfs/openhands/": b"",
        "rootfs/openhands/micromamba/": b"", "rootfs/openhands/micromamba/bin/": b"",
        "rootfs/openhands/micromamba/bin/micromamba": "/.od/od-runtime-client"})


def engine_rows():
    engine = engines.find()
    if not engine or not os.path.exists(os.path.join(os.environ.get("OD_IMAGES", ""), "debian.tar")):
        print("left out: build and run: no container engine or no images (tools/test bench)")
        return
    name = f"{engines.PREFIX}/big:1"
    with engines.Box(engine) as box:
        try:
            big_image(engine, name)
            build_row(engine, box, name)
            run_row(engine, box, name)
        finally:
            box.sweep()
            engine.remove_image(name)


def build_row(engine, box, name):
    context = raw_context(box, name)
    plain = f"{engines.PREFIX}/plain:1"
    floors, walls, owns, cpus = [], [], [], []
    for _ in range(7):
        floors.append(median_ms(1, lambda: engine.call(
            "POST", "/build", context, {"nocache": 1, "rm": 1, "forcerm": 1, "t": plain})))
        before = os.times()
        t = time.perf_counter()
        done = box.od("build", "--force", "--timings", "--json", name)
        walls.append((time.perf_counter() - t) * 1000)
        after = os.times()
        if done.returncode:
            raise RuntimeError(done.stderr)
        cpus.append((after.children_user + after.children_system
                     - before.children_user - before.children_system) * 1000)
        said = json.loads(done.stdout)
        owns.append(sum(step["own_ms"] for step in said["timings"].values()))
    floor, wall = statistics.median(floors), statistics.median(walls)
    row("od-runtime build of a 200 MB image, whole", wall, "ms", None, floor,
        "the engine with the same context, sent by hand")
    row("od-runtime build, more than the engine alone", paired(walls, floors), "ms", 100)
    row("od-runtime build, own work as it says itself", statistics.median(owns), "ms", 100)
    row("od-runtime build, processor time", statistics.median(cpus), "ms", 100)


def run_row(engine, box, name):
    """Image to ready by every way in, beside create and start of the same image: 20 of
    each in turns, as plain docker run does it, with a port published and waiting."""
    ways = {way: [] for way in ("bind", "put", "volume", "build")}
    box.od("build", name)
    floors = []
    for _ in range(20):
        plain = {"Cmd": ["sleep", "1000"], "ExposedPorts": {"8000/tcp": {}}, "HostConfig": {
            "PortBindings": {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": ""}]}}}
        made = []
        floors.append(median_ms(1, lambda: made.append(engine.start(name, **plain))))
        engine.remove(made[0])
        for way, walls in ways.items():
            sandbox = box.name()
            walls.append(median_ms(
                1, lambda: box.od("run", "--via", way, "--name", sandbox, name)))
            box.od("rm", "--force", sandbox)
    floor = statistics.median(floors)
    for way, walls in ways.items():
        row(f"od-runtime run --via {way}, image to ready", statistics.median(walls), "ms",
            None, floor, "create and start of the same image")
        row(f"od-runtime run --via {way}, more than that", paired(walls, floors), "ms",
            30 if way == "bind" else None)


def update():
    """Another client in a running sandbox, in turns: the client that ships, and the same with a byte more."""
    engine = engines.find()
    if not engine or not os.path.exists(execs.BUSYBOX):
        print("left out: update: no container engine or no static busybox")
        return
    with engines.Box(engine) as box, tempfile.TemporaryDirectory(prefix="od-bench-") as top:
        other = os.path.join(top, "client")
        shutil.copy(harness.BOXED, other)
        with open(other, "ab") as f:
            f.write(b"\0")
        with open(execs.BUSYBOX, "rb") as f:
            files = {"bin/busybox": f.read(), "bin/sh": "busybox"}
        image, name = f"{engines.PREFIX}/update:1", box.name()
        engine.load(engines.archive(files), image)
        done = box.od("run", image, "--name", name, env={"SANDBOX_UPDATE_SOURCE_CODE": "true"})
        clients = [other, harness.BOXED] * 5
        times = []
        while clients and not done.returncode:
            t = time.perf_counter()
            done = box.od("update", name, "--client", clients.pop(0))
            times.append((time.perf_counter() - t) * 1000)
        if done.returncode:
            raise RuntimeError(done.stderr)
        row("od-runtime update of a running sandbox, p50", statistics.median(times), "ms", 1000)


def main():
    steps = {f.__name__: f for f in (vt, json_hostile, size, memory, start, latency, throughput, sessions, requests,
                                     peers, floods.floods,
                                     restart, grep, tls.tls, *transfers.STEPS, *cells.STEPS,
                                     *browser.STEPS, *events.STEPS,
                                     appends.appends, *attaches.STEPS, *execs.STEPS, engine_rows, update, many.images)}
    by_name = {f.__name__: f for f in (soak, *events.BY_NAME)}
    options = argparse.ArgumentParser(
        formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__,
        epilog=f"steps: {' '.join(steps)}\nby name only: {' '.join(by_name)}")
    options.add_argument("names", nargs="*", metavar="STEP", help="measure this step; default: all but those by name only")
    names = options.parse_args().names
    for name in names:
        if name not in steps and name not in by_name:
            options.error(f"there is no step {name}")
    rows.print_line("figure", "measured", "target", "floor, in the same run")
    for name in names or steps:
        try:
            {**steps, **by_name}[name]()
        finally:
            for client in list(harness.Client.alive):
                client.kill()
    rows.save()
    return 0 if all(r["good"] for r in rows.ROWS) else 1


if __name__ == "__main__":
    sys.exit(main())
