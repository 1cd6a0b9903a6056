#!/usr/bin/env python3
"""Files over the wire: up, down, listed; what archives may do and what not."""
import io
import json
import os
import random
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.parse
import zipfile

import harness
import test_tls as tls
from harness import Client, Conn, eq, has, ok, request, skip, under, until

BOUNDARY = "6a42a55c8368807ce24fe82c34763887"


def quote(path):
    return urllib.parse.quote(path, safe="")


def form(name, data, field="file"):
    """The body that httpx makes for one file; name may be bytes."""
    if isinstance(name, str):
        name = name.encode()
    return (f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"; '
            'filename="'.encode() + name + b'"\r\nContent-Type: text/plain\r\n\r\n' + data
            + f"\r\n--{BOUNDARY}--\r\n".encode())


def upload(client, destination, name, data, query="", body=None):
    with Conn(client.port) as c:
        c.send(request("POST", f"/upload_file?destination={quote(destination)}{query}",
                       form(name, data) if body is None else body,
                       Content_Type=f"multipart/form-data; boundary={BOUNDARY}"))
        return c.response()


def body_of(conn, answer, seconds=60):
    """What follows a head with chunks."""
    out = bytearray()
    end = time.monotonic() + seconds
    while True:
        size = int(conn._until(b"\r\n", end), 16)
        out += conn._take(size, end)
        conn._take(2, end)
        if size == 0:
            return bytes(out)


def get(client, path, **fields):
    """A GET whose answer may come in chunks."""
    with Conn(client.port) as c:
        c.send(request("GET", path, **fields))
        answer = c.response(head=True)
        if answer.field("transfer-encoding") == "chunked":
            answer.body = body_of(c, answer)
        elif answer.field("content-length"):
            answer.body = c._take(int(answer.field("content-length")),
                                  time.monotonic() + harness.DEADLINE)
        return answer


def download(client, path):
    return get(client, f"/download_files?path={quote(path)}")


def names_below(top):
    """Everything below a folder, as bytes."""
    out = set()
    for folder, folders, files in os.walk(os.fsencode(top)):
        for name in folders + files:
            out.add(os.path.relpath(os.path.join(folder, name), os.fsencode(top)))
    return out


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


# --- The contract -------------------------------------------------------------

def test_upload():
    with Client() as client:
        work = client.work
        answer = upload(client, work, "t.txt", b"hello")
        eq(answer.status, 200, "an upload")
        eq(answer.json(), {"filename": "t.txt", "destination": work, "recursive": False},
           "its answer")
        eq(answer.body, json.dumps(answer.json(), separators=(",", ":")).encode(), "compact")
        path = work + "/t.txt"
        eq(read(path), b"hello", "the file")
        eq(stat.S_IMODE(os.stat(path).st_mode), 0o644, "its mode")
        os.chmod(path, 0o751)
        upload(client, work, "t.txt", b"again")
        eq((read(path), stat.S_IMODE(os.stat(path).st_mode)), (b"again", 0o751),
           "a second one replaces it and keeps the mode")
        deep = work + "/a/b c/d"
        eq(upload(client, deep, "../../x", b"1").status, 200, "missing folders are made")
        eq(sorted(os.listdir(work)), ["a", "t.txt"], "a name has no folders")
        eq(read(deep + "/x"), b"1", "and stays where it was sent")
        eq(upload(client, work, "empty", b"").status, 200, "nothing at all")
        eq(read(work + "/empty"), b"", "is an empty file")
        raw = b"n\xff\xc3\xa4"
        eq(upload(client, work, raw, b"2").status, 200, "a name that is no UTF-8")
        ok(raw in os.listdir(os.fsencode(work)), "is kept byte for byte")
        eq(upload(client, work, "x", b"", body=(
            f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; "
            "filename*=utf-8''a%0Ab\r\n\r\nz\r\n"
            f"--{BOUNDARY}--\r\n").encode()).status, 200, "an extended name")
        eq(read(work + "/a\nb"), b"z", "may hold a newline")
        ok(not [n for n in os.listdir(work) if n.startswith(".od")], "nothing else is left")


def test_upload_refused():
    with Client() as client:
        work = client.work
        for destination in "relative", "", "./x":
            answer = upload(client, destination, "t", b"1")
            eq((answer.status, answer.json()["detail"]),
               (500, "400: Destination must be an absolute path"), f"{destination!r}")
        answer = upload(client, work, "t.txt", b"1", "&recursive=true")
        eq((answer.status, answer.json()["detail"]),
           (500, "400: Recursive uploads must be zip files"), "recursive needs a zip")
        for word in "TRUE", "1", "on", "Yes", "t":
            eq(upload(client, work, "t.txt", b"1", "&recursive=" + word).status, 500,
               f"recursive={word} is true")
        for word in "False", "0", "OFF", "no", "n", "F":
            eq(upload(client, work, "t.txt", b"1", "&recursive=" + word).status, 200,
               f"recursive={word} is false")
        for word in "", "2", "maybe":
            answer = upload(client, work, "t.txt", b"1", "&recursive=" + word)
            eq(answer.status, 422, f"recursive={word} is neither")
            eq(answer.json()["detail"], "Invalid request parameters", "in those words")
        for name, body in (("no part", f"--{BOUNDARY}--\r\n".encode()),
                           ("another part", form("a", b"x", field="other")),
                           ("half a form", form("a", b"x")[:-20]),
                           ("no form", b"hello"),
                           ("an empty name", form("", b"x")),
                           ("two dots", form("..", b"x"))):
            answer = upload(client, work, "t", b"", body=body)
            eq(answer.status, 422, name)
        with Conn(client.port) as c:
            c.send(request("POST", "/upload_file", b"{}"))
            eq(c.response().status, 422, "another content type")
        answer = upload(client, "/proc/nothing", "t", b"1")
        eq(answer.status, 500, "where nothing can be made")
        has(answer.json()["detail"], "/proc/nothing", "says where")
        os.mkdir(work + "/d")
        answer = upload(client, work, "d", b"1")
        eq((answer.status, answer.json()["detail"]),
           (500, f"[Errno 21] Is a directory: '{work}/d'"), "a folder is in the way")
        os.mkfifo(work + "/pipe")
        eq(upload(client, work, "pipe", b"1").status, 500, "a pipe is in the way")
        eq(sorted(os.listdir(work)), ["d", "pipe", "t.txt"], "nothing is left behind")
        eq(client.process.poll(), None, "the server lives")


def zipped(*entries, method=zipfile.ZIP_STORED, comment=b""):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for entry in entries:
            z.writestr(*entry)
        z.comment = comment
    return out.getvalue()


def info(name, mode):
    i = zipfile.ZipInfo(name)
    i.external_attr = mode << 16
    i.create_system = 3
    return i


def test_upload_zip():
    with Client() as client:
        work = client.work
        data = zipped(("dir/a.txt", "A"), ("dir/sub/b", "B"), (info("dir/x", 0o100755), "#!"))
        answer = upload(client, work, "tmpabc.zip", data, "&recursive=true")
        eq((answer.status, answer.json()),
           (200, {"filename": "tmpabc.zip", "destination": work, "recursive": True}), "a zip")
        eq(names_below(work), {b"dir", b"dir/a.txt", b"dir/sub", b"dir/sub/b", b"dir/x"},
           "is unpacked, and gone")
        ok(os.access(work + "/dir/x", os.X_OK), "with its modes")
        data = zipped(("dir/a.txt", "new" * 100000), ("dir/c", "C"),
                      method=zipfile.ZIP_DEFLATED)
        eq(upload(client, work, "b.zip", data).status, 200, "any .zip is")
        eq((read(work + "/dir/a.txt"), read(work + "/dir/c"), read(work + "/dir/sub/b")),
           (b"new" * 100000, b"C", b"B"), "into what is there")
        for name, bad in (("no zip", b"hello"), ("nothing", b""),
                          ("half a zip", data[:len(data) // 2])):
            answer = upload(client, work, "bad.zip", bad)
            eq((answer.status, answer.json()["detail"]),
               (500, f"{work}/bad.zip is not a zip file"), name)
        eq(upload(client, work, "e.zip", zipped()).status, 200, "an empty zip")
        names = [f"{i}/{'x' * i}\n\u00e4" for i in range(100)]
        eq(upload(client, work + "/n", "n.zip", zipped(*[(n, n) for n in names])).status, 200,
           "odd names")
        ok(all(read(f"{work}/n/{n}") == n.encode() for n in names), "are kept")
        ok(not [n for n in os.listdir(work) if n.startswith(".od")], "nothing else is left")


def damaged(data, at, new):
    return data[:at] + new + data[at + len(new):]


def zipped_raw(*entries):
    """An archive with names that zipfile would change."""
    stand_ins = [chr(ord("q") + i) * max(1, len(name)) for i, (name, _) in enumerate(entries)]
    data = zipped(*[(s, text) for s, (_, text) in zip(stand_ins, entries)])
    for s, (name, _) in zip(stand_ins, entries):
        data = data.replace(s.encode(), name.encode() or s.encode())
        if not name:  # both headers say that it has no byte, and one of an extra field
            local, central = data.index(b"PK\3\4"), data.index(b"PK\1\2")
            data = damaged(damaged(data, local + 26, b"\0\0\1\0"), central + 28, b"\0\0\1\0")
    return data


def zip64(data, central, extra):
    """The archive with an extra field in one entry of its directory, whose size stands there."""
    name = int.from_bytes(data[central + 28:central + 30], "little")
    at = central + 46 + name
    head = damaged(data[central:at], 24, b"\xff\xff\xff\xff")
    head = damaged(head, 30, len(extra).to_bytes(2, "little"))
    end = data.rindex(b"PK\5\6")
    size = int.from_bytes(data[end + 12:end + 16], "little") + len(extra)
    tail = damaged(data[at:], end - at + 12, size.to_bytes(4, "little"))
    return data[:central] + head + extra + tail


def test_hostile_zips():
    with Client() as client:
        top = client.work
        work = top + "/in"
        os.mkdir(work)
        write(top + "/canary", b"alive")
        os.symlink(top, work + "/out")
        data = zipped(("../x", "1"), ("a/../../x", "1"), ("/tmp/od-absolute", "1"), ("good", "1"))
        eq(upload(client, work, "a.zip", data).status, 200, "ways out are passed over")
        eq(sorted(os.listdir(top)), ["canary", "in"], "nothing is outside")
        eq(sorted(os.listdir(work)), ["good", "out"], "only the good one is inside")
        ok(not os.path.exists("/tmp/od-absolute"), "nor at an absolute path")

        data = zipped((info("l", 0o120777), top), ("l/canary", "dead"))
        ok(upload(client, work, "a.zip", data).status == 500, "a link, and through it")
        data = zipped((info("l", 0o120777), top))
        eq(upload(client, work, "a.zip", data).status, 200, "a link alone")
        eq((os.path.islink(work + "/l"), read(work + "/l")), (False, top.encode()),
           "is a file that names its target")
        data = zipped(("out/canary", "dead"))
        ok(upload(client, work, "a.zip", data).status == 500, "through a link that was there")
        eq(read(top + "/canary"), b"alive", "the canary lives")
        data = zipped((info("suid", 0o104755), "1"))
        eq(upload(client, work, "a.zip", data).status, 200, "a set-uid file")
        eq(stat.S_IMODE(os.stat(work + "/suid").st_mode), 0o755, "loses the bit")

        before = names_below(top)
        good = zipped(("first", "1"), ("second", "2" * 100))
        deflated = zipped(("first", "1"), ("second", "2" * 100000), method=zipfile.ZIP_DEFLATED)
        local = good.index(b"PK\3\4", 4)
        central = good.index(b"PK\1\2")
        second = good.index(b"PK\1\2", central + 4)
        twice = bytearray(zipped(("aaaaa", "1"), ("bbbbb", "2")).replace(b"bbbbb", b"aaaaa"))
        crypt = bytearray(good)
        crypt[second + 8] |= 1
        bomb = zipped(("zeros", b"\0" * (64 << 20)), method=zipfile.ZIP_DEFLATED)
        many = zipped(*[(f"{i}", "") for i in range(1000)])
        for name, data, words in (
                ("a wrong checksum", damaged(good, good.rindex(b"2222"), b"3"), "checksum"),
                ("damaged content", damaged(deflated, deflated.index(b"second") + 20, b"\xff" * 9),
                 "damaged"),
                ("two names", damaged(good, local + 30, b"S"), "two ways"),
                ("a method nobody knows", damaged(good, second + 10, b"\x63"), "method"),
                ("an entry twice", bytes(twice), "twice"),
                ("encryption", bytes(crypt), "encrypted"),
                ("overlap", damaged(good, second + 42, good[central + 42:central + 46]),
                 ""),
                ("a wrong offset", damaged(good, second + 42, b"\xff\xff\xff\x7f"), "cut off"),
                ("a wrong number", damaged(good, len(good) - 14, b"\1\0\1\0"), "number"),
                ("a wrong directory", damaged(good, len(good) - 6, b"\1"), "another place"),
                ("a bomb", bomb, "too well"),
                ("two sizes", damaged(good, second + 24, b"\1"), "sizes"),
                ("a size in the local header alone", damaged(good, local + 22, b"\1"), "two ways"),
                ("a packed size in the local header alone", damaged(good, local + 18, b"\1"), "two ways"),
                ("a checksum in the local header alone", damaged(good, local + 14, b"abcd"), "two ways"),
                ("a method in the local header alone", damaged(good, local + 8, b"\10"), "two ways"),
                ("a name with a NUL", zipped_raw(("a\0b", "1")), "a NUL"),
                ("a name that ends with a NUL", zipped_raw(("a.txt\0", "1")), "a NUL"),
                ("a name with a backslash", zipped_raw(("a\\b", "1")), "a backslash"),
                ("a way up with backslashes", zipped_raw(("..\\..\\x", "1")), "a backslash"),
                ("a name with a drive letter", zipped_raw(("C:x", "1")), "a drive letter"),
                ("a good one before a bad one", zipped_raw(("ok", "1"), ("c:/x", "1")), "a drive letter"),
                ("an empty name", zipped_raw(("", "1")), "damaged directory"),
                ("a name of 4,097 bytes", zipped_raw(("n/" * 2048 + "x", "1")), ""),
                ("a zip64 size that is cut off", zip64(good, second, b"\1\0\4\0aaaa"), "damaged extra"),
                ("a zip64 size of 2^63", zip64(good, second, b"\1\0\10\0" + b"\0" * 7 + b"\x80"), "sizes"),
                ("more than can be",
                 damaged(many, len(many) - 14, b"\xfe\xff\xfe\xff"), "")):
            answer = upload(client, work, "bad.zip", data)
            eq(answer.status, 500, name)
            has(answer.json().get("detail", ""), words, "is told")
            eq(names_below(top), before, "and nothing of it is there")
        for cut in range(1, len(good), 7):
            upload(client, work, "bad.zip", good[:cut])
        eq(names_below(top), before, "nor of half a zip")


def tree(top):
    """A tree with all that a tree may have; returns what a zip of it shall hold."""
    want = {"plain": b"text", "sub/deep/x": b"1", "empty": b"",
            "n\nl": b"newline", "\u00e4\u20ac": b"utf-8",
            "big": bytes(random.Random(1).randbytes(300000)), "run": b"#!", "edge": b"e" * 65536}
    for name, data in want.items():
        path = os.path.join(top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, data)
    os.chmod(top + "/run", 0o755)
    os.mkdir(top + "/none")
    write(os.path.join(os.fsencode(top), b"raw\xff"), b"raw")
    os.symlink("plain", top + "/link")
    os.symlink("sub", top + "/folder")
    os.symlink("nowhere", top + "/dangling")
    os.symlink("loop", top + "/loop")
    os.mkfifo(top + "/pipe")
    s = socket.socket(socket.AF_UNIX)
    s.bind(top + "/sock")
    s.close()
    want["link"] = b"text"
    return want


def test_download():
    with Client() as client:
        want = tree(client.work)
        os.utime(client.work + "/plain", (0, 0))
        answer = download(client, client.work)
        eq((answer.status, answer.field("content-type"), answer.field("content-disposition")),
           (200, "application/zip", 'attachment; filename="work.zip"'), "a zip")
        z = zipfile.ZipFile(io.BytesIO(answer.body))
        eq(z.testzip(), None, "is in order")
        got = {n: z.read(n) for n in z.namelist()}
        raw = [n for n in got if got[n] == b"raw"]
        eq(len(raw), 1, "a name that is no UTF-8 is there")
        got.pop(raw[0])
        eq(got, want, "with every file, and links to files read through")
        comment = z.comment.decode()
        for name in "dangling", "loop", "pipe", "sock":
            has(comment, name + ": ", "the comment tells of what is left out")
        eq(z.getinfo("run").external_attr >> 16, 0o100755, "with modes")
        answer = download(client, client.work + "/plain")
        z = zipfile.ZipFile(io.BytesIO(answer.body))
        eq({n: z.read(n) for n in z.namelist()}, {"plain": b"text"}, "one file")
        answer = download(client, client.work + "/none")
        eq(answer.body, b"PK\5\6" + b"\0" * 18, "an empty folder has 22 bytes")
        os.mkdir(client.work + "/\u00e4 \"b")
        answer = download(client, client.work + "/\u00e4 \"b/")
        eq(answer.field("content-disposition"),
           "attachment; filename*=utf-8''%C3%A4%20%22b.zip", "a name that needs care")
        for path, words in (("relative", "400: Path must be an absolute path"),
                            ("", "400: Path must be an absolute path"),
                            (client.work + "/nothing", "404: File not found"),
                            (client.work + "/plain/x", "404: File not found"),
                            (client.work + "/pipe", "400: Path is neither a directory nor a regular file")):
            answer = download(client, path)
            eq((answer.status, answer.json()["detail"]), (500, words), repr(path))
        answer = get(client, "/download_files")
        eq((answer.status, answer.json()["detail"]), (422, "Invalid request parameters"),
           "no path")
        with Conn(client.port) as c:
            c.send(f"GET /download_files?path={quote(client.work)} HTTP/1.0\r\n\r\n".encode())
            z = zipfile.ZipFile(io.BytesIO(c.response().body))
            eq(z.testzip(), None, "HTTP/1.0 gets it until the close")
        answer = download(client, "/proc/self")
        eq(answer.status, 200, "files of the kernel's, when asked for")


def test_zip_readers():
    """The same archive read by everybody."""
    with Client() as client:
        tree(client.work)
        data = download(client, client.work).body
        packed = get(client, f"/download_files?path={quote(client.work)}&compress=true").body
        ok(len(packed) < len(data), "compressed on demand")
        with tempfile.TemporaryDirectory() as top:
            for kind, body in ("stored", data), ("packed", packed):
                path = f"{top}/{kind}.zip"
                write(path, body)
                for name, argv in (("unzip", ["unzip", "-tq", path]),
                                   ("7z", ["7z", "t", path]),
                                   ("bsdtar", ["bsdtar", "-xOf", path]),
                                   ("bsdtar", ["bsdtar", "-xO"]),
                                   ("busybox", ["busybox", "unzip", "-t", path])):
                    if not shutil.which(name):
                        skip(f"{name} reads it", "it is not installed")
                        continue
                    r = subprocess.run(argv, input=body if argv[-1] == "-xO" else b"",
                                       capture_output=True, env=dict(os.environ, LC_ALL="C.UTF-8"))
                    ok(r.returncode == 0, f"{' '.join(argv[:2])} reads the {kind} one", r.stdout[-500:],
                       r.stderr[-500:])


def test_tls():
    if not tls.OPENSSL:
        skip("transfers over TLS", "openssl is not installed")
        return
    tls.make_certificate("EC")
    with tls.TlsClient() as client:
        data = random.Random(4).randbytes(5000000)
        with client.conn() as c:
            c.send(request("POST", f"/upload_file?destination={quote(client.work)}",
                           form("big", data),
                           Content_Type=f"multipart/form-data; boundary={BOUNDARY}"))
            eq(c.response().status, 200, "an upload over TLS")
            c.send(request("GET", f"/download_files?path={quote(client.work)}"))
            eq(c.response(head=True).status, 200, "a download on the same connection")
            z = zipfile.ZipFile(io.BytesIO(body_of(c, None)))
            eq(z.testzip(), None, "is in order")
            ok(z.read("big") == data, "and the same")


def test_list():
    with Client() as client:
        work = client.work
        for name in "B", ".hidden", "a", "\u00c4", "z\ny":
            write(f"{work}/{name}", b"")
        for name in ".git", "src", "Abc":
            os.mkdir(f"{work}/{name}")
        os.symlink("src", work + "/linked")
        os.symlink("a", work + "/to-a")
        os.symlink("nowhere", work + "/dangling")

        def listed(body):
            with Conn(client.port) as c:
                c.send(request("POST", "/list_files", body))
                return c.response()
        want = [".git/", "Abc/", "linked/", "src/", ".hidden", "a", "B", "to-a", "z\ny", "\u00c4"]
        for body in b"{}", b'{"path":null}', json.dumps({"path": work}).encode(), b'{"path":"."}':
            eq((listed(body).status, listed(body).json()), (200, want), str(body))
        write(work + "/src/x", b"")
        eq(listed(b'{"path":"src"}').json(), ["x"], "relative to the first directory")
        for path in "nothing", "a", "/proc/1/fd/nothing":
            answer = listed(json.dumps({"path": path}).encode())
            eq((answer.status, answer.body), (200, b"[]"), f"{path} lists nothing")
        for body in b"", b"[]", b"{", b'"x"', b'{"path":5}':
            answer = listed(body)
            eq((answer.status, answer.json()["detail"]), (422, "Invalid request parameters"), str(body))


# --- Size -----------------------------------------------------------------------

def rss_kib(client):
    for line in harness.proc(client.pid, "status").decode().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def test_gigabyte():
    size = 1 << 30
    with Client() as client:
        before = rss_kib(client)
        start = time.monotonic()
        head = form("big", b"")[:-len(f"\r\n--{BOUNDARY}--\r\n")]
        tail = f"\r\n--{BOUNDARY}--\r\n".encode()
        piece = random.Random(2).randbytes(1 << 20)
        with Conn(client.port) as c:
            c.send(request("POST", f"/upload_file?destination={quote(client.work)}",
                           Content_Type=f"multipart/form-data; boundary={BOUNDARY}",
                           Content_Length=str(len(head) + size + len(tail))))
            c.send(head)
            for _ in range(size >> 20):
                c.send(piece)
            c.send(tail)
            eq(c.response(60).status, 200, "a gigabyte goes up")
        up = time.monotonic() - start
        grown = rss_kib(client) - before
        eq(os.path.getsize(client.work + "/big"), size, "all of it is there")
        harness.slim(grown, 2048, "KiB of growth on the way up")
        start = time.monotonic()
        before = rss_kib(client)
        n = 0
        with Conn(client.port) as c:
            c.send(f"GET /download_files?path={quote(client.work)} HTTP/1.0\r\n\r\n".encode())
            eq(c.response(head=True).status, 200, "a gigabyte goes down")
            n = len(c.data)
            first = time.monotonic() - start
            while data := c.sock.recv(1 << 20):
                n += len(data)
        ok(n > size, "all of it", n)
        under(first, 0.2 * harness.SLOW, "seconds to its first byte")
        harness.slim(rss_kib(client) - before, 2048, "KiB of growth on the way down")
        harness.note(f"up {size / up / 1e6:.0f} MB/s, down {size / (time.monotonic() - start) / 1e6:.0f} MB/s")


def content_in(client, folder):
    """Bytes of files that a job has open in the folder, with a name or without."""
    n = 0
    for pid in harness.descendants(client.pid):
        for fd in os.listdir(f"/proc/{pid}/fd") if os.path.exists(f"/proc/{pid}/fd") else []:
            try:
                if os.path.dirname(os.readlink(f"/proc/{pid}/fd/{fd}")) == folder:
                    n += os.stat(f"/proc/{pid}/fd/{fd}").st_size
            except OSError:
                pass
    return n


def test_hang_up():
    with Client() as client:
        for i in range(50):
            write(f"{client.work}/f{i}", b"x" * 1000000)

        def jobs():
            return harness.children(client.pid)
        settled = len(jobs())
        with Conn(client.port) as c:
            c.send(request("GET", f"/download_files?path={quote(client.work)}"))
            c.response(head=True)
            c.reset()
        ok(until(lambda: len(jobs()) <= settled), "who leaves a download ends its job")
        with Conn(client.port) as c:
            c.send(request("POST", f"/upload_file?destination={quote(client.work)}/up",
                           Content_Type=f"multipart/form-data; boundary={BOUNDARY}",
                           Content_Length="1000000"))
            c.send(form("half", b"x" * 100000)[:90000])
            ok(until(lambda: content_in(client, client.work + "/up")), "an upload is on its way")
            c.reset()
        ok(until(lambda: len(jobs()) <= settled), "who leaves an upload ends its job")
        eq(os.listdir(client.work + "/up"), [], "and nothing of it is there")


def test_disk_full():
    with Client() as client:
        with harness.Disk(client.work + "/disk", "-t", "tmpfs", "-o", "size=256k", "none") as disk:
            if not disk:
                skip("a full disk", "nothing can be mounted here")
                return
            write(disk + "/old", b"old")
            answer = upload(client, disk, "old", b"x" * 1000000)
            eq((answer.status, answer.json()["detail"]),
               (500, f"[Errno 28] No space left on device: '{disk}/old'"), "is told")
            eq((read(disk + "/old"), os.listdir(disk)), (b"old", ["old"]), "the old file stays")
            data = zipped(("a", b"1"), ("b", random.Random(3).randbytes(150000)),
                          ("c", random.Random(3).randbytes(150000)), method=zipfile.ZIP_DEFLATED)
            data = zipped(("a", b"1"), ("b", b"\1\2\3" * 90000), ("old", b"new"),
                          method=zipfile.ZIP_DEFLATED)
            answer = upload(client, disk, "a.zip", data)
            eq(answer.status, 500, "so it is when an archive is unpacked")
            eq((read(disk + "/old"), os.listdir(disk)), (b"old", ["old"]), "nothing of it stays")


def test_mount_point():
    if os.geteuid() != 0:
        skip("a mount point", "only root can make one")
        return
    with Client() as client:
        write(client.top + "/source", b"old old old")
        write(client.work + "/f", b"")
        if subprocess.run(["mount", "--bind", client.top + "/source", client.work + "/f"],
                          stderr=subprocess.DEVNULL).returncode:
            skip("a mount point", "nothing can be mounted here")
            return
        try:
            answer = upload(client, client.work, "f", b"new")
            eq((answer.status, answer.json().get("in_place")), (200, 1), "is told")
            eq(read(client.top + "/source"), b"new", "what is mounted is written")
            answer = upload(client, client.work, "a.zip", zipped(("f", "newer")))
            eq((answer.status, answer.json().get("in_place")), (200, 1), "from archives, too")
            eq(read(client.top + "/source"), b"newer", "the same")
        finally:
            subprocess.run(["umount", "-l", client.work + "/f"])


def test_race():
    """A folder of the destination is a link to the outside every other moment."""
    swap = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
a, b = (p.encode() for p in sys.argv[1:])
print(libc.renameat2(-100, a, -100, b, 2), flush=True)
while True:
    libc.renameat2(-100, a, -100, b, 2)
"""
    with Client() as client:
        dest, outside = client.work + "/dest", client.work + "/outside"
        os.makedirs(dest + "/d/e")
        os.makedirs(outside + "/e")
        write(outside + "/e/f", b"canary")
        os.symlink(outside, dest + "/link")
        swapper = subprocess.Popen([sys.executable, "-c", swap, dest + "/d", dest + "/link"],
                                   stdout=subprocess.PIPE)
        try:
            if swapper.stdout.readline().strip() != b"0":
                skip("a race", "names cannot be exchanged here")
                return
            data = zipped(("d/e/f", "dead"), ("d/new", "dead"), ("link/e/f", "dead"))
            count = {200: 0, 500: 0}
            for _ in range(300):
                count[upload(client, dest, "a.zip", data).status] += 1
            harness.note(f"of 300 uploads {count[200]} met both folders")
            eq((names_below(outside), read(outside + "/e/f")), ({b"e", b"e/f"}, b"canary"),
               "nothing outside has changed")
            ok(not [n for n in os.listdir(dest) if n.startswith(".od")], "nothing is left behind")
        finally:
            swapper.kill()
            swapper.wait()


def test_rights():
    if os.geteuid() != 0:
        skip("the user's rights", "only root can change them")
        return
    with Client("--username", "openhands", user=False, env={"SU_TO_USER": None}) as client:
        os.chmod(client.top, 0o755)
        answer = upload(client, client.work, "mine", b"1")
        eq(answer.status, 200, "an upload as the sandbox user")
        st = os.stat(client.work + "/mine")
        ok(st.st_uid != 0, "belongs to him", st)
        answer = upload(client, "/etc", "od-test", b"1")
        eq((answer.status, os.path.exists("/etc/od-test")), (500, False),
           "he may not write into /etc")
        write(client.top + "/secret", b"s")
        os.chmod(client.top + "/secret", 0o600)
        os.symlink(client.top + "/secret", client.work + "/link")
        z = zipfile.ZipFile(io.BytesIO(download(client, client.work).body))
        eq(z.namelist(), ["mine"], "nor read what is not his")
        has(z.comment.decode(), "link: Permission denied", "which is told")
        answer = download(client, client.top + "/secret")
        eq((answer.status, answer.json()["detail"]),
           (500, f"[Errno 13] Permission denied: '{client.top}/secret'"), "that alone is an error")
        answer = get(client, f"/v1/files/tar?path={quote(client.top)}/secret")
        eq((answer.status, answer.json()["detail"]), (403, f"{client.top}/secret: Permission denied"),
           "as a tar, too")


if __name__ == "__main__":
    harness.main()
