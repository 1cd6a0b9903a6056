#!/usr/bin/env python3
"""What happens to a browser: its processes are killed or stopped, its disk is full, its driver is gone."""
import os
import signal
import tempfile
import time

from harness import eq, has, main, note, ok, skip, until
import browsers
from browsers import (BROWSERS, TEMP, Site, browser_of, do, each, error, helpers, needs_browser, plugin, shows,
                      start)


class Pages(browsers.Pages):
    def page(self):
        return f"<title>T</title><h1>Page {self.path}</h1><a href=/linked>Link</a>"


URL = Site(Pages).url
GOTO = f'goto("{URL}/other")'


def shown(client, path, name):
    shows(client, [f'goto("{URL}{path}")'], f"Page {path}", name)


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


# In place of a browser: it hands on what it is given until it gets SIGUSR1, and then sleeps;
# with SIGUSR2 for a while, in which another of its threads works.
RELAY = """#!/usr/bin/env python3
import os, select, signal, subprocess, sys, threading, time
to, out = os.pipe()
back, into = os.pipe()
def ends():
    os.dup2(to, 103), os.dup2(into, 104), os.dup2(103, 3), os.dup2(104, 4)
child = subprocess.Popen([{path!r}, *sys.argv[1:]], preexec_fn=ends, close_fds=False)
os.close(to), os.close(into)
signal.signal(signal.SIGUSR1, lambda *_: signal.pause())
def works(*_):
    def work():
        while time.monotonic() < end:
            pass
    end = time.monotonic() + 4
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
signal.signal(signal.SIGUSR2, works)
while True:
    for fd in select.select([3, back], [], [])[0]:
        data = os.read(fd, 65536)
        if not data:
            sys.exit()
        while data:
            data = data[os.write(out if fd == 3 else 4, data):]
"""


@needs_browser
def test_stall():
    """One that lives and is not to be spoken to."""
    relay = os.path.join(TEMP, "relay")
    with open(relay, "w") as f:
        f.write(RELAY.format(path=BROWSERS[0]))
    os.chmod(relay, 0o755)
    with start(env={"OD_BROWSER": relay, "TMPDIR": TEMP}) as client:
        shown(client, "/first", "a page")
        words = struck(client, [browser_of(client)], signal.SIGUSR1, [GOTO], "pipes that stall")
        has(words, "did not answer", "...are told")
        words = struck(client, [browser_of(client)], signal.SIGUSR2, [GOTO], "pipes that wait for another thread")
        eq(words, "", "...are waited for")


@needs_browser
def test_full_disk():
    """Its folder is on a disk with next to no room, and then none."""
    if os.geteuid():
        skip("a full disk", "only root can make one")
        return
    for path in BROWSERS:
        note(os.path.basename(path))
        hold = tempfile.mkdtemp(dir=TEMP)
        prefix = ["/usr/bin/unshare", "-m", "/bin/sh", "-c",
                  f'/bin/mount -t tmpfs -o size=2m none {hold} && exec "$0" "$@"']
        with start(prefix=prefix, env={"OD_BROWSER": path, "TMPDIR": hold}) as client:
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


main()
