#!/usr/bin/env python3
"""Certificates of clients: the server and listen ask for them, those who dial out show
them; and who is at the other end of --connect, whatever it shows."""
import os
import shutil
import socket
import ssl
import subprocess

import harness
from harness import (DEADLINE, RUNTIME, Client, Closed, action, eq, has, main, ok, own_kib, request,
                     skip, until)
from certificates import EKU, Cert, x509
from backend import Backend
from test_listen import Listen

TOP = harness.scratch("od-e2e-mutual-")
ALIVE = request("GET", "/alive")
NONE = "handshake failure", "the client did not send a certificate"
MADE = {}


def put(name, *texts):
    path = os.path.join(TOP, name)
    with open(path, "wb") as f:
        f.write(b"".join(texts))
    os.chmod(path, 0o600)
    return path


def saved(name, cert, *more):
    """The paths of its chain and its key."""
    return (put(name + ".crt", cert.pem(), *(c.pem() for c in more)),
            put(name + ".key", cert.key_pem()))


def made():
    """What most tests need, once."""
    if not MADE:
        root = MADE["root"] = Cert("root", ca=True)
        MADE["ca"] = put("ca.crt", root.pem())
        MADE["server"] = saved("server", Cert("s", root, dns=["localhost"], eku=[EKU.SERVER_AUTH]))
        MADE["client"] = saved("client", Cert("c", root, eku=[EKU.CLIENT_AUTH]))
        MADE["stranger"] = saved("stranger", Cert("c", Cert("root", ca=True)))
    return MADE


def server(*more):
    m = made()
    return Client("--tls-cert", m["server"][0], "--tls-key", m["server"][1], "--tls-client-ca",
                  m["ca"], *more)


def context(pair=None, weak=False):
    c = ssl.create_default_context(cafile=made()["ca"])
    if weak:
        c.set_ciphers("DEFAULT@SECLEVEL=0")
    if pair:
        c.load_cert_chain(*pair)
    return c


def visit(port, pair=None, weak=False):
    """What a client gets: "200", or why not."""
    try:
        with socket.create_connection(("127.0.0.1", port), DEADLINE) as bare:
            with context(pair, weak).wrap_socket(bare, server_hostname="localhost") as s:
                s.sendall(ALIVE)
                return s.recv(4096).split(b" ")[1].decode()
    except ssl.SSLError as e:
        return e.reason.lower().replace("_", " ")
    except OSError as e:
        return repr(e)


def rows():
    """(name, chain from the leaf on, alert to the client or None if it is let in, words of the log)"""
    root = made()["root"]
    mid = Cert("mid", root, ca=True)
    other = Cert("root", ca=True)
    for kind in ("ec", "p384", "rsa2048", "rsa4096"):
        yield f"a certificate on {kind}", [Cert("c", root, kind=kind)], None, ""
    yield "one for clients", [Cert("c", root, eku=[EKU.CLIENT_AUTH])], None, ""
    yield "one for servers and clients", [
        Cert("c", root, eku=[EKU.SERVER_AUTH, EKU.CLIENT_AUTH])], None, ""
    yield "one for any purpose", [Cert("c", root, eku=[EKU.ANY_EXTENDED_KEY_USAGE])], None, ""
    yield "with an intermediate", [Cert("c", mid), mid], None, ""
    yield "without its intermediate", [Cert("c", mid)], "unknown ca", "not signed by a trusted authority"
    yield "another authority of that name", [Cert("c", other)], "alert", "trusted authority|signature"
    yield "self-signed", [Cert("c")], "unknown ca", "not signed by a trusted authority"
    yield "one for servers", [Cert("c", root, eku=[EKU.SERVER_AUTH])], "unsupported certificate", \
        "not for clients"
    yield "expired", [Cert("c", root, start=-9, end=-1)], "certificate expired", "expired"
    yield "not yet valid", [Cert("c", root, start=1)], "certificate expired", "not valid yet"
    yield "RSA of 1024 bits", [Cert("c", root, kind="rsa1024")], "bad certificate", "too short"
    yield "SHA-1", [Cert("c").sign_again(root, "-sha1")], "bad certificate", "not accepted"
    sub = Cert("sub", root)
    yield "an issuer that may not", [Cert("c", sub), sub], "bad certificate", "is not an authority"
    nc = Cert("nc", root, ca=True, constraints=["example.org"], critical=False)
    yield "name constraints", [Cert("c", nc), nc], "bad certificate", "constraints"
    yield "64 KB of certificate", [Cert("c", root, pad=64000)], "", "too many or too large"


def test_table():
    for name, chain, alert, words in rows():
        pair = saved("row", *chain)
        # The log has one line of a kind in a minute.
        with server() as client:
            got = visit(client.port, pair, weak=True)
            if alert is None:
                eq(got, "200", f"{name}: is let in")
                continue
            ok(alert in got and got != "200", f"{name}: refused: {got}")
            ok(until(lambda: any(w in client.log() for w in words.split("|"))),
               f"the log says: {words}", client.log())


def test_without():
    with server() as client:
        eq(visit(client.port), "sslv3 alert " + NONE[0], "without a certificate nobody is let in")
        ok(until(lambda: NONE[1] in client.log()), "and the log says why", client.log())
        eq(visit(client.port, made()["client"]), "200", "with one they are")
        run = subprocess.run([harness.CLIENT, "health", str(client.port), "--tls"], timeout=DEADLINE)
        eq(run.returncode, 0, "the check of health needs none")
    with Client("--tls-self", "--tls-client-ca", made()["ca"]) as client:
        self = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.check_hostname, self.verify_mode = False, ssl.CERT_NONE
        for pair, wanted in ((None, False), (made()["client"], True), (made()["stranger"], False)):
            if pair:
                self.load_cert_chain(*pair)
            try:
                with self.wrap_socket(socket.create_connection(("127.0.0.1", client.port))) as s:
                    s.sendall(ALIVE)
                    good = b"200 OK" in s.recv(4096)
            except OSError:
                good = False
            eq(good, wanted, "the same beside --tls-self")


def test_peers():
    cert, key = made()["client"]
    with server() as client:
        url = f"https://localhost:{client.port}/execute_action"
        got = subprocess.run(["curl", "-sS", "--cacert", made()["ca"], "--cert", cert, "--key", key,
                              "--json", "@-", url], input=action("run", command="echo $((6*7))"),
                             capture_output=True, timeout=DEADLINE)
        has(got.stdout, b'"content":"42"', "curl, with a certificate")
        got = subprocess.run(["curl", "-sS", "--cacert", made()["ca"], url], capture_output=True,
                             text=True, timeout=DEADLINE)
        ok(got.returncode in (35, 56) and "handshake failure" in got.stderr, "and without", got.stderr)
        got = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{client.port}",
                              "-CAfile", made()["ca"]], input=b"", capture_output=True, timeout=DEADLINE)
        has(got.stdout, b"Acceptable client certificate CA names\nCN = root", "openssl is told whose")


def test_stolen():
    """A certificate that everybody has seen, without its key."""
    with server() as client:
        bare = socket.create_connection(("127.0.0.1", client.port), DEADLINE)
        try:
            c = context()
            c.load_cert_chain(made()["client"][0], made()["stranger"][1])
            ok(False, "Python loads no such pair")
        except ssl.SSLError:
            ok(True, "Python loads no such pair")
        bare.close()
    for option in ("--connect-cert", "--tls-cert"):
        pair = option, made()["client"][0], option.replace("cert", "key"), made()["stranger"][1]
        with Client("--connect", "wss://localhost:1/", "--connect-ca", made()["ca"], *pair,
                    ready=False) as client:
            eq(harness.wait_exit(client.process), 111, f"{option}: a key that is not its own")
            has(client.log(), "does not belong", "is told at the start")


def test_memory():
    """Judging takes more, but not for longer than the handshake."""
    with server() as client:
        visit(client.port, made()["client"])
        before = own_kib(client.pid)
        many = []
        for _ in range(40):
            s = context(made()["client"]).wrap_socket(
                socket.create_connection(("127.0.0.1", client.port), DEADLINE),
                server_hostname="localhost")
            s.sendall(ALIVE)
            s.recv(4096)
            many.append(s)
        each = (own_kib(client.pid) - before) / len(many)
        harness.note(f"{each:.1f} KiB for each connection")
        harness.slim(each, 48, "KiB")
        for s in many:
            s.close()


def test_command_line():
    cert, key = made()["server"]
    junk = put("junk", b"no PEM\n")
    for words, why in (
            (("--tls-client-ca", made()["ca"]), "--tls-client-ca needs --tls-cert"),
            (("--connect", "wss://x/", "--connect-ca", made()["ca"], "--connect-cert", cert),
             "need each other"),
            (("--tls-cert", cert, "--tls-key", key, "--tls-client-ca", "/nowhere"), "/nowhere"),
            (("--tls-cert", cert, "--tls-key", key, "--tls-client-ca", junk), "--tls-client-ca")):
        with Client(*words, ready=False) as c:
            status = harness.wait_exit(c.process)
            ok(status in (100, 111), f"{' '.join(words)} is refused: {status}")
            has(c.log(), why, "and why is told")
    for words in (("--tls-client-ca", made()["ca"]),
                  ("--tls-cert", cert, "--tls-key", key, "--tls-client-ca", junk)):
        done = subprocess.run([RUNTIME, "listen", *words], capture_output=True, text=True,
                              timeout=DEADLINE)
        ok(done.returncode in (100, 111) and "--tls-client-ca" in done.stderr,
           f"listen {words[0]} is refused", done.stderr)


def test_open_key():
    cert, key = made()["server"]
    told = f"--tls-key {key}: other users can access the file (mode 644): run chmod 600 on it"
    os.chmod(key, 0o644)
    with server() as client:
        has(client.log(), told, "a key that lies open is told of")
    os.chmod(key, 0o640)
    with server() as client:
        ok(told[:40] not in client.log(), "one for a group is not")
        os.unlink(key)
        eq(visit(client.port, made()["client"]), "200", "nor is its file needed any more")
    MADE.clear()


# --- Dialling out ------------------------------------------------------------------------

def alive_through(stream, name):
    stream.expect("hello")
    stream.say("open", id=1, kind="http")
    stream.expect("opened", id=1)
    stream.put_in(1, ALIVE)
    has(stream.until(1, b'"ok"'), b"200 OK", name)
    stream.close()


def backend(chain, asks=False):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    c.set_ciphers("DEFAULT@SECLEVEL=0")
    c.load_cert_chain(*saved("backend", *chain))
    if asks:
        c.verify_mode = ssl.CERT_REQUIRED
        c.load_verify_locations(made()["ca"])
    return Backend(tls=c)


def test_dial():
    root = made()["root"]
    cert, key = made()["client"]
    with backend([Cert("b", root, dns=["localhost"])], asks=True) as b:
        to = "--connect", f"wss://localhost:{b.port}/", "--connect-ca", made()["ca"]
        with Client(*to, "--connect-cert", cert, "--connect-key", key):
            alive_through(b.stream(), "a backend that asks who dials in")
    # What the first has left behind is not taken for the second.
    with backend([Cert("b", root, dns=["localhost"])], asks=True) as b:
        to = "--connect", f"wss://localhost:{b.port}/", "--connect-ca", made()["ca"]
        with Client(*to) as client:
            try:
                b.meet()
                ok(False, "without a certificate there is no connection")
            except (OSError, Closed):
                ok(True, "without a certificate there is no connection")
            ok(until(lambda: "no connection to the backend" in client.log()), "and that is told",
               client.log())


def test_dial_table():
    """The rows of the client's table (tests/integration/net/tls_client.t) that matter most, on its way."""
    root = made()["root"]
    evil = Cert("root", ca=True)
    pinned = Cert("b", root, dns=["localhost"])
    for name, chain, pin, words in (
            ("another authority", [Cert("b", evil, dns=["localhost"])], None, "trusted authority|signature"),
            ("another name", [Cert("b", root, dns=["evil.example"])], None, "another name"),
            ("the name as CN alone", [Cert("localhost", root)], None, "another name"),
            ("expired", [Cert("b", root, dns=["localhost"], start=-9, end=-1)], None, "expired"),
            ("for clients", [Cert("b", root, dns=["localhost"], eku=[EKU.CLIENT_AUTH])], None,
             "not for servers"),
            ("RSA of 1024 bits", [Cert("b", root, dns=["localhost"], kind="rsa1024")], None,
             "too short"),
            ("a good one, but another key than the pinned", [Cert("b", root, dns=["localhost"])],
             pinned.pin(), "not the pinned key"),
            ("the pinned one behind another", [Cert("b", root, dns=["localhost"]), pinned],
             pinned.pin(), "not the pinned key")):
        with backend(chain) as b:
            more = ("--connect-pin", pin) if pin else ()
            with Client("--connect", f"wss://localhost:{b.port}/", "--connect-ca", made()["ca"],
                        "--connect-token", put("token", b"tell-nobody"), *more) as client:
                try:
                    b.meet()
                    ok(False, f"{name}: refused")
                except (OSError, Closed) as e:
                    ok(True, f"{name}: refused: {str(e)[:60]}")
                ok(until(lambda: any(w in client.log() for w in words.split("|"))),
                   f"the log says: {words}", client.log())


def test_dial_silence():
    """A backend that takes the connection and says nothing, and one that says half of it."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        deaf.settimeout(DEADLINE)
        with Client("--connect", f"wss://localhost:{deaf.getsockname()[1]}/", "--connect-ca",
                    made()["ca"]) as client:
            first, _ = deaf.accept()
            first.settimeout(DEADLINE)
            eq(first.recv(1), b"\x16", "a handshake is begun")
            first.sendall(b"\x16\x03\x03\x40\x00\x02")
            while first.recv(4096):
                pass
            ok(True, "and given up")
            deaf.accept()[0].close()
            ok(until(lambda: "no connection to the backend" in client.log()), "and begun anew",
               client.log())
        first.close()


def test_listen():
    cert, key = made()["client"]
    scert, skey = made()["server"]
    with Listen("--tls-cert", scert, "--tls-key", skey, "--tls-client-ca", made()["ca"]) as l:
        to = ("--connect", f"wss://localhost:{l.port}/connect", "--connect-ca", made()["ca"],
              *l.token_of("s"))
        with Client(*to) as client:
            ok(until(lambda: "requires a client certificate" in client.log()), "listen lets nobody in without",
               client.log())
        with Client(*to, "--connect-cert", cert, "--connect-key", key):
            def ask():
                with context((cert, key)).wrap_socket(
                        socket.create_connection(("127.0.0.1", l.port), DEADLINE),
                        server_hostname="localhost") as s:
                    s.sendall(request("GET", "/sandboxes/s/alive"))
                    return b"200 OK" in s.recv(4096)
            ok(until(ask, step=0.05), "with one a sandbox dials in, and is reached")
        eq(visit(l.port), "sslv3 alert " + NONE[0], "nor do those who ask")


if __name__ == "__main__":
    if x509 and shutil.which("openssl"):
        main()
    skip("certificates of clients", "no openssl, or no python3-cryptography")
    print("1..1")
