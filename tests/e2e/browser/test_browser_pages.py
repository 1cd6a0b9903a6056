#!/usr/bin/env python3
"""Pages of every kind, in a headless shell and in a whole browser; those that mean us no good, too."""
import functools
import os
import shutil
import socket
import ssl
import subprocess
import time

from harness import eq, has, main, note, ok, skip, until
import browsers
from browsers import BROWSERS, FLAGS, TEMP, Site, bid_of, do, error, shows

each = functools.partial(browsers.each, OD_BROWSER_FLAGS=FLAGS + "\n--js-flags=--max-old-space-size=64")
one = functools.partial(each, browsers=BROWSERS[:1])
OPENSSL = shutil.which("openssl")
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"

PAGES = {
    "/1": "<title>One</title><h1>Page 1</h1>",
    "/2": "<title>Two</title><h1>Page 2</h1><a href=/1>Go to Page 1</a>",
    "/links": "<title>Links</title><a href=/file.pdf download>Saved</a> <a href=/late.bin download>Late</a> "
              "<a href=/away>Away</a> <a href=/stuck>Stuck</a> "
              "<a href=/slow>Slow</a>",
    "/blob": "<title>B</title><button onclick=\"location = window.URL.createObjectURL(new Blob("
             "['<title>Made</title><h1>From a blob</h1>'], {type: 'text/html'}))\">Make</button>"
             "<button onclick=\"let a = document.createElement('a'); a.download = 'x'; "
             "a.href = window.URL.createObjectURL(new Blob(['text of a blob'])); a.click()\">Save</button>",
    "/frames": "<title>F</title><h1>Outer</h1><iframe src=/nested></iframe>"
               "<iframe sandbox srcdoc='<p>mute text</p>'></iframe>"
               "<iframe sandbox=allow-scripts srcdoc='<button onclick=\"innerText=7*6\">Sandboxed</button>'></iframe>"
               "<iframe src=http://127.0.0.1:%d/inner></iframe>",
    "/nested": "<p>middle</p><iframe src=/1></iframe>",
    "/inner": "<button onclick=\"this.innerText='Foreign clicked'\">Foreign</button>",
    "/shadow": "<title>S</title><div id=h></div><script>h.attachShadow({mode: 'open'}).innerHTML = "
               "'<div id=i></div>'; let s = h.shadowRoot.getElementById('i').attachShadow({mode: 'open'}); "
               "s.innerHTML = '<button>Deep</button><input placeholder=Deeper>'; "
               "s.querySelector('button').onclick = e => e.target.innerText = 'Deep clicked'</script>",
    "/pdf": "<title>Viewer</title><h1>Report</h1><embed src=/file.pdf type=application/pdf>"
            "<iframe src=/file.pdf></iframe><object data=/file.pdf></object>",
    "/big": "<title>Big</title><table>" + "".join(f"<tr><td>cell {i}<td><button>b{i}</button></tr>"
                                                  for i in range(4000)) + "</table>",
    "/opens": "<title>Opens</title><button onclick=\"setTimeout(() => window.open('/1'), 300)\">Open</button>" +
              "<p><b>word</b>" * 4000,
    "/huge": "<title>Huge</title><h1>A name for all</h1><p id=t hidden></p>" + "<button aria-labelledby=t></button>" * 40 +
             "<script>t.textContent = 'x'.repeat(1 << 20)</script>",
    "/piled": "<title>Piled</title><style>i { position: absolute; top: 0; width: 50px; height: 50px }</style>" +
              "<i></i>" * 12000 + "<p>At the end</p>",
    "/picture": "<title>Picture</title><h1>Without a picture</h1><img src=/stuck>",
    "/leave": "<title>Leave</title><input placeholder=Type><script>onbeforeunload = e => { e.preventDefault(); "
              "return 'stay' }</script>",
    "/oom": "<title>M</title><button onclick='let a = []; for (;;) a.push(new Array(100000).fill(a.length + 0.5))'>"
            "Eat</button>",
    "/names": "<title>N</title><body bid='3]\n[forged' tabindex=0><button bid='x]y'>Button</button>"
               "<script>document.body.focus()</script>",
    "/focus": "<title>F</title><h1>Here</h1><script>Object.defineProperty(Document.prototype, 'activeElement', {get: () => "
              "({getAttribute: () => 'a]\\nforged', shadowRoot: null})}); Object.defineProperty(Element.prototype, "
              "'shadowRoot', {get: () => null}); Element.prototype.getAttribute = () => 'a]\\nforged'</script>",
    "/clobbered": "<title>C</title><img name=querySelector><img name=querySelectorAll><img name=elementFromPoint>"
                  "<img name=documentElement><img name=createRange><img name=hasFocus><img name=activeElement>"
                  "<form onclick=\"note.innerText='Form clicked'\">" + "".join(
                      f"<input name={n} size=1>" for n in (
                          "nodeName attributes childNodes textContent parentElement parentNode assignedSlot host "
                          "shadowRoot matches closest isContentEditable checkVisibility getBoundingClientRect "
                          "getAttribute hasAttribute isConnected getRootNode focus scrollIntoView dispatchEvent "
                          "querySelector querySelectorAll tagName value checked onclick nodeType contains").split())
                  + "<button type=button>Within</button></form><p id=note>quiet</p>",
    "/throws": "<title>T</title><h1>Here</h1><button>B</button><script>for (let t of [Element, Node, Array, Set, Map, "
               "Promise, String, RegExp, Object]) for (let n of Object.getOwnPropertyNames(t.prototype)) try { "
               "if (n != 'constructor' && n != '__proto__') Object.defineProperty(t.prototype, n, {value: () => { "
               "throw new Error('forged\\nwords') }}) } catch {}; JSON.stringify = () => 'forged'; "
               "IntersectionObserver = Set = undefined</script>",
    "/nested_deep": "<title>D</title><h1>Here</h1><script>let d = document; for (let i = 0; i < 40; i++) { let f = "
                    "d.createElement('iframe'); d.body.append(f); d = f.contentDocument; d.body.append('level ' + i) "
                    "}</script>",
    "/hangs": "<title>H</title><h1>Here</h1><button>B</button><script>Element.prototype.setAttribute = "
              "() => { for (;;); }</script>",
    "/waits": "<title>W</title><h1>Here</h1><button>B</button><script>Object.defineProperty(window, "
              "'browsergym_watched', {get: () => new Promise(() => {}), set: () => {}})</script>",
    "/stops": "<title>S</title><h1>Stopped</h1><script>window.stop()</script><img src=/stuck>",
    "/nowhere": "<title>N</title><script>location = '/nothing'</script><h1>Still here</h1>",
    "/attribute": "<title>A</title><input autofocus placeholder=Type><h1>Here</h1><script>document.body.dataset.x = "
                  "'x'.repeat(40 << 20)</script>",
    "/alerts": "<title>A</title><h1>Here</h1><script>setInterval(() => alert(1), 0)</script>",
}


class Pages(browsers.Pages):
    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/file.pdf":
            self.give(PDF, "application/pdf")
        elif path == "/late.bin":
            # Nothing is heard of it while the page that it was clicked on is looked at.
            self.hang(0.4)
            self.give(b"late", "application/octet-stream")
        elif path == "/nothing":
            self.give(b"", status=204)
        elif path == "/cut":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", "9999")
            self.end_headers()
            self.wfile.write(b"<title>C</title><h1>Half of it</h1>")
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
        elif path == "/slow":
            self.hang(20)
            self.give("<title>Slow</title><h1>At last</h1>")
        elif path == "/stuck":
            self.begin("<title>Stuck</title><h1>Half a page</h1>")
        elif path == "/secret":
            if self.headers.get("Authorization"):
                self.give(b"<h1>Let in</h1>")
            else:
                self.give(b"<h1>Who are you?</h1>", status=401, WWW_Authenticate='Basic realm="r"')
        elif path.startswith("/hop"):
            n = int(path[4:])
            self.give(b"", status=302, Location=f"/hop{n - 1}" if n else "/2")
        elif path == "/away":
            self.give(b"", status=302, Location="/2")
        elif path == "/round":
            self.give(b"", status=302, Location="/round")
        elif path in PAGES:
            page = PAGES[path]
            self.give(page % SITE.port if path == "/frames" else page)
        else:
            self.give(b"<h1>Nothing here</h1>", status=404)


SITE = Site(Pages)
URL = SITE.url


def page(client, path):
    return shows(client, [f'goto("{URL}{path}")'], "BEGIN accessibility tree", path)


def click(client, got, text, wanted, name):
    return shows(client, [f'click("{bid_of(got, text)}")'], wanted, name)


@each
def test_addresses(client):
    shows(client, ['goto("data:text/html,<h1>Data</h1>")'], "heading 'Data'", "a page of data")
    path = os.path.join(client.work, "page.html")
    with open(path, "w") as f:
        f.write("<title>File</title><h1>In a file</h1>")
    got = shows(client, [f'goto("file://{path}")'], "In a file", "a file")
    eq(got["extras"]["url"], f"file://{path}", "...has its name")
    got = do(client, 'goto("file:///nowhere/at/all")')
    has(error(got), "net::ERR_FILE_NOT_FOUND at file:///nowhere/at/all", "a file that is not there")
    got = click(client, page(client, "/blob"), "Make", "From a blob", "a page that was made")
    ok(got["extras"]["url"].startswith("blob:http://localhost"), "...has an address", got["extras"]["url"])
    got = shows(client, [f'goto("{URL}/hop5")'], "Page 2", "redirects")
    eq(got["extras"]["url"], f"{URL}/2", "...and where they lead")
    got = do(client, f'goto("{URL}/round")')
    has(error(got), "net::ERR_TOO_MANY_REDIRECTS", "redirects without an end")
    got = do(client, f'goto("{URL}/secret")')
    ok("Who are you?" in got["content"] or "ERR_INVALID_AUTH_CREDENTIALS" in error(got), "who is not let in sees that",
       error(got), got["content"])
    shows(client, [f'goto("http://me:pw@localhost:{SITE.port}/secret")'], "Let in", "who says who he is does")


@each
def test_downloads(client):
    for where, text, name in (("/links", "Saved", "a click that saves"), ("/blob", "Save", "what a page has made"),
                              ("/links", "Late", "a click that saves what comes late")):
        got = page(client, where)
        folder = client.work + "/.downloads"
        before = os.listdir(folder)
        begun = time.monotonic()
        got = do(client, f'click("{bid_of(got, text)}")')
        if got["observation"] != "download":
            # It had not begun yet, and is told by the next action.
            until(lambda: os.listdir(folder) != before)
            got = do(client, "noop(0)")
        note(f"{time.monotonic() - begun:.2f} s")
        eq(got["observation"], "download", name)
        path = got["extras"].get("file_path", "")
        want = PDF if text == "Saved" else b"late" if text == "Late" else b"text of a blob"
        eq(os.path.exists(path) and open(path, "rb").read(), want, "...is there")
    page(client, "/1")
    got = do(client, "noop(0)")
    eq(got["observation"], "browse", "it is told once")


@each
def test_parts(client):
    got = page(client, "/frames")
    text = got["content"]
    for part in ("Outer", "middle", "Page 1", "mute text", "Sandboxed", "Foreign"):
        has(text, part, f"a part of the page: {part}")
    got = click(client, got, "button 'Sandboxed'", "42", "a click in a sandbox")
    click(client, got, "button 'Foreign'", "Foreign clicked", "a click in a frame from elsewhere")
    got = page(client, "/shadow")
    got = click(client, got, "button 'Deep'", "Deep clicked", "a click in a shadow tree")
    shows(client, [f'fill("{bid_of(got, "Deeper")}", "words")'], "value='words'", "...and a text")
    # A headless shell has no viewer in it: there its parts are downloads.
    got = do(client, f'goto("{URL}/pdf")')
    for _ in range(3):
        if got["observation"] == "browse":
            break
        got = do(client, "noop(0)")
    ok(not error(got) and "heading 'Report'" in got["content"], "a page with PDF in it", got["content"])


@one
def test_opened(client):
    """A page opens another one while it is looked at, which takes a second."""
    button = bid_of(page(client, "/opens"), "button 'Open'")
    got = do(client, f'click("{button}")')
    eq(got["extras"]["url"] == f"{URL}/1", "Page 1" in got["content"], "what is seen is where it is")
    eq(got["extras"]["url"], f"{URL}/1", "...in the other one")


@one
def test_sizes(client):
    begun = time.monotonic()
    got = page(client, "/big")
    note(f"{time.monotonic() - begun:.2f} s, {len(got['content'])} characters")
    ok("cell 3999" in got["content"] and "'b3999'" in got["content"], "a page of 16,000 nodes", len(got["content"]))
    got = click(client, got, "'b3999'", "cell 3999", "...and a click at its end")
    begun = time.monotonic()
    shows(client, [f'goto("{URL}/piled")'], "At the end", "a page of 12,000 elements in one place")
    note(f"{time.monotonic() - begun:.2f} s")
    got = shows(client, [f'goto("{URL}/huge")'], "[Error encountered when processing the accessibility tree: a size "
                "limit was reached]", "a tree that is too large")
    ok(got["extras"]["screenshot"] and got["extras"]["url"] == f"{URL}/huge", "...is no reason not to look", got["extras"])
    got = client.act("browse", url=f"{URL}/huge", timeout=100)
    ok(not error(got) and "# A name for all" in got["content"], "...and none not to read", error(got))
    got = do(client, f'goto("{URL}/attribute")')
    ok(not error(got) and got["extras"]["screenshot"] and got["extras"]["url"] == f"{URL}/attribute",
       "a DOM that is too large is no reason not to look", error(got))
    has(got["content"], "processing the accessibility tree: a size limit was reached]", "...and is told")
    ok(got["extras"]["focused_element_bid"], "...as is what is focused", got["extras"]["focused_element_bid"])
    got = client.act("browse", url=f"{URL}/attribute", timeout=100)
    ok(not error(got) and got["extras"]["screenshot"], "...when it is visited, too", error(got))
    has(got["content"], "[Error encountered when reading the page: a size limit was reached]", "...and told")
    got = page(client, "/links")
    begun = time.monotonic()
    got = click(client, got, "'Stuck'", "Half a page", "a page that goes on loading")
    note(f"{time.monotonic() - begun:.2f} s")
    got = page(client, "/links")
    shows(client, [f'goto("{URL}/1")'], "Page 1", "...is left")
    got = page(client, "/leave")
    do(client, f'fill("{bid_of(got, "Type")}", "x")', f'click("{bid_of(got, "Type")}")')
    shows(client, [f'goto("{URL}/1")'], "Page 1", "one that asks whether to leave is left")
    got = page(client, "/oom")
    got = do(client, f'click("{bid_of(got, "Eat")}")')
    ok("Page crashed" in error(got) or "busy" in error(got), "a page that eats all memory", error(got))
    for _ in range(5):
        if "Page crashed" in error(got):
            break
        got = do(client, "noop(500)")
    has(error(got), "Page crashed", "...has no process any more")
    shows(client, [f'goto("{URL}/1")'], "Page 1", "...and the next page has")


@each
def test_without_load(client):
    """Pages whose loading ends, but not with the event that tells of it."""
    for path in ("/stops", "/nowhere", "/cut"):
        begun = time.monotonic()
        got = do(client, f'goto("{URL}{path}")')
        has(error(got), "Page.goto: Loading has stopped before its end at ", f"{path} ends early")
        eq(got["extras"]["url"], URL + path, "...which is where it is")
        shows(client, [f'goto("{URL}/1")'], "Page 1", "...and left")
        do(client, "go_back()")
        ok(time.monotonic() - begun < 50, "...and gone back to, all in time", time.monotonic() - begun)


@one
def test_slow(client):
    """A page's server takes its time: who asks meanwhile is told so, and nothing is lost."""
    got = page(client, "/links")
    got = do(client, f'click("{bid_of(got, "Slow")}")')
    has(error(got), "nothing has come yet", "a page that is not there yet")
    got = do(client, "tab_focus(99)")
    has(error(got), "IndexError", "an error of an action is told all the same")
    for _ in range(10):
        if not error(got):
            break
        has(error(got), "nothing has come yet", "a page that is not there yet")
        got = do(client, "noop(500)")
    has(got["content"], "At last", "...is waited for")


@one
def test_certificate(client):
    if not OPENSSL:
        skip("a certificate", "there is no openssl")
        return
    key, cert = os.path.join(TEMP, "key.pem"), os.path.join(TEMP, "cert.pem")
    subprocess.run([OPENSSL, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert,
                    "-subj", "/CN=localhost", "-days", "2"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with Site(Pages, lambda s: context.wrap_socket(s, server_side=True)) as site:
        got = do(client, f'goto("https://localhost:{site.port}/1")')
        has(error(got), "net::ERR_CERT_", "a certificate that nobody knows")
        eq(got["extras"]["url"], "chrome-error://chromewebdata/", "...is no page")
        shows(client, [f'goto("{URL}/1")'], "Page 1", "another page is")


@one
def test_hostile(client):
    """A page says what it likes in its text, and nothing elsewhere."""
    for path in ("/names", "/focus"):
        got = page(client, path)
        ok("forged" not in got["content"].split("BEGIN access")[0], "...forges nothing", got["content"])
        focused = got["extras"]["focused_element_bid"]
        ok(focused is None or focused.isalnum(), "...nor what is focused", focused)
    for path in ("/clobbered", "/throws", "/hangs", "/waits", "/nested_deep"):
        begun = time.monotonic()
        got = do(client, f'goto("{URL}{path}")')
        note(f"{time.monotonic() - begun:.1f} s")
        ok("forged" not in got["content"] and "heading 'Here'" in got["content"] or "Within" in got["content"],
           f"{path} is seen", got["content"])
        ok("browsergym_id_" not in got["content"], "...and nothing that is not the page's", got["content"])
        if path == "/clobbered":
            got = click(client, got, "button 'Within'", "Form clicked", "a click within a form that lies")
            form = next(bid for bid, words in browsers.elements(got["content"]).items() if words.startswith("form"))
            got = do(client, f'click("{form}")')
            note(error(got))
            begun = time.monotonic()
            got = do(client, f'fill("{form}", "x")')
            note(f"{time.monotonic() - begun:.1f} s", error(got))
    shows(client, [f'goto("{URL}/1")'], "Page 1", "they are left")
    for _ in range(3):
        page(client, "/alerts")
        begun = time.monotonic()
        got = do(client, f'goto("{URL}/1")')
        note(f"{time.monotonic() - begun:.1f} s", error(got))
        ok(not error(got) or "Target page, context or browser has been closed" in error(got),
           "a page of dialogs is left, or gone", error(got))
        shows(client, [f'goto("{URL}/1")'], "Page 1", "...and none that stays in the way")


main()
