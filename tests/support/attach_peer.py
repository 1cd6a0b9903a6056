"""A peer of /v1/processes/ID/attach, written with sockets: frames by hand."""
import json
import select
import struct
import time

import harness
from harness import Conn, Closed, request

STDIN, STDOUT, STDERR, CONTROL = 0, 1, 2, 4
PROTOCOL = "od.process.v1"


def frame(kind, data=b""):
    return struct.pack(">BxxxI", kind, len(data)) + data


def control(kind, **members):
    return frame(CONTROL, json.dumps({"type": kind, **members}).encode())


def spec(*argv, **members):
    return json.dumps({"argv": argv, **members}).encode()


def start(client, *argv, conn=None, key=None, **members):
    """The object of a new process; conn: the connection of the request, which stays open."""
    fields = {"X_Session_API_Key": key} if key else {}
    with_conn = conn or client.conn()
    answer = with_conn.send(request("POST", "/v1/processes", spec(*argv, **members), **fields)).response()
    if not conn:
        with_conn.close()
    assert answer.status == 201, answer
    return answer.json()


class Attached:
    """An attachment. Outputs are collected with their offsets; gaps are listed."""

    def __init__(self, conn, answer, offsets=None):
        self.conn, self.answer = conn, answer
        self.out = {STDOUT: bytearray(), STDERR: bytearray()}
        self.offset = {STDOUT: 0, STDERR: 0}
        self.offset.update(offsets or {})
        self.controls, self.gaps, self.errors = [], [], []
        self.empty = 0  # frames without bytes
        self.credit = self.sent = 0
        self.attached = self.exited = None
        self.keeps = True  # the bytes, not only their number

    @classmethod
    def connect(cls, port, id, conn=None, key=None, rest=b"", wait=True, **query):
        """rest: bytes sent in one piece with the request."""
        conn = conn or Conn(port)
        words = "&".join(f"{k}={v}" for k, v in query.items())
        fields = {"X_Session_API_Key": key} if key else {}
        conn.send(request("GET", f"/v1/processes/{id}/attach" + (f"?{words}" if words else ""),
                          Connection="Upgrade", Upgrade=PROTOCOL, **fields) + rest)
        answer = conn.response()
        a = cls(conn, answer, {STDOUT: query.get("stdout", query.get("pty", 0)), STDERR: query.get("stderr", 0)})
        if answer.status == 101 and wait:
            a.until(lambda: a.attached)
            a.credit = a.sent = a.attached["process"]["stdin"]["offset"]
        return a

    def send(self, data):
        self.conn.send(data)

    def control(self, kind, **members):
        self.send(control(kind, **members))

    def stdin(self, data, piece=65536):
        """All of it, reading meanwhile, within the credit."""
        view = memoryview(data)
        sock = self.conn.sock
        while view:
            n = min(len(view), piece, self.credit + self.attached["window"] - self.sent)
            readable, writable, _ = select.select([sock], [sock] if n else [], [], harness.DEADLINE)
            assert readable or writable, "nothing moves"
            if writable:
                self.send(frame(STDIN, bytes(view[:n])))
                self.sent += n
                view = view[n:]
            else:
                self.step()

    def step(self, seconds=None):
        """Reads one frame."""
        end = time.monotonic() + (seconds or harness.DEADLINE)
        kind, zeros, n = struct.unpack(">B3sI", self.conn._take(8, end))
        assert zeros == b"\0\0\0" and n <= 1 << 20, (kind, zeros, n)
        data = self.conn._take(n, end)
        if kind == CONTROL:
            self.take(json.loads(data))
        else:
            assert kind in self.out, kind
            self.empty += not n
            if self.keeps:
                self.out[kind] += data
            self.offset[kind] += n
        return True

    def take(self, m):
        self.controls.append(m)
        if m["type"] == "attached":
            self.attached = m
        elif m["type"] == "credit":
            assert m["bytes"] > self.credit and m["bytes"] <= self.sent, (m, self.credit, self.sent)
            self.credit = m["bytes"]
        elif m["type"] == "gap":
            kind = STDERR if m["output"] == "stderr" else STDOUT
            assert m["from"] == self.offset[kind] and m["to"] > m["from"], (m, self.offset)
            self.gaps.append((kind, m["from"], m["to"]))
            self.offset[kind] = m["to"]
        elif m["type"] == "error":
            self.errors.append(m["detail"])
        elif m["type"] == "exited":
            self.exited = m

    def until(self, condition, seconds=None):
        """Reads frames until condition() is true; its value, or None at the end of the connection."""
        end = time.monotonic() + (seconds or harness.DEADLINE)
        while not condition():
            try:
                self.step(max(end - time.monotonic(), 0.001))
            except Closed:
                return condition() or None
        return condition()

    def until_exit(self, seconds=None):
        return self.until(lambda: self.exited, seconds)

    def ends(self, seconds=None):
        """Whether the sandbox closes the connection behind what has been read."""
        return self.conn.closed(seconds)

    def close(self):
        self.conn.close()
