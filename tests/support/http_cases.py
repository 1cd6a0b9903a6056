"""Ambiguous HTTP/1.1 messages with the one verdict that each must have.

The classes are those of RFC 9112 in which two implementations have read one message in two ways. CASES has
(name, message, verdict): the verdict is the status that refuses the message and closes the connection, or the bytes of
the body of an accepted PUT. TARGET stands for the path that is written to.
"""
HOST = "Host: localhost\r\n"
BODY = "body of 16 bytes"
N = f"Content-Length: {len(BODY)}\r\n"
TE = "Transfer-Encoding: chunked\r\n"
CHUNKS = f"{len(BODY):x}\r\n{BODY}\r\n0\r\n\r\n"
ACCEPTED = BODY.encode()


def put(fields, body=BODY, line="PUT TARGET HTTP/1.1\r\n", host=HOST):
    return line + host + fields + "\r\n" + body


def lengths():
    """Values of Content-Length."""
    n = str(len(BODY))
    for name, value, verdict in (
            ("plain", n, ACCEPTED), ("with leading zeros", "000" + n, ACCEPTED),
            ("with blanks around", f" \t{n} \t", ACCEPTED),
            ("with a plus", "+" + n, 400), ("negative", "-" + n, 400), ("minus zero", "-0", 400),
            ("hexadecimal", "0x10", 400), ("with a letter", n + "a", 400), ("in exponent form", "1e1", 400),
            ("with a fraction", n + ".0", 400), ("with a blank inside", "1 6", 400), ("empty", "", 400),
            ("blank", " ", 400), ("a list of equal values", f"{n}, {n}", 400),
            ("a list of values", f"{n}, 0", 400), ("with a comma", n + ",", 400),
            ("quoted", f'"{n}"', 400), ("with a semicolon", n + ";", 400), ("with an underscore", "1_6", 400),
            ("2^64 and the length", str((1 << 64) + len(BODY)), 400), ("2^63", str(1 << 63), 400),
            ("2^53 + 1", str((1 << 53) + 1), 400), ("of 100 digits", "9" * 100, 400),
            ("with full-width digits", "\uff11\uff16", 400), ("with a NUL", n + "\0", 400),
            ("with a vertical tab", n + "\v", 400), ("with a form feed", "\f" + n, 400),
            ("with a bare CR", n + "\r", 400), ("chunked", "chunked", 400)):
        yield f"Content-Length {name}", put(f"Content-Length:{value}\r\n"), verdict
    yield "two equal Content-Length", put(N + N), 400
    yield "two Content-Length", put(N + "Content-Length: 0\r\n"), 400
    yield "two Content-Length, zero first", put("Content-Length: 0\r\n" + N), 400
    yield "two Content-Length of other case", put(N + N.upper()), 400


def codings():
    """Transfer-Encoding."""
    yield "chunked", put(TE, CHUNKS), ACCEPTED
    yield "chunked in capitals", put("TRANSFER-ENCODING: CHUNKED\r\n", CHUNKS), ACCEPTED
    yield "chunked and Content-Length", put(TE + N, CHUNKS), 400
    yield "Content-Length and chunked", put(N + TE, CHUNKS), 400
    yield "chunked and Content-Length 0", put(TE + "Content-Length: 0\r\n", CHUNKS), 400
    yield "chunked twice", put(TE + TE, CHUNKS), "400|501"
    for value in ("chunked, chunked", "chunked, identity", "identity, chunked", "gzip, chunked", "identity", "gzip",
                  "xchunked", "chunkedx", "chunked;q=1", '"chunked"', "chunked,", ",chunked", "x", "", " ",
                  "chun ked", "chunked\v", "\vchunked", "chunked\0", "cow", "chunked\r", "chunked\\", "\u212ahunked"):
        yield f"Transfer-Encoding {value!r}", put(f"Transfer-Encoding: {value}\r\n", CHUNKS), "400|501"
    yield "Transfer-Encoding in two fields", put("Transfer-Encoding: gzip\r\n" + TE, CHUNKS), "400|501"
    yield "Transfer-Encoding on HTTP/1.0", put(TE, CHUNKS, "PUT TARGET HTTP/1.0\r\n"), "400|501"
    yield "Transfer_Encoding beside a length", put("Transfer_Encoding: chunked\r\n" + N), ACCEPTED
    yield "Transfer-Encoding with a blank before the colon", put("Transfer-Encoding : chunked\r\n", CHUNKS), 400
    yield "Transfer-Encoding folded", put("Transfer-Encoding:\r\n chunked\r\n", CHUNKS), 400
    yield "Transfer-Encoding behind a bare LF", put("X: 1\nTransfer-Encoding: chunked\r\n", CHUNKS), 400


def chunks():
    """Chunked bodies."""
    n = f"{len(BODY):x}"
    whole = f"{n}\r\n{BODY}\r\n"
    for name, body, verdict in (
            ("in two", "4\r\nbody\r\nc\r\n of 16 bytes\r\n0\r\n\r\n", ACCEPTED),
            ("with capital digits", "4\r\nbody\r\nC\r\n of 16 bytes\r\n0\r\n\r\n", ACCEPTED),
            ("with leading zeros", f"0000{n}\r\n{BODY}\r\n0\r\n\r\n", ACCEPTED),
            ("with a last chunk of zeros", whole + "0000\r\n\r\n", ACCEPTED),
            ("with an extension", f"{n};a=b\r\n{BODY}\r\n0\r\n\r\n", ACCEPTED),
            ("with a last chunk's extension", whole + "0;a\r\n\r\n", ACCEPTED),
            ("with a trailer", whole + "0\r\nX: 1\r\n\r\n", ACCEPTED),
            ("size of 17 digits", f"0000000000000000{n}\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("size of 2^64 and the length", f"1{n:0>16}\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("size of 2^32 and the length", f"1{n:0>8}\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("size of ff..ff", f"ffffffffffffffff\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("size with 0x", f"0x{n}\r\n{BODY}\r\n0\r\n\r\n", 400), ("size with a plus", f"+{n}\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("size negative", f"-{n}\r\n{BODY}\r\n0\r\n\r\n", 400), ("size empty", f"\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("size with a blank before", f" {n}\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("size with a blank behind", f"{n} \r\n{BODY}\r\n0\r\n\r\n", 400),
            ("size with a tab behind", f"{n}\t\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("size with an underscore", f"1_0\r\n{BODY}\r\n0\r\n\r\n", 400), ("size g", f"g\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("size and a bare LF", f"{n}\n{BODY}\r\n0\r\n\r\n", 400), ("size and a bare CR", f"{n}\r{BODY}\r\n0\r\n\r\n", 400),
            ("size and CR CR LF", f"{n}\r\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("extension with a bare LF", f"{n};a\nb\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("extension with a bare CR", f"{n};a\rb\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("extension with a NUL", f"{n};a\0b\r\n{BODY}\r\n0\r\n\r\n", 400),
            ("extension of 5,000 bytes", f"{n};{'a' * 5000}\r\n{BODY}\r\n0\r\n\r\n", "400|413"),
            ("data without an end", f"{n}\r\n{BODY}0\r\n\r\n", 400), ("data and a bare LF", f"{n}\r\n{BODY}\n0\r\n\r\n", 400),
            ("data and a bare CR", f"{n}\r\n{BODY}\r0\r\n\r\n", 400), ("data too long", f"{n}\r\n{BODY}x\r\n0\r\n\r\n", 400),
            ("data ended by two letters", f"{n}\r\n{BODY}xx0\r\n\r\n", 400),
            ("trailer with a bare LF", whole + "0\r\nX: 1\n\r\n", 400), ("trailer with a bare CR", whole + "0\r\nX: 1\rY\r\n\r\n", 400),
            ("trailer with a NUL", whole + "0\r\nX: \0\r\n\r\n", 400),
            ("trailer of 9,000 bytes", whole + f"0\r\nX: {'a' * 9000}\r\n\r\n", "400|413|431"),
            ("last chunk and a bare LF", whole + "0\n\r\n", 400), ("end by a bare LF", whole + "0\r\n\n", 400),
            ("end by a bare CR", whole + "0\r\n\rx", 400)):
        yield f"chunks {name}", put(TE, body), verdict


def fields():
    """Lines of the head."""
    for name, line, verdict in (
            ("with a blank before the colon", "X-A : 1\r\n", 400), ("with a tab before the colon", "X-A\t: 1\r\n", 400),
            ("with no colon", "X-A\r\n", 400), ("with no name", ": 1\r\n", 400), ("with a blank first", " X-A: 1\r\n", 400),
            ("folded", "X-A: 1\r\n 2\r\n", 400), ("folded with a tab", "X-A: 1\r\n\t2\r\n", 400),
            ("with a bare LF", "X-A: 1\nX-B: 2\r\n", 400), ("with a bare CR", "X-A: 1\rX-B: 2\r\n", 400),
            ("ended by CR CR LF", "X-A: 1\r\r\n", 400), ("with a NUL", "X-A: a\0b\r\n", 400),
            ("with a NUL in the name", "X\0A: 1\r\n", 400), ("with a control character", "X-A: \x01\r\n", 400),
            ("with DEL", "X-A: \x7f\r\n", 400), ("with an escape", "X-A: \x1b[1m\r\n", 400),
            ("with a slash in the name", "X/A: 1\r\n", 400), ("with a letter of Latin-1 in the name", "X\xe9: 1\r\n", 400),
            ("with parentheses in the name", "X(A): 1\r\n", 400), ("with a letter of Latin-1", "X-A: \xe9\r\n", ACCEPTED),
            ("with a tab", "X-A: a\tb\r\n", ACCEPTED), ("with an empty value", "X-A:\r\n", ACCEPTED),
            ("twice", "X-A: 1\r\nX-A: 2\r\n", ACCEPTED), ("named by all token characters", "!#$%&'*+-.^_`|~9z: 1\r\n", ACCEPTED),
            ("of 17,000 bytes", f"X-A: {'a' * 17000}\r\n", 431), ("101 times", "X-A: 1\r\n" * 101, 431),
            ("Expect of no known kind", "Expect: 200-ok\r\n", 417)):
        yield f"a field {name}", put(line + N), verdict


def starts():
    """Request lines and Host."""
    for name, line, verdict in (
            ("HTTP/1.2", "PUT TARGET HTTP/1.2\r\n", 505), ("HTTP/2.0", "PUT TARGET HTTP/2.0\r\n", 505),
            ("HTTP/1.1x", "PUT TARGET HTTP/1.1x\r\n", "400|505"), ("HTTP/01.1", "PUT TARGET HTTP/01.1\r\n", "400|505"),
            ("HTTP/1.10", "PUT TARGET HTTP/1.10\r\n", "400|505"), ("HTTP/1,1", "PUT TARGET HTTP/1,1\r\n", "400|505"),
            ("http/1.1", "PUT TARGET http/1.1\r\n", "400|505"), ("HTTP/1.", "PUT TARGET HTTP/1.\r\n", "400|505"),
            ("no version", "PUT TARGET\r\n", "400|505"), ("two blanks", "PUT  TARGET HTTP/1.1\r\n", 400),
            ("a tab", "PUT\tTARGET HTTP/1.1\r\n", 400), ("a blank at the end", "PUT TARGET HTTP/1.1 \r\n", "400|505"),
            ("a blank first", " PUT TARGET HTTP/1.1\r\n", 400), ("a bare LF", "PUT TARGET HTTP/1.1\n", 400),
            ("a bare CR", "PUT TARGET HTTP/1.1\rX", "400|505"), ("a NUL", "PUT TARGET\0 HTTP/1.1\r\n", 400),
            ("a NUL in the method", "PU\0T TARGET HTTP/1.1\r\n", 400), ("a letter of Latin-1", "PUT TARGET\xe9 HTTP/1.1\r\n", 400),
            ("a blank in the target", "PUT TARGET x HTTP/1.1\r\n", "400|505"), ("a fragment", "PUT TARGET#x HTTP/1.1\r\n", 400),
            ("no slash", "PUT alive HTTP/1.1\r\n", 400), ("no target", "PUT  HTTP/1.1\r\n", 400),
            ("an escape cut off", "PUT TARGET%4 HTTP/1.1\r\n", 422), ("an escape of no digits", "PUT TARGET%zz HTTP/1.1\r\n", 422),
            ("a method in parentheses", "(PUT) TARGET HTTP/1.1\r\n", 400),
            ("an empty line first", "\r\nPUT TARGET HTTP/1.1\r\n", ACCEPTED)):
        yield f"request line: {name}", put(N, BODY, line), verdict
    for name, host, verdict in (
            ("none", "", 400), ("two", HOST + HOST, 400), ("two that differ", HOST + "Host: x\r\n", 400),
            ("with a blank inside", "Host: local host\r\n", 400), ("with a slash", "Host: localhost/x\r\n", 400),
            ("with a user", "Host: u@localhost\r\n", 400), ("a list", "Host: localhost, x\r\n", 400),
            ("with a NUL", "Host: localhost\0\r\n", 400), ("with a port of letters", "Host: localhost:x\r\n", 400)):
        yield f"Host: {name}", put(N, BODY, host=host), verdict


CASES = tuple((name, message.encode("latin-1") if message.isascii() or max(message) < "\u0100" else message.encode(),
               verdict) for made in (lengths, codings, chunks, fields, starts) for name, message, verdict in made())
