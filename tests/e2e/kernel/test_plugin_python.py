#!/usr/bin/env python3
"""The plugin python: cells in an image of nothing, and in one with libraries of its own.

The folder is made once (build/plugin-python). The client runs in a root of its own in a
mount namespace, which needs root; /dev and /proc are there, as in any container."""
import ast
import fcntl
import glob
import os
import re
import shutil
import subprocess
import tempfile

from harness import BOXED, SLOW, TOP, WRAP, Client, eq, has, main, proc, skip, under
import pypi

TOOL = os.path.join(TOP, "tools/plugin-python")
FOLDER = os.path.join(TOP, "build/plugin-python")
PYTHON = "/.od/plugins/python/bin/python3"
LIMIT = 60 * SLOW
SIZE_MAX = 42 << 20
BUSYBOX = "/bin/busybox"
# What od-runtime puts into an image without a shell.
SHELL = f"mkdir .od/bin; cp {BUSYBOX} .od/bin/\n"

ROOT = """
mkdir "$TOP/root"; mount -t tmpfs root "$TOP/root"; cd "$TOP/root"
mkdir -p .od/plugins/python tmp dev proc "./$TOP/work" "./$TOP/home"
mount --bind "$FOLDER" .od/plugins/python; mount -o remount,bind,ro .od/plugins/python
for dir in dev proc "$TOP/work" "$TOP/home"; do mount --rbind "/$dir" "./$dir"; done
cp "$BOXED" .od/od-runtime-client; cp "${BOXED%/*}/od-plugins" .od/; shift
"""
ENTER = 'exec chroot . /.od/od-runtime-client "$@"\n'
# What is there under the names of our libraries is none of ours.
OTHERS = """
mkdir -p bin etc lib/x86_64-linux-gnu usr/lib
cp %s bin/busybox; ln -s busybox bin/sh; ln -s busybox bin/cat
for dir in lib lib/x86_64-linux-gnu usr/lib; do
	for name in .od/plugins/python/lib/*.so*; do echo none > $dir/${name##*/}; done
done
echo none > etc/ld.so.cache
""" % BUSYBOX


def made(folder, *options):
    """The folder, newer than the tools; None, and why there is none. Tests that run beside each other share it."""
    with open(folder + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return make_folder(folder, *options)


def make_folder(folder, *options):
    if os.path.exists(folder):
        when = os.stat(folder + "/share/packages").st_mtime
        if when > max(os.stat(t).st_mtime for t in glob.glob(TOP + "/tools/plugin-*")):
            return folder, None
        shutil.rmtree(folder)
    done = subprocess.run([TOOL, *options, folder], capture_output=True, text=True)
    if done.returncode and ("cannot be had" in done.stderr or " is missing" in done.stderr):
        return None, done.stderr.strip().splitlines()[-2]
    if done.returncode:
        raise RuntimeError(done.stderr)
    return folder, None


def folder():
    """The plugin's folder, and why there is none."""
    if os.geteuid() != 0:
        return None, "it needs root"
    if WRAP:
        return None, "not under a wrapper"
    if os.uname().machine != "x86_64":
        return None, "the folder is made for x86_64"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        return None, "no mount namespace can be made here"
    return made(FOLDER)


def boxed(setup="", folder=FOLDER, client=BOXED, apart=("-m",), **env):
    def prefix(our):
        script = f"TOP={our.top} FOLDER={folder} BOXED={client}\n{ROOT}{setup}{ENTER}"
        return ["unshare", *apart, "/bin/sh", "-ec", script, "sh"]
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "OD_PYTHON": None, "VIRTUAL_ENV": None, "CONDA_PREFIX": None,
           "PYTHONHOME": None,
           "PYTHONPATH": None, "PYTHONDONTWRITEBYTECODE": None, **env}
    return Client("--plugins", "agent_skills", "jupyter", "python", prefix=prefix, env=env)


def cell(client, code):
    return client.act("run_ipython", LIMIT, code=code, include_extra=False)["content"]


def value(client, expression):
    return ast.literal_eval(cell(client, f"print(repr({expression}))"))


def no_busybox(name):
    if os.path.exists(BUSYBOX) and b"INTERP" not in subprocess.run(
            ["readelf", "-lW", BUSYBOX], capture_output=True).stdout:
        return False
    skip(name, "there is no static busybox here (busybox-static)")
    return True


def where(story):
    """A story told where there is the plugin."""
    def told():
        _, why = folder()
        if why:
            skip(story.__doc__, why)
        else:
            story()
    return told


@where
def test_folder():
    """What is in the folder."""
    size, out = 0, []
    for top, _, names in os.walk(FOLDER):
        size += sum(os.lstat(os.path.join(top, n)).st_size for n in names)
        links = [os.path.join(top, n) for n in names if os.path.islink(os.path.join(top, n))]
        out += [link for link in links if os.path.isabs(os.readlink(link))]
    eq(out, [], "no link leads out of it")
    under(size / 2**20, SIZE_MAX / 2**20, "MiB in the folder")
    done = subprocess.run([TOOL, FOLDER], capture_output=True, text=True)
    eq(done.returncode, 1, "one that is there is not touched")
    has(done.stderr, "name a new folder", "...which is said")


@where
def test_scratch():
    """Cells in an image of nothing."""
    with boxed() as client:
        plugins = client.get("/server_info").json()["plugins"]
        eq((plugins["jupyter"]["python"], plugins["python"]["state"]), (PYTHON, "ready"),
           "the Python is found, and its folder is a plugin")
        eq(cell(client, "print('é' * 3)"), "ééé", "print")
        has(cell(client, "1/0"), "ZeroDivisionError: division by zero", "a traceback")
        eq(cell(client, "import json\njson.dumps({'a': [1]})"), "'{\"a\": [1]}'", "the standard library")
        modules = "asyncio bz2 ctypes decimal lzma multiprocessing sqlite3 ssl uuid zlib xml.etree.ElementTree"
        eq(cell(client, "import %s\nprint(1)" % modules.replace(" ", ", ")), "1", "modules that need libraries")
        eq(value(client, "__import__('sys').executable"), PYTHON, "it knows its own path")
        again = ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', "
                 "'import sys, os, ssl; print(sys.prefix, sorted(k for k in os.environ if k[:3] in (\"LD_\", "
                 "\"PYT\")))'], capture_output=True, text=True).stdout")
        eq(cell(client, again), "\"/.od/plugins/python ['PYTHONIOENCODING', 'PYTHONUNBUFFERED']\\n\"",
           "it starts itself, and hands on no variable of its own")
        has(cell(client, "subprocess.run('echo hi', shell=True)"), "FileNotFoundError",
            "without a shell there is none")
        has(cell(client, "!echo hi"), "FileNotFoundError", "...in a line with ! either")
        eq(cell(client, "import threading\nt = threading.Thread(target=print, args=['x'])\nt.start()\nt.join()"), "x", "threads")
        eq(cell(client, "import asyncio\nawait asyncio.sleep(0, 5)"), "5", "await")


@where
def test_shell():
    """Lines with ! where the only shell is the one that was brought along."""
    if no_busybox("the shell that was brought along"):
        return
    with boxed(SHELL) as client:
        eq(client.run("echo hi")["content"], "hi", "the bash tool has it")
        eq(cell(client, "!echo hi; (exit 3)\n_exit_code"), "hi\n3", "a line with ! has it")
        eq(cell(client, "x = !echo a; ls /.od\nx"), "['a', 'bin', 'od-plugins', 'od-runtime-client', 'plugins', 'tty']", "x = !...")


@where
def test_pip():
    """%pip in an image of nothing."""
    if no_busybox("%pip in an image of nothing"):
        return
    with pypi.Index("thing", "1.0") as index, boxed(SHELL, **index.env) as client:
        got = cell(client, "%pip install thing==1.0")
        has(got, "Successfully installed thing-1.0", "%pip installs a package from an index")
        has(got, "Note: you may need to restart the kernel to use updated packages.", "and the note")
        again = "import subprocess, sys\nsubprocess.check_output([sys.executable, '-c', 'import thing; print(thing.VALUE)'])"
        eq(cell(client, again), "b'42\\n'", "which the next one has")
        has(cell(client, "%pip install nothing-there"), "No matching distribution found for nothing-there",
            "one that is not there")


@where
def test_skills():
    """Skills in an image of nothing."""
    with boxed() as client:
        with open(client.work + "/a.txt", "w") as f:
            f.write("one\nneedle\n")
        has(cell(client, "open_file('a.txt')"), "2|needle", "open_file")
        has(cell(client, "from openhands.runtime.plugins.agent_skills.agentskills import *\n"
                 "search_dir('needle')\nprint(1 + 1)"), "[End of matches", "search_dir")
        has(cell(client, f"file_editor('view', {client.work + '/a.txt'!r})"), "needle", "file_editor")


@where
def test_others():
    """Libraries of the image under the names of ours, and its own programs."""
    if no_busybox("an image with programs"):
        return
    with boxed(OTHERS, LD_LIBRARY_PATH="/lib:/usr/lib") as client:
        eq(client.run("echo $LD_LIBRARY_PATH")["content"], "/lib:/usr/lib", "the shell has the image's variable")
        eq(cell(client, "import ssl, sqlite3, zlib, ctypes\nprint(2)"), "2", "libraries are those of the plugin")
        eq(cell(client, "!echo $LD_LIBRARY_PATH"), "/lib:/usr/lib", "children have the image's variable")
        eq(value(client, "__import__('subprocess').check_output(['cat'], input=b'x')"), b"x", "programs run")
        maps = proc(client.get("/server_info").json()["plugins"]["jupyter"]["pid"], "maps").decode()
        files = {p for p in re.findall(r" (/\S+)", maps) if not p.startswith(("/dev", "/memfd"))}
        eq({p for p in files if "/plugin" not in p}, set(), "no file of the image is mapped")


@where
def test_variables():
    """What an image tells its own Python and its own loader."""
    if no_busybox("an image with variables of its own"):
        return
    theirs = {"PYTHONHOME": "/none", "PYTHONPATH": "/trap", "LD_PRELOAD": "/none.so", "LD_AUDIT": "/none.so",
              "LD_LIBRARY_PATH": "/trap"}
    trap = "mkdir trap; for name in os json sitecustomize encodings; do echo 1/0 >trap/$name.py; done\n"
    with boxed(OTHERS + trap, **theirs) as client:
        eq(cell(client, "import json, ssl, subprocess, sys\nprint(sys.prefix)"), "/.od/plugins/python", "are not for ours")
        eq(value(client, "[p for p in sys.path if 'trap' in p]"), [], "...which looks for nothing there")
        words = " ".join(theirs.values())
        eq(cell(client, "!echo $PYTHONHOME $PYTHONPATH $LD_PRELOAD $LD_AUDIT $LD_LIBRARY_PATH"), words,
           "what a cell starts has them")
        again = ("subprocess.run([sys.executable, '-c', 'import os; print(os.environ[\"PYTHONHOME\"])'], "
                 "capture_output=True, text=True).stdout")
        eq(value(client, again), "/none\n", "...and so does what starts ours again")


@where
def test_venv():
    """Ways to start it: a link, a bare name, a venv, a line with #!."""
    top = tempfile.mkdtemp(prefix="od-venv-")
    program = "import sys; print(sys.executable, sys.prefix, sys.argv[1:])"
    python = FOLDER + "/bin/python3"

    def says(argv, path="/usr/bin", **more):
        done = subprocess.run(argv, env={"PATH": path}, cwd=top, capture_output=True, text=True, **more)
        return (done.stdout + done.stderr).strip()

    eq(says([python, "-c", program, "a b", ""]), f"{python} {FOLDER} ['a b', '']", "arguments are kept")
    eq(says(["python3", "-c", program], executable=python), f"{python} {FOLDER} []", "by a bare name")
    eq(says([], executable=python, input="print(1)"), "1", "with no name at all")
    os.symlink(python, top + "/link")
    eq(says(["./link", "-c", program]).split()[1], FOLDER, "by a link")
    says([python, "-m", "venv", "--without-pip", top + "/venv"])
    eq(says(["venv/bin/python", "-c", program]), f"{top}/venv/bin/python {top}/venv []", "in a venv")
    with open(top + "/script", "w") as f:
        f.write(f"#!{top}/venv/bin/python\n{program}\n")
    os.chmod(top + "/script", 0o755)
    eq(says(["./script", "x"]), f"{top}/venv/bin/python {top}/venv ['x']", "behind #!")
    shutil.rmtree(top)


if __name__ == "__main__":
    main()
