"""A package for pip, and an index with it on the loopback."""
import os
import subprocess
import sys
import tempfile
import zipfile

import harness


def wheel(folder, name, version, text="VALUE = 42\n"):
    """Makes a package of one module; its path."""
    top = f"{name}-{version}.dist-info/"
    files = {f"{name}.py": text, top + "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
             top + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    files[top + "RECORD"] = "".join(f"{path},,\n" for path in [*files, top + "RECORD"])
    path = os.path.join(folder, f"{name}-{version}-py3-none-any.whl")
    with zipfile.ZipFile(path, "w") as z:
        for at, content in files.items():
            z.writestr(at, content)
    return path


class Index:
    """A simple index (PEP 503) with one package; env is what pip is told of it."""

    def __init__(self, name, version):
        self.top = tempfile.TemporaryDirectory(prefix="od-index-")
        folder = os.path.join(self.top.name, "simple", name)
        os.makedirs(folder)
        wheel(folder, name, version)
        port = harness.free_port()
        self.server = subprocess.Popen(
            [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", self.top.name, str(port)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.env = {"PIP_INDEX_URL": f"http://127.0.0.1:{port}/simple", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                    "PIP_NO_CACHE_DIR": "1", "PIP_CONFIG_FILE": os.devnull}
        if not harness.until(lambda: harness.listening(port)):
            raise RuntimeError("the index does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()
        self.top.cleanup()
