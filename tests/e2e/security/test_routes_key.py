#!/usr/bin/env python3
"""Every route of the server's table needs the key, but for two that say nothing of the sandbox."""
import os
import re

import harness
from harness import SLOW, Client, Conn, eq, main, ok, request, sha256_hex

KEY = "canary-" + os.urandom(16).hex()
OPEN = {"/alive", "/server_info"}
SHOWN = {
    "no key": {}, "an empty key": {"X_Session_API_Key": ""}, "another key": {"X_Session_API_Key": "x" * len(KEY)},
    "a prefix": {"X_Session_API_Key": KEY[:-1]}, "a suffix": {"X_Session_API_Key": KEY[1:]},
    "the key and more": {"X_Session_API_Key": KEY + "x"}, "other case": {"X_Session_API_Key": KEY.upper()},
    "its digest": {"X_Session_API_Key": sha256_hex(KEY)}, "a long key": {"X_Session_API_Key": "x" * 8000},
    "a wrong bearer": {"Authorization": "Bearer x"}, "a basic login": {"Authorization": "Basic " + KEY},
    "a cookie": {"Cookie": "X-Session-API-Key=" + KEY},
}


def routes():
    """(method, path, whether it is open) of the table in the source, and of the built-in plugins."""
    with open(os.path.join(harness.TOP, "src/server/api.c")) as f:
        rows = re.findall(r'^\t\{"([A-Z]+)", "([^"]+)", ACCESS_(OPEN|KEY),', f.read(), re.M)
    for method, path, access in rows:
        yield method, path.replace("*", "x"), access == "OPEN"
    for method, path in (("POST", "/mcp"), ("GET", "/mcp/sse"), ("POST", "/update_mcp_server"),
                         ("GET", "/v1/kernels"), ("GET", "/v1/browser/screen"), ("GET", "/plugins/x/y")):
        yield method, path, False


def ask_all(client, requests):
    """The answers to requests that wait beside each other, each on a connection of its own."""
    conns = [Conn(client.port).send(data) for data in requests]
    answers = [c.response(30 * SLOW) for c in conns]
    for c in conns:
        c.close()
    return answers


def test_routes():
    table = list(routes())
    ok(len(table) > 30, f"the table has {len(table)} routes")
    eq({path for _, path, is_open in table if is_open}, OPEN, "two paths are open")
    with Client("--key-sha256", sha256_hex(KEY), "--plugins", "jupyter") as client:
        for name, fields in SHOWN.items():
            answers = ask_all(client, [request(method, path, **fields) for method, path, _ in table])
            for (method, path, is_open), answer in zip(table, answers):
                if is_open:
                    eq(answer.status, 200, f"{method} {path} with {name}")
                else:
                    eq((answer.status, answer.body), (403, b'{"detail":"Invalid API Key"}'),
                       f"{method} {path} with {name}")
        answers = ask_all(client, [request("GET", path + "?key=" + KEY) for _, path, is_open in table if not is_open])
        ok(all(a.status == 403 for a in answers), "a key in the query counts for nothing")
        (good,) = ask_all(client, [request("GET", "/v1/status", X_Session_API_Key=KEY)])
        eq(good.status, 200, "the key counts in its field")


if __name__ == "__main__":
    main()
