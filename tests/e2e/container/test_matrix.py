#!/usr/bin/env python3
"""Every kind of base, made on the spot, with a real engine: one table, a row for each.

A row says how its image is made, how it is run, and what is seen from inside and by the
engine, or by which words it is refused. In each sandbox a file is written, one is
copied into it, and both are read. Skipped by name where there is no engine, or no static busybox.

  OD_MATRIX=all  the slow rows, too: other releases of Debian (made by debootstrap and
                 kept in ~/.cache/od-runtime), and an image of 2 GB
"""
import concurrent.futures
import errno
import json
import os
import re
import subprocess
import tarfile
import tempfile
import threading

import harness
import engine as real
import images

BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
MUSL = "/lib/ld-musl-x86_64.so.1"
CRT = os.path.join(harness.TOP, "third_party/src/musl-x86_64/lib/x86_64-linux-musl/")
DEBIAN = os.path.join(os.environ.get("OD_IMAGES", "/nonexistent"), "debian.tar")
ENGINE = real.find()
RUNTIME = ENGINE.call("GET", "/info").get("DefaultRuntime", "none") if ENGINE else "none"
PODMAN = bool(ENGINE) and "Podman" in str(ENGINE.call("GET", "/version").get("Components"))
TEMP = harness.scratch("od-matrix-")
os.chmod(TEMP, 0o755)  # an engine without rights reads what lies in it
COPIED = os.path.join(TEMP, "copied")
AT_ONCE = 4


# --- How images are made ------------------------------------------------------------

def read(path):
    with open(path, "rb") as f:
        return f.read()


def base(*trees, arch="amd64", os_="linux", **config):
    """A layer for each tree of files (see engine.archive), and its settings."""
    def make(name):
        made = images.Image([real.archive(t() if callable(t) else t) for t in trees],
                            config, arch, os_)
        ENGINE.call("POST", "/images/load",
                    images.tar(*images.docker_files(made, (name,))), {"quiet": 1})
    return make


MANY = threading.Lock()


def layers(n):
    """So many of them; the engine takes half a minute for those that it does not have,
    if there are several such images at a time."""
    make = base(shell, *({f"l/{i}": b""} for i in range(n - 1)))

    def one_by_one(name):
        with MANY:
            make(name)
    return one_by_one


def shell():
    """A shell that is busybox, and no other name for it."""
    return {"bin/busybox": read(BUSYBOX), "bin/sh": "busybox"}


def users(*lines):
    return {"etc/passwd": ("\n".join(lines) + "\n").encode()}


def dash():
    """dash with the libraries that it needs, and no other program."""
    said = subprocess.run(["ldd", "/bin/dash"], capture_output=True, text=True, check=True)
    files = {path[1:]: read(path) for path in re.findall(r"(/\S+)", said.stdout)}
    return {"bin/sh": read("/bin/dash"), **files}


def compiled(*words):
    """A small program: it says hello."""
    out = tempfile.mktemp(dir=TEMP)
    source = b'int puts(const char *);\nint main(void) { return puts("hello") < 0; }\n'
    subprocess.run(["gcc", "-fno-stack-protector", "-x", "c", "-", "-x", "none", "-o", out,
                    *words], input=source, check=True)
    return read(out)


def static():
    return {"app": compiled("-static")}


def musl():
    """musl's loader and a program that asks for it; no file of glibc."""
    parts = [CRT + "crt1.o", CRT + "crti.o", MUSL, CRT + "crtn.o"]
    return {MUSL[1:]: read(MUSL), "bin/hello": compiled(
        "-nostdlib", "-fno-pie", "-no-pie", *parts, "-Wl,--dynamic-linker=" + MUSL)}


def distroless():
    """A program, its user and certificates, and nothing that could be a shell."""
    return {**static(), "tmp/": (b"", 0o1777), "home/nonroot/": b"",
            "etc/ssl/certs/ca-certificates.crt": b"none\n",
            **users("root:x:0:0:root:/root:/sbin/nologin",
                    "nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin")}


def debian(release):
    """By debootstrap, as tools/images does it."""
    def make(name):
        path = DEBIAN
        if release != "bookworm":
            path = os.path.join(TEMP, release + ".tar")
            subprocess.run(["sh", "-c", '. tools/images; image_debian "$1" "$2"', "sh", path,
                            release], cwd=harness.TOP, check=True)
        with open(path, "rb") as tar:
            ENGINE.load(tar, name)
    return make


def two_gigabytes(name):
    """Made and sent piece by piece."""
    big = tarfile.TarInfo("big")
    big.size = 2 << 30

    def pieces():
        yield big.tobuf()
        yield from (bytes(1 << 20) for _ in range(big.size >> 20))
        yield real.archive(shell())
    ENGINE.load(pieces(), name)


def windows(name):
    """No engine for Linux takes one: in a layout, with what is to be done with it."""
    place = os.path.join(TEMP, "windows")
    images.layout(place, images.Image([real.archive({"Files/": b""})], os_="windows"))
    return ["build", "oci:" + place, "--output", f"oci:{place}-out", "-t", name]


# System calls that kernels have got since 3.10, at least on amd64.
NEWER = """bpf clone3 close_range copy_file_range epoll_pwait2 execveat faccessat2 fchmodat2
    fsopen futex_waitv getrandom io_uring_enter io_uring_setup landlock_create_ruleset membarrier
    memfd_create mlock2 mount_setattr move_mount openat2 pidfd_getfd pidfd_open pidfd_send_signal
    pkey_mprotect preadv2 process_madvise pwritev2 renameat2 rseq sched_setattr seccomp statx
    userfaultfd""".split()


def without_newer(error):
    """A profile of seccomp under which they fail so, as on old kernels and old engines."""
    path = os.path.join(TEMP, f"seccomp-{error}")
    with open(path, "w") as f:
        json.dump({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
            {"names": NEWER, "action": "SCMP_ACT_ERRNO", "errnoRet": error}]}, f)
    return "--security-opt", "seccomp=" + path


# --- The table ----------------------------------------------------------------------

class Row:
    """One kind of base.

    options  of od-runtime run
    do, see  a command in its shell, and what that prints
    look     {path: value} in what the engine says of the container
    refused  words of the refusal: then nothing is started
    needs    (whether, why not): else it is skipped
    """
    def __init__(self, name, image, *options, do="echo $((6*7))", see="42", look=None,
                 refused=(), needs=(True, "")):
        self.name, self.image, self.options, self.do, self.see = name, image, options, do, see
        self.look, self.refused, self.needs = look or {}, refused, needs


def kept(**want):
    """What the image would have started and so on is kept in labels."""
    return {"Config.Labels.od.orig." + k: json.dumps(v, ensure_ascii=False, separators=(",", ":"))
            for k, v in want.items()}


SLOW = (os.environ.get("OD_MATRIX") == "all", "slow: OD_MATRIX=all")
ODD = ["A=b=c", "EMPTY=", "LINES_=a\nb", "UTF=é ⛄", "BLANK= x ", "QUOTES='\"$(id)`\\", "IFS=x",
       "PATH=/bin:/does/not/exist:", "HOME=/nonexistent", "SHELL=/nope", "PS1=boo>",
       "PROMPT_COMMAND=echo boo", "ENV=/nope", "BASH_ENV=/nope", "TERM=dumb", "LC_ALL=nope",
       "LD_PRELOAD=/nope.so", "LD_LIBRARY_PATH=/nope", "port=1", "BIG=" + "x" * 60000]
CHECK = {"Test": ["CMD", "false"], "Interval": 1000000000, "Retries": 1}
AGENT = users("root:x:0:0::/root:/bin/sh", "agent:x:1234:2345::/home/agent:/bin/sh")
HOME = "echo x >~/f && cat ~/f; rm ~/f"
JOBS = ("mkdir -p /w; cd /w; seq 1000 >a; cp a b; mv b c; (sleep 1000 & echo $! >pid); "
        "kill $(cat pid); cmp a c && echo same; echo x | cat | tr x y; ls | wc -l")
JOBS_SEE = "same\ny\n3"
FEW = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges")

ROWS = (
    # What is in it.
    Row("Debian 12, bash", debian("bookworm"), do="echo $BASH_VERSION | cut -c1; "
        ". /etc/os-release; echo $VERSION_CODENAME; test -L /bin && echo merged",
        see="5\nbookworm\nmerged", needs=(os.path.exists(DEBIAN), "OD_IMAGES is not set")),
    Row("Debian 13", debian("trixie"), do=". /etc/os-release; echo $VERSION_CODENAME; "
        "test -L /bin && echo merged", see="trixie\nmerged", needs=SLOW),
    Row("Debian 11, not usr-merged", debian("bullseye"), do=". /etc/os-release; "
        "echo $VERSION_CODENAME; test -L /bin || echo apart", see="bullseye\napart",
        needs=SLOW),
    Row("busybox alone", base(lambda: {"bin/busybox": read(BUSYBOX)}),
        do="ls /bin; id -u; pwd", see="busybox\n0\n/"),
    Row("musl, without glibc", base(shell, musl), do="hello; ls /lib",
        see="hello\nld-musl-x86_64.so.1",
        needs=(os.path.exists(MUSL) and os.path.exists(CRT), "no musl")),
    Row("dash alone", base(dash), do="echo /bin/*; command -v ls || echo none",
        see="/bin/sh\nnone", needs=(os.path.exists("/bin/dash"), "no /bin/dash")),
    Row("from scratch, a static program", base(static, Cmd=["/app"]), do="/app; id -u",
        see="hello\n0", look=kept(cmd=["/app"])),
    Row("distroless", base(distroless, User="65532", Entrypoint=["/app"],
                           WorkingDir="/home/nonroot"),
        do="id -u; id -g; pwd; " + HOME, see="65532\n65532\n/home/nonroot\nx",
        look=kept(entrypoint=["/app"], user="65532")),
    Row("usr-merged, by put", base(lambda: {"usr/bin/sh": read(BUSYBOX), "bin": "usr/bin"}),
        "--via", "put", do="readlink /bin; ls /usr/bin", see="usr/bin\nsh"),
    Row("usr-merged, by build", base(lambda: {"usr/bin/sh": read(BUSYBOX), "bin": "usr/bin"}),
        "--via", "build", do="readlink /bin; ls /usr/bin", see="usr/bin\nsh"),
    Row("/bin and /usr/bin apart, by build", base(shell, {"usr/bin/true": "/bin/busybox"}),
        "--via", "build", do="echo /bin/* /usr/bin/*", see="/bin/busybox /bin/sh /usr/bin/true"),
    Row("no /etc/passwd", base(shell), do="ls /etc/passwd || id -u; " + HOME,
        see="ls: /etc/passwd: No such file or directory\n0\nx"),
    Row("no /etc/passwd, a user to be made", base(shell), "--username", "openhands",
        do="id -un; id -u; echo y >/proc/self/fd/2; " + HOME,
        see="openhands\n1000\ny\nx"),
    Row("no /tmp", base(shell), do="test -e /tmp || echo $TMPDIR; " + HOME, see="/dev/shm\nx"),
    Row("/tmp that is a file", base(shell, {"tmp": b""}),
        do="test -f /tmp && echo $TMPDIR; " + HOME, see="/dev/shm\nx"),
    Row("/openhands of its own", base(shell, {"openhands/own": b"x"}), "--via", "put",
        do="ls /openhands; cat /openhands/own", see="own\nx"),
    *(Row(f"/.od is a file, by {way}", base(shell, {".od": b""}), "--via", way, refused=(
        "cannot be used: its /.od is not a directory",)) for way in ("auto", "bind", "put", "volume", "build")),
    Row("/bin/sh without its loader", base(lambda: {"bin/sh": read("/bin/dash")})),
    Row("/bin/sh without its loader, and busybox", base(lambda: {
        "bin/sh": read("/bin/dash"), "bin/busybox": read(BUSYBOX)})),
    Row("/bin/sh that is empty, and busybox", base(lambda: {
        "bin/sh": b"", "bin/busybox": read(BUSYBOX)})),
    Row("/bin/sh that is not executable, and busybox", base(lambda: {
        "bin/sh": (read(BUSYBOX), 0o644), "bin/busybox": read(BUSYBOX)})),
    Row("/bin/sh for root alone, and USER", base(lambda: {"bin/sh": (read(BUSYBOX), 0o700)}, User="4711"),
        do="id -u", see="4711"),
    Row("/bin/sh for root alone, and --username", base(lambda: {
        "bin/sh": (read(BUSYBOX), 0o700), "bin/busybox": read(BUSYBOX)}), "--username", "openhands",
        do="id -u", see="1000"),
    Row("120 layers", layers(120), "--via", "build",
        do="ls /l | wc -l", see="119"),
    Row("125 layers, the most", layers(125), do="ls /l | wc -l", see="124"),
    Row("125 layers, by build", layers(125), "--via", "build", refused=("max depth exceeded",),
        needs=(not PODMAN, "Podman takes more")),
    Row("2 GB", two_gigabytes, do="stat -c %s /big", see=str(2 << 30), needs=SLOW),

    # What it says of itself.
    Row("USER by name", base(shell, AGENT, User="agent"), do="id -u; id -g; id -un; " + HOME,
        see="1234\n2345\nagent\nx", look=kept(user="agent")),
    Row("USER unknown by number", base(shell, AGENT, User="4711:815"),
        do="id -u; id -g; " + HOME, see="4711\n815\nx"),
    Row("USER unknown by name", base(shell, AGENT, User="ghost"), refused=("ghost",)),
    Row("VOLUME at odd paths", base(shell, AGENT, Volumes={p: {} for p in (
        "/etc", "/openhands", "/tmp", "/a b/é", "/bin/x")}),
        do="cut -d' ' -f2 /proc/mounts | grep -x -e /etc -e /openhands -e /tmp -e '/a.040b/.*' -e "
        "/bin/x | wc -l", see="5"),
    Row("VOLUME over /.od", base(shell, Volumes={"/.od/": {}}),
        refused=("it declares a VOLUME at or above /.od, which is the folder of the client",)),
    Row("ONBUILD", base(shell, OnBuild=["RUN false"])),
    Row("ONBUILD, by build", base(shell, OnBuild=["RUN false"]), "--via", "build",
        needs=(not PODMAN, "Podman tells of none, and its builder executes it")),
    Row("HEALTHCHECK false", base(shell, Healthcheck=CHECK), look={"State.Health.Status": ""}
        if PODMAN else {"State.Health": None, **kept(healthcheck=CHECK)}),
    Row("STOPSIGNAL", base(shell, StopSignal="SIGQUIT"), look={
        "Config.StopSignal": "15" if PODMAN else "SIGTERM", **kept(stopsignal="SIGQUIT")}),
    Row("WORKDIR missing", base(shell, WorkingDir="/not/there yet"), do="pwd; touch f && ls",
        see="/not/there yet\nf"),
    Row("WORKDIR is a file", base(shell, {"data": b""}, WorkingDir="/data"),
        refused=("/data", "not a directory")),
    Row("ENV with odd values", base(shell, Env=ODD), do="echo \"$A|$EMPTY|$LINES_|$UTF|$BLANK|"
        "$QUOTES|$PATH|$LD_PRELOAD|$port|${#BIG}\"; " + HOME,
        see="b=c||a\nb|é ⛄| x |'\"$(id)`\\|/bin:/does/not/exist::/.od/bin|/nope.so|1|60000\nx"),
    Row("ENV that the client does not understand", base(shell, Env=[
        "NO_CHANGE_TIMEOUT_SECONDS=soon"]), refused=("NO_CHANGE_TIMEOUT_SECONDS",)),
    Row("ENV with another's key", base(shell, Env=["SESSION_API_KEY=x"]),
        do="echo ${SESSION_API_KEY-none}", see="none"),
    Row("ENTRYPOINT that fails", base(shell, Entrypoint=["/nope", "é\n\""], Cmd=["", "x"]),
        look=kept(entrypoint=["/nope", "é\n\""], cmd=["", "x"])),
    Row("ENTRYPOINT beside the server", base(shell, AGENT, User="agent", WorkingDir="/srv",
        Entrypoint=["sh", "-c", "cd /dev/shm; echo $$ >pid; echo $0 $1 $(id -u) $OLDPWD >said; "
                    "exec sleep 1000"], Cmd=["é\n", "b c"]), "--entrypoint", "run",
        do="cd /dev/shm; until test -s said; do :; done; cat said; kill -0 $(cat pid) && echo on",
        see="é b c 1234 /srv\non"),
    Row("ENTRYPOINT before the server, by build", base(shell, Entrypoint=["sh", "-c"], Cmd=[
        "echo x >/made; exit 3"]), "--entrypoint", "wait", "--via", "build", do="cat /made",
        see="x"),
    Row("ENTRYPOINT that never ends, waited for", base(shell, Cmd=["sh", "-c",
        "echo I go on; exec sleep 1000"]), "--entrypoint", "wait", "--timeout-start", "4",
        refused=("was not ready after 4 s", "--entrypoint run", "I go on")),
    Row("no ENTRYPOINT to run", base(shell), "--entrypoint", "run",
        refused=("has neither ENTRYPOINT nor CMD",)),
    Row("for another architecture", base(shell, arch="arm64"), refused=("for arm64, ",)),
    Row("for Windows", windows, refused=("it is not a Linux image",)),

    # How it is run, and by what.
    Row("Podman", base(shell), needs=(PODMAN, "the engine is Docker; see docs/testing.md")),
    Row("gVisor", base(shell), look={"HostConfig.Runtime": "runsc"},
        needs=(RUNTIME == "runsc", f"the engine's default runtime is {RUNTIME}; see test_gvisor.py")),
    Row("read-only", base(shell), "--read-only", do="touch /x; " + HOME,
        see="touch: /x: Read-only file system\nx"),
    Row("read-only, unknown user", base(shell), "--read-only", "--user", "4711", do=HOME, see="x"),
    Row("no capabilities", base(shell), *FEW,
        do="grep -e CapBnd -e NoNew /proc/self/status | cut -f2", see="0000000000000000\n1"),
    Row("host network", base(shell), "--network", "host", look={"HostConfig.NetworkMode": "host"}),
    Row("no network", base(shell), "--network", "none", do="ip link | grep -c mtu", see="1"),
    Row("no network, read-only, unknown user", base(static), "--network", "none",
        "--read-only", "--user", "1234:5", do="id -u; " + HOME, see="1234\nx"),
    Row("an init of the engine's", base(shell), "--init", do="cat /proc/1/comm",
        see="catatonit" if PODMAN else "docker-init", needs=(
            not PODMAN or os.path.exists("/usr/libexec/podman/catatonit"), "no catatonit")),
    Row("a kernel of 2013", base(shell), *without_newer(errno.ENOSYS), do=JOBS, see=JOBS_SEE),
    Row("newer system calls forbidden", base(shell), *without_newer(errno.EPERM), do=JOBS,
        see=JOBS_SEE),
    Row("20 processes, 32 MB", base(shell), "--pids-limit", "20", "--memory", "32m"),
)


# --- What is done with it -----------------------------------------------------------

def find(doc, path):
    """A member; names may have dots in them."""
    if not path or doc is None:
        return doc
    words = path.split(".")
    for i in range(len(words), 0, -1):
        name = ".".join(words[:i])
        if name in doc:
            return find(doc[name], ".".join(words[i:]))
    return None


def try_row(box, row, number):
    """What was seen, what should have been, and what was said."""
    image, name = f"localhost/{real.PREFIX}/matrix:{number}", f"{real.PREFIX}-matrix{number}"
    argv = row.image(image) or ["run", image, "--name", name, *row.options]
    done = box.od(*argv, env={"XDG_CACHE_HOME": box.top})
    got, want = {"code": done.returncode}, {"code": 0}
    if row.refused:
        want = {"code": 111, "out": "", "not said": []}
        got.update({"out": done.stdout,
                    "not said": [words for words in row.refused if words not in done.stderr]})
    elif done.returncode == 0:
        want.update({"do": row.see, "file": "x\n", "cp": 0, "copy": "y", "rm": 0, **row.look})
        told = box.od("exec", "--session", "matrix", name, row.do).stdout
        got["do"] = told.replace("\r\n", "\n").strip("\n")
        box.act(name, "write", path="/dev/shm/f", content="x")
        got["file"] = box.act(name, "read", path="/dev/shm/f")["content"]
        got["cp"] = box.od("cp", COPIED, name + ":/dev/shm/g").returncode
        got["copy"] = box.act(name, "read", path="/dev/shm/g")["content"]
        doc = ENGINE.container(name)
        got.update({path: find(doc, path) for path in row.look})
        got["rm"] = box.od("rm", "-f", name).returncode
    return got, want, done.stderr


def scene(number):
    """What is to be seen of a row that did not come to its end."""
    name = f"{real.PREFIX}-matrix{number}"
    try:
        seen = ENGINE.call("GET", f"/containers/{name}/top",
                           query={"ps_args": "-eo pid,ppid,stat,wchan:30,time,args"})
        said = ENGINE.call("GET", f"/containers/{name}/logs",
                           query={"stdout": 1, "stderr": 1, "tail": 20})
        return "\n".join([" ".join(line) for line in seen["Processes"]] + [repr(said)])
    except Exception as e:
        return repr(e)


def test_matrix():
    rows = [r for r in ROWS if r.needs[0]]
    with real.Box(ENGINE) as box, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        tried = [pool.submit(try_row, box, row, i) for i, row in enumerate(rows)]
        for i, (row, future) in enumerate(zip(rows, tried)):
            try:
                got, want, said = future.result()
            except Exception as e:
                got, want, said = repr(e), None, scene(i)
            harness.ok(got == want, row.name, f"got    {got!r}", f"wanted {want!r}", said)
        harness.eq(box.engine.containers(), box.before[1], "no container is left")
    for row in ROWS:
        if not row.needs[0]:
            harness.skip(row.name, row.needs[1])


def main():
    if not ENGINE or not BUSYBOX or not os.path.exists(harness.BOXED):
        print("1..0 # SKIP no engine, no static busybox or no od-runtime-client")
        return
    with open(COPIED, "w") as f:
        f.write("y")
    harness.main()


if __name__ == "__main__":
    main()
