#!/usr/bin/env python3
"""Images whose labels carry the names of od-runtime's own, with a real engine: DOCKER_HOST.

A container inherits the labels of its image. No label of an image may lead od-runtime to
another container, volume or port. Skipped by name where there is no engine.
"""
import os
import secrets
import socket
import threading

import harness
from harness import eq, has, ok
import engine as real
from fake_engine import OWNER

OVERLAY = "od.sandbox.overlay"
LABELS = ["od.probe", "od.sandbox", "od.sandbox.bound", "od.sandbox.image", OVERLAY,
          "od.sandbox.name", "od.sandbox.port", "od.sandbox.via"]


def hostile(**labels):
    """An image with these labels, whose bytes no Dockerfile can carry; its name."""
    made = ENGINE.call("POST", "/containers/create", {"Image": IMAGE, "Labels": {
        name.replace("_", "."): value for name, value in labels.items()}})
    name = BOX.name("labels")
    ENGINE.call("POST", "/commit", {}, query={
        "container": made["Id"], "repo": name, "tag": "1", "pause": 0})
    ENGINE.remove(made["Id"])
    return name + ":1"


def volume(name, **labels):
    ENGINE.call("POST", "/volumes/create", {"Name": name, "Labels": {
        key.replace("_", "."): value for key, value in labels.items()}})
    return name


def volumes():
    return {v["Name"] for v in ENGINE.call("GET", "/volumes")["Volumes"] or []}


def drop(*names):
    for name in names:
        ENGINE.call("DELETE", f"/volumes/{name}", expect=(204, 404))


def own_container(image, name, **labels):
    """A sandbox with an owner's label, of a version that writes no others but these; never started."""
    ENGINE.call("POST", "/containers/create", {
        "Image": image, "Cmd": ["/x"], "Labels": {
            "od.sandbox": "1", "od.sandbox.owner": f"{name} {OWNER}", **labels}}, query={"name": name})
    return name


def test_volume():
    victim = volume(BOX.name("victim"))
    image = hostile(od_sandbox_overlay=victim)
    name = BOX.run(image)
    labels = ENGINE.container(name)["Config"]["Labels"]
    eq({k: labels.get(k) for k in LABELS}, {
        "od.probe": "", "od.sandbox": "1", "od.sandbox.bound": "", "od.sandbox.image": image,
        OVERLAY: "", "od.sandbox.name": "", "od.sandbox.port": "", "od.sandbox.via": "bind"},
       "every label is written, empty if it is unused")
    ok(labels["od.sandbox.owner"].startswith(name + " "), "the owner's label names the sandbox",
       labels["od.sandbox.owner"])
    eq(BOX.od("rm", "-f", name).returncode, 0, "rm removes the sandbox")
    ok(victim in volumes(), "rm keeps a volume that the image's label names")
    old = own_container(image, BOX.name())
    eq(BOX.od("rm", "-f", old).returncode, 0, "rm removes a sandbox with an inherited label")
    ok(victim in volumes(), "rm keeps a volume that an inherited label names")
    drop(victim)


def test_volume_of_ours():
    """A value in the exact form is bound to the sandbox that owns the volume."""
    other = volume("od-overlay-" + secrets.token_hex(8), od_sandbox_overlay="1",
                   od_sandbox_name="another")
    plain = volume("od-overlay-" + secrets.token_hex(8))
    before = volume("od-overlay-" + secrets.token_hex(8), od_sandbox_overlay="1")
    for name, stays, words in (
            (other, True, "rm keeps the overlay volume of another sandbox"),
            (plain, True, "rm keeps a volume without our label"),
            (before, False, "rm removes an overlay volume without an owner label")):
        box = own_container(IMAGE, BOX.name(), **{OVERLAY: name})
        eq(BOX.od("rm", "-f", box).returncode, 0, "rm removes the sandbox")
        eq(name in volumes(), stays, words)
    drop(other, plain, before)


def test_request():
    bystander = ENGINE.start(IMAGE, Cmd=["/bin/busybox", "sleep", "1000"])
    inner = f"POST /containers/{bystander[:12]}/pause"
    image = hostile(od_sandbox_overlay=f"x HTTP/1.1\r\nHost:a\r\n\r\n{inner}")
    for name in (BOX.run(image), own_container(image, BOX.name())):
        eq(BOX.od("rm", "-f", name).returncode, 0, "rm removes the sandbox")
        eq(ENGINE.container(bystander)["State"]["Status"], "running",
           "a request inside a label does not reach the engine")
    ENGINE.remove(bystander)


def test_port():
    listener = socket.create_server(("127.0.0.1", 0))
    port, heard = listener.getsockname()[1], []

    def accept():
        while True:
            try:
                conn, _ = listener.accept()
            except OSError:
                return
            heard.append(conn.recv(1000))
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"status\":\"ok\"}")
            conn.close()
    threading.Thread(target=accept, daemon=True).start()
    image = hostile(od_sandbox_port=str(port), od_sandbox="1")
    name = BOX.run(image, "--network", "none")
    got = BOX.od("exec", name, "sh", "-c", "echo hi")
    eq((got.returncode, got.stdout), (0, "hi\n"), "a sandbox without a network executes")
    row = BOX.od("ps", "--filter", "name=" + name).stdout
    ok(str(port) not in row, "ps does not show the port of the label", row)
    BOX.od("rm", "-f", name)
    old = own_container(image, BOX.name())
    eq(BOX.od("doctor", old).returncode, 111, "doctor describes a sandbox that does not run")
    BOX.od("rm", "-f", old)
    eq(heard, [], "no byte goes to the port that the image's label names")
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_host():
    image = hostile(od_sandbox_port="1")
    name = BOX.run(image, "--network", "host")
    got = BOX.od("exec", name, "sh", "-c", "echo hi")
    eq((got.returncode, got.stdout), (0, "hi\n"), "the port in the host's network is ours")
    BOX.od("rm", "-f", name)


def listed(name):
    return name in BOX.od("ps", "-q", "--filter", "name=" + name).stdout.split()


def test_plain_container():
    """A container that another program makes of an image with our labels is no sandbox."""
    name = BOX.name("plain")
    exact = {"od_sandbox_owner": f"{name} {OWNER}", "od_sandbox_via": "bind", "od_sandbox_image": IMAGE}
    for labels in ({}, {"od_sandbox_owner": f"another {OWNER}"}, exact):
        image = hostile(od_sandbox="1", **labels)
        ENGINE.call("POST", "/containers/create", {
            "Image": image, "Cmd": ["/bin/busybox", "sleep", "1000"]}, {"name": name})
        ENGINE.call("POST", f"/containers/{name}/start")
        words = f"an image with {sorted(labels) or 'the mark alone'}"
        ok(not listed(name), f"ps does not list a container of {words}")
        for argv in (("rm", "-f"), ("stop", "-t", "1"), ("kill",), ("pause",), ("inspect",)):
            got = BOX.od(argv[0], *argv[1:], name)
            eq((got.returncode, ENGINE.container(name)["State"]["Status"]), (111, "running"),
               f"{argv[0]} does not touch a container of {words}")
        has(got.stderr, "is not a sandbox of od-runtime", "and says why")
        eq(BOX.od("inject", name).returncode, 0, f"inject works on a container of {words}")
        ok(listed(name), "ps lists it then")
        eq(BOX.od("rm", "-f", name).returncode, 0, "rm forgets it")
        eq(ENGINE.container(name)["State"]["Status"], "running", "and leaves it")
        ENGINE.remove(name)


def test_committed():
    """A container of the image of a sandbox has its labels, even its name, and is none."""
    name = BOX.run(IMAGE)
    image = BOX.name("committed")
    ENGINE.call("POST", "/commit", {}, query={"container": name, "repo": image, "tag": "1"})
    ok(listed(name), "ps lists the sandbox")
    os.rename(BOX.state, BOX.state + ".away")
    ok(listed(name), "ps of another user lists it, too")
    os.rename(BOX.state + ".away", BOX.state)
    eq(BOX.od("rm", "-f", name).returncode, 0, "rm removes it")
    ENGINE.call("POST", "/containers/create", {
        "Image": image + ":1", "Entrypoint": ["/bin/busybox", "sleep", "1000"]}, {"name": name})
    ENGINE.call("POST", f"/containers/{name}/start")
    ok(not listed(name), "ps does not list a container of its image")
    eq((BOX.od("rm", "-f", name).returncode, ENGINE.container(name)["State"]["Status"]), (111, "running"),
       "rm does not remove it")
    ENGINE.remove(name)
    name = BOX.run(image + ":1")
    ok(listed(name), "ps lists a sandbox of that image")
    eq(BOX.od("rm", "-f", name).returncode, 0, "rm removes it")


def load(box):
    with open(BUSYBOX, "rb") as f:
        files = {"bin/busybox": f.read(), "bin/sh": "busybox"}
    name = f"{real.PREFIX}/labels:1"
    box.engine.load(real.archive(files), name, 'CMD ["/bin/sh"]')
    return name


BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
ENGINE = real.find()
if not ENGINE or not BUSYBOX or not os.path.exists(harness.BOXED):
    print("1..0 # SKIP no engine, no busybox or no od-runtime-client")
else:
    with real.Box(ENGINE) as BOX:
        IMAGE = load(BOX)
        harness.main()
