"""A container engine for tests: HTTP on a unix socket, answers byte by byte.

By itself it behaves like a small Docker: it knows images, builds them, keeps
containers, and answers for the sandbox in a container that was started, on a TCP
port of its own. A test changes what it says with `answers`, a list of

    (method, regular expression for the path behind the version, answer)

where an answer is bytes that are sent as they are, a function of the request, or
EARLY(bytes): answered and closed before the body of the request is read. The
first that matches wins. `split` sends every answer in pieces of so many bytes.
"""
import base64
import hashlib
import io
import json
import os
import re
import socket
import struct
import tarfile
import threading
import urllib.parse

import fake_process

BASE_ID = "sha256:" + "ab" * 32
STATIC = b"\x7fELF\2\1\1" + bytes(57)  # the head of a static program
# The owner's text in a label of a sandbox: a process of another machine.
OWNER = "0123456789abcdef.0123456789abcdef.1.2.3.4"


class EARLY:
    def __init__(self, data):
        self.data = data


class Refused(Exception):
    """Its argument is the answer."""


class TUNNEL:
    """The answer that makes a connection one to a container's port."""
    def __init__(self, container):
        self.container = container


def response(status, body=b"", fields=()):
    """A response whose body has a length; a dict or list becomes JSON."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n"
    head += "".join(f"{k}: {v}\r\n" for k, v in fields)
    if status != 204:
        head += f"Content-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


def refusal(status, message):
    return response(status, {"message": message})


def chunked(body, size, status=200):
    """The same in chunks of size bytes, as engines send streams."""
    out = [b"HTTP/1.1 %d OK\r\nTransfer-Encoding: chunked\r\n\r\n" % status]
    for at in range(0, len(body), size):
        piece = body[at:at + size]
        out.append(b"%x\r\n%s\r\n" % (len(piece), piece))
    return b"".join(out) + b"0\r\n\r\n"


def lines(*objects):
    return b"".join(json.dumps(o).encode() + b"\r\n" for o in objects)


def frames(*pieces):
    """(stream, bytes) as the engine frames a container's output."""
    return b"".join(struct.pack(">BxxxI", s, len(p)) + p for s, p in pieces)


def image(id_=BASE_ID, layers=("l1",), names=("base:1",), config=None, **more):
    doc = {
        "Id": id_, "Os": "linux", "Architecture": "amd64", "Parent": "",
        "RepoTags": list(names), "RepoDigests": [],
        "RootFS": {"Type": "layers", "Layers": list(layers)},
        "Config": {"Cmd": ["sh"], "Entrypoint": None, "Labels": None, "User": "",
                   "OnBuild": None, "Volumes": None, "WorkingDir": "", "Env": []},
    }
    doc["Config"].update(config or {})
    doc.update(more)
    return doc


def path_stat(mode, size=0):
    target, mode = (mode, 1 << 27 | 0o777) if isinstance(mode, str) else ("", mode)
    text = json.dumps({"name": "x", "size": size, "mode": mode, "linkTarget": target})
    return base64.b64encode(text.encode()).decode()


class Request:
    def __init__(self, head, body):
        first, *fields = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ")
        self.fields = {k.lower(): v.strip() for k, _, v in
                       (f.partition(":") for f in fields)}
        self.body = body
        path = re.sub(r"^/v1\.\d+", "", self.target)
        self.path, _, query = path.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.method} {self.target}"


def labels_of(dockerfile):
    """The labels as a parser of Dockerfiles understands them."""
    out = {}
    text = dockerfile[dockerfile.index("LABEL ") + 6:].replace("\\\n\t", " ")
    pattern = re.compile(r'\s*([a-z0-9.]+)="((?:[^"\\]|\\.)*)"')
    at = 0
    while True:
        m = pattern.match(text, at)
        if not m:
            return out
        out[m.group(1)] = re.sub(r'\\([\\"$])', r"\1", m.group(2))
        at = m.end()


class Container:
    def __init__(self, id_, name, spec):
        self.id, self.name, self.spec = id_, name, spec
        self.state = "created"
        self.exit_code = 0
        self.port = None
        self.files = {}  # path -> (mode, size): what was put into it
        self.contents = {}  # path -> bytes
        self.image = "sha256:0"

    @property
    def publishes(self):
        return bool(self.spec.get("HostConfig", {}).get("PortBindings"))

    def inspect(self):
        running = self.state in ("running", "paused")
        ports = {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(self.port)}]}
        return {
            "Id": self.id, "Name": "/" + self.name,
            "State": {"Status": self.state, "Running": running,
                      "Paused": self.state == "paused", "ExitCode": self.exit_code},
            "Image": self.image,
            "Config": {n: self.spec[n] for n in ("Labels", "Cmd", "StopTimeout") if n in self.spec},
            "HostConfig": self.spec.get("HostConfig", {}),
            "NetworkSettings": {"Ports": ports if running and self.publishes else {}},
        }


class Sandbox:
    """What listens on a started container's port. alive answers so often with
    nothing first; execute makes an observation of an action."""

    def __init__(self, engine):
        self.engine = engine
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.not_yet = engine.not_yet
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            conn, _ = self.listener.accept()
            try:
                self.serve(conn)
            except OSError:
                pass
            conn.close()

    def execute(self, conn, request):
        """Starts a process, and serves the connection that is then attached to it."""
        ran = self.engine.process(request)
        if isinstance(ran, bytes):
            conn.sendall(ran)
            return
        conn.sendall(response(201, fake_process.state(ran)))
        request = read_request(conn)
        if request:
            self.engine.sandbox_log.append(request)
            fake_process.attach(conn, ran)

    def serve(self, conn):
        request = read_request(conn)
        if not request:
            return
        self.engine.sandbox_log.append(request)
        if (request.method, request.path) == ("POST", "/v1/processes"):
            self.execute(conn, request)
            return
        if request.path.endswith("/attach"):
            ran = self.engine.attach(request)
            conn.sendall(ran) if isinstance(ran, bytes) else fake_process.attach(conn, ran)
            return
        if request.path == "/alive":
            if self.not_yet:
                self.not_yet -= 1
                if self.not_yet % 2:
                    conn.sendall(response(200, {"status": "not initialized"}))
                return
            conn.sendall(response(200, {"status": "ok"}))
            return
        answer = self.engine.execute(request)
        conn.sendall(answer if isinstance(answer, bytes) else response(200, answer))


def run_observation(content, code=0, suffix=None, prefix=""):
    if suffix is None:
        suffix = f"\n[The command completed with exit code {code}.]"
    return {"message": "m", "observation": "run", "content": content,
            "extras": {"command": "c", "metadata": {
                "exit_code": code, "pid": -1, "prefix": prefix, "suffix": suffix}},
            "success": code == 0}


def read_body(conn, data, fields):
    if fields.get("transfer-encoding") == "chunked":
        body = b""
        while True:
            while b"\r\n" not in data:
                data += conn.recv(65536) or exit_thread()
            size, _, data = data.partition(b"\r\n")
            n = int(size, 16)
            while len(data) < n + 2:
                data += conn.recv(65536) or exit_thread()
            body += data[:n]
            data = data[n + 2:]
            if n == 0:
                return body
    want = int(fields.get("content-length", 0))
    while len(data) < want:
        data += conn.recv(65536) or exit_thread()
    return data


def exit_thread():
    raise OSError("the peer has gone")


def read_head(conn):
    data = b""
    while b"\r\n\r\n" not in data:
        more = conn.recv(65536)
        if not more:
            return None, b""
        data += more
    head, _, data = data.partition(b"\r\n\r\n")
    return Request(head, b""), data


def read_request(conn):
    request, data = read_head(conn)
    if request:
        request.body = read_body(conn, data, request.fields)
    return request


class Engine:
    sandbox = Sandbox  # called with the engine for each container that starts; has a port

    def __init__(self, path, answers=(), split=0, api="1.41", fields=(), images=None,
                 not_yet=0, chunk=1 << 20, builder=None, container=None):
        self.path, self.split, self.chunk = path, split, chunk
        self.api, self.fields = api, list(fields)
        if builder:
            self.fields.append(("Builder-Version", builder))
        self.answers = list(answers)
        self.images = images if images is not None else {"base:1": image()}
        # in images: path -> Go's file mode, or, of a link, where it leads to
        self.paths = {"/bin/sh": 0o755}
        self.programs = {}  # path in images -> its content, if it is not STATIC
        self.containers = {}
        self.volumes = {}  # name -> files, as those of a container
        self.volume_contents = {}  # name -> path -> bytes
        self.volume_labels = {}  # name -> labels
        self.sees_files = True  # of the machine that the tests run on
        self.takes_files = True
        self.execs = {}
        self.next_id = 0
        self.log = []
        self.sandbox_log = []
        self.not_yet = not_yet
        self.execute = lambda request: run_observation("hello")
        self.process = lambda request: fake_process.Ran(b"hello\n")
        self.attach = lambda request: response(404, {"detail": "not found"})
        self.container_dies = container  # (exit code, log) instead of running
        self.build_lines = []
        self.output = frames((1, b"line one\n"), (2, b"line two\n"))
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(16)
        threading.Thread(target=self.run, daemon=True).start()

    def close(self):
        self.listener.close()
        os.unlink(self.path)

    def called(self, method, pattern):
        return [r for r in self.log if r.method == method and
                re.fullmatch(pattern, r.path)]

    def run(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def scripted(self, request):
        for method, pattern, answer in self.answers:
            if method == request.method and re.fullmatch(pattern, request.path):
                return answer
        return None

    def serve(self, conn):
        try:
            request, data = read_head(conn)
            if request:
                answer = self.scripted(request)
                if isinstance(answer, EARLY):
                    self.log.append(request)
                    conn.sendall(answer.data)
                else:
                    request.body = read_body(conn, data, request.fields)
                    self.log.append(request)
                    answer = self.answer(request, answer, conn)
                    if isinstance(answer, TUNNEL):
                        self.tunnel(conn, answer.container)
                    else:
                        self.send(conn, answer)
        except OSError:
            pass
        finally:
            conn.close()

    def send(self, conn, data):
        step = self.split or len(data) or 1
        for at in range(0, len(data), step):
            conn.sendall(data[at:at + step])

    def answer(self, request, answer, conn):
        if callable(answer):
            answer = answer(request)
        if answer is not None:
            return answer
        for method, pattern, handler in self.ROUTES:
            m = re.fullmatch(pattern, request.path)
            if method == request.method and m:
                try:
                    with self.lock:
                        return handler(self, request, *m.groups())
                except Refused as e:
                    return e.args[0]
        return refusal(404, "page not found")

    # --- What a small Docker does ---

    def ping(self, request):
        fields = [("Api-Version", self.api), ("Ostype", "linux")] + self.fields
        return response(200, b"OK", fields)

    def version(self, request):
        return response(200, {"Components": [{"Name": "Engine"}]})

    def find_image(self, name):
        for key, doc in self.images.items():
            if name in (key, doc["Id"], doc["Id"].replace("sha256:", "")):
                return key, doc
        return None, None

    def image_inspect(self, request, name):
        _, doc = self.find_image(name)
        return response(200, doc) if doc else refusal(404, f"No such image: {name}")

    def image_tag(self, request, name):
        _, doc = self.find_image(name)
        self.images[f"{request.query['repo']}:{request.query['tag']}"] = doc
        return response(201)

    def image_list(self, request):
        filters = json.loads(request.query["filters"])
        if filters == {"label": ["od.sandbox"]}:
            return response(200, [{"Id": doc["Id"], "Labels": labels} for doc in self.images.values()
                                  if "od.sandbox" in (labels := doc["Config"]["Labels"] or {})])
        key, _, value = filters["label"][0].partition("=")
        assert filters["dangling"] == ["true"], filters
        named = {doc["Id"] for name, doc in self.images.items() if name != doc["Id"]}
        found = [doc for doc in self.images.values() if doc["Id"] not in named and
                 (doc["Config"]["Labels"] or {}).get(key) == value]
        return response(200, found[:1])  # the others have a child

    def image_delete(self, request, name):
        key, _ = self.find_image(name)
        if key:
            del self.images[key]
        return response(200, []) if key else refusal(404, "No such image")

    def build(self, request):
        files = tarfile.open(fileobj=io.BytesIO(request.body))
        text = files.extractfile("Dockerfile").read().decode()
        self.context = {m.name: m for m in files.getmembers()}
        base = re.search(r"^FROM (\S+)$", text, re.M).group(1)
        _, doc = self.find_image(base)
        if not doc:
            return chunked(lines({"error": f"no {base}"}), self.chunk)
        self.dockerfile = text
        layers = doc["RootFS"]["Layers"] + ["ours"]
        id_ = "sha256:" + hashlib.sha256(request.body).hexdigest()
        config = dict(doc["Config"], Labels=labels_of(text))
        made = image(id_, layers, [request.query["t"]], config,
                     Architecture=doc["Architecture"])
        if self.build_lines:  # fails after two steps
            for i in range(2):
                step = image(f"sha256:{i:064x}", layers, (), config)
                self.images[step["Id"]] = step
        else:
            self.images[request.query["t"]] = made
        said = [{"stream": "Step 1/4 : FROM x\n"}, {"stream": "\n"},
                {"stream": f" ---> {doc['Id'][7:19]}\n"}, {"stream": "Step 2/4\n"}]
        said += self.build_lines or [{"aux": {"ID": id_}},
                                     {"stream": "Successfully built\n"}]
        return chunked(lines(*said), self.chunk)

    def find_container(self, name):
        for c in self.containers.values():
            if name in (c.id, c.name):
                return c
        return None

    def container_of(self, name):
        c = self.find_container(name)
        if not c:
            raise Refused(refusal(404, f"No such container: {name}"))
        return c

    def container_create(self, request):
        name = request.query.get("name", "probe")
        if self.find_container(name):
            return refusal(409, f"Conflict. The container name {name} is in use")
        self.next_id += 1
        id_ = f"{self.next_id:064x}"
        self.containers[id_] = Container(id_, name, request.json())
        return response(201, {"Id": id_, "Warnings": []})

    def container_stat(self, request, name):
        path, c = request.query["path"], self.container_of(name)
        found = self.seen_in(c, path)
        if found:
            stat = path_stat(*found)
            return response(200, b"", [("X-Docker-Container-Path-Stat", stat)])
        mode = self.paths.get(path)
        if mode is None:
            return response(404)
        stat = path_stat(mode, len(self.programs.get(path, STATIC)))
        return response(200, b"", [("X-Docker-Container-Path-Stat", stat)])

    def mounts(self, c):
        host = c.spec.get("HostConfig", {})
        return [(m["Type"], m.get("Source"), m["Target"], m.get("ReadOnly"))
                for m in host.get("Mounts", [])]

    def seen_in(self, c, path):
        for kind, source, target, _ in self.mounts(c):
            if kind == "bind" and target == path and self.sees_files:
                st = os.stat(source)
                return st.st_mode & 0o7777, st.st_size
            if kind == "volume" and path.startswith(target + "/"):
                return self.volumes.setdefault(source, {}).get(path)
        return c.files.get(path)

    def container_put(self, request, name):
        c = self.container_of(name)
        if not self.takes_files or c.spec.get("HostConfig", {}).get("ReadonlyRootfs"):
            return refusal(500, "container rootfs is marked read-only")
        top = request.query["path"].rstrip("/")
        into, contents = c.files, c.contents
        for kind, source, target, read_only in self.mounts(c):
            # As in Podman, the path has to lead into it.
            if kind == "volume" and target == top and not read_only:
                into = self.volumes[source]
                contents = self.volume_contents.setdefault(source, {})
        tar = tarfile.open(fileobj=io.BytesIO(request.body))
        for m in tar.getmembers():
            mode = m.mode | (1 << 31 if m.isdir() else 1 << 27 if m.issym() else 0)
            into[f"{top}/{m.name.rstrip('/')}"] = (mode, m.size)
            if m.isreg():
                contents[f"{top}/{m.name}"] = tar.extractfile(m).read()
        return response(200)

    def container_get(self, request, name):
        """One file as an archive, of a volume, of what was put in, or of the image."""
        path, c = request.query["path"], self.container_of(name)
        contents = {path: STATIC, **self.programs} if path in self.paths else c.contents
        for kind, source, target, _ in self.mounts(c):
            if kind == "volume" and path.startswith(target + "/"):
                contents = self.volume_contents.get(source, {})
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            info = tarfile.TarInfo(os.path.basename(path))
            info.size = len(contents.get(path, b""))
            tar.addfile(info, io.BytesIO(contents.get(path, b"")))
        return chunked(out.getvalue(), self.chunk)

    def volume_create(self, request):
        doc = request.json()
        self.volumes.setdefault(doc["Name"], {})
        self.volume_labels.setdefault(doc["Name"], doc.get("Labels"))
        return response(201, {"Name": doc["Name"], "Mountpoint": "/v/" + doc["Name"]})

    def volume_inspect(self, request, name):
        if name not in self.volumes:
            return refusal(404, "no such volume")
        return response(200, {"Name": name, "Mountpoint": "/v/" + name,
                              "Labels": self.volume_labels.get(name)})

    def volume_delete(self, request, name):
        if name not in self.volumes:
            return refusal(404, "no such volume")
        if any(source == name for c in self.containers.values()
               for _, source, *_ in self.mounts(c)):
            return refusal(409, "volume is in use")
        del self.volumes[name]
        return response(204)

    def exec_create(self, request, name):
        c = self.container_of(name)
        if c.state != "running":
            return refusal(409, "Container is not running")
        id_ = f"{len(self.execs) + 1:064x}"
        self.execs[id_] = (c, request.json())
        return response(201, {"Id": id_})

    def exec_start(self, request, id_):
        c, spec = self.execs[id_]
        if request.json()["Detach"]:
            c.port = self.sandbox(self).port
            return response(200)
        return TUNNEL(c)

    def tunnel(self, conn, c):
        """What the client's role connect does, with an engine in between."""
        conn.sendall(b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker."
                     b"raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
        inner = socket.create_connection(("127.0.0.1", c.port))

        def up():
            try:
                while data := conn.recv(65536):
                    inner.sendall(data)
                inner.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        threading.Thread(target=up, daemon=True).start()
        self.send(conn, frames((2, b"a remark on stderr\n")))
        while data := inner.recv(1000):
            self.send(conn, frames((1, data)))
        inner.close()

    def container_start(self, request, name):
        c = self.container_of(name)
        if self.container_dies:
            c.state, c.exit_code = "exited", self.container_dies[0]
            self.output = frames((2, self.container_dies[1]))
            if c.spec["HostConfig"]["AutoRemove"]:
                del self.containers[c.id]
        else:
            c.state, c.port = "running", self.sandbox(self).port
        return response(204)

    def container_inspect(self, request, name):
        c = self.container_of(name)
        return response(200, c.inspect())

    def container_delete(self, request, name):
        c = self.container_of(name)
        if c.state == "running" and request.query.get("force") != "1":
            return refusal(409, "You cannot remove a running container")
        del self.containers[c.id]
        return response(204)

    def container_stop(self, request, name):
        c = self.container_of(name)
        if c.state != "running":
            return response(304)
        c.state = "exited"
        if c.spec["HostConfig"]["AutoRemove"]:
            del self.containers[c.id]
        return response(204)

    def container_list(self, request):
        wanted = json.loads(request.query["filters"])
        assert wanted in ({"label": ["od.sandbox=1"]}, {"label": ["od.sandbox.bound"]},
                          {"status": ["created"]}), wanted
        out = []
        for c in self.containers.values():
            labels = c.spec.get("Labels") or {}
            if ("status" in wanted and getattr(c, "state", "") not in wanted["status"] or
                    any(w.partition("=")[0] not in labels for w in wanted.get("label", ()))):
                continue
            ports = [{"PrivatePort": 8000, "PublicPort": c.port, "Type": "tcp"}]
            out.append({"Id": c.id, "Names": ["/" + c.name], "Image": c.spec.get("Image"),
                        "Labels": labels, "State": c.state, "Created": 1,
                        "HostConfig": {"NetworkMode": c.spec.get("HostConfig", {}).get(
                            "NetworkMode", "default")},
                        "Ports": ports if c.state == "running" else []})
        return response(200, out)

    def container_logs(self, request, name):
        return chunked(self.output, self.chunk)

    def container_attach(self, request, name):
        died = frames((2, self.container_dies[1])) if self.container_dies else b""
        return (b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream"
                b"\r\n\r\n" + died)

    ROUTES = [
        ("GET", "/_ping", ping),
        ("GET", "/version", version),
        ("GET", "/images/json", image_list),
        ("GET", "/images/(.+)/json", image_inspect),
        ("POST", "/images/(.+)/tag", image_tag),
        ("DELETE", "/images/(.+)", image_delete),
        ("POST", "/build", build),
        ("POST", "/containers/create", container_create),
        ("GET", "/containers/json", container_list),
        ("HEAD", "/containers/(.+)/archive", container_stat),
        ("PUT", "/containers/(.+)/archive", container_put),
        ("GET", "/containers/(.+)/archive", container_get),
        ("POST", "/containers/(.+)/exec", exec_create),
        ("POST", "/exec/(.+)/start", exec_start),
        ("POST", "/volumes/create", volume_create),
        ("GET", "/volumes/(.+)", volume_inspect),
        ("DELETE", "/volumes/(.+)", volume_delete),
        ("POST", "/containers/(.+)/start", container_start),
        ("POST", "/containers/(.+)/stop", container_stop),
        ("POST", "/containers/(.+)/attach", container_attach),
        ("GET", "/containers/(.+)/json", container_inspect),
        ("GET", "/containers/(.+)/logs", container_logs),
        ("DELETE", "/containers/(.+)", container_delete),
    ]
