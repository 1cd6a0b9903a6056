#!/usr/bin/env python3
"""The server's TLS as scanners see it, and clients that others have written."""
import json
import os
import shutil
import ssl
import subprocess
import urllib.request

from harness import DEADLINE, SLOW, Client, action, eq, main, ok, request, scratch, skip

import npm

TOP = scratch("od-e2e-scan-")
KINDS = {"EC": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "RSA": ["rsa:2048"]}
SUITES = ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")
SCAN = 120 * SLOW  # seconds; testssl is a large program for a shell

# How testssl's findings begin for a server that does as it should.
WANTED = {
    "SSLv2": "not offered", "SSLv3": "not offered", "TLS1": "not offered",
    "TLS1_1": "not offered", "TLS1_2": "offered", "TLS1_3": "not offered",
    "PFS": "offered", "heartbleed": "not vulnerable", "CCS": "not vulnerable",
    "ticketbleed": "no session ticket", "ROBOT": "not vulnerable",
    "secure_renego": "supported", "secure_client_renego": "not vulnerable",
    "CRIME_TLS": "not vulnerable", "BREACH": "not vulnerable", "POODLE_SSL": "not vulnerable",
    "fallback_SCSV": "no protocol below TLS 1.2", "SWEET32": "not vulnerable",
    "FREAK": "not vulnerable", "DROWN": "not vulnerable", "LOGJAM": "not vulnerable",
    "BEAST": "not vulnerable", "LUCKY13": "not vulnerable", "RC4": "not vulnerable",
}


def path(name):
    return os.path.join(TOP, name)


def server(kind):
    cert, key = path(kind + ".crt"), path(kind + ".key")
    if not os.path.exists(cert):
        subprocess.run(["openssl", "req", "-x509", "-newkey", *KINDS[kind], "-nodes", "-days",
                        "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                        "-keyout", key, "-out", cert], check=True, capture_output=True,
                       timeout=DEADLINE)
    return Client("--tls-cert", cert, "--tls-key", key)


def test_scanners():
    """Both at once: they mostly wait."""
    with server("RSA") as rsa, server("EC") as ec:
        slow = testssl(rsa)
        for kind, client in (("RSA", rsa), ("EC", ec)):
            sslscan(kind, client)
        if slow:
            findings(slow)
        for kind, client in (("RSA", rsa), ("EC", ec)):
            with socket_to(client, kind) as s:
                s.sendall(request("GET", "/alive"))
                ok(s.recv(4096).startswith(b"HTTP/1.1 200"), f"{kind}: the server is well")


def socket_to(client, kind):
    context = ssl.create_default_context(cafile=path(kind + ".crt"))
    return context.wrap_socket(client.conn().sock, server_hostname="localhost")


def sslscan(kind, client):
    if not shutil.which("sslscan"):
        return skip(f"{kind}: sslscan", "it is not installed (Debian package sslscan)")
    said = subprocess.run(["sslscan", "--no-colour", "--timeout=1", "--show-sigs",
                           "--sni-name=localhost", f"127.0.0.1:{client.port}"],
                          capture_output=True, text=True, timeout=SCAN).stdout
    lines = [line.split() for line in said.splitlines()]
    versions = {w[0]: w[1] for w in lines if len(w) == 2 and w[1] in ("enabled", "disabled")}
    eq(versions, {"SSLv2": "disabled", "SSLv3": "disabled", "TLSv1.0": "disabled",
                  "TLSv1.1": "disabled", "TLSv1.2": "enabled", "TLSv1.3": "disabled"},
       f"{kind}: sslscan: versions")
    name = "ECDSA" if kind == "EC" else "RSA"
    eq([(w[0], w[4]) for w in lines if w and w[0] in ("Preferred", "Accepted")],
       [("Accepted" if i else "Preferred", f"ECDHE-{name}-{s}") for i, s in enumerate(SUITES)],
       "and suites, the fastest first")
    for words in ("Server supports TLS Fallback SCSV", "Session renegotiation not supported",
                  "TLSv1.2 not vulnerable to heartbleed"):
        ok(words in said, words, said)
    hashes = [w[1] for w in lines if len(w) == 2 and w[0] == "TLSv1.2" and "_" in w[1]]
    ok(len(hashes) == 3 and all(h.startswith(name.lower() + "_") or "_secp" in h for h in hashes)
       and not any("sha1" in h or "md5" in h for h in hashes), f"signed with {hashes}", said)
    return None


def testssl(client):
    if not shutil.which("testssl"):
        return skip("testssl", "it is not installed (Debian package testssl.sh)")
    return subprocess.Popen(
        ["testssl", "--color", "0", "--warnings", "off", "--nodns", "none", "--quiet",
         "--jsonfile", path("found.json"), "-p", "-f", "-U", "--ip", "127.0.0.1",
         f"localhost:{client.port}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL)


def findings(process):
    said = process.communicate(timeout=SCAN)[0].decode(errors="replace")
    with open(path("found.json")) as f:
        found = {one["id"]: one for one in json.load(f)}
    for name, words in WANTED.items():
        got = found.get(name, {}).get("finding", "nothing")
        ok(got.startswith(words), f"testssl: {name}: {got}", said[-3000:])
    suites = found.get("PFS_ciphers", {}).get("finding", "").split()
    eq(sorted(suites), sorted("ECDHE-RSA-" + s for s in SUITES), "testssl: the suites")
    bad = [f"{k}: {v['finding']}" for k, v in found.items()
           if v["severity"] in ("MEDIUM", "HIGH", "CRITICAL")]
    eq(bad, [], "testssl: nothing else is found")


def test_curl():
    if not shutil.which("curl"):
        return skip("curl", "it is not installed (Debian package curl)")
    for kind in KINDS:
        with server(kind) as client:
            got = subprocess.run(
                ["curl", "-sS", "--fail", "--cacert", path(kind + ".crt"), "-w", "\n%{ssl_verify_result}",
                 "-H", "Content-Type: application/json", "--data-binary", "@-",
                 f"https://localhost:{client.port}/execute_action"],
                input=action("run", command="echo over TLS"), capture_output=True, timeout=DEADLINE)
            ok(b"over TLS" in got.stdout and got.stdout.endswith(b"\n0"), f"{kind}: curl",
               got.stdout.decode() + got.stderr.decode())
            got = subprocess.run(["curl", "-sS", f"https://localhost:{client.port}/alive"],
                                 capture_output=True, timeout=DEADLINE)
            eq(got.returncode, 60, "which believes nobody without being told to")
    return None


def test_python():
    for kind in KINDS:
        with server(kind) as client:
            context = ssl.create_default_context(cafile=path(kind + ".crt"))
            with urllib.request.urlopen(f"https://localhost:{client.port}/alive", context=context,
                                        timeout=DEADLINE) as got:
                eq(got.status, 200, f"{kind}: Python's urllib")


UNDICI = """
import { Agent, request } from 'undici';
import { readFileSync } from 'node:fs';
const [url, ca] = process.argv.slice(2);
const dispatcher = new Agent({ connect: { ca: readFileSync(ca) }, pipelining: 4 });
const ask = async i => {
  const { statusCode, body } = await request(url + '/execute_action', {
    method: 'POST', dispatcher, headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ action: { action: 'run', args: { command: `echo number ${i}` } } }) });
  return [statusCode, (await body.json()).content];
};
console.log(JSON.stringify(await Promise.all([1, 2, 3].map(ask))));
await request(url + '/alive').then(() => console.log('believed'), e => console.log(e.code));
process.exit(0);
"""


def test_undici():
    folder = npm.install("undici of npm", "ws@8.18.0", "undici@6.21.0")
    if not folder:
        return
    script = os.path.join(folder, f"tls-{os.getpid()}.mjs")
    with open(script, "w") as f:
        f.write(UNDICI)
    try:
        with server("EC") as client:
            got = subprocess.run(["node", script, f"https://localhost:{client.port}", path("EC.crt")],
                                 capture_output=True, text=True, timeout=DEADLINE)
    finally:
        os.unlink(script)
    ok(all(f'[200,"number {i}"]' in got.stdout for i in (1, 2, 3)), "undici: three requests",
       got.stdout + got.stderr)
    ok("DEPTH_ZERO_SELF_SIGNED_CERT" in got.stdout, "and no trust without a reason", got.stdout)


if __name__ == "__main__":
    if shutil.which("openssl"):
        main()
    skip("scanners of TLS", "openssl is not installed (Debian package openssl)")
    print("1..1")
