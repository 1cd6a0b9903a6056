#!/usr/bin/env python3
"""Launching options and commands of od-runtime against an engine that is made up."""
import json
import os
import pty
import subprocess

import harness
from fake_engine import Engine, chunked, frames, lines, refusal, response
from harness import eq, has, ok
from program import write_program

TEMP = harness.scratch("od-launch-")
CLIENT = os.path.join(TEMP, "client")
COUNT = 0


def engine(**options):
    global COUNT
    COUNT += 1
    return Engine(os.path.join(TEMP, f"s{COUNT}"), **options)


def environment(e, **more):
    env = {"PATH": "/bin:/usr/bin", "OD_STATE_DIR": os.path.join(TEMP, "state"),
           "OD_RUNTIME_CLIENT": CLIENT, "DOCKER_HOST": "unix://" + e.path, **more}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    return env


def od(e, *argv, stdin=b"", cwd=None, **more):
    if argv[:1] == ("run",) and "--via" not in argv:  # test_ways.py has the others
        argv = ("run", "--via", "build", *argv[1:])
    return subprocess.run([*harness.WRAP, harness.RUNTIME, *argv], input=stdin, cwd=cwd,
                          capture_output=True, env=environment(e, **more),
                          timeout=harness.DEADLINE * 3)


def spec_of(e, *argv, **more):
    """What the engine is asked to create for run with these options."""
    got = od(e, "run", "base:1", "--name", "box", *argv, **more)
    eq((got.returncode, got.stderr), (0, b""), f"run {' '.join(argv)[:60]}")
    spec = e.called("POST", "/containers/create")[-1].json()
    od(e, "rm", "-f", "box")
    return spec


def refused(e, argv, words, name=None):
    got = od(e, "run", "base:1", *argv)
    eq((got.returncode, got.stdout, e.log), (100, b"", []),
       (name or f"refused before the engine is asked: {argv}"))
    has(got.stderr, words, "and told why")


def test_values():
    e = engine()
    env = os.path.join(TEMP, "env")
    with open(env, "w") as f:
        f.write("# a comment\n\n  FILE=1\nBOTH=file\r\nHERE\nABSENT\nBLANK= x \n")
    spec = spec_of(e, "-e", "A=1", "--env-file", env, "-e", "BOTH=option", "-eHERE",
                   HERE="h")
    eq(spec["Env"], ["FILE=1", "BOTH=file", "HERE=h", "BLANK= x ", "A=1", "BOTH=option",
                     "HERE=h"], "the environment: files first")
    spec = spec_of(e, "-m", "512m", "--cpus", "1.5", "--pids-limit", "9", "--shm-size",
                   "1g", "--init", "--read-only", "--cap-add", "SYS_PTRACE", "--cap-drop",
                   "ALL", "--security-opt", "no-new-privileges", "--hostname", "hh",
                   "--add-host", "db:10.0.0.5", "--ulimit", "nofile=5:6", "--tmpfs",
                   "/run:size=1m", "--tmpfs", "/x", "-u", "7:8", "--network", "net",
                   "--gpus", "device=0,1", "-d")
    host = spec["HostConfig"]
    eq((host["Memory"], host["NanoCpus"], host["PidsLimit"], host["ShmSize"]),
       (512 << 20, 1500000000, 9, 1 << 30), "limits")
    eq((host["Init"], host["ReadonlyRootfs"], host["CapAdd"], host["CapDrop"]),
       (True, True, ["SYS_PTRACE"], ["ALL"]), "rights")
    eq((host["SecurityOpt"], host["ExtraHosts"], host["NetworkMode"]),
       (["no-new-privileges"], ["db:10.0.0.5"], "net"), "lists")
    eq((host["Ulimits"], host["Tmpfs"]),
       ([{"Name": "nofile", "Soft": 5, "Hard": 6}], {"/run": "size=1m", "/x": ""}),
       "ulimits and tmpfs")
    eq(host["DeviceRequests"], [{"DeviceIDs": ["0", "1"], "Capabilities": [["gpu"]]}],
       "gpus")
    eq((spec["User"], spec["Hostname"]), ("7:8", "hh"), "user and hostname")
    spec = spec_of(e, "--label", "a=1", "--label", "b", "-la=2", "--plugin", "jupyter",
                   "--plugin", "vscode")
    eq((spec["Labels"]["a"], spec["Labels"]["b"]), ("2", ""), "labels: the last counts")
    eq(spec["Cmd"][-3:], ["--plugins", "jupyter", "vscode"], "plugins")
    words = spec_of(e, "-v", "memory:/var/od", "--state-dir", "/var/od/state")["Cmd"]
    eq(words[words.index("--state-dir") + 1], "/var/od/state", "where it remembers actions")
    spec = spec_of(e)
    ok(not {"User", "Hostname", "Env"} & set(spec), "nothing that was not asked for")
    eq(sorted(spec["HostConfig"]), ["AutoRemove", "PortBindings"], "in HostConfig too")


def test_ports():
    spec = spec_of(engine(), "-p", "8080:80", "-p", "0.0.0.0:81:80", "-p", "53:53/udp",
                   "-p", "9000-9001:9000-9001", "-p", "7000-7009:70", "-p", "[::1]::5")
    ports = spec["HostConfig"]["PortBindings"]
    eq(ports["80/tcp"], [{"HostIp": "127.0.0.1", "HostPort": "8080"},
                         {"HostIp": "0.0.0.0", "HostPort": "81"}], "one port, two places")
    eq(ports["53/udp"], [{"HostIp": "127.0.0.1", "HostPort": "53"}], "udp")
    eq([ports[f"900{i}/tcp"][0]["HostPort"] for i in (0, 1)], ["9000", "9001"], "a range")
    eq(ports["70/tcp"][0]["HostPort"], "7000-7009", "one of a range")
    eq(ports["5/tcp"], [{"HostIp": "::1", "HostPort": ""}], "an address alone")
    eq(sorted(spec["ExposedPorts"]), sorted(ports), "all are exposed")
    ok("8000/tcp" in ports, "the server is among them")


def test_mounts():
    spec = spec_of(engine(), "-v", "/a:/b:ro,z", "-v", "./sub:/c", "-v", "data:/d",
                   "-v", "/anon", "--mount", "type=bind,src=/e,dst=/f,readonly,"
                   "bind-propagation=rslave", "--mount", "type=tmpfs,dst=/g,"
                   "tmpfs-size=1m,tmpfs-mode=1777", "--mount", "src=data,dst=/h,"
                   "volume-nocopy", cwd=TEMP)
    host = spec["HostConfig"]
    eq(host["Binds"], ["/a:/b:ro,z", os.path.realpath(TEMP) + "/./sub:/c", "data:/d"],
       "-v")
    eq(host["Mounts"],
       [{"Type": "volume", "Target": "/anon"},
        {"Type": "bind", "Source": "/e", "Target": "/f", "ReadOnly": True,
         "BindOptions": {"Propagation": "rslave"}},
        {"Type": "tmpfs", "Target": "/g",
         "TmpfsOptions": {"SizeBytes": 1 << 20, "Mode": 0o1777}},
        {"Type": "volume", "Source": "data", "Target": "/h",
         "VolumeOptions": {"NoCopy": True}}], "--mount")


def test_refused():
    e = engine()
    profile = os.path.join(TEMP, "big")
    with open(profile, "wb") as f:
        f.truncate(2 << 20)
    for argv, words in (
            (["-p", "x"], b"--publish x: "), (["-p", "8000:8000"], b"is used by its server"),
            (["-p", "1-2000"], b"more than 1024"), (["-v", "a/b:/c"], b"--volume a/b:/c"),
            (["-v", "/a:/.od/x"], b"/.od is reserved for the server"),
            (["-v", "/a:/b", "--mount", "type=tmpfs,dst=/b"], b"another mount has the same path"),
            (["--mount", "type=odd"], b"--mount type=odd"),
            (["--rm", "-v", "/a:/b:overlay"], b"its changes would not be removed"),
            (["-v", "/a,b:/b:overlay"], b"must not contain a comma"),
            (["--tmpfs", "run"], b"does not begin with /"),
            (["-e", "=x"], b"has no name, or its name contains a blank"),
            (["-e", "a b=x"], b"has no name, or its name contains a blank"),
            (["-e", "SESSION_API_KEY=x"], b"SESSION_API_KEY is reserved for the server"),
            (["--env-file", "/nonexistent"], b"--env-file: /nonexistent"),
            (["--security-opt", "seccomp=/nonexistent"], b"security-opt"),
            (["--security-opt", "seccomp=" + profile], b"big"),
            (["--label", "od.managed=1"], b"are reserved for od-runtime"), (["-l", "=x"], b"--label"),
            (["--ulimit", "x"], b"--ulimit x"), (["--add-host", "x"], b"--add-host"),
            (["--network", "none", "-p", "80"], b"publishes no port"),
            (["--network", "container:x", "--port", "80"], b"publishes no port"),
            (["--network", "host", "-p", "80"], b"--publish cannot be combined with"),
            (["--network", "host", "--hostname", "x"], b"host's name"),
            (["--gpus", "some"], b"--gpus"), (["--platform", "arm64"], b"--platform"),
            (["-w", "rel"], b"does not begin with /"), (["--memory", "x"], b"not a size"),
            (["--cpus", "x"], b"not a number"), (["--pull=x"], b"never|missing|always")):
        refused(e, argv, words)


def test_profile():
    profile = os.path.join(TEMP, "profile")
    with open(profile, "w") as f:
        f.write('{"defaultAction":"SCMP_ACT_ALLOW"}')
    host = spec_of(engine(), "--security-opt", "seccomp=" + profile, "--security-opt",
                   "seccomp=unconfined")["HostConfig"]
    eq(host["SecurityOpt"], ['seccomp={"defaultAction":"SCMP_ACT_ALLOW"}',
                             "seccomp=unconfined"], "a profile goes with its text")
    podman = engine(fields=[("Libpod-Api-Version", "4.3.1")])
    for path in (profile, os.path.basename(profile)):
        host = spec_of(podman, "--security-opt", "seccomp=" + path, cwd=TEMP)["HostConfig"]
        eq(host["SecurityOpt"], ["seccomp=" + profile], "to Podman with the name of its file")


def test_host_network():
    spec = spec_of(engine(), "--network", "host", "--port", "7001")
    eq(spec["Cmd"][:3], ["7001", "--address", "127.0.0.1"], "listens on the loopback")
    eq(spec["Labels"]["od.sandbox.port"], "7001", "and its port is noted")
    ok("PortBindings" not in spec["HostConfig"] and "ExposedPorts" not in spec,
       "nothing is published")


def test_log_of_no_use():
    e = engine(answers=[("GET", "/containers/.+/logs", refusal(501, "cannot be read"))])
    got = od(e, "run", "base:1", "--name", "box", "--tls")
    eq((got.returncode, e.containers), (111, {}), "a log that nobody can read, with --tls")
    has(got.stderr, b"cannot read the log of the sandbox box", "it is not waited for")


def test_pull():
    e = engine(answers=[("POST", "/images/create", chunked(lines({"status": "x"}), 9))])
    for words in ((), ("--pull",), ("--pull", "missing"), ("--pull=never",)):
        od(e, "build", "base:1", *words)
        eq(e.called("POST", "/images/create"), [], f"{words}: an image that is there is not fetched")
    for words in (("--pull=always",), ("--pull", "always")):
        od(e, "build", "base:1", *words, "--platform", "linux/amd64")
        asked = e.called("POST", "/images/create")
        eq((len(asked), asked[0].query["platform"]), (1, "linux/amd64"), f"{words}: it is fetched")
        e.log.clear()
    got = od(e, "build", "base:1", "--platform", "linux/arm64", "--pull", "never")
    eq(got.returncode, 111, "the image is for another platform")
    has(got.stderr, b"is for amd64, not for linux/arm64", "the error names both platforms")
    od(e, "build", "base:1", "--platform", "linux/arm64")
    eq(len(e.called("POST", "/images/create")), 1, "the image for that platform is fetched")
    for command in (("build",), ("run",), ("tags",), ("dockerfile",)):
        e.log.clear()
        got = od(e, *command, "absent:1", "--pull", "never")
        eq((got.returncode, e.called("POST", "/images/create")), (111, []), f"{command}: --pull never fetches nothing")
        has(got.stderr, b"does not have the image absent:1, and --pull never is set\n  next: ", "the error has a next step")
        e.answers.insert(0, ("POST", "/images/create", refusal(
            500, 'Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host')))
        got = od(e, *command, "absent:1")
        eq((got.returncode, len(e.called("POST", "/images/create"))), (111, 1), f"{command}: the default fetches it")
        for text in (b"pulling absent:1: ", b"no such host", b"docker load", b"--pull never", b"build --output archive:"):
            has(got.stderr, text, "the error and its next step")
        e.answers.pop(0)


def test_overlay():
    lower = os.path.join(TEMP, "lower")
    os.mkdir(lower)
    e = engine(answers=[("PUT", "/containers/.*/archive", response(200))])
    spec = spec_of(e, "-v", lower + ":/work:overlay")
    mount = spec["HostConfig"]["Mounts"][0]
    name = spec["Labels"]["od.sandbox.overlay"]
    eq(mount["VolumeOptions"]["DriverConfig"]["Options"]["o"],
       f"lowerdir={lower},upperdir=/v/{name}/0-upper,workdir=/v/{name}/0-work",
       "an overlay")
    made = e.called("POST", "/volumes/create")[0].json()
    ok(made["Labels"].pop("od.sandbox.owner").startswith(name + " "),
       "in a volume whose labels name the process that made it")
    eq(made, {"Name": name, "Labels": {"od.sandbox.overlay": "1", "od.sandbox.name": "box"}},
       "and the sandbox")
    eq([r.path for r in e.called("DELETE", "/volumes/.*")], ["/volumes/" + name],
       "that goes with the sandbox")
    eq(e.containers, {}, "and nothing is left")
    got = od(e, "run", "base:1", "-v", "/nonexistent:/work:overlay")
    has(got.stderr, b"/nonexistent", "a source that is not there")
    for place in ("/v,lowerdir=/etc", "v", "/v:/w", "/v\n", ""):
        made = response(201, {"Name": "v", "Mountpoint": place})
        e = engine(answers=[("POST", "/volumes/create", made)])
        got = od(e, "run", "base:1", "-v", lower + ":/work:overlay")
        eq((got.returncode, e.containers), (111, {}), f"a mount point {place!r} is refused")
    for what, path in (("the volume", "/volumes/create"), ("its folders", "/cont.*/arch.*")):
        e = engine(answers=[("POST" if "vol" in path else "PUT", path,
                             refusal(500, "no room"))])
        got = od(e, "run", "base:1", "-v", lower + ":/work:overlay")
        eq((got.returncode, e.containers), (111, {}), f"{what} fails: nothing is left")
        has(got.stderr, b"no room", "and it is told")
        if what != "the volume":
            eq(len(e.called("DELETE", "/volumes/.*")), 1, "the volume is gone")


def test_several():
    e = engine()
    for name in ("aa", "bb"):
        od(e, "run", "base:1", "--name", name)
    got = od(e, "stop", "aa", "none", "bb")
    eq((got.returncode, got.stdout), (111, b"aa\nbb\n"), "one of three is not there")
    has(got.stderr, b"no sandbox is named none", "which is told")
    eq(od(e, "rm", "aa", "bb").stdout, b"aa\nbb\n", "rm of both")
    eq(e.containers, {}, "they are gone")


def test_pause_wait_kill():
    e = engine()
    od(e, "run", "base:1", "--name", "box")
    seen = []
    for what in ("pause", "unpause", "kill"):
        e.answers.append(("POST", f"/containers/.*/{what}",
                          lambda r: seen.append(r.target.split("/")[-1]) or response(204)))
    eq(od(e, "pause", "box").stdout, b"box\n", "pause")
    eq(od(e, "resume", "box").stdout, b"box\n", "resume of what is not paused")
    container = next(iter(e.containers.values()))
    inspect = container.inspect
    container.inspect = lambda: {**inspect(), "State": {**inspect()["State"],
                                                        "Paused": True}}
    eq(od(e, "pause", "box").returncode, 0, "pause again")
    eq(od(e, "resume", "box").returncode, 0, "resume")
    got = od(e, "exec", "box", "--", "x")
    has(got.stderr, b"is paused", "exec in a paused one")
    container.inspect = inspect
    eq(od(e, "kill", "-s", "USR1", "box").returncode, 0, "kill")
    eq(seen, ["pause", "unpause", "kill?signal=USR1"], "what the engine was asked")
    e.answers.append(("POST", "/containers/.*/wait", response(200, {"StatusCode": 42})))
    eq(od(e, "wait", "box").stdout, b"42\n", "wait")
    eq(json.loads(od(e, "wait", "box", "--json").stdout),
       {"name": "box", "exit_code": 42}, "wait --json")
    container.state = "exited"
    for command in ("pause", "resume", "kill", "shell", "attach", "ls"):
        got = od(e, command, "box")
        eq(got.returncode, 111, f"{command} of a stopped one")
        has(got.stderr, b"is not running", "is told")
    od(e, "rm", "box")


def test_ps_logs():
    e = engine()
    od(e, "run", "base:1", "--name", "box")
    e.answers.append(("GET", "/containers/json", lambda r: response(200, [])))
    od(e, "ps", "--filter", "status=running", "--filter", "label=a=b", "-q")
    asked = json.loads(e.called("GET", "/containers/json")[-1].query["filters"])
    eq(asked, {"status": ["running"], "label": ["od.sandbox=1", "a=b"]}, "filters")
    e.answers.pop()
    eq(od(e, "ps", "-q").stdout, b"box\n", "ps -q")
    eq(od(e, "ps", "--filter", "odd=x").returncode, 100, "a filter that is none")
    od(e, "logs", "-t", "--since", "1700000000", "--until", "1800000000", "box")
    asked = e.called("GET", "/containers/.*/logs")[-1].query
    eq((asked["timestamps"], asked["since"], asked["until"]),
       ("1", "1700000000", "1800000000"), "logs")
    eq(od(e, "logs", "--since", "x", "box").returncode, 100, "a time that is none")
    stream = (b"HTTP/1.1 200 OK\r\nContent-Type: x\r\n\r\n"
              + frames((1, b"out\n"), (2, b"err\n")))
    e.answers.append(("POST", "/containers/.*/attach", stream))
    got = od(e, "attach", "box")
    eq((got.returncode, got.stdout, got.stderr), (0, b"out\n", b"err\n"), "attach")
    od(e, "rm", "-f", "box")


def shell_engine(code=5, **options):
    """An engine whose shell answers every line in capitals."""
    e = engine(**options)
    od(e, "run", "base:1", "--name", "box")
    spec = e.called("POST", "/containers/create")[-1].json()
    container = next(iter(e.containers.values()))
    inspect = container.inspect
    container.inspect = lambda: {**inspect(), "Config": {
        "Labels": spec["Labels"], "Cmd": spec["Cmd"]}}
    e.answers += [("POST", "/containers/.*/exec", response(201, {"Id": "ab" * 32})),
                  ("GET", "/exec/.*/json", response(200, {"ExitCode": code})),
                  ("POST", "/exec/.*/resize.*", response(201))]
    return e, spec


def test_shell():
    e, spec = shell_engine()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"
    e.answers.append(("POST", "/exec/.*/start", head + frames((1, b"a\n"), (2, b"b\n"))))
    got = od(e, "shell", "box", stdin=b"echo a\n")
    eq((got.returncode, got.stdout, got.stderr), (5, b"a\n", b"b\n"), "shell, no terminal")
    asked = e.called("POST", "/containers/.*/exec")[-1].json()
    eq(asked["Cmd"], ["/.od/od-runtime-client", "shell", *spec["Cmd"]], "what is executed")
    eq(asked["Tty"], False, "without a terminal")
    for words, method, path, answer in (
            (b"no exec today", "POST", "/containers/.*/exec", refusal(500, "no exec today")),
            (b"did not return its id", "POST", "/containers/.*/exec", response(201, {"Id": "/x"})),
            (b"status 500", "POST", "/exec/.*/start", refusal(500, "x")),
            (b"the connection to the shell was lost", "GET", "/exec/.*/json", response(200, {"ExitCode": None})),
            (b"is not a container engine", "POST", "/exec/.*/start", head + b"no frames at all")):
        e.answers.insert(0, (method, path, answer))
        got = od(e, "shell", "box", stdin=b"")
        eq(got.returncode, 111, f"shell: {words.decode()}")
        has(got.stderr, words, "is told")
        e.answers.pop(0)
    od(e, "rm", "-f", "box")


def test_shell_terminal():
    """The terminal is as before on every way out."""
    import termios
    e, _ = shell_engine()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: x\r\n\r\n"
    for name, answer, code in (("its end", head + b"bye\r\n", 5),
                               ("no shell", refusal(500, "x"), 111)):
        e.answers.insert(0, ("POST", "/exec/.*/start", answer))
        master, slave = pty.openpty()
        before = termios.tcgetattr(slave)
        p = subprocess.Popen([*harness.WRAP, harness.RUNTIME, "shell", "box"],
                             stdin=slave, stdout=slave, stderr=subprocess.PIPE,
                             env=environment(e))
        p.communicate(timeout=harness.DEADLINE)
        eq(p.returncode, code, f"{name}: exit code")
        eq(termios.tcgetattr(slave), before, f"{name}: the terminal is as before")
        e.answers.pop(0)
        os.close(master)
        os.close(slave)
    eq(e.called("POST", "/containers/.*/exec")[-1].json()["Tty"], True, "with a terminal")
    od(e, "rm", "-f", "box")


def test_progress():
    """A bar on a terminal, nothing elsewhere."""
    said = [{"status": "Pulling from x", "id": "latest"},
            {"status": "Pulling fs layer", "id": "a", "progressDetail": {}},
            {"status": "Downloading", "id": "a",
             "progressDetail": {"current": 5000000, "total": 10000000}}]
    e = engine(images={}, answers=[("POST", "/images/create", chunked(lines(*said), 7))])
    got = od(e, "build", "none:1")
    ok(b"parts" not in got.stderr, "no bar for a program")
    master, slave = pty.openpty()
    subprocess.run([*harness.WRAP, harness.RUNTIME, "build", "none:1"],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
                   env=environment(e), timeout=harness.DEADLINE)
    os.close(slave)
    out = b""
    try:
        while more := os.read(master, 4096):
            out += more
    except OSError:
        pass
    os.close(master)
    has(out, b"pulling none:1: ", "a line on a terminal")
    has(out, b"\r\x1b[K", "that is taken away")


write_program(CLIENT)
harness.main()
