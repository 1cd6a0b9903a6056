#!/usr/bin/env python3
"""Hostile text in every string member: NUL, lone surrogates, bytes that are no UTF-8, a megabyte.

No text is cut at a NUL: a file whose name is the part before the NUL is neither read nor changed."""
import json
import os
import urllib.parse

from harness import SLOW, Client, eq, main, ok, request

CANARY = "the content of the canary"
PATHS = ("read.path", "write.path", "edit.path")
ACTIONS = {
    "run": {"command": "cat {}", "cwd": "{}", "session": "{}"},
    "read": {"path": "{}", "impl_source": "{}", "session": "{}"},
    "write": {"path": "{}", "content": "{}"},
    "edit": {"command": "{}", "path": "{}", "file_text": "{}", "old_str": "{}", "new_str": "{}"},
    "run_ipython": {"code": "print(open('{}').read())", "kernel": "{}"},
    "browse": {"url": "file://{}"},
    "browse_interactive": {"browser_actions": "goto('file://{}')"},
    "call_tool_mcp": {"name": "{}"},
}
DEFAULTS = {"run": {"command": "true"}, "read": {}, "write": {"content": "new"},
            "edit": {"command": "create", "file_text": "new"}}
# Routes with parameters in the query: method, path, the parameter, other parameters.
QUERIES = [
    ("GET", "/v1/files", "path", ""), ("PUT", "/v1/files", "path", ""), ("DELETE", "/v1/files", "path", ""),
    ("GET", "/v1/files/stat", "path", ""), ("POST", "/v1/files/mkdir", "path", ""),
    ("POST", "/v1/files/mv", "path", "&to=elsewhere"), ("POST", "/v1/files/mv", "to", "&path=canary"),
    ("GET", "/v1/files/tar", "path", ""), ("PUT", "/v1/files/tar", "path", ""),
    ("GET", "/download_files", "path", ""), ("POST", "/upload_file", "destination", ""),
    ("GET", "/v1/glob", "path", "&pattern=*"), ("GET", "/v1/glob", "pattern", ""),
    ("GET", "/v1/grep", "path", "&pattern=content"), ("GET", "/v1/grep", "pattern", ""),
    ("GET", "/v1/grep", "glob", "&pattern=content"), ("GET", "/v1/grep", "session", "&pattern=content"),
    ("GET", "/v1/watch", "path", ""), ("GET", "/v1/sessions/{}/output", None, ""),
    ("DELETE", "/v1/sessions/{}", None, ""), ("GET", "/v1/actions/{}", None, ""),
    ("PUT", "/v1/actions/{}", None, ""),
]
MALFORMED = {"a lone surrogate": b"\\ud800", "half a pair": b"\\ud83dx", "an overlong slash": b"\xc0\xaf",
             "a byte that is no UTF-8": b"\xff", "a surrogate in UTF-8": b"\xed\xa0\x80",
             "a raw NUL": b"\0", "a raw line feed": b"\n"}


def fields():
    """Every (action, member, the text around the hostile value)."""
    for name, args in ACTIONS.items():
        for member, template in args.items():
            yield name, member, template


def body_of(name, member, value):
    args = {**DEFAULTS.get(name, {}), member: value}
    return {"action": {"action": name, "args": args, "timeout": 5 * SLOW}}


class Sandbox:
    """A client with a canary, and what must stay as it is."""

    def __init__(self):
        self.client = Client()
        self.canary = os.path.join(self.client.work, "canary")
        with open(self.canary, "w") as f:
            f.write(CANARY)

    def ask(self, data):
        return self.client.ask(data, 20 * SLOW)

    def check(self, name, answer, *statuses):
        text = answer.body.decode(errors="replace")
        ok(answer.status in statuses, f"{name}: status {answer.status}", text[:300])
        ok(CANARY not in text, f"{name}: the canary is not read", text[:300])
        with open(self.canary) as f:
            eq((f.read(), self.names()), (CANARY, ["canary"]), f"{name}: nothing is changed")

    def names(self):
        """The names in the working directory, but for those that the browser makes."""
        made = (".browser_screenshots", ".downloads")
        return [n for n in os.listdir(self.client.work) if n not in made]

    def end(self):
        eq(self.client.get("/alive").status, 200, "the server goes on")
        eq(self.client.process.poll(), None, "without a crash")
        self.client.kill()


def test_nul():
    box = Sandbox()
    for name, member, template in fields():
        value = template.format(box.canary + "\0x")
        got = box.ask(request("POST", "/execute_action", json.dumps(body_of(name, member, value)).encode()))
        box.check(f"a NUL in {name}.{member}", got, 200, 400, 422, 500)
        if got.status == 200:
            answer = got.json()
            bad = answer["observation"] == "error" or answer["content"].startswith("ERROR")
            ok(bad or f"{name}.{member}" not in PATHS, f"a NUL in {name}.{member} is an error", answer)
    box.end()


def test_nul_in_a_query():
    box = Sandbox()
    value = urllib.parse.quote(box.canary, safe="") + "%00x"
    for method, path, member, more in QUERIES:
        target = path.format(value) if member is None else f"{path}?{member}={value}{more}"
        body = b'{"action":"read","args":{"path":"canary"}}' if method == "PUT" else b""
        got = box.ask(request(method, target, body))
        box.check(f"a NUL in {member or 'the name'} of {method} {path}", got, 400, 403, 404, 409, 415, 422, 500)
    box.end()


def test_nul_in_a_body():
    box = Sandbox()
    for path, body in (("/list_files", {"path": "{}"}), ("/v1/grep", {"pattern": "content", "path": "{}"}),
                       ("/v1/grep", {"pattern": "{}"})):
        text = json.dumps(body).replace("{}", json.dumps(box.canary + "\0x")[1:-1])
        got = box.ask(request("POST", path, text.encode()))
        box.check(f"a NUL in the body of {path}", got, 200, 400, 404, 422)
        if path == "/list_files":
            eq(got.body, b"[]", "no folder is listed")
    form = b'--b\r\nContent-Disposition: form-data; name="file"; NAME\r\n\r\nnew\r\n--b--\r\n'
    for name in (b'filename="canary\0x"', b'filename="canary%00x"', b"filename*=UTF-8''canary%00x"):
        got = box.ask(request("POST", f"/upload_file?destination={box.client.work}", form.replace(b"NAME", name),
                              Content_Type="multipart/form-data; boundary=b"))
        made = [n for n in box.names() if n != "canary"]
        ok(all("canary" != n for n in made), "an upload does not take the name before a NUL", made)
        for n in made:  # '%00x' is three ordinary characters in a file name
            os.unlink(os.path.join(box.client.work, n))
        box.check("a NUL in the name of an upload", got, 200, 400, 422, 500)
    box.end()


def test_malformed():
    """Bytes that are no text are refused before an action receives them."""
    box = Sandbox()
    for name, member, template in fields():
        good = json.dumps(body_of(name, member, "MARK")).encode()
        for what, raw in MALFORMED.items():
            got = box.ask(request("POST", "/execute_action", good.replace(b"MARK", raw)))
            box.check(f"{what} in {name}.{member}", got, 400, 422)
    box.end()


def test_long():
    box = Sandbox()
    value = "x" * (1 << 20)
    for name, member, _ in fields():
        if (name, member) in (("write", "content"), ("edit", "file_text"), ("run", "command")):
            continue  # a megabyte is an ordinary text of a file and of a command
        got = box.ask(request("POST", "/execute_action", json.dumps(body_of(name, member, value)).encode()))
        box.check(f"a megabyte in {name}.{member}", got, 200, 400, 422, 500)
    box.end()


if __name__ == "__main__":
    main()
