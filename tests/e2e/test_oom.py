#!/usr/bin/env python3
"""The out-of-memory killer in a container with a memory limit: it is named."""
import shutil
import sys

import engine as engines
import harness
from harness import Client, eq, main, skip, until

LIMIT = 64 << 20
DONE = "\n[The command completed with exit code %d.]"
ENDED = "\n[The shell has ended. The next command gets a new one in the same directory.]"
KILLED = ("\n[While the command ran, the kernel's out-of-memory killer ended 1 process of the "
          "sandbox. The memory limit is 64 MiB.]")


class Remote(Client):
    """The client of a container, at the port that the engine has published."""

    def __init__(self, port):
        self.port, self.shared = port, None


def can_limit(engine):
    return engine.call("GET", "/info").get("MemoryLimit")


def make_image(engine):
    busybox = shutil.which("busybox")
    if not busybox:
        return None
    files = {"bin/": b""}
    for path, source in (("client", harness.BOXED), ("bin/busybox", busybox)):
        with open(source, "rb") as f:
            files[path] = f.read()
    files.update({f"bin/{name}": "busybox" for name in ("sh", "tail", "cat")})
    name = f"{engines.PREFIX}-oom:1"
    engine.load(engines.archive(files), name)
    return name


def start(engine, image):
    """A container with the limit, and no swap beside it; its id and its client."""
    box = engine.start(
        image, Cmd=["/client", "init", "8000", "--address", "0.0.0.0", "--no-key"],
        ExposedPorts={"8000/tcp": {}},
        HostConfig={"Memory": LIMIT, "MemorySwap": LIMIT,
                    "PortBindings": {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": ""}]}})
    ports = engine.container(box)["NetworkSettings"]["Ports"]["8000/tcp"]
    client = Remote(int(ports[0]["HostPort"]))
    until(lambda: answers(client))
    return box, client


def answers(client):
    try:
        return client.get("/alive").status == 200
    except (OSError, harness.Closed):
        return False


def test_limit():
    engine = engines.find()
    if not engine or not can_limit(engine):
        return skip("the out-of-memory killer", "no engine here can limit memory")
    image = make_image(engine)
    if not image:
        return skip("the out-of-memory killer", "there is no busybox")
    box = None
    try:
        box, client = start(engine, image)
        for command, suffix in (
                ("echo small", DONE % 0),
                ("tail /dev/zero", DONE % 137 + KILLED),
                ("tail /dev/zero | cat", DONE % 0 + KILLED),
                ("exec tail /dev/zero", DONE % 137 + ENDED + KILLED),
                ("kill -9 $$", DONE % 137 + ENDED),
                ("echo small again", DONE % 0)):
            o = client.run(command, 60.0, blocking=True)
            eq(o["extras"]["metadata"]["suffix"], suffix, command)
    finally:
        if box:
            engine.remove(box)
        engine.remove_image(image)
    return None


if __name__ == "__main__":
    sys.exit(main())
