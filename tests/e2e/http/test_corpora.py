#!/usr/bin/env python3
"""Messages and archives of strangers, replayed against the real client and the fuzz targets.

  OD_SEED     of the generated files; OD_SECONDS: how long archives are uploaded (20)
"""
import os
import random
import shutil
import subprocess
import tempfile
import time

import harness
import hostile_files
import http_cases
from harness import BUILD, TOP, Client, Closed, Conn, eq, free_port, main, note, ok, request, skip
from test_transfer import names_below, quote, upload

SEED = int(os.environ.get("OD_SEED", "1"))
SECONDS = float(os.environ.get("OD_SECONDS", "20"))
FOLLOW = request("GET", "/alive")
SANITIZER = "ERROR: AddressSanitizer", "runtime error:", "LeakSanitizer"
TARGETS = "b64 body http http_response json jsonrpc multipart tarball untar unzip url ws ws_hand".split()


def well(client, name):
    """The client runs, answers, and no sanitizer has said anything."""
    log = client.log()
    ok(client.process.poll() is None and client.get("/alive").status == 200 and
       not any(s in log for s in SANITIZER), name, log[-3000:])


def verdict(client, message, pieces):
    """The result of one message, sent in pieces: a status that closes, or the body that was written."""
    path = os.path.join(client.work, "target")
    if os.path.exists(path):
        os.unlink(path)
    with Conn(client.port) as conn:
        try:
            for piece in pieces(message + FOLLOW):
                conn.send(piece)
        except OSError:
            pass  # refused before its end
        answer = conn.response()
        if answer.status >= 400:
            # Nothing follows: the bytes behind it are no request.
            return answer.status if conn.closed() and not os.path.exists(path) else "goes on after an error"
        after = conn.response()
        if after.status != 200 or after.body != b'{"status":"ok"}' or not os.path.exists(path):
            return f"{answer!r} and then {after!r}"
        with open(path, "rb") as f:
            return f.read()


def fits(got, want):
    return str(got) in want.split("|") if isinstance(want, str) else got == want


def message_of(client, text):
    return text.replace(b"TARGET", f"/v1/files?path={quote(client.work + '/target')}".encode())


def bytewise(data):
    return [data[i:i + 1] for i in range(len(data))]


def test_messages():
    names = [name for name, _, _ in http_cases.CASES]
    ok(len(set(names)) == len(names) and len(names) >= 110, f"{len(names)} messages")
    with Client() as client:
        wrong, splits, start = [], 0, time.monotonic()
        for name, text, want in http_cases.CASES:
            message = message_of(client, text)
            wholly = verdict(client, message, lambda d: [d])
            ok(fits(wholly, want), f"{name}: {want}", f"got {wholly!r}")
            ways = [bytewise] if len(message) < 1000 else []
            # A message that is accepted starts a job each time, so that it is cut at line ends alone.
            at = [i for i in range(1, min(len(message), 400)) if not isinstance(wholly, bytes) or message[i] in b"\r\n"]
            ways += [lambda d, i=i: [d[:i], d[i:]] for i in at]
            for way in ways:
                splits += 1
                got = verdict(client, message, way)
                if got != wholly:
                    wrong.append((name, got, wholly))
        note(f"{time.monotonic() - start:.0f} s")
        eq(wrong, [], f"{splits} ways to send them in pieces have the same verdict")
        well(client, "the client is well after all messages")


def test_differential():
    """Messages that two servers accept are read by both in one way."""
    if not shutil.which("node"):
        skip("messages against Node", "node is not installed")
        return
    port = free_port()
    script = """const s = require('http').createServer((q, a) => { const b = []; q.on('data', d => b.push(d));
        q.on('end', () => { a.setHeader('X-Url', encodeURIComponent(q.url)); a.end(Buffer.concat(b)); }); });
        s.listen(%d, '127.0.0.1', () => console.log('ready'));""" % port
    node = subprocess.Popen(["node", "-e", script], stdout=subprocess.PIPE)
    try:
        eq(node.stdout.readline(), b"ready\n", "Node listens")
        both = 0
        with Client() as client:
            for name, text, _ in http_cases.CASES:
                message = message_of(client, text)
                ours = verdict(client, message, lambda d: [d])
                with Conn(port) as conn:
                    try:
                        theirs = conn.send(message + FOLLOW).response()
                    except (Closed, OSError):
                        continue
                if theirs.status == 200 and isinstance(ours, bytes):
                    both += 1
                    eq((ours, quote(message.split(b" ")[1].decode("latin-1"))), (theirs.body, theirs.field("x-url")),
                       f"{name}: Node reads the same")
        ok(both >= 15, f"both accept {both} messages")
    finally:
        node.kill()
        node.communicate()


def test_uploads():
    """Archives and forms that differ from good ones in some bytes: nothing breaks, nothing gets out."""
    rng, counts = random.Random(SEED), {}
    with Client() as client:
        inside = os.path.join(client.work, "in")
        os.mkdir(inside)
        with open(os.path.join(client.work, "canary"), "w") as f:
            f.write("alive")
        end, statuses = time.monotonic() + SECONDS, set()
        before = names_below(client.work) | {b"in"}
        while time.monotonic() < end:
            kind = rng.choice(("unzip", "untar", "gzip", "multipart"))
            data = hostile_files.mutated(rng, rng.choice(hostile_files.SEEDS[kind]))
            if kind == "unzip":
                answer = upload(client, inside, "a.zip", data)
            elif kind == "multipart":
                answer = upload(client, inside, "", b"", body=data)
            else:
                with Conn(client.port) as conn:
                    conn.send(request("PUT", f"/v1/files/tar?path={quote(inside)}", data,
                                      Content_Type="application/x-tar", Content_Length=str(len(data))))
                    answer = conn.response()
            statuses.add(answer.status)
            counts[kind] = counts.get(kind, 0) + 1
            if sum(counts.values()) % 100 == 0:
                shutil.rmtree(inside)
                os.mkdir(inside)
        note(f"seed {SEED}: {counts}, statuses {sorted(statuses)}")
        ok(sum(counts.values()) >= 10 * SECONDS / harness.SLOW, "enough of them")
        ok(statuses <= {200, 201, 400, 404, 409, 413, 422, 500, 507}, "with statuses that are documented", statuses)
        outside = {n for n in names_below(client.work) if not n.startswith(b"in/")}
        eq((outside, [n for n in os.listdir("/tmp") if n.startswith("od-hostile-out")]),
           ({n for n in before if not n.startswith(b"in/")}, []), "nothing is outside")
        well(client, "the client is well after all uploads")


def test_targets():
    """Each fuzz target reads its corpus and generated files."""
    folder = os.path.join(BUILD, "fuzz", "fuzz")
    made = tempfile.mkdtemp(prefix="od-corpora-")
    try:
        for name in TARGETS:
            program = os.path.join(folder, "fuzz_" + name)
            if not os.path.exists(program):
                skip(f"fuzz_{name}", "the fuzz targets are not built: make fuzz-build")
                continue
            where = os.path.join(made, name)
            n = hostile_files.generate(name, where, SEED)
            done = subprocess.run([os.path.join(TOP, "tests/fuzz/run"), program], capture_output=True, text=True,
                                  env={**os.environ, "FUZZ_SECONDS": "0", "FUZZ_FILES": where})
            runs = int(done.stdout.split()[-2]) if done.returncode == 0 else 0
            ok(runs >= n >= 500, f"fuzz_{name}: {n} files", done.stdout, done.stderr)
    finally:
        shutil.rmtree(made)


if __name__ == "__main__":
    main()
