"""Packages of npm, for tests that need what others have written."""
import os
import shutil
import subprocess
import tempfile

import harness


def install(name, *packages):
    """The folder whose node_modules has the packages, by version; it is kept for the next
    time. None, and the test skipped by its name, where they cannot be had."""
    folder = os.path.join(os.path.dirname(harness.BUILD), "npm",
                          "+".join(packages).replace("/", "-"))
    if not shutil.which("node") or not shutil.which("npm"):
        return harness.skip(name, "there is no node, or no npm")
    if not os.path.isdir(folder):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        new = tempfile.mkdtemp(dir=os.path.dirname(folder))
        try:
            subprocess.run(["npm", "install", "--prefix", new, "--no-fund", "--no-audit",
                            "--ignore-scripts", *packages],
                           capture_output=True, timeout=60, check=True)
            os.rename(new, folder)
        except (OSError, subprocess.SubprocessError):
            shutil.rmtree(new, ignore_errors=True)
            if not os.path.isdir(folder):
                return harness.skip(name, "npm cannot reach its registry")
    return folder
