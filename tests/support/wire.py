"""What stands between two who talk, and hands on what they say."""
import select
import socket
import struct
import threading


class Wire:
    """Listens on a port of its own, or where it is told to, and carries each connection to a port of the
    loopback or a socket's path, until it is cut; while it is down nobody gets in."""

    def __init__(self, to, listener=None):
        self.to, self.pairs, self.down, self.taken = to, [], False, 0
        self.listener = listener or socket.create_server(("127.0.0.1", 0))
        self.port = None if listener else self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def run(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            if self.down:
                sock.close()
                continue
            self.taken += 1
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        try:
            with self.near(sock) as near:
                self.meet(near)
        except OSError:
            pass

    def near(self, sock):
        """What is spoken with who has come, for a wire that wraps it."""
        return sock

    def meet(self, near):
        with far_of(self.to) as far:
            pair = near, far
            self.pairs.append(pair)
            try:
                self.carry(near, far)
            finally:
                if pair in self.pairs:
                    self.pairs.remove(pair)

    def carry(self, near, far):
        """Both ways; an end that comes from the near side leaves the other way open."""
        ways = {near: far, far: near}
        while ways:
            ready = [near] if near in ways and hasattr(near, "pending") and near.pending() else None
            for s in ready or select.select(list(ways), [], [])[0]:
                data = s.recv(65536)
                if data:
                    ways[s].sendall(self.passes(data, s is near))
                elif s is near:
                    far.shutdown(socket.SHUT_WR)
                    del ways[s]
                else:
                    return

    def passes(self, data, up):
        """What goes on of it, for a wire that changes something; up: from the near side."""
        return data

    def cut(self):
        """With RST, in both directions."""
        pairs, self.pairs = self.pairs, []
        for sock in (s for pair in pairs for s in pair):
            try:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                # Its thread notices, and closes it.
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def far_of(to):
    if isinstance(to, int):
        return socket.create_connection(("127.0.0.1", to))
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(to)
    except OSError:
        sock.close()
        raise
    return sock
