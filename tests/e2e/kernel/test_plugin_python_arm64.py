#!/usr/bin/env python3
"""The plugin python for arm64, emulated on x86_64: its launcher, loader and libraries."""
import os
import subprocess

from harness import TOP, eq, main, skip
from test_plugin_python import FOLDER, PYTHON, boxed, cell, folder, made, value

ARM = FOLDER + "-arm64"
CLIENT = os.path.join(TOP, "build/aarch64/od-runtime-client")
QEMU = "/usr/bin/qemu-aarch64-static"

# In a namespace of users that has its own list of emulators (Linux 6.7).
EMULATE = r"""
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf %%s ':arm:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:'\
'\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:%s:F' \
>/proc/sys/fs/binfmt_misc/register
""" % QEMU


def test_arm64():
    """Cells in an image of nothing."""
    apart = ["-U", "-r", "-m"]
    if not os.path.exists(QEMU) or not os.path.exists(CLIENT):
        return skip("the plugin for arm64", "there is no qemu-aarch64-static, or make ARCH=aarch64 was not called")
    if subprocess.run(["unshare", *apart, "sh", "-ec", EMULATE], capture_output=True).returncode:
        return skip("the plugin for arm64", "no emulator can be registered in a namespace here")
    why = folder()[1] or made(ARM, "--arch", "arm64")[1]
    if why:
        return skip("the plugin for arm64", why)
    with boxed(EMULATE, ARM, CLIENT, apart, PYTHONHOME="/none", LD_PRELOAD="/none.so") as client:
        eq(client.get("/server_info").json()["plugins"]["jupyter"].get("python"), PYTHON, "arm64: the Python is found")
        eq(cell(client, "import platform\nprint(platform.machine(), 6 * 7)"), "aarch64 42", "arm64: a cell")
        eq(cell(client, "import bz2, ctypes, decimal, lzma, sqlite3, ssl, uuid, zlib\nprint(ssl.OPENSSL_VERSION[:9])"),
           "OpenSSL 3", "arm64: its libraries")
        eq(value(client, "[__import__('os').environ[k] for k in ('PYTHONHOME', 'LD_PRELOAD')]"), ["/none", "/none.so"],
           "arm64: variables of the image")
        again = "subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, text=True).stdout"
        eq(cell(client, "import subprocess, sys\nprint(" + again + ")"), "1", "arm64: it starts itself")


if __name__ == "__main__":
    main()
