"""Ways in which a peer misbehaves, as one const table.

BEHAVIOURS changes an answer of an honest peer: it lies, drips, loops or injects. proxy.Proxy applies a row to the
answers of any peer that speaks HTTP: a sandbox, an engine, a registry, a token server.

    for behaviour in hostile.BEHAVIOURS:
        with Proxy(peer.port, behaviour) as proxy: ...

apply(answer) gives the pieces that are sent: bytes, or a number of seconds to pause. It gives None where the
behaviour does not fit the answer; then the honest answer is sent. answer.turn chooses one of several places.
"""
import base64
import io
import itertools
import json
import os
import tarfile
import tempfile
from typing import Callable, NamedTuple

from proxy import DRIP_SECONDS

LIE, DRIP, LOOP, INJECT = "lie", "drip", "loop", "inject"
SILENCE_SECONDS = 3600.0  # longer than any test
BYSTANDER = "b7" * 32     # the id of a container that no answer may lead to
HUGE = 16 << 20           # of text, where a peer sends much
OUTSIDE = os.path.join(tempfile.gettempdir(), f"od-injected-{os.getpid()}")  # where nothing may be written


class Behaviour(NamedTuple):
    name: str
    kind: str
    what: str
    apply: Callable

    @property
    def endless(self):
        """Whether the answer has no end."""
        return self.kind == DRIP or self.name.startswith("endless")


# --- Lengths and framing ------------------------------------------------------

def body_only(f):
    """For behaviours of a body: nothing where the answer has none."""
    return lambda a: None if a.request.method == "HEAD" or a.status in (101, 204, 304) else f(a)


def with_length(text):
    return body_only(lambda a: [a.head(length=text(len(a.body))) + a.body])


def with_fields(*fields):
    return lambda a: [a.head(*fields, length=len(a.body)) + a.body]


def chunked(*pieces):
    """The body as chunks that the pieces spell out; %n is its length, %b the body."""
    def apply(a):
        head = a.head(("Transfer-Encoding", "chunked"))
        return [head] + [p.replace(b"%n", b"%x" % len(a.body)).replace(b"%b", a.body) for p in pieces]
    return body_only(apply)


def start_line(line):
    return lambda a: [line + b"\r\n" + a.whole().split(b"\r\n", 1)[1]]


def with_status(status):
    return lambda a: None if a.status == status else [a.whole(status=status)]


def cut_head(a):
    head = a.whole().split(b"\r\n\r\n")[0]
    return [head[:len(head) // 2]]


def cut_body(a):
    return [a.head(length=len(a.body)) + a.body[:len(a.body) // 2]] if len(a.body) > 1 else None


FRAMING = (
    Behaviour("length-short", LIE, "Content-Length is a byte less than the body", with_length(lambda n: max(n - 1, 0))),
    Behaviour("length-long", LIE, "Content-Length is a byte more than the body", with_length(lambda n: n + 1)),
    Behaviour("length-huge", LIE, "Content-Length is 2^63", with_length(lambda n: 1 << 63)),
    Behaviour("length-wraps", LIE, "Content-Length is 2^64 and the length", with_length(lambda n: (1 << 64) + n)),
    Behaviour("length-negative", LIE, "Content-Length is -1", with_length(lambda n: -1)),
    Behaviour("length-words", LIE, "Content-Length is no number", with_length(lambda n: "ten")),
    Behaviour("length-twice", LIE, "two fields Content-Length differ", with_fields(("Content-Length", "0"))),
    Behaviour("length-and-chunks", LIE, "both Content-Length and chunks", with_fields(("Transfer-Encoding", "chunked"))),
    Behaviour("chunk-huge", LIE, "a chunk of 2^64 - 1 bytes", chunked(b"ffffffffffffffff\r\n%b")),
    Behaviour("chunk-wraps", LIE, "a chunk of 2^64 and the length", chunked(b"1%n\r\n".replace(b"%n", b"0" * 15 + b"%n") + b"%b")),
    Behaviour("chunk-words", LIE, "a chunk's size is no number", chunked(b"xyz\r\n%b\r\n0\r\n\r\n")),
    Behaviour("chunk-cut", LIE, "the last chunk is missing", chunked(b"%n\r\n%b\r\n")),
    Behaviour("chunk-unended", LIE, "no line end behind a chunk", chunked(b"%n\r\n%b0\r\n\r\n")),
    Behaviour("head-garbage", LIE, "another protocol answers", lambda a: [b"SSH-2.0-OpenSSH_9.2\r\n\r\n"]),
    Behaviour("head-version", LIE, "the version is HTTP/9.9", start_line(b"HTTP/9.9 200 OK")),
    Behaviour("head-no-status", LIE, "the status line has no status", start_line(b"HTTP/1.1 OK")),
    Behaviour("head-cut", LIE, "the connection ends within the head", cut_head),
    Behaviour("head-none", LIE, "the connection ends without a byte", lambda a: []),
    Behaviour("head-long", LIE, "a field of 1 MiB", with_fields(("X-Long", "a" * (1 << 20)))),
    Behaviour("head-many", LIE, "100,000 fields", with_fields(*[("X-A", "1")] * 100000)),
    Behaviour("body-cut", LIE, "the connection ends within the body", cut_body),
    Behaviour("body-empty", LIE, "the body is empty", body_only(lambda a: [a.whole(b"")] if a.body else None)),
    Behaviour("type-html", LIE, "a page instead of what was asked for",
              lambda a: [a.whole(b"<html><h1>It works!</h1></html>", drop=("content-type",))]),
)
STATUSES = tuple(Behaviour(f"status-{n}", LIE, f"the status is {n}", with_status(n))
                 for n in ("100", 101, 199, 200, 204, 206, 301, 304, 400, 401, 403, 404, 409, 429, 500, 503, 999, "000",
                           "2x0"))


# --- JSON ---------------------------------------------------------------------

def documents(a):
    """The JSON of an answer: (documents, function that makes the answer's bytes of them), or None.

    The JSON is a body, or one document per line, or the field in which an engine describes a path."""
    stat = a.field("X-Docker-Container-Path-Stat")
    if stat:
        def put_stat(docs):
            text = base64.b64encode(dump(docs[0])).decode()
            return a.changed(fields=[(n, text if v == stat else v) for n, v in a.fields]).whole()
        return [json.loads(base64.b64decode(stat))], put_stat
    try:
        docs = [json.loads(line) for line in a.body.splitlines() if line.strip()]
    except ValueError:
        docs = [a.json()]
    if not docs or docs == [None]:
        return None
    return docs, lambda docs: a.whole(b"\r\n".join(dump(d) for d in docs))


def dump(doc):
    return json.dumps(doc, ensure_ascii=False).encode("utf-8", "surrogateescape")


def leaves(doc):
    """Number of values that are no objects and no arrays."""
    if isinstance(doc, dict):
        return sum(leaves(v) for v in doc.values())
    return sum(leaves(v) for v in doc) if isinstance(doc, list) else 1


def replaced(doc, change, chosen, count):
    """doc with change(value) in place of its leaves, of all or of the one with the chosen number."""
    if isinstance(doc, dict):
        return {k: replaced(v, change, chosen, count) for k, v in doc.items()}
    if isinstance(doc, list):
        return [replaced(v, change, chosen, count) for v in doc]
    at = next(count)
    return change(doc) if chosen is None or at == chosen else doc


def on_leaves(change, every):
    def apply(a):
        found = documents(a)
        if not found:
            return None
        docs, put = found
        total = sum(map(leaves, docs))
        if not total:
            return None
        chosen = None if every else a.turn % total
        made = replaced(docs, change, chosen, itertools.count())
        return [put(made)] if made != docs else None
    return apply


def instead(*docs):
    """Another document, chosen by turn."""
    def apply(a):
        found = documents(a)
        return [found[1]([docs[a.turn % len(docs)]])] if found else None
    return apply


def spelled(make):
    """The body as text that json.dumps would not make."""
    return body_only(lambda a: [a.whole(make(a.body))] if a.json() is not None else None)


def other_type(value):
    if isinstance(value, str):
        return 7
    return [value] if value is None else str(value)


def other_number(numbers):
    def change(value):
        return numbers if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    return change


def other_digest(value):
    if not isinstance(value, str):
        return value
    text = value.removeprefix("sha256:")
    if len(text) == 64 and all(c in "0123456789abcdef" for c in text):
        return value.replace(text, BYSTANDER)
    return value


JSON = (
    Behaviour("json-other", LIE, "null, an array, an object, a text or a number",
              instead(None, [], {}, "x", 1, [[]], [None], [{}])),
    Behaviour("json-types", LIE, "every value has another type", on_leaves(other_type, True)),
    Behaviour("json-type", LIE, "one value has another type", on_leaves(other_type, False)),
    Behaviour("json-null", LIE, "one value is null", on_leaves(lambda v: None, False)),
    Behaviour("json-negative", LIE, "numbers are -1", on_leaves(other_number(-1), True)),
    Behaviour("json-large", LIE, "numbers are 2^64", on_leaves(other_number(1 << 64), True)),
    Behaviour("json-port", LIE, "numbers are 65536", on_leaves(other_number(65536), True)),
    Behaviour("json-digest", LIE, "ids and digests are those of another", on_leaves(other_digest, True)),
    Behaviour("json-digest-one", LIE, "one id or digest is that of another", on_leaves(other_digest, False)),
    Behaviour("json-deep", LIE, "100,000 arrays within each other",
              spelled(lambda b: b"[" * 100000 + b"]" * 100000)),
    Behaviour("json-twice", LIE, "every member stands there twice",
              spelled(lambda b: b[:-1] + b"," + b[1:] if b[:1] == b"{" and len(b) > 4 else b + b)),
    Behaviour("json-trailing", LIE, "bytes stand behind the document", spelled(lambda b: b + b"}")),
    Behaviour("json-cut", LIE, "the document ends early", spelled(lambda b: b[:-1])),
    Behaviour("json-blank", LIE, "16 MiB of blanks stand before it", spelled(lambda b: b" " * HUGE + b)),
    Behaviour("json-text", LIE, "a member has a text of 16 MiB",
              spelled(lambda b: b'{"detail":"' + b"a" * HUGE + b'"}')),
)


def flipped(a):
    """Another bit in the middle of a body that is no JSON."""
    if a.json() is not None or not a.body:
        return None
    at = len(a.body) // 2
    return [a.whole(a.body[:at] + bytes([a.body[at] ^ 1]) + a.body[at + 1:])]


DIGEST = (Behaviour("body-flipped", LIE, "a bit of the content differs", body_only(flipped)),)


# --- Slow and endless ---------------------------------------------------------

def dripped(data):
    """The bytes one by one, for ever from the last on."""
    for byte in itertools.chain(data, itertools.repeat(data[-1])):
        yield bytes([byte])
        yield DRIP_SECONDS


def drip_head(a):
    return dripped(b"HTTP/1.1 200 OK\r\nX-Slow: aaaa")


def drip_body(a):
    yield a.head(length=1 << 40)
    yield from dripped(a.body or b" ")


def drip_chunks(a):
    yield a.head(("Transfer-Encoding", "chunked"))
    for byte in itertools.chain(a.body, itertools.repeat(32)):
        yield b"1\r\n%c\r\n" % byte
        yield DRIP_SECONDS


def drip_extension(a):
    yield a.head(("Transfer-Encoding", "chunked"))
    yield from dripped(b"1;aaaa")


def silent(what):
    """The bytes, and then nothing, with the connection open."""
    def apply(a):
        yield what(a)
        yield SILENCE_SECONDS
    return apply


def drip_interim(a):
    while True:
        yield b"HTTP/1.1 102 Processing\r\n\r\n"
        yield DRIP_SECONDS


SLOW = (
    Behaviour("drip-head", DRIP, "a byte of the head at a time, without end", drip_head),
    Behaviour("drip-body", DRIP, "a byte of the body at a time, without end", body_only(drip_body)),
    Behaviour("drip-chunks", DRIP, "chunks of a byte, without end", body_only(drip_chunks)),
    Behaviour("drip-extension", DRIP, "an extension of a chunk, without end", body_only(drip_extension)),
    Behaviour("drip-interim", DRIP, "interim answers, without end", drip_interim),
    Behaviour("silent", DRIP, "nothing, with the connection open", silent(lambda a: b"")),
    Behaviour("silent-head", DRIP, "half a head, then nothing", silent(lambda a: a.whole()[:20])),
    Behaviour("silent-body", DRIP, "half a body, then nothing",
              body_only(silent(lambda a: a.head(length=len(a.body) + 1) + a.body))),
)


def fast(piece):
    """Chunks as fast as they are taken."""
    def apply(a):
        data = piece(a)
        yield a.head(("Transfer-Encoding", "chunked"))
        if a.body:
            yield b"%x\r\n%s\r\n" % (len(a.body), a.body)
        while True:
            yield b"%x\r\n%s\r\n" % (len(data), data)
    return body_only(apply)


def interim(a):
    while True:
        yield b"HTTP/1.1 100 Continue\r\n\r\n" * 1000


def redirect(where):
    def apply(a):
        path = a.request.target
        return [a.head(("Location", where(path)), status=307, length=0, drop=("location",))]
    return apply


def longer(path):
    """A path that differs at each step."""
    first, _, n = path.partition("?hop=")
    return f"{first}?hop={int(n or 0) + 1 if (n or '0').isdigit() else 0}"


def challenge(text):
    def apply(a):
        host = next((f for f in a.request.raw.split(b"\r\n") if f.lower().startswith(b"host:")), b"host:x")
        said = text.replace("HOST", host.split(b":", 1)[1].strip().decode("latin-1"))
        return [a.head(("WWW-Authenticate", said), status=401, length=0)]
    return apply


LOOPS = (
    Behaviour("loop-redirect", LOOP, "a redirect to itself", redirect(lambda p: p)),
    Behaviour("loop-redirects", LOOP, "redirects that go on", redirect(longer)),
    Behaviour("loop-challenge", LOOP, "every request is challenged", challenge("Basic realm=here")),
    Behaviour("loop-token", LOOP, "the token server is challenged, too",
              challenge('Bearer realm="http://HOST/token",service="s",scope="x"')),
    Behaviour("loop-page", LOOP, "the next page is the same one",
              with_fields(("Link", '</v2/_catalog?last=a>; rel="next"'))),
    Behaviour("endless-interim", LOOP, "interim answers as fast as they are taken", interim),
    Behaviour("endless-blanks", LOOP, "blanks as fast as they are taken", fast(lambda a: b" " * 65536)),
    Behaviour("endless-body", LOOP, "the body again and again", fast(lambda a: a.body * 10 or b"\n" * 65536)),
    Behaviour("endless-text", LOOP, "text without a line end", fast(lambda a: b"a" * 65536)),
)


# --- Injection ----------------------------------------------------------------

PAYLOADS = (
    ("crlf", "a line end and a field", "x\r\nX-Injected: 1\r\n\r\nGET /injected HTTP/1.1\r\n\r\n"),
    ("lf", "a line feed and a line of ours", "x\nod-runtime: injected"),
    ("nul", "a NUL", "x\0y"),
    ("escape", "escape sequences", "\x1b]0;owned\x07\x1b[2J\x1b[31mx"),
    ("c1", "C1 control characters", "x\x9b31m\x85y"),
    ("parent", "parent folders", "../../../../../.." + OUTSIDE),
    ("encoded", "encoded parent folders", "%2e%2e/%2e%2e/%2Fcontainers/" + BYSTANDER),
    ("path", "another resource", BYSTANDER + "/kill?x=#"),
    ("absolute", "an absolute path", OUTSIDE),
    ("dash", "an option", "--privileged"),
    ("blank", "blanks and quotes", " x y\t'\"`$(id)"),
    ("format", "conversions of printf", "%s%s%s%n%99999999d"),
    ("empty", "an empty text", ""),
    ("long", "a text of 1 MiB", "x" * (1 << 20)),
    ("bidi", "right-to-left overrides", "x\u202egnp.exe\u2066\u200b"),
    ("utf8", "bytes that are no UTF-8", "x\udcc0\udcaf\udced\udca0\udc80\udcff"),
    ("host", "another host", "http://127.0.0.1:1/x"),
)


def inject_text(payload):
    return lambda value: payload if isinstance(value, str) else value


def inject_fields(payload):
    """Into every field that has a meaning, and the reason."""
    framing = {"content-length", "transfer-encoding", "connection", "upgrade"}

    def apply(a):
        fields = [(n, v if n.lower() in framing else payload) for n, v in a.fields]
        data = a.changed(fields=fields).whole().replace(b" X\r\n", b" %s\r\n" % latin(payload), 1)
        return [data] if fields != a.fields else None
    return apply


def latin(text):
    return text.encode("utf-8", "surrogateescape")


def inject_lines(payload):
    """Between the lines of a body that is text or the frames of an engine's log."""
    def apply(a):
        if a.json() is not None or not a.body or documents(a) or archive(a):
            return None
        data = latin(payload)
        if a.body[:1] in b"\1\2" and a.body[1:4] == bytes(3):
            piece = b"\2\0\0\0" + len(data).to_bytes(4, "big") + data
            return [a.whole(piece + a.body)]
        return [a.whole(data + b"\n" + a.body)]
    return apply


def injections():
    for name, what, payload in PAYLOADS:
        change = inject_text(payload)
        yield Behaviour(f"inject-{name}", INJECT, f"every text is {what}", on_leaves(change, True))
        yield Behaviour(f"inject-one-{name}", INJECT, f"one text is {what}", on_leaves(change, False))
        if "\n" not in payload and "\0" not in payload and len(payload) < 9000:
            yield Behaviour(f"inject-field-{name}", INJECT, f"every field is {what}", inject_fields(payload))
        yield Behaviour(f"inject-line-{name}", INJECT, f"the content begins with {what}",
                        body_only(inject_lines(payload)))


# --- Archives -----------------------------------------------------------------

def archive(a):
    """Members of a tar archive with their content, or None."""
    try:
        with tarfile.open(fileobj=io.BytesIO(a.body)) as tar:
            return [(m, tar.extractfile(m).read() if m.isreg() else b"") for m in tar]
    except (tarfile.TarError, EOFError, OSError):
        return None


def packed(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", errors="surrogateescape") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def member(name, kind=tarfile.REGTYPE, link="", mode=0o644, data=b"injected\n"):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, mode
    return info, data if kind == tarfile.REGTYPE else b""


def with_members(*made):
    """The members in front of the content of the archive; their names are relative to its first."""
    def apply(a):
        have = archive(a)
        if not have:
            return None
        top = have[0][0].name.rstrip("/")
        more = [member(name.replace("TOP", top), *rest) for name, *rest in made]
        return [a.whole(packed(have[:1] + more + have[1:] + more))]
    return body_only(apply)


def renamed(name):
    def apply(a):
        have = archive(a)
        if not have:
            return None
        for info, _ in have:
            info.name = name
        return [a.whole(packed(have))]
    return body_only(apply)


def sized(size):
    """The first member's size is a lie."""
    def apply(a):
        if not archive(a):
            return None
        head = bytearray(a.body[:512])
        head[124:136] = size
        head[148:156] = b" " * 8
        head[148:156] = b"%06o\0 " % sum(head)
        return [a.whole(bytes(head) + a.body[512:])]
    return body_only(apply)


TEMP, NAME = os.path.split(OUTSIDE)
OUT = "../../" + NAME
ARCHIVES = (
    Behaviour("tar-parent", INJECT, "members of parent folders", with_members(("TOP/" + OUT,), (OUT,))),
    Behaviour("tar-absolute", INJECT, "an absolute member", with_members((OUTSIDE,))),
    Behaviour("tar-renamed", INJECT, "a parent folder as the only member", renamed("..")),
    Behaviour("tar-dot", INJECT, "a dot as the only member", renamed(".")),
    Behaviour("tar-empty-name", INJECT, "a slash as the only member", renamed("/")),
    Behaviour("tar-through-link", INJECT, "a link to elsewhere, and a member below it",
              with_members(("TOP", tarfile.SYMTYPE, TEMP), ("TOP/" + NAME,), ("l", tarfile.SYMTYPE, TEMP),
                           ("l/" + NAME,))),
    Behaviour("tar-hard-link", INJECT, "a hard link to a file of the host",
              with_members(("TOP-h", tarfile.LNKTYPE, "/etc/passwd"), ("TOP/h", tarfile.LNKTYPE, "../../canary"))),
    Behaviour("tar-device", INJECT, "a device, a FIFO",
              with_members(("TOP/dev", tarfile.CHRTYPE), ("TOP/fifo", tarfile.FIFOTYPE))),
    Behaviour("tar-set-id", INJECT, "a set-user-id file", with_members(("TOP/suid", tarfile.REGTYPE, "", 0o6755))),
    Behaviour("tar-control", INJECT, "names with control characters",
              with_members(("TOP/\x1b[2J\nx",), ("TOP/\udcff\udcfe",))),
    Behaviour("tar-long", INJECT, "a name of 100,000 bytes", with_members(("TOP/" + "n" * 100000,))),
    Behaviour("tar-huge", INJECT, "a member of 2^63 bytes", sized(b"\x80\0\0\0\x80\0\0\0\0\0\0\0")),
    Behaviour("tar-octal", INJECT, "a size that is no number", sized(b"99999999999\0")),
    Behaviour("tar-none", INJECT, "no archive", body_only(lambda a: [a.whole(b"x" * 2048)] if archive(a) else None)),
)

BEHAVIOURS = (*FRAMING, *STATUSES, *JSON, *DIGEST, *SLOW, *LOOPS, *injections(), *ARCHIVES)
BY_NAME = {b.name: b for b in BEHAVIOURS}
assert len(BY_NAME) == len(BEHAVIOURS)
