#!/usr/bin/env python3
"""Cells on Jupyter kernels by their names. What every kernel of Python must do is in
test_ipython.py; this is about several of them, other languages, and our own routes."""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from harness import (DEADLINE, SHIPS, SLOW, Client, action, alive, eq, has, main, ok, pss_kib, request, skip,
                     slim, until)
import npm

WITH_PYTHON = os.path.exists("/usr/share/jupyter/kernels/python3")
WITH_R = os.path.exists("/usr/share/jupyter/kernels/ir")
LIMIT = 60 * SLOW
RICH = """class Rich:
    def __repr__(self): return '<Rich>'
    def _repr_html_(self): return '<b>\u00e9</b>'
    def _repr_svg_(self): return '<svg/>'
    def _repr_latex_(self): return '$x$'
    def _repr_json_(self): return {'a': [1, {'b': None}]}
display(Rich())
Rich()"""


# A kernel that does what it is told, and no more: "stream", "reply", "idle" and so on.
FAKE = """import hashlib, hmac, json, os, sys, zmq
about = json.load(open(sys.argv[1]))
context = zmq.Context()
def bind(kind, port):
    s = context.socket(kind)
    s.bind("tcp://%s:%d" % (about["ip"], about[port]))
    return s
shell, iopub = bind(zmq.ROUTER, "shell_port"), bind(zmq.PUB, "iopub_port")
others = [bind(zmq.ROUTER, p) for p in ("control_port", "stdin_port", "hb_port")]
def send(to, ids, parent, kind, key=about["key"], **content):
    parts = [json.dumps(x).encode() for x in (
        {"msg_id": "x", "msg_type": kind, "version": "5.3"}, parent, {}, content)]
    mac = hmac.new(key.encode(), b"".join(parts), hashlib.sha256).hexdigest().encode()
    to.send_multipart(ids + [b"<IDS|MSG>", mac] + parts)
held = []
def request():
    if sys.argv[2:] == ["late"] and not held:
        held.extend([shell.recv_multipart(), shell.recv_multipart()])
    return held.pop(0) if held else shell.recv_multipart()
refused = 0
while True:
    got = request()
    at = got.index(b"<IDS|MSG>")
    ids, header, content = got[:at], json.loads(got[at + 2]), json.loads(got[at + 5])
    if header["msg_type"] == "kernel_info_request":
        does = ["reply", "idle"]
    else:
        does = content["code"].split()
    if does and does[0].isdigit():
        if refused < int(does.pop(0)):
            refused, does = refused + 1, ["refuse", "idle"]
        else:
            refused = 0
    for what in does:
        if what == "refuse":
            send(shell, ids, header, "execute_reply", status="aborted")
        elif what == "reply":
            send(shell, ids, header, header["msg_type"].replace("request", "reply"), status="ok")
        elif what in ("idle", "busy"):
            send(iopub, [b"t"], header, "status", execution_state=what)
        elif what == "other":
            send(iopub, [b"t"], {"msg_id": "another"}, "stream", name="stdout", text="other")
        elif what == "forged":
            send(iopub, [b"t"], header, "stream", key="no", name="stdout", text="forged")
        elif what == "nonsense":
            iopub.send_multipart([b"t", b"nonsense"])
        elif what == "end":
            for s in [shell, iopub] + others:
                s.close()
            context.term()
            os._exit(7)
        else:
            send(iopub, [b"t"], header, "stream", name="stdout", text=what)
"""


def start(kernel=None, *options, **more):
    env = {"OD_PYTHON": sys.executable, "JUPYTER_KERNEL": kernel, **more.pop("env", {})}
    return Client("--plugins", "jupyter", *options, env=env, **more)


def python(*options, **more):
    return start("python3", *options, **more)


def cell(client, code, kernel=None, timeout=LIMIT, **more):
    args = {"kernel": kernel} if kernel else {}
    return client.act("run_ipython", timeout, code=code, include_extra=False, **args, **more)["content"]


def kernels(client):
    return {k["name"]: k for k in client.get("/v1/kernels").json()["kernels"]}


def info(client):
    return client.get("/server_info").json()["plugins"]["jupyter"]


def folders():
    """Of kernels, ours and those of tests that run beside us."""
    return set(glob.glob("/tmp/od-kernel-*"))


def running(client, code, kernel=None, begin="x = 1\nopen({path!r}, 'w')\n"):
    """A cell that has begun: it made a file."""
    args = {"kernel": kernel} if kernel else {}
    path = client.work + "/began"
    conn = client.conn()
    conn.send(request("POST", "/execute_action", action(
        "run_ipython", LIMIT, code=begin.format(path=path) + code, include_extra=False, **args)))
    ok(until(lambda: os.path.exists(path), LIMIT), "a cell has begun")
    os.unlink(path)
    return conn


def put_spec(top, name, text):
    os.makedirs(f"{top}/kernels/{name}")
    with open(f"{top}/kernels/{name}/kernel.json", "w") as f:
        f.write(text if isinstance(text, str) else json.dumps(text))


def needed(what, there):
    if not there:
        skip(what, "it is not installed")
    return there


def test_several():
    """One that is embedded, and more by name, each from its first cell on."""
    if not needed("python3-ipykernel", WITH_PYTHON):
        return
    with start() as client:
        eq(list(kernels(client)), ["embedded"], "the embedded one alone, if nothing is said")
        eq(cell(client, "x = 1\nx"), "1", "a cell of it")
        has(cell(client, "x", "python3"), "NameError: name 'x' is not defined",
            "another kernel has other variables")
        got = kernels(client)
        eq(list(got), ["embedded", "python3"], "and is there from then on")
        eq((got["python3"]["kernelspec"], got["python3"]["language"], got["python3"]["state"],
            got["python3"]["starts"], got["python3"]["cells"]),
           ("/usr/share/jupyter/kernels/python3", "python", "idle", 1, 1), "what is told of it")
        ok(alive(got["python3"]["pid"]) and got["python3"]["pid"] != got["embedded"]["pid"],
           "its process")
        eq(cell(client, "x"), "1", "the first one has not noticed")
        client.run("mkdir sub; cd sub")
        for name in got:
            eq(cell(client, "import os\nos.getcwd()", name), repr(client.work + "/sub"),
               f"{name}: where the shell is")
        full = client.act("run_ipython", LIMIT, code="1", kernel="python3")["content"]
        has(full, "\n[Jupyter Python interpreter: /usr/bin/python3]", "its own interpreter")
        slow = running(client, "import time\ntime.sleep(100)", "python3")
        eq(cell(client, "2"), "2", "kernels do not wait for each other")
        slow.close()
        for name in ("nope", "../x", "a/b", " "):
            has(cell(client, "1", name), "[The cell was not executed: kernel " + name + ": ",
                f"there is none called {name}")
        has(cell(client, "1", "nope"), "there is no kernel of that name", "...which is said")
        got = client.act("run_ipython", LIMIT, code="1", kernel="x" * 65)
        eq((got["observation"], got["content"]),
           ("error", 'The argument "kernel" is not a valid name of a kernel.'), "a name that is too long")


def test_default():
    """JUPYTER_KERNEL is a wish that cannot always be fulfilled."""
    for name, why in (("nope", "kernel nope: there is no kernel of that name"),
                      ("../x", "kernel ../x: a kernel cannot have that name"),
                      ("y" * 70, "a kernel cannot have that name")):
        with start(name) as client:
            got = info(client)
            eq(got["state"], "unavailable", f"{name}: unavailable")
            has(got["why"], why, "...and why")
            has(cell(client, "1"), f"[The cell was not executed: kernel {name[:60]}", "a cell is told so")
            eq(client.run("echo alive")["content"], "alive", "the sandbox lives")
            eq(cell(client, "1+1", "embedded"), "2", "and so does the embedded one")


def test_specs():
    """Kernelspecs of the user's own, good and bad."""
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        put_spec(top, "broken", "{")
        put_spec(top, "empty", {"argv": []})
        put_spec(top, "ends", {"argv": ["/bin/sh", "-c", "exit 3"], "language": "python"})
        put_spec(top, "nowhere", {"argv": ["no-such-program"]})
        put_spec(top, "missing", {"argv": ["/no/such/program"]})
        for i in range(8):
            put_spec(top, f"mute{i}", {"argv": ["sleep", "1000"]})
        put_spec(top, "tcp", {"argv": ["/usr/bin/python3", "-m", "ipykernel_launcher", "-f",
                                       "{connection_file}"], "language": "other",
                              "interrupt_mode": "message", "env": {"OF_SPEC": "${HOME}!"}})
        with start(env={"JUPYTER_PATH": top}) as client:
            for name, why in (("broken", "kernel broken: "), ("empty", "argv of kernel.json is no list of texts"),
                              ("ends", "it ended by itself"), ("nowhere", "its program"),
                              ("missing", "executing the program")):
                has(cell(client, "1", name), why, f"a kernelspec that is {name}")
                eq(kernels(client)[name]["state"], "none", "...is no kernel")
            if needed("ipykernel over TCP", WITH_PYTHON):
                eq(cell(client, "import os\nos.environ['OF_SPEC']", "tcp"),
                   repr(client.run("echo $HOME")["content"] + "!"), "a kernel over TCP, with its environment")
                eq(cell(client, "keep = 5\nimport time\nwhile True: time.sleep(0.01)", "tcp", 0.5),
                   "[Execution timed out (0.5 seconds).]", "interrupted by a message")
                eq(cell(client, "keep", "tcp"), "5", "the variables stay")
            for i in range(6):
                eq(cell(client, "1", f"mute{i}", 0.1), "[Execution timed out (0.1 seconds).]\n"
                   "[The cell was not started: the kernel was not ready.]", "one that is never ready")
            got = client.act("run_ipython", LIMIT, code="1", kernel="mute7")
            eq((got["observation"], got["content"]),
               ("error", "Too many kernels are in use in this sandbox. Use one of them: GET /v1/kernels lists them."),
               "no more than eight")
            pids = [k["pid"] for k in kernels(client).values() if k["pid"]]
        ok(until(lambda: not any(map(alive, pids))), "all of them end with the sandbox")


def test_bad_kernel():
    """One that leaves out what it has to say, or says what it must not."""
    if subprocess.run(["/usr/bin/python3", "-c", "import zmq"], capture_output=True).returncode:
        skip("a bad kernel", "Python has no zmq here")
        return
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        with open(top + "/fake.py", "w") as f:
            f.write(FAKE)
        put_spec(top, "fake", {"argv": ["/usr/bin/python3", top + "/fake.py", "{connection_file}"]})
        with start("fake", env={"JUPYTER_PATH": top}) as client:
            eq(info(client)["state"], "ready", "it is ready")
            for code, want in (("busy a reply idle", "a"), ("a idle reply", "a"), ("a reply", "a"),
                               ("a idle", "a"), ("other a reply idle other", "a"),
                               ("reply a b idle", "ab"), ("a b reply idle", "ab")):
                eq(cell(client, code), want, f"{code}")
            for code, want in (("3 a reply idle", "a"), ("99 a reply idle", "[The kernel did not execute the cell.]")):
                eq(cell(client, code), want, f"refused so many times: {code}")
            eq(cell(client, "99 b reply idle", timeout=0.3), "[Execution timed out (0.3 seconds).]",
               "...until its time is over")
            eq(cell(client, "a reply idle"), "a", "...and not tried again")
            for what in ("forged", "nonsense"):
                got = cell(client, f"a {what} b reply idle")
                ok(got.startswith("a\n[A message of ") and got.endswith(" was left out: it could not be taken.]\nb"),
                   f"{what}: left out", got)
            eq(cell(client, "a reply idle end"), "a", "one that ends behind a cell")
            ok(until(lambda: info(client).get("starts") == 2), "...is started again")
            has(cell(client, "b reply idle"), "[Kernel was restarted; variables were lost.]\nb",
                "...which the next one tells")
            has(cell(client, "a end"), "a\n[Kernel died (exit status 7). It was restarted", "one that ends in it")
            eq(cell(client, "nothing", timeout=0.5), "[Execution timed out (0.5 seconds).]",
               "one that does not answer")
            has(cell(client, "a reply idle"), "[Kernel was restarted; variables were lost.]\na",
                "...is killed in the end")


def test_late_kernel():
    """One that finds a request only when another one comes."""
    if subprocess.run(["/usr/bin/python3", "-c", "import zmq"], capture_output=True).returncode:
        skip("a late kernel", "Python has no zmq here")
        return
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        with open(top + "/fake.py", "w") as f:
            f.write(FAKE)
        put_spec(top, "late", {"argv": ["/usr/bin/python3", top + "/fake.py", "{connection_file}", "late"]})
        with start("late", env={"JUPYTER_PATH": top}) as client:
            for code in "busy a reply idle", "busy b reply idle":
                eq(cell(client, code, timeout=LIMIT), code.split()[1], f"it is ready in the end, and says {code!r} once")


def test_r():
    if not needed("r-cran-irkernel", WITH_R):
        return
    with start("ir") as client:
        eq((info(client)["state"], info(client)["language"]), ("ready", "R"), "is ready")
        got = client.act("run_ipython", LIMIT, code="1+1")["content"]
        eq(got, f"[1] 2\n[Jupyter current working directory: {client.work}]\n"
           "[Jupyter Python interpreter: ]", "a result, and no Python")
        eq(cell(client, "cat('a'); cat('b\\n')"), "ab", "printed")
        has(cell(client, "stop('no good')"), "no good", "an error")
        eq(cell(client, "x <- 5"), "[Code executed successfully with no output]", "nothing")
        client.run("mkdir \"q'\\\"x\"; cd q*")
        has(cell(client, "getwd()"), "/q'", "where the shell is, whatever that is called")
        eq(cell(client, "while (TRUE) Sys.sleep(0.01)", timeout=0.5),
           "[Execution timed out (0.5 seconds).]", "an endless loop")
        eq(cell(client, "x"), "[1] 5", "the variables stay")
        has(cell(client, "tools::pskill(Sys.getpid(), 9)"), "[Kernel died (signal 9). It was restarted",
            "its end")
        eq(cell(client, "1"), "[1] 1", "and the next cell")


# Kernels of npm, with a libzmq that comes in the package.
NPM = ("tslab@1.0.22", "zeromq@6.0.0-beta.20")


def test_npm():
    """TypeScript and JavaScript under Node."""
    folder = npm.install("kernels of npm", *NPM)
    if not folder:
        return
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        for name, options in ("ts", []), ("js", ["--js"]):
            put_spec(top, name, {"argv": ["node", folder + "/node_modules/tslab/bin/tslab", "kernel", *options,
                                          "--config-path", "{connection_file}"],
                                 "display_name": "tslab", "language": "typescript"})
        with start(env={"JUPYTER_PATH": top}) as client:
            # Where tslab finds the types of Node.
            os.symlink(folder + "/node_modules", client.work + "/node_modules")
            for code, want in (("1+1", "2"), ("let x: number = 5", "[Code executed successfully with no output]"),
                               ("x", "5")):
                eq(cell(client, code, "ts"), want, f"TypeScript: {code}")
            for code, want in (("let x: string = 5", "Type 'number' is not assignable to type 'string'"),
                               ("throw new Error('no good')", "Error: no good")):
                has(cell(client, code, "ts"), want, f"an error: {code}")
                eq(cell(client, "x", "ts"), "5", "...after which it refuses cells for a while")
            eq(kernels(client)["ts"]["language"], "typescript", "what is told of it")
            eq(cell(client, "let keep = 6; console.log('a'); process.stdout.write('b'); console.error('c'); 7", "js"),
               "a\nbc\n7", "JavaScript: both streams, then the result")
            cell(client, "import {display} from 'tslab'; display.html('<b>1</b>')", "js")
            eq(client.get("/v1/kernels/outputs?kernel=js").json()["outputs"], [{"text/html": "<b>1</b>"}], "HTML")
            # Only when it is where it stays: node has moments in which SIGINT ends it.
            write = "require('fs').writeFileSync({path!r}, '')"
            for begin, code, said in (
                    (write, "; while (true) {}", "interrupted by `SIGINT`"),
                    (f"setTimeout(() => {write})", "; await new Promise(() => 0)", "Interrupted asynchronously")):
                slow = running(client, code, "js", begin)
                client.post("/v1/kernels/interrupt?kernel=js", b"")
                has(slow.response(LIMIT).json()["content"], said, f"interrupted: {code}")
                eq(cell(client, "keep", "js"), "6", "...the variables stay")
            for code, how in (("console.log('so far'); setTimeout(() => process.exit(3), 300); "
                               "await new Promise(r => 0)", "exit status 3"),
                              ("process.kill(process.pid, 'SIGKILL')", "signal 9")):
                has(cell(client, code, "js"), f"[Kernel died ({how}). It was restarted; all", code)
                has(cell(client, "keep", "js"), "Cannot find name 'keep'", "the next cell has none of its variables")
                eq(cell(client, "8", "js"), "8", "the next cell works")
            began = time.monotonic()
            client.post("/v1/kernels/restart?kernel=js", b"")
            has(cell(client, "1", "js"), "[Kernel was restarted; variables were lost.]\n1", "restarted")
            ok(time.monotonic() - began < LIMIT, "...in time")


def test_rich():
    """What an observation has no place for."""
    want = {"text/html": "<b>é</b>", "image/svg+xml": "<svg/>", "text/latex": "$x$",
            "application/json": {"a": [1, {"b": None}]}}
    for name in ["embedded"] + ["python3"] * needed("rich output of ipykernel", WITH_PYTHON):
        with start(name) as client:
            empty = client.get("/v1/kernels/outputs").json()
            eq(empty, {"kernel": name, "cell": 0, "outputs": [], "left_out": 0}, f"{name}: none yet")
            got = client.act("run_ipython", LIMIT, code=RICH, include_extra=False)
            eq((got["content"], got["extras"]), ("<Rich><Rich>", {"code": RICH}),
               f"{name}: the observation has texts alone")
            eq(client.get(f"/v1/kernels/outputs?kernel={name}").json(),
               {"kernel": name, "cell": 1, "outputs": [want, want], "left_out": 0}, f"{name}: the rest")
            cell(client, "for i in range(11): display({'text/html': 'x' * (1 << 20)}, raw=True)")
            got = client.get("/v1/kernels/outputs").json()
            eq((got["cell"], len(got["outputs"]), got["left_out"]), (2, 7, 4),
               f"{name}: bounded, and counted")
            cell(client, "1")
            eq(client.get("/v1/kernels/outputs").json()["outputs"], [], f"{name}: of the last cell alone")


def test_routes():
    with Client(env={"SESSION_API_KEY": "k"}) as client:
        eq(client.get("/v1/kernels").status, 403, "the key is needed")
        eq(client.get("/v1/kernels", X_Session_API_Key="k").json(), {"kernels": []},
           "without the plugin there are none")
        eq(client.get("/v1/kernels/outputs", X_Session_API_Key="k").status, 404, "...and no outputs")
    for name in ["embedded"] + ["python3"] * needed("routes of ipykernel", WITH_PYTHON):
        with start(name) as client:
            for method, path in (("GET", "outputs"), ("POST", "interrupt"), ("POST", "restart")):
                got = client.ask(request(method, f"/v1/kernels/{path}?kernel=nope"))
                eq((got.status, got.json()), (404, {"detail": "No kernel has this name. GET /v1/kernels lists the kernels."}),
                   f"{name}: {path} of another")
                got = client.ask(request(method, f"/v1/kernels/{path}?kernel=a&kernel=b"))
                eq(got.status, 422, f"{name}: {path} of two")
            slow = running(client, "import time\nwhile True: time.sleep(0.01)")
            eq(kernels(client)[name]["state"], "busy", f"{name}: it runs a cell")
            eq(client.post("/v1/kernels/interrupt", b"").status, 200, f"{name}: interrupted")
            has(slow.response(LIMIT).json()["content"], "KeyboardInterrupt", f"{name}: ends as it does itself")
            eq(cell(client, "x"), "1", f"{name}: the variables stay")
            pid = kernels(client)[name]["pid"]
            slow = running(client, "import time\ntime.sleep(100)")
            eq(client.post(f"/v1/kernels/restart?kernel={name}", b"").status, 200, f"{name}: restarted")
            has(slow.response(LIMIT).json()["content"], "[Kernel died (signal 9). It was restarted; all",
                f"{name}: in the middle of a cell")
            has(cell(client, "x"), "NameError", f"{name}: the variables are gone")
            ok(kernels(client)[name]["pid"] != pid and not alive(pid), f"{name}: another process")
            cell(client, "import atexit\natexit.register(lambda: open('bye', 'w').close())")
            client.post("/v1/kernels/restart", b"")
            has(cell(client, "1"), "[Kernel was restarted; variables were lost.]\n1",
                f"{name}: between two cells")
            eq(os.path.exists(client.work + "/bye"), name == "python3", f"{name}: who can be asked to end is")
            pid = kernels(client)[name]["pid"]
            os.kill(pid, signal.SIGSTOP)
            client.post("/v1/kernels/restart", b"")
            client.post("/v1/kernels/restart", b"")
            has(cell(client, "1"), "[Kernel was restarted", f"{name}: who is asked twice is killed")
            ok(not alive(pid), f"{name}: ...though it was stopped")


def test_ends():
    """Of ipykernel, however it comes."""
    if not needed("ends of ipykernel", WITH_PYTHON):
        return
    before = folders()
    with python() as client:
        began = time.monotonic()
        has(cell(client, "import os\nos.closerange(3, 200)\nimport time\ntime.sleep(100)"),
            "[Kernel died (signal ", "one that has closed its sockets")
        ok(time.monotonic() - began < 20 * SLOW, "...is not waited for")
        eq(cell(client, "1"), "1", "the next cell")
        stop = running(client, "print('so far', flush=True)\nopen('said', 'w')\nimport time\ntime.sleep(100)")
        pid = info(client)["pid"]
        conn = client.conn()
        conn.send(request("POST", "/execute_action", action("run_ipython", LIMIT, code="2",
                                                            include_extra=False)))
        until(lambda: kernels(client)["python3"]["waiting"] == 1)
        client.process.terminate()
        has(stop.response().json()["content"], "[The sandbox is stopping: the cell was ended.]",
            "the sandbox stops: the cell that runs is answered")
        eq(conn.response().json()["content"], "[The sandbox is stopping: the cell was not executed.]",
           "...and the one that waits")
        eq(client.process.wait(DEADLINE), 0, "a clean end")
        ok(until(lambda: not alive(pid)), "the kernel is gone")
    with python(role="init") as client:
        kernel = info(client)["pid"]
        cell(client, "x = 1")
        os.kill(client.serve_pid(), 9)
        ok(until(lambda: not alive(kernel)), "the kernel ends with a server that is killed")
        client.shared = None
        eq(until(lambda: cell(client, "print(1)"), LIMIT), "[Kernel was restarted; variables were lost.]\n1",
           "cells go on, which is told")
    eq(until(lambda: not folders() - before), True, "no folder is left")


def test_many():
    """Cells leave nothing behind."""
    if not needed("many cells of ipykernel", WITH_PYTHON):
        return
    with python() as client:
        def figures():
            return len(os.listdir(f"/proc/{client.pid}/fd")), pss_kib(client.pid)

        for _ in range(100):
            cell(client, "1+1")
        before = figures()
        for _ in range(400):
            cell(client, "1+1")
        # In less than the 1,000 messages that ZeroMQ keeps for us.
        mib = 1024 if SHIPS else 64
        got = cell(client, "import sys\nprint('begin')\n"
                   f"for i in range({mib // 2}): sys.stdout.write('x' * (2 << 20)); sys.stdout.flush()\nprint('end')")
        ok(got.startswith("begin\n") and got.endswith("end"), f"both ends of {mib} MiB are there", got[:100], got[-100:])
        left = re.search(r"\n\[\.\.\. (\d+) bytes of output were left out here \.\.\.\]\n", got)
        ok(left and len(got) - len(left[0]) + int(left[1]) == (mib << 20) + 9, "the rest is counted", left, got.count("left out"))
        ok(len(got) < 5 << 20, "a bounded text", len(got))
        eq(cell(client, "1"), "1", "the next cell")
        after = figures()
        eq(after[0], before[0], "descriptors")
        slim(after[1] - before[1], 1024, "KiB more than before")


if __name__ == "__main__":
    main()
