#!/usr/bin/env python3
"""--connect: the sandbox dials out, over TCP, TLS and a unix socket, and serves the
stream there; it comes back after every loss."""
import hashlib
import os
import shutil
import ssl
import subprocess
import tempfile

import harness
from harness import Client, Conn, Closed, action, eq, has, ok, request, skip, until
from backend import Backend

KEY = "a-session-key"
DIGEST = hashlib.sha256(KEY.encode()).hexdigest()


def test_plain():
    token = os.path.join(tempfile.mkdtemp(prefix="od-e2e-"), "token")
    with open(token, "w") as f:
        f.write("tell-nobody\n")
    with Backend() as b, Client("--key-sha256", DIGEST, "--connect",
                                f"ws://localhost:{b.port}/in?x=1", "--connect-id", "box-7",
                                "--connect-token", token) as c:
        line, fields, _, conn = b.meet()
        eq(line, "GET /in?x=1 HTTP/1.1", "it asks for what it was told")
        eq(fields["host"], f"localhost:{b.port}", "of the host")
        eq(fields["authorization"], "bearer tell-nobody", "and shows who it is")
        conn.send(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
        conn.close()
        s = b.stream()
        hello = s.expect("hello")
        eq([hello["box"], hello["version"]], ["box-7", 1], "it comes back, and says who it is")
        s.say("open", id=1, kind="session")
        has(s.expect("closed", id=1)["detail"], "key", "a backend has to know the key, too")
        s.say("key", key="no")
        has(s.expect("error")["detail"], "Invalid API Key", "and not another one")
        s.say("open", id=2, kind="http")
        s.expect("opened", id=2)
        s.put_in(2, request("POST", "/execute_action", action("run", command="echo dialled"),
                            X_Session_API_Key=KEY))
        has(s.until(2, b"dialled"), b"200 OK", "requests carry it themselves")
        s.say("key", key=KEY)
        s.say("open", id=1, kind="session")
        s.expect("opened", id=1)
        s.put_in(2, request("POST", "/execute_action", action("run", command="echo li''ve"),
                            X_Session_API_Key=KEY))
        s.until(1, b"live\r\n")
        at = s.at[1]
        s.ws.conn.reset()
        again = b.stream()
        eq(again.expect("hello")["epoch"], hello["epoch"], "it comes back after a loss")
        again.say("key", key=KEY)
        again.say("open", id=1, kind="session", offset=at, epoch=hello["epoch"])
        again.expect("opened", id=1)
        eq(again.snapshots, {}, "and goes on where it was")
        has(c.log(), "no connection to the backend: the server refused the WebSocket", "the log tells why once")
        ok("tell-nobody" not in c.log() and
           b"tell-nobody" not in harness.proc(c.pid, "cmdline"), "but no secret")
        c.process.terminate()
        try:
            while True:
                again.step()
        except Closed as e:
            eq(e.args[0][:2], b"\x03\xe9", "it says goodbye")
        again.close()
        harness.wait_exit(c.process)
    shutil.rmtree(os.path.dirname(token))


def keyed(b, key=KEY):
    """The next who dials in, by a backend that knows the key."""
    s = b.stream()
    s.expect("hello")
    s.say("key", key=key)
    return s


def submit(s, id, name, command):
    s.say("open", id=id, kind="action", action_id=name,
          action={"action": "run", "args": {"command": command}})


def test_stranger():
    """A backend that has no key gets nothing but connections, which ask for it themselves."""
    with Backend() as b, Client("--key-sha256", DIGEST, "--connect", f"ws://127.0.0.1:{b.port}/") as c:
        s = b.stream()
        s.expect("hello")
        for n, kind in enumerate(("session", "terminal", "action", "events")):
            s.say("open", id=n + 1, kind=kind, action_id="a", keep=True,
                  action={"action": "run", "args": {"command": "echo x >>done"}})
            has(s.expect("closed", id=n + 1)["detail"], "key", f"no {kind} without the key")
        s.say("lease", lease=1 << 40)
        has(s.expect("error")["detail"], "key", "nor a lease")
        for i in range(10, 74):
            s.say("open", id=i, kind="http")
            s.put_in(i, b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n" +
                     b"x" * 60000)
        has(s.until(73, b"Invalid API Key"), b"403", "and a request is refused")
        harness.slim(harness.own_kib(c.pid), 65536, "in little memory, KiB")
        with Conn(c.port) as conn:
            conn.send(request("POST", "/execute_action", action("run", command="echo well; ls"),
                              X_Session_API_Key=KEY))
            got = conn.response().json()["content"]
            ok("well" in got and "done" not in got, "nothing was done, and others are served", got)
        s.close()


def test_leases():
    """Of two backends that the sandbox may find, the one counts that has the higher lease."""
    with Backend() as b, Client("--key-sha256", DIGEST, "--connect", f"ws://127.0.0.1:{b.port}/"):
        first = keyed(b)
        first.say("lease", lease=5)
        eq(first.expect("lease")["lease"], 5, "a backend holds the lease")
        submit(first, 1, "a1", "echo one")
        first.expect("ended", id=1)
        first.ws.conn.reset()
        second = keyed(b)
        second.say("lease", lease=6)
        eq(second.expect("lease")["lease"], 6, "another takes over")
        second.ws.conn.reset()
        first = keyed(b)
        first.say("lease", lease=5)
        submit(first, 1, "a2", "echo two")
        eq(first.expect("lease")["lease"], 6, "the first one learns of it")
        try:
            while True:
                first.step()
        except Closed as e:
            has(e.args[0], b"fenced", "and is left")
        first.ws.frame(8, e_code())
        first.close()
        second = keyed(b)
        second.say("lease", lease=6)
        second.say("open", id=1, kind="action", action_id="a2")
        eq(second.expect("closed", id=1)["status"], 404, "with nothing done for it")
        submit(second, 2, "a1", "echo one")
        eq(second.expect("opened", id=2)["replayed"], True, "what was done before is known to the other")
        second.say("open", id=3, kind="http")
        second.put_in(3, request("GET", "/v1/sessions", X_Session_API_Key=KEY, X_Lease="5"))
        has(second.until(3, b"fenced"), b"409", "a request shows its own")
        second.close()


def e_code():
    return (4409).to_bytes(2, "big")


def test_unix():
    top = tempfile.mkdtemp(prefix="od-e2e-")
    path = os.path.join(top, "backend")
    with Client("--connect", "unix:" + path) as c:
        with Conn(c.port) as conn:
            conn.send(request("GET", "/alive"))
            eq(conn.response().status, 200, "it serves without a backend")
        with Backend(path) as b:
            s = b.stream()
            s.expect("hello")
            s.say("open", id=1, kind="session")
            eq(s.expect("opened", id=1)["session"], "default", "without a key there is none")
            s.close()
    shutil.rmtree(top)


def certificate(top):
    cert, key = os.path.join(top, "c.pem"), os.path.join(top, "k.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                    "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    public = subprocess.run(["openssl", "x509", "-in", cert, "-pubkey", "-noout"], check=True,
                            capture_output=True).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=public,
                         check=True, capture_output=True).stdout
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, hashlib.sha256(der).hexdigest(), context


def test_tls():
    if not shutil.which("openssl"):
        skip("over TLS", "openssl is missing")
        return
    top = tempfile.mkdtemp(prefix="od-e2e-")
    cert, pin, context = certificate(top)
    # One each: what a client that was killed leaves behind is not taken for the next.
    for name, options in (("by its authority", ("--connect-ca", cert)),
                          ("by its key", ("--connect-pin", pin))):
        with Backend(tls=context) as b, Client("--connect", f"wss://localhost:{b.port}/", *options):
            s = b.stream()
            s.expect("hello")
            s.say("open", id=1, kind="http")
            s.expect("opened", id=1)
            s.put_in(1, request("GET", "/alive"))
            has(s.until(1, b'"ok"'), b"200 OK", f"a backend that is known {name}")
            s.close()
    with Backend(tls=context) as b, Client("--connect", f"wss://localhost:{b.port}/",
                                           "--connect-pin", "00" * 32) as c:
        try:
            b.meet()
            ok(False, "another key is not believed")
        except (OSError, Closed):
            ok(True, "another key is not believed")
        ok(until(lambda: "no connection to the backend" in c.log()), "and that is told")
    shutil.rmtree(top)


def test_command_line():
    token = tempfile.NamedTemporaryFile("w", prefix="od-token-")
    token.write("one two")
    token.flush()
    for words, why in ((("--connect", "wss://x/"), "needs --connect-ca or --connect-pin"),
                       (("--connect", "http://x/"), "it must be"),
                       (("--connect", "unix:x"), "it must be"),
                       (("--connect", "ws://a b/"), "it must be"),
                       (("--connect", "ws://x/", "--connect-id", "../x"), "--connect-id"),
                       (("--connect", "ws://x/", "--connect-token", "/nowhere"), "/nowhere"),
                       (("--connect", "ws://x/", "--connect-token", token.name), "the token contains a blank"),
                       (("--connect", "wss://x/", "--connect-pin", "12"), "64 hexa")):
        with Client(*words, ready=False) as c:
            status = harness.wait_exit(c.process)
            ok(status in (100, 111), f"{' '.join(words)} is refused", status)
            has(c.log(), why, "and why is told")


if __name__ == "__main__":
    harness.main()
