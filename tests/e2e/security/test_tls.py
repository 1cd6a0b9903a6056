#!/usr/bin/env python3
"""HTTP over TLS, with a self-made certificate and the clients that people have."""
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess

from harness import (DEADLINE, Client, Conn, action, children, eq, free_port, has, main, note, ok,
                     own_kib, request, run_client, scratch, skip, slim, until, wait_exit)

MAX_BODY = 8 << 20
ALIVE = request("GET", "/alive")
OPENSSL = shutil.which("openssl")
TOP = scratch("od-e2e-tls-")
KINDS = {
    "EC": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "RSA": ["-newkey", "rsa:2048"],
}


def path(name):
    return os.path.join(TOP, name)


def make_certificate(kind):
    """NAME.crt and NAME.key, self-signed, for localhost."""
    subprocess.run(
        [OPENSSL, "req", "-x509", *KINDS[kind], "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", path(kind + ".key"),
         "-out", path(kind + ".crt")], check=True, capture_output=True, timeout=DEADLINE)


def options(kind="EC"):
    return ["--tls-cert", path(kind + ".crt"), "--tls-key", path(kind + ".key")]


def context(kind="EC"):
    """Of a client that trusts the certificate and nothing else."""
    return ssl.create_default_context(cafile=path(kind + ".crt"))


class TlsConn(Conn):
    """As Conn; an end without close_notify is an ssl.SSLError."""

    def __init__(self, port, kind="EC", receive=None):
        super().__init__(port)
        if receive:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.sock = context(kind).wrap_socket(self.sock, server_hostname="localhost",
                                              suppress_ragged_eofs=False)


class TlsClient(Client):
    def __init__(self, *more, kind="EC", **kw):
        self.kind = kind
        super().__init__(*options(kind), *more, **kw)

    def conn(self):
        return TlsConn(self.port, self.kind)


def s_client(port, *more, data=ALIVE, kind="EC"):
    """openssl s_client with data as its input: (status, stdout, stderr)."""
    done = subprocess.run(
        [OPENSSL, "s_client", "-connect", f"127.0.0.1:{port}", "-servername", "localhost",
         "-verify_hostname", "localhost", "-verify_return_error", "-CAfile",
         path(kind + ".crt"), *more], input=data, capture_output=True, timeout=DEADLINE)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def test_talk():
    for kind in KINDS:
        with TlsClient(kind=kind) as client:
            with client.conn() as c:
                eq(c.sock.version(), "TLSv1.2", f"{kind}: the version")
                ok(c.sock.cipher()[0].startswith("ECDHE-") and "CBC" not in c.sock.cipher()[0],
                   f"{kind}: {c.sock.cipher()[0]}")
                for _ in range(50):
                    c.send(ALIVE)
                    if not eq(c.response().body, b'{"status":"ok"}', f"{kind}: alive"):
                        break
                c.send(request("GET", "/nowhere") + request("GET", "/alive", Connection="close"))
                eq([c.response().status, c.response().status], [404, 200], "errors, and an end")
                ok(c.closed(), "which is announced")
            eq(client.run("echo hi; echo there")["content"], "hi\nthere", f"{kind}: a command")
            eq(client.stop(), 0, "a good end")


def test_key_over_tls():
    with TlsClient(env={"SESSION_API_KEY": "secret"}) as client:
        eq(client.post("/execute_action", action("run", command="id")).status, 403,
           "the session key is asked for")
        eq(client.post("/execute_action", action("run", command="id"),
                       X_Session_API_Key="secret").status, 200, "and taken")


def test_large():
    frame = len(action("write", path="big", content=""))
    text = ("0123456789abcde\n" * (MAX_BODY // 16))[:MAX_BODY - frame].replace("\n", "|")
    with TlsClient() as client:
        got = client.act("write", path="big", content=text)
        eq(got["observation"], "write", "a request of 8 MiB")
        with open(os.path.join(client.work, "big")) as f:
            ok(f.read() == text + "\n", "arrives whole")
        got = client.act("read", path="big")
        ok(got["content"].rstrip("\n") == text, "an answer of 8 MiB", str(got)[:200])
        over = request("POST", "/execute_action", b"{" * (MAX_BODY + 1))
        try:
            eq(client.conn().send(over).response().status, 413, "more is refused")
        except OSError as e:
            ok(False, "more is refused", repr(e))


def test_slow_reader():
    """Somebody who takes his time costs nobody else any."""
    text = "x" * 8000000  # the sockets hold half of that
    with TlsClient() as client:
        with open(os.path.join(client.work, "big"), "w") as f:
            f.write(text)
        with TlsConn(client.port, receive=4096) as slow:
            slow.send(request("POST", "/execute_action", action("read", path="big")))
            got = 0
            for i in range(20):
                got += len(slow.sock.recv(100))
                if client.get("/alive").status != 200:
                    break
            eq(i, 19, "others are answered meanwhile")
            # With its little room all of it would take minutes.
            slow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            slow.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, 1 << 20)
            while got < len(text):
                piece = slow.sock.recv(1 << 20)
                if not piece:
                    break
                got += len(piece)
            ok(got >= len(text), "the slow one gets all of it", f"{got} bytes")


def test_pipelining():
    """Many requests in few records: what is decrypted waits where no event tells of it."""
    many = 300
    with TlsClient() as client, client.conn() as c:
        c.send(ALIVE * many)
        eq(sum(c.response().status == 200 for _ in range(many)), many, "each is answered")
        slow = request("POST", "/execute_action", action("run", command="sleep 0.2; echo done"))
        c.send(slow + ALIVE + slow)
        eq([b"done" in c.response().body for _ in range(3)], [True, False, True],
           "requests behind one that takes its time")


def test_openssl():
    with TlsClient() as client:
        bye = request("GET", "/alive", Connection="close")
        for suite in ("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384",
                      "ECDHE-ECDSA-CHACHA20-POLY1305"):
            code, out, err = s_client(client.port, "-quiet", "-cipher", suite, data=bye)
            ok(code == 0 and out.startswith(b"HTTP/1.1 200 OK\r\n"), f"s_client: {suite}", out, err)
        for name, bad in (
                ("TLS 1.1", ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]),
                ("TLS 1.0", ["-tls1", "-cipher", "ALL:@SECLEVEL=0"]),
                ("TLS 1.3 alone", ["-tls1_3"]),
                ("CBC", ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"]),
                ("a key exchange without ECDHE", ["-tls1_2", "-cipher", "AES128-GCM-SHA256"])):
            code, out, err = s_client(client.port, *bad)
            ok(code != 0 and b"HTTP/1.1" not in out, f"{name} is refused", out, err)
            # The alert itself is of TLS 1.2, which an older client does not read.
            ok("alert" in err or "wrong version" in err, "and told so", err)
        code, out, err = s_client(client.port, "-tls1_2", data=b"R\n")
        ok(b"HTTP/1.1 200" not in out, "a renegotiation leads nowhere", out, err)
        eq(client.get("/alive").status, 200, "the server is well")


def test_plain_refused():
    with TlsClient() as client:
        for _ in range(5):
            with Conn(client.port) as c:
                if not ok(c.send(ALIVE).closed(), "plain HTTP is closed without an answer"):
                    break
        with Conn(client.port) as c:
            c.send(b"\x16\x03\x01\xff\xff")
            ok(c.closed(), "so is a record without end")
        eq(client.log().count("a TLS connection failed"), 1, "the log has one line of it")
        eq(client.get("/alive").status, 200, "others are served")


def test_cut():
    """Peers that leave without a goodbye, at any time."""
    with TlsClient() as client:
        with Conn(client.port) as c:
            c.send(b"\x16\x03\x01")
        with Conn(client.port) as c:
            c.reset()
        c = client.conn()
        c.send(b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
        c.sock.detach()
        c = client.conn()
        c.send(request("POST", "/execute_action", action("run", command="sleep 0.3; echo x > y")))
        c.sock.shutdown(socket.SHUT_RDWR)
        c.close()
        ok(until(lambda: os.path.exists(os.path.join(client.work, "y"))),
           "what was asked for is done")
        eq(client.get("/alive").status, 200, "the server is well")


def test_goodbye():
    """An idle connection is told of the server's end."""
    with TlsClient() as client, client.conn() as c:
        c.send(ALIVE).response()
        eq(client.stop(), 0, "the server stops")
        try:
            eq(c.sock.recv(1), b"", "with close_notify")
        except ssl.SSLError as e:
            ok(False, "with close_notify", repr(e))


def start_fails(name, cert, key, *words):
    client = Client("--tls-cert", cert, "--tls-key", key, ready=False)
    with client:
        eq(wait_exit(client.process), 111, f"{name}: 111")
        for word in words:
            has(client.log(), word, "and says so")


def test_bad_files():
    cert, key = path("EC.crt"), path("EC.key")
    with open(path("junk"), "w") as f:
        f.write("no PEM\n")
    with open(path("huge"), "w") as f:
        f.write("#" * (1 << 20))
    start_fails("no certificate", path("none"), key, "--tls-cert " + path("none"), "No such file")
    start_fails("no key", cert, path("none"), "--tls-key " + path("none"), "No such file")
    start_fails("a directory", TOP, key, TOP, "a directory")
    start_fails("no PEM", path("junk"), key, path("junk"), "the certificate chain contains no certificate")
    start_fails("no key in it", cert, cert, cert, "the private key")
    start_fails("a huge file", cert, path("huge"), path("huge"), "limit")
    start_fails("another key", cert, path("RSA.key"), path("RSA.key"), "does not belong")
    code, _, err = run_client("serve", "1", "--tls-cert", cert)
    ok(code == 100 and "need each other" in err, "one without the other", err)


def learnt(client):
    """What the log says of the key, each time."""
    return re.findall(r"TLS: the SHA-256 of the key is ([0-9a-f]{64})\n", client.log())


def test_own():
    with Client("--tls-self", role="init") as client:
        shown = ssl.get_server_certificate(("127.0.0.1", client.port))
        with open(path("own.crt"), "w") as f:
            f.write(shown)
        point = subprocess.run([OPENSSL, "x509", "-in", path("own.crt"), "-noout", "-pubkey"],
                               capture_output=True, check=True).stdout
        key = subprocess.run([OPENSSL, "pkey", "-pubin", "-outform", "DER"], input=point,
                             capture_output=True, check=True).stdout
        eq(learnt(client), [hashlib.sha256(key).hexdigest()], "the log tells the hash of its key")
        for host in "localhost", "127.0.0.1":
            believing = ssl.create_default_context(cafile=path("own.crt"))
            with socket.create_connection(("127.0.0.1", client.port)) as sock:
                with believing.wrap_socket(sock, server_hostname=host) as tls:
                    tls.sendall(ALIVE)
                    has(tls.recv(4096), b"200 OK", f"as {host}, believed as an authority")
        status = http.client.HTTPSConnection("localhost", client.port, context=believing, timeout=DEADLINE)
        status.request("GET", "/v1/status")
        eq(json.load(status.getresponse())["hardening"]["tls"], True, "the status reports TLS")
        serve = children(client.pid)[0]
        os.kill(serve, signal.SIGKILL)
        ok(until(lambda: len(learnt(client)) == 2), "the next server says it again")
        eq(len(set(learnt(client))), 1, "its key is the same")
        ok(until(lambda: client.log().count("starting it again") == 1 and
                 run_client("health", str(client.port), "--tls")[0] == 0), "and it is there")
        eq(ssl.get_server_certificate(("127.0.0.1", client.port)), shown, "with the same certificate")
    with Client("--tls-self") as client:
        ok(ssl.get_server_certificate(("127.0.0.1", client.port)) != shown, "another start, another one")
    code, _, err = run_client("serve", "1", "--tls-self", *options())
    ok(code == 100 and "--tls-self and --tls-cert cannot be combined" in err, "not beside another certificate", err)


def test_health():
    code, _, err = run_client("serve", "1", "--tls")
    ok(code == 100 and "--tls-cert" in err, "--tls is for health alone", err)
    for kind in KINDS:
        with TlsClient(kind=kind) as client:
            eq(run_client("health", str(client.port), "--tls")[0], 0, f"{kind}: healthy")
            eq(run_client("health", str(client.port))[0], 1, "but not without TLS")
    with Client() as client:
        eq(run_client("health", str(client.port), "--tls")[0], 1, "plain HTTP is no TLS")
    eq(run_client("health", str(free_port()), "--tls")[0], 1, "nor is a closed port")


def test_entropy():
    """On a kernel, or behind a filter, that has no getrandom."""
    if not shutil.which("strace"):
        skip("without getrandom", "strace is not installed")
        return
    for refusal in "ENOSYS", "EPERM":
        trace = path("trace." + refusal)
        # With -D it is the client that is the child here, and is asked to end.
        prefix = ["strace", "-D", "-f", "-o", trace, "-e", "trace=getrandom,openat", "-e",
                  "inject=getrandom:error=" + refusal]
        with Client("--tls-self", prefix=prefix) as client:
            shown = ssl.get_server_certificate(("127.0.0.1", client.port))
            ok("BEGIN CERTIFICATE" in shown and len(learnt(client)) == 1,
               f"getrandom: {refusal}: a key is made, and connections are")
            with open(trace) as f:
                said = f.read()
            has(said, f"{refusal} ", "which was refused")
            has(said, '"/dev/urandom"', "with what the device gives")


def test_memory():
    """What an idle connection costs, and what remains of it."""
    with TlsClient() as client:
        client.get("/alive")
        before = own_kib(client.pid)
        many = [client.conn() for _ in range(50)]
        for c in many:
            c.send(ALIVE).response()
        each = (own_kib(client.pid) - before) / len(many)
        note(f"{each:.1f} KiB for each connection, {before} KiB without")
        slim(each, 48, "KiB")
        for c in many:
            c.close()


if __name__ == "__main__":
    if OPENSSL:
        for each_kind in KINDS:
            make_certificate(each_kind)
        main()
    skip("HTTP over TLS", "openssl is not installed (Debian package openssl)")
    print("1..1")
