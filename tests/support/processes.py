"""What tests of /v1/processes share: a thin client of these routes, over plain connections."""
import http.client
import json

from harness import DEADLINE, SLOW, request


class Failure(Exception):
    """The answer was not the one that the caller counts on; args: status, body."""


class Processes:
    """The processes of a Client. Each call makes a connection of its own."""

    def __init__(self, client):
        self.client = client

    def ask(self, method, path="", body=b"", seconds=None, **fields):
        with self.client.conn() as c:
            return c.send(request(method, "/v1/processes" + path, body, **fields)).response(seconds)

    def call(self, method, path="", value=None, seconds=None, **fields):
        """The JSON of an answer without an error."""
        body = json.dumps(value, ensure_ascii=False).encode() if value is not None else b""
        answer = self.ask(method, path, body, seconds, **fields)
        if answer.status >= 300:
            raise Failure(answer.status, answer.json())
        return answer.json()

    def start(self, *argv, key=None, **spec):
        fields = {"Idempotency_Key": key} if key else {}
        return self.call("POST", "", {"argv": list(argv), **spec}, **fields)

    def refusal(self, *argv, **spec):
        """(status, body) of a start that fails."""
        try:
            got = self.start(*argv, **spec)
        except Failure as e:
            return e.args
        return 201, got

    def get(self, p, wait=None):
        query = f"?wait={wait}" if wait else ""
        return self.call("GET", f"/{p['id']}{query}", seconds=(wait or 0) + DEADLINE)

    def wait(self, p, seconds=20):
        """The process once it has exited."""
        return self.get(p, int(seconds * SLOW))

    def list(self, tag=None):
        return self.call("GET", f"?tag={tag}" if tag else "")["processes"]

    def part(self, p, name="stdout", query=""):
        return self.ask("GET", f"/{p['id']}/{name}{query}")

    def follow(self, p, name="stdout", query=""):
        """All octets of an output up to its end; http.client.IncompleteRead: it was cut."""
        return self.stream(f"/{p['id']}/{name}?follow=true{query}")

    def events(self, p, name="stdout", query=""):
        """The text of an output as events, up to its end."""
        return self.stream(f"/{p['id']}/{name}{query}", Accept="text/event-stream").decode()

    def stream(self, path, **fields):
        c = http.client.HTTPConnection("127.0.0.1", self.client.port, timeout=DEADLINE * 3)
        try:
            c.request("GET", "/v1/processes" + path, headers=fields)
            answer = c.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise Failure(answer.status, body)
            return body
        finally:
            c.close()

    def read(self, p, name="stdout"):
        """All that is kept of an output, in parts, once it has ended."""
        at, out = 0, b""
        while True:
            part = self.part(p, name, f"?from={at}&wait=20")
            out += part.body
            at = int(part.field("x-next-offset"))
            if part.field("x-length") and at >= int(part.field("x-length")):
                return out

    def put(self, p, data, **query):
        text = "&".join(f"{k}={str(v).lower()}" for k, v in query.items())
        return self.ask("PUT", f"/{p['id']}/stdin{'?' + text if text else ''}", data,
                        seconds=DEADLINE * 3, Content_Length=str(len(data)))

    def signal(self, p, signal, **more):
        return self.call("POST", f"/{p['id']}/signal", {"signal": signal, **more})

    def delete(self, p):
        return self.call("DELETE", f"/{p['id']}")

    def run(self, *argv, **spec):
        """Starts a process and waits for its end: (object, stdout, stderr)."""
        p = self.start(*argv, **spec)
        out = self.follow(p)
        err = self.follow(p, "stderr")
        return self.wait(p), out, err
