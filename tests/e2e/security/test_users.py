#!/usr/bin/env python3
"""Whose /etc is changed: that of a container, or of a machine whose administrator has said so.

The client runs as root and is asked for a user that is absent. /etc is an overlay (harness.py)."""
import os
import shutil
import subprocess

import harness
from harness import CLIENT, TOP, WRAP, Client, eq, free_port, has, main, ok, scratch, skip

NAME = "od-absent"
FIRST_PID_NAMESPACE = 0xeffffffc
AS_USER = {"SU_TO_USER": None, "RUNTIME_USERNAME": NAME}
# An engine makes namespaces, and files of its own over those of the image.
ENGINE = """mount --make-rprivate /
for name in hosts hostname; do touch /etc/$name; mount --bind /etc/$name /etc/$name; done
exec "$@\""""
WITH_SUDO = """mount --bind "$TOP/sudoers" /etc/sudoers
exec "$@\""""


def state():
    return subprocess.run([os.path.join(TOP, "tools/machine-state")], capture_output=True,
                          text=True, check=True).stdout


def refused(name):
    if os.geteuid() or not harness.SHIELDED:
        skip(name, "takes root and a mount namespace")
        return True
    return False


def start(*options, **more):
    return Client("--username", NAME, "--user-id", "54321", *options, user=False, env=AS_USER, **more)


def forget():
    """Takes the user out of the overlay again."""
    for name in "passwd", "shadow", "group":
        with open(f"/etc/{name}") as f:
            lines = f.readlines()
        with open(f"/etc/{name}", "w") as f:
            f.writelines(line for line in lines if NAME not in line)
    shutil.rmtree(f"/home/{NAME}", ignore_errors=True)


def test_machine():
    if refused("a machine") or os.stat("/proc/self/ns/pid").st_ino != FIRST_PID_NAMESPACE:
        skip("a machine", "this is a container")
        return
    before = state()
    for role in "serve", "init":
        with start(role=role) as client:
            eq(client.run("id -u; id -g")["content"], "54321\n0", f"{role}: commands run as the uid wanted")
            has(client.log(), f"user {NAME} is not in /etc/passwd and is not added",
                f"{role}: the log says what was not done")
            has(client.log(), "--manage-users", f"{role}: and names the option")
        eq(state(), before, f"{role}: users, groups, sudoers and homes are as before")
    with Client(user=False, env={"SU_TO_USER": None}) as client:
        eq(client.run("id -u")["content"], "1000", "the default user is absent, too")
    eq(state(), before, "without options nothing changes either")


def test_option():
    if refused("--manage-users"):
        return
    before = state()
    with start("--no-manage-users", prefix=["unshare", "-miu", "sh", "-ec", ENGINE, "sh"]):
        eq(state(), before, "--no-manage-users: nothing changes in a container")
    with start("--manage-users") as client:
        eq(client.run("id -un; echo ~")["content"], f"{NAME}\n/home/{NAME}", "--manage-users: the user has a name and a home")
    added = set(state().splitlines()) - set(before.splitlines())
    ok(not [line for line in added if "sudoers" in line], "sudoers is as before", *added)
    with open("/etc/group") as f:
        ok(NAME not in f.read(), "the user is a member of no group")
    forget()


def test_container():
    if refused("a container"):
        return
    if subprocess.run(["unshare", "-piu", "--fork", "--mount-proc", "true"], capture_output=True).returncode:
        skip("a container", "no namespaces here")
        return
    with start(prefix=["unshare", "-miu", "sh", "-ec", ENGINE, "sh"]) as client:
        eq(client.run("id -un")["content"], NAME, "namespaces, and files that an engine mounts: a user is added")
    forget()
    with start(prefix=["unshare", "-piu", "--fork", "--mount-proc", "--kill-child"]) as client:
        eq(client.run("id -u")["content"], "54321", "namespaces alone")
        has(client.log(), "is not added", "are no proof of a container")


def drop_in(top):
    """Starts the client by a link below top, with a sudoers file: the user's name, and that file then."""
    root = scratch()
    os.chmod(root, 0o755)
    os.makedirs(root + "/micromamba/bin")
    os.symlink(CLIENT, root + "/micromamba/bin/micromamba")
    with open(root + "/sudoers", "w") as f:
        f.write("root ALL=(ALL:ALL) ALL\n")
    port = free_port()
    script = f'mount --bind {root}/sudoers /etc/sudoers; mount --bind {root} {top}; exec "$@"'
    client = Client(argv=[top + "/micromamba/bin/micromamba", "run", "-n", "openhands", "poetry", "run",
                          "python", "-u", "-m", "openhands.runtime.action_execution_server", str(port),
                          "--address", "127.0.0.1", "--working-dir", root, "--username", NAME, "--user-id", "54321",
                          "--no-enable-browser"],
                    user=False, env=AS_USER, prefix=["unshare", "-m", "sh", "-ec", script, "sh"])
    client.port = port
    with client, open(root + "/sudoers") as f:
        name = client.run("id -un 2>/dev/null || id -u")["content"].split("\n")[-1]
        return name, f.read()


def test_drop_in():
    """The path at which an unmodified backend starts this program, with sudo as its contract has it."""
    if refused("the drop-in"):
        return
    if WRAP:
        skip("the drop-in", "under a wrapper argv[0] is not that of the client")
        return
    made = not os.path.exists("/openhands")
    os.makedirs("/openhands", exist_ok=True)
    try:
        name, sudoers = drop_in("/openhands")
    finally:
        if made:
            os.rmdir("/openhands")
    eq(name, NAME, "at the path of the contract the user is added")
    has(sudoers, "ALL=(ALL) NOPASSWD:ALL\n", "and may become root without a password")
    forget()
    eq(drop_in("/srv"), ("54321", "root ALL=(ALL:ALL) ALL\n"), "at another path nothing changes")


if __name__ == "__main__":
    main()
