#!/usr/bin/env python3
"""A container with a memory limit: the out-of-memory killer is named, and large bodies are
refused before it comes."""
import shutil
import sys

import harness
from harness import Client, Conn, eq, has, main, request, skip, until
import engine as engines

LIMIT = 64 << 20
SHM = 128 << 20  # the limit is reached first
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
    files.update({f"bin/{name}": "busybox" for name in ("sh", "tail", "cat", "head", "rm")})
    name = f"{engines.PREFIX}-oom:1"
    engine.load(engines.archive(files), name)
    return name


def start(engine, image):
    """A container with the limit, and no swap beside it; its id and its client."""
    box = engine.start(
        image, Cmd=["/client", "init", "8000", "--address", "0.0.0.0", "--no-key"],
        ExposedPorts={"8000/tcp": {}},
        HostConfig={"Memory": LIMIT, "MemorySwap": LIMIT, "ShmSize": SHM,
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


def with_container(name, steps):
    """Runs steps(client, pid of init on this machine) in a container with the limit."""
    engine = engines.find()
    if not engine or not can_limit(engine):
        return skip(name, "no engine here can limit memory")
    image = make_image(engine)
    if not image:
        return skip(name, "there is no busybox")
    container = None
    try:
        container, client = start(engine, image)
        steps(client, engine.container(container)["State"]["Pid"])
    finally:
        if container:
            engine.remove(container)
        engine.remove_image(image)
    return None


def kill_commands(client, _):
    for command, suffix in (
            ("echo small", DONE % 0),
            ("tail /dev/zero", DONE % 137 + KILLED),
            ("tail /dev/zero | cat", DONE % 0 + KILLED),
            ("exec tail /dev/zero", DONE % 137 + ENDED + KILLED),
            ("kill -9 $$", DONE % 137 + ENDED),
            ("echo small again", DONE % 0)):
        o = client.run(command, 60.0, blocking=True)
        eq(o["extras"]["metadata"]["suffix"], suffix, command)


def test_limit():
    return with_container("the out-of-memory killer", kill_commands)


def chunked(body):
    piece = 65536
    chunks = [b"%x\r\n%s\r\n" % (len(p), p)
              for p in (body[i:i + piece] for i in range(0, len(body), piece))]
    head = request("POST", "/execute_action", Content_Length=None, Transfer_Encoding="chunked")
    return head + b"".join(chunks) + b"0\r\n\r\n"


def ask(client, data):
    """The answer to bytes that the server may refuse while they are sent."""
    with Conn(client.port) as conn:
        try:
            conn.send(data)
        except OSError:
            pass
        return conn.response(60 * harness.SLOW)


def fill(client):
    """Takes all but some 3 MB of the memory; it is shared, so that the kernel can reclaim none."""
    o = client.run("head -c 60m /dev/zero > /dev/shm/full", 60.0, blocking=True)
    eq(o["extras"]["metadata"]["exit_code"], 0, "the memory is filled")


def send_bodies(client, pid):
    large = harness.action("write", path="/dev/shm/large", content="x" * (8000 << 10))
    forms = (("with a length", request("POST", "/execute_action", large)),
             ("in chunks", chunked(large)))
    client.run("echo a shell", 60.0)
    before = harness.descendants(pid)
    for form, data in forms:
        fill(client)
        answer = ask(client, data)
        eq((answer.status, answer.field("retry-after")), (503, "1"),
           f"under a full limit a body of 8 MB {form} is refused")
        has(answer.json()["detail"], "memory", f"the refusal of a body {form} names its cause")
        eq(client.get("/alive").status, 200, f"after a body {form} /alive answers")
        eq(client.run("echo small", 60.0)["content"], "small",
           f"after a body {form} a small one is taken")
        eq(list(filter(harness.alive, before)), before,
           f"a body {form} ends neither server nor shell")
        client.run("rm /dev/shm/full", 60.0)
        answer = ask(client, data)
        eq((answer.status, answer.json().get("observation")), (200, "write"),
           f"with free memory the same body {form} is taken")
        eq(list(filter(harness.alive, before)), before, "server and shell live on")
        client.run("rm /dev/shm/large", 60.0)


def test_large_body():
    return with_container("a large body under a full memory limit", send_bodies)


if __name__ == "__main__":
    sys.exit(main())
