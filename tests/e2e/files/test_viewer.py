#!/usr/bin/env python3
"""The file viewer: a port of its own, for browsers in the sandbox."""
import base64
import os
import signal
import tempfile
import urllib.parse

from harness import WRAP, Client, Conn, DropIn, eq, has, listening, main, ok, request, skip, until
from browsers import FLAGS, do, error, needs_browser

URL = "/tmp/oh-server-url"
PICTURE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
                           "awAAAABJRU5ErkJggg==")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return path


def url_port():
    with open(URL, encoding="ascii") as f:
        text = f.read()
    front = "http://localhost:"
    return int(text[len(front):]) if text.startswith(front) else None


def get(port, target, method="GET", **fields):
    with Conn(port) as conn:
        return conn.send(request(method, target, **{"Host": f"localhost:{port}", **fields})).response()


def view(port, path, **fields):
    return get(port, "/view?path=" + urllib.parse.quote(path), **fields)


def page(answer):
    return answer.body.decode()


def test_pages():
    with Client("--file-viewer") as client:
        port = url_port()
        ok(client.port < port <= min(client.port + 1024, 65535), "a port behind the main one")
        eq(oct(os.stat(URL).st_mode)[-4:], "0644", "everybody may read where")
        got = get(port, "/")
        eq((got.status, got.body), (200, b'{"status":"File viewer server is running"}'), "it says that it runs")
        path = write(client.work + "/test_image.png", PNG)
        got = view(port, path)
        eq((got.status, got.field("content-type")), (200, "text/html; charset=utf-8"), "an image")
        has(page(got), "<title>File Viewer - test_image.png</title>", "its title")
        has(page(got), "<h1>File Viewer - test_image.png</h1>", "its heading")
        has(page(got), '<img src="data:image/png;base64,' + base64.b64encode(PNG).decode() + '"', "its bytes")
        eq(got.field("x-content-type-options"), "nosniff", "types are not guessed")
        has(got.field("content-security-policy"), "default-src 'none'; img-src data:; frame-ancestors 'none'",
            "the page may do nothing else")
        eq(got.field("access-control-allow-origin"), None, "other pages cannot read it")
        for name, data, want in [("a.JPG", b"\xff\xd8\xff\xe0xx", "image/jpeg"), ("b.jpeg", PNG, "image/png"),
                                 ("c.gif", b"GIF89axx", "image/gif"), ("d.gif", b"GIF87axx", "image/gif")]:
            has(page(view(port, write(f"{client.work}/{name}", data))), f"data:{want};", f"{name} is {want}")
        got = view(port, write(client.work + "/doc.pdf", b"%PDF-1.4\n%%EOF\n"))
        has(page(got), "<canvas>", "a PDF file has a canvas")
        got = view(port, write(client.work + '/<b>"&\'\xfc.png', PNG))
        has(page(got), "<h1>File Viewer - &lt;b&gt;&quot;&amp;'\xfc.png</h1>", "names are escaped")
        got = view(port, write(os.fsencode(client.work) + b"/\xff.png", PNG))
        eq(got.status, 200, "a name that is no UTF-8")
        has(page(got), "File Viewer - \ufffd.png", "is shown as far as it goes")


def test_refusals():
    with Client("--file-viewer", "--no-enable-browser") as client:
        port = url_port()
        got = view(port, "a.png")
        eq((got.status, page(got)), (400, "<h1>Error: Path must be absolute</h1><p>a.png</p>"), "a relative path")
        got = view(port, client.work)
        eq((got.status, page(got)), (400, f"<h1>Error: Path is a directory</h1><p>{client.work}</p>"), "a directory")
        got = view(port, "/no/<such>.png")
        eq((got.status, page(got)), (404, "<h1>Error: File not found</h1><p>/no/&lt;such&gt;.png</p>"), "a missing file")
        eq(view(port, "/" + "a" * 5000 + ".png").status, 404, "a path that is too long")
        got = view(port, "/etc/passwd")
        eq(got.status, 500, "another extension")
        has(page(got), "<h1>Error viewing file</h1><p>/etc/passwd</p><p>Unsupported file extension.", "and why")
        os.symlink("/etc/passwd", client.work + "/a.png")
        got = view(port, client.work + "/a.png")
        eq(got.status, 500, "a link to what is no image")
        has(page(got), "<p>It is neither PNG, JPEG, GIF nor PDF.</p>", "its content is what counts")
        os.mkfifo(client.work + "/pipe.png")
        has(page(view(port, client.work + "/pipe.png")), "It is not a regular file.", "a FIFO is not waited for")
        os.symlink("/dev/zero", client.work + "/zero.png")
        has(page(view(port, client.work + "/zero.png")), "It is not a regular file.", "nor is a device read")
        with open(client.work + "/big.png", "wb") as f:
            f.write(PNG)
            f.truncate((16 << 20) + 1)
        has(page(view(port, client.work + "/big.png")), "It is larger than 16 MiB.", "too large a file")
        os.truncate(client.work + "/big.png", 16 << 20)
        eq(view(port, client.work + "/big.png").status, 200, "the largest file")
        if os.geteuid():
            os.chmod(write(client.work + "/mine.png", PNG), 0)
            has(page(view(port, client.work + "/mine.png")), "Permission denied", "a file that may not be read")
        else:
            skip("a file that may not be read", "root may read all")
        for target, status in [("/view", 422), ("/view?path=%00", 422), ("/view?path=/a&path=/b", 422),
                               ("/alive", 404), ("/view/", 404), ("/execute_action", 404)]:
            eq(get(port, target).status, status, f"GET {target}")
        got = get(port, "/view?path=/a.png", method="POST")
        eq((got.status, got.field("allow")), (405, "GET"), "POST")


def test_foreign_pages():
    with Client("--file-viewer") as client:
        port = url_port()
        path = write(client.work + "/a.png", PNG)
        for host in [f"localhost:{port}", f"127.0.0.1:{port}", "LOCALHOST", "localhost:9"]:
            eq(view(port, path, Host=host).status, 200, f"the host {host}")
        for host in [f"evil.example:{port}", "localhost.evil.example", "[::1]", "1.2.3.4", "notlocalhost"]:
            got = view(port, path, Host=host)
            eq((got.status, page(got)[:22]), (403, "<h1>Access denied</h1>"), f"the host {host}")
        for origin, status in [(f"http://localhost:{port}", 200), ("http://evil.example", 403), ("null", 403),
                               (f"https://localhost:{port}", 403), (f"http://localhost:{client.port}", 403)]:
            eq(view(port, path, Origin=origin).status, status, f"a page of {origin}")
        eq(client.get("/view?path=" + path).status, 404, "the main port has no viewer")


def test_rights():
    """Files are read by the sandbox user, whoever the server is."""
    if os.geteuid():
        skip("the user's rights", "needs root")
        return
    with Client("--file-viewer", "--username", "openhands", "--user-id", "54321", user=False,
                env={"SU_TO_USER": "1"}) as client:
        port = url_port()
        os.chmod(client.top, 0o755)
        folder = tempfile.mkdtemp(prefix="od-viewer-", dir=client.top)
        os.chmod(folder, 0o755)
        path = write(folder + "/a.png", PNG)
        os.chmod(path, 0o600)
        has(page(view(port, path)), "Permission denied", "root's file")
        os.chmod(path, 0o644)
        eq(view(port, path).status, 200, "everybody's file")


def test_port_and_url():
    with Client() as client:
        ok(not listening(client.port + 1), "without the option there is none")
    victim = tempfile.NamedTemporaryFile(prefix="od-victim-")
    victim.write(b"old")
    victim.flush()
    if os.path.lexists(URL):
        os.unlink(URL)
    os.symlink(victim.name, URL)
    with Client("--file-viewer") as client:
        eq(open(victim.name, "rb").read(), b"old", "a link under the name is not followed")
        ok(not os.path.islink(URL), "but replaced")
        port = url_port()
        ok(listening(port), "the URL is that of the viewer")
        os.kill(client.pid, signal.SIGTERM)
        ok(until(lambda: not listening(port)), "it goes with the server")
    with Client("--file-viewer", role="init") as client:
        port, pid = url_port(), client.serve_pid()
        os.kill(pid, signal.SIGKILL)
        ok(until(lambda: client.serve_pid() not in (None, pid) and listening(port)), "after a crash it is there again")
    os.unlink(URL)
    os.mkdir(URL)
    try:
        with Client("--file-viewer") as client:
            has(client.log(), "/tmp/oh-server-url cannot be written", "a place that is taken is told")
            has(client.log(), "file viewer on http://localhost:", "and the viewer is there")
    finally:
        os.rmdir(URL)


def test_drop_in():
    """Started as a backend starts it, there is a viewer wherever a browser is enabled."""
    if WRAP:
        skip("the drop-in", "under a wrapper argv[0] is not that of the client")
        return
    if os.path.lexists(URL):
        os.unlink(URL)
    with DropIn("--no-enable-browser"):
        ok(not os.path.lexists(URL), "without a browser there is no viewer")
    with DropIn() as client:
        eq(client.run(f"cat {URL}")["content"], f"http://localhost:{url_port()}", "the shell reads its URL")
        eq(get(url_port(), "/").status, 200, "and it answers there")
    with DropIn("--enable-browser", "--plugins", "agent_skills"):
        ok(listening(url_port()), "with --enable-browser as well")


@needs_browser
def test_contract():
    """The two tests of the contract: a picture and a PDF file, seen by the browser."""
    if WRAP:
        skip("the viewer in a browser", "under a wrapper argv[0] is not that of the client")
        return
    with DropIn(env={"OD_BROWSER_FLAGS": FLAGS}) as client:
        write(client.work + "/test_image.png", PICTURE)
        write(client.work + "/doc.pdf", b"%PDF-1.4\n%%EOF\n")
        url = client.run(f"cat {URL}")["content"]
        for name, words in ("test_image.png", "File Viewer - test_image.png"), ("doc.pdf", "Canvas"):
            got = do(client, f'goto("{url}/view?path={client.work}/{name}")', return_axtree=True)
            eq(error(got), "", f"{name}: no error")
            for part in "[Action executed successfully.]", words, \
                        f"Screenshot saved to: {client.work}/.browser_screenshots/screenshot_":
                has(got["content"], part, f"{name}: {part}")
        names = os.listdir(client.work + "/.browser_screenshots")
        ok(len(names) == 2 and all(n.startswith("screenshot_") and n.endswith(".png") for n in names),
           "the folder has a screenshot for each", names)


main()
