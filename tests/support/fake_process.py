"""Processes of a fake sandbox: the answers to POST /v1/processes and to its attach."""
import json
import struct

WINDOW = 65536


class Ran:
    """What a process does: the frames it sends, and how it ends.

    sends are (type, bytes) of frames behind the first one; raw is sent as it is instead of
    the end. reads: stdin is read to its end before the process ends, and kept in stdin.
    """

    def __init__(self, stdout=b"", stderr=b"", code=0, signal=None, timed_out=False, reads=False,
                 raw=None, sends=()):
        self.sends = list(sends)
        if stdout:
            self.sends.append((1, stdout))
        if stderr:
            self.sends.append((2, stderr))
        self.end = {"type": "exited", "exit_code": None if signal else code, "signal": signal,
                    "timed_out": timed_out}
        self.reads, self.raw, self.stdin, self.controls = reads, raw, b"", []


def frame(type_, data):
    return struct.pack(">BxxxI", type_, len(data)) + data


def control(**members):
    return frame(4, json.dumps(members).encode())


def state(ran, exited=False):
    return {"id": "p1", "argv": ["x"], "pid": 7, "state": "exited" if exited else "running",
            "exit_code": None, "signal": None, "stdin": {"open": True, "offset": len(ran.stdin)},
            "outputs": {"stdout": {"start": 0, "end": 0, "open": True}}}


def read_frame(conn, data):
    while len(data) < 8 or len(data) < 8 + struct.unpack(">I", data[4:8])[0]:
        more = conn.recv(65536)
        if not more:
            raise OSError("the peer has gone")
        data += more
    n = struct.unpack(">I", data[4:8])[0]
    return data[0], data[8:8 + n], data[8 + n:]


def attach(conn, ran):
    """Serves one attached connection whose request was read."""
    conn.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                 b"Upgrade: od.process.v1\r\n\r\n")
    conn.sendall(control(type="attached", process=state(ran), window=WINDOW))
    data = b""
    while ran.reads:
        type_, payload, data = read_frame(conn, data)
        if type_ == 0:
            ran.stdin += payload
            conn.sendall(control(type="credit", bytes=len(ran.stdin)))
            continue
        ran.controls.append(json.loads(payload))
        if ran.controls[-1]["type"] in ("end", "signal"):
            break
    for type_, payload in ran.sends:
        for at in range(0, len(payload), 1 << 20):
            conn.sendall(frame(type_, payload[at:at + (1 << 20)]))
    conn.sendall(control(**ran.end) if ran.raw is None else ran.raw)
