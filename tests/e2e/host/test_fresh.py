#!/usr/bin/env python3
"""tools/demo on a fresh minimal Debian: nothing is installed there, and it has an engine
of its own.

The machine is a root of debootstrap's variant minbase in namespaces of its own (mounts,
processes, network). Its one way out is an HTTP proxy on its loopback, whose other end is
here, so that apt and debootstrap reach the mirror that this machine uses.

It installs some 900 MB, so that it runs when OD_FRESH=1 asks for it; tools/test does. With
OD_FRESH="unit check" it runs these steps of tools/test instead, each on a machine of its
own, and says how long they take and how much they install.
"""
import contextlib
import ctypes
import fcntl
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import threading

import harness
from accept import serve_each
from harness import eq, has, ok, skip

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
PROXY_PORT = 3128
LIMIT, STEP_LIMIT = 1200, 3600
WANTED = os.environ.get("OD_FRESH", "")

# Runs in the new namespaces, with the root's folder as $1 and the command as $2. "go"
# comes when the proxy is there.
ENTER = r"""
set -e
read go
cd "$1"
mount --make-rprivate /
mount --bind . .
cd "$1"
mount -t proc proc proc
mount --rbind /dev dev
mount -t sysfs sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount -t tmpfs tmpfs run
mkdir -p before
pivot_root . before
cd /
umount -l /before
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C \
	http_proxy=http://127.0.0.1:PORT sh -c "cd /src && exec $2" 2>&1
""".replace("PORT", str(PROXY_PORT))


# --- The proxy ------------------------------------------------------------------

def listen_in(pid):
    """A listening socket on the loopback of the network namespace of pid."""
    result = []

    def work():  # setns is for this thread alone
        with open(f"/proc/{pid}/ns/net") as ns:
            if ctypes.CDLL(None, use_errno=True).setns(ns.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        s = socket.socket()
        request = struct.pack("16sH14x", b"lo", IFF_UP)
        fcntl.ioctl(s, SIOCSIFFLAGS, request)
        s.bind(("127.0.0.1", PROXY_PORT))
        s.listen(16)
        result.append(s)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return result[0]


def upstream_proxy():
    """HOST, PORT of the proxy that apt uses on this machine; None without one."""
    said = subprocess.run(["apt-config", "shell", "P", "Acquire::http::Proxy"],
                          capture_output=True, text=True).stdout
    found = re.search(r"http://([^:/']+):?(\d*)", said or os.environ.get("http_proxy", ""))
    return (found[1], int(found[2] or 80)) if found else None


def target_of(head):
    """HOST, PORT that the head of a request to a proxy names."""
    method, target = head.split(b" ", 2)[:2]
    if method != b"CONNECT":
        target = re.match(rb"https?://([^/]+)", target)[1]
    host, _, port = target.decode().partition(":")
    return host, int(port or 80)


def copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve_one(peer, upstream):
    head = b""
    while b"\r\n\r\n" not in head:
        data = peer.recv(65536)
        if not data:
            return
        head += data
    with socket.create_connection(upstream or target_of(head)) as server:
        if head.startswith(b"CONNECT") and not upstream:
            peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            server.sendall(head)
        back = threading.Thread(target=copy, args=(server, peer), daemon=True)
        back.start()
        copy(peer, server)
        back.join()
    peer.close()


def serve(listener):
    upstream = upstream_proxy()
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=serve_one, args=(peer, upstream), daemon=True).start()


# --- The machine -----------------------------------------------------------------

def shell(words, **more):
    return subprocess.run(["sh", "-c", words], cwd=harness.TOP, capture_output=True,
                          text=True, **more)


def make_root(root):
    """A minbase root with this machine's list of mirrors and this source tree."""
    got = shell(f". tools/images && image_debian {root}.tar && tar -C {root} -xf {root}.tar")
    if got.returncode:
        raise RuntimeError(got.stderr)
    for name in ("sources.list", "sources.list.d", "apt.conf.d"):
        to = f"{root}/etc/apt/{name}"
        shutil.rmtree(to, ignore_errors=True)
        if os.path.isdir(f"/etc/apt/{name}"):
            shutil.copytree(f"/etc/apt/{name}", to)
        elif os.path.exists(f"/etc/apt/{name}"):
            shutil.copy(f"/etc/apt/{name}", to)
    with open(f"{root}/etc/apt/apt.conf.d/zz-proxy", "w") as f:
        f.write(f'Acquire::http::Proxy "http://127.0.0.1:{PROXY_PORT}";\n')
    os.mkdir(f"{root}/src")
    got = shell("git ls-files -z --cached --others --exclude-standard |"
                f" tar --null --ignore-failed-read -T - -cf - | tar -C {root}/src -xf -")
    if got.returncode or not os.path.exists(f"{root}/src/tools/demo"):
        raise RuntimeError(got.stderr)


def run_in(root, command, limit=LIMIT):
    """The exit code and the output of a command in that root, from the top of the sources."""
    demo = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--",
         "sh", "-c", ENTER, "enter", root, command],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    listener = None
    try:
        # unshare has changed its own namespace before it forks; its child is in it, too.
        own = os.stat("/proc/self/ns/net").st_ino
        harness.until(lambda: os.stat(f"/proc/{demo.pid}/ns/net").st_ino != own)
        listener = listen_in(demo.pid)
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        output, _ = demo.communicate("go\n", timeout=limit)
        return demo.returncode, output
    finally:
        demo.kill()
        demo.wait()
        if listener:
            listener.close()


def remove(root):
    """Removes the root; nothing is mounted there any more, the namespace is gone."""
    subprocess.run(["rm", "-rf", "--one-file-system", root], check=True)


# --- What people see -------------------------------------------------------------

def comparable(output):
    """The lines of a demo without what differs from one run to the next."""
    lines = []
    for line in output.splitlines():
        line = re.sub(r"\boh_v\S+", "TAG", line)  # holds digests of programs and images
        line = re.sub(r"[0-9a-f]{12,}", "HEX", line)
        line = re.sub(r"\d+(\.\d+)? (ms|s)\b", "TIME", line)
        line = re.sub(r"\d+", "N", line)
        lines.append(re.sub(r" +", " ", line).rstrip())
    return lines


@contextlib.contextmanager
def fresh_root():
    root = tempfile.mkdtemp(prefix="od-fresh-", dir="/var/tmp")
    try:
        make_root(root)
        eq(os.path.exists(f"{root}/usr/bin/gcc"), False, "the machine has no compiler")
        yield root
    finally:
        remove(root)
        if os.path.lexists(root + ".tar"):
            os.unlink(root + ".tar")


def can_run(name):
    if WANTED and os.geteuid() == 0:
        return True
    skip(name, "needs root" if WANTED else "OD_FRESH=1 asks for it")
    return False


def test_demo():
    if WANTED not in ("", "1") or not can_run("tools/demo on a fresh machine"):
        return
    with fresh_root() as root:
        code, output = run_in(root, "tools/demo")
        eq(code, 0, "tools/demo succeeds there")
        if code:
            harness.note(output[-4000:])
            return
        has(output, "Hello from an image of one file.", "the static image says hello")
        here = shell("tools/demo", timeout=LIMIT)
        eq(here.returncode, 0, "tools/demo succeeds here")
        there, here = comparable(output), comparable(here.stdout)
        ok(there == here, "both print the same lines",
           *(f"there {a!r}, here {b!r}" for a, b in zip(there, here) if a != b))


def test_steps():
    """A step of tools/test installs what it needs, and no more than that."""
    for step in WANTED.split() if WANTED != "1" else ():
        if not can_run(f"tools/test {step} on a fresh machine"):
            return
        with fresh_root() as root:
            code, output = run_in(root, f"tools/test {step}", STEP_LIMIT)
            eq(code, 0, f"tools/test {step} succeeds there")
            size = shell(f"du -smx {root} | cut -f1").stdout.strip()
            harness.note(f"{step}: {size} MB with the sources and the build", output[-4000:])


# --- Steps that fail -------------------------------------------------------------

def fails(words, says, name, **env):
    got = shell(words, env={**os.environ, **env})
    ok(got.returncode != 0 and says in got.stdout + got.stderr, name,
       got.returncode, got.stdout, got.stderr)


def test_failing_compiler():
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/gcc", "w") as f:
            f.write("#!/bin/sh\necho no compiler >&2\nexit 1\n")
        os.chmod(d + "/gcc", 0o755)
        fails(f". tools/images; if image_static {d}/x.tar; then exit 0; fi; exit 1",
              "no compiler", "an image is not made when the compiler fails",
              PATH=d + ":" + os.environ["PATH"])


def test_no_mirror():
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/apt-get", "w") as f:
            f.write("#!/bin/sh\nexit 0\n")
        os.chmod(d + "/apt-get", 0o755)
        env = {"PATH": d + ":" + os.environ["PATH"], "XDG_CACHE_HOME": d,
               "DEBIAN_MIRROR": ""}
        fails(f". tools/images; image_debian {d}/x.tar", "set DEBIAN_MIRROR",
              "without a mirror the error names DEBIAN_MIRROR", **env)


class Engine:
    """An engine that answers every request with one response."""

    def __init__(self, folder, response):
        self.path = folder + "/sock"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(4)
        self.response = response
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        peer, _ = self.listener.accept()
        data = b""
        while not data.endswith(b"0\r\n\r\n") and b"END-OF-TAR" not in data:
            data += peer.recv(65536)
        peer.sendall(self.response)
        peer.close()


def import_with(response):
    with tempfile.TemporaryDirectory() as d:
        engine = Engine(d, response)
        with open(d + "/x.tar", "w") as f:
            f.write("END-OF-TAR")
        return shell(f". tools/images; ENGINE_SOCKET={engine.path};"
                     f" image_import {d}/x.tar a:b")


def test_refusing_engine():
    body = b'{"message":"no space left"}'
    got = import_with(b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: %d\r\n"
                      b"connection: close\r\n\r\n" % len(body) + body)
    ok(got.returncode and "no space left" in got.stderr, "a refused import fails",
       got.returncode, got.stderr)
    body = b'{"status":"x"}\n{"errorDetail":{},"error":"broken tar"}'
    got = import_with(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
                      % len(body) + body)
    ok(got.returncode and "broken tar" in got.stderr, "an error after status 200 fails",
       got.returncode, got.stderr)
    body = b'{"status":"sha256:00"}'
    got = import_with(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
                      % len(body) + body)
    eq(got.returncode, 0, "an accepted import succeeds")


class Refusing:
    """An engine that answers /_ping, and imports an image with this status; all other requests fail."""

    def __init__(self, folder, status):
        self.path, self.status = folder + "/sock", status
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(16)
        serve_each(self.listener, self.serve)

    def serve(self, peer):
        with peer:
            data = b""
            while b"\r\n\r\n" not in data:
                data += peer.recv(65536)
            status, body = 500, b'{"message":"out of order"}'
            if b"/_ping" in data:
                status, body = 200, b"OK"
            elif b"/images/create" in data:
                status = self.status
                while not data.endswith(b"0\r\n\r\n") and b"Content-Length" not in data:
                    data += peer.recv(65536)
            peer.sendall(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
                         % (status, len(body), body))


def demo_with(status, **programs):
    """tools/demo with stubs for programs, and an engine that imports images with this status."""
    with tempfile.TemporaryDirectory() as d:
        os.makedirs(d + "/bin")
        os.makedirs(d + "/cache/od-runtime")
        with open(d + "/cache/od-runtime/debian-bookworm.tar", "w") as f:
            f.write("an archive")
        for name, text in programs.items():
            with open(f"{d}/bin/{name}", "w") as f:
                f.write("#!/bin/sh\n" + text)
            os.chmod(f"{d}/bin/{name}", 0o755)
        engine = Refusing(d, status)
        try:
            return shell("tools/demo", timeout=LIMIT, env={
                **os.environ, "PATH": f"{d}/bin:" + os.environ["PATH"], "XDG_CACHE_HOME": d + "/cache",
                "DOCKER_HOST": "unix://" + engine.path})
        finally:
            engine.listener.close()


def test_demo_fails():
    if shell(". tools/deps; deps_missing build engine images").stdout:
        skip("tools/demo that fails", "its packages are not installed")
        return
    for name, got, last in (
            ("the build", demo_with(200, make="echo no memory >&2; exit 3\n"), "build the three programs"),
            ("an image", demo_with(200, make="exit 0\n", gcc="exit 1\n"), "three images to try it on"),
            ("an import", demo_with(500, make="exit 0\n"), "debian: Debian 12"),
            ("od-runtime", demo_with(200, make="exit 0\n"), "-- exit code 111")):
        lines = [line for line in got.stdout.splitlines() if line.strip()]
        eq(got.returncode, 1, f"{name} fails: the exit code is 1")
        ok(lines and last in lines[-1], f"{name} fails: nothing follows", got.stdout[-600:], got.stderr)


if __name__ == "__main__":
    harness.main()
