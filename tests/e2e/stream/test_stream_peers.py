#!/usr/bin/env python3
"""The stream and peers that others have written: ws and undici of npm, Python's websockets,
and a page in Chromium."""
import hashlib
import http.server
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import urllib.parse

import harness
import npm
from harness import SUPPORT, Client, eq, has, skip

KEY = "a-session-key"
DIGEST = hashlib.sha256(KEY.encode()).hexdigest()


def packages(name):
    """A folder from which the peer finds both packages, or None."""
    folder = npm.install(name, "ws@8.18.0", "undici@6.21.0")
    if not folder:
        return None
    top = tempfile.mkdtemp(prefix="od-e2e-")
    os.symlink(os.path.join(folder, "node_modules"), os.path.join(top, "node_modules"))
    shutil.copy(os.path.join(SUPPORT, "stream_peer.mjs"), top)
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
            has(said, "answer done true", f"{peer} has an action, and its answer")
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
        said = run([python, os.path.join(SUPPORT, "stream_peer.py"),
                    f"ws://127.0.0.1:{c.port}/v1/stream", KEY])
        has(said, "hello 1\npong\nclosed 7 True True\nanswer done True\nevents accepted running done\nend 1000",
            "websockets has a terminal, an action with its answer, and the events of it")


PAGE = """<script>
const tries = %s, said = tries.map(() => 'nothing');
let left = tries.length;
tries.forEach(([port, protocols], i) => {
  const ws = new WebSocket('ws://127.0.0.1:' + port + '/v1/stream', protocols);
  ws.onmessage = e => { if (typeof e.data === 'string') { said[i] = 'hello ' + JSON.parse(e.data).version
    + ' ' + ws.protocol; ws.close(1000); } };
  ws.onclose = e => { said[i] += ' ' + e.code; if (!--left) fetch('/said?' + said.join(';')); };
});
</script>"""


def test_chromium():
    chromium = shutil.which("chromium")
    if not chromium:
        skip("a page in Chromium", "there is no chromium")
        return
    with Client("--key-sha256", DIGEST) as c, Client() as free:
        tries = [[c.port, ["od.stream.v1", "od.key." + KEY]], [c.port, ["od.stream.v1", "od.key.no"]],
                 [c.port, []], [free.port, ["od.stream.v1"]]]
        page = (PAGE % json.dumps(tries)).encode()

        told = queue.Queue()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path.startswith("/said?"):
                    told.put(urllib.parse.unquote(self.path[6:]).split(";"))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        no, yes = "nothing 1006", "hello 1 od.stream.v1 1000"
        for host, want in (("localhost", [yes, no, no, no]), ("evil.test", [no, no, no, no])):
            top = tempfile.mkdtemp(prefix="od-e2e-")
            browser = subprocess.Popen(
                [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
                 "--user-data-dir=" + top, "--host-resolver-rules=MAP * 127.0.0.1", f"http://{host}:{port}/"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                said = told.get(timeout=6 * harness.DEADLINE)
            except queue.Empty:
                said = None
            browser.terminate()
            browser.wait()
            eq(said, want, f"a page of {host}: with the key, with another, without, and of a server that has none")
            shutil.rmtree(top, ignore_errors=True)
        server.shutdown()


def test_curl():
    curl = shutil.which("curl")
    if not curl:
        skip("curl", "there is no curl")
        return
    up = ["-H", "Upgrade: websocket", "-H", "Connection: Upgrade", "-H", "Sec-WebSocket-Version: 13",
          "-H", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="]
    with Client("--key-sha256", DIGEST) as c:
        url, key = f"http://127.0.0.1:{c.port}", ["-H", "X-Session-API-Key: " + KEY]

        def ask(*words):
            return subprocess.run([curl, "-s", "-i", "--http1.1", "--max-time", "5", *words],
                                  capture_output=True, timeout=3 * harness.DEADLINE).stdout
        has(ask(*up, url + "/v1/stream"), b"HTTP/1.1 403 ", "curl is refused without the key")
        has(ask(*key, url + "/v1/stream"), b"HTTP/1.1 426 ", "and without an upgrade")
        with subprocess.Popen([curl, "-s", "-i", "-N", "--http1.1", *up, *key, url + "/v1/stream"],
                              stdout=subprocess.PIPE) as p:
            got = b""
            while b'"hello"' not in got and (piece := p.stdout.read1(4096)):
                got += piece
            p.kill()
        has(got, b"HTTP/1.1 101 ", "it is let in")
        has(got, b"\x81", "and greeted, by a frame of text")
        # Actions and their output without any WebSocket: what is resumed is a range.
        body = json.dumps({"action": "run", "args": {"command": "printf 0123456789"}})
        has(ask(*key, "-X", "PUT", "-d", body, url + "/v1/actions/c1?wait=20"), b'"state":"done"', "an action")
        has(ask(*key, "-C", "4", url + "/v1/actions/c1/out"), b"\r\n\r\n456789", "curl -C goes on where it was")


if __name__ == "__main__":
    harness.main()
