#!/usr/bin/env python3
"""Root of a sandbox with CAP_NET_RAW reads the key on the wire over HTTP, and nothing of it over TLS."""
import os
import select
import socket
import ssl

from harness import DEADLINE, Client, eq, has, main, ok, request, sha256_hex, skip

ETH_P_ALL = 3
KEY = "canary-" + os.urandom(16).hex()


class Sniffer:
    """Every frame on the loopback, until its mark has come by."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.sock.bind(("lo", 0))
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)

    def frames(self):
        """All that was sent before this call, known by a mark that is sent last."""
        mark, seen = os.urandom(16), b""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(mark, ("127.0.0.1", 9))
        while mark not in seen and select.select([self.sock], [], [], DEADLINE)[0]:
            seen += self.sock.recv(1 << 17)
        return seen


def sniffer():
    try:
        return Sniffer()
    except PermissionError:
        skip("a sniffer on the loopback", "it needs CAP_NET_RAW")
        return None


def test_http():
    wire = sniffer()
    if wire:
        with Client("--key-sha256", sha256_hex(KEY)) as client:
            eq(client.get("/v1/status", X_Session_API_Key=KEY).status, 200, "a request with the key")
        has(wire.frames(), KEY.encode(), "over HTTP the key can be read on the wire")


def test_tls():
    wire = sniffer()
    if wire:
        with Client("--key-sha256", sha256_hex(KEY), "--tls-self") as client:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with socket.create_connection(("127.0.0.1", client.port), timeout=DEADLINE) as plain:
                with context.wrap_socket(plain) as tls:
                    tls.sendall(request("GET", "/v1/status", X_Session_API_Key=KEY))
                    has(tls.recv(65536), b" 200 OK", "a request with the key over TLS")
        seen = wire.frames()
        ok(client.port.to_bytes(2, "big") in seen, "the connection is seen on the wire")
        ok(KEY.encode() not in seen and sha256_hex(KEY).encode() not in seen, "neither the key nor its hash is")


if __name__ == "__main__":
    main()
