#!/usr/bin/env python3
"""/v1/files: single files, whole trees as tar, and the small routes."""
import gzip
import hashlib
import io
import os
import random
import shutil
import stat
import subprocess
import tarfile
import tempfile

import harness
from harness import Client, Conn, eq, has, ok, request, skip
from test_transfer import get, names_below, quote, read, tree, write

SHA_X = hashlib.sha256(b"x").hexdigest()


def call(client, method, path, body=b"", **fields):
    if body or method == "PUT":
        fields.setdefault("Content_Type", "application/octet-stream")
        fields.setdefault("Content_Length", str(len(body)))
    with Conn(client.port) as c:
        c.send(request(method, path, b"", **fields) + body)
        return c.response()


def put(client, path, body, query="", **fields):
    return call(client, "PUT", f"/v1/files?path={quote(path)}{query}", body, **fields)


# --- One file -------------------------------------------------------------------

def test_put():
    with Client() as client:
        path = client.work + "/a/b.txt"
        answer = put(client, path, b"x")
        eq((answer.status, answer.json()),
           (201, {"path": path, "size": 1, "sha256": SHA_X, "how": "new"}), "a new file")
        eq(answer.field("etag"), f'"{SHA_X}"', "with its tag")
        eq((read(path), stat.S_IMODE(os.stat(path).st_mode)), (b"x", 0o644), "is there")
        os.chmod(path, 0o4750)
        answer = put(client, path, b"")
        eq((answer.status, answer.json()["how"], read(path)), (200, "replaced", b""), "again")
        eq(stat.S_IMODE(os.stat(path).st_mode), 0o750, "keeps the mode, less set-id")
        os.symlink("a/b.txt", client.work + "/link")
        eq(put(client, "link", b"y", "&sync=true").status, 200, "through a link, relative")
        eq((os.path.islink(client.work + "/link"), read(path)), (True, b"y"), "stays one")
        eq(put(client, "new/er/f", b"y", "&sync=true").status, 201, "synced with its folders")
        eq(read(client.work + "/new/er/f"), b"y", "is there")
        shutil.rmtree(client.work + "/new")
        big = random.Random(5).randbytes(3000000)
        with Conn(client.port) as c:
            c.send("PUT /v1/files?path=big HTTP/1.1\r\nHost: localhost\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n".encode())
            for at in range(0, len(big), 70000):
                piece = big[at:at + 70000]
                c.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            c.send(b"0\r\n\r\n")
            eq(c.response().json()["sha256"], hashlib.sha256(big).hexdigest(), "in chunks")
        eq(read(client.work + "/big"), big, "byte for byte")
        for target, status in ((client.work, 409), (client.work + "/a/b.txt/c", 409),
                               ("/proc/nothing/x", 404), ("/proc/self/comm", 403), (client.work + "/none/", 409),
                               (client.work + "/a/b.txt/", 409)):
            eq(put(client, target, b"1").status, status, target)
        eq(call(client, "PUT", "/v1/files", b"1").status, 422, "no path")
        eq(sorted(os.listdir(client.work)), ["a", "big", "link"], "nothing is left behind")


def test_conditions():
    with Client() as client:
        path = client.work + "/f"
        eq(put(client, path, b"1", If_Match="*").status, 412, "nothing is there to match")
        eq(put(client, path, b"x", If_None_Match="*").status, 201, "nothing was there")
        eq(put(client, path, b"2", If_None_Match="*").status, 412, "now something is")
        eq(put(client, path, b"2", If_Match='"' + "0" * 64 + '"').status, 412, "another hash")
        eq(read(path), b"x", "nothing has changed")
        tag = get(client, f"/v1/files?path={quote(path)}").field("etag")
        eq(tag, f'"{SHA_X}"', "the tag of a GET")
        eq(put(client, path, b"y", If_Match=f'"a", {tag}').status, 200, "is the right one")
        eq(put(client, path, b"z", If_Match=tag).status, 412, "and once only")
        eq(put(client, path, b"z", If_Match="*").status, 200, "any will do")
        eq((read(path), os.listdir(client.work)), (b"z", ["f"]), "no file is left behind")
        other, tag = f'"{SHA_X}"', '"' + hashlib.sha256(b"z").hexdigest() + '"'
        for value in tag, "W/" + tag, f"{other}, {tag}":
            eq(put(client, path, b"0", If_None_Match=value).status, 412, f"If-None-Match: {value}")
        eq(put(client, path, b"0", If_None_Match=other, If_Match=tag).status, 200, "both are met")
        eq(put(client, client.work + "/g", b"0", If_None_Match=tag).status, 201, "nothing has no tag")
        twice = (f"PUT /v1/files?path=f HTTP/1.1\r\nHost: localhost\r\nIf-Match: {other}\r\nIf-Match: {other}\r\n"
                 "Content-Length: 1\r\n\r\nX")
        with Conn(client.port) as c:
            eq(c.send(twice.encode()).response().status, 422, "a condition given twice")
        eq(read(path), b"0", "is not passed over")


def test_conditions_of_get():
    with Client() as client:
        path = client.work + "/f"
        write(path, b"x")

        def ask(**fields):
            answer = get(client, f"/v1/files?path={quote(path)}", **fields)
            return answer.status, answer.body if answer.status == 200 else answer.field("etag")
        tag, other = f'"{SHA_X}"', '"' + "0" * 64 + '"'
        for fields, want in (({"If_None_Match": tag}, (304, tag)), ({"If_None_Match": "*"}, (304, tag)),
                             ({"If_None_Match": "W/" + tag}, (304, tag)),
                             ({"If_None_Match": other}, (200, b"x")), ({"If_Match": tag}, (200, b"x")),
                             ({"If_Match": other}, (412, None)),
                             ({"If_Match": other, "If_None_Match": tag}, (412, None))):
            eq(ask(**fields), want, str(fields))
        with Conn(client.port) as c:
            c.send(request("GET", "/v1/files?path=f", If_None_Match=tag))
            eq(c.response().body, b"", "304 has no body")
            eq(c.send(request("GET", "/v1/files?path=f")).response(head=True).status, 200,
               "and another request may follow")


def test_get():
    with Client() as client:
        data = bytes(random.Random(6).randbytes(200000))
        path = client.work + "/f"
        write(path, data)

        def part(text, **fields):
            return get(client, f"/v1/files?path={quote(path)}", Range=text, **fields)
        answer = get(client, f"/v1/files?path={quote(path)}")
        eq((answer.status, answer.body == data, answer.field("accept-ranges")),
           (200, True, "bytes"), "a file")
        for text, first, last in (("bytes=0-0", 0, 0), ("bytes=5-", 5, 199999),
                                  ("bytes=100-150000", 100, 150000), ("bytes=-7", 199993, 199999),
                                  ("bytes=-999999", 0, 199999), ("bytes=199999-900000", 199999, 199999)):
            answer = part(text)
            eq((answer.status, answer.field("content-range")),
               (206, f"bytes {first}-{last}/200000"), text)
            ok(answer.body == data[first:last + 1], "has those bytes")
        for text in "bytes=200000-", "bytes=-0":
            answer = part(text)
            eq((answer.status, answer.field("content-range")), (416, "bytes */200000"), text)
        for text in "bytes=1-2,5-6", "bytes=a-b", "bytes=-", "lines=1-2", "bytes=5-4", "bytes=1":
            answer = part(text)
            eq((answer.status, len(answer.body)), (200, 200000), f"{text} is passed over")
        eq(part("bytes=0-0", If_Range='"x"').status, 200, "If-Range gets all")
        write(path, b"")
        eq((part("bytes=0-").status, get(client, f"/v1/files?path={quote(path)}").body),
           (200, b""), "an empty file")
        has(get(client, "/v1/files?path=/proc/self/status").body, b"Name:", "a file without size")
        tag = '"' + hashlib.sha256(b"").hexdigest() + '"'
        for fields, status in ({}, 200), ({"If_Match": tag}, 200), ({"If_None_Match": tag}, 304):
            answer = get(client, f"/v1/files?path={quote(path)}", **fields)
            eq((answer.status, answer.field("etag")), (status, tag), f"the tag of nothing, {fields}")
        odd = "/sys/kernel/mm/transparent_hugepage/enabled"
        if os.path.exists(odd):
            eq(get(client, f"/v1/files?path={odd}").body, read(odd), "a file with less than its size")
        os.mkfifo(client.work + "/pipe")
        for target, status in ((client.work, 409), (client.work + "/pipe", 409),
                               ("nothing", 404), ("f/x", 409)):
            eq(get(client, f"/v1/files?path={quote(target)}").status, status, target)
        with open(path, "wb") as f:
            f.truncate(1 << 40)
        answer = part("bytes=-5")
        eq((answer.status, answer.body), (206, b"\0" * 5), "the end of a sparse terabyte")


def test_small_routes():
    with Client() as client:
        work = client.work

        def small(method, what, **query):
            words = "&".join(f"{k}={quote(v)}" for k, v in query.items())
            return call(client, method, f"/v1/files{what}?{words}")
        write(work + "/f", b"12345")
        os.chmod(work + "/f", 0o640)
        os.symlink("f", work + "/l")
        os.utime(work + "/f", ns=(0, -5))
        eq(small("GET", "/stat", path="f").json()["mtime_ns"], -5, "a time before 1970")
        os.utime(work + "/f", (1 << 34, 1 << 34))
        late = os.stat(work + "/f").st_mtime_ns
        eq(small("GET", "/stat", path="f").json()["mtime_ns"], min(late, (1 << 63) - 1), "one after 2262")
        got = small("GET", "/stat", path=work + "/f").json()
        eq((got["type"], got["size"], got["mode"], got["uid"]),
           ("file", 5, "0640", os.stat(work + "/f").st_uid), "stat")
        got = small("GET", "/stat", path="l").json()
        eq((got["type"], got["target"]), ("symlink", "f"), "stat of a link")
        eq(small("GET", "/stat", path="nothing").status, 404, "stat of nothing")
        os.utime(work + "/f", ns=(0, 10 ** 19))
        got = small("GET", "/stat", path="f").json()["mtime_ns"]
        eq(got, min(os.stat(work + "/f").st_mtime_ns, 2 ** 63 - 1), "a year beyond 2262")
        eq(small("POST", "/mkdir", path="a").status, 201, "mkdir")
        eq(small("POST", "/mkdir", path="a").status, 409, "twice")
        eq(small("POST", "/mkdir", path="b/c/d").status, 404, "without what is above")
        eq(small("POST", "/mkdir", path="b/c/d", parents="true").status, 201, "with it")
        eq(small("POST", "/mkdir", path="b/c/d", parents="true").status, 201, "is there already")
        ok(os.path.isdir(work + "/b/c/d"), "the folder")
        eq(small("POST", "/mv", path="f", to="b/g").status, 200, "mv")
        write(work + "/h", b"h")
        eq(small("POST", "/mv", path="h", to="b/g").status, 409, "onto something")
        eq(read(work + "/b/g"), b"12345", "which stays")
        eq(small("POST", "/mv", path="h", to="b/g", replace="true").status, 200, "replaces it")
        eq((read(work + "/b/g"), os.path.exists(work + "/h")), (b"h", False), "on demand")
        for path, to, status in (("nothing", "x", 404), ("a", "b/no/x", 404), ("a", "b/g/x", 409),
                                 ("b", "b/c/b", 422)):
            answer = small("POST", "/mv", path=path, to=to)
            eq(answer.status, status, f"mv of {path} to {to}")
            has(answer.json()["detail"], f"{work}/{path} to {work}/{to}: ", "names both")
        eq(small("DELETE", "", path="b").status, 409, "rm of a full folder")
        for path in "b/c/..", "b/c/../../b/c/..":
            eq(small("DELETE", "", path=path, recursive="true").status, 422, "rm of " + path)
        ok(os.path.isdir(work + "/b/c/d"), "which removes nothing")
        os.symlink(work, work + "/b/up")
        eq(small("DELETE", "", path="b", recursive="true").status, 200, "with all in it")
        eq(sorted(os.listdir(work)), ["a", "l"], "and nothing else")
        eq(small("DELETE", "", path="l").status, 200, "rm of a link")
        eq(small("DELETE", "", path="a").status, 200, "rm of an empty folder")
        eq(small("DELETE", "", path="a").status, 404, "rm of nothing")
        eq(small("DELETE", "", path="/", recursive="true").status, 409, "rm of everything")
        answer = call(client, "POST", "/v1/files?path=x")
        eq((answer.status, answer.field("allow")), (405, "GET, PUT, DELETE"), "other methods")


# --- Trees ----------------------------------------------------------------------

def put_tar(client, path, data, query=""):
    return call(client, "PUT", f"/v1/files/tar?path={quote(path)}{query}", data)


def shape(top):
    """What a tree looks like: types, contents, targets, modes, times."""
    out = {}
    for name in names_below(top):
        path = os.path.join(os.fsencode(top), name)
        st = os.lstat(path)
        what = None
        if stat.S_ISLNK(st.st_mode):
            what = os.readlink(path)
        elif stat.S_ISREG(st.st_mode):
            what = (read(path), st.st_mtime_ns // 10 ** 9)
        elif not stat.S_ISDIR(st.st_mode):
            continue
        out[name] = (stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode), what)
    return out


def check_readers(archive, packed, want):
    """Everybody unpacks the same tree."""
    for name, argv in (("tar", ["tar", "-xzpf" if packed else "-xpf", "-"]),
                       ("bsdtar", ["bsdtar", "-xpf", "-"]),
                       ("busybox", ["busybox", "tar", "-xzpf" if packed else "-xpf", "-"]),
                       ("7z", ["7z", "t", "-si", "-tgzip" if packed else "-ttar"])):
        if not shutil.which(name):
            skip(f"{name} reads it", "it is not installed")
            continue
        with tempfile.TemporaryDirectory() as top:
            r = subprocess.run(argv, input=archive, capture_output=True, cwd=top,
                               env=dict(os.environ, LC_ALL="C.UTF-8"))
            ok(r.returncode == 0, f"{name} reads it", r.stdout[-500:], r.stderr[-500:])
            if "t" not in argv:
                got = shape(top)
                # It knows no records of pax, and so no time before 1970.
                wrong = [n for n in {*got, *want} if got.get(n) != want.get(n)
                         and not (name == "busybox" and n == b"plain")]
                eq(wrong, [], "and has the same tree then")


def test_tar():
    with Client() as client:
        source = client.work + "/source"
        os.mkdir(source)
        tree(source)
        os.mkdir(source + "/" + "l" * 200)
        write(source + "/" + "l" * 200 + "/" + "m" * 200, b"long")
        os.symlink("t" * 300, source + "/longlink")
        os.utime(source + "/plain", (5, -7))
        for gz in "false", "true":
            answer = get(client, f"/v1/files/tar?path={quote(source)}&gzip={gz}")
            eq(answer.status, 200, f"a tree as tar, gzip {gz}")
            with tarfile.open(fileobj=io.BytesIO(answer.body)) as t:
                eq({os.fsencode(n) for n in t.getnames()}, {*shape(source), b"."}, "its names")
                has(t.getmember(".").pax_headers.get("comment", ""), "pipe: a named pipe",
                    "what is left out")
            copy = f"{client.work}/copy-{gz}"
            back = put_tar(client, copy, answer.body)
            eq((back.status, back.json()["entries"]), (200, len(shape(source)) + 1), "and back")
            eq(shape(copy), shape(source), "is the same tree")
            check_readers(answer.body, gz == "true", shape(source))
        one = get(client, f"/v1/files/tar?path={quote(source)}/plain").body
        with tarfile.open(fileobj=io.BytesIO(one)) as t:
            eq(t.getnames(), ["plain"], "one file")
        for kind in tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT:
            out = io.BytesIO()
            with tarfile.open(fileobj=out, mode="w", format=kind) as t:
                for name in ["d/" * 40 + "f", "e" * 90 + "/" + "f" * 90]:
                    t.addfile(member(name, b"data"), io.BytesIO(b"data"))
                if kind != tarfile.USTAR_FORMAT:
                    t.addfile(member("x" * 250, b"data"), io.BytesIO(b"data"))
                t.addfile(member("hard", b"", type=tarfile.LNKTYPE, linkname="d/" * 40 + "f"))
            place = f"{client.work}/format-{kind}"
            eq(put_tar(client, place, out.getvalue()).status, 200, f"format {kind}")
            eq(os.stat(place + "/hard").st_nlink, 2, "with its hard link")
        two = gzip.compress(one[:700]) + gzip.compress(one[700:])
        eq(put_tar(client, client.work + "/two", two).status, 200, "gzip in two members")


def test_made_up_files():
    """The kernel's files, whose sizes are not true, have their content in an archive, too."""
    with Client() as client:
        for target in "/proc/sys/kernel", "/proc/version":
            want = read("/proc/version")
            answer = get(client, f"/v1/files/tar?path={quote(target)}")
            with tarfile.open(fileobj=io.BytesIO(answer.body)) as t:
                if target == "/proc/version":
                    eq(t.extractfile("version").read(), want, "a file of /proc")
                else:
                    eq(t.extractfile("ostype").read(), read("/proc/sys/kernel/ostype"), "a folder of it")
                    eq(t.getnames()[-1], ".", "and the archive is whole")


def member(name, data, **more):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    return info


def tarred(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for info, data in members:
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_hostile_tars():
    with Client() as client:
        top = client.work
        work = top + "/in"
        os.mkdir(work)
        write(top + "/canary", b"alive")
        os.symlink(top, work + "/out")
        os.mkdir(work + "/folder")
        write(work + "/folder/file", b"stays")
        before = names_below(top)
        good = tarred((member("a", b"1"), b"1"), (member("b", b"2" * 5000), b"2" * 5000))
        sym = {"type": tarfile.SYMTYPE}
        hard = {"type": tarfile.LNKTYPE}
        for name, data, words in (
                ("a way up", tarred((member("../x", b"1"), b"1")), "leads out"),
                ("a hidden way up", tarred((member("a/../../x", b"1"), b"1")), "leads out"),
                ("a way up behind a deep one",
                 tarred((member("d/" * 300 + "f", b"1"), b"1"), (member("../x", b"1"), b"1")),
                 "leads out"),
                ("an absolute name", tarred((member("/tmp/od-x", b"1"), b"1")), "leads out"),
                ("a link out", tarred((member("l", b"", linkname="..", **sym), b"")), "leads out"),
                ("an absolute link", tarred((member("l", b"", linkname="/etc", **sym), b"")),
                 "leads out"),
                ("a link, and through it",
                 tarred((member("l", b"", linkname="folder", **sym), b""),
                        (member("l/x", b"1"), b"1")), "Not a directory"),
                ("a hard link out", tarred((member("h", b"", linkname="../canary", **hard), b"")),
                 "leads out"),
                ("a hard link to what was there",
                 tarred((member("h", b"", linkname="out/canary", **hard), b"")), "No such file"),
                ("through a link that was there", tarred((member("out/canary", b"1"), b"1")), ""),
                ("a link out through a link",
                 tarred((member("p/q/up", b"", linkname="../..", **sym), b""),
                        (member("l", b"", linkname="p/q/up/../canary", **sym), b"")), "leads out"),
                ("a second name for a link, from where it leads out",
                 tarred((member("p/q/up", b"", linkname="../..", **sym), b""),
                        (member("l", b"", linkname="p/q/up", **hard), b"")), "leads out"),
                ("a device", tarred((member("d", b"", type=tarfile.CHRTYPE), b"")), "neither"),
                ("a pipe", tarred((member("p", b"", type=tarfile.FIFOTYPE), b"")), "neither"),
                ("a file in a file", tarred((member("a", b"1"), b"1"), (member("a/b", b"1"), b"1")),
                 "Not a directory"),
                ("a file onto a folder", tarred((member("folder", b"1"), b"1")), "directory"),
                ("a file onto a folder, and others",
                 tarred(*((member(f"{i}", b"1"), b"1") for i in range(20)),
                        (member("folder", b"1"), b"1")), "directory"),
                ("a folder onto a file, and others",
                 tarred(*((member(f"{i}/f", b"1"), b"1") for i in range(20)),
                        (member("folder/file/f", b"1"), b"1")), "Not a directory"),
                ("half an archive", good[:1000], "cut off"),
                ("no end", good[:512 * 2 + 5120 + 512], "cut off"),
                ("nothing", b"", "cut off"),
                ("no archive", b"hello" * 200, "no tar archive"),
                ("a wrong sum", good[:100] + b"7" + good[101:], "no tar archive"),
                ("half a gzip", gzip.compress(good)[:-20], "cut off"),
                ("a damaged gzip", gzip.compress(good)[:30] + b"\xff" * 40, "damaged"),
                ("a bomb", gzip.compress(tarred((member("z", b"\0" * (1 << 25)), b"\0" * (1 << 25)))),
                 "too well")):
            answer = put_tar(client, work, data)
            ok(answer.status in (409, 422, 404), name, answer)
            has(answer.json()["detail"], words, "is told")
            eq(names_below(top), before, "and nothing of it is there")
        eq(read(top + "/canary"), b"alive", "the canary lives")
        data = tarred((member("l", b"", linkname="/etc", **sym), b""),
                      (member("s", b"1", mode=0o6755), b"1"))
        eq(put_tar(client, work, data, "&any_link=true").status, 200, "links out on demand")
        eq((os.readlink(work + "/l"), stat.S_IMODE(os.stat(work + "/s").st_mode)),
           ("/etc", 0o755), "and no set-id bits")
        data = tarred((member("a", b"1"), b"1"), (member("a", b"22"), b"22"))
        eq((put_tar(client, work, data).status, read(work + "/a")), (200, b"22"),
           "of two of one name the later counts")


def test_disk_full():
    with Client() as client:
        with harness.Disk(client.work + "/disk", "-t", "tmpfs", "-o", "size=256k", "none") as disk:
            if not disk:
                skip("a full disk", "nothing can be mounted here")
                return
            write(disk + "/old", b"old")
            answer = put(client, disk + "/old", b"x" * 1000000)
            eq((answer.status, answer.json()["detail"]),
               (507, f"{disk}/old: No space left on device"), "is told")
            data = tarred((member("old", b"new"), b"new"),
                          (member("big", b"x" * 1000000), b"x" * 1000000))
            eq(put_tar(client, disk, data).status, 507, "in a tar, too")
            eq((read(disk + "/old"), os.listdir(disk)), (b"old", ["old"]), "the old file stays")


if __name__ == "__main__":
    harness.main()
