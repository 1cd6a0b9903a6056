#!/usr/bin/env python3
"""From the command line to the first request, and the small roles."""
import os
import shutil
import socket
import subprocess

from harness import (CLIENT, DEADLINE, ME, PLUGINS, WRAP, Client, DropIn, children, eq, free_port, has, listening,
                     main, ok, proc, run_client, scratch, skip, until)

LAUNCHER = ("run", "-n", "openhands", "poetry", "run", "python", "-u", "-m",
            "openhands.runtime.action_execution_server")
OLD_LAUNCHER = ("run", "--no-capture-output", "-n", "base", "PYTHONUNBUFFERED=1", "poetry", "run",
                "python", "-u", "-m", "openhands.runtime.client.client")


def test_roles():
    code, out, err = run_client("--version")
    ok(code == 0 and out.startswith("od-runtime-client ") and not err, "--version", out, err)
    code, out, err = run_client("--licences")
    ok(code == 0 and not err, "--licences", err)
    for part in ("musl", "BearSSL", "jsmn", "zlib", "MIT"):
        has(out, part, f"--licences names {part}")
    code, out, err = run_client("--help")
    ok(code == 0 and "usage:" in out, "--help", out, err)


def test_wrong_arguments():
    for argv, parts in (
            ((), ["no port"]),
            (("serve",), ["no port"]),
            (("serve", "0"), ["port"]), (("serve", "65536"), ["port"]),
            (("serve", "8000", "--frobnicate"), ["--frobnicate"]),
            (("serve", "8000", "--address", "1.2.3"), ["--address 1.2.3", "numeric"]),
            (("serve", "8000", "--working-dir", "relative"), ["--working-dir", "absolute"]),
            (("serve", "8000", "--working-dir"), ["--working-dir", "needs a value"]),
            (("serve", "8000", "--key-sha256", "abc"), ["--key-sha256"]),
            (("serve", "8000", "--user-id", "-1"), ["--user-id"]),
            (("serve", "8000", "--tls-cert", "/x"), ["--tls-cert", "--tls-key"]),
            (("serve", "8000", "9000"), ["9000"]),
            (("copy-self",), ["copy-self"]),
            # all that is wrong at once
            (("serve", "--frobnicate", "--user-id", "x", "--username", "a:b"),
             ["--frobnicate", "--user-id", "--username", "no port"])):
        code, out, err = run_client(*argv)
        missing = [p for p in parts if p not in err]
        ok(code == 100 and not out and not missing, f"100 for {' '.join(argv) or 'nothing'}",
           f"status {code}", err)
    code, out, err = run_client("serve", "8000", env={"NO_CHANGE_TIMEOUT_SECONDS": "soon"})
    ok(code == 100 and "NO_CHANGE_TIMEOUT_SECONDS" in err, "100 for a bad environment", err)


def test_port_taken():
    for role in ("serve", "init"):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            port = s.getsockname()[1]
            code, out, err = run_client(role, str(port), "--address", "127.0.0.1",
                                        "--username", ME, env={"SU_TO_USER": "0"})
            eq(code, 111, f"{role}: 111 when the port is taken")
            has(err, str(port), f"{role}: and the port is named")
            eq(out, "", f"{role}: and it does not call itself ready")
    code, out, err = run_client("serve", str(free_port()), "--address", "203.0.113.1", "--no-key",
                                "--username", ME, env={"SU_TO_USER": "0"})
    ok(code == 111 and "203.0.113.1" in err, "111 for an address that is not ours", err)


def test_open_server():
    """Without a key an address that others reach needs --no-key, but for the drop-in."""
    key = {"SESSION_API_KEY": "k"}
    for argv, env in ((("serve", "8000"), {}), (("init", "8000"), {}), (("8000",), {}),
                      (("serve", "8000", "--address", "::"), {}),
                      (("serve", "8000", "--address", "10.0.0.7"), {"SESSION_API_KEY": ""})):
        code, out, err = run_client(*argv, env=env)
        ok(code == 100 and not out and all(part in err for part in (
            "no session key", "--no-key", "SESSION_API_KEY", "--key-sha256")),
           f"{' '.join(argv)}: a start without a key is refused", f"status {code}", err)
    code, out, err = run_client("serve", "8000", "--no-key", env=key)
    ok(code == 100 and "--no-key" in err, "--no-key beside a key is refused", err)
    port = free_port()
    warning = f"no session key: every program that can connect to 0.0.0.0 port {port} can run commands here"
    with Client(argv=[CLIENT, "init", str(port), "--no-key", "--username", ME], user=False) as client:
        eq(client.log().count(warning), 1, "--no-key: the log has one warning")
        client.port = port
        eq(client.run("echo hi")["content"], "hi", "and the server works")
        os.kill(client.serve_pid(), 9)
        client.shared = None
        ok(until(lambda: listening(port)), "it restarts after a crash")
        eq(client.log().count(warning), 1, "a restart does not repeat the warning")
    with Client() as client:
        ok("session key" not in client.log(), "the loopback needs neither key nor warning")
    with Client(env=key) as client:
        ok("session key" not in client.log(), "a key needs no warning")


def test_ready():
    """The port is closed until a shell is there, however long its start-up file takes."""
    with Client(role="init") as client:
        eq(client.stdout, b"Runtime client initialized.\n", "one line on standard output")
        eq(client.get("/alive").status, 200, "and the port is open then")
        eq(run_client("health", str(client.port))[0], 0, "health says so")
    eq(run_client("health", str(free_port()))[0], 1, "health fails where nobody listens")
    fifo_home = scratch("od-e2e-home-")
    fifo = os.path.join(fifo_home, "wait")
    os.mkfifo(fifo)
    with open(os.path.join(fifo_home, ".bashrc"), "w") as f:
        f.write(f"read x <{fifo}; SEEN=$x\n")
    client = Client(env={"HOME": fifo_home}, ready=False)
    with client:
        # opens only when the shell has opened the other end
        fd = os.open(fifo, os.O_WRONLY)
        ok(not listening(client.port), "the port is closed while the shell starts")
        os.write(fd, b"yes\n")
        os.close(fd)
        ok(client.wait_ready(), "it opens when the shell is ready")
        eq(client.run("echo $SEEN")["content"], "yes", "which has read its start-up file")
    os.unlink(fifo)
    os.unlink(os.path.join(fifo_home, ".bashrc"))
    os.rmdir(fifo_home)


def test_broken_start_up_files():
    for text, name in (("exit 3", "exits"), ("export A=bar$x \"q\nB='", "is cut off in a quote"),
                       ("set -e; false", "fails under set -e"), ("PROMPT_COMMAND='echo X'; PS1='$ '",
                        "sets prompts"), ("echo noise; echo noise >&2", "is noisy"),
                       ("exec true", "replaces the shell"), ("syntax error (", "is no bash")):
        home = scratch("od-e2e-home-")
        rc = os.path.join(home, ".bashrc")
        with open(rc, "w") as f:
            f.write(text + "\n")
        with Client(env={"HOME": home}) as client:
            got = client.run("echo hi")
            eq((got["content"], got["extras"]["metadata"]["exit_code"]), ("hi", 0),
               f"a shell whose .bashrc {name}")
        os.unlink(rc)
        os.rmdir(home)


def start_as(name, launcher, options, env=None):
    """A client started by a link of another name, as a backend would start it."""
    top = scratch("od-e2e-link-")
    link = os.path.join(top, name)
    os.symlink(CLIENT, link)
    port = free_port()
    argv = [link, *launcher, str(port), *options]
    client = Client(argv=argv, user=False, env=env)
    client.port = port
    return client, link


def test_drop_in():
    if WRAP:
        skip("started as micromamba", "under a wrapper argv[0] is not ours")
        return
    tail = ["--plugins", "agent_skills", "jupyter", "vscode", "--username", ME, "--user-id", "0",
            "--no-enable-browser"]
    for pod, name, launcher, options, what in (
            (True, "micromamba", LAUNCHER, ["--working-dir", "/tmp", *tail], "the backend's command line"),
            (False, "mamba", OLD_LAUNCHER, ["--working-dir", "/tmp", *tail], "that of an old backend"),
            (True, "micromamba", LAUNCHER, ["--working-dir", "/tmp", "--future", "value", "--flag",
                                      "--username", ME], "with options of the future"),
            (False, "micromamba", LAUNCHER, ["--working-dir=/tmp", "--browsergym-eval-env", "a", "b",
                                      "--git-user-name", "N", "--git-user-email", "e@x",
                                      f"--username={ME}"], "with all sorts of options")):
        client, link = start_as(name, launcher, options,
                                {"KUBERNETES_SERVICE_HOST": "10.0.0.1" if pod else None})
        with client:
            eq(client.run("pwd")["content"], "/tmp", f"started as {name}: {what}")
            eq(client.log().count("no session key"), 1, "without a key the log has one warning")
            for host, status in (("host.docker.internal:1", 200), ("a-svc.ns.svc.cluster.local:1", 200 if pod else 421),
                                 ("172.17.0.2:1", 200), ("other", 421), ("evil.test", 421)):
                eq(client.get("/v1/status", Host=host).status, status, f"the drop-in is called {host}")
            ok(children(client.pid), "it supervises a server")
            eq(proc(client.pid, "cmdline").split(b"\0")[0].decode(), link, "its name stays")
        os.unlink(link)
        os.rmdir(os.path.dirname(link))


def test_git_identity():
    """The drop-in gives a user without an identity one for commits; options do so as well."""
    if not shutil.which("git"):
        skip("the identity for git", "git is not installed")
        return
    if WRAP:
        skip("the identity for git", "under a wrapper argv[0] is not that of the client")
        return
    show = "git config --get user.name; git config --get user.email"
    own = {"GIT_CONFIG_NOSYSTEM": "1"}
    commit = "git init -q r && cd r && git commit -q --allow-empty -m x"
    default = ["openhands", "openhands@all-hands.dev"]
    with DropIn("--no-enable-browser", user=ME, env=own) as client:
        eq(client.run(show)["content"].split(), default, "the drop-in: the defaults")
        eq(client.run(commit)["extras"]["metadata"]["exit_code"], 0, "git commit works")
        ok(os.path.exists(client.home + "/.gitconfig"), "they are in the user's home", os.listdir(client.home))
    with DropIn("--no-enable-browser", "--git-user-name", "N M", "--git-user-email=e@x", user=ME, env=own) as client:
        eq(client.run(show)["content"].split("\n"), ["N M", "e@x"], "the options of 0.52")
    home = scratch()
    with open(home + "/.gitconfig", "w") as f:
        f.write("[user]\n\tname = Me\n")
    with DropIn("--no-enable-browser", user=ME, env={**own, "HOME": home}) as client:
        eq(client.run(show)["content"].split(), ["Me", default[1]], "what the user has stays")
    with Client(env=own) as client:
        eq(client.run(show)["content"], "", "no other server sets one")
        ok(not os.path.exists(client.home + "/.gitconfig"), "or writes to the home")
    with Client("--git-user-name", "N", env=own) as client:
        eq(client.run(show)["content"], "N", "unless it is told to")
    with DropIn("--no-enable-browser", user=ME, env={**own, "PATH": "/nowhere"}) as client:
        ok("git" not in client.log(), "nothing is missed where git is not installed", client.log())


def test_working_dir():
    top = scratch()
    with Client(argv=None) as client:
        eq(client.run("pwd")["content"], client.work, "the shell starts there")
    deep = os.path.join(top, "not yet", "there 'x")
    port = free_port()
    client = Client(argv=[CLIENT, "serve", str(port), "--address", "127.0.0.1",
                          "--working-dir", deep, "--username", ME], user=False)
    client.port = port
    with client:
        eq(client.run("pwd")["content"], deep, "it is made when missing")
    os.rmdir(deep)
    os.rmdir(os.path.dirname(deep))
    os.rmdir(top)


def test_copy_self():
    top = scratch()
    dest = os.path.join(top, "copy")
    code, out, err = run_client("copy-self", dest)
    ok(code == 0 and not out + err, "copy-self", out, err)
    ok(os.access(dest, os.X_OK), "the copy can be executed")
    if not WRAP:
        got = subprocess.run([dest, "--version"], capture_output=True, timeout=DEADLINE)
        ok(got.stdout.startswith(b"od-runtime-client "), "and is the client")
        with open(CLIENT, "rb") as a, open(dest, "rb") as b:
            ok(a.read() == b.read(), "byte by byte")
        code, out, err = run_client("copy-self", dest)
        eq(code, 0, "an old copy is replaced")
    code, out, err = run_client("copy-self", "/nonexistent/x")
    ok(code == 111 and "/nonexistent/x: No such file" in err, "111 where it cannot be written", err)
    code, out, err = run_client("copy-self", top)
    inside = os.path.join(top, "od-runtime-client")
    ok(code == 0 and os.stat(inside).st_mode & 0o7777 == 0o555, "a folder gets a file", err)
    beside = os.path.join(top, "od-plugins")
    ok(os.stat(beside).st_mode & 0o7777 == 0o555, "a folder gets od-plugins as well")
    if not WRAP:
        with open(PLUGINS, "rb") as a, open(beside, "rb") as b:
            ok(a.read() == b.read(), "od-plugins is copied byte by byte")
    os.unlink(beside)
    if not WRAP:
        got = subprocess.run([inside, "copy-self", top], capture_output=True, timeout=DEADLINE)
        eq((got.returncode, sorted(os.listdir(top))), (0, ["copy", "od-runtime-client"]),
           "a client without od-plugins copies itself alone")
    os.unlink(inside)
    os.unlink(dest)
    code, out, err = run_client("copy-self", "/proc/self")
    eq(code, 111, "a folder that takes none")
    for noexec in ("/dev/shm", "/run"):
        if os.statvfs(noexec).f_flag & os.ST_NOEXEC and os.access(noexec, os.W_OK):
            code, out, err = run_client("copy-self", noexec)
            ok(code == 111 and "noexec" in err, "or where nothing can be executed", err)
            eq([n for n in os.listdir(noexec) if "od-runtime" in n], [], "leaves nothing")
            break
    eq(os.listdir(top), [], "no other file is left")
    os.rmdir(top)


def test_closed_output():
    """Nobody reads standard output: it must neither stop nor kill the client."""
    client = Client(ready=False)
    with client:
        client.process.stdout.close()
        client.process.stdout = open(os.devnull, "rb")
        ok(until(lambda: listening(client.port)), "it starts without a reader of its output")
        eq(client.run("echo hi")["content"], "hi", "and works")


def test_shells():
    with Client("--shell", "/nonexistent/shell") as client:
        eq(client.run("echo hi")["content"], "hi", "without the wished shell there is another")
        has(client.log(), "/nonexistent/shell", "and the log says so")
    for path in ("/bin/sh", "/bin/dash"):
        if not os.path.exists(path):
            skip(f"the shell {path}", "it is not installed")
            continue
        with Client("--shell", path) as client:
            got = client.run("cd /etc; X=1; echo hi; false")
            eq((got["content"], got["extras"]["metadata"]["exit_code"],
                got["extras"]["metadata"]["working_dir"]), ("hi", 1, "/etc"),
               f"{path}: a command")
            eq(client.run("echo $X; pwd")["content"], "1\n/etc", f"{path}: state is kept")


if __name__ == "__main__":
    main()
