"""A client of the Model Context Protocol by hand, for the tests."""
import json

from harness import DEADLINE, Conn, request

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
