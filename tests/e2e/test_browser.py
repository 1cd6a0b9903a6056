#!/usr/bin/env python3
"""The browser: browse and browse_interactive with a real Chromium, and its bad days."""
import base64
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import browsers
from browsers import (BROWSERS, FLAGS, TEMP, Site, bid_of, browser_of, do, elements, error, helpers, needs_browser,
                      plugin, start)
from harness import (CLIENT, ME, PLUGINS, WRAP, DropIn, action, alive, descendants, eq, free_port, has, main, note, ok, own_kib,
                     request, skip, until)

NO_BROWSER = "Browser functionality is not supported or disabled."

FORM = """<!doctype html><html><head><title>Browser Test Form</title></head><body>
<h1>Test Form</h1><form id="f">
<input type="text" id="t" placeholder="Enter text">
<textarea id="m" placeholder="Enter message"></textarea>
<select id="s"><option value="">Select an option</option><option value="option1">Option 1</option>
<option value="option2">Option 2</option></select>
<button type="button" id="b">Test Button</button>
<input type="file" id="u"><button type="button" id="up">Upload File</button></form>
<div id="r"></div><div id="h" style="width:100px;height:30px">Hover over me</div>
<div style="height:2000px">tall</div><script>
b.onclick = () => { r.innerText = 'Button clicked!' };
h.onmouseover = () => { h.innerText = 'Hovered' };
up.onclick = () => { r.innerText = 'File selected: ' + (u.files[0] ? u.files[0].name : 'none') };
</script></body></html>"""

PAGES = {
    "/form": FORM,
    "/1": "<title>One</title><h1>Page 1</h1><a href=/2>Go to Page 2</a>",
    "/2": "<title>Two</title><h1>Page 2</h1><a href=/1>Go to Page 1</a>",
    "/popup": "<title>P</title><button onclick=\"window.open('/1')\">Open</button>"
              "<a href=/2 target=_blank>Blank</a>",
    "/dialogs": "<title>D</title><button onclick=\"this.innerText = "
                "[alert('a'), confirm('b'), prompt('c')].join('/')\">Ask</button>",
    "/busy": "<title>B</title><h1>Busy</h1><button onclick='for(;;);'>Hang</button>",
    "/redirect": "<script>location.href='/2'</script>",
    "/replace": "<h1>Replaced</h1><script>location.replace('/2')</script><img src=/1>",
    "/refresh": "<h1>Refreshed</h1><meta http-equiv=refresh content='0;url=/2'>",
    "/leaves": "<title>L</title><button>Stay</button>"
               "<script>fetch('/asked').then(() => location.href = '/2')</script>",
    "/frames": "<title>F</title><h1>Outer</h1><iframe src=/1></iframe>"
               "<iframe srcdoc='<p>inner text</p>'></iframe>",
}


class Pages(browsers.Pages):
    asked = threading.Event()
    seen = []

    def do_GET(self):
        self.seen.append(self.path)
        path = self.path.split("?")[0]
        if path == "/file.pdf":
            self.give(b"%PDF-1.4\n%%EOF\n", "application/pdf")
        elif path == "/away":
            self.give(b"", status=302, Location="/2")
        elif path == "/asked":
            # Whoever asks for this hears of it when somebody has asked for the next.
            Pages.asked.wait(20)
            self.give(b"yes", "text/plain")
        elif path == "/late":
            Pages.asked.set()
            time.sleep(0.5)
            self.give("<h1>Late page</h1>")
        elif path in PAGES:
            self.give(PAGES[path])
        else:
            self.send_error(404)


URL = Site(Pages).url


def visit(client, url, **args):
    return client.act("browse", timeout=60, url=url, **args)


def good(got, name):
    return ok(got["observation"] == "browse" and not error(got), name, error(got))


def profiles(where):
    return [n for n in os.listdir(where) if n.startswith("od-browser-")]


# --- What it is for -------------------------------------------------------------------

@needs_browser
def test_browse():
    with start() as client:
        client.run("python3 -m http.server --help >/dev/null; echo hi >server.log")
        ok("pid" not in plugin(client), "no process before the first action", plugin(client))
        got = visit(client, f"{URL}/1")
        extras = got["extras"]
        good(got, "a visit")
        eq(list(got), ["message", "observation", "content", "extras"], "the members of an observation")
        eq(got["message"], f"Visited {URL}/1", "its message")
        eq((extras["url"], extras["open_pages_urls"], extras["active_page_index"]),
           (f"{URL}/1", [f"{URL}/1"], 0), "where it is")
        eq((extras["last_browser_action"], extras["trigger_by_action"], extras["error"]),
           (f'goto("{URL}/1")', "browse", False), "what was done")
        eq((extras["axtree_object"], extras["extra_element_properties"], extras["dom_object"]),
           ({}, {}, {}), "what was not asked for")
        has(got["content"], f"[Current URL: {URL}/1]\n============== BEGIN webpage content", "the text")
        has(got["content"], "[Go to Page 2](/2)", "...with links")
        path = os.path.join(TEMP, '50% of "#1"?\n\tü.html')
        with open(path, "w") as f:
            f.write("<p>on a disk</p>")
        os.chmod(path, 0o644)
        os.chmod(TEMP, 0o755)
        for url, seen in ((URL.split("//")[1] + "/1", "Go to Page 2"), (path, "on a disk"),
                          ('data:text/html,<p title="a\\b">quoted</p>', "quoted")):
            got = visit(client, url)
            good(got, f"a visit of {url[:20]}...")
            has(got["content"], seen, "...is one of what it names")
        visit(client, f"{URL}/1")
        picture = base64.b64decode(extras["screenshot"].split(",")[1])
        ok(extras["screenshot"].startswith("data:image/png;base64,") and
           picture.startswith(b"\x89PNG\r\n\x1a\n"), "the screenshot is a picture")
        eq(picture[16:24].hex(), "00000500000002d0", "...of 1280 by 720")
        ok("screenshot_path" not in extras, "a client of an unknown age gets no screenshot_path")
        extras = visit(client, f"{URL}/1", return_axtree=False)["extras"]
        picture = base64.b64decode(extras["screenshot"].split(",")[1])
        path = extras["screenshot_path"]
        ok(re.fullmatch(re.escape(client.work) + r"/\.browser_screenshots/screenshot_\d{8}_\d{6}_\d{6}\.png",
                        path), "it is a file, too", path)
        eq(open(path, "rb").read(), picture, "...with the same bytes")


@needs_browser
def test_navigation():
    with start() as client:
        for calls, title, where in (([f'goto("{URL}/1")'], "Page 1", "/1"), (["noop(10)"], "Page 1", "/1"),
                                    ([f'goto("{URL}/2")'], "Page 2", "/2"), (["go_back()"], "Page 1", "/1"),
                                    (["go_forward()"], "Page 2", "/2"),
                                    ([f'goto("{URL}/redirect")'], "Page 2", "/2"),
                                    ([f'goto("{URL}/replace")'], "Page 2", "/2"),
                                    ([f'goto("{URL}/away")'], "Page 2", "/2")):
            got = do(client, *calls)
            good(got, calls[0])
            ok(title in got["content"] and got["extras"]["url"] == URL + where, "...leads there",
               got["extras"]["url"], got["content"])
        has(got["content"], "[Action executed successfully.]", "it says so")
        got = do(client, f'goto("http://127.0.0.1:{free_port()}/")')
        has(error(got), "net::ERR_CONNECTION_REFUSED at http://127.0.0.1:", "nobody listens")
        eq((got["extras"]["error"], got["extras"]["url"]), (True, "chrome-error://chromewebdata/"),
           "...and that is where it is")
        good(do(client, f'goto("{URL}/1")'), "from there elsewhere")
        got = do(client, f'goto("{URL}/nothing")')
        good(got, "a page that is not there is a page")


@needs_browser
def test_left():
    with start() as client, client.conn() as conn:
        calls = f'goto("{URL}/1?left")\nnoop(100000)'
        conn.send(request("POST", "/execute_action", action("browse_interactive", browser_actions=calls)))
        until(lambda: "/1?left" in Pages.seen)
        conn.sock.shutdown(socket.SHUT_WR)
        began = time.monotonic()
        good(do(client, f'goto("{URL}/2")'), "who asks next")
        ok(time.monotonic() - began < 50, "...does not wait for who has left")
        has(error(conn.response().json()), "The client has left.", "...who is told so, should he read it")


@needs_browser
def test_interrupted():
    """A page that leaves by itself while another one is asked for."""
    with start() as client:
        do(client, f'goto("{URL}/leaves")')
        got = do(client, f'goto("{URL}/late")')
        good(got, "one that nobody has touched")
        eq(got["extras"]["url"], f"{URL}/late", "...does not get its way")
        Pages.asked.clear()
        got = do(client, f'goto("{URL}/leaves")')
        got = do(client, f'click("{bid_of(got, "Stay")}")', f'goto("{URL}/late")')
        has(error(got), f"Error: Page.goto: net::ERR_ABORTED at {URL}/late", "one that was clicked does")
        eq(got["extras"]["url"], f"{URL}/2", "...and is where it wants to be")
        good(do(client, f'goto("{URL}/refresh")'), "one that leaves when it has loaded")


@needs_browser
def test_form():
    with start() as client:
        got = do(client, f'goto("{URL}/form")')
        text, area, choice, button = (bid_of(got, t) for t in ("Enter text", "Enter message", "combobox",
                                                               "Test Button"))
        eq(len({text, area, choice, button}), 4, "elements by their texts")
        got = do(client, f'fill("{text}", "Hello World")', f'fill("{area}", "A message")')
        good(got, "two texts")
        has(elements(got["content"])[text], "Hello World", "the first")
        has(elements(got["content"])[area], "A message", "the second")
        got = do(client, f'select_option("{choice}", "option2")')
        has(elements(got["content"])[choice], "Option 2", "a choice")
        got = do(client, f'click("{button}")')
        has(got["content"], "Button clicked!", "a click")
        got = do(client, f'clear("{text}")')
        ok("Hello World" not in elements(got["content"])[text], "a text is gone")
        got = do(client, f'focus("{text}")')
        eq(got["extras"]["focused_element_bid"], text, "focus")
        got = do(client, f'fill("{text}", "TestValue123")', f'press("{text}", "Backspace")')
        has(elements(got["content"])[text], "TestValue12'", "a key")
        got = do(client, f'hover("{bid_of(got, "Hover over me")}")')
        has(got["content"], "Hovered", "the mouse")
        got = do(client, "scroll(0, 300)", "noop(10)", "scroll(0, -300)")
        good(got, "three calls")
        has(got["extras"]["last_browser_action"], "scroll(0, 300)\nnoop(10)", "...as they were given")
        got = do(client, "scroll(0, 1e39)", "scroll(0, -1e999)", f'hover("{text}")')
        good(got, "numbers beyond all that it knows")
        long = client.act("browse_interactive", timeout=60, browser_actions="[\"'({" * 700000)
        eq(error(long), "The plugin browser accepts at most 4 MiB.", "an action beyond all measure")
        for calls, words in ((['click("9999")'], 'ValueError: Could not find element with bid "9999"'),
                             (["print('x')"], "NameError: Invalid action type 'print'."),
                             (["nothing"], "ValueError: Received an empty action."),
                             (["tab_focus(7)"], "IndexError: list index out of range")):
            got = do(client, *calls)
            has(error(got), words, calls[0])
        has(got["content"], "BEGIN error message", "an error is told to agents")
        got = do(client, "noop(0)", return_axtree=True)
        ok(got["extras"]["axtree_object"]["nodes"][0]["role"], "the tree itself")
        eq(sorted(got["extras"]["extra_element_properties"][text]), ["bbox", "clickable", "set_of_marks",
                                                                     "visibility"], "...and properties")


@needs_browser
def test_upload():
    with start() as client:
        path = os.path.join(client.work, "upload_test.txt")
        client.run(f"echo test >{path}")
        got = do(client, f'goto("{URL}/form")')
        got = do(client, f'upload_file("{bid_of(got, "Choose File")}", "{path}")')
        good(got, "a file")
        has(got["content"], "upload_test.txt", "...is shown")
        got = do(client, f'click("{bid_of(got, "Upload File")}")')
        has(got["content"], "File selected: upload_test.txt", "...and there for the page")


@needs_browser
def test_tabs_and_dialogs():
    with start() as client:
        got = do(client, f'goto("{URL}/popup")')
        got = do(client, f'click("{bid_of(got, "Open")}")')
        good(got, "a page opens another one")
        eq((got["extras"]["active_page_index"], got["extras"]["open_pages_urls"]),
           (1, [f"{URL}/popup", f"{URL}/1"]), "a page that a page has opened is the active one")
        has(got["content"], "Page 1", "...and seen")
        got = do(client, "tab_focus(0)")
        eq(got["extras"]["url"], f"{URL}/popup", "back to the first")
        got = do(client, "new_tab()")
        eq((got["extras"]["active_page_index"], got["extras"]["url"]), (2, "about:blank"), "a new one")
        for left in (2, 1):
            got = do(client, "tab_close()")
            eq(len(got["extras"]["open_pages_urls"]), left, "one less")
        got = do(client, "tab_close()")
        eq(got["extras"]["open_pages_urls"], ["about:blank"], "never none")
        got = do(client, f'goto("{URL}/dialogs")')
        got = do(client, f'click("{bid_of(got, "Ask")}")')
        good(got, "dialogs are answered")
        has(got["content"], "/false/", "...with no")
        got = do(client, f'goto("{URL}/frames")')
        ok("Outer" in got["content"] and "Page 1" in got["content"] and "inner text" in got["content"],
           "frames are part of the page", got["content"])


@needs_browser
def test_downloads():
    with start() as client:
        client.run("echo is here >file_1.pdf")
        got = do(client, f'goto("{URL}/file.pdf")')
        path = os.path.join(client.work, "file_2.pdf")
        eq((got["observation"], got["extras"]), ("download", {"file_path": path}), "a download")
        eq((got["message"], got["content"]), (
            f"Downloaded the file at location: {path}",
            f'Execution of the previous action goto("{URL}/file.pdf") resulted in a file download. '
            f"The downloaded file is saved at location: {path}"), "...in the contract's words")
        eq(open(path, "rb").read(), b"%PDF-1.4\n%%EOF\n", "...beside what was there")
        eq(os.listdir(client.work + "/.downloads"), [], "nothing else is left of it")
        before = client.act("edit", command="view", path=client.work)["content"]
        has(before, "1 hidden files/directories in this directory", "it counts as one hidden entry")


@needs_browser
def test_folder_for_downloads():
    with start("--enable-browser") as client:
        ok(until(lambda: os.path.isdir(client.work + "/.downloads")), "it is there as soon as the browser runs")
        got = do(client, f'goto("{URL}/file.pdf")')
        eq(got["extras"], {"file_path": client.work + "/file_1.pdf"}, "and gets the downloads")
    with start() as client:
        ok(not os.path.exists(client.work + "/.downloads"), "where no page was opened there is none")
        do(client, "noop()")
        ok(os.path.isdir(client.work + "/.downloads"), "the first action makes it")
    if WRAP:
        return skip("the drop-in", "under a wrapper argv[0] is not that of the client")
    with DropIn(user=ME, env={"OD_BROWSER_FLAGS": FLAGS}) as client:
        ok(until(lambda: os.path.isdir(client.work + "/.downloads")), "the drop-in makes it at the start")
        has(client.act("edit", command="view", path=client.work)["content"],
            f"\n\n1 hidden files/directories in this directory are excluded. You can use 'ls -la {client.work}' "
            "to see them.", "as a test of the contract counts it")


def test_log():
    """What has not been asked for is not in the log."""
    hide = ["/usr/bin/unshare", "-m", "/bin/sh", "-c",
            '/bin/mount -t tmpfs none /usr/lib/chromium && exec "$0" "$@"'] if BROWSERS else []
    with start() as client:
        ok("browser" not in client.log(), "the log of a start says nothing of a browser", client.log())
    if os.geteuid() and BROWSERS:
        return skip("one that was asked for", "only root can hide the one that is here")
    with start(env={"PATH": "/nowhere"}, prefix=hide) as client:
        ok("browser" not in client.log(), "nor where there is none", client.log())
    with start("--enable-browser", env={"PATH": "/nowhere"}, prefix=hide) as client:
        has(client.log(), "plugin browser is unavailable: no browser was found", "one that was asked for is missed")


# --- Its bad days ---------------------------------------------------------------------

def test_none():
    """No browser: the contract's words, never a status."""
    hide = ["/usr/bin/unshare", "-m", "/bin/sh", "-c",
            '/bin/mount -t tmpfs none /usr/lib/chromium && exec "$0" "$@"'] if BROWSERS else []
    for options, env, why in ((("--no-enable-browser",), {}, None),
                              ((), {"PATH": "/nowhere"}, "no browser was found")):
        if why and hide and os.geteuid():
            skip("where no browser is", "only root can hide the one that is here")
            continue
        with start(*options, env=env, prefix=hide if why else []) as client:
            for kind, args in (("browse", {"url": URL}), ("browse_interactive", {"browser_actions": "noop()"})):
                got = client.act(kind, **args)
                eq(got, {"message": NO_BROWSER, "observation": "error", "content": NO_BROWSER,
                         "extras": {"error_id": ""}}, f"{kind} without a browser")
            eq(client.get("/alive").status, 200, "the sandbox lives")
            if why:
                eq((plugin(client)["state"], plugin(client)["starts"]), ("unavailable", 0), "it is not there")
                has(plugin(client)["why"], why, "the reason")
                has(plugin(client)["why"], "--plugin browser", "...and how to get one")
                # A call that comes a second later looks again, and tells where.
                ok(until(lambda: client.act("browse", url=URL) and "no browser was found in" in client.log()),
                   "the places are told", client.log())
                has(client.log(), "/usr/lib/chromium/chromium-headless-shell", "...one by one")
    with start("--browsergym-eval-env", "webarena") as client:
        has(client.log(), "--browsergym-eval-env webarena: not supported, it needs packages of Python",
            "an environment that cannot be had is told at the start")
    if not hide or not os.geteuid():
        bad = os.path.join(TEMP, "useless")
        with open(bad, "w") as f:
            f.write("#!/bin/sh\necho this is no browser >&2\nexit 3\n")
        os.chmod(bad, 0o755)
        with start(env={"PATH": "/nowhere", "OD_BROWSER": bad}, prefix=hide) as client:
            for call, name in ((lambda: visit(client, URL), "the first visit"),
                               (lambda: do(client, "noop()"), "the next action"),
                               (lambda: until(lambda: plugin(client)["state"] == "unavailable") and
                                visit(client, URL), "one behind its end")):
                got = call()
                eq((got["observation"], got["extras"]), ("error", {"error_id": ""}), f"{name} without a browser")
                ok(got["content"].startswith(NO_BROWSER + " "), "...in the contract's words", got["content"])
                has(got["content"], f"{bad} does not work", "...and with the reason")
            ok(until(lambda: "pid" not in plugin(client)), "the only one does not work", plugin(client))
            has(plugin(client).get("why", ""), "this is no browser", "...which is the reason")
    else:
        skip("the only one does not work", "only root can hide the one that is here")
    got = subprocess.run([CLIENT, "serve", "1", "--no-enable-browser", "--browsergym-eval-env", "x"],
                         capture_output=True, timeout=20)
    has(got.stderr.decode(), "Browser environment is not enabled in config, but browsergym_eval_env is set",
        "an environment for a browser that is not")
    eq(got.returncode, 100, "...ends the start")


@needs_browser
def test_unusable():
    """One that is there and cannot be started."""
    bad = os.path.join(TEMP, "bad")
    with open(bad, "w") as f:
        f.write("#!/bin/sh\necho this is no browser >&2\nexit 3\n")
    os.chmod(bad, 0o755)
    with start(env={"OD_BROWSER": bad}) as client:
        good(do(client, "noop(0)"), "the next one is taken")
        has(client.log(), "this is no browser", "what the first has said is told")


@needs_browser
def test_death():
    with start(env={"TMPDIR": TEMP}) as client:
        good(do(client, f'goto("{URL}/1")'), "a page")
        eq(len(profiles(TEMP)), 1, "a folder of its own")
        os.kill(browser_of(client), signal.SIGKILL)
        lost = do(client, "noop(0)")
        again = do(client, "noop(0)")
        good(again, "behind the death of the browser")
        eq(again["extras"]["url"], f"{URL}/1", "...its pages are back")
        if error(lost):
            has(error(lost), "has crashed (signal 9)", "the truth is told")
            has(lost["content"], "[Error encountered when processing the accessibility tree: 'nodes']",
                "...and that there is no tree")
        for what in (signal.SIGSTOP, signal.SIGKILL):
            victims = helpers(client, "renderer")
            ok(victims, "a page has a process")
            for pid in victims:
                os.kill(pid, what)
            got = do(client, "noop(0)")
            has(error(got), "Page crashed", f"a page's process, {what.name}")
            good(do(client, f'goto("{URL}/2")'), "...the next one is shown")
        os.kill(browser_of(client), signal.SIGSTOP)
        begun = time.monotonic()
        got = do(client, "noop(0)")
        has(error(got), "did not answer", "a browser that is stopped")
        note(f"told after {time.monotonic() - begun:.1f} s")
        good(do(client, "noop(0)"), "...is another one")
        os.kill(plugin(client)["pid"], signal.SIGKILL)
        # What is asked before its death is noticed is answered with that.
        until(lambda: plugin(client).get("starts") == 2)
        good(do(client, "noop(0)"), "the process that drives it is started again")
        ok(until(lambda: len(profiles(TEMP)) == 1), "what the first has left is removed", os.listdir(TEMP))
        ours = descendants(client.pid)
        client.stop()
        ok(until(lambda: not profiles(TEMP)), "nothing is left in the end", os.listdir(TEMP))
        ok(until(lambda: not [p for p in ours if alive(p)]), "...of processes either")


@needs_browser
def test_slow_pages():
    with start() as client:
        got = do(client, f'goto("{URL}/busy")')
        got = do(client, f'click("{bid_of(got, "Hang")}")')
        has(error(got), "The page is busy", "a script without an end")
        got = do(client, "noop(0)")
        good(got, "...is ended when it is met again")
        do(client, f'click("{bid_of(got, "Hang")}")')
        begun = time.monotonic()
        got = do(client, f'goto("{URL}/1")')
        note(f"{time.monotonic() - begun:.1f} s")
        good(got, "...and when its page is left")
        has(got["content"], "Page 1", "...for another one")


@needs_browser
def test_quiet():
    """No port, little memory, no rights that it does not have."""
    with start() as client:
        good(do(client, f'goto("{URL}/1")'), "a page")
        pids = descendants(plugin(client)["pid"])
        inodes = set()
        for pid in pids:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                try:
                    inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
                except OSError:
                    pass
        listening = set()
        for name in ("tcp", "tcp6"):
            for line in open(f"/proc/net/{name}").readlines()[1:]:
                words = line.split()
                if words[3] == "0A":
                    listening.add(f"socket:[{words[9]}]")
        eq(inodes & listening, set(), "nobody listens")
        note(f"the process that drives it has {own_kib(plugin(client)['pid'])} KiB")


@needs_browser
def test_stranger():
    """A user without a name and a home; what he may not write to is not written to."""
    if os.geteuid():
        skip("a user without a name", "only root can become one")
        return
    os.chmod(TEMP, 0o755)
    program = os.path.join(TEMP, "client")
    for source, copy in ((CLIENT, program), (PLUGINS, os.path.join(TEMP, "od-plugins"))):
        shutil.copy(source, copy)
        os.chmod(copy, 0o755)
    place = tempfile.mkdtemp(dir=TEMP)
    os.chmod(place, 0o777)

    def words(client):
        os.chmod(client.top, 0o755)
        os.chmod(client.work, 0o777)
        # A copy of it, for a folder that everybody can enter.
        return ["/usr/bin/setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "/bin/sh", "-c",
                'shift; exec "$0" "$@"', program]

    with start(prefix=words, env={"HOME": "/", "TMPDIR": place}, user=False) as client:
        good(do(client, f'goto("{URL}/1")'), "a page")
        eq(os.stat(f"/proc/{browser_of(client)}").st_uid, 54321, "the browser is his")
        got = do(client, f'goto("{URL}/2")', return_axtree=False)
        eq(os.stat(got["extras"]["screenshot_path"]).st_uid, 54321, "...and the screenshots")


main()
