#!/usr/bin/env python3
"""od-runtime listen and token: each sandbox has a token of its own, and the operator lists them."""
import os
import subprocess

import harness
from fake_sandbox import Fake, saw_nothing, shows
from harness import RUNTIME, Client, Conn, eq, has, ok, request, until
from test_listen import DIGEST, Listen, closed, dialled, guest
from ws_peer import upgrade


def test_attack():
    """A sandbox with a token of its own takes the name of another one after a restart of the backend."""
    with Listen() as l:
        port, secret = l.port, l.secret
        with dialled(l, "v"):
            eq(l.run("v", "echo").status, 200, "the sandbox is served")
    with Listen(port=port, secret=secret) as l:
        with Fake(l, "v", says="evil") as fake:
            eq(closed(fake.ws), 1008, "a name that is not in the token is refused")
            fake.seen += fake.ws.conn.data
        with Client("--connect", f"ws://127.0.0.1:{l.port}/connect", *l.token_of("evil"), "--connect-id", "v") as c:
            ok(until(lambda: "the token is for another name than --connect-id" in c.log()),
               "a sandbox with the token of another one logs why it is refused", c.log())
        mine = l.token("evil").split("~")[1]
        for name, token in (("another sandbox's HMAC", "v~" + mine), ("the secret itself", secret),
                            ("the operator's token", l.mac(b"od-runtime operator token")),
                            ("a name with the operator's token", "v~" + l.mac(b"od-runtime operator token")),
                            ("an HMAC without the label", "v~" + l.mac(b"v")), ("no HMAC", "v~"), ("no name", "~" + mine),
                            ("a name that is a path", l.token("../v")), ("half a token", l.token("v")[:-2]),
                            ("no token", "")):
            conn, answer = upgrade(l.port, "/connect", Authorization="Bearer " + token)
            eq(answer.status, 403, f"{name} is no token")
            conn.close()
        with Fake(l, "evil") as evil:
            ok(until(lambda: l.connected("evil")), "a sandbox has its own name")
            eq(shows(l).response().status, 404, "the name of another one stays free")
            with dialled(l, "v"):
                got = l.run("v", "echo body-canary")
                eq(got.status, 200, "the sandbox gets its name back, and its requests")
            evil.say("heartbeat")
            eq(shows(l, "nobody").response().status, 404, "the backend is well")
        saw_nothing(fake, "the attacker")
        saw_nothing(evil, "the attacker under its own name")


def test_list():
    with Listen() as l:
        operator = l.mac(b"od-runtime operator token")
        for name, token in (("nothing", None), ("the token of a sandbox", "Bearer " + l.token("v")), ("the secret", "Bearer " + l.secret),
                            ("another scheme", "Basic " + operator), ("half of the token", "Bearer " + operator[:32])):
            with Conn(l.port) as conn:
                got = conn.send(request("GET", "/sandboxes", Authorization=token)).response()
                eq([got.status, got.field("www-authenticate")], [401, 'Bearer realm="od-runtime"'],
                   f"{name} lists no sandboxes")
        eq(l.list(), [], "the operator's token does")
        for words, want in ((("v",), l.token("v")), (("--operator",), operator)):
            done = subprocess.run([RUNTIME, "token", os.path.join(l.top, "secret"), *words], capture_output=True,
                                  text=True, timeout=harness.DEADLINE)
            eq([done.returncode, done.stdout], [0, want + "\n"], f"od-runtime token FILE {words[0]} prints the token")
        os.chmod(os.path.join(l.top, "secret"), 0o644)
        done = subprocess.run([RUNTIME, "token", os.path.join(l.top, "secret"), "v"], capture_output=True, text=True,
                              timeout=harness.DEADLINE)
        has(done.stderr, "other users of this machine can access", "a secret that all can read is warned of")
    for words, why in ((("v", "--operator"), "needs its NAME, or --operator"),
                       ((), "needs its NAME, or --operator"), (("../v",), "is not a valid name of a sandbox"),
                       (("." * 3,), "is not a valid name of a sandbox"), (("v" * 65,), "is not a valid name of a sandbox")):
        done = subprocess.run([RUNTIME, "token", "/dev/null", *words], capture_output=True, text=True,
                              timeout=harness.DEADLINE)
        eq(done.returncode, 100, f"od-runtime token FILE {' '.join(words)} is refused")
        has(done.stderr, why, "the error says why")


def test_links_of_one_name():
    """A sandbox opens connections without an end, and says nothing on them."""
    with Listen() as l, dialled(l, "v"):
        mine = [upgrade(l.port, "/connect", Authorization="Bearer " + l.token("evil")) for _ in range(20)]
        eq([answer.status for _, answer in mine], [101] * 8 + [503] * 12, "a sandbox has eight connections at most")
        eq(mine[-1][1].field("retry-after"), "1", "the answer has Retry-After")
        with dialled(l, "w"):
            eq([l.run(name, "echo").status for name in "vw"], [200, 200], "other sandboxes dial in and are served")
        for conn, _ in mine:
            conn.close()
        ok(until(lambda: upgrade(l.port, "/connect", Authorization="Bearer " + l.token("evil"))[1].status == 101, step=0.05),
           "connections that have ended make room")


def test_without_tokens():
    with Listen("--no-token") as l:
        eq(l.ask("GET", "/sandboxes").status, 403, "without a secret no sandboxes are listed")
        c = Client("--key-sha256", DIGEST, "--connect", f"ws://127.0.0.1:{l.port}/connect", "--connect-id", "v")
        with c:
            ok(until(lambda: l.run("v", "echo").status == 200, step=0.05), "a sandbox dials in, and proves its key")
            other = guest(l, "v", "none")
            eq(closed(other), 4423, "another one does not take its name")
        l.process.terminate()
        errors = l.process.communicate()[1].decode()
        eq(errors.count("--no-token"), 1, "one line warns of it")


if __name__ == "__main__":
    harness.main()
