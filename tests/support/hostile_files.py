"""Archives, forms, frames and documents that differ from good ones in some bytes, made from a seed."""
import gzip
import io
import json
import os
import random
import struct
import tarfile
import zipfile

BOUNDARY = b"6a42a55c8368807ce24fe82c34763887"
FILES = 800  # per kind
NUMBERS = (0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff)
NAMES = (b"../od-hostile-out", b"/tmp/od-hostile-out", b"a\0b", b"..", b"", b"\\..\\x", b"C:x", b"\xff\xfe", b"x" * 300)


def zips():
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as z:
            z.writestr("a", b"content " * 40)
            z.writestr("dir/b.txt", b"x")
            z.writestr("dir/", b"")
        yield out.getvalue()


def tars():
    for kind in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=kind) as tar:
            for name, type_, link in (("a", tarfile.REGTYPE, ""), ("d", tarfile.DIRTYPE, ""), ("d/l", tarfile.SYMTYPE, "../a"),
                                      ("h", tarfile.LNKTYPE, "a"), ("n" * 80 + "/" + "m" * 90, tarfile.REGTYPE, "")):
                info = tarfile.TarInfo(name)
                info.type, info.linkname, info.mtime = type_, link, 1.5
                data = b"content" if type_ == tarfile.REGTYPE else b""
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        yield out.getvalue()


def forms():
    part = b'Content-Disposition: form-data; name="file"; filename="%s"\r\nContent-Type: text/plain\r\n\r\n%s\r\n'
    for name in (b"a.txt", b"a.zip", b"../x", b'q\\"uote'):
        yield b"--" + BOUNDARY + b"\r\n" + part % (name, b"content\r\n--" + BOUNDARY[:9]) + b"--" + BOUNDARY + b"--\r\n"


def requests():
    yield b"POST /x?a=%20b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nabc"
    yield b"GET http://localhost:80/ HTTP/1.1\r\nHost: localhost:80\r\nTransfer-Encoding: chunked\r\nX: \t y \r\n\r\n"
    yield b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" \
          b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"


def responses():
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    yield b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
    yield b"HTTP/1.0 307 X\r\nLocation: /x\r\nTransfer-Encoding: chunked\r\nWWW-Authenticate: Bearer realm=\"x\"\r\n\r\n"


def frames():
    def frame(first, data, mask=b"\1\2\3\4"):
        head = struct.pack(">BB", first, 0x80 | len(data)) if len(data) < 126 else struct.pack(">BBH", first, 0xfe, len(data))
        return head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data))
    for role in (b"\0", b"\1", b"\2", b"\3"):
        yield role + frame(0x81, b"text") + frame(0x89, b"ping") + frame(0x01, b"\xe2\x82") + frame(0x80, b"\xac") + \
            frame(0x82, bytes(300)) + frame(0x88, b"\x03\xe8bye")


def documents():
    yield json.dumps({"action": {"action": "run", "args": {"command": "echo \u20ac \ud83d\ude00"}, "timeout": 1.5e3}}).encode()
    yield json.dumps([[], {}, None, True, -0.0, 1e-9, "\\\"\u0000", {"a": [{"b": {"c": []}}]}]).encode()
    yield json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": {}}}).encode()


def chunked():
    yield b"\x04" + b"4\r\nbody\r\n10;a=b\r\n0123456789abcdef\r\n0\r\nX: 1\r\n\r\n"
    yield b"\0" + b"0\r\n\r\n"


def urls():
    yield b"https://user@example.org:8443/a/b?c=d#e"
    yield b"http://[::1]:80/%2e%2e/x"


SEEDS = {
    "unzip": tuple(zips()), "untar": tuple(tars()), "gzip": tuple(gzip.compress(t, mtime=0) for t in tars()),
    "multipart": tuple(forms()), "http": tuple(requests()), "http_response": tuple(responses()), "ws": tuple(frames()),
    "ws_hand": tuple(requests()) + tuple(responses()), "json": tuple(documents()), "jsonrpc": tuple(documents()),
    "body": tuple(chunked()), "url": tuple(urls()), "b64": (b"aGVsbG8gd29ybGQ=", b"a-_b"),
    "tarball": tuple(tars()) + tuple(gzip.compress(t, mtime=0) for t in tars()),
}


def flip(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]


def number(rng, data):
    n = rng.choice((1, 2, 4, 8))
    at = rng.randrange(len(data))
    value = (rng.choice(NUMBERS) + rng.choice((-1, 0, 1))) & ((1 << 8 * n) - 1)
    return data[:at] + value.to_bytes(n, rng.choice(("little", "big"))) + data[at + n:]


def cut(rng, data):
    return data[:rng.randrange(len(data))]


def remove(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.randrange(1, 40):]


def repeat(rng, data):
    at = rng.randrange(len(data))
    piece = data[at:at + rng.randrange(1, 600)]
    to = rng.randrange(len(data))
    return data[:to] + piece + data[to:]


def insert(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + rng.choice(NAMES) + data[at:]


def overwrite(rng, data):
    at = rng.randrange(len(data))
    name = rng.choice(NAMES)
    return data[:at] + name + data[at + len(name):]


MUTATIONS = (flip, flip, number, number, cut, remove, repeat, insert, overwrite)


def mutated(rng, data):
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        data = rng.choice(MUTATIONS)(rng, data or b"\0")
    return data


def generate(kind, folder, seed):
    """Writes files of a kind, the seeds among them; their number."""
    rng = random.Random(f"{seed} {kind}")
    os.makedirs(folder)
    made = set(SEEDS[kind])
    while len(made) < FILES:
        made.add(mutated(rng, rng.choice(SEEDS[kind])))
    for i, data in enumerate(sorted(made)):
        with open(os.path.join(folder, f"{i:04}"), "wb") as f:
            f.write(data)
    return len(made)
