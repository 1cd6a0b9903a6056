"""Rows of the file routes, each beside what the same bytes take without us.

For 1 GiB the floor is two processes: cat of a file in the page cache into a loopback
socket, and cat of that socket into a file. Floor and ours alternate, into a file that is
not there, with nothing left to be written to a disk; neither waits for it.
"""
import filecmp
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
import zipfile

from rows import row

import harness

GIB = 1 << 30
PLACES = (("on disk", None), ("in memory", "/dev/shm"))


def dial(port):
    """A blocking socket, as cat needs it."""
    sock = socket.create_connection(("127.0.0.1", port))
    sock.settimeout(None)
    return sock


def cat(source, target):
    return subprocess.Popen(["cat"], stdin=source, stdout=target)


def finish(*processes):
    for p in processes:
        if p.wait():
            raise RuntimeError(f"{p.args} failed")


def timed(step, *words):
    os.sync()
    t = time.perf_counter()
    step(*words)
    return time.perf_counter() - t


# --- 1 GiB --------------------------------------------------------------------------

def floor(source, target):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        out = dial(listener.getsockname()[1])
        into, _ = listener.accept()
    with open(source, "rb") as f:
        sender = cat(f, out)
    with open(target, "wb") as f:
        receiver = cat(into, f)
    out.close()
    into.close()
    finish(sender, receiver)


def send(client, head, source, tail=b"", watch=None):
    """A request with that file in its body; the answer."""
    with harness.Conn(client.port) as conn:
        conn.sock.settimeout(None)
        conn.send(head)
        with open(source, "rb") as f:
            sender = cat(f, conn.sock)
        if watch:
            watch(sender)
        finish(sender)
        answer = conn.send(tail).response(60)
    if answer.status not in (200, 201):
        raise RuntimeError(repr(answer))
    return answer.json()


def upload_form(client, source, target, watch=None):
    folder, name = os.path.split(target)
    before = (f'--od-bench\r\nContent-Disposition: form-data; name="file"; filename="{name}"'
              "\r\n\r\n").encode()
    after = b"\r\n--od-bench--\r\n"
    size = len(before) + os.path.getsize(source) + len(after)
    head = harness.request("POST", f"/upload_file?destination={folder}", Content_Length=str(size),
                           Content_Type="multipart/form-data; boundary=od-bench")
    send(client, head + before, source, after, watch)


def upload_put(client, source, target, watch=None):
    head = harness.request("PUT", f"/v1/files?path={target}",
                           Content_Length=str(os.path.getsize(source)))
    send(client, head, source, watch=watch)


def receive(client, request, target, watch=None):
    """The answer as it travels, its head and all."""
    with dial(client.port) as sock, open(target, "wb") as f:
        sock.sendall(request)
        receiver = cat(sock, f)
        if watch:
            watch(receiver)
        finish(receiver)


def download_file(client, source, target, watch=None):
    receive(client, harness.request("GET", f"/v1/files?path={source}", Connection="close"),
            target, watch)


def download_zip(client, source, target, watch=None):
    receive(client, harness.request("GET", f"/download_files?path={source}", Connection="close"),
            target, watch)


class Memory:
    """How much more memory a client and its jobs have while a process runs, at most."""

    def __init__(self, client):
        self.client = client
        self.before = self.now()
        self.most = 0

    def now(self):
        total = 0
        for pid in (self.client.pid, *harness.descendants(self.client.pid)):
            try:
                total += harness.pss_kib(pid)
            except RuntimeError:
                pass  # it has ended
        return total

    def watch(self, process):
        while process.poll() is None:
            self.most = max(self.most, self.now() - self.before)


GIB_STEPS = (("POST /upload_file", upload_form, True), ("PUT /v1/files", upload_put, True),
             ("GET /v1/files", download_file, False), ("GET /download_files", download_zip, False))


def gib(pairs=5):
    for place, folder in PLACES:
        top = tempfile.mkdtemp(prefix="od-bench-", dir=folder)
        try:
            for step in GIB_STEPS:
                one_gib(place, top, pairs, *step)
        finally:
            shutil.rmtree(top)


def one_gib(place, top, pairs, what, step, uploads):
    source, target = os.path.join(top, "source"), os.path.join(top, "target")
    ours, floors = [], []
    if not os.path.exists(source):
        with open(source, "wb") as f:
            for _ in range(GIB >> 20):
                f.write(os.urandom(1 << 20))
    with harness.Client(role="init") as client:
        client.get("/alive")
        for _ in range(pairs):
            floors.append(timed(floor, source, target))
            os.unlink(target)
            ours.append(timed(step, client, source, target))
            if uploads and not ours[1:] and not filecmp.cmp(source, target, shallow=False):
                raise RuntimeError(f"{what}: not what was sent")
            if os.path.getsize(target) < GIB:
                raise RuntimeError(f"{what}: cut short")
            os.unlink(target)
        memory = Memory(client)
        step(client, source, target, memory.watch)
        os.unlink(target)
    row(f"{what}, 1 GiB {place}", GIB / 1e6 / statistics.median(ours), "MB/s", None,
        GIB / 1e6 / statistics.median(floors), "cat through a socket")
    row("as a share of the floor's speed", 100 * statistics.median(
        f / o for f, o in zip(floors, ours)), "%", 70, most=False)
    row("growth of our memory (PSS)", memory.most, "KiB", 2048)


# --- Trees --------------------------------------------------------------------------

def tree(top, folders, files, content):
    for i in range(folders):
        path = os.path.join(top, f"folder-{i}")
        os.mkdir(path)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        for j in range(files):
            fd = os.open(f"file-{j}.txt", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder)
            os.write(fd, content)
            os.close(fd)
        os.close(folder)


def million():
    """They take 6 GB; in memory where that is, for not every disk makes so many in a minute."""
    room = os.statvfs("/dev/shm")
    in_memory = room.f_bavail * room.f_frsize > 8 * GIB and room.f_favail > 2_000_000
    top = tempfile.mkdtemp(prefix="od-bench-", dir="/dev/shm" if in_memory else None)
    there = os.path.join(top, "tree")
    os.mkdir(there)
    try:
        tree(there, 1000, 1000, b"one of a million\n")
        for what, path, check in (("zip", "/download_files", check_zip),
                                  ("tar", "/v1/files/tar", check_tar)):
            target = os.path.join(top, what)
            one_million(what, f"{path}?path={there}", target)
            row(f"files in the {what} that are not as they were", check(target), "", 0)
            os.unlink(target)
    finally:
        shutil.rmtree(top)


def one_million(what, path, target):
    """HTTP/1.0, so that what comes behind the head is the archive alone."""
    request = f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode()
    with harness.Client(role="init") as client, open(target, "wb") as f:
        memory = Memory(client)
        with dial(client.port) as sock:
            t = time.perf_counter()
            sock.sendall(request)
            data = b""
            while not data.partition(b"\r\n\r\n")[2]:
                data += sock.recv(4096)
            first = time.perf_counter() - t
            f.write(data.partition(b"\r\n\r\n")[2])
            f.flush()
            receiver = cat(sock, f)
            memory.watch(receiver)
            finish(receiver)
            took = time.perf_counter() - t
    row(f"{what} of a million files: its first byte", first * 1000, "ms", 200)
    row("all of it", took, "s")
    row("growth of our memory (PSS)", memory.most, "KiB", 8192)


def check_zip(path):
    if subprocess.run(["unzip", "-tqq", path], stdout=subprocess.DEVNULL).returncode:
        return 1_000_000
    with zipfile.ZipFile(path) as z:
        return abs(len(z.namelist()) - 1_000_000) + (z.testzip() is not None)


def check_tar(path):
    done = subprocess.run(["tar", "tf", path], stdout=subprocess.PIPE)
    files = sum(line.endswith(b".txt") for line in done.stdout.splitlines())
    return 1_000_000 if done.returncode else 1_000_000 - files


def small():
    """10,000 files in one archive, as tar unpacks them."""
    for place, folder in PLACES:
        top = tempfile.mkdtemp(prefix="od-bench-", dir=folder)
        there = os.path.join(top, "tree")
        os.mkdir(there)
        try:
            tree(there, 100, 100, b"one of ten thousand lines\n" * 80)
            for what, step in (("tar", upload_tar), ("zip", upload_zip)):
                archive = shutil.make_archive(os.path.join(top, "all"), what, there)
                one_small(place, top, what, step, archive)
        finally:
            shutil.rmtree(top)


def one_small(place, top, what, step, archive, pairs=3):
    floors, ours = [], []
    target = os.path.join(top, "target")
    with harness.Client(role="init") as client:
        for _ in range(pairs):
            for times, unpack in ((floors, tar_x), (ours, step)):
                os.mkdir(target)
                times.append(timed(unpack, client, os.path.join(top, "all.tar")
                                   if unpack is tar_x else archive, target))
                shutil.rmtree(target)
    ours_s, floor_s = statistics.median(ours), statistics.median(floors)
    row(f"10,000 files uploaded in a {what}, {place}", ours_s, "s", None, floor_s, "tar x")
    row("as a multiple of tar's time", ours_s / floor_s, "times", 2)


def tar_x(_, archive, target):
    finish(subprocess.Popen(["tar", "xf", archive, "-C", target]))


def upload_tar(client, archive, target):
    head = harness.request("PUT", f"/v1/files/tar?path={target}",
                           Content_Length=str(os.path.getsize(archive)))
    send(client, head, archive)


def upload_zip(client, archive, target):
    upload_form(client, archive, os.path.join(target, "all.zip"))


STEPS = (gib, million, small)
