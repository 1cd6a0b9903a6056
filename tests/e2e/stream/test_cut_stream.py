#!/usr/bin/env python3
"""The exchange of test_cut.py over a WebSocket: an action is submitted in a channel, followed, and acknowledged by a request
in another one. Cut in both directions with FIN, RST and by silence, it goes on by offset on another connection: nothing lost,
nothing doubled, nothing else. OD_CUT=N takes every Nth byte; 1 is all of them."""
import hashlib
import json
import os

import harness
from harness import Client, Conn, eq, request
from test_cut import action_for, cut_everywhere, is_whole
from ws_peer import Stream, WebSocket, upgrade

EACH = int(os.environ.get("OD_CUT", "7"))
ALL = 1 << 30


class Cut(Exception):
    pass


class CutConn(Conn):
    """Ends in a Cut behind so many bytes that are sent, or received."""

    def __init__(self, port, to_send=ALL, to_get=ALL):
        super().__init__(port)
        self.to_send, self.to_get = to_send, to_get

    def send(self, data):
        super().send(data[:self.to_send])
        self.to_send -= len(data[:self.to_send])
        if not self.to_send:
            raise Cut

    def _more(self, deadline):
        before = len(self.data)
        self.most = min(Conn.most, self.to_get)
        super()._more(deadline)
        self.to_get -= len(self.data) - before
        if not self.to_get:
            raise Cut


def cut_sending(client, at):
    return CutConn(client.port, to_send=at)


def cut_receiving(client, at):
    return CutConn(client.port, to_get=at)


class Exchange:
    """What one connection has brought so far."""

    def __init__(self, conn):
        self.conn = conn
        self.stream = Stream(WebSocket(conn))
        self.ended = self.acked = None

    def output(self):
        return self.stream.output.get(1, b"")

    def run(self, name, effects, offset=0):
        s = self.stream
        upgrade(None, conn=self.conn)
        s.expect("hello")
        s.say("open", id=1, kind="action", action_id=name, action=action_for(name, effects), offset=offset)
        s.expect("opened", id=1)
        self.ended = s.expect("ended", id=1)
        s.expect("closed", id=1)
        s.say("open", id=2, kind="http")
        s.expect("opened", id=2)
        s.put_in(2, request("DELETE", f"/v1/actions/{name}"))
        while not is_whole(s.output.get(2, b"")):
            s.step()
        self.acked = json.loads(s.output[2].split(b"\r\n\r\n")[1])


def judge(output, whole, name):
    """What is wrong with the output of all connections and what the last one brought, or None."""
    want = f"out of {name}\r\n".encode()
    if output != want:
        return "another output"
    if [whole.ended[k] for k in ("state", "status", "length", "sha256")] != \
            ["done", 200, len(want), hashlib.sha256(want).hexdigest()]:
        return "another end"
    answer = json.loads(whole.stream.answers[1])
    if answer["content"] != want.decode().strip():
        return "another answer"
    return None if whole.acked["acknowledged"] and whole.acked["observation"] == answer else "another acknowledgement"


def one_run(client, effects, silent, name, cut, at, end):
    """What is wrong, or None."""
    with cut(client, at) as conn:
        first = Exchange(conn)
        try:
            first.run(name, effects)
        except Cut:
            pass
        end(conn, silent)
    with Conn(client.port) as conn:
        second = Exchange(conn)
        second.run(name, effects, len(first.output()))
    wrong = judge(first.output() + second.output(), second, name)
    return wrong and f"{name}: {cut.__name__} at {at}, {end.__name__}: {wrong}: {second.stream.__dict__!r}"


def test_cut_stream():
    with Client() as client:
        effects = client.work + "/effects"
        with CutConn(client.port) as conn:
            whole = Exchange(conn)
            whole.run("first-00000-0", effects)
        eq(judge(whole.output(), whole, "first-00000-0"), None, "the exchange")
        cut_everywhere(client, effects, one_run, {cut_sending: ALL - conn.to_send, cut_receiving: ALL - conn.to_get}, EACH)


if __name__ == "__main__":
    harness.main()
