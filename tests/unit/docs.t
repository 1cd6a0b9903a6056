#!/usr/bin/env python3
"""The pages: their names, links and examples exist, and docs/security.md has a row for each threat.

README.md lists each page once, in the table "By task" or in the table "By interface". A task page
has examples, which tests/e2e/test_docs.py executes.

Every check runs on made-up pages first, which shows that it can fail."""
import glob
import os
import re

TOP = os.environ.get("OD_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PAGE = "docs/security.md"
GENERATED = ["docs/commands.md"]
THREATS = [f"T{n:02}" for n in range(1, 47)]

# `test_key.py:test_by_digest`, `test_log.c`, `tls_client.t`, `fuzz_vt.c`
TEST = re.compile(r"`((?:test|fuzz)_\w+\.(?:py|c)|\w+\.t)(?::(\w+))?`")
# `src/net/tls.c`, but not the methods `tools/call` and `tools/list` of MCP
PATH = re.compile(r"`((?:src|inject|tests|tools(?!/(?:call|list)`)|docs|examples|third_party)/[\w./-]+)`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
ANCHOR = re.compile(r"\]\(([^)#:\s]*)#([^)]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
SECTION = re.compile(r"^## (.*)\n((?:(?!## ).*\n)*)", re.M)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
ROW = re.compile(r"^\| (T\d\d) \|(.*)\|$", re.M)
NO_PROMISE = "Not promised:"


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()


def defines(path, name):
    """Whether the file defines the function at its top level."""
    if path.endswith(".py"):
        return re.search(rf"^def {name}\(", read(path), re.M)
    return re.search(rf"^(?:static )?[a-z][\w \*]*\b{name}\([^;]*$", read(path), re.M)


def wrong_tests(text):
    found = {os.path.basename(p): os.path.relpath(p, TOP)
             for p in glob.glob(os.path.join(TOP, "tests/**"), recursive=True)}
    for name, function in set(TEST.findall(text)):
        if name not in found:
            yield f"there is no test {name}"
        elif function and not defines(found[name], function):
            yield f"{found[name]} has no function {function}"
        elif not function and name.endswith(".py"):
            yield f"{name} is named without a function"


def wrong_paths(text, folder="docs"):
    for path in set(PATH.findall(text)):
        if not os.path.exists(os.path.join(TOP, path)):
            yield f"there is no {path}"
    for path in set(LINK.findall(CODE.sub("", text))):
        if not os.path.exists(os.path.join(TOP, folder, path)):
            yield f"a link leads to {path}, which does not exist"


def anchors_of(text):
    """The anchors of the headings, as GitHub and GitLab make them."""
    headings = HEADING.findall(re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def wrong_anchors(text, folder="docs"):
    for path, anchor in set(ANCHOR.findall(CODE.sub("", text))):
        path = os.path.join(folder, path) if path else ""
        if path and not os.path.exists(os.path.join(TOP, path)):
            continue  # wrong_paths reports it
        if anchor not in anchors_of(read(path) if path else text):
            yield f"a link leads to #{anchor}, which {path or 'this page'} does not have"


def wrong_lists(text, pages):
    """README.md lists each page of docs once."""
    sections = dict(SECTION.findall(text))
    listed = [link for name in ("By task", "By interface") for link in LINK.findall(sections.get(name, ""))]
    for page in pages:
        if listed.count(page) != 1:
            yield f"{page} is listed {listed.count(page)} times"


def task_pages():
    return LINK.findall(dict(SECTION.findall(read("README.md")))["By task"])


def wrong_examples(text):
    if not re.search(r"^```console\n\$ ", text, re.M):
        yield "it has no example"


def words_of_code():
    """All identifiers of the code, of the tests and of the tools."""
    words = set()
    for folder in "src", "inject", "tests", "tools":
        for top, _, names in os.walk(os.path.join(TOP, folder)):
            for name in names:
                if name.endswith((".c", ".h", ".py", ".sh")) or "." not in name:
                    with open(os.path.join(top, name), encoding="utf-8", errors="replace") as f:
                        words.update(re.findall(r"\w+", f.read()))
                words.add(os.path.splitext(name)[0])
    return words


def wrong_names(text, known):
    """Names of functions and the like, in code quotes and with an underscore."""
    for name in set(re.findall(r"`([a-z]+_[a-z_0-9]+)(?:\(\))?`", text)) - known:
        yield f"there is no {name}"


def wrong_rows(text):
    rows = ROW.findall(text)
    names = [name for name, _ in rows]
    if names != THREATS:
        yield f"the rows are {names}"
    for name, rest in rows:
        if not TEST.search(rest) and NO_PROMISE not in rest:
            yield f"{name} names no test and does not say '{NO_PROMISE}'"


def long_lines(text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > 120 and not line.startswith("|"):
            yield f"line {number} has {len(line)} columns, 120 at most"


run = 0


def check(name, problems):
    global run
    run += 1
    problems = sorted(problems)
    print(f"{'not ' if problems else ''}ok {run} - {name}")
    for problem in problems:
        print(f"#   {problem}")


def fails(name, problems, words):
    """The check reports exactly one problem, with these words."""
    got = list(problems)
    check(f"the check fails for {name}",
          [] if len(got) == 1 and words in got[0] else [f"it reports {got}, wanted '{words}'"])


def table(rest="`fuzz_vt.c`"):
    return "".join(f"| {name} | {rest} |\n" for name in THREATS)


fails("a test file that does not exist", wrong_tests("`test_nothing.py:test_a`"), "no test test_nothing.py")
fails("a test function that does not exist", wrong_tests("`test_key.py:test_nothing`"), "no function test_nothing")
fails("a C function that does not exist", wrong_tests("`test_hash.c:test_nothing`"), "no function test_nothing")
fails("an end-to-end test without a function", wrong_tests("`test_key.py`"), "without a function")
fails("a source file that does not exist", wrong_paths("`src/net/nothing.c`"), "no src/net/nothing.c")
fails("a function that does not exist", wrong_names("`conn_begin` `nothing_begin()`", {"conn_begin"}), "no nothing_begin")
fails("a link to no page", wrong_paths("[a page](nothing.md#there)"), "nothing.md")
fails("a missing row", wrong_rows(table().replace("| T07", "| T08")), "the rows are")
fails("a row without a test", wrong_rows(table().replace("`fuzz_vt.c`", "none", 1)), "T01 names no test")
fails("a long line", long_lines("a" * 121), "121 columns")
fails("a link to no heading", wrong_anchors("# A page\n[a](#b)"), "#b, which this page")
fails("a link to no heading of another page", wrong_anchors("[a](protocol.md#b)"), "#b, which docs/protocol.md")
fails("a page that is not listed", wrong_lists("## By task\n[a](docs/a.md)\n", ["docs/a.md", "docs/b.md"]), "b.md is listed 0")
fails("a page in both lists", wrong_lists("## By task\n[a](docs/a.md)\n## By interface\n[a](docs/a.md)\n", ["docs/a.md"]), "2 times")
fails("a task page without an example", wrong_examples("```sh\n$ true\n```\n"), "no example")
check("a good page passes the checks",
      [*wrong_tests("`test_key.py:test_by_digest` `test_hash.c:test_random` `tls_client.t` `fuzz_vt.c`"),
       *wrong_paths("`src/net/tls.c` [protocol](protocol.md#tls)\n```console\n[a](/b)\n```\n"), *wrong_rows(table(NO_PROMISE)),
       *wrong_anchors("# A `page` of (it)\n[a](#a-page-of-it) [b](protocol.md#tls)"), *wrong_examples("```console\n$ true\n```\n"),
       *wrong_lists("## By task\n[a](docs/a.md)\n## By interface\n[b](docs/b.md)\n", ["docs/a.md", "docs/b.md"])])

known = words_of_code()
for path in "docs/security.md", "docs/architecture.md", "docs/testing.md", "CONTRIBUTING.md":
    check(f"{path}: every function that it names exists", wrong_names(read(path), known))
page = read(PAGE)
check(f"{PAGE}: every test that it names exists", wrong_tests(page))
check(f"{PAGE}: every file that it names exists, and every link leads to a file", wrong_paths(page))
check(f"{PAGE}: it has the rows T01 to T46, each with a test or a reason", wrong_rows(page))
check("SECURITY.md: every link leads to a file", wrong_paths(read("SECURITY.md"), ""))
pages = sorted(os.path.relpath(path, TOP) for path in glob.glob(os.path.join(TOP, "docs/*.md")))
check("README.md lists each page once", wrong_lists(read("README.md"), pages))
for path in [*pages, "README.md"]:
    text, folder = read(path), os.path.dirname(path)
    check(f"{path}: every link leads to a file, and to a heading of it", [
        *(p for p in wrong_paths(text, folder) if "link" in p), *wrong_anchors(text, folder)])
    if path not in GENERATED:
        check(f"{path}: no line is too long", long_lines(text))
for path in ["README.md", *task_pages()]:
    check(f"{path}: every test and file that it names exists", [
        *(p for p in wrong_tests(read(path)) if "there is no test" in p), *wrong_paths(read(path), os.path.dirname(path))])
    check(f"{path}: it has an example that a test executes", wrong_examples(read(path)))
print(f"1..{run}")
