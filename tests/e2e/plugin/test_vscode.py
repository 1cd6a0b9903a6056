#!/usr/bin/env python3
"""The plugin vscode, with a stand-in for the editor's server."""
import json
import os
import re
import shutil
import signal
import socket
import sys
import tempfile

from harness import SLOW, Client, Conn, alive, eq, free_port, has, listening, main, ok, request, skip, until

TOKEN = "/vscode/connection_token"
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
INSTALLED = [p for p in ("openvscode-server", "code-server") if shutil.which(p)] or [
    p for p in ("/openhands/.openvscode-server", "/home/.openvscode-server", "/opt/openvscode-server",
                "/usr/lib/code-server", "/.od/plugins/vscode") if os.path.exists(p)]
LIMIT = 60 * SLOW

# Writes down how it was started, and listens where it was told to; or does not.
STAND_IN = r"""#!%s
import json, os, re, socket, sys
with open(os.environ["NOTES"], "a") as f:
    f.write(json.dumps([sys.argv[1:], dict(os.environ), os.getpid(), os.getcwd()]) + "\n")
if os.environ.get("CRASH"):
    sys.exit("listen EADDRINUSE: it cannot be\n\n")
words = " ".join(sys.argv)
host, port = re.search(r"--host (\S+) .*--port (\d+)|--bind-addr (\S+):(\d+)", words).group(*(
    (1, 2) if "--host" in words else (3, 4)))
s = socket.create_server((host, int(port)))
print("Web UI available at http://%%s:%%s" %% (host, port), flush=True)
while True:
    s.accept()[0].close()
""" % sys.executable


class Stand:
    """A folder on the PATH with a stand-in of that name."""

    def __init__(self, name="openvscode-server"):
        self.top = tempfile.mkdtemp(prefix="od-vscode-")
        self.port = free_port()
        self.program = os.path.join(self.top, name)
        self.notes = os.path.join(self.top, "notes")
        with open(self.program, "w", encoding="utf-8") as f:
            f.write(STAND_IN)
        os.chmod(self.program, 0o755)
        os.chmod(self.top, 0o755)

    def client(self, *options, **env):
        return Client("--plugins", "vscode", *options, env={
            "PATH": f"{self.top}:{os.environ['PATH']}", "NOTES": self.notes, "VSCODE_PORT": str(self.port), **env})

    def started(self):
        with open(self.notes, encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top)


def info(client):
    return client.get("/server_info").json()["plugins"]["vscode"]


def token(client):
    return client.get(TOKEN).json()


def unavailable(why, what, **env):
    env = {k: v for k, v in {"VSCODE_PORT": None, **env}.items()}
    with Client("--plugins", "vscode", env=env) as client:
        eq(info(client), {"state": "unavailable", "why": why}, what)
        eq(token(client), {"token": None}, "...no token")
        eq(client.run("echo lives")["content"], "lives", "...and the sandbox lives")


def test_unavailable():
    """What is missing is said."""
    if INSTALLED:
        skip("no server", "there is one here")
    else:
        unavailable("neither openvscode-server nor code-server was found", "no server",
                    VSCODE_PORT=str(free_port()))
    unavailable("VSCODE_PORT is not set", "no port")
    for bad in ("0", "65536", "x"):
        unavailable("VSCODE_PORT is not a port number", f"the port {bad}", VSCODE_PORT=bad)
    with Client() as client:
        eq(token(client), {"token": None}, "not asked for")


def test_server():
    """The contract's words, a token, a restart, the end."""
    if INSTALLED:
        skip("a stand-in", "a server is installed here")
        return
    with Stand() as stand:
        with stand.client(SESSION_API_KEY="") as client:
            got = token(client)
            ok(re.fullmatch(UUID, got["token"]), "the token is a UUID of version 4", got)
            argv, env, pid, cwd = stand.started()[0]
            eq(argv, ["--host", "127.0.0.1", "--connection-token", got["token"], "--port", str(stand.port),
                      "--disable-workspace-trust"], "how it is started")
            eq((env["HOME"], cwd), (client.home, client.work), "the user's home and the working directory")
            eq(info(client), {"state": "ready", "program": stand.program, "port": stand.port, "pid": pid},
               "it listens before the sandbox is ready")
            os.kill(pid, signal.SIGKILL)
            ok(until(lambda: len(stand.started()) == 2 and info(client)["state"] == "ready", LIMIT),
               "one that was killed is started again", client.log())
            eq(token(client), got, "...with the same token")
            pid = stand.started()[1][2]
            eq(info(client)["pid"], pid, "...as another process")
            has(client.log(), "plugin vscode is unavailable: it has ended (signal 9)", "...and the log says why")
            client.stop()
            ok(until(lambda: not alive(pid), LIMIT), "it ends with the sandbox")
        with stand.client(SESSION_API_KEY="secret") as client:
            eq(client.get(TOKEN).status, 403, "the token is for those who have the key")
            ok("secret" not in json.dumps(stand.started()[-1]), "and the server does not get it")


def test_real():
    """A code-server as npm has it; its folder is that of OD_CODE_SERVER."""
    entry = os.path.join(os.environ.get("OD_CODE_SERVER", ""), "out/node/entry.js")
    if INSTALLED or not os.path.isabs(entry):
        skip("a real server", "OD_CODE_SERVER names none")
        return
    with Stand("code-server") as stand:
        with open(stand.program, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\nexec node {entry} "$@"\n')
        with stand.client(INIT_PLUGIN_TIMEOUT=str(LIMIT)) as client:
            eq(info(client)["state"], "ready", "it is ready")

            def visit(method, path, body="", **fields):
                with Conn(stand.port) as conn:
                    return conn.send(request(method, path, body.encode(), **fields)).response(LIMIT)

            def login(word):
                return visit("POST", "/login", "password=" + word, Content_Type="application/x-www-form-urlencoded")
            eq(visit("GET", "/healthz").status, 200, "it answers")
            eq((visit("GET", "/").status, login("wrong").status), (302, 200), "it is closed, but for the password")
            answer = login(token(client)["token"])
            eq(answer.status, 302, "which is the token")
            cookie = answer.field("set-cookie").split(";")[0]
            where = f"/?folder={client.work}"
            has(visit("GET", "/", Cookie=cookie).field("location"), where, "it opens the working directory")
            page = visit("GET", where, Cookie=cookie)
            ok(page.status == 200 and b"vscode-workbench-web-configuration" in page.body, "...in the editor", page)
            pid = info(client)["pid"]
            os.kill(pid, signal.SIGKILL)
            ok(until(lambda: info(client)["state"] == "ready" and info(client)["pid"] != pid, LIMIT),
               "one that was killed is started again")
            client.stop()
            ok(until(lambda: not listening(stand.port), LIMIT), "it ends with the sandbox, all of it")


def test_base():
    """The path before its paths."""
    if INSTALLED:
        skip("base paths", "a server is installed here")
        return
    for env, want in (({"OPENVSCODE_SERVER_BASE_PATH": "/a/b/"}, ["--server-base-path", "/a/b"]),
                      ({"OPENVSCODE_SERVER_BASE_PATH": "a"}, ["--server-base-path", "/a"]),
                      ({"RUNTIME_ID": "r1", "RUNTIME_URL": "https://x.example/r1"}, ["--server-base-path", "/r1/vscode"]),
                      ({"RUNTIME_ID": "r1", "RUNTIME_URL": "https://r1.example/"}, [])):
        with Stand() as stand:
            with stand.client(**env):
                eq(stand.started()[0][0][7:], want, f"{env}")


def test_coder():
    """code-server has other words for it."""
    if INSTALLED:
        skip("code-server", "a server is installed here")
        return
    with Stand("code-server") as stand, stand.client(PASSWORD="other", HASHED_PASSWORD="x") as client:
        argv, env, _, _ = stand.started()[0]
        eq(argv, ["--bind-addr", f"127.0.0.1:{stand.port}", "--auth", "password", "--disable-workspace-trust",
                  "--disable-telemetry", "--disable-update-check", client.work], "how it is started")
        eq((env["PASSWORD"], env.get("HASHED_PASSWORD")), (token(client)["token"], None), "the token is its password")
        eq(info(client)["state"], "ready", "it is ready")


def test_trouble():
    """One that does not start, and a port that is taken."""
    if INSTALLED:
        skip("trouble", "a server is installed here")
        return
    with Stand() as stand:
        with stand.client(CRASH="1") as client:
            got = until(lambda: "is not started again" in info(client)["why"] and info(client), LIMIT)
            eq(got, {"state": "unavailable", "why": "it ended after several starts and is not started again: it has ended (exit status 1): "
                     "listen EADDRINUSE: it cannot be"}, "its last words")
            eq((len(stand.started()), token(client)), (5, {"token": None}), "...after five starts; no token")
        with socket.create_server(("127.0.0.1", stand.port)), stand.client() as client:
            has(info(client)["why"], f"port {stand.port}: ", "the port is taken")
            eq(len(stand.started()), 5, "...and nothing is started")


if __name__ == "__main__":
    main()
