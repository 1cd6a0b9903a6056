#!/usr/bin/env python3
"""Podman instead of Docker: a service of its own for root, and one for a user without rights.

Each is skipped by name, with its words, where Podman is not there or cannot start a
container of its own. All of it is in a network of its own, so that no bridge stays.
"""
import os
import shutil
import socket
import subprocess
import sys

import harness
from engine import Engine, archive
from harness import eq, ok, skip

TOP = harness.scratch("od-podman-", place="/var/tmp")
BUSYBOX = "/bin/busybox" if os.path.exists("/bin/busybox") else "/usr/bin/busybox"
NOBODY = 65534
# What is not asked for would be more than a container may raise its limits to.
CONF = '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'


def why_not(done):
    lines = [line for line in done.stderr.splitlines() if "level=warning" not in line]
    return " ".join(lines[-2:])[-300:] or f"exit status {done.returncode}"


class Podman:
    """Podman of one user, with all that is its own in one folder."""

    def __init__(self, uid):
        self.uid = uid
        self.top = os.path.join(TOP, str(uid))
        self.socket = os.path.join(self.top, "socket")
        self.service = None
        for folder in ("", "home", "run", "state"):
            os.mkdir(os.path.join(self.top, folder), 0o700)
            os.chown(os.path.join(self.top, folder), uid, uid)
        for name, data in (("conf", CONF.encode()),
                           ("busybox.tar", archive({"bin/busybox": open(BUSYBOX, "rb").read(),
                                                    "bin/sh": "busybox", "bin/id": "busybox"})),
                           ("bare.tar", archive({"data": b"x"}))):
            with open(os.path.join(self.top, name), "wb") as f:
                f.write(data)
        for path in (harness.RUNTIME, harness.BOXED):
            shutil.copy(path, self.top)
        self.env = {
            "PATH": os.environ["PATH"], "HOME": f"{self.top}/home",
            "XDG_RUNTIME_DIR": f"{self.top}/run", "CONTAINERS_CONF": f"{self.top}/conf",
            "DOCKER_HOST": "unix://" + self.socket, "OD_STATE_DIR": f"{self.top}/state",
            "OD_RUNTIME_CLIENT": f"{self.top}/{os.path.basename(harness.BOXED)}"}

    def call(self, *argv):
        as_user = {"user": self.uid, "group": self.uid, "extra_groups": []} if self.uid else {}
        return subprocess.run(argv, cwd=self.top, env=self.env, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=12 * harness.DEADLINE, **as_user)

    def argv(self, *argv):
        runtime = shutil.which("runc", path=self.env["PATH"] + ":/usr/sbin:/sbin")
        return ("podman", "--root", f"{self.top}/root", "--runroot", f"{self.top}/run/podman",
                "--cgroup-manager", "cgroupfs", *(("--runtime", runtime) if runtime else ()),
                *argv)

    def podman(self, *argv):
        return self.call(*self.argv(*argv))

    def od(self, *argv):
        return self.call(f"{self.top}/{os.path.basename(harness.RUNTIME)}", *argv)

    def serve(self):
        """None, or why it does not work here, od-runtime apart."""
        for name in ("busybox", "bare"):
            done = self.podman("import", "-q", f"{name}.tar", f"od-e2e/{name}:1")
            if done.returncode:
                return why_not(done)
        done = self.podman("run", "--rm", "od-e2e/busybox:1", "id")
        if done.returncode:
            return why_not(done)
        as_user = {"user": self.uid, "group": self.uid, "extra_groups": []} if self.uid else {}
        self.service = subprocess.Popen(
            self.argv("system", "service", "-t", "0", "unix://" + self.socket), env=self.env,
            cwd=self.top, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user)
        return None if harness.until(self.answers) else "it does not listen"

    def answers(self):
        """Whether the service accepts connections; its socket exists a moment before."""
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(self.socket) == 0

    def end(self):
        if self.service:
            self.service.kill()
            self.service.wait()
            self.podman("rm", "-fa", "-t", "0")
            self.podman("unshare" if self.uid else "umount", *(("rm", "-rf", f"{self.top}/root")
                                                               if self.uid else ("-fa",)))


def sandbox(podman, name, image, *how):
    """Runs one, uses it, removes it."""
    what = " ".join(how) or "without a word"
    done = podman.od("run", "--name", name, *how, image)
    if not eq((done.returncode, done.stdout), (0, name + "\n"), f"{image} {what}: runs"):
        return harness.note(done.stderr)
    done = podman.od("exec", name, "sh", "-c", "echo $((6 * 7)) $USER")
    eq((done.returncode, done.stdout), (0, "42 root\n"), "and does what it is told")
    done = podman.od("rm", "-f", name)
    return eq(done.returncode, 0, "and goes")


def try_options(podman):
    """Options of run that docker has, too."""
    done = podman.od("run", "--rm", "-w", "/made/for/it", "-u", "1234:5", "od-e2e/busybox:1", "--", "sh", "-c", "pwd")
    eq((done.returncode, done.stdout), (0, "/made/for/it\n"), "--workdir makes an absent folder")
    name = "options"
    done = podman.od("run", "--name", name, "--dns", "10.9.8.7", "--dns-search", "od.test", "--stop-timeout", "7",
                     "--restart", "on-failure:3", "--sysctl", "net.core.somaxconn=777", "--device",
                     "/dev/null:/dev/od-null", "--group-add", "4242", "--ipc", "private", "--log-driver", "json-file",
                     "od-e2e/busybox:1")
    if not eq((done.returncode, done.stdout), (0, name + "\n"), "run with options"):
        return harness.note(done.stderr)
    doc = Engine(podman.socket).container(name)
    host = doc["HostConfig"]
    eq((host["Dns"], host["DnsSearch"], doc["Config"]["StopTimeout"], host["RestartPolicy"]),
       (["10.9.8.7"], ["od.test"], 7, {"Name": "on-failure", "MaximumRetryCount": 3}), "Podman has them")
    done = podman.od("action", name, '{"action":"run","args":{"command":"busybox cat /proc/sys/net/core/somaxconn; '
                     'echo /dev/od-*"}}')
    ok("777" in done.stdout and "/dev/od-null" in done.stdout, "--sysctl and --device are seen from inside", done.stdout,
       done.stderr)
    done = podman.od("run", "--pid", "host", "--restart", "sometimes", "od-e2e/busybox:1")
    eq(done.returncode, 100, "a restart policy that is none")
    done = podman.od("rm", "-f", name)
    return eq(done.returncode, 0, "rm")


def try_all(podman, *ways):
    for way in ways:
        sandbox(podman, f"box-{way}", "od-e2e/busybox:1", "--via", way)
    sandbox(podman, "box", "od-e2e/busybox:1")
    sandbox(podman, "tls", "od-e2e/busybox:1", "--tls")
    try_options(podman)
    sandbox(podman, "bare", "od-e2e/bare:1", "--via", "volume", "--busybox", BUSYBOX,
            "--read-only")
    engine = Engine(podman.socket)
    eq(engine.call("GET", "/containers/json", query={"all": "1"}), [], "no container stays")
    volumes = engine.call("GET", "/volumes")["Volumes"]
    ok(all(v["Name"].startswith("od-client-") for v in volumes), "nor a volume but the client's",
       volumes)


def with_podman(uid, name, *ways):
    if not shutil.which("podman"):
        return skip(name, "no podman")
    if os.geteuid():
        return skip(name, "only root can be each of these users")
    podman = Podman(uid)
    try:
        why = podman.serve()
        if why:
            return skip(name, why)
        return try_all(podman, *ways)
    finally:
        podman.end()


def test_root():
    with_podman(0, "Podman of root", "bind", "build", "commit")


def test_rootless():
    with_podman(NOBODY, "Podman of a user")


def in_own_network():
    """Starts this program again, in a namespace that goes with it."""
    inside = "ip link set lo up; OD_OWN_NETWORK=1 exec \"$@\""
    if not os.environ.get("OD_OWN_NETWORK") and shutil.which("podman") and os.geteuid() == 0:
        shutil.rmtree(TOP)
        os.execvp("unshare", ["unshare", "-n", "sh", "-c", inside, "sh", sys.executable, *sys.argv])


if __name__ == "__main__":
    in_own_network()
    os.chmod(TOP, 0o755)
    harness.main()
