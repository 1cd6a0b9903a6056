#!/usr/bin/env python3
"""The session key: who needs it, and where it must never be seen."""
import os

from harness import WRAP, Client, action, descendants, eq, has, main, ok, proc, request, sha256_hex

KEY = "canary-" + os.urandom(16).hex()
WRONG = (("none", None), ("an empty one", ""), ("another", "x" * len(KEY)),
         ("the first half", KEY[:20]), ("one byte more", KEY + "x"), ("one byte less", KEY[:-1]),
         ("other case", KEY.upper()), ("a long one", "x" * 4000), ("its digest", sha256_hex(KEY)))


def check_rule(client):
    for name, key in WRONG:
        a = client.post("/execute_action", action("run", command="touch pwned"),
                        X_Session_API_Key=key)
        eq((a.status, a.json()), (403, {"detail": "Invalid API Key"}), f"403 with {name}")
    for path in ("/execute_action", "/nope", "/alive/", "/", "/alivex"):
        eq(client.get(path).status, 403, f"403 before anything else is said of {path}")
    for path in ("/alive", "/server_info"):
        eq(client.get(path).status, 200, f"{path} is open")
    a = client.post("/execute_action", action("run", command="ls"), X_SESSION_api_key=KEY)
    eq((a.status, a.json()["content"]), (200, ""), "200 with it; nothing ran before")
    eq(client.get("/nope", X_Session_API_Key=KEY).status, 404, "then 404 is 404")
    two = (f"POST /execute_action HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: {KEY}\r\n"
           f"X-Session-API-Key: no\r\nContent-Length: 0\r\n\r\n")
    with client.conn() as c:
        ok(c.send(two.encode()).response().status in (400, 403), "two keys are none")
    with client.conn() as c:
        c.send(request("POST", "/execute_action", Content_Length="1000000"))
        eq(c.response().status, 403, "403 before a byte of the body is read")


def test_from_environment():
    for role in ("serve", "init"):
        with Client(role=role, env={"SESSION_API_KEY": KEY}) as client:
            if role == "serve":
                check_rule(client)
            check_nowhere(client, role)


def check_nowhere(client, role):
    """As root, who may read anything: no process of ours shows the key."""
    def run(command):
        body = action("run", command=command)
        return client.post("/execute_action", body, X_Session_API_Key=KEY).json()["content"]

    eq(run("echo ${SESSION_API_KEY-unset}; env | grep -c canary"), "unset\n0",
       f"{role}: the shell has not got it")
    eq(run("echo $$").isdigit(), True, f"{role}: a shell runs below")
    for one in (client.pid, *descendants(client.pid)):
        if WRAP and b"od-runtime-client" in proc(one, "cmdline"):
            continue  # the wrapper's own environment is not in our hands
        for file in ("environ", "cmdline"):
            ok(KEY.encode() not in proc(one, file), f"{role}: not in {file} of {proc(one, 'comm').decode().strip()}")
    has(proc(client.pid, "environ"), b"HOME=", f"{role}: (and the test can see the environment)")
    ok(KEY not in client.log() and KEY.encode() not in client.stdout, f"{role}: not in the log")


def test_by_digest():
    with Client("--key-sha256", sha256_hex(KEY)) as client:
        check_rule(client)
    with Client("--key-sha256", sha256_hex(KEY).upper()) as client:
        a = client.post("/execute_action", action("read", path="x"), X_Session_API_Key=KEY)
        eq(a.status, 200, "the digest may be in capital letters")


def test_no_key():
    for env in ({}, {"SESSION_API_KEY": ""}):
        with Client(env=env) as client:
            a = client.post("/execute_action", action("read", path="x"))
            eq(a.status, 200, f"open without a key ({env})")


if __name__ == "__main__":
    main()
