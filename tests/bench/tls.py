"""TLS of the server beside openssl s_server, which is held to the same suite and curve."""
import os
import re
import shutil
import ssl
import statistics
import subprocess
import tempfile
import time

import harness
from rows import row

KINDS = {"P-256": ("ECDSA", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
         "RSA of 2048 bits": ("RSA", "rsa:2048")}
SUITES = ("AES128-GCM-SHA256", "CHACHA20-POLY1305")
SECONDS, ROUNDS, IDLE = 3, 3, 200
BULK = 512 << 20


def certificate(top, kind):
    files = os.path.join(top, "crt"), os.path.join(top, "key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", *KINDS[kind][1:], "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", files[1], "-out", files[0]], check=True, capture_output=True)
    return files


class Floor:
    """openssl s_server; it answers GET /FILE with a file of its folder."""

    def __init__(self, cert, key, suite, folder):
        self.port = harness.free_port()
        self.process = subprocess.Popen(
            ["openssl", "s_server", "-accept", str(self.port), "-cert", cert, "-key", key, "-tls1_2",
             "-cipher", suite, "-groups", "X25519", "-no_ticket", "-no_cache", "-quiet", "-WWW"],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        harness.until(lambda: harness.listening(self.port))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def spent(pid):
    """Seconds of a processor that the process has used."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def handshakes(port, pid, suite):
    """(per second, the server's milliseconds of each), asked for by two at once."""
    before = spent(pid)
    both = [subprocess.Popen(["openssl", "s_time", "-connect", f"localhost:{port}", "-new", "-time",
                              str(SECONDS), "-tls1_2", "-cipher", suite],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for _ in range(2)]
    each = [re.search(r"(\d+) connections in (\d+) real seconds", p.communicate()[0])
            for p in both]
    n = sum(int(m[1]) for m in each)
    return n / max(int(m[2]) for m in each), (spent(pid) - before) * 1000 / n


def bulk(url, pid, cert, suite):
    """(MB per second, the server's seconds for a GB)."""
    before, t = spent(pid), time.perf_counter()
    done = subprocess.run(["curl", "-sS", "--fail", "--tls-max", "1.2", "--ciphers", suite, "--cacert",
                           cert, "-o", "/dev/null", "-w", "%{size_download}", url],
                          capture_output=True, text=True, check=True)
    took, got = time.perf_counter() - t, int(done.stdout)
    assert got >= BULK, done.stdout
    return got / took / 1e6, (spent(pid) - before) * 1e9 / got


def idle(cert, key):
    """What a connection keeps that has carried more than its buffers hold, both ways."""
    with harness.Client("--tls-cert", cert, "--tls-key", key) as client:
        context = ssl.create_default_context(cafile=cert)
        body = harness.action("write", path="x", content="x" * 40000)
        ask = harness.request("POST", "/execute_action", body) + \
            harness.request("POST", "/execute_action", harness.action("read", path="x"))

        def one():
            conn = harness.Conn(client.port)
            conn.sock = context.wrap_socket(conn.sock, server_hostname="localhost")
            conn.send(ask)
            assert [conn.response().status, conn.response().status] == [200, 200]
            return conn
        kept = [one() for _ in range(10)]
        before = harness.own_kib(client.pid)
        kept += [one() for _ in range(IDLE)]
        return (harness.own_kib(client.pid) - before) / IDLE


def tls():
    if not shutil.which("openssl"):
        print("left out: TLS: no openssl")
        return
    top = tempfile.mkdtemp(prefix="od-bench-", dir="/dev/shm")
    with open(os.path.join(top, "bulk"), "wb") as f:
        f.truncate(BULK)
    for kind, (name, *_) in KINDS.items():
        cert, key = certificate(top, kind)
        for suite in SUITES:
            suite = f"ECDHE-{name}-{suite}"
            with harness.Client("--tls-cert", cert, "--tls-key", key) as client, \
                    Floor(cert, key, suite, top) as floor:
                if suite.endswith(SUITES[0]):
                    pairs = [(handshakes(client.port, client.pid, suite),
                              handshakes(floor.port, floor.pid, suite)) for _ in range(ROUNDS)]
                    show(f"TLS handshakes with {kind}", "per s", pairs, "ms of the server for each")
                if kind == "P-256":
                    pairs = [(bulk(f"https://localhost:{client.port}/v1/files?path={top}/bulk", client.pid,
                                   cert, suite),
                              bulk(f"https://localhost:{floor.port}/bulk", floor.pid, cert, suite))
                             for _ in range(ROUNDS)]
                    show(f"GET of a file, {suite}", "MB/s", pairs, "s of the server for a GB")
        if kind == "P-256":
            row("an idle TLS connection after 40 KB each way, our own memory", idle(cert, key), "KiB", 48)
    shutil.rmtree(top)


def show(what, unit, pairs, cost):
    ours, theirs = ([[run[side][i] for run in pairs] for i in (0, 1)] for side in (0, 1))
    for i, of in enumerate((unit, cost)):
        row(what if i == 0 else what + ", processor", statistics.median(ours[i]), of, None,
            statistics.median(theirs[i]), "openssl s_server")
