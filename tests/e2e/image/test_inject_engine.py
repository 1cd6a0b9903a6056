#!/usr/bin/env python3
"""od-runtime against a real engine: DOCKER_HOST, or /var/run/docker.sock.

Skipped by name where there is none, or no static busybox to make images of.
Everything that is made is taken away again.
"""
import http.client
import io
import json
import os
import re
import socket
import subprocess
import tarfile
import urllib.parse

import harness
from harness import eq, has, ok

SOCKET = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")[len("unix://"):]
BUSYBOX = "/bin/busybox" if os.path.exists("/bin/busybox") else "/usr/bin/busybox"
REPO = "od-test-%d" % os.getpid()
TEMP = harness.scratch("od-engine-")
HOSTILE = ["$HOME ${PATH} \\$x", "it's \"quoted\" \\ back\\\\slash `tick`",
           "line\nRUN evil\n#", "\x1b[31m\u00e9\u2028", "\t "]


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET)


def call(method, path, body=None, type_="application/json"):
    c = Connection("localhost")
    c.request(method, path, body, {"Content-Type": type_})
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, data


def inspect(name):
    return json.loads(call("GET", f"/images/{name}/json")[1])


def make(tag, *changes, links=("sh", "ls", "id", "stat", "cat", "sleep", "true")):
    """An image of busybox and nothing else; without links not even a shell."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        if links:
            t.add(BUSYBOX, "bin/busybox")
        for name in links:
            m = tarfile.TarInfo("bin/" + name)
            m.type, m.linkname = tarfile.SYMTYPE, "busybox"
            t.addfile(m)
        m = tarfile.TarInfo("data")
        t.addfile(m)
    query = [("fromSrc", "-"), ("repo", REPO), ("tag", tag)]
    query += [("changes", c) for c in changes]
    status, said = call("POST", "/images/create?" + urllib.parse.urlencode(query),
                        out.getvalue(), "application/x-tar")
    assert status == 200 and b"error" not in said, said
    return f"{REPO}:{tag}"


def od(*argv):
    env = dict(os.environ, DOCKER_HOST="unix://" + SOCKET, OD_STATE_DIR=TEMP,
               OD_RUNTIME_CLIENT=harness.BOXED)
    return subprocess.run([harness.RUNTIME, *argv], capture_output=True, env=env,
                          stdin=subprocess.DEVNULL, timeout=60 * harness.SLOW)


def images():
    return sorted(i["Id"] for i in json.loads(call("GET", "/images/json?all=1")[1]))


def remove(*names):
    for name in names:
        call("DELETE", f"/images/{name}?force=1")


def test_build():
    base = make("plain", "CMD " + json.dumps(HOSTILE), "USER 65532:7", "WORKDIR /srv")
    before = images()
    got = od("build", base)
    name = got.stdout.decode().strip()
    eq((got.returncode, got.stderr), (0, b""), "a build")
    doc = inspect(name)
    labels = doc["Config"]["Labels"]
    eq(json.loads(labels["od.orig.cmd"]), HOSTILE, "a hostile CMD is kept as it was")
    eq(json.loads(labels["od.orig.user"]), "65532:7", "the user")
    eq((doc["Config"]["User"], doc["Config"]["WorkingDir"]), ("65532:7", "/srv"),
       "which stays the user")
    eq(doc["Config"]["Entrypoint"], ["/.od/od-runtime-client", "init"], "entry point")
    layers = inspect(base)["RootFS"]["Layers"]
    eq((doc["RootFS"]["Layers"][:len(layers)], labels["od.base.id"]),
       (layers, inspect(base)["Id"]), "layers on the base")
    eq(od("build", base).stdout.decode().strip(), name, "again")
    eq(inspect(name)["Id"], doc["Id"], "builds nothing")
    eq(od("build", base, "--force").returncode, 0, "--force")
    remove(name)
    eq(images(), before, "no image is left over")
    remove(base)


def test_refused():
    base = make("volume", "VOLUME /.od")
    has(od("build", base).stderr, b"VOLUME", "a VOLUME over /.od is refused")
    remove(base)
    has(od("build", f"{REPO}:absent").stderr, b"--pull", "an image that is not there")


def test_run():
    base = make("run")
    got = od("run", base, "--via", "build")
    name = got.stdout.decode().strip()
    eq((got.returncode, got.stderr), (0, b""), "run")
    got = od("exec", name, "sh", "-c", "echo hi; exit 3")
    eq((got.returncode, got.stdout), (3, b"hi\n"), "exec")
    got = od("exec", name, "stat", "-c", "%a %u:%g", "/.od", "/.od/od-runtime-client",
             "/openhands/micromamba/bin")
    eq(got.stdout, b"755 0:0\n555 0:0\n755 0:0\n", "modes and owners")
    has([r["name"] for r in json.loads(od("ps", "--json").stdout)], name, "ps")
    _, info = call("GET", f"/containers/{name}/json")
    key = json.load(open(os.path.join(TEMP, "sandboxes", name + ".json")))["key"]
    ok(key.encode() not in info, "the engine does not know the key")
    eq(list(json.loads(info)["NetworkSettings"]["Ports"]["8000/tcp"][0].values())[0],
       "127.0.0.1", "published on loopback")
    eq(od("run", base, "--name", name).returncode, 111, "a name that is taken")
    eq(od("stop", name).returncode, 0, "stop")
    eq(od("rm", name).returncode, 0, "rm")
    eq(call("GET", f"/containers/{name}/json")[0], 404, "it is gone")
    got = od("run", "--rm", base, "--", "id", "-u")
    eq((got.returncode, got.stdout), (0, b"0\n"), "run --rm -- CMD")
    remove(od("build", base).stdout.decode().strip(), base)


def test_run_without_shell():
    base = make("bare", "USER 65532", links=())
    got = od("run", base, "--rm", "--no-busybox")
    name = got.stdout.decode().strip()
    eq((got.returncode, got.stderr), (0, b""), "an image with nothing in it")
    has(od("action", name, '{"action":"read","args":{"path":"/.od"}}').stdout, b"error",
        "answers")
    eq(od("stop", name).returncode, 0, "stop")
    remove(od("build", base, "--no-busybox").stdout.decode().strip(), base)


def test_port_taken():
    base = make("port")
    taken = socket.create_server(("127.0.0.1", 0))
    port = str(taken.getsockname()[1])
    got = od("run", base, "--port", port)
    ok(got.returncode == 111 and re.search(b"port [0-9]+ of 127.0.0.1 is already in use",
                                           got.stderr), "a port that is taken",
       got.stderr)
    eq(json.loads(od("ps", "--json").stdout), [], "leaves no container")
    remove(od("build", base).stdout.decode().strip(), base)


def main():
    try:
        status = call("GET", "/_ping")[0]
    except OSError:
        status = 0
    why = (status != 200 and "no engine answers at " + SOCKET or
           not os.path.exists(BUSYBOX) and "no busybox" or
           not os.path.exists(harness.BOXED) and "no od-runtime-client")
    if why:
        print(f"1..0 # SKIP {why}")
        return
    harness.main()


if __name__ == "__main__":
    main()
