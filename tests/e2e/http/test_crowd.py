#!/usr/bin/env python3
"""Thousands of connections: a new peer is served, and the oldest idle peers make room."""
import os
import resource
import select
import socket

from harness import Client, eq, main, ok, request, skip, until

CAP = 1024
PEERS = 3000
ALIVE = request("GET", "/alive")


def can_open(n):
    """Whether this process may hold n descriptors and a few more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard == resource.RLIM_INFINITY or hard > n + 100


def closed(conns):
    """How many of the connections the server has closed, now."""
    poll = select.poll()
    for c in conns:
        poll.register(c.sock, select.POLLRDHUP)
    return len(poll.poll(0))


def served(client, times, name):
    good = 0
    for _ in range(times):
        with client.conn() as c:
            good += c.send(ALIVE).response().status == 200
    eq(good, times, name)


def test_idle_peers():
    if not can_open(PEERS):
        skip("3,000 idle peers", "RLIMIT_NOFILE is too low")
        return
    with Client() as client:
        with client.conn() as key:
            eq(key.send(request("GET", "/v1/status")).response().status, 200,
               "a peer that is trusted is idle first")
            peers = [client.conn().send(ALIVE) for _ in range(PEERS)]
            served(client, 100, "100 new peers are answered")
            ok(until(lambda: closed(peers) >= PEERS - CAP), "idle peers are closed for them",
               closed(peers))
            eq(closed(peers[:PEERS - CAP]), PEERS - CAP, "they are the oldest ones")
            kept = CAP - 110
            eq({c.response().status for c in peers}, {200}, "all of them were answered before")
            eq(closed(peers[-kept:]), 0, "the youngest ones stay")
            eq(key.send(ALIVE).response().status, 200, "the trusted peer stays")
        for c in peers:
            c.close()


def test_silent_peers():
    if not can_open(PEERS):
        skip("3,000 silent peers", "RLIMIT_NOFILE is too low")
        return
    with Client() as client:
        with client.conn() as key:
            key.send(request("GET", "/v1/status")).response()
            peers = [client.conn() for _ in range(PEERS)]
            served(client, 100, "100 new peers are answered beside 3,000 silent ones")
            eq(key.send(ALIVE).response().status, 200, "a trusted idle peer stays")
        for c in peers:
            c.close()


def test_all_at_once():
    """Connects that do not wait for each other, as after a restart of a backend."""
    if not can_open(PEERS):
        skip("3,000 connects at once", "RLIMIT_NOFILE is too low")
        return
    with Client() as client:
        peers = []
        for _ in range(PEERS):
            s = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            s.connect_ex(("127.0.0.1", client.port))
            peers.append(s)
        served(client, 20, "new peers are answered beside 3,000 connects")
        for s in peers:
            s.close()
        served(client, 20, "new peers are answered when the others have gone")
        ok(until(lambda: len(os.listdir(f"/proc/{client.pid}/fd")) < 100), "no descriptor is left behind")


if __name__ == "__main__":
    main()
