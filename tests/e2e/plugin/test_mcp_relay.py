#!/usr/bin/env python3
"""What proxied servers of MCP ask of clients and tell them; how they are ended."""
import json
import os
import signal
import sys

import harness
from harness import Client, alive, children, eq, has, main, ok, proc, pss_kib, slim, until
from mcp import Events, Mcp, Sse, log_of, update

# A server that asks and tells what it is called for.
SERVER = r'''
import json, os, signal, sys, time
NAME, FILE = sys.argv[1:3]
if NAME == "stubborn":
    def told(*_):
        open(FILE, "a").write("told\n")
    signal.signal(signal.SIGTERM, told)
def put(**m):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **m}) + "\n")
    sys.stdout.flush()
asked, seen, last = {}, [], None
for line in sys.stdin:
    m = json.loads(line)
    method, i, p = m.get("method"), m.get("id"), m.get("params") or {}
    def text(t):
        put(id=i, result={"content": [{"type": "text", "text": json.dumps(t)}]})
    if method == "initialize":
        can = p["capabilities"]
        put(id=i, result={"protocolVersion": p["protocolVersion"], "capabilities": {}, "serverInfo": {}})
    elif method is None:
        last = m
        if i == "y":
            open(FILE + ".new", "w").write(line)
            os.rename(FILE + ".new", FILE + ".last")
        if i in asked:
            i = asked.pop(i)
            text(last)
    elif method == "tools/list":
        put(id=i, result={"tools": [{"name": "t", "inputSchema": {}}]})
    elif method == "completion/complete":
        put(id=i, result={"completion": {"values": [NAME, json.dumps(p["ref"])]}})
    elif method == "tools/call":
        what, args = p["name"], p.get("arguments", {})
        if what == "ask":
            asked["x"] = i
            put(id="x", **args)
        elif what == "later":
            text(0)
            put(id="y", **args)
        elif what == "cancel":
            put(method="notifications/cancelled", params={"requestId": "x", "reason": "over"})
            asked.clear()
            text(0)
        elif what == "tell":
            put(**args)
            text(0)
        elif what == "seen":
            text(seen)
        elif what == "last":
            text(last)
        elif what == "can":
            text(can)
        elif what == "die":
            os._exit(1)
    else:
        seen.append([method, p])
        if i is not None:
            put(id=i, result={})
open(FILE, "a").write("end\n")
if NAME == "stubborn":
    while True:
        time.sleep(1000)
'''
SAMPLE = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}


def entry(client, name="a"):
    path = os.path.join(client.top, "relay.py")
    with open(path, "w") as f:
        f.write(SERVER)
    return {"name": name, "command": sys.executable, "args": [path, name, client.top + "/" + name]}


def servers(client):
    return [p for p in children(client.pid) if b"relay.py" in proc(p, "cmdline") and alive(p)]


def later(client):
    """What the server was answered outside of any call: asking it would be one."""
    path = client.top + "/a.last"
    ok(until(lambda: os.path.exists(path)), "the server has an answer")
    with open(path) as f:
        got = json.load(f)
    os.unlink(path)
    return got


def changed():
    return [f"notifications/{x}/list_changed" for x in ("tools", "resources", "prompts")]


def test_asked():
    with Client() as client:
        eq(log_of(update(client, [entry(client)])), "", "a server")
        sse = Sse(client, sampling={}, elicitation={})
        eq(sorted(sse.call("can")), ["elicitation", "roots", "sampling"], "all can be asked for")
        call = sse.start("tools/call", name="ask", arguments={
            "method": "sampling/createMessage", "params": {"_meta": {"progressToken": "p", "k": 1}, "m": [2]}})
        got = sse.message()
        eq((got["method"], got["params"]["m"], got["params"]["_meta"]["k"]),
           ("sampling/createMessage", [2], 1), "the client is asked")
        eq(got["params"]["_meta"]["progressToken"], got["id"], "under our token")
        sse.tell({"jsonrpc": "2.0", "method": "notifications/progress",
                  "params": {"progressToken": got["id"], "progress": 1, "message": "m"}})
        sse.tell({"jsonrpc": "2.0", "id": got["id"], "result": {"role": "assistant"}})
        text = sse.answer(call)["result"]["content"][0]["text"]
        eq(json.loads(text), {"jsonrpc": "2.0", "id": "x", "result": {"role": "assistant"}},
           "and his answer comes under the server's id")
        has(sse.call("seen"), ["notifications/progress", {"progressToken": "p", "progress": 1, "message": "m"}],
            "so did his progress")

        call = sse.start("tools/call", name="ask", arguments={"method": "elicitation/create", "params": {}})
        id_ = sse.message()["id"]
        sse.tell({"jsonrpc": "2.0", "id": id_, "error": {"code": -1, "message": "user rejected"}})
        has(sse.answer(call)["result"]["content"][0]["text"], "user rejected", "an error, too")
        eq(sse.call("ask", method="roots/list")["error"]["code"], -32601, "what he has not said that he can")
        eq(sse.call("ask", method="tasks/list")["error"]["code"], -32601, "what nobody can")
        eq(sse.call("ask", method="ping")["result"], {}, "a ping is for us")

        sse.start("tools/call", name="ask", arguments=SAMPLE)
        id_ = sse.message()["id"]
        sse.start("tools/call", name="cancel")
        eq(sse.heard("notifications/cancelled")["params"]["requestId"], id_, "a cancellation under our id")
        sse.tell({"jsonrpc": "2.0", "id": id_, "result": {"late": 1}})
        eq(sse.call("last")["result"], {}, "what comes too late is dropped")

        sse.start("tools/call", name="ask", arguments=SAMPLE)
        id_ = sse.message()["id"]
        sse.start("tools/call", name="die")
        eq(sse.heard("notifications/cancelled")["params"]["requestId"], id_, "a server that dies needs none")
        ok(until(lambda: "result" in sse.answer(sse.start("tools/call", name="can"))), "it is back")

        sse.start("tools/call", name="ask", arguments=SAMPLE)
        sse.message()
        sse.sock.close()
        other = Sse(client, none={})
        ok(until(lambda: (other.call("last") or {}).get("error")), "a client that leaves")
        has(other.call("last")["error"]["message"], "has left", "is told of")


def test_whom():
    with Client() as client:
        update(client, [entry(client)])
        one, two = Sse(client, sampling={}), Sse(client, sampling={}, roots={})
        one.call("later", **SAMPLE)
        has(later(client)["error"]["message"], "Several connected clients", "whom is meant cannot be told")
        call = two.start("tools/call", name="ask", arguments=SAMPLE)
        got = two.heard("sampling/createMessage")
        two.tell({"jsonrpc": "2.0", "id": got["id"], "result": {"two": 2}})
        has(two.answer(call)["result"]["content"][0]["text"], '"two": 2', "who has called is asked")
        eq(one.tell({"jsonrpc": "2.0", "id": got["id"], "result": {}}).status, 202, "no other may answer")
        one.call("later", method="roots/list")
        id_ = two.heard("roots/list")["id"]
        two.tell({"jsonrpc": "2.0", "id": id_, "result": {"roots": []}})
        eq(later(client)["result"], {"roots": []}, "else the only one that can")
        none = one.call("ask", method="roots/list")
        eq(none["error"]["code"], -32601, "but nobody for the one who calls")
        said = [m for m, _ in one.call("seen")]
        eq(said, ["notifications/initialized", "notifications/roots/list_changed"],
           "a client with roots is announced")
        two.tell({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
        eq(len(one.call("seen")), 3, "and his changes")


def test_told():
    with Client() as client:
        update(client, [entry(client)])
        one, two, new = Sse(client, sampling={}), Sse(client, sampling={}), Sse(client)
        one.call("tell", method="notifications/tools/list_changed")
        for sse in one, two:
            ok(sse.heard("notifications/tools/list_changed"), "a list has changed")
        eq((new.ask("ping")["result"], new.aside), ({}, []), "before initialize nothing is told")
        eq(one.ask("logging/setLevel", level="no")["error"]["code"], -32602, "no level")
        eq(one.ask("logging/setLevel", level="error")["result"], {}, "a level")
        eq(two.ask("logging/setLevel", level="info")["result"], {}, "another")
        eq(two.call("seen")[-1], ["logging/setLevel", {"level": "info"}], "the lower one is the server's")
        for level in "info", "error":
            one.call("tell", method="notifications/message", params={"level": level, "data": level})
        eq(one.heard("notifications/message")["params"]["data"], "error", "each gets what he wants")
        eq(two.heard("notifications/message")["params"]["data"], "info", "and no less")

        uri = "mem://a/b"
        for sse in one, two:
            eq(sse.answer(sse.start("resources/subscribe", uri=uri)).get("result"), {}, "a subscription")
        one.call("tell", method="notifications/resources/updated", params={"uri": uri + "/c"})
        one.call("tell", method="notifications/resources/updated", params={"uri": "mem://a/bc"})
        eq(two.heard("notifications/resources/updated")["params"]["uri"], uri + "/c", "it is told of")
        one.heard("notifications/resources/updated")
        one.ask("resources/unsubscribe", uri=uri)
        ok("resources/unsubscribe" not in [m for m, _ in one.call("seen")], "another one has it, too")
        one.call("tell", method="notifications/resources/updated", params={"uri": uri})
        two.heard("notifications/resources/updated")
        eq([m for m in one.aside if "resources/updated" in m["method"]], [], "but not who has ended his")

        old = servers(client)
        one.start("tools/call", name="die")
        ok(until(lambda: servers(client) not in ([], old)), "another process")
        ok(until(lambda: "result" in one.answer(one.start("tools/call", name="can"))), "is ready")
        want = [["logging/setLevel", {"level": "info"}], ["resources/subscribe", {"uri": uri}]]
        eq(one.call("seen")[1:], want, "and told what the old one knew")
        for method in changed():
            ok(one.heard(method), method)
        two.sock.close()
        ok(until(lambda: "resources/unsubscribe" in [m for m, _ in one.call("seen")]),
           "the subscription of one that has left ends")
        update(client, [entry(client, "b")])
        ok(one.heard("notifications/tools/list_changed"), "names have changed")
        tools = one.answer(one.start("tools/list"))["result"]["tools"]
        eq([t["name"] for t in tools], ["a_t", "b_t"], "and are as they are now")
        one.ask("resources/subscribe", uri="mem://b/x")
        one.call("b_tell", method="notifications/resources/updated", params={"uri": "mem://x"})
        eq(one.heard("notifications/resources/updated")["params"]["uri"], "mem://b/x", "under its name")
        got = one.answer(one.start("completion/complete", ref={"type": "ref/prompt", "name": "b_p"}, argument={}))
        eq(got["result"]["completion"]["values"], ["b", '{"type": "ref/prompt", "name": "p"}'], "a completion")
        got = one.answer(one.start("completion/complete", ref={"name": "c_p"}))
        eq(got["error"]["code"], -32602, "of nobody's")


def test_http():
    """The same by Streamable HTTP."""
    with Client() as client:
        update(client, [entry(client)])
        mcp = Mcp(client.port, "/mcp", start=False)
        mcp.ask("initialize", protocolVersion="2025-06-18", capabilities={"sampling": {}}, clientInfo={})
        mcp.tell("notifications/initialized")

        def listen(**fields):
            return Events(client.port, "GET", "/mcp", Mcp_Session_Id=mcp.session, **fields)
        eq(json.loads(mcp.call("later", **SAMPLE)[0]), 0, "a question")
        ok("error" in later(client), "which finds no way to the client")
        has(listen(Accept="application/json").head, " 406 ", "only events")
        mcp.session, good = "x", mcp.session
        has(listen().head, " 404 ", "no such session")
        mcp.session = good
        stream = listen()
        has(stream.head, "content-type: text/event-stream", "a stream")
        mcp.call("later", **SAMPLE)
        id_ = stream.message()["id"]
        mcp.post({"jsonrpc": "2.0", "id": id_, "result": {"r": 1}})
        eq(later(client)["result"], {"r": 1}, "which is asked by it")
        ask = Events(client.port, "POST", "/mcp", json.dumps(mcp.request(
            "tools/call", name="ask", arguments=SAMPLE)).encode(), Mcp_Session_Id=mcp.session)
        id_ = ask.message()["id"]
        mcp.post({"jsonrpc": "2.0", "id": id_, "result": {"r": 2}})
        has(ask.message()["result"]["content"][0]["text"], '"r": 2', "during a call, by the call's")
        second = listen()
        try:
            stream.message()
            ok(False, "the first stream has ended")
        except harness.Closed:
            ok(True, "a second stream takes the place of the first")
        mcp.call("tell", method="notifications/tools/list_changed")
        eq(second.message()["method"], "notifications/tools/list_changed", "and hears what is told")
        second.sock.close()
        mcp.call("tell", method="notifications/tools/list_changed")
        third = listen()
        mcp.call("tell", method="notifications/prompts/list_changed")
        ok(third.message()["method"].endswith("list_changed"), "what was missed is told later")
        with Sse(client, sampling={}).sock:
            eq(mcp.post(None, method="DELETE").status, 200, "the end")
        try:
            while True:
                third.message()
        except harness.Closed:
            ok(True, "is that of the stream, too")


def test_slow_reader():
    """A client that does not read costs a bounded amount, and learns what it has missed."""
    with Client() as client:
        update(client, [entry(client)])
        slow, fast = Sse(client, sampling={}), Sse(client, sampling={})
        for _ in range(30):
            fast.call("tell", method="notifications/message", params={"data": "z" * 1000000})
        fast.call("tell", method="notifications/prompts/list_changed")
        kib = pss_kib(client.pid)
        slim(kib, 40000, "what is not read is not kept, KiB")
        heard = 0
        while slow.message()["method"] == "notifications/message":
            heard += 1
        ok(0 < heard < 30, "some is left out", heard)
        ok(slow.heard("notifications/prompts/list_changed"), "of lists it hears in the end")


def test_many_streams():
    with Client() as client:
        update(client, [entry(client)])
        first = Sse(client, sampling={})
        first.start("tools/call", name="ask", arguments=SAMPLE)
        first.message()
        rest = [Sse(client) for _ in range(63)]
        mcp = Mcp(client.port, "/mcp")
        eq(mcp.ask("ping")["result"], {}, "streams do not take the place of sessions")
        more = Sse(client)
        try:
            rest[0].event()
            ok(False, "the oldest one that is idle makes room")
        except harness.Closed:
            ok(True, "the oldest one that is idle makes room")
        eq(more.ask("ping")["result"], {}, "for a new one")
        eq(first.answer(first.start("ping"))["result"], {}, "one that is busy stays")


def test_ends():
    with Client() as client:
        update(client, [entry(client), entry(client, "stubborn")])
        pids = servers(client)
        eq(log_of(update(client, [entry(client), entry(client, "stubborn")])), "", "replaced")
        ok(until(lambda: not alive(pids[0])), "one that reads")
        with open(client.top + "/a") as f:
            eq(f.read(), "end\n", "ends by itself")
        ok(until(lambda: not alive(pids[1])), "one that does not")
        with open(client.top + "/stubborn") as f:
            eq(f.read(), "end\ntold\n", "is told so first")
        eq(len(servers(client)), 2, "two are there")
        os.kill(client.pid, signal.SIGTERM)
        eq(harness.wait_exit(client.process), 0, "the sandbox stops")
        with open(client.top + "/stubborn") as f:
            eq(sorted(f.read().split()), ["end", "end", "told", "told"], "which they are told in the same way")


if __name__ == "__main__":
    main()
