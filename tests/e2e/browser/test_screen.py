#!/usr/bin/env python3
"""How a browser looks, for people: one picture, the last one while it is busy, and a live stream."""
import os
import re
import select
import time

from harness import DEADLINE, Client, Conn, action, eq, has, main, note, ok, request, until
from browsers import do, error, needs_browser, plugin, shows, start
from mcp import Mcp

SCREEN = "/v1/browser/screen"
STREAM = f"{SCREEN}?stream=mjpeg"
PAGE = "data:text/html,<title>T</title><body style='background:%s'><h1>Hello</h1>"
MOVING = ("data:text/html,<title>M</title><canvas id=c width=900 height=600></canvas><script>"
          "let n = 0; (function f() { let x = c.getContext('2d'); x.fillStyle = `hsl(${n++ %25 360} 90%25 50%25)`;"
          "x.fillRect(n * 7 %25 800, n * 3 %25 500, 90, 90); requestAnimationFrame(f) })()</script>")


class Stream:
    """Reads the parts of a live stream."""

    def __init__(self, client):
        self.conn = Conn(client.port)
        self.conn.send(request("GET", STREAM))
        deadline = time.monotonic() + 20
        self.head = self.conn._until(b"\r\n\r\n", deadline).decode()
        # What has come with the head is part of the stream.
        self.data, self.conn.data = self.conn.data, b""

    def more(self, seconds=6 * DEADLINE):
        """All parts that come by then, the first one waited for."""
        parts, end = self.take(), time.monotonic() + seconds
        while not parts:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.conn.sock], [], [], left)[0]:
                break
            piece = self.conn.sock.recv(1 << 20)
            if not piece:
                break
            self.data += piece
            parts = self.take()
        return parts

    def take(self):
        """The parts that are whole; the rest stays."""
        # Chunks: their heads lie between.
        plain = re.sub(rb"(?:\r\n)?[0-9a-f]+\r\n(?=--picture|Content-Type)", b"", self.data)
        *found, rest = plain.split(b"--picture\r\n")
        parts = [p for p in found if p.startswith(b"Content-Type: image/jpeg")]
        if parts:
            self.data = rest
        return parts

    def close(self):
        self.conn.close()


@needs_browser
def test_picture():
    with start() as client:
        got = client.get(SCREEN)
        eq((got.status, got.json()), (409, {"detail": "No browser has been started yet: the first browse or browse_interactive action starts it."}),
           "nothing to see before the first action")
        eq(client.get(STREAM).status, 409, "...and no stream")
        shows(client, [f'goto("{PAGE % "red"}")'], "Hello", "a page")
        got = client.get(SCREEN)
        eq((got.status, got.field("content-type"), got.field("x-od-seen"), got.field("cache-control")),
           (200, "image/png", "now", "no-store"), "its picture")
        eq((got.body[:8], got.body[16:24].hex()), (b"\x89PNG\r\n\x1a\n", "00000500000002d0"), "...of 1280 by 720")
        red = got.body
        shows(client, [f'goto("{PAGE % "blue"}")'], "Hello", "another page")
        ok(client.get(SCREEN).body not in (b"", red), "...looks otherwise")
        eq(client.get(f"{SCREEN}?stream=h264").status, 422, "another kind of stream is none")
        eq(client.post(SCREEN).status, 405, "it is for looking alone")
    with start() as client:
        shows(client, [f'goto("{PAGE % "red"}")', "noop(1)"], "Hello", "a page")
        before = client.get(SCREEN).body
        long = Conn(client.port)
        long.send(request("POST", "/execute_action",
                          action("browse_interactive", 60, browser_actions="noop(3000)")))
        # He has no more to say, and waits for his answer.
        long.half_close()
        busy = until(lambda: plugin(client).get("calls"))
        begun = time.monotonic()
        got = client.get(SCREEN)
        took = time.monotonic() - begun
        ok(busy and long.idle(), "an action takes long")
        eq((got.status, got.field("x-od-seen"), got.body == before), (200, "before", True),
           "...the last picture is given meanwhile")
        note(f"after {took * 1000:.0f} ms")
        eq(error(long.response(60).json()), "", "...which goes on")


def test_key():
    with Client(env={"SESSION_API_KEY": "secret"}) as client:
        eq(client.get(SCREEN).status, 403, "it needs the key")


@needs_browser
def test_tools():
    with start() as client:
        mcp = Mcp(client.port)
        has(mcp.call("browser_navigate", url=PAGE % "red")[0], "Hello", "browser_navigate")
        text, failed = mcp.call("browser_act", browser_actions="noop(1)")
        ok("heading 'Hello'" in text and not failed, "browser_act", text)
        text, failed = mcp.call("browser_act", browser_actions="click('99')")
        ok("Could not find element" in text and failed, "...that fails", text)
    with Client("--no-enable-browser") as client:
        text, failed = Mcp(client.port).call("browser_act", browser_actions="noop(1)")
        eq((text, failed), ("Browser functionality is not supported or disabled.", True), "no browser")


@needs_browser
def test_stream():
    with start() as client:
        shows(client, [f'goto("{PAGE % "red"}")'], "Hello", "a page")
        first, slow = Stream(client), Conn(client.port)
        has(first.head, "multipart/x-mixed-replace; boundary=picture", "a stream")
        parts = first.more()
        ok(parts and b"\xff\xd8\xff" in parts[0], "a picture comes at once", parts[:1])
        shows(client, [f'goto("{PAGE % "blue"}")'], "Hello", "another page")
        ok(first.more(), "...is seen")
        shows(client, ["new_tab()", f'goto("{MOVING}")'], "RootWebArea 'M'", "a page that moves, in another tab")
        slow.send(request("GET", STREAM))
        until(lambda: b"HTTP/1.1 200" in slow.data or slow._more(time.monotonic() + 3 * DEADLINE))
        seen, end = 0, time.monotonic() + 3
        while time.monotonic() < end:
            seen += len(first.more(1))
        ok(seen >= 3, "...is seen as it moves", seen)
        note(f"{seen} pictures in 3 s, beside one who does not read")
        shows(client, ["tab_focus(0)"], "Hello", "back to the first tab, while they look on")
        others = [Conn(client.port) for _ in range(7)]
        answers = []
        for other in others:
            other.send(request("GET", STREAM))
            answers.append(other._until(b"\r\n", time.monotonic() + 10))
        eq((answers.count(b"HTTP/1.1 200 OK"), b"503" in answers[-1]), (6, True), "there is a limit")
        for conn in (*others, slow, first):
            conn.close()
        last = until(lambda: client.get(STREAM.replace("mjpeg", "x")).status == 422)
        ok(last, "the server lives")
        shows(client, [f'goto("{PAGE % "red"}")'], "Hello", "a page without anybody who looks on")
        again = Stream(client)
        ok(again.more(), "who comes then sees it", again.head, again.data[:300])
        pid = plugin(client)["pid"]
        os.kill(pid, 9)
        until(lambda: plugin(client).get("pid") not in (None, pid))
        until(lambda: not error(do(client, f'goto("{PAGE % "green"}")')))
        ok(again.more(), "a stream goes on with the next process")
        client.stop()
        again.more(5)
        again.close()


main()
