#!/usr/bin/env python3
"""The run action: a shell that keeps its state, in the words of the contract."""
import json
import os
import shutil
import socket
import threading
import time

from harness import (DEADLINE, ME, SLOW, Client, Gate, action, eq, has, main, ok, request, skip, under,
                     until)
from contract import PREVIOUS, WHAT_NOW, code_of, prefix_of, refusal, suffix_of


def observation(client, command, content, code, prefix="", suffix=None, hidden=False, cwd=None,
                pid=-1):
    """The whole answer as the contract has it, byte by byte."""
    known = code != -1
    if suffix is None:
        suffix = f"\n[The command completed with exit code {code}.]"
    metadata = {
        "exit_code": code, "pid": pid, "username": ME if known else None,
        "hostname": socket.gethostname().split(".")[0] if known else None,
        "working_dir": (cwd or client.work) if known else None,
        "py_interpreter_path": (shutil.which("python") or "") if known else None,
        "prefix": prefix, "suffix": suffix}
    return json.dumps(
        {"message": f"Command `{command}` executed with exit code {code}.", "observation": "run",
         "content": content,
         "extras": {"command": command, "metadata": metadata, "hidden": hidden},
         "success": code == 0}, separators=(",", ":"), ensure_ascii=False).encode()


def exact(client, want, name, command, timeout=10.0, **args):
    body = action("run", timeout, command=command, **args)
    answer = client.ask(request("POST", "/execute_action", body), timeout * SLOW + DEADLINE)
    return eq(answer.body, want, name)


def test_finished_commands():
    with Client() as client:
        exact(client, observation(client, "echo hi", "hi", 0), "a command that succeeds",
              "echo hi", blocking=False)
        exact(client, observation(client, "ls /nope",
                                  "ls: cannot access '/nope': No such file or directory", 2),
              "a command that fails", "ls /nope")
        exact(client, observation(client, "true", "", 0), "a command without output", "true")
        exact(client, observation(client, "echo é ⛄ 𝄞", "é ⛄ 𝄞", 0),
              "what is beyond ASCII stands as it is", "echo é ⛄ 𝄞")
        exact(client, observation(client, "printf '\\042\\134\\011x\\n'", "\"\\      x", 0),
              "quotes, backslashes and tabs", "printf '\\042\\134\\011x\\n'")
        exact(client, observation(client, "(exit 255)", "", 255), "the largest exit code", "(exit 255)")
        exact(client, observation(client, "no_such", "bash: no_such: command not found", 127),
              "an unknown command", "no_such")
        exact(client, observation(client, "echo h", "h", 0, hidden=True), "a hidden command",
              "echo h", hidden=True)
        exact(client, observation(client, "echo  a", "a", 0), "blanks around it are cut off",
              "  echo  a \n")
        exact(client, observation(client, "cd /etc", "", 0, cwd="/etc"), "the new directory is told",
              "cd /etc")


def test_state_is_kept():
    with Client() as client:
        for command, want in (("A=1; export B=2", ""), ("echo $A$B", "12"), ("mkdir d && cd d", ""),
                              ("pwd", client.work + "/d"), ("f() { echo called $1; }", ""),
                              ("f x", "called x"), ("alias ll='echo aliased'", ""), ("ll", "aliased"),
                              ("set -o pipefail; false | true", ""), ("echo $?", "1"),
                              ("umask 027; umask", "0027"), ("cd ..; ls", "d"),
                              ("echo one; echo two >&2", "one\ntwo"), ("test -t 0 && echo tty", "tty"),
                              ("export K=\"abc!def\"; echo $K", "abc!def"),
                              ("for i in 1 2; do\n  echo $i\ndone", "1\n2"),
                              ("cat <<'E'\na\tb $x\nE", "a       b $x"),
                              ("echo -n no newline", "no newline"), ("echo \"a\nb\"", "a\nb"),
                              ("find . -maxdepth 0 -exec echo {} \\;", ".")):
            got = client.run(command)
            eq(got["content"], want, f"{command!r}")
        big = "echo " + "x" * 1000000 + " | wc -c"
        eq(client.run(big)["content"], "1000001", "a command of a million bytes")
        first, second = client.run("env | sort")["content"], client.run("env | sort")["content"]
        eq(first, second, "the environment is the same each time")


def test_hard_timeout_and_polling():
    with Client() as client:
        one, two = Gate(client), Gate(client)
        command = f"echo 1; read x <{one}; echo 2; read x <{two}; echo 3"
        timed_out = f"\n[The command timed out after 0.5 seconds. {WHAT_NOW}]"
        exact(client, observation(client, command, "1", -1, suffix=timed_out),
              "output and the end of patience", command, timeout=0.5)
        exact(client, observation(client, "ls", "", -1, PREVIOUS, refusal("ls")),
              "a new command is refused", "ls", timeout=2.5)
        exact(client, observation(client, "C-c", "", -1, PREVIOUS, refusal("C-c")),
              "so is a key without is_input", "C-c")
        one.go()
        got = client.run("", timeout=0.5)
        eq((got["content"], prefix_of(got), suffix_of(got), got["extras"]["command"]),
           ("2", PREVIOUS, timed_out, ""), "a poll gives what is new")
        t = time.monotonic()
        thread = threading.Timer(0, two.go)
        thread.start()
        got = client.run("", timeout=30)
        thread.join()
        eq((got["content"], prefix_of(got), suffix_of(got), code_of(got)),
           ("3", "", "\n[The command completed with exit code 0.]", 0), "until it is completed")
        under(time.monotonic() - t, 5 * SLOW, "seconds; the poll ends with the command")
        for text, name in ((1.0, "1.0"), (0.25, "0.25")):
            got = client.run("read x", timeout=text)
            has(suffix_of(got), f"timed out after {name} seconds.", f"timeout {text} is written so")
            client.run("C-c", is_input=True)
        integer = request("POST", "/execute_action",
                          b'{"action":{"action":"run","args":{"command":"read x"},"timeout":1}}')
        has(suffix_of(client.ask(integer).json()), "timed out after 1.0 seconds.", "an integer as well")
        client.run("C-c", is_input=True)


def test_nothing_to_poll():
    none = "ERROR: No previous running command to retrieve logs from."
    with Client() as client:
        exact(client, observation(client, "", none, -1, suffix=""), "nothing to poll", "")
        exact(client, observation(client, "", "ERROR: No previous running command to interact with.",
                                  -1, suffix=""), "nothing to talk to", "hello", is_input=True)
        client.run("echo x")
        exact(client, observation(client, "", none, -1, suffix=""), "nor after a command", "")


def test_no_change():
    with Client(env={"NO_CHANGE_TIMEOUT_SECONDS": "1"}) as client:
        command = "read -p 'Enter name: ' name && echo Hello $name"
        silent = f"\n[The command has no new output after 1 seconds. {WHAT_NOW}]"
        exact(client, observation(client, command, "Enter name:", -1, suffix=silent),
              "a prompt, then silence", command, timeout=30)
        got = client.run("John", is_input=True)
        eq((got["content"].splitlines()[-1], code_of(got)), ("Hello John", 0), "the answer is typed in")
        gate = Gate(client)
        thread = threading.Timer(1.5, gate.go)
        thread.start()
        got = client.run(f"read x <{gate}; echo $x", timeout=30, blocking=True)
        thread.join()
        eq((got["content"], code_of(got)), ("go", 0), "a blocking command may be silent for longer")
        got = client.run("for i in 1 2 3 4 5 6; do echo $i; read -t 0.4 x; done; true", timeout=30)
        eq((got["content"].split(), code_of(got)), (list("123456"), 0), "output starts the wait anew")


def test_keys():
    with Client() as client:
        has(suffix_of(client.run("cat", timeout=0.3)), "timed out", "cat waits for input")
        client.run("typed", is_input=True, timeout=0.3)
        got = client.run("C-d", is_input=True)
        eq((code_of(got), suffix_of(got)),
           (0, "\n[The command completed with exit code 0. CTRL+D was sent.]"), "C-d ends its input")
        client.run("while true; do read -t 10 x; done", timeout=0.3)
        got = client.run("C-c", is_input=True)
        eq((got["content"], code_of(got), suffix_of(got)),
           ("^C", 130, "\n[The command completed with exit code 130. CTRL+C was sent.]"),
           "C-c interrupts")
        got = client.run("C-c")
        eq((got["content"], code_of(got)), ("^C", 130), "C-c in an idle shell")
        client.run("sleep 1000", timeout=0.3)
        got = client.run("C-z", is_input=True)
        eq(code_of(got), 148, "C-z stops")
        has(got["content"], "Stopped", "and the shell says so")
        has(client.run("kill -9 %1; echo on")["content"], "on", "the shell works on")
        client.run("wait")
        client.run("python3 -c 'input()' || echo died", timeout=0.3)
        got = client.run("C-\\", is_input=True)
        has(got["content"], "died", "C-\\ quits")


def test_interactive_programs():
    with Client() as client:
        code = "a = input('a? '); b = input('b? '); print(a + b)"
        got = client.run(f'python3 -c "{code}"', timeout=5)
        eq(code_of(got), -1, "a program asks")
        has(got["content"], "a?", "its question is seen")
        got = client.run("x", timeout=5)
        has(suffix_of(got), "NOT executed", "an answer without is_input is refused")
        has(client.run("x", is_input=True, timeout=1)["content"], "b?", "the next question")
        got = client.run("y", is_input=True, timeout=5)
        eq((got["content"].splitlines()[-1], code_of(got)), ("xy", 0), "the result")
        got = client.run("python3 -c 'import sys; print(sys.stdin.isatty(), sys.stdout.isatty())'")
        eq(got["content"], "True True", "programs see a terminal")


def test_output():
    with Client() as client:
        got = client.run("seq 5000", timeout=60)
        has(got["content"], "\n[... Observation truncated due to length ...]\n"
            if len("\n".join(map(str, range(1, 5001)))) > 30000 else "5000", "5,000 lines")
        got = client.run("for i in $(seq 1 50000); do echo \"Line $i\"; done", timeout=60)
        eq(code_of(got), 0, "50,000 lines")
        has(prefix_of(got), "[Previous command outputs are truncated. Showing the last ",
            "the notice about lines left out")
        has(got["content"], "Line 40000", "a line from the middle is there")
        has(got["content"], "Line 50000", "and the last one")
        eq(len(got["content"]), 30047, "cut to the contract's length")
        got = client.run("seq 1 20000", hidden=True, timeout=60)
        lines = got["content"].splitlines()
        eq((lines[-1], len(got["content"]) > 30047), ("20000", True), "a hidden command is not cut")
        for command, want, name in (
                ("printf 'abc\\rX\\n'", "Xbc", "a carriage return"),
                ("printf '\\033[31mred\\033[0m\\n'", "red", "colours are gone"),
                ("printf 'ab\\bc\\n'", "ac", "a backspace"),
                ("for i in 1 2 3; do printf 'at %d\\r' $i; done; echo", "at 3", "a progress bar"),
                ("printf '\\377' | od -An -tx1", " ff", "bytes are not changed on the way"),
                ("printf '%2500s\\n' x | tr ' ' y", "y" * 2499 + "x", "a long line is one line"),
                ("printf 'a\\n\\n\\nz\\n'", "a\n\n\nz", "empty lines in the middle")):
            eq(client.run(command)["content"], want, name)
        got = client.run("printf 'a\\377b\\n'")
        ok(got["content"] in ("a\ufffdb", "ab"), "invalid UTF-8 is repaired", got["content"])


def test_background():
    with Client() as client:
        got = client.run("sleep 1000 &")
        pid = got["extras"]["metadata"]["pid"]
        ok(pid > 0 and str(pid) in got["content"] and code_of(got) == 0,
           "a background job: its process is told", got)
        eq(client.run("echo now")["content"], "now", "and the shell is free")
        got = client.run("kill %1; wait; echo done")
        has(got["content"], "done", "it can be ended")
        eq(client.run("pkill -f 'no such process of mine'; echo $?")["content"], "1",
           "no process carries the command's text")


def test_read_beside_run():
    with Client() as client:
        client.act("write", path="f", content="text")
        gate = Gate(client)
        waiting = client.conn()
        waiting.send(request("POST", "/execute_action",
                             action("run", command=f"touch on; read x <{gate}; echo $x")))
        ok(until(lambda: os.path.exists(client.work + "/on")), "a command runs")
        t = time.monotonic()
        eq(client.act("read", path="f")["content"], "text\n", "a read is answered meanwhile")
        eq(client.act("write", path="g", content="")["observation"], "write", "and a write")
        eq(client.get("/alive").status, 200, "and /alive")
        under(time.monotonic() - t, 0.5 * SLOW, "seconds for the three")
        ok(waiting.idle(), "the command still runs")
        gate.go()
        eq(waiting.response().json()["content"], "go", "and ends when it likes")
        waiting.close()


def test_two_clients():
    """Two clients of one shell: commands wait their turn, none is lost or mixed."""
    with Client() as client:
        gate = Gate(client)
        one, two = client.conn(), client.conn()
        one.send(request("POST", "/execute_action",
                         action("run", command=f"touch on; read x <{gate}; echo one")))
        until(lambda: os.path.exists(client.work + "/on"))
        two.send(request("POST", "/execute_action", action("run", command="echo two")))
        eq(client.get("/alive").status, 200, "both are waiting")
        ok(one.idle() and two.idle(), "neither is answered before its turn")
        gate.go()
        eq(one.response().json()["content"], "one", "the first is answered")
        eq(two.response().json()["content"], "two", "then the second")
        results = {}

        def talk(name):
            with client.conn() as c:
                results[name] = [client.run(f"echo {name}{i}", conn=c)["content"]
                                 for i in range(50)]
        threads = [threading.Thread(target=talk, args=(n,)) for n in "abcd"]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        eq(results, {n: [f"{n}{i}" for i in range(50)] for n in "abcd"},
           "four at once: every answer is its own")
        gate = Gate(client)
        hanging = client.conn()
        hanging.send(request("POST", "/execute_action",
                             action("run", command=f"touch on2; read x <{gate}; echo late")))
        until(lambda: os.path.exists(client.work + "/on2"))
        hanging.reset()
        got = until(lambda: (lambda o: "NOT executed" in suffix_of(o) and o)(
            client.run("echo third", timeout=0.3)))
        ok(got, "the command of one who left goes on")
        gate.go()
        has(client.run("", timeout=10)["content"], "late", "its output waits for the next to ask")
        for c in (one, two):
            c.close()


def test_wrong_arguments():
    with Client() as client:
        for args, name in (({}, "no command"), ({"command": None}, "null"), ({"command": 1}, "a number"),
                           ({"command": ["ls"]}, "a list"), ({"command": "a\0b"}, "a NUL byte")):
            got = client.act("run", **args)
            eq(got["observation"], "error", f"{name}: an error observation")
            got = client.act("run", hidden=True, **args)
            ok(got["observation"] == "run" and got["extras"]["hidden"] is True
               and code_of(got) != 0 and got["content"] and "command" in got["extras"],
               f"{name}, hidden: a run observation with the reason", got)
        for cwd in ("/" * 4096, "tmp", "a\0b", 1, {"a": 1}):
            got = client.run("pwd", is_static=True, cwd=cwd)
            ok(got["observation"] == "error" and '"cwd"' in got["content"],
               f"a static run in {str(cwd)[:9]!r}: an error observation", got)
        eq(client.run("pwd", is_static=True, cwd="/etc")["content"], "/etc", "a static run elsewhere")
        got = client.run("pwd", is_static=True, cwd="/nowhere/at/all")
        ok(got["observation"] == "error" and "entering a directory" in got["content"],
           "a static run in a directory that is not there", got)
        eq(code_of(client.run("", is_static=True)), 0, "a static run of nothing")
        got = client.run("echo hi", thought="x", confirmation_state="confirmed", security_risk=-1,
                         is_input=False, keep_prompt=True, unknown={"a": [1]})
        eq(got["content"], "hi", "other arguments are let pass")
        body = json.dumps({"action": {"id": 5, "timestamp": "2025-01-02T03:04:05", "source": "agent",
                           "message": "x", "action": "run", "args": {"command": "echo hi"},
                           "timeout": None, "tool_call_metadata": {"a": {}}, "llm_metrics": {}},
                           "more": 1}).encode()
        eq(client.post("/execute_action", body).json()["content"], "hi", "the backend's whole envelope")
        for name in ("browse", "browse_interactive", "edit"):
            got = client.act(name, code="1", url="x", browser_actions="noop()", path="/x",
                             command="view")
            eq(got["observation"] in ("error", name, "browse"), True, f"{name}: a truthful observation")


def test_line_editor():
    """A user's start-up files may turn on what noediting has turned off."""
    with Client() as client:
        client.run("echo 'set -o vi' >~/.bashrc; printf 'set editing-mode vi\\nset keymap vi-insert\\n"
                   "\"jk\": vi-movement-mode\\n' >~/.inputrc")
        client.run("exit")
        exact(client, observation(client, "echo jkl", "jkl", 0), "a key binding in a command",
              "echo jkl")
        for command, want in (("cat <<'E' | od -An -c | tr -d ' '\n\tx\n\t\ty\nE", "\\tx\\n\\t\\ty\\n"),
                              ("echo a\tb", "a b")):
            eq(client.run(command)["content"], want, "tabs with a line editor")
    with Client() as client:
        with open(client.work + "/rc", "w") as f:
            f.write("set -o emacs\n")
        for command, want in ((". ./rc", ""), ("echo x", "x"), ("echo y", "y")):
            got = client.run(command, timeout=5.0)
            eq((got["extras"]["metadata"]["exit_code"], got["content"]), (0, want),
               f"{command}: a line editor that comes later")


def test_own_settings():
    """What breaks a wrapper that is written carelessly."""
    with Client() as client:
        for command in ("set -u", "unset PROMPT_COMMAND", "echo $-", "set +u", "IFS=01", "echo x", "false",
                        "true", "unset IFS", "readonly PS2='> '"):
            got = client.run(command, timeout=5.0)
            eq(got["extras"]["metadata"]["exit_code"], int(command == "false"), command)
        eq(client.run("echo 'a\nb'")["content"], "a\nb", "no second prompt in the output")
        client.run("sleep 1", timeout=0.2)
        client.run("head -n 1 >/dev/null", is_input=True, timeout=0.2)
        client.run("cat >w <<'E'\ntouch bad\nE", timeout=5.0)
        ok(not os.path.exists(client.work + "/bad"), "data is never executed")


def test_start_up_conversation():
    """What the backend says before an agent may work."""
    with Client("--plugins", "jupyter", env={"EXISTING": "1"}) as client:
        eq(client.get("/alive").status, 200, "alive")
        eq(client.post("/execute_action", action("run_ipython", 120.0, code="import os\n\n",
                                                 include_extra=True)).status, 200,
           "an IPython cell is answered with 200")
        value = json.dumps('quo"te $HOME back\\slash é')
        commands = (
            f'export FOO={value}; export BAR="a!b";',
            'touch ~/.bashrc; grep -q "^export FOO=" ~/.bashrc || echo "export FOO='
            '"a b"" >> ~/.bashrc; grep -q "^export BAR=" ~/.bashrc || echo "export BAR="1"" '
            '>> ~/.bashrc;',
            'git config --global user.name "openhands" && git config --global user.email '
            '"openhands@all-hands.dev"',
            'alias git="git --no-pager"',
            'git init -q . && git config --global --add safe.directory /workspace')
        has_git = shutil.which("git")
        for command in commands:
            if "git " in command and not has_git:
                skip(command[:30], "git is not installed")
                continue
            got = client.run(command, timeout=120.0, blocking=False)
            ok(got["observation"] == "run" and code_of(got) == 0, f"exit 0: {command[:40]}", got)
        eq(client.run("echo $BAR $EXISTING")["content"], "a!b 1", "the variables are set")
        has(open(client.home + "/.bashrc").read(), "export BAR=1", "and kept in ~/.bashrc")
        has(client.act("read", path=".openhands/setup.sh")["content"], "File not found",
            "what is not there is said so")
        got = client.act("read", path="/workspace-x/.openhands_instructions")
        eq(got["observation"], "error", "absent instructions are an error observation")


def test_hidden_errors():
    """A hidden run is always answered by a run observation."""
    with Client() as client:
        for command in ("false", "", "no_such_command", "exit 3"):
            got = client.run(command, hidden=True)
            eq((got["observation"], got["extras"]["hidden"]), ("run", True), f"hidden {command!r}")
        got = client.run("input", hidden=True, is_input=True)
        eq((got["observation"], got["extras"]["hidden"]), ("run", True), "hidden input for nobody")
        client.run("sleep 1000", timeout=0.2)
        eq(client.run("ls", hidden=True)["observation"], "run", "a hidden run refused")
        eq(client.run("C-c", is_input=True, hidden=True)["observation"], "run", "a hidden key")


def test_shell_ends():
    with Client() as client:
        client.run("cd /etc")
        got = client.run("exit 3")
        eq(code_of(got), 3, "exit: its status")
        got = client.run("pwd")
        eq((got["content"], code_of(got)), ("/etc", 0), "the next command has a new shell there")
        for command in ("exec true", "set -e; false", "kill -9 $$"):
            client.run(command)
            eq(client.run("echo alive")["content"], "alive", f"a shell after {command!r}")


if __name__ == "__main__":
    main()
