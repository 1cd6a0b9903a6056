"""An honest sandbox: as much of the client's API as od-runtime uses, with answers that never change.

It runs nothing: a command prints "hello", the folder /work has three files, the browser shows one picture.
"""
import base64
import hashlib
import io
import json
import os
import socket
import struct
import tarfile
import urllib.parse
import zlib

import fake_process
from accept import serve_each
from proxy import Reader, Request, fields_of, read_request

FOLDER = "/work"
FILES = {"a": b"content of a\n", "sub/b": b"content of b\n"}
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
TOOLS = [{"name": "run", "description": "Runs a command.", "inputSchema": {"type": "object"}}]
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def observation(content="hello", code=0):
    suffix = f"\n[The command completed with exit code {code}.]"
    return {"message": "m", "observation": "run", "content": content,
            "extras": {"command": "c", "metadata": {
                "exit_code": code, "pid": -1, "prefix": "", "suffix": suffix}},
            "success": code == 0}


def response(status, body=b"", *fields):
    kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    if not any(n == "Content-Type" for n, _ in fields):
        fields = (("Content-Type", kind), *fields)
    head = "".join(f"{n}: {v}\r\n" for n, v in fields)
    return f"HTTP/1.1 {status} X\r\n{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


def tree(path):
    """The archive of the folder, or of one file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        def add(name, kind, data=b"", link=""):
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(data), link
            info.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
            tar.addfile(info, io.BytesIO(data))
        if path == FOLDER:
            add("a", tarfile.REGTYPE, FILES["a"])
            add("sub", tarfile.DIRTYPE)
            add("sub/b", tarfile.REGTYPE, FILES["sub/b"])
            add("link", tarfile.SYMTYPE, link="a")
            add(".", tarfile.DIRTYPE)
        else:
            add(os.path.basename(path), tarfile.REGTYPE, FILES["a"])
    return out.getvalue()


def frame(op, data):
    """A frame of a WebSocket, from a server."""
    n = len(data)
    head = bytes([0x80 | op]) + (bytes([n]) if n < 126 else struct.pack(">BH", 126, n))
    return head + data


def session():
    """Frames of a stream for a client that opens a session: its screen, a line, the end."""
    text = b"hello\r\n"
    yield frame(1, json.dumps({"type": "hello", "version": 1, "box": "b", "epoch": "e", "window": 1 << 20,
                               "input_window": 1 << 18}).encode())
    yield frame(1, json.dumps({"type": "opened", "id": 1, "session": "s1"}).encode())
    yield frame(2, struct.pack(">BxxxIQII", 2, 1, 0, 0, zlib.crc32(text)) + text)
    yield frame(2, struct.pack(">BxxxIQII", 1, 1, 0, len(text), zlib.crc32(text)) + text)
    yield frame(1, json.dumps({"type": "closed", "id": 1, "exit_code": 0}).encode())
    yield frame(8, b"\x03\xe8")


class Sandbox:
    """Listens on a port of the loopback; a thread serves each connection."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        serve_each(self.listener, self.serve)

    def serve(self, sock):
        try:
            with sock:
                reader = Reader(sock)
                while True:
                    request, _ = read_request(reader)
                    if request.path == "/v1/stream":
                        self.stream(sock, request, reader)
                        return
                    if request.path.endswith("/attach"):
                        fake_process.attach(sock, fake_process.Ran(b"hello\n"))
                        return
                    sock.sendall(self.answer(request))
        except (OSError, ValueError):
            pass

    def answer(self, request: Request):
        path, query = request.path, dict(urllib.parse.parse_qsl(request.target.partition("?")[2]))
        if path == "/alive":
            return response(200, {"status": "ok"})
        if path == "/execute_action":
            return response(200, observation())
        if path == "/v1/processes":
            return response(201, fake_process.state(fake_process.Ran()))
        if path == "/list_files":
            return response(200, ["sub/", "a", "link"])
        if path == "/v1/files" and query.get("path", "").startswith(FOLDER):
            if query["path"] == FOLDER:
                return response(409, {"detail": f"{FOLDER}: is no regular file"})
            return response(200, FILES["a"])
        if path == "/v1/files/tar":
            made = {"path": query.get("path"), "entries": 1}
            return response(200, made) if request.method == "PUT" else \
                response(200, tree(query.get("path")), ("Content-Type", "application/x-tar"))
        if path == "/v1/browser/screen":
            return response(200, PICTURE, ("Content-Type", "image/png"))
        if path == "/mcp/sandbox":
            return self.mcp(request)
        return response(404, {"detail": f"{path}: No such file or directory"})

    def mcp(self, request):
        if request.method != "POST":
            return response(200, {})
        call = json.loads(request.body)
        results = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "od-runtime", "version": "0"}},
            "tools/list": {"tools": TOOLS},
            "tools/call": {"content": [{"type": "text", "text": "hello"}], "isError": False}}
        if call.get("method") not in results:
            return response(202, b"", ("Content-Type", "application/json"))
        said = {"jsonrpc": "2.0", "id": call["id"], "result": results[call["method"]]}
        return response(200, said, ("Mcp-Session-Id", "a-session"))

    def stream(self, sock, request, reader):
        given = {n.lower(): v for n, v in fields_of(request.raw)}
        key = given.get("sec-websocket-key", "").encode()
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
        sock.sendall(f"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        for piece in session():
            sock.sendall(piece)
        reader.rest()
