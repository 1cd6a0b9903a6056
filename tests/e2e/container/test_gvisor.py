#!/usr/bin/env python3
"""The client under gVisor, whose kernel is no Linux: runsc runs it in a bundle, without an
engine. Skipped by name where there is no runsc, or where it can run nothing.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile

import harness
from harness import Client, eq, ok, skip, until, wait_exit

BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
CAPS = ["CAP_" + c for c in (
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE NET_RAW SETFCAP "
    "SETGID SETPCAP SETUID SYS_CHROOT").split()]
PLACE = "/.od/od-runtime-client"


class Box:
    """A bundle; its files are those of the image, and what the sandbox has done to them."""

    def __init__(self, fill):
        self.top = tempfile.mkdtemp(prefix="od-gvisor-")
        # gVisor names an abstract socket by it, which all tests of the machine share.
        self.id = os.path.basename(self.top)
        self.root = os.path.join(self.top, "root")
        self.runsc = ["runsc", "--root", self.top + "/state", "--network=host", "--platform=ptrace",
                      "--ignore-cgroups"]
        os.chmod(self.top, 0o755)
        for name in ("tmp", "seen"):
            os.makedirs(os.path.join(self.root, name))
            os.chmod(os.path.join(self.root, name), 0o1777)
        fill(self.root)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top, ignore_errors=True)

    def words(self, *argv):
        """What runs argv in it, with the loopback of this machine; its id is to follow."""
        config = {
            "ociVersion": "1.0.0",
            "process": {
                "user": {"uid": 0, "gid": 0}, "args": argv, "cwd": "/",
                "env": ["PATH=/usr/local/bin:/usr/bin:/bin"],
                "capabilities": {k: CAPS for k in ("bounding", "effective", "permitted")},
            },
            "root": {"path": self.root},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
                {"destination": "/dev/shm", "type": "tmpfs", "source": "tmpfs"},
                {"destination": PLACE, "type": "bind", "source": harness.BOXED,
                 "options": ["bind", "ro"]},
            ],
            "linux": {"namespaces": [{"type": t} for t in ("pid", "ipc", "uts", "mount")]},
        }
        with open(self.top + "/config.json", "w") as f:
            json.dump(config, f)
        return [*self.runsc, "run", "--bundle", self.top]

    def client(self, *options):
        return Client(argv=[self.id], prefix=lambda client: self.words(
            PLACE, str(client.port), "--address", "127.0.0.1", *options))


def busybox(root):
    os.mkdir(root + "/bin")
    shutil.copy(BUSYBOX, root + "/bin/busybox")
    for name in ("sh", "sleep", "cat", "id", "tty", "kill"):
        os.symlink("busybox", f"{root}/bin/{name}")


def bash(root):
    """And the libraries that it needs."""
    busybox(root)
    said = subprocess.run(["ldd", "/bin/bash"], capture_output=True, text=True, check=True)
    for path in ["/bin/bash", *re.findall(r"(/\S+)", said.stdout)]:
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, root + path)


def why_not():
    if not BUSYBOX or not shutil.which("runsc"):
        return "no runsc or no static busybox"
    with Box(busybox) as box:
        done = subprocess.run([*box.words("/bin/busybox", "echo", "hi"), box.id],
                              capture_output=True, text=True)
        return "" if done.stdout == "hi\n" else "runsc runs nothing here: " + done.stderr[-500:]


def code(got):
    return got["extras"]["metadata"]["exit_code"]


def story(fill, user, uid):
    with Box(fill) as box:
        client, name = box.client("--username", user, "--working-dir", "/tmp"), f"{fill.__name__}, {user}"
        run = client.run
        eq(run("V=1; id -u; echo $((6*7)) >&2")["content"], f"{uid}\n42", f"{name}: a command")
        if not eq(run("echo $V; tty")["content"], "1\n/dev/pts/0", f"{name}: a shell on a terminal"):
            harness.note(client.log())
        eq(run("echo x >/dev/stdout; echo y >/proc/self/fd/2")["content"], "x\ny",
           f"{name}: which is its own")
        client.act("write", path="/tmp/f", content="x")
        eq(run("cat /tmp/f")["content"], "x", f"{name}: a file")
        run("sleep 1000 & job=$!")
        # Its terminal raises no signals: the client does.
        for key, want in (("C-c", 130), ("C-\\", 131), ("C-z", 148)):
            seen = f"/seen/{want}"
            run(f"sh -c 'echo >{seen}; exec sleep 1001'", timeout=0.3)
            ok(until(lambda: os.path.exists(box.root + seen)), f"{name}: a command goes on")
            eq(code(run(key, is_input=True)), want, f"{name}: {key}")
        # Debian's busybox may hang itself up over it (docs/shells.md).
        if fill == bash:
            eq(code(run("while :; do :; done", timeout=0.3)), -1, f"{name}: the shell itself works")
            eq(code(run("C-c", is_input=True)), 130, f"{name}: C-c")
        eq(run("kill -0 $job && echo on")["content"], "on", f"{name}: none of them was for a job")
        subprocess.run([*box.runsc, "kill", box.id, "TERM"], check=True)
        eq(wait_exit(client.process), 0, f"{name}: it ends")
        client.kill()


def test_gvisor():
    why = why_not()
    if why:
        skip("gVisor", why)
        return
    story(busybox, "root", 0)
    story(busybox, "openhands", 1000)
    story(bash, "openhands", 1000)


if __name__ == "__main__":
    harness.main()
