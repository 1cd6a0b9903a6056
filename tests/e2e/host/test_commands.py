#!/usr/bin/env python3
"""start, restart, inspect, env, sessions, build -t and run --connect with a real engine: DOCKER_HOST.

Skipped by name where there is none, or no static busybox to make images of.
"""
import json
import os
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request

import harness
from harness import eq, has, ok, skip, until
import engine as real

BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
DOCKER = shutil.which("docker")
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


def docker(*argv):
    return subprocess.run([DOCKER, "--host", "unix://" + ENGINE.path, *argv],
                          capture_output=True, text=True, timeout=6 * harness.DEADLINE)


def inspect(name):
    return json.loads(good("inspect", "--json", name))[0]


def ps(name, *options):
    rows = json.loads(good("ps", "--json", "--filter", "name=" + name, *options))
    return next((r for r in rows if r["name"] == name), None)


# --- start, restart -----------------------------------------------------------------


def test_start():
    name = BOX.run(IMAGE)
    BOX.act(name, "write", path="/tmp/kept", content="kept\n")
    key = BOX.content(name, "echo ready")
    good("stop", "-t", "1", name)
    eq(good("start", name), name + "\n", "start prints the name")
    got = BOX.act(name, "run", command="cat /tmp/kept")
    eq((key, got["content"]), ("ready", "kept"), "start: ready when it returns, with its files and its key")
    pid = ENGINE.container(name)["State"]["Pid"]
    eq(good("start", name), name + "\n", "start of a running sandbox succeeds, as docker start")
    eq(ENGINE.container(name)["State"]["Pid"], pid, "and does not restart it")
    if DOCKER:
        got = docker("start", name)
        eq((got.returncode, got.stdout), (0, name + "\n"), "docker start prints the same")
    doc = json.loads(good("start", "--json", name))
    eq((doc["name"], doc["state"], doc["port"]), (name, "running", inspect(name)["port"]), "start --json")
    good("pause", name)
    got = od("start", name)
    eq(got.returncode, 111, "start of a paused sandbox fails")
    has(got.stderr, "resume", "and names the next step")
    good("rm", "-f", name)
    got = od("start", name)
    eq(got.returncode, 111, "start of a sandbox that is not there fails")
    has(got.stderr, f"no sandbox is named {name}", "with its name")


def test_restart():
    names = [BOX.run(IMAGE), BOX.run(IMAGE, "--tls")]
    pids = [ENGINE.container(n)["State"]["Pid"] for n in names]
    eq(good("restart", "-t", "1", *names), "".join(n + "\n" for n in names), "restart prints the names")
    for name, pid in zip(names, pids):
        ok(ENGINE.container(name)["State"]["Pid"] != pid, "restart makes another process 1")
        eq(BOX.content(name, "echo hi"), "hi", "and returns when the server is ready")
    got = od("restart", f"{real.PREFIX}-absent", names[0], "-t", "0")
    eq((got.returncode, got.stdout), (111, names[0] + "\n"), "one that is missing does not keep others")
    good("rm", "-f", *names)


def test_start_that_ends():
    name = BOX.run(IMAGE)
    good("stop", "-t", "1", name)
    os.rename(BOX.state, BOX.state + ".away")
    got = od("start", name)
    eq((got.returncode, got.stdout), (0, name + "\n"), "start needs no key")
    os.rename(BOX.state + ".away", BOX.state)
    # A program that is no client in the place of the client: the container ends.
    good("stop", "-t", "1", name)
    good("rm", "-f", name)
    name = BOX.run(IMAGE, "--via", "put")
    good("stop", "-t", "1", name)
    ENGINE.call("PUT", f"/containers/{name}/archive", real.archive(
        {"od-runtime-client": b"#!/bin/sh\nexit 7\n"}), {"path": "/.od"})
    got = od("start", name)
    eq(got.returncode, 111, "start of a sandbox whose server ends fails")
    has(got.stderr, "ended with exit code 7", "and tells the exit code")
    good("rm", "-f", name)


def test_start_without_client():
    """The file of this machine that is the client of a sandbox has gone with the cache folder."""
    name, cache = BOX.name(), harness.scratch()
    own = {"XDG_CACHE_HOME": cache}
    eq(od("run", "--via", "bind", "--name", name, IMAGE, env=own).returncode, 0, "run")
    good("stop", "-t", "1", name)
    shutil.rmtree(cache)
    got = od("start", name, env=own)
    eq((got.returncode, got.stdout, got.stderr), (0, name + "\n", ""), "start makes the file again")
    eq(BOX.content(name, "echo hi"), "hi", "and the sandbox works")
    good("stop", "-t", "1", name)
    shutil.rmtree(cache)
    got = od("start", name, env={**own, "OD_RUNTIME_CLIENT": BUSYBOX})
    eq(got.returncode, 111, "start with another client fails")
    has(got.stderr, "docker commit", "and names the next step")
    good("rm", name)


# --- inspect, ps --------------------------------------------------------------------


def test_inspect():
    name = BOX.run(IMAGE, "-m", "64m", "--cpus", "0.5", "--pids-limit", "50", "-l", "team=a",
                   "-p", "127.0.0.1::80")
    doc, truth = inspect(name), ENGINE.container(name)
    port = int(truth["NetworkSettings"]["Ports"]["8000/tcp"][0]["HostPort"])
    eq({k: doc[k] for k in ("name", "id", "image", "image_id", "state", "exit_code", "port", "url",
                            "network", "container_port", "injection_method")},
       {"name": name, "id": truth["Id"], "image": IMAGE, "image_id": truth["Image"], "state": "running",
        "exit_code": None, "port": port, "url": f"http://127.0.0.1:{port}",
        "network": truth["HostConfig"]["NetworkMode"], "container_port": 8000,
        "injection_method": truth["Config"]["Labels"]["od.sandbox.via"]}, "inspect")
    eq(doc["limits"], {"memory": 64 << 20, "cpus": 0.5, "pids": 50, "shm_size": truth["HostConfig"]["ShmSize"]},
       "inspect: limits")
    with open(doc["key_file"]) as f:
        eq(json.load(f)["id"], truth["Id"], "inspect: key_file is the file with the key")
    networks = truth["NetworkSettings"]["Networks"].values()
    has([n["IPAddress"] for n in networks], doc["address"], "inspect: address is that in its network")
    web = truth["NetworkSettings"]["Ports"]["80/tcp"][0]
    has(doc["ports"], {"container_port": 80, "protocol": "tcp", "host_address": "127.0.0.1",
                       "host_port": int(web["HostPort"])}, "inspect: a published port")
    eq((doc["labels"]["team"], doc["labels"]["od.sandbox"], "od.sandbox.bound" in doc["labels"]),
       ("a", "1", False), "inspect: labels, without those that are empty")
    good("stop", "-t", "1", name)
    doc = inspect(name)
    eq((doc["state"], doc["port"], doc["url"], doc["exit_code"]),
       ("exited", None, None, ENGINE.container(name)["State"]["ExitCode"]), "inspect of a stopped one")
    good("rm", name)


def test_inspect_several():
    names = [BOX.run(IMAGE), BOX.run(IMAGE)]
    text = good("inspect", *names)
    eq([d["name"] for d in json.loads(text)], names, "inspect of two is an array of two")
    ok(text.startswith('[\n    {\n        "name": '), "inspect prints lines for people", text[:60])
    got = od("inspect", names[0], f"{real.PREFIX}-absent", names[1])
    eq((got.returncode, [d["name"] for d in json.loads(got.stdout)]), (111, names),
       "inspect prints those that are there, as docker inspect")
    has(got.stderr, "no sandbox is named", "and tells of the others")
    if DOCKER:
        theirs = docker("inspect", names[0], f"{real.PREFIX}-absent", names[1])
        eq([d["Name"] for d in json.loads(theirs.stdout)], ["/" + n for n in names],
           "docker inspect prints those that are there")
    good("rm", "-f", *names)


def test_members_agree():
    name = BOX.name()
    made = json.loads(good("run", "--json", "--name", name, IMAGE))
    row, doc = ps(name), inspect(name)
    again = json.loads(good("restart", "--json", "-t", "1", name))
    for a, b, words in ((made, doc, "run and inspect"), (row, doc, "ps and inspect"), (made, again, "run and restart")):
        same = [k for k in a if k in b and k not in ("port", "url") or k in b and b is doc]
        ok(len(same) >= 7, f"{words}: {len(same)} members have the same names", same)
        eq({k: a[k] for k in same}, {k: b[k] for k in same}, f"{words} agree on their values")
    good("rm", "-f", name)


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


def test_ps_injected():
    theirs = BOX.name("theirs")
    other = BOX.name("other")
    for name in (theirs, other):
        made = ENGINE.call("POST", "/containers/create", {
            "Image": IMAGE, "Cmd": ["/bin/sleep", "1000"]}, {"name": name})
        ENGINE.call("POST", f"/containers/{made['Id']}/start")
    eq(ps(theirs), None, "ps does not list the containers of others")
    doc = json.loads(good("inject", "--json", theirs))
    row = ps(theirs)
    eq((row["injection_method"], row["state"], row["id"]), ("inject", "running", ENGINE.container(theirs)["Id"]),
       "ps lists a container that inject was used on")
    eq((doc["id"], doc["injection_method"]), (row["id"], "inject"), "inject --json has the same members")
    eq(ps(other), None, "and no other one")
    eq(inspect(theirs)["injection_method"], "inject", "inspect knows it")
    eq(good("ps", "-q", "--filter", "id=" + row["id"][:12]), theirs + "\n", "ps --filter id=")
    eq(good("ps", "-q", "--filter", "id=" + "0" * 12), "", "ps --filter of another id")
    eq(good("ps", "-q", "--filter", "name=" + theirs, "--filter", "status=exited"), "", "ps --filter status=")
    for command in ("start", "restart"):
        got = od(command, theirs)
        eq((got.returncode, ENGINE.container(theirs)["State"]["Running"]), (111, True), f"{command} leaves it alone")
        has(got.stderr, "od-runtime inject", "and names the next step")
    good("rm", theirs)
    eq(ps(theirs), None, "rm forgets it")
    for name in (theirs, other):
        ENGINE.remove(name)


# --- env ----------------------------------------------------------------------------


def shell(name, script):
    """What a script prints behind eval "$(od-runtime env NAME)"."""
    env = {**os.environ, "OD_STATE_DIR": BOX.state, "OD_TLS_PIN": "stale", "OD": harness.RUNTIME, "BOX": name}
    got = subprocess.run(["sh", "-c", 'eval "$("$OD" env "$BOX")"\n' + script], capture_output=True,
                         text=True, env=env, timeout=3 * harness.DEADLINE)
    return got.stdout


def test_env():
    name = BOX.run(IMAGE)
    said = shell(name, 'echo "$OD_SANDBOX|$OD_URL|$OD_KEY|${OD_TLS_PIN-none}"; sh -c "echo \\$OD_URL"').split("\n")
    url = inspect(name)["url"]
    sandbox, got_url, key, pin = said[0].split("|")
    eq((sandbox, got_url, pin, said[1]), (name, url, "none", url), "env in a shell: exported, a stale pin unset")
    doc = json.loads(good("env", "--json", name))
    eq(doc, {"OD_SANDBOX": name, "OD_URL": url, "OD_KEY": key}, "env --json")
    asked = urllib.request.Request(url + "/v1/sessions", headers={"X-Session-API-Key": doc["OD_KEY"]})
    with urllib.request.urlopen(asked, timeout=harness.DEADLINE) as answer:
        eq(json.load(answer)["sessions"][0]["name"], "default", "the key opens the API")
    good("stop", "-t", "1", name)
    eq(od("env", name).returncode, 111, "env of a stopped sandbox fails")
    eq(od("env", name).stdout, "", "and prints nothing that eval could execute")
    good("rm", name)
    name = BOX.run(IMAGE, "--network", "none")
    got = od("env", name)
    eq((got.returncode, got.stdout), (111, ""), "env without a port fails")
    has(got.stderr, "no port on this machine", "and says why")
    good("rm", "-f", name)


def test_env_tls():
    name = BOX.run(IMAGE, "--tls")
    if not shutil.which("curl"):
        skip("env of a TLS sandbox", "no curl")
    else:
        said = shell(name, 'curl -sk --pinnedpubkey "$OD_TLS_PIN" "$OD_URL/alive"; '
                           'curl -sk --pinnedpubkey "sha256//AAAA" "$OD_URL/alive"; echo " $?"')
        eq(said, '{"status":"ok"} 90\n', "curl accepts the pin of env, and no other")
    good("rm", "-f", name)


# --- sessions -----------------------------------------------------------------------


def rows_of(name):
    return {r["name"]: r for r in json.loads(good("sessions", "--json", name))}


def test_sessions():
    name = BOX.run(IMAGE, "-w", "/tmp")
    BOX.act(name, "run", command="cd /bin && sleep 1000", session="build", timeout=1.0)
    rows = rows_of(name)
    eq({n: (r["state"], r["cwd"], r["command"]) for n, r in rows.items()},
       {"default": ("idle", "/tmp", None), "build": ("running", "/tmp", "cd /bin && sleep 1000")}, "sessions --json")
    ok(all(isinstance(r["seconds"], int) for r in rows.values()), "sessions: since when", rows)
    ok(until(lambda: rows_of(name)["build"]["seconds"] >= 2, 6 * harness.DEADLINE, 0.2),
       "sessions: the time of the state goes on")
    table = good("sessions", name).splitlines()
    eq(table[0].split(), ["NAME", "STATE", "SINCE", "CWD", "COMMAND"], "sessions: columns")
    row = [r for r in table if r.startswith("build ")][0]
    has(row, "cd /bin && sleep 1000", "sessions: the command")
    eq(good("sessions", name, "--kill", "build"), "build\n", "sessions --kill prints the name")
    eq(sorted(rows_of(name)), ["default"], "the session is gone")
    got = od("sessions", name, "--kill", "build")
    eq(got.returncode, 111, "sessions --kill of one that is not there fails")
    has(got.stderr, "has no session build", "and says so")
    eq(od("sessions", name, "--kill", "a/b").returncode, 100, "a name that no session can have")
    good("stop", "-t", "1", name)
    got = od("sessions", name)
    eq(got.returncode, 111, "sessions of a stopped sandbox fails")
    has(got.stderr, "is not running", "and says why")
    good("rm", name)


# --- build -t -----------------------------------------------------------------------


def test_build_tag():
    tag = f"{real.PREFIX}/made:7"
    product = good("build", "-t", tag, IMAGE).strip()
    eq(ENGINE.image(tag)["Id"], ENGINE.image(product)["Id"], "build -t names the product")
    doc = json.loads(good("build", "--json", "-t", f"{real.PREFIX}/made", IMAGE))
    eq((doc["built"], doc["tag"], doc["image"]), (False, f"{real.PREFIX}/made", product), "build --json -t")
    eq(ENGINE.image(f"{real.PREFIX}/made:latest")["Id"], ENGINE.image(product)["Id"], "without TAG it is latest")
    name = BOX.run(tag)
    eq(BOX.content(name, "echo hi"), "hi", "run of that name works")
    eq(inspect(name)["injection_method"], "image", "and injects nothing")
    good("rm", "-f", name)
    for bad, words in (("UPPER:x", "is not a valid image name"), ("a@sha256:" + "0" * 64, "is not a valid image name"),
                       ("0" * 64, "is not a valid image name"), ("od-runtime:mine", "are reserved for the images")):
        got = od("build", "-t", bad, IMAGE)
        eq(got.returncode, 100, f"build -t {bad[:20]} is refused")
        has(got.stderr, words, "with the reason")
    eq(od("build", "-t", tag, "--dry-run", IMAGE).returncode, 100, "build -t --dry-run is refused")


# --- run --connect ------------------------------------------------------------------


def test_connect():
    from test_listen import Listen
    with Listen() as listen:
        name = BOX.name()
        token = listen.put("token", listen.token(name))
        good("run", "--name", name, "--network", "host", "--connect", f"ws://127.0.0.1:{listen.port}/connect",
             "--connect-token", token, IMAGE)
        ok(until(lambda: listen.connected(name)), "the sandbox dials in under its own name")
        doc = ENGINE.container(name)
        has(doc["Config"]["Cmd"], "/.od-connect/token", "the client reads the token from a file")
        ok(listen.token(name) not in json.dumps(doc), "the engine's description does not have the token")
        command = "stat -c '%a %u' /.od-connect/token; cat /.od-connect/token"
        eq(BOX.content(name, command).split("\n")[0], "400 0", "only root can read the file")
        good("restart", "-t", "1", name)
        ok(until(lambda: listen.connected(name)), "it dials in again after a restart")
        good("rm", "-f", name)


def test_connect_tls():
    """Over TLS, by every method of injection, and with a server that is not root."""
    from test_dial import certificate
    from test_listen import Listen
    if not shutil.which("openssl"):
        skip("run --connect over TLS", "openssl is missing")
        return
    top = harness.scratch()
    cert, pin, _ = certificate(top)
    with Listen("--tls-cert", cert, "--tls-key", os.path.join(top, "k.pem")) as listen:
        for via, user, mode, trust in (("bind", "1234", "444 0", ("--connect-ca", cert)),
                                       ("volume", "0:0", "400 0", ("--connect-ca", cert)),
                                       ("put", "0", "400 0", ("--connect-pin", pin))):
            name = BOX.name()
            token = listen.put("token-" + name, listen.token(name))
            good("run", "--name", name, "--via", via, "--user", user, "--network", "host", *trust, "--connect",
                 f"wss://localhost:{listen.port}/connect", "--connect-token", token, IMAGE)
            tls_connected(listen, cert, name, via)
            eq(BOX.content(name, "stat -c '%a %u' /.od-connect/token"), mode, f"--via {via}: the mode of the token")
            good("rm", "-f", name)
    got = od("run", "--name", BOX.name(), "--read-only", "--connect", "ws://127.0.0.1:1/", "--connect-token",
             token, IMAGE)
    eq(got.returncode, 111, "no file gets into a read-only sandbox")
    has(got.stderr, "leave --read-only out", "and the error has the next step")


def tls_connected(listen, cert, name, via):
    """Its API answers by way of the backend."""
    context = ssl.create_default_context(cafile=cert)
    url = f"https://localhost:{listen.port}/sandboxes/{name}/alive"

    def answers():
        try:
            with urllib.request.urlopen(url, context=context, timeout=harness.DEADLINE) as answer:
                return json.load(answer) == {"status": "ok"}
        except urllib.error.HTTPError:
            return False
    ok(until(answers, step=0.05), f"--via {via}: the sandbox dials in over TLS")


def test_connect_refused():
    for options, words in ((("--connect", "http://x/"), "is not the URL of a backend"),
                           (("--connect", "wss://x/connect"), "--connect-ca or --connect-pin"),
                           (("--connect-id", "a"), "need --connect"),
                           (("--connect", "ws://x/", "--connect-id", "a b"), "is not a valid name of a sandbox"),
                           (("--connect", "ws://x/", "--connect-pin", "12"), "is not a SHA-256"),
                           (("--connect", "ws://x/", "--connect-cert", "/x"), "need each other")):
        got = od("run", "--name", BOX.name(), *options, IMAGE)
        eq(got.returncode, 100, f"run {' '.join(options)} is refused")
        has(got.stderr, words, "with the reason")
    got = od("run", "--name", BOX.name(), "--connect", "ws://x/", "--connect-token", "/nonexistent", IMAGE)
    eq(got.returncode, 111, "a token file that is not there")
    has(got.stderr, "--connect-token /nonexistent", "is named")


ENGINE = real.find()
if not ENGINE or not BUSYBOX or not os.path.exists(harness.BOXED):
    print("1..0 # SKIP no engine, no busybox or no od-runtime-client")
else:
    with real.Box(ENGINE) as BOX:
        IMAGE = load(BOX)
        harness.main()
