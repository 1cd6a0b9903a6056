#!/usr/bin/env python3
"""Containers that lack what every system has: /dev/pts, /proc, /tmp, a writable root,
an entry for the user. Each gives a truthful answer, and the next command works.

The client runs in a mount namespace of its own, which needs root."""
import os
import shlex
import signal
import subprocess
import sys

from harness import CLIENT, SLOW, WRAP, Gate, alive, eq, has, main, ok, request, skip, until
from contract import SHORT, code_of, completed, each_shell, says_alive, short, suffix_of

# Of /dev what every engine makes, and nothing to open a terminal with.
NO_TERMINAL = """
mount -t tmpfs dev /dev
for node in null:3 zero:5 random:8 urandom:9; do mknod -m 666 /dev/${node%:*} c 1 ${node#*:}; done
"""
NO_PROC = "umount -l /proc\n"

# A root of its own, with the system's programs and the client's folders only.
ROOT = """
mkdir "$TOP/root"; mount -t tmpfs root "$TOP/root"; cd "$TOP/root"
for dir in bin sbin lib lib32 lib64 libx32; do
	if [ -L /$dir ]; then cp -a /$dir .; elif [ -d /$dir ]; then mkdir $dir; mount --rbind /$dir $dir; fi
done
for dir in usr etc dev proc "$TOP/work" "$TOP/home"; do mkdir -p ./$dir; mount --rbind /$dir ./$dir; done
cp "$1" client; shift
"""
READ_ONLY = "mount -o remount,ro .\n"
ENTER = 'set -- chroot . /client "$@"\n'

NOTE = ("\n[There is no terminal (/dev/ptmx: No such file or directory): the shell and its commands "
        "have a socket for their input and output. Programs that need a terminal do not work, and of "
        "the keys only C-c and C-\\ do.]")


def why_not():
    if os.geteuid() != 0:
        return "it needs root"
    if WRAP:
        return "not under a wrapper"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        return "no mount namespace can be made here"
    return None


def without(setup):
    """Words before a client that has `setup` done to its mount namespace."""
    return lambda client: ["unshare", "-m", "sh", "-ec", f"TOP={client.top}\n{setup}\nexec \"$@\"", "sh"]


def says(client, name, command, want, code=0, **args):
    got = client.run(command, **args)
    return eq((got["content"], code_of(got)), (want, code), f"{name}: {command[:60]!r}")


def starts(client, name, command, **args):
    """A command that goes on."""
    got = client.run(command, timeout=SHORT, **args)
    return ok(code_of(got) == -1, f"{name}: {command!r} goes on", got)


def works(client, name):
    good, got = says_alive(client)
    return ok(good, f"{name}: the next command works", got)


def tty_of(client):
    return {s["name"]: s["tty"] for s in client.get("/v1/sessions").json()["sessions"]}


def bare(story):
    """A story of every shell, where namespaces can be made."""
    def guarded(sh):
        why = why_not()
        if why:
            skip(f"{sh.name}: {story.__name__[len('test_'):]}", why)
        else:
            story(sh)
    guarded.__name__ = story.__name__
    return each_shell(guarded)


# --- A terminal without /dev/tty ------------------------------------------------------

# gVisor has one that nobody can open.
NO_DEV_TTY = NO_TERMINAL + """
mkdir /dev/pts
mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts
ln -s pts/ptmx /dev/ptmx
"""


@bare
def test_no_dev_tty(sh):
    with sh.client(prefix=without(NO_DEV_TTY)) as client:
        says(client, sh.name, "test -t 0 && test -t 1 && test ! -e /dev/tty && echo hi", "hi")
        eq(tty_of(client), {"default": True}, f"{sh.name}: it is a terminal")
        for command, want, code in (
                ("(exit 7)", "", 7), ("cd /usr; V=1", "", 0), ("echo $V $PWD", "1 /usr", 0),
                ("for i in 1 2\ndo echo $i\ndone >&2", "1\n2", 0),
                ("x='" + "y" * 5000 + "'; echo ${#x}", "5000", 0)):
            says(client, sh.name, command, want, code)
        starts(client, sh.name, "sleep 1000")
        client.run("C-c", is_input=True)
        works(client, sh.name)


# --- No terminal --------------------------------------------------------------------

@bare
def test_no_terminal(sh):
    with sh.client(prefix=without(NO_TERMINAL)) as client:
        got = client.run("echo hi; echo there >&2")
        eq((short(got), suffix_of(got)), (("hi\nthere", 0, ""), completed(0) + NOTE),
           f"{sh.name}: the first answer says that there is no terminal")
        has(client.log(), "no terminal", f"{sh.name}: so does the log")
        eq(tty_of(client), {"default": False}, f"{sh.name}: and the list of sessions")
        for command, want, code in (
                ("printf 'a\\nb\\n  c\\n'", "a\nb\n  c", 0), ("(exit 7)", "", 7), ("echo $?", "7", 0),
                ("tty", "not a tty", 1), ("test -t 0 || test -t 1 || test -t 2", "", 1),
                ("cd /usr; V=1; export W=2", "", 0), ("echo $V$W $PWD", "12 /usr", 0),
                ("cat << EOF\none $V\n  two\nEOF", "one 1\n  two", 0),
                ("for i in 1 2\ndo echo $i\ndone", "1\n2", 0),
                ("printf 'tab\\there\\rover\\n'", "over    here", 0),
                ("x='" + "é" * 500000 + "'; echo ${#x}", "500000", 0)):
            got = client.run(command)
            content = got["content"]
            if command.startswith("x=") and content == "1000000":
                content = "500000"  # bytes, in the shell's own view
            eq((content, code_of(got)), (want, code), f"{sh.name}: {command[:60]!r}")
            eq(suffix_of(got), completed(code), f"{sh.name}: and no word about the terminal")
        eq(got["extras"]["metadata"]["working_dir"], "/usr", f"{sh.name}: the directory is told")
        client.run("sleep 1000 & ")
        # Until it is sleep, it may ignore SIGTERM as its shell does.
        says(client, sh.name, "kill -9 $!; wait $! 2>/dev/null; echo $(($? > 128))", "1")
        works(client, sh.name)


@bare
def test_no_terminal_keys(sh):
    with sh.client(prefix=without(NO_TERMINAL)) as client:
        client.run("V=kept")
        for command in ("sleep 100", "while true; do sleep 0.1; done", "while :; do :; done", "cat"):
            starts(client, sh.name, command)
            got = sh.interrupt(client)
            ok(code_of(got) in sh.break_codes, f"{sh.name}: C-c ends {command!r}", got)
            if sh.hung(got):
                says(client, sh.name, "echo ${V-gone}; V=kept", "gone")
            says(client, sh.name, "echo $V", "kept")
        starts(client, sh.name, "sleep 100")
        got = client.run("C-\\", is_input=True)
        eq((code_of(got), suffix_of(got)), (131, completed(131, "\\")), f"{sh.name}: C-\\ quits")
        for key in ("C-c", "C-\\"):
            got = client.run(key)
            has(suffix_of(got), f"CTRL+{key[2]}".upper(), f"{sh.name}: {key} at the prompt")
            works(client, sh.name)
        starts(client, sh.name, "sleep 100")
        for key, hint in (("C-z", "C-c interrupts a command"), ("C-d", "`exit` ends the shell"),
                          ("C-l", "no terminal (/dev/ptmx: No such file or directory)")):
            got = client.run(key, is_input=True)
            eq(got["observation"], "error", f"{sh.name}: {key} means nothing")
            has(got["content"], f"ERROR: {key} was not sent", f"{sh.name}: which is said")
            has(got["content"], hint, f"{sh.name}: with what to do")
        sh.interrupt(client)
        eq(client.run("C-d")["observation"], "error", f"{sh.name}: nor at the prompt")
        starts(client, sh.name, "trap '' INT; sleep 100 & wait $!; sleep 100")
        client.run("C-c", is_input=True, timeout=SHORT)
        end = client.ask(request("DELETE", "/v1/sessions/default"), 10 * SLOW).json()
        ok(end["killed"] >= 2 and not end["left"], f"{sh.name}: what ignores C-c can be ended", end)
        client.run("")
        works(client, sh.name)


@bare
def test_no_terminal_input(sh):
    python = shlex.quote(sys.executable)
    with sh.client(prefix=without(NO_TERMINAL)) as client:
        starts(client, sh.name, "read x; echo got $x")
        says(client, sh.name, "val", "got val", is_input=True)
        starts(client, sh.name, f"{python} -c 'print(len(input()))'")
        says(client, sh.name, "x" * 100000, "100000", is_input=True)
        starts(client, sh.name, "cat")
        starts(client, sh.name, "line", is_input=True)
        ok(code_of(sh.interrupt(client)) in sh.break_codes, f"{sh.name}: cat ends")
        starts(client, sh.name, f"PYTHON_COLORS=0 {python} -i")
        text = client.run("print(6 * 7)", is_input=True, timeout=SHORT)["content"]
        # It may still be starting.
        for _ in range(int(20 * SLOW / SHORT)):
            if "42" in text:
                break
            text += client.run("", timeout=SHORT)["content"]
        has(text, "42", f"{sh.name}: python3 -i answers")
        eq(code_of(client.run("exit(5)", is_input=True)), 5, f"{sh.name}: and ends")
        starts(client, sh.name, "cat << EOF")
        starts(client, sh.name, "typed", is_input=True)
        says(client, sh.name, "EOF", "typed", is_input=True)
        # It may come before the shell has read its line, to which it does not belong.
        for _ in range(20):
            got = client.run("read x; echo got $x", timeout=0.0001)
            if code_of(got) == -1:
                got = client.run("soon", is_input=True)
                if got["content"] != "got soon":
                    break
        eq(got["content"], "got soon", f"{sh.name}: input that comes at once")
        works(client, sh.name)


@bare
def test_no_terminal_ends(sh):
    """The shell's own end, redirections for good, several sessions, static runs."""
    with sh.client(prefix=without(NO_TERMINAL)) as client:
        client.run("cd /usr; V=1")
        got = client.run("exit 3")
        eq(code_of(got), 3, f"{sh.name}: a shell that ends")
        has(suffix_of(got), "[The shell has ended.", f"{sh.name}: is told of")
        got = client.run("echo ${V-unset} $PWD")
        eq((got["content"], suffix_of(got)), ("unset /usr", completed(0)), f"{sh.name}: a fresh one")
        got = client.run("kill -9 $$")
        eq(code_of(got), 137, f"{sh.name}: a shell that is killed")
        works(client, sh.name)
        client.run("setsid sleep 1000 &")
        eq(code_of(client.run("exit 4")), 4, f"{sh.name}: who keeps the socket keeps nobody waiting")
        works(client, sh.name)
        says(client, sh.name, "exec >/dev/null 2>&1; echo gone", "")
        says(client, sh.name, "(exit 9)", "", 9)
        client.run("exec true")
        works(client, sh.name)
        got = client.run("kill -STOP $$", timeout=SHORT)
        eq(code_of(got), -1, f"{sh.name}: a shell that stops itself")
        sh.interrupt(client)
        works(client, sh.name)
        got = client.run("echo other", session="other")
        eq((got["content"], suffix_of(got)), ("other", completed(0) + NOTE), f"{sh.name}: a session")
        eq(tty_of(client), {"default": False, "other": False}, f"{sh.name}: has no terminal either")
        got = client.run("sleep 100", is_static=True, timeout=SHORT)
        has(suffix_of(got), "killed.]", f"{sh.name}: a static run is ended in time")
        says(client, sh.name, "echo static", "static", is_static=True)
        end = client.ask(request("DELETE", "/v1/sessions/other"), 10 * SLOW).json()
        eq(end["left"], [], f"{sh.name}: a session is ended")
        works(client, sh.name)


@bare
def test_no_terminal_crash(sh):
    with sh.client(role="init", prefix=without(NO_TERMINAL)) as client:
        shell = int(client.run("V=kept; echo $$")["content"])
        gate = Gate(client)
        got = client.run(f"echo one; read x < {gate}; printf 'two\\nthree\\n'", timeout=SHORT)
        eq(got["content"], "one", f"{sh.name}: a command runs")
        pid = client.serve_pid()
        os.kill(pid, signal.SIGKILL)
        until(lambda: not alive(pid), step=0.001)
        client.shared = None
        gate.go()
        got = client.run("", timeout=10)
        eq((got["content"].splitlines()[-2:], code_of(got)), (["two", "three"], 0),
           f"{sh.name}: and is not lost when serve is killed")
        eq(tty_of(client), {"default": False}, f"{sh.name}: it is still known that there is no terminal")
        says(client, sh.name, "echo $$ $V", f"{shell} kept")
        starts(client, sh.name, "sleep 100")
        ok(code_of(sh.interrupt(client)) in sh.break_codes, f"{sh.name}: C-c works then")


# --- No /proc, no folders, nobody ----------------------------------------------------

def life(client, name, sh):
    """What has to work anywhere."""
    says(client, name, "echo hi", "hi")
    says(client, name, "cd /usr; V=1; (exit 7)", "", 7)
    got = client.run("echo $V $PWD")
    eq((got["content"], got["extras"]["metadata"]["working_dir"]), ("1 /usr", "/usr"),
       f"{name}: variables and the directory stay")
    starts(client, name, "sleep 100")
    ok(code_of(sh.interrupt(client)) in sh.break_codes, f"{name}: C-c")
    starts(client, name, "sleep 100")
    end = client.ask(request("DELETE", "/v1/sessions/default"), 10 * SLOW).json()
    ok(end["killed"] >= 1 and not end["left"], f"{name}: the session is ended", end)
    client.run("")
    eq(code_of(client.run("exit 3")), 3, f"{name}: the shell ends")
    works(client, name)
    got = client.run("sleep 100", is_static=True, timeout=SHORT)
    ok(code_of(got) == -1, f"{name}: a static run is ended", got)
    says(client, name, "echo static", "static", is_static=True)
    works(client, name)


@bare
def test_no_proc(sh):
    with sh.client(prefix=without(NO_PROC)) as client:
        life(client, f"{sh.name} without /proc", sh)


@bare
def test_nothing_at_all(sh):
    with sh.client(prefix=without(NO_TERMINAL + NO_PROC)) as client:
        life(client, f"{sh.name} without /proc and a terminal", sh)


def rooted(setup):
    return without(ROOT + setup + ENTER)


@bare
def test_no_tmp(sh):
    long = "echo " + "x" * 5000
    for name, setup in (("no /tmp", ""), ("read-only /tmp", "mkdir tmp; mount -t tmpfs -o ro tmp tmp\n"),
                        ("a read-only root", READ_ONLY)):
        name = f"{sh.name}, {name}"
        with sh.client(prefix=rooted(setup), place="/", env={"TMPDIR": None}) as client:
            life(client, name, sh)
            says(client, name, long, long[5:])
            got = client.run("mkdir /x; echo x > \"${TMPDIR-/tmp}/file\" && cat \"${TMPDIR-/tmp}/file\"")
            has(got["content"].splitlines(), "x", f"{name}: TMPDIR is where a file can be made")


@bare
def test_no_folder_at_all(sh):
    """Not even /dev/shm: what does not fit into a line cannot be handed over."""
    setup = (ROOT.replace(" dev proc", " proc") + "mkdir dev; touch dev/null dev/urandom dev/ptmx dev/tty\n"
             "for n in null urandom ptmx tty; do mount --bind /dev/$n dev/$n; done\n" + READ_ONLY + ENTER)
    name = f"{sh.name}, no folder at all"
    with sh.client(prefix=without(setup), place="/", env={"TMPDIR": None}) as client:
        says(client, name, "echo hi", "hi")
        got = client.run("echo " + "x" * 5000)
        eq(got["observation"], "error", f"{name}: a long command is refused")
        has(got["content"], "needs a writable folder: /dev/shm, /tmp, /run or /var/tmp", f"{name}: with the reason")
        works(client, name)


@bare
def test_no_user(sh):
    """A uid that no passwd knows, as some platforms have it: nothing may be its own."""
    as_nobody = ('chown -R 54321 "$TOP"; chmod 755 "$TOP"\n'
                 'set -- setpriv --reuid 54321 --regid 54321 --clear-groups "$@"\n')
    name = f"{sh.name}, a uid without an entry"
    path = os.path.dirname(CLIENT)
    while path != "/":
        if not os.stat(path).st_mode & 1:
            skip(name, f"{path} is not for everybody")
            return
        path = os.path.dirname(path)
    with sh.client(prefix=without(as_nobody), user=False, env={"HOME": "/"}) as client:
        says(client, name, "id -u", "54321")
        life(client, name, sh)
        got = client.run("echo x > ~/file && cat ~/file")
        has(got["content"] + suffix_of(got), "x", f"{name}: HOME")


if __name__ == "__main__":
    main()
