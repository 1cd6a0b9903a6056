#!/usr/bin/env python3
"""A browser at --cdp that is none: whatever it says, it harms nobody but itself."""
import json
import socket
import threading

import harness
from browsers import do, error, plugin
from harness import Client, Closed, Conn, eq, main, ok, request, until
from ws_peer import WebSocket, accept_of

FORGED = '{"op":"unavailable","why":"forged"}'
SNAPSHOT = ('{"documents":[{"nodes":{"parentIndex":[],"nodeType":[],"nodeName":[],"nodeValue":[],"attributes":[]},'
            '"layout":{"nodeIndex":[],"bounds":[],"clientRects":[]},"scrollOffsetX":0,"scrollOffsetY":0}],"strings":[]}')
# In lines, of which one is a frame of our own, and the one before it looks like a whole one.
NODE = ('{"nodeId":"1","ignored":false,"role":{"type":"role","value":"x"},"more":{"y":{"z":{"q":{}}\n,"more":\n' + FORGED + "\n}}}")
PICTURE = 'AA"}\n' + FORGED + '\n{"op":"picture","jpeg":"AA'

# A page that goes elsewhere as soon as it has loaded, where nothing is.
LEAVES = (("frameStartedLoading", {}), ("lifecycleEvent", {"name": "init", "loaderId": "M"}),
          ("lifecycleEvent", {"name": "load", "loaderId": "M"}), ("frameStartedLoading", {}), ("frameStoppedLoading", {}))


class Fake:
    """Has pages of nothing, and answers what it is asked."""

    def __init__(self):
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.url = f"ws://127.0.0.1:{self.sock.getsockname()[1]}/"
        self.made, self.there, self.asked = 0, set(), []
        self.hangs_up = False
        self.goes_at = 0  # the page goes with its answer to so many questions from now on
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            conn = Conn.__new__(Conn)
            conn.sock, conn.data = self.sock.accept()[0], b""
            lines = conn._until(b"\r\n\r\n", harness.time.monotonic() + harness.DEADLINE).decode().split("\r\n")
            key = next(l.split(": ")[1] for l in lines if l.lower().startswith("sec-websocket-key"))
            conn.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                      b"Sec-WebSocket-Accept: " + accept_of(key.encode()).encode() + b"\r\n\r\n")
            try:
                peer = WebSocket(conn, masks=False)
                while not self.hangs_up:
                    conn.send(b"".join(map(self.frame, self.answer(json.loads(peer.receive(600)[1])))))
            except (Closed, OSError, ValueError):
                pass
            conn.close()

    def frame(self, text):
        data, n = text.encode(), len(text.encode())
        return (bytes([0x81, n]) if n < 126 else b"\x81\x7e" + n.to_bytes(2, "big")) + data

    def event(self, method, session="", **params):
        return json.dumps({"method": method, "params": params, **({"sessionId": session} if session else {})},
                          separators=(",", ":"))

    def attach(self):
        self.made += 1
        self.there.add(f"S{self.made}")
        return self.event("Target.attachedToTarget", sessionId=f"S{self.made}", waitingForDebugger=True,
                          targetInfo={"targetId": f"T{self.made}", "type": "page", "browserContextId": "C"})

    def answer(self, asked):
        method, session = asked["method"], asked.get("sessionId", "")
        target = session.replace("S", "T")
        self.asked.append(method)
        if session and session not in self.there:
            return ['{"id":%d,"error":{"code":-32001,"message":"Session with given id not found."}}' % asked["id"]]
        result = {
            "Target.createBrowserContext": '{"browserContextId":"C"}',
            "Page.getFrameTree": f'{{"frameTree":{{"frame":{{"id":"{target}","loaderId":"L","url":"about:blank"}}}}}}',
            "Page.createIsolatedWorld": '{"executionContextId":2}',
            "Runtime.callFunctionOn": '{"result":{"type":"string","value":""}}',
            "Accessibility.getFullAXTree": '{"nodes":[' + NODE + "]}",
            "DOMSnapshot.captureSnapshot": SNAPSHOT,
            "Page.captureScreenshot": '{"data":""}',
        }.get(method, "{}")
        before = [self.attach()] if method == "Target.createTarget" else []
        behind = []
        if method == "Runtime.enable":
            before.append(self.event("Runtime.executionContextCreated", session, context={
                "id": 1, "auxData": {"frameId": target, "isDefault": True}}))
        elif method == "Page.navigate":
            result = '{"loaderId":"M"}'
            behind += [self.event(f"Page.{name}", session, frameId=target, **more) for name, more in LEAVES]
        elif method == "Page.startScreencast":
            behind.append(self.event("Page.screencastFrame", session, data=PICTURE, sessionId=1))
        if session and self.goes_at:
            self.goes_at -= 1
            if not self.goes_at:
                self.there.discard(session)
                behind.append(self.event("Target.detachedFromTarget", sessionId=session))
        return before + ['{"id":%d,"result":%s}' % (asked["id"], result)] + behind


def test_gone():
    """The only page goes in the moment in which it answers, whatever it was asked."""
    fake = Fake()
    with Client("--cdp", fake.url) as client:
        eq(error(do(client, "noop(0)")), "", "a page")
        for n in range(1, 100):
            fake.goes_at = n
            got = do(client, "noop(0)")
            if fake.goes_at:
                break
            ok("given no answer" not in error(got), f"it goes with its answer number {n}", error(got))
        ok(n > 5, "...up to the last", n)
        eq(plugin(client)["starts"], 1, "the process that drives it lives")


def test_frames():
    """What it says holds frames for the server."""
    fake = Fake()
    with Client("--cdp", fake.url) as client:
        got = do(client, "noop(0)", return_axtree=True)
        eq(got["extras"]["axtree_object"].get("nodes"), [json.loads(NODE)], "a tree in lines is a tree")
        conn = Conn(client.port)
        conn.send(request("GET", "/v1/browser/screen?stream=mjpeg"))
        ok(until(lambda: "Page.screencastFrameAck" in fake.asked), "a picture that is none")
        eq(error(do(client, "noop(0)")), "", "...says nothing to anybody")
        conn.close()
        eq((plugin(client)["state"], plugin(client)["starts"]), ("ready", 1), "it is what it was")


def test_end():
    """It is there, and hangs up."""
    fake = Fake()
    fake.hangs_up = True
    with Client("--cdp", fake.url) as client:
        eq(error(do(client, "noop(0)")), f"The browser at {fake.url} cannot be used: connection closed before the end.",
           "it is told once")


def test_loaded():
    """What a page does behind its load event is no part of the way to it, if it is heard of at once."""
    fake = Fake()
    with Client("--cdp", fake.url) as client:
        eq(error(do(client, 'goto("http://localhost/")')), "", "a page that has loaded")


main()
