#!/usr/bin/env python3
"""Peers and files of another version: what is new to the server is ignored or refused, never misread."""
import json
import os

from harness import Client, eq, has, main, request, scratch
import ws_peer
from ws_peer import Stream, upgrade


def put(client, name, **more):
    body = {"action": "run", "args": {"command": f"echo {name} >>done; echo {name}"}, **more}
    return client.ask(request("PUT", f"/v1/actions/{name}?wait=10", json.dumps(body).encode()))


def journal_of(folder):
    return os.path.join(folder, "actions")


def test_state():
    """The record of actions that a later version has written."""
    folder = scratch("od-versions-")
    with Client("--state-dir", folder) as client:
        eq(put(client, "a").json()["state"], "done", "an action is recorded")
        client.stop()
    with Client("--state-dir", folder) as client:
        eq(client.get("/v1/actions/a").json()["state"], "done", "the same version reads the record")
        client.stop()
    with open(journal_of(folder), "rb") as f:
        old = f.read()
    has(old, b"od-journal 1\n", "the record names its version")
    later = old.replace(b"od-journal 1\n", b"od-journal 2\n", 1)
    with open(journal_of(folder), "wb") as f:
        f.write(later)
    with Client("--state-dir", folder) as client:
        eq(client.get("/v1/status").json()["durability"], "memory", "a record of a later version is not used")
        eq(client.get("/v1/actions/a").status, 404, "none of its actions is known")
        eq(put(client, "b").json()["state"], "done", "actions are done, and recorded in memory")
        has(client.log(), "version", "the log names the reason")
        client.stop()
    with open(journal_of(folder), "rb") as f:
        eq(f.read(), later, "the record of the later version is not changed")


def test_members():
    """Members that a later version may send are ignored; what must be understood is refused."""
    with Client() as client:
        got = put(client, "a", later={"a": [1]}, priority=9)
        eq((got.status, got.json()["state"]), (200, "done"), "an action with members of a later version")
        got = client.act("run", command="echo b", later=True)
        eq(got["content"], "b", "arguments of a later version")
        eq(client.act("fly")["observation"], "error", "an action of a later version is an error")
        eq(client.get("/v2/status").status, 404, "a route of a later version is not there")


def test_stream():
    with Client() as client:
        conn, got = upgrade(client.port, Sec_WebSocket_Protocol="od.stream.v9")
        eq((got.status, got.field("sec-websocket-protocol")), (101, None),
           "a protocol of a later version is not agreed on, which ends the connection at the client")
        conn.close()
        conn, got = upgrade(client.port, Sec_WebSocket_Protocol="od.stream.v9, od.stream.v1")
        eq(got.field("sec-websocket-protocol"), "od.stream.v1", "of several the known one is chosen")
        stream = Stream(ws_peer.WebSocket(conn))
        eq(stream.expect("hello")["version"], 1, "hello names the version")
        stream.say("teleport", id=1)
        stream.expect("error")
        stream.say("open", id=1, kind="hologram")
        stream.expect("error")
        stream.say("open", id=2, kind="http", later=[1, 2])
        stream.expect("opened", id=2)
        stream.put_in(2, request("GET", "/alive"))
        has(stream.until(2, b"ok"), b"200 OK", "a channel that is opened with members of a later version works")
        stream.close()


if __name__ == "__main__":
    main()
