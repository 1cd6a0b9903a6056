#!/usr/bin/env python3
"""od-plugins, the program beside the client: what it answers, and a client without it."""
import os
import shutil
import subprocess
import sys

from harness import CLIENT, DEADLINE, PLUGINS, SLOW, WRAP, Client, eq, has, main, ok, scratch, skip, until


def run_plugins(*argv, name=PLUGINS):
    done = subprocess.run([*WRAP, name, *argv], capture_output=True, timeout=DEADLINE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_command_line():
    code, out, err = run_plugins("--version")
    ok(code == 0 and out.startswith("od-plugins ") and not err, "--version", out, err)
    code, out, err = run_plugins("--licences")
    ok(code == 0 and out.startswith("od-plugins is under the MIT licence."), "--licences", out)
    code, out, err = run_plugins("--help")
    ok(code == 0 and "  open_file\n" in out and "  parse_pptx\n" in out, "--help lists the skills", out)
    place = scratch()
    path = os.path.join(place, "f")
    with open(path, "w", encoding="utf-8") as f:
        f.write("a line\n")
    code, out, err = run_plugins("open_file", path)
    ok(code == 0 and "1|a line" in out, "a skill by its name as the first word", out, err)
    code, out, err = run_plugins("search_file", "line", path)
    has(out, "Line 1: a line", "a skill with two arguments")
    for words in ((), ("serve", "8000"), ("open", path)):
        code, out, err = run_plugins(*words)
        ok(code == 100 and not out and "neither" in err, f"{words} is refused", out, err)
    done = subprocess.run([*WRAP, CLIENT, "browser"], capture_output=True, timeout=DEADLINE)
    eq(done.returncode, 100, "the client has no role called browser")


def alone(*options, **more):
    """A client in a folder in which nothing else is."""
    place = scratch("od-alone-")
    program = os.path.join(place, "od-runtime-client")
    shutil.copy(CLIENT, program)
    return place, Client(*options, prefix=["sh", "-c", 'shift; exec "$0" "$@"', program], **more)


def check_browser(client, words, name):
    got = client.act("browse", timeout=60, url="data:text/html,x")
    eq(got["observation"], "error", f"{name}: browse is answered with an error")
    has(got["content"], words, f"{name}: the error of browse")
    got = client.act("browse_interactive", timeout=60, browser_actions="noop(1)")
    has(got["content"], words, f"{name}: the error of browse_interactive")


def test_link():
    """A client that is started by a link, as backends do, looks beside the file that the link leads to."""
    if WRAP:
        skip("a client by a link", "a wrapper has a path of its own")
        return
    link = os.path.join(scratch("od-link-"), "client")
    os.symlink(CLIENT, link)
    with Client(prefix=["sh", "-c", 'shift; exec "$0" "$@"', link]) as client:
        got = client.run("readlink -f $(command -v open_file)")["content"]
        eq(got, os.path.realpath(PLUGINS), "a skill on the PATH is od-plugins")


def test_absent():
    if WRAP:
        skip("a client alone", "a wrapper has a path of its own")
        return
    place, client = alone("--plugins", "agent_skills", "jupyter", env={"OD_PYTHON": sys.executable})
    missing = os.path.join(place, "od-plugins")
    words = f"{missing} cannot be executed: No such file or directory; put od-plugins there"
    with client:
        check_browser(client, words, "without od-plugins")
        told = client.get("/server_info").json()["plugins"]
        for name in ("browser", "agent_skills"):
            eq((told[name]["state"], told[name]["why"].startswith(missing)), ("unavailable", True),
               f"/server_info says that {name} is unavailable, and why")
        eq(client.log().count("the shells have no skills: " + missing), 1, "the log names the missing file once")
        ok("/bin/open_file" not in client.run("command -v open_file; true")["content"], "no skill is on the PATH")
        got = client.act("run_ipython", 60 * SLOW, code="open_file('x')", include_extra=False)["content"]
        has(got, "od-plugins is missing beside od-runtime-client", "a function of a kernel")
        eq(client.run("echo alive")["content"], "alive", "commands run")
        shutil.copy(PLUGINS, missing)
        # A plugin that lacks something is looked at again with an action some time later.
        ok(until(lambda: client.act("browse", timeout=60, url="data:text/html,x") and
                 missing not in client.get("/server_info").json()["plugins"]["browser"].get("why", "")),
           "od-plugins is found once it is there", client.get("/server_info").json()["plugins"])


def test_no_proc():
    """Without /proc the client does not know where it lies, and says so."""
    if WRAP or os.geteuid() or not shutil.which("unshare"):
        skip("no /proc", "needs root and unshare, to hide it")
        return
    prefix = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc; exec "$@"', "sh"]
    with Client(prefix=prefix) as client:
        check_browser(client, "od-plugins cannot be found without /proc/self/exe", "without /proc")
        has(client.log(), "the shells have no skills: od-plugins cannot be found without /proc/self/exe",
            "the log says that there are no skills, and why")
        eq(client.run("echo alive")["content"], "alive", "commands run without /proc")


def test_absent_without_python():
    """Cells that only call skills, where there is no Python either."""
    if WRAP or os.geteuid() or not shutil.which("unshare"):
        skip("neither od-plugins nor a Python", "needs root and unshare, to hide the interpreters")
        return
    hide = [p for p in ("/usr/bin/python3", "/usr/local/bin/python3", "/opt/conda/bin/python") if os.path.exists(p)]
    binds = "; ".join(f"mount --bind /dev/null $(readlink -f {p})" for p in hide) or "true"
    place = scratch("od-alone-")
    program = os.path.join(place, "od-runtime-client")
    shutil.copy(CLIENT, program)
    prefix = ["unshare", "-m", "sh", "-c", binds + '; shift; exec "$0" "$@"', program]
    with Client("--plugins", "agent_skills", "jupyter", prefix=prefix, env={"PATH": "/bin:/sbin"}) as client:
        got = client.act("run_ipython", 60 * SLOW, code="open_file('x')", include_extra=False)["content"]
        has(got, f"[The skill could not be started: {place}/od-plugins cannot be executed", "a cell names the file")


if __name__ == "__main__":
    main()
