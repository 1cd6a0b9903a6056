#!/usr/bin/env python3
"""Programs that are talked to: what they show is seen, input and keys reach them."""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

from harness import Client, Gate, eq, free_port, has, listening, main, ok, until, wait_exit
from contract import SHORT, code_of, completed, each_shell, follow, install_first, short, suffix_of

PYTHON = shlex.quote(sys.executable)
VI = next((name for name in ("vim", "vim.tiny", "vi") if shutil.which(name)), "vi")
ENTER, ESCAPE = "C-m", "C-["


class Talk:
    """A program and what it has shown since the last thing that was said to it."""

    def __init__(self, client, command, name=None):
        self.client, self.name = client, name or command.split()[0]
        self.got = client.run(command, timeout=SHORT)
        self.text = self.got["content"]

    def sees(self, *parts):
        """Waits for each of the parts to be shown."""
        for part in parts:
            if part not in self.text:
                more, self.got = follow(self.client, dict(self.got, content=""), part)
                self.text += "\n" + more
            has(self.text, part, f"{self.name}: shows {part!r}")
        eq(code_of(self.got), -1, f"{self.name}: and goes on")
        return self

    def type(self, text):
        """A line with Enter, or a key without."""
        self.got = self.client.run(text, is_input=True, timeout=SHORT)
        self.text = self.got["content"]
        return self

    def poll(self):
        self.got = self.client.run("", timeout=SHORT)
        self.text = self.got["content"]
        return self

    def lacks(self, *parts):
        for part in parts:
            ok(part not in self.text, f"{self.name}: {part!r} is not shown", self.text)
        return self

    def wait(self):
        if code_of(self.got) == -1:
            more, self.got = follow(self.client, dict(self.got, content=""), "\0")
            self.text += "\n" + more
        return self

    def ends(self, code=0, key=None):
        """Waits for its end; nothing of it is in the next command's output."""
        self.wait()
        eq(code_of(self.got), code, f"{self.name}: ends")
        if key:
            eq(suffix_of(self.got), completed(code, key), f"{self.name}: by a key")
        got = self.client.run("echo next")
        # The pager of busybox leaves the Enter behind "q" to the shell: docs/shells.md.
        left = self.name == "ash: less"
        eq((short(got)[0].splitlines()[-1:] if left else short(got)[0], *short(got)[1:]),
           (["next"] if left else "next", 0, ""), f"{self.name}: then the shell is as before")
        return self


def needs(*programs):
    """Whether all are there; says so if not."""
    gone = [p for p in programs if not shutil.which(p)]
    if gone:
        install_first(sys._getframe(1).f_code.co_name, f"{', '.join(gone)} not installed")
    return not gone


def bash(**more):
    return Client("--shell", "/bin/bash", **more)


def numbered(client, lines=3000):
    with open(client.work + "/numbered", "w") as f:
        f.writelines(f"line {i} of it\n" for i in range(1, lines + 1))


# --- Full screens -----------------------------------------------------------------

@each_shell
def test_alternate_screen(sh):
    """Its present screen while it runs, and nothing of it after."""
    with sh.client() as client:
        gate = Gate(client, 2)
        draw = "printf '\\033[?1049h\\033[2J\\033[5;1Hfirst %s\\n'; read x <%s.0; " \
               "printf '\\033[2J\\033[5;1Hsecond %s'; read x <%s.1; printf '\\033[?1049l'; echo end" % (
                   "screen", gate.path, "screen", gate.path)
        talk = Talk(client, "echo before; " + draw, f"{sh.name}: alternate screen").sees("first screen")
        gate.go()
        talk.poll().sees("second screen").lacks("first")
        gate.go()
        got = client.run("")
        ok(code_of(got) == 0 and got["content"].endswith("end") and "screen" not in got["content"],
           f"{sh.name}: nothing of the screens is left", got)


@each_shell
def test_less(sh):
    if not needs("less"):
        return
    with sh.client() as client:
        numbered(client)
        talk = Talk(client, "less numbered", f"{sh.name}: less").sees("line 1 of it", "line 900 of it")
        talk.lacks("line 1100 of it")
        talk.type("/line 2000 of").sees("line 2000 of it").lacks("line 900 of it")
        talk.type("G").sees("line 3000 of it", "(END)")
        talk.type("q").lacks("line 3000").ends()


@each_shell
def test_vi(sh):
    if not needs(VI):
        return
    with sh.client() as client:
        talk = Talk(client, f"{VI} -u NONE new.txt", f"{sh.name}: vi").sees("new.txt")
        talk.type("ifirst line").sees("first line")
        talk.type("second line").sees("second line")
        talk.type(ESCAPE)
        talk.type(":1s/first/changed/").sees("changed line")
        talk.type(":wq").lacks("changed line", "~").ends()
        eq(open(client.work + "/new.txt").read(), "changed line\nsecond line\n\n",
           f"{sh.name}: vi: the file")


def test_nano():
    if not needs("nano"):
        return
    with bash() as client:
        talk = Talk(client, "nano --ignorercfiles new.txt").sees("GNU nano")
        talk.type("first").sees("first")
        talk.type("second").sees("second")
        talk.type("C-o").sees("Write")
        talk.type(ENTER).sees("Wrote")
        talk.type("C-x").lacks("second").ends()
        has(open(client.work + "/new.txt").read(), "first\nsecond\n", "nano: the file")


def test_top():
    if not needs("top"):
        return
    with bash() as client:
        talk = Talk(client, "top -d 0.3").sees("load average", "PID")
        talk.poll().sees("load average")
        ok(talk.text.count("load average") <= 2, "top: a screen, not a row of screens", talk.text)
        talk.type("q").lacks("load average").ends()


def test_watch():
    if not needs("watch"):
        return
    with bash() as client:
        with open(client.work + "/f", "w") as f:
            f.write("old text\n")
        talk = Talk(client, "watch -n 0.1 cat f").sees("Every 0.1s", "old text")
        with open(client.work + "/f", "w") as f:
            f.write("new text\n")
        talk.sees("new text")
        talk.type("C-c").lacks("old text", "Every").ends(0, "C")


def test_more():
    if not needs("more"):
        return
    with bash() as client:
        numbered(client)
        talk = Talk(client, "more numbered").sees("line 1 of it", "--More--").lacks("line 1100 of it")
        talk.type("q").ends()


def test_pager():
    """PAGER of a program that asks for it, as man and git do."""
    if not needs("less"):
        return
    code = "import pydoc; pydoc.pager(''.join(f'line {i} of it\\n' for i in range(3000)))"
    with bash() as client:
        talk = Talk(client, f"PAGER=less {PYTHON} -c {shlex.quote(code)}", "PAGER").sees("line 1 of it")
        talk.lacks("line 1100 of it").type("q").ends()
        got = client.run("git init -q . && git config user.email a@b && git config user.name a && git commit -q "
                         "--allow-empty -m subject && git log --format=%s")
        eq(short(got), ("subject", 0, ""), "git asks for none")


def test_tmux():
    if not needs("tmux"):
        return
    socket = f"od-e2e-{os.getpid()}"
    try:
        with bash() as client:
            talk = Talk(client,
                        f"env -u TMUX SHELL=/bin/sh tmux -L {socket} -f /dev/null new-session -s inner")
            talk.name = "tmux"
            talk.sees("inner")
            talk.type("echo in tmux $((6 * 7))").sees("in tmux 42")
            talk.type("exit").ends()
            has(talk.text, "[exited]", "tmux: says that it ends")
            ok("in tmux" not in talk.text, "tmux: nothing of its screen is left", talk.text)
    finally:
        subprocess.run(["tmux", "-L", socket, "kill-server"], capture_output=True)


# --- Lines ------------------------------------------------------------------------

@each_shell
def test_python(sh):
    with sh.client() as client:
        talk = Talk(client, f"{PYTHON} -q", f"{sh.name}: python").sees(">>>")
        talk.type("6 * 7").sees("42", ">>>")
        talk.type("for i in range(2): print('i is', i)").sees("...")
        talk.type(ENTER).sees("i is 0\ni is 1")
        talk.type("if 1:").sees("...")
        talk.type("    print('inden' + 'ted')").sees("...")
        talk.type(ENTER).sees("indented")
        talk.type("print('C-c')").sees("C-c")
        talk.type("import time; time.sleep(1000)")
        talk.type("C-c").sees("KeyboardInterrupt", ">>>")
        talk.type("1 / 0").sees("ZeroDivisionError")
        talk.type("raise SystemExit(3)").ends(3)
        Talk(client, f"{PYTHON} -q", f"{sh.name}: python").sees(">>>").type("C-d").ends(0, "D")


PROGRAM = """#include <stdio.h>
static int twice(int n)
{
	int result = n * 2;
	return result;
}
int main(void)
{
	printf("twice is %d\\n", twice(21));
	return 5;
}
"""


def test_gdb():
    if not needs("gdb", "gcc"):
        return
    with bash() as client:
        with open(client.work + "/p.c", "w") as f:
            f.write(PROGRAM)
        eq(code_of(client.run("gcc -g -O0 -o p p.c", timeout=60, blocking=True)), 0,
           "gdb: something to look at")
        talk = Talk(client, "gdb -q -nx ./p", "gdb").sees("(gdb)")
        talk.type("break twice").sees("Breakpoint 1", "(gdb)")
        talk.type("set startup-with-shell off").sees("(gdb)")
        talk.type("run").sees("Breakpoint 1, twice (", "(gdb)")
        talk.type("next").sees("return result", "(gdb)")
        talk.type("print result").sees("$1 = 42", "(gdb)")
        talk.type("backtrace").sees("main ()", "(gdb)")
        talk.type("quit").sees("Quit anyway?")
        talk.type("n").sees("(gdb)")
        talk.type("continue").sees("twice is 42", "exited with code 05", "(gdb)")
        talk.type("quit").ends()


def test_ed():
    if not needs("ed"):
        return
    with bash() as client:
        talk = Talk(client, "ed -p 'ed> '").sees("ed>")
        for line in ("a", "some text", "."):
            talk.type(line)
        talk.type("s/some/other/p").sees("other text")
        talk.type("w out").sees("11")
        talk.type("q").ends()
        eq(open(client.work + "/out").read(), "other text\n", "ed: the file")


def test_bc():
    if not needs("bc"):
        return
    with bash() as client:
        talk = Talk(client, "bc -q")
        talk.type("6 * 7").sees("42")
        talk.type("2 ^ 70").sees("1180591620717411303424")
        talk.type("C-d").ends(0, "D")


@each_shell
def test_read(sh):
    """A question, and one whose answer nobody may see."""
    with sh.client() as client:
        talk = Talk(client, sh.read("Name: ", "name") + "; echo \"[$name]\"",
                    f"{sh.name}: read").sees("Name:")
        talk.type("two words").ends()
        has(talk.text, "[two words]", f"{sh.name}: read: the answer")
        talk = Talk(client, "stty -echo; printf 'Password: '; read -r p; stty echo; echo; echo \"${#p}\"",
                    f"{sh.name}: read unseen").sees("Password:")
        talk.type("secret").lacks("secret").ends()
        has(talk.text, "6", f"{sh.name}: read unseen: it was read")
        if sh.name in ("bash", "ash"):
            talk = Talk(client, "read -s -p 'Password: ' p; echo \"${#p}\"",
                        f"{sh.name}: read -s").sees("Password:")
            talk.type("secret").lacks("secret").ends()


def test_git_commit():
    if not needs("git", VI):
        return
    with bash(env={"GIT_EDITOR": f"{VI} -u NONE"}) as client:
        client.run("git init -q . && git config user.email a@b && git config user.name a && touch f && git add f")
        talk = Talk(client, "git commit", "git commit").sees("Changes to be committed", "new file:   f")
        talk.type("iThe subject").sees("The subject")
        talk.type(ESCAPE)
        talk.type(":wq").ends()
        eq(client.run("git log --format=%s")["content"], "The subject", "git commit: the message")
        talk = Talk(client, "git commit --allow-empty",
                    "git commit, given up").sees("Please enter the commit message")
        talk.type(":q!").ends(1)
        eq(client.run("git log --oneline | wc -l")["content"], "1", "git commit: no second one")


# --- Passwords --------------------------------------------------------------------

SECRET = "Wrong horse 7"


class Account:
    """A user with a password, in a mount namespace of its own: no file of the system changes."""

    def __init__(self, name="openhands"):
        self.name = name
        self.top = tempfile.mkdtemp(prefix="od-e2e-user-")
        os.chmod(self.top, 0o755)
        self.home = self.top + "/home"
        self.work = self.top + "/work"
        for path in (self.home, self.work):
            os.mkdir(path)
            os.chown(path, 4242, 4242)
        digest = subprocess.run(["openssl", "passwd", "-6", SECRET], capture_output=True,
                                check=True).stdout
        digest = digest.decode().strip()
        self.write("passwd", f"root:x:0:0:root:/root:/bin/sh\n{name}:x:4242:4242::{self.home}:/bin/sh\n")
        self.write("group", f"root:x:0:\n{name}:x:4242:\n")
        self.write("shadow", f"root:*:19000::::::\n{name}:{digest}:19000::::::\n", 0o600)
        self.write("sudoers", f"Defaults lecture=never\n{name} ALL=(ALL) ALL\n", 0o440)
        self.write("hosts", f"127.0.0.1 localhost {os.uname().nodename}\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top, ignore_errors=True)

    def write(self, name, text, mode=0o644):
        with open(f"{self.top}/{name}", "w") as f:
            f.write(text)
        os.chmod(f"{self.top}/{name}", mode)

    def inside(self):
        """The words before a command that sees this account."""
        mounts = "; ".join(f"test ! -e /etc/{n} || mount --bind {self.top}/{n} /etc/{n}"
                           for n in ("passwd", "group", "shadow", "sudoers", "hosts"))
        return ("unshare", "-m", "sh", "-ec", f'mount --make-rprivate /; {mounts}; exec "$@"', "sh")


def can_unshare(name):
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "sh", "-c", "mount --make-rprivate / && "
                                            "mount --bind /etc/passwd /etc/passwd"],
                                            capture_output=True).returncode:
        install_first(name, "takes root, and a mount namespace") if os.geteuid() == 0 else \
            print(f"# {name} takes root")
        return False
    return True


def test_sudo():
    if not needs("sudo", "openssl", "unshare") or not can_unshare("sudo"):
        return
    with Account() as account:
        with Client("--username", account.name, "--working-dir", account.work, prefix=account.inside(),
                    user=False,
                    env={"SU_TO_USER": "1"}) as client:
            eq(client.run("id -un")["content"], account.name, "sudo: the shell is that of the user")
            talk = Talk(client, "sudo -k; sudo id -un").sees(f"password for {account.name}")
            talk.type("not the password").sees("Sorry, try again", f"password for {account.name}")
            talk.type(SECRET).lacks(SECRET).ends()
            has(talk.text, "root", "sudo: root it is")
            talk = Talk(client, "sudo -k; sudo -n true; sudo id").sees("password for")
            talk.type("C-c").ends(1, "C")


def test_ssh():
    dropbear = shutil.which("dropbear") or "/usr/sbin/dropbear"
    if not needs("ssh", dropbear, "dropbearkey", "openssl", "unshare") or not can_unshare("ssh"):
        return
    with Account() as account, bash() as client:
        key, port = account.top + "/key", free_port()
        subprocess.run(["dropbearkey", "-t", "ed25519", "-f", key], capture_output=True, check=True)
        server = subprocess.Popen([*account.inside(), dropbear, "-F", "-E", "-p", f"127.0.0.1:{port}",
                                   "-r", key,
                                   "-P", account.top + "/pid"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=open(account.top + "/log", "wb"))
        try:
            ok(until(lambda: listening(port)), "ssh: a server", open(account.top + "/log").read())
            talk = Talk(client,
                        f"ssh -F none -p {port} -o UserKnownHostsFile=known -o GlobalKnownHostsFile=none "
                                f"-o PubkeyAuthentication=no {account.name}@127.0.0.1", "ssh")
            talk.sees("Are you sure you want to continue connecting")
            talk.type("maybe").sees("Please type 'yes'")
            talk.type("yes").sees("password:")
            talk.type(SECRET).sees("$").lacks(SECRET)
            talk.type("echo there is $((6 * 7)) and $(id -un)").sees(f"there is 42 and {account.name}")
            talk.type("sleep 1000").type("C-c").sees("$")
            talk.type("exit 9").ends(9)
        finally:
            server.terminate()
            wait_exit(server)


def test_questions_of_a_script():
    with bash() as client:
        with open(client.work + "/ask", "w") as f:
            f.write("#!/bin/sh\nexec </dev/tty >/dev/tty\n"
                    "printf 'Are you sure you want to continue connecting (yes/no)? '\nread a\n"
                    "[ \"$a\" = yes ] || exit 1\nprintf \"root@host's password: \"\nstty -echo\nread p\nstty echo\n"
                    "echo; echo \"Welcome, $p has ${#p} letters\" | sed \"s/$p/it/\"\n")
        talk = Talk(client, "sh ask", "a script").sees("continue connecting (yes/no)?")
        talk.type("yes").sees("root@host's password:")
        talk.type("secret").lacks("secret").ends()
        has(talk.text, "Welcome, it has 6 letters", "a script: is answered")
        Talk(client, "sh ask", "a script").sees("(yes/no)?").type("no").ends(1)


@each_shell
def test_shell_in_a_shell(sh):
    """A shell of the user's own in ours, with its own prompt."""
    with sh.client() as client:
        talk = Talk(client, "PS1='inner> ' sh -i", f"{sh.name}: sh").sees("inner>")
        talk.type("cd /etc; echo now in $PWD").sees("now in /etc", "inner>")
        talk.type("sleep 1000")
        talk.type("C-c").sees("inner>")
        talk.type("exit 4").ends(4)
        eq(client.run("pwd")["content"], client.work, f"{sh.name}: ours is where it was")


if __name__ == "__main__":
    main()
