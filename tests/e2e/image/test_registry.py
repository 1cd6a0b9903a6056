#!/usr/bin/env python3
"""Images from and to registries: Debian's docker-registry with TLS and a login, and one of
our own that answers what registries should not and writes down every header it gets."""
import atexit
import base64
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from harness import (BOXED, DEADLINE, RUNTIME, eq, free_port, has, main, note, ok, scratch, skip,
                     until)
from registry import (MADE, Mock, Origin, PAIR, SECRET, TOKEN, Tokens, USER, digest, image,
                      write_oci)

TOP = scratch("od-e2e-registry-")


def path(*names):
    return os.path.join(TOP, *names)


# --- od-runtime -----------------------------------------------------------------

def run(*words, config=None, env=None, certs=None, timeout=60):
    """A command with a home of its own; config is what docker login left there, certs
    the files that docker keeps for a registry: host -> name -> path."""
    home = tempfile.mkdtemp(dir=TOP)
    for host, files in (certs or {}).items():
        folder = os.path.join(home, ".config/docker/certs.d", host)
        os.makedirs(folder)
        for name, source in files.items():
            shutil.copy(source, os.path.join(folder, name))
    if config is not None:
        os.mkdir(os.path.join(home, ".docker"))
        with open(os.path.join(home, ".docker/config.json"), "w") as f:
            f.write(config if isinstance(config, str) else json.dumps(config))
    full = {"PATH": os.environ["PATH"], "HOME": home, "OD_RUNTIME_CLIENT": BOXED,
            **(env or {})}
    done = subprocess.run([RUNTIME, *words], capture_output=True, text=True, env=full,
                          timeout=timeout)
    if SECRET in done.stdout + done.stderr:
        ok(False, "no secret is ever printed", done.stdout, done.stderr)
    return done


def login_for(host, user=USER, secret=SECRET):
    pair = base64.b64encode(f"{user}:{secret}".encode()).decode()
    return {"auths": {host: {"auth": pair}}}


# --- Debian's docker-registry ---------------------------------------------------

class Registry:
    """docker-registry on a port of loopback, with TLS and a login if wanted."""

    def __init__(self, tls=False, login=False, clients=None):
        self.folder = tempfile.mkdtemp(dir=TOP)
        self.port = free_port()
        self.host = f"localhost:{self.port}"
        lines = ["version: 0.1", "log: {level: error}", "storage:", "  filesystem:",
                 f"    rootdirectory: {self.folder}/data", "http:",
                 f"  addr: 127.0.0.1:{self.port}"]
        self.ca = None
        if tls:
            self.ca = make_certificate(self.folder)
            lines += ["  tls:", f"    certificate: {self.folder}/crt",
                      f"    key: {self.folder}/key"]
        if clients:
            lines += [f"    clientcas: [{clients}]"]
        if login:
            with open(f"{self.folder}/htpasswd", "w") as f:
                subprocess.run(["htpasswd", "-nbB", USER, SECRET], check=True, stdout=f)
            lines += ["auth:", "  htpasswd:", "    realm: here",
                      f"    path: {self.folder}/htpasswd"]
        with open(f"{self.folder}/config.yml", "w") as f:
            f.write("\n".join(lines) + "\n")
        self.process = subprocess.Popen(
            ["docker-registry", "serve", f"{self.folder}/config.yml"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.end)
        ok(until(self.is_up), "a registry starts")

    def is_up(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def inspect(self, name):
        """The digest that another program sees."""
        out = subprocess.run(
            ["skopeo", "inspect", "--tls-verify=false", "--creds", f"{USER}:{SECRET}",
             f"docker://{self.host}/{name}"], capture_output=True, text=True,
            timeout=DEADLINE)
        return json.loads(out.stdout) if out.returncode == 0 else {"error": out.stderr}


EC = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]


def make_certificate(folder, key=EC):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", *key, "-nodes", "-days", "2", "-subj", "/CN=x", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", f"{folder}/key", "-out",
         f"{folder}/crt"], check=True, capture_output=True, timeout=DEADLINE)
    return f"{folder}/crt"


MISSING = [p for p in ("docker-registry", "htpasswd", "openssl", "skopeo")
           if not shutil.which(p)]


def test_debian_registry():
    if MISSING:
        skip("docker-registry", f"no {MISSING[0]}")
        return
    reg = Registry(tls=True, login=True)
    oci = write_oci(path("base"), image())
    config = login_for(reg.host)
    target = f"registry:{reg.host}/team/base:1"
    done = run("build", f"oci:{oci}", "--output", target, "--ca", reg.ca, config=config)
    eq(done.returncode, 0, "an image is pushed over TLS with a login")
    note(done.stderr)
    seen = reg.inspect("team/base:1")
    eq(len(seen.get("Layers", [])), 3, "another program sees one layer more")
    first = seen.get("Digest")

    again = run("build", f"oci:{oci}", "--output", target, "--ca", reg.ca, config=config)
    eq(again.returncode, 0, "the same again")
    eq(reg.inspect("team/base:1").get("Digest"), first, "has the same digest")

    subprocess.run(["skopeo", "copy", "-q", "--dest-tls-verify=false", "--dest-creds",
                    f"{USER}:{SECRET}", f"oci:{oci}", f"docker://{reg.host}/plain/img:x"],
                   check=True, timeout=DEADLINE)
    done = run("build", f"registry:{reg.host}/plain/img:x", "--output",
               f"registry:{reg.host}/team/other", "-t", "name:2", "--ca", reg.ca,
               config=config)
    eq(done.returncode, 0, "from one repository to another")
    note(done.stderr)
    eq(reg.inspect("team/other:2").get("Digest"), first, "with the tag of -t and that digest")

    out = path("pulled")
    done = run("build", f"registry:{reg.host}/plain/img:x", "--output", f"oci:{out}", "-t",
               "a:1", "--ca", reg.ca, config=config)
    eq(done.returncode, 0, "from the registry into a folder")
    note(done.stderr)

    done = run("build", f"registry:{reg.host}/plain/img:x", "--output", f"oci:{out}2",
               "--ca", reg.ca)
    ok(done.returncode == 111 and "login" in done.stderr, "without a login it is refused",
       done.stderr)
    done = run("build", f"registry:{reg.host}/plain/img:x", "--output", f"oci:{out}2",
               "--ca", reg.ca, config=login_for(reg.host, secret="wrong"))
    ok(done.returncode == 111 and "login" in done.stderr, "with a wrong one, too", done.stderr)
    done = run("build", f"registry:{reg.host}/plain/none:x", "--output", f"oci:{out}2",
               "--ca", reg.ca, config=config)
    ok(done.returncode == 111 and "404" in done.stderr, "what is not there is told",
       done.stderr)
    other = make_certificate(tempfile.mkdtemp(dir=TOP))
    done = run("build", f"registry:{reg.host}/plain/img:x", "--output", f"oci:{out}2",
               "--ca", other, config=config)
    ok(done.returncode == 111 and "not signed by a trusted authority" in done.stderr,
       "another authority is not enough", done.stderr)
    done = run("build", f"registry:{reg.host}/plain/img:x", "--output", f"oci:{out}2",
               config=config)
    ok(done.returncode == 111, "plain HTTP does not reach it", done.stderr)
    reg.end()


def client_files(reg, key=EC):
    folder = tempfile.mkdtemp(dir=TOP)
    make_certificate(folder, key)
    return {"ca.crt": reg.ca, "client.cert": f"{folder}/crt", "client.key": f"{folder}/key"}


def test_client_certificate():
    if MISSING:
        skip("a registry that wants a certificate", f"no {MISSING[0]}")
        return
    kinds = {"EC": EC, "RSA": ["rsa:2048"]}
    for name, key in kinds.items():
        folder = tempfile.mkdtemp(dir=TOP)
        make_certificate(folder, key)
        reg = Registry(tls=True, clients=f"{folder}/crt")
        files = {"ca.crt": reg.ca, "client.cert": f"{folder}/crt",
                 "client.key": f"{folder}/key"}
        push_it = ("build", f"oci:{BASE}", "--output", f"registry:{reg.host}/a/b:1")
        done = run(*push_it, certs={reg.host: files})
        eq((done.returncode, done.stderr), (0, ""), f"{name}: with the certificate")
        if name == "RSA":
            done = run(*push_it, certs={reg.host: client_files(reg)})
            ok(done.returncode == 111 and "cannot reach" in done.stderr, "a stranger's",
               done.stderr)
            done = run(*push_it, certs={reg.host: {"ca.crt": reg.ca}})
            ok(done.returncode == 111 and "cannot reach" in done.stderr, "without one",
               done.stderr)
            done = run(*push_it, certs={reg.host + "0": files})
            eq(done.returncode, 111, "that of another host")
            done = run(*push_it, "--ca", reg.ca, certs={reg.host: {
                k: v for k, v in files.items() if k != "ca.crt"}})
            eq((done.returncode, done.stderr), (0, ""), "--ca in place of ca.crt")
            broken = {"client.key": "/dev/null"}, {"client.cert": "/dev/null"}
            for change in broken:
                done = run(*push_it, certs={reg.host: {**files, **change}})
                ok(done.returncode == 111 and "client.cert in" in done.stderr,
                   f"{list(change)[0]} is empty", done.stderr)
            del files["client.key"]
            done = run(*push_it, certs={reg.host: files})
            ok(done.returncode == 111 and "no client.key" in done.stderr, "no key",
               done.stderr)
        reg.end()


def test_certificate_for_nobody_else():
    """The registry may lead us elsewhere; who we are is not told there."""
    folder = tempfile.mkdtemp(dir=TOP)
    ca = make_certificate(folder)
    mock = Mock(tls=folder, clients=ca)
    store = Origin(mock.serve_blob, folder, clients=ca)
    mock.blob_to = lambda p: store.url.replace("127.0.0.1", "localhost") + p
    files = {"ca.crt": ca, "client.cert": ca, "client.key": f"{folder}/key"}
    good(pull(mock, certs={mock.host: files}, env={"SSL_CERT_FILE": ca}), "a redirect")
    eq((set(mock.origin.peers), set(store.peers)), ({True}, {False}),
       "the registry sees our certificate, the store none")
    refused(pull(mock, certs={mock.host: files}, env={"SSL_CERT_FILE": os.devnull}),
            "authorit", "ca.crt is no authority for the store")
    store.end()
    mock.end()


class Names:
    """A name server for A records; everything else has no address.

    With cut it says all of that by TCP alone."""

    def __init__(self, names, cut=False):
        self.names, self.cut = names, cut
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.conf = path(f"resolv-{self.sock.getsockname()[1]}")
        with open(self.conf, "w") as f:
            f.write(f"nameserver [127.0.0.1]:{self.sock.getsockname()[1]}\n")
        threading.Thread(target=self.work, daemon=True).start()
        if cut:
            self.tcp = socket.create_server(self.sock.getsockname())
            threading.Thread(target=self.work_tcp, daemon=True).start()

    def answer(self, packet):
        at, labels = 12, []
        while packet[at]:
            labels.append(packet[at + 1:at + 1 + packet[at]].decode())
            at += packet[at] + 1
        question, kind = packet[12:at + 5], packet[at + 2]
        address = self.names.get(".".join(labels))
        answer = b""
        if address and kind == 1:
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + bytes(
                int(n) for n in address.split("."))
        head = packet[:2] + (b"\x81\x80" if address else b"\x81\x83")
        return head + b"\0\1\0" + bytes([1 if answer else 0]) + bytes(4) + question + answer

    def work(self):
        while True:
            packet, peer = self.sock.recvfrom(512)
            answer = self.answer(packet)
            if self.cut:
                answer = answer[:2] + b"\x83" + answer[3:]
            self.sock.sendto(answer, peer)

    def work_tcp(self):
        while True:
            with self.tcp.accept()[0] as s:
                answer = self.answer(s.recv(512)[2:])
                s.sendall(len(answer).to_bytes(2, "big") + answer)


def pull(mock, *more, host=None, **kw):
    out = tempfile.mkdtemp(dir=TOP)
    return run("build", f"registry:{host or mock.host}/r/img:1", "--output",
               f"oci:{out}/o", "-t", "a:1", *more, **kw)


def push(mock, *more, **kw):
    return run("build", f"oci:{BASE}", "--output", f"registry:{mock.host}/r/out:1", *more, **kw)


BASE = write_oci(path("mock-base"), MADE)


def good(done, name):
    return ok(done.returncode == 0, name, done.stderr)


def refused(done, words, name):
    return ok(done.returncode == 111 and words in done.stderr, name,
              f"exit {done.returncode}, wanted '{words}'", done.stderr)


def unheard(origin, name):
    ok(not origin.heard(PAIR, SECRET, TOKEN, "Authorization"), f"{name}: it hears no secret",
       *[str(q) for q in origin.log])


def test_redirects():
    mock = Mock()
    good(pull(mock), "without a login or a redirect")
    mock.challenge, mock.accepts = ["Basic realm=here"], ["Basic " + PAIR]
    login = login_for(mock.host)
    for status in (301, 302, 303, 307, 308):
        mock.status = status
        mock.blob_to = lambda p: mock.store.url + p
        good(pull(mock, config=login), f"blobs elsewhere, by {status}")
        unheard(mock.store, f"the store, by {status}")
    ok(mock.origin.heard(PAIR), "the registry hears the login")
    mock.manifest_to = lambda p: mock.store.url + p
    good(pull(mock, config=login), "the manifest elsewhere, too")
    unheard(mock.store, "the store")
    mock.manifest_to = None

    def around(n):
        def to(p):
            parts = p.split("?hop=")
            at = int(parts[1]) if len(parts) > 1 else 0
            return f"{parts[0]}?hop={at + 1}" if at + 1 < n else mock.store.url + parts[0]
        return to
    mock.blob_to = around(5)
    good(pull(mock, config=login), "five hops")
    mock.blob_to = around(6)
    refused(pull(mock, config=login), "on and on", "six")
    mock.blob_to = lambda p: p
    refused(pull(mock, config=login), "on and on", "a circle")
    for where, words in ((None, "an invalid address"), ("", "an invalid address"), ("ftp://a/b", "an invalid address"),
                         ("javascript:alert(1)", "an invalid address"), ("http:///x", "an invalid address"),
                         (f"http://u:p@{mock.store.host}/x", "an invalid address"),
                         ("http://127.1/x", "an invalid address"), ("http://[::1/x", "an invalid address"),
                         ("http://a\\b/x", "an invalid address")):
        mock.blob_to = lambda p, where=where: where
        refused(pull(mock, config=login), words, f"a redirect to {where!r}")
    unheard(mock.store, "the store")
    store = mock.store.answer
    mock.blob_to = lambda p: mock.store.url + p
    mock.store.answer = lambda q: (401, [("WWW-Authenticate", "Basic realm=me")], b"")
    refused(pull(mock, config=login), "401", "a store that asks for the login")
    unheard(mock.store, "such a store")
    evil = Tokens()
    mock.store.answer = lambda q: (401, [("WWW-Authenticate", evil.challenge()[0])], b"")
    refused(pull(mock, config=login), "401", "a store that asks for a token")
    eq(evil.log, [], "nobody is asked for one")
    mock.store.answer = store
    evil.end()
    mock.end()


def test_tls_and_plain():
    if not shutil.which("openssl"):
        skip("TLS", "no openssl")
        return
    folder = tempfile.mkdtemp(dir=TOP)
    ca = make_certificate(folder)
    mock = Mock(tls=folder)
    mock.challenge, mock.accepts = ["Basic realm=here"], ["Basic " + PAIR]
    login = login_for(mock.host)
    good(pull(mock, "--ca", ca, config=login), "a registry with TLS")
    mock.blob_to = lambda p: mock.store.url + p
    refused(pull(mock, "--ca", ca, config=login), "from https to http",
            "it may not lead to one without")
    eq(mock.store.log, [], "which is not even asked")
    mock.blob_to = None
    tokens = Tokens()
    mock.challenge = tokens.challenge()
    refused(pull(mock, "--ca", ca, config=login), "does not use https", "nor to such a token server")
    eq(tokens.log, [], "which is not even asked")
    mock.challenge = None
    mock.upload_to = mock.store.url + "/up"
    refused(push(mock, "--ca", ca, config=login), "from https to http", "nor an upload")
    eq(mock.store.log, [], "which does not begin")
    plain = Mock()
    plain.blob_to = lambda p: mock.origin.url + p
    mock.challenge, mock.origin.log[:] = None, []
    plain.challenge, plain.accepts = ["Basic realm=here"], ["Basic " + PAIR]
    good(pull(plain, "--plain-http", "--ca", ca, config=login_for(plain.host)),
         "from http to https")
    unheard(mock.origin, "the secure store")
    for m in (mock, plain):
        m.end()
    tokens.end()


def test_tokens():
    mock, tokens = Mock(), Tokens()
    names = Names({"auth.test": "127.0.0.1", "other.test": "127.0.0.1"})
    env = {"OD_RESOLV_CONF": names.conf}
    login = login_for(mock.host)
    mock.challenge, mock.accepts = tokens.challenge(), ["Bearer " + TOKEN]
    mock.blob_to = lambda p: mock.store.url + p
    good(pull(mock, config=login), "a token of a server on the same host")
    ok(tokens.heard("Basic " + PAIR), "which hears the login")
    has(tokens.log[0][1], "/token?a=b&service=svc&scope=repository%3Ar%2Fimg%3Apull",
        "and what it is for")
    eq(len(tokens.log), 1, "once")
    ok(not mock.origin.heard(PAIR, SECRET), "the registry hears the token alone")
    unheard(mock.store, "the store")
    tokens.log.clear()
    good(pull(mock), "an anonymous token")
    ok(not tokens.heard("Authorization"), "is asked for without a login")
    tokens.log.clear()
    mock.challenge = tokens.challenge("auth.test")
    good(pull(mock, config=login, env=env), "a token server with another name")
    ok(tokens.log and not tokens.heard(PAIR, "Authorization", USER),
       "does not hear the login")
    tokens.log.clear()
    good(pull(mock, "--realm", "auth.test", config=login, env=env), "one that was named")
    ok(tokens.heard(PAIR), "hears it")
    mock.challenge = ["Basic realm=x", "Negotiate", *tokens.challenge()]
    good(pull(mock, config=login), "of several challenges that with a token")
    mock.challenge = ["Negotiate abc==, " + tokens.challenge()[0] + ", Basic realm=\"a, b\""]
    good(pull(mock, config=login), "in one field, too")
    tokens.log.clear()
    identity = {"auths": {mock.host: {"identitytoken": SECRET}}}
    mock.challenge = tokens.challenge()
    good(pull(mock, config=identity), "an identity token")
    ok(tokens.log[0][0] == "POST" and b"refresh_token=" + SECRET.encode() in tokens.log[0][3],
       "is sent as a form", str(tokens.log))
    tokens.log.clear()
    mock.challenge = tokens.challenge("other.test")
    good(pull(mock, config=identity, env=env), "a foreign token server")
    unheard(tokens, "which")
    mock.challenge = tokens.challenge()
    tokens.reply = lambda q: (200, [], json.dumps({"access_token": TOKEN}).encode())
    good(pull(mock, config=login), "access_token")
    for reply, words, name in (
            ((200, [], b"no"), "does not contain a token", "an answer that is no JSON"),
            ((200, [], b"{}"), "does not contain a token", "an answer without a token"),
            ((200, [], json.dumps({"token": "a\r\nX: y"}).encode()), "does not contain a token",
             "a token with a line break"),
            ((403, [], b'{"details":"no such user"}'), "no such user", "a refusal"),
            ((302, [("Location", mock.store.url + "/t")], b""), "302", "a redirect"),
            ((200, [], b"x" * 400000), "size limit", "an answer without an end")):
        tokens.reply = lambda q, reply=reply: reply
        refused(pull(mock, config=login), words, f"a token server's answer: {name}")
    ok(not mock.store.heard(PAIR, SECRET), "nobody else hears the login")
    tokens.reply = lambda q: (200, [], b'{"token":"useless"}')
    refused(pull(mock, config=login), "401", "a token that does not help")
    for challenge, words in ((["Negotiate"], "unsupported way to log in"), ([], "does not name a method"),
                             (["Bearer"], "does not name a valid token server"),
                             (['Bearer realm="/t"'], "does not name a valid token server"),
                             (['Bearer realm="http://u:p@h/t"'], "does not name a valid token server"),
                             (['Bearer realm="a",realm="b"'], "does not name a method"),
                             (['Bearer realm="http://nowhere.test/"'], "no host")):
        mock.challenge = challenge or ["?"]
        refused(pull(mock, config=login, env=env), words, f"a challenge {challenge}")
    mock.challenge = ["Basic realm=x"]
    refused(pull(mock), "config.json has none for it", "a login that nobody left")
    mock.end()
    tokens.end()


def test_names():
    mock = Mock()
    names = Names({"reg.test": "127.0.0.1", "short.search.test": "127.0.0.1"}, cut=True)
    port = mock.origin.port
    more = {"env": {"OD_RESOLV_CONF": names.conf}}
    good(pull(mock, "--plain-http", host=f"reg.test:{port}", **more),
         "a name whose addresses come by TCP")
    with open(names.conf, "a") as f:
        f.write("# a comment\nsearch\tnone.test search.test\noptions ndots:2 x\n")
    good(pull(mock, "--plain-http", host=f"short.search.test:{port}", **more), "a full name")
    refused(pull(mock, "--plain-http", host=f"nobody.test:{port}", **more), "no host has this name",
            "a name that nobody has")
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", 0))
    with open(path("resolv-silent"), "w") as f:
        f.write(f"nameserver [127.0.0.1]:{silent.getsockname()[1]}\n")
    began = time.monotonic()
    refused(pull(mock, "--plain-http", host=f"reg.test:{port}",
                 env={"OD_RESOLV_CONF": path("resolv-silent")}), "no name server",
            "a name server that is silent")
    ok(time.monotonic() - began < 10, "is not waited for for long")
    silent.close()
    mock.end()


def test_push_progress():
    """A bar on a terminal, nothing elsewhere."""
    mock = Mock()
    words = ("build", f"oci:{BASE}", "--output", f"registry:{mock.host}/r/out:1")
    eq(run(*words).stderr, "", "no bar for a program")
    master, slave = pty.openpty()
    done = subprocess.run([RUNTIME, *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=slave, timeout=DEADLINE * 3,
                          env={"PATH": os.environ["PATH"], "OD_RUNTIME_CLIENT": BOXED})
    os.close(slave)
    out = b""
    try:
        while more := os.read(master, 4096):
            out += more
    except OSError:
        pass
    os.close(master)
    eq(done.returncode, 0, "a push before a terminal")
    ok(re.search(rb"pushing: \d+ of \d+ parts", out), "counts the parts", out)
    has(out.decode(), "\r\x1b[K", "in a line that is taken away")
    mock.end()


def test_tag_of_another_name():
    mock = Mock()
    good(push(mock, "-t", "any/name:2"), "-t with a tag")  # TARGET has its own
    eq(list(mock.pushed)[-1], "1", "the target's own counts")
    to = f"registry:{mock.host}/r/out"
    good(run("build", f"oci:{BASE}", "--output", to, "-t", "any/name:2"), "a target without")
    eq(list(mock.pushed)[-1], "2", "gets that of -t")
    mock.pushed.clear()
    for word in ("v1", "localhost:5000/v1"):
        done = run("build", f"oci:{BASE}", "--output", to, "-t", word)
        eq((done.returncode, mock.pushed), (100, {}), f"-t {word} is a name")
        has(done.stderr, "has no tag", "which is told")
    good(run("build", f"oci:{BASE}", "--output", to), "neither has one")
    eq(list(mock.pushed)[-1], "latest", "then it is latest")
    mock.end()


def test_surroundings():
    """What stands near us may not be reached by a word of a registry that does not."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        probe.connect(("192.0.2.1", 9))
        mine = probe.getsockname()[0]
    except OSError:
        mine = "127.0.0.1"
    if mine.startswith("127."):
        skip("addresses nearer than the registry", "this machine has loopback alone")
        return
    mock = Mock(address=mine)
    names = Names({"near.test": "127.0.0.1", "meta.test": "169.254.169.254"})
    env, more = {"OD_RESOLV_CONF": names.conf}, ["--plain-http"]
    good(pull(mock, *more), "a registry on an address of a network")
    near = mock.store.url.replace("127.0.0.1", "near.test")
    for base, name in ((mock.store.url, "an address of loopback"), (near, "a name for it"),
                       ("http://169.254.169.254", "a cloud's metadata"),
                       ("http://meta.test", "a name for that"),
                       (f"http://[::ffff:127.0.0.1]:{mock.store.port}", "a disguise"),
                       ("http://localhost", "localhost")):
        mock.blob_to = lambda p, base=base: base + p
        refused(pull(mock, *more, env=env), "of a private network", f"a redirect to {name}")
    mock.challenge = [f'Bearer realm="{near}/t"']
    refused(pull(mock, *more, env=env), "of a private network", "a token server there")
    mock.challenge, mock.upload_to = None, near + "/up"
    refused(push(mock, *more, env=env), "of a private network", "an upload there")
    eq(mock.store.log, [], "nobody has come there")
    mock.end()
    mock = Mock(address=mine)
    inner = Origin(mock.answer, port=mock.origin.port)
    names.names["reg.test"], answer = mine, mock.answer

    def moving(q):
        """The name means another address as soon as the manifest is there."""
        status, headers, body = answer(q)
        names.names["reg.test"] = "127.0.0.1"
        return status, [*headers, ("Connection", "close")], body
    mock.origin.answer = moving
    refused(pull(mock, *more, env=env, host=f"reg.test:{mock.origin.port}"), "of a private network",
            "a registry whose name comes to mean a nearer address")
    eq(inner.log, [], "is not followed there")
    inner.end()
    mock.end()
    mock = Mock()
    mock.blob_to = lambda p: "http://169.254.169.254" + p
    refused(pull(mock), "of a private network", "a registry on loopback leads to no metadata either")
    mock.end()


def test_push():
    mock = Mock()
    good(push(mock), "a push")
    has(mock.pushed, "1", "ends with the tag")
    eq(list(mock.pushed)[-1], "1", "which comes last")
    layer = json.loads(mock.pushed["1"])["layers"][-1]["digest"]
    ok(layer in mock.pushed, "the layer has come")
    mock.pushed.clear()
    mock.challenge, mock.accepts = ["Basic realm=here"], ["Basic " + PAIR]
    mock.upload_to = mock.store.url + "/up?a=b"
    good(push(mock, config=login_for(mock.host)), "uploads to elsewhere")
    unheard(mock.store, "elsewhere")
    ok(layer in mock.pushed, "which got the layer")
    mock.challenge = None
    for where in ("/up a", "/up\xe9", "http://h ost/up", "up\\x", "mailto:x"):
        mock.upload_to, asked = where, len(mock.origin.log)
        refused(push(mock), "an invalid address", f"an upload's Location {where!r}")
        ok(not any(q[0] == "PUT" for q in mock.origin.log[asked:]), "gets no byte")
    mock.challenge = mock.upload_to = None
    both = ["build", f"registry:{mock.host}/r/img:1", "--output",
            f"registry:{mock.host}/r/out:2"]
    for status, uploads in ((201, 2), (202, 4), (405, 4), (500, 4)):
        mock.pushed.clear()
        mock.mount = status
        good(run(*both), f"a mount that answers {status}")
        # Our layer and the new configuration, and, if not mounted, what was there.
        eq(len([d for d in mock.pushed if d.startswith("sha256:")]),
           uploads, "uploads")
    ok(any("mount=sha256%3A" in q[1] and "from=r%2Fimg" in q[1] for q in mock.origin.log), "a mount names digest and origin")
    answer = mock.origin.answer
    mock.origin.answer = lambda q: (403, [], b'{"errors":[{"message":"read only\\u001b[31m"}]}') \
        if q.command == "POST" else answer(q)
    done = push(mock)
    refused(done, "403", "an upload that is not wanted")
    ok("\x1b" not in done.stderr, "its words are harmless")
    mock.origin.answer = lambda q: (413, [], b'{"errors":[{"message":"too big"}]}') \
        if q.command == "PUT" else answer(q)
    refused(push(mock), "too big", "an upload that is refused at its end")
    mock.end()


# --- Refused for now --------------------------------------------------------------

class Busy:
    """Answers the first requests of a kind with a status, and the others as before."""

    def __init__(self, origin, status, times=1, fields=(), which=lambda q: True):
        self.origin, self.before = origin, origin.answer
        self.status, self.times, self.fields = status, times, list(fields)
        self.which, self.seen = which, {}
        origin.answer = self.answer

    def answer(self, q):
        key = q.command, q.path
        if self.which(q):
            self.seen[key] = self.seen.get(key, 0) + 1
            if self.seen[key] <= self.times:
                return self.status, self.fields, b'{"errors":[{"message":"slow down"}]}'
        return self.before(q)

    def end(self):
        self.origin.answer = self.before


def is_bytes(q):
    return q.command == "PUT" and "/blobs/" in q.path


def test_refused_for_now():
    """Requests that a registry refuses for now are sent again, so often and so long."""
    mock = Mock()
    for status in (429, 502, 503, 504):
        busy = Busy(mock.origin, status, which=lambda q: q.command == "GET")
        good(pull(mock), f"a pull, each of whose requests is answered {status} once")
        ok(all(n > 1 for n in busy.seen.values()), "each was sent again", str(busy.seen))
        busy.end()
    tokens = Tokens()
    mock.challenge, mock.accepts = tokens.challenge(), ["Bearer " + TOKEN]
    busy = Busy(tokens, 429, 2, [("Retry-After", "0")], lambda q: True)
    tokens.reply = lambda q: (200, [], json.dumps({"token": TOKEN}).encode())
    good(pull(mock), "a token server that answers 429 twice")
    mock.challenge = None
    busy = Busy(mock.origin, 503, which=lambda q: not is_bytes(q))
    good(push(mock), "a push, whose requests are answered 503 once")
    busy.end()
    mock.pushed.clear()
    busy = Busy(mock.origin, 429, which=is_bytes)
    good(push(mock), "a push, whose uploads are answered 429 once")
    ok(all(digest(data) == name for name, data in mock.pushed.items() if ":" in name),
       "the uploads that were repeated are complete")
    busy.end()
    busy = Busy(mock.origin, 503, which=is_bytes)
    refused(push(mock), "503", "an upload whose bytes the registry may have kept")
    eq(set(busy.seen.values()), {1}, "is not sent again")
    busy.end()
    busy = Busy(mock.origin, 429, 99, which=lambda q: "/manifests/" in q.path)
    refused(pull(mock), "try again later", "a registry that refuses for ever")
    eq(list(busy.seen.values()), [5], "is asked five times")
    busy.end()
    busy = Busy(mock.origin, 429, 99, [("Retry-After", "3600")], lambda q: "/manifests/" in q.path)
    refused(pull(mock), "slow down", "a pause of an hour")
    eq(list(busy.seen.values()), [1], "is not waited for")
    busy.end()
    tokens.end()
    mock.end()


def test_interrupted_pause():
    mock = Mock()
    busy = Busy(mock.origin, 429, 99, [("Retry-After", "25")])
    home = tempfile.mkdtemp(dir=TOP)
    p = subprocess.Popen([RUNTIME, "build", f"registry:{mock.host}/r/img:1", "--output",
                          f"oci:{home}/o"], stderr=subprocess.PIPE,
                         env={"PATH": os.environ["PATH"], "HOME": home, "OD_RUNTIME_CLIENT": BOXED})
    until(lambda: busy.seen)
    p.send_signal(signal.SIGINT)
    eq(p.wait(DEADLINE), 130, "^C ends a pause")
    eq(list(busy.seen.values()), [1], "before the request is sent again")
    p.stderr.close()
    mock.end()


def test_damage():
    mock = Mock()
    config = json.loads(mock.manifest)["config"]["digest"]
    layer = json.loads(mock.manifest)["layers"][0]["digest"]
    changes = {"another byte": lambda b: b[:9] + bytes([b[9] ^ 1]) + b[10:],
               "cut": lambda b: b[:-1], "longer": lambda b: b + b" ",
               "empty": lambda b: b"", "swapped": lambda b: mock.blobs[config] + b"\n"}
    for place in (config, layer):
        for name, change in changes.items():
            mock.mangle = {place: change}
            out = tempfile.mkdtemp(dir=TOP)
            done = run("build", f"registry:{mock.host}/r/img:1", "--output",
                       f"archive:{out}/a.tar", "-t", "a:1")
            ok(done.returncode == 111 and os.listdir(out) == [],
               f"{'configuration' if place == config else 'layer'}: {name}", done.stderr,
               str(os.listdir(out)))
    by_digest = f"registry:{mock.host}/r/img@{digest(mock.manifest)}"
    mock.mangle = {}
    good(run("build", by_digest, "--output", f"oci:{path('d1')}", "-t", "a:1"),
         "an image by its digest")
    mock.mangle = {"manifest": lambda b: b + b" "}
    refused(run("build", by_digest, "--output", f"oci:{path('d2')}", "-t", "a:1"), "damaged",
            "another manifest than the digest says")
    mock.end()


# --- Logins ---------------------------------------------------------------------

def helper(name, script):
    folder = tempfile.mkdtemp(dir=TOP)
    file = os.path.join(folder, "docker-credential-" + name)
    with open(file, "w") as f:
        f.write("#!/bin/sh\n" + script)
    os.chmod(file, 0o755)
    return folder


def test_logins():
    mock = Mock()
    mock.challenge, mock.accepts = ["Basic realm=here"], ["Basic " + PAIR]
    answer = json.dumps({"ServerURL": "x", "Username": USER, "Secret": SECRET})
    folder = helper("test", f"read url; env >{TOP}/env; echo \"$1 $url\" >{TOP}/asked\n"
                            f"echo '{answer}'\n")
    env = {"PATH": folder + ":" + os.environ["PATH"], "AWS_SECRET": SECRET}
    good(pull(mock, config={"credHelpers": {mock.host: "test"}}, env=env), "a helper")
    with open(path("asked")) as f:
        eq(f.read(), f"get {mock.host}\n", "is asked for the registry")
    with open(path("env")) as f:
        ok(SECRET not in f.read(), "and sees none of our environment")
    good(pull(mock, config={"credsStore": "test"}, env=env), "a helper for all")
    good(pull(mock, config={"credsStore": "none", **login_for("https://" + mock.host + "/v1/")},
              env=env), "what is written down needs no helper")
    refused(pull(mock, config={"credsStore": "none"}, env=env), "credential helper",
            "a helper that is not there")
    refused(pull(mock, config={"credsStore": "../x"}, env=env), "config.json",
            "a helper that is a path")
    refused(pull(mock, config="{"), "config.json", "a config.json that is none")
    broken = {**env, "PATH": helper("test", "echo no such login; exit 1\n") + ":/usr/bin:/bin"}
    refused(pull(mock, config={"credsStore": "test"}, env=broken), "config.json has none for it",
            "a helper that knows nobody")
    began = time.monotonic()
    slow = {**env, "PATH": helper("test", "exec sleep 60\n") + ":/usr/bin:/bin"}
    refused(pull(mock, config={"credsStore": "test"}, env=slow), "credential helper",
            "a helper that does not end")
    ok(9 < time.monotonic() - began < 30, "is given ten seconds")
    other = tempfile.mkdtemp(dir=TOP)
    with open(other + "/config.json", "w") as f:
        json.dump(login_for(mock.host), f)
    good(pull(mock, env={"DOCKER_CONFIG": other}), "DOCKER_CONFIG")
    mock.end()


if __name__ == "__main__":
    main()
