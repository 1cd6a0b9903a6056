"""An HTTP proxy that stands in front of an honest peer and changes its answers.

Proxy reads one request, forwards it to the honest peer, reads the whole answer and sends what a behaviour of
hostile.py makes of it. It records every request, byte for byte.
"""
import json
import os
import re
import select
import socket

from accept import serve_each

DRIP_SECONDS = 0.05  # between two bytes of a peer that drips
WAIT_SECONDS = 300   # longest wait for either side; a test ends long before


class Request:
    """A request, as it came: raw is the head with its blank line."""

    def __init__(self, raw, body):
        self.raw, self.body = raw, body
        parts = raw.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        self.method = parts[0]
        self.target = parts[1] if len(parts) > 1 else ""
        self.path = re.sub(r"^/v1\.\d+", "", self.target).split("?")[0]

    def illegal(self):
        """Why no peer may receive this request, or None."""
        first, *lines = self.raw[:-4].split(b"\r\n")
        if not re.fullmatch(rb"[A-Z]+ /[!-~]* HTTP/1\.1", first):
            return f"request line {first[:200]!r}"
        if re.search(rb"/(\.|%2e){1,2}(/|$)", first.split(b" ")[1].split(b"?")[0], re.I):
            return f"a path with a dot segment: {first[:200]!r}"
        for line in lines:
            if not re.fullmatch(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+: ?[\t -~\x80-\xff]*", line):
                return f"field {line[:200]!r}"
        names = [line.split(b":")[0].lower() for line in lines]
        for name in (b"content-length", b"host", b"transfer-encoding"):
            if names.count(name) > 1:
                return f"two fields {name.decode()}"
        return None

    def __repr__(self):
        return f"{self.method} {self.target[:100]}"


class Answer:
    """A whole answer of the honest peer; turn chooses among places that a behaviour can change."""

    def __init__(self, request, status, fields, body, turn=0):
        self.request, self.status, self.fields = request, status, fields
        self.body, self.turn = body, turn

    def field(self, name):
        return next((v for n, v in self.fields if n.lower() == name), None)

    def head(self, *more, status=None, length=None, drop=()):
        """The status line and the fields; length is that of the body, or a text, or None for no such field."""
        gone = {"content-length", "transfer-encoding", "connection", *drop}
        if self.status == 101:
            gone.discard("connection")
        lines = [f"HTTP/1.1 {status or self.status} X"]
        lines += [f"{n}: {v}" for n, v in self.fields if n.lower() not in gone]
        lines += [f"{n}: {v}" for n, v in more]
        if length is not None:
            lines.append(f"Content-Length: {length}")
        return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n"

    def whole(self, body=None, **more):
        """All of it with an honest length."""
        body = self.body if body is None else body
        if self.request.method == "HEAD" or self.status in (101, 204, 304):
            return self.head(**more)
        return self.head(length=len(body), **more) + body

    def changed(self, status=None, fields=None, body=None):
        return Answer(self.request, status or self.status, self.fields if fields is None else fields,
                      self.body if body is None else body, self.turn)

    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return None


def readable(socks, seconds):
    """The sockets from which something can be read, or that have an error; poll has no limit of fds."""
    poll = select.poll()
    for sock in socks:
        poll.register(sock, select.POLLIN)
    ready = {fd for fd, _ in poll.poll(seconds * 1000)}
    return [sock for sock in socks if sock.fileno() in ready]


# --- Reading ------------------------------------------------------------------

class Gone(OSError):
    """The peer closed its side."""


class Reader:
    def __init__(self, sock):
        self.sock, self.data, self.raw = sock, b"", b""

    def more(self):
        if not readable([self.sock], WAIT_SECONDS):
            raise Gone("no byte in time")
        data = self.sock.recv(65536)
        if not data:
            raise Gone("the peer closed")
        self.data += data

    def take(self, n):
        while len(self.data) < n:
            self.more()
        piece, self.data = self.data[:n], self.data[n:]
        return piece

    def until(self, mark):
        while mark not in self.data:
            self.more()
        return self.take(self.data.index(mark) + len(mark))

    def chunks(self):
        """A chunked body: (as it came, its data)."""
        raw = data = b""
        while True:
            line = self.until(b"\r\n")
            n = int(line.split(b";")[0], 16)
            piece = self.take(n + 2) if n else self.until(b"\r\n")
            raw += line + piece
            if not n:
                return raw, data
            data += piece[:-2]

    def rest(self):
        try:
            while True:
                self.more()
        except OSError:
            data, self.data = self.data, b""
            return data


def fields_of(head):
    lines = head[:-4].decode("latin-1").split("\r\n")[1:]
    return [tuple(part.strip() for part in line.split(":", 1)) for line in lines if ":" in line]


def read_request(reader):
    """(Request, its body as it came)."""
    raw = reader.until(b"\r\n\r\n")
    given = {n.lower(): v for n, v in fields_of(raw)}
    if given.get("transfer-encoding") == "chunked":
        sent, body = reader.chunks()
    else:
        sent = body = reader.take(int(given.get("content-length", 0)))
    return Request(raw, body), sent


def read_answer(reader, request, turn=0):
    head = reader.until(b"\r\n\r\n")
    status, fields = int(head.split(b" ")[1]), fields_of(head)
    given = {n.lower(): v for n, v in fields}
    if request.method == "HEAD" or status in (101, 204, 304):
        body = b""
    elif given.get("transfer-encoding") == "chunked":
        body = reader.chunks()[1]
    elif "content-length" in given:
        body = reader.take(int(given["content-length"]))
    else:
        body = reader.rest()
    return Answer(request, status, fields, body, turn)


def connect(to):
    sock = socket.socket(socket.AF_UNIX if isinstance(to, str) else socket.AF_INET)
    sock.connect(to if isinstance(to, str) else ("127.0.0.1", to))
    return sock


# --- The proxy ----------------------------------------------------------------

class Proxy:
    """Listens on a port of the loopback, or at path, in front of the honest peer at to (a port or a path).

    behaviour changes each answer to a request for which when(request) is true; the others pass as they are.
    A thread serves each connection. changed counts answers that were changed, requests holds all requests."""

    def __init__(self, to, behaviour=None, when=None, path=None, turn=0):
        self.to, self.behaviour, self.turn = to, behaviour, turn
        self.when = when or (lambda request: True)
        self.requests, self.changed, self.open = [], 0, set()
        self.path = path
        if path:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(path)
            self.listener.listen(64)
        else:
            self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
            self.port = self.listener.getsockname()[1]
        serve_each(self.listener, self.serve)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for sock in list(self.open):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        if self.path:
            os.unlink(self.path)

    def serve(self, sock):
        self.open.add(sock)
        try:
            reader = Reader(sock)
            while self.exchange(sock, reader):
                pass
        except (OSError, ValueError):
            pass
        finally:
            self.open.discard(sock)
            sock.close()

    def exchange(self, sock, reader):
        """Handles a request; whether another one can follow on the connection."""
        request, sent = read_request(reader)
        self.requests.append(request)
        with connect(self.to) as far:
            far.sendall(request.raw + sent)
            far_reader = Reader(far)
            answer = read_answer(far_reader, request, self.turn)
            pieces = None
            if self.behaviour and self.when(request):
                pieces = self.behaviour.apply(answer)
            if pieces is not None:
                self.changed += 1
                if not self.send(sock, pieces):
                    return False
            else:
                sock.sendall(answer.whole())
            if answer.status == 101:
                sock.sendall(far_reader.data)
                carry(sock, far, reader.data)
                return False
        return pieces is None

    def send(self, sock, pieces):
        """Sends the pieces, numbers being pauses in seconds; False once the other side has left."""
        for piece in pieces:
            if isinstance(piece, bytes):
                sock.sendall(piece)
            elif readable([sock], piece) and not sock.recv(65536):
                return False
        return True


def carry(near, far, first=b""):
    """Carries bytes both ways until either side closes; an end of the near side is passed on."""
    far.sendall(first)
    ways = {near: far, far: near}
    while ways:
        for sock in readable(list(ways), WAIT_SECONDS) or [far]:
            data = sock.recv(65536)
            if data:
                ways[sock].sendall(data)
            elif sock is near:
                far.shutdown(socket.SHUT_WR)
                del ways[near]
            else:
                return
