#!/usr/bin/env python3
"""The interpreter that a command's answer names: the first "python" on the session's PATH."""
import ctypes
import os
import struct

import harness
from contract import each_shell
from harness import Client, action, descendants, eq, main, ok, proc, request, scratch, skip, until

MNT_DETACH = 2
LIBC = ctypes.CDLL(None, use_errno=True)


def python_of(got):
    return got["extras"]["metadata"]["py_interpreter_path"]


def program(folder, mode=0o755):
    os.makedirs(folder, exist_ok=True)
    path = folder + "/python"
    with open(path, "w") as f:
        f.write("#!/bin/sh\n")
    os.chmod(path, mode)
    return path


class DeadDisk:
    """A FUSE file system whose server reads requests and answers none: who enters it waits for ever."""

    def __init__(self):
        self.path = scratch()
        os.chmod(self.path, 0o755)

    def __enter__(self):
        try:
            self.fd = os.open("/dev/fuse", os.O_RDWR)
        except OSError:
            return None
        data = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if LIBC.mount(b"dead", self.path.encode(), b"fuse", 0, data):
            os.close(self.fd)
            return None
        # Until FUSE_INIT is answered, everybody waits: version 7.31, all else 0.
        unique = struct.unpack("<IIQ", os.read(self.fd, 65536)[:16])[2]
        init = struct.pack("<IIIIHHIIHHIIII", 7, 31, 0, 0, 0, 0, 4096, 0, 0, 0, 0, 0, 0, 0).ljust(64, b"\0")
        os.write(self.fd, struct.pack("<IiQ", 16 + len(init), 0, unique) + init)
        return self.path

    def __exit__(self, *_):
        LIBC.umount2(self.path.encode(), MNT_DETACH)
        # Those who wait get an error now.
        os.close(self.fd)


@each_shell
def test_follows_path(shell):
    with shell.client() as client:
        first, second = program(client.top + "/a"), program(client.top + "/b")
        program(client.top + "/c", mode=0o644)
        os.makedirs(client.top + "/d/python")
        client.run(f"OLD=$PATH; PATH={client.top}/b:$PATH")
        eq(python_of(client.run(f"PATH={client.top}/c:{client.top}/d:$PATH")), second,
           "neither a file that is no program nor a folder counts")
        eq(python_of(client.run(f"PATH={client.top}/a:$PATH")), first, "the first one on a new PATH, in its answer")
        eq(python_of(client.run("PATH=$OLD")) in (first, second), False, "it goes with its folder")
        client.run(f"PATH={client.top}/a:$PATH")
        os.unlink(first)
        ok(until(lambda: python_of(client.run("true")) != first), "one that is removed is noticed later")
        program(client.top + "/a")
        ok(until(lambda: python_of(client.run("true")) == first), "and so is one that comes")


def test_dead_disk():
    """A folder of PATH that does not answer holds up neither the server nor the session."""
    if os.geteuid() or not harness.SHIELDED:
        skip("a dead disk", "takes root and a mount namespace")
        return
    with DeadDisk() as dead:
        if not dead:
            skip("a dead disk", "FUSE is not to be had here")
            return
        with Client() as client, client.conn() as other:
            command = f"OLD=$PATH; PATH={dead}:$PATH"
            with client.conn() as first:
                first.send(request("POST", "/execute_action", action("run", command=command)))
                eq(other.send(request("GET", "/alive")).response().status, 200, "the server answers others")
                eq(python_of(first.response().json()), "", "the command has an answer, without an interpreter")
            eq(other.send(request("GET", "/alive")).response().status, 200, "the server still answers")
            got = client.run(f"PATH={dead}:$PATH:/other", timeout=0.5)
            eq(got["extras"]["metadata"]["exit_code"], 0, "a command that has ended has not timed out")
            got = client.run("echo alive")
            eq([got["content"], python_of(got)], ["alive", ""], "the session goes on, without an interpreter")
            for _ in range(3):
                client.run("PATH=$PATH:/nowhere")
            waiting = [p for p in descendants(client.pid) if b"od-runtime" in proc(p, "cmdline")]
            ok(len(waiting) <= 1, "no more than one process waits for the disk", waiting)
            folder = client.top + "/a"
            program(folder)
            client.run(f"PATH={folder}:$OLD")
            ok(until(lambda: python_of(client.run("true")) == folder + "/python"), "another PATH is searched again")


if __name__ == "__main__":
    main()
