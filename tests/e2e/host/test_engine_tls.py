#!/usr/bin/env python3
"""An engine on another machine: tcp://, over TLS, with the certificates that docker has."""
import os
import shutil
import socket
import ssl
import subprocess
import threading

import harness
from harness import eq, has, main, ok, skip
import engine as real
from certificates import EKU, Cert, x509
from fake_engine import Engine
from wire import Wire

TOP = harness.scratch("od-e2e-far-")
BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
ROOT = Cert("root", ca=True) if x509 else None


def put(folder, **texts):
    path = os.path.join(TOP, folder)
    os.makedirs(path, exist_ok=True)
    for name, text in texts.items():
        with open(os.path.join(path, name + ".pem"), "wb") as f:
            f.write(text)
    return path


class Far(Wire):
    """TLS in front of an engine's socket, or of nothing; asks for certificates."""

    def __init__(self, cert, path=None, asks=True):
        folder = put("server", cert=cert.pem(), key=cert.key_pem(), ca=ROOT.pem())
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.set_ciphers("DEFAULT@SECLEVEL=0")
        self.tls.load_cert_chain(folder + "/cert.pem", folder + "/key.pem")
        # As Go's: an end between two records is one.
        self.tls.options |= ssl.OP_IGNORE_UNEXPECTED_EOF
        if asks:
            self.tls.verify_mode = ssl.CERT_REQUIRED
            self.tls.load_verify_locations(folder + "/ca.pem")
        self.heard = b""
        super().__init__(path)

    def near(self, sock):
        sock.settimeout(harness.DEADLINE)
        return self.tls.wrap_socket(sock, server_side=True)

    def meet(self, near):
        if self.to:
            super().meet(near)
        else:
            self.heard += near.recv(4096)


def server(**more):
    return Cert("engine", ROOT, **{"dns": ["localhost"], "ips": ["127.0.0.1"], **more})


def certificates():
    """The folder of one who may come in."""
    c = Cert("me", ROOT, eku=[EKU.CLIENT_AUTH])
    return put("mine", ca=ROOT.pem(), cert=c.pem(), key=c.key_pem())


def od(far, *argv, folder=None, host="localhost", **more):
    env = {"PATH": "/bin:/usr/bin", "HOME": TOP, "OD_STATE_DIR": TOP + "/state",
           "DOCKER_HOST": f"tcp://{host}:{far.port}",
           "DOCKER_CERT_PATH": folder or certificates(), **more}
    env.update({k: os.environ[k] for k in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if k in os.environ})
    return subprocess.run([*harness.WRAP, harness.RUNTIME, *argv], capture_output=True, text=True,
                          env={k: v for k, v in env.items() if v}, timeout=harness.DEADLINE * 2)


def test_found():
    e = Engine(os.path.join(TOP, "engine"))
    with Far(server(), e.path) as far:
        for host in "localhost", "127.0.0.1":
            got = od(far, "ps", host=host)
            eq((got.returncode, got.stderr), (0, ""), f"an engine at {host}")
        home = put("home/.docker", ca=ROOT.pem())
        shutil.copytree(certificates(), home, dirs_exist_ok=True)
        got = od(far, "ps", folder="none", DOCKER_CERT_PATH="", HOME=os.path.dirname(home))
        eq(got.returncode, 0, "certificates in ~/.docker")
        got = od(far, "ps", DOCKER_CERT_PATH="", DOCKER_CONFIG=certificates())
        eq(got.returncode, 0, "or in DOCKER_CONFIG")
        got = od(far, "run", "--tls", "base:1")
        ok(got.returncode == 100 and "leave --tls out" in got.stderr, "--tls is refused", got.stderr)
    with Far(server(), e.path, asks=False) as far:
        eq(od(far, "ps", folder=put("bare", ca=ROOT.pem())).returncode, 0, "one that asks for nothing")
    e.close()


def test_refused():
    """Whom it does not believe hears nothing of it."""
    other, sub = Cert("root", ca=True), Cert("sub", ROOT)
    nc = Cert("nc", ROOT, ca=True, constraints=["example.org"], critical=False)
    for name, cert, words in (
            ("another authority", Cert("engine", other, dns=["localhost"]), "trusted authority|signature"),
            ("another name", server(dns=["engine.example"], ips=()), "another name"),
            ("the name as CN alone", Cert("localhost", ROOT), "another name"),
            ("an address for a name", server(dns=()), "another name"),
            ("expired", server(start=-9, end=-1), "expired"),
            ("not yet valid", server(start=1), "not valid yet"),
            ("for clients", server(eku=[EKU.CLIENT_AUTH]), "not for servers"),
            ("RSA of 1024 bits", server(kind="rsa1024"), "too short"),
            ("SHA-1", Cert("engine", dns=["localhost"]).sign_again(ROOT, "-sha1"), "not accepted"),
            ("an issuer that may not", Cert("engine", sub, dns=["localhost"]), "trusted authority|is not an authority"),
            ("an issuer with constraints", Cert("engine", nc, dns=["localhost"]),
             "trusted authority|constraints"),
            ("self-signed", Cert("engine", dns=["localhost"]), "not signed by a trusted authority")):
        with Far(cert, asks=False) as far:
            got = od(far, "ps")
            ok(got.returncode == 111 and any(w in got.stderr for w in words.split("|")),
               f"{name}: {got.stderr.strip()}", got.returncode)
            eq(far.heard, b"", "and hears nothing")


def test_not_let_in():
    with Far(server()) as far:
        got = od(far, "ps", folder=put("bare", ca=ROOT.pem()))
        ok(got.returncode == 111 and "engine at tcp://localhost" in got.stderr, "without a certificate",
           got.stderr)
        got = od(far, "ps", folder=put("empty"))
        ok(got.returncode == 111 and "ca.pem" in got.stderr and "DOCKER_CERT_PATH" in got.stderr,
           "without an authority", got.stderr)
        c = Cert("me", ROOT)
        got = od(far, "ps", folder=put("odd", ca=ROOT.pem(), cert=c.pem(), key=ROOT.key_pem()))
        ok(got.returncode == 111 and "does not belong" in got.stderr, "with another key", got.stderr)
        got = od(far, "ps", folder=put("half", ca=ROOT.pem(), cert=c.pem()))
        ok(got.returncode == 111 and "there is no key.pem" in got.stderr, "without its key", got.stderr)
    with socket.create_server(("127.0.0.1", 0)) as plain:
        def answer():
            sock, _ = plain.accept()
            sock.sendall(b"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 2\r\n\r\nOK")
            sock.recv(4096)
            sock.close()
        threading.Thread(target=answer, daemon=True).start()
        far.port = plain.getsockname()[1]
        got = od(far, "ps")
        ok(got.returncode == 111 and "not TLS at all" in got.stderr, "an engine without TLS", got.stderr)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        far.port = deaf.getsockname()[1]
        got = od(far, "ps")
    ok(got.returncode == 111 and "the connection to the engine at tcp://" in got.stderr and "was refused" in got.stderr, "nobody there", got.stderr)
    for host in "", "a b:1", "x:99999", "x/y", "u@x":
        got = od(far, "ps", DOCKER_HOST="tcp://" + host)
        ok(got.returncode == 100 and "tcp://" in got.stderr, f"no address: tcp://{host}", got.stderr)


def test_real():
    """All of a sandbox's life; its port is on the engine's machine, and is not used."""
    e = real.find()
    if not e or not BUSYBOX or not os.path.exists(harness.BOXED):
        skip("a sandbox of a real engine", "no engine, no busybox or no od-runtime-client")
        return
    with real.Box(e) as box, Far(server(), e.path) as far:
        env = {"DOCKER_HOST": f"tcp://localhost:{far.port}", "DOCKER_CERT_PATH": certificates()}
        with open(BUSYBOX, "rb") as f:
            files = {"bin/busybox": f.read(), "bin/sh": "busybox", "bin/cat": "busybox"}
        image = f"{real.PREFIX}/far:1"
        e.load(real.archive(files), image)
        name = box.name()
        got = box.od("run", "--name", name, image, env=env)
        eq((got.returncode, got.stderr), (0, ""), "run")
        e.call("GET", f"/containers/{name}/json")
        got = box.od("exec", name, "sh", "-c", "echo over TLS", env=env)
        eq((got.returncode, got.stdout), (0, "over TLS\n"), "exec")
        text = "".join(f"line {i}\n" for i in range(30000))
        with open(os.path.join(TOP, "file"), "w") as f:
            f.write(text)
        eq(box.od("cp", TOP + "/file", f"{name}:/file", env=env).returncode, 0, "cp in")
        eq(box.od("cp", f"{name}:/file", TOP + "/back", env=env).returncode, 0, "cp out")
        with open(os.path.join(TOP, "back")) as f:
            ok(f.read() == text, "what came back is whole")
        got = box.od("shell", name, env=env, stdin="cat /file; echo end $((6*7))\n")
        ok(got.returncode == 0 and got.stdout == text + "end 42\n",
           "a script for the shell, to its end", (got.returncode, got.stdout[-200:], got.stderr))
        has(box.od("logs", name, env=env).stderr + box.od("logs", name, env=env).stdout,
            "initialized", "logs")
        eq(box.od("rm", "-f", name, env=env).returncode, 0, "rm")


if __name__ == "__main__":
    if x509:
        main()
    skip("an engine over TLS", "no python3-cryptography")
    print("1..1")
