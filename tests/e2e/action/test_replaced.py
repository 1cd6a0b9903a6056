#!/usr/bin/env python3
"""The file of the client is replaced while it runs: what runs goes on with the old program."""
import errno
import hashlib
import os
import shutil
import signal
import subprocess

from harness import CLIENT, PLUGINS, Client, eq, has, main, ok, scratch, until

OTHER = b"#!/bin/sh\necho replaced\n"


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def error_of(path):
    """The error with which a file refuses to be opened for writing."""
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError as e:
        return e.errno
    return 0


def check_works(client, when):
    got = client.run("echo alive")["content"]
    ok(got.endswith("alive"), f"commands run {when}", got)
    eq(client.act("write", path="file", content="text")["observation"], "write", f"files are written {when}")


def test_replaced():
    place = scratch("od-replaced-")
    program = os.path.join(place, "od-runtime-client")
    shutil.copy(CLIENT, program)
    shutil.copy(PLUGINS, os.path.join(place, "od-plugins"))
    digest = sha256(program)
    with Client(role="init", prefix=["sh", "-c", 'shift; exec "$0" "$@"', program]) as client:
        check_works(client, "at first")
        for path in (program, f"/proc/{client.pid}/exe", f"/proc/{client.serve_pid()}/exe"):
            eq(error_of(path), errno.ETXTBSY, "a program that runs cannot be written to")
        with open(program + ".new", "wb") as f:
            f.write(OTHER)
        os.chmod(program + ".new", 0o755)
        os.rename(program + ".new", program)
        eq(subprocess.run([program], capture_output=True).stdout, b"replaced\n", "another program has its name")
        check_works(client, "when the file is another one")
        serve = client.serve_pid()
        os.kill(serve, signal.SIGKILL)
        ok(until(lambda: client.serve_pid() not in (None, serve)), "init starts the server again")
        client.shared = None
        check_works(client, "after a crash of the server")
        client.run("echo a line >lines")
        has(client.run("open_file lines", session="new")["content"], "1|a line",
            "a shell of the new server has the skills of od-plugins beside the old program")
        for name, pid in (("init", client.pid), ("serve", client.serve_pid())):
            eq(sha256(f"/proc/{pid}/exe"), digest, f"{name} is the old program")


if __name__ == "__main__":
    main()
