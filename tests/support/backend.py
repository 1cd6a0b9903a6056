"""A backend that sandboxes dial out to: one that accepts them and speaks /v1/stream."""
import socket
import time

import harness
from harness import Conn
from ws_peer import Stream, WebSocket, accept_of


class Backend:
    """Listens; each who dials in becomes a Stream."""

    def __init__(self, path=None, tls=None):
        self.tls = tls
        if path:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.bind(path)
        else:
            self.sock = socket.socket()
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.sock.bind(("127.0.0.1", 0))
            self.port = self.sock.getsockname()[1]
        self.sock.listen(8)
        self.sock.settimeout(harness.DEADLINE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def meet(self):
        """The head of the next one's request, and the Conn."""
        sock, _ = self.sock.accept()
        sock.settimeout(harness.DEADLINE)
        if self.tls:
            sock = self.tls.wrap_socket(sock, server_side=True)
        conn = Conn.__new__(Conn)
        conn.sock, conn.data = sock, b""
        end = time.monotonic() + harness.DEADLINE
        lines = conn._until(b"\r\n\r\n", end).decode().split("\r\n")
        return lines[0], dict(line.lower().split(": ", 1) for line in lines[1:]), lines, conn

    def stream(self):
        _, _, lines, conn = self.meet()
        key = next(l.split(": ")[1] for l in lines if l.lower().startswith("sec-websocket-key"))
        conn.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                  b"Connection: Upgrade\r\nSec-WebSocket-Accept: " +
                  accept_of(key.encode()).encode() + b"\r\n\r\n")
        return Stream(WebSocket(conn, masks=False))
