#!/usr/bin/env python3
"""Python cells (run_ipython): the contract's tests, and kernels that come to grief."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from harness import (DEADLINE, SHIPS, SLOW, WRAP, Client, action, alive, children, eq, has, main, ok, own_kib,
                     proc, pss_kib, request, run_client, skip, slim, until)
import pypi

NOTHING = "[Code executed successfully with no output]"
PYTHON = sys.executable
WITH_IPYTHON = subprocess.run([PYTHON, "-c", "import IPython"], capture_output=True).returncode == 0
WITH_IPYKERNEL = os.path.exists("/usr/share/jupyter/kernels/python3")
LIMIT = 60 * SLOW


def jupyter(*options, **more):
    env = {"OD_PYTHON": PYTHON, **more.pop("env", {})}
    return Client("--plugins", "jupyter", *options, env=env, **more)


def plain(*options, python=PYTHON, **more):
    """A client whose Python has neither packages nor an environment."""
    path = "/tmp/od-plain-python-%d" % os.getpid()
    with open(path, "w") as f:
        f.write("#!/bin/sh\nexec %s -S -I \"$@\"\n" % python)
    os.chmod(path, 0o755)
    client = jupyter(*options, env={"OD_PYTHON": path, **more.pop("env", {})}, **more)
    os.unlink(path)
    return client


def named(*options, python=PYTHON, **more):
    """A client with Jupyter's own kernel, which has its own Python."""
    return jupyter(*options, env={"JUPYTER_KERNEL": "python3", **more.pop("env", {})}, **more)


def modes():
    """Whatever runs cells: IPython in our driver, our driver alone, ipykernel."""
    for name, there, start in (("ipython", WITH_IPYTHON, jupyter), ("plain", True, plain),
                               ("ipykernel", WITH_IPYKERNEL, named)):
        if there:
            yield name, start
        else:
            skip(f"cells in {name}", "it is not there")


def cell(client, code, timeout=LIMIT, **args):
    return client.act("run_ipython", timeout, code=code, include_extra=False, **args)["content"]


def info(client):
    return client.get("/server_info").json()["plugins"]["jupyter"]


def lines(client, cwd=None, python=None):
    return ("\n[Jupyter current working directory: %s]\n[Jupyter Python interpreter: %s]"
            % (cwd or client.work, python or info(client)["python"]))


def test_contract():
    """What the tests of the contract ask for."""
    for name, start in modes():
        with start() as client:
            told = info(client)
            eq((told["state"], told["kernel"], told.get("mode")),
               ("ready", "python3", None) if name == "ipykernel" else ("ready", "embedded", name),
               f"{name}: is ready")
            got = client.act("run_ipython", LIMIT, code="print(1)", include_extra=True)
            eq(list(got), ["message", "observation", "content", "extras", "success"], "the keys")
            eq(got, {"message": "Code executed in IPython cell.", "observation": "run_ipython",
                     "content": "1" + lines(client), "success": True,
                     "extras": {"code": "print(1)"}}, "an observation")
            got = client.act("run_ipython", LIMIT, code="print('Hello, `World`!\\n')",
                             kernel_init_code="x", thought="y", confirmation_state="confirmed",
                             security_risk=-1)
            eq(got["content"], "Hello, `World`!" + lines(client), "printing, with the lines")
            eq(cell(client, "import os\n\n"), NOTHING, "nothing printed")
            eq(cell(client, "x = 1\n"), NOTHING, "an assignment")
            eq(cell(client, "print(os.environ.get('HOME'), os.getuid())"),
               client.run("echo $HOME $(id -u)")["content"], "the user of the shell")
            eq(client.act("run_ipython", LIMIT, code="import os; os.getcwd()")["content"],
               repr(client.work) + lines(client), "the folder")
            client.run("mkdir sub")
            eq(cell(client, "\nimport os\nos.chdir('sub')\nprint(os.getcwd())").splitlines()[0],
               client.work + "/sub", "os.chdir in a cell")
            eq(cell(client, "print(os.getcwd())"), client.work + "/sub", "...stays")
            client.run("cd /tmp")
            got = client.act("run_ipython", LIMIT, code="print(os.getcwd())")["content"]
            eq(got, "/tmp" + lines(client, "/tmp"), "cd in the shell wins")
            client.run("cd " + client.work)
            client.run("mkdir gone; cd gone; rmdir ../gone")
            eq(cell(client, "print(1)"), "1", "a folder that is gone")
            client.run("cd " + client.work)
            eq(cell(client, "with open('f', 'w') as f:\n    f.write('x')\n"), NOTHING, "a file")
            eq(client.run("cat f")["content"], "x", "...is in the folder of the shell")
            got = cell(client, "import pymsgbox_not_there")
            has(got, "ModuleNotFoundError: No module named 'pymsgbox_not_there'", "a missing module")


# It reads streams apart and late, and shows what ends in a semicolon; half a character is
# too much for its messages.
NOT_OF_IPYKERNEL = {"a muted one", "both streams", "half a character", "children in order"}


def test_text():
    """How the content is put together."""
    for name, start in modes():
        with start() as client:
            for code, want, what in (
                    ("1+1", "2", "a result"),
                    ("1+1;", NOTHING, "a muted one"),
                    ("None", NOTHING, "no result"),
                    ("_ + 1", "3", "the last result"),
                    ("print('a')\n'b'", "a\n'b'", "printed, then a result without a newline"),
                    ("print('a', end='')\n7", "a7", "nothing between the pieces"),
                    ("import sys\nprint('a', file=sys.stderr)\nprint('b')", "a\nb", "both streams"),
                    ("print('\\033[31mred\\033[0m \\033[1;2;3mx \\033[2Ky')", "red x \x1b[2Ky", "colours"),
                    ("print('\\033[1;2;3;4mx')", "\x1b[1;2;3;4mx", "four numbers are none"),
                    ("print('x \\t\\u3000\\x1f\\n\\n')", "x", "blanks at the end"),
                    ("print('')", "", "an empty line"),
                    ("print('é\\u4e2d\\U0001f600')", "é中\U0001f600", "Unicode"),
                    ("print('\\ud800')", "?", "half a character"),
                    ("'\\ud800'", "'\\ud800'", "as a result"),
                    ("print('\\0')", "\0", "a NUL"),
                    ("for i in range(3):\n    i", NOTHING, "no result of a loop"),
                    ("  y = 1\n  y + 1", "2", "indented as a whole"),
                    ("", NOTHING, "an empty cell"),
                    ("import threading\nt = threading.Thread(target=lambda: display(5))\nt.start()\n"
                     "t.join()\ndisplay(6)", "56", "display of a thread"),
                    ("display(5)\ndisplay('x')", "5'x'", "display"),
                    ("import os\nprint(1)\nos.system('echo 2')\nprint(3);", "1\n2\n3", "children in order")):
                if name != "ipykernel" or what not in NOT_OF_IPYKERNEL:
                    eq(cell(client, code), want, f"{name}: {what}")
            code = ("import os, sys\nfor i in range(300):\n    print('p%d' % i)\n"
                    "    os.write(1, b'w%d\\n' % i)\n    os.write(2, b'e%d\\n' % i)\n    display(i)\n")
            if name != "ipykernel":
                eq(cell(client, code), "".join(f"p{i}\nw{i}\ne{i}\n{i}" for i in range(300)),
                   f"{name}: 1,200 pieces in their order")
            got = cell(client, "print('before')\n1/0")
            ok(got.startswith("before\n") and got.endswith("ZeroDivisionError: division by zero"),
               f"{name}: a traceback", got)
            ok("<driver>" not in got and "1/0" in got, f"{name}: ...of the cell alone", got)
            got = cell(client, "def f(:\n")
            has(got, "SyntaxError", f"{name}: a syntax error")
            got = cell(client, "input('?')")
            has(got, "raw_input was called, but this frontend does not support input requests.",
                f"{name}: input")
            has(cell(client, "raise SystemExit(3)"), "SystemExit: 3", f"{name}: SystemExit")
            eq(cell(client, "print('here')"), "here", f"{name}: ...and the kernel goes on")
            cell(client, "exit()")
            if name != "ipykernel":
                eq(cell(client, "x = 5\nx"), "5", f"{name}: exit() does not end it")
            if sys.version_info >= (3, 8) and name != "ipykernel":
                eq(cell(client, "import asyncio\nawait asyncio.sleep(0, 'done')"), "'done'",
                   f"{name}: await")
            if name != "plain":
                got = cell(client, "1/0")
                has(got, "ZeroDivisionError                         Traceback (most recent call last)",
                    "IPython's own form")
                ok(re.search(r"Cell In ?\[1\], line 1", got), "the counter never moves", got)


def test_examples():
    """What the contract tells beside its tests."""
    shows = "from IPython.display import clear_output, display\n"
    gif = "display({'image/gif': 'R0lGODlh', 'text/plain': 'G'}, raw=True)"
    for name, start in modes():
        with start() as client:
            got = client.act("run_ipython", LIMIT, code="1/0")
            eq((got["success"], got["message"]), (True, "Code executed in IPython cell."), f"{name}: an exception is a success")
            ok(got["content"].endswith("ZeroDivisionError: division by zero" + lines(client)), f"{name}: ...and has the lines")
            png = "display({'image/png': 'iVBORw0KGgo=', 'text/plain': 'P'}, raw=True)\n"
            got = client.act("run_ipython", 0.5, code=f"print('x')\n{png}import time\nwhile True: time.sleep(0.01)")
            eq((got["content"], got["extras"].get("image_urls")), ("[Execution timed out (0.5 seconds).]" + lines(client), None),
               f"{name}: of a cell whose time is over nothing is shown")
            got = client.act("run_ipython", LIMIT, code=png + gif, include_extra=False)
            eq((got["content"], got["extras"]["image_urls"]), ("PG", ["data:image/png;base64,iVBORw0KGgo="]),
               f"{name}: of pictures only PNG")
            eq(cell(client, "2 + 2\n3 + 3"), "6", f"{name}: the last result alone")
            eq(cell(client, "_"), "6", f"{name}: which is _")
            has(cell(client, "print(f)"), "NameError: name 'f' is not defined", f"{name}: a name that is missing")
            if name != "plain":
                eq(cell(client, shows + "print('a')\nclear_output()\nprint('b')"), "a\nb", f"{name}: nothing is taken back")
                eq(cell(client, shows + "d = display('a', display_id=True)\nd.update('b')"), "'a'", f"{name}: nor changed")


def test_images():
    png = "\\x89PNG\\r\\n\\x1a\\n"
    for name, start in modes():
        with start() as client:
            got = client.act("run_ipython", LIMIT, include_extra=False, code=(
                f"class P:\n    def __repr__(self): return '<P>'\n"
                f"    def _repr_png_(self): return b'{png}'\ndisplay(P())\nP()"))
            eq(got["extras"]["image_urls"], ["data:image/png;base64,iVBORw0KGgo="] * 2,
               f"{name}: two pictures")
            eq(got["content"], "<P><P>", f"{name}: their texts")
            eq(client.act("run_ipython", LIMIT, code="1")["extras"].get("image_urls"), None,
               f"{name}: none")


def test_figures():
    """matplotlib, of Debian's Python if it has one."""
    python = "/usr/bin/python3"
    for name, hidden in (("ipython", ""), ("plain", "raise ImportError")):
        with tempfile.TemporaryDirectory() as top:
            os.mkdir(top + "/IPython")
            with open(top + "/IPython/__init__.py", "w") as f:
                f.write(hidden)
            env = {"OD_PYTHON": python, "PYTHONPATH": top if hidden else None}
            probe = f"import matplotlib{', IPython' if not hidden else ''}"
            if subprocess.run([python, "-c", probe], capture_output=True).returncode:
                skip(f"{name}: figures", f"{python} has no matplotlib or no IPython")
                continue
            with jupyter(env=env) as client:
                eq(info(client)["mode"], name, f"{name}: mode")
                for code, what in (("plt.plot([1, 2])\nplt.show()\nprint('x')", "plt.show()"),
                                   ("plt.plot([1, 2]);", "behind the cell"),
                                   ("f = plt.figure()\nf.add_subplot()\nplt.close(f)\nf", "a result")):
                    got = client.act("run_ipython", LIMIT, include_extra=False,
                                     code="import matplotlib.pyplot as plt\n" + code)
                    images = got["extras"].get("image_urls") or []
                    ok(len(images) == 1 and images[0].startswith("data:image/png;base64,iVBORw0KGgo"),
                       f"{name}: {what}: one picture", len(images), got["content"])
                    ok(got["content"].startswith("<Figure size 640x480 with 1 Axes>"),
                       f"{name}: {what}: its text", got["content"])
                eq(client.act("run_ipython", LIMIT, code="1")["extras"].get("image_urls"), None,
                   f"{name}: shown once")


def test_magics():
    for name, start in modes():
        with start() as client:
            eq(cell(client, "!echo hi"), "hi", f"{name}: !")
            eq(cell(client, "x = !printf 'a\\nb'\nprint(x.n)"), "a\nb", f"{name}: x = !")
            eq(cell(client, "y = 5\n!echo {y} $y"), "5 5", f"{name}: ! with variables")
            has(cell(client, "%pip --version"), "pip", f"{name}: %pip")
            has(cell(client, "%foo"), "UsageError: Line magic function `%foo` not found.",
                f"{name}: an unknown one")
            eq(cell(client, "%%bash\necho from bash"), "from bash", f"{name}: %%bash")
            has(cell(client, "%time sum(range(10))"), "Wall time", f"{name}: %time")
            has(cell(client, "%timeit -n1 -r1 1+1"), "loop", f"{name}: %timeit")
            has(cell(client, "%%writefile w.txt\nline"), "w.txt", f"{name}: %%writefile")
            eq(cell(client, "print(open('w.txt').read())"), "line", f"{name}: ...wrote")
            eq(cell(client, "s = '''\n%pip x\n!ls\n'''\nprint(s)").strip(), "%pip x\n!ls",
               f"{name}: none of it in strings")
            eq(cell(client, "if True:\n    !echo nested"), "nested", f"{name}: in a block")
            eq(cell(client, "7 %3"), "1", f"{name}: an operator")
            has(cell(client, "len?"), "Return the number of items", f"{name}: help")


def test_package_install():
    with tempfile.TemporaryDirectory() as top:
        for name, more in (("plain", ()), ("ipython", ("--system-site-packages",))):
            if name == "ipython" and not WITH_IPYTHON:
                continue
            made = subprocess.run([PYTHON, "-m", "venv", *more, f"{top}/{name}"], capture_output=True)
            if made.returncode:
                skip(f"{name}: %pip install", "no virtual environment can be made here")
                continue
            pypi.wheel(top, "pymsgbox", "1.0.9")
            with jupyter(env={"VIRTUAL_ENV": f"{top}/{name}", "OD_PYTHON": ""}) as client:
                eq((info(client)["mode"], info(client)["python"]), (name, f"{top}/{name}/bin/python"),
                   f"{name}: the interpreter of a virtual environment")
                has(cell(client, "import pymsgbox"),
                    "ModuleNotFoundError: No module named 'pymsgbox'", f"{name}: a missing package")
                got = cell(client, f"%pip install --no-index --find-links {top} pymsgbox==1.0.9")
                has(got, "Successfully installed pymsgbox-1.0.9", f"{name}: %pip install")
                has(got, "Note: you may need to restart the kernel to use updated packages.",
                    f"{name}: and the note")
                eq(cell(client, "import pymsgbox"), NOTHING, f"{name}: it can be imported now")


def test_timeout():
    for name, start in modes():
        with start() as client:
            for seconds, text in ((0.5, "0.5"), (1, "1.0")):
                began = time.monotonic()
                got = cell(client, "keep = 5\nimport time\nprint('x')\nwhile True: time.sleep(0.01)", seconds)
                eq(got, f"[Execution timed out ({text} seconds).]", f"{name}: an endless loop")
                ok(time.monotonic() - began < seconds + 5, f"{name}: ...in time")
                eq(cell(client, "print(keep)"), "5", f"{name}: the variables stay")
            eq(cell(client, "while True: pass", 0.5), "[Execution timed out (0.5 seconds).]",
               f"{name}: a busy loop")
            eq(cell(client, "print(keep)"), "5", f"{name}: the variables stay")
            eq(cell(client, "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", 0.5),
               "[Execution timed out (0.5 seconds).]", f"{name}: a kernel that stops itself")
            eq(cell(client, "print(keep)"), "5", f"{name}: ...goes on")
            eq(cell(client, "import subprocess\nsubprocess.call(['sleep', '100'])", 0.5),
               "[Execution timed out (0.5 seconds).]", f"{name}: a child")
            eq(cell(client, "print(keep)"), "5", f"{name}: ...ends")
            stubborn = ("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                        "while True: time.sleep(1)")
            began = time.monotonic()
            eq(cell(client, stubborn, 0.5), "[Execution timed out (0.5 seconds).]",
               f"{name}: one that ignores the signal")
            ok(time.monotonic() - began < 3 * SLOW, f"{name}: is answered at once")
            eq(cell(client, "print(1)"), "[Kernel was restarted; variables were lost.]\n1",
               f"{name}: then the kernel is another")
            eq(cell(client, "print(1)"), "1", f"{name}: which is told once")


def test_threads():
    """What a thread shows when its cell is over."""
    late = ("import os, threading, time\ntry:\n  from IPython.display import display\nexcept ImportError:\n  pass\n"
            "def late(n):\n  while not os.path.exists('go%d' % n): time.sleep(0.01)\n"
            "  display(1)\n  open('shown%d' % n, 'w').close()\n")
    for name, start in modes():
        with start() as client:
            for n in range(3):
                cell(client, late + "threading.Thread(target=late, args=(%d,)).start()" % n)
                open(f"{client.work}/go{n}", "w").close()
                ok(until(lambda n=n: os.path.exists(f"{client.work}/shown{n}")), f"{name}: it is shown to nobody")
                eq(cell(client, "1+1"), "2", f"{name}: and holds nobody up")


def test_left():
    """An endless cell with an id, whose client has left, gives way to the next one."""
    with jupyter() as client:
        code = "keep = 7\nopen('begun', 'w').close()\nwhile True: pass"
        with client.conn() as c:
            c.send(request("POST", "/execute_action", action("run_ipython", 0, code=code), Idempotency_Key="k"))
            ok(until(lambda: os.path.exists(client.work + "/begun")), "an endless cell")
        eq(cell(client, "keep"), "7", "it is interrupted for the next one")


def test_folder_in_vain():
    """A cell that is given up before its folder is entered is not run later."""
    if not WITH_IPYKERNEL:
        return skip("a folder that cannot be entered", "there is no ipykernel")
    with named() as client:
        client.run("mkdir sub")
        cell(client, "import os, time\nreal = os.chdir\nos.chdir = lambda path: time.sleep(100)")
        client.run("cd sub")
        eq(cell(client, "print('old')\n", 1), "[Execution timed out (1.0 seconds).]", "it takes too long")
        cell(client, "os.chdir = real")
        client.run("cd ..")
        eq(cell(client, "print('new')"), "new", "the next one runs alone")


def test_death():
    again = "It was restarted; all variables were lost.]"
    for name, start in modes():
        with start() as client:
            for code, want in (
                    ("x = 1\nprint('so far')\nimport os\nos._exit(3)",
                     "so far\n[Kernel died (exit status 3). " + again),
                    ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
                     "[Kernel died (signal 11). " + again),
                    ("import os\nos.write(1, b'abc')\nos.kill(os.getpid(), 9)",
                     "abc\n[Kernel died (signal 9). " + again),
                    ("print('abc', flush=True)\nimport os, time\ntime.sleep(1)\nos.kill(os.getpid(), 9)",
                     "abc\n[Kernel died (signal 9). " + again),
                    ("import os\nos.write(3, b'\\xff' * 8)\nimport time\ntime.sleep(100)",
                     "[Kernel died (signal 9). " + again),
                    ("import os\nos.close(3)\nimport time\ntime.sleep(100)",
                     None)):
                if name == "ipykernel" and "(3," in code:
                    continue  # it has no channel there
                got = cell(client, code, 30 if want else 2)
                # What is printed without a pause may die with ipykernel.
                if want and name == "ipykernel" and "time.sleep" not in code:
                    want, got = want[want.index("["):], got[got.index("["):]
                if want:
                    eq(got, want, f"{name}: {code.splitlines()[-1]}")
                has(cell(client, "try:\n    x\nexcept NameError:\n    print('lost')"), "lost",
                    f"{name}: the next cell works")
            pid = info(client)["pid"]
            os.kill(pid, 9)
            until(lambda: info(client).get("pid", pid) != pid)
            eq(cell(client, "print(2)"), "[Kernel was restarted; variables were lost.]\n2",
               f"{name}: it died between two cells")
            if name == "ipykernel":
                continue  # a child would be a second kernel
            eq(cell(client, "import os\npid = os.fork()\nif pid == 0: print('child')\n"
                            "else: os.waitpid(pid, 0); print('parent')"), "child\nparent",
               f"{name}: a cell that forks")
            eq(cell(client, "print(3)"), "3", f"{name}: ...has one kernel")


def test_descriptors():
    """What a cell does to its output is over with it."""
    for name, start in modes():
        with start() as client:
            for code in ("os.close(1)\nos.close(2)", "os.dup2(os.open('/dev/null', os.O_RDWR), 1)\nos.dup2(1, 2)",
                         "f = os.open('f', os.O_CREAT | os.O_WRONLY)\nos.dup2(f, 1)\nprint('lost')"):
                cell(client, "import os\n" + code)
                eq(cell(client, "print('seen')"), "seen", f"{name}: {code.splitlines()[-1]}")
                if name != "ipykernel":
                    eq(cell(client, "os.write(2, b'x');\nos.system('echo y');"), "xy", "...by children, too")


def test_much():
    """A cell that prints and prints."""
    with plain() as client:
        mib = 1024 if SHIPS else 64
        got = cell(client, f"import os\nb = b'x' * 1048575 + b'\\n'\nprint('begin')\n"
                           f"for i in range({mib}): os.write(1, b)\nprint('end')", 120 * SLOW)
        ok(got.startswith("begin\n") and got.endswith("\nend"), "both ends are there")
        left = re.search(r"\n\[\.\.\. (\d+) bytes of output were left out here \.\.\.\]\n", got)
        ok(left and len(got) - len(left[0]) + int(left[1]) == mib * 1048576 + 9, "the rest is counted")
        ok(len(got) < 5 << 20, "a bounded text")
        slim(pss_kib(client.pid), 64 << 10, "bounded memory, KiB")
        eq(cell(client, "print(1)"), "1", "the next cell")
        got = cell(client, "'x' * (50 << 20)")
        ok(len(got) < 5 << 20 and "characters left out" in got, "a long result")


def test_line():
    """Cells wait for one another; who leaves does not hold up the others."""
    with plain() as client:
        out = []

        def one(i):
            with client.conn() as c:
                out.append(client.act("run_ipython", LIMIT, conn=c, include_extra=False,
                                      code="n = globals().get('n', 0) + 1\nprint(n)")["content"])
        threads = [threading.Thread(target=one, args=(i,)) for i in range(20)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        eq(sorted(map(int, out)), list(range(1, 21)), "twenty at once")
        conn = client.conn()
        conn.send(request("POST", "/execute_action", action(
            "run_ipython", None, code="open('began', 'w')\nimport time\nwhile True: time.sleep(1)")))
        until(lambda: os.path.exists(client.work + "/began"))
        eq(cell(client, "print(1)", 0.3), "[Execution timed out (0.3 seconds).]\n"
           "[The cell was not started: another one was running.]", "one that waits in vain")
        conn.close()
        eq(cell(client, "print(2)"), "2", "one without a limit ends with the one who asked")


def limited(client):
    """A prefix: all of the sandbox is somebody who has so many processes and threads, and no more."""
    os.chmod(client.top, 0o755)
    return ["sh", "-ec", f"chown -R 54321 {client.top}\n"
            'exec setpriv --reuid 54321 --regid 54321 --clear-groups prlimit --nproc=80:80 "$@"', "sh"]


def test_bomb():
    """A cell that forks and forks, up to the user's limit."""
    if os.geteuid() != 0 or WRAP:
        skip("a fork bomb", "needs root, to be somebody with a limit")
        return
    if subprocess.run(["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", "prlimit", "--nproc=80:80",
                       "/usr/bin/python3", "-c", ""], capture_output=True).returncode:
        skip("a fork bomb", "no Python for another user here")
        return

    def left():
        return [int(p) for p in os.listdir("/proc") if p.isdigit() and b"\nUid:\t54321" in proc(p, "status")
                and alive(int(p))]
    for name, there, start in (("plain", True, plain), ("ipykernel", WITH_IPYKERNEL, named)):
        if not there:
            skip(f"{name}: a fork bomb", "it is not there")
            continue
        with start(prefix=limited, user=False, python="/usr/bin/python3") as client:
            eq(cell(client, "import os\nos.getuid()"), "54321", f"{name}: with a limit")
            before = set(left())
            began = time.monotonic()
            got = cell(client, "import time\nwhile True:\n    try:\n        os.fork()\n"
                               "    except OSError:\n        time.sleep(0.01)", 2.0)
            eq(got, "[Execution timed out (2.0 seconds).]", f"{name}: is answered")
            ok(time.monotonic() - began < 7 * SLOW, f"{name}: ...in time")
            has(cell(client, "print('alive')"), "alive", f"{name}: the next cell works")
            eq(client.run("echo $((6*7))")["content"], "42", f"{name}: and the shell")
            if name == "ipykernel":  # whose copies go on as it does, and end with it
                client.post("/v1/kernels/restart", b"")
                has(cell(client, "print(1)"), "lost.]\n1", f"{name}: a restart")
            ok(until(lambda: len(set(left()) - before) <= 1), f"{name}: nothing of it is left", left())


def test_without():
    with Client("--no-enable-browser") as client:
        # the search for a Python beside the new shell ends by itself
        ok(until(lambda: len(children(client.pid)) == 1), "no process but the shell")
        answer = client.post("/execute_action", action("run_ipython", 5.0, code="1"))
        eq((answer.status, answer.json()),
           (500, {"detail": "Internal server error: JupyterRequirement not found. "
                            "Unable to run IPython action."}), "not asked for: the contract's error")
        eq(len(children(client.pid)), 1, "...and no process but the shell")
        ok("plugins" not in client.get("/server_info").json(), "nothing to tell of")
    with Client("--plugins", "agent_skills", "vscode", "--no-enable-browser",
                env={"VSCODE_PORT": None}) as client:
        eq(client.get("/server_info").json()["plugins"],
           {"agent_skills": {"state": "ready"},
            "vscode": {"state": "unavailable", "why": "VSCODE_PORT is not set"}}, "the others")
    with Client(env={"SESSION_API_KEY": "k"}) as client:
        path = "/vscode/connection_token"
        eq(client.get(path).status, 403, "a route of a plugin needs the key")
        got = client.get(path, X_Session_API_Key="k")
        eq((got.status, got.json()), (200, {"token": None}), "...and is there without the plugin")
        got = client.post(path, X_Session_API_Key="k")
        eq((got.status, got.field("allow")), (405, "GET"), "...for its method")
        got = client.get(path + "/", X_Session_API_Key="k")
        eq((got.status, got.field("location")), (307, path), "...and under its own name")
    status, _, errors = run_client("serve", "1", "--plugins", "jupyter", "nonsense", "agent_skills")
    eq(status, 100, "an unknown plugin")
    has(errors, "--plugins nonsense: is not one of agent_skills, browser, jupyter, mcp, vscode", "...in words")


def test_no_python():
    """Without an interpreter the sandbox lives, and one that comes later is found."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        skip("no Python", "needs root and unshare, to hide the interpreters")
        return
    hide = [p for p in ("/usr/bin/python3", "/usr/local/bin/python3", "/opt/conda/bin/python")
            if os.path.exists(p)]
    binds = "; ".join(f"mount --bind /dev/null $(readlink -f {p})" for p in hide) or "true"
    prefix = ["unshare", "-m", "sh", "-c", binds + '; exec "$@"', "sh"]
    with Client("--plugins", "jupyter", prefix=prefix, env={"PATH": "/bin:/sbin"}) as client:
        got = client.get("/server_info").json()["plugins"]["jupyter"]
        eq(got["state"], "unavailable", "no interpreter")
        has(got["why"], "no Python interpreter (3.6 or newer) was found", "...and why")
        got = client.act("run_ipython", 5.0, code="print(1)")
        eq(got["content"], "[No Python interpreter was found in this sandbox. Only agentskills calls can run here; "
           "use the bash tool instead, or build the image with the plugin python.]"
           f"\n[Jupyter current working directory: {client.work}]\n[Jupyter Python interpreter: ]",
           "a cell is answered with 200")
        eq(client.run("echo alive")["content"], "alive", "the shell")


def test_bad_interpreters():
    """What only looks like a Python is passed over."""
    with Client(ready=False, argv=["/bin/true"], role="serve") as other:
        top = other.top
        for name, text in (("dead", "#!/bin/sh\nexit 1\n"), ("loud", "#!/bin/sh\necho hi; cat\n"),
                           ("crash", "#!/bin/sh\nkill -9 $$\n"), ("missing", "#!/no/such/program\n")):
            with open(f"{top}/{name}", "w") as f:
                f.write(text)
            os.chmod(f"{top}/{name}", 0o755)
            if name == "loud":
                continue
            with Client("--plugins", "jupyter", env={
                    "OD_PYTHON": f"{top}/{name}",
                    "OH_INTERPRETER_PATH": PYTHON}) as client:
                eq(cell(client, "print(1)"), "1", f"{name}: another one is taken")
                eq(info(client)["state"], "ready", f"{name}: ready")
        with open(f"{top}/slow", "w") as f:
            f.write("#!/bin/sh\nexec sleep 100\n")
        os.chmod(f"{top}/slow", 0o755)
        with Client("--plugins", "jupyter", env={
                "OD_PYTHON": f"{top}/slow", "OH_INTERPRETER_PATH": PYTHON,
                "INIT_PLUGIN_TIMEOUT": "0.5"}) as client:
            eq(info(client)["why"], "it was not ready in time", "the start does not wait for ever")
            eq(cell(client, "print(1)"), "1", "a cell waits for the next interpreter")


def test_crash_of_serve():
    """The server is killed in the middle: cells go on with another kernel."""
    with plain(role="init") as client:
        cell(client, "x = 1")
        serve = client.serve_pid()
        kernel = info(client)["pid"]
        os.kill(serve, 9)
        ok(until(lambda: not alive(kernel)), "the kernel ends with the server")
        client.shared = None
        eq(until(lambda: cell(client, "print(1)")), "[Kernel was restarted; variables were lost.]\n1",
           "cells go on, which is told")


def test_stop():
    with plain() as client:
        pid = info(client)["pid"]
        conn = client.conn()
        conn.send(request("POST", "/execute_action", action(
            "run_ipython", 60.0, code="print('so far')\nopen('b', 'w')\nimport time\ntime.sleep(60)")))
        until(lambda: os.path.exists(client.work + "/b"))
        client.process.terminate()
        has(conn.response().json()["content"], "so far\n\n[The sandbox is stopping: the cell was ended.]",
            "the cell that runs is answered")
        eq(client.process.wait(DEADLINE), 0, "a clean end")
        ok(not alive(pid), "the kernel is gone")


def test_many():
    """Thousands of cells leave nothing behind."""
    with plain() as client:
        def figures():
            return len(os.listdir(f"/proc/{client.pid}/fd")), own_kib(client.pid)

        for _ in range(200):
            cell(client, "1+1")
        before = figures()
        took = []
        for _ in range(10000):
            began = time.monotonic()
            cell(client, "1+1")
            took.append(time.monotonic() - began)
        after = figures()
        eq(after[0], before[0], "descriptors")
        slim(after[1] - before[1], 256, "KiB more than before")
        print(f"# 1+1: p50 {sorted(took)[len(took) // 2] * 1e3:.2f} ms")


def test_cancel():
    """A cell with an id that is cancelled is interrupted; one that goes on is killed with its kernel."""
    patient = "import time\nprint('on', flush=True)\nopen(%r, 'w').close()\ntime.sleep(600)"
    deaf = ("import time\nprint('on', flush=True)\nend = time.time() + 600\nwhile time.time() < end:\n"
            "    try:\n        open(%r, 'w').close()\n        time.sleep(1)\n    except KeyboardInterrupt: pass")
    for name, start in modes():
        with start() as client:
            cell(client, "1")
            for code, mode, content in ((patient, "int", "KeyboardInterrupt"), (deaf, "kill", "on")):
                mark, path = f"{client.work}/{mode}", f"/v1/actions/{mode}"
                body = {"action": "run_ipython", "args": {"code": code % mark}, "timeout": 600}
                client.ask(request("PUT", path, json.dumps(body).encode()))
                ok(until(lambda: os.path.exists(mark)), f"{name}: a cell runs")
                client.post(path + "/cancel")
                r = client.ask(request("GET", path + "?wait=60"), 60 + DEADLINE)
                eq((r.json()["state"], r.json()["cancel"]), ("done", mode), f"{name}: it is cancelled")
                has(r.json()["observation"]["content"], content, f"{name}: its answer")
                eq(cell(client, "print(6 * 7)").split("\n")[0], "42", f"{name}: the next cell")


if __name__ == "__main__":
    main()
