#!/usr/bin/env python3
"""od-runtime listen: sandboxes dial in, clients that know nothing of it use their API."""
import hashlib
import hmac
import json
import os
import resource
import select
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import zlib

import harness
from harness import Client, Conn, Closed, Gate, RUNTIME, action, eq, has, ok, request, until
from test_dial import certificate
from ws_peer import BINARY, CLOSE, OUTPUT, TEXT, Stream, WebSocket, upgrade

KEY = "a-session-key"
DIGEST = hashlib.sha256(KEY.encode()).hexdigest()


class Listen:
    """A backend with a secret of its own, or that of another one, unless the options say --no-token."""

    def __init__(self, *options, port=0, secret=None):
        self.top = harness.scratch()
        self.secret = secret or os.urandom(32).hex()
        if "--no-token" not in options:
            options = ("--token", self.put("secret", self.secret), *options)
        self.process = subprocess.Popen(
            [RUNTIME, "listen", "--address", f"127.0.0.1:{port}", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.process.stdout.readline().decode()
        self.port = int(line.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def put(self, name, text):
        path = os.path.join(self.top, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write(text + "\n")
        return path

    def mac(self, text):
        return hmac.new(self.secret.encode(), text, hashlib.sha256).hexdigest()

    def token(self, box):
        return f"{box}~" + self.mac(b"od-runtime sandbox token\0" + box.encode())

    def token_of(self, box):
        """The options with which a sandbox of that name dials in."""
        return "--connect-id", box, "--connect-token", self.put("token-" + box, self.token(box))

    def ask(self, method, path, body=b"", **fields):
        with Conn(self.port) as conn:
            conn.send(request(method, path, body, X_Session_API_Key=KEY, **fields))
            return conn.response()

    def list(self):
        with Conn(self.port) as conn:
            token = self.mac(b"od-runtime operator token")
            conn.send(request("GET", "/sandboxes", Authorization="Bearer " + token))
            return conn.response().json()["sandboxes"]

    def run(self, box, command, **fields):
        return self.ask("POST", f"/sandboxes/{box}/execute_action",
                        action("run", command=command), **fields)

    def connected(self, box):
        return any(b["id"] == box and b["connected"] for b in self.list())


def dialled(listen, box, *options, port=None):
    """A sandbox that has dialled in, by way of another port if there is one."""
    c = Client("--key-sha256", DIGEST, "--connect", f"ws://127.0.0.1:{port or listen.port}/connect",
               *listen.token_of(box), *options)
    if not until(lambda: listen.connected(box)):
        raise RuntimeError(f"{box} does not dial in: {c.log()}")
    return c


def test_api():
    with Listen() as l, dialled(l, "a"), dialled(l, "b") as b:
        for box in ("a", "b"):
            got = l.run(box, f"echo this-is-{box}; pwd")
            eq(got.status, 200, "an unmodified request")
            has(got.json()["content"], f"this-is-{box}", "reaches the sandbox that it names")
        eq(l.ask("GET", "/sandboxes/c/alive").status, 404, "one that nobody knows")
        eq(l.list()[0],
           {"id": "a", "connected": True, "requests": 0}, "the list")
        with Conn(l.port) as conn:
            conn.send(request("GET", "/sandboxes/a/v1/sessions"))
            eq(conn.response().status, 403, "the sandbox checks its own key")
        eq(l.ask("GET", "/sandboxes/a/v1/files?path=/no%20such%2Ffile%25").status, 404,
           "what is encoded stays so")
        body = os.urandom(5 << 20)
        path = os.path.join(b.work, "a file")
        got = l.ask("PUT", "/sandboxes/b/v1/files?path=" + path.replace(" ", "%20"), body,
                    Content_Type="application/octet-stream")
        ok(got.status in (200, 201), "a body goes up", got)
        with open(path, "rb") as f:
            eq(hashlib.sha256(f.read()).digest(), hashlib.sha256(body).digest(), "as it is")
        got = l.ask("GET", "/sandboxes/b/v1/files?path=" + path.replace(" ", "%20"))
        ok(got.status == 200 and got.body == body, "and comes down")
        conn, answer = upgrade(l.port, "/sandboxes/a/v1/stream", KEY)
        eq(answer.status, 101, "a WebSocket of a sandbox")
        s = Stream(WebSocket(conn))
        s.say("open", id=1, kind="terminal")
        s.expect("opened")
        s.put_in(1, b"echo $((6*7))\r")
        s.until(1, b"42\r\n")
        s.close()
        got = l.ask("GET", "/sandboxes/a/alive", Upgrade="h2c", Connection="Upgrade, HTTP2-Settings",
                    HTTP2_Settings="AAMAAABkAAQAAP__")
        eq((got.status, got.field("connection")), (200, "close"),
           "an offer of HTTP/2 keeps no connection for requests to others")
        got = l.ask("GET", "/sandboxes/a/alive", Origin="http://evil.test")
        eq(got.status, 403, "a foreign page")
        for method, path, status in (("GET", "/nowhere", 404), ("POST", "/sandboxes", 405),
                                     ("GET", "/connect", 403), ("GET", "/sandboxes", 401), ("GET", "/alive", 200)):
            eq(l.ask(method, path).status, status, f"{method} {path}")


def test_many_at_once():
    with Listen() as l, dialled(l, "a") as c:
        gate = Gate(c)
        busy = Conn(l.port)
        busy.send(request("POST", "/sandboxes/a/execute_action",
                          action("run", command=f"cat {gate}; echo end"), X_Session_API_Key=KEY))
        until(lambda: l.list()[0]["requests"] == 1)
        # Clients that do not read, or leave.
        path = os.path.join(c.work, "big")
        with open(path, "wb") as f:
            f.truncate(64 << 20)
        deaf = [Conn(l.port) for _ in range(5)]
        for conn in deaf:
            conn.send(request("GET", "/sandboxes/a/v1/files?path=" + path, X_Session_API_Key=KEY))
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(
            l.ask("GET", "/sandboxes/a/v1/sessions").status)) for _ in range(20)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        eq(answers, [200] * 20, "others are served while some do not read")
        harness.slim(harness.own_kib(l.process.pid), 16384, "and no memory goes for them, KiB")
        for conn in deaf:
            conn.reset()
        gate.go(b"")
        has(busy.response().json()["content"], "end", "the one who waits has his answer")
        busy.close()
        ok(until(lambda: l.list()[0]["requests"] == 0),
           "nothing is left of those who left")
        eq(l.run("a", "echo fine").status, 200, "and all is well")


def test_slow_client():
    """One whose system takes little at a time, and is never done with what there is."""
    with Listen() as l, dialled(l, "a") as c, socket.socket() as sock:
        path, data = os.path.join(c.work, "big"), os.urandom(2 << 20)
        with open(path, "wb") as f:
            f.write(data)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        sock.settimeout(harness.DEADLINE)
        sock.connect(("127.0.0.1", l.port))
        sock.sendall(request("GET", "/sandboxes/a/v1/files?path=" + path, X_Session_API_Key=KEY))
        got = b""
        while not got.endswith(data[-64:]) and (piece := sock.recv(8192)):
            got += piece
            harness.time.sleep(0.0005)
        ok(got.endswith(data), f"has all of a large answer ({len(got)} bytes)")


def is_watched(port, conn):
    """Whether the kernel asks the peer of the server's side now and then whether it is there."""
    mine = conn.sock.getsockname()[1]
    with open("/proc/net/tcp") as f:
        rows = [line.split() for line in f]
    return any(row[1].endswith(f":{port:04X}") and row[2].endswith(f":{mine:04X}") and
               row[5].startswith("02:") for row in rows)


def test_vanished():
    """Who waits for an answer and vanishes without a word does not keep his place."""
    with Listen() as l, dialled(l, "a") as c:
        for port, path in ((l.port, "/sandboxes/a/execute_action"), (c.port, "/execute_action")):
            gate = Gate(c)
            with Conn(port) as conn:
                conn.send(request("POST", path, action("run", command=f"read x <{gate}"),
                                  X_Session_API_Key=KEY))
                ok(until(lambda: is_watched(port, conn)), "somebody looks whether he is there")
                gate.go()
                eq(conn.response().status, 200, "and he has his answer")


def test_loss():
    with Listen() as l, dialled(l, "a") as c:
        gate = Gate(c)
        conn = Conn(l.port)
        body = action("run", command=f"echo x >>times; cat {gate}; echo done")
        conn.send(request("POST", "/sandboxes/a/execute_action", body, X_Session_API_Key=KEY,
                          Idempotency_Key="once-1"))
        ok(until(lambda: os.path.exists(os.path.join(c.work, "times"))), "an action is on its way")
        # The connection of the sandbox goes: all its descriptors but the listener's.
        port = l.port
        l.process.kill()
        l.process.communicate()
        ok(conn.closed(), "a backend that dies takes the connection with it")
        conn.close()
        with Listen(port=port, secret=l.secret) as again:
            ok(until(lambda: again.connected("a")), "the sandbox comes back to another one")
            gate.go(b"")
            got = again.ask("POST", "/sandboxes/a/execute_action", body,
                            Idempotency_Key="once-1")
            has(got.json()["content"], "done", "who asks again has the answer")
            with open(os.path.join(c.work, "times")) as f:
                eq(f.read(), "x\n", "of what was done once")
            eq(again.run("a", "echo", X_Lease="7").status, 200, "a client shows its lease")
            got = again.run("a", "echo x >>times", X_Lease="6")
            eq([got.status, got.json()["detail"][:7]], [409, "fenced:"], "one with an older one is refused")
            eq(again.run("a", "cat times").json()["content"], "x", "and nothing is done for it")
            c.kill()
            ok(until(lambda: not again.connected("a")), "a sandbox that is gone")
            got = again.run("a", "echo")
            eq([got.status, got.field("retry-after")], [503, "1"], "is away, not unknown")


def guest(l, box="g", token=None, **hello):
    """Plays a sandbox; without a box it says nothing."""
    conn, answer = upgrade(l.port, "/connect", Authorization="Bearer " + (token or l.token(box or "g")))
    eq(answer.status, 101, "a sandbox of ours dials in")
    ws = WebSocket(conn)
    if box:
        ws.frame(TEXT, json.dumps({"type": "hello", "box": box, **hello}).encode())
    return ws


def closed(ws, seconds=None):
    try:
        while True:
            op, data = ws.receive(seconds)
            if op == CLOSE:
                return struct.unpack(">H", data[:2])[0] if data else 1005
    except Closed:
        return None


def opened(ws):
    """The id of the next channel that is asked for."""
    while True:
        op, data = ws.receive()
        if op == TEXT and json.loads(data)["type"] == "open":
            return json.loads(data)["id"]


def output(ws, id, at, data):
    ws.frame(BINARY, struct.pack(">BxxxIQII", OUTPUT, id, at, len(data), zlib.crc32(data)) + data)


def test_hostile_sandboxes():
    with Listen() as l:
        for name, op, data, code in (
                ("no JSON", TEXT, b"{", 1007), ("a name that is a path", TEXT,
                                                b'{"type":"hello","box":"../x"}', 1008),
                ("no frame", BINARY, b"x", 1002), ("a wrong checksum", BINARY, b"\1" + b"\0" * 24 + b"x", 1002),
                ("a large one", BINARY, b"\0" * (1 << 20), 1009)):
            ws = guest(l, None)
            ws.frame(op, data)
            eq(closed(ws), code, name)
            ws.conn.close()
        first = guest(l)
        ok(until(lambda: l.connected("g")), "it has a name")
        second = guest(l)
        eq(closed(first), 4409, "another one of its name takes over")
        first.conn.close()
        with Conn(l.port) as conn:
            conn.send(request("GET", "/sandboxes/g/x?y=%2F", A="b", Connection="keep-alive"))
            id = opened(second)
            op, data = second.receive()
            head = data[24:]
            has(head, b"GET /x?y=%2F HTTP/1.1\r\n", "a request as the sandbox sees it")
            ok(b"a: b" in head.lower() and b"connection: close" in head and
               b"keep-alive" not in head, "with its fields, and one answer to it", head)
            second.frame(TEXT, json.dumps({"type": "closed", "id": id}).encode())
            eq(conn.response().status, 503, "a sandbox that refuses")
        with Conn(l.port) as conn:
            conn.send(request("GET", "/sandboxes/g/"))
            id = opened(second)
            output(second, id, 5, b"x")
            ok(conn.closed(), "an answer with a hole is cut")
        with Conn(l.port) as conn:
            conn.send(request("GET", "/sandboxes/g/"))
            id = opened(second)
            output(second, id, 0, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
            second.conn.reset()
            try:
                conn.response()
                ok(False, "half an answer is none")
            except (Closed, OSError):
                ok(True, "half an answer is none")
        with Conn(l.port) as conn:
            until(lambda: l.list()[0]["connected"] is False)
            greedy = guest(l)
            until(lambda: l.connected("g"))
            conn.send(request("GET", "/sandboxes/g/"))
            id = opened(greedy)
            greedy.frame(TEXT, json.dumps({"type": "closed", "id": id + 1}).encode())
            greedy.frame(TEXT, json.dumps({"type": "ack", "id": id, "bytes": 1 << 60}).encode())
            output(greedy, id + 1, 0, b"for nobody")
            output(greedy, id, 0, b"HTTP/1.1 200 OK\r\n\r\n")
            at = 19
            try:
                while at < 8 << 20:
                    output(greedy, id, at, b"x" * 16384)
                    at += 16384
            except OSError:
                pass
            ok(until(lambda: l.list()[0]["requests"] == 0),
               "who sends more than there is room for is cut")
            for _ in range(20000):
                greedy.frame(9, b"x" * 100)
            harness.slim(harness.own_kib(l.process.pid), 32768, "however much he says, KiB")
            greedy.conn.reset()
        third = guest(l)
        with Conn(l.port) as conn:
            until(lambda: l.connected("g"))
            conn.send(request("GET", "/sandboxes/g/"))
            opened(third)
            third.conn.close()
            got = conn.response()
            eq(got.status, 502, "a loss before an answer")
            has(got.json()["detail"], "may have started to process the request", "says what is known")
        eq(l.ask("GET", "/alive").status, 200, "the backend is well")
        l.process.terminate()
        eq(harness.wait_exit(l.process), 0, "and ends")


def test_one_name():
    """Several who come by one name: the newest of one sandbox counts, of two the first."""
    with Listen() as l:
        silent = guest(l, None)

        def comes(sandbox, boot, epoch):
            return guest(l, "n", sandbox=sandbox * 32, boot=boot, epoch=epoch * 16)
        first = comes("a", 2, "1")
        ok(until(lambda: l.connected("n")), "a sandbox has its name")
        for who, why in ((("b", 9, "2"), "another sandbox"), (("a", 1, "3"), "an earlier start of it"),
                         (("a", 2, "4"), "another process of that start, as a copy has it")):
            other = comes(*who)
            eq(closed(other), 4423, f"{why} is refused")
            other.conn.close()
        again = comes("a", 2, "1")
        eq(closed(first), 4409, "a new connection of the same process takes over")
        first.conn.close()
        newer = comes("a", 3, "5")
        eq(closed(again), 4409, "a new start of it takes over")
        again.conn.close()
        late = comes("a", 2, "1")
        eq(closed(late), 4423, "for good")
        late.conn.close()
        newer.conn.reset()
        ok(until(lambda: not l.connected("n")), "when it has left")
        other = comes("b", 1, "2")
        ok(until(lambda: l.connected("n")), "the name is free for another one")
        other.conn.close()
        with dialled(l, "twice") as a, \
                Client("--key-sha256", DIGEST, "--connect", f"ws://127.0.0.1:{l.port}/connect",
                       *l.token_of("twice")) as b:
            ok(until(lambda: "another sandbox is connected with the same name" in b.log()),
               "who comes second is told, and tells it")
            for _ in range(20):
                eq(l.run("twice", "pwd").json()["content"].split()[0], a.work, "the first one is served")
            ok("no connection" not in a.log(), "and not troubled", a.log())
            a.kill()
            ok(until(lambda: l.connected("twice") and
                     l.run("twice", "pwd").json().get("content", "").startswith(b.work), 20),
               "until it is gone")
        eq(closed(silent, 30), 1008, "who does not say who he is has to leave")
        silent.conn.close()


def test_shares():
    """Sandboxes that never answer leave room for the others, in whatever order they are asked."""
    shares(lambda i: i % 16)
    shares(lambda i: i // 64)


def shares(nth):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        harness.skip("shares", "there are few descriptors")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    with Listen() as l, dialled(l, "well") as c:
        stuck = [guest(l, f"stuck-{i}") for i in range(16)]
        ok(until(lambda: all(l.connected(f"stuck-{i}") for i in range(16))), "sixteen of them")
        asked, answered = [], select.poll()
        for i in range(16 * 64):
            asked.append(Conn(l.port))
            asked[-1].send(request("GET", f"/sandboxes/stuck-{nth(i)}/"))
            answered.register(asked[-1].sock, select.POLLIN)

        def taken():
            return [b["requests"] for b in l.list()
                    if b["id"] != "well"]
        ok(until(lambda: sum(taken()) + len(answered.poll(0)) == len(asked)), "are asked 64 times each")
        got = taken()
        ok(min(got) >= 12 and sum(got) <= 1024 - 12 * 8, "and leave places of which another has his share", got)
        refused = [fd for fd, _ in answered.poll(0)]
        answer = next(conn for conn in asked if conn.sock.fileno() == refused[0]).response()
        eq([answer.status, answer.field("retry-after")], [503, "1"], "beyond that they are refused")
        has(answer.json()["detail"], "This sandbox has too many unanswered requests", "in words")
        gate = Gate(c)
        many = [Conn(l.port) for _ in range(12)]
        for conn in many:
            conn.send(request("POST", "/sandboxes/well/execute_action",
                              action("run", command=f"read x <{gate}") if conn is many[0] else
                              action("read", path="/dev/null"), X_Session_API_Key=KEY))
        eq([conn.response().status for conn in many[1:]], [200] * 11, "one that answers has room for many")
        gate.go()
        eq(many[0].response().status, 200, "also for one that takes its time")
        for ws in stuck[:8]:
            ws.conn.reset()
        ok(until(lambda: sum(taken()) == sum(got[8:])), "who leaves takes none")
        for conn in asked + many + [ws.conn for ws in stuck[8:]]:
            conn.close()


def test_tls():
    if not shutil.which("openssl"):
        harness.skip("over TLS", "openssl is missing")
        return
    top = harness.scratch()
    cert, pin, _ = certificate(top)
    key = os.path.join(top, "k.pem")
    with Listen("--tls-cert", cert, "--tls-key", key) as l, \
            Client("--connect", f"wss://localhost:{l.port}/connect", *l.token_of("s"),
                   "--connect-ca", cert, "--connect-pin", pin):
        def get():
            with ssl.create_default_context(cafile=cert).wrap_socket(
                    socket.create_connection(("127.0.0.1", l.port), harness.DEADLINE),
                    server_hostname="localhost") as sock:
                conn = Conn.__new__(Conn)
                conn.sock, conn.data = sock, b""
                return conn.send(request("GET", "/sandboxes/s/alive")).response()
        ok(until(lambda: get().status == 200, step=0.05), "a sandbox dials in over TLS")
        eq(get().json(), {"status": "ok"}, "a request reaches it over TLS")


def test_command_line():
    top = harness.scratch()
    short, secret = os.path.join(top, "short"), os.path.join(top, "secret")
    for path, text in ((short, "x" * 15 + "\n"), (secret, "x" * 16 + "\n")):
        with open(path, "w") as f:
            f.write(text)
    for words, why in (((), "--token FILE is missing"), (("--token", "/nowhere"), "/nowhere"),
                       (("--token", short), "needs at least 16"), (("--tls-cert", secret), "need each other"),
                       (("--token", secret, "--no-token"), "cannot be combined"),
                       (("--token", secret, "--address", "here"), "is not an IP address and a port"),
                       (("--token", secret, "--tls-cert", secret, "--tls-key", secret), "--tls-cert")):
        done = subprocess.run([RUNTIME, "listen", *words], capture_output=True, text=True,
                              timeout=harness.DEADLINE)
        ok(done.returncode in (100, 111), f"listen {' '.join(words)} is refused", done)
        has(done.stderr, why, "the error says why")


if __name__ == "__main__":
    harness.main()
