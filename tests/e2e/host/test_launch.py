#!/usr/bin/env python3
"""Launching options and commands of od-runtime with a real engine: DOCKER_HOST.

Skipped by name where there is none, or no static busybox to make images of.
"""
import hashlib
import io
import json
import os
import signal
import socket
import ssl
import subprocess
import tarfile
import time

import harness
from harness import eq, has, ok
import engine as real
from terminals import Terminal

BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
TEMP = harness.scratch("od-launch-")
LINKS = ("sh", "ls", "id", "cat", "sleep", "true", "stty", "tty", "hostname", "mount",
         "env", "pwd", "nc", "test", "rm", "touch")


def load(box):
    with open(BUSYBOX, "rb") as f:
        files = {"bin/busybox": f.read()}
    files.update({f"bin/{name}": "busybox" for name in LINKS})
    name = f"{real.PREFIX}/launch:1"
    box.engine.load(real.archive(files), name)
    return name


def content(box, name, command):
    got = box.od("exec", name, "sh", "-c", command)
    eq(got.returncode, 0, f"exec {command}") if got.returncode else None
    return got.stdout


def test_options():
    name = BOX.run(IMAGE, "-e", "A=1", "-m", "64m", "--cpus", "0.5", "--pids-limit", "50",
                   "--tmpfs", "/run:size=1m", "--shm-size", "8m", "--ulimit",
                   "nofile=500:600", "--hostname", "hh", "--add-host", "db:10.0.0.5",
                   "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--init",
                   "-l", "team=a", "-w", "/work", "--plugin", "jupyter")
    said = content(BOX, name, "echo $A; hostname; pwd; ulimit -n; ulimit -Hn; "
                   "cat /proc/1/comm; mount")
    eq(said.split("\n")[:6], ["1", "hh", "/work", "500", "600", "docker-init"],
       "seen from inside")
    has(said, "on /run type tmpfs", "a tmpfs")
    ok("10.0.0.5 db" in " ".join(content(BOX, name, "cat /etc/hosts").split()), "a host")
    doc = ENGINE.container(name)
    eq((doc["HostConfig"]["Memory"], doc["HostConfig"]["PidsLimit"],
        doc["Config"]["Labels"]["team"]), (64 << 20, 50, "a"), "seen by the engine")
    BOX.od("rm", "-f", name)


def test_tls():
    name = BOX.run(IMAGE, "--tls")
    eq(content(BOX, name, "echo hi"), "hi\n", "its server is talked to by TLS")
    state = os.path.join(BOX.state, "sandboxes", name + ".json")
    with open(state) as f:
        saved = json.load(f)
    port = ENGINE.container(name)["NetworkSettings"]["Ports"]["8000/tcp"][0]["HostPort"]
    with socket.create_connection(("127.0.0.1", int(port))) as sock:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(sock) as tls:
            shown = tls.getpeercert(True)
    ok(bytes.fromhex(saved["tls"]) == hashlib.sha256(spki(shown)).digest(),
       "the key that it shows is the one that was learnt through the engine")
    with open(state, "w") as f:
        json.dump({**saved, "tls": "00" * 32}, f)
    got = BOX.od("exec", name, "true")
    eq(got.returncode, 111, "another key is not believed")
    has(got.stderr, "is not the pinned key", "and the words say why")
    with open(state, "w") as f:
        json.dump(saved, f)
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
    got = BOX.od("mcp", name, stdin=hello + "\n")
    ok("result" in json.loads(got.stdout), "mcp does not keep what it has to say", got.stdout)
    for n in range(2):
        ENGINE.call("POST", f"/containers/{name}/restart?t=5")
        again = harness.until(lambda: (lambda g: g if g.returncode == 0 else None)(
            BOX.od("exec", name, "sh", "-c", "echo back")))
        ok(again and again.stdout == "back\n", "started again it has another key, which is learnt")
    eq(BOX.od("run", "--rm", "--tls", IMAGE, "sh", "-c", "echo once").stdout, "once\n", "and for a run")
    got = BOX.od("run", "--tls", "--network", "none", IMAGE)
    eq(got.returncode, 100, "it needs a port")


def spki(der):
    """The SubjectPublicKeyInfo of a certificate on P-256, by its algorithm."""
    at = der.index(bytes.fromhex("301306072a8648ce3d020106082a8648ce3d030107"))
    return der[at - 2:at - 2 + 91]


def test_read_only():
    name = BOX.run(IMAGE, "--read-only", "--user", "1234:5")
    got = BOX.od("exec", name, "sh", "-c", "id; touch /x")
    has(got.stdout, "uid=1234 gid=5", "another user")
    has(got.stdout + got.stderr, "Read-only", "files stay as they are")
    BOX.od("rm", "-f", name)


def test_mounts():
    source = os.path.join(TEMP, "source")
    os.mkdir(source)
    with open(os.path.join(source, "f"), "w") as f:
        f.write("old\n")
    volume = real.PREFIX + "-volume"
    name = BOX.run(IMAGE, "-v", source + ":/ro:ro", "-v", source + ":/over:overlay",
                   "-v", volume + ":/data")
    said = content(BOX, name, "cat /ro/f; echo new > /over/f; cat /over/f /ro/f; "
                   "rm /over/f; echo kept > /data/k; touch /ro/x 2>&1; true")
    eq(said.split("\n")[:3], ["old", "new", "old"], "an overlay keeps its writes apart")
    has(said, "Read-only", "ro")
    eq(os.listdir(source), ["f"], "the source is as it was")
    overlay = ENGINE.container(name)["Config"]["Labels"]["od.sandbox.overlay"]
    eq(BOX.od("rm", "-f", name).returncode, 0, "rm")
    names = [v["Name"] for v in ENGINE.call("GET", "/volumes")["Volumes"] or []]
    ok(overlay not in names, "takes the overlay's volume along")
    ok(volume in names, "and leaves the named one")
    name = BOX.run(IMAGE, "--mount", f"type=volume,source={volume},target=/d,readonly")
    eq(content(BOX, name, "cat /d/k"), "kept\n", "which has kept what was written")
    BOX.od("rm", "-f", name)
    ENGINE.call("DELETE", "/volumes/" + volume)
    got = BOX.od("run", IMAGE, "--mount", "type=bind,source=/nonexistent,target=/x")
    eq(got.returncode, 111, "a bind of what is not there")
    has(got.stderr, "/nonexistent", "is told")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def test_publish():
    port = free_port()
    name = BOX.run(IMAGE, "-p", f"{port}:7000")
    ports = ENGINE.container(name)["NetworkSettings"]["Ports"]
    eq(ports["7000/tcp"], [{"HostIp": "127.0.0.1", "HostPort": str(port)}], "a port")
    BOX.od("rm", "-f", name)


def test_host_network():
    name = BOX.run(IMAGE, "--network", "host")
    eq(content(BOX, name, "echo hi"), "hi\n", "a sandbox in the host's network")
    row = [r for r in json.loads(BOX.od("ps", "--json").stdout) if r["name"] == name][0]
    port = int(ENGINE.container(name)["Config"]["Cmd"][0])
    eq(row["port"], port, "ps knows its port")
    BOX.od("rm", "-f", name)


def make_tree():
    top = os.path.join(TEMP, "tree")
    os.makedirs(os.path.join(top, "sub"))
    with open(os.path.join(top, "one"), "w") as f:
        f.write("1\n")
    with open(os.path.join(top, "sub", "two"), "wb") as f:
        f.write(bytes(range(256)) * 4000)
    os.chmod(os.path.join(top, "one"), 0o640)
    os.symlink("one", os.path.join(top, "link"))
    return top


def check_tree(top, name):
    eq(sorted(os.listdir(top)), ["link", "one", "sub"], name + ": names")
    eq(os.stat(os.path.join(top, "one")).st_mode & 0o777, 0o640, name + ": mode")
    eq(os.readlink(os.path.join(top, "link")), "one", name + ": link")
    with open(os.path.join(top, "sub", "two"), "rb") as f:
        ok(f.read() == bytes(range(256)) * 4000, name + ": bytes")


def copy(name, state):
    """As docker cp names things, whether the sandbox runs or not."""
    tree, out = os.path.join(TEMP, "tree"), os.path.join(TEMP, "out-" + state)
    for argv in ((tree, f"{name}:/{state}"), (tree, f"{name}:/{state}"),
                 (tree + "/one", f"{name}:/{state}/new"),
                 (tree + "/one", f"{name}:/{state}/sub")):
        got = BOX.od("cp", *argv)
        eq((got.returncode, got.stdout, got.stderr), (0, "", ""), f"{state}: {argv[1]}")
    eq(BOX.od("cp", f"{name}:/{state}", out).returncode, 0, f"{state}: down")
    eq(sorted(os.listdir(out)), ["link", "new", "one", "sub", "tree"], f"{state}: all")
    check_tree(os.path.join(out, "tree"), state)
    eq(sorted(os.listdir(os.path.join(out, "sub"))), ["one", "two"], f"{state}: into")
    BOX.od("cp", f"{name}:{state}/tree", out)
    check_tree(os.path.join(out, "tree"), f"{state}: into a folder that is there")
    for argv, words in (((f"{name}:/absent", "."), "o such file|Could not find"),
                        ((tree, f"{name}:/{state}/new"), "is not a folder"),
                        ((f"{name}:/{state}", out + "/new"), "is not a folder"),
                        ((tree + "/absent", f"{name}:/"), "No such file"),
                        ((f"{name}:/{state}", "/nonexistent/a/b"), "cannot write")):
        got = BOX.od("cp", *argv)
        ok(got.returncode == 111 and any(w in got.stderr for w in words.split("|")),
           f"{state}: {argv}", got.stderr)
    done = subprocess.run([harness.RUNTIME, "cp", f"{name}:/{state}/tree", "-"],
                          capture_output=True, env=environment())
    names = tarfile.open(fileobj=io.BytesIO(done.stdout)).getnames()
    ok(any(n.endswith("sub/two") for n in names), f"{state}: a tar on stdout", names)
    data = real.archive({"from-stdin": b"x"})
    done = subprocess.run([harness.RUNTIME, "cp", "-", f"{name}:/{state}/sub"],
                          input=data, env=environment())
    eq(done.returncode, 0, f"{state}: a tar on stdin")


def environment():
    return {**os.environ, "OD_STATE_DIR": BOX.state, "OD_RUNTIME_CLIENT": harness.BOXED}


def test_cp_ls():
    make_tree()
    name = BOX.run(IMAGE)
    copy(name, "running")
    eq(BOX.od("ls", name, "/running").stdout, "sub/\ntree/\nlink\nnew\none\n", "ls")
    for place in ((f"{name}:/running",), (f"{name}:running",), (name, "running")):
        eq(BOX.od("ls", *place).stdout, "sub/\ntree/\nlink\nnew\none\n", f"ls {place[-1]}")
    eq(BOX.od("ls", name, "/absent").returncode, 111, "ls of what is not there")
    has(BOX.od("ls", f"{name}:/running/one").stderr, "/running/one is not a folder", "ls of a file")
    eq(json.loads(BOX.od("ls", name, "/running/sub", "--json").stdout),
       ["from-stdin", "one", "two"], "ls --json")
    BOX.od("stop", "-t", "1", name)
    copy(name, "stopped")
    BOX.od("rm", name)


def test_cp_rights():
    """What is copied has the rights of the sandbox user."""
    name = BOX.run(IMAGE, "--username", "openhands", "-w", "/work")
    make = os.path.join(TEMP, "mine")
    with open(make, "w") as f:
        f.write("x")
    eq(BOX.od("cp", make, f"{name}:/work/mine").returncode, 0, "to where he may write")
    has(content(BOX, name, "ls -ln /work/mine"), " 1000 ", "it is his")
    got = BOX.od("cp", make, f"{name}:/bin/mine")
    eq(got.returncode, 111, "and not to where he may not")
    has(got.stderr, "ermission", "is told")
    BOX.od("rm", "-f", name)


def test_pause_wait():
    name = BOX.run(IMAGE)
    eq(BOX.od("pause", name).returncode, 0, "pause")
    eq(ENGINE.container(name)["State"]["Status"], "paused", "it is")
    has(BOX.od("exec", name, "true").stderr, "is paused", "exec tells so")
    eq(BOX.od("resume", name).returncode, 0, "resume")
    eq(content(BOX, name, "echo hi"), "hi\n", "it goes on")
    p = subprocess.Popen([harness.RUNTIME, "wait", name], stdout=subprocess.PIPE,
                         env=environment())
    eq(BOX.od("kill", "-s", "TERM", name).returncode, 0, "kill")
    code = p.communicate(timeout=harness.DEADLINE)[0].strip()
    eq(int(code), ENGINE.container(name)["State"]["ExitCode"], "wait has its code")
    has(BOX.od("logs", "-t", "--since", "1h", name).stdout, "T", "its log")
    eq(BOX.od("logs", "--until", "1h", name).stdout, "", "and none that old")
    BOX.od("rm", name)


def terminal(*argv):
    return Terminal(*argv, env=environment())


def test_shell():
    name = BOX.run(IMAGE, "--username", "openhands", "-w", "/work")
    listed = content(BOX, name, "ls /dev/pts")
    t = terminal("shell", name)
    t.until(b"$ ")
    t.type("stty size; id -u; pwd; echo $((6*7))x\n")
    out = t.until(b"42x")
    has(out, b"33 101", "the size of the terminal")
    has(out, b"1000\r\n/work", "the user and his folder")
    # One that the engine has executed has no parent that it could see.
    t.type("echo by-stream-$((PPID > 0))\n")
    t.until(b"by-stream-1")
    t.resize(44, 55)
    end = time.monotonic() + harness.DEADLINE
    while time.monotonic() < end:
        t.type("stty size; echo $((5*5))y\n")
        if b"44 55" in t.until(b"25y"):
            break
    else:
        ok(False, "a new size is followed")
    t.type("sh -c 'echo sle\"\"eps; sleep 1000'\n")
    t.until(b"sleeps")
    t.type("\x03")
    t.type("echo $((2*4))z\n")
    t.until(b"8z")
    t.type("exit 7\n")
    eq(t.end(), (7, True), "its exit code, and the terminal as before")
    t = terminal("shell", name)
    t.until(b"$ ")
    t.p.send_signal(signal.SIGTERM)
    eq(t.end(), (143, True), "after SIGTERM the terminal is as before, too")
    harness.until(lambda: content(BOX, name, "ls /dev/pts") == listed)
    ok(True, "and no shell is left")
    t = terminal("shell", name)
    t.until(b"$ ")
    ENGINE.kill(name)
    eq(t.end()[1], True, "and when the sandbox dies")
    BOX.od("rm", "-f", name)


def test_shell_script():
    name = BOX.run(IMAGE)
    got = BOX.od("shell", name, stdin="id -u; echo err >&2; exit 3\n")
    eq((got.returncode, got.stdout, got.stderr), (3, "0\n", "err\n"), "a script")
    big = "cat <<'E'\n" + "x" * 500000 + "\nE\n"
    eq(len(BOX.od("shell", name, stdin=big).stdout), 500001, "much both ways")
    BOX.od("rm", "-f", name)


def test_attach_session():
    name = BOX.run(IMAGE)
    run = subprocess.Popen([harness.RUNTIME, "exec", "--session", "default", name, "--",
                            "echo first; read x; echo got:$x; sleep 1000"], env=environment(),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    t = terminal("attach", name, "--session", "default")
    t.until(b"first\r\n")
    t.type("typed\n")
    t.until(b"got:typed\r\n")
    t.type("\x1d")
    eq(t.end(), (0, True), "^] leaves, and the terminal is as before")
    watch = subprocess.Popen([harness.RUNTIME, "attach", name, "--session", "default"],
                             env=environment(), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    line = watch.stdout.readline()
    eq(line, b"first\n", "without a terminal it shows the same, and types nothing")
    got = BOX.od("attach", name, "--session", "nobody")
    ok(got.returncode == 111 and "No session has this name" in got.stderr,
       "a session that is not there", got.stderr)
    BOX.od("rm", "-f", name)
    watch.communicate(timeout=harness.DEADLINE)
    eq(watch.returncode, 111, "it ends with the sandbox")
    run.kill()
    run.communicate()


def test_attach():
    name, began = BOX.run(IMAGE), int(time.time())
    p = subprocess.Popen([harness.RUNTIME, "attach", name], env=environment(),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wanted = json.dumps({"container": [name], "event": ["attach"]})
    harness.until(lambda: p.poll() is not None or ENGINE.call("GET", "/events", query={
        "since": began, "until": f"{time.time():.9f}", "filters": wanted}))
    BOX.od("stop", "-t", "5", name)
    out, err = p.communicate(timeout=harness.DEADLINE)
    eq(p.returncode, 0, "attach ends with the sandbox")
    has(out + err, b"stopping on signal 15", "and shows what it says")
    BOX.od("rm", "-f", name)


def test_several():
    names = [BOX.run(IMAGE), BOX.run(IMAGE)]
    listed = BOX.od("ps", "-q", "--filter", "name=" + names[0]).stdout
    eq(listed, names[0] + "\n", "ps --filter")
    eq(BOX.od("stop", "-t", "1", *names).stdout.split(), names, "stop of two")
    eq(BOX.od("ps", "-q", "--filter", "status=running", "--filter",
              "name=" + names[0]).stdout, "", "none of them runs")
    eq(BOX.od("rm", *names).stdout.split(), names, "rm of two")


ENGINE = real.find()
if not ENGINE or not BUSYBOX or not os.path.exists(harness.BOXED):
    print("1..0 # SKIP no engine, no busybox or no od-runtime-client")
else:
    with real.Box(ENGINE) as BOX:
        IMAGE = load(BOX)
        harness.main()
