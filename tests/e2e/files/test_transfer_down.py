#!/usr/bin/env python3
"""Downloads that go past the server's memory: slow readers, hang-ups, jobs that die."""
import io
import os
import random
import signal
import time
import zipfile

import harness
from harness import Client, Closed, Conn, eq, ok, request, until
from test_transfer import body_of, download, quote, write

MUCH = 48 << 20  # more than all pipes and sockets on the way hold


def jobs(client):
    return set(harness.children(client.pid))


def start(client, conn, path, field="path", **fields):
    """A reply that has begun, with its job."""
    before = jobs(client)
    conn.send(request("GET", f"{path}?{field}={quote(client.work)}", **fields))
    eq(conn.response(head=True).status, 200, f"{path} begins")
    return (jobs(client) - before or {0}).pop()


def rest(conn, n):
    """The next n bytes; less when the connection ends before."""
    out, conn.data = bytearray(conn.data), b""
    conn.sock.settimeout(harness.DEADLINE)
    while len(out) < n and (piece := conn.sock.recv(1 << 20)):
        out += piece
    return out


def fill(client, size=MUCH):
    data = random.Random(1).randbytes(1 << 20) * (size >> 20)
    write(client.work + "/big", data)
    return data


def test_many_and_large():
    """Small files, which are copied, between large ones, which are not."""
    rand = random.Random(3)
    want = {}
    with Client() as client:
        for i, size in enumerate([0, 1, 127, 128, 65530, 65531, 65532, 262143, 262144, 262145,
                                  524288, 1000000, *rand.choices(range(5000), k=600)]):
            os.makedirs(f"{client.work}/d{i % 7}", exist_ok=True)
            want[f"d{i % 7}/f{i}"] = rand.randbytes(size)
            write(f"{client.work}/d{i % 7}/f{i}", want[f"d{i % 7}/f{i}"])
        with Conn(client.port) as c:
            for query in "", "&compress=true", "":
                c.send(request("GET", f"/download_files?path={quote(client.work)}{query}"))
                c.response(head=True)
                z = zipfile.ZipFile(io.BytesIO(body_of(c, None)))
                eq(z.testzip(), None, f"a zip in order {query}")
                ok({n: z.read(n) for n in z.namelist()} == want, "every byte of every file")
            c.send(request("GET", "/alive"))
            eq(c.response().status, 200, "all over one connection, which lives")


def test_large():
    with Client() as client:
        data = fill(client, 100 << 20)
        z = zipfile.ZipFile(io.BytesIO(download(client, client.work).body))
        ok(z.read("big") == data, "100 MiB in a zip")
        del z
        path = quote(client.work + "/big")
        with Conn(client.port) as c:
            c.send(request("GET", f"/v1/files?path={path}"))
            eq(c.response(head=True).status, 200, "the file alone")
            ok(rest(c, len(data)) == data, "is the same")
            c.send(request("HEAD", f"/v1/files?path={path}"))
            ok(c.response(head=True).status in (200, 405), "HEAD has no body")
        with Conn(client.port) as c:
            c.send(request("GET", f"/v1/files?path={path}", Range="bytes=1000001-90000000"))
            eq(c.response(head=True).status, 206, "a range")
            ok(rest(c, 89000000) == data[1000001:90000001], "of those bytes")
            c.send(request("GET", "/alive"))
            eq(c.response().status, 200, "the connection lives")


def test_slow_reader():
    """It waits at times, and takes a little at others; somebody else is served meanwhile."""
    rand = random.Random(5)
    with Client() as client:
        data = fill(client)
        with Conn(client.port) as c, Conn(client.port) as other:
            start(client, c, "/download_files")
            got = []
            for i in range(40):
                time.sleep(rand.random() / 50)
                c.sock.settimeout(harness.DEADLINE)
                got.append(c.sock.recv(rand.choice((1, 1000, 100000, 1000000))))
                if i % 10 == 0:
                    eq(other.send(request("GET", "/alive")).response().status, 200, "others are served")
            c.data += b"".join(got)
            z = zipfile.ZipFile(io.BytesIO(body_of(c, None)))
            ok(z.read("big") == data, "and gets everything")
            c.send(request("GET", "/alive"))
            eq(c.response().status, 200, "the connection lives")


def test_together():
    """Several at once, each with its own bytes."""
    with Client() as client:
        bodies = []
        for i in range(4):
            bodies.append(random.Random(i).randbytes(1 << 20) * 8)
            os.mkdir(f"{client.work}/{i}")
            write(f"{client.work}/{i}/f", bodies[i])
        conns = [Conn(client.port) for _ in bodies]
        for i, c in enumerate(conns):
            c.send(request("GET", f"/download_files?path={quote(client.work)}/{i}"))
            c.response(head=True)
        for i in (2, 0, 3, 1):
            z = zipfile.ZipFile(io.BytesIO(body_of(conns[i], None)))
            ok(z.read("f") == bodies[i], f"the one of {i}")
            conns[i].close()


def test_leave():
    """At the start and amid it, with a reset and without."""
    with Client() as client:
        fill(client)
        settled = len(jobs(client))
        fds = len(os.listdir(f"/proc/{client.pid}/fd"))
        for amount in 0, 5000000:
            for leave in Conn.reset, Conn.close:
                with Conn(client.port) as c:
                    start(client, c, "/download_files")
                    got = 0
                    while got < amount:
                        got += len(c.sock.recv(1 << 20))
                    leave(c)
                ok(until(lambda: len(jobs(client)) <= settled), "who leaves ends the job", amount)
        ok(until(lambda: len(os.listdir(f"/proc/{client.pid}/fd")) <= fds), "no descriptor stays")
        eq(client.get("/alive").status, 200, "the server lives")


def ends_badly(conn):
    """Whether the rest of a chunked reply is no whole one."""
    try:
        body_of(conn, None)
    except (Closed, OSError, ValueError):
        return True
    return False


def test_killed_job():
    """What has come before may be read; nobody takes it for all."""
    with Client() as client:
        data = fill(client)
        for amount in 0, 5000000:
            with Conn(client.port) as c:
                job = start(client, c, "/download_files")
                while len(c.data) < amount:
                    c.data += c.sock.recv(1 << 20)
                ok(job, "its job runs")
                os.kill(job, signal.SIGKILL)
                ok(ends_badly(c), "a killed job's reply is cut", amount)
        with Conn(client.port) as c:
            before = jobs(client)
            c.send(request("GET", f"/v1/files?path={quote(client.work)}/big"))
            eq(c.response(head=True).status, 200, "one file begins")
            os.kill((jobs(client) - before).pop(), signal.SIGKILL)
            got = len(c.data)
            try:
                while piece := c.sock.recv(1 << 20):
                    got += len(piece)
            except ConnectionResetError:
                pass
            ok(got < len(data), "and is shorter than it said", got)
        ok(download(client, client.work).body[:2] == b"PK", "the next one is whole")


def test_shrinking_file():
    """A file that changes while it is sent: an archive in order, or none."""
    with Client() as client:
        data = fill(client)
        with Conn(client.port) as c:
            start(client, c, "/download_files")
            os.truncate(client.work + "/big", 1 << 20)
            z = zipfile.ZipFile(io.BytesIO(body_of(c, None)))
            eq(z.testzip(), None, "its checksum is that of what was sent")
            ok(data.startswith(z.read("big")), "which was in the file")
        write(client.work + "/big", data)
        with Conn(client.port) as c:
            start(client, c, "/download_files")
            with open(client.work + "/big", "r+b") as f:
                f.write(b"\0" * MUCH)
            z = zipfile.ZipFile(io.BytesIO(body_of(c, None)))
            eq(z.testzip(), None, "the same for one that is written to")


def test_memory():
    with Client() as client:
        if not harness.SHIPS:
            harness.skip("growth", "sanitizers keep memory")
            return
        fill(client, 256 << 20)
        download(client, client.work + "/none")
        before = harness.pss_kib(client.pid)
        with Conn(client.port) as c:
            start(client, c, "/download_files")
            most = 0
            n = len(c.data)
            while n < 256 << 20 and (piece := c.sock.recv(1 << 20)):
                n += len(piece)
                most = max(most, harness.pss_kib(client.pid) - before)
        harness.under(most, 2048, "KiB of growth on the way down")


if __name__ == "__main__":
    harness.main()
