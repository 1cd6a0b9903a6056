"""WebSocket by hand, either side, and the frames of /v1/stream on it."""
import base64
import hashlib
import json
import os
import struct
import time
import zlib

import harness
from harness import Closed, Conn, request

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
OUTPUT, SNAPSHOT, INPUT, ANSWER, STDERR = 1, 2, 3, 4, 5
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accept_of(key):
    return base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()


class WebSocket:
    """Over a Conn; masks says whether we are the client."""

    def __init__(self, conn, masks=True):
        self.conn, self.masks = conn, masks
        self.pinged = 0

    def frame(self, op, data=b"", fin=True):
        head = bytes([op | (0x80 if fin else 0)])
        mask = 0x80 if self.masks else 0
        if len(data) < 126:
            head += bytes([mask | len(data)])
        elif len(data) < 65536:
            head += struct.pack(">BH", mask | 126, len(data))
        else:
            head += struct.pack(">BQ", mask | 127, len(data))
        if self.masks:
            key = os.urandom(4)
            head += key
            n = len(data)
            pad = (key * (n // 4 + 1))[:n]
            data = (int.from_bytes(data, "big") ^ int.from_bytes(pad, "big")).to_bytes(n, "big")
        self.conn.send(head + data)

    def receive(self, seconds=None):
        """The next message, (op, bytes), or a close; pings are answered."""
        end = time.monotonic() + (seconds or harness.DEADLINE)
        while True:
            a, b = self.conn._take(2, end)
            assert a & 0xf0 == 0x80, f"a whole frame without extensions: {a:#x}"
            assert bool(b & 0x80) != self.masks, "masks as its role wants it"
            n = b & 0x7f
            if n == 126:
                n = struct.unpack(">H", self.conn._take(2, end))[0]
            elif n == 127:
                n = struct.unpack(">Q", self.conn._take(8, end))[0]
            key = self.conn._take(4, end) if b & 0x80 else b"\0\0\0\0"
            data = self.conn._take(n, end)
            if any(key):
                pad = (key * (n // 4 + 1))[:n]
                data = (int.from_bytes(data, "big") ^
                        int.from_bytes(pad, "big")).to_bytes(n, "big")
            if a & 15 == PING:
                self.pinged += 1
                self.frame(PONG, data)
            elif a & 15 != PONG:
                return a & 15, data


def upgrade(port, path="/v1/stream", key=None, host="127.0.0.1", conn=None, **fields):
    """Asks for a WebSocket, on a Conn that there is or on one of its own: (Conn, Response)."""
    conn = conn or Conn(port, host)
    nonce = base64.b64encode(os.urandom(16)).decode()
    given = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Key": nonce,
             "Sec_WebSocket_Version": "13"}
    if key:
        given["X_Session_API_Key"] = key
    given.update(fields)
    conn.send(request("GET", path, **given))
    answer = conn.response()
    if answer.status == 101:
        assert answer.field("sec-websocket-accept") == accept_of(nonce.encode())
    return conn, answer


class Stream:
    """The peer of a stream: channels, credit, what came."""

    def __init__(self, ws, acks=True):
        self.ws, self.acks = ws, acks
        self.said = []        # text frames that nobody has asked for yet
        self.output = {}      # id: bytes
        self.snapshots = {}
        self.answers = {}
        self.stderr = {}      # id: bytes, in offsets of their own
        self.at = {}          # id: the next offset
        self.got = {}         # id: bytes that count for the credit
        self.put = {}         # id: bytes of input
        self.taken = {}       # id: of these, as acknowledged
        self.last = 0

    @classmethod
    def connect(cls, port, key=None, acks=True, path="/v1/stream"):
        conn, answer = upgrade(port, path, key)
        assert answer.status == 101, answer
        return cls(WebSocket(conn), acks)

    def close(self):
        self.ws.conn.close()

    def say(self, type, **members):
        self.ws.frame(TEXT, json.dumps({"type": type, **members}).encode())

    def put_in(self, id, data):
        at = self.put.get(id, 0)
        self.put[id] = at + len(data)
        self.ws.frame(BINARY, struct.pack(">BxxxIQII", INPUT, id, at, len(data),
                                          zlib.crc32(data)) + data)

    def step(self, seconds=None):
        """Takes one message."""
        op, data = self.ws.receive(seconds)
        if op == CLOSE:
            raise Closed(data)
        if op == TEXT:
            frame = json.loads(data)
            if frame["type"] == "ack":
                self.taken[frame["id"]] = frame["bytes"]
            self.said.append(frame)
            return
        kind, id, at, span, crc = struct.unpack(">BxxxIQII", data[:24])
        data = data[24:]
        assert zlib.crc32(data) == crc, "the checksum is that of the bytes"
        self.got[id] = self.got.get(id, 0) + len(data)
        if kind == SNAPSHOT:
            self.snapshots[id] = data
        elif kind == ANSWER:
            self.answers[id] = self.answers.get(id, b"") + data
            assert at + len(data) == len(self.answers[id]), "an answer in its order"
            span = 0
            at = self.at.get(id, 0)
        elif kind == STDERR:
            self.stderr[id] = self.stderr.get(id, b"") + data
        else:
            assert at == self.at.get(id, at), f"offset {at}, not {self.at[id]}"
            self.output[id] = self.output.get(id, b"") + data
        if kind != STDERR:
            self.at[id] = at + span
        if self.acks:
            self.say("ack", id=id, bytes=self.got[id])

    def expect(self, type, seconds=None, **members):
        """The first text frame of this type with these members; earlier ones go."""
        end = time.monotonic() + (seconds or harness.DEADLINE)
        while True:
            while self.said:
                frame = self.said.pop(0)
                if frame["type"] == "gap":
                    self.at[frame["id"]] = frame["to"]
                if frame["type"] == type and all(frame.get(k) == v
                                                 for k, v in members.items()):
                    return frame
            self.step(end - time.monotonic())

    def until(self, id, part, seconds=None):
        """Takes messages until the output of a channel has the part."""
        end = time.monotonic() + (seconds or harness.DEADLINE)
        while part not in self.output.get(id, b""):
            self.step(end - time.monotonic())
        return self.output[id]
