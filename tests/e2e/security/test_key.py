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


def test_failures():
    """After ten wrong keys of an address further ones are answered late; nobody else waits."""
    wrong = request("GET", "/v1/status", X_Session_API_Key="wrong")
    right = request("GET", "/v1/status", X_Session_API_Key=KEY)
    with Client(env={"SESSION_API_KEY": KEY}) as client:
        with client.conn() as c:
            eq({c.send(wrong).response().status for _ in range(14)}, {403}, "14 wrong keys are refused")
        with client.conn() as late, client.conn() as known, client.conn() as other:
            late.send(wrong)
            # the server handles one connection after the other: an answer to known is later
            for conn, data, what in ((known, right, "the right key"), (other, request("GET", "/alive"), "/alive")):
                eq([conn.send(data).response().status for _ in range(5)], [200] * 5,
                   f"{what} from the same address is answered")
            ok(late.idle(), "before the answer to a wrong key")
            eq(late.response().status, 403, "which comes in the end")
            eq(late.send(right).response().status, 200, "then the right key counts on this connection, too")
            many = [client.conn().send(wrong) for _ in range(200)]
            eq(known.send(right).response().status, 200, "the right key beside 200 wrong ones")
            ok(sum(c.idle() for c in many) > 100, "which wait", sum(c.idle() for c in many))
            eq({c.response().status for c in many}, {403}, "all of them are refused in the end")
            for c in many:
                c.close()
        ok(client.log().count("with a wrong session key") == 1, "the log has one line about it", client.log())


def test_no_key():
    for env in ({}, {"SESSION_API_KEY": ""}):
        with Client(env=env) as client:
            a = client.post("/execute_action", action("read", path="x"))
            eq(a.status, 200, f"open without a key ({env})")


if __name__ == "__main__":
    main()
