#!/usr/bin/env python3
"""Actions that are cancelled: what waits never starts, what runs is told to end."""
import json

import harness
from harness import Client, Gate, action, eq, has, ok, request, until

from test_actions import ask, get, lines, put
from test_crash import answers, murder


# A shell that is just starting a program may keep the interrupt from it: SIGTERM follows.
ENDED = (130, 143)


def cancel(client, name, query="", body=b""):
    return ask(client, "POST", f"/v1/actions/{name}/cancel{query}", body)


def code(state):
    return state["observation"]["extras"]["metadata"]["exit_code"]


def test_queued():
    with Client(role="init") as client:
        gate = Gate(client)
        put(client, "a", f"echo a >>done; read x <{gate}", blocking=True)
        ok(until(lambda: lines(client) == ["a"]), "one runs")
        put(client, "b", "echo b >>done")
        put(client, "c", "echo c >>done; echo its turn")
        with client.conn() as c:
            c.send(request("GET", "/v1/actions/b?wait=20"))
            r = cancel(client, "b")
            eq((r.status, r.json()["state"], r.json()["cancel"]), (200, "cancelled", "int"), "one that waits")
            eq(c.response().json()["state"], "cancelled", "who waits for it is told")
        has(r.json()["observation"]["content"], "had no effect", "in words")
        eq(cancel(client, "b", "?mode=kill").json()["cancel"], "int", "again: it was")
        eq(put(client, "b", "echo b >>done").json()["state"], "cancelled", "and is not begun")
        murder(client)
        ok(until(lambda: answers(client)), "the server is back")
        eq(get(client, "b").json()["state"], "cancelled", "after a crash, too")
        gate.go()
        eq(get(client, "c", "?wait=20").json()["observation"]["content"], "its turn", "the next one has its turn")
        eq(lines(client), ["a", "c"], "what was cancelled was not done")
        eq(cancel(client, "c").json()["state"], "done", "what is over stays")
        eq(cancel(client, "none").status, 404, "an id that was never used")
        eq(cancel(client, "c", "?mode=x").status, 422, "no mode")
        eq(cancel(client, "c", body=b"[]").status, 422, "nor this")


def test_running():
    with Client(role="init") as client:
        put(client, "a", "echo a >>done; sleep 1000; echo no >>done", timeout=0, blocking=True)
        ok(until(lambda: lines(client) == ["a"]), "one runs")
        r = cancel(client, "a", body=json.dumps({"mode": "int", "wait": 20}).encode())
        eq((r.status, r.json()["state"]), (200, "done"), "is interrupted")
        ok(code(r.json()) in ENDED, "as by the key")
        put(client, "b", "trap '' INT; echo b >>done; sleep 1000", timeout=0, blocking=True)
        ok(until(lambda: lines(client) == ["a", "b"]), "one that ignores it")
        eq(cancel(client, "b").status, 202, "is told")
        ok(get(client, "b", "?wait=20").json()["cancel"] in ("term", "kill"), "more clearly")
        client.run("trap - INT; cd /usr")
        put(client, "c", "trap '' INT TERM; echo c >>done; while :; do sleep 1000; done", timeout=0, blocking=True)
        ok(until(lambda: lines(client)[-1:] == ["c"] or lines(client)[-1:] == ["b"]), "one that ignores all")
        r = cancel(client, "c", "?mode=kill&wait=20")
        eq((r.json()["state"], r.json()["cancel"]), ("done", "kill"), "is killed with its shell")
        has(r.json()["observation"]["extras"]["metadata"]["suffix"], "its shell was ended", "which is told")
        has(client.run("pwd")["content"], "/usr", "the next one has a new shell in the same place")
        put(client, "s", "echo s; sleep 1000", timeout=0, is_static=True, blocking=True)
        ok(until(lambda: ask(client, "GET", "/v1/actions/s/out").body), "a static one")
        eq(cancel(client, "s", "?mode=term&wait=20").json()["state"], "done", "too")


def test_deaf():
    """Who ignores the interrupt ends by SIGTERM, and the end is seen: no key takes its mark away."""
    with Client() as client:
        names = [f"d{i}" for i in range(16)]
        for name in names:
            put(client, name, f"trap '' INT; echo {name} >>done; sleep 1000", session=name, timeout=0, blocking=True)
        ok(until(lambda: sorted(lines(client)) == sorted(names)), "some that ignore it")
        for i, name in enumerate(names):
            eq(cancel(client, name, "?mode=term" if i % 2 else "").status, 202, "each is told")
        ends = [get(client, name, "?wait=20").json() for name in names]
        eq({(e["state"], e["cancel"], code(e)) for e in ends}, {("done", "term", 143)}, "none has to be killed")


def test_crash():
    """What was told to end still is when the server was killed meanwhile."""
    with Client(role="init") as client:
        put(client, "a", "trap '' INT; echo a >>done; sleep 1000", timeout=0, blocking=True)
        ok(until(lambda: lines(client) == ["a"]), "one runs")
        eq(cancel(client, "a").status, 202, "it is told")
        murder(client)
        ok(until(lambda: answers(client)), "the server is back")
        ok(get(client, "a", "?wait=20").json()["cancel"] in ("term", "kill"), "it is told on")


def test_disconnect():
    with Client() as client:
        body = json.dumps({"action": "run", "args": {"command": "echo a >>done; sleep 1000", "blocking": True}}).encode()
        path = "/v1/actions/a?wait=100&on_disconnect=cancel&grace_ms="
        left = client.conn()
        left.send(request("PUT", path + "100000", body))
        ok(until(lambda: lines(client) == ["a"]), "one runs")
        left.close()
        back = client.conn()
        back.send(request("GET", "/v1/actions/a?wait=100"))
        eq(get(client, "a").json()["state"], "running", "who comes back in time finds it")
        back.close()
        put(client, "b", "echo b >>done; sleep 1000", session="b", timeout=0, blocking=True)
        path, body = path.replace("/a?", "/c?"), body.replace(b"echo a", b"echo c").replace(b'"blocking"', b'"session":"c","blocking"')
        left = client.conn()
        left.send(request("PUT", path + "0", body))
        ok(until(lambda: sorted(lines(client)) == ["a", "b", "c"]), "another one")
        left.close()
        ok(until(lambda: get(client, "c").json()["state"] == "done"), "ends with who waits for it")
        state = get(client, "c").json()
        ok(code(state) in ENDED, "by an interrupt")
        eq(get(client, "b").json()["state"], "running", "others do not")
        cancel(client, "a", "?mode=kill")
        cancel(client, "b", "?mode=kill")


def test_others():
    with Client() as client:
        body = json.dumps({"action": "read", "args": {"path": "/etc/hostname"}}).encode()
        given_up = 0
        for i in range(20):
            ask(client, "PUT", f"/v1/actions/r{i}", body)
            r = cancel(client, f"r{i}")
            ok(r.status == 200 and r.json()["state"] in ("done", "interrupted"), "what cannot be told to end has ended")
            if r.json()["state"] == "interrupted":
                has(r.json()["observation"]["content"], "Whether it had an effect is not known", "in words")
                given_up += 1
        ok(given_up, "some were given up")
        with client.conn() as c:
            c.send(request("POST", "/execute_action", action("run", 0, command="sleep 1000"), Idempotency_Key="k"))
            ok(until(lambda: get(client, "k").status == 202), "one with a key")
            cancel(client, "k")
            ok(c.response().json()["extras"]["metadata"]["exit_code"] in (-1, *ENDED), "can be cancelled, too")


if __name__ == "__main__":
    harness.main()
