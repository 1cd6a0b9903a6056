#!/usr/bin/env python3
"""/v1/glob and /v1/grep beside git, bash and GNU grep, on generated trees, patterns and
texts. The seed is fixed: SEARCH_SEED and SEARCH_ROUNDS change what is generated."""
import os
import random
import re
import shutil
import subprocess
from urllib.parse import urlencode

from harness import SLOW, TOP, Client, main, note, ok, skip

SEED = int(os.environ.get("SEARCH_SEED", "1"))
ROUNDS = float(os.environ.get("SEARCH_ROUNDS", "1")) / SLOW
BYTES = {**os.environ, "LC_ALL": "C"}
UTF8 = {**os.environ, "LC_ALL": "C.UTF-8"}
WRONG_SHOWN = 5


def rounds(n):
    return max(10, int(n * ROUNDS))


def ask(client, kind, **params):
    answer = client.get(f"/v1/{kind}?{urlencode(params)}")
    return answer.json() if answer.status == 200 else answer


class Tally:
    """Counts cases; what is wrong is shown, a few of them."""

    def __init__(self):
        self.cases = 0
        self.wrong = []

    def case(self, good, *what):
        self.cases += 1
        if not good:
            self.wrong.append(" ".join(map(repr, what)))

    def told(self, name):
        ok(self.cases and not self.wrong, f"{name} ({self.cases} cases)",
           f"{len(self.wrong)} wrong, seed {SEED}", *self.wrong[:WRONG_SHOWN])


# --- Trees --------------------------------------------------------------------

NAMES = ["a", "b", "ab", "abc", "b.c", "a.o", ".a", ".b.c", "x y", "a-b", "é", "A", "[a]", "a*", "#a", "!b"]


def tree(rng, top):
    """A few folders of a few names each; the paths of its files and folders."""
    shutil.rmtree(top, ignore_errors=True)
    os.mkdir(top)
    folders, files = [""], []
    for _ in range(rng.randint(1, 7)):
        folder = rng.choice(folders) + rng.choice(NAMES) + "/"
        if folder not in folders and folder.count("/") < 5 and folder[:-1] not in files:
            os.mkdir(os.path.join(top, folder))
            folders.append(folder)
    for _ in range(rng.randint(5, 30)):
        path = rng.choice(folders) + rng.choice(NAMES)
        if path + "/" not in folders and path not in files:
            open(os.path.join(top, path), "w").close()
            files.append(path)
    return folders, files


def part(rng):
    """A part of a glob, without slashes."""
    pieces = ["a", "b", "c", "*", "?", ".", "[ab]", "[!a]", "[a-c]", "é", "\\a", "\\*", "[]a]", "-", "A"]
    return "".join(rng.choice(pieces) for _ in range(rng.choice((1, 1, 2, 2, 3))))


def glob(rng):
    parts = [rng.choice(("**", part(rng), part(rng), part(rng))) for _ in range(rng.choice((1, 1, 2, 3)))]
    return "/".join(parts)


def rule(rng):
    """A line of a .gitignore, good or odd."""
    text = rng.choice(("", "", "", "!", "/")) + glob(rng) + rng.choice(("", "", "", "/", " ", "\\ "))
    text = rng.choice((text, text, text, text, "!" + text, "# " + text, "\\" + text, "", "[", "a\\", text + "\r"))
    # git takes off the text before the first wildcard, and then the stars of "b**" for a part.
    return text[:1] + re.sub(r"(?<=[^/*])\*\*", "*", text[1:]) if text[:1] != "\\" else text.replace("**", "*")


def test_gitignore():
    """What is left out is what git leaves out."""
    if not shutil.which("git"):
        skip("the same files as git", "there is no git")
        return
    rng, tally = random.Random(SEED), Tally()
    with Client() as client:
        top = client.work + "/tree"
        env = {**UTF8, "HOME": client.home, "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", "init", "-q", client.top + "/git"], check=True, env=env)
        for _ in range(rounds(250)):
            folders, _ = tree(rng, top)
            shutil.copytree(client.top + "/git/.git", top + "/.git")
            rules = {}
            for folder in rng.sample(folders, min(len(folders), rng.randint(1, 3))):
                rules[folder] = [rule(rng) for _ in range(rng.randint(1, 6))]
                with open(os.path.join(top, folder, ".gitignore"), "w", newline="") as f:
                    f.write("\n".join(rules[folder]) + rng.choice(("\n", "")))
            want = subprocess.run(["git", "-C", top, "ls-files", "-co", "--exclude-standard", "-z"],
                                  capture_output=True, text=True, check=True, env=env).stdout.split("\0")[:-1]
            got = ask(client, "glob", pattern="**", hidden=1, path=top)["paths"]
            every = ask(client, "glob", pattern="**", hidden=1, path=top, gitignore=0)["paths"]
            for path in every:
                if not path.startswith(".git/"):
                    tally.case((path in got) == (path in want), path, path in want, rules)
    tally.told("the same files as git")


def test_glob():
    """What matches is what matches in bash, with globstar and dotglob."""
    if not shutil.which("bash"):
        skip("the same paths as bash", "there is no bash")
        return
    rng, tally = random.Random(SEED), Tally()
    with Client() as client:
        top = client.work + "/tree"
        for _ in range(rounds(60)):
            folders, files = tree(rng, top)
            every = set(files) | {f[:-1] for f in folders if f}
            globs = [glob(rng) for _ in range(25)]
            globs += [f"{{{part(rng)},{glob(rng)}}}{part(rng)}" for _ in range(5)]
            # "./" counts in front only, where a pattern as a whole may begin with it.
            globs = [g for g in globs if "{" not in g or "./" not in g]
            # Without a slash it is about the last part of a path; to bash a/** is also a itself.
            asked = [g if "/" in g else "**/" + g for g in globs]
            asked = [g + "/*" if g.endswith("/**") else g for g in asked]
            script = "shopt -s globstar dotglob nullglob\n" + "".join(
                f"printf '%s\\0' {g} $'\\n'\n" for g in asked)
            lines = subprocess.run(["bash", "-c", script], cwd=top, env=UTF8, capture_output=True,
                                   text=True, check=True).stdout.split("\n\0")
            for g, line in zip(globs, lines):
                want = {p.rstrip("/").removeprefix("./") for p in line.split("\0")} & every
                got = ask(client, "glob", pattern=g, type="any", hidden=1, gitignore=0, path=top)["paths"]
                tally.case(set(got) == want and len(set(got)) == len(got), g,
                           sorted(set(got) - want), sorted(want - set(got)))
    tally.told("the same paths as bash")


# --- Lines --------------------------------------------------------------------

def atom(rng, depth, perl):
    kind = rng.randrange(12)
    if kind < 5:
        return rng.choice("abcAB01_ -")
    if kind == 5:
        return "."
    if kind == 6:
        return rng.choice(("[ab]", "[^a]", "[a-c]", "[^a-c0]", "[[:digit:]]", "[^[:space:]b]", "[]a]", "[a-]", "[[:upper:]_]"))
    if kind == 7:
        return rng.choice(("\\w", "\\W", "\\s", "\\S", "\\.", "\\*", "\\(", "\\b", "\\B") +
                          (("\\d", "\\D", "\\x61", "\\t") if perl else ("\\<", "\\>")))
    if kind == 8:
        return rng.choice("^$")
    if depth:
        return rng.choice(("(", "(?:", "(?i:") if perl else "(") + pattern(rng, depth - 1, perl) + ")"
    return rng.choice("abc")


def pattern(rng, depth, perl):
    out = []
    for _ in range(rng.choice((1, 1, 2))):
        branch = ""
        for _ in range(rng.choice((1, 2, 2, 3, 4))):
            one = atom(rng, depth, perl)
            if one not in ("^", "$", "\\b", "\\B", "\\<", "\\>") and rng.random() < 0.35:
                one += rng.choice(("*", "+", "?", "{2}", "{1,}", "{0,2}", "{2,3}", "{0}"))
                if perl and rng.random() < 0.3:
                    one += "?"
            branch += one
        out.append(branch)
    return "|".join(out)


def text(rng):
    words = ["a", "b", "c", "ab", "A", "B", "abc", " ", "  ", "\t", "_", "0", "1", "-", ".", "*", "(", ""]
    return "".join("".join(rng.choice(words) for _ in range(rng.randrange(8))) + "\n" for _ in range(40)) + \
        rng.choice(("", "a", "abc b"))


def numbers_of_grep(path, options, wanted):
    run = subprocess.run(["grep", "-na", *options, "--", wanted, path], env=BYTES, capture_output=True)
    if run.returncode > 1:
        return run.stderr.decode()
    return [int(line.split(b":", 1)[0]) for line in run.stdout.splitlines()]


def test_grep():
    """The same lines as GNU grep, of extended, Perl's and no regular expressions."""
    if b"GNU grep" not in subprocess.run(["grep", "--version"], capture_output=True).stdout:
        skip("the same lines as GNU grep", "there is none")
        return
    for option, what in (("-E", "extended"), ("-P", "Perl's"), ("-F", "fixed")):
        rng, tally = random.Random(SEED), Tally()
        with Client() as client:
            path = client.work + "/text"
            for i in range(rounds(700)):
                if i % 10 == 0:
                    with open(path, "w") as f:
                        f.write(text(rng))
                wanted = pattern(rng, 2, option == "-P")
                nocase = rng.random() < 0.2
                want = numbers_of_grep(path, [option] + ["-i"] * nocase, wanted)
                if isinstance(want, str):
                    # What grep itself does not take is no case.
                    note(f"{wanted}: {want}")
                    continue
                got = ask(client, "grep", pattern=wanted, path=path, ignore_case=int(nocase),
                          literal=int(option == "-F"))
                lines = [x["line"] for r in got["results"] for x in r["lines"]] if isinstance(got, dict) else got
                tally.case(lines == want, wanted, nocase, lines, want)
        tally.told(f"the same lines as GNU grep, {what} expressions")


def test_corpora():
    """Files made by others: the same lines of each as GNU grep."""
    data = os.environ.get("OD_DATA") or os.path.join(os.path.dirname(TOP), "shared", "data")
    if not os.path.isdir(data):
        skip("lines of files made by others", "they are not here")
        return
    tally = Tally()
    with Client() as client:
        for wanted in ("[a-z]+_[a-z]+", r"^\s*\"", r"\\u[0-9a-fA-F]{4}", "(true|false|null)$", r"\bERROR\b", "[[{]{2,}",
                       "File: .* lines total", "x{3}|^$", r"\[[0-9]+\]"):
            run = subprocess.run(["grep", "-rnIE", "--null", wanted, "."], cwd=data, env=BYTES, capture_output=True)
            want = sorted({(p[2:], int(rest.split(b":", 1)[0])) for p, rest in
                           (line.split(b"\0", 1) for line in run.stdout.split(b"\n") if b"\0" in line)})
            got = ask(client, "grep", pattern=wanted, path=data, hidden=1, gitignore=0, limit=0, line_max=1)
            lines = [(r["path"].encode(), x["line"]) for r in got["results"] for x in r["lines"]]
            tally.case(sorted(lines) == want and got["truncated"] is None, wanted, len(lines), len(want))
    tally.told("lines of files made by others")


main()
