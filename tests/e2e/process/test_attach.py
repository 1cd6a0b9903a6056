#!/usr/bin/env python3
"""/v1/processes/ID/attach: frames both ways, credit, slow readers, lost connections."""
import ctypes
import fcntl
import hashlib
import os
import random
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import harness
from attach_peer import CONTROL, PROTOCOL, STDERR, STDIN, STDOUT, Attached, control, frame, start
from harness import SHIPS, Client, Conn, alive, eq, has, main, ok, request, skip, under, until

KEY = "a-session-key"
MIB = 1 << 20
CLONE_NEWNET = 0x40000000


def attach(client, process, **query):
    return Attached.connect(client.port, process["id"], **query)


def state(client, process):
    return client.get("/v1/processes/" + process["id"]).json()


def gone(pid):
    """Whether the process ends, within the time that a lost connection may take."""
    return until(lambda: not alive(pid), 2 * harness.SLOW)


def test_frames():
    with Client() as c:
        p = start(c, "sh", "-c", "echo out; echo err >&2; exit 7")
        a = attach(c, p)
        eq(a.answer.status, 101, "the connection is upgraded")
        eq([a.answer.field("upgrade"), a.answer.field("connection")], [PROTOCOL, "Upgrade"], "to the protocol")
        eq([m["type"] for m in a.controls], ["attached"], "the first frame is attached")
        eq(a.attached["process"]["id"], p["id"], "it has the process object")
        ok(a.attached["window"] >= 65536, "and the window of stdin")
        a.until_exit()
        eq([a.out[STDOUT], a.out[STDERR]], [b"out\n", b"err\n"], "stdout and stderr are apart")
        eq({k: a.exited[k] for k in ("exit_code", "signal", "timed_out")},
           {"exit_code": 7, "signal": None, "timed_out": False}, "the last frame is exited")
        ok(a.ends(), "and the sandbox closes")
        a = attach(c, p)
        a.until_exit()
        eq([a.out[STDOUT], a.exited["exit_code"]], [b"out\n", 7], "an exited process can be attached to")
        a = attach(c, p, stdout=2, stderr=3)
        a.until_exit()
        eq([a.out[STDOUT], a.out[STDERR]], [b"t\n", b"\n"], "outputs begin at the offsets given")
        p = start(c, "sh", "-c", "kill -9 $$")
        a = attach(c, p)
        a.until_exit()
        eq([a.exited["exit_code"], a.exited["signal"]], [None, "SIGKILL"], "a signal is reported by its name")
        p = start(c, "sleep", "60", timeout=0.1)
        a = attach(c, p)
        a.until_exit()
        eq(a.exited["timed_out"], True, "a timeout is reported")
        p = start(c, "printf", r"a\0b\377")
        a = attach(c, p)
        a.until_exit()
        eq(a.out[STDOUT], b"a\0b\xff", "bytes are exact")


def test_refusals():
    with Client("--key-sha256", hashlib.sha256(KEY.encode()).hexdigest()) as c:
        p = start(c, "sleep", "60", key=KEY)
        path = f"/v1/processes/{p['id']}/attach"
        up = {"Connection": "Upgrade", "Upgrade": PROTOCOL}
        for name, method, where, fields, status in (
                ("no key", "GET", path, {**up, "X_Session_API_Key": None}, 403),
                ("no upgrade", "GET", path, {}, 426),
                ("another protocol", "GET", path, {**up, "Upgrade": "websocket"}, 426),
                ("no Connection", "GET", path, {"Upgrade": PROTOCOL}, 426),
                ("no such process", "GET", "/v1/processes/p99/attach", up, 404),
                ("an offset that is not there", "GET", path + "?stdout=1", up, 416),
                ("an offset that is no number", "GET", path + "?stderr=x", up, 422),
                ("an unknown until", "GET", path + "?until=then", up, 422),
                ("another method", "POST", path, up, 405)):
            with c.conn() as conn:
                answer = conn.send(request(method, where, **{"X_Session_API_Key": KEY, **fields})).response()
                eq(answer.status, status, name)
                if status == 426:
                    eq(answer.field("upgrade"), PROTOCOL, "the answer names the protocol")
        a = Attached.connect(c.port, p["id"], key=KEY)
        ok(a.attached, "with the key and the upgrade it is attached")


def test_both_ways():
    with Client() as c:
        data = random.Random(1).randbytes((32 if SHIPS else 4) * MIB + 12345)
        for piece in (65536, 1 << 20, 1000):
            sent = data if piece > 1000 else data[:MIB]
            p = start(c, "cat", stdin=True, when_full="wait")
            a = attach(c, p)
            a.stdin(sent, piece)
            a.control("end")
            a.until_exit(60)
            eq(hashlib.sha256(a.out[STDOUT]).digest(), hashlib.sha256(sent).digest(),
               f"{len(sent)} bytes in frames of {piece} come back exactly")
            eq(a.exited and a.exited["exit_code"], 0, "and the end of stdin arrives")
        p = start(c, "cat", stdin=True)
        a = Attached.connect(c.port, p["id"], rest=frame(STDIN, b"early ") + frame(STDIN) + frame(STDIN, b"bytes") +
                             control("end"))
        a.until_exit()
        eq(a.out[STDOUT], b"early bytes", "frames that come with the request are handled")
        p = start(c, "cat", stdin=True)
        a = attach(c, p)
        whole = frame(STDIN, b"0123456789") + control("ping") + frame(STDIN, b"abc") + control("end")
        for i in range(len(whole)):
            a.send(whole[i:i + 1])
        a.until_exit()
        eq(a.out[STDOUT], b"0123456789abc", "frames may come byte by byte")


def test_small_reads():
    """stdin is passed on as soon as there is space, to a program that reads small pieces."""
    with Client() as c:
        data = bytes(16 * MIB)
        seconds = []
        for attached in (False, True):
            p = start(c, "dd", "bs=4096", "of=/dev/null", stdin=True)
            begun = time.monotonic()
            if attached:
                a = attach(c, p)
                a.stdin(data)
                a.control("end")
                a.until_exit(60)
            else:
                c.ask(request("PUT", f"/v1/processes/{p['id']}/stdin?close=true", data))
                c.get(f"/v1/processes/{p['id']}?wait=60")
            seconds.append(time.monotonic() - begun)
            eq(state(c, p)["exit_code"], 0, "it reads until the end")
        under(seconds[1] / seconds[0], 2.5, "times as long as one PUT of the same bytes")


def test_controls():
    with Client() as c:
        for given, want in (("SIGTERM", "SIGTERM"), (signal.SIGUSR1, "SIGUSR1"), ("KILL", "SIGKILL")):
            p = start(c, "sleep", "60")
            a = attach(c, p)
            a.control("signal", signal=given)
            a.until_exit()
            eq(a.exited["signal"], want, f"signal {given!r}")
        trap = "trap 'echo got; exit 3' INT; echo on; sleep 60 & wait"
        for to in ("process", "group", "tree"):
            p = start(c, "sh", "-c", trap)
            a = attach(c, p)
            a.until(lambda: a.out[STDOUT] == b"on\n")
            a.control("signal", signal="SIGINT", to=to)
            a.until_exit()
            eq([a.out[STDOUT], a.exited["exit_code"]], [b"on\ngot\n", 3], f"a signal to the {to}")
        p = start(c, "sh", "-c", "stty size; read x; stty size", pty={"rows": 20, "columns": 50})
        a = attach(c, p)
        a.until(lambda: b"20 50" in a.out[STDOUT])
        a.control("resize", rows=33, columns=77)
        a.send(frame(STDIN, b"\r"))
        a.until_exit()
        has(a.out[STDOUT], b"33 77", "a pty is resized")
        p = start(c, "sleep", "60")
        a = attach(c, p)
        for members, words in (({"kind": "resize", "rows": 3, "columns": 3}, "no pty"),
                               ({"kind": "resize", "rows": 0, "columns": 3}, "rows"),
                               ({"kind": "signal", "signal": "SIGNOPE"}, "name or number"),
                               ({"kind": "signal"}, "name or number")):
            a.control(**members)
            a.until(lambda: a.errors)
            has(a.errors.pop(), words, "an error is told")
        a.control("ping")
        a.control("end")
        a.send(frame(STDIN, b"for nobody" * 1000))
        a.control("signal", signal="SIGKILL")
        a.until_exit()
        eq([a.errors, a.exited["signal"]], [[], "SIGKILL"], "and the connection goes on; stdin for nobody is dropped")


def test_credit():
    with Client() as c:
        p = start(c, "sh", "-c", "trap 'echo int' INT; echo on; while :; do sleep 1; done", stdin=True)
        a = attach(c, p)
        a.until(lambda: a.out[STDOUT])
        window = a.attached["window"]
        a.send(frame(STDIN, bytes(window)))
        a.sent = window
        a.control("signal", signal="SIGINT", to="group")
        a.until(lambda: b"int" in a.out[STDOUT])
        has(a.out[STDOUT], b"int", "a control frame passes a window of stdin that nobody reads")
        under(a.credit, 2 * MIB, "the credit is what the pipe has taken")
        for _ in range(4):
            a.send(frame(STDIN, bytes(MIB)))
        a.sent += 4 * MIB
        a.until(lambda: a.errors)
        has(a.errors, "More stdin was sent than the window allows.", "more than the window is an error")
        ok(a.ends(), "which ends the connection")
        eq(state(c, p)["state"], "running", "the process goes on")
        p = start(c, "sh", "-c", "exec <&-; echo on; sleep 60", stdin=True)
        a = attach(c, p)
        a.until(lambda: a.out[STDOUT])
        a.stdin(bytes(3 * MIB))
        ok(a.until(lambda: a.credit >= 2 * MIB), "stdin that cannot be read any more is credited")


def test_breaking_peers():
    with Client() as c:
        p = start(c, "cat", stdin=True)
        for name, data in (
                ("a frame of stdout", frame(STDOUT, b"x")),
                ("a frame of an unknown type", frame(3, b"x")),
                ("a head with a byte that is not zero", b"\0\0\1\0\0\0\0\1x"),
                ("a frame of more than 1 MiB", b"\0\0\0\0\0\x10\0\1"),
                ("a control frame that is too long", struct.pack(">BxxxI", CONTROL, 5000)),
                ("an empty control frame", frame(CONTROL)),
                ("a control frame that is no JSON", frame(CONTROL, b"{nope}")),
                ("a control frame that is no object", frame(CONTROL, b"[1]")),
                ("a control frame without a type", frame(CONTROL, b"{}")),
                ("a control frame of an unknown type", control("dance")),
                ("bytes that are not UTF-8", frame(CONTROL, b'{"type":"\xff"}')),
                ("HTTP", request("GET", "/alive"))):
            a = attach(c, p)
            a.send(data)
            ok(a.until(lambda: a.errors), name + " is answered by an error")
            ok(a.ends(), "and the end")
        a = attach(c, p)
        a.send(frame(STDIN, b"half of a frame")[:12])
        a.conn.reset()
        a = attach(c, p)
        a.send(frame(STDIN, b"whole"))
        ok(a.until(lambda: b"whole" in a.out[STDOUT]), "the process and others go on")
        eq(a.out[STDOUT].replace(b"half", b""), b"whole", "nothing else has come")


def numbers(n):
    return b"".join(b"%07d\n" % i for i in range(n))


def print_numbers(n):
    return ["sh", "-c", f"seq -f %07.0f 0 {n - 1}"]


def test_slow_reader_discard():
    """The process goes on, and the reader is told of the gap; the bytes around it are those of their offsets."""
    n = 2_000_000 if SHIPS else 300_000
    want = numbers(n)
    with Client() as c:
        p = start(c, *print_numbers(n), output_limit=65536)
        conn = Conn(c.port)
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        a = Attached.connect(c.port, p["id"], conn=conn)
        ok(until(lambda: state(c, p)["state"] == "exited", 60), "the process ends without its reader")
        wrong = 0
        while not a.exited:
            a.step(30)
            end = a.offset[STDOUT]
            got, a.out[STDOUT] = a.out[STDOUT], bytearray()
            wrong += got != want[end - len(got):end]
        eq(wrong, 0, "each byte has the offset that it was printed at")
        ok(a.gaps, "gaps are told")
        eq(a.offset[STDOUT], len(want), "up to the last byte")


def test_slow_reader_wait():
    n = 400_000
    want = numbers(n)
    with Client() as c:
        p = start(c, *print_numbers(n), output_limit=65536, when_full="wait")
        conn = Conn(c.port)
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        a = Attached.connect(c.port, p["id"], conn=conn)
        a.until(lambda: a.offset[STDOUT] > 100000)
        now = state(c, p)
        eq(now["state"], "running", "the process waits for its reader")
        b = Attached.connect(c.port, p["id"], stdout=now["outputs"]["stdout"]["start"])
        b.close()
        a.until_exit(60)
        ok(a.out[STDOUT] == want, "and all of it arrives", len(a.out[STDOUT]), len(want))
        eq(a.gaps, [], "without a gap")


def test_reattach():
    with Client() as c:
        n = 300_000
        want = numbers(n)
        p = start(c, *print_numbers(n), output_limit=16 * MIB)
        at, out = 0, b""
        for i in range(1, 20):
            a = attach(c, p, stdout=at)
            a.until(lambda: a.exited or a.offset[STDOUT] >= i * 100_000)
            a.close()
            at, out = a.offset[STDOUT], out + a.out[STDOUT]
        a = attach(c, p, stdout=at)
        a.until_exit()
        ok(out + a.out[STDOUT] == want, "parts of many attachments are the whole")
        p = start(c, "sh", "-c", "cat; echo end", stdin=True)
        a = attach(c, p)
        a.stdin(b"one ")
        a.until(lambda: a.out[STDOUT])
        a.close()
        a = attach(c, p, stdout=4)
        eq(a.attached["process"]["stdin"], {"open": True, "offset": 4}, "the next one is told the offset of stdin")
        a.stdin(b"two ")
        a.control("end")
        a.until_exit()
        eq(a.out[STDOUT], b"two end\n", "and goes on there")


def test_several():
    with Client() as c:
        p = start(c, "cat", stdin=True)
        a, b = attach(c, p), attach(c, p)
        a.send(frame(STDIN, b"a"))
        for x in a, b:
            x.until(lambda: x.out[STDOUT])
        b.send(frame(STDIN, b"b"))
        for x in a, b:
            x.until(lambda: len(x.out[STDOUT]) == 2)
            eq(x.out[STDOUT], b"ab", "each attachment gets the output")
        a.send(frame(STDIN, b"late"))
        a.control("end")
        a.control("signal", signal="SIGNOPE")
        a.until(lambda: any("signal" in e for e in a.errors))
        b.send(frame(STDIN, b"c") + control("end"))
        for x in a, b:
            x.until_exit()
            eq(x.out[STDOUT], b"abc", "stdin belongs to the newest that sends")


def test_until():
    with Client() as c:
        os.mkfifo(c.top + "/gate")
        p = start(c, "sh", "-c", f"(cat {c.top}/gate; echo late) & echo hi")
        a = attach(c, p)
        a.until_exit()
        eq(a.out[STDOUT], b"hi\n", "until the exit: a background child that has the pipe does not hold the end up")
        a = attach(c, p, until="end")
        a.until(lambda: a.out[STDOUT] == b"hi\n")
        open(c.top + "/gate", "w").close()
        a.until_exit()
        eq(a.out[STDOUT], b"hi\nlate\n", "until the end: all writers have closed")


def test_deleted():
    with Client() as c:
        p = start(c, "sleep", "60")
        a = attach(c, p)
        eq(c.ask(request("DELETE", "/v1/processes/" + p["id"])).status, 200, "a process that is attached to is deleted")
        a.until(lambda: a.errors or a.exited)
        ok(a.ends(), "the attachment ends", a.controls)


def kill_start(c, conn=None, **members):
    return start(c, "sh", "-c", "trap '' TERM HUP; sleep 1000 & echo on; wait", on_disconnect="kill", conn=conn,
                 **members)


def test_disconnect():
    """What has on_disconnect: kill ends with its connections."""
    with Client() as c:
        for name, end in (("closed", Conn.close), ("half-closed", Conn.half_close), ("reset", Conn.reset)):
            conn = c.conn()
            p = kill_start(c, conn)
            end(conn)
            ok(gone(p["pid"]), f"the connection of the request is {name}: the process is killed")
            conn = c.conn()
            p = kill_start(c, conn)
            a = Attached.connect(c.port, p["id"], conn=conn)
            a.until(lambda: a.out[STDOUT])
            b = attach(c, p)
            end(conn)
            b.control("signal", signal="SIGNOPE")
            b.until(lambda: b.errors)
            ok(alive(p["pid"]), "the same connection was attached, and another one is: it lives")
            end(b.conn)
            ok(gone(p["pid"]), f"the last attachment is {name}: it is killed")
        conn = c.conn()
        p = kill_start(c, conn)
        a = attach(c, p)
        a.close()
        b = attach(c, p)
        b.close()
        answer = conn.send(request("GET", "/v1/processes/" + p["id"])).response()
        eq(answer.json()["state"], "running", "attachments come and go while the first connection stays")
        waits = request("GET", f"/v1/processes/{p['id']}?wait=100")
        conn.send(waits)
        conn.half_close()
        ok(gone(p["pid"]), "a connection that waits for an answer has left when it is half-closed")
        conn = c.conn()
        p = start(c, "sleep", "1000", conn=conn)
        a = Attached.connect(c.port, p["id"], conn=conn)
        a.close()
        b = attach(c, p)
        ok(b.attached and alive(p["pid"]), "without it the process goes on")


def test_slow_owner():
    """A peer that reads nothing for seconds, and is there, is not lost."""
    with Client() as c:
        conn = c.conn()
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        p = start(c, "sh", "-c", f"{print_numbers(400_000)[2]}; sleep 5; echo done", on_disconnect="kill", conn=conn)
        a = Attached.connect(c.port, p["id"], conn=conn)
        ok(until(lambda: state(c, p)["state"] == "exited", 30), "the process ends by itself")
        eq(state(c, p)["exit_code"], 0, "with its own exit code")
        a.until_exit(30)
        ok(a.out[STDOUT].endswith(b"done\n") and a.exited["exit_code"] == 0, "and the reader gets the end")


def test_idle_owner():
    """An idle connection carries bytes that the peer acknowledges, so that a lost network is noticed."""
    with Client() as c:
        conn = c.conn()
        p = start(c, "sh", "-c", "read line; echo got $line", stdin=True, on_disconnect="kill", conn=conn)
        a = Attached.connect(c.port, p["id"], conn=conn)
        ok(a.until(lambda: a.empty >= 3), "empty frames come while nothing happens")
        a.send(frame(STDIN, b"it\n"))
        a.until_exit()
        eq(a.out[STDOUT], b"got it\n", "the output between them is exact")


def test_lease():
    with Client() as c:
        conn = c.conn()
        p = start(c, "sleep", "1000")
        conn.send(request("GET", f"/v1/processes/{p['id']}/attach", Connection="Upgrade", Upgrade=PROTOCOL, X_Lease="3"))
        a = Attached(conn, conn.response())
        a.until(lambda: a.attached)
        c.get("/v1/status", X_Lease="4")
        ok(a.until(lambda: a.errors), "a higher lease ends an attachment")
        has(a.errors[0], "fenced", "with the reason")
        ok(a.ends(), "and the end")


def in_namespace(test):
    """Runs the test in a thread with a network namespace of its own; False where that is not permitted."""
    libc, result = ctypes.CDLL(None, use_errno=True), []

    def run():
        if libc.unshare(CLONE_NEWNET):
            result.append(False)
            return
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        try:
            test(libc)
            result.append(True)
        except BaseException as e:  # noqa: the main thread reports it
            result.append(e)
    t = threading.Thread(target=run)
    t.start()
    t.join()
    if isinstance(result[0], BaseException):
        raise result[0]
    return result[0]


def connect_from(libc, holder, port):
    """A connection out of the namespace of the process holder."""
    here = os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)
    there = os.open(f"/proc/{holder.pid}/ns/net", os.O_RDONLY)
    try:
        assert libc.setns(there, CLONE_NEWNET) == 0
        return Conn(port, "10.98.7.1")
    finally:
        libc.setns(here, CLONE_NEWNET)
        os.close(here)
        os.close(there)


def probes(port, peer):
    """How many probes of the server's connection to the port of the peer have no answer."""
    rows = subprocess.run(["ss", "-tnoH", "sport", "=", str(port), "dport", "=", str(peer)], capture_output=True,
                          text=True, check=True).stdout
    found = re.search(r"timer:\(keepalive,[^,]*,(\d+)\)", rows)
    return int(found[1]) if found else -1


def lose_probe(enter, client, holder, libc):
    """One probe of TCP is lost on the connection that has only started a process."""
    with connect_from(libc, holder, client.port) as conn:
        p = start(client, "sleep", "1000", on_disconnect="kill", conn=conn)
        peer = conn.sock.getsockname()[1]
        subprocess.run([*enter, "link", "set", "od-b", "down"], check=True)
        ok(until(lambda: probes(client.port, peer) == 1, 10, step=0.02), "one probe is lost")
        subprocess.run([*enter, "link", "set", "od-b", "up"], check=True)
        ok(until(lambda: probes(client.port, peer) == 0, 10, step=0.02), "the next probe is answered")
        ok(alive(p["pid"]), "one lost probe kills no process")


def lose_link(libc):
    holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec sleep 1000"], stdout=subprocess.PIPE)
    try:
        holder.stdout.readline()
        for words in (f"link add od-a type veth peer name od-b netns {holder.pid}", "addr add 10.98.7.1/24 dev od-a",
                      "link set od-a up"):
            subprocess.run(["ip", *words.split()], check=True)
        enter = ["nsenter", "-t", str(holder.pid), "-n", "ip"]
        for words in "addr add 10.98.7.2/24 dev od-b", "link set od-b up", "link set lo up":
            subprocess.run([*enter, *words.split()], check=True)
        argv = [harness.CLIENT, "serve", str(harness.free_port()), "--address", "0.0.0.0", "--no-key", "--username", harness.ME]
        with Client(argv=argv) as c:
            c.port = int(argv[2])
            lose_probe(enter, c, holder, libc)
            made = []
            for name, command, attached in (("idle", "echo on; sleep 1000", True),
                                            ("busy", "while :; do echo on; sleep 0.1; done", True),
                                            ("idle", "echo on; sleep 1000", False)):
                conn = connect_from(libc, holder, c.port)
                p = start(c, "sh", "-c", "trap '' HUP; " + command, on_disconnect="kill", conn=conn)
                a = Attached.connect(c.port, p["id"], conn=conn) if attached else None
                ok(not a or a.until(lambda: a.out[STDOUT]), f"{name} {attached}: connected")
                made.append((name, attached, p["pid"], a or conn))
            subprocess.run([*enter, "link", "set", "od-b", "down"], check=True)
            lost = time.monotonic()
            for name, attached, pid, _ in made:
                ok(until(lambda: not alive(pid), 10), f"the network is lost, {name}, {attached}: killed")
                under(time.monotonic() - lost, (2.5 if attached else 5) * harness.SLOW, "soon")
    finally:
        holder.kill()
        holder.wait()


def test_silence():
    if os.geteuid() or not in_namespace(lose_link):
        skip("a network that is lost", "needs root and network namespaces")


def killed(client):
    pid = client.serve_pid()
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), step=0.001)
    client.shared = None


def drain(a):
    """What the kernel still has of a connection that is lost."""
    a.until(lambda: False)


def test_crash():
    """kill -9 of serve: who attaches again at its offsets gets every byte once."""
    n = 1_000_000 if SHIPS else 100_000
    want = numbers(n)
    with Client(role="init") as c:
        p = start(c, *print_numbers(n), output_limit=65536, when_full="wait")
        a, out, at = attach(c, p), b"", 0
        for i in range(1, 4):
            a.until(lambda: a.offset[STDOUT] > i * len(want) // 4)
            killed(c)
            drain(a)
            at, out = a.offset[STDOUT], out + a.out[STDOUT]
            ok(until(lambda: answers(c)), "the server is back")
            a = attach(c, p, stdout=at)
            ok(not a.gaps, "no gap", a.gaps)
        a.until_exit(60)
        eq(a.exited["exit_code"], 0, "the process has ended well")
        ok(out + a.out[STDOUT] == want, "each byte arrived once", len(out + a.out[STDOUT]), len(want))


def answers(client):
    try:
        with client.conn() as conn:
            return conn.send(request("GET", "/alive")).response().status == 200
    except (harness.Closed, OSError):
        return False


def test_crash_stdin():
    """The offset of stdin says what has to be sent again."""
    data = random.Random(2).randbytes(4 * MIB if SHIPS else MIB)
    with Client(role="init") as c:
        p = start(c, "sh", "-c", "sha256sum; sleep 0.1", stdin=True)
        a = attach(c, p)
        for i in range(1, 4):
            end = len(data) * i // 4
            a.stdin(data[a.sent:end], 5000 * i)
            killed(c)
            ok(until(lambda: answers(c)), "the server is back")
            a = attach(c, p)
            under(a.sent, end, "no more is taken than was sent")
        a.stdin(data[a.sent:])
        a.control("end")
        a.until_exit()
        eq(a.out[STDOUT][:64], hashlib.sha256(data).hexdigest().encode(), "stdin is exact over crashes")


def pipe_size(pid, fd):
    with open(f"/proc/{pid}/fd/{fd}", "rb" if fd else "wb", buffering=0) as f:
        return fcntl.fcntl(f, fcntl.F_GETPIPE_SZ)


def test_crash_bulk():
    """The pipes of a process that moves much become larger; every byte arrives once over a crash."""
    data = random.Random(3).randbytes(12 * MIB) + bytes(12 * MIB)
    with Client(role="init") as c:
        p = start(c, "cat", stdin=True, when_full="wait")
        a = attach(c, p)
        before = [pipe_size(p["pid"], fd) for fd in (0, 1)]
        a.stdin(data[:20 * MIB])
        a.until(lambda: a.offset[STDOUT] > 18 * MIB)
        after = [pipe_size(p["pid"], fd) for fd in (0, 1)]
        eq([n > m for n, m in zip(after, before)], [True, True], f"the pipes grow from {before}")
        killed(c)
        drain(a)
        out, at = a.out[STDOUT], a.offset[STDOUT]
        ok(until(lambda: answers(c)), "the server is back")
        a = attach(c, p, stdout=at)
        a.stdin(data[a.sent:])
        a.control("end")
        a.until_exit(60)
        ok(not a.gaps, "no gap", a.gaps)
        eq(hashlib.sha256(out + a.out[STDOUT]).hexdigest(), hashlib.sha256(data).hexdigest(), "each byte arrived once")


def test_crash_owner():
    with Client(role="init") as c:
        conn = c.conn()
        p = kill_start(c, conn)
        a = Attached.connect(c.port, p["id"], conn=conn)
        a.until(lambda: a.out[STDOUT])
        killed(c)
        ok(until(lambda: answers(c)), "the server is back")
        a = attach(c, p, stdout=3)
        ok(a.attached and alive(p["pid"]), "its process is there, and attached again")
        a.close()
        ok(gone(p["pid"]), "and ends with that attachment")


def test_many():
    with Client() as c:
        jobs = []
        for i in range(100):
            conn = c.conn()
            p = start(c, "sh", "-c", f"cat; echo {i}; exit {i}", stdin=True, on_disconnect="kill", conn=conn)
            jobs.append(Attached.connect(c.port, p["id"], conn=conn))
        data = [random.Random(i).randbytes(20000 + 1000 * i) for i in range(100)]
        for a, d in zip(jobs, data):
            a.send(frame(STDIN, d) + control("end"))
        for i, (a, d) in enumerate(zip(jobs, data)):
            a.until_exit(30)
            good = a.exited and a.exited["exit_code"] == i and a.out[STDOUT] == d + b"%d\n" % i
            if not good:
                ok(False, f"attachment {i} is exact", a.exited, len(a.out[STDOUT]))
        ok(True, "100 at once")


def test_tls():
    from test_tls import TlsClient, TlsConn, make_certificate
    make_certificate("EC")
    data = random.Random(3).randbytes(4 * MIB if SHIPS else MIB)
    with TlsClient() as c:
        p = start(c, "cat", stdin=True, conn=TlsConn(c.port))
        a = Attached.connect(c.port, p["id"], conn=TlsConn(c.port))
        a.conn.sock.settimeout(30)
        tls_talk(a, data)
        eq(hashlib.sha256(a.out[STDOUT]).digest(), hashlib.sha256(data).digest(), "bytes are exact over TLS")
        eq(a.exited["exit_code"], 0, "with the end of stdin")
        conn = TlsConn(c.port)
        p = kill_start(c, conn)
        a = Attached.connect(c.port, p["id"], conn=conn)
        a.close()
        ok(gone(p["pid"]), "and the end of the connection")


def tls_talk(a, data):
    """Sends within a quarter of the window, and reads what comes back of each piece."""
    step = a.attached["window"] // 4
    for i in range(0, len(data), step):
        a.send(frame(STDIN, data[i:i + step]))
        a.sent += len(data[i:i + step])
        a.until(lambda: len(a.out[STDOUT]) >= min(i + step, len(data)))
    a.control("end")
    a.until_exit()


if __name__ == "__main__":
    main()
