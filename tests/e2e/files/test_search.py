#!/usr/bin/env python3
"""The routes /v1/glob and /v1/grep."""
import json
import os
import re
import shutil
import subprocess
import tempfile
from urllib.parse import urlencode

from harness import Client, children, eq, main, ok, proc, request, skip, until


def write(top, files):
    for name, text in files.items():
        path = os.path.join(top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())


def search(client, kind, **params):
    return client.get(f"/v1/{kind}?{urlencode(params)}")


TREE = {"a.py": "import os\nNOTE: one\n", "b.txt": "note two\nx\ny\nz\nNOTE three\n",
        "src/deep/c.py": "# NOTE four\n", ".hidden/d.py": "NOTE five\n", "bin": b"NOTE\0six",
        "build/e.py": "NOTE seven\n", ".gitignore": "build/\n"}


def test_grep():
    with Client() as client:
        write(client.work, TREE)
        answer = search(client, "grep", pattern="NOTE").json()
        eq([(r["path"], [(x["line"], x["text"]) for x in r["lines"]]) for r in answer["results"]],
           [("a.py", [(2, "NOTE: one")]), ("b.txt", [(5, "NOTE three")]),
            ("src/deep/c.py", [(1, "# NOTE four")])], "lines in the order of the paths")
        eq({k: answer[k] for k in ("path", "matches", "files_matched", "files_searched", "truncated")},
           {"path": client.work, "matches": 3, "files_matched": 3, "files_searched": 4,
            "truncated": None}, "counts")
        eq(answer["skipped"]["binary"], 1, "a binary file is counted")
        answer = search(client, "grep", pattern="note", ignore_case="true", glob="*.txt", context=1).json()
        eq([(x["line"], x["match"]) for x in answer["results"][0]["lines"]],
           [(1, True), (2, False), (4, False), (5, True)], "context")
        answer = search(client, "grep", pattern="NOTE", hidden="true", gitignore="false", mode="files").json()
        eq([r["path"] for r in answer["results"]],
           [".hidden/d.py", "a.py", "b.txt", "build/e.py", "src/deep/c.py"], "hidden and ignored files")
        answer = search(client, "grep", pattern="[xyz]", mode="counts", exclude="*.py").json()
        eq([(r["path"], r["matches"], r["lines"]) for r in answer["results"]], [("b.txt", 3, [])], "counts of files")
        answer = search(client, "grep", pattern="NOTE", limit=2).json()
        eq((answer["matches"], answer["truncated"]), (2, "limit"), "a limit is told")
        answer = search(client, "grep", pattern="NOTE", path="src/deep/c.py").json()
        eq([r["path"] for r in answer["results"]], ["c.py"], "a single file")
        body = json.dumps({"pattern": "a\"b\\s", "path": client.work, "limit": 5, "literal": True})
        write(client.work, {"q": 'xa"b\\sx\n'})
        answer = client.post("/v1/grep", body.encode(), Content_Type="application/json").json()
        eq([r["path"] for r in answer["results"]], ["q"], "POST, and a literal")
        client.run("cd src")
        answer = search(client, "grep", pattern="NOTE", path="deep").json()
        eq(answer["path"], client.work + "/src/deep", "relative to the shell's directory")


def test_glob():
    with Client() as client:
        write(client.work, TREE)
        for params, want in (
                ({"pattern": "*.py"}, ["a.py", "src/deep/c.py"]),
                ({"pattern": "**/*.py", "hidden": 1}, [".hidden/d.py", "a.py", "src/deep/c.py"]),
                ({"pattern": "/*.{py,txt}"}, ["a.py", "b.txt"]),
                ({"pattern": "./*.py"}, ["a.py"]),
                ({"pattern": "./src/**"}, ["src/deep/c.py"]),
                ({"pattern": "**", "type": "dir", "gitignore": 0}, ["build", "src", "src/deep"]),
                ({"pattern": "src/**", "type": "any"}, ["src/deep", "src/deep/c.py"]),
                ({"pattern": "none"}, [])):
            eq(search(client, "glob", **params).json()["paths"], want, f"glob {params}")
        top = client.work + "/src/deep/c.py"
        for params, want in (({"pattern": "*.py"}, ["c.py"]), ({"pattern": "*.py", "type": "any"}, ["c.py"]),
                             ({"pattern": "*.txt"}, []), ({"pattern": "*", "type": "dir"}, [])):
            answer = search(client, "glob", path=top, **params)
            eq((answer.status, answer.json().get("paths")), (200, want), f"a single file, {params}")
        eq(answer.json()["path"], top, "its path")
        for path, status in (("a.py/x", 404), ("none", 404), ("/dev/null", 422)):
            eq(search(client, "glob", pattern="*", path=path).status, status, f"glob of {path}")
            eq(search(client, "grep", pattern="x", path=path).status, status, f"grep of {path}")
        answer = search(client, "glob", pattern="*.py", limit=1).json()
        eq((answer["count"], answer["truncated"]), (1, "limit"), "a limit is told")


def test_errors():
    with Client() as client:
        for params, status, words in (
                ({"pattern": "a(b"}, 422, "pattern: a '(' without its ')' (at byte 1)"),
                ({}, 422, "pattern: it is required"),
                ({"pattern": "a", "limit": "x"}, 422, "limit: it must be a number from 0 to 1000000"),
                ({"pattern": "a", "hidden": "x"}, 422, "hidden: it must be true or false"),
                ({"pattern": "a", "mode": "x"}, 422, "mode: it must be one of lines, files, counts"),
                ({"pattern": "a", "glob": "["}, 422, "glob: a '[' without its ']'"),
                ({"pattern": "a", "session": "x"}, 422, "session: no session has this name"),
                ({"pattern": "a", "session": "x", "path": "/nothing"}, 404, None),
                ({"pattern": "a", "session": ""}, 200, None),
                ({"pattern": "a", "before": "1001"}, 422, "before: it must be a number from 0 to 1000"),
                ({"pattern": "a", "path": "none"}, 404, None),
                ({"pattern": "a", "path": "/dev/null"}, 422, None)):
            answer = search(client, "grep", **params)
            eq(answer.status, status, f"{params}")
            if words:
                eq(answer.json()["errors"], words, "in words")
        answer = client.post("/v1/grep", b"[1]", Content_Type="application/json")
        eq(answer.status, 422, "a body that is no object")
        for path in "/v1/grep", "/list_files", "/execute_action":
            for body, status in ((b"[" * 100, 400), (b'{"a":1,"a":2}', 400), (b'{"a":"\xff"}', 400), (b"{", 422)):
                answer = client.post(path, body)
                eq((answer.status, answer.json()["detail"]), (status, "Invalid request parameters"),
                   f"{path}: {body[:10]}")
        os.mkfifo(client.work + "/fifo")
        eq(search(client, "grep", pattern="a", path="fifo").status, 422, "a pipe is not waited for")
        eq(search(client, "grep", pattern="a").json()["matches"], 0, "nor is one in the tree")


def test_rights():
    if os.geteuid() != 0:
        skip("rights of the user", "needs root")
        return
    top = tempfile.mkdtemp(prefix="search-", dir="/tmp")
    os.chmod(top, 0o755)
    write(top, {"open": "needle\n", "secret": "needle\n", "locked/x": "needle\n"})
    os.chmod(top + "/secret", 0o600)
    os.chmod(top + "/locked", 0o700)
    with Client("--username", "nobody", user=False, env={"SU_TO_USER": None, "RUNTIME_USERNAME": "nobody"}) as client:
        if client.run("id -u")["content"].strip() == "0":
            skip("rights of the user", "the shell is root's")
        else:
            answer = search(client, "grep", pattern="needle", path=top).json()
            eq([r["path"] for r in answer["results"]], ["open"], "only what the user may read")
            eq(answer["skipped"]["unreadable"], 2, "the rest is counted")
    shutil.rmtree(top)


def test_ends():
    """A search ends with its peer, and with the time."""
    with Client() as client:
        write(client.work, {f"d{i}/f{k}": "x" * 200000 for i in range(8) for k in range(8)})
        answer = search(client, "grep", pattern="x(a|b)?y", path="/", timeout=0, hidden=1).json()
        eq(answer["truncated"], "time", "the time is over")
        with client.conn() as conn:
            conn.send(request("GET", "/v1/grep?" + urlencode(
                {"pattern": "(x|a)*(a|x)*(ax|xa)*y.{50}z", "path": "/", "hidden": 1, "gitignore": 0})))
            ok(until(lambda: jobs(client)), "a search runs")
        ok(until(lambda: not jobs(client)), "who leaves ends it")
        eq(client.get("/alive").status, 200, "nothing else happens")


def test_crowd():
    """However many searches run, a file can be read meanwhile."""
    with Client() as client:
        write(client.work, {"f": "text"})
        peers = [client.conn() for _ in range(40)]
        for conn in peers:
            conn.send(request("GET", "/v1/grep?" + urlencode(
                {"pattern": "(x|a)*(a|x)*(ax|xa)*y.{50}z", "path": "/", "hidden": 1, "gitignore": 0})))
        ok(until(lambda: len(jobs(client)) >= 16), "searches run")
        eq(client.act("read", path=client.work + "/f")["observation"], "read", "a file is read")
        for conn in peers:
            conn.close()
        ok(until(lambda: not jobs(client)), "those in line leave with their peers")


def jobs(client):
    """Children of serve that are no shells."""
    return [c for c in children(client.pid) if proc(c, "cmdline") == proc(client.pid, "cmdline")]


def test_git():
    """What is left out is what git leaves out."""
    if not shutil.which("git"):
        skip("the same files as git", "there is no git")
        return
    with Client() as client:
        rules = ["*.o", "!keep.o", "/top", "dir/", "a/b", "**/deep/x", "deep/**/y", "z?", "[qr]*.c",
                 "\\!bang", "sp\\ ", "tail  ", "x/**", "!x/in"]
        names = ["1.o", "keep.o", "top", "s/top", "dir/f", "s/dir/f", "dirx", "a/b", "s/a/b", "m/deep/x",
                 "deep/1/2/y", "deep/y", "zz", "z", "z/z", "q.c", "s/rr.c", "!bang", "sp ", "tail",
                 "x/in", "x/sub/in", "s/keep.o", "s/own.o", "s/1.o"]
        write(client.work, {n: "" for n in names if n != "z"})
        write(client.work, {".gitignore": "\n".join(rules), "s/.gitignore": "!own.o\n"})
        subprocess.run(["git", "init", "-q", client.work], check=True)
        want = subprocess.run(["git", "-C", client.work, "ls-files", "-co", "--exclude-standard", "-z"],
                              capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
        got = search(client, "glob", pattern="**", hidden=1).json()["paths"]
        eq(sorted(got), sorted(want), "the same files as git")


def test_gnu_grep():
    """The same lines as GNU grep, on what there is."""
    top = "/usr/include" if os.path.isdir("/usr/include/linux") else os.path.dirname(os.__file__)
    if not shutil.which("grep"):
        skip("the same lines as grep", "there is no grep")
        return
    with Client() as client:
        for pattern in ("struct [a-z]+_req", "NOTE|BUGS", r"\bEINTR\b", "^#if.*LINUX$"):
            want = subprocess.run(["grep", "-rInE", pattern, "."], cwd=top, capture_output=True,
                                  env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
            lines = [re.match(rb"\./([^:]*):(\d+):(.*)", x).groups() for x in want.splitlines()]
            answer = search(client, "grep", pattern=pattern, path=top, hidden=1, gitignore=0,
                            limit=1000000).json()
            got = [(r["path"].encode(), str(x["line"]).encode(), x["text"].encode())
                   for r in answer["results"] for x in r["lines"]]
            ok(sorted(got) == sorted(lines) and answer["truncated"] is None,
               f"{pattern}: the {len(lines)} lines of grep", f"got {len(got)}")
            paths = [r["path"].encode() for r in answer["results"]]
            ok(paths == sorted(paths), "in order")


main()
