"""What the tests of the browser share: which browsers are here, pages for them, what is asked of a client."""
import functools
import http.server
import os
import re
import threading

from harness import Client, children, descendants, note, ok, proc, scratch, skip, until

BROWSERS = [p for p in ("/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium")
            if os.path.exists(p)]
# No page of elsewhere is asked for.
FLAGS = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1"
TEMP = scratch("od-browser-test-")


# --- Which are here ---------------------------------------------------------------

def needs_browser(test):
    """A test that is skipped by its name where there is no browser."""
    @functools.wraps(test)
    def run():
        if BROWSERS:
            test()
        else:
            skip(test.__name__, "there is no Chromium")
    return run


def start(*options, env=None, **more):
    return Client(*options, env={"OD_BROWSER_FLAGS": FLAGS, **(env or {})}, **more)


def each(test, browsers=BROWSERS, **env):
    """A test that is run with a client for each of the browsers."""
    @needs_browser
    @functools.wraps(test)
    def run():
        for path in browsers:
            note(os.path.basename(path))
            with start(env={"OD_BROWSER": path, "TMPDIR": TEMP, **env}) as client:
                test(client)
    return run


# --- Pages for them ---------------------------------------------------------------

class Quiet:
    """What every handler of requests has here."""

    def log_message(self, *_):
        pass


class Pages(Quiet, http.server.BaseHTTPRequestHandler):
    """A test's own has do_GET, or page() where every path has one."""

    def give(self, body, kind="text/html", status=200, **fields):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def begin(self, body):
        """A page that is there, but for a part that never comes."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body.encode() + b" " * 4096)
        self.wfile.flush()
        self.hang()

    def hang(self, seconds=60):
        threading.Event().wait(seconds)

    def do_GET(self):
        self.give(self.page())


class Site(http.server.ThreadingHTTPServer):
    """Serves on a port of its own, at most as long as the test's process lives."""

    daemon_threads = True

    def __init__(self, handler, wrap=None):
        super().__init__(("127.0.0.1", 0), handler)
        self.port = self.server_address[1]
        self.url = f"http://localhost:{self.port}"
        self.socket = wrap(self.socket) if wrap else self.socket
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        pass  # who asks may leave


# --- What is asked of a client ------------------------------------------------------

def do(client, *calls, **args):
    return client.act("browse_interactive", timeout=100, browser_actions="\n".join(calls), **args)


def error(got):
    return got["extras"].get("last_browser_action_error", got["content"])


def elements(content):
    """As clients read the tree: by bid, what stands behind it and below it without one."""
    found, bid = {}, None
    for line in content.splitlines():
        match = re.match(r"\[([a-zA-Z0-9]+)\]\s*(.*)", line.strip())
        if match:
            bid = match.group(1)
            found[bid] = match.group(2)
        elif bid:
            found[bid] += " " + line.strip()
    return found


def bid_of(got, text):
    """Of the first element that has the text."""
    for bid, words in elements(got["content"]).items():
        if text.lower() in words.lower():
            return bid
    raise RuntimeError(f"no element with {text!r} in {got['content'][:4000]}")


def shows(client, calls, text, name):
    """Calls behind which the text is there, and no error."""
    got = do(client, *calls)
    ok(not error(got) and text in got["content"], name, error(got), got["content"][:3000])
    return got


def plugin(client):
    return client.get("/server_info").json()["plugins"]["browser"]


def browser_of(client):
    """The process of Chromium itself."""
    def look():
        driver = plugin(client).get("pid")
        return next((p for p in children(driver or 0) if b"--remote-debugging-pipe" in proc(p, "cmdline")), None)
    return until(look)


def helpers(client, kind):
    """Its processes of one type."""
    return [p for p in descendants(browser_of(client)) if f"--type={kind}".encode() in proc(p, "cmdline")]
