#!/usr/bin/env python3
"""/v1/processes: programs are executed exactly, and their bytes come back exactly."""
import concurrent.futures
import hashlib
import http.client
import json
import os
import signal

from harness import SLOW, Client, Gate, alive, descendants, eq, has, main, marked, ok, proc, request, skip, until
from processes import Processes
from test_crash import murder


def numbers(last):
    """What `seq 1 LAST` prints."""
    return "".join(f"{i}\n" for i in range(1, last + 1)).encode()


def sandbox(*options, **more):
    return Client(*options, role="init", **more)


def test_exact_bytes():
    with sandbox() as client:
        ps = Processes(client)
        p, out, err = ps.run("sh", "-c", "echo out; echo err >&2; exit 3")
        eq((p["state"], p["exit_code"], p["signal"]), ("exited", 3, None), "the exit code is reported")
        eq((out, err), (b"out\n", b"err\n"), "stdout and stderr are apart")
        eq(p["outputs"]["stdout"], {"start": 0, "end": 4, "open": False}, "the output has an end")
        eq(ps.run("printf", "a\\0b\\377")[1], b"a\0b\xff", "octets are not decoded")
        words = ["", " ", "a b", "'\"$x`\\", "*", "\n", "ä€\U0001f600", "-n", "--", "x" * 100000]
        p, out, _ = ps.run("printf", "%s\\0", *words)
        eq(out, "".join(w + "\0" for w in words).encode(), "arguments arrive as they were sent")
        eq(p["argv"], ["printf", "%s\\0", *words], "and are shown as they were sent")
        eq(ps.run("seq", "1", "3000000", output_limit=64 << 20)[1] == numbers(3000000), True,
           "23 MB of output arrive to the byte")
        many = [str(i) for i in range(30000)]
        p = ps.start("echo", *many)
        shown = sum(len(word) + 1 for word in p["argv"])
        ok(p["argv_truncated"] and 131000 < shown <= 131072, "128 KiB of the arguments are shown", shown)
        eq(ps.follow(p), (" ".join(many) + "\n").encode(), "all of 30,000 arguments are passed")


def test_environment():
    with sandbox() as client:
        ps = Processes(client)
        base = dict(line.split("=", 1) for line in ps.run("env", "-0")[1].decode().split("\0") if line)
        ok("PATH" in base and "HOME" in base, "a process has the environment of the shells", base)
        got = ps.run("env", "-0", env={"A": "1 2", "B": "ä\n=", "HOME": "/h", "TERM": None})[1].decode()
        got = dict(line.split("=", 1) for line in got.split("\0") if line)
        eq((got["A"], got["B"], got["HOME"]), ("1 2", "ä\n=", "/h"), "variables are added and replaced")
        ok("TERM" not in got, "null removes a variable")
        tool = os.path.join(client.top, "bin")
        os.mkdir(tool)
        with open(tool + "/tool", "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho mine $0\n")
        os.chmod(tool + "/tool", 0o755)
        os.chmod(client.top, 0o755)
        eq(ps.run("tool", env={"PATH": tool})[1], f"mine {tool}/tool\n".encode(),
           "the program is searched on the PATH of the process")
        eq(ps.run("./tool", cwd=tool)[1], b"mine ./tool\n", "a name with a slash is a path")
        eq(ps.run("tool", cwd=tool, env={"PATH": "/nowhere:"})[1], b"mine ./tool\n",
           "an empty entry of PATH is the working directory")
        eq(ps.run("pwd", cwd="/etc")[1], b"/etc\n", "the working directory is the given one")
        eq(ps.run("pwd")[1], f"{client.work}\n".encode(), "or that of the sandbox")


def test_failures():
    with sandbox() as client:
        ps = Processes(client)
        plain = os.path.join(client.top, "plain")
        with open(plain, "w", encoding="utf-8") as f:
            f.write("no program\n")
        for argv, spec, reason in [
                (["no-such-program"], {}, "not_found"),
                (["/no/such/program"], {}, "not_found"),
                ([""], {}, "not_found"),
                ([plain], {}, "not_executable"),
                (["/etc"], {}, "not_executable"),
                (["ls"], {"cwd": "/no/such"}, "no_directory"),
                (["ls"], {"cwd": "/etc/passwd"}, "no_directory"),
                (["ls"], {"user": "no-such-user"}, "no_user"),
                (["ls"], {"user": "0:no-such-group"}, "no_user"),
                (["ls"], {"user": "4294967295"}, "no_user")]:
            status, body = ps.refusal(*argv, **spec)
            eq((status, body.get("reason")), (422, reason), f"{argv} {spec}: {reason}")
        os.chmod(plain, 0o755)
        status, body = ps.refusal(plain)
        eq((status, body["reason"]), (422, "not_executable"), "a text that is no program is not executed by a shell")
        has(ps.refusal("no-such-program")[1]["detail"], "no-such-program", "the detail names the program")
        eq(ps.list(), [], "a process that did not start is in no list")
        for spec in [{}, {"argv": []}, {"argv": "ls"}, {"argv": [1]}, {"argv": ["a\0b"]},
                     {"argv": ["ls"], "env": []}, {"argv": ["ls"], "env": {"": "x"}},
                     {"argv": ["ls"], "env": {"A=B": "x"}}, {"argv": ["ls"], "env": {"A": "x\0"}},
                     {"argv": ["ls"], "env": {"A": 1}}, {"argv": ["ls"], "cwd": "etc"},
                     {"argv": ["ls"], "cwd": "/\0"}, {"argv": ["ls"], "user": "a\0"},
                     {"argv": ["ls"], "pty": True}, {"argv": ["ls"], "pty": {"rows": 0, "columns": 1}},
                     {"argv": ["ls"], "timeout": -1}, {"argv": ["ls"], "timeout": "x"},
                     {"argv": ["ls"], "timeout": 1e300}, {"argv": ["ls"], "tag": "x" * 65},
                     {"argv": ["ls"], "output_limit": 1}, {"argv": ["ls"], "when_full": "x"},
                     {"argv": ["ls"], "on_disconnect": "x"}, {"argv": ["ls"], "on_exit": "x"},
                     {"argv": ["ls"], "output": "log", "pty": {"rows": 9, "columns": 9}}]:
            answer = ps.ask("POST", "", json.dumps(spec).encode())
            eq(answer.status, 422, f"422 for {str(spec)[:60]}")
        eq(ps.ask("POST", "", b'{"argv":["\xff"]}').status, 400, "400 for what is not UTF-8")
        eq(ps.ask("GET", "/p999999").status, 404, "404 for an unknown id")
        too_long = ps.refusal("echo", "x" * (3 << 20))
        eq((too_long[0], too_long[1]["reason"]), (422, "failed"), "more than the kernel takes is told")
        has(too_long[1]["detail"], "rgument list too long", "in the kernel's words")


def test_users():
    if os.geteuid() != 0:
        skip("users", "needs root")
        return
    with sandbox() as client:
        ps = Processes(client)
        ident = "id -u; id -g; id -G; echo $HOME $USER"
        os.chmod(client.top, 0o755)
        for user, want in [("nobody", "65534\n65534\n65534\n/nonexistent nobody\n"),
                           ("65534", "65534\n65534\n65534\n/nonexistent nobody\n"),
                           ("nobody:daemon", "65534\n1\n1\n/nonexistent nobody\n"),
                           ("1:2", "1\n2\n2\n/usr/sbin daemon\n"),
                           ("54321", "54321\n0\n0\n/\n"),
                           ("54321:54322", "54321\n54322\n54322\n/\n"),
                           ("root", "0\n0\n0\n/root root\n")]:
            p, out, err = ps.run("sh", "-c", ident, user=user, cwd="/")
            eq(out.decode(), want, f"user {user}")
            eq(p["user"], user, f"user {user} is shown as it was given")
        eq(ps.run("sh", "-c", "echo $HOME", user="nobody", env={"HOME": "/mine"})[1], b"/mine\n",
           "a HOME of the request stays")
        secret = os.path.join(client.top, "secret")
        os.mkdir(secret, 0o700)
        eq(ps.refusal("ls", user="nobody", cwd=secret)[1]["reason"], "no_directory",
           "the directory is entered with the rights of the user")
        pty = ps.start("sh", "-c", "echo x >/dev/tty && id -u", user="nobody", pty={"rows": 24, "columns": 80})
        eq(ps.follow(pty, "pty"), b"x\r\n65534\r\n", "the terminal belongs to the user")


def test_user_without_root():
    """A server that is not root can only be itself."""
    if os.geteuid() != 0:
        skip("user of a server that is not root", "needs root to become one")
        return
    with sandbox(prefix=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"], user=False,
                 argv=None) as client:
        ps = Processes(client)
        eq(ps.run("id", "-u", cwd="/")[1], b"65534\n", "a process has the user of the server")
        eq(ps.run("id", "-u", cwd="/", user="nobody")[1], b"65534\n", "which may be named")
        eq(ps.refusal("id", user="root", cwd="/")[1]["reason"], "no_rights", "no other one can be had")
        eq(ps.run("id", "-g", cwd="/", user="65534:65534")[1], b"65534\n", "its group may be named")
        eq(ps.refusal("id", user="65534:0", cwd="/")[1].get("reason"), "no_rights", "another group is not ignored")


def test_user_without_key():
    """Any process of the sandbox may be the peer of a server without a key."""
    if os.geteuid() != 0:
        skip("a server that is root", "needs root")
        return
    as_nobody = {"user": False, "env": {"SU_TO_USER": None}}
    with sandbox("--username", "nobody", **as_nobody) as client:
        ps = Processes(client)
        eq(ps.run("id", "-u", cwd="/")[1], b"65534\n", "a process has the user of the sandbox")
        eq(ps.run("id", "-u", cwd="/", user="nobody")[1], b"65534\n", "which may be named")
        for user in "root", "0", "nobody:root", "65534:0", "daemon":
            eq(ps.refusal("id", user=user, cwd="/")[1].get("reason"), "no_rights", f"without a key nobody becomes {user}")
        eq(ps.list()[2:], [], "no process was started for them")
    with sandbox("--username", "nobody", "--key-sha256", hashlib.sha256(b"k").hexdigest(), **as_nobody) as client:
        body = json.dumps({"argv": ["true"], "user": "root"}).encode()
        with client.conn() as c:
            answer = c.send(request("POST", "/v1/processes", body, X_Session_API_Key="k")).response()
        eq(answer.status, 201, "a peer with the key may choose root")


def test_stdin():
    with sandbox() as client:
        ps = Processes(client)
        eq(ps.run("cat")[1], b"", "without stdin a process reads an end")
        data = os.urandom(64 << 20)
        p = ps.start("cat", stdin=True, when_full="wait")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            out = pool.submit(ps.follow, p)
            answer = ps.put(p, data, close=True)
            eq(answer.json(), {"offset": len(data)}, "64 MiB of stdin are taken")
            eq(hashlib.sha256(out.result()).digest() == hashlib.sha256(data).digest(), True,
               "64 MiB come out as they went in")
        eq(ps.wait(p)["exit_code"], 0, "the end of stdin arrives")
        p = ps.start("cat", stdin=True)
        eq(ps.put(p, b"one").json(), {"offset": 3}, "a piece")
        eq(ps.put(p, b"onetwo", offset=0).json(), {"offset": 6}, "bytes that were taken before are skipped")
        eq(ps.put(p, b"tw", offset=3).json(), {"offset": 6}, "all of them, too")
        answer = ps.put(p, b"x", offset=7)
        eq((answer.status, answer.json()["offset"]), (409, 6), "a hole is refused with the offset")
        eq(ps.put(p, b"", close=True).json(), {"offset": 6}, "an empty body closes")
        eq(ps.follow(p), b"onetwo", "each byte arrived once")
        eq(ps.put(p, b"late").status, 409, "stdin is closed")
        p = ps.start("sh", "-c", "exec <&-; read x </dev/null; echo closed; sleep 60", stdin=True)
        until(lambda: ps.part(p).body == b"closed\n")
        answer = ps.put(p, b"x" * 300000)
        eq(answer.status, 409, "a process that has closed its stdin takes nothing")
        ps.delete(p)


def test_stdin_waits():
    """A process that reads nothing holds the writer up, and nobody else."""
    with sandbox() as client:
        ps = Processes(client)
        gate = Gate(client)
        p = ps.start("sh", "-c", f"read x <{gate}; wc -c", stdin=True)
        data = bytes(8 << 20)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            put = pool.submit(ps.put, p, data, close=True)
            ok(until(lambda: ps.get(p)["stdin"]["offset"] > 0), "a part is taken")
            eq(ps.run("echo", "hi")[1], b"hi\n", "others go on meanwhile")
            ok(not put.done(), "the writer waits")
            ok(ps.get(p)["stdin"]["offset"] < len(data), "not all is taken")
            gate.go()
            eq(put.result().json(), {"offset": len(data)}, "then all is taken")
        eq(ps.follow(p), b"%d\n" % len(data), "and read")


def test_pty():
    with sandbox() as client:
        ps = Processes(client)
        p = ps.start("sh", "-c", "stty size; test -t 0 && test -t 1 && test -t 2 && echo tty; "
                     "read x; stty size; echo got $x", pty={"rows": 33, "columns": 99})
        ok(until(lambda: b"tty\r\n" in ps.part(p, "pty").body), "standard input and outputs are a terminal")
        eq(list(p["outputs"]), ["pty"], "a process with a pty has one output")
        eq(ps.part(p, "stdout").status, 404, "and no stdout")
        ps.call("POST", f"/{p['id']}/resize", {"rows": 44, "columns": 88})
        ps.put(p, b"hello\n")
        eq(ps.wait(p)["exit_code"], 0, "it reads a line")
        eq(ps.follow(p, "pty"), b"33 99\r\ntty\r\nhello\r\n44 88\r\ngot hello\r\n",
           "sizes arrive, and input is echoed")
        p = ps.start("cat", pty={"rows": 24, "columns": 80})
        ps.put(p, b"line\n", close=True)
        eq(ps.wait(p)["exit_code"], 0, "the end of stdin is the end key")
        p = ps.start("sh", "-c", "exec 0<&- 1>&- 2>&-; sleep 0.2; echo back >/dev/tty; exit 5",
                     pty={"rows": 24, "columns": 80})
        eq(ps.wait(p)["exit_code"], 5, "a process that closes its terminal is not hung up on")
        eq(ps.follow(p, "pty"), b"back\r\n", "and may open it again")
        p = ps.start("sleep", "100", pty={"rows": 24, "columns": 80})
        ps.put(p, b"\x03")
        eq(ps.wait(p)["signal"], "SIGINT", "C-c interrupts")
        status = ps.ask("POST", f"/{ps.start('true')['id']}/resize", b'{"rows":1,"columns":1}').status
        eq(status, 409, "a process without a pty has no size")


def test_signals():
    with sandbox() as client:
        ps = Processes(client)
        script = "trap 'echo root' USR1; sh -c 'trap \"echo child\" USR1; echo up; while :; do sleep 0.05; done' & " \
                 "while :; do sleep 0.05; done"
        for to, want in [("process", {b"root"}), ("group", {b"root", b"child"}), ("tree", {b"root", b"child"})]:
            p = ps.start("sh", "-c", script)
            until(lambda: ps.part(p).body == b"up\n")
            # sleep would end by it
            ps.signal(p, "SIGUSR1", to=to)
            ok(until(lambda: want <= set(ps.part(p).body.split())), f"a signal to the {to} arrives")
            if to == "process":
                ok(b"child" not in ps.part(p).body, "and nowhere else")
            ps.delete(p)
        p = ps.start("sleep", "100")
        ps.signal(p, 15)
        eq((ps.wait(p)["signal"], ps.wait(p)["exit_code"]), ("SIGTERM", None), "a signal by number")
        answer = ps.ask("POST", f"/{p['id']}/signal", b'{"signal":"TERM"}')
        eq(answer.status, 409, "a process that has ended gets none")
        eq(ps.ask("POST", f"/{p['id']}/signal", b'{"signal":"SIGNO"}').status, 422, "an unknown signal is refused")
        p = ps.start("sh", "-c", "kill -SEGV $$")
        eq(ps.wait(p)["signal"], "SIGSEGV", "the signal that ended a process is named")


def test_tree_is_killed():
    """Timeout and DELETE end what ignores SIGTERM, has left its session and goes on forking."""
    mark = f"od-tree-{os.getpid()}"
    script = (f"trap '' TERM INT HUP; setsid sh -c 'trap \"\" TERM HUP; sleep 1000.{mark}' & "
              f"(setsid sh -c 'exec setsid sleep 1001' {mark} &) ; sh -c 'while :; do sleep 0.01; done' {mark} & "
              "echo up; wait; sleep 1000")
    script = script.replace(f"sleep 1000.{mark}", "sleep 1000")
    with sandbox() as client:
        ps = Processes(client)
        for how in ("timeout", "delete"):
            p = ps.start("sh", "-c", script, **({"timeout": 1} if how == "timeout" else {}))
            until(lambda: ps.part(p).body == b"up\n")
            pids = descendants(p["pid"])
            ok(len(pids) >= 3, f"{how}: a tree has grown", pids)
            got = ps.delete(p) if how == "delete" else ps.wait(p)
            eq((got["signal"], got["timed_out"]), ("SIGKILL", how == "timeout"), f"{how}: the root is killed")
            ok(until(lambda: not [pid for pid in pids if alive(pid)]), f"{how}: nobody is left",
               [(pid, proc(pid, "cmdline")) for pid in pids if alive(pid)])
            ok(until(lambda: not marked(mark)), f"{how}: nobody with the mark is left")
        eq(ps.ask("GET", f"/{p['id']}").status, 404, "a process that was deleted is forgotten")


def test_timeout_figures():
    with sandbox() as client:
        ps = Processes(client)
        p = ps.start("sleep", "100", timeout=0.2)
        got = ps.wait(p)
        eq((got["signal"], got["timed_out"], got["exit_code"]), ("SIGKILL", True, None), "the timeout kills")
        ok(got["ended_at"] - got["started_at"] >= 0.199, "not before its time", got)
        p = ps.start("true", timeout=30)
        eq(ps.wait(p)["timed_out"], False, "who ends in time is not killed")


def test_background_children():
    """The exit is not held up by children that keep the pipes; what they write is recorded."""
    with sandbox() as client:
        ps = Processes(client)
        gate = Gate(client)
        p = ps.start("sh", "-c", f"(read x <{gate}; echo late) & echo early")
        got = ps.wait(p)
        eq((got["exit_code"], got["outputs"]["stdout"]), (0, {"start": 0, "end": 6, "open": True}),
           "it has exited, and its output is open")
        eq(ps.follow(p, query="&until=exit"), b"early\n", "until=exit ends with what came before the exit")
        gate.go()
        eq(ps.follow(p), b"early\nlate\n", "without it the reader stays until the end")
        p = ps.start("sh", "-c", "seq 1 20000; sleep 100 & exit 0")
        eq(ps.follow(p, query="&until=exit"), numbers(20000), "all that was written before the exit is sent")
        ps.delete(p)


def test_readers():
    with sandbox() as client:
        ps = Processes(client)
        p = ps.start("sh", "-c", "printf 0123456789; read x; printf abc", stdin=True)
        until(lambda: ps.get(p)["outputs"]["stdout"]["end"] == 10)
        part = ps.part(p, query="?from=3&max=4")
        eq((part.body, part.field("x-offset"), part.field("x-next-offset"), part.field("x-state")),
           (b"3456", "3", "7", "running"), "a part by offset")
        eq(part.field("x-length"), None, "no length while more may come")
        part = ps.part(p, query="?from=10")
        eq((part.status, part.body), (200, b""), "nothing yet")
        eq(ps.part(p, query="?from=11").status, 416, "an offset beyond the end is refused")
        ranged = ps.ask("GET", f"/{p['id']}/stdout", Range="bytes=2-4")
        eq((ranged.status, ranged.body, ranged.field("content-range")), (206, b"234", "bytes 2-4/*"), "a range")
        with client.conn() as c:
            c.send(request("GET", f"/v1/processes/{p['id']}/stdout?from=10&wait=30"))
            ps.put(p, b"\n", close=True)
            eq(c.response().body, b"abc", "a reader that waits is answered")
        ps.wait(p)
        part = ps.part(p, query="?from=13&wait=30")
        eq((part.body, part.field("x-length"), part.field("x-state")), (b"", "13", "exited"), "the end is told")
        events = ps.events(p)
        has(events, '"text":"0123456789abc"', "the same as events")
        has(events, '"state":"exited","length":13,"exit_code":0', "with an event at the end")


def test_gaps():
    with sandbox() as client:
        ps = Processes(client)
        p = ps.start("seq", "1", "100000", output_limit=65536)
        ps.wait(p)
        everything = numbers(100000)
        out = ps.get(p)["outputs"]["stdout"]
        eq((out["end"], out["end"] - out["start"]), (len(everything), 65536), "the newest bytes are kept")
        part = ps.part(p, query="?from=5")
        eq((part.body, part.field("x-gap")), (everything[-65536:], f"5-{len(everything) - 65536}"),
           "a reader is told the gap")
        try:
            got = ps.follow(p)
            ok(False, "a stream of octets is cut in front of a gap", len(got))
        except (http.client.IncompleteRead, ConnectionResetError):
            ok(True, "a stream of octets is cut in front of a gap")
        events = ps.events(p)
        has(events, f'"from":0,"to":{len(everything) - 65536}', "a stream of events tells the gap")


def test_waits_for_readers():
    with sandbox() as client:
        ps = Processes(client)
        want = numbers(300000)
        p = ps.start("seq", "1", "300000", output_limit=65536, when_full="wait")
        ok(until(lambda: ps.get(p)["outputs"]["stdout"]["end"] == 65536), "65,536 bytes are read of the process")
        eq(ps.get(p)["state"], "running", "it waits for its readers")
        out, at, gap = b"", 0, None
        while at < len(want):
            part = ps.part(p, query=f"?from={at}&max=40000&wait=20")
            gap = gap or part.field("x-gap")
            out += part.body
            at = int(part.field("x-next-offset"))
        eq(gap, None, "no gap is told")
        ok(out == want, "nothing is lost to a reader that comes and goes")
        eq(ps.wait(p)["exit_code"], 0, "it ends once all is read")
        p = ps.start("seq", "1", "300000", output_limit=65536, when_full="wait")
        ok(ps.follow(p) == want, "nothing is lost to a stream")


def held_memory(pid):
    """The bytes that the outputs and records of processes hold of the system's memory."""
    held = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            if "od-process" in os.readlink(f"/proc/{pid}/fd/{fd}"):
                held += os.stat(f"/proc/{pid}/fd/{fd}").st_blocks * 512
        except FileNotFoundError:
            pass  # a connection that has been closed meanwhile
    return held


def test_flood_is_bounded():
    """A process that floods neither fills the memory nor holds up others."""
    with sandbox() as client:
        ps = Processes(client)
        ps.run("true")
        flood = ps.start("cat", "/dev/zero")
        ok(until(lambda: ps.get(flood)["outputs"]["stdout"]["end"] > 64 << 20, 30 * SLOW), "64 MiB have passed")
        out = ps.get(flood)["outputs"]["stdout"]
        ok(out["end"] - out["start"] <= 4 << 20, "4 MiB of them are kept", out)
        eq(ps.run("echo", "hi")[1], b"hi\n", "others are served meanwhile")
        memory = held_memory(client.serve_pid())
        ok(memory < 6 << 20, "what is let go of is given back to the system", memory)
        ps.delete(flood)


def test_all_together_are_bounded():
    """All outputs keep 128 MiB: the exited give first, those that wait lose nothing."""
    with sandbox() as client:
        ps = Processes(client)
        waits = ps.start("head", "-c", "1000000", "/dev/zero", when_full="wait")
        first = ps.start("head", "-c", str(40 << 20), "/dev/zero", output_limit=64 << 20)
        ps.wait(first)
        stay = ["sh", "-c", f"head -c {40 << 20} /dev/zero; exec sleep 1000"]
        for _ in range(3):
            p = ps.start(*stay, output_limit=64 << 20)
            ok(until(lambda: ps.get(p)["outputs"]["stdout"]["end"] == 40 << 20), "40 MiB more are written")
        kept = {p["id"]: o["end"] - o["start"] for p in ps.list() for o in [p["outputs"]["stdout"]]}
        ok(sum(kept.values()) <= 128 << 20, "all together keep 128 MiB at most", kept)
        ok(kept[first["id"]] < 40 << 20, "the process that has exited has given some", kept)
        eq(kept[waits["id"]], 1000000, "an output that waits for its readers is whole")


def test_hundred_at_once():
    with sandbox() as client:
        ps = Processes(client)

        def one(i):
            p, out, err = ps.run("sh", "-c", f"echo {i}; echo e{i} >&2; exit {i}")
            return p["exit_code"], out, err

        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            got = list(pool.map(one, range(100)))
        eq(got, [(i, b"%d\n" % i, b"e%d\n" % i) for i in range(100)], "100 processes at once are all correct")


def test_limit():
    with sandbox() as client:
        ps = Processes(client)
        for _ in range(512):
            ps.start("sleep", "1000")
        status, body = ps.refusal("true")
        eq(status, 429, "the 513th process is refused")
        has(body["detail"], "512", "with the number")
        ps.delete(ps.list()[0])
        eq(ps.run("echo", "hi")[1], b"hi\n", "after the end of one there is a place")


def test_exited_are_forgotten():
    with sandbox() as client:
        ps = Processes(client)
        first = ps.start("true")
        ps.wait(first)
        unread = ps.start("true")
        until(lambda: ps.list() and not alive(unread["pid"]))
        for _ in range(257):
            ps.wait(ps.start("true"))
        ids = {p["id"] for p in ps.list()}
        ok(first["id"] not in ids, "the oldest one is forgotten after 256 newer ones")
        ok(len(ids) <= 257, "so many are kept", len(ids))


def test_tags():
    with sandbox() as client:
        ps = Processes(client)
        a, b = ps.start("true", tag="one"), ps.start("true", tag="ö")
        eq([p["id"] for p in ps.list()], [a["id"], b["id"]], "all are listed, the oldest first")
        eq([p["id"] for p in ps.list("one")], [a["id"]], "or those with a tag")
        eq([p["id"] for p in ps.list("%C3%B6")], [b["id"]], "a tag is UTF-8")
        eq(ps.list("other"), [], "another tag has none")


def test_idempotency():
    with sandbox() as client:
        ps = Processes(client)
        count = os.path.join(client.work, "count")
        body = json.dumps({"argv": ["sh", "-c", f"echo x >>{count}"]}).encode()
        first = ps.ask("POST", "", body, Idempotency_Key="k")
        again = ps.ask("POST", "", body, Idempotency_Key="k")
        eq((first.status, again.status), (201, 200), "the same key and body again is 200")
        eq(first.field("location"), "/v1/processes/" + first.json()["id"], "a new one tells its place")
        eq((first.field("idempotent-replayed"), again.field("idempotent-replayed")), (None, "true"), "and says so")
        eq(first.json()["id"], again.json()["id"], "it is the same process")
        eq(ps.ask("POST", "", body + b" ", Idempotency_Key="k").status, 409, "another body is 409")
        ps.wait(first.json())
        murder(client)
        until(lambda: client.serve_pid())
        eq(ps.ask("POST", "", body, Idempotency_Key="k").json()["id"], first.json()["id"],
           "the key outlives a kill of the server")
        ps.delete(first.json())
        eq(ps.ask("POST", "", body, Idempotency_Key="k").status, 410, "the key of a deleted process is 410")
        with open(count, encoding="utf-8") as f:
            eq(f.read(), "x\n", "it ran once")
        bad = json.dumps({"argv": ["./later"]}).encode()
        eq(ps.ask("POST", "", bad, Idempotency_Key="bad").status, 422, "a start that fails...")
        with open(os.path.join(client.work, "later"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n")
        os.chmod(os.path.join(client.work, "later"), 0o755)
        eq(ps.ask("POST", "", bad, Idempotency_Key="bad").status, 201, "...can be repeated with its key")


def test_kill_of_server():
    """kill -9 of the server again and again, in the middle of output and input."""
    want = numbers(400000)
    data = os.urandom(16 << 20)
    with sandbox() as client:
        ps = Processes(client)
        outs = [ps.start("seq", "1", "400000", output_limit=64 << 20) for _ in range(2)]
        pty = ps.start("sh", "-c", "stty -onlcr; seq 1 30000", pty={"rows": 24, "columns": 80})
        cat = ps.start("cat", stdin=True, output_limit=64 << 20)
        kills = 0
        offset = 0
        while offset < len(data):
            with client.conn() as c:
                c.send(request("PUT", f"/v1/processes/{cat['id']}/stdin?offset={offset}",
                               Content_Length=str(len(data) - offset)))
                try:
                    c.send(data[offset:offset + (1 << 20)])
                except OSError:
                    pass
                murder(client)
                kills += 1
            offset = ps.get(cat)["stdin"]["offset"]
            if kills >= 12:
                break
        ok(offset > 0, f"after {kills} kills {offset} bytes of stdin were taken")
        ps.put(cat, data[offset:], offset=offset, close=True)
        for p in outs:
            ok(ps.follow(p) == want, "no byte of an output is lost or doubled")
            eq(ps.wait(p)["exit_code"], 0, "its exit code is known")
        ok(ps.follow(cat) == data, "no byte of stdin is lost or doubled")
        ok(ps.follow(pty, "pty").endswith(numbers(30000)), "nor of a pty")


def test_kill_between_exits():
    """What ends while there is no server has its status when there is one again."""
    with sandbox() as client:
        ps = Processes(client)
        gates = [Gate(client) for _ in range(3)]
        running = [ps.start("sh", "-c", f"read x <{g}; echo end {i}; exit {i}") for i, g in enumerate(gates)]
        timed = ps.start("sleep", "100", timeout=1)
        serve = client.serve_pid()
        os.kill(serve, signal.SIGSTOP)
        for g in gates:
            g.go()
        until(lambda: not any(proc(p["pid"], "cmdline") for p in running))
        murder(client)
        for i, p in enumerate(running):
            got = ps.wait(p)
            eq((got["exit_code"], ps.follow(p)), (i, b"end %d\n" % i), f"exit code {i} and its output")
        eq(ps.wait(timed)["timed_out"], True, "a timeout outlives the server")


def test_kill_during_kill():
    """A process that was stopped to be killed does not stay stopped."""
    with sandbox() as client:
        ps = Processes(client)
        p = ps.start("sleep", "1000")
        with client.conn() as c:
            c.send(request("DELETE", f"/v1/processes/{p['id']}"))
            murder(client)
        ok(until(lambda: not alive(p["pid"]) or ps.list()), "the server is back")
        # A request that the old server had not accepted is one of the new server's.
        again = client.ask(request("DELETE", f"/v1/processes/{p['id']}")).status
        ok(again in (200, 404), "it is deleted once more, or was", again)
        ok(until(lambda: not alive(p["pid"])), "the process is gone")


def test_stop():
    with sandbox() as client:
        ps = Processes(client)
        mark = f"od-stop-{os.getpid()}"
        p = ps.start("sh", "-c", f"trap '' TERM; (setsid sh -c 'sleep 1000; :' {mark} &); echo up; sleep 1000; :", mark)
        until(lambda: ps.part(p).body == b"up\n")
        with client.conn() as c:
            c.send(request("GET", f"/v1/processes/{p['id']}/stdout?follow=true"))
            eq(client.stop(), 0, "the sandbox stops")
        ok(not marked(mark), "no process is left")


def test_shell_of_ours():
    """sh is found where no PATH leads to one."""
    with sandbox() as client:
        ps = Processes(client)
        eq(ps.run("sh", "-c", "echo $0 hi", env={"PATH": "/nowhere"})[1], b"sh hi\n",
           "sh is executed although the PATH has none")
        eq(ps.refusal("ls", env={"PATH": "/nowhere"})[1]["reason"], "not_found", "other programs are not")


def test_many_short():
    """Descriptors and memory do not grow with the number of processes."""
    with sandbox() as client:
        ps = Processes(client)
        serve = client.serve_pid()

        def count():
            return len(os.listdir(f"/proc/{serve}/fd"))

        before = count()
        for _ in range(300):
            p = ps.start("true")
            ps.wait(p)
            ps.delete(p)
        ok(until(lambda: count() <= before + 2), "descriptors come back", before, count())
        eq(ps.list(), [], "nothing is left in the list")


if __name__ == "__main__":
    main()
