#!/usr/bin/env python3
"""Uploads over files of other users: what a backend expects, and what no sandbox user may gain by it.

The client runs as root at the drop-in's path, and the sandbox user is another one, who owns the working
directory. Files that root makes there after the start stand for those of a host that writes into a mount."""
import ctypes
import io
import json
import multiprocessing
import os
import signal
import time
import zipfile

import harness
from harness import CLIENT, WRAP, Client, eq, free_port, main, ok, scratch, skip
from test_transfer import upload

UID = 54321
CANARY = b"canary\n"
AT_FDCWD, RENAME_EXCHANGE = -100, 2
LIBC = ctypes.CDLL(None, use_errno=True)


class DropIn:
    """The client at the drop-in's path, with a working directory in a folder of its own."""

    def __init__(self, name="micromamba"):
        self.root = scratch()
        os.chmod(self.root, 0o755)
        os.mkdir(self.root + "/outside")
        os.mkdir(self.root + "/bin")
        os.symlink(CLIENT, f"{self.root}/bin/{name}")
        self.name = name

    def __enter__(self):
        port = free_port()
        argv = [f"{self.root}/bin/{self.name}", str(port), "--address", "127.0.0.1", "--working-dir",
                self.root + "/work", "--username", "openhands", "--user-id", str(UID), "--no-enable-browser"]
        if self.name != "micromamba":
            argv += ["--no-manage-users", "--no-key"]
        self.client = Client(argv=argv, user=False, env={"SU_TO_USER": "1"})
        self.client.port = port
        self.client.work = self.root + "/work"
        return self.client

    def __exit__(self, *_):
        self.client.kill()


def cannot(name):
    if os.geteuid() or not harness.SHIELDED:
        skip(name, "takes root and a mount namespace")
        return True
    if WRAP:
        skip(name, "under a wrapper argv[0] is not that of the client")
        return True
    return False


def put(path, data=b"old\n", mode=0o644, owner=0):
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, mode)
    os.chown(path, owner, owner)
    return path


def get(path):
    with open(path, "rb") as f:
        return f.read()


def owner(path):
    return os.lstat(path).st_uid if os.path.lexists(path) else None


def archive(*names):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name in names:
            z.writestr(name, b"new\n")
    return out.getvalue()


def test_file_of_root():
    """In a folder of the user's the name passes to a new file, with the user's rights alone."""
    if cannot("a file of root's in the user's folder"):
        return
    for name in "micromamba", "client":
        with DropIn(name) as client:
            path = put(client.work + "/f", mode=0o640)
            got = upload(client, client.work, "f", b"new\n")
            eq([got.status, get(path), owner(path), oct(os.stat(path).st_mode)],
               [200, b"new\n", UID, "0o100640"], f"{name}: root's file is replaced by one of the user's")
            path = put(client.work + "/all", mode=0o666)
            got = upload(client, client.work, "all", b"new\n")
            eq([got.status, get(path), owner(path)], [200, b"new\n", 0],
               f"{name}: a file that all may write keeps its owner")
            eq(got.json()["in_place"], 1, f"{name}: and its inode")


def test_folder_of_root():
    if cannot("a folder of root's"):
        return
    with DropIn() as client:
        folder = client.work + "/host"
        os.mkdir(folder)
        path = put(folder + "/f", mode=0o600)
        got = upload(client, folder, "f", b"new\n")
        eq([got.status, get(path), owner(path), oct(os.stat(path).st_mode)],
           [200, b"new\n", UID, "0o100600"], "a file in a folder of root's is replaced by one of the user's")
        got = upload(client, folder, "g", b"new\n")
        eq([got.status, owner(folder + "/g"), owner(folder)], [200, UID, 0], "a new file belongs to the user")
        got = upload(client, folder + "/a/b", "f", b"new\n", query="&sync=true")
        eq([got.status, get(folder + "/a/b/f"), owner(folder + "/a"), owner(folder + "/a/b")],
           [200, b"new\n", UID, UID], "missing folders are made and belong to the user")
        os.chmod(folder, 0o1777)
        put(folder + "/sticky")
        got = upload(client, folder, "sticky", b"new\n")
        eq([got.status, get(folder + "/sticky"), owner(folder + "/sticky")], [200, b"new\n", UID],
           "root's file in a sticky folder is replaced")
        eq(sorted(os.listdir(folder)), ["a", "f", "g", "sticky"], "nothing else is left")
        client.run(f"echo more >> {path}")
        eq(get(path), b"new\nmore\n", "the user's shell can write to what was uploaded")


def test_archive():
    if cannot("an archive into a folder of root's"):
        return
    with DropIn() as client:
        folder = client.work + "/host"
        os.makedirs(folder + "/d")
        put(folder + "/d/f")
        got = upload(client, folder, "t.zip", archive("d/f", "d/e/g", "h"), query="&recursive=true")
        eq([got.status, sorted(os.listdir(folder)), get(folder + "/d/f"), owner(folder + "/d/e/g")],
           [200, ["d", "h"], b"new\n", UID], "an archive is unpacked there")
        got = upload(client, client.work, "t.zip", archive("host/d/f", "own"), query="&recursive=true")
        eq([got.status, owner(client.work + "/own"), owner(folder + "/d/f")], [200, UID, UID],
           "an archive whose entries lie in folders of both")
        data = bytearray(archive("h", "i"))
        at = data.index(b"new\n", data.index(b"new\n") + 1)
        data[at] ^= 1
        got = upload(client, folder, "t.zip", bytes(data), query="&recursive=true")
        eq([got.status, os.path.exists(folder + "/i"), get(folder + "/h")], [500, False, b"new\n"],
           "of an archive with a wrong checksum nothing is seen")
        got = upload(client, folder, "t.zip", archive("../up", "/abs", "j"), query="&recursive=true")
        eq([got.status, os.path.exists(client.work + "/up"), os.path.exists(folder + "/j")], [200, False, True],
           "entries that lead out are passed over")


def test_refusals():
    if cannot("what stays refused"):
        return
    with DropIn() as client:
        outside = client.work + "/../outside"
        victim = put(outside + "/victim", CANARY)
        os.mkdir(client.work + "/host")
        os.symlink(outside, client.work + "/link")
        os.symlink(outside, client.work + "/host/link")
        os.symlink(victim, client.work + "/host/name")
        cases = [("outside of the working directory", os.path.realpath(outside), "victim"),
                 ("by ..", client.work + "/../outside", "victim"),
                 ("through a link of the user's", client.work + "/link", "victim"),
                 ("through a link of root's", client.work + "/host/link", "victim"),
                 ("into a new folder behind a link", client.work + "/host/link/new", "f")]
        for name, folder, base in cases:
            got = upload(client, folder, base, b"new\n")
            eq([got.status, got.json()["detail"][:28], get(victim)],
               [500, "[Errno 13] Permission denied", CANARY], f"{name}: refused")
        eq(os.listdir(outside), ["victim"], "nothing was made there")
        got = upload(client, client.work + "/host", "name", b"new\n")
        eq([got.status, get(victim), os.path.islink(client.work + "/host/name")], [200, CANARY, False],
           "a link under the name itself is replaced, and its target stays")
        os.link(victim, client.work + "/host/hard")
        got = upload(client, client.work + "/host", "hard", b"new\n")
        eq([got.status, get(victim), owner(victim), os.stat(victim).st_nlink], [200, CANARY, 0, 1],
           "of a file with another name elsewhere that one stays")
        with harness.Disk(client.work + "/host/disk", "-t", "tmpfs", "tmpfs", "-o", "mode=755") as disk:
            if disk:
                got = upload(client, disk, "f", b"new\n")
                eq([got.status, os.listdir(disk)], [500, []], "another file system stays root's")
        os.mkdir(client.work + "/host/isdir")
        got = upload(client, client.work + "/host", "isdir", b"new\n")
        eq(got.status, 500, "a folder is not replaced")
    with DropIn("client") as client:
        os.mkdir(client.work + "/host")
        put(client.work + "/host/f")
        got = upload(client, client.work + "/host", "f", b"new\n")
        eq([got.status, get(client.work + "/host/f")], [500, b"old\n"],
           "a server that is not the drop-in has the user's rights alone")


def exchange(root):
    """As the sandbox user: swaps a folder and a link, and a file and a link, as fast as it goes."""
    os.setgid(UID)
    os.setuid(UID)
    pairs = [(f"{root}/work/{a}".encode(), f"{root}/work/{b}".encode())
             for a, b in (("swap", "swap.link"), ("swap/name", "swap/name.link"))]
    while True:
        for a, b in pairs:
            LIBC.renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE)


def test_race():
    """A program of the user's swaps folders and links while uploads run: OD_SECONDS of them, or 4."""
    if cannot("a race"):
        return
    box = DropIn()
    with box as client:
        outside = box.root + "/outside"
        victim = put(outside + "/f", CANARY)
        put(outside + "/name", CANARY)
        os.mkdir(outside + "/host")
        put(outside + "/host/f", CANARY)
        os.mkdir(client.work + "/swap")
        os.symlink(outside, client.work + "/swap.link")
        os.symlink(victim, client.work + "/swap/name.link")
        os.mkdir(client.work + "/swap/host")
        for path in "swap", "swap.link", "swap/name.link":
            os.chown(f"{client.work}/{path}", UID, UID, follow_symlinks=False)
        put(client.work + "/swap/name", owner=UID)
        before = tree(outside)
        swapper = multiprocessing.Process(target=exchange, args=(box.root,), daemon=True)
        swapper.start()
        try:
            done = {200: 0, 500: 0}
            end = time.monotonic() + float(os.environ.get("OD_SECONDS", 4))
            while time.monotonic() < end:
                new = f"swap/host/{sum(done.values())}"
                for folder, name in (("swap", "f"), ("swap", "name"), ("swap/host", "f"), (new, "f")):
                    done[upload(client, f"{client.work}/{folder}", name, b"new\n").status] += 1
                done[upload(client, client.work + "/swap/host", "t.zip", archive("a/f", "f"),
                            query="&recursive=true").status] += 1
        finally:
            os.kill(swapper.pid, signal.SIGKILL)
            swapper.join()
        harness.note(f"{done[200]} uploads were done, {done[500]} were refused")
        ok(done[200] and done[500], "the swaps have hit uploads, and missed others", json.dumps(done))
        eq(tree(outside), before, "nothing outside of the working directory has changed")


def tree(top):
    return sorted((os.path.relpath(os.path.join(at, n), top), owner(os.path.join(at, n)),
                   get(os.path.join(at, n)) if n in files else None)
                  for at, folders, files in os.walk(top) for n in folders + files)


if __name__ == "__main__":
    main()
