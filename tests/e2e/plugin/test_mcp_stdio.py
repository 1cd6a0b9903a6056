#!/usr/bin/env python3
"""od-runtime mcp: MCP over stdin and stdout. The engine is made up, the sandbox is not."""
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import termios

import harness
import fake_engine
from harness import DEADLINE, Client, children, eq, has, main, ok, until, wait_exit
from mcp import packages, sdk
from program import write_program

TEMP = harness.scratch("od-mcp-")
PROGRAM = os.path.join(TEMP, "client")
COUNT = 0


class Engine(fake_engine.Engine):
    def __init__(self, client):
        global COUNT
        COUNT += 1
        super().__init__(os.path.join(TEMP, f"s{COUNT}"))
        # In each of its containers listens a client that runs here.
        self.sandbox = lambda _: client


def environment(engine):
    return {"OD_STATE_DIR": os.path.join(TEMP, "state"), "OD_RUNTIME_CLIENT": PROGRAM,
            "DOCKER_HOST": "unix://" + engine.path}


def start(engine, *argv):
    env = {"PATH": "/bin:/usr/bin", **environment(engine)}
    env.update({k: v for k, v in os.environ.items() if k in ("ASAN_OPTIONS", "UBSAN_OPTIONS")})
    return subprocess.Popen([*harness.WRAP, harness.RUNTIME, *argv], env=env,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


class Stdio:
    def __init__(self, engine, *argv):
        self.process = start(engine, "mcp", *argv)
        self.data = b""
        self.last = 0

    def write(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def tell(self, method, id_=None, **params):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if id_ is not None:
            message["id"] = id_
        self.write(json.dumps(message).encode() + b"\n")

    def read(self):
        """The next message."""
        while b"\n" not in self.data:
            if not select.select([self.process.stdout], [], [], DEADLINE)[0]:
                raise RuntimeError("no answer in time")
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                self.process.kill()
                raise RuntimeError("it has ended: " + self.process.stderr.read().decode())
            self.data += piece
        line, self.data = self.data.split(b"\n", 1)
        return json.loads(line)

    def answer(self, id_):
        """The answer of that id, and what has come before it."""
        before = []
        while True:
            message = self.read()
            if message.get("id") == id_:
                return message, before
            before.append(message)

    def ask(self, method, **params):
        self.last += 1
        self.tell(method, self.last, **params)
        answer = self.read()
        eq(answer.get("id", answer), self.last, f"{method}: the id")
        return answer

    def hello(self):
        got = self.ask("initialize", protocolVersion="2025-06-18", capabilities={},
                       clientInfo={"name": "t", "version": "1"})
        self.tell("notifications/initialized")
        return got["result"]

    def call(self, tool, **args):
        result = self.ask("tools/call", name=tool, arguments=args)["result"]
        return result["content"][0]["text"]

    def end(self):
        self.process.stdin.close()
        code = wait_exit(self.process)
        if code is None:
            self.process.kill()
        left, words = self.process.stdout.read(), self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, self.data + left, words


def run(engine, name):
    p = start(engine, "run", "base:1", "--via", "build", "--name", name)
    out, err = p.communicate(timeout=DEADLINE * 3)
    eq((p.returncode, out), (0, name.encode() + b"\n"), "a sandbox")


def sleeps(client, seconds):
    want = f"sleep\0{seconds}".encode()
    return any(harness.proc(pid, "cmdline").startswith(want)
               for c in children(client.pid) for pid in children(c))


def test_sandbox():
    with Client() as client:
        engine = Engine(client)
        run(engine, "box")
        mcp = Stdio(engine, "box")
        eq(mcp.hello()["serverInfo"]["name"], "od-runtime", "hello")
        eq(len(mcp.ask("tools/list")["result"]["tools"]) > 5, True, "tools")
        has(mcp.call("bash", command="echo $((6*7))"), "42", "a command")
        mcp.write(b"\n  \r\n{nonsense\n")
        eq(mcp.read()["id"], None, "what is no message gets an error")
        mcp.write(b'{"jsonrpc":"2.0","id":5,"method":"ping","params":null}\n')
        eq(mcp.read()["id"], 5, "under its id, if it has one")
        mcp.write(b"{}\n")
        eq(mcp.read()["id"], None, "or none")
        mcp.write(b'{"jsonrpc":"2.0","id":"\\u0078","method":"ping"}\r\n')
        eq(mcp.read(), {"jsonrpc": "2.0", "id": "x", "result": {}}, "an id that is a text")
        big = "y" * 3000000
        mcp.call("write", path="big", content=big)
        has(mcp.call("read", path="big"), big, "a long message each way")

        mcp.tell("tools/call", 100, name="bash", arguments={"command": "sleep 1000"},
                 _meta={"progressToken": 1})
        ok(until(lambda: sleeps(client, 1000)), "a long command")
        mcp.tell("ping", 101)
        got, before = mcp.answer(101)
        eq(got["result"], {}, "another answer overtakes it")
        eq((before or [mcp.read()])[0]["params"]["progressToken"], 1, "its progress comes")
        mcp.tell("ping", 102)
        eq(mcp.answer(102)[0]["result"], {}, "and still others overtake it")
        mcp.tell("notifications/cancelled", requestId=100)
        ok(until(lambda: not sleeps(client, 1000)), "it is cancelled")
        mcp.tell("tools/call", 103, name="bash", arguments={"command": "sleep 0.3; echo end"})
        mcp.write(b'{"jsonrpc":"2.0","id":104,"method":"ping"}')
        mcp.process.stdin.close()
        got = {}
        while {103, 104} - set(got):
            message = mcp.read()
            got[message.get("id")] = message
        eq(got[104].get("result"), {}, "a last line without an end counts")
        has(got[103]["result"]["content"][0]["text"], "end", "an answer behind the end of input")
        eq(wait_exit(mcp.process), 0, "its end")
        ok(engine.containers, "the sandbox stays")


def test_many_at_once():
    with Client() as client:
        engine = Engine(client)
        run(engine, "box2")
        mcp = Stdio(engine, "box2")
        mcp.hello()
        for i in range(100):
            mcp.tell("tools/call", 1000 + i, name="glob", arguments={"pattern": "*"})
        ids = sorted(mcp.read()["id"] for _ in range(100))
        eq(ids, list(range(1000, 1100)), "a hundred calls")
        eq(mcp.end()[:2], (0, b""), "the end")


def test_busy():
    """With all places taken cancellations are heard, and what is too much is refused."""
    with Client() as client:
        engine = Engine(client)
        run(engine, "box4")
        mcp = Stdio(engine, "box4")
        mcp.hello()
        for i in range(16):
            mcp.tell("tools/call", 100 + i, name="bash", arguments={"command": "sleep 1000"})
        ok(until(lambda: sleeps(client, 1000)), "sixteen calls")
        for i in range(2):
            mcp.tell("tools/call", 200 + i, name="write", arguments={"path": f"w{i}", "content": "x"})
        mcp.tell("notifications/cancelled", requestId=200)
        for i in range(16):
            mcp.tell("notifications/cancelled", requestId=100 + i)
        got, before = mcp.answer(201)
        ok("result" in got, "who waits comes next when others are cancelled", got)
        eq([m["id"] for m in before if m.get("id") == 200], [], "but not who was cancelled himself")
        ok(not os.path.exists(os.path.join(client.work, "w0")), "and was never done")
        for i in range(300):
            mcp.tell("tools/call", 1000 + i, name="bash", arguments={"command": "sleep 1000"})
        refused, _ = mcp.answer(1299)
        has(refused["error"]["message"], "Too many calls are waiting", "more than there is room for")
        for i in range(300):
            mcp.tell("notifications/cancelled", requestId=1000 + i)
        mcp.tell("ping", 9000)
        eq(mcp.answer(9000)[0]["result"], {}, "it goes on")
        eq(mcp.end()[0], 0, "and ends")


def test_sdk():
    folder = packages()
    if not folder:
        return
    with Client() as client:
        engine = Engine(client)
        run(engine, "box5")
        calls = [["listTools"], ["callTool", {"name": "bash", "arguments": {"command": "echo $((6*7))"}}],
                 ["callTool", {"name": "bash", "arguments": {"nonsense": 1}}]]
        tools, bash, wrong = sdk(folder, "stdio", harness.RUNTIME, "mcp", "box5", calls=calls,
                                 env={**os.environ, **environment(engine)})
        eq(len(tools["result"]["tools"]), 10, "its tools")
        has(bash["result"]["content"][0]["text"], "42", "a command")
        ok(wrong["result"]["isError"], "an error")


def test_server_again():
    """Another server at its place: our client does not notice."""
    with Client() as one, Client() as two:
        engine = Engine(one)
        run(engine, "box3")
        mcp = Stdio(engine, "box3")
        mcp.hello()
        container = next(iter(engine.containers.values()))
        one_port, container.port = one.port, two.port
        second = Stdio(engine, "box3")
        second.hello()
        container.port = one_port
        one.kill()
        got = mcp.ask("ping")
        has(got["error"]["message"], "did not answer", "nobody is there")
        eq(mcp.end()[0], 0, "and it ends all the same")
        # A session that is not known any more.
        from mcp import Mcp
        for _ in range(64):
            Mcp(two.port)
        for i in range(8):
            second.tell("tools/call", 200 + i, name="bash", arguments={"command": "echo again"})
        got = [second.read() for i in range(8)]
        ok(all("again" in json.dumps(m.get("result")) for m in got), "a lost session is made anew", got)
        eq(second.end()[0], 0, "the end")


def full(pipe):
    got = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return struct.unpack("i", got)[0] == fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)


def test_image():
    with Client() as client:
        engine = Engine(client)
        mcp = Stdio(engine, "base:1", "--via", "build", "-e", "A=1")
        mcp.hello()
        has(mcp.call("bash", command="echo in"), "in", "a sandbox for itself")
        eq(len(engine.containers), 1, "it is there")
        code, out, words = mcp.end()
        eq((code, out, len(engine.containers)), (0, b"", 0), "and is removed at the end")
        has(words, "sandbox od-", "its name is told")
        mcp = Stdio(engine, "base:1", "--via", "build")
        mcp.hello()
        mcp.process.send_signal(signal.SIGTERM)
        wait_exit(mcp.process)
        eq(len(engine.containers), 0, "also when it is told to end")
        mcp.end()
        mcp = Stdio(engine, "base:1", "--via", "build")
        mcp.hello()
        mcp.call("write", path="big", content="y" * 3000000)
        mcp.tell("tools/call", 1000, name="read", arguments={"path": "big"})
        ok(until(lambda: full(mcp.process.stdout)), "an answer that nobody reads")
        mcp.process.send_signal(signal.SIGTERM)
        ok(wait_exit(mcp.process) is not None, "does not keep it from its end")
        eq(len(engine.containers), 0, "nor its sandbox")
        mcp.process.kill()
        mcp.end()


def test_wrong():
    with Client() as client:
        engine = Engine(client)
        code, out, words = Stdio(engine, "no-such-box").end()
        ok(code != 0 and not out and words, "neither sandbox nor image", (code, out, words))
        run(engine, "box")
        code, out, words = Stdio(engine, "box", "-e", "A=b").end()
        eq((code, out), (100, b""), "an option that could not have any effect")
        ok("--env applies only to a new sandbox" in words, "and that is said", words)


write_program(PROGRAM)
if __name__ == "__main__":
    main()
