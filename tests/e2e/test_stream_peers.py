#!/usr/bin/env python3
"""The stream and peers that others have written: ws and undici of npm, Python's websockets,
and a page in Chromium."""
import hashlib
import http.server
import os
import shutil
import subprocess
import tempfile
import threading

import harness
import npm
from harness import Client, eq, has, ok, skip

HERE = os.path.dirname(os.path.abspath(__file__))
KEY = "a-session-key"
DIGEST = hashlib.sha256(KEY.encode()).hexdigest()


def packages(name):
    """A folder from which the peer finds both packages, or None."""
    folder = npm.install(name, "ws@8.18.0", "undici@6.21.0")
    if not folder:
        return None
    top = tempfile.mkdtemp(prefix="od-e2e-")
    os.symlink(os.path.join(folder, "node_modules"), os.path.join(top, "node_modules"))
    shutil.copy(os.path.join(HERE, "stream_peer.mjs"), top)
    return top


def run(words, cwd=None):
    done = subprocess.run(words, capture_output=True, timeout=3 * harness.DEADLINE, cwd=cwd)
    return (done.stdout + done.stderr).decode()


def test_npm():
    top = packages("ws and undici of npm")
    if not top:
        return
    with Client("--key-sha256", DIGEST) as c:
        for peer in ("ws", "undici"):
            said = run(["node", "stream_peer.mjs", peer, f"ws://127.0.0.1:{c.port}/v1/stream",
                        KEY], top)
            has(said, "hello 1", f"{peer} is greeted")
            has(said, "closed 7 true true", f"{peer} has a terminal and all of its output")
            has(said, "end 1000 ", f"{peer} closes")
    port = harness.free_port()
    with subprocess.Popen(["node", "stream_peer.mjs", "serve", str(port), KEY], cwd=top,
                          stdout=subprocess.PIPE) as backend:
        try:
            eq(backend.stdout.readline(), b"listening\n", "a backend by ws")
            with Client("--key-sha256", DIGEST, "--connect", f"ws://127.0.0.1:{port}/x",
                        "--connect-id", "box-1"):
                said = backend.communicate(timeout=harness.DEADLINE)[0].decode()
            has(said, "hello 1 box-1", "is dialled")
            has(said, "closed - false false true", "asks, and is answered")
            has(said, "end 1000 ", "and closes")
        finally:
            backend.kill()
    shutil.rmtree(top)


def test_websockets():
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import websockets"], capture_output=True).returncode:
        skip("Python's websockets", "python3-websockets is missing")
        return
    with Client("--key-sha256", DIGEST) as c:
        said = run([python, os.path.join(HERE, "stream_peer.py"),
                    f"ws://127.0.0.1:{c.port}/v1/stream", KEY])
        has(said, "hello 1\npong\nclosed 7 True True\nend 1000", "websockets has a terminal")


PAGE = """<title>-</title><script>
const ws = new WebSocket('ws://127.0.0.1:%d/v1/stream', ['od.stream.v1', 'od.key.%s']);
let said = ws.url;
ws.onmessage = e => { if (typeof e.data === 'string') { said = 'hello ' + JSON.parse(e.data).version
  + ' ' + ws.protocol; ws.close(1000); } };
ws.onclose = e => { document.title = said + ' closed ' + e.code; };
</script>"""


def test_chromium():
    chromium = shutil.which("chromium")
    if not chromium:
        skip("a page in Chromium", "there is no chromium")
        return
    with Client("--key-sha256", DIGEST) as c:
        page = (PAGE % (c.port, KEY)).encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        for host, want in (("localhost", "hello 1 od.stream.v1 closed 1000"),
                           ("evil.test", "closed 1006")):
            top = tempfile.mkdtemp(prefix="od-e2e-")
            said = run([chromium, "--headless", "--no-sandbox", "--disable-gpu",
                        "--user-data-dir=" + top, "--host-resolver-rules=MAP * 127.0.0.1",
                        "--virtual-time-budget=5000", "--dump-dom", f"http://{host}:{port}/"])
            title = said[said.find("<title>") + 7:said.find("</title>")]
            has(title, want, f"a page of {host}")
            ok(host == "localhost" or "hello" not in title, "learns no more than it may")
            shutil.rmtree(top, ignore_errors=True)
        server.shutdown()


if __name__ == "__main__":
    harness.main()
