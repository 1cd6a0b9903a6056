#!/usr/bin/env python3
"""The actions read and write."""
import base64
import json
import os
import stat

from harness import Client, Disk, action, eq, has, main, ok, scratch, skip


def exact(client, want, name, kind, **args):
    answer = client.post("/execute_action", action(kind, 5.0, **args))
    return eq(answer.body, json.dumps(want, separators=(",", ":"), ensure_ascii=False).encode(), name)


def reading(path, content):
    return {"message": f"I read the file {path}.", "observation": "read", "content": content,
            "extras": {"path": path, "impl_source": "default"}}


def writing(path):
    return {"message": f"I wrote to the file {path}.", "observation": "write", "content": "",
            "extras": {"path": path}}


def failing(text):
    return {"message": text, "observation": "error", "content": text, "extras": {"error_id": ""}}


def test_words():
    with Client() as client:
        path = client.work + "/a.txt"
        exact(client, writing(path), "write", "write", path=path, content="one\ntwo\nthree", start=0,
              end=-1)
        exact(client, reading(path, "two\n"), "read a range", "read", path="a.txt", start=1, end=2)
        exact(client, reading(path, "one\ntwo\nthree\n"), "read all", "read", path=path)
        nope = client.work + "/nope"
        exact(client, failing(f"File not found: {nope}. Your current working directory is "
                              f"{client.work}."), "read what is not there", "read", path=nope)
        exact(client, failing(f"Path is a directory: {client.work}. You can only read files"),
              "read a directory", "read", path=client.work)
        exact(client, failing(f"Path is a directory: {client.work}. You can only write to files"),
              "write a directory", "write", path=client.work, content="")


def test_ranges():
    with Client() as client:
        client.act("write", path="n", content="\n".join(map(str, range(10))))
        for start, end, want in ((0, -1, range(10)), (1, 2, [1]), (0, 0, [0]), (9, 10, [8, 9]),
                                 (5, -1, range(5, 10)), (3, 5, [3, 4]), (100, -1, []), (-5, 2, [0, 1]),
                                 (0, 100, range(10))):
            got = client.act("read", path="n", start=start, end=end)["content"]
            eq(got, "".join(f"{i}\n" for i in want), f"lines {start} to {end}")
        client.act("write", path="n", content="x", start=2, end=4)
        eq(client.act("read", path="n")["content"], "0\n1\nx\n4\n5\n6\n7\n8\n9\n",
           "lines are replaced in the middle")


def test_newlines():
    with Client() as client:
        for content, want in (("a", b"a\n"), ("a\n", b"a\n\n"), ("", b"\n"), ("é\t\u2028", "é\t\u2028\n".encode())):
            client.act("write", path="f", content=content)
            with open(client.work + "/f", "rb") as f:
                eq(f.read(), want, f"{content!r} is written so")
        with open(client.work + "/crlf", "wb") as f:
            f.write(b"a\r\nb\rc")
        eq(client.act("read", path="crlf")["content"], "a\nb\nc", "newlines of all kinds are read as one")


def test_relative_to_the_shell():
    with Client() as client:
        client.run("mkdir -p d && cd d")
        client.act("write", path="f", content="x")
        ok(os.path.exists(client.work + "/d/f"), "a relative path starts where the shell is")
        eq(client.act("read", path="../d/f")["content"], "x\n", "and may go up")


def test_kinds_of_files():
    png = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
                           "awAAAABJRU5ErkJggg==")
    with Client() as client:
        for name, data, kind in (("a.png", png, "image/png"), ("b.JPG", b"\xff\xd8\xff\xe0", "image/jpeg"),
                                 ("c.pdf", b"%PDF-1.4", "application/pdf"), ("d.mp4", b"\0\0", "video/mp4"),
                                 ("e.ogg", b"OggS", "audio/ogg")):
            with open(os.path.join(client.work, name), "wb") as f:
                f.write(data)
            eq(client.act("read", path=name)["content"],
               f"data:{kind};base64,{base64.b64encode(data).decode()}", f"{name} as a data URL")
        with open(client.work + "/bin", "wb") as f:
            f.write(b"\x7fELF\0\0\xff" * 100)
        eq(client.act("read", path="bin")["content"], "ERROR_BINARY_FILE", "a binary file")
        with open(client.work + "/latin", "wb") as f:
            f.write("naïve café\n".encode("latin-1") * 10)
        got = client.act("read", path="latin")
        has(got["content"], "File could not be decoded as utf-8", "a text of another encoding")
        with open(client.work + "/cjk", "w", encoding="utf-8") as f:
            f.write("漢字" * 5000)
        eq(client.act("read", path="cjk")["content"], "漢字" * 5000, "a long text in UTF-8")
        os.mkfifo(client.work + "/fifo")
        for kind in ("read", "write"):
            eq(client.act(kind, path="fifo", content="")["observation"], "error",
               f"{kind}: a FIFO is refused and does not hang")
        eq(client.act("read", path="/dev/zero")["observation"], "error", "so is a device")


def test_modes():
    with Client() as client:
        client.act("write", path="new", content="x")
        eq(stat.S_IMODE(os.stat(client.work + "/new").st_mode), 0o664, "a new file")
        client.run("printf '#!/bin/sh\\n' >old; chmod 750 old; ln old twin; ln -s old link")
        before = os.stat(client.work + "/old")
        client.act("write", path="link", content="y")
        after = os.stat(client.work + "/old")
        eq((after.st_mode, after.st_uid, after.st_gid), (before.st_mode, before.st_uid, before.st_gid),
           "mode and owner of an old file stay")
        ok(os.path.islink(client.work + "/link"), "a link stays a link")
        client.act("write", path="x/y/z", content="deep")
        eq(client.run("cat x/y/z")["content"], "deep", "folders are made on the way")
        eq(sorted(os.listdir(client.work)), ["link", "new", "old", "twin", "x"],
           "nothing else is left in the folder")


def test_failures():
    with Client() as client:
        client.act("write", path="file", content="x")
        for args, name in (({"path": "file/below", "content": ""}, "below a file"),
                           ({"path": "/proc/nope/x", "content": ""}, "where nothing can be made"),
                           ({"path": "", "content": ""}, "an empty path"),
                           ({"path": "a\0b", "content": ""}, "a NUL in the path"),
                           ({"path": "x" * 5000, "content": ""}, "a long path"),
                           ({"path": "x" * 300, "content": ""}, "a long name")):
            got = client.act("write", **args)
            ok(got["observation"] == "error" and got["content"], f"write {name}", got)
            got = client.act("read", path=args["path"])
            ok(got["observation"] == "error" and got["content"], f"read {name}", got)
        for args, name in (({}, "nothing"), ({"path": 1, "content": ""}, "a number as path"),
                           ({"path": "x"}, "no content"), ({"path": "x", "content": None}, "null")):
            eq(client.act("write", **args)["observation"], "error", f"write with {name}")
        if os.path.exists("/dev/full"):
            eq(client.act("write", path="/dev/full", content="x")["observation"], "error",
               "a device is no file to write")


def test_full_disk():
    """ENOSPC: the old file must stay as it was."""
    with Disk(scratch(), "-t", "tmpfs", "-o", "size=64k", "none") as disk:
        if not disk:
            skip("a full disk", "nothing can be mounted here")
            return
        with Client() as client:
            path = disk + "/f"
            client.act("write", path=path, content="old")
            got = client.act("write", path=path, content="x" * 200000)
            eq(got["observation"], "error", "a full disk is an error observation")
            eq(client.act("read", path=path)["content"], "old\n", "the old content stays")
            eq(os.listdir(disk), ["f"], "no other file is left")


def test_big_files():
    with Client() as client:
        path = client.work + "/huge"
        with open(path, "wb") as f:
            f.truncate(1 << 30)
        got = client.act("read", path=path)
        eq(got["observation"], "error", "a file too large is an error observation, not a crash")
        eq(client.run("echo on")["content"], "on", "and the server goes on")


if __name__ == "__main__":
    main()
