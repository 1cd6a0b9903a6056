#!/usr/bin/env python3
"""build --output: a layer added to an image without an engine.

Images are made on the spot. What comes out is read here and by skopeo, umoci and an
engine's "load", each skipped by name where it is missing.
"""
import gzip
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import tarfile
import tempfile

import harness
import images
from harness import eq, has, ok, skip, under
from images import DOCKER, OCI, Image, Layout

# What ships; with sanitizers it would need a loader and be refused.
CLIENT = os.path.join(harness.BUILD, "od-runtime-client")
BUSYBOX = "/bin/busybox" if os.path.exists("/bin/busybox") else "/usr/bin/busybox"
TEMP = harness.scratch("od-append-")
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
SHELL = [("bin", None), ("bin/busybox", b"#!"), ("bin/sh", "-> busybox")]
OURS = {".od", ".od/od-plugins", ".od/od-runtime-client", "openhands", "openhands/micromamba",
        "openhands/micromamba/bin", "openhands/micromamba/bin/micromamba"}
_n = 0


def place(name="x"):
    global _n
    _n += 1
    folder = os.path.join(TEMP, str(_n))
    os.mkdir(folder)
    return os.path.join(folder, name)


def od(*argv, before=None, client=CLIENT):
    env = dict(os.environ, OD_RUNTIME_CLIENT=client, DOCKER_HOST="unix:///nowhere")
    return subprocess.run([harness.RUNTIME, "build", *argv], capture_output=True, env=env,
                          stdin=subprocess.DEVNULL, timeout=60 * harness.SLOW,
                          preexec_fn=before)


def made(*argv, **more):
    r = od(*argv, "--json", **more)
    if not ok(r.returncode == 0, "built: " + argv[0].rsplit("/", 1)[-1], r.stderr):
        raise AssertionError(r.stderr)
    return json.loads(r.stdout)


def refused(source, words, name, *more, code=111):
    """Nothing comes of it: neither a target nor files on the way to one."""
    target = place("out")
    for kind in ("archive", "oci"):
        r = od(source, "--output", f"{kind}:{target}", *more)
        eq(r.returncode, code, f"{name}: refused for {kind}")
        has(r.stderr, words, f"{name}: and why")
        eq(os.listdir(os.path.dirname(target)), [], f"{name}: nothing is left behind")


def base(**more):
    return Image([images.tar(*SHELL), images.tar(("data", b"x"))], arch=ARCH, **more)


def sample():
    return base(config={"Entrypoint": ["/bin/app"], "Cmd": ["a b"], "Env": ["A=$x"],
                        "User": "7:8", "Labels": {"theirs": "1"}, "Odd\u00e9": [1.50],
                        "Healthcheck": {"Test": ["CMD", "x"]}, "OnBuild": ["RUN y"]},
                top={"container": "dead", "container_config": {"Cmd": []},
                     "docker_version": "20", "os.version": "1", "weird": {"k": 1e2}},
                extra={"annotations": {"a": "b"}, "subject": {"x": 1}})


def test_settings():
    source = images.layout(place(), sample())
    old, old_config = Layout(source).image(Layout(source).root())
    out = place()
    said = made(f"oci:{source}", "--output", f"oci:{out}:prod", "-t", "team/app:7")
    new = Layout(out)
    root = new.root("prod")
    eq(root["digest"], said["digest"], "the digest that is printed is that of the name")
    eq(root["annotations"]["io.containerd.image.name"], "docker.io/team/app:7", "-t")
    manifest, config = new.image(root)
    eq(manifest["layers"][:-1], old["layers"], "the base's layers are what they were")
    eq(manifest["annotations"], {"a": "b"}, "annotations stay")
    ok("subject" not in manifest, "a subject is left out")
    layer = manifest["layers"][-1]
    eq((layer["mediaType"], layer["size"]), (OCI["gzip"], len(new.blob(layer["digest"]))),
       "our layer's descriptor")
    eq(images.digest(gzip.decompress(new.blob(layer["digest"]))),
       config["rootfs"]["diff_ids"][-1], "and its diff id")
    ok(len(new.blob(layer["digest"])) < 1 << 20, "it has less than a megabyte")
    tree = new.tree(layer)
    eq(set(tree), OURS, "what is in it")
    eq(tree[".od/od-plugins"].mode, 0o555, "the mode of od-plugins")
    eq({(m.uid, m.gid, m.mtime, m.uname) for m in tree.values()}, {(0, 0, 0, "")},
       "nobody's and of no time")
    eq(tree[".od/od-runtime-client"].mode, 0o555, "the client's mode")
    c = config["config"]
    eq(c["Entrypoint"], ["/.od/od-runtime-client", "init"], "entry point")
    ok("Cmd" not in c, "no arguments")
    eq(c["Healthcheck"], {"Test": ["NONE"]}, "the check is off")
    for key in ("Env", "User", "Odd\u00e9", "OnBuild"):
        eq(c[key], old_config["config"][key], f"{key} stays")
    has(json.dumps(old_config), "1.5", "the odd number")
    labels = c["Labels"]
    eq(labels["theirs"], "1", "labels stay")
    eq(json.loads(labels["od.orig.entrypoint"]), ["/bin/app"], "the old entry point")
    eq(json.loads(labels["od.orig.cmd"]), ["a b"], "the old arguments")
    eq(labels["od.layer"], config["rootfs"]["diff_ids"][-1], "the layer's label")
    eq(labels["od.base.id"], old["config"]["digest"], "the base's id")
    eq(labels["od.shell"], "own", "the shell was seen")
    for key in ("container", "container_config", "docker_version"):
        ok(key not in config, f"{key} is gone")
    for key in ("os.version", "weird", "created"):
        eq(config[key], old_config[key], f"{key} stays")
    eq(len(config["history"]), 3, "one more step in the history")
    raw = new.blob(manifest["config"]["digest"])
    has(raw, b'"Odd\\u00e9":[1.5]', "what is not known is kept byte by byte")


def test_same_bytes():
    source = images.layout(place(), sample(), "a")
    first = made(f"oci:{source}", "--output", f"oci:{place()}")
    eq(made(f"oci:{source}:a", "--output", f"oci:{source}:b")["images"][0]["layer"],
       first["images"][0]["layer"], "the layer is the same bytes every time")
    names = {e["annotations"]["org.opencontainers.image.ref.name"]
             for e in Layout(source).json("index.json")["manifests"]}
    eq(names, {"a", "b"}, "a layout may be source and target")
    before = sorted(Layout(source).files)
    made(f"oci:{source}:a", "--output", f"oci:{source}:b")
    eq(sorted(Layout(source).files), before, "and nothing is added the second time")
    one, two = place("1.tar"), place("2.tar")
    made(f"oci:{source}:a", "--output", f"archive:{one}", "-t", "x:1")
    made(f"oci:{source}:a", "--output", f"archive:{two}", "-t", "x:1")
    with open(one, "rb") as f, open(two, "rb") as g:
        eq(f.read() == g.read(), True, "the same archive too")


def test_no_chain():
    """However often it is done, there is one layer of ours."""
    source, out = images.layout(place(), sample(), "a"), place()
    first = made(f"oci:{source}", "--output", f"oci:{out}:p")
    again = made(f"oci:{out}:p", "--output", f"oci:{out}:q")
    eq((again["digest"], again["images"][0]["replaced"]), (first["digest"], True),
       "a product of ours again is the same image")
    # What users build on a product has our labels, and their layers on top of ours.
    manifest, config = Layout(out).image(Layout(out).root("p"))
    blob = Layout(out).blob
    layers = [gzip.decompress(blob(x["digest"])) for x in manifest["layers"]]
    theirs = Image([*layers, images.tar(("more", b"z"))], arch=ARCH,
                   config=dict(config["config"], Entrypoint=["/theirs"]))
    made(f"oci:{images.layout(place(), theirs)}", "--output", f"oci:{out}:r")
    m, c = Layout(out).image(Layout(out).root("r"))
    eq([set(Layout(out).tree(x)) == OURS for x in m["layers"]],
       [False, False, False, True], "ours has moved to the top")
    eq(len(c["rootfs"]["diff_ids"]), 4, "and stands in the config once")
    eq([h["created_by"] for h in c["history"]][:3], ["step 0", "step 1", "step 3"],
       "as in the history")
    eq(json.loads(c["config"]["Labels"]["od.orig.entrypoint"]), ["/theirs"], "theirs")
    # Labels alone decide nothing: this one was made flat.
    flat = Image([images.tar(*SHELL)], arch=ARCH, config=config["config"])
    said = made(f"oci:{images.layout(place(), flat)}", "--output", f"oci:{out}:s")
    eq(said["images"][0]["replaced"], False, "a layer that is not ours stays")
    # A builder's product has no digest of our layer in its labels.
    labels = {k: v for k, v in config["config"]["Labels"].items() if k != "od.layer"}
    built = Image(layers, arch=ARCH, config=dict(config["config"], Labels=labels))
    said = made(f"oci:{images.layout(place(), built)}", "--output", f"oci:{out}:t")
    eq(said["images"][0]["replaced"], True, "it is known by what is in it")
    labels["od.base.layers"] = "0"
    said = made(f"oci:{images.layout(place(), built)}", "--output", f"oci:{out}:u")
    eq(said["images"][0]["replaced"], False, "or not, if labels lie")


def test_docker_family():
    out = place("a.tar")
    made(f"oci:{images.layout(place(), base(family=DOCKER))}", "--output",
         f"archive:{out}", "-t", "n")
    m, _ = Layout(out).image(Layout(out).root())
    eq((m["mediaType"], m["config"]["mediaType"], m["layers"][-1]["mediaType"]),
       (DOCKER["manifest"], DOCKER["config"], DOCKER["gzip"]), "all of Docker's types")
    eq(Layout(out).json("manifest.json")[0]["RepoTags"], ["n:latest"], "its name")


def test_docker_archive():
    path = place("d.tar")
    entries = images.docker_files(base(), ("base:1", "host:5/b/c:2"))
    with open(path, "wb") as f:
        f.write(images.tar(*entries))
    out = place("o.tar")
    for ref in ("", ":base:1", ":docker.io/library/base:1", ":host:5/b/c:2"):
        made(f"archive:{path}{ref}", "--output", f"archive:{out}", "-t", "n:1")
    m, c = Layout(out).image(Layout(out).root())
    eq([x["digest"] for x in m["layers"][:2]], c["rootfs"]["diff_ids"][:2],
       "layers that are not packed are known by their diff ids")
    names = [n for n, _ in entries]
    with tarfile.open(out) as t:
        eq(t.getnames(), sorted(t.getnames()), "entries are in order")
        eq({i.mtime for i in t}, {0}, "and of no time")
    eq(made(f"archive:{out}", "--output", f"archive:{place()}")["images"][0]["replaced"],
       True, "what is written can be read")
    # Engines store a layer that stands twice as a link to the first.
    linked = [("up/l.tar", "-> ../1/layer.tar") if n == names[2] else (n, w)
              for n, w in entries]
    moved = json.loads(linked[-1][1])
    moved[0]["Layers"][1] = "up/l.tar"
    linked[-1] = ("manifest.json", json.dumps(moved).encode())
    linked.insert(0, (names[2], entries[2][1]))
    with open(path, "wb") as f:
        f.write(images.tar(*[("./" + n, w) for n, w in linked]))
    made(f"archive:{path}", "--output", f"archive:{place()}")
    refused(f"archive:{path}:other", b"does not contain an image named other", "a wrong name")
    for target, name in (("up/l.tar", "a link to itself"), ("../../etc/passwd", "a way out"),
                         ("/etc/passwd", "an absolute one")):
        bad = [(n, "-> " + target if n == "up/l.tar" else w) for n, w in linked]
        with open(path, "wb") as f:
            f.write(images.tar(*bad))
        refused(f"archive:{path}", b"leads to no file", name)
    with open(path, "wb") as f:
        f.write(images.tar(*entries, entries[0]))
    refused(f"archive:{path}", b"is in it twice", "a file that is there twice")


def other_client(machine, arch):
    """A program for a machine that this may not be."""
    with open(CLIENT, "rb") as f:
        data = bytearray(f.read())
    struct.pack_into("<H", data, 18, machine)
    path = place("client")
    shutil.copy(CLIENT, path)
    with open(path + "-" + arch, "wb") as f:
        f.write(data)
    return path


def test_platforms():
    other, machine = ("arm64", 183) if ARCH == "amd64" else ("amd64", 62)
    client = other_client(machine, other)
    for family in (OCI, DOCKER):
        blobs, entries = {}, []
        for arch, os_ in ((ARCH, "linux"), (other, "linux"), ("s390x", "linux"),
                          (ARCH, "windows"), ("unknown", "unknown")):
            i = Image([images.tar(*SHELL)], arch=arch, os_=os_, family=family)
            d = i.put(blobs)
            entries.append(dict(d, platform={"architecture": arch, "os": os_, "x": 1}))
        root = images.index(blobs, entries, family)
        source, out = place(), place()
        images.write_layout(source, images.files_of(blobs, root))
        said = made(f"oci:{source}", "--output", f"oci:{out}", client=client)
        eq([i["arch"] for i in said["images"]], [ARCH, other], "one for each client")
        new = Layout(out)
        root = new.root()
        eq(root["mediaType"], family["index"], "an index of the same family")
        got = json.loads(new.blob(root["digest"]))["manifests"]
        eq([e["platform"] for e in got], [e["platform"] for e in entries[:2]],
           "with its platforms as they were")
        for e, arch in zip(got, (ARCH, other)):
            eq(new.image(e)[1]["architecture"], arch, f"the image for {arch}")
        out = place("one.tar")
        said = made(f"oci:{source}", "--output", f"archive:{out}", "--platform",
                    "linux/" + other, client=client)
        eq(Layout(out).root()["digest"], said["images"][0]["digest"],
           "--platform makes one image")
        ok("manifest.json" in Layout(out).files, "which engines can load")
        refused(f"oci:{source}", b"no client for", "no client for it", "--platform",
                "linux/s390x")
        refused(f"oci:{source}", b"does not contain an image for", "no image for it", "--platform",
                "linux/riscv64")
        refused(f"oci:{source}", b"is not a Linux platform", "Windows", "--platform",
                "windows/amd64", code=100)


def test_shell():
    bare = Image([images.tar(("app", b"x"))], arch=ARCH)
    source, out = images.layout(place(), bare), place()
    if not os.path.exists(BUSYBOX):
        skip("a busybox goes in", "there is none here")
    else:
        said = made(f"oci:{source}", "--output", f"oci:{out}", "--busybox", BUSYBOX)
        eq(said["images"][0]["shell"], "busybox", "an image without a shell gets one")
        m, _ = Layout(out).image(Layout(out).root())
        ok(".od/bin/busybox" in Layout(out).tree(m["layers"][-1]), "in our layer")
    r = od(f"oci:{source}", "--output", f"oci:{place()}", "--no-busybox", "--json")
    eq(json.loads(r.stdout)["images"][0]["shell"], "none", "or none")
    gone = Image([images.tar(*SHELL), images.tar(("bin/.wh.sh", b""),
                                                 ("bin/.wh.busybox", b""))], arch=ARCH)
    r = od(f"oci:{images.layout(place(), gone)}", "--output", f"oci:{place()}",
           "--no-busybox", "--json")
    eq(json.loads(r.stdout)["images"][0]["shell"], "none", "a whiteout is understood")
    merged = Image([images.tar(("bin", "-> usr/bin"), ("usr/bin/dash", b"x"),
                               ("usr/bin/sh", "-> dash"))], arch=ARCH)
    said = made(f"oci:{images.layout(place(), merged)}", "--output", f"oci:{place()}")
    eq(said["images"][0]["shell"], "own", "so is a merged /usr")
    packed = Image([b"\x28\xb5\x2f\xfd" + bytes(99)], arch=ARCH, pack="zstd")
    r = od(f"oci:{images.layout(place(), packed)}", "--output", f"oci:{place()}", "--json")
    eq(json.loads(r.stdout)["images"][0]["shell"], "unknown", "zstd is not looked into")
    has(r.stderr, b"--busybox", "and that is said")


def test_refused():
    def bad(image, words, name):
        refused(f"oci:{images.layout(place(), image)}", words, name)

    bad(base(os_="windows"), b"not a Linux image", "Windows")
    bad(Image([], arch="s390x"), b"is for s390x", "another architecture")
    bad(base(config={"Volumes": {"/.od/": {}}}), b"VOLUME at or above /.od", "a volume over us")
    bad(base(top={"rootfs": {"type": "layers", "diff_ids": []}}), b"different numbers of layers",
        "layers that the config does not know")
    bad(base(extra={"manifests": []}), b"members of both an image and an index", "both kinds in one")
    bad(base(extra={"schemaVersion": 1}), b"obsolete schema version 1", "the old schema")
    bad(base(extra={"mediaType": OCI["index"]}), b"its mediaType differs", "a lie of the type")
    bad(base(family=dict(OCI, config="application/vnd.cncf.helm.config.v1+json")),
        b"its config is not the config of an image", "a chart")
    bad(base(extra={"layers": [{"digest": "md5:0", "size": 1}]}), b"the descriptor of a layer is malformed",
        "a digest that cannot be checked")
    blobs = {}
    inner = images.index(blobs, [base().put(blobs)])
    root = images.index(blobs, [dict(inner, platform={"os": "linux",
                                                      "architecture": ARCH})])
    nested = images.write_layout(place(), images.files_of(blobs, root))
    refused(f"oci:{nested}", b"an index that contains another index", "an index in an index")
    refused(f"oci:{TEMP}/none", b"No such file", "no such folder")
    refused(f"oci:{TEMP}", b"is not an OCI layout", "a folder of other things")
    refused("debian:12", b"does not name a kind of image store", "an engine's image", code=100)
    refused(f"oci:{nested}", b"is not a valid image name", "a bad name", "-t", "A B", code=100)
    both = images.layout(place(), base(), "a")
    with open(both + "/index.json", "r+b") as f:
        doc = json.load(f)
        doc["manifests"].append(dict(doc["manifests"][0], annotations={}))
        f.seek(0)
        f.write(json.dumps(doc).encode())
    refused(f"oci:{both}", b"does not contain exactly one image", "two images and no name")
    refused(f"oci:{both}:b", b"does not contain an image named b", "a name that is not there")
    full = place("full")
    os.mkdir(full)
    with open(full + "/mine", "wb"):
        pass
    r = od(f"oci:{both}:a", "--output", f"oci:{full}")
    eq((r.returncode, os.listdir(full)), (111, ["mine"]), "a folder that has other things")
    for magic in (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh"):
        path = place("c.tar")
        with open(path, "wb") as f:
            f.write(magic + bytes(2000))
        refused(f"archive:{path}", b"it is compressed", "a compressed archive")


def test_damage():
    """One bit anywhere, in each kind of file, is found, and nothing is written."""
    blobs = {}
    d = base().put(blobs)
    files = images.files_of(blobs, d, "a")
    manifest = json.loads(blobs[d["digest"]])
    kinds = {"manifest": d, "config": manifest["config"], "layer": manifest["layers"][0],
             "last layer": manifest["layers"][1]}
    for kind, what in kinds.items():
        name = "blobs/" + what["digest"].replace(":", "/")
        data = files[name]
        for at in sorted({0, 1, len(data) // 3, len(data) // 2, len(data) - 1}):
            flipped = bytearray(data)
            flipped[at] ^= 4
            for change, words in ((bytes(flipped), b"damaged"),):
                bad = images.write_layout(place(), dict(files, **{name: change}))
                refused(f"oci:{bad}", words, f"{kind}, bit at {at}")
        for change, why in ((data[:-1], "shorter"), (data + b"x", "longer"), (b"", "empty")):
            bad = images.write_layout(place(), dict(files, **{name: change}))
            refused(f"oci:{bad}", b"od-runtime: ", f"{kind}, {why}")
            path = place("d.tar")
            with open(path, "wb") as f:
                f.write(images.tar(*dict(files, **{name: change}).items()))
            refused(f"archive:{path}", b"od-runtime: ", f"{kind} in an archive, {why}")
    swapped = dict(files)
    a, b = ("blobs/" + kinds[k]["digest"].replace(":", "/") for k in ("layer", "last layer"))
    swapped[a], swapped[b] = files[b], files[a]
    refused(f"oci:{images.write_layout(place(), swapped)}", b"descriptor says", "swapped layers")
    missing = images.write_layout(place(), {k: v for k, v in files.items() if k != b})
    refused(f"oci:{missing}", b"No such file", "a layer that is missing")
    os.mkfifo(missing + "/" + b)
    refused(f"oci:{missing}", b"od-runtime: ", "a pipe in its place")


def test_unread():
    """Large layers are linked, or copied by the kernel: whoever reads them checks them."""
    # What looks like zstd is not looked into for a shell.
    data = b"\x28\xb5\x2f\xfd" + os.urandom(400 << 10)
    blobs = {}
    d = Image([data], arch=ARCH, pack="zstd").put(blobs)
    files = images.files_of(blobs, d, "a")
    layer = json.loads(blobs[d["digest"]])["layers"][0]
    name = "blobs/" + layer["digest"].replace(":", "/")
    flipped = bytearray(files[name])
    flipped[300 << 10] ^= 4
    bad = images.write_layout(place(), dict(files, **{name: bytes(flipped)}))
    packed = place("bad.tar")
    with open(packed, "wb") as f:
        f.write(images.tar(*dict(files, **{name: bytes(flipped)}).items()))
    for source in (f"oci:{bad}", f"archive:{packed}"):
        refused(source, b"damaged", "a flipped bit, --verify", "--verify")
        for target in ("archive:" + place("out.tar"), "oci:" + place("out")):
            made(source, "--output", target)
            eq(Layout(target.split(":")[1]).files[name], bytes(flipped),
               "it has its old name, which tells")
    good = images.write_layout(place(), files)
    with tempfile.TemporaryDirectory(prefix="od-append-", dir="/dev/shm") as other:
        made(f"oci:{good}", "--output", f"oci:{other}/out")
        eq(Layout(other + "/out").files[name], files[name], "into another file system")
    for change, why in ((files[name][:-1], "shorter"), (files[name] + b"x", "longer")):
        bad = images.write_layout(place(), dict(files, **{name: change}))
        refused(f"oci:{bad}", why.encode(), f"a layer that is {why}")
    # There only a file's name says what the digest of a packed layer is.
    image = Image([data], arch=ARCH)
    image.config["rootfs"]["diff_ids"] = ["sha256:" + "1" * 64]
    for name, right in ((images.digest(image.layers[0])[7:] + ".tar.zst", True),
                        ("ab" * 32 + "/layer.tar", False)):
        with open(packed, "wb") as f:
            f.write(images.tar(*images.docker_files(image, name=name)))
        if right:
            made(f"archive:{packed}", "--output", "oci:" + place("out"))
        else:
            refused(f"archive:{packed}", b"another digest", "a name that is no digest")
    # Engines unpack it, whatever its name is.
    image = Image([b"\xfd7zXZ\0" + os.urandom(400 << 10)], arch=ARCH)
    image.config["rootfs"]["diff_ids"] = ["sha256:" + "1" * 64]
    with open(packed, "wb") as f:
        f.write(images.tar(*images.docker_files(image)))
    refused(f"archive:{packed}", b"another digest", "what is packed another way")
    r = od("busybox", "--verify")
    eq(r.returncode, 100, "--verify is for images in places")
    has(r.stderr, b"--output", "and that is said")


def test_cut():
    path, cut = place("d.tar"), place("cut.tar")
    with open(path, "wb") as f:
        f.write(images.tar(*images.docker_files(base())))
    size = os.path.getsize(path)
    used = len(open(path, "rb").read().rstrip(b"\0"))
    for n in {0, 1, 511, 512, 513, 1024, used // 2, used - 1, used, used + 511}:
        with open(path, "rb") as f, open(cut, "wb") as g:
            g.write(f.read(min(n, size)))
        refused(f"archive:{cut}", b"od-runtime: ", f"an archive of {n} bytes")
    with open(path, "rb") as f:
        data = bytearray(f.read())
    # Header fields of the first entry: name, mode, size, sum, type.
    for at in (0, 100, 124, 130, 148, 156):
        bad = bytearray(data)
        bad[at] ^= 0x40
        with open(cut, "wb") as g:
            g.write(bad)
        refused(f"archive:{cut}", b"od-runtime: ", f"a header with another byte {at}")


def test_no_room():
    source = images.layout(place(), Image([images.tar(("big", bytes(4 << 20)))], arch=ARCH,
                                          pack="layer"))

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    for kind in ("archive", "oci"):
        target = place("out")
        r = od(f"oci:{source}", "--output", f"{kind}:{target}", before=small)
        eq(r.returncode, 111, f"{kind}: no room")
        eq(os.listdir(os.path.dirname(target)), [], f"{kind}: nothing is left behind")
    # What was there before stays.
    target = place("old.tar")
    with open(target, "wb") as f:
        f.write(b"old")
    r = od(f"oci:{source}", "--output", f"archive:{target}", before=small)
    with open(target, "rb") as f:
        eq((r.returncode, f.read()), (111, b"old"), "an old archive stays as it was")
    out = place()
    made(f"oci:{images.layout(place(), base())}", "--output", f"oci:{out}:a")
    before = Layout(out).files
    r = od(f"oci:{source}", "--output", f"oci:{out}:a", before=small)
    eq((r.returncode, Layout(out).files), (111, before), "and so does an old layout")


def test_links():
    source = images.layout(place(), base(), "a")
    out = place()
    made(f"oci:{source}", "--output", f"oci:{out}")
    name = "blobs/" + Layout(source).image(
        Layout(source).root())[0]["layers"][0]["digest"].replace(":", "/")
    ok(os.path.samefile(f"{source}/{name}", f"{out}/{name}"),
       "two layouts share what both have")


def test_memory():
    """Nothing of a layer is held: 256 MiB pass through."""
    path = place("big.tar")
    big = Image([images.tar(("zeros", bytes(256 << 20)))], arch=ARCH)
    with open(path, "wb") as f:
        f.write(images.tar(*images.docker_files(big)))
    del big
    out = place("out.tar")
    r = subprocess.run(["/usr/bin/env", "python3", "-c", """if 1:
        import resource, subprocess, sys
        subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
        """, os.path.join(harness.BUILD, "od-runtime"), "build", f"archive:{path}",
                        "--output", f"archive:{out}", "--client", CLIENT],
                       capture_output=True, timeout=60 * harness.SLOW, check=True)
    under(int(r.stdout), 16 << 10, "KiB resident at most")


def tool(*argv):
    return subprocess.run(argv, capture_output=True, timeout=60 * harness.SLOW)


def test_skopeo():
    if not shutil.which("skopeo"):
        return skip("skopeo reads all of it", "no skopeo")
    source = images.layout(place(), sample(), "a")
    layout, archive = place(), place("a.tar")
    said = made(f"oci:{source}", "--output", f"oci:{layout}:p")
    made(f"oci:{source}", "--output", f"archive:{archive}", "-t", "team/x:3")
    for name in (f"oci:{layout}:p", f"oci-archive:{archive}",
                 f"docker-archive:{archive}:team/x:3"):
        r = tool("skopeo", "inspect", name)
        eq(r.returncode, 0, f"skopeo inspects {name.split(':')[0]}")
        if r.returncode == 0 and name.startswith("oci"):
            eq(json.loads(r.stdout)["Digest"], said["digest"], "the same digest")
        r = tool("skopeo", "--insecure-policy", "copy", name, f"oci:{place()}:z")
        ok(r.returncode == 0, "and copies it", r.stderr)
    for kind in ("docker-archive", "oci-archive"):
        theirs = place("t.tar")
        r = tool("skopeo", "--insecure-policy", "copy", f"oci:{source}:a",
                 f"{kind}:{theirs}:n/m:1")
        ok(r.returncode == 0, f"skopeo writes a {kind}", r.stderr)
        made(f"archive:{theirs}", "--output", f"archive:{place()}")
        made(f"archive:{theirs}:n/m:1", "--output", f"oci:{place()}")


def test_umoci():
    if not shutil.which("umoci"):
        return skip("umoci unpacks it", "no umoci")
    folder = place()
    for argv in (["init", "--layout", folder], ["new", "--image", folder + ":a"]):
        tool("umoci", *argv)
    for i in range(3):
        bundle = place()
        tool("umoci", "unpack", "--rootless", "--image", folder + ":a", bundle)
        with open(f"{bundle}/rootfs/file{i}", "w") as f:
            f.write(str(i))
        r = tool("umoci", "repack", "--image", folder + ":a", bundle)
        ok(r.returncode == 0, f"umoci adds layer {i}", r.stderr)
    made(f"oci:{folder}:a", "--output", f"oci:{folder}:b")
    bundle = place()
    r = tool("umoci", "unpack", "--rootless", "--image", folder + ":b", bundle)
    ok(r.returncode == 0, "umoci unpacks the product", r.stderr)
    with open(f"{bundle}/rootfs/.od/od-runtime-client", "rb") as f, open(CLIENT, "rb") as g:
        eq(f.read() == g.read(), True, "with the client in it")
    eq(sorted(n for n in os.listdir(f"{bundle}/rootfs") if n.startswith("file")),
       ["file0", "file1", "file2"], "and the three layers below it")


def docker(*argv):
    return subprocess.run(["docker", *argv], capture_output=True,
                          timeout=120 * harness.SLOW)


def test_engine():
    if not shutil.which("docker") or docker("version").returncode:
        return skip("an engine loads and runs it", "no docker")
    if not os.path.exists(BUSYBOX):
        return skip("an engine loads and runs it", "no busybox")
    name = f"append-test-{os.getpid()}"
    with open(BUSYBOX, "rb") as f:
        box = f.read()
    image = Image([images.tar(("bin", None), ("bin/busybox", box), ("bin/sh", "-> busybox"),
                              ("bin/cat", "-> busybox"))],
                  arch=ARCH, config={"Cmd": ["/bin/sh"], "Env": ["PATH=/bin"]})
    path, saved = place("a.tar"), place("s.tar")
    try:
        made(f"oci:{images.layout(place(), image)}", "--output", f"archive:{path}", "-t",
             name + ":1")
        r = docker("load", "-i", path)
        ok(r.returncode == 0, "docker load", r.stderr)
        r = docker("run", "--rm", "--entrypoint", "/.od/od-runtime-client", name + ":1",
                   "--version")
        ok(r.returncode == 0, "the client runs in it", r.stderr)
        r = docker("run", "--rm", "--entrypoint", "/.od/od-plugins", name + ":1", "open_file",
                   "/bin/sh")
        has(r.stdout, b"ERROR: File /bin/sh is not UTF-8", "od-plugins executes a skill in it")
        docker("save", "-o", saved, name + ":1")
        said = made(f"archive:{saved}:{name}:1", "--output", f"archive:{path}", "-t",
                    name + ":2")
        eq(said["images"][0]["replaced"], True, "what docker saves is known as ours")
        r = docker("load", "-i", path)
        ok(r.returncode == 0, "and is loaded again", r.stderr)
        r = docker("inspect", name + ":2")
        eq(len(json.loads(r.stdout)[0]["RootFS"]["Layers"]), 2, "without a chain")
    finally:
        docker("rmi", "-f", name + ":1", name + ":2")


ODD = {
    "a link": [(".od", "-> /tmp")],
    "a link upwards": [(".od", "-> ../../usr")],
    "a file": [(".od", b"x")],
    "a folder with a link for the client": [(".od", None),
                                            (".od/od-runtime-client", "-> /bin/busybox")],
    "a whiteout": [(".wh..od", b"")],
}


def test_odd_bases():
    """Whatever /.od is in the base, our client is there and nothing else is changed."""
    if not shutil.which("docker") or docker("version").returncode:
        return skip("odd bases", "no docker")
    if not os.path.exists(BUSYBOX):
        return skip("odd bases", "no busybox")
    name = f"append-odd-{os.getpid()}:1"
    with open(BUSYBOX, "rb") as f:
        box = f.read()
    for what, entries in ODD.items():
        image = Image([images.tar(("bin", None), ("bin/busybox", box),
                                  ("bin/ls", "-> busybox"), ("tmp", None), *entries)],
                      arch=ARCH, config={"Cmd": ["/bin/ls"]})
        path = place("a.tar")
        try:
            made(f"oci:{images.layout(place(), image)}", "--output", f"archive:{path}",
                 "-t", name)
            ok(docker("load", "-i", path).returncode == 0, f"/.od is {what}: loaded")
            r = docker("run", "--rm", "--network", "none", "--entrypoint",
                       "/.od/od-runtime-client", name, "--version")
            has(r.stdout, b"od-runtime-client", f"/.od is {what}: the client runs")
            r = docker("run", "--rm", "--network", "none", "--entrypoint", "/bin/ls", name,
                       "-A", "/tmp")
            eq((r.returncode, r.stdout), (0, b""), f"/.od is {what}: nothing is elsewhere")
        finally:
            docker("rmi", "-f", name)


if __name__ == "__main__":
    harness.main()
