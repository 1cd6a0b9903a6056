#!/usr/bin/env python3
"""One exchange (submit, output as a stream, acknowledge) cut at every byte, in both directions, with FIN, with RST and by
silence: nothing lost, nothing doubled, nothing else. OD_CUT=N takes every Nth byte; 1, all of them, by default."""
import concurrent.futures
import hashlib
import json
import os
import socket

import harness
from harness import Client, Closed, eq, ok, request, until

WORKERS = 4
EACH = int(os.environ.get("OD_CUT", "1"))
SILENT = 100  # connections of each worker on which nothing happens any more


def action_for(name, effects):
    command = f"echo {name} >>{effects}; echo out of {name}"
    return {"action": "run", "args": {"command": command, "session": "s" + name[-1], "blocking": True}}


def requests_for(name, effects):
    body = json.dumps(action_for(name, effects)).encode()
    return [request("PUT", f"/v1/actions/{name}?wait=20", body, Content_Length=str(len(body))),
            request("GET", f"/v1/actions/{name}/out", Accept="text/event-stream"),
            request("DELETE", f"/v1/actions/{name}")]


def is_whole(data):
    """Whether these bytes are an answer from its beginning to its end."""
    head, found, rest = data.partition(b"\r\n\r\n")
    if found and b"content-length: " in head.lower():
        return len(rest) == int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return found and rest.endswith(b"0\r\n\r\n")


def take(c, most=None):
    """An answer, or so many bytes of it."""
    data = b""
    while not is_whole(data) and len(data) != most:
        more = c.sock.recv(65536 if most is None else most - len(data))
        if not more:
            raise Closed(data)
        data += more
    return data


def cut_sending(c, asked, at):
    """Sends so many bytes, each request behind the answer to the one before."""
    for one in asked:
        c.send(one[:at])
        if at < len(one):
            return
        at -= len(one)
        take(c)


def cut_receiving(c, asked, at):
    """The same, until so many bytes of answers have come."""
    for one in asked:
        c.send(one)
        at -= len(take(c, at))
        if not at:
            return


def fin(c, silent):
    c.sock.shutdown(socket.SHUT_RDWR)


def rst(c, silent):
    c.reset()


def stall(c, silent):
    silent.append(c.sock.dup())
    if len(silent) > SILENT:
        silent.pop(0).close()


def whole(client, asked):
    """The exchange without a cut: its answers, each a head and a body."""
    with client.conn() as c:
        return [tuple(take(c.send(one)).split(b"\r\n\r\n", 1)) for one in asked]


def blocks_of(body):
    """(event, data) of a stream that came in chunks."""
    text = b""
    while body:
        size, body = body.split(b"\r\n", 1)
        text, body = text + body[:int(size, 16)], body[int(size, 16) + 2:]
    fields = [dict(line.split(": ", 1) for line in block.split("\n")) for block in text.decode().split("\n\n") if block]
    return [(f["event"], json.loads(f["data"])) for f in fields]


def judge(answers, name):
    """What is wrong with them, or None."""
    want = f"out of {name}\r\n"
    end = {"state": "done", "length": len(want), "sha256": hashlib.sha256(want.encode()).hexdigest()}
    if not all(head.startswith(b"HTTP/1.1 200 ") for head, _ in answers):
        return "another status"
    done, acked = (json.loads(answers[i][1]) for i in (0, 2))
    if done["state"] != "done" or done["observation"]["content"] != want.strip():
        return "another answer"
    # What was acknowledged before the cut keeps no bytes.
    there = [("out", {"from": 0, "to": len(want), "text": want}), ("end", end)]
    gone = [("gap", {"from": 0, "to": len(want)}), ("end", end)]
    if blocks_of(answers[1][1]) != (gone if done["acknowledged"] else there):
        return "another output"
    return None if acked["acknowledged"] and acked["observation"] == done["observation"] else "another end"


def one_run(client, effects, silent, name, cut, at, end):
    """What is wrong, or None."""
    asked = requests_for(name, effects)
    with client.conn() as c:
        cut(c, asked, at)
        end(c, silent)
    answers = whole(client, asked)
    wrong = judge(answers, name)
    return wrong and f"{name}: {cut.__name__} at {at}, {end.__name__}: {wrong}: {answers!r}"


def sockets(pid):
    """How many this process has open; many if they change meanwhile."""
    try:
        return sum("socket" in os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
    except FileNotFoundError:
        return WORKERS * SILENT


def cut_everywhere(client, effects, one_run, lengths, each):
    """Cuts an exchange that was done once, in each way {cut: bytes} behind every so many bytes, and looks what became of all."""
    runs = [(cut, at, end) for cut, n in lengths.items() for at in range(1, n, each) for end in (fin, rst, stall)]

    def work(w):
        silent = []
        try:
            for i in range(w, len(runs), WORKERS):
                found = one_run(client, effects, silent, f"cut-{i:07}-{w}", *runs[i])
                if found:
                    return found
        finally:
            for sock in silent:
                sock.close()
        return None

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        wrong = [r for r in pool.map(work, range(WORKERS)) if r]
    sent, got = lengths.values()
    eq(wrong, [], f"{sent} bytes there and {got} back, cut {len(runs)} times with FIN, RST and silence")
    with open(effects, encoding="ascii") as f:
        names = f.read().split()
    eq(len(names), len(runs) + 1, "each was done")
    eq(len(set(names)), len(names), "once")
    ok(until(lambda: sockets(client.pid) < WORKERS * 4), "no connection is left")


def test_cut():
    with Client() as client:
        effects = client.work + "/effects"
        asked = requests_for("first-00000-0", effects)
        answers = whole(client, asked)
        eq(judge(answers, "first-00000-0"), None, "the exchange")
        lengths = {cut_sending: sum(map(len, asked)),
                   cut_receiving: sum(len(head) + 4 + len(body) for head, body in answers)}
        cut_everywhere(client, effects, one_run, lengths, EACH)


if __name__ == "__main__":
    harness.main()
