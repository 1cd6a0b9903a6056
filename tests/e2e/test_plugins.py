#!/usr/bin/env python3
"""Plugins on the disk: those of tests/plugins, and some that come to grief."""
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import threading
import time

from harness import (DEADLINE, SLOW, TOP, Client, Closed, alive, children, eq, has, main, ok,
                     own_kib, proc, pss_kib, request, run_client, scratch, skip, slim, until)
from mcp import Events, unchunk

TEMP = scratch("od-plugins-")
EXAMPLES = os.path.join(TOP, "tests/plugins")
CC = shutil.which("cc") or shutil.which("gcc")

# What the plugins below have in common.
FRONT = """#!%s
import json, os, signal, sys, time
channel = os.fdopen(3, "r+b", buffering=0)
lines = os.fdopen(os.dup(3), "rb")

def say(text):
    channel.write(text if isinstance(text, bytes) else json.dumps(text).encode() + b"\\n")

def frames():
    for line in lines:
        yield json.loads(line)

def answer(f, text="ok", **more):
    if "action" in f:
        say({"op": "reply", "id": f["id"], "observation": {"content": text, **more}})
    else:
        say({"op": "reply", "id": f["id"], "status": 200, "body": text, **more})

def hello():
    f = next(frames())
    say({"op": "ready"})
    return f
""" % sys.executable


def plugin(name, code, front=FRONT, **more):
    """A plugin of that name in TEMP."""
    top = os.path.join(TEMP, name)
    os.makedirs(top, exist_ok=True)
    with open(os.path.join(top, "run"), "w") as f:
        f.write(front + code)
    os.chmod(os.path.join(top, "run"), 0o755)
    keys = {"name": name, "protocol": 1, "argv": ["./run"], **more}
    return manifest(name, json.dumps(keys))


def manifest(name, text):
    top = os.path.join(TEMP, name)
    os.makedirs(top, exist_ok=True)
    with open(os.path.join(top, "plugin.json"), "w") as f:
        f.write(text)
    return name


def example(name):
    top = os.path.join(TEMP, name)
    if not os.path.exists(top):
        shutil.copytree(os.path.join(EXAMPLES, name), top)
    if name == "echo-c" and not os.path.exists(top + "/echo"):
        subprocess.run([CC, "-o", top + "/echo", top + "/echo.c"], check=True)
    return name


def start(*names, **more):
    return Client("--plugin-dir", TEMP, "--plugins", *names, **more)


def info(client, name):
    return client.get("/server_info").json()["plugins"][name]


def ready(client, name):
    return until(lambda: info(client, name)["state"] == "ready")


def content(client, name, timeout=DEADLINE, **args):
    return client.act(name, timeout, **args)["content"]


def is_error(client, name, words, what, **args):
    got = client.act(name, DEADLINE, **args)
    eq(got["observation"], "error", what)
    has(got["content"], words, "...with the reason")


# --- The examples -----------------------------------------------------------------

def test_shell():
    example("hello-sh")
    with start("hello-sh", role="init", env={"SESSION_API_KEY": "secret"}) as client:
        key = {"X_Session_API_Key": "secret"}
        got = info(client, "hello-sh")
        eq((got["state"], got["starts"], got["calls"]), ("ready", 1, 0), "is ready")

        def greet(**args):
            body = json.dumps({"action": {"action": "greet", "args": args}}, indent=2).encode()
            return client.post("/execute_action", body, **key).json()

        eq(greet(), {"message": "", "observation": "greet", "content": "Hello, world!",
                     "extras": {}}, "an action")
        for who in ('"', "\\", 'a"b\\"c\\\\', "two\nlines\t\x01", "é中\U0001f600", "', $(id) `id` *"):
            eq(greet(who=who)["content"], f"Hello, {who}!", f"with {who!r}")
        got = client.get("/plugins/hello-sh/greeting?a=%20b", **key)
        eq((got.status, got.field("content-type"), got.body), (200, "text/plain", b"Hello, a=%20b!\n"),
           "a route")
        eq(client.get("/plugins/hello-sh/greeting").status, 403, "...needs the key")
        eq(client.get("/plugins/hello-sh/other", **key).status, 404, "another path")
        got = client.post("/plugins/hello-sh/greeting", b"", **key)
        eq((got.status, got.field("allow")), (405, "GET"), "another method")
        pid = info(client, "hello-sh")["pid"]
        ok(b"secret" not in proc(pid, "environ"), "the process has no key")
        has(proc(pid, "environ"), b"GREETING=Hello\0", "...the manifest's environment")
        has(proc(pid, "environ"), b"\0HOME=" + client.home.encode(), "...and the shell's")
        eq(os.readlink(f"/proc/{pid}/cwd"), os.path.join(TEMP, "hello-sh"), "runs in its folder")
        links = {os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")}
        eq(sum(link.startswith("socket:") for link in links), 1, "with one socket, its channel")
        eq(client.stop(), 0, "the server stops")
        ok(until(lambda: not alive(pid)), "...and the plugin with it")


def test_frames():
    """What the server says, byte by byte, as docs/plugins.md has it."""
    code = """
first = next(lines)
say({"op": "ready"})
for line in lines:
    f = json.loads(line)
    answer(f, (first + line).decode(), success=True) if "action" in f else answer(f, line.decode())
"""
    frank = plugin("frank", code, actions=["frank"], routes=[{"method": "PUT", "path": "/x/*"}], call_seconds=7)
    with start(frank) as client:
        cwd = json.dumps(client.work)
        body = b'{"action":{"action":"frank","timeout":2.5,"args":{ "a" :\n[1, "\\u00e9 \\n"]}}}'
        got = client.post("/execute_action", body).json()
        first, second, _ = got["content"].split("\n")
        eq(first, '{"op":"hello","protocol":1,"name":"frank","server":"od-runtime %s","cwd":%s}'
           % (run_client("--version")[1].split()[1], cwd), "hello")
        eq(second, '{"op":"call","id":1,"timeout":2.5,"cwd":%s,"action":"frank","args":{"a":[1,"\\u00e9 \\n"]}}'
           % cwd, "an action")
        eq((got["observation"], got["success"]), ("frank", True), "its observation")
        eq(client.ask(request("PUT", "/plugins/frank/x/%20y?a=%20b", b"\t1", Content_Type="a/b")).body.decode(),
           '{"op":"call","id":2,"timeout":7.0,"cwd":%s,"method":"PUT","path":"/x/ y","query":"a=%%20b",'
           '"type":"a/b","body":"\\t1"}\n' % cwd, "a request")
        eq(client.ask(request("PUT", "/plugins/frank/x/", b"\xff", Content_Type=None)).body.decode(),
           '{"op":"call","id":3,"timeout":7.0,"cwd":%s,"method":"PUT","path":"/x/","query":"",'
           '"type":"","body64":"/w=="}\n' % cwd, "one without a type, whose body is no text")
    with open(os.path.join(TOP, "docs/plugins.md")) as f:
        docs = f.read()
    for name in ("hello", "plugin.json"):
        with open(os.path.join(EXAMPLES, "hello-sh", name)) as f:
            has(docs, f.read(), f"the documentation has the example's {name}")


def test_both():
    if not CC:
        skip("a plugin in C", "there is no C compiler")
        return
    with start(example("hello-sh"), example("echo-c")) as client:
        eq([info(client, n)["state"] for n in ("hello-sh", "echo-c")], ["ready"] * 2, "two, side by side")
        args = {"a": [1, {"b": "x, \"y\" }"}], "c": None}
        eq(client.act("echo", **args)["extras"], args, "arguments come as they are")
        eq(content(client, "greet", who="me"), "Hello, me!", "the other one answers, too")
        for body in (b"", b"text\n\"quoted\"", "é".encode(), b"\xff\x00\x80", bytes(range(256)) * 4000):
            got = client.post("/plugins/echo-c/echo/any/where", body)
            eq((got.status, got.body == body), (200, True), f"a body of {len(body)} bytes")
        got = client.act("echo", big="x" * (3 << 20))
        eq(len(got["extras"]["big"]), 3 << 20, "3 MiB, both ways")
        is_error(client, "echo", "accepts at most 4 MiB", "4 MiB are too many", big="x" * (4 << 20))
        eq(client.post("/plugins/echo-c/echo/", b"\n" * (4 << 20)).status, 413, "...in a body, too")
        answers = []
        threads = [threading.Thread(target=lambda i=i: answers.append(
            (i, client.act("echo", conn=client.conn(), i=i)["extras"]["i"]))) for i in range(40)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        ok(len(answers) == 40 and all(a == b for a, b in answers), "40 calls at a time")


# --- What is missing -----------------------------------------------------------------

def test_missing():
    """What a plugin lacks makes that one unavailable, and nothing else."""
    good = {"name": "x", "protocol": 1, "argv": ["./x"]}
    bad = {
        "m-syntax": ('{"name": "m-syntax",}', "byte 20:"),
        "m-twice": ('{"name": "m-twice", "name": "m-twice"}', "byte "),
        "m-list": ("[]", "it must be an object"),
        "m-key": (json.dumps({**good, "name": "m-key", "color": 1}), "color: is not a key"),
        "m-name": (json.dumps(good), "name: must be the name of the folder"),
        "m-argv": (json.dumps({**good, "name": "m-argv", "argv": ["a", 1]}), "argv[1]: must be a string"),
        "m-version": (json.dumps({**good, "name": "m-version", "protocol": 2}), "protocol: is not supported"),
        "m-large": (json.dumps({**good, "name": "m-large", "env": {"A": "x" * 70000}}), "a size limit"),
    }
    for name, (text, _) in bad.items():
        manifest(name, text)
    os.makedirs(os.path.join(TEMP, "files"), exist_ok=True)
    need = plugin("need", "", needs=["sh", "./run", "no-such-tool"], actions=["needy"])
    path = plugin("path", "", needs=["/no/such/file"], actions=["pathetic"])
    gone = plugin("gone", "", argv=["./not-there"], actions=["goner"])
    probe = plugin("probe", "hello()\nfor f in frames():\n    answer(f)\n",
                   probe=["/bin/sh", "-c", "echo looked; test -e ../found || { echo it is not there; exit 7; }"],
                   actions=["probe"], routes=[{"method": "GET", "path": "/"}])
    names = [*bad, need, path, gone, probe, "files"]
    with start(*names[:11]) as client:
        for name, (_, words) in bad.items():
            got = info(client, name)
            eq(got["state"], "unavailable", f"{name} is unavailable")
            has(got["why"], f"{TEMP}/{name}/plugin.json: {words}", "...with file and key")
        eq(info(client, need)["why"], "it needs no-such-tool, which is not on the PATH", "a missing program")
        eq(info(client, path)["why"], "it needs /no/such/file, which is not there", "a missing file")
        has(info(client, gone)["why"], "./not-there: No such file", "a missing plugin")
        is_error(client, "needy", "The plugin need is unavailable: it needs no-such-tool", "its action")
        is_error(client, "m", "There is no action named m", "an action that nobody has")
        eq(client.run("echo alive")["content"], "alive", "the sandbox lives")
        ok(until(lambda: children(client.pid) == [client.shell_pid()]), "no process for any of them")
    with start(probe, "files") as client:
        got = info(client, probe)
        eq((got["state"], got["why"]), ("unavailable", "its probe failed: it ended (exit status 7): "
                                        "it is not there"), "a probe that fails")
        eq(info(client, "files")["state"], "ready", "a folder of files alone")
        got = client.get("/plugins/probe/")
        eq(got.status, 503, "its route")
        has(got.json()["detail"], "The plugin probe is unavailable: its probe failed", "...has the reason")
        open(os.path.join(TEMP, "found"), "w").close()
        ok(until(lambda: content(client, "probe") == "ok"), "what was missing is found later")
        eq(info(client, probe)["state"], "ready", "...and it is ready")


def test_clashes():
    code = "hello()\nfor f in frames():\n    answer(f, sys.argv[0][-5:])\n"
    one = plugin("one", code, actions=["same", "of_one"])
    two = plugin("two", code, actions=["of_two", "same"])
    for name, action in (("three", "run"), ("four", "run_ipython")):
        plugin(name, code, actions=[action])
    with start(one, two, "three", "four") as client:
        eq(info(client, one)["state"], "ready", "the first has it")
        eq(info(client, two)["why"], "its action same is already that of another plugin", "a clash")
        eq(info(client, "three")["why"], "its action run is already that of the sandbox", "...with ours")
        eq(info(client, "four")["why"], "its action run_ipython is already that of another plugin",
           "...with one that is built in")
        eq((content(client, "same"), client.run("echo x")["content"]), ("./run", "x"), "both work")
        is_error(client, "of_two", "no action named of_two", "the others of it are not there")
    for names, words in ((["../one"], "is not one of"), (["one", "absent"], f"no folder in {TEMP}")):
        status, _, errors = run_client("serve", "1", "--plugin-dir", TEMP, "--plugins", *names)
        eq(status, 100, f"{names} cannot be")
        has(errors, words, "...in words")


# --- Bad days ----------------------------------------------------------------------

def test_late():
    late = plugin("late", "f = next(frames())\n"
                  "while not os.path.exists('go'): time.sleep(0.01)\n"
                  "say({'op': 'ready'})\nfor f in frames():\n    answer(f)\n", actions=["late"])
    never = plugin("never", "time.sleep(1000)\n", actions=["never"], ready_seconds=1)
    with start(late, env={"INIT_PLUGIN_TIMEOUT": "0.3"}) as client:
        eq((info(client, late)["state"], info(client, late)["why"]),
           ("unavailable", "it was not ready in time"), "one that is late")
        open(os.path.join(TEMP, late, "go"), "w").close()
        eq(content(client, "late"), "ok", "a call waits for it")
        eq(info(client, late)["state"], "ready", "...and it is ready")
    with start(never) as client:
        has(info(client, never)["why"], "it was not ready within 1 seconds", "one that never is")


def test_absent():
    """A plugin that says itself that it cannot, and then can."""
    code = """
next(frames())
say({"op": "unavailable", "why": "there is no licence"})
while not os.path.exists("licence"): time.sleep(0.01)
say({"op": "ready"})
for f in frames():
    if f["args"].get("do") == "flip":
        while True: say(b'{"op":"unavailable","why":"no"}\\n{"op":"ready"}\\n')
    if f["args"].get("do") == "exit":
        say({"op": "unavailable", "why": "it was stolen"})
        sys.exit(1)
    if f["args"].get("do") == "lose": say({"op": "unavailable", "why": "it was lost"})
    else: answer(f)
"""
    shy = plugin("shy", code, actions=["shy"])
    with start(shy) as client:
        got = info(client, shy)
        eq((got["state"], got["why"], got["starts"]), ("unavailable", "there is no licence", 1), "unavailable")
        is_error(client, "shy", "The plugin shy is unavailable: there is no licence.", "a call")
        open(os.path.join(TEMP, shy, "licence"), "w").close()
        ok(ready(client, shy), "ready at last")
        eq(content(client, "shy"), "ok", "...it answers")
        is_error(client, "shy", "no answer: it was lost.", "with a call under way", do="lose")
        is_error(client, "shy", "is unavailable: it was lost.", "...and for all that come")
    with start(shy) as client:
        ok(ready(client, shy), "ready in the end")
        os.unlink(os.path.join(TEMP, shy, "licence"))
        is_error(client, "shy", "no answer: it was stolen.", "unavailable, and then gone", do="exit")
        ok(until(lambda: info(client, shy)["why"].startswith(
            ("it ended (exit status 1): it was stolen; it is started", "there is no licence"))), "...the reason",
           info(client, shy))
        open(os.path.join(TEMP, shy, "licence"), "w").close()
    with start(shy) as client:
        ok(ready(client, shy), "ready again")
        got = client.act("shy", DEADLINE, do="flip")["content"]
        ok(until(lambda: info(client, shy)["starts"] > 1), "one that changes its mind all the time is ended",
           got)


def test_chatty():
    """What one says of itself before it is ready is no reason to end it."""
    code = """
say(b'{"op":"log","text":"here I come"}\\n' * 200 + b'{"op":"ready"}\\n')
os.write(1, b"and on\\n" * 200)
for f in frames():
    if f["op"] == "call": answer(f)
"""
    chatty = plugin("chatty", code, actions=["chatty"])
    with start(chatty) as client:
        ok(ready(client, chatty), "one that talks much is ready")
        eq((content(client, "chatty"), info(client, chatty)["starts"]), ("ok", 1), "...at its first start")


def test_crash_loop():
    loop = plugin("loop", "print('I cannot', file=sys.stderr)\nsys.exit(3)\n", actions=["loop"])
    with start(loop) as client:
        got = info(client, loop)
        eq(got["state"], "unavailable", "one that ends at its start")
        has(got["why"], "it ended (exit status 3): I cannot; it is started again after", "...with its words")
        is_error(client, "loop", "it ended (exit status 3)", "a call does not wait")
        began = time.monotonic()
        ok(until(lambda: info(client, loop)["starts"] >= 4), "it is started again")
        ok(time.monotonic() - began > 0.3, "...with pauses that grow")
        has(client.log(), "I cannot", "what it prints is in the log")


def test_death():
    code = """
def work(f):
    if f["args"].get("do") == "exit":
        sys.exit(5)
    if f["args"].get("do") == "last":
        answer(f, "last words")
        os._exit(0)
    if f["args"].get("do") == "close":
        os.close(3); lines.close(); time.sleep(1000)
    if f["args"].get("do") != "wait":
        answer(f, str(os.getpid()))
hello()
for f in frames():
    if "args" in f:
        work(f)
"""
    mortal = plugin("mortal", code, actions=["mortal"], routes=[{"method": "GET", "path": "/wait"}])
    with start(mortal) as client:
        pid = info(client, mortal)["pid"]
        eq(content(client, "mortal"), str(pid), "it works")
        answers = []
        act = threading.Thread(target=lambda: answers.append(
            client.act("mortal", conn=client.conn(), do="wait")["content"]))
        with client.conn() as other:
            act.start()
            other.send(request("GET", "/plugins/mortal/wait"))
            ok(until(lambda: info(client, mortal)["calls"] == 2), "two calls are under way")
            os.kill(pid, signal.SIGKILL)
            got = other.response()
            act.join()
        eq((got.status, got.json()["detail"]),
           (502, "The plugin mortal has given no answer: it ended (signal 9)."), "a request fails truthfully")
        eq(answers, ["The plugin mortal has given no answer: it ended (signal 9)."], "...and an action")
        again = content(client, "mortal")
        ok(again.isdigit() and again != str(pid), "the next call waits for the restart")
        eq((info(client, mortal)["state"], info(client, mortal)["starts"]), ("ready", 2), "...it is ready")
        is_error(client, "mortal", "it ended (exit status 5)", "it exits", do="exit")
        eq(content(client, "mortal", do="last"), "last words", "what it said last counts")
        ok(until(lambda: info(client, mortal)["starts"] == 4), "...and it is started again")
        is_error(client, "mortal", "it has closed its channel", "it hangs up", do="close")
        ok(content(client, "mortal").isdigit(), "...and works again")


def test_server_crash():
    example("hello-sh")
    with start("hello-sh", role="init") as client:
        pid = info(client, "hello-sh")["pid"]
        os.kill(client.serve_pid(), signal.SIGKILL)
        client.shared = None
        eq(content(client, "greet"), "Hello, world!", "the next server starts it again")
        ok(until(lambda: not alive(pid)), "the old one is gone")
        ok(info(client, "hello-sh")["pid"] != pid, "...it is another")


def test_garbage():
    code = """
hello()
for f in frames():
    do = f["args"].get("do")
    if do == "ok": answer(f)
    elif do == "words": say({"op": "reply", "id": f["id"], "error": "no such thing"})
    elif do == "shape": say({"op": "reply", "id": f["id"], "observation": 7})
    elif do == "huge":
        say(b'{"op":"log","text":"')
        while True: say(b"x" * 65536)
    else: say(do.encode("latin-1") + b"\\n")
"""
    rude = plugin("rude", code, actions=["rude"])
    with start(rude) as client:
        is_error(client, "rude", "no such thing", "its own error", do="words")
        is_error(client, "rude", 'no valid answer: "observation" is not an object', "no observation",
                 do="shape")
        eq(info(client, rude)["starts"], 1, "...which are no reason to end it")
    for text, words in (("nonsense", "not a frame: "), ("", "not a frame: "), ("[]", "without an op"),
                        ('{"op":"dance"}', "an unknown op"), ("[" * 1000, "not a frame: "),
                        ('{"op":"log","text":"\xff"}', "not a frame: "), ('{"op":"log"}', "without its text"),
                        ('{"op":"reply","id":99}', "a reply without a call"),
                        ('{"op":"reply"}', "a reply without an id"), ("huge", "a frame of more than 4 MiB")):
        with start(rude) as client:
            is_error(client, "rude", words, f"{text[:30]!r} is the end of it", do=text)
            eq(content(client, "rude", do="ok"), "ok", "...and it works again")
            ok(pss_kib(client.pid) < 40000 * SLOW, "in bounded memory")


def test_answers():
    """Replies to requests: headers, statuses, bodies."""
    code = """
hello()
for f in frames():
    more = json.loads(f["body"])
    say({"op": "reply", "id": f["id"], **more})
"""
    web = plugin("web", code, routes=[{"method": "POST", "path": "/"}, {"method": "PUT", "path": "/*"},
                                     {"method": "PATCH", "path": "/"}])
    with start(web) as client:
        def post(**more):
            return client.post("/plugins/web/", json.dumps(more).encode())
        got = post(status=201, headers={"Content-Type": "a/b", "X-One": "1"}, body64="AP8=")
        eq((got.status, got.field("content-type"), got.field("x-one"), got.body),
           (201, "a/b", "1", b"\0\xff"), "all of it")
        eq((post(status=204).status, post(status=404, body="no").body), (204, b"no"), "other statuses")
        got = client.get("/plugins/web/")
        eq((got.status, got.field("allow")), (405, "POST, PUT, PATCH"), "the methods that there are")
        for more, words in (({"status": 99}, "status"), ({"status": "200"}, "status"), ({}, "status"),
                            ({"status": 200, "body": 1}, '"body" is not a string'),
                            ({"status": 200, "body64": "x"}, "is not Base64"),
                            ({"status": 200, "body": "", "body64": ""}, "both"),
                            ({"status": 204, "body": "x"}, "cannot have a body"),
                            ({"status": 200, "headers": {"a": "b\r\nc: d"}}, "a character that is not allowed"),
                            ({"status": 200, "headers": {"Content-Length": "1"}}, "only the server sets"),
                            ({"status": 200, "headers": []}, '"headers" is not an object'),
                            ({"status": 200, "headers": {f"h{i}": "" for i in range(17)}}, "too many")):
            got = post(**more)
            eq(got.status, 502, f"refused: {str(more)[:40]}")
            has(got.json()["detail"], words, "...with the reason")
        eq(info(client, web)["starts"], 1, "none of which ends it")


def test_silence():
    """Plugins that do not answer, do not read, or do not stop talking."""
    code = """
f = hello()
if sys.argv[1:] == ["deaf"]: time.sleep(1000)
late = {}
for f in frames():
    if f["op"] == "cancel":
        open("cancelled", "a").write("%d\\n" % f["id"])
        if f["id"] == late.get("id"): answer(late)
    elif f["op"] == "ping": say({"op": "pong"})
    elif f["args"].get("do") == "late": late = f
    elif f["args"].get("do") != "wait": answer(f)
"""
    babble = """
hello()
import threading
def shout():
    while True:
        try: os.write(1, b"blah\\n" * 10000)
        except OSError: return
threading.Thread(target=shout, daemon=True).start()
if True:
    for f in frames():
        for i in range(200): say({"op": "log", "text": "line %d" % i})
        answer(f)
"""
    silent = plugin("silent", code, actions=["silent"])
    deaf = plugin("deaf", code, argv=["./run", "deaf"], actions=["deaf"], call_seconds=1)
    loud = plugin("loud", babble, actions=["loud"])
    with start(silent, deaf, loud) as client:
        got = client.act("silent", 0.2, do="wait")["content"]
        eq(got, "The plugin silent did not answer within 0.2 seconds.", "a timeout")
        eq(client.act("silent", 0.1, do="late")["observation"], "error", "one that is late")
        ok(until(lambda: content(client, "silent") == "ok"), "...whose reply is dropped")
        with client.conn() as c:
            c.send(request("POST", "/execute_action",
                           json.dumps({"action": {"action": "silent", "args": {"do": "wait"}}}).encode()))
            ok(until(lambda: info(client, silent)["calls"] == 1), "a call")
            c.reset()
            ok(until(lambda: info(client, silent)["calls"] == 0), "...whose client leaves")
        ok(until(lambda: open(os.path.join(TEMP, silent, "cancelled")).read().count("\n") == 3),
           "each is cancelled")
        conns = [client.conn() for _ in range(8)]
        for c in conns:
            c.send(request("POST", "/execute_action", json.dumps(
                {"action": {"action": "deaf", "args": {"x": "y" * (3 << 20)}}}).encode()))
        answers = [c.response().json()["content"] for c in conns]
        eq(sum("did not answer within 1.0 seconds" in a for a in answers) +
           sum("it does not read its input" in a for a in answers), 8, "one that does not read")
        ok(any("does not read" in a for a in answers), "...gets so much and no more")
        began = time.monotonic()
        eq(client.run("echo here")["content"], "here", "nobody else waits")
        eq(content(client, "loud"), "ok", "one that shouts answers")
        ok(time.monotonic() - began < 5 * SLOW, "...soon")
        ok(until(lambda: "more lines are not shown" in client.log()), "and is not listened to all the time")
        ok(len(client.log()) < 100000, "nor does it fill the log")
        for c in conns:
            c.close()


def test_hang():
    """One that answers nothing more is noticed by its first call, and started anew."""
    code = """
hello()
for f in frames():
    if f["op"] == "ping" and len(sys.argv) > 1: say({"op": "pong"})
    elif f["op"] == "call" and f["args"].get("do") == "sleep": time.sleep(1000)
    elif f["op"] == "call" and f["args"].get("do") != "wait": answer(f)
"""
    stopped = plugin("stopped", code, actions=["stopped"], call_seconds=1)
    slow = plugin("slow", code, argv=["./run", "pongs"], actions=["slow"], call_seconds=1)
    with start(stopped, slow) as client:
        pid = info(client, slow)["pid"]
        has(content(client, "slow", 1, do="wait"), "did not answer within 1.0 seconds", "a call without an answer")
        os.kill(info(client, stopped)["pid"], signal.SIGSTOP)
        has(content(client, "stopped", 1), "did not answer within 1.0 seconds", "one of a plugin that is stopped")
        ok(until(lambda: info(client, stopped)["starts"] == 2 and ready(client, stopped)),
           "that one is started again")
        has(info(client, stopped)["ended"], "it does not respond", "...and the reason is told")
        eq(content(client, "stopped"), "ok", "it answers")
        got = client.act("stopped", 0.2, do="sleep")["content"]
        has(got, "within 0.2 seconds", "a call that hangs")
        has(client.act("stopped", DEADLINE)["content"], "no answer: it does not respond", "and one behind it, which is told why")
        ok(until(lambda: info(client, stopped)["starts"] == 3), "again it is ended")
        got = info(client, slow)
        eq((got["pid"], got["starts"], "ended" in got), (pid, 1, False), "one that lives is left alone")


def stream_of(client, path):
    return Events(client.port, "GET", "/plugins/pieces" + path)


def is_cut(client, path):
    """Whether the reply has no end that a client would take for one."""
    try:
        return not client.get("/plugins/pieces" + path, Connection="close").body.endswith(b"0\r\n\r\n")
    except (Closed, ConnectionError):
        return True


def test_pieces():
    code = """
hello()
counts, left = {}, {}
def piece(id, **more):
    say({"op": "reply", "id": id, **more})
for f in frames():
    id = f.get("id")
    if f["op"] == "cancel":
        left[id] = counts.pop(id)
    elif f["op"] == "more":
        path = counts[id][0]
        n = counts[id][1] = counts[id][1] + 1
        if path == "/big": piece(id, body64="eHh4" * 250000, more=n < 8)
        elif path == "/endless": piece(id, body="y" * 1000000, more=True)
        elif path == "/bad": piece(id, body=1)
        elif path == "/error": piece(id, error="no more")
        elif path == "/die": os._exit(3)
        elif path == "/events" and n < 4: piece(id, body="event: e\\ndata: %d\\n\\n" % n, more=True)
    elif f["op"] == "call" and f.get("path") == "/left": answer(f, json.dumps(left))
    elif f["op"] == "call" and "path" in f:
        counts[id] = [f["path"], 0]
        kind = "text/event-stream" if f["path"] == "/events" else "text/plain"
        piece(id, status=201, headers={"content-type": kind, "x-a": "b"}, body="", more=True)
        if f["path"] == "/hasty":
            for i in range(100): piece(id, body="z" * 1000000, more=True)
    elif f["op"] == "call": answer(f)
"""
    name = plugin("pieces", code, actions=["pieces"], routes=[{"method": "GET", "path": "/*"}])
    with start(name) as client:
        got = client.get("/plugins/pieces/big", Connection="close")
        eq((got.status, got.field("x-a"), got.field("transfer-encoding")), (201, "b", "chunked"), "pieces")
        eq(unchunk(got.body), b"xxx" * 250000 * 8, "make a whole")
        events = stream_of(client, "/events")
        eq([events.event()[1] for _ in range(3)], ["1", "2", "3"], "events come as they are")
        events.sock.close()
        ok(until(lambda: "/events" in json.dumps(client.get("/plugins/pieces/left").json())), "a client that leaves")
        slow = [stream_of(client, "/endless") for _ in range(3)]
        for stream in slow:
            stream.until(b"y" * 1000)
        eq(content(client, "pieces"), "ok", "one that does not read holds up nobody else")
        kib = pss_kib(client.pid)
        slim(kib, 60000, "and costs a piece, KiB")
        for stream in slow:
            stream.sock.close()
        ok(until(lambda: info(client, name)["calls"] == 0), "all have left")
        made = [n for _, n in client.get("/plugins/pieces/left").json().values()]
        ok(max(made) < 30, "before much was made for them", made)
        for path in "/bad", "/error":
            ok(is_cut(client, path), f"{path}: cut")
        eq(content(client, "pieces"), "ok", "it lives")
        eq(info(client, name)["starts"], 1, "still")
        stream = stream_of(client, "/hasty")
        ok(until(lambda: "without a call" in info(client, name).get("ended", "")), "one that does not wait is ended")
        stream.sock.close()
        ok(ready(client, name), "and started again")
        ok(is_cut(client, "/die"), "a death in the middle")
        ok(ready(client, name), "it is back")
        events = stream_of(client, "/events")
        eq(events.event()[1], "1", "events")
        began = time.monotonic()
        eq(client.stop(), 0, "do not hold up the end of the server")
        ok(time.monotonic() - began < 3 * SLOW, "...for long")


def test_user():
    if os.geteuid():
        skip("a plugin as the sandbox user", "only root can change the user")
        return
    code = """
read -r hello <&3
echo '{"op":"ready"}' >&3
while read -r call <&3; do
    cwd=${call#*'"cwd":"'}
    echo "{\\"op\\":\\"reply\\",\\"id\\":1,\\"observation\\":{\\"content\\":\\"$(id -u) ${cwd%%\\"*}\\"}}" >&3
done
"""
    who = plugin("who", code, front="#!/bin/sh\n", actions=["who"])
    os.chmod(TEMP, 0o755)
    nobody = pwd.getpwnam("nobody").pw_uid
    with start(who, "--username", "nobody", user=False,
               env={"SU_TO_USER": None, "RUNTIME_USERNAME": "nobody"}) as client:
        os.chmod(client.top, 0o755)
        client.run("cd /usr")
        eq(content(client, "who"), f"{nobody} /usr", "as the user of the shell, told of its directory")


def cost(folder, paths):
    """What a sandbox has of which nobody has asked for a plugin: files, descriptors, memory."""
    with Client("--plugin-dir", folder) as client:
        told = client.get("/server_info").json().get("plugins", {})
        ok(set(told) <= {"browser"} and "pid" not in str(told), "none is asked for", told)
        for path in paths:
            client.get(path)
        # A job may look for the interpreter that answers to commands name.
        ok(until(lambda: children(client.pid) == [client.shell_pid()]), "...and there is no process of one")
        files = {os.path.relpath(os.path.join(top, name), client.top)
                 for top, folders, names in os.walk(client.top) for name in folders + names}
        return files, len(os.listdir(f"/proc/{client.pid}/fd")), own_kib(client.pid)


def test_idle():
    """Plugins that nobody has asked for cost nothing, though they are there and talked to."""
    theirs = ["/v1/kernels", "/vscode/connection_token", "/mcp/none", "/greeting"]
    empty = os.path.join(TEMP, "empty")
    os.makedirs(empty)
    example("hello-sh")
    with_them, without = ([cost(folder, paths) for _ in range(5)]
                          for folder, paths in ((TEMP, theirs), (empty, ["/none"] * len(theirs))))
    eq(with_them[0][:2], without[0][:2], "no file and no descriptor")
    # How strings lie at their random addresses makes a page of difference.
    kib = [min(c[2] for c in x) for x in (with_them, without)]
    slim(kib[0], kib[1] + 4, "no more KiB")


main()
