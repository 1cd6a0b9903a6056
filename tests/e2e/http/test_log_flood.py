#!/usr/bin/env python3
"""The server's own log stays small, whatever its peers do wrong, and however often."""
import os
import socket
import ssl

from harness import SLOW, Client, action, eq, main, ok, request

ROUNDS = int(1000 / SLOW)
HANDSHAKES = int(100 / SLOW)
LOG_MAX = 4096  # a few lines, not one for each request
# A failing request each; {} is the number of the round, so that no line is like the one before.
FAILING = [
    b"NONSENSE {}\r\n\r\n",
    b"GET /alive HTTP/1.1\r\nHost: x\r\nHost: {}\r\n\r\n",
    b"GET /alive HTTP/9.{}\r\nHost: x\r\n\r\n",
    b"POST /execute_action HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    b"POST /execute_action HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz{}\r\n",
]
REFUSED = [
    lambda n: request("GET", f"/nothing/{n}"),
    lambda n: request("POST", "/execute_action", b'{"action": %d' % n),
    lambda n: request("POST", "/execute_action", action("fly", number=n)),
    lambda n: request("POST", "/execute_action", action("read", path=f"/nonexistent/{n}")),
    lambda n: request("PUT", f"/v1/files?path=/proc/nothing{n}", b"x"),
    lambda n: request("GET", "/v1/status", Host=f"evil{n}.test"),
    lambda n: request("GET", "/v1/stream", Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Key=str(n)),
    lambda n: request("PUT", f"/v1/actions/{n}", b"{}"),
]


def size(client):
    return os.fstat(client.stderr.fileno()).st_size


def finish(client, before, what):
    grown = size(client) - before
    ok(grown <= LOG_MAX, f"the log grows by {grown} bytes during {what}, {LOG_MAX} at most", client.log()[:2000])
    eq(client.get("/alive").status, 200, f"the server goes on after {what}")


def test_requests():
    with Client() as client:
        before = size(client)
        for n in range(ROUNDS):
            with client.conn() as c:
                c.send(FAILING[n % len(FAILING)].replace(b"{}", b"%d" % n))
                c.response()
        finish(client, before, f"{ROUNDS} requests that break the grammar")
        for n in range(ROUNDS):
            status = client.ask(REFUSED[n % len(REFUSED)](n)).status
            if status >= 500 and status != 507:
                ok(False, f"status {status}")
        finish(client, before, f"{ROUNDS} requests that are refused")


def test_hang_ups():
    with Client() as client:
        before = size(client)
        for n in range(ROUNDS):
            with client.conn() as c:
                c.send(request("POST", "/execute_action", action("run", command="true"))[:20 + n % 60])
                c.reset()
        finish(client, before, f"{ROUNDS} connections that are reset")


def test_handshakes():
    with Client("--tls-self") as client:
        before = size(client)
        context = ssl.create_default_context()
        failed = 0
        for n in range(HANDSHAKES):
            with socket.create_connection(("127.0.0.1", client.port)) as sock:
                try:
                    if n % 2:
                        context.wrap_socket(sock, server_hostname=f"evil{n}.test")
                    else:
                        sock.sendall(b"GET / HTTP/1.1\r\nHost: %d\r\n\r\n" % n)
                        failed += not sock.recv(1000).startswith(b"HTTP")
                except (ssl.SSLError, ConnectionError):
                    failed += 1
        grown = size(client) - before
        ok(failed == HANDSHAKES, "every handshake fails", failed)
        ok(0 < grown <= LOG_MAX, f"the log grows by {grown} bytes")


if __name__ == "__main__":
    main()
