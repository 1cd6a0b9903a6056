#!/usr/bin/env python3
"""tools/demo on a fresh minimal Debian: nothing is installed there, and it has an engine
of its own.

The machine is a root of debootstrap's variant minbase in namespaces of its own (mounts,
processes, network). Its one way out is an HTTP proxy on its loopback, whose other end is
here, so that apt and debootstrap reach the mirror that this machine uses.

It installs some 900 MB, so that it runs when OD_FRESH=1 asks for it; tools/test does.
"""
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
from harness import eq, has, ok, skip

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
PROXY_PORT = 3128
LIMIT = 1200

# Runs in the new namespaces, with the root's folder as $1. "go" comes when the proxy is there.
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
	http_proxy=http://127.0.0.1:PORT sh -c 'cd /src && exec tools/demo' 2>&1
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


def run_demo(root):
    """The exit code and the output of tools/demo in that root."""
    demo = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--",
         "sh", "-c", ENTER, "enter", root],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    listener = None
    try:
        # unshare has changed its own namespace before it forks; its child is in it, too.
        own = os.stat("/proc/self/ns/net").st_ino
        harness.until(lambda: os.stat(f"/proc/{demo.pid}/ns/net").st_ino != own)
        listener = listen_in(demo.pid)
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        output, _ = demo.communicate("go\n", timeout=LIMIT)
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


def test_demo():
    if os.environ.get("OD_FRESH") != "1":
        skip("tools/demo on a fresh machine", "OD_FRESH=1 asks for it")
        return
    if os.geteuid():
        skip("tools/demo on a fresh machine", "needs root")
        return
    root = tempfile.mkdtemp(prefix="od-fresh-", dir="/var/tmp")
    try:
        make_root(root)
        eq(os.path.exists(f"{root}/usr/bin/gcc"), False, "the machine has no compiler")
        code, output = run_demo(root)
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
    finally:
        remove(root)
        if os.path.lexists(root + ".tar"):
            os.unlink(root + ".tar")


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


if __name__ == "__main__":
    harness.main()
