#!/usr/bin/env python3
"""cp from sandboxes that have much: many files, and archives without an end."""
import io
import os
import shutil
import socket
import subprocess
import tarfile

import harness
from accept import serve_each
from fake_engine import Engine, read_head, response
from harness import Client, eq, has, ok, skip
from program import write_program

TEMP = harness.scratch("od-copy-")
FAKE = os.path.join(TEMP, "client")
MANY = 150000
COUNT = 0


def od(e, *argv, before=(), seconds=200):
    env = {"PATH": os.environ["PATH"], "OD_STATE_DIR": os.path.join(TEMP, "state"),
           "OD_RUNTIME_CLIENT": FAKE, "DOCKER_HOST": "unix://" + e.path}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
    return subprocess.run([*before, *harness.WRAP, harness.RUNTIME, *argv], env=env, text=True,
                          capture_output=True, timeout=seconds * harness.SLOW)


def sandbox(port):
    """An engine that says that its sandbox box listens on this port."""
    global COUNT
    COUNT += 1
    e = Engine(os.path.join(TEMP, f"e{COUNT}"))
    got = od(e, "run", "--via", "build", "base:1", "--name", "box")
    eq((got.returncode, got.stderr), (0, ""), "a sandbox is started")
    if port:
        e.find_container("box").port = port
    return e


def test_many_files():
    """More files than an archive from a stranger may have, in bounded memory."""
    with Client() as client:
        source = os.path.join(client.work, "many")
        for i in range(MANY):
            if i % 1000 == 0:
                folder = os.path.join(source, str(i // 1000))
                os.makedirs(folder)
            os.close(os.open(f"{folder}/{i}", os.O_CREAT | os.O_WRONLY))
        e = sandbox(client.port)
        target = os.path.join(TEMP, "target")
        limit = ["prlimit", "--as=64000000"] if harness.SHIPS else []
        got = od(e, "cp", f"box:{source}", target, before=limit)
        eq((got.returncode, got.stderr), (0, ""), f"{MANY} files are copied")
        found = sum(len(files) for _, _, files in os.walk(target))
        eq(found, MANY, "and are there")
        eq([n for n in os.listdir(TEMP) if n.startswith(".od-unpack")], [],
           "the folder they came by is not")
        shutil.rmtree(target)
        od(e, "rm", "-f", "box")
        e.close()


def test_sparse():
    """A hole stays a hole, in both directions."""
    size = 1 << 28
    with Client() as client:
        source = os.path.join(client.work, "sparse")
        with open(source, "wb") as f:
            for at in (0, 5000000, size - 70000):
                f.seek(at)
                f.write(b"data" * 1000)
            f.truncate(size)
        e = sandbox(client.port)
        target, back = os.path.join(TEMP, "down"), os.path.join(client.work, "back")
        for name, argv, path in (("from a sandbox", (f"box:{source}", target), target),
                                 ("to a sandbox", (target, f"box:{back}"), back)):
            eq(od(e, "cp", *argv).returncode, 0, f"{name}: the file is copied")
            st = os.stat(path)
            eq(st.st_size, size, f"{name}: its size")
            ok(st.st_blocks * 512 < 1 << 20, f"{name}: it takes as little space", st.st_blocks)
            eq(subprocess.run(["cmp", source, path]).returncode, 0, f"{name}: its content")
        od(e, "rm", "-f", "box")
        e.close()


class Endless:
    """A server whose archive of any path is a file that never ends, or, with names, ever
    more files. It notes the least free space of the folder that it is told."""

    def __init__(self, names=False):
        self.names, self.folder, self.least = names, None, None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.parts = []
        serve_each(self.listener, self.serve)

    @staticmethod
    def header(name, size):
        block = bytearray(512)
        block[:len(name)] = name.encode()
        block[100:108], block[108:116], block[116:124] = b"0000644\0", b"0000000\0", b"0000000\0"
        block[124:136] = b"%011o\0" % size
        block[136:148], block[148:156], block[156:157] = b"00000000000\0", b" " * 8, b"0"
        block[257:265] = b"ustar\x0000"
        block[148:156] = b"%06o\0 " % sum(block)
        return bytes(block)

    def look(self):
        if self.folder:
            st = os.statvfs(self.folder)
            free = st.f_favail / st.f_files if self.names else st.f_bavail / st.f_blocks
            self.least = free if self.least is None else min(free, self.least)

    def serve(self, conn):
        with conn:
            request, _ = read_head(conn)
            if not request:
                return
            if request.path == "/v1/files":
                conn.sendall(b"HTTP/1.1 409 X\r\nContent-Length: 2\r\n\r\n{}")
                return
            conn.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            try:
                if not self.names:
                    self.chunk(conn, self.header("big", 0o77777777777))
                for i in range(1 << 30):
                    self.chunk(conn, b"".join(self.header(f"n{i}-{j}", 0) for j in range(100))
                               if self.names else bytes(1 << 18))
                    self.look()
            except OSError:
                pass
            self.look()

    @staticmethod
    def chunk(conn, data):
        conn.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def close(self):
        self.listener.close()


def test_endless():
    """A sandbox does not fill the disk: bytes and inodes."""
    if os.geteuid():
        skip("endless", "only root can mount a disk of a known size")
        return
    for name, server, size in (("bytes", Endless(), "size=160m"),
                               ("inodes", Endless(names=True), "nr_inodes=30000")):
        e = sandbox(server.port)
        disk = os.path.join(TEMP, f"disk-{name}")
        os.mkdir(disk)
        eq(subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", disk]).returncode, 0,
           f"a disk with few {name}")
        try:
            server.folder = disk
            got = od(e, "cp", "box:/x", disk)
            eq(got.returncode, 111, f"{name}: the copy ends")
            has(got.stderr, "nearly full", f"{name}: the error says why")
            eq(os.listdir(disk), [], f"{name}: nothing of it stays")
            ok(server.least > 0.005, f"{name}: some were free all the time", server.least)
        finally:
            subprocess.run(["umount", disk])
        server.close()
        od(e, "rm", "-f", "box")
        e.close()


def test_deep_names():
    """Folders that only the name of a file tells of count like entries."""
    if os.geteuid():
        skip("deep names", "only root can mount a disk of a known size")
        return
    depth, inodes_n = 1900, 300000
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w", format=tarfile.GNU_FORMAT) as tar:
        # Nearly all inodes of the disk, but less than the 1 % that must stay free.
        for i in range((inodes_n - 500) // (depth + 1)):
            tar.addfile(tarfile.TarInfo(f"{i}" + "/a" * depth))
    e = sandbox(0)
    e.execute = lambda request: (
        response(200, body.getvalue()) if request.path == "/v1/files/tar" else response(409))
    disk = os.path.join(TEMP, "disk-deep")
    os.mkdir(disk)
    eq(subprocess.run(["mount", "-t", "tmpfs", "-o", f"nr_inodes={inodes_n}", "tmpfs",
                       disk]).returncode, 0, "a disk with few inodes")
    try:
        got = od(e, "cp", "box:/x", disk)
        eq(got.returncode, 111, "the copy ends before the disk is full")
        has(got.stderr, "nearly full", "the error says why")
        eq(os.listdir(disk), [], "nothing of it stays")
    finally:
        subprocess.run(["umount", disk])
    od(e, "rm", "-f", "box")
    e.close()


write_program(FAKE)
harness.main()
