"""A client of the Model Context Protocol by hand, for the tests."""
import json
import os
import socket
import subprocess

import npm
from harness import DEADLINE, SUPPORT, Closed, Conn, eq, request

ACCEPT = "application/json, text/event-stream"


def events(text):
    """The messages of a stream of events; HTTP/1.1 chunks are taken off before."""
    out = []
    for block in text.decode().split("\n\n"):
        data = [line[6:] for line in block.split("\n") if line.startswith("data: ")]
        if data:
            out.append(json.loads("\n".join(data)))
    return out


def unchunk(data):
    out = b""
    while data:
        size, data = data.split(b"\r\n", 1)
        n = int(size, 16)
        out, data = out + data[:n], data[n + 2:]
        if n == 0:
            break
    return out


class Mcp:
    """One session at an endpoint, each message in a connection of its own."""

    def __init__(self, port, path="/mcp/sandbox", version="2025-06-18", start=True, **fields):
        self.port, self.path, self.fields = port, path, fields
        self.session = None
        self.last = 0
        if start:
            self.hello = self.ask("initialize", protocolVersion=version, capabilities={},
                                  clientInfo={"name": "test", "version": "1"})
            self.version = self.hello["result"]["protocolVersion"]
            self.tell("notifications/initialized")

    def send(self, message, method="POST", **fields):
        """The connection, on which the message has been sent."""
        given = {"Accept": ACCEPT, "Connection": "close", "Mcp_Session_Id": self.session,
                 **self.fields, **fields}
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        conn = Conn(self.port)
        conn.send(request(method, self.path, body if method == "POST" else b"", **given))
        return conn

    def post(self, message, seconds=DEADLINE, method="POST", **fields):
        """The whole answer; that of a stream has its messages in .messages."""
        with self.send(message, method, **fields) as conn:
            answer = conn.response(seconds)
        if answer.field("transfer-encoding") == "chunked":
            answer.body = unchunk(answer.body)
        if answer.field("content-type") == "text/event-stream":
            answer.messages = events(answer.body)
        elif answer.body:
            answer.messages = [answer.json()]
        return answer

    def request(self, method, **params):
        self.last += 1
        return {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}

    def ask(self, method, **params):
        """The message that answers a request."""
        answer = self.post(self.request(method, **params))
        if answer.field("mcp-session-id"):
            self.session = answer.field("mcp-session-id")
        return next(m for m in answer.messages if m.get("id") == self.last)

    def tell(self, method, **params):
        return self.post({"jsonrpc": "2.0", "method": method, "params": params})

    def call(self, tool, **args):
        """What a tool says: its text, and whether that is an error."""
        result = self.ask("tools/call", name=tool, arguments=args)["result"]
        return "".join(c.get("text", "") for c in result["content"]), result.get("isError", False)


def update(client, body, seconds=None):
    with Conn(client.port) as conn:
        conn.send(request("POST", "/update_mcp_server", json.dumps(body).encode(),
                          Connection="close"))
        return conn.response(seconds or 4 * DEADLINE)


def log_of(answer):
    body = answer.json()
    eq((answer.status, body["detail"]), (200, "MCP server updated successfully"), "an update")
    return body["router_error_log"]


class Events:
    """A request by HTTP/1.0, and the events that answer it."""

    def __init__(self, port, method, path, body=b"", **fields):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
        fields = {"Accept": ACCEPT, "Content-Type": "application/json",
                  "Content-Length": str(len(body)) if body else None, **fields}
        lines = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in fields.items() if v)
        self.sock.sendall(f"{method} {path} HTTP/1.0\r\nHost: localhost\r\n{lines}\r\n".encode() + body)
        self.data = b""
        self.head = self.until(b"\r\n\r\n").decode().lower()

    def until(self, mark):
        while mark not in self.data:
            piece = self.sock.recv(65536)
            if not piece:
                raise Closed(self.data)
            self.data += piece
        part, self.data = self.data.split(mark, 1)
        return part

    def event(self):
        while True:
            lines = [x for x in self.until(b"\n\n").decode().split("\n") if x and x[0] != ":"]
            if lines:
                fields = dict(x.split(": ", 1) for x in lines)
                return fields["event"], fields["data"]

    def message(self):
        return json.loads(self.event()[1])


class Sse(Events):
    """HTTP+SSE by hand: a stream, and a path for messages."""

    def __init__(self, client, path="/mcp/sse", **capabilities):
        self.client = client
        super().__init__(client.port, "GET", path)
        name, self.endpoint = self.event()
        eq(name, "endpoint", "the first event")
        self.last = 0
        self.aside = []
        if capabilities:
            self.ask("initialize", protocolVersion="2024-11-05", capabilities=capabilities,
                     clientInfo={"name": "test", "version": "1"})
            self.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tell(self, message):
        with Conn(self.client.port) as conn:
            conn.send(request("POST", self.endpoint, json.dumps(message).encode(),
                              Connection="close"))
            return conn.response()

    def start(self, method, **params):
        """Asks, and returns the id."""
        self.last += 1
        got = self.tell({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return self.last if got.status == 202 else got

    def ask(self, method, **params):
        """The next message, as a rule the answer."""
        id_ = self.start(method, **params)
        return self.message() if isinstance(id_, int) else id_

    def answer(self, id_):
        """The answer to that id; what comes before it goes aside."""
        while True:
            message = self.message()
            if message.get("id") == id_ and "method" not in message:
                return message
            self.aside.append(message)

    def call(self, tool, **args):
        got = self.answer(self.start("tools/call", name=tool, arguments=args))
        return json.loads(got["result"]["content"][0]["text"])

    def heard(self, method):
        """The next message of that method, perhaps one that went aside."""
        for i, message in enumerate(self.aside):
            if message.get("method") == method:
                return self.aside.pop(i)
        while True:
            message = self.message()
            if message.get("method") == method:
                return message
            self.aside.append(message)


# --- The SDK of npm -------------------------------------------------------------------

PACKAGES = ("@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/server-everything@2026.8.31")


def packages():
    """The folder that has them; None, and skipped by name, where they cannot be had."""
    return npm.install("the client of @modelcontextprotocol/sdk", *PACKAGES)


def sdk(folder, kind, *where, calls=(), env=None):
    """What comes of each call of the SDK's client."""
    with subprocess.Popen(["node", os.path.join(SUPPORT, "mcp_client.mjs"), folder, kind, *where], env=env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as node:
        try:
            out, err = node.communicate("".join(json.dumps(c) + "\n" for c in calls).encode(),
                                        timeout=6 * DEADLINE)
        except subprocess.TimeoutExpired:
            node.kill()
            raise
    eq((node.returncode, err.decode()), (0, ""), f"the client over {kind}")
    return [json.loads(line) for line in out.splitlines()]
