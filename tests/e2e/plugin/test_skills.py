#!/usr/bin/env python3
"""The skills, as commands in the shells of a session."""
import ast
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import PLUGINS, SLOW, TOP, WRAP, Client, children, eq, has, main, ok, proc, skip, until

CALLS = os.path.join(TOP, "..", "shared", "data", "agentskills", "fileops.txt")


def tree(top):
    files = {"e.txt": "", "one.txt": "x", "crlf.txt": "a\r\nb\r\n", "vt.txt": "a\x0bb\x0cc\u2028d",
             "nl.txt": "a\n\n\n", "a.txt": "".join(f"Line {i}\n" for i in range(1, 251)),
             "bin.dat": "needle\0", "sub/n.py": "needle = 1\nneedle\n", "sub/.hid/n2.py": "needle\n",
             ".h.txt": "needle\n"}
    for name, text in files.items():
        path = os.path.join(top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", newline="", encoding="utf-8") as f:
            f.write(text)


class Skills:
    """The commands, with a state of their own, without a server."""

    def __init__(self, top):
        self.top = top
        self.bin = os.path.join(top, "bin")
        self.work = os.path.join(top, "fo-t")
        os.mkdir(self.bin)
        os.mkdir(self.work)
        tree(self.work)

    def call(self, name, *args, given=b""):
        link = os.path.join(self.bin, name)
        if not os.path.lexists(link):
            os.symlink(PLUGINS, link)
        done = subprocess.run([*WRAP, link, *map(str, args)], cwd=self.work, capture_output=True, input=given,
                              env={**os.environ, "OD_SKILLS": self.top + "/state"})
        return done.stdout.decode(), done.returncode


def in_order(text):
    """The lines that stand in the order of a folder, which no test can know."""
    lines = text.split("\n")
    if lines[0].startswith("[Found"):
        lines[1:-2] = sorted(lines[1:-2])
    return lines


def recorded():
    """The calls of a session that was recorded: the line, name(args), what it printed."""
    with open(CALLS, encoding="utf-8") as f:
        calls = f.read().split("\n>>> ")
    for text in filter(None, (c.removeprefix(">>> ").strip("\n") for c in calls)):
        head, _, want = text.partition("\n")
        yield (head, *re.match(r"(\w+)\((.*?)\)( =>.*)?$", head).groups()[:2], want)


def check(got, want, head):
    """Of a long text the record has the first four lines, the last four and their number."""
    if want.startswith("["):
        first, last, n = re.match(r"(\[.*?\]) … (\[.*\]) (\d+)$", want, re.S).groups()
        lines = got.split("\n")
        eq((lines[:4], lines[-4:], len(lines)),
           (ast.literal_eval(first), ast.literal_eval(last), int(n)), head)
    else:
        eq(in_order(got), in_order(ast.literal_eval(want)), head)


def test_calls():
    """Each call prints what it printed then."""
    if not os.path.exists(CALLS):
        skip("recorded calls", "../shared/data/agentskills is not here")
        return
    if WRAP:
        skip("recorded calls", "a wrapper hides the name of the program")
        return
    top = tempfile.mkdtemp(prefix="od-skills-")
    skills = Skills(top)
    for head, name, args, want in recorded():
        values = ast.literal_eval(f"[{args}]")
        if "EXC" in head:
            # A broken link ends the search of others; here it is passed over.
            os.symlink("nowhere", skills.work + "/brk")
            got, code = skills.call(name, *values)
            ok(code == 0 and "[Found 4 matches" in got, head, got)
            os.unlink(skills.work + "/a.txt")
            continue
        if name == "open_file" and values[1:2] == ["1"]:
            values[1] = "'1'"
        got, code = skills.call(name, *values)
        check(got.replace(skills.work, "/tmp/fo-t"), want, head)
        eq(code, 1 if "ERROR:" in want else 0, "its exit code")
    shutil.rmtree(top)


CAPTURE = """
import contextlib, io
def capture(function, *args):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        value = function(*args)
    return out.getvalue(), value
"""
NAMES = ("openhands.runtime.plugins.agent_skills.agentskills", "agentskills",
         "openhands.runtime.plugins.agent_skills.file_ops", "opendevin.runtime.plugins.agent_skills.agentskills")


def pythons():
    """The one that runs this, and the oldest that will do."""
    yield sys.executable
    old = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.6.*/bin/python3")))
    if old:
        yield old[0]
    else:
        skip("skills in Python 3.6", "pyenv has not got it")


def kernel(python, *plugins):
    client = Client("--plugins", *plugins, env={"OD_PYTHON": python})
    tree(client.work)
    return client


def cell(client, code):
    return client.act("run_ipython", 60 * SLOW, code=code, include_extra=False)["content"]


def test_cells():
    """The skills as functions: each call in a cell prints what it printed then."""
    if not os.path.exists(CALLS):
        skip("recorded calls in cells", "../shared/data/agentskills is not here")
        return
    with kernel(sys.executable, "agent_skills", "jupyter") as client:
        cell(client, CAPTURE)
        for head, name, args, want in recorded():
            if "EXC" in head:
                os.symlink("nowhere", client.work + "/brk")
            text, value = ast.literal_eval(cell(client, f"print(repr(capture({name}, {args})))"))
            if "EXC" in head:
                has(text, "[Found 4 matches", f"in a cell: {head}")
                os.unlink(client.work + "/a.txt")
            else:
                check(text.replace(client.work, "/tmp/fo-t"), want, f"in a cell: {head}")
            eq(value, None, "...and returns None")


def test_python():
    """Signatures, imports, the editor, a restart."""
    for python in pythons():
        with kernel(python, "agent_skills", "jupyter") as client:
            got = cell(client, "import inspect\nfor f in (open_file, goto_line, search_dir, search_file, "
                       "file_editor):\n    print(f.__name__, inspect.signature(f), bool(f.__doc__))")
            want = ("open_file (path: str, line_number: int | None = 1, context_lines: int | None = 100) -> None True\n"
                    "goto_line (line_number: int) -> None True\n"
                    "search_dir (search_term: str, dir_path: str = './') -> None True\n"
                    "search_file (search_term: str, file_path: str | None = None) -> None True\n"
                    "file_editor (command, path, file_text=None, view_range=None, old_str=None, new_str=None, "
                    "insert_line=None, enable_linting=False) -> str True")
            # Older ones have other blanks, and no | of types.
            eq(re.sub("[ ']", "", got), re.sub("[ ']", "", want), f"{python}: signatures")
            path = os.path.join(client.work, "new")
            for args, want in (
                    (f"command='create', path={path!r}, file_text='one\\ntwo é\\n'", "File created successfully at: "),
                    (f"**{{'command': 'view', 'path': {path!r}, 'view_range': [2, -1]}}", "     2\ttwo é\n"),
                    (f"'str_replace', {path!r}, old_str='one', new_str='1'", " has been edited. Here's the result"),
                    (f"'insert', {path!r}, insert_line=0, new_str='0'", "     1\t0\n     2\t1\n"),
                    (f"'undo_edit', {path!r}", "undone successfully"),
                    (f"'view', {path + 'x'!r}", "does not exist. Please provide a valid path."),
                    ("'view', 'new'", "The path should be an absolute path")):
                got = cell(client, f"print(file_editor({args}))")
                answer = re.fullmatch(r"<(oh_aci_output_[0-9a-f]{32})>\n(.*)\n</\1>", got, re.S)
                has(answer and json.loads(answer[2])["formatted_output_and_error"], want, f"file_editor({args[:30]}")
            has(cell(client, "file_editor('view')"), "TypeError", "an argument is missing")
            has(cell(client, "open_file('a\\0b')"), "ValueError: open_file does not take these arguments", "a NUL")
            eq(cell(client, "open_file('a.txt', True, 2)").split("\n")[2], "1|Line 1", "True is a 1")
            client.run("cd sub")
            has(cell(client, "search_dir('needle')"), "./n.py (Line 2): needle", "the folder of the shell")
            eq(client.run("goto_line 1")["content"], "ERROR: No file open. Use the open_file function first.",
               "a shell has a state of its own")
            cell(client, "import os; os.environ.clear()")
            has(cell(client, "goto_line(7)"), "\n7|Line 7\n", "an environment that was cleared")
            for name in NAMES:
                has(cell(client, f"from {name} import *\nimport {name} as m\nm.goto_line(3)"), "\n3|Line 3\n", name)
            has(cell(client, "import openhands.nothing"), "No module named 'openhands.nothing'", "and no other name")
            has(cell(client, "import os; os._exit(3)"), "[Kernel died (exit status 3). It was restarted", "a new kernel")
            eq(cell(client, "scroll_down()"), "ERROR: No file open. Use the open_file function first.",
               "...has them again")
    with kernel(sys.executable, "jupyter") as client:
        has(cell(client, "open_file('a.txt')"), "NameError: name 'open_file' is not defined", "not asked for")
        os.mkdir(client.work + "/agentskills")
        with open(client.work + "/agentskills/__init__.py", "w", encoding="utf-8") as f:
            f.write("def open_file(path): print('mine')\n")
        eq(cell(client, "from agentskills import *\nopen_file('a.txt')"), "mine", "a module of the user goes first")
        eq(cell(client, f"from {NAMES[0]} import *\nopen_file('one.txt')").split("\n")[2], "1|x",
           "...and ours can be imported")


def test_no_python():
    """Without a Python the same calls are executed, and nothing of what is more than calls."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        skip("no Python", "needs root and unshare, to hide the interpreters")
        return
    hide = [p for p in ("/usr/bin/python3", "/usr/local/bin/python3", "/opt/conda/bin/python") if os.path.exists(p)]
    binds = "; ".join(f"mount --bind /dev/null $(readlink -f {p})" for p in hide) or "true"
    prefix = ["unshare", "-m", "sh", "-c", binds + '; exec "$@"', "sh"]
    with Client("--plugins", "agent_skills", "jupyter", prefix=prefix, env={"PATH": "/bin:/sbin"}) as client:
        tree(client.work)
        for head, name, args, want in recorded() if os.path.exists(CALLS) else ():
            if "EXC" in head:
                break
            check(cell(client, f"{name}({args})").replace(client.work, "/tmp/fo-t") + "\n", want,
                  f"without a Python: {head}")
        path = client.work + "/new"
        got = cell(client, f"from agentskills import *\nfile_editor('create', {path!r}, 'a\\n')\n"
                   f"print(file_editor(**{{'command': 'view', 'path': {path!r}}}))\nprint('it is' ' done')  # so\n")
        has(got, "     1\\ta\\n", "file_editor")
        ok(got.endswith("\nit is done") and got.count("<oh_aci") == 1, "...one is printed, the other is not", got)
        got = ast.literal_eval(cell(client, f"file_editor('undo_edit', {path!r})"))
        has(got, f"Last edit to {path} undone successfully.", "the result of a cell; the history is kept")
        eq(cell(client, "goto_line()\nscroll_up()"),
           "TypeError: goto_line() missing a required argument: 'line_number'", "an error ends the cell")
        has(cell(client, "open_file('a\\0')"), "ValueError: these are no arguments for open_file", "a NUL")
        got = cell(client, f"file_editor('create', {path + '2'!r}, '')\nimport os")
        has(got, "[No Python interpreter was found in this sandbox. Only agentskills", "another cell")
        ok(not os.path.exists(path + "2"), "...and nothing of it was executed")
        eq(cell(client, "# nothing"), "[Code executed successfully with no output]", "an empty cell")
        got = client.act("run_ipython", 0.5, code="search_dir('no such' ' text', '/')", include_extra=False)
        eq(got["content"], "[Execution timed out (0.5 seconds).]", "a call that takes too long")
        eq(cell(client, "print('next')"), "next", "...is ended, and the next cell has its turn")
        ok(until(lambda: not any(b"search_dir" in proc(p, "cmdline") for p in children(client.pid)), 60 * SLOW),
           "...with its process")
        got = client.act("run_ipython", 60 * SLOW, code="scroll_up()")["content"]
        ok(got.endswith("[Jupyter Python interpreter: ]"), "no interpreter is named", got)


def test_session():
    with Client() as client:
        tree(client.work)
        def run(command, **args):
            return client.run(command, **args)["content"]
        has(run("open_file a.txt 125 4"), "123|Line 123\n124|Line 124", "a skill is a command")
        has(run("scroll_down"), "225|Line 225", "it remembers the file")
        has(run("goto_line 3"), f"[File: {client.work}/a.txt (250 lines total)]", "and the place")
        eq(run("goto_line 3", session="other"), "ERROR: No file open. Use the open_file function first.",
           "another session has a state of its own")
        has(run("cd sub; search_file --search_term 'Line 25'"), "Line 250: Line 250",
            "the open file has an absolute path; arguments have names")
        eq(run("search_dir needle; cd .."), "[Found 3 matches for \"needle\" in ./]\n"
           "./n.py (Line 1): needle = 1\n./n.py (Line 2): needle\n./.hid/n2.py (Line 1): needle\n"
           "[End of matches for \"needle\" in ./]", "files before folders")
        eq(client.run("goto_line 999")["extras"]["metadata"]["exit_code"], 1, "an error has a status")
        has(run("goto_line"), "usage: goto_line line_number", "a usage line")
        eq(client.run("scroll_up 1")["extras"]["metadata"]["exit_code"], 100, "and its status")
        has(run("parse_pdf x.pdf"), "ERROR: [No PDF text extractor available] Convert x.pdf with",
            "what is missing is said")
        run("mkdir mine; printf '#!/bin/sh\\necho mine\\n' > mine/open_file; chmod +x mine/open_file")
        eq(run('PATH="$PWD/mine:$PATH" open_file a.txt'), "mine", "a program of the image goes first")
        state = run("ls -l $OD_SKILLS-*").split("\n")
        ok(state[0].startswith("-rw-------"), "the state is the user's alone", *state)
        for path in run("echo $OD_SKILLS-*").split():
            os.unlink(path)


def test_file_editor():
    if WRAP:
        skip("file_editor", "a wrapper hides the name of the program")
        return
    top = tempfile.mkdtemp(prefix="od-skills-")
    skills = Skills(top)
    path = skills.work + "/new"

    def edit(*args, **given):
        words = ["--json"] if given else []
        text, code = skills.call("file_editor", *args, *words, given=json.dumps(given).encode())
        first, answer, last = re.match(r"(<oh_aci_output_[0-9a-f]{32}>)\n(.*)\n(</.*>)\n$", text, re.S).groups()
        eq(last, first.replace("<", "</"), "the envelope")
        eq(code, 1 if json.loads(answer)["error"] else 0, "the exit code")
        return answer

    text = f"File created successfully at: {path}"
    eq(edit(command="create", path=path, file_text="one\ntwo \u00e9\U0001f600\n"),
       f'{{"output": "{text}","error": null,"path": "{path}","prev_exist": false,"old_content": null,'
       f'"new_content": "one\\ntwo \\u00e9\\ud83d\\ude00\\n", "formatted_output_and_error": "{text}"}}',
       "create, by JSON")
    got = json.loads(edit("str_replace", path, "--old_str", "one", "--new_str", "1"))
    has(got["output"], f"The file {path} has been edited. Here's the result", "str_replace, by words")
    eq((got["prev_exist"], got["old_content"][:3], got["new_content"][:3]), (True, "one", "1\nt"), "both texts")
    for i in range(12):
        edit(command="insert", path=skills.work + "/./new", insert_line=0, new_str=f"{i}")
    got = json.loads(edit("view", path, "--view_range", "[1, 2]"))
    eq((got["output"], got["old_content"]), (f"Here's the result of running `cat -n` on {path}:\n"
       "     1\t11\n     2\t10\n", None), "view")
    for i in range(10):
        got = json.loads(edit("undo_edit", path))
    eq(got["new_content"], "1\n0\n1\ntwo \u00e9\U0001f600\n", "ten edits are undone")
    eq(edit("undo_edit", path), f'{{"output": null,"error": "No edit history found for {path}.", '
       f'"formatted_output_and_error": "ERROR:\\nNo edit history found for {path}."}}', "and no more")
    eq(json.loads(edit("view", "new"))["error"][:48], "Invalid `path` parameter: new. The path should b",
       "a relative path")
    eq(skills.call("file_editor", "view")[1], 100, "an argument is missing")
    eq(skills.call("file_editor", "--json", given=b"{")[1], 100, "what is no JSON")
    shutil.rmtree(top)


def test_many_files():
    top = tempfile.mkdtemp(prefix="od-skills-")
    skills = Skills(top)
    if WRAP:
        skip("many files", "a wrapper hides the name of the program")
        return
    os.mkdir(skills.work + "/many")
    for i in range(999):
        with open(f"{skills.work}/many/a{i}.txt", "w", encoding="utf-8") as f:
            f.write("Line\n" * 5 + "bingo\n")
    eq(skills.call("search_dir", "bingo", "many")[0], 'More than 999 files matched for "bingo" in many. '
       "Please narrow your search.\n", "too many files")
    os.mkfifo(skills.work + "/many/pipe")
    with open(skills.work + "/latin", "wb") as f:
        f.write(b"gr\xfc\xdfe needle\n")
    has(skills.call("search_dir", "gre needle", ".")[0], "./latin (Line 1): gre needle",
        "bytes that are no UTF-8 do not count")
    has(skills.call("open_file", "latin")[0], "ERROR: File " + skills.work + "/latin is not UTF-8",
        "nor can they be shown")
    shutil.rmtree(top)


main()
