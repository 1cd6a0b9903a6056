#!/usr/bin/env python3
"""/v1/stream: the handshake, the live terminal of a session, terminals of their own,
requests inside of channels, credit, and what is wrong."""
import hashlib
import json
import os
import struct
import zlib

import harness
import ws_peer
from harness import Client, Conn, Closed, Gate, action, eq, has, ok, request, until
from ws_peer import BINARY, CLOSE, INPUT, TEXT, Stream, upgrade

KEY = "a-session-key"


def keyed():
    return Client("--key-sha256", hashlib.sha256(KEY.encode()).hexdigest())


def act(client, command, **args):
    """Asks for a command on a connection of its own, which is the caller's."""
    conn = Conn(client.port)
    conn.send(request("POST", "/execute_action", action("run", command=command, **args),
                      X_Session_API_Key=KEY))
    return conn


def test_handshake():
    with keyed() as c:
        for name, fields, status in (
                ("no key", {}, 403),
                ("a wrong key", {"X_Session_API_Key": "no"}, 403),
                ("a foreign page", {"X_Session_API_Key": KEY, "Origin": "http://evil.test"}, 403),
                ("a page of nowhere", {"X_Session_API_Key": KEY, "Origin": "null"}, 403),
                ("no upgrade", {"X_Session_API_Key": KEY, "Upgrade": None}, 426),
                ("an old version", {"X_Session_API_Key": KEY, "Sec_WebSocket_Version": "8"}, 426),
                ("no nonce", {"X_Session_API_Key": KEY, "Sec_WebSocket_Key": None}, 400),
                ("a short nonce", {"X_Session_API_Key": KEY, "Sec_WebSocket_Key": "QQ=="}, 400),
                ("the key", {"X_Session_API_Key": KEY}, 101),
                ("the key as bearer", {"Authorization": "Bearer " + KEY}, 101),
                ("a page of this machine",
                 {"X_Session_API_Key": KEY, "Origin": "http://localhost:3000"}, 101)):
            conn, answer = upgrade(c.port, **fields)
            eq(answer.status, status, name)
            if status == 426:
                eq(answer.field("sec-websocket-version"), "13", "says which it speaks")
            conn.close()
        conn, answer = upgrade(c.port,
                               Sec_WebSocket_Protocol="od.stream.v1, od.key." + KEY)
        eq(answer.status, 101, "the key as a subprotocol")
        eq(answer.field("sec-websocket-protocol"), "od.stream.v1", "which is not told back")
        hello = Stream(ws_peer.WebSocket(conn)).expect("hello")
        eq([hello["version"], hello["window"]], [1, 1 << 20], "it says hello")
        conn.close()
        conn, answer = upgrade(c.port, path="/v1/stream?key=" + KEY)
        eq(answer.status, 403, "a key in the address is none")
        conn.close()


def test_session():
    with keyed() as c:
        s = Stream.connect(c.port, KEY)
        s.expect("hello")
        s.say("open", id=1, kind="session", session="default")
        opened = s.expect("opened", id=1)
        eq(opened["state"], "idle", "a session without a command")
        gate = Gate(c, 2)
        asked = act(c, f"echo one; cat {gate}; echo two; cat {gate.path}.1; false")
        command = s.expect("command")
        has(command["command"], "echo one", "a command begins")
        has(s.until(1, b"one"), b"one", "its output comes while it runs")
        late = Stream.connect(c.port, KEY)
        late.say("open", id=7, kind="session")
        eq(late.expect("opened")["state"], "running", "who comes late is told")
        until(lambda: late.snapshots or late.step(), 5)
        has(late.snapshots[7], b"one", "sees the screen as it is")
        gate.go(b"hello\n")
        has(s.until(1, b"two"), b"hello\r\n", "output goes on")
        has(late.until(7, b"two"), b"hello\r\n", "for him, too")
        ok(b"one" not in late.output[7], "from there on")
        gate.go(b"bye\n")
        s.expect("state", state="idle")
        has(s.output[1], b"bye\r\n", "all of it comes before the end")
        ok(b"\x1b]7777" not in s.output[1], "without marks")
        has(asked.response().json()["content"], "bye", "and the one who asked has it")
        asked.close()
        # Whoever lost his connection goes on where he was.
        at = late.at[7]
        late.close()
        again = Stream.connect(c.port, KEY)
        hello = again.expect("hello")
        again.say("open", id=1, kind="session", epoch=hello["epoch"], offset=at)
        again.expect("opened")
        has(again.until(1, b"bye"), b"bye\r\n", "resumes by offset")
        eq(again.snapshots, {}, "without a snapshot")
        act(c, "echo three").response()
        has(s.until(1, b"three"), b"three", "the next command goes on in the same numbers")
        again.until(1, b"three")
        eq(again.at[1], s.at[1], "for all")
        again.say("open", id=4, kind="session", epoch=hello["epoch"], offset=at)
        gap = again.expect("gap", id=4)
        eq(gap["from"], at, "what is forgotten is a gap")
        again.until(4, b"three")
        again.say("open", id=2, kind="session", epoch="other", offset=at)
        ok(again.expect("opened", id=2)["offset"] > at, "offsets are one process's")
        again.say("open", id=3, kind="session", session="nobody")
        has(again.expect("closed", id=3)["detail"], "No session", "one that is not there")
        again.close()
        s.close()


def test_session_input():
    with keyed() as c:
        s = Stream.connect(c.port, KEY)
        s.say("open", id=1, kind="session")
        s.expect("opened")
        s.put_in(1, b"echo no\n")
        has(s.expect("error", id=1)["detail"], "No command", "nobody takes input at the prompt")
        asked = act(c, "read x; echo got:$x; stty size; sh -c 'echo here; exec sleep 1000'")
        s.expect("command")
        s.say("resize", id=1, rows=30, columns=100)
        s.put_in(1, b"typed\n")
        s.until(1, b"got:typed")
        s.until(1, b"30 100\r\nhere")
        s.put_in(1, b"\x03")
        s.expect("state", state="idle")
        has(asked.response().json()["content"], "got:typed", "input reaches the command")
        asked.close()
        s.say("close", id=1)
        s.expect("closed", id=1)
        s.close()


def test_terminal():
    with keyed() as c:
        s = Stream.connect(c.port, KEY)
        s.say("open", id=1, kind="terminal", rows=33, columns=99)
        pid = s.expect("opened")["pid"]
        s.put_in(1, b"stty size; echo $((6*7))\r")
        s.until(1, b"42\r\n")
        has(s.output[1], b"33 99", "a terminal of that size")
        has(s.output[1], b"stty size", "it shows what is typed")
        s.say("resize", id=1, rows=11, columns=22)
        s.put_in(1, b"stty size\r")
        s.until(1, b"11 22")
        s.put_in(1, b"exit 3\r")
        eq(s.expect("closed", id=1)["exit_code"], 3, "its end has an exit code")
        s.say("open", id=2, kind="terminal")
        pid = s.expect("opened")["pid"]
        s.close()
        ok(until(lambda: not harness.alive(pid)), "who leaves takes his shell with him")


def test_kept_terminal():
    """One that waits for its peer: no byte of either direction is lost, or comes twice."""
    with keyed() as c:
        s = Stream.connect(c.port, KEY, acks=False)
        s.say("open", id=1, kind="terminal", keep=True)
        opened = s.expect("opened")
        pid, name = opened["pid"], opened["terminal"]
        gate = Gate(c)
        keys = f"stty -echo; cat {gate}; seq 1 60000 | tee all; echo the''-end; read x; echo got:$x\r"
        s.put_in(1, keys.encode())
        until(lambda: len(s.output.get(1, b"")) > 1 or s.step())
        gate.go(b"go\n")
        try:
            while True:
                s.step(0.3)
        except TimeoutError:
            pass
        ok(s.got[1] <= opened["window"], "what is not acknowledged is bounded", s.got[1])
        # What of it has come is known to the peer alone.
        have = s.output[1][:70001]
        s.ws.conn.reset()
        again = Stream.connect(c.port, KEY)
        again.expect("hello")
        again.say("open", id=9, kind="terminal", terminal=name, offset=len(have))
        opened = again.expect("opened", id=9)
        eq([opened["pid"], opened["offset"], opened["input"]], [pid, 70001, len(keys)],
           "it is found again, with what it has got")
        again.put[9] = opened["input"]
        again.until(9, b"the-end")
        again.put_in(9, b"typed\r")
        again.until(9, b"got:typed")
        whole = have + again.output[9]
        with open(os.path.join(c.work, "all")) as f:
            has(whole.replace(b"\r\n", b"\n"), f.read().encode() + b"the-end\n", "every byte, once")
        third = Stream.connect(c.port, KEY)
        third.say("open", id=1, kind="terminal", terminal=name)
        third.expect("opened", id=1)
        has(again.expect("closed", id=9)["detail"], "taken over", "who comes last has it")
        third.put[1] = again.put[9]
        third.say("open", id=2, kind="terminal", terminal="0" * 16)
        eq(third.expect("closed", id=2)["status"], 404, "one that is not there")
        third.say("open", id=3, kind="terminal", terminal=name, offset=1)
        eq(third.expect("closed", id=3)["status"], 416, "what was acknowledged is gone")
        again.say("close", id=9)
        third.put_in(1, b"read y; echo last; exit 5\r")
        until(lambda: third.said or third.output.get(1, b"").count(b"\n") or third.step(), 0.5)
        third.ws.conn.reset()
        last = Stream.connect(c.port, KEY)
        last.say("open", id=1, kind="terminal", terminal=name)
        last.put[1] = last.expect("opened")["input"]
        last.put_in(1, b"\r")
        last.until(1, b"last")
        last.ws.conn.reset()
        ok(until(lambda: not harness.alive(pid)), "it ends while nobody is there")
        last = Stream.connect(c.port, KEY)
        last.say("open", id=1, kind="terminal", terminal=name)
        eq(last.expect("closed", id=1)["exit_code"], 5, "and who comes back learns how")
        pids = []
        for i in range(20):
            s = Stream.connect(c.port, KEY)
            s.say("open", id=1, kind="terminal", keep=True)
            pids.append(s.expect("opened")["pid"])
            s.ws.conn.reset()
        ok(until(lambda: sum(map(harness.alive, pids)) == 16), "not all wait for ever",
           sum(map(harness.alive, pids)))
        s = Stream.connect(c.port, KEY)
        s.say("open", id=1, kind="terminal", keep=True)
        pid = s.expect("opened")["pid"]
        s.say("close", id=1)
        ok(until(lambda: not harness.alive(pid)), "one that is closed does not wait")
        s.say("open", id=2, kind="terminal", keep=True)
        pid = s.expect("opened")["pid"]
        s.ws.frame(CLOSE, struct.pack(">H", 1000))
        ok(until(lambda: not harness.alive(pid)), "nor one whose peer says goodbye")
        last.close()


def test_requests():
    with keyed() as c:
        s = Stream.connect(c.port, KEY)
        for i in range(3):
            s.say("open", id=10 + i, kind="http")
        for i in range(3):
            s.put_in(10 + i, request("POST", "/execute_action", action("run", command=f"echo n{i}"),
                                     X_Session_API_Key=KEY))
        for i in range(3):
            has(s.until(10 + i, f"n{i}".encode()), b"HTTP/1.1 200 OK", "a request in a channel")
        s.put_in(10, request("GET", "/v1/sessions"))
        has(s.until(10, b"Invalid API Key"), b"403", "needs the key for itself")
        s.say("end", id=10)
        s.expect("closed", id=10)
        s.say("open", id=20, kind="http")
        body = os.urandom(3 << 20)
        path = os.path.join(c.work, "up")
        data = request("PUT", "/v1/files?path=" + path, body, Content_Type="x/y",
                       X_Session_API_Key=KEY)
        for at in range(0, len(data), 65536):
            while s.put.get(20, 0) - s.taken.get(20, 0) > 128 << 10:
                s.step()
            s.put_in(20, data[at:at + 65536])
        s.until(20, b"HTTP/1.1 20")
        with open(path, "rb") as f:
            eq(hashlib.sha256(f.read()).digest(), hashlib.sha256(body).digest(), "a body arrives")
        s.output[20] = b""
        s.put_in(20, request("GET", "/v1/files?path=" + path, X_Session_API_Key=KEY))
        until(lambda: s.output[20].endswith(body[-99:]) or s.step(), 10)
        ok(s.output[20].endswith(body), "and comes back")
        s.close()


def test_credit():
    """A peer that acknowledges nothing gets one window, and holds up nobody."""
    with keyed() as c:
        slow, fast = (Stream.connect(c.port, KEY, acks=a) for a in (False, True))
        for s in (slow, fast):
            s.say("open", id=1, kind="session")
            s.expect("opened")
        done = act(c, "i=0; while [ $i -lt 40 ]; do head -c 100000 /dev/zero | tr '\\0' x;"
                      " echo; i=$((i+1)); done; echo the-end")
        total = len(fast.until(1, b"the-end"))
        ok(total >= 4000000, "the fast one has all of it")
        done.response()
        try:
            while True:
                slow.step(0.3)
        except TimeoutError:
            pass
        first = slow.got[1]
        ok(first <= 1 << 20, f"the slow one has a window ({first})")
        slow.acks = True
        slow.say("ack", id=1, bytes=first)
        eq(len(slow.until(1, b"the-end")), total, "and gets the rest later, without a gap")
        slow.say("ack", id=1, bytes=1 << 40)
        has(slow.expect("closed")["detail"], "acknowledged", "nobody can have got more than that")
        slow.close()
        fast.close()


def test_hostile():
    with keyed() as c:
        s = Stream.connect(c.port, KEY)
        s.expect("hello")
        for text in (b"", b"{", b"[]", b"null", b'{"type":1}', b'{"type":"fly"}', b"{}",
                     b'{"type":"open","id":-1,"kind":"session"}',
                     b'{"type":"open","id":99999999999,"kind":"http"}',
                     b'{"type":"open","id":1,"kind":"void"}',
                     b'{"type":"ack","id":1,"id":1}', b"[" * 1000, b'"' + b"x" * 70000 + b'"'):
            s.ws.frame(TEXT, text)
            s.expect("error")
        for frame in (b"", b"\3" * 23, b"\1" + bytes(23)):
            s.ws.frame(BINARY, frame)
            s.expect("error")
        ok(True, "what is not understood is told, and the stream goes on")
        for text in ({"type": "ack", "id": 5, "bytes": 9}, {"type": "close", "id": 5},
                     {"type": "resize", "id": 5, "rows": 1, "columns": 1},
                     {"type": "end", "id": 5}, {"type": "heartbeat", "what": "ever"}):
            s.ws.frame(TEXT, json.dumps(text).encode())
        s.put_in(5, b"to nobody")
        s.say("open", id=6, kind="http")
        s.say("end", id=6)
        s.put_in(6, request("GET", "/alive"))
        s.say("end", id=6)
        s.expect("closed", id=6)
        ok(True, "what comes behind the end is for nobody")
        s.say("open", id=0, kind="http")
        s.expect("closed")
        s.say("open", id=1, kind="http")
        s.expect("opened")
        s.say("open", id=1, kind="http")
        has(s.expect("error")["detail"], "A channel with this id is already open", "an id is one channel's")
        s.ws.frame(BINARY, struct.pack(">BxxxIQII", INPUT, 1, 0, 3, 0) + b"GET")
        try:
            while True:
                s.step()
        except Closed as e:
            has(e.args[0], struct.pack(">H", 1002), "a wrong checksum ends the stream")
        s.close()
        s = Stream.connect(c.port, KEY)
        s.expect("hello")
        s.say("open", id=1, kind="http")
        s.expect("opened")
        s.ws.frame(BINARY, struct.pack(">BxxxIQII", INPUT, 1, 7, 3, zlib.crc32(b"GET")) + b"GET")
        has(s.expect("closed", id=1)["detail"], "does not continue at the expected offset", "input with a hole")
        for i in range(2, 80):
            s.say("open", id=i, kind="http")
        has(s.expect("closed")["detail"], "Too many channels", "channels have an end")
        s.ws.frame(TEXT, b"x" * (1 << 20))
        try:
            while True:
                s.step()
        except Closed as e:
            has(e.args[0], struct.pack(">H", 1009), "a message that is too large is 1009")
        s.close()
        s = Stream.connect(c.port, KEY)
        s.say("open", id=1, kind="terminal")
        s.expect("opened")
        # A raw terminal keeps what is not read; one of lines drops what is too long for a line.
        s.put_in(1, b"stty raw -echo; echo st''ill; sleep 100\r")
        s.until(1, b"still")
        for _ in range(8):
            s.put_in(1, b"x" * 65536)
        s.expect("closed", id=1)
        ok(True, "input beyond its window ends the channel")
        s.close()
        with Conn(c.port) as conn:
            conn.send(request("GET", "/alive"))
            eq(conn.response().status, 200, "and the server is well")


def test_stop():
    with keyed() as c:
        s = Stream.connect(c.port, KEY)
        s.expect("hello")
        c.process.terminate()
        try:
            while True:
                s.step()
        except Closed as e:
            has(e.args[0], struct.pack(">H", 1001), "a server that stops says goodbye")
        s.ws.frame(CLOSE, struct.pack(">H", 1001))
        eq(harness.wait_exit(c.process), 0, "and ends")


if __name__ == "__main__":
    harness.main()
