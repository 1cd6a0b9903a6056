#!/usr/bin/env python3
"""docs/openapi.yaml: others can read it, and what it shows is what the server does."""
import json
import os
import re
import subprocess
import time
import urllib.parse

from harness import DEADLINE, TOP, Client, Conn, Response, eq, has, main, ok, request, skip
import npm

try:
    import yaml
except ImportError:
    yaml = None

PATH = os.path.join(TOP, "docs", "openapi.yaml")
METHODS = ("get", "put", "post", "delete")
BOUNDARY = "examples-end-here"


def load():
    with open(PATH, encoding="utf-8") as f:
        return yaml.safe_load(f)


class Api:
    def __init__(self, tree):
        self.tree = tree

    def at(self, node):
        """The node itself, or what it refers to."""
        while isinstance(node, dict) and "$ref" in node:
            place = self.tree
            for part in node["$ref"].removeprefix("#/").split("/"):
                place = place[part]
            node = place
        return node

    def operations(self):
        for path, item in self.tree["paths"].items():
            for method, op in item.items():
                if method in METHODS:
                    op["parameters"] = [self.at(p) for p in item.get("parameters", [])
                                        + op.get("parameters", [])]
                    yield path, method, op

    def wrong(self, schema, value, where="$"):
        """What does not fit the schema, a line each."""
        schema = self.at(schema)
        if "const" in schema and value != schema["const"]:
            return [f"{where}: {value!r} is not {schema['const']!r}"]
        if "enum" in schema and value not in schema["enum"]:
            return [f"{where}: {value!r} is none of {schema['enum']}"]
        kinds = schema.get("type", [])
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if kinds and not any(is_a(kind, value) for kind in kinds):
            return [f"{where}: {value!r} is no {kinds}"]
        out = []
        if isinstance(value, dict):
            known = schema.get("properties", {})
            out += [f"{where}: no {name}" for name in schema.get("required", []) if name not in value]
            for name, member in value.items():
                rest = schema.get("additionalProperties", known == {})
                if name in known:
                    out += self.wrong(known[name], member, f"{where}.{name}")
                elif isinstance(rest, dict):
                    out += self.wrong(rest, member, f"{where}.{name}")
                elif not rest:
                    out.append(f"{where}: {name} is not known")
        elif isinstance(value, list) and "items" in schema:
            for i, item in enumerate(value):
                out += self.wrong(schema["items"], item, f"{where}[{i}]")
        elif isinstance(value, str) and "pattern" in schema:
            if not re.search(schema["pattern"], value):
                out.append(f"{where}: {value!r} does not match")
        return out

    def steady(self, schema, value):
        """The value without what varies."""
        schema = self.at(schema)
        if schema.get("x-varies"):
            return "..."
        if isinstance(value, dict):
            known, rest = schema.get("properties", {}), schema.get("additionalProperties")
            rest = rest if isinstance(rest, dict) else {}
            return {k: self.steady(known.get(k, rest), v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.steady(schema.get("items", {}), v) for v in value]
        return value


def is_a(kind, value):
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {"object": isinstance(value, dict), "array": isinstance(value, list),
            "string": isinstance(value, str), "boolean": isinstance(value, bool),
            "integer": number and value == int(value), "number": number,
            "null": value is None}[kind]


def examples(holder):
    return {name: e["value"] for name, e in (holder or {}).get("examples", {}).items()}


def expected(api, op):
    """Of each example: the status, the media type, its schema and the value."""
    for status, answer in op["responses"].items():
        for media, content in api.at(answer).get("content", {}).items():
            for name, value in examples(content).items():
                yield name, int(status), media, content["schema"], value


def built(client, path, method, op, name):
    """The request of an example."""
    query, fields = {}, {}
    for p in op["parameters"]:
        value = examples(p).get(name)
        if value is None:
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        text = text.replace("/workspace", client.work)
        if p["in"] == "path":
            path = path.replace("{%s}" % p["name"], urllib.parse.quote(text))
        elif p["in"] == "query":
            query[p["name"]] = text
        else:
            fields[p["name"]] = text
    body = b""
    for media, content in (op.get("requestBody") or {}).get("content", {}).items():
        value = examples(content).get(name)
        if value is None:
            continue
        fields["Content-Type"] = media
        if media == "multipart/form-data":
            fields["Content-Type"] += f"; boundary={BOUNDARY}"
            body = (f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\""
                    f"\r\n\r\n{value['file']}\r\n--{BOUNDARY}--\r\n").encode()
        else:
            body = (value if isinstance(value, str) else json.dumps(value)).encode()
        body = body.replace(b"/workspace", client.work.encode())
        fields["Content-Length"] = str(len(body))
    target = path + ("?" + urllib.parse.urlencode(query) if query else "")
    return request(method.upper(), target, body, **fields)


def streamed(conn, value, work):
    """The answer that goes on, as far as the example does."""
    answer = conn.response(head=True)
    want = value.replace("/workspace", work).encode()
    got = conn._until(want, time.monotonic() + DEADLINE)
    return Response(answer.status, answer.fields, got + want)


def test_examples():
    if not yaml:
        return skip("the examples", "python3-yaml is missing")
    api = Api(load())
    done = 0
    with Client("--plugins", "agent_skills", "--no-enable-browser") as client:
        for path, method, op in api.operations():
            for name, status, media, schema, value in expected(api, op):
                what = f"{op['operationId']} {name}"
                with Conn(client.port) as conn:
                    conn.send(built(client, path, method, op, name))
                    if media == "text/event-stream":
                        answer = streamed(conn, value, client.work)
                        has(answer.body.decode(), value.replace("/workspace", client.work), what)
                        continue
                    answer = conn.response(3 * DEADLINE)
                eq(answer.status, status, what + ": the status")
                text = answer.body.decode().replace(client.work, "/workspace")
                eq(answer.field("content-type"), media, what + ": the type")
                got = json.loads(text) if media == "application/json" else text
                eq(api.wrong(schema, got), [], what + ": what came fits the schema")
                eq(api.wrong(schema, value), [], what + ": the example fits the schema")
                eq(api.steady(schema, got), api.steady(schema, value), what + ": the answer")
                done += 1
    ok(done >= 30, f"{done} examples")


def test_routes():
    """Each path of the table of the protocol is there, and answers with another than 404."""
    if not yaml:
        return skip("the routes", "python3-yaml is missing")
    api = Api(load())
    with Client("--plugins", "jupyter") as client:
        for path, method, op in api.operations():
            with Conn(client.port) as conn:
                conn.send(request(method.upper(), path.replace("{", "").replace("}", "")))
                answer = conn.response(3 * DEADLINE, head=True)
            ok(answer.status != 405 and answer.field("content-type"), f"{method} {path} is served",
               answer)


def test_complete():
    """Each row of the server's table of routes has an operation."""
    if not yaml:
        return skip("the table of routes", "python3-yaml is missing")
    with open(os.path.join(TOP, "src/server/api.c"), encoding="utf-8") as f:
        rows = re.findall(r'^\t\{"([A-Z]+)", "(/[^"]*)", ACCESS_(?:OPEN|KEY),', f.read(), re.M)
    ok(len(rows) > 40, f"the table has {len(rows)} rows")
    described = {(method.upper(), re.sub(r"\{[^}]*\}", "*", path)) for path, method, _ in Api(load()).operations()}
    eq(sorted(set(rows) - described), [], "routes that openapi.yaml lacks")


def test_typescript():
    folder = npm.install("types made by openapi-typescript", "openapi-typescript@7.13.0",
                         "typescript@5.9.3")
    if not folder:
        return
    bin_ = os.path.join(folder, "node_modules", ".bin")
    made = os.path.join(folder, "od-runtime.d.ts")
    run = subprocess.run([bin_ + "/openapi-typescript", PATH, "-o", made], capture_output=True,
                         text=True, timeout=12 * DEADLINE)
    eq(run.returncode, 0, "openapi-typescript reads it")
    said = (run.stdout + run.stderr).lower()
    ok("warn" not in said and "error" not in said, "and has nothing to say", said)
    run = subprocess.run([bin_ + "/tsc", "--noEmit", "--strict", made], capture_output=True,
                         text=True, timeout=12 * DEADLINE)
    eq((run.returncode, run.stdout), (0, ""), "and TypeScript takes the types")


if __name__ == "__main__":
    main()
