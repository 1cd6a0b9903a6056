"""Connections of a peer that a test plays."""
import threading


def serve_each(listener, serve):
    """Calls serve(sock) in a thread of its own for each connection, until the listener is closed."""
    def run():
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(sock,), daemon=True).start()
    threading.Thread(target=run, daemon=True).start()
