#!/usr/bin/env python3
"""Proxied servers of MCP: /update_mcp_server, /mcp, /mcp/sse; and the npm SDK's client."""
import json
import os
import signal
import sys

import harness
from harness import DEADLINE, Client, Conn, alive, children, eq, has, main, ok, proc, request, until
from mcp import Mcp, Sse, log_of, packages, sdk, update

# A server by hand: what it does is told by the tool that is called.
SERVER = r'''
import json, os, subprocess, sys, time
NAME = sys.argv[1]
if NAME == "never":
    time.sleep(1000)
if NAME == "dies":
    sys.exit(3)
def put(m):
    sys.stdout.write(json.dumps(m) + "\n")
    sys.stdout.flush()
waiting = {}
for line in sys.stdin:
    m = json.loads(line)
    method, i, p = m.get("method"), m.get("id"), m.get("params") or {}
    def result(r):
        put({"jsonrpc": "2.0", "id": i, "result": r})
    def text(t):
        result({"content": [{"type": "text", "text": t}]})
    if method == "initialize":
        put({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        result({"protocolVersion": p["protocolVersion"], "capabilities": {}, "serverInfo": {}})
    elif method == "tools/list":
        if "cursor" not in p:
            result({"tools": [{"name": "one", "inputSchema": {"name": "inner"}}], "nextCursor": "c\n"})
        else:
            result({"tools": [{"inputSchema": {}, "name": "two"}]})
    elif method == "resources/list":
        result({"resources": [{"uri": "mem://a/b", "name": "x"}]})
    elif method == "resources/read":
        result({"contents": [{"uri": p["uri"], "text": NAME}]})
    elif method == "tools/call":
        what, args = p["name"], p.get("arguments", {})
        if what == "echo":
            text(NAME + json.dumps(args, sort_keys=True))
        elif what == "env":
            text(json.dumps([os.getuid(), os.getcwd(), os.environ.get("A"), sys.argv[2:]]))
        elif what == "fail":
            put({"jsonrpc": "2.0", "id": i, "error": {"code": -5, "message": "no", "data": [1]}})
        elif what == "die":
            os._exit(7)
        elif what == "close":
            os.close(1)
        elif what == "garbage":
            print("no message\n\n{]", flush=True)
            put({"jsonrpc": "2.0", "id": 999999, "result": {}})
            put({"jsonrpc": "2.0", "id": "mine", "method": "sampling/createMessage"})
            put({"jsonrpc": "2.0", "id": "ping", "method": "ping"})
            waiting["garbage"] = i
        elif what == "long":
            text("z" * args["n"])
        elif what == "endless":
            while True:
                sys.stdout.write("z" * 65536)
        elif what == "broken":
            print('{"jsonrpc": "2.0", "id": %d, %s}' % (i, args["rest"]), flush=True)
        elif what == "string":
            put({"jsonrpc": "2.0", "id": str(i), "result": {"content": [{"type": "text", "text": "x"}]}})
        elif what == "leave":
            subprocess.Popen(["yes", "{}"], start_new_session=True)
            os._exit(0)
        elif what == "deaf":
            os.close(0)
            time.sleep(1000)
        elif what == "wait":
            waiting[i] = True
            put({"jsonrpc": "2.0", "method": "notifications/progress", "params":
                 {"progressToken": p["_meta"]["progressToken"], "progress": 0.5, "message": "half"}})
        elif what == "cancelled":
            text(json.dumps(waiting.get("cancelled")))
    elif method == "notifications/cancelled":
        waiting["cancelled"] = p["requestId"] in waiting
    elif method is None and i == "mine":
        waiting["error"] = m["error"]["code"]
    elif method is None and i == "ping":
        put({"jsonrpc": "2.0", "id": waiting["garbage"], "result":
             {"content": [{"type": "text", "text": str(waiting["error"]) + str(m["result"])}]}})
    elif i is not None:
        put({"jsonrpc": "2.0", "id": i, "error": {"code": -32601, "message": "nothing " + method}})
'''


def entry(client, name, *args, **more):
    path = os.path.join(client.top, "server.py")
    with open(path, "w") as f:
        f.write(SERVER)
    return {"name": name, "command": sys.executable, "args": [path, name, *args], **more}


def servers(client):
    """The processes of servers that run."""
    return [p for p in children(client.pid) if b"server.py" in proc(p, "cmdline") and alive(p)]


def test_update():
    with Client() as client:
        for body in ({}, "x", 1):
            answer = update(client, body)
            eq((answer.status, answer.json()), (400, {
                "detail": "Request must be a list of MCP tools to sync"}), f"not a list: {body}")
        for bad in ({}, {"name": "a"}, {"name": "a b", "command": "x"}, {"name": "", "command": "x"},
                    {"name": "a", "command": "x y"}, {"name": "a", "command": ""}, 1,
                    {"name": "a", "command": "x", "args": {}}, {"name": "a", "command": "x", "args": [1]},
                    {"name": "a", "command": "x", "args": "'"}, {"name": "a", "command": "x", "env": []},
                    {"name": "a" * 65, "command": "x"}):
            eq(update(client, [entry(client, "good"), bad]).status, 500, f"an entry that is none: {bad}")
        eq(servers(client), [], "and nothing was started")
        eq(log_of(update(client, [])), "", "no server")
        mcp = Mcp(client.port, "/mcp")
        eq(mcp.ask("tools/list")["result"], {"tools": []}, "has no tools")
        eq(mcp.ask("tools/call", name="x")["error"]["code"], -32602, "none to call")
        log = log_of(update(client, [{"name": "no", "command": "no-such-program"},
                                     entry(client, "dies")]))
        has(log, "no: ", "a program that is missing is told")
        has(log, "dies: it has ended with exit code 3", "one that dies is told")
        has(mcp.ask("tools/call", name="no_x")["error"]["message"], "no is not ready", "and it says so")
        eq(log_of(update(client, [entry(client, "no"), entry(client, "dies", env={"A": "B"},
           args=f"{client.top}/server.py 'a b' c\\ d \"e\"")])), "", "they are replaced")
        eq(len(mcp.ask("tools/list")["result"]["tools"]), 4, "and there")
        got = json.loads(mcp.call("dies_env")[0])
        eq(got, [os.getuid(), client.work, "B", ["c d", "e"]], "words and environment")
        eq(update(client, [entry(client, f"s{i}") for i in range(31)]).status, 500, "too many")
        eq(len(servers(client)), 2, "are not started")
        with Conn(client.port) as conn:
            conn.send(request("POST", "/update_mcp_server", b"[]", Origin="http://evil.test"))
            eq(conn.response().status, 403, "nor by a foreign page")
        many = [{"name": f"s{i}", "command": "no-such-program"} for i in range(30)]
        eq(update(client, many).status, 200, "as many as there may be")
        eq(update(client, many).status, 200, "all of whom may be replaced")
        eq(update(client, [{"name": "more", "command": "x"}]).status, 500, "one more may not")


def test_names():
    with Client() as client:
        update(client, [entry(client, "a")])
        mcp = Mcp(client.port, "/mcp")
        tools = mcp.ask("tools/list")["result"]["tools"]
        eq(tools, [{"name": "one", "inputSchema": {"name": "inner"}},
                   {"inputSchema": {}, "name": "two"}], "one server: its names, all pages")
        eq(mcp.call("echo", x=1)[0], 'a{"x": 1}', "a call")
        eq(mcp.ask("resources/read", uri="mem://a/b")["result"]["contents"][0]["uri"], "mem://a/b",
           "a resource")
        eq(mcp.ask("x/y")["error"]["message"], "nothing x/y", "other methods are its own matter")
        eq(mcp.ask("tools/call", name="fail")["error"], {"code": -5, "message": "no", "data": [1]},
           "so are errors")
        update(client, [entry(client, "a_b")])
        tools = mcp.ask("tools/list")["result"]["tools"]
        eq([t["name"] for t in tools], ["a_one", "a_two", "a_b_one", "a_b_two"], "two servers")
        eq(mcp.call("a_echo")[0], "a{}", "the first")
        eq(mcp.call("a_b_echo")[0], "a_b{}", "the longest name counts")
        eq(mcp.ask("tools/call", name="echo")["error"]["code"], -32602, "without a name")
        uris = [r["uri"] for r in mcp.ask("resources/list")["result"]["resources"]]
        eq(sorted(uris), ["mem://a/a/b", "mem://a_b/a/b"], "resources")
        eq(mcp.ask("resources/read", uri=uris[1])["result"]["contents"][0]["uri"], "mem://a/b",
           "are read from where they are")
        eq(mcp.ask("prompts/list")["result"], {"prompts": []}, "a list that none of them has")
        silent = next(p for p in servers(client) if proc(p, "cmdline").endswith(b"\0a_b\0"))
        os.kill(silent, signal.SIGSTOP)
        got = mcp.post(mcp.request("tools/list"), 3 * DEADLINE).messages[-1]["result"]
        eq([t["name"] for t in got["tools"]], ["a_one", "a_two"], "one that is silent does not hold up the other")


def test_faults():
    with Client() as client:
        update(client, [entry(client, "a")])
        mcp = Mcp(client.port, "/mcp")
        eq(mcp.call("garbage")[0], "-32601{}", "garbage is passed over, what it asks is answered")
        eq(len(mcp.call("long", n=3000000)[0]), 3000000, "a long answer")
        eq(len(mcp.call("echo", x="y" * 3000000)[0]), 3000000 + 10, "a long question")
        eq(mcp.call("string")[0], "x", "an id that has become a string")
        for rest in ('"result": NaN', '"result": "\\ud800"', '"result": ' + "[" * 99 + "]" * 99,
                     '"result": {}, "error": {}', '"result": {}, "result": 1', '"result'):
            has(mcp.ask("tools/call", name="broken", arguments={"rest": rest})["error"]["message"],
                "The MCP server a has given no valid answer: ", f"an answer that is none: {rest[:30]}")
        pid = servers(client)[0]
        with mcp.send(mcp.request("tools/call", name="wait", arguments={},
                                  _meta={"progressToken": "t"})) as conn:
            ok(until(lambda: not conn.idle()), "a call waits")
            got = mcp.ask("tools/call", name="die")["error"]["message"]
            has(got, "The MCP server a failed: it has ended with exit code 7", "its death is told")
            body = conn.response().body
            has(body.decode(), "failed: it has ended", "to all who wait")
        ok(until(lambda: servers(client) and servers(client) != [pid]), "another one is started")
        ok(until(lambda: "result" in mcp.ask("tools/call", name="echo", arguments={})),
           "and answers")
        has(mcp.ask("tools/call", name="close")["error"]["message"], "failed", "a closed output")
        ok(until(lambda: "result" in mcp.ask("tools/call", name="echo", arguments={})), "again")
        has(mcp.ask("tools/call", name="endless")["error"]["message"], "too long",
            "a message without an end")
        ok(until(lambda: "result" in mcp.ask("tools/call", name="echo", arguments={})), "and again")
        has(mcp.ask("tools/call", name="deaf")["error"]["message"], "failed", "a closed input")
        ok(until(lambda: "result" in mcp.ask("tools/call", name="echo", arguments={})), "still again")
        has(mcp.ask("tools/call", name="leave")["error"]["message"], "exit code 0",
            "its end is told though somebody goes on writing in its name")
        ok(until(lambda: "result" in mcp.ask("tools/call", name="echo", arguments={})), "once more")
        ok(len(client.log()) < 20000, "what is no message does not fill the log", len(client.log()))
        os.kill(servers(client)[0], signal.SIGSTOP)
        with mcp.send(mcp.request("tools/call", name="echo", arguments={})) as conn:
            update(client, [entry(client, "a")])
            has(conn.response().body.decode(), "was replaced", "whom a replacement cuts off hears it")
        eq(mcp.call("echo")[0], "a{}", "the new one answers")
        ok(until(lambda: len(servers(client)) == 1), "the old one is gone")


def test_cancel():
    with Client() as client:
        update(client, [entry(client, "a")])
        mcp = Mcp(client.port, "/mcp")
        call = mcp.request("tools/call", name="wait", _meta={"progressToken": "mine", "x": 1})
        with mcp.send(call) as conn:
            ok(until(lambda: not conn.idle()), "progress comes")
            mcp.tell("notifications/cancelled", requestId=call["id"])
            text = conn.response().body.decode()
            has(text, '"progressToken":"mine","progress":0.5,"message":"half"', "under our token")
            ok('"result"' not in text and '"error"' not in text, "no answer comes")
        eq(mcp.call("cancelled")[0], "true", "the server has heard of it")


def test_sse():
    with Client() as client:
        update(client, [entry(client, "a")])
        for path in "/mcp/sse", "/sse":
            sse = Sse(client, path)
            has(sse.head, "content-type: text/event-stream", path)
            got = sse.ask("initialize", protocolVersion="2024-11-05", capabilities={}, clientInfo={})
            eq(got["result"]["protocolVersion"], "2024-11-05", "hello")
            eq(sse.tell({"jsonrpc": "2.0", "method": "notifications/initialized"}).status, 202, "told")
            eq(len(sse.ask("tools/list")["result"]["tools"]), 2, "its tools")
            eq(sse.ask("tools/call", name="echo", arguments={"a": 1})["result"]["content"][0]["text"],
               'a{"a": 1}', "a call")
            got = sse.ask("tools/call", name="wait", _meta={"progressToken": 5})
            eq(got["params"]["progressToken"], 5, "progress")
            sse.tell({"jsonrpc": "2.0", "method": "notifications/cancelled",
                      "params": {"requestId": sse.last}})
            eq(sse.ask("tools/call", name="cancelled")["result"]["content"][0]["text"], "true",
               "cancelled")
            eq(sse.tell([]).status, 400, "nothing")
            eq(sse.tell([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]).status, 400, "a list")
            sse.tell({"jsonrpc": "2.0", "id": 77, "method": "tools/call",
                      "params": {"name": "wait", "_meta": {"progressToken": 6}}})
            sse.sock.close()
            ok(until(lambda: sse.tell({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status == 404),
               "the session ends with the stream")
        sse = Sse(client)
        mcp = Mcp(client.port)
        with mcp.send(mcp.request("tools/call", name="bash", arguments={"command": "sleep 1000"}),
                      Accept="application/json") as conn:
            ok(until(lambda: any(proc(p, "cmdline").startswith(b"sleep\0001000")
                                 for p in harness.descendants(client.pid))), "a command runs")
            client.process.terminate()
            try:
                while True:
                    sse.event()
            except harness.Closed:
                ok(conn.idle(), "the stop of the server ends the stream, before what has an end")
        eq(harness.wait_exit(client.process), 0, "and it stops")


def test_too_many():
    with Client() as client:
        update(client, [entry(client, "a")])
        sse = Sse(client)
        sse.ask("initialize", protocolVersion="2024-11-05", capabilities={}, clientInfo={})
        for i in range(257):
            sse.tell({"jsonrpc": "2.0", "id": 1000 + i, "method": "tools/call",
                      "params": {"name": "wait", "_meta": {"progressToken": i}}})
        refused = []
        while not refused:
            message = json.loads(sse.event()[1])
            refused += [message] if "error" in message else []
        eq((refused[0]["id"], refused[0]["error"]["message"]),
           (1256, "Too many calls are running. Wait until one has ended."), "one call too many")
        sse.sock.close()


def test_nothing_without():
    with Client() as client:
        ok(until(lambda: len(children(client.pid)) == 1), "no process but the shell")
        eq(Mcp(client.port, "/mcp").ask("ping")["result"], {}, "an endpoint without servers")


# --- The SDK of npm -------------------------------------------------------------------


def tool(name, **arguments):
    return ["callTool", {"name": name, "arguments": arguments}]


def test_sdk():
    folder = packages()
    if not folder:
        return
    everything = os.path.join(folder, "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
    with Client() as client:
        eq(log_of(update(client, [{"name": "all", "command": "node", "args": [everything]}])), "",
           "server-everything")
        url = f"http://127.0.0.1:{client.port}"
        own = [["listTools"], ["callTool", {"name": "bash", "arguments": {"command": "echo $((6*7))"}}]]
        tools, bash = sdk(folder, "http", url + "/mcp/sandbox", calls=own)
        eq(len(tools["result"]["tools"]), 10, "the sandbox's tools")
        has(bash["result"]["content"][0]["text"], "42", "its shell")
        slow = {"name": "trigger-long-running-operation", "arguments": {"duration": 0.4, "steps": 2}}
        calls = [["listTools"], ["callTool", {"name": "echo", "arguments": {"message": "m"}}],
                 ["listResources"], ["listPrompts"], ["callTool", slow],
                 ["getPrompt", {"name": "simple-prompt"}], ["callTool", {"name": "none"}],
                 tool("trigger-sampling-request", prompt="p", maxTokens=7),
                 tool("trigger-elicitation-request"), tool("get-roots-list"),
                 ["setLoggingLevel", "error"],
                 ["complete", {"ref": {"type": "ref/prompt", "name": "completable-prompt"},
                               "argument": {"name": "department", "value": "E"}}]]
        for kind, path in ("http", "/mcp"), ("sse", "/mcp/sse"):
            got = sdk(folder, kind, url + path, calls=calls)
            ok(len(got[0]["result"]["tools"]) > 5, f"{kind}: tools")
            eq(got[1]["result"]["content"][0]["text"], "Echo: m", f"{kind}: a call")
            ok(got[2]["result"]["resources"] and got[3]["result"]["prompts"], f"{kind}: the rest")
            # The SDK may lose what comes just before the result.
            eq(got[4]["progress"][:1], [1], f"{kind}: progress")
            ok(got[5]["result"]["messages"], f"{kind}: a prompt")
            ok("error" in got[6] or got[6]["result"]["isError"], f"{kind}: an error")
            for i, word in enumerate(("sampled 7", "elicited", "file:///rooted")):
                has(json.dumps(got[7 + i].get("result")), word, f"{kind}: the client is asked")
            eq(got[10].get("result"), {}, f"{kind}: a level")
            has(got[11]["result"]["completion"]["values"], "Engineering", f"{kind}: a completion")


if __name__ == "__main__":
    main()
