#!/usr/bin/env python3
"""The sandbox as a server of the Model Context Protocol: /mcp/sandbox."""
import base64
import json
import os

from harness import DEADLINE, Client, Gate, children, eq, has, main, ok, until
from mcp import Mcp, events, unchunk
from test_crash import murder


def test_session():
    with Client() as client:
        mcp = Mcp(client.port)
        eq(mcp.version, "2025-06-18", "the version that was asked for")
        eq(mcp.hello["result"]["capabilities"], {"tools": {}}, "the capabilities")
        ok(len(mcp.session) == 32, "a session")
        for version in "2024-11-05", "2025-03-26":
            eq(Mcp(client.port, version=version).version, version, f"version {version}")
        eq(Mcp(client.port, version="1999-01-01").version, "2025-06-18",
           "an unknown version is answered with the latest")
        eq(mcp.ask("ping")["result"], {}, "a ping")
        eq(mcp.tell("notifications/initialized").status, 202, "a notification")
        eq(mcp.tell("notifications/initialized").body, b"", "its answer has no body")
        eq(mcp.ask("resources/list")["error"]["code"], -32601, "another method")
        eq(mcp.post(b"", method="DELETE").status, 200, "the session ends")
        eq(mcp.post(mcp.request("ping")).status, 404, "and is not known any more")
        bad = Mcp(client.port, start=False)
        eq(bad.ask("initialize")["error"]["code"], -32602, "initialize without a version")
        eq(bad.post(b"", method="DELETE", Mcp_Session_Id=None).status, 400,
           "nothing to end without a session")


def test_once():
    """With an id of the caller's in _meta a call is done once, whoever asks again, and how."""
    with Client(role="init") as client:
        mcp = Mcp(client.port)

        def call(mcp, id, tool="bash", **args):
            return mcp.ask("tools/call", name=tool, arguments=args, _meta={"od-runtime/action-id": id})
        got = call(mcp, "m1", command="echo x >>times; echo $RANDOM; pwd", timeout=9)["result"]
        has(got["content"][0]["text"], client.work, "a call with an id")
        eq([got["isError"], got["_meta"]["exit_code"]], [False, 0], "as any other")
        eq(call(Mcp(client.port), "m1", command="echo x >>times; echo $RANDOM; pwd", timeout=9)["result"], got,
           "again, in another session: the same answer")
        other = call(mcp, "m1", command="echo other")["result"]
        eq([other["isError"], other["content"][0]["text"]],
           [True, "This id was already used for another action. Use a new id."], "another call under that id")
        for bad in "", "a b", "x" * 65, "\\n":
            eq(call(mcp, bad, command="true")["result"]["isError"], True, f"no id: {bad[:5]!r}")
        got = call(mcp, "w1", "write", path=os.path.join(client.work, "f"), content="once")["result"]
        eq(got["isError"], False, "other tools, too")
        got = call(mcp, "l1", "list", path=client.work)["result"]
        has(got["content"][0]["text"], "times", "and those that are an action with more")
        gate = Gate(client)
        lost = Mcp(client.port)
        with lost.send(lost.request("tools/call", name="bash", _meta={"od-runtime/action-id": "m2"}, arguments={
                "command": f"echo x >>times; cat {gate}; echo end"})) as conn:
            times = os.path.join(client.work, "times")
            ok(until(lambda: open(times).read() == "x\nx\n"), "one is on its way")
            conn.reset()
        murder(client)
        gate.go(b"")
        got = call(Mcp(client.port), "m2", command=f"echo x >>times; cat {gate}; echo end")["result"]
        has(got["content"][0]["text"], "end", "after a hang-up and a crash of the server it has its answer")
        with open(times) as f:
            eq(f.read(), "x\nx\n", "and was done once")
        again = Mcp(client.port)
        message = again.request("tools/call", name="bash", _meta={"od-runtime/action-id": "m3"},
                                arguments={"command": "echo begun; sleep 1000"})
        with again.send(message) as conn:
            ok(until(lambda: client.get("/v1/actions/m3/out").body == b"begun\r\n"), "one that runs")
            again.tell("notifications/cancelled", requestId=message["id"])
            conn.closed()
        ok(until(lambda: client.get("/v1/actions/m3").json()["state"] == "done"), "is ended on request")


def test_many_sessions():
    with Client() as client:
        first = Mcp(client.port)
        second = Mcp(client.port)
        for _ in range(63):
            Mcp(client.port)
            first.ask("ping")
        eq(first.ask("ping")["result"], {}, "one that is used stays")
        eq(second.post(second.request("ping")).status, 404, "the one that was not made room")


def test_what_is_refused():
    with Client() as client:
        mcp = Mcp(client.port)
        ping = mcp.request("ping")
        for origin, status in (("http://evil.test", 403), ("null", 403), ("http://localhost", 200),
                               ("http://localhost.evil.test", 403), ("http://127.0.0.1:80", 200),
                               ("https://[::1]:1", 200), ("localhost", 403)):
            eq(mcp.post(ping, Origin=origin).status, status, f"origin {origin}")
        for field, value, status in (("Content_Type", "text/plain", 415),
                                     ("Accept", "text/html", 406),
                                     ("MCP_Protocol_Version", "2025-06-18", 200),
                                     ("MCP_Protocol_Version", "1", 400),
                                     ("Mcp_Session_Id", None, 400),
                                     ("Mcp_Session_Id", "0" * 32, 404)):
            eq(mcp.post(ping, **{field: value}).status, status, f"{field} {value}")
        for body, code in ((b"{", -32700), (b"[]", -32600), (b"{}", -32600),
                           (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                           (b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', -32600)):
            answer = mcp.post(body)
            eq((answer.status, answer.json()["error"]["code"], answer.json()["id"]),
               (400, code, None), f"{body}")
        answer = mcp.post(b"", method="GET")
        eq((answer.status, answer.field("allow")), (405, "POST, DELETE"), "there is no GET")
        answer = mcp.post(ping, Accept="application/json")
        eq(answer.field("content-type"), "application/json", "a client that takes no events")
        answer = mcp.post(ping, Accept="text/event-stream")
        eq((answer.field("content-type"), answer.messages[0]["result"]),
           ("text/event-stream", {}), "one that takes nothing else")
        two = mcp.post([mcp.request("ping"), mcp.request("nothing"),
                        {"jsonrpc": "2.0", "method": "n"}]).json()
        eq([("result" in m, m["id"]) for m in two], [(True, mcp.last - 1), (False, mcp.last)],
           "a list of messages")


def test_key():
    with Client(env={"SESSION_API_KEY": "secret"}) as client:
        eq(Mcp(client.port, start=False).post(b"{}").status, 403, "no key")
        for fields in ({"Authorization": "Bearer secret"}, {"Authorization": "bearer  secret"},
                       {"X_Session_API_Key": "secret"},
                       {"X_Session_API_Key": "secret", "Authorization": "Bearer other"}):
            eq(Mcp(client.port, **fields).ask("ping")["result"], {}, f"{fields}")
        for fields in ({"Authorization": "Bearer other"}, {"Authorization": "Basic secret"},
                       {"Authorization": "Bearer "}, {"Authorization": "secret"},
                       {"X_Session_API_Key": "other", "Authorization": "Bearer secret"}):
            mcp = Mcp(client.port, start=False, **fields)
            eq(mcp.post(b"{}").status, 403, f"{fields}")


def check_schema(tool):
    schema = tool["inputSchema"]
    good = schema["type"] == "object" and schema["additionalProperties"] is False
    for name, p in schema["properties"].items():
        good = good and p["type"] in ("string", "boolean", "integer", "number", "array")
    ok(good and set(schema["required"]) <= set(schema["properties"]), f"schema of {tool['name']}",
       schema)


def test_tools():
    with Client("--plugins", "jupyter") as client:
        mcp = Mcp(client.port)
        tools = {t["name"]: t for t in mcp.ask("tools/list")["result"]["tools"]}
        eq(list(tools), "bash read write edit list glob grep ipython browser_navigate browser_act".split(),
           "the tools")
        for tool in tools.values():
            check_schema(tool)
        eq(tools["bash"]["inputSchema"]["required"], ["command"], "what bash needs")
        eq(list(tools["list"]["inputSchema"]["properties"]), ["path"], "what list has")
        eq(tools["edit"]["inputSchema"]["properties"]["command"]["enum"][0], "view", "words")

        text, error = mcp.call("bash", command="echo out; false")
        eq((text, error), ("out\n[The command completed with exit code 1.]", False), "bash")
        last = mcp.ask("tools/call", name="bash", arguments={"command": "cd /; pwd"})
        eq(last["result"]["_meta"], {"exit_code": 0, "working_dir": "/"}, "its metadata")
        mcp.call("bash", command=f"cd {client.work}")
        eq(mcp.call("write", path="a.txt", content="one\ntwo é \"q\"\n"),
           (f"I wrote to the file {client.work}/a.txt.", False), "write")
        eq(mcp.call("read", path="a.txt")[0].rstrip("\n"), "one\ntwo é \"q\"", "read")
        has(mcp.call("edit", command="str_replace", path=f"{client.work}/a.txt", old_str="one",
                     new_str="three")[0], "1\tthree", "edit")
        eq(mcp.call("read", path="no")[1], True, "an error of a tool is one")
        has(mcp.call("list", path=client.work)[0], f"{client.work}/a.txt", "list")
        eq(json.loads(mcp.call("glob", pattern="*.txt")[0])["paths"], ["a.txt"], "glob")
        eq(json.loads(mcp.call("grep", pattern="t.o")[0])["matches"], 1, "grep")
        has(mcp.call("grep", pattern="(")[0], "pattern: ", "a pattern that is none")
        has(mcp.call("ipython", code="6*7")[0], "42\n", "ipython")
        eq(mcp.call("bash", cmd="x"), ("The tool bash has no argument cmd", True), "argument")
        eq(mcp.call("list", path="/", start=1)[1], True, "an argument of another tool")
        eq(mcp.call("bash"), ('The run action needs the argument "command", a string.', True),
           "a missing argument")
        eq(mcp.call("bash", command="true", timeout="x")[1], True, "no timeout")
        eq(mcp.ask("tools/call", name="x")["error"]["code"], -32602, "no such tool")
        eq(mcp.ask("tools/call", name="bash", arguments=[])["error"]["code"], -32602,
           "arguments that are no object")


def test_image():
    pixel = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
                             "WjR9awAAAABJRU5ErkJggg==")
    with Client() as client:
        with open(os.path.join(client.work, "p.png"), "wb") as f:
            f.write(pixel)
        result = Mcp(client.port).ask("tools/call", name="read", arguments={"path": "p.png"})
        part = result["result"]["content"][0]
        eq((part["type"], part["mimeType"], base64.b64decode(part["data"])),
           ("image", "image/png", pixel), "an image")
        for text in "data:image/png", "data:image/png;base64,":
            got = Mcp(client.port).call("bash", command=f"printf %s '{text}'")[0]
            has(got, text, "text that only begins like one")


def test_no_jupyter():
    with Client() as client:
        text, error = Mcp(client.port).call("ipython", code="1")
        ok(error and "Jupyter" in text, "a plugin that was not asked for", text)


def test_long():
    with Client() as client:
        mcp = Mcp(client.port)
        gate = Gate(client)
        call = mcp.request("tools/call", name="bash", arguments={"command": f"read x < {gate}; echo end"})
        call["params"]["_meta"] = {"progressToken": "p"}
        with mcp.send(call) as conn:
            ok(until(lambda: not conn.idle()), "something comes before the result")
            gate.go()
            answer = conn.response()
        eq(answer.field("content-type"), "text/event-stream", "a long call is a stream")
        first, *_, last = events(unchunk(answer.body))
        eq((first["method"], first["params"]), ("notifications/progress", {"progressToken": "p", "progress": 1}),
           "the progress")
        has(last["result"]["content"][0]["text"], "end", "then the result")


def running(client, words):
    """Whether a command of the sandbox with these words is there."""
    shells = [pid for c in children(client.pid) for pid in children(c)]
    for pid in shells:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if f.read().startswith(words):
                    return True
        except OSError:
            pass
    return False


def test_cancel():
    with Client() as client:
        mcp = Mcp(client.port)
        call = mcp.request("tools/call", name="bash",
                           arguments={"command": "sleep 1000", "blocking": True})
        second = mcp.request("tools/call", name="bash", arguments={"command": "echo second"})
        with mcp.send(call) as conn, mcp.send(second) as waiting:
            ok(until(lambda: running(client, b"sleep\0001000")), "it runs")
            mcp.tell("notifications/cancelled", requestId=9999)
            mcp.tell("notifications/cancelled", requestId=second["id"])
            answer = waiting.response()
            ok(answer.status == 200 and b"jsonrpc" not in answer.body,
               "a call in line is cancelled", answer)
            ok(running(client, b"sleep\0001000"), "which does not end the one before it")
            mcp.tell("notifications/cancelled", requestId=call["id"])
            answer = conn.response()
            ok(answer.status == 200 and b"jsonrpc" not in answer.body, "no answer comes", answer)
            ok(until(lambda: not running(client, b"sleep\0001000")), "and it is interrupted")
        ok(until(lambda: client.get("/v1/sessions").json()["sessions"][0]["state"] == "done"),
           "which its shell knows")
        ok("\nnext" in mcp.call("bash", command="echo next")[0], "the shell is there for the next")
        with mcp.send(mcp.request("tools/call", name="bash",
                                  arguments={"command": "sleep 1001"})) as conn:
            ok(until(lambda: running(client, b"sleep\0001001")), "another one runs")
            mcp.post(b"", method="DELETE")
            ok(until(lambda: not running(client, b"sleep\0001001")), "the session's end ends it")


def test_hang_up():
    with Client() as client:
        mcp = Mcp(client.port)
        with mcp.send(mcp.request("tools/call", name="bash",
                                  arguments={"command": "sleep 0.5; echo kept"})):
            ok(until(lambda: running(client, b"sleep\0000.5")), "a command runs")
        ok(until(lambda: "kept" in mcp.call("bash", command="")[0]),
           "who hangs up does not cancel: its output can be asked for")
        for _ in range(20):
            with mcp.send(mcp.request("tools/call", name="glob",
                                      arguments={"pattern": "**", "path": "/proc"})):
                pass
        eq(mcp.ask("ping")["result"], {}, "searches that nobody waits for end")


def test_stop():
    with Client() as client:
        mcp = Mcp(client.port)
        with mcp.send(mcp.request("tools/call", name="bash",
                                  arguments={"command": "sleep 1000"})) as conn:
            ok(until(lambda: running(client, b"sleep\0001000")), "it runs")
            client.process.terminate()
            answer = conn.response(DEADLINE)
            text = unchunk(answer.body) if answer.field("transfer-encoding") else answer.body
            message = events(text)[-1] if b"data: " in text else json.loads(text)
            has(message["result"]["content"][0]["text"], "shutting down", "the stop is told")


if __name__ == "__main__":
    main()
