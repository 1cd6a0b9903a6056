#!/usr/bin/env python3
"""The ports of a sandbox: kernels and the browser open none, the server opens one."""
import errno
import glob
import os
import socket
import sys

from harness import SLOW, Client, descendants, eq, main, ok, proc, skip, until
import browsers

LIMIT = 60 * SLOW
LOOPBACK = "0100007F"  # as /proc/net/tcp shows 127.0.0.1
WITH_PYTHON = os.path.exists("/usr/share/jupyter/kernels/python3")


def listeners(pids):
    """Where these processes listen, as (address, port), TCP of both families."""
    inodes = set()
    for pid in pids:
        for fd in glob.glob(f"/proc/{pid}/fd/*"):
            try:
                inodes.add(os.readlink(fd))
            except OSError:
                pass  # closed meanwhile
    places = set()
    for name in ("tcp", "tcp6"):
        for line in proc("self", f"net/{name}").decode().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                address, port = words[1].split(":")
                places.add((address, int(port, 16)))
    return places


def family(client):
    return [client.pid, *descendants(client.pid)]


def cell(client, code, kernel):
    return client.act("run_ipython", LIMIT, code=code, kernel=kernel, include_extra=False)["content"]


def own(client):
    return {(LOOPBACK, client.port)}


def test_ports_are_seen():
    """A command that listens is found, so that the other tests can fail."""
    with Client() as client:
        eq(listeners(family(client)), own(client), "the server listens on its port alone")
        code = "import socket; s = socket.create_server(('127.0.0.1', 0)); input()"
        client.run(f"{sys.executable} -c \"{code}\"", timeout=0.5)
        found = until(lambda: listeners(family(client)) - own(client))
        ok(found and len(found) == 1, "the port of a command is found", found)


def test_kernels():
    if not WITH_PYTHON:
        skip("the ports of kernels", "python3-ipykernel is not installed")
        return
    with Client("--plugins", "jupyter", env={"OD_PYTHON": sys.executable}) as client:
        eq(cell(client, "1", None), "1", "the embedded kernel executes a cell")
        eq(listeners(family(client)), own(client), "the embedded kernel opens no port")
        eq(cell(client, "2", "python3"), "2", "a Jupyter kernel executes a cell")
        # ipykernel itself opens one: for output of its forked children, which show a random secret.
        more = listeners(family(client)) - own(client)
        ok(len(more) <= 1 and all(address == LOOPBACK for address, _ in more),
           "a Jupyter kernel opens no port but the one of ipykernel, on the loopback", more)
        check_channels(client)


def check_channels(client):
    """The five channels of the protocol are sockets in a folder, which is gone once they are connected."""
    of_kernel = b"".join(proc(pid, "cmdline") for pid in family(client))
    paths = [line.split()[-1] for line in proc("self", "net/unix").decode().splitlines()
             if "/od-kernel-" in line]
    mine = {p for p in paths if f"{os.path.dirname(p)}/".encode() in of_kernel}
    eq(len(mine), 5, "the channels of its protocol are unix sockets")
    for path in sorted(mine):
        with socket.socket(socket.AF_UNIX) as s:
            eq(s.connect_ex(path), errno.ENOENT, "a channel has no name that others could connect to")


@browsers.needs_browser
def test_browser():
    with browsers.start() as client:
        got = browsers.do(client, "goto(\"data:text/html,<title>a</title>\")")
        eq(got["extras"]["error"], False, "the browser shows a page")
        eq(listeners(family(client)), own(client), "a browser opens no port")


if __name__ == "__main__":
    main()
