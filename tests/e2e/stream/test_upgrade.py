#!/usr/bin/env python3
"""Bytes behind an upgrade: frames if it was granted, a request if it was refused, never both."""
import json
import os
import struct

from harness import Client, Closed, action, eq, has, main, ok, request, sha256_hex
import ws_peer

KEY = "a-session-key"
PLAIN = request("POST", "/execute_action", action("run", command="touch pwned"), X_Session_API_Key=KEY)


def handshake(key):
    return request("GET", "/v1/stream", Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Version="13",
                   Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", X_Session_API_Key=key)


def frame(text):
    """A masked text frame; the key of zeros leaves the text as it is."""
    data = json.dumps(text).encode()
    return struct.pack(">BBI", 0x81, 0x80 | len(data), 0) + data


def keyed():
    return Client("--key-sha256", sha256_hex(KEY))


def test_refused():
    """Without the key: what follows is HTTP, and no frame of it is read."""
    with keyed() as client:
        opened = frame({"type": "open", "id": 1, "kind": "terminal"})
        with client.conn() as c:
            c.send(handshake("wrong") + opened)
            eq(c.response().status, 403, "an upgrade without the key is refused")
            try:
                answer = c.response()
                eq(answer.status, 400, "a frame behind it is no request")
                has(str(answer.fields), "close", "and ends the connection")
            except Closed as e:
                ok(not e.args[0], "a frame behind it ends the connection")
        with client.conn() as c:
            c.send(handshake("wrong") + request("GET", "/v1/status"))
            eq([c.response().status for _ in range(2)], [403, 403], "a request behind it needs the key itself")


def test_granted():
    """With the key: what follows is a WebSocket, and no request in it is answered."""
    with keyed() as client:
        with client.conn() as c:
            c.send(handshake(KEY) + frame({"type": "open", "id": 1, "kind": "http"}))
            eq(c.response().status, 101, "an upgrade with the key")
            stream = ws_peer.Stream(ws_peer.WebSocket(c))
            stream.expect("opened", id=1)
            ok(True, "a frame in the same packet is read as one")
        with client.conn() as c:
            c.send(handshake(KEY) + PLAIN)
            eq(c.response().status, 101, "an upgrade with the key")
            stream = ws_peer.Stream(ws_peer.WebSocket(c))
            try:
                while True:
                    stream.step()
            except Closed as e:
                has(e.args[0], struct.pack(">H", 1002), "a request behind it is a protocol error")
        eq(os.listdir(client.work), [], "and is not executed")


if __name__ == "__main__":
    main()
