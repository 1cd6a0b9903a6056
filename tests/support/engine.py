"""A real container engine for the tests, and the user images they are tried on.

  DOCKER_HOST  the engine, unix:///...; without one the tests are skipped by name
  OD_IMAGES    a folder with debian.tar, busybox.tar and static.tar (tools/images)

Every name made here begins with od-e2e-, so that sweep() can tell what is left.
"""
import http.client
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import urllib.parse

import harness

PREFIX = f"od-e2e-{os.getpid()}"


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("engine", timeout=60 * harness.SLOW)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Engine:
    """What the tests want to know of the engine, past od-runtime."""

    def __init__(self, path):
        self.path = path

    def call(self, method, path, body=None, query=None, expect=(200, 201, 204, 304)):
        c = Connection(self.path)
        if query:
            path += "?" + urllib.parse.urlencode(query)
        fields = {}
        if isinstance(body, dict):
            body, fields = json.dumps(body), {"Content-Type": "application/json"}
        c.request(method, path, body, fields)
        answer = c.getresponse()
        data = answer.read()
        c.close()
        if answer.status not in expect:
            raise RuntimeError(f"{method} {path}: {answer.status} {data[:500]!r}")
        try:
            return json.loads(data) if data else None
        except ValueError:
            return data

    def load(self, tar, name, *changes):
        """A user image from an archive of its files."""
        # Podman heeds no tag but the one in repo.
        query = [("fromSrc", "-"), ("repo", name)]
        query += [("changes", c) for c in changes]
        said = self.call("POST", "/images/create", tar, query)
        if b"error" in (said if isinstance(said, bytes) else json.dumps(said).encode()):
            raise RuntimeError(f"{name}: {said}")

    def image(self, name):
        return self.call("GET", f"/images/{name}/json")

    def ours(self):
        """Ids of the images of these tests: by name, by label, and what is built on them."""
        rows = self.call("GET", "/images/json", query={"all": "1"})
        ids = {i["Id"] for i in rows if any(PREFIX in t for t in i["RepoTags"] or [])
               or PREFIX in (i["Labels"] or {}).get("od.base.ref", "")}
        grown = 0
        while grown != len(ids):
            grown = len(ids)
            ids |= {i["Id"] for i in rows if i["ParentId"] in ids}
        return ids

    def container(self, name):
        return self.call("GET", f"/containers/{name}/json")

    def containers(self):
        """Those of these tests: by name or by image."""
        images = self.ours()
        return {c["Id"] for c in self.call("GET", "/containers/json", query={"all": "1"})
                if c["ImageID"] in images or any(PREFIX in n for n in c["Names"])}

    def kill(self, name, signal="KILL"):
        self.call("POST", f"/containers/{name}/kill", query={"signal": signal})

    def stop(self, name, seconds=10):
        self.call("POST", f"/containers/{name}/stop", query={"t": seconds})

    def wait(self, name):
        return self.call("POST", f"/containers/{name}/wait")["StatusCode"]

    def remove(self, name):
        self.call("DELETE", f"/containers/{name}", query={"force": 1, "v": 1},
                  expect=(204, 404))

    def remove_image(self, name):
        self.call("DELETE", f"/images/{name}", query={"force": 1}, expect=(200, 404, 409))

    def start(self, image, **more):
        """A container made by hand, as another program would; its id."""
        made = self.call("POST", "/containers/create", dict({"Image": image}, **more))
        self.call("POST", f"/containers/{made['Id']}/start")
        return made["Id"]


def find():
    """The engine, or None where none answers."""
    for url in (os.environ.get("DOCKER_HOST", ""), "unix:///run/docker.sock"):
        path = url.removeprefix("unix://")
        if not path.startswith("/") or not os.path.exists(path):
            continue
        try:
            engine = Engine(path)
            engine.call("GET", "/_ping")
            os.environ["DOCKER_HOST"] = "unix://" + path
            return engine
        except OSError:
            pass
    return None


def archive(files):
    """A tar of {name: bytes}; a name that ends in / is a folder; (bytes, mode)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name.rstrip("/"))
            data, info.mode = data if isinstance(data, tuple) else (data, 0o755)
            if name.endswith("/"):
                info.type = tarfile.DIRTYPE
            elif isinstance(data, str):
                info.type, info.linkname = tarfile.SYMTYPE, data
            else:
                info.size = len(data)
            tar.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return out.getvalue()


class Box:
    """od-runtime with a state folder of its own, and all that it has made."""

    def __init__(self, engine):
        self.engine = engine
        self.top = tempfile.mkdtemp(prefix="od-e2e-state-")
        self.state = os.path.join(self.top, "state")
        self.start = self.before = (engine.ours(), engine.containers())
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sweep()
        shutil.rmtree(self.top, ignore_errors=True)

    def od(self, *argv, stdin=None, env=None, seconds=None):
        """Runs od-runtime: an object with returncode, stdout and stderr (text)."""
        full = {k: v for k, v in os.environ.items() if k not in ("OD_RUNTIME", "OD_CLIENT")}
        full.update({"OD_STATE_DIR": self.state, "OD_RUNTIME_CLIENT": harness.BOXED})
        full.update(env or {})
        return subprocess.run([harness.RUNTIME, *argv], input=stdin, env=full, text=True,
                              stdin=None if stdin is not None else subprocess.DEVNULL,
                              capture_output=True, timeout=seconds or 12 * harness.DEADLINE)

    def name(self, what="box"):
        self.count += 1
        return f"{PREFIX}-{what}{self.count}"

    def run(self, image, *options):
        """A running sandbox; its name."""
        name = self.name()
        done = self.od("run", "--name", name, *options, image)
        if done.returncode != 0:
            raise RuntimeError(f"run {image}: {done.returncode} {done.stderr}")
        return name

    def act(self, name, action, timeout=10.0, **args):
        """One action by way of od-runtime; its observation."""
        event = json.dumps({"action": action, "args": args, "timeout": timeout})
        done = self.od("action", "--json", name, "-", stdin=event)
        if done.returncode not in (0, 1):  # 1: the observation tells of a failure
            raise RuntimeError(f"{event}: {done.returncode} {done.stderr}")
        return json.loads(done.stdout)

    def content(self, name, command):
        return self.act(name, "run", command=command)["content"]

    def mark(self):
        """What is here now counts as having been here before."""
        self.before = (self.engine.ours(), self.engine.containers())

    def new(self, before=None):
        """What there is of ours in the engine that was not there before."""
        images, containers = before or self.before
        return (self.engine.ours() - images, self.engine.containers() - containers)

    def sweep(self):
        images, containers = self.new(self.start)
        for one in containers:
            self.engine.remove(one)
        # A parent goes only when its children are gone.
        while images:
            before = images
            for one in before:
                self.engine.remove_image(one)
            images = self.new(self.start)[0]
            if images == before:
                break


def load_images(engine, *names):
    """Imports user images; {name: reference}, or None if their archives are missing."""
    folder = os.environ.get("OD_IMAGES", "")
    if not all(os.path.exists(os.path.join(folder, n + ".tar")) for n in names):
        return None
    out = {}
    for name in names:
        out[name] = f"{PREFIX}/{name}:1"
        with open(os.path.join(folder, name + ".tar"), "rb") as tar:
            engine.load(tar, out[name], *(['CMD ["/hello"]'] if name == "static" else []))
    return out


def has_images(engine, images, name):
    """Whether a test can be run with them; else it is skipped by its name."""
    if not engine:
        harness.skip(name, "no container engine answers")
    elif not images:
        harness.skip(name, "no images to try: OD_IMAGES is not set (tools/images)")
    return images


def port_of(engine, container):
    """The port of the loopback on which a sandbox answers."""
    bindings = engine.container(container)["NetworkSettings"]["Ports"]
    return [(b["HostIp"], int(b["HostPort"])) for v in bindings.values() for b in v or []]
