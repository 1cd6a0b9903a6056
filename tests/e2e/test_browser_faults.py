#!/usr/bin/env python3
"""What happens to a browser: its processes are killed or stopped, its disk is full, its driver is gone."""
import http.server
import os
import shutil
import signal
import tempfile
import threading
import time

from harness import Client, children, descendants, eq, has, main, note, ok, proc, skip, until

FLAGS = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1"
FOLDER = "/usr/lib/chromium"
BROWSERS = [p for p in (f"{FOLDER}/chromium-headless-shell", f"{FOLDER}/chromium") if os.path.exists(p)]
TEMP = tempfile.mkdtemp(prefix="od-faults-test-")


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"<title>T</title><h1>Page {self.path}</h1><a href=/linked>Link</a>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # who asks may leave


SERVER = Quiet(("127.0.0.1", 0), Pages)
URL = f"http://localhost:{SERVER.server_address[1]}"

GOTO = f'goto("{URL}/other")'


def do(client, *calls):
    return client.act("browse_interactive", timeout=100, browser_actions="\n".join(calls))


def error(got):
    return got["extras"].get("last_browser_action_error", got["content"])


def plugin(client):
    return client.get("/server_info").json()["plugins"]["browser"]


def browser_of(client):
    """The process of Chromium itself."""
    def look():
        role = plugin(client).get("pid")
        return next((p for p in children(role or 0) if b"--remote-debugging-pipe" in proc(p, "cmdline")), None)
    return until(look)


def helpers(client, kind):
    return [p for p in descendants(browser_of(client)) if f"--type={kind}".encode() in proc(p, "cmdline")]


def shown(client, path, name):
    got = do(client, f'goto("{URL}{path}")')
    ok(not error(got) and f"Page {path}" in got["content"], name, error(got), got["content"])


def struck(client, pids, signo, calls, name):
    """An answer to the calls behind that, which may be a page or the truth; the next one is a page."""
    for pid in pids:
        try:
            os.kill(pid, signo)
        except ProcessLookupError:
            pass
    begun = time.monotonic()
    got = do(client, *calls)
    note(f"{name}: {time.monotonic() - begun:.2f} s, {error(got).splitlines()[:1]}")
    words = error(got)
    ok(not words or any(w in words for w in ("crashed", "did not answer", "has ended", "net::ERR_")),
       f"{name}: the truth", words)
    shown(client, "/next", f"{name}: the next one")
    return words


def each(test):
    """Once in each browser that is here."""
    def run():
        if not BROWSERS:
            skip(test.__name__, "there is no Chromium")
        for path in BROWSERS:
            note(os.path.basename(path))
            with Client(env={"OD_BROWSER_FLAGS": FLAGS, "OD_BROWSER": path, "TMPDIR": TEMP}) as client:
                test(client)
    return run


@each
def test_processes(client):
    """Each kind of its processes, killed and stopped, while nothing is done and while it is needed."""
    shown(client, "/first", "a page")
    for signo, kind, call in ((signal.SIGKILL, "browser", "noop(0)"), (signal.SIGSTOP, "browser", GOTO),
                              (signal.SIGKILL, "renderer", "noop(0)"), (signal.SIGSTOP, "renderer", GOTO),
                              (signal.SIGKILL, "utility", GOTO), (signal.SIGSTOP, "utility", GOTO),
                              (signal.SIGKILL, "gpu-process", GOTO), (signal.SIGSTOP, "gpu-process", GOTO)):
        pids = [browser_of(client)] if kind == "browser" else helpers(client, kind)
        if not pids:
            note(f"there is no {kind}")
            continue
        words = struck(client, pids, signo, [call], f"{signo.name} of {kind}, {call[:5]}")
        if (signo, kind) == (signal.SIGSTOP, "browser"):
            has(words, "did not answer", "...is told")


@each
def test_driver(client):
    """The process that drives it."""
    shown(client, "/first", "a page")
    os.kill(plugin(client)["pid"], signal.SIGKILL)
    until(lambda: plugin(client).get("starts") == 2)
    shown(client, "/next", "its driver is started again")


# In place of a browser: it hands on what it is given until it gets SIGUSR1, and then sleeps.
RELAY = """#!/usr/bin/env python3
import os, select, signal, subprocess, sys
to, out = os.pipe()
back, into = os.pipe()
def ends():
    os.dup2(to, 103), os.dup2(into, 104), os.dup2(103, 3), os.dup2(104, 4)
child = subprocess.Popen([{path!r}, *sys.argv[1:]], preexec_fn=ends, close_fds=False)
os.close(to), os.close(into)
signal.signal(signal.SIGUSR1, lambda *_: signal.pause())
while True:
    for fd in select.select([3, back], [], [])[0]:
        data = os.read(fd, 65536)
        if not data:
            sys.exit()
        while data:
            data = data[os.write(out if fd == 3 else 4, data):]
"""


def test_stall():
    """One that lives and is not to be spoken to."""
    if not BROWSERS:
        skip("pipes that stall", "there is no Chromium")
        return
    relay = os.path.join(TEMP, "relay")
    with open(relay, "w") as f:
        f.write(RELAY.format(path=BROWSERS[0]))
    os.chmod(relay, 0o755)
    with Client(env={"OD_BROWSER_FLAGS": FLAGS, "OD_BROWSER": relay, "TMPDIR": TEMP}) as client:
        shown(client, "/first", "a page")
        words = struck(client, [browser_of(client)], signal.SIGUSR1, [GOTO], "pipes that stall")
        has(words, "did not answer", "...are told")


def test_full_disk():
    """Its folder is on a disk with next to no room, and then none."""
    if not BROWSERS or os.geteuid():
        skip("a full disk", "that needs a browser, and root to make one")
        return
    for path in BROWSERS:
        note(os.path.basename(path))
        hold = tempfile.mkdtemp(dir=TEMP)
        prefix = ["/usr/bin/unshare", "-m", "/bin/sh", "-c",
                  f'/bin/mount -t tmpfs -o size=2m none {hold} && exec "$0" "$@"']
        with Client(prefix=prefix, env={"OD_BROWSER_FLAGS": FLAGS, "OD_BROWSER": path, "TMPDIR": hold}) as client:
            fill = f"cat /dev/zero >{hold}/rest; ls -A {hold}"
            eq(client.run(fill)["content"].split()[-1:], ["rest"], "a disk is full")
            shown(client, "/first", "its folder is elsewhere")
            eq(client.run(f"ls -A {hold}")["content"], "rest", "...and nothing of it there")
            client.run(f"rm {hold}/rest")
            struck(client, [browser_of(client)], signal.SIGKILL, ["noop(0)"], "a small disk")
            has(client.run(f"ls -A {hold}")["content"], "od-browser-", "...has its folder")
            client.run(fill)
            struck(client, [], 0, [GOTO], "it is full")
            struck(client, helpers(client, "renderer"), signal.SIGKILL, [GOTO], "...and a page crashes")


def run():
    threading.Thread(target=SERVER.serve_forever, daemon=True).start()
    try:
        main()
    finally:
        shutil.rmtree(TEMP, ignore_errors=True)


run()
