#!/usr/bin/env python3
"""Real containers: every action in every image, and life as process 1."""
import functools
import json
import os
import time

from harness import (SLOW, Closed, Conn, action, eq, has, main, note, ok, request, sha256_hex,
                     under, until)
from engine import Box, find, has_images, load_images, port_of

ENGINE = find()
IMAGES = load_images(ENGINE, "debian", "busybox", "static") if ENGINE else None
usable = functools.partial(has_images, ENGINE, IMAGES)


def test_every_action_in_every_image():
    if not usable("every action in every image"):
        return
    with Box(ENGINE) as box:
        for kind, image in IMAGES.items():
            name = box.run(image)
            got = box.act(name, "run", command="echo hi; (exit 3)")
            eq((got["content"], got["extras"]["metadata"]["exit_code"],
                got["extras"]["metadata"]["username"]), ("hi", 3, "root"), f"{kind}: run")
            eq(box.content(name, "cd /dev; A=1; pwd"), "/dev", f"{kind}: cd")
            eq(box.content(name, "echo $A; pwd"), "1\n/dev", f"{kind}: state is kept")
            eq(box.content(name, "echo $$ >/dev/null; test -t 1 && echo tty"), "tty",
               f"{kind}: a terminal")
            timed_out = box.act(name, "run", timeout=0.3, command="sleep 1000")
            has(timed_out["extras"]["metadata"]["suffix"], "timed out", f"{kind}: a timeout")
            got = box.act(name, "run", command="C-c", is_input=True)
            eq(got["extras"]["metadata"]["exit_code"], 130, f"{kind}: C-c")
            got = box.act(name, "write", path="/new/folder/f", content="é\n")
            eq(got["observation"], "write", f"{kind}: write")
            got = box.act(name, "read", path="/new/folder/f")
            eq(got["content"], "é\n\n", f"{kind}: read")
            has(box.act(name, "read", path="/nope")["content"], "File not found: /nope.",
                f"{kind}: a missing file")
            got = box.act(name, "browse", url="http://x")
            ok(got["observation"] == "error" and got["content"], f"{kind}: what there is not yet", got)
            inspect = ENGINE.container(name)
            bindings = port_of(ENGINE, name)
            ok(bindings and {ip for ip, _ in bindings} == {"127.0.0.1"},
               f"{kind}: published on 127.0.0.1 alone", bindings)
            ok("SESSION_API_KEY" not in str(inspect["Config"]["Env"]),
               f"{kind}: the key is not in the container's configuration")
            box.od("rm", "--force", name)


def test_without_a_shell():
    """An image that has none: with what build puts in, and without."""
    if not usable("an image without a shell"):
        return
    with Box(ENGINE) as box:
        image = IMAGES["static"]
        built = json.loads(box.od("build", "--json", image).stdout)
        eq((built["built"], built["shell"]), (True, "busybox"), "a busybox goes in")
        again = json.loads(box.od("build", "--json", image).stdout)
        eq((again["built"], again["image"]), (False, built["image"]), "once")
        name = box.run(image)
        done = box.od("exec", name, "sh", "-c", "echo hi")
        eq((done.returncode, done.stdout, done.stderr), (0, "hi\n", ""), "exec of the bundled sh")
        done = box.od("exec", name, "sh", "-c", "stat -c '%a %u:%g %n' /.od/bin /.od/bin/*; ls /; (exit 3)")
        eq((done.returncode, done.stdout.splitlines()[:2]),
           (3, ["755 0:0 /.od/bin", "555 0:0 /.od/bin/busybox"]), "all of busybox is there")
        own = json.loads(box.od("build", "--json", IMAGES["busybox"]).stdout)
        eq(own["shell"], "own", "a shell of the image's own is found, over links")
        eq(json.loads(box.od("build", "--json", IMAGES["debian"]).stdout)["shell"], "own",
           "and where /bin is a link")
        name = box.run(image, "--no-busybox")
        got = box.act(name, "run", command="echo hi")
        eq(got["observation"], "error", "--no-busybox: run is answered")
        for part in ("no shell", "/bin/bash", "/bin/sh", "/.od/bin/busybox"):
            has(got["content"], part, f"and names what is not there: {part}")
        hidden = box.act(name, "run", command="echo hi", hidden=True)
        eq((hidden["observation"], hidden["extras"]["hidden"], hidden["success"]),
           ("run", True, False), "a hidden run is a run observation")
        done = box.od("exec", "--session", "default", name, "--", "echo hi")
        ok(done.returncode == 111 and "no shell" in done.stderr and not done.stdout,
           "exec --session says so", done.returncode, done.stderr)
        done = box.od("exec", name, "sh", "-c", "echo hi")
        ok(done.returncode == 127 and "no program named 'sh'" in done.stderr and not done.stdout,
           "exec of sh finds none", done.returncode, done.stderr)
        eq(box.act(name, "write", path="/f", content="x")["observation"], "write",
           "files can be written all the same")


def state_key(box, name):
    """The key of a sandbox, as od-runtime keeps it."""
    folder = os.path.join(box.state, "sandboxes")
    for entry in os.listdir(folder):
        path = os.path.join(folder, entry)
        eq(os.stat(path).st_mode & 0o777, 0o600, "the state file is for its owner alone")
        with open(path) as f:
            state = json.load(f)
        if state.get("name", name) == name:
            return next(v for k, v in state.items() if "key" in k.lower())
    return None


def test_key():
    if not usable("the key of a sandbox"):
        return
    with Box(ENGINE) as box:
        name = box.run(IMAGES["debian"])
        key = state_key(box, name)
        ok(key and len(key) >= 32, "a random key of enough length")
        inspect = ENGINE.container(name)
        ok(key not in str(inspect) and sha256_hex(key) in str(inspect),
           "the engine sees its SHA-256 and not the key")
        ok(key not in box.content(name, "cat /proc/1/cmdline /proc/1/environ; env"),
           "neither does the sandbox")
        host, port = port_of(ENGINE, name)[0]
        body = action("run", command="echo in")
        with Conn(port, host) as c:
            eq(c.send(request("POST", "/execute_action", body)).response().status, 403,
               "403 without it")
        with Conn(port, host) as c:
            data = request("POST", "/execute_action", body, X_Session_API_Key=key)
            eq(c.send(data).response().json()["content"], "in", "200 with it")


def test_crash_in_a_container():
    """kill -9 of the server by the sandbox's own root."""
    if not usable("a crash in a container"):
        return
    with Box(ENGINE) as box:
        for kind in ("debian", "busybox"):
            name = box.run(IMAGES[kind])
            box.content(name, "cd /tmp; A=kept")
            shell = box.content(name, "echo $$")
            serve = box.content(name, "for p in /proc/[0-9]*; do read -r pid x <$p/stat; "
                                "grep -q od-runtime-client $p/cmdline 2>/dev/null && "
                                "[ $pid != 1 ] && echo $pid; done")
            ok(serve.isdigit(), f"{kind}: one server below process 1", serve)
            done = box.od("exec", "--session", "default", "--timeout", "5", name, "--", f"kill -9 {serve}; seq 1000; (exit 7)")
            note(f"exec ended with {done.returncode}: {done.stderr.strip()[-200:]}")
            got = until(lambda: poll(box, name), 10)
            if got and "No previous" not in got["content"]:
                eq(got["extras"]["metadata"]["exit_code"], 7, f"{kind}: the exit code survives")
                eq(got["content"].split(), [str(i) for i in range(1, 1001)],
                   f"{kind}: and every line")
            else:
                # answered by the new server on a connection that waited
                eq((done.returncode, done.stdout.split()), (7, [str(i) for i in range(1, 1001)]),
                   f"{kind}: the result survives")
            eq(box.content(name, "echo $$ $A; pwd"), f"{shell} kept\n/tmp", f"{kind}: the same shell")


def poll(box, name):
    try:
        return box.act(name, "run", command="", timeout=5)
    except RuntimeError:
        return None


def test_stop():
    if not usable("stopping a container"):
        return
    with Box(ENGINE) as box:
        for what, command, most in (("idle", None, 1), ("busy", "trap '' TERM HUP INT; sleep 1000", 5)):
            name = box.run(IMAGES["debian"])
            # the engine's own part: what it takes to end a program that ends at once
            plain = ENGINE.start(IMAGES["debian"], Cmd=["cat"], OpenStdin=True)
            t = time.monotonic()
            ENGINE.kill(plain)
            ENGINE.wait(plain)
            floor = time.monotonic() - t
            if command:
                box.act(name, "run", timeout=0.3, command=command)
            t = time.monotonic()
            ENGINE.stop(name)
            took = time.monotonic() - t
            under(took - floor, most * SLOW, f"{what}: seconds to stop, beside the engine's {floor:.2f}")
            eq(ENGINE.container(name)["State"]["ExitCode"], 0, f"{what}: exit code")


def test_restart():
    """A stopped sandbox starts again with the same arguments, as backends do it."""
    if not usable("starting a sandbox again"):
        return
    with Box(ENGINE) as box:
        name = box.run(IMAGES["debian"])
        box.content(name, "echo 'export B=1' >>~/.bashrc; echo x >/kept")
        ENGINE.stop(name)
        ENGINE.call("POST", f"/containers/{name}/start")
        got = until(lambda: poll(box, name))
        ok(got, "it answers again", got)
        eq(box.content(name, "echo $B; cat /kept"), "1\nx", "with its files")


def runtime_image(box, image):
    done = box.od("build", image)
    eq(done.returncode, 0, f"build {image}")
    return done.stdout.strip()


def by_hand(image, *options, **config):
    """A container of a runtime image, started past od-runtime; a way to act in it."""
    host = dict({"PortBindings": {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": ""}]}},
                **config.pop("HostConfig", {}))
    made = ENGINE.start(image, Cmd=["8000", "--no-key", *options], ExposedPorts={"8000/tcp": {}},
                        HostConfig=host, **config)

    def act(action_name, timeout=10.0, **args):
        port = port_of(ENGINE, made)[0][1]

        def once():
            try:
                with Conn(port) as c:
                    return c.send(request("POST", "/execute_action",
                                          action(action_name, timeout, **args))).response().json()
            except (Closed, OSError):
                if not ENGINE.container(made)["State"]["Running"]:
                    raise RuntimeError("it has ended") from None
                return None
        return until(once)
    return made, act


def test_users_and_locks():
    """Non-root, read-only, without capabilities, without a terminal's /dev/pts."""
    if not usable("odd users and locked-down containers"):
        return
    with Box(ENGINE) as box:
        for kind in ("debian", "busybox"):
            image = runtime_image(box, IMAGES[kind])
            for what, options, config, user in (
                    ("root", ["--username", "root"], {}, "0"),
                    ("the default user", [], {}, "1000"),
                    ("a user by number", [], {"User": "12345:23456"}, "12345"),
                    ("read-only", ["--username", "root"],
                     {"HostConfig": {"ReadonlyRootfs": True}}, "0"),
                    ("read-only and default user", [], {"HostConfig": {"ReadonlyRootfs": True}}, None),
                    ("no capabilities", ["--username", "root"], {"HostConfig": {
                        "CapDrop": ["ALL"], "SecurityOpt": ["no-new-privileges"]}}, "0"),
                    ("read-only, no capabilities, by number", [], {
                        "User": "65532", "HostConfig": {"ReadonlyRootfs": True, "CapDrop": ["ALL"]}},
                     "65532"),
                    ("an init of the engine's", ["--username", "root"],
                     {"HostConfig": {"Init": True}}, "0"),
                    ("few processes", ["--username", "root"], {"HostConfig": {"PidsLimit": 20}}, "0")):
                made, act = by_hand(image, *options, **config)
                try:
                    got = act("run", command="id -u; echo $HOME; pwd")
                    lines = got["content"].splitlines()
                    ok(got["observation"] == "run" and (user is None or lines[:1] == [user]),
                       f"{kind}, {what}: run", got)
                    got = act("run", command="echo again")
                    eq(got["content"], "again", f"{kind}, {what}: run again")
                    got = act("write", path="/dev/shm/f", content="x")
                    eq(got["observation"], "write", f"{kind}, {what}: write")
                    eq(act("read", path="/dev/shm/f")["content"], "x\n", f"{kind}, {what}: read")
                except Exception as e:
                    ok(False, f"{kind}, {what}: works", repr(e),
                       str(ENGINE.call("GET", f"/containers/{made}/logs",
                                       query={"stdout": 1, "stderr": 1})))
                ENGINE.remove(made)


def test_drop_in_start():
    """The start command of an unmodified backend, entry point emptied."""
    if not usable("the start command of a backend"):
        return
    with Box(ENGINE) as box:
        for kind in IMAGES:
            image = runtime_image(box, IMAGES[kind])
            words = ["/openhands/micromamba/bin/micromamba", "run", "-n", "openhands", "poetry", "run",
                     "python", "-u", "-m", "openhands.runtime.action_execution_server", "34512",
                     "--working-dir", "/workspace", "--plugins", "agent_skills", "jupyter", "vscode",
                     "--username", "openhands", "--user-id", "1000", "--no-enable-browser"]
            made = ENGINE.start(image, Entrypoint=[], Cmd=words, WorkingDir="/openhands/code/",
                                ExposedPorts={"34512/tcp": {}}, HostConfig={"PortBindings": {
                                    "34512/tcp": [{"HostIp": "127.0.0.1", "HostPort": ""}]}})
            port = port_of(ENGINE, made)[0][1]

            def once(data):
                try:
                    with Conn(port) as c:
                        return c.send(data).response()
                except (Closed, OSError):
                    return None
            ok(until(lambda: once(request("GET", "/alive"))), f"{kind}: it is alive")

            def says_so():
                log = ENGINE.call("GET", f"/containers/{made}/logs", query={"stdout": 1})
                return b"Runtime client initialized." in (log or b"")
            ok(until(says_so), f"{kind}: and says so in the log")
            got = once(request("POST", "/execute_action", action(
                "run", command="whoami 2>/dev/null || id -u; pwd; cd ~; pwd"))).json()
            eq(got["content"], "openhands\n/workspace\n/home/openhands", f"{kind}: user and folders")
            got = once(request("POST", "/execute_action", action(
                "run", command="touch f && ls -l f | cut -d' ' -f3; id -u"))).json()
            has(got["content"], "1000", f"{kind}: the files are his")
            ENGINE.remove(made)


def test_no_traffic():
    """A sandbox that is left alone says nothing to the network."""
    if not usable("no network traffic"):
        return
    with Box(ENGINE) as box:
        name = box.run(IMAGES["debian"])
        box.content(name, "true")

        def sent():
            lines = box.content(name, "cat /proc/net/tcp /proc/net/udp /proc/net/tcp6").splitlines()
            # local address 0.0.0.0 or 127.0.0.1, or a connection to our published port
            return [x.split()[1:4] for x in lines if ":" in x and "address" not in x]
        rows = sent()
        ports = {r[0].split(":")[1] for r in rows if r[2] in ("0A", "01", "06", "08", "04", "05")}
        eq(len(ports), 1, "one port is all that is open")
        ok(not [r for r in rows if r[2] == "02"], "nothing is being connected to", rows)
        ok(all(r[1].startswith("00000000:") or r[0].split(":")[1] in ports for r in rows),
           "no connection but those to it", rows)


def test_a_home_of_its_own():
    """What lies in the image before us is not touched."""
    if not usable("the image stays as it was"):
        return
    with Box(ENGINE) as box:
        name = box.run(IMAGES["static"])
        changed = sorted(c["Path"] for c in ENGINE.call("GET", f"/containers/{name}/changes") or [])
        note("changed by starting: " + ", ".join(changed))
        odd = [p for p in changed if not p.startswith(("/.od", "/openhands", "/tmp", "/home", "/etc"))]
        eq(odd, [], "starting changes nothing but users and /tmp")


def test_zz_clean_up():
    if not usable("clean up"):
        return
    for image in IMAGES.values():
        ENGINE.remove_image(image)
    eq(ENGINE.ours(), set(), "no image of the tests is left")


if __name__ == "__main__":
    main()
