#!/usr/bin/env python3
"""Several shells side by side, each with a name: what they share, and how they end."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from harness import (DEADLINE, SLOW, Client, Closed, Gate, action, alive, children, eq, main, note, ok,
                     own_kib, proc, pss_kib, request, skip, under, until)

NOTHING = "ERROR: No previous running command to retrieve logs from."
LIMIT = 256
PART = 1 << 20


def code_of(o):
    return o["extras"]["metadata"]["exit_code"]


def suffix_of(o):
    return o["extras"]["metadata"]["suffix"]


def post(command, timeout=10.0, **args):
    return request("POST", "/execute_action", action("run", timeout, command=command, **args))


def delete(name):
    return request("DELETE", f"/v1/sessions/{name}")


def end(client, name):
    return client.ask(delete(name), 10 * SLOW + DEADLINE)


def sessions(client):
    return {s["name"]: s for s in client.get("/v1/sessions").json()["sessions"]}


def raw(client, name, offset=0):
    return client.get(f"/v1/sessions/{name}/output?offset={offset}")


def number(answer, field):
    return int(answer.field(field))


def parallel(work, count):
    """Runs work(i) for all i in threads of their own; what they returned."""
    out = [None] * count

    def one(i):
        out[i] = work(i)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return out


def begin(client, command, name):
    """A command of a session with a client that waits; the command runs."""
    mark = f"{client.top}/begun-{name}"
    waiting = client.conn()
    waiting.send(post(f"touch {mark}; {command}", 60.0, session=name))
    ok(until(lambda: os.path.exists(mark)), f"{name}: a command runs")
    return waiting


def test_side_by_side():
    with Client() as client:
        gate = Gate(client)
        waiting = begin(client, f"read x <{gate}; echo $x", "a")
        t = time.monotonic()
        eq(client.run("echo b", session="b")["content"], "b", "another session is free")
        eq(client.run("echo d")["content"], "d", "and so is the default one")
        eq(client.run("echo s", is_static=True, session="a")["content"], "s", "and a static run")
        under(time.monotonic() - t, 2 * SLOW, "seconds for the three")
        listed = sessions(client)
        eq(sorted(listed), ["a", "b", "default"], "all of them are listed")
        eq((listed["a"]["state"], listed["b"]["state"]), ("running", "idle"), "with their states")
        ok(listed["a"]["command"].endswith("echo $x"), "and with the command that runs", listed)
        eq(listed["b"]["command"], None, "or without one")
        ok(waiting.idle(), "the command still runs")
        gate.go()
        eq(waiting.response().json()["content"], "go", "and ends when it likes")
        waiting.close()


def test_line():
    """A request waits for those before it in its own session only."""
    with Client() as client:
        gate = Gate(client)
        first = begin(client, f"read x <{gate}; echo $x", "a")
        second = client.conn()
        second.send(post("echo second", session="a"))
        eq(client.run("echo b", session="b")["content"], "b", "nobody else waits")
        ok(first.idle() and second.idle(), "the second of a session waits for the first")
        gate.go()
        eq(first.response().json()["content"], "go", "the first is answered")
        eq(second.response().json()["content"], "second", "then the second")
        first.close()
        second.close()


def test_state_of_each():
    with Client() as client:
        shells = set()
        for name in ("default", "a", "b-2", "x.y_Z", "n" * 40):
            client.run(f"mkdir -p d-{name} && cd d-{name} && V={name}", session=name)
            shells.add(client.run("echo $$", session=name)["content"])
        eq(len(shells), 5, "five shells")
        for name in ("default", "a", "b-2", "x.y_Z", "n" * 40):
            got = client.run("echo $V; pwd", session=name)
            eq(got["content"], f"{name}\n{client.work}/d-{name}", f"{name}: its own state")
            eq(got["extras"]["metadata"]["working_dir"], f"{client.work}/d-{name}", "and directory")
        for none in (None, "", "default"):
            eq(client.run("echo $V", session=none)["content"], "default", f"{none!r} is the default one")
        client.run("exit 3", session="a")
        eq(client.run("echo $V; pwd", session="a")["content"], f"{client.work}/d-a",
           "a shell that ends takes its own state along")
        eq(client.run("echo $V", session="b-2")["content"], "b-2", "and no other's")
        client.run("read x", session="a", timeout=0.2)
        eq(client.run("", session="b-2")["content"], NOTHING, "a poll asks its own session")
        eq(client.run("typed", is_input=True, session="b-2")["content"],
           "ERROR: No previous running command to interact with.", "so does input")
        eq(code_of(client.run("C-c", is_input=True, session="a")), 130, "and so do keys")


def test_files_follow():
    with Client() as client:
        client.run("mkdir one two; cd one")
        client.run("cd two", session="other")
        client.act("write", path="f", content="first")
        client.act("write", path="f", content="second", session="other")
        eq(client.run("cat ../one/f ../two/f")["content"], "first\nsecond", "relative paths: each its own")
        eq(client.act("read", path="f", session="other")["content"], "second\n", "in read, too")
        for kind, args in (("read", {}), ("write", {"content": "x"})):
            got = client.act(kind, path="one/f", session="new", **args)
            ok(got["observation"] == "error" and 'no session "new"' in got["content"],
               f"{kind}: the directory of an unknown session is not guessed", got)
            got = client.act(kind, path=client.work + "/one/f", session="new", **args)
            eq(got["observation"], kind, "an absolute path needs none")
        eq(sorted(sessions(client)), ["default", "other"], "and is not made by that")


def test_bad_names():
    with Client() as client:
        for name in ("a b", "a/b", "n" * 41, "static", ".", "..", "é", "a\n", "a\0", 1, True, ["a"], {"a": 1}):
            for kind, args in (("run", {"command": "echo x"}), ("read", {"path": "x"}),
                               ("write", {"path": "x", "content": ""})):
                got = client.act(kind, session=name, **args)
                ok(got["observation"] == "error" and '"session"' in got["content"],
                   f"{kind}: {name!r} is no name", got)
        got = client.run("echo x", session="a b", hidden=True)
        eq((got["observation"], got["extras"]["hidden"]), ("run", True), "hidden: a run observation")
        for path in ("a%20b", "static", "..", "n" * 41, "%00", "a/b", "a/outputs"):
            ok(client.ask(delete(path)).status in (400, 404), f"DELETE {path}")
        for path in ("a/b/output", "static/output", "/output"):
            eq(client.get(f"/v1/sessions/{path}").status, 404, f"GET {path}")
        for name in ("a", "default.", "Default"):
            for answer in (end(client, name), raw(client, name)):
                eq((answer.status, answer.json()), (404, {"detail": "No session has this name. GET /v1/sessions lists the sessions."}),
                   f"an unknown session: {name}")
        eq(sorted(sessions(client)), ["default"], "nothing was made")


def test_routes():
    with Client(env={"SESSION_API_KEY": "secret"}) as client:
        def ask(method, path, **fields):
            return client.ask(request(method, path, **fields))
        key = {"X-Session-API-Key": "secret"}
        for method, path in (("GET", "/v1/sessions"), ("DELETE", "/v1/sessions/default"),
                             ("GET", "/v1/sessions/default/output"), ("GET", "/v1/sessions/none/output")):
            eq(ask(method, path).status, 403, f"{method} {path} needs the key")
            eq(ask(method, path, **{"X-Session-API-Key": "Secret"}).status, 403, "and the right one")
        for method, path, allow in (("POST", "/v1/sessions", "GET"), ("GET", "/v1/sessions/a", "DELETE"),
                                    ("PUT", "/v1/sessions/a", "DELETE"),
                                    ("DELETE", "/v1/sessions/a/output", "GET")):
            answer = ask(method, path, **key)
            eq((answer.status, answer.field("allow")), (405, allow), f"{method} {path}")
        answer = ask("GET", "/v1/sessions/", **key)
        eq((answer.status, answer.field("location")), (307, "/v1/sessions"), "a slash too many")
        answer = ask("GET", "/v1/sessions", **key)
        eq((answer.status, answer.field("content-type")), (200, "application/json"), "the list")
        row = answer.json()["sessions"][0]
        eq((list(row), row["name"], row["state"], row["cwd"], row["command"]),
           (["name", "state", "seconds", "pid", "cwd", "tty", "command"], "default", "idle", client.work, None),
           "what it says of a session")
        ok(alive(row["pid"]), "its shell is that process")
        for offset in ("x", "-1", "1.5", "", "99999999999999999999", "1&offset=2"):
            answer = ask("GET", f"/v1/sessions/default/output?offset={offset}", **key)
            ok(answer.status == 422 and answer.json()["detail"] == "Invalid request parameters",
               f"offset={offset!r} is refused", answer)
        answer = ask("GET", "/v1/sessions/default/output?offset=1000000", **key)
        eq((answer.status, answer.json()), (416, {"detail": "The offset is beyond the end of the output."}),
           "an offset beyond the end")


def test_many():
    """200 sessions, 20 commands each, all at once: every answer is its own."""
    count, commands = 200, 20
    with Client(role="init") as client:
        def talk(i):
            wrong = []
            with client.conn() as c:
                for n in range(commands):
                    name = f"s{i}"
                    try:
                        got = client.run(f"N=$((N + 1)); echo {name} $N; (exit {n})", conn=c, timeout=60.0,
                                         session=name)
                    except (Closed, OSError, RuntimeError, TimeoutError) as e:
                        return [*wrong, repr(e)]
                    if (got["content"], code_of(got)) != (f"{name} {n + 1}", n):
                        wrong.append((name, n, got))
            return wrong
        t = time.monotonic()
        wrong = sum(parallel(talk, count), [])
        note(f"{count * commands / (time.monotonic() - t):.0f} commands per second")
        eq(wrong[:3], [], f"{len(wrong)} wrong answers of {count * commands}")
        eq(len(sessions(client)), count + 1, "so many sessions")
        pids = {s["pid"] for s in sessions(client).values()}
        eq(len(pids), count + 1, "each with a shell of its own")
        eq({o.status for o in parallel(lambda i: one_end(client, f"s{i}"), count)}, {200}, "all are ended")
        eq(sorted(sessions(client)), ["default"], "and gone")
        eq([p for p in pids if alive(p)], [sessions(client)["default"]["pid"]], "with their shells")


def one_end(client, name):
    with client.conn() as c:
        return c.send(delete(name)).response(60 * SLOW)


def test_crash():
    """kill -9 in the middle of 20 commands."""
    count = 20
    with Client(role="init") as client:
        gates = [Gate(client) for _ in range(count)]
        for i in range(count):
            client.run(f"V={i}", session=f"s{i}")
            got = client.run(f"echo a{i}; read x <{gates[i]}; echo b{i}; (exit {i})", session=f"s{i}",
                             timeout=0.05)
            if code_of(got) != -1:
                ok(False, f"s{i} runs", got)
        before = sessions(client)
        for _ in range(3):
            murder(client)
        after = sessions(client)
        eq({n: s["pid"] for n, s in after.items()}, {n: s["pid"] for n, s in before.items()},
           "the same sessions with the same shells")
        ok(all(after[f"s{i}"]["state"] == "running" and f"echo b{i};" in after[f"s{i}"]["command"]
               for i in range(count)), "and the same commands", after)
        for g in gates:
            g.go()
        got = parallel(lambda i: one_poll(client, f"s{i}"), count)
        eq([(o["content"], code_of(o)) for o in got], [(f"a{i}\nb{i}", i) for i in range(count)],
           "every session has its own output and exit code")
        got = parallel(lambda i: one_poll(client, f"s{i}", "echo $V"), count)
        eq([o["content"] for o in got], [str(i) for i in range(count)], "and its own variables")
        # a shell that ends is told to the right one
        os.kill(after["s7"]["pid"], signal.SIGKILL)
        ok(until(lambda: sessions(client)["s7"]["pid"] is None), "the end of an adopted shell is noticed")
        eq(client.run("echo new", session="s7")["content"], "new", "and it is replaced")
        eq(end(client, "s8").status, 200, "an adopted session can be ended")
        murder(client)
        eq(len(sessions(client)), count, "what was ended does not come again")


def murder(client):
    """kill -9 of the server; the next one answers."""
    os.kill(client.serve_pid(), signal.SIGKILL)
    if client.shared:
        client.shared.close()
        client.shared = None
    ok(until(lambda: back(client), step=0.001), "the server is killed and comes again", client.log())


def back(client):
    try:
        with client.conn() as c:
            return c.send(request("GET", "/alive")).response().status == 200
    except (Closed, OSError):
        return False


def one_poll(client, name, command=""):
    with client.conn() as c:
        return client.run(command, conn=c, session=name, timeout=30.0)


def test_seconds():
    """For how long a session is in its state, over a crash of the server, too."""
    with Client(role="init") as client:
        gate = Gate(client)
        began = time.monotonic()
        client.run(f"read x <{gate}", session="long", timeout=0.05)
        ok(until(lambda: sessions(client)["long"]["seconds"] >= 2), "the time of a running command goes on")
        ok(time.monotonic() - began >= 2, "and not faster than the clock")
        ok(sessions(client)["default"]["seconds"] >= 2, "so does that of an idle session")
        murder(client)
        ok(sessions(client)["long"]["seconds"] >= 2, "a crash of the server does not begin it anew")
        gate.go()
        one_poll(client, "long")
        ok(sessions(client)["long"]["seconds"] <= time.monotonic() - began - 2, "the end of the command does")


def test_end_running():
    with Client() as client:
        waiting = begin(client, "cd /etc; V=1; sleep 1000; echo on", "a")
        other = client.conn()
        other.send(post("echo never", session="a"))
        eq(client.run("echo b", session="b")["content"], "b", "another session")
        shell = sessions(client)["a"]["pid"]
        family = children(shell)
        answer = end(client, "a")
        ok(answer.status == 200 and answer.json()["name"] == "a" and answer.json()["left"] == []
           and answer.json()["killed"] >= 2, "it is ended with its command", answer)
        eq([p for p in [shell, *family] if alive(p)], [], "none of its processes is left")
        got = waiting.response().json()
        ok(code_of(got) not in (-1, 0) and "The session was ended on request." in suffix_of(got)
           and "on" not in got["content"].split(), "who waited for the command is told", got)
        got = other.response().json()
        ok(got["observation"] == "error" and "not run" in got["content"], "who waited in line, too", got)
        eq(sorted(sessions(client)), ["b", "default"], "the session is gone")
        eq(end(client, "a").status, 404, "and cannot be ended again")
        got = client.run("echo $V; pwd", session="a")
        eq(got["content"], client.work, "the name stands for a new one then")
        eq(client.run("echo b", session="b")["content"], "b", "the other one lives")
        waiting.close()
        other.close()


# It becomes root in earnest, as sudo does, so that no other user may end it.
ROOT = """#include <signal.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (argc > 2)
		signal(SIGHUP, SIG_IGN);
	if (setuid(0) < 0)
		return 1;
	write(1, "up\\n", 3);
	return pause();
}
"""


def test_few_descriptors():
    """Sessions end where descriptors do, and a request can still be answered."""
    with Client(role="init", prefix=["prlimit", "--nofile=100:100"]) as client:
        got = [client.run("echo hi", session=f"s{i}") for i in range(60)]
        good = [o for o in got if o["content"] == "hi" and o["observation"] == "run"]
        bad = [o for o in got if o not in good]
        ok(len(good) > 20 and bad, f"{len(good)} sessions with 100 descriptors")
        eq([o for o in bad if o["observation"] != "error"
            or "Too many open files" not in o["content"]
            and "No file descriptors available" not in o["content"]], [], "the others are told why")
        eq(client.run("echo on", session="s0")["content"], "on", "those that are there go on")
        eq(client.get("/alive").status, 200, "the server is well")
        for i in range(10):
            end(client, f"s{i}")
        eq(client.run("echo on", session="new")["content"], "on", "when some have ended, there is room")


def test_end_what_is_not_ours():
    if os.getuid() != 0:
        return skip("a process that may not be ended", "needs root")
    folder = tempfile.mkdtemp(prefix="od-e2e-")
    program = folder + "/stays"
    with open(program + ".c", "w") as f:
        f.write(ROOT)
    subprocess.run(["cc", "-o", program, program + ".c"], check=True)
    os.chmod(program, 0o4755)
    os.chmod(folder, 0o755)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with Client(prefix=nobody, user=False) as client:
        got = client.run(program, session="b", timeout=1.0)
        eq(end(client, "b").json()["left"], [], "a hang-up ends who may not be killed")
        got = client.run(f"{program} ignores hang-ups", session="a", timeout=1.0)
        eq(got["content"], "up", "a process of root's runs")
        shell = sessions(client)["a"]["pid"]
        pid = children(shell)[0]
        answer = end(client, "a").json()
        eq(answer["left"], [{"pid": pid, "name": "stays", "why": "Operation not permitted"}],
           "who could not be ended is named")
        ok(alive(pid), "and lives")
        eq(sorted(sessions(client)), ["default"], "the session is gone")
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder)


def test_end_idle():
    with Client() as client:
        client.run("sleep 1000 & setsid sleep 1000 & true", session="a")
        shell = sessions(client)["a"]["pid"]
        # setsid forks, and is one more until it has ended
        ok(until(lambda: [proc(p, "comm") for p in children(shell)] == [b"sleep\n"] * 2), "two processes run")
        eq(end(client, "a").json(), {"name": "a", "killed": 3, "left": []}, "with all that it began")
        eq(sorted(sessions(client)), ["default"], "it is gone")
        client.run("(exit 4)", session="a", timeout=0.0)
        client.run("read x", session="a", timeout=0.1)
        eq(end(client, "a").status, 200, "a command for which nobody waits")
        eq(client.run("", session="a")["content"], NOTHING, "has no result afterwards")
        client.run("exit", session="a")
        answer = end(client, "a")
        eq((answer.status, answer.json()["left"]), (200, []), "a session whose shell has ended")
        eq(sorted(sessions(client)), ["default"], "it is gone as well")


def test_end_default():
    with Client() as client:
        client.run("cd /etc; V=1")
        shell = client.shell_pid()
        answer = end(client, "default")
        eq((answer.status, answer.json()["killed"]), (200, 1), "the default session")
        eq(sessions(client)["default"]["pid"], None, "has no shell then")
        ok(not alive(shell), "its process is gone")
        eq(client.run("")["content"], NOTHING, "nothing runs")
        got = client.run("echo $V; pwd")
        eq((got["content"].splitlines()[0], got["content"].splitlines()[-1]), ("/etc", "/etc"),
           "the next command has a fresh shell in the last directory")
        client.run("sleep 1000", timeout=0.1)
        eq(end(client, "default").status, 200, "in the middle of a command that nobody waits for")
        got = client.run("", timeout=5)
        ok(code_of(got) > 0 and "The session was ended on request." in suffix_of(got),
           "its end can be asked for", got)
        eq(client.run("pwd")["content"].splitlines()[-1], "/etc", "and the next one begins anew")


def test_end_meanwhile():
    """While a session is being ended: whoever comes gets a fresh shell, once."""
    with Client() as client:
        # it does not listen to the polite ways, so that the end takes a moment
        waiting = begin(client, "trap '' INT TERM HUP; (while :; do sleep 1; done)", "a")
        old = sessions(client)["a"]["pid"]
        one, two, three = client.conn(), client.conn(), client.conn()
        one.send(delete("a"))
        ok(until(lambda: sessions(client).get("a", {}).get("state") == "ending", step=0.001),
           "it is said to be ending")
        answer = end(client, "a")
        eq((answer.status, answer.json()), (409, {"detail": "This session is already being ended."}),
           "a second one to end it")
        two.send(post("echo $$", session="a"))
        eq(one.response(10 * SLOW + DEADLINE).status, 200, "it is ended")
        got = two.response().json()
        ok(got["content"].isdigit() and int(got["content"]) != old, "the command ran in a new shell", got)
        ok("a" in sessions(client), "which stays")
        waiting.response()
        waiting.close()
        # who asks for the end and leaves
        waiting = begin(client, "trap '' INT TERM HUP; while :; do sleep 1; done", "b")
        three.send(delete("b"))
        until(lambda: sessions(client).get("b", {}).get("state") == "ending", step=0.001)
        three.reset()
        ok(until(lambda: "b" not in sessions(client)), "the end goes on without the one who asked")
        eq(client.get("/alive").status, 200, "and the server")
        # who waits for the command, and leaves in the midst of the end
        waiting.close()
        waiting = begin(client, "trap '' INT TERM HUP; while :; do sleep 1; done", "c")
        one.send(delete("c"))
        until(lambda: sessions(client).get("c", {}).get("state") == "ending", step=0.001)
        waiting.reset()
        eq(one.response(10 * SLOW + DEADLINE).status, 200, "or without the one who waited")
        for c in (one, two):
            c.close()


CAREFUL = r"""
import signal, time
def end(*_):
    time.sleep(0.05)
    open("saved", "w").write("all")
    raise SystemExit
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, end)
open("on", "w").close()
while True:
    signal.pause()
"""


def end_sandbox(client):
    client.process.terminate()
    until(lambda: "stopping" in client.log())
    client.process.terminate()  # nobody is waited for
    client.process.wait(DEADLINE)


# Who ends a session, and who ends the sandbox.
ENDS = (("its session", lambda client: end(client, "a")), ("the sandbox", end_sandbox))


def test_end_of_a_list():
    """What stands behind the command that is ended is not executed, though the shell ends later."""
    words = "(trap '' INT; touch on; exec sleep 1000); for i in 1 2 3 4 5 6 7 8 9; do touch after; sleep 0.05; done"
    for command in (words, f'bash --norc -i -c "{words}"'):
        for name, how in ENDS:
            with Client() as client:
                waiting = begin(client, command, "a")
                ok(until(lambda: os.path.exists(client.work + "/on")), "it runs")
                how(client)
                ok(not os.path.exists(client.work + "/after"), f"nothing behind it does at the end of {name}")
                waiting.close()


def saves(program, what):
    """A program that says "on" and saves something when it is asked to end, at either end."""
    for name, how in ENDS:
        with Client() as client:
            with open(client.work + "/program.py", "w") as f:
                f.write(program)
            waiting = begin(client, f"{sys.executable} program.py", "a")
            ok(until(lambda: os.path.exists(client.work + "/on")), "it runs")
            how(client)
            ok(os.path.exists(client.work + "/saved"), f"{what} at the end of {name}")
            waiting.close()


def test_end_of_the_careful():
    """A program that has something to do before it ends, which SIGHUP would not let it."""
    saves(CAREFUL, "it is not hurried")


HELPER = r"""
import os, signal, time
def end(*_):
    os.close(w)
    os.waitpid(helper, 0)
    os._exit(0)
r, w = os.pipe()
helper = os.fork()
signal.signal(signal.SIGINT, signal.SIG_IGN)
if helper:
    os.close(r)
    signal.signal(signal.SIGTERM, end)
    open("on", "w").close()
    while True:
        signal.pause()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.close(w)
os.read(r, 1)
time.sleep(0.05)
open("saved", "w").close()
"""


def test_end_with_a_helper():
    """Who ignores SIGTERM is no shell for that: another one that heeds it may need him."""
    saves(HELPER, "the helper does its work")


def test_end_starting():
    """A session that never came to its prompt."""
    with Client() as client:
        with open(client.home + "/.bashrc", "w") as f:
            f.write(f"touch {client.top}/started; while :; do read -t 100 x; done\n")
        waiting = client.conn()
        waiting.send(post("echo hi", session="a"))
        ok(until(lambda: os.path.exists(client.top + "/started")), "its start-up file hangs")
        eq(sessions(client)["a"]["state"], "starting", "it is starting")
        eq(end(client, "a").status, 200, "it is ended")
        got = waiting.response().json()
        ok("hi" not in got["content"].split(), "the command is answered, and was not run", got)
        waiting.close()
        ok(until(lambda: "a" not in sessions(client)), "the session is gone", sessions(client))


def test_limit():
    with Client(role="init") as client:
        for i in range(1, LIMIT):
            client.run(f"V={i}", session=f"s{i}")
        eq(len(sessions(client)), LIMIT, f"{LIMIT} sessions")
        got = client.run("echo x", session="more")
        ok(got["observation"] == "error" and str(LIMIT) in got["content"]
           and "DELETE /v1/sessions/" in got["content"], "not one more, and the way out", got)
        eq(client.run("echo $V", session="s7")["content"], "7", "those that exist go on")
        eq(client.run("echo x", is_static=True)["content"], "x", "static runs do not count")
        end(client, "s7")
        eq(client.run("echo x", session="more")["content"], "x", "one is ended, another may begin")
        murder(client)
        eq(len(sessions(client)), LIMIT, "with all of them")
        client.run("", session="s9")
        eq(client.run("echo $V", session="s9")["content"], "9", "as they were")


def collect(client, name, offset, want, chunks=None):
    """Reads on from offset until `want` bytes are there; (bytes, next offset)."""
    data = b""

    def more():
        nonlocal data, offset
        answer = raw(client, name, offset)
        data += answer.body
        offset = number(answer, "x-next-offset")
        if chunks is not None:
            chunks.append(answer)
        return len(data) >= want
    until(more, step=0.001)
    return data, offset


def test_output():
    with Client() as client:
        one, two = Gate(client), Gate(client)
        waiting = begin(client, f"printf 'a\\033[31mb\\r\\tc\\n'; read x <{one}; printf 'é\\377'; "
                        f"read x <{two}; printf '\\033]0;title\\007'; (exit 3)", "a")
        data, at = collect(client, "a", 0, 12)
        eq(data, b"a\x1b[31mb\r\tc\r\n", "the bytes as they were written, while the command runs")
        first = raw(client, "a").field("x-command")
        answer = raw(client, "a", at)
        eq((answer.status, answer.body, number(answer, "x-offset"), number(answer, "x-next-offset"),
            answer.field("x-gap"), answer.field("content-type")),
           (200, b"", at, at, None, "application/octet-stream"), "nothing is new")
        eq(raw(client, "a", at + 1).status, 416, "nor is there anything behind")
        one.go()
        data, at = collect(client, "a", at, 3)
        eq(data, b"\xc3\xa9\xff", "what comes is read on from there")
        two.go()
        eq(waiting.response().json()["content"], "ab      c\né\ufffd", "the answer is what one sees")
        data, at = collect(client, "a", at, 9)
        eq(data, b"\x1b]0;title\x07", "the last bytes are there after the end")
        whole = raw(client, "a")
        eq(whole.body, b"a\x1b[31mb\r\tc\r\n\xc3\xa9\xff\x1b]0;title\x07", "and all of them")
        eq((whole.field("x-command"), number(whole, "x-next-offset")), (first, at), "of the same command")
        # no offset shows a part of what only the shell and we have to know
        shown = {raw(client, "a", i).body for i in range(at + 1)}
        eq([s for s in shown if not whole.body.endswith(s)], [], "each offset shows the rest of it, no more")
        client.run("echo next", session="a")
        answer = raw(client, "a")
        ok(answer.body == b"next\r\n" and answer.field("x-command") != first,
           "a new command begins at offset 0 and is known by its id", answer)
        eq(raw(client, "default").body, b"", "another session has its own")
        waiting.close()


def test_output_with_a_gap():
    """20 MB of lines: the first MiB and the last 15 are there, and it is said what is not."""
    lines, width = 200000, 100
    with Client() as client:
        command = f"seq -f '%0{width - 1}.0f' 1 {lines}"
        got = client.run(command, session="a", timeout=60.0)
        eq(code_of(got), 0, "much output")
        want = b"".join(b"%0*d\r\n" % (width - 1, i) for i in range(1, lines + 1))
        answers = []
        data, at = b"", 0
        while True:
            answer = raw(client, "a", at)
            if answer.field("x-gap"):
                answers.append((answer.field("x-gap"), number(answer, "x-offset"), len(data)))
            if len(answer.body) > PART:
                ok(False, "a part is not too large", len(answer.body))
            if not answer.body:
                break
            data += answer.body
            at = number(answer, "x-next-offset")
        eq(len(answers), 1, "one gap")
        gap, begins, head = answers[0]
        from_, to = map(int, gap.split("-"))
        eq(to, begins, "it ends where the answer begins")
        ok((1 << 20) - 4096 <= from_ <= 1 << 20, "the first MiB is there", gap)
        ok(14 << 20 <= at - to <= 15 << 20, "and 15 MiB at the end", at - to)
        ok(want.startswith(data[:head]), "the first bytes are right")
        ok(want.endswith(data[head:]), "the last bytes are right")
        eq(len(want) - len(data), to - from_, "no byte is missing but those of the gap")
        answer = raw(client, "a", from_ + 1)
        eq(answer.field("x-gap"), f"{from_ + 1}-{to}", "an offset inside of it")


def all_fds(client):
    return [len(os.listdir(f"/proc/{pid}/fd")) for pid in (client.pid, client.serve_pid())]


def used_kib(client):
    """What init and serve use, with what lies in their files in memory and is not mapped."""
    serve = client.serve_pid()
    spools = 0
    for fd in os.listdir(f"/proc/{serve}/fd"):
        path = f"/proc/{serve}/fd/{fd}"
        if os.readlink(path).startswith("/memfd:"):
            spools += os.stat(path).st_blocks // 2
    return own_kib(client.pid) + own_kib(serve) + spools - pss_kib(serve, "Pss_Shmem")


def test_memory():
    """255 idle sessions cost little, and nothing when they are ended."""
    count = LIMIT - 1
    if SLOW != 1:
        skip("memory of a session", "a client in a wrapper, or with sanitizers, has other figures")
        return
    with Client(role="init") as client:
        def fill():
            for i in range(count):
                client.run(f"echo {i}", session=f"s{i}")

        def empty():
            for i in range(count):
                end(client, f"s{i}")
        eq(client.get("/alive").status, 200, "the connection is there")
        start, start_fds = used_kib(client), all_fds(client)
        fill()
        each = (used_kib(client) - start) / count
        under(each, 48, "KiB of our own for each idle session")
        empty()
        once = used_kib(client)
        note(f"{once - start} KiB stay after the first time")
        for _ in range(2):
            fill()
            empty()
        under(used_kib(client) - once, 64, "KiB more than after the first time")
        ok(until(lambda: all_fds(client) == start_fds), "as many descriptors as before, once init is told",
           all_fds(client), start_fds)
        eq(len(children(client.serve_pid())), 1, "one shell is left")


if __name__ == "__main__":
    main()
