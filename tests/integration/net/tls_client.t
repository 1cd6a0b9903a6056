#!/usr/bin/env python3
"""The verdicts of our TLS client on certificates of every kind, at openssl s_server.

Each row makes a chain, has openssl serve it, and says whether the client believes it and,
if not, which words it gives for that."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from certificates import EKU, Cert, x509

PEER = os.path.join(os.environ.get("OD_BUILD", "build/" + os.uname().machine),
                    "test/unit/net/test_tls_client")
HOST = "registry.example.com"


def rows():
    """(name, root, chain from the leaf on, host, words or None if believed, pin, args)"""
    root = Cert("root", ca=True)
    other = Cert("root", ca=True)
    mid = Cert("mid", root, ca=True)
    mid0 = Cert("mid0", root, ca=True, pathlen=0)

    def leaf(issuer=root, dns=(HOST,), **kw):
        return Cert("leaf", issuer, dns=dns, **kw)

    def row(name, chain, words=None, host=HOST, trust=root, pin=None, args=()):
        return (name, trust, chain, host, words, pin, args)

    name, auth = "for another name", "not signed by a trusted authority"
    yield row("a plain leaf", [leaf()])
    yield row("RSA of 2048 bits", [leaf(kind="rsa2048")])
    yield row("RSA of 4096 bits", [leaf(kind="rsa4096")])
    yield row("a leaf on P-384", [leaf(kind="p384")])
    yield row("one intermediate", [leaf(mid), mid])
    yield row("the root sent along", [leaf(mid), mid, root])
    yield row("one more behind the trusted", [leaf(), other])
    yield row("SHA-384", [leaf(digest="sha384")])
    yield row("SHA-512", [leaf(digest="sha512")])
    yield row("another host", [leaf(dns=["other.example.com"])], name)
    yield row("the second of two names", [leaf(dns=["a.example.com", HOST])])
    yield row("a wildcard", [leaf(dns=["*.example.com"])])
    yield row("a wildcard is not the parent", [leaf(dns=["*.registry.example.com"])], name)
    yield row("a wildcard is one label", [leaf(dns=["*.com"])], name)
    yield row("a wildcard in a label", [leaf(dns=["reg*.example.com"])], name)
    yield row("a wildcard further right", [leaf(dns=["registry.*.com"])], name)
    yield row("no name but the CN", [Cert(HOST, root)], name)
    yield row("an IPv4 address", [leaf(dns=[], ips=["127.0.0.1"])], host="127.0.0.1")
    yield row("an IPv6 address", [leaf(dns=[], ips=["::1"])], host="[::1]")
    yield row("another address", [leaf(dns=[], ips=["127.0.0.2"])], name, host="127.0.0.1")
    yield row("an address as a DNS name", [leaf(dns=["127.0.0.1"])], name, host="127.0.0.1")
    yield row("an address for a name", [leaf(dns=[], ips=["127.0.0.1"])], name)
    yield row("expired", [leaf(start=-9, end=-1)], "expired or is not valid yet")
    yield row("not yet valid", [leaf(start=1)], "expired or is not valid yet")
    old = Cert("old", root, ca=True, start=-9, end=-1)
    yield row("an expired intermediate", [leaf(old), old], "expired")
    yield row("RSA of 1024 bits", [leaf(kind="rsa1024")], "too short",
              args=("-cipher", "DEFAULT@SECLEVEL=0"))
    weak = Cert("weak", root, ca=True, kind="rsa1024")
    yield row("an intermediate of 1024 bits", [leaf(weak), weak], "too short",
              args=("-cipher", "DEFAULT@SECLEVEL=0"))
    yield row("SHA-1", [leaf(None).sign_again(root, "-sha1")], "not accepted",
              args=("-cipher", "DEFAULT@SECLEVEL=0"))
    yield row("for clients only", [leaf(eku=[EKU.CLIENT_AUTH])], "not for servers")
    yield row("for servers", [leaf(eku=[EKU.CLIENT_AUTH, EKU.SERVER_AUTH])])
    yield row("for any purpose", [leaf(eku=[EKU.ANY_EXTENDED_KEY_USAGE])])
    mail = Cert("mail", root, ca=True, eku=[EKU.EMAIL_PROTECTION])
    yield row("an intermediate for mail", [leaf(mail), mail], "not for servers")
    sub = Cert("sub", root, ca=False)
    yield row("an issuer that is no authority", [leaf(sub), sub], "is not an authority")
    bare = Cert("bare", root, basic=False)
    yield row("an issuer without constraints", [leaf(bare), bare], "is not an authority")
    nosign = Cert("nosign", root, ca=True, usage="digital_signature")
    yield row("an issuer that may not sign", [leaf(nosign), nosign], "is not an authority|unsupported critical extension")
    yield row("path length kept", [leaf(mid0), mid0])
    deep = Cert("deep", mid0, ca=True)
    yield row("path length exceeded", [leaf(deep), deep, mid0], "longer than it allows")
    for critical in (False, True):
        nc = Cert("nc", root, ca=True, constraints=["example.org"], critical=critical)
        yield row(f"name constraints, critical {critical}", [leaf(nc), nc],
                  "name constraints|critical extension")
    self_signed = Cert("self", dns=[HOST])
    yield row("self-signed", [self_signed], auth)
    yield row("self-signed and trusted", [self_signed], trust=self_signed)
    yield row("another root of that name", [leaf(other)], "signature|" + auth)
    yield row("no intermediate", [leaf(mid)], auth)
    yield row("a foreign signature", [leaf(signer=other.key)], "signature|" + auth)
    chain = [mid]
    for i in range(19):
        chain.insert(0, Cert(f"mid{i}", chain[0], ca=True))
    yield row("20 intermediates", [leaf(chain[0])] + chain, "too many or too large")
    yield row("8 intermediates", [leaf(chain[-8])] + chain[-8:])
    yield row("64 KB of certificate", [leaf(pad=64000)], "too many or too large")
    yield row("an unknown demand", [leaf(unknown=True)], "critical extension")
    pinned = Cert("pinned", dns=["other"])
    yield row("a key by its hash", [pinned], trust=None, pin=pinned.pin())
    yield row("another key", [pinned], "not the pinned key", trust=None, pin=root.pin())
    good = leaf()
    yield row("an authority and a key", [good], pin=good.pin())
    yield row("an authority and another key", [good], "not the pinned key", pin=root.pin())
    yield row("TLS 1.3 only", [leaf()], "TLS 1.2|ended the handshake", args=("-tls1_3",))
    yield row("TLS 1.1 only", [leaf()], "TLS 1.2|ended the handshake",
              args=("-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"))
    yield row("no forward secrecy", [leaf(kind="rsa2048")], "ended the handshake",
              args=("-tls1_2", "-cipher", "AES128-GCM-SHA256"))
    yield row("no AEAD", [leaf(kind="rsa2048")], "ended the handshake",
              args=("-tls1_2", "-cipher", "ECDHE-RSA-AES128-SHA256"))


def serve(folder, chain, args):
    for name, text in (("leaf", chain[0].pem()), ("key", chain[0].key_pem()),
                       ("chain", b"".join(c.pem() for c in chain[1:]))):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(text)
    more = ["-cert_chain", "chain"] if len(chain) > 1 else []
    return subprocess.Popen(
        ["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", "leaf", "-key", "key",
         "-naccept", "1", *more, *args], cwd=folder, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def port_of(server):
    for line in server.stdout:
        if line.startswith(b"ACCEPT "):
            return line.split(b":")[-1].strip().decode()
    return None


def judge(folder, number, row):
    name, trust, chain, host, words, pin, args = row
    with open(os.path.join(folder, "ca"), "wb") as f:
        f.write(trust.pem() if trust else b"")
    server = serve(folder, chain, args)
    try:
        port = port_of(server)
        if not port:
            print(f"ok {number} - {name} # SKIP openssl does not serve it")
            return True
        run = subprocess.run([PEER, port, host, "0", os.path.join(folder, "ca")] +
                             ([pin] if pin else []), capture_output=True, text=True,
                             timeout=60)
    finally:
        server.kill()
        server.wait()
        server.stdin.close()
        server.stdout.close()
    got = run.stdout.strip()
    good = run.returncode == 0 if words is None else \
        run.returncode == 1 and any(w in got for w in words.split("|"))
    print(f"{'' if good else 'not '}ok {number} - {name}: {got}")
    if not good:
        print(f"# exit {run.returncode}, wanted {words or 'believed'}; {run.stderr[-300:]}")
    return good


def main():
    if not x509 or not shutil.which("openssl"):
        print("1..0 # SKIP no openssl, or no python3-cryptography")
        return 0
    folder = tempfile.mkdtemp(prefix="od-tls-")
    try:
        verdicts = [judge(folder, i, row) for i, row in enumerate(rows(), 1)]
    finally:
        shutil.rmtree(folder)
    print(f"1..{len(verdicts)}")
    return 0 if all(verdicts) else 1


sys.exit(main())
