#!/usr/bin/env python3
"""Heartbeats of a stream while the sandbox is as busy as commands can make it."""
import os
import threading

from harness import SLOW, Client, action, eq, main, ok, request
from ws_peer import Stream

BEATS = 30 * SLOW  # seconds; a peer is taken for dead after that much silence
HOGS = 2 * os.cpu_count()


def start_load(client):
    """Sessions that print without end, busy processes, and a download that nobody reads."""
    for n in range(4):
        conn = client.conn()
        conn.send(request("POST", "/execute_action", action("run", timeout=0, command="yes", session=f"s{n}")))
        yield conn
    client.run(f"for i in $(seq {HOGS}); do while :; do :; done & done")
    client.run("truncate -s 4G big")
    conn = client.conn()
    conn.send(request("GET", f"/v1/files?path={client.work}/big"))
    yield conn


def answer_alive(client, stop, failed):
    while not stop.is_set():
        with client.conn() as c:
            if c.send(request("GET", "/alive")).response(BEATS).status != 200:
                failed.append("alive")


def test_load():
    with Client() as client:
        stream = Stream.connect(client.port)
        stream.expect("hello")
        held = list(start_load(client))
        stop, failed = threading.Event(), []
        prober = threading.Thread(target=answer_alive, args=(client, stop, failed))
        prober.start()
        try:
            pinged = stream.ws.pinged
            beat = stream.expect("heartbeat", BEATS)
            ok(beat, "a heartbeat comes before the peer would be taken for dead")
            ok(stream.ws.pinged > pinged, "with a ping")
            stream.say("open", id=1, kind="http")
            stream.expect("opened", id=1, seconds=BEATS)
            ok(True, "the stream still takes requests")
        finally:
            stop.set()
            prober.join()
        eq(failed, [], "/alive is answered all the time")
        for conn in held:
            conn.close()
        stream.close()


if __name__ == "__main__":
    main()
