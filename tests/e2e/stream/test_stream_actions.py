#!/usr/bin/env python3
"""Actions and events in channels of /v1/stream: submitted once, read by offset at the speed
of the reader, resumed after a loss; leases of those who drive."""
import hashlib
import json
import os

import harness
import ws_peer
from harness import Client, Closed, Conn, Gate, eq, has, ok, request, until
from test_crash import murder
from ws_peer import Stream

KEY = "a-session-key"


def keyed(*options):
    return Client("--key-sha256", hashlib.sha256(KEY.encode()).hexdigest(), *options)


def ask(client, method, path, body=b"", **fields):
    with Conn(client.port) as conn:
        conn.send(request(method, path, body, X_Session_API_Key=KEY, **fields))
        return conn.response()


def run(command, **args):
    return {"action": "run", "args": {"command": command, **args}}


def answer(s, id):
    """What ended says, and the answer, which is there when the channel is closed."""
    ended = s.expect("ended", id=id)
    s.expect("closed", id=id)
    eq(len(s.answers.get(id, b"")), ended["answer"], "as long as was told")
    return ended, json.loads(s.answers[id])


def ended_by(s):
    try:
        while True:
            s.step()
    except Closed as e:
        return int.from_bytes(e.args[0][:2], "big"), e.args[0][2:]


def test_action():
    with keyed() as c:
        s = Stream.connect(c.port, KEY)
        hello = s.expect("hello")
        eq([len(hello["sandbox"]), hello["boot"]], [32, 1], "hello says which sandbox and start it is")
        gate = Gate(c)
        s.say("open", id=1, kind="action", action_id="a1",
              action=run(f"echo x >>times; echo one; cat {gate}; printf two"))
        opened = s.expect("opened", id=1)
        eq([opened["state"], opened["replayed"]], ["running", False], "an action is begun")
        has(s.until(1, b"one\r\n"), b"one", "its output comes while it runs")
        s.say("open", id=2, kind="action", action_id="a1")
        eq(s.expect("opened", id=2)["replayed"], True, "another channel finds it again")
        s.say("open", id=3, kind="action", action_id="a1", action=run("echo other"))
        eq(s.expect("closed", id=3)["status"], 409, "an id is one action's")
        at = s.at[1]
        s.ws.conn.reset()
        s = Stream.connect(c.port, KEY)
        eq(s.expect("hello")["sandbox"], hello["sandbox"], "it is the same sandbox")
        s.say("open", id=1, kind="action", action_id="a1", offset=at)
        s.expect("opened", id=1)
        gate.go(b"line\n")
        ended, observation = answer(s, 1)
        want = b"one\r\nline\r\ntwo"
        eq(s.output[1], want[at:], "after a loss it goes on where it was")
        eq([ended["state"], ended["status"], ended["length"], ended["sha256"]],
           ["done", 200, len(want), hashlib.sha256(want).hexdigest()], "how it ended")
        has(observation["content"], "one", "and its answer")
        got = ask(c, "GET", "/v1/actions/a1").json()
        eq(got["observation"], observation, "which is that of the other way")
        body = run("echo by PUT; echo x >>times")
        eq(ask(c, "PUT", "/v1/actions/a2?wait=20", json.dumps(body).encode()).status, 200, "one by PUT")
        s.say("open", id=4, kind="action", action_id="a2", action=body)
        eq(s.expect("opened", id=4)["replayed"], True, "is the same in a channel")
        eq(answer(s, 4)[1]["content"][:6], "by PUT", "with its answer")
        eq(s.output[4], b"by PUT\r\n", "and output")
        with open(os.path.join(c.work, "times")) as f:
            eq(f.read(), "x\nx\n", "each was done once")
        s.close()


def test_refusals():
    with keyed() as c:
        s = Stream.connect(c.port, KEY)
        s.expect("hello")
        for n, (members, status) in enumerate((
                ({"action_id": "none"}, 404), ({"action_id": "a b"}, 422), ({}, 422),
                ({"action_id": "x" * 65}, 422),
                ({"action_id": "x", "action": []}, 404), ({"action_id": "x", "action": {}}, 200),
                ({"action_id": "y", "action": {"action": "fly"}}, 200),
                ({"action_id": "y", "offset": 1}, 416),
                ({"action_id": "lost", "offset": 1, "action": run("echo again >>lost")}, 404))):
            s.say("open", id=n + 1, kind="action", **members)
            if status == 200:
                # As by PUT: it is recorded, and how it was refused.
                s.expect("opened", id=n + 1)
                ended, told = answer(s, n + 1)
                eq(ask(c, "GET", "/v1/actions/" + members["action_id"]).json().get(
                    "error" if ended["status"] >= 400 else "observation"), told, "as by the other way")
                continue
            eq(s.expect("closed", id=n + 1)["status"], status, f"{members}")
        s.say("open", id=90, kind="action", action_id="w", action=run("sleep 1000"))
        s.expect("opened", id=90)
        s.put_in(90, b"typed")
        has(s.expect("closed", id=90)["detail"], "accepts no input", "it takes none")
        s.say("open", id=91, kind="action", action_id="w")
        s.expect("opened", id=91)
        s.say("cancel", id=91, mode="fly")
        s.expect("error", id=91)
        s.say("cancel", id=91, mode="kill")
        ended, _ = answer(s, 91)
        ok(ended["state"] in ("done", "interrupted"), "it can be cancelled", ended)
        s.say("cancel", id=91)
        s.say("open", id=92, kind="events", offset=1 << 40)
        eq(s.expect("closed", id=92)["status"], 416, "so much has not happened")
        ok(not os.path.exists(os.path.join(c.work, "lost")),
           "what has printed before is not begun again by a sandbox that knows nothing of it")
        s.say("heartbeat")
        s.close()
        with Conn(c.port) as conn:
            conn.send(request("GET", "/alive"))
            eq(conn.response().status, 200, "and the server is well")


def test_slow():
    """A reader without credit waits for itself, and nothing is kept for him in memory."""
    with keyed() as c:
        slow, fast = (Stream.connect(c.port, KEY, acks=a) for a in (False, True))
        size = 3000000
        fast.say("open", id=1, kind="action", action_id="big",
                 action=run(f"head -c {size} /dev/zero | tr '\\0' x"))
        fast.expect("opened")
        slow.say("open", id=1, kind="action", action_id="big", window=16384)
        slow.expect("opened")
        ended, _ = answer(fast, 1)
        eq([ended["length"], len(fast.output[1])], [size, size], "the fast one has all")
        before = harness.own_kib(c.pid)
        try:
            while True:
                slow.step(0.3)
        except TimeoutError:
            pass
        eq(slow.got[1], 16384, "the slow one has what he has room for")
        more = [Stream.connect(c.port, KEY, acks=False) for _ in range(20)]
        for s in more:
            for id in range(1, 60):
                s.say("open", id=id, kind="action", action_id="big", window=16384)
            s.expect("opened", id=59)
        harness.slim(harness.own_kib(c.pid) - before, 20 * 60 * 24,
                     "of many it takes what is on its way, KiB")
        slow.acks = True
        slow.say("ack", id=1, bytes=slow.got[1])
        ended, _ = answer(slow, 1)
        eq(hashlib.sha256(slow.output[1]).hexdigest(), ended["sha256"], "and it has the rest later")
        for s in more + [slow, fast]:
            s.close()


def lines(s, id):
    return [json.loads(l) for l in s.output.get(id, b"").splitlines()]


def test_events():
    with keyed() as c:
        s = Stream.connect(c.port, KEY)
        last = s.expect("hello")["last"]
        s.say("open", id=1, kind="events", offset=0)
        eq(s.expect("opened", id=1)["offset"], 0, "from the beginning")
        s.say("open", id=2, kind="events")
        ok(s.expect("opened", id=2)["offset"] >= last, "or from now on")
        s.say("open", id=3, kind="action", action_id="a", action=run("echo a"))
        answer(s, 3)
        until(lambda: [e for e in lines(s, 1) if e["state"] == "done"] or s.step())
        got = lines(s, 1)
        eq([e["seq"] for e in got], list(range(1, len(got) + 1)), "numbers without a hole")
        eq(s.at[1], len(got), "which are the offsets")
        eq([e["state"] for e in got if e["event"] == "action" and e["name"] == "a"],
           ["accepted", "running", "done"], "what became of an action")
        whole = ask(c, "GET", "/v1/events").json()["events"]
        eq(got, whole[:len(got)], "as by the other way")
        at = s.at[1]
        s.ws.conn.reset()
        ask(c, "PUT", "/v1/actions/b?wait=20", json.dumps(run("echo b")).encode())
        s = Stream.connect(c.port, KEY)
        ok(s.expect("hello")["last"] > at, "hello tells how far it is")
        s.say("open", id=1, kind="events", offset=at)
        s.expect("opened", id=1)
        until(lambda: [e for e in lines(s, 1) if e["state"] == "done" and e["name"] == "b"] or s.step())
        eq([e["seq"] for e in lines(s, 1)][0], at + 1, "who comes back misses nothing, and hears nothing twice")
        slow = Stream.connect(c.port, KEY, acks=False)
        slow.say("open", id=1, kind="events", offset=0, window=16384)
        for i in range(150):
            ask(c, "PUT", f"/v1/actions/n{i}?wait=20", b'{"action":"read","args":{"path":"/etc/hostname"}}')
        until(lambda: '"n149"' in s.output[1].decode() or s.step())
        try:
            while True:
                slow.step(0.3)
        except TimeoutError:
            pass
        ok(slow.got[1] <= 16384, "a slow one has what he has room for")
        slow.acks = True
        slow.say("ack", id=1, bytes=slow.got[1])
        until(lambda: slow.at[1] >= s.at[1] or slow.step())
        eq([e["seq"] for e in lines(slow, 1)][:s.at[1]], list(range(1, s.at[1] + 1)), "and all of them later")
        s.close()
        slow.close()


def test_crash():
    """The server is killed in the middle: the same action, the same offsets."""
    with Client("--key-sha256", hashlib.sha256(KEY.encode()).hexdigest(), role="init") as c:
        gate = Gate(c)
        s = Stream.connect(c.port, KEY)
        hello = s.expect("hello")
        s.say("open", id=1, kind="action", action_id="a", action=run(f"echo one; cat {gate}; echo two"))
        s.until(1, b"one\r\n")
        murder(c)
        gate.go(b"three\n")
        again = Stream.connect(c.port, KEY)
        now = again.expect("hello")
        eq([now["sandbox"], now["boot"]], [hello["sandbox"], hello["boot"]], "it is the same start of it")
        ok(now["epoch"] != hello["epoch"], "by another process")
        again.say("open", id=1, kind="action", action_id="a", offset=s.at[1])
        ended, observation = answer(again, 1)
        eq(again.output[1], b"three\r\ntwo\r\n", "whose output goes on where it was")
        has(observation["content"], "two", "with the answer")
        again.close()


def test_heartbeat():
    """Who is told nothing learns by the heartbeat that he has missed something."""
    with keyed() as c:
        s = Stream.connect(c.port, KEY)
        hello = s.expect("hello")
        ask(c, "PUT", "/v1/actions/a?wait=20", json.dumps(run("echo a")).encode())
        beat = s.expect("heartbeat", 30)
        eq([beat[k] for k in ("epoch", "sandbox", "boot")], [hello[k] for k in ("epoch", "sandbox", "boot")],
           "a heartbeat says who it is")
        eq(beat["last"], ask(c, "GET", "/v1/events").json()["last"], "and how far it is")
        ok(beat["last"] > hello["last"] and s.ws.pinged, "which is further, beside a ping")
        s.close()


def test_leases():
    with keyed() as c:
        old = Stream.connect(c.port, KEY)
        old.say("lease", lease=5)
        eq(old.expect("lease")["lease"], 5, "a backend shows its lease")
        old.say("open", id=1, kind="action", action_id="a", action=run("echo a"))
        answer(old, 1)
        conn, got = ws_peer.upgrade(c.port, key=KEY, X_Lease="4")
        eq(got.status, 409, "an older one does not come in")
        conn.close()
        new = Stream.connect(c.port, KEY)
        new.say("open", id=1, kind="events")
        new.expect("opened", id=1)
        new.say("lease", lease=6)
        eq(new.expect("lease")["lease"], 6, "another takes over")
        code, why = ended_by(old)
        eq(code, 4409, "and the first has to leave")
        has(why, b"fenced", "and learns why")
        old.close()
        until(lambda: b'"lease"' in new.output.get(1, b"") or new.step())
        old = Stream.connect(c.port, KEY)
        old.say("lease", lease=5)
        old.say("open", id=1, kind="action", action_id="b", action=run("echo b"))
        eq(old.expect("lease")["lease"], 6, "who comes back is told of the higher one")
        eq(ended_by(old)[0], 4409, "and sent away")
        eq(ask(c, "GET", "/v1/actions/b").status, 404, "with nothing done for him")
        old.close()
        eq(ask(c, "GET", "/v1/status", X_Lease="7").status, 200, "a higher one by a request")
        eq(ended_by(new)[0], 4409, "counts for streams")
        new.close()
        conn, got = ws_peer.upgrade(c.port, key=KEY, X_Lease="8")
        by_field = Stream(ws_peer.WebSocket(conn))
        by_field.expect("hello")
        eq(ask(c, "GET", "/v1/status", X_Lease="9").status, 200, "and one that")
        eq(ended_by(by_field)[0], 4409, "a stream has shown with its handshake, too")
        by_field.close()


if __name__ == "__main__":
    harness.main()
