#!/usr/bin/env python3
"""A browser of somebody else's, by --cdp: used beside others, never ended, and come back to."""
import json
import os
import signal
import subprocess
import tempfile
import time
import urllib.request

from harness import CLIENT, Client, eq, free_port, has, main, note, ok, until
import browsers
from browsers import BROWSERS, FLAGS, TEMP, Site, bid_of, do, error, needs_browser, shows

ALONE = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--headless", FLAGS)


class Pages(browsers.Pages):
    def page(self):
        return (f"<title>T</title><h1>Page {self.path}</h1><a href=/linked target=_blank>Link</a>"
                f"<iframe srcdoc='inner'></iframe><p id=c></p><script>c.innerText = 'cookie ' + document.cookie; "
                f"document.cookie = 'who=me'</script>")


SITE = Site(Pages)
URL = SITE.url


class Browser:
    """One that listens on a port."""

    def __init__(self, path, port):
        self.profile = tempfile.mkdtemp(dir=TEMP)
        self.at = f"127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [path, *ALONE, f"--remote-debugging-port={port}", f"--user-data-dir={self.profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "HOME": self.profile})
        self.path = until(self.version, 60)

    def ask(self, what, method="GET"):
        try:
            request = urllib.request.Request(f"http://{self.at}{what}", method=method)
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except OSError:
            return None

    def version(self):
        return (self.ask("/json/version") or {}).get("webSocketDebuggerUrl")

    def pages(self):
        return sorted(t["url"] for t in self.ask("/json/list") if t["type"] == "page")

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def shown(client, path, name):
    return shows(client, [f'goto("{URL}{path}")'], f"Page {path}", name)


def use(path):
    port = free_port()
    browser = Browser(path, port)
    try:
        ok(browser.ask(f"/json/new?{URL}/other", "PUT"), "somebody has a page there")
        until(lambda: f"{URL}/other" in browser.pages())
        theirs = browser.pages()
        with Client("--cdp", browser.path) as client:
            got = shown(client, "/first", "a page of ours")
            eq(got["extras"]["open_pages_urls"], [f"{URL}/first"], "...is the only one that is ours")
            ok("who=me" not in got["content"], "...without the cookies of others", got["content"])
            link = bid_of(got, "link 'Link'")
            got = do(client, f'click("{link}")')
            eq((got["extras"]["active_page_index"], got["extras"]["open_pages_urls"]),
               (1, [f"{URL}/first", f"{URL}/linked"]), "one that it opens is ours, too")
            browser.ask(f"/json/new?{URL}/third", "PUT")
            theirs = sorted(theirs + [f"{URL}/third"])
            until(lambda: f"{URL}/third" in browser.pages())
            got = do(client, "tab_close()", "noop(1)")
            eq(got["extras"]["open_pages_urls"], [f"{URL}/first"], "one that others open is not")
            eq(browser.pages(), sorted(theirs + [f"{URL}/first"]), "all are there")
            note(f"the process that drives it: {client.get('/server_info').json()['plugins']['browser']}")
        ok(until(lambda: browser.pages() == theirs), "ours have gone, theirs have not", browser.pages())
        eq(browser.process.poll(), None, "the browser lives")
        with Client("--cdp", f"http://{browser.at}", "--enable-browser") as client:
            shown(client, "/first", "a browser that tells its path")
            browser.kill()
            begun = time.monotonic()
            got = do(client, "noop(0)")
            ok(f"The browser at http://{browser.at} cannot be used: " in error(got) or
               "connection to the browser has ended" in error(got), "one that has gone", error(got))
            has(error(do(client, "noop(0)")), f"The browser at http://{browser.at} cannot be used: ", "...is told")
            note(f"{time.monotonic() - begun:.2f} s", error(got))
            browser = Browser(path, port)
            got = do(client, "noop(0)")
            ok(not error(got) and got["extras"]["url"] == f"{URL}/first", "it is back, with its page", got["content"])
            os.killpg(browser.process.pid, signal.SIGSTOP)
            begun = time.monotonic()
            got = do(client, "noop(0)")
            has(error(got), "connection to the browser has ended", "one that does not answer")
            note(f"{time.monotonic() - begun:.2f} s")
            os.killpg(browser.process.pid, signal.SIGCONT)
            shown(client, "/next", "...and does again")
    finally:
        browser.kill()


@needs_browser
def test_use():
    for path in BROWSERS:
        note(os.path.basename(path))
        use(path)


class Nonsense(browsers.Pages):
    def page(self):
        return '{"webSocketDebuggerUrl": "ws://elsewhere.test/devtools"}' if self.path == "/json/version" else "no"


def test_none():
    port = Site(Nonsense).port
    for at, why in ((f"ws://127.0.0.1:{free_port()}/x", "Connection refused"),
                    (f"ws://127.0.0.1:{port}/x", "the server refused the WebSocket"),
                    (f"http://127.0.0.1:{port}", "the server refused the WebSocket"),
                    (f"http://127.0.0.1:{SITE.port}", "it is not the DevTools endpoint of a browser")):
        with Client("--cdp", at) as client:
            for _ in range(2):
                got = do(client, "noop(0)")
                eq((got["observation"], got["extras"]["error"], error(got)),
                   ("browse", True, f"The browser at {at} cannot be used: {why}."), at)
            eq(client.get("/alive").status, 200, "...the sandbox lives")
    for bad in ("9222", "wss://127.0.0.1/x", "ws://", "file:///x"):
        got = subprocess.run([CLIENT, "serve", "1", "--cdp", bad], capture_output=True, timeout=20)
        eq((got.returncode, got.stderr.decode()),
           (100, f"od-runtime-client: error: --cdp {bad}: must be ws://HOST:PORT/PATH or http://HOST:PORT\n"), bad)


main()
