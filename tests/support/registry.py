"""Peers of od-runtime that act for registries: a registry with one image, a store of blobs, a token server.

Each writes every request down; attributes of Mock change its answers.
"""
import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import ssl
import tarfile
import threading
import urllib.parse

USER, SECRET = "canary-user", "canary-secret-7f3a"
OCI = "application/vnd.oci.image."
INDEX, MANIFEST = OCI + "index.v1+json", OCI + "manifest.v1+json"
CONFIG, LAYER = OCI + "config.v1+json", OCI + "layer.v1.tar+gzip"


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


# --- Images ---------------------------------------------------------------------

def layer_of(files):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o755
            tar.addfile(info, io.BytesIO(data))
    return raw.getvalue()


def image(text=b"one", arch="amd64", size=0):
    """(blobs by digest, manifest bytes) of an image with a busybox and two layers."""
    with open("/bin/busybox" if os.path.exists("/bin/busybox") else "/bin/sh", "rb") as f:
        shell = f.read()
    raws = [layer_of({"bin/sh": shell}), layer_of({"text": text, "big": os.urandom(size)})]
    blobs, layers = {}, []
    for raw in raws:
        packed = gzip.compress(raw, 1, mtime=0)
        blobs[digest(packed)] = packed
        layers.append({"mediaType": LAYER, "digest": digest(packed), "size": len(packed)})
    config = json.dumps({
        "architecture": arch, "os": "linux", "config": {"Cmd": ["sh"]},
        "rootfs": {"type": "layers", "diff_ids": [digest(r) for r in raws]},
        "history": [{"created_by": "a"}, {"created_by": "b"}]}).encode()
    blobs[digest(config)] = config
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": digest(config), "size": len(config)},
        "layers": layers}).encode()
    return blobs, manifest


def write_oci(folder, made):
    blobs, manifest = made
    os.makedirs(os.path.join(folder, "blobs/sha256"))
    for data in [*blobs.values(), manifest]:
        with open(os.path.join(folder, "blobs/sha256", digest(data)[7:]), "wb") as f:
            f.write(data)
    with open(os.path.join(folder, "oci-layout"), "w") as f:
        f.write('{"imageLayoutVersion":"1.0.0"}')
    with open(os.path.join(folder, "index.json"), "w") as f:
        json.dump({"schemaVersion": 2, "manifests": [{
            "mediaType": MANIFEST, "digest": digest(manifest), "size": len(manifest)}]}, f)
    return folder


# --- A registry of our own, which writes everything down --------------------------

TOKEN = "canary-token-91c2"
PAIR = base64.b64encode(f"{USER}:{SECRET}".encode()).decode()


class Origin:
    """An HTTP server; answer(request) gives (status, headers, body)."""

    def __init__(self, answer, tls=None, address="127.0.0.1", port=0, clients=None):
        self.log, self.answer = [], answer
        self.peers = []  # whether those who came had a certificate
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def work(self):
                n = int(self.headers.get("Content-Length") or 0)
                self.body = self.rfile.read(n)
                if clients:
                    origin.peers.append(bool(self.connection.getpeercert()))
                origin.log.append((self.command, self.path, str(self.headers), self.body))
                status, headers, body = origin.answer(self)
                self.send_response_only(status)
                for name, value in headers:
                    self.send_header(name, value)
                if not any(n.lower() == "content-length" for n, _ in headers):
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = work

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((address, port), Handler)
        self.server.daemon_threads = True
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls + "/crt", tls + "/key")
            if clients:
                context.verify_mode = ssl.CERT_OPTIONAL
                context.load_verify_locations(clients)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.host = f"{address}:{self.port}"
        self.url = f"{'https' if tls else 'http'}://{self.host}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def heard(self, *words):
        """Whether any request had one of the words, anywhere in it."""
        return any(w in part for request in self.log
                   for part in [str(request)] for w in words)

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class Mock:
    """A registry with one image, r/img:1; the attributes say how it misbehaves."""

    def __init__(self, made=None, tls=None, address="127.0.0.1", clients=None):
        self.blobs, self.manifest = made or MADE
        self.challenge = None  # of a 401 for those without credentials
        self.accepts = ()      # values of Authorization that are let in
        self.blob_to = None    # where blobs are: a function of the path
        self.manifest_to = None
        self.status = 307
        self.upload_to = None  # Location of uploads
        self.mount = 201
        self.mangle = {}       # digest or "manifest": a function of the bytes
        self.pushed = {}
        self.origin = Origin(self.answer, tls, address, clients=clients)
        self.store = Origin(self.serve_blob)
        self.host = self.origin.host

    def serve_blob(self, q):
        if q.command == "PUT":
            return self.take(q)
        data = self.blobs.get("sha256:" + q.path.rsplit("sha256:", 1)[-1])
        if q.path.endswith("/manifests/1"):
            return 200, [("Content-Type", MANIFEST)], self.manifest
        return (200, [], data) if data is not None else (404, [], b"")

    def take(self, q):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(q.path).query)
        self.pushed[query["digest"][0]] = q.body
        return (201 if digest(q.body) == query["digest"][0] else 400), [], b""

    def answer(self, q):
        if self.challenge and q.headers.get("Authorization") not in self.accepts:
            return 401, [("WWW-Authenticate", c) for c in self.challenge], b"{}"
        path = urllib.parse.urlsplit(q.path).path
        if path == "/v2/":
            return 200, [], b"{}"
        if "/blobs/uploads/" in path:
            if q.command == "PUT":
                return self.take(q)
            if "mount=" in q.path and self.mount == 201:
                return 201, [], b""
            if "mount=" in q.path and self.mount != 202:
                return self.mount, [], b""
            where = self.upload_to or f"/v2/r/out/blobs/uploads/{len(self.origin.log)}?x=1"
            return 202, [("Location", where)], b""
        if "/manifests/" in path:
            if q.command == "PUT":
                self.pushed[path.rsplit("/", 1)[1]] = q.body
                return 201, [], b""
            if self.manifest_to:
                return self.status, [("Location", self.manifest_to(q.path))], b""
            data = self.mangle.get("manifest", bytes)(self.manifest)
            return 200, [("Content-Type", MANIFEST)], data
        name = path.rsplit("/", 1)[1]
        if self.blob_to and q.command == "GET":
            where = self.blob_to(q.path)
            return self.status, [("Location", where)] if where else [], b""
        if q.command == "HEAD" or name not in self.blobs:
            return 404, [], b""
        return 200, [], self.mangle.get(name, bytes)(self.blobs[name])

    def end(self):
        self.origin.end()
        self.store.end()


class Tokens(Origin):
    """A token server."""

    def __init__(self, **kw):
        self.reply = lambda q: (200, [], json.dumps({"token": TOKEN}).encode())
        super().__init__(lambda q: self.reply(q), **kw)

    def challenge(self, host=None):
        realm = self.url.replace("127.0.0.1", host) if host else self.url
        return [f'Bearer realm="{realm}/token?a=b",service="svc",scope="x"']


MADE = image()
