"""Rows of the browser, each beside a bare pipe to the same browser in the same run.

The bare pipe asks Chromium what the client asks it, with the same flags, scripts and order
of requests, and throws away what it is told: what is on top is ours, and the waiting.
"""
import contextlib
import fcntl
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

from rows import TOP, row

import harness

FLAGS = "--host-resolver-rules=MAP * ~NOTFOUND"
BROWSERS = ("/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium")
PAGE = ("data:text/html,<title>Small</title><h1>A small page</h1><form><label>Name <input value='x'></label>"
        "<select><option>one<option>two</select><textarea>text</textarea></form><p>Some words in it.</p>"
        "<ul><li><a href='about:blank'>first</a><li>second</ul><button type=button>Go</button>")
TIMES = 21
CLICKS = 10
VIEW = {"width": 1280, "height": 720, "screenWidth": 1280, "screenHeight": 720,
        "deviceScaleFactor": 1, "mobile": False}
SETUP = (("Page.enable", {}), ("Page.setLifecycleEventsEnabled", {"enabled": True}),
         ("Runtime.enable", {}), ("DOM.enable", {}), ("Inspector.enable", {}),
         ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
         ("Emulation.setDeviceMetricsOverride", VIEW),
         ("Page.setInterceptFileChooserDialog", {"enabled": True}),
         ("Runtime.runIfWaitingForDebugger", {}))


def script(name):
    with open(os.path.join(TOP, "src/browser", name), encoding="utf-8") as f:
        return f.read()


class Pipe:
    """A browser of its own, and the requests that an action makes."""

    def __init__(self, argv):
        self.folder = tempfile.mkdtemp(prefix="od-bench-")
        argv = [f"--user-data-dir={self.folder}" if a.startswith("--user-data-dir=") else a for a in argv]
        self.mark, self.element = script("observe/mark.js"), script("page/element.js")
        theirs, self.out = os.pipe()
        self.fd, ours = os.pipe()
        fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.data, self.last, self.replies = b"", 0, {}
        self.session = self.context = self.frame = None

        def place():
            os.dup2(theirs, 30)
            os.dup2(ours, 31)
            os.dup2(30, 3)
            os.dup2(31, 4)
        self.process = subprocess.Popen(argv, preexec_fn=place, pass_fds=(3, 4), env={"HOME": self.folder},
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(ours)
        self.set_up()

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.fd)
        os.close(self.out)
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method, params=None, session=True):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params or {}}
        if session and self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        return self.last

    def note(self, message):
        if "id" in message:
            self.replies[message["id"]] = message
        elif message["method"] == "Target.attachedToTarget":
            self.session = message["params"]["sessionId"]
        elif message["method"] == "Runtime.executionContextCreated":
            context = message["params"]["context"]
            if context["auxData"]["isDefault"]:
                self.context, self.frame = context["id"], context["auxData"]["frameId"]
        elif message["method"] == "Page.lifecycleEvent" and message["params"]["name"] == "load":
            self.loaded = message["params"]["loaderId"]

    def until(self, done):
        while not done():
            data = os.read(self.fd, 1 << 20)
            if not data:
                raise RuntimeError("the bare browser has ended")
            *messages, self.data = (self.data + data).split(b"\0")
            for message in messages:
                self.note(json.loads(message))

    def wait(self, number):
        self.until(lambda: number in self.replies)
        reply = self.replies.pop(number)
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["result"]

    def ask(self, method, params=None, session=True):
        return self.wait(self.send(method, params, session))

    def set_up(self):
        self.ask("Browser.getVersion")
        self.ask("Browser.setDownloadBehavior", {"behavior": "allowAndName", "downloadPath": self.folder,
                                                 "eventsEnabled": True})
        self.ask("Target.setAutoAttach", {
            "autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True,
            "filter": [{"type": kind, "exclude": True} for kind in ("browser_ui", "browser", "tab")] + [{}]})
        self.ask("Target.createTarget", {"url": "about:blank"}, session=False)
        self.until(lambda: self.session)
        for number in [self.send(*step) for step in SETUP]:
            self.wait(number)
        self.ask("Page.getFrameTree")

    def goto(self, url):
        loader = self.ask("Page.navigate", {"url": url, "referrerPolicy": "unsafeUrl"})["loaderId"]
        self.loaded = None
        self.until(lambda: self.loaded == loader)

    def call(self, function, *values, on=None, context=None, by_value=True):
        where = {"objectId": on} if on else {"executionContextId": context or self.context}
        return self.ask("Runtime.callFunctionOn", {
            "functionDeclaration": function, **where, "arguments": [{"value": v} for v in values],
            "returnByValue": by_value, "awaitPromise": True, "userGesture": True})["result"]

    def flush(self):
        self.ask("Runtime.evaluate", {"expression": "0", "returnByValue": True})

    def observe(self):
        """As src/browser/observe/observe.c, for a page of one frame."""
        self.ask("Page.getFrameTree")
        self.call(self.mark, "mark", "")
        self.call(self.mark, "wait", "")
        snapshot = self.send("DOMSnapshot.captureSnapshot", {
            "computedStyles": [], "includeDOMRects": True, "includePaintOrder": True})
        picture = self.send("Page.captureScreenshot", {"format": "png"})
        tree = self.ask("Accessibility.getFullAXTree", {"frameId": self.frame})
        self.call(self.mark, "focus", "")
        self.call(self.mark, "unmark", "")
        self.wait(snapshot)
        self.wait(picture)
        return tree

    def click(self, bid):
        """As src/browser/page/element.c and input.c."""
        world = self.ask("Page.createIsolatedWorld", {"frameId": self.frame, "worldName": "od-runtime"})
        found = self.call(self.element, "find", bid, context=world["executionContextId"], by_value=False)["objectId"]
        self.call(self.element, "check", "visible", "stable", "enabled", on=found)
        self.ask("DOM.scrollIntoViewIfNeeded", {"objectId": found})
        quad = self.ask("DOM.getContentQuads", {"objectId": found})["quads"][0]
        x, y = sum(quad[::2]) / 4, sum(quad[1::2]) / 4
        border = self.ask("DOM.getBoxModel", {"objectId": found})["model"]["border"]
        self.call(self.element, "hit", x, y, border[0], border[1], on=found)
        sent = [self.send("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})]
        for kind, buttons in (("mousePressed", 1), ("mouseReleased", 0)):
            sent.append(self.send("Input.dispatchMouseEvent", {
                "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1}))
        for number in sent:
            self.wait(number)
        self.flush()


def timed_ms(step, *words):
    t = time.perf_counter()
    step(*words)
    return (time.perf_counter() - t) * 1000


def act(client, text):
    got = client.act("browse_interactive", 60.0, browser_actions=text)
    if got["observation"] != "browse" or got["extras"]["error"]:
        raise RuntimeError(f"{text}: {got['content'][:500]}")
    return got


def sandbox():
    return harness.Client(role="init", env={"OD_BROWSER_FLAGS": FLAGS, "OHRT_BROWSER": os.environ.get("OHRT_BROWSER")})


def role_pid(client):
    return client.get("/server_info").json()["plugins"]["browser"]["pid"]


def command_line(client):
    """Of the browser itself: the process that the others descend from."""
    found = harness.until(lambda: [p for p in harness.descendants(role_pid(client))
                                   if b"--remote-debugging-pipe" in harness.proc(p, "cmdline")])
    return harness.proc(found[0], "cmdline").decode().rstrip("\0").split("\0")


def compare(what, ours, floors, floor_is="the bare pipe"):
    value, floor = statistics.median(ours), statistics.median(floors)
    row(what, value, "ms", None, floor, floor_is)
    row(f"{what}: as a multiple of that", value / floor, "times", 1.3)


def first_page(client):
    act(client, "noop(0)")


def first_page_bare(argv):
    pipe = Pipe(argv)
    pipe.observe()
    return pipe


def starts(argv):
    ours, floors = [], []
    for _ in range(TIMES):
        with sandbox() as client:
            ours.append(timed_ms(first_page, client))
        pipes = []
        floors.append(timed_ms(lambda: pipes.append(first_page_bare(argv))))
        pipes[0].close()
    compare("browser: start, and what is seen of its page", ours, floors)


def bid_of(content, name):
    line = next(line for line in content.splitlines() if name in line)
    return re.search(r"\[([a-zA-Z0-9]+)\]", line)[1]


def browser():
    if not any(map(os.path.exists, BROWSERS)) and "OHRT_BROWSER" not in os.environ:
        print("left out: the browser: there is no Chromium")
        return
    with sandbox() as client:
        first_page(client)
        argv = command_line(client)
        with contextlib.closing(Pipe(argv)) as pipe:
            bid = bid_of(act(client, f'goto("{PAGE}")')["content"], "button 'Go'")
            pipe.goto(PAGE)
            pipe.observe()
            looks, bare_looks, clicks, bare_clicks = [], [], [], []
            many = "\n".join([f"click('{bid}')"] * CLICKS)
            for _ in range(TIMES):
                looks.append(timed_ms(act, client, "noop(0)"))
                bare_looks.append(timed_ms(pipe.observe))
                clicks.append((timed_ms(act, client, many) - looks[-1]) / CLICKS)
                bare_clicks.append(timed_ms(lambda: [pipe.click(bid) for _ in range(CLICKS)]) / CLICKS)
        own = [role_pid(client), client.serve_pid()]
        memory = sum(map(harness.pss_kib, own))
        row("browser: memory of serve and of what drives it, beside the browser's (PSS)", memory, "KiB", 4096)
    starts(argv)
    compare("browser: what is seen of a small page", looks, bare_looks)
    compare("browser: a click, with its checks", clicks, bare_clicks)


STEPS = (browser,)
