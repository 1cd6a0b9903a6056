#!/usr/bin/env python3
"""What backends expect of a shell, the same on each one that an image may have.

OD_SHELL=NAME chooses one of them."""
import http.client
import os
import shlex
import shutil
import sys
import time

import harness
from harness import ME, SLOW, Gate, eq, free_port, has, listening, main, marked, ok, under, until
from contract import (PREVIOUS, SHORT, code_of, completed, each_shell, follow,
                      install_first, matches, prefix_of, refusal, says_alive, short, silent, suffix_of,
                      timed_out)

PYTHON = shlex.quote(sys.executable)


def says(client, sh, command, want, code=0, name=None, **args):
    got = client.run(command, **args)
    return eq((got["content"], code_of(got)), (want, code), f"{sh.name}: {name or command!r}")


def alive(client, sh, name):
    good, got = says_alive(client)
    ok(good, f"{sh.name}: the shell works after {name}", got)


def eq_break(sh, got, name):
    code = code_of(got)
    ok(code in sh.break_codes and short(got) == ("^C", code, "") and sh.broke(got), f"{sh.name}: {name}", got)


def no_words(text, *words):
    return not any(w in text for w in words)


# --- One command after the other ------------------------------------------------

@each_shell
def test_basic_commands(sh):
    with sh.client() as client:
        got = client.run("echo 'hello world'")
        eq((short(got), suffix_of(got)), (("hello world", 0, ""), completed(0)),
           f"{sh.name}: a command that succeeds, with all that is told of it")
        got = client.run("nonexistent_command")
        eq((code_of(got), prefix_of(got), suffix_of(got)), (127, "", completed(127)),
           f"{sh.name}: an unknown command")
        matches(got["content"], sh.unknown.format("nonexistent_command") + "$",
                f"{sh.name}: in the shell's own words")
        eq(got["extras"]["metadata"]["username"], ME, f"{sh.name}: the user is told")
        for command, want in (
                ("echo 'hello   world\nnew line'", "hello   world\nnew line"),
                ("echo 'first' && echo 'second'", "first\nsecond"),
                ("printf x", "x"), ("echo out; echo err >&2", "out\nerr"), ("true;", ""),
                ("echo a;", "a"), ("export A=\"1\";", ""), ("test -t 0 && test -t 1 && echo tty", "tty"),
                ("echo $((6 * 7))", "42")):
            says(client, sh, command, want)
        says(client, sh, "(exit 255)", "", 255)
        says(client, sh, "false", "", 1)
        says(client, sh, "echo $?", "1", name="$? of the command before")


@each_shell
def test_state_and_directory(sh):
    with sh.client() as client:
        for command, want in (("mkdir -p test", ""), ("cd test", ""), ("pwd", client.work + "/test"),
                              ("V=1; export W=2", ""), ("echo $V$W", "12"),
                              ("f() { echo f of $1; }", ""), ("f x", "f of x"),
                              ("alias ll='echo aliased'", ""), ("ll", "aliased"),
                              ("umask 027", ""), ("umask | tail -c 4", "027")):
            says(client, sh, command, want)
        got = client.run("mkdir -p random_dir && cd random_dir && pwd")
        eq((got["content"], got["extras"]["metadata"]["working_dir"]),
           (client.work + "/test/random_dir",) * 2, f"{sh.name}: the new directory is told")
        for name in ('qu"ote', "back\\slash", "dol$HOME", "blank  two", "é ⛄", "semi;colon"):
            os.mkdir(os.path.join(client.work, name))
            got = client.run("cd " + shlex.quote(os.path.join(client.work, name)))
            eq((code_of(got), got["extras"]["metadata"]["working_dir"]),
               (0, os.path.join(client.work, name)), f"{sh.name}: a directory named {name!r}")
        eq(client.act("write", path="here", content="x")["observation"], "write",
           f"{sh.name}: a path is taken from there")
        ok(os.path.exists(os.path.join(client.work, "semi;colon", "here")), f"{sh.name}: that is, there")
        says(client, sh, "cd ~ && pwd", client.home, name="the home directory")
        first, second = client.run("env | sort")["content"], client.run("env | sort")["content"]
        eq(first, second, f"{sh.name}: the environment is the same each time")
        ok(no_words(first, "__od_", "7777"), f"{sh.name}: and nothing of ours is in it", first)


@each_shell
def test_files(sh):
    """A row of everyday commands, with what ls says in between."""
    with sh.client() as client:
        says(client, sh, "ls -l", "total 0", name="an empty directory")
        says(client, sh, f"ls -ld {client.work} >/dev/null", "")
        got = client.run("pwd && ls -l")
        eq(got["content"], client.work + "\ntotal 0", f"{sh.name}: two commands in a line")
        says(client, sh, "mkdir test", "")
        matches(client.run("ls -l")["content"], f"{ME}.* test$", f"{sh.name}: a listing")
        says(client, sh, "touch test/foo.txt", "")
        says(client, sh, "ls test", "foo.txt")
        says(client, sh, "rm -rf test", "")
        says(client, sh, "ls", "")
        os.mkdir(client.work + "/dir")
        with open(client.work + "/dir/implemented.py", "w") as f:
            f.write("def implemented_function():\n    pass\n")
        says(client, sh, "find dir -type f -exec grep -l \"implemented_function\" {} \\;",
             "dir/implemented.py")
        says(client, sh, "find dir -type f -exec echo {} \\; -print",
             "dir/implemented.py\ndir/implemented.py")
        says(client, sh, "echo a \\; b \\| c \\& d \\> e", "a ; b | c & d > e")
        matches(client.run("python3 --version")["content"], "^Python 3", f"{sh.name}: a version")


@each_shell
def test_git(sh):
    with sh.client() as client:
        if not shutil.which("git"):
            return install_first(f"{sh.name}: git", "git is not installed")
        says(client, sh, 'git config --global user.name "openhands" && git config --global user.email '
                         '"openhands@all-hands.dev"', "")
        for command in ("git init -q .", "echo hello > test_file.txt", "git add test_file.txt",
                        "git config --global core.pager 'cat; echo paged'"):
            says(client, sh, command, "")
        got = client.run("git diff --no-color --cached")
        has(got["content"], "b/test_file.txt", f"{sh.name}: a diff")
        ok("+hello" in got["content"] and "paged" not in got["content"], f"{sh.name}: not in a pager",
           got)
        got = client.run("git commit -m \"test\n\nmore\"")
        eq(code_of(got), 0, f"{sh.name}: a commit with a message of three lines")
        has(client.run("git log --format=%B -n 1")["content"], "test\n\nmore",
            f"{sh.name}: as it was given")
        says(client, sh, "git remote -v", "", name="no remotes")
        says(client, sh, "git remote add origin https://localhost/x.git", "")
        got = client.run("git remote -v")
        matches(got["content"], r"^origin\s+https://localhost/x.git",
                f"{sh.name}: the typed command is not in it")
        says(client, sh, "git branch --show-current | wc -l", "1", is_static=True, hidden=True,
             cwd=client.work, name="a static run of the git panel")


# --- Commands of several lines ----------------------------------------------------

@each_shell
def test_multiline_commands(sh):
    e = sh.escapes
    with sh.client() as client:
        for command, want in (
                (f"{e} \\\n\"foo\"", "foo"),
                (f"{e} \"hello\nworld\"", "hello\nworld"),
                (f"{e} \"a\\n\\n\\nz\"", "a\n\n\nz"),
                ("if true; then\necho \"inside if\"\nfi", "inside if"),
                ("echo one &&\necho two", "one\ntwo"), ("echo x |\ntr x y", "y"),
                ("f() {\n  echo in f\n}", ""), ("f", "in f"), ("{\necho a\necho b\n}", "a\nb"),
                ("(\necho sub\n)", "sub"), ("case b in\na) echo A;;\nb) echo B;;\nesac", "B"),
                ("i=\\\n0; while [ $i -lt 3 ]; do\n  i=$((i + 1))\n  echo $i\ndone", "1\n2\n3"),
                ("# a comment\necho after it", "after it"), ("echo before # it", "before"),
                ("\n\necho blank lines\n\n", "blank lines"),
                ("cat <<'E'\na\tb $x `y`\nE", "a       b $x `y`"),
                ("cat <<E\n$((1 + 1))\nE", "2"), ("cat <<-E\n\tcut\n\tE", "cut"),
                ("cat <<EOF | wc -l | tr -d ' '\none\ntwo\nEOF", "2"),
                ("cat <<EOF && echo end\none\nEOF", "one\nend"),
                ("cat << EOF\nline 1\nline 2\nEOF", "line 1\nline 2")):
            says(client, sh, command, want)
        if sh.tests:
            says(client, sh, "if [[ a == a ]]; then\n  echo equal\nelse\n  echo not\nfi", "equal")
        got = client.run("echo \"this is\nnot a second prompt\"")
        ok(">" not in got["content"] and code_of(got) == 0, f"{sh.name}: no second prompt in the output",
           got)


@each_shell
def test_loops(sh):
    with sh.client() as client:
        got = client.run(
            'count=0; tries=0; while [ $count -lt 3 ]; do result=$(echo "Heads"); tries=$((tries+1)); '
            'echo "Flip $tries: $result"; if [ "$result" = "Heads" ]; then count=$((count+1)); else '
            'count=0; fi; done; echo "Got 3 heads in a row after $tries flips!";')
        eq((got["content"].splitlines()[-1], code_of(got)), ("Got 3 heads in a row after 3 flips!", 0),
           f"{sh.name}: a loop in one line")
        numbers = sh.numbers("01", "04")
        got = client.run(
            f'for dir in 1 2; do\n    for i in {numbers}; do\n        mkdir -p "a/$dir"\n'
            '        echo "content $i" > "a/$dir/file_$i.txt"\n    done\ndone && echo "created"\n')
        eq(short(got), ("created", 0, ""), f"{sh.name}: loops within loops")
        eq(sorted(os.listdir(client.work + "/a/2")), [f"file_0{i}.txt" for i in range(1, 5)],
           f"{sh.name}: have done it")
        got = client.run(
            'for f in a/*/file_*.txt; do\n    sed "s/content/changed/g" "$f" > "$f.new" && \\\n'
            '    mv "$f.new" "$f"\ndone && echo "success"\n')
        eq(short(got), ("success", 0, ""), f"{sh.name}: a loop over files")
        says(client, sh, "cat a/1/file_03.txt", "changed 03")
        if sh.lists:
            says(client, sh, "echo {a,b}{c,d}", "ac ad bc bd")


SEVERAL = ("ls -l",
           "echo 'hello\nworld'",
           "echo \"a\nb\nc\"",
           "echo \"hello it's me\"",
           "echo \\\n\"continued\"",
           "cat <<EOF\nkind: Pod\n  name: x\nEOF",
           "for i in 1 2; do\n  for j in a b; do\n    echo $i$j\n  done\ndone",
           "printf 'it'\"'\"'s'",
           "pwd")
SAY = ("total 0", "hello\nworld", "a\nb\nc", "hello it's me", "continued", "kind: Pod\n  name: x",
       "1a\n1b\n2a\n2b", "it's", None)


@each_shell
def test_several_commands(sh):
    with sh.client() as client:
        got = client.run("\n".join(SEVERAL))
        eq(got["observation"], "error", f"{sh.name}: several commands are refused")
        has(got["content"], "Cannot execute multiple commands at once", f"{sh.name}: in so many words")
        for i, piece in enumerate(SEVERAL, 1):
            has(got["content"], f"({i}) {piece}", f"{sh.name}: piece {i} is named")
        for command, want in zip(SEVERAL, SAY):
            says(client, sh, command, client.work if want is None else want)
        for text, two in (("ls\npwd", True), ("cat <<E\nx\nE\npwd", True), ("ls; pwd", False),
                          ("echo \"a \\\nb\"\npwd", True), ("for i in 1; do :; done\nls", True),
                          ("true\n# a comment\n", False), ("true\n\n\n", False)):
            eq(client.run(text)["observation"], "error" if two else "run", f"{sh.name}: {text!r}")
        says(client, sh, "echo on", "on", name="nothing of it has run, and the shell works")


@each_shell
def test_unfinished_text(sh):
    """What no shell can parse: its own error, soon, and the shell works on."""
    with sh.client() as client:
        for text in ("echo 'unclosed", "echo \"unclosed", "echo `unclosed", "echo $(unclosed",
                     "if true; then",
                     "for i in 1 2", ")", "fi", "&& echo x", "echo a | | b"):
            t = time.monotonic()
            got = client.run(text, timeout=5 * SLOW)
            ok(code_of(got) > 0 and got["content"], f"{sh.name}: {text!r}: the shell's own error", got)
            under(time.monotonic() - t, 2 * SLOW, f"{sh.name}: {text!r}: seconds")
            says(client, sh, "echo on", "on", name=f"after {text!r}")


@each_shell
def test_unfinished_document(sh):
    """A here-document without its end waits for the lines that are missing."""
    with sh.client() as client:
        for command, want in (("cat << EOF", "line 1\nline 2"),
                              ("cat <<-'EOF' | tr l L", "Line 1\nLine 2")):
            got = client.run(command, timeout=SHORT)
            eq((short(got), suffix_of(got)), (("", -1, ""), timed_out(SHORT)),
               f"{sh.name}: {command} waits")
            for line in ("line 1", "line 2"):
                got = client.run(line, is_input=True, timeout=SHORT)
                eq(short(got), ("", -1, PREVIOUS), f"{sh.name}: {line} is taken")
            eq(short(client.run("EOF", is_input=True)), (want, 0, ""), f"{sh.name}: its end is given")
        client.run("cat << EOF", timeout=SHORT)
        got = client.run("C-c", is_input=True)
        eq((code_of(got), suffix_of(got)), (130, completed(130, "C")), f"{sh.name}: C-c gives it up")
        says(client, sh, "echo on", "on", name="after C-c")
        client.run("cat << EOF\nfirst", timeout=SHORT)
        got = client.run("C-d", is_input=True)
        ok(code_of(got) != -1, f"{sh.name}: C-d ends it", got)
        alive(client, sh, "C-d")


# --- Commands that go on ----------------------------------------------------------

@each_shell
def test_output_continuation(sh):
    with sh.client() as client:
        gate = Gate(client, times=5)
        command = "for i in 0 1 2 3 4; do echo $((i + 1)); read x <%s.$i; done" % gate.path
        got = client.run(command, timeout=SHORT)
        eq((short(got), suffix_of(got)), (("1", -1, ""), timed_out(SHORT)),
           f"{sh.name}: the first number")
        for number in "2345":
            gate.go()
            got = client.run("", timeout=SHORT)
            eq((short(got), suffix_of(got)), ((number, -1, PREVIOUS), timed_out(SHORT)),
               f"{sh.name}: then {number} alone")
        gate.go()
        got = client.run("", timeout=10)
        eq((short(got), suffix_of(got)), (("", 0, ""), completed(0)), f"{sh.name}: then the end")


@each_shell
def test_no_change(sh):
    with sh.client(env={"NO_CHANGE_TIMEOUT_SECONDS": "1"}) as client:
        gate = Gate(client, times=3)
        command = "for i in 0 1 2; do echo $((i + 1)); read x <%s.$i; done" % gate.path
        got = client.run(command, timeout=None)
        eq((short(got), suffix_of(got)), (("1", -1, ""), silent(1)), f"{sh.name}: silent for a second")
        gate.go()
        got = client.run("", is_input=True, timeout=None)
        eq((short(got), suffix_of(got)), (("2", -1, PREVIOUS), silent(1)), f"{sh.name}: a poll")
        got = client.run("sleep 15", timeout=None)
        eq((short(got), suffix_of(got)), (("", -1, PREVIOUS), refusal("sleep 15")),
           f"{sh.name}: a new command is refused")
        gate.go()
        got = until(lambda: (lambda o: o["content"] and o)(client.run("sleep 15")))
        eq((short(got), suffix_of(got)), (("3", -1, PREVIOUS), refusal("sleep 15")),
           f"{sh.name}: a refusal tells what is new as well")
        gate.go()
        got = client.run("", timeout=None)
        eq((short(got), suffix_of(got)), (("", 0, ""), completed(0)), f"{sh.name}: the end")

        command = sh.read("Enter name: ", "name") + " && echo \"Hello $name\""
        got = client.run(command, timeout=None)
        eq((short(got), suffix_of(got)), (("Enter name:", -1, ""), silent(1)), f"{sh.name}: a question")
        got = client.run("John", is_input=True)
        eq((got["content"].splitlines()[-1:], code_of(got), prefix_of(got), suffix_of(got)),
           (["Hello John"], 0, "", completed(0)), f"{sh.name}: its answer")


@each_shell
def test_nothing_runs(sh):
    with sh.client() as client:
        for args, text in (({}, "ERROR: No previous running command to retrieve logs from."),
                           ({"is_input": True},
                            "ERROR: No previous running command to retrieve logs from.")):
            got = client.run("", **args)
            eq((short(got), suffix_of(got)), ((text, -1, ""), ""), f"{sh.name}: nothing to poll, {args}")
        got = client.run("hello", is_input=True)
        eq((short(got), suffix_of(got)),
           (("ERROR: No previous running command to interact with.", -1, ""), ""),
           f"{sh.name}: nothing to talk to")
        says(client, sh, "echo on", "on")


@each_shell
def test_questions(sh):
    """Programs that ask; answers without is_input are refused."""
    code = ("name = input('Enter your name: '); age = input('Enter your age: '); "
            "print(f'Hello {name}, you are {age} years old')")
    with sh.client() as client:
        for refused in (False, True):
            got = client.run(f"{PYTHON} -c {shlex.quote(code)}", timeout=SHORT)
            text, got = follow(client, got, "Enter your name:")
            ok("Enter your name:" in text and code_of(got) == -1, f"{sh.name}: the first question", text)
            if refused:
                got = client.run("Alice")
                eq((short(got), suffix_of(got)), (("", -1, PREVIOUS), refusal("Alice")),
                   f"{sh.name}: an answer without is_input")
            text, got = follow(client, client.run("Alice", is_input=True, timeout=SHORT),
                               "Enter your age:")
            ok("Enter your age:" in text and code_of(got) == -1, f"{sh.name}: the second question", text)
            got = client.run("25", is_input=True)
            has(got["content"], "Hello Alice, you are 25 years old", f"{sh.name}: the result")
            eq((code_of(got), suffix_of(got)), (0, completed(0)), f"{sh.name}: completed")


@each_shell
def test_keys(sh):
    with sh.client() as client:
        client.run("while true; do echo looping; sleep 0.1; done", timeout=SHORT)
        got = sh.interrupt(client)
        ok(code_of(got) in (1, 130) and sh.broke(got) and not prefix_of(got), f"{sh.name}: C-c in an endless loop", got)
        client.run("while :; do :; done", timeout=SHORT)
        got = client.run("C-c", is_input=True)
        eq_break(sh, got, "C-c in a loop of the shell alone")
        eq_break(sh, client.run("C-c"), "C-c at the prompt")
        client.run("cat", timeout=SHORT)
        got = client.run("a", is_input=True, timeout=SHORT)
        eq((got["content"], code_of(got)), ("a", -1), f"{sh.name}: cat repeats a line")
        got = client.run("C-d", is_input=True)
        eq((short(got), suffix_of(got)), (("", 0, ""), completed(0, "D")),
           f"{sh.name}: C-d ends its input")
        client.run("sleep 1000", timeout=SHORT)
        got = client.run("C-z", is_input=True)
        eq((code_of(got), suffix_of(got)), (sh.stop_code, completed(sh.stop_code, "Z")),
           f"{sh.name}: C-z stops")
        matches(got["content"], f"(?is)^\\^Z.*{sh.stopped}.*sleep 1000",
                f"{sh.name}: and the shell says so")
        client.run("kill -9 %1; wait")
        alive(client, sh, "its end")
        client.run("sleep 1000", timeout=SHORT)
        got = client.run("C-\\", is_input=True)
        ok(code_of(got) == 131 and suffix_of(got) == completed(131, "\\"), f"{sh.name}: C-\\ quits", got)


@each_shell
def test_server(sh):
    """A server in the foreground, ended and started again on the same port."""
    with sh.client() as client:
        port = free_port()
        for attempt in ("once", "again"):
            got = client.run(f"{PYTHON} -u -m http.server --bind 127.0.0.1 {port}", timeout=1.0,
                             blocking=True)
            eq((code_of(got), suffix_of(got)), (-1, timed_out(1.0)), f"{sh.name}: a server, {attempt}")
            text, got = follow(client, got, "Serving HTTP on")
            has(text, "Serving HTTP on", f"{sh.name}: says so")
            # It prints this before it handles C-c: an answer shows that it does.
            server = http.client.HTTPConnection("127.0.0.1", port, timeout=harness.DEADLINE)
            server.request("HEAD", "/")
            eq(server.getresponse().status, 200, f"{sh.name}: and answers")
            server.close()
            got = client.run("C-c", is_input=True, timeout=30.0)
            has(got["content"], "Keyboard interrupt received, exiting.", f"{sh.name}: C-c ends it")
            eq((code_of(got), got["extras"]["metadata"]["working_dir"]), (0, client.work),
               f"{sh.name}: with its own exit code")
            got = client.run("ls")
            ok(code_of(got) == 0 and "Keyboard" not in got["content"],
               f"{sh.name}: the next output is its own", got)


@each_shell
def test_background_server(sh):
    with sh.client() as client:
        port = free_port()
        t = time.monotonic()
        got = client.run(f"{PYTHON} -m http.server --bind 127.0.0.1 {port} &", timeout=5.0)
        under(time.monotonic() - t, 1 * SLOW, f"{sh.name}: seconds to the prompt")
        pid = got["extras"]["metadata"]["pid"]
        ok(code_of(got) == 0 and pid > 0, f"{sh.name}: in the background", got)
        if sh.job:
            matches(got["content"], "^" + sh.job.format(pid=pid) + "$",
                    f"{sh.name}: the shell tells the job")
        ok(until(lambda: listening(port), 30 * SLOW), f"{sh.name}: it listens")
        got = client.run(f"curl -s http://127.0.0.1:{port}")
        ok(code_of(got) == 0 and "Directory listing for" in got["content"], f"{sh.name}: it answers", got)
        got = client.run(f"pkill -f \"http.server --bind 127.0.0.1 {port}\"")
        eq(code_of(got), 0, f"{sh.name}: pkill -f ends it, and nobody else")
        ok(until(lambda: not listening(port)), f"{sh.name}: it is gone")
        alive(client, sh, "pkill -f")


@each_shell
def test_late_output(sh):
    """A job that writes when the prompt has been shown long since."""
    with sh.client() as client:
        gate = Gate(client, times=1)
        client.run(f"(read x <{gate}; echo late; touch written) &")
        eq(client.run("echo mine")["content"].splitlines()[-1:], ["mine"], f"{sh.name}: before it")
        gate.go()
        ok(until(lambda: os.path.exists(client.work + "/written")), f"{sh.name}: it writes")
        got = client.run("echo mine")
        ok(code_of(got) == 0 and "mine" in got["content"].splitlines(), f"{sh.name}: after it", got)
        got = client.run("echo mine")  # where the shell may tell of the job's end
        ok(code_of(got) == 0 and "mine" in got["content"].splitlines(), f"{sh.name}: later", got)


@each_shell
def test_stress(sh):
    """Prompts, hard ends, refusals and keys, round after round."""
    with sh.client(env={"NO_CHANGE_TIMEOUT_SECONDS": "1"}) as client:
        for i in range(3):
            got = client.run("ps aux | awk '{printf \"%8.1f KB  %s\\n\", $6, $0}' | sort -nr | "
                             "grep \"/usr/bin/no-such-tmux\" | grep -v grep | awk '{print $1}'")
            eq(short(got), ("", 0, ""), f"{sh.name}: round {i}: a long pipe without output")
            command = (sh.read("Do you want to continue? [Y/n] ", "answer") +
                       '; if [ "$answer" = "Y" ]; then echo "Proceeding with operation..."; '
                       'echo "Operation completed successfully!"; else echo "Operation cancelled."; exit 1; fi')
            got = client.run(command, timeout=SHORT)
            ok(code_of(got) == -1 and "Do you want to continue? [Y/n]" in got["content"],
               f"{sh.name}: round {i}: a question", got)
            got = client.run("Y", is_input=True)
            ok(code_of(got) == 0 and suffix_of(got) == completed(0)
               and "Proceeding with operation...\nOperation completed successfully!" in got["content"],
               f"{sh.name}: round {i}: answered", got)
            got = client.run(f"export i={i}; for j in $(seq 1 1000); do echo \"Line $j - Iteration $i\"; "
                             "sleep 0.1; done", timeout=4 * SHORT, blocking=True)
            ok(code_of(got) == -1 and f"Line 1 - Iteration {i}" in got["content"],
               f"{sh.name}: round {i}: output without an end", got)
            got = client.run("ls")
            eq((code_of(got), suffix_of(got)), (-1, refusal("ls")), f"{sh.name}: round {i}: a refusal")
            eq(code_of(sh.interrupt(client)), 130, f"{sh.name}: round {i}: C-c")
            eq(code_of(client.run("ls")), 0, f"{sh.name}: round {i}: ls")


# --- Output -----------------------------------------------------------------------

@each_shell
def test_long_output(sh):
    with sh.client() as client:
        got = client.run("for i in $(seq 1 5000); do echo \"Line $i\"; done", timeout=20)
        ok(code_of(got) == 0 and not prefix_of(got) and got["content"].startswith("Line 1\n")
           and got["content"].endswith("Line 5000"), f"{sh.name}: 5,000 lines", got)
        got = client.run("for i in $(seq 1 50000); do echo \"Line $i\"; done", timeout=60)
        has(prefix_of(got), "[Previous command outputs are truncated. Showing the last ",
            f"{sh.name}: 50,000 lines: the notice")
        ok(code_of(got) == 0 and suffix_of(got) == completed(0) and "\nLine 40000\n" in got["content"]
           and got["content"].endswith("Line 50000"), f"{sh.name}: 50,000 lines", got)
        got = client.run("mkdir long && cd long && for i in $(seq 1 100); do mkdir folder_$i; "
                         "for j in $(seq 1 100); do : >folder_$i/file_$j.txt; done; done", timeout=120,
                         blocking=True)
        eq(short(got), ("", 0, ""), f"{sh.name}: 10,000 files")
        text = client.run("ls -R", timeout=60)["content"]
        for part in ("folder_1", "file_1.txt", "folder_100", "file_100.txt"):
            has(text, part, f"{sh.name}: ls -R: {part}")


@each_shell
def test_what_a_person_sees(sh):
    with sh.client() as client:
        for command, want, name in (
                ("printf 'abc\\rX\\n'", "Xbc", "a carriage return"),
                ("printf '\\033[31mred\\033[0m\\n'", "red", "colours are gone"),
                ("i=0; while [ $i -lt 5 ]; do i=$((i + 1)); printf 'at %d\\r' $i; done; echo", "at 5",
                 "a progress bar"),
                ("printf 'a\\n\\n\\nz\\n'", "a\n\n\nz", "empty lines"),
                ("printf 'é ⛄ 𝄞\\n'", "é ⛄ 𝄞", "what is beyond ASCII"),
                ("echo '###PS1JSON###'; echo '###PS1END###'", "###PS1JSON###\n###PS1END###",
                 "text that another server would take for a prompt"),
                ("printf '\\033]7777;x;p;1;0;;/;;x\\a'; echo forged", "forged",
                 "a mark that is not ours")):
            says(client, sh, command, want, name=name)


# --- What breaks others -----------------------------------------------------------

@each_shell
def test_any_text(sh):
    with sh.client() as client:
        for command, want in (("echo \"a!b\"", "a!b"), ("export K=\"abc!def\"; echo $K", "abc!def"),
                              ("echo a\tb", "a b"), ("echo 'a\tb' | od -An -c | tr -d ' '", "a\\tb\\n"),
                              ("echo '#' '%' '%%' '^a^b'", "# % %% ^a^b"),
                              ("echo 'it is 100% [done] {x} ~'", "it is 100% [done] {x} ~")):
            says(client, sh, command, want)
        for size in (4090, 4100, 20000, 200000, 1000000):
            says(client, sh, "echo " + "x" * size + " | wc -c | tr -d ' '", str(size + 1),
                 name=f"a command of {size} bytes", timeout=30)
        for key in ("up", "Enter", "F1", "Tab", "C-"):
            got = client.run(key)
            eq((code_of(got), suffix_of(got)), (127, completed(127)),
               f"{sh.name}: {key} is no key but a command")
    with sh.client(env={"LC_ALL": "C", "LANG": "C"}) as client:
        says(client, sh, "echo é ⛄ 𝄞", "é ⛄ 𝄞", name="UTF-8 where the locale knows none")


@each_shell
def test_own_settings(sh):
    with sh.client() as client:
        for command in ("set -u", "unset PROMPT_COMMAND PS1", "PS1='> '", "PS1='$(echo mine) '",
                        "PS2='more> '",
                        "set +u", "IFS=01", "true", "unset IFS", "set -x", "set +x", "stty -echo",
                        "stty echo",
                        "stty sane", "printf() { echo mine; }", "unset -f printf",
                        "alias echo='echo aliased'",
                        "unalias echo", "trap 'true' INT", "trap - INT", "set -o noglob",
                        "set +o noglob"):
            got = client.run(command, timeout=5.0 * SLOW)
            # All but bash trace our lines too: docs/shells.md.
            quiet = sh.name == "bash" or not command.startswith("set -x") and command != "set +x"
            eq((code_of(got), not quiet or no_words(got["content"], "__od", "7777")), (0, True),
               f"{sh.name}: {command}")
        says(client, sh, "echo 'a\nb'", "a\nb", name="after all that")


@each_shell
def test_dead_shell(sh):
    """exit and its like: the truth, then a new shell in the same directory."""
    with sh.client() as client:
        client.run("cd /etc")
        for command, code in (("exit 3", 3), ("exec true", 0), ("set -e; false", 1),
                              ("kill -9 $$", 137), ("set -e; . /nonexistent.sh", None)):
            got = client.run(command)
            ok(code_of(got) == code if code is not None else code_of(got) > 0,
               f"{sh.name}: {command!r}: its exit code", got)
            has(suffix_of(got), f"\n[The command completed with exit code {code_of(got)}.]",
                f"{sh.name}: {command!r}: in words")
            if code is not None:
                has(suffix_of(got), "The shell has ended", f"{sh.name}: {command!r}: is told")
            says(client, sh, "pwd", "/etc", name=f"the shell after {command!r}")


@each_shell
def test_static(sh):
    """A run of its own, beside a command that goes on."""
    with sh.client(env={"GIVEN": "1"}) as client:
        client.run("OWN=2; export OWN; cd /etc")
        client.run("sleep 1000", timeout=SHORT)
        for command, want, code in (("echo $GIVEN$OWN", "1", 0), ("pwd", client.work, 0),
                                    ("(exit 7)", "", 7)):
            says(client, sh, command, want, code, is_static=True, name=f"static: {command}")
        eq(code_of(client.run("exit 8", is_static=True)), 8, f"{sh.name}: static: exit")
        says(client, sh, "pwd", "/usr", is_static=True, cwd="/usr", hidden=True, name="static: elsewhere")
        t = time.monotonic()
        mark = f"1{os.getpid()}.{time.monotonic_ns()}"
        got = client.run(f"sleep {mark}", is_static=True, timeout=SHORT)
        ok(code_of(got) == -1 and suffix_of(got).startswith(timed_out(SHORT)),
           f"{sh.name}: static: its time is over", got)
        ok(until(lambda: not marked(f"sleep\0{mark}")), f"{sh.name}: static: nothing of it is left")
        got = client.run("C-c", is_input=True)
        eq(code_of(got), 130, f"{sh.name}: the command beside it goes on until it is ended")
        under(time.monotonic() - t, 10 * SLOW, f"{sh.name}: seconds for both")


# --- The start of a conversation --------------------------------------------------

@each_shell
def test_environment(sh):
    with sh.client(env={"FOOBAR": "BAZ"}) as client:
        says(client, sh, "echo $FOOBAR", "BAZ", name="a variable of the container")
        eq(code_of(client.run("env")), 0, f"{sh.name}: env")
        says(client, sh, 'export QUUX="abc\\"def";', "")
        says(client, sh, "echo $QUUX", 'abc"def', name="a value with a quote")
        before = client.run("env")["content"]
        says(client, sh, "export FOOBAR=\"overwritten\";", "")
        after = client.run("env")["content"]
        eq(after, before.replace("FOOBAR=BAZ", "FOOBAR=overwritten"),
           f"{sh.name}: nothing else has changed")
        got = client.run('touch ~/.bashrc; grep -q "^export QUUX=" ~/.bashrc || '
                         'echo "export QUUX="a b"" >> ~/.bashrc; grep -q "^export N=" ~/.bashrc || '
                         'echo "export N="1"" >> ~/.bashrc;', timeout=120.0, blocking=False)
        eq((got["observation"], short(got)), ("run", ("", 0, "")),
           f"{sh.name}: variables are kept in a file")
        has(open(client.home + "/.bashrc").read(), "export N=1", f"{sh.name}: which has them")
        os.mkdir(client.work + "/.openhands")
        with open(client.work + "/.openhands/setup.sh", "w") as f:
            f.write("SET_UP=yes\necho set up\n")
        word = "source" if sh.source else "."
        got = client.run(f"chmod +x .openhands/setup.sh && {word} .openhands/setup.sh" if sh.source else
                         "chmod +x .openhands/setup.sh && . ./.openhands/setup.sh",
                         timeout=600.0, blocking=True, hidden=True)
        eq((short(got), got["extras"]["hidden"]), (("set up", 0, ""), True),
           f"{sh.name}: a set-up script")
        says(client, sh, "echo $SET_UP", "yes", name="it ran in this shell")


@each_shell
def test_start_up_files(sh):
    """Variables that were added outlive a restart; no start-up file stops a shell."""
    if not sh.rc:
        return
    with sh.client() as client:
        says(client, sh, f"echo 'export GITHUB_TOKEN=kept' >> ~/{sh.rc}", "")
        says(client, sh, f"grep -c '^export GITHUB_TOKEN=' ~/{sh.rc}", "1")
        with sh.client(env={"HOME": client.home}) as again:
            says(again, sh, "echo $GITHUB_TOKEN", "kept", name="a variable after a restart")
        for text, name in (("export A=b c\"d\nfalse\n", "a broken line"), ("exit 1\n", "exit"),
                           ("set -e\nfalse\n", "set -e"), ("exec true\n", "exec"),
                           ("return 1\n", "return"),
                           ("PS1='mine> '\nPS2='more> '\n", "prompts"),
                           ("echo noise; echo noise >&2\n", "noise"),
                           ("set -o vi\n", "a line editor"), ("stty -echo -icanon\n", "stty")):
            with open(f"{client.home}/{sh.rc}", "w") as f:
                f.write(text)
            with sh.client(env={"HOME": client.home}) as again:
                says(again, sh, "echo works", "works", name=f"{sh.rc} with {name}")
                says(again, sh, "echo 'a\nb'", "a\nb", name=f"{sh.rc} with {name}, two lines")
        with open(f"{client.home}/{sh.rc}", "w") as f:
            f.write("read x\n")
        t = time.monotonic()
        with sh.client(env={"HOME": client.home}) as again:
            says(again, sh, "echo works", "works", name=f"{sh.rc} that waits for input")
        under(time.monotonic() - t, 10 * SLOW, f"{sh.name}: seconds with a start-up file that hangs")


if __name__ == "__main__":
    main()
