#!/usr/bin/env python3
"""Actions with an id: done once, however often they are asked for."""
import json
import os
import signal
import tempfile

import harness
from harness import Client, Gate, action, descendants, eq, has, ok, request, until

from test_crash import answers, murder


def ask(client, method, path, body=b"", **fields):
    with client.conn() as c:
        if method == "PUT":
            fields.setdefault("Content_Length", str(len(body)))
        return c.send(request(method, path, body, **fields)).response()


def put(client, name, command, query="", timeout=10, **args):
    body = {"action": "run", "args": {"command": command, **args}, "timeout": timeout}
    return ask(client, "PUT", f"/v1/actions/{name}{query}", json.dumps(body).encode())


def get(client, name, query=""):
    return ask(client, "GET", f"/v1/actions/{name}{query}")


def keyed(client, key, command):
    return ask(client, "POST", "/execute_action", action("run", command=command), Idempotency_Key=key)


def lines(client, name="done"):
    try:
        with open(f"{client.work}/{name}") as f:
            return f.read().split()
    except FileNotFoundError:
        return []


def test_key():
    with Client() as client:
        first = keyed(client, '"k1"', "echo x >>done; echo $RANDOM")
        eq(first.status, 200, "an action with a key")
        eq(first.field("idempotent-replayed"), None, "is done")
        again = keyed(client, "k1", "echo x >>done; echo $RANDOM")
        eq((again.status, again.body), (200, first.body), "again: the same answer")
        eq(again.field("idempotent-replayed"), "true", "which is told")
        eq(lines(client), ["x"], "it was done once")
        eq(keyed(client, "k1", "echo other").status, 409, "another one under that key")
        eq(keyed(client, "k2", "echo x >>done; echo $RANDOM").status, 200, "another key")
        eq(lines(client), ["x", "x"], "is done")
        for bad in ("", '""', "a b", "x" * 65, "a/b"):
            eq(keyed(client, bad, "true").status, 422, f"no key: {bad[:9]!r}")
        twice = request("POST", "/execute_action", action("run", command="true"), Idempotency_Key="a")
        twice = twice.replace(b"Idempotency-Key: a\r\n", b"Idempotency-Key: a\r\nIdempotency-Key: b\r\n")
        with client.conn() as c:
            eq(c.send(twice).response().status, 422, "two keys")
        eq(ask(client, "POST", "/execute_action", b'{"action":{"action":"run","args":[]}}',
               Idempotency_Key="odd").status, 422, "an action that is none")
        eq(ask(client, "POST", "/execute_action", b'{"action":{"action":"run","args":[]}}',
               Idempotency_Key="odd").status, 422, "stays none")
        for word, body in (("words", {"action": "run", "args": []}),
                           ("ipython", {"action": "run_ipython", "args": {"code": "1"}})):
            body = json.dumps({"action": body}).encode()
            given = [ask(client, "POST", "/execute_action", body, **key)
                       for key in ({}, {"Idempotency_Key": word}, {"Idempotency_Key": word})]
            ok(given[0].status in (422, 500), f"{word}: is refused")
            eq([(a.status, a.json()) for a in given[1:]], [(given[0].status, given[0].json())] * 2,
               f"{word}: in the same words with a key")
        eq(get(client, "ipython").json()["error"], given[0].json(), "and when asked what is known")
        eq(ask(client, "POST", "/execute_action", b'{"action":7}', Idempotency_Key="new").status, 422, "nor this")
        eq(get(client, "new").status, 404, "which is not remembered")
        eq(client.run("echo on")["content"], "on", "without a key all is as it was")


def test_together():
    """Many who ask at once share one action; who leaves leaves the action."""
    with Client() as client:
        gate = Gate(client)
        command = f"echo x >>done; read x <{gate}; echo over"
        left = client.conn()
        left.send(request("POST", "/execute_action", action("run", command=command), Idempotency_Key="k"))
        ok(until(lambda: lines(client) == ["x"]), "it has begun")
        left.close()
        many = [client.conn().send(request("POST", "/execute_action", action("run", command=command),
                                           Idempotency_Key="k")) for _ in range(20)]
        state = get(client, "k")
        eq((state.status, state.json()["state"]), (202, "running"), "it goes on without the first")
        gate.go()
        got = [c.response() for c in many]
        eq({r.status for r in got}, {200}, "all others are answered")
        eq({r.json()["content"] for r in got}, {"over"}, "with its output")
        eq(lines(client), ["x"], "it was done once")


def test_left():
    """Who leaves leaves the action, but does not keep others from the shell."""
    with Client() as client:
        gate = Gate(client)
        command = action("run", 0, command=f"echo x >>done; read x <{gate}; echo over", blocking=True)
        left = client.conn()
        left.send(request("POST", "/execute_action", command, Idempotency_Key="k"))
        ok(until(lambda: lines(client) == ["x"]), "it has begun")
        left.close()
        has(client.run("echo next")["extras"]["metadata"]["suffix"], "is NOT executed", "another is answered at once")
        said = ask(client, "POST", "/execute_action", command, Idempotency_Key="k").json()
        has(said["extras"]["metadata"]["suffix"], "The connection was closed", "who comes back is told")
        gate.go()
        has(client.run("")["content"], "over", "its output is there")
        gate = Gate(client)
        put(client, "p", f"echo y >>done; read x <{gate}; echo over", blocking=True)
        ok(until(lambda: lines(client) == ["x", "y"]), "one that is not waited for")
        with client.conn() as c:
            c.send(request("POST", "/execute_action", action("run", command="echo next")))
            eq(get(client, "p").json()["state"], "running", "is not in the way")
            gate.go()
            eq(c.response().json()["content"], "next", "the next one waits for it")
        eq(get(client, "p").json()["observation"]["content"], "over", "its answer is its own")


def test_event():
    """A backend numbers its actions, and repeats a request whose answer it did not get."""
    def body(number, stamp, command):
        event = {"id": number, "timestamp": stamp, "source": "agent", "action": "run", "args": {"command": command}}
        return json.dumps({"action": event}).encode()

    with Client() as client:
        first = ask(client, "POST", "/execute_action", body(3, "2026-01-01T00:00:00", "echo x >>done; echo $RANDOM"))
        again = ask(client, "POST", "/execute_action", body(3, "2026-01-01T00:00:00", "echo x >>done; echo $RANDOM"))
        eq((again.status, again.body), (200, first.body), "the same request again: the same answer")
        eq(lines(client), ["x"], "it was done once")
        ask(client, "POST", "/execute_action", body(3, "2026-01-01T00:00:01", "echo x >>done; echo $RANDOM"))
        eq(lines(client), ["x"] * 2, "later it is another action")
        ask(client, "POST", "/execute_action", body(3, "2026-01-01T00:00:01", "echo x  >>done; echo $RANDOM"))
        eq(lines(client), ["x"] * 3, "as is another command")
        for odd in (body(-1, "t", "echo x >>done"), body(4, None, "echo x >>done"), body("4", "t", "echo x >>done")):
            for _ in range(2):
                eq(ask(client, "POST", "/execute_action", odd).status, 200, "no id or no time of its own")
        eq(lines(client), ["x"] * 9, "is done each time")


def test_large():
    """An answer that is too long to be kept is still one for who waits."""
    with Client() as client:
        with open(client.work + "/big.png", "wb") as f:
            f.write(b"x" * (14 << 20))
        read = {"action": {"id": 1, "timestamp": "t", "action": "read", "args": {"path": client.work + "/big.png"}}}
        read = json.dumps(read).encode()
        first = ask(client, "POST", "/execute_action", read)
        eq((first.status, first.json()["observation"]), (200, "read"), "it is answered")
        ok(len(first.body) > 16 << 20, "with all of it")
        again = ask(client, "POST", "/execute_action", read)
        has(again.json()["content"], "its answer could not be stored", "who asks again is told")


def test_native():
    with Client() as client:
        gate = Gate(client)
        answer = put(client, "a1", f"read x <{gate}; echo one")
        eq(answer.status, 202, "accepted")
        eq(answer.json(), {"id": "a1", "state": "running", "replayed": False, "acknowledged": False}, "in words")
        again = put(client, "a1", f"read x <{gate}; echo one")
        eq((again.status, again.json()["replayed"]), (202, True), "accepted already")
        short = get(client, "a1", "?wait=0")
        eq((short.status, short.json()["state"]), (202, "running"), "not over")
        with client.conn() as c:
            c.send(request("GET", "/v1/actions/a1?wait=20"))
            gate.go()
            done = c.response()
        eq((done.status, done.json()["state"]), (200, "done"), "over")
        eq(done.json()["observation"]["content"], "one", "with its observation")
        eq(put(client, "a1", f"read x <{gate}; echo one").json()["observation"]["content"], "one", "asked again")
        eq(put(client, "a1", "echo two").status, 409, "another action of that id")
        eq(put(client, "a2", "echo two", "?wait=20").json()["observation"]["content"], "two", "waited for")
        acked = ask(client, "DELETE", "/v1/actions/a2")
        eq((acked.status, acked.json()["acknowledged"]), (200, True), "acknowledged")
        eq(put(client, "a2", "echo two").json()["observation"]["content"], "two", "it is known all the same")
        eq(get(client, "none").status, 404, "an id that was never used")
        eq(ask(client, "DELETE", "/v1/actions/none").status, 404, "nor to acknowledge")
        gate = Gate(client)
        put(client, "a3", f"read x <{gate}")
        eq(ask(client, "DELETE", "/v1/actions/a3").status, 409, "what runs is not acknowledged")
        gate.go()
        eq(get(client, "a3", "?wait=x").status, 422, "no number")
        eq(put(client, "x" * 65, "true").status, 422, "no id")
        eq(put(client, "a%20b", "true").status, 422, "nor this")
        eq(ask(client, "POST", "/v1/actions/a").status, 405, "another method")
        eq(ask(client, "PUT", "/v1/actions/a9", b"[]").status, 422, "no action")


def test_crash():
    """kill -9 of the server: what was answered is, what was on its way is told so."""
    with Client(role="init") as client:
        kept = keyed(client, "kept", "echo x >>done; echo $RANDOM").body
        gate = Gate(client)
        run = f"echo y >>done; echo early; read x <{gate}; echo over; (exit 7)"
        put(client, "on", run, blocking=True)
        ok(until(lambda: lines(client) == ["x", "y"]), "one runs")
        put(client, "next", "echo z >>done; echo its turn", blocking=True)
        eq(get(client, "next").json()["state"], "accepted", "one waits")
        put(client, "static", f"echo s >>done; read x <{gate}", is_static=True)
        ok(until(lambda: len(lines(client)) == 3), "one without a session runs")
        murder(client)
        ok(until(lambda: answers(client)), "the server is back")
        again = keyed(client, "kept", "echo x >>done; echo $RANDOM")
        eq((again.body, again.field("idempotent-replayed")), (kept, "true"), "what was done stays done")
        eq([get(client, n).json()["state"] for n in ("on", "next")], ["running", "accepted"], "what was on its way is")
        state = get(client, "static").json()
        eq(state["state"], "interrupted", "but for what dies with the server")
        has(state["observation"]["content"], "Whether it had an effect is not known", "in words")
        eq(put(client, "on", run, blocking=True).json()["replayed"], True, "asked again: it is on its way")
        gate.go()
        said = get(client, "on", "?wait=20").json()["observation"]
        eq((said["content"], said["extras"]["metadata"]["exit_code"]), ("early\nover", 7), "its real answer")
        eq(said["extras"]["metadata"]["suffix"], "\n[The command completed with exit code 7.]", "as if nothing had been")
        eq(get(client, "next", "?wait=20").json()["observation"]["content"], "its turn", "the next one has its turn")
        eq(lines(client), ["x", "y", "s", "z"], "each was done once")
        gate = Gate(client)
        put(client, "twice", f"echo t >>done; read x <{gate}; echo $((6 * 7))", timeout=60)
        for _ in range(2):
            ok(until(lambda: len(lines(client)) == 5), "it runs")
            murder(client)
            ok(until(lambda: answers(client)), "the server is back")
        gate.go()
        eq(get(client, "twice", "?wait=20").json()["observation"]["content"], "42", "after two deaths")
        put(client, "over", "echo u >>done; echo fast")
        ok(until(lambda: lines(client)[-1:] == ["u"]), "one that ends at once")
        murder(client)
        ok(until(lambda: answers(client)), "the server is back")
        eq(get(client, "over", "?wait=20").json()["observation"]["content"], "fast", "is told truly")


def test_restart():
    """A new start of the box, with a folder for its state."""
    with tempfile.TemporaryDirectory() as top:
        restart(top + "/state")


def restart(state):
    with Client("--state-dir", state) as client:
        kept = keyed(client, "kept", "echo $RANDOM").body
        gate = Gate(client)
        put(client, "lost", f"echo y >>done; read x <{gate}")
        ok(until(lambda: lines(client) == ["y"]), "one runs")
        put(client, "next", "echo z >>done; echo its turn")
        # A stop would tell those who wait that they will not have their turn.
        family = descendants(client.pid)
        for pid in [client.pid, *family]:
            os.kill(pid, signal.SIGKILL)
        client.kill()
    with Client("--state-dir", state) as client:
        eq(keyed(client, "kept", "echo $RANDOM").body, kept, "what was done stays done")
        eq(get(client, "lost").json()["state"], "interrupted", "what was on its way")
        eq(get(client, "next", "?wait=20").json()["observation"]["content"], "its turn", "what waited is done now")
        client.kill()
    with open(state + "/actions", "ab") as f:
        f.write(b"half of a rec")
    with Client("--state-dir", state) as client:
        eq(keyed(client, "kept", "echo $RANDOM").body, kept, "a torn end takes nothing else")
        has(client.log(), "the last record of the ledger of actions was incomplete; 13 bytes were dropped", "is told")
        eq(os.path.getsize(state + "/actions.torn"), 13, "and kept")
        client.kill()
    with open(state + "/actions", "wb") as f:
        f.write(b"something else")
    with Client("--state-dir", state) as client:
        eq(keyed(client, "kept", "echo new").json()["content"], "new", "a file of others: as new")
        has(client.log(), "cannot be used", "is told")
        with open(state + "/actions", "rb") as f:
            eq(f.read(), b"something else", "and not touched")


def test_stop():
    with Client() as client:
        gate = Gate(client)
        c = client.conn()
        c.send(request("POST", "/execute_action", action("run", command=f"read x <{gate}"), Idempotency_Key="k"))
        ok(until(lambda: get(client, "k").status == 202), "it runs")
        os.kill(client.pid, signal.SIGTERM)
        ok(c.response().status in (200, 503), "who waits is answered when the server stops")


def test_one_folder():
    """A folder of state is one box's: another one that is given it does not write to it."""
    with tempfile.TemporaryDirectory() as top:
        state = top + "/state"
        with Client("--state-dir", state, role="init") as first:
            with Client("--state-dir", state, role="init") as second:
                eq(ask(second, "GET", "/v1/status").json()["durability"], "memory", "who comes second lives in memory")
                for i in range(5):
                    for client in (first, second):
                        put(client, f"{client.port}-{i}", "true", "?wait=20")
                for client in (first, second):
                    murder(client)
                    ok(until(lambda: answers(client)), "the server is back")
                    eq([get(client, f"{client.port}-{i}").status for i in range(5)], [200] * 5, "and knows its own")
        with Client("--state-dir", state) as third:
            eq(ask(third, "GET", "/v1/status").json()["durability"], "file", "when they are gone it is free")
            eq([get(third, f"{first.port}-{i}").status for i in range(5)], [200] * 5, "with what was done")


if __name__ == "__main__":
    harness.main()
