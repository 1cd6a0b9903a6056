"""A sandbox that dials in to od-runtime listen and keeps all it receives, and clients of it."""
import json
import os

from harness import Closed, Conn, action, ok, request
from test_dial_proof import VERIFIER, proof
from test_listen import DIGEST, KEY, guest, output
from ws_peer import BINARY, TEXT

SECRETS = (("the key", KEY.encode()), ("its digest", VERIFIER), ("its digest in hex", DIGEST.encode()),
           ("a body that belongs to the key", b"body-canary"))


class Fake:
    """A sandbox of ours that keeps all it receives."""

    def __init__(self, l, box="v", token=None, nonce=None, says=None):
        self.box, self.nonce = box, nonce or os.urandom(16).hex()
        self.ws = guest(l, None, token or l.token(says or box))
        self.seen, self.frames = b"", []
        self.say("hello", box=box, nonce=self.nonce)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ws.conn.close()

    def say(self, type, **members):
        self.ws.frame(TEXT, json.dumps({"type": type, **members}).encode())

    def step(self, seconds=None):
        """The next frame: its type, and the frame."""
        op, data = self.ws.receive(seconds)
        self.seen += data
        if op == BINARY:
            return "input", data[24:]
        if op != TEXT:
            raise Closed(data)
        frame = json.loads(data)
        self.frames.append(frame["type"])
        return frame["type"], frame

    def expect(self, type):
        while True:
            got, frame = self.step()
            if got == type:
                return frame

    def prove(self, verifier=VERIFIER):
        """Answers the challenge, which it returns."""
        challenge = self.expect("prove")["nonce"]
        self.say("proof", proof=proof("sandbox", self.nonce, challenge, self.box, verifier))
        return challenge

    def answer(self, text):
        """Answers the next request with 200; its open frame and its bytes."""
        frame = self.expect("open")
        data = self.expect("input")
        output(self.ws, frame["id"], 0, b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(text) + text)
        return frame, data


def shows(l, box="v", key=KEY, **fields):
    """A client whose request with a key is on its way."""
    conn = Conn(l.port)
    return conn.send(request("POST", f"/sandboxes/{box}/execute_action",
                             action("run", command="echo body-canary"), X_Session_API_Key=key, **fields))


def saw_nothing(fake, name):
    for what, secret in SECRETS:
        ok(secret not in fake.seen, f"{name} does not receive {what}", fake.seen)
