#!/usr/bin/env python3
"""Descriptors and signals with which a child of the client begins, and the file of the program itself."""
import errno
import os
import shutil
import signal
import threading

from harness import (CLIENT, ME, WRAP, Client, Conn, eq, free_port, main, ok, request, scratch, skip, until)

FDS = "ls /proc/self/fd | tr '\\n' ' '"
# By a program that changes no signal; grep catches SIGSEGV.
SIGNALS = "cat /proc/self/status"
# Signals that the C library keeps for its threads do not count.
OWN_OF_LIBC = 0x180000000


def signals(text):
    lines = dict(line.split(":", 1) for line in text.splitlines())
    return {name: int(lines[name], 16) & ~OWN_OF_LIBC for name in ("SigBlk", "SigIgn", "SigCgt")}


class Load:
    """Requests of eight threads, until it ends."""

    def __init__(self, client):
        self.client, self.over, self.failed = client, threading.Event(), []
        self.threads = [threading.Thread(target=self.run) for _ in range(8)]

    def run(self):
        while not self.over.is_set():
            try:
                with Conn(self.client.port) as conn:
                    conn.send(request("GET", "/server_info")).response()
            except Exception as e:
                self.failed.append(e)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


def test_descriptors():
    """3 is the folder that ls reads."""
    words = ["--entrypoint", "run", "--", "sh", "-c", f"{FDS} >$OUT/entrypoint"]
    out = scratch()
    with Client(*words, env={"OUT": out}) as client, Load(client) as load:
        def one(name, **args):
            got = {client.run(FDS, **args)["content"].strip() for _ in range(20)}
            eq(got, {"0 1 2 3"}, f"{name}: a child has 0, 1 and 2 alone")
        one("a session")
        one("a static command", is_static=True)
        got = client.run(f"sh -c {FDS!r}")["content"].strip()
        eq(got, "0 1 2 3", "a shell in it: the same")
        until(lambda: os.path.exists(out + "/entrypoint") and os.path.getsize(out + "/entrypoint"))
        with open(out + "/entrypoint") as f:
            eq(f.read().strip(), "0 1 2 3", "the image's program: the same")
    eq(load.failed, [], "the requests beside were answered")


def test_signals():
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        with Client() as client:
            for name, args in ("a session", {}), ("a static command", {"is_static": True}):
                got = signals(client.run(SIGNALS, **args)["content"])
                eq(got, {"SigBlk": 0, "SigIgn": 0, "SigCgt": 0}, f"{name}: no signal is blocked, ignored or caught")
            eq(client.run("yes | head -n 1")["content"], "y", "SIGPIPE ends a writer")
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)


def test_program_file():
    """A change of the file does not reach the program that runs."""
    if WRAP:
        skip("the program's file", "the wrapper's is another one")
        return
    copy = scratch() + "/client"
    shutil.copy(CLIENT, copy)
    port = free_port()
    client = Client(argv=[copy, "init", str(port), "--address", "127.0.0.1", "--username", ME], user=False)
    client.port = port
    with client:
        client.run("V=1")
        try:
            with open(copy, "r+b") as f:
                f.write(b"x")
            busy = None
        except OSError as e:
            busy = e.errno
        eq(busy, errno.ETXTBSY, "the file cannot be written to while it runs")
        with open(copy + ".new", "w") as f:
            f.write("#!/bin/false\n")
        os.replace(copy + ".new", copy)
        eq(client.run("echo $V")["content"], "1", "a file in its place changes nothing")
        old = client.serve_pid()
        os.kill(old, signal.SIGKILL)
        ok(until(lambda: client.serve_pid() not in (None, old)), "nor the server that is started again")
        client.shared = None
        eq(client.run("echo $V")["content"].split("\n")[-1], "1", "which has the session")


if __name__ == "__main__":
    main()
