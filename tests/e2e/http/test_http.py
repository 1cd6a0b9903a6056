#!/usr/bin/env python3
"""The HTTP server: routes, framing, and what it does with bad manners."""
import glob
import os
import time

from harness import (SLOW, TOP, Client, Closed, action, eq, has, main, note, ok, proc, request, skip,
                     slim, under, until)

MAX_BODY = 8 << 20
ALIVE = request("GET", "/alive")


def fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def refused(client, data, statuses, name):
    """One bad request: the status, a JSON object, and the end of the connection."""
    with client.conn() as c:
        try:
            answer = c.send(data).response()
        except (Closed, OSError) as e:
            ok(False, f"{name}: answered", repr(e))
            return
        ok(answer.status in statuses and isinstance(answer.json().get("detail"), str)
           and c.closed(), f"{name}: {statuses} and closed", repr(answer))


def test_routes():
    with Client("--no-enable-browser") as client:
        a = client.get("/alive")
        eq((a.status, a.body, a.field("content-type")),
           (200, b'{"status":"ok"}', "application/json"), "GET /alive")
        info = client.get("/server_info").json()
        eq(list(info), ["uptime", "idle_time", "resources"], "GET /server_info: its keys")
        eq({k: list(v) if isinstance(v, dict) else None for k, v in info["resources"].items()},
           {"cpu_percent": None, "memory": ["rss", "vms", "percent"],
            "disk": ["total", "used", "free", "percent"], "io": ["read_bytes", "write_bytes"],
            "sandbox": ["cpu_usec", "memory"]},
           "GET /server_info: its resources")
        eq((0 <= info["idle_time"] <= info["uptime"] + 1, info["resources"]["memory"]["rss"] > 0),
           (True, True), "GET /server_info: sensible figures")
        shown = [client.get("/server_info").json() for _ in range(50)]
        ok(len({str(s["resources"]) for s in shown}) < 5, "GET /server_info: resources are kept for half a second")
        ok(len({s["uptime"] for s in shown}) > 1, "but the uptime is that of the request")
        for method, path, status, detail in (
                ("GET", "/nope", 404, "Not Found"), ("POST", "/nope", 404, "Not Found"),
                ("GET", "/", 404, "Not Found"), ("GET", "//alive", 404, "Not Found"),
                ("POST", "/alive", 405, "Method Not Allowed"),
                ("PUT", "/alive", 405, "Method Not Allowed"),
                ("OPTIONS", "/alive", 405, "Method Not Allowed"),
                ("GET", "/execute_action", 405, "Method Not Allowed")):
            a = client.ask(request(method, path))
            eq((a.status, a.json()), (status, {"detail": detail}), f"{method} {path}")
        head = client.conn()
        eq(head.send(request("HEAD", "/alive")).response(head=True).status, 405, "HEAD /alive")
        eq(head.send(ALIVE).response().status, 200, "and no body followed it")
        eq(client.post("/alive").field("allow"), "GET", "a refused method: which one is allowed")
        a = client.get("/alive/")
        eq((a.status, a.field("location")), (307, "/alive"), "GET /alive/ leads to /alive")
        eq(client.get("/alive?x=1&y").status, 200, "a query is allowed")
        eq(client.get("/%61live").status, 200, "percent-encoded letters are letters")


def test_bodies_that_are_no_action():
    with Client() as client:
        for body, name in ((b"", "an empty body"), (b"nonsense", "no JSON"), (b"[]", "an array"),
                           (b"{}", "no action"), (b'{"action":"run"}', "a string as action"),
                           (b'{"action":null}', "null as action"),
                           (b'{"action":{}}', "an action without a name"),
                           (b'{"action":{"action":1}}', "a number as name"),
                           (b'{"action":{"action":"run","args":[]}}', "an array as args"),
                           (b'{"action":{"action":"run","args":null}}', "null as args"),
                           (b'{"action":{"action":"run","args":{},"timeout":"x"}}',
                            "a word as timeout"),
                           (b'{"action":{"action":"run"}} x', "text behind the JSON")):
            a = client.post("/execute_action", body)
            ok(a.status == 422 and a.json()["detail"] == "Invalid request parameters"
               and isinstance(a.json()["errors"], str), f"422 for {name}", repr(a))
        good = action("read", path="/nope")
        eq(client.post("/execute_action", good, Content_Type="text/plain").status, 422,
           "422 for another content type")
        for kind in (None, "application/json; charset=utf-8", "application/foo+json",
                     "APPLICATION/JSON"):
            eq(client.post("/execute_action", good, Content_Type=kind).status, 200,
               f"200 for the content type {kind}")
        for body, name in ((b'{"action":{"action":"read","action":"run"}}', "a key given twice"),
                           (b'{"action":' + b"[" * 1000 + b"]" * 1000 + b"}", "deep nesting"),
                           (b'{"action":[' + b"0," * 30000 + b"0]}", "too many values")):
            a = client.post("/execute_action", body)
            ok(a.status == 400 and isinstance(a.json()["detail"], str), f"400 for {name}", repr(a))
        a = client.post("/execute_action", action("frobnicate"))
        eq((a.status, a.json()["observation"]), (200, "error"), "an unknown action is an observation")
        has(a.json()["content"], "frobnicate", "and names it")


def test_body_size():
    with Client() as client:
        with client.conn() as c:
            c.send(request("POST", "/execute_action", Content_Length=str(MAX_BODY + 1)))
            a = c.response()
            ok(a.status == 413 and "detail" in a.json(), "413 before the body is sent", repr(a))
        with client.conn() as c:
            c.send(request("POST", "/execute_action", Content_Length=str(MAX_BODY + 1),
                           Expect="100-continue"))
            eq(c.response().status, 413, "413 instead of 100")
        with client.conn() as c:
            c.send(request("POST", "/execute_action", Content_Length=None,
                           Transfer_Encoding="chunked"))
            piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
            try:
                for _ in range(MAX_BODY // 65536 + 2):
                    c.send(piece)
            except OSError:
                pass
            try:
                eq(c.response().status, 413, "413 for chunks that grow beyond it")
            except Closed:
                ok(True, "413 for chunks that grow beyond it (cut off by the reset)")
        text = "x" * (4 << 20)
        a = client.act("write", path="big", content=text)
        eq(a["observation"], "write", "4 MiB are taken")
        eq(len(client.act("read", path="big")["content"]), len(text) + 1, "and given back")
        eq(client.get("/alive").status, 200, "the server goes on")


def test_keep_alive_and_pipelining():
    with Client() as client:
        with client.conn() as c:
            eq({c.send(ALIVE).response().status for _ in range(1000)}, {200},
               "a thousand requests on one connection")
            c.send(ALIVE * 100)
            eq([c.response().status for _ in range(100)], [200] * 100, "a hundred in one packet")
            bodies = [action("write", path=f"f{i}", content=str(i)) for i in range(20)]
            bodies += [action("read", path=f"f{i}") for i in range(20)]
            c.send(b"".join(request("POST", "/execute_action", b) for b in bodies))
            got = [c.response().json()["content"] for _ in bodies]
            eq(got[20:], [f"{i}\n" for i in range(20)], "pipelined actions answer in order")
            runs = [action("run", command=f"echo {i}") for i in range(5)]
            c.send(b"".join(request("POST", "/execute_action", b) for b in runs) + ALIVE)
            eq([c.response().json().get("content") for _ in range(6)],
               ["0", "1", "2", "3", "4", None], "so do commands that make the next one wait")
            c.send(b"\r\n" + ALIVE)
            eq(c.response().status, 200, "an empty line before a request is let go")
            c.send(request("GET", "/alive", Connection="close"))
            a = c.response()
            ok(a.status == 200 and c.closed(), "Connection: close is kept")
        with client.conn() as c:
            c.send(b"GET /alive HTTP/1.0\r\n\r\n")
            ok(c.response().status == 200 and c.closed(), "HTTP/1.0: an answer and the end")


def test_pieces():
    data = request("POST", "/execute_action", action("read", path="/nope"))
    with Client() as client:
        with client.conn() as c:
            for i in range(len(data)):
                c.send(data[i:i + 1])
            eq(c.response().json()["observation"], "error", "a request byte by byte")
        for at in range(1, len(data), 7):
            with client.conn() as c:
                c.send(data[:at])
                c.send(data[at:])
                if c.response().status != 200:
                    ok(False, f"a request cut at byte {at}")
                    break
        else:
            ok(True, "a request cut in two, at many places")
        with client.conn() as c:
            c.send(request("POST", "/execute_action", Content_Length="5", Expect="100-continue"))
            eq(c.response().status, 100, "100 Continue comes first")
            eq(c.send(b"{}   ").response().status, 422, "then the answer")
            c.send(request("POST", "/execute_action", Content_Length="2", Expect="tea"))
            eq(c.response().status, 417, "another expectation fails")
        with client.conn() as c:
            body = action("read", path="/nope")
            chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 9]), body[i:i + 9])
                              for i in range(0, len(body), 9))
            c.send(request("POST", "/execute_action", Content_Length=None,
                           Transfer_Encoding="chunked") + chunks + b"0\r\nX-Sum: 1\r\n\r\n" + ALIVE)
            eq((c.response().status, c.response().body), (200, b'{"status":"ok"}'),
               "chunks and a trailer, the next request behind them")


BAD_HEADS = (
    ("nonsense", b"HELLO\r\n\r\n", {400}),
    ("no version", b"GET /alive\r\nHost: localhost\r\n\r\n", {400}),
    ("version 2", b"GET /alive HTTP/2.0\r\nHost: localhost\r\n\r\n", {400, 505}),
    ("version 1.2", b"GET /alive HTTP/1.2\r\nHost: localhost\r\n\r\n", {400, 505}),
    ("lower case version", b"GET /alive http/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("two blanks", b"GET  /alive HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("a tab", b"GET\t/alive HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("bare line feeds", b"GET /alive HTTP/1.1\nHost: x\n\n", {400}),
    ("a bare return", b"GET /alive HTTP/1.1\rHost: localhost\r\n\r\n", {400}),
    ("a folded field", b"GET /alive HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n", {400}),
    ("a blank before the colon", b"GET /alive HTTP/1.1\r\nHost : x\r\n\r\n", {400}),
    ("no colon", b"GET /alive HTTP/1.1\r\nHost: localhost\r\nfoo\r\n\r\n", {400}),
    ("an empty name", b"GET /alive HTTP/1.1\r\nHost: localhost\r\n: y\r\n\r\n", {400}),
    ("a NUL in a field", b"GET /alive HTTP/1.1\r\nHost: localhost\r\nA: \0\r\n\r\n", {400}),
    ("a control byte in the target", b"GET /al\x01ive HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("no Host", b"GET /alive HTTP/1.1\r\n\r\n", {400}),
    ("two Hosts", b"GET /alive HTTP/1.1\r\nHost: localhost\r\nHost: y\r\n\r\n", {400}),
    ("a bad Host", b"GET /alive HTTP/1.1\r\nHost: a b\r\n\r\n", {400}),
    ("a relative target", b"GET alive HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("two lengths", b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
     b"Content-Length: 3\r\n\r\n{}", {400}),
    ("a list of lengths", b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\n"
     b"Content-Length: 2, 3\r\n\r\n{}", {400}),
    ("a signed length", b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\n"
     b"Content-Length: +2\r\n\r\n{}", {400}),
    ("a negative length", b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\n"
     b"Content-Length: -1\r\n\r\n{}", {400}),
    ("a length in hex", b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\n"
     b"Content-Length: 0x2\r\n\r\n{}", {400}),
    ("an endless length", b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\n"
     b"Content-Length: 99999999999999999999\r\n\r\n{}", {400, 413}),
    ("length and chunks", b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400}),
    ("an unknown coding", b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\n"
     b"Transfer-Encoding: gzip\r\n\r\n", {400, 501}),
    ("chunked twice", b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\n"
     b"Transfer-Encoding: chunked, chunked\r\n\r\n", {400, 501}),
    ("chunks in 1.0", b"POST /execute_action HTTP/1.0\r\nHost: localhost\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400}),
    ("a chunk size that is none", b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\n"
     b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", {400}),
    ("a chunk without its end", b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}X0\r\n\r\n", {400}),
    ("a head without an end", b"GET /alive HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 20000, {400, 431}),
    ("a field of 20 KB", b"GET /alive HTTP/1.1\r\nHost: localhost\r\nA: " + b"b" * 20000 + b"\r\n\r\n",
     {400, 431}),
    ("101 fields", b"GET /alive HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 101 + b"\r\n", {400, 431}),
    ("a target of 9 KB", b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 414}),
    ("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50 + b"\r\n\r\n", {400}),
    ("bytes of all kinds", bytes(range(256)) + b"\r\n\r\n", {400}),
)


def test_bad_heads():
    with Client() as client:
        for name, data, statuses in BAD_HEADS:
            refused(client, data, statuses, name)
        with client.conn() as c:
            c.send(b"POST /execute_action HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
                   b"Content-Length: 2\r\n\r\n{}" + ALIVE)
            answer = c.response()
            ok(answer.status == 400 and c.closed(), "nothing behind a bad head is served",
               repr(answer))
        eq(client.get("/alive").status, 200, "the server goes on")


def test_hang_ups():
    with Client() as client:
        pid = client.pid
        client.get("/alive")
        before = fds(pid)
        with client.conn() as c:
            c.send(ALIVE).half_close()
            ok(c.response().status == 200 and c.closed(), "an answer after a half-close")
        with client.conn() as c:
            c.send(request("POST", "/execute_action", action("run", command="echo half")))
            c.half_close()
            # From here it looks as if the client had gone: an answer comes at once,
            # and what the command still says waits for the next to ask.
            got = c.response().json()
            content = got["content"] or client.run("")["content"]
            eq((got["observation"], content), ("run", "half"), "an action's output is not lost")
        for data in (b"", b"GET", ALIVE[:-2], ALIVE,
                     request("POST", "/execute_action", Content_Length="100") + b"{"):
            for _ in range(20):
                client.conn().send(data).reset()
            for _ in range(20):
                client.conn().send(data).close()
        c = client.conn().send(request("POST", "/execute_action",
                                       action("run", command="echo $((40+2)) >f; echo got")))
        until(lambda: os.path.exists(os.path.join(client.work, "f")))
        c.reset()
        # Until it has ended another one is not taken.
        ok(until(lambda: client.run("cat f")["content"].endswith("42")),
           "a command goes on when the one who asked is gone")
        ok(until(lambda: fds(pid) <= before), "every descriptor is given back",
           f"{fds(pid)} instead of {before}")
        eq(client.get("/alive").status, 200, "the server goes on")


def test_slow_senders():
    """Many connections that never finish a head must not be in anybody's way."""
    with Client() as client:
        slow = [client.conn().send(b"GET /alive HTTP/1.1\r\nHost:") for _ in range(300)]
        times = []
        for _ in range(50):
            t = time.monotonic()
            with client.conn() as c:
                c.send(ALIVE).response()
            times.append(time.monotonic() - t)
        under(1000 * max(times), 200 * SLOW, "ms for /alive beside 300 slow senders")
        eq(client.run("echo on")["content"], "on", "actions go on beside them")
        ends = []
        for c in slow:
            try:
                ends.append(c.response(seconds=20).status)
            except Closed:
                ends.append("closed")
        ok(set(ends) <= {408, "closed"}, "all of them are ended in time", sorted(set(map(str, ends))))
        for c in slow:
            c.close()


def test_crowd():
    """More connections than there is room for: the newest are still served."""
    with Client() as client:
        crowd = []
        for _ in range(1100):
            crowd.append(client.conn())
        answers = 0
        for _ in range(20):
            with client.conn() as c:
                try:
                    answers += c.send(ALIVE).response().status in (200, 503)
                except Closed:
                    pass
        note(f"{answers} of 20 were answered beside 1,100 silent connections")
        ok(answers > 0, "the newest are answered beside a crowd of silent ones")
        for c in crowd:
            c.close()
        ok(until(lambda: client.get("/alive").status == 200), "all is well when they are gone")


def hostile_bodies():
    deep = 1 << 20
    yield "a million open brackets", b"[" * deep
    yield "a million open objects", b'{"a":' * deep
    yield "nested in pairs", b"[" * deep + b"]" * deep
    yield "a million empty arrays", b"[" + b"[]," * deep + b"0]"
    yield "a million keys", b"{" + b",".join(b'"%d":0' % i for i in range(300000)) + b"}"
    yield "one long string", b'"' + b"x" * (7 << 20) + b'"'
    yield "a long string of escapes", b'"' + b"\\u0041" * deep + b'"'
    yield "one long number", b"1" * (7 << 20)
    yield "blanks only", b" " * (7 << 20)
    yield "an unfinished string", b'{"action":"' + b"\\" * (7 << 20)
    yield "invalid UTF-8", b'{"action":"' + b"\xff" * deep + b'"}'
    yield "overlong UTF-8", b'{"action":"\xc0\xaf"}'
    yield "half a surrogate pair", b'{"action":{"action":"run","args":{"command":"\\ud800"}}}'
    yield "a NUL", b'{"action":\0}'
    yield "a byte order mark", b'\xef\xbb\xbf{"action":{"action":"read","args":{"path":"x"}}}'


def test_hostile_json():
    with Client() as client:
        for name, body in hostile_bodies():
            t = time.monotonic()
            answer = client.post("/execute_action", body)
            t = time.monotonic() - t
            ok(answer.status in (400, 422) and isinstance(answer.json()["detail"], str),
               f"refused: {name}", repr(answer))
            if not ok(t < 1 * SLOW, f"and at once: {name}", f"{t:.3f} s for {len(body)} bytes"):
                break
        memory = proc(client.pid, "status").decode()
        rss = int(memory.split("VmRSS:")[1].split()[0])
        slim(rss, 4096, "KiB resident after all of them")
        eq(client.run("echo still here")["content"], "still here", "the server goes on")


def test_json_suite():
    data = os.environ.get("OD_DATA") or os.path.join(os.path.dirname(TOP), "shared", "data")
    folder = os.path.join(data, "JSONTestSuite", "test_parsing")
    files = sorted(glob.glob(folder + "/*.json"))
    if not files:
        skip("JSONTestSuite through the server", "its texts are not here")
        return
    wrong = []
    with Client() as client:
        for path in files:
            name = os.path.basename(path)
            with open(path, "rb") as f:
                text = f.read()
            body = b'{"action":{"action":"read","args":{"path":"/nope","x":' + text + b"}}}"
            status = client.post("/execute_action", body).status
            want = {"n": (400, 422), "y": (200,), "i": (200, 400, 422)}[name[0]]
            if "duplicated_key" in name:
                want = (400,)
            if status not in want:
                wrong.append(f"{name}: {status}")
    ok(not wrong, f"JSONTestSuite through the server: {len(files)} texts", *wrong)


if __name__ == "__main__":
    main()
