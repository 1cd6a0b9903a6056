#!/usr/bin/env python3
"""Pages in the sandbox's own browser that try to ask its server, by foreign names that lead to it, too."""
import json
import os
import socket

from harness import Client, action, eq, has, main, ok, request, until
import browsers
from browsers import Site, do, needs_browser, start

# All names lead here, as in an attack by DNS.
OWN = socket.gethostname().split(".")[0]
FLAGS = "--host-resolver-rules=MAP * 127.0.0.1"
# What one page tries; each way tells what it has seen.
ATTACK = """<!doctype html><title>Evil</title><body><iframe name=sink></iframe><pre id=out>wait</pre><script>
const at = '%s', body = JSON.stringify({action: {action: 'run', args: {command: 'touch %s'}}});
const seen = {}, ways = {
  get: () => fetch(at + '/server_info').then(r => r.text()),
  list: () => fetch(at + '/v1/files?path=/etc/hostname').then(r => r.text()),
  opaque: () => fetch(at + '/alive', {mode: 'no-cors'}).then(r => r.type + r.status),
  json: () => fetch(at + '/execute_action', {method: 'POST', body,
    headers: {'content-type': 'application/json'}}).then(r => r.text()),
  plain: () => fetch(at + '/execute_action', {method: 'POST', body, mode: 'no-cors'}).then(r => r.type + r.status),
  put: () => fetch(at + '/v1/files?path=%s', {method: 'PUT', body: 'x'}).then(r => r.text()),
  upload: () => { let f = new FormData(); f.append('file', new Blob(['x']), '%s');
    return fetch(at + '/upload_file?destination=%s', {method: 'POST', body: f, mode: 'no-cors'})
      .then(r => r.type + r.status) },
  beacon: () => Promise.resolve(String(navigator.sendBeacon(at + '/execute_action', body))),
  form: () => new Promise(done => { let f = document.createElement('form'); f.action = at + '/execute_action';
    f.method = 'POST'; f.enctype = 'text/plain'; f.target = 'sink'; let i = document.createElement('input');
    i.name = body.slice(0, -1) + ',"x":"'; i.value = '"}'; f.append(i); document.body.append(f); f.submit();
    sinkFrame.onload = () => done('sent') }),
  image: () => new Promise(done => { let i = new Image(); i.onload = () => done('seen');
    i.onerror = () => done('error'); i.src = at + '/v1/browser/screen' }),
  socket: () => new Promise(done => { let s = new WebSocket(at.replace('http', 'ws') + '/v1/shell');
    s.onopen = () => done('open'); s.onerror = () => done('error') }),
};
const sinkFrame = document.querySelector('iframe');
(async () => { for (let n in ways) try { seen[n] = await Promise.race([ways[n](),
  new Promise(done => setTimeout(done, 5000, 'late'))]) } catch (e) { seen[n] = 'refused' }
  document.title = 'over'; out.textContent = JSON.stringify(seen) })();
</script>"""


class Pages(browsers.Pages):
    text = ""

    def page(self):
        return self.text


def attack(client, page_url, at):
    """What the page has seen, and whether anything was done."""
    mark = os.path.join(client.work, "marked")
    Pages.text = ATTACK % (at, mark, mark, "marked", client.work)
    client.act("browse", timeout=60, url=page_url)

    def look():
        text = do(client, "noop(100)")["content"]
        return json.loads(got_text) if "over" in text and (got_text := seen_in(client)) else None

    def seen_in(client):
        got = do(client, "noop(1)", return_axtree=True)
        names = [n.get("name", {}).get("value", "") for n in got["extras"]["axtree_object"]["nodes"]]
        return next((n for n in names if isinstance(n, str) and n.startswith('{"get"')), None)

    return until(look, 60), os.path.exists(mark)


def check(seen, done, who):
    ok(seen, f"{who}: the page has tried")
    if not seen:
        return
    eq(done, False, f"{who}: nothing is done")
    for way in ("get", "list", "json", "put"):
        ok(seen[way] == "refused" or "Without a session key, " in seen[way] or
           "Invalid API Key" in seen[way], f"{who}: {way}", seen[way])
    eq((seen["image"], seen["socket"]), ("error", "error"), f"{who}: image and WebSocket")


@needs_browser
def test_pages():
    port = Site(Pages).port
    with start(env={"OD_BROWSER_FLAGS": FLAGS}) as client:
        for page in (f"http://evil.test:{port}/", f"http://localhost:{port}/"):
            for at in (f"http://127.0.0.1:{client.port}", f"http://localhost:{client.port}",
                       f"http://evil.test:{client.port}"):
                check(*attack(client, page, at), f"{page[:17]} asks {at[:17]}")
        got = client.act("browse", timeout=60, url=f"http://evil.test:{client.port}/server_info")
        has(got["content"], "Without a session key, Host must be", "a foreign name that leads here shows nothing")
        path = os.path.join(client.work, "page.html")
        with open(path, "w") as f:
            f.write(Pages.text.replace("evil.test", "127.0.0.1"))
        client.act("browse", timeout=60, url=f"file://{path}")
        done = until(lambda: "over" in do(client, "noop(100)")["content"], 60)
        eq((bool(done), os.path.exists(os.path.join(client.work, "marked"))), (True, False),
           "a page without an origin does nothing")
        eq(client.run("echo hi")["content"], "hi", "the sandbox does what it is asked for")
    with Client(env={"SESSION_API_KEY": "secret"}) as client:
        eq(client.get("/v1/sessions", Host="sandbox.example.com:80").status, 403, "with a key that is what counts")
        eq(client.get("/v1/sessions", Host="sandbox.example.com:80", X_Session_API_Key="secret",
                      Origin="https://ui.example.com").status, 200, "...and a gateway may have names of its own")


def test_fields():
    body = action("run", command="echo hi")
    with Client() as client:
        port = client.port
        for host, origin, status in (
                ("localhost", None, 200), (f"127.0.0.1:{port}", None, 200), (f"[::1]:{port}", None, 200),
                (OWN, None, 200), (f"{OWN}:80", None, 200), ("10.0.0.7:8000", None, 200),
                ("sandbox", None, 421), ("x.internal", None, 421), ("evil.test.1", None, 421),
                ("host.docker.internal:8000", None, 421), ("box.default.svc.cluster.local", None, 421),
                ("evil.test", None, 421), (f"evil.test:{port}", None, 421), ("localhost.evil.test", None, 421),
                ("127.0.0.1.evil.test", None, 421), ("local", None, 421), ("evillocal.test", None, 421),
                (f"localhost:{port}", f"http://localhost:{port}", 200),
                (f"localhost:{port}", f"http://localhost:{port + 1}", 403), (f"localhost:{port}", "null", 403),
                (f"localhost:{port}", "http://evil.test", 403), (f"localhost:{port}", "", 403),
                (f"evil.test:{port}", f"http://evil.test:{port}", 421)):
            got = client.post("/execute_action", body, Host=host, Origin=origin)
            eq(got.status, status, f"Host {host}, Origin {origin}")
            ok(not [n for n, _ in got.fields if n.lower().startswith(("access-control", "set-cookie"))],
               "...without a word to browsers")
        eq(client.ask(request("OPTIONS", "/execute_action", Origin="http://evil.test")).status, 403,
           "a browser that asks whether it may ask is told so")


main()
