#!/usr/bin/env python3
"""Options of run that docker run has too: what the engine is asked to create is what docker asks for.

The docker command line and od-runtime each talk to an engine that records the request. The tests with a real
engine (DOCKER_HOST) are skipped by name where there is none."""
import json
import os
import shutil
import subprocess

import harness
from harness import eq, has, ok, skip
import engine as real
from fake_engine import Engine, refusal
from program import write_program
from registry import Mock, image as registry_image

BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
DOCKER = shutil.which("docker")
TEMP = harness.scratch("od-options-")
CLIENT = os.path.join(TEMP, "client")
# Members with values of their own: the arguments of the client, its labels, the aliases of a network.
OWN = {"Cmd", "Labels", "NetworkingConfig"}

SAME = (
    ["--privileged"],
    ["--device", "/dev/fuse"],
    ["--device", "/dev/sda:/dev/xvda"],
    ["--device", "/dev/sda:r", "--device", "/dev/sdb:/dev/xvdb:rm"],
    ["--dns", "10.0.0.53", "--dns", "fd00::53"],
    ["--dns-search", "example.org", "--dns-search", "a.b"],
    ["--dns-search", "."],
    ["--dns-option", "ndots:2", "--dns-option", "rotate"],
    ["--ipc", "none"], ["--ipc", "private"], ["--ipc", "shareable"], ["--ipc", "host"], ["--ipc", "container:other"],
    ["--pid", "host"], ["--pid", "container:other"],
    ["--uts", "host"],
    ["--userns", "host"],
    ["--cgroupns", "host"], ["--cgroupns", "private"],
    ["--memory", "64m", "--memory-swap", "128m"],
    ["--memory", "64m", "--memory-swap", "-1"],
    ["--memory-swap", "-1"],
    ["--memory-reservation", "32m"],
    ["--cpuset-cpus", "0-1,3"],
    ["--cpu-shares", "512"], ["-c", "256"],
    ["--sysctl", "net.core.somaxconn=1024", "--sysctl", "kernel.sem=1 2 3 4"],
    ["--sysctl", "net.a=1", "--sysctl", "net.a=2"],
    ["--stop-signal", "SIGINT"], ["--stop-signal", "9"],
    ["--stop-timeout", "5"], ["--stop-timeout", "0"], ["--stop-timeout", "-1"],
    ["--log-driver", "none"],
    ["--log-driver", "local", "--log-opt", "max-size=10m", "--log-opt", "max-file=3"],
    ["--log-opt", "tag=a=b", "--log-opt", "mode"],
    ["--runtime", "runsc"],
    ["--group-add", "44", "--group-add", "video"],
    ["--volumes-from", "one", "--volumes-from", "two:ro"],
    ["-P"], ["--publish-all"],
    ["--restart", "no"], ["--restart", "always"], ["--restart", "unless-stopped"], ["--restart", "on-failure"],
    ["--restart", "on-failure:3"],
    ["--annotation", "a=1", "--annotation", "b", "--annotation", "a=2"],
    ["--net", "some"], ["--network", "some"],
    ["--memory", "512m"], ["-m", "1g"], ["--cpus", "1.5"], ["--shm-size", "64m"],
    ["--pids-limit", "50"], ["--pids-limit", "-1"],
    ["--init"], ["--hostname", "hh"], ["--user", "7:8"], ["-u", "nobody"],
    ["--add-host", "db:10.0.0.5"], ["--ulimit", "nofile=5:6"], ["--ulimit", "core=7"],
    ["--tmpfs", "/run:size=1m", "--tmpfs", "/x"], ["--security-opt", "no-new-privileges"],
    ["--env", "A=1"], ["-e", "B= 2"],
    ["--mount", "type=bind,src=/e,dst=/f,readonly", "--mount", "type=tmpfs,dst=/g,tmpfs-size=1m"],
    ["--workdir", "/some/where"],
)

# Neither program takes these, before it asks the engine for anything.
REFUSED = (
    (["--device", "a:b:c:d"], "--device a:b:c:d"), (["--device", "dev/fuse"], "does not begin with /"),
    (["--device", "/dev/a:/dev/b:x"], "letters r, w and m"), (["--device", ":/dev/b"], "--device"),
    (["--dns", "host"], "not an IPv4 or IPv6 address"), (["--dns", "10.0.0.1:53"], "not an IPv4"),
    (["--dns-search", "a b"], "not a domain name"), (["--dns-search", "-a"], "not a domain name"),
    (["--pid", "private"], "--pid 'private'"), (["--pid", "container:"], "host or container:NAME"),
    (["--uts", "private"], "--uts 'private'"), (["--userns", "x"], "--userns 'x'"),
    (["--cgroupns", "x"], "host or private"),
    (["--memory-swap", "x"], "not a size"), (["--memory-reservation", "x"], "not a size"),
    (["--cpu-shares", "x"], "not a number"),
    (["--sysctl", "net.a"], "not NAME=VALUE"), (["--sysctl", "kernel.panic=1"], "belongs to the whole machine"),
    (["--stop-timeout", "x"], "not a duration"),
    (["--log-driver", "none", "--log-opt", "a=b"], "leave --log-opt out"),
    (["--restart", "a:b:c"], "--restart a:b:c"), (["--restart", "on-failure:x"], "not a number"),
    (["--rm", "--restart", "always"], "cannot be combined: one removes"),
)

# The engine would refuse these, or do nothing with them; od-runtime says so before it asks.
OURS = (
    (["--ipc", "x"], "none, private, shareable, host or container:NAME"),
    (["--restart", "sometimes"], "not one of no, on-failure"), (["--restart", "always:3"], "only on-failure"),
    (["--uts", "host", "--hostname", "x"], "leave --hostname out"),
    (["--memory", "64m", "--memory-swap", "32m"], "--memory-swap is less than --memory"),
    (["--memory-swap", "64m"], "add --memory"),
    (["--network", "none", "-P"], "publishes no port"), (["--network", "host", "-P"], "--publish cannot be combined with"),
    (["--log-opt", "=x"], "not NAME=VALUE"), (["--annotation", "=x"], "not NAME=VALUE"),
)


def recorder(api="1.50"):
    """An engine that refuses to create a container, and records what it is asked to create."""
    path = os.path.join(TEMP, f"engine{len(os.listdir(TEMP))}")
    head = f"HTTP/1.1 200 OK\r\nApi-Version: {api}\r\nOstype: linux\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode()
    return Engine(path, api=api, answers=[("HEAD", "/_ping", head),
                                          ("POST", "/containers/create", refusal(400, "recorded"))])


def environment(engine):
    env = {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS") or k == "PATH"}
    return {**env, "DOCKER_HOST": "unix://" + engine.path, "DOCKER_CONFIG": TEMP, "HOME": TEMP,
            "OD_STATE_DIR": os.path.join(TEMP, "state"), "OD_RUNTIME_CLIENT": CLIENT}


def call(engine, *argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment(engine),
                          timeout=harness.DEADLINE * 3)


def docker(engine, *options):
    return call(engine, DOCKER, "run", "-d", *options, "base:1")


def od(engine, *options):
    return call(engine, *harness.WRAP, harness.RUNTIME, "run", "--via", "put", *options, "base:1")


def asked(engine, run, *options):
    """The members of the request, those of HostConfig by HostConfig.NAME; None without a request."""
    engine.log.clear()
    got = run(engine, *options)
    made = engine.called("POST", "/containers/create")
    if not made:
        ok(False, f"{options}: the engine is asked", got.stderr)
        return {}
    doc = made[-1].json()
    host = doc.pop("HostConfig")
    return {**doc, **{"HostConfig." + k: v for k, v in host.items()}}


def test_same_as_docker():
    if not DOCKER:
        return skip("the same requests as docker", "there is no docker command")
    engine = recorder()
    known = call(engine, DOCKER, "run", "--help").stdout
    theirs, ours = asked(engine, docker), asked(engine, od)
    for options in SAME:
        name = " ".join(options)
        if options[0] not in known:
            skip(f"the same request for {name}", "this docker does not have the option")
            continue
        theirs_with, ours_with = asked(engine, docker, *options), asked(engine, od, *options)
        changed = {k for k in theirs_with if theirs_with[k] != theirs.get(k)} - OWN
        added = {k for k in ours_with if ours_with[k] != ours.get(k)} - OWN
        ok(changed or options == ["--restart", "no"], f"{name}: docker asks for something else")
        for key in sorted(changed | added):
            eq(json.dumps(ours_with.get(key), sort_keys=True), json.dumps(theirs_with.get(key), sort_keys=True),
               f"{name}: {key} is the same")
    engine.close()


def test_refused():
    engine = recorder()
    for options, words in REFUSED + OURS:
        name = " ".join(options)
        if DOCKER and (options, words) in REFUSED:
            got = docker(engine, *options)
            eq((got.returncode, engine.called("POST", ".*")), (125, []), f"docker refuses {name}")
        engine.log.clear()
        got = od(engine, *options)
        eq((got.returncode, got.stdout, engine.log), (100, "", []), f"od-runtime refuses {name}")
        has(got.stderr, words, f"{name}: the error says why")
        has(got.stderr, "\n  next: ", f"{name}: the error has a next step")
        engine.log.clear()
    got = call(engine, harness.RUNTIME, "mcp", "base:1", "--restart", "always")
    eq((got.returncode, engine.log), (100, []), "mcp, which removes its sandbox, has no --restart")
    engine.close()


def test_annotation_needs_version():
    engine = recorder(api="1.41")
    got = od(engine, "--annotation", "a=1")
    eq((got.returncode, engine.called("POST", ".*")), (100, []), "an engine without annotations is not asked")
    has(got.stderr, "needs version 1.43 of the engine's API, but the engine has 1.41", "the error has both versions")
    engine.close()


# --- With a real engine --------------------------------------------------------------

LINKS = ("sh", "ls", "id", "cat", "sleep", "true", "hostname", "grep", "pwd", "test", "ps", "kill", "touch", "mount")


def load(box, name="options", *changes):
    with open(BUSYBOX, "rb") as f:
        files = {"bin/busybox": f.read(), "etc/": b"", "root/": (b"", 0o700),
                 "etc/passwd": b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"}
    files.update({f"bin/{link}": "busybox" for link in LINKS})
    name = f"{real.PREFIX}/{name}:1"
    box.engine.load(real.archive(files), name, *changes)
    return name


def usable(name):
    if BOX:
        return True
    skip(name, "no engine, no busybox or no od-runtime-client")
    return False


def inside(name, command):
    return BOX.content(name, command)


def test_rights():
    if not usable("rights"):
        return
    name = BOX.run(IMAGE, "--device", "/dev/null:/dev/od-null", "--group-add", "4242")
    eq(inside(name, "ls /dev/od-null"), "/dev/od-null", "--device gives a device")
    ok("4242" in inside(name, "grep Groups /proc/1/status").split(), "--group-add gives a group to the server")
    BOX.od("rm", "-f", name)


def test_privileged():
    if not usable("--privileged"):
        return
    try:
        plain = ENGINE.start(IMAGE, Cmd=["true"], HostConfig={"Privileged": True})
    except RuntimeError as e:
        return skip("--privileged", f"not on this machine: {str(e)[-120:]}")
    ENGINE.remove(plain)
    name = BOX.run(IMAGE, "--privileged")
    bounding = subprocess.run(["grep", "CapBnd", "/proc/self/status"], capture_output=True, text=True).stdout.split()[1]
    eq(inside(name, "grep CapEff /proc/self/status").split()[1], bounding, "--privileged gives all capabilities")
    BOX.od("rm", "-f", name)


def test_names():
    if not usable("names"):
        return
    name = BOX.run(IMAGE, "--dns", "10.9.8.7", "--dns-search", "od.test", "--dns-option", "ndots:3", "--uts", "host",
                   "--sysctl", "net.core.somaxconn=777")
    said = inside(name, "cat /etc/resolv.conf")
    for words in ("nameserver 10.9.8.7", "search od.test", "ndots:3"):
        has(said, words, f"resolv.conf has {words}")
    eq(inside(name, "hostname"), os.uname().nodename, "--uts host")
    eq(inside(name, "cat /proc/sys/net/core/somaxconn"), "777", "--sysctl")
    BOX.od("rm", "-f", name)


def processes_with(word):
    out = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if word.encode() in f.read():
                    out.append(int(pid))
        except OSError:
            pass
    return out


def test_pid_host():
    """The client is not process 1 then; it adopts what loses its parent all the same, and ends it."""
    if not usable("--pid host"):
        return
    name = BOX.run(IMAGE, "--pid", "host", "--ipc", "host", "--cgroupns", "host", "--userns", "host")
    mark = f"19{os.getpid()}"
    ok(int(inside(name, "echo $$")) > 300 and str(os.getpid()) in inside(name, "ls /proc").split(),
       "the sandbox sees processes of the machine")
    inside(name, f"(sleep {mark} &) ; true")
    ok(harness.until(lambda: processes_with(mark)), "a process of the sandbox has lost its parent")
    eq(inside(name, "echo on"), "on", "the sandbox goes on")
    eq(BOX.od("stop", name).returncode, 0, "stop")
    eq(processes_with(mark), [], "stop ends that process, too")
    BOX.od("rm", "-f", name)
    other = BOX.run(IMAGE)
    name = BOX.run(IMAGE, "--pid", "container:" + other)
    eq(inside(name, "echo on"), "on", "--pid container:NAME")
    eq(BOX.od("rm", "-f", name).returncode, 0, "rm")
    eq(inside(other, "echo on"), "on", "the other sandbox goes on")
    BOX.od("rm", "-f", other)


def test_limits():
    if not usable("limits"):
        return
    name = BOX.run(IMAGE, "--memory", "64m", "--memory-reservation", "32m", "--cpuset-cpus", "0", "-c", "512")
    host = ENGINE.container(name)["HostConfig"]
    eq((host["Memory"], host["MemoryReservation"], host["CpusetCpus"], host["CpuShares"]),
       (64 << 20, 32 << 20, "0", 512), "the engine has the limits")
    eq(inside(name, "grep Cpus_allowed_list /proc/self/status").split()[1], "0", "--cpuset-cpus")
    BOX.od("rm", "-f", name)


def test_volumes_from():
    if not usable("--volumes-from"):
        return
    volume = real.PREFIX + "-from"
    for way in ("bind", "volume"):
        one = BOX.run(IMAGE, "--via", way, "-v", volume + ":/data")
        inside(one, "echo kept > /data/k")
        two = BOX.run(IMAGE, "--via", way, "--volumes-from", one)
        eq(inside(two, "cat /data/k"), "kept", f"--via {way}: the volume of another sandbox")
        BOX.od("rm", "-f", one, two)
    ENGINE.call("DELETE", "/volumes/" + volume)


def test_publish_all():
    if not usable("--publish-all"):
        return
    image = load(BOX, "exposes", "EXPOSE 7070")
    name = BOX.run(image, "-P")
    ports = ENGINE.container(name)["NetworkSettings"]["Ports"]
    ok(ports["7070/tcp"], "a port that the image exposes is published", ports)
    eq([b["HostIp"] for b in ports["8000/tcp"]], ["127.0.0.1"], "the server's port stays on the loopback")
    BOX.od("rm", "-f", name)


def test_restart():
    if not usable("--restart"):
        return
    name = BOX.run(IMAGE, "--restart", "always", "--stop-timeout", "7", "--stop-signal", "SIGINT")
    doc = ENGINE.container(name)
    eq((doc["Config"]["StopTimeout"], doc["Config"]["StopSignal"]), (7, "SIGINT"), "the engine has them")
    inside(name, "echo kept > /k")
    # A process from outside ends it: the engine takes its own kill for a stop.
    os.kill(doc["State"]["Pid"], 9)
    ok(harness.until(lambda: ENGINE.container(name)["RestartCount"] > 0), "the engine starts it again")
    got = harness.until(lambda: (lambda g: g if g.returncode == 0 else None)(
        BOX.od("action", name, json.dumps({"action": "run", "args": {"command": "cat /k"}}))))
    ok(got and "kept" in got.stdout, "and its commands work", got)
    eq(BOX.od("stop", name).returncode, 0, "stop")
    doc = ENGINE.container(name)["State"]
    eq((doc["Status"], doc["ExitCode"]), ("exited", 0), "SIGINT ends it, and it is not started again")
    BOX.od("rm", "-f", name)


def test_log_none():
    if not usable("--log-driver none"):
        return
    name = BOX.run(IMAGE, "--log-driver", "none")
    got = BOX.od("logs", name)
    eq(got.returncode, 111, "no log can be read")
    has(got.stderr, "\n  next: ", "the error has a next step")
    BOX.od("rm", "-f", name)
    got = BOX.od("run", "--runtime", "nonesuch", IMAGE)
    eq(got.returncode, 111, "a runtime that the engine does not have")
    has(got.stderr, "nonesuch", "the error has its name")
    has(got.stderr, "\n  next: ", "and a next step")


def test_workdir():
    """As with docker, a folder that is absent is made; one that the user cannot enter is an error."""
    if not usable("--workdir"):
        return
    name = BOX.name()
    got = BOX.od("run", "--rm", "--name", name, "--workdir", "/root", "-u", "nobody", IMAGE, "--", "pwd")
    eq((got.returncode, got.stdout), (111, ""), "a folder that the user cannot enter")
    has(got.stderr, "user nobody (uid 65534) cannot enter the working directory /root: Permission denied",
        "the error names the user, the folder and the reason")
    eq(BOX.od("ps", "-q", "--filter", "name=" + name).stdout, "", "no sandbox is left")
    for user, folder in (("nobody", "/made/for/it"), ("nobody", "/etc"), ("0", "/root"), ("1234:5", "/made/too")):
        got = BOX.od("run", "--rm", "-w", folder, "-u", user, IMAGE, "--", "pwd")
        eq((got.returncode, got.stdout), (0, folder + "\n"), f"{folder} as {user}")
    got = BOX.od("run", "--rm", "-w", "/etc/passwd", IMAGE, "--", "pwd")
    eq((got.returncode, got.stdout), (111, ""), "a file is no working directory")
    has(got.stderr, "/etc/passwd", "the error names it")


def test_pull():
    """From a registry on the loopback, which engines take without TLS."""
    if not usable("--pull"):
        return
    mock = Mock(registry_image())
    name = f"{mock.host}/r/img:1"
    got = BOX.od("run", "--rm", "--pull", "never", name, "--", "sh", "-c", "echo hi")
    eq((got.returncode, mock.origin.log), (111, []), "--pull never does not ask the registry")
    has(got.stderr, "--pull never is set\n  next: ", "the error has a next step")
    got = BOX.od("run", "--rm", name, "--", "sh", "-c", "echo hi")
    eq((got.returncode, got.stdout), (0, "hi\n"), "run fetches an image that the engine does not have")
    asked_before = len(mock.origin.log)
    ok(asked_before, "from its registry")
    got = BOX.od("run", "--rm", name, "--", "sh", "-c", "echo hi")
    eq((got.returncode, len(mock.origin.log)), (0, asked_before), "and not one that it has")
    got = BOX.od("run", "--rm", "--pull", "always", name, "--", "sh", "-c", "echo hi")
    ok(got.returncode == 0 and len(mock.origin.log) > asked_before, "--pull always asks the registry", got.stderr)
    mock.end()
    got = BOX.od("run", "--rm", "--pull", "always", name, "--", "sh", "-c", "echo hi")
    eq(got.returncode, 111, "the registry cannot be reached")
    for words in (f"pulling {name}: ", "docker load", "--pull never"):
        has(got.stderr, words, "the error and its next step")
    got = BOX.od("run", "--rm", name, "--", "sh", "-c", "echo hi")
    eq((got.returncode, got.stdout), (0, "hi\n"), "an image that is there needs no registry")
    ENGINE.remove_image(name)


write_program(CLIENT)
ENGINE = real.find()
BOX = None
if not ENGINE or not BUSYBOX or not os.path.exists(harness.BOXED):
    harness.main()
else:
    with real.Box(ENGINE) as BOX:
        IMAGE = load(BOX)
        harness.main()
