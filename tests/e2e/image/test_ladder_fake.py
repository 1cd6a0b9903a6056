#!/usr/bin/env python3
"""Tags, rungs and pruning of od-runtime's images against an engine that is made up."""
import base64
import hashlib
import json
import os
import pty
import re
import shutil
import subprocess
import threading

import harness
from fake_engine import BASE_ID, chunked, image, lines, refusal, response
from harness import eq, has, ok
from program import write_program
from whole_engine import WholeEngine

TEMP = harness.scratch("od-ladder-")
CLIENT = os.path.join(TEMP, "client")
COUNT = 0


def write_client(more=b""):
    write_program(CLIENT, size=3000, more=more)


def engine(**options):
    global COUNT
    COUNT += 1
    return WholeEngine(os.path.join(TEMP, f"s{COUNT}"), **options)


def od(e, *argv, **more):
    if argv[:1] == ("build",) and "--via" not in argv:
        argv = ("build", "--via", "build", *argv[1:])
    env = {"PATH": "/bin:/usr/bin", "OD_STATE_DIR": os.path.join(TEMP, "state"),
           "OD_RUNTIME_CLIENT": CLIENT, "DOCKER_HOST": "unix://" + e.path, **more}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    return subprocess.run([*harness.WRAP, harness.RUNTIME, *argv], input=b"",
                          capture_output=True, env=env, timeout=harness.DEADLINE * 3)


def doc_of(got, name):
    eq((got.returncode, got.stderr), (0, b""), name)
    return json.loads(got.stdout or b"null")


def fails(got, code, words, name):
    ok(got.returncode == code and words in got.stderr.decode() and not got.stdout, name,
       got.returncode, got.stdout, got.stderr, f"wanted {words!r}")


def builds(e):
    return [r.query["t"] for r in e.called("POST", "/build")]


def tags(e, *argv):
    doc = doc_of(od(e, "tags", "base:1", "--json", *argv), f"tags {argv}")
    return [doc[k]["name"] for k in ("source", "lock", "versioned")]


def folder(name, **files):
    top = os.path.join(TEMP, name)
    shutil.rmtree(top, ignore_errors=True)
    for path, text in files.items():
        os.makedirs(os.path.join(top, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(top, path), "w") as f:
            f.write(text)
    return top


def test_tags():
    e = engine()
    doc = doc_of(od(e, "tags", "base:1", "--json", "--extra-deps", "x y"), "tags")
    source, lock, versioned = (doc[k]["name"] for k in ("source", "lock", "versioned"))
    ok(re.fullmatch(r"od-runtime:oh_v[0-9.]+_[0-9a-z]{1,16}", lock), "the lock", lock)
    ok(re.fullmatch(re.escape(lock) + r"_[0-9a-z]{1,16}", source), "the source", source)
    ok(re.fullmatch(r"od-runtime:oh_v[0-9.]+_base_t_1", versioned), "the versioned",
       versioned)
    ok(re.fullmatch(r"od_runtime:od_v[0-9.]+_image_base__1", doc["legacy"]), "the old one",
       doc["legacy"])
    inputs = doc["inputs"]
    with open(CLIENT, "rb") as f:
        want = hashlib.sha256(f.read()).hexdigest()
    eq((inputs["base"], inputs["base_id"], inputs["architecture"], inputs["extra_deps"],
        inputs["client_sha256"]),
       ("docker.io/library/base:1", BASE_ID, "amd64", "x y", want), "their inputs")
    eq([doc[k]["present"] for k in ("source", "lock", "versioned")], [False] * 3,
       "none is there")
    eq((builds(e), len(e.containers)), ([], 0), "nothing is built for that")
    text = od(e, "tags", "base:1", "--extra-deps", "x y").stdout.decode()
    for part in (source, lock, versioned, BASE_ID, "x y", want):
        has(text, part, "as text")
    eq(od(e, "build", "base:1").stdout.decode().strip(), tags(e)[0], "what build makes")
    eq(doc_of(od(e, "tags", "base:1", "--json"), "tags")["source"]["present"], True,
       "and is there then")


def test_ladder():
    e = engine()
    plug = folder("plug", manifest="x\n")
    more = ("--extra-deps", "apt-get install git", "--plugin", "p=" + plug)
    source, lock, versioned = tags(e, *more)
    doc = doc_of(od(e, "build", "base:1", "--json", *more), "all rungs")
    eq((doc["from"], doc["image"], builds(e)), ("base", source, [versioned, lock, source]),
       "from the base: one image for each")
    networks = [r.query.get("networkmode") for r in e.called("POST", "/build")]
    eq(networks, [None, "none", "none"], "a network for the extra dependencies alone")
    eq(doc_of(od(e, "build", "base:1", "--json", *more), "again")["from"], "source",
       "the source is there: nothing is built")
    eq(len(builds(e)), 3, "indeed")
    write_client(b"2")
    dry = doc_of(od(e, "build", "base:1", "--json", "--dry-run", *more), "--dry-run")
    eq((dry["from"], dry["built"], len(builds(e))), ("lock", False, 3),
       "says what it would do, and does nothing")
    doc = doc_of(od(e, "build", "base:1", "--json", *more), "another client")
    eq((doc["from"], doc["image"], builds(e)[3:]), ("lock", dry["image"], [doc["image"]]),
       "the lock is there: only the client")
    depth = len(e.images[doc["image"]]["RootFS"]["Layers"])
    eq(depth, len(e.images[source]["RootFS"]["Layers"]), "in as many layers as before")
    folder("plug", manifest="y\n")
    doc = doc_of(od(e, "build", "base:1", "--json", *more), "another plugin")
    eq((doc["from"], len(builds(e))), ("versioned", 6), "the versioned one is there")
    doc = doc_of(od(e, "build", "base:1", "--json", "--force", *more), "--force")
    eq((doc["from"], len(builds(e))), ("base", 9), "--force: from the base")
    e.images["base:1"] = image(id_="sha256:" + "cd" * 32, layers=("l9",))
    doc = doc_of(od(e, "build", "base:1", "--json", *more), "another base")
    eq(doc["from"], "base", "a rung on another base of that name does not count")
    write_client()


def test_ladder_fails():
    for failing, left in ((0, 0), (1, 1)):
        e = engine()
        plug = folder("plug", manifest="x\n")
        seen = []

        def build(request):
            seen.append(request)
            return refusal(500, "no space") if len(seen) > failing else None
        e.answers.append(("POST", "/build", build))
        fails(od(e, "build", "base:1", "--extra-deps", "x", "--plugin", "p=" + plug), 111,
              "no space", f"the build of rung {failing + 1} fails")
        names = [n for n in e.images if n.startswith("od-runtime")]
        eq(len(names), left, "what was whole by then is kept, and nothing else")
    # Somebody else is done first: the name is his.
    e = engine()
    e.answers.append(("POST", "/build", lambda request: (
        e.build(request), refusal(500, "no space"))[1]))
    fails(od(e, "build", "base:1", "--via", "build"), 111, "no space", "ours fails")
    eq(len([n for n in e.images if n.startswith("od-runtime:")]), 1, "the other one's stays")


TRACE = base64.b64encode(b"\x1a\x0e\x22\x0cfrom a trace").decode()


def test_extra_deps_output():
    """What the commands print explains why they fail."""
    said = [{"stream": f"line {i}\n"} for i in range(30)] + [{"stream": "\x1b[91mno mirr"}, {"stream": "or\x1b[0m\r\n"}]
    for kind, rows, last in (("classic", said, "no mirror"),
                             ("BuildKit", [*said, {"id": "moby.buildkit.trace", "aux": TRACE}], "from a trace")):
        e = engine()
        error = {"errorDetail": {"message": "exit code: 100"}, "error": "exit code: 100"}
        e.answers.append(("POST", "/build", chunked(lines(*rows, error), 7)))
        got = od(e, "build", "base:1", "--extra-deps", "x")
        fails(got, 111, "exit code: 100", f"{kind}: the commands fail")
        shown = [line[4:] for line in got.stderr.decode().splitlines() if line.startswith("  | ")]
        eq((len(shown), shown[-1]), (20, last), f"{kind}: the last 20 lines of their output")
    e.answers[0] = ("POST", "/build", chunked(lines({"stream": "line\n"}, error), 7))
    got = od(e, "build", "base:1")
    ok(b"  | " not in got.stderr, "a build without commands has no output of theirs", got.stderr)


def test_extra_deps_terminal():
    """On a terminal each line is shown when it comes."""
    seen = threading.Event()
    e = engine()
    first = chunked(lines({"stream": "first line\n"}), 100)[:-5]
    e.answers.append(("POST", "/build", lambda r: first))
    e.send = lambda conn, data: (conn.sendall(data), data is first and seen.wait(harness.DEADLINE))
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(OD_STATE_DIR=os.path.join(TEMP, "state"), OD_RUNTIME_CLIENT=CLIENT,
                          DOCKER_HOST="unix://" + e.path)
        os.execv(harness.RUNTIME, [harness.RUNTIME, "build", "--via", "build", "base:1", "--extra-deps", "x"])
    text = b""
    try:
        while b"  | first line" not in text:
            text += os.read(fd, 1000)
        ok(True, "the first line is shown while the build runs")
        seen.set()
        while True:
            text += os.read(fd, 1000)
    except OSError:
        pass
    eq((os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.count(b"first line")), (111, 1),
       "a line is shown once, and the build that is cut off fails")
    os.close(fd)


def test_extra_deps():
    e = engine(images={"base:1": image(config={"User": "web:7"})})
    hostile = "echo \"$HOME\" <<EOF\nRUN evil\n\\\nEOF"
    e.answers.append(("POST", "/build", lambda r: seen.append(r.body) and None))
    seen = []
    eq(od(e, "build", "base:1", "--extra-deps", hostile).returncode, 0, "extra deps")
    text = seen[0].decode("latin-1")
    line = re.search(r"^RUN (.*)$", text, re.M).group(1)
    eq(json.loads(line), ["/bin/sh", "-c", hostile], "exactly these, in one line of JSON")
    ok("<<" not in line, "in which no builder sees a document")
    eq(re.findall(r"^(?:USER|RUN) ?(?=\S)(\S*)", text, re.M)[::2], ["0:0", "web:7"],
       "as root, and then back")
    e = engine()
    e.paths = {}
    fails(od(e, "build", "base:1", "--extra-deps", "x"), 111, "no /bin/sh",
          "an image without a shell")
    eq((builds(e), len(e.containers)), ([], 0), "is not even tried")
    e = engine(images={"base:1": image(config={"User": "a b"})})
    fails(od(e, "build", "base:1", "--extra-deps", "x"), 111, "the user of the image",
          "a user that no Dockerfile can name")
    fails(od(e, "build", "base:1", "--extra-deps", "x" * 9000), 100, "longer than",
          "commands that are too long")


def test_plugins():
    e = engine()
    plug = folder("plug", **{"b/run": "#!/bin/sh\n", "a": "text"})
    os.chmod(os.path.join(plug, "b/run"), 0o700)
    os.symlink("b/run", os.path.join(plug, "link"))
    e.answers.append(("POST", "/build", lambda r: contexts.append(r.body) and None))
    contexts = []
    _, lock, _ = tags(e, "--plugin", "p=" + plug)
    eq(od(e, "build", "base:1", "--plugin", "p=" + plug).returncode, 0, "a plugin")
    import io
    import tarfile
    files = {m.name: m for m in tarfile.open(fileobj=io.BytesIO(contexts[0])).getmembers()}
    top = "plugins/p/.od/plugins/p"
    eq([(m.mode, m.uid, m.gid, m.mtime) for m in (files[top + "/b/run"], files[top + "/a"])],
       [(0o755, 0, 0, 0), (0o644, 0, 0, 0)], "the same for everybody")
    eq(files[top + "/link"].linkname, "b/run", "links stay links")
    os.utime(os.path.join(plug, "a"), (5, 5))
    eq(tags(e, "--plugin", "p=" + plug)[1], lock, "times do not matter")
    os.chmod(os.path.join(plug, "a"), 0o755)
    ok(tags(e, "--plugin", "p=" + plug)[1] != lock, "modes do")
    os.chmod(os.path.join(plug, "a"), 0o644)
    eq(tags(e, "--plugin", "p=" + plug, "--plugin", "q=base:1"),
       tags(e, "--plugin", "q=base:1", "--plugin", "p=" + plug), "nor does their order")
    for text, words in (('{"name":"p","protocol":1,"argv":["./a",1]}', "argv[1]: must be a string"),
                        ("{" * 70000, "larger than 65536")):
        with open(os.path.join(plug, "plugin.json"), "w") as f:
            f.write(text)
        fails(od(e, "build", "base:1", "--plugin", "p=" + plug), 111,
              words, f"a manifest: {words}")
    with open(os.path.join(plug, "plugin.json"), "w") as f:
        f.write('{"name":"p","protocol":1,"argv":["./b/run"]}')
    eq(od(e, "build", "base:1", "--plugin", "p=" + plug).returncode, 0, "a good manifest")
    eq(od(e, "build", "base:1", "--plugin", "q=base:1").returncode, 0, "one in an image")
    has(e.images[tags(e, "--plugin", "q=base:1")[1]]["Config"]["Labels"]["od.plugins"],
        "q=" + BASE_ID[7:], "whose id is in the labels")
    for argv, code, words in (
            (["p"], 100, "neither a folder nor an image"), (["P=" + plug], 100, "is not a valid name of a plugin"),
            (["p=" + plug, "--plugin", "p=base:1"], 100, "is given twice"),
            (["p=Bad:Name"], 100, "'Bad:Name' is not the name of an image"), (["p=/absent"], 111, "No such file"),
            (["p=absent:1"], 111, "pulling absent:1: page not found"),
            (["p=absent:1", "--pull", "never"], 111, "does not have the image absent:1")):
        fails(od(e, "build", "base:1", "--plugin", *argv), code, words, f"plugin {argv}")
    os.mkfifo(os.path.join(plug, "fifo"))
    fails(od(e, "build", "base:1", "--plugin", "p=" + plug), 111, "is not a file, a folder or a symbolic link",
          "a pipe in a plugin")
    fails(od(e, "run", "base:1", "--via", "put", "--plugin", "q=base:1"), 100,
          "leave --via out", "what needs an image")


def peak_kib():
    """Of the program that waits for the engine now."""
    lines = [harness.proc(pid, "status").decode() for pid in harness.children(os.getpid())]
    return max(int(re.search(r"VmHWM:\s*(\d+)", text)[1]) for text in lines)


def test_large_plugin():
    e = engine()
    seen = []
    e.answers.append(("POST", "/build", lambda r: seen.append((len(r.body), peak_kib())) and None))
    plug = folder("plug", a="text")
    for size in (0, 24 << 20):
        with open(os.path.join(plug, "large"), "wb") as f:
            f.truncate(size)
        eq(od(e, "build", "base:1", "--plugin", "p=" + plug).returncode, 0, f"a plugin of {size} bytes")
    small, large = seen[0], max(seen)
    ok(large[0] - small[0] >= 24 << 20, "all of it has come", seen)
    ok(large[1] - small[1] <= 8192, "it is not held in memory", seen)


def test_changing_plugin():
    e = engine()
    plug = os.path.join(TEMP, "plug")

    def change(_):
        """The folder has been read, and nothing has been sent."""
        with open(os.path.join(plug, "a"), "w") as f:
            f.write(words)
    before = dict(e.images)
    e.answers.append(("GET", "/images/base:1/json", change))
    for words in ("as long", "TEXT", "", "longer than it was"):
        folder("plug", a="text")
        fails(od(e, "build", "base:1", "--plugin", "p=" + plug), 111, "its folder changed while it was read",
              f"a file that is {words!r} then")
        e.images.clear()
        e.images.update(before)
    e.answers[0] = ("GET", "/images/base:1/json", lambda _: os.remove(os.path.join(plug, "a")))
    folder("plug", a="text")
    fails(od(e, "build", "base:1", "--plugin", "p=" + plug), 111, "No such file", "one that is gone")
    eq((builds(e), sorted(e.images)), ([], sorted(before)), "the engine has got none of them whole")


def test_buildkit_lends_names():
    e = engine(builder="2")
    more = ("--extra-deps", "x", "--plugin", "q=base:1")
    eq(od(e, "build", "base:1", *more).returncode, 0, "BuildKit")
    eq([n for n in e.images if n.startswith("od-runtime-base")], [], "names are taken back")
    ok(all(r.query["version"] == "2" for r in e.called("POST", "/build")), "it is used")
    eq(len(e.called("POST", "/images/.*/tag")), 4, "one name for each FROM and --from")


def test_names_are_taken_back():
    """No image of the user's has more names, or fewer, than before."""
    id_ = "sha256:" + "cd" * 32
    bare = image(id_, names=())
    e = engine(builder="2", images={"base:1": image(), id_: bare})
    more = ("--plugin", "q=" + id_)
    eq(od(e, "build", "base:1", *more).returncode, 0, "a plugin's image without a name")
    ok(id_ in e.images, "is still there")
    eq([r.query["version"] for r in e.called("POST", "/build")], ["1", "2"],
       "a builder that understands ids copies from it")
    eq([n for n in e.images if n.startswith("od-runtime-base")], [], "names are taken back")
    for what, answer in (("the build fails", ("POST", "/build", refusal(500, "no space"))),
                         ("the second name", None)):
        e = engine(builder="2")
        tags_seen = []

        def second(request):
            """Given, but not told."""
            tags_seen.append(request)
            if len(tags_seen) < 2:
                return None
            e.image_tag(request, "base:1")
            return b""
        e.answers.append(answer or ("POST", "/images/.*/tag", second))
        got = od(e, "build", "base:1", "--plugin", "q=base:1")
        eq((got.returncode, sorted(e.images)), (111, ["base:1"]), f"{what}: nothing is left")


def test_carries_client():
    """Labels are inherited and copied: what they say has to be in the layers."""
    e = engine()
    name = od(e, "build", "base:1").stdout.decode().strip()
    eq(od(e, "build", name).stdout.decode().strip(), e.images[name]["Id"],
       "an image of ours is used as it is")
    squashed = json.loads(json.dumps(e.images[name]))
    squashed.update(Id="sha256:" + "ee" * 32, RepoTags=["flat:1"])
    squashed["RootFS"]["Layers"] = ["flat", "more"]
    e.images["flat:1"] = squashed
    doc = doc_of(od(e, "build", "flat:1", "--json"), "labels without the layers")
    eq((doc["built"], len(builds(e))), (True, 2), "get a client")
    write_client(b"2")
    doc = doc_of(od(e, "build", name, "--json"), "another client, on our own image")
    eq(len(e.images[doc["image"]]["RootFS"]["Layers"]), 2, "no chain of our own layers")
    more = od(e, "build", "base:1", "--extra-deps", "x").stdout.decode().strip()
    write_client(b"3")
    fails(od(e, "build", more), 111, "extra dependencies",
          "what was put below does not get lost in silence")
    write_client()


def test_auto():
    """Without a word --via is commit, unless there is something for a builder to do."""
    def made(e, *argv):
        return doc_of(od(e, "build", "--via", "auto", "--json", "base:1", *argv), "build")
    shell = ["/bin/sh", "-ec"]
    e = engine(images={"base:1": image(config={"Shell": shell})}, builder="2")
    name = made(e)["image"]
    eq((builds(e), len(e.containers), len(e.called("POST", "/commit"))), ([], 0, 1),
       "a commit, and no container stays")
    eq(e.called("POST", "/images/.*/tag"), [], "BuildKit is lent no name")
    eq(e.called("POST", "/containers/create")[-1].json()["Shell"], shell,
       "which does not inherit the shell")
    eq(doc_of(od(e, "build", "--json", "base:1"), "build")["image"], name,
       "the builder would call it the same")
    e = engine()
    source, lock, versioned = tags(e, "--extra-deps", "x", "--plugin", "q=base:1")
    eq((made(e, "--extra-deps", "x", "--plugin", "q=base:1")["image"], builds(e)),
       (source, [versioned, lock]), "a builder for those who need one, a commit on top")
    eq([c.json()["Image"] for c in e.called("POST", "/containers/create")][-1],
       e.images[lock]["Id"], "of a container of the rung below")
    e = engine(images={"base:1": image(config={"Volumes": {"/data": {}}})})
    eq((made(e)["image"], e.called("POST", "/commit")), (builds(e)[0], []),
       "a builder where a volume might swallow the client")
    e = engine(answers=[("POST", "/commit", refusal(500, "no space"))])
    fails(od(e, "build", "--via", "auto", "base:1"), 111, "no space", "a commit that fails")
    eq(([n for n in e.images if n != "base:1"], len(e.containers)), ([], 0), "leaves nothing")
    for way in ("bind", "put", "volume"):
        fails(od(engine(), "build", "--via", way, "base:1"), 100, "does not make an image", way)


def test_onbuild():
    config = {"OnBuild": ["COPY . /app"], "User": "7", "Healthcheck": {"Test": ["CMD", "x"]}}
    e = engine(images={"base:1": image(config=config)})
    doc = doc_of(od(e, "build", "base:1", "--json"), "a base with ONBUILD")
    eq((builds(e), len(e.containers)), ([], 0), "no builder sees it, no container stays")
    made = e.images[doc["image"]]["Config"]
    eq((made["Entrypoint"], made["Healthcheck"], made["Labels"]["od.orig.user"]),
       (["/.od/od-runtime-client", "init"], {"Test": ["NONE"]}, '"7"'), "its settings")
    ok("/.od/od-runtime-client" in e.committed, "the client is in it")
    eq(doc_of(od(e, "build", "base:1", "--json"), "again")["built"], False, "found again")
    fails(od(e, "build", "base:1", "--extra-deps", "x"), 111, "ONBUILD",
          "with extra dependencies it cannot be")
    for what, path in (("PUT", "/containers/.*/archive"), ("POST", "/commit")):
        e = engine(images={"base:1": image(config=config)},
                   answers=[(what, path, refusal(500, "no space"))])
        fails(od(e, "build", "base:1"), 111, "no space", f"{what} fails")
        eq((len(e.containers), [n for n in e.images if "od-runtime" in n]), (0, []),
           "nothing is left")


def test_legacy():
    e = engine()
    got = od(e, "build", "base:1", "--tag-style", "legacy").stdout.decode().strip()
    ok(re.fullmatch(r"od_runtime:od_v[0-9.]+_image_base__1", got), "the old name", got)
    eq(e.images[got]["Id"], e.images[tags(e)[0]]["Id"], "is a further one")
    got = od(e, "build", "base:1", "--tag-style", "legacy",
             SANDBOX_UPDATE_SOURCE_CODE="true").stdout.decode().strip()
    ok(got.startswith("od_runtime_dev:"), "in development", got)
    eq(len(builds(e)), 1, "all of one build")


def tree(e, top):
    """What --build-folder writes: path -> bytes, or where a link leads to."""
    doc_of(od(e, "build", "base:1", "--json", "--build-folder", top), "--build-folder")
    found = {}
    for folder_, _, names in os.walk(top):
        for path in (os.path.join(folder_, n) for n in names):
            with open(path, "rb") if not os.path.islink(path) else open(os.devnull, "rb") as f:
                found[os.path.relpath(path, top)] = f.read() or os.readlink(path)
    return found


def test_build_folder():
    e = engine()
    top = os.path.join(TEMP, "context")
    plug = folder("plug", manifest="x\n")
    doc = doc_of(od(e, "build", "base:1", "--json", "--build-folder", top, "--plugin",
                    "p=" + plug), "--build-folder")
    eq((doc["built"], builds(e)), (False, []), "builds nothing")
    with open(os.path.join(top, "Dockerfile")) as f:
        text = f.read()
    eq(re.findall(r"^(?:FROM|COPY|RUN).*$", text, re.M),
       [f"FROM {BASE_ID}", "COPY plugins/p/ /", "COPY rootfs/ /"], "all in one file")
    with open(os.path.join(top, ".dockerignore")) as f:
        eq(f.read(), "*\n!Dockerfile\n!plugins\n!rootfs\n", "an allow-list")
    found = [os.path.join(d, n) for d, ds, fs in os.walk(top) for n in ds + fs]
    eq({os.lstat(p).st_mtime for p in found}, {0.0}, "times are those of the archive")
    eq(os.stat(os.path.join(top, "rootfs/.od/od-runtime-client")).st_mode & 0o777, 0o555,
       "and modes")
    e = engine()
    e.paths = {}
    before = tree(e, os.path.join(TEMP, "before")), od(e, "dockerfile", "base:1").stdout
    eq(od(e, "build", "base:1").returncode, 0, "once the product is there")
    after = tree(e, os.path.join(TEMP, "after")), od(e, "dockerfile", "base:1").stdout
    eq(after, before, "the folder and the Dockerfile are the same")
    has(before[0], "rootfs/openhands/micromamba/bin/micromamba", "with the link")
    fails(od(e, "build", "base:1", "--build-folder", top), 111, "not empty",
          "a folder with something in it")
    fails(od(e, "build", "base:1", "--build-folder", "/proc/x/y"), 111, "/proc/x/y",
          "one that cannot be")


def old(id_, base, created, names, **labels):
    labels = {"od.managed": "1", "od.base.ref": base, "od.stage": "", **labels}
    return image("sha256:" + id_ * 32, names=names, config={"Labels": labels},
                 Created=created)


def prune_engine():
    e = engine()
    rows = [old("01", "a", 1, ["od-runtime:1"]),
            old("02", "docker.io/library/a:latest", 2, ["od-runtime:2"]),
            old("03", "a", 3, ["od-runtime:3"]), old("04", "b", 1, ["od-runtime:4"]),
            old("05", "a", 9, []), old("06", "a", 0, ["mine:1"]),
            dict(old("09", "a", 9, []), RepoDigests=["mine@sha256:" + "0" * 64]),
            old("07", "a", 1, ["od-runtime:7"], **{"od.stage": "lock"}),
            old("08", "a", 0, ["od-runtime:8"])]
    for doc in rows:
        for name in doc["RepoTags"] or [doc["Id"]]:
            e.images[name] = doc
    e.images["od_runtime:8"] = rows[8]
    e.containers["c"] = type("C", (), {"id": "c", "spec": {"Image": rows[0]["Id"]}})
    return e


def test_prune():
    e = prune_engine()
    before = sorted(e.images)
    got = od(e, "prune", "--keep", "1", "--dry-run")
    eq((got.returncode, sorted(e.images)), (0, before), "--dry-run removes nothing")
    want = ["od-runtime:2", "od-runtime:8 od_runtime:8", "sha256:" + "05" * 32]
    eq(sorted(got.stdout.decode().splitlines()), want, "and says what would go")
    got = od(e, "prune", "--keep", "1")
    eq(sorted(got.stdout.decode().splitlines()), want, "the old ones of each base go")
    eq(sorted(e.images), ["base:1", "mine:1", "od-runtime:1", "od-runtime:3", "od-runtime:4",
                          "od-runtime:7", "sha256:" + "09" * 32],
       "the newest stay, those in use, and what others have made from ours or pulled")
    ok(all(r.query["noprune"] == "1" for r in e.called("DELETE", "/images/.*")),
       "nothing goes along with another")
    e = prune_engine()
    eq(len(json.loads(od(e, "prune", "b", "--keep", "0", "--json").stdout)), 1,
       "of one base")
    ok("od-runtime:4" not in e.images and "od-runtime:3" in e.images, "and no other")
    e = prune_engine()
    eq(sorted(od(e, "prune").stdout.decode().splitlines()),
       ["od-runtime:8 od_runtime:8", "sha256:" + "05" * 32], "three are left without --keep")
    e = prune_engine()
    e.answers.append(("DELETE", "/images/.*", refusal(409, "in use")))
    eq((od(e, "prune", "--keep", "0").stdout, sorted(e.images)), (b"", before),
       "what the engine keeps is not told to be gone")
    for times in (".2", ".10"), (".10", ".2"):
        e = engine()
        for i, fraction in enumerate(times):
            doc = old(f"1{i}", "a", 5, [f"od-runtime:1{i}"])
            e.images[f"od-runtime:1{i}"] = doc
            e.answers.append(("GET", f"/images/{doc['Id']}/json",
                              response(200, {"Created": f"1970-01-01T00:00:05{fraction}Z"})))
        eq(od(e, "prune", "--keep", "1").stdout.decode(), f"od-runtime:1{times.index('.10')}\n",
           "of two of one second, the older one goes")
    for path, answer in (("/images/json", refusal(500, "x")),
                         ("/containers/json", response(200, b"no json"))):
        e = prune_engine()
        e.answers.append(("GET", path, answer))
        eq(od(e, "prune", "--keep", "0").returncode, 111, f"{path} fails")
        eq(sorted(e.images), before, "and nothing is removed")


def main():
    write_client()
    harness.main()


if __name__ == "__main__":
    main()
