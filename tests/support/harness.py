"""What the end-to-end tests share: TAP, the client under test, raw HTTP.

A test file defines functions test_..., each a story of its own with any number
of checks, and ends with harness.main(). Names on its command line choose among
them. Programs under test:

  OD_CLIENT    od-runtime-client; OD_RUNTIME  od-runtime
  OD_WRAP      words put before the client: an emulator, valgrind
  OD_SLOW      factor for every deadline, for such a wrapper
  OD_PATIENCE  seconds for one test function, whatever it waits for: 300

Nothing here waits for a fixed time: a wait names its event and has a deadline.
"""
import atexit
import ctypes
import errno
import glob
import hashlib
import json
import os
import pwd
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

# Each folder of tests/e2e has a link to this file, which a test imports before the other helpers.
SUPPORT = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(SUPPORT))
sys.path[1:1] = [SUPPORT, *glob.glob(os.path.join(TOP, "tests/e2e/*/"))]
BUILD = os.environ.get("OD_BUILD") or os.path.join(TOP, "build", os.uname().machine)
CLIENT = os.environ.get("OD_CLIENT") or os.path.join(BUILD, "od-runtime-client")
# The program beside it, with the browser driver and the skills.
PLUGINS = os.path.join(os.path.dirname(CLIENT), "od-plugins")
# The client inside of containers: what ships, even where CLIENT has sanitizers.
BOXED = os.environ.get("OD_RUNTIME_CLIENT") or CLIENT
BOXED_PLUGINS = os.path.join(os.path.dirname(BOXED), "od-plugins")
RUNTIME = os.environ.get("OD_RUNTIME") or os.path.join(BUILD, "od-runtime")
WRAP = shlex.split(os.environ.get("OD_WRAP", ""))
SLOW = float(os.environ.get("OD_SLOW", "1"))
# Without sanitizers and emulators, whose own memory and time are beside ours.
SHIPS = not WRAP and "asan" not in CLIENT
DEADLINE = 10 * SLOW
PATIENCE = int(os.environ.get("OD_PATIENCE", "300"))
READY = b"Runtime client initialized.\n"
ME = pwd.getpwuid(os.geteuid()).pw_name

# --- The machine ----------------------------------------------------------------

CLONE_NEWNS = 0x20000
MS_BIND, MS_MOVE, MS_REC, MS_SLAVE, MNT_DETACH = 4096, 8192, 16384, 1 << 19, 2
_libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind=None, flags=0, data=None):
    words = [w and os.fsencode(w) for w in (source, target, kind)]
    if _libc.mount(*words, ctypes.c_ulong(flags), data and os.fsencode(data)):
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e), target)


def shield(folder, layers):
    """Sends writes to the folder to memory from now on, but for the folders below it that must stay."""
    kept = [p for p in {TOP, os.path.expanduser("~")} if os.path.realpath(p).startswith(folder + "/")]
    upper, work = (os.path.join(layers, folder.strip("/") + part) for part in ("-upper", "-work"))
    os.mkdir(upper)
    os.mkdir(work)
    for i, path in enumerate(kept):
        os.mkdir(f"{layers}/{i}")
        mount(path, f"{layers}/{i}", flags=MS_BIND | MS_REC)
    mount("overlay", folder, "overlay", data=f"lowerdir={folder},upperdir={upper},workdir={work}")
    for i, path in enumerate(kept):
        mount(f"{layers}/{i}", path, flags=MS_MOVE)


def shield_machine():
    """Moves this process into a mount namespace where /etc and /home are overlays, as the client and
    programs beside it may add users. False where that is not permitted."""
    if os.geteuid() or _libc.unshare(CLONE_NEWNS):
        return False
    layers = tempfile.mkdtemp(prefix="od-e2e-layers-")
    try:
        mount("none", "/", flags=MS_REC | MS_SLAVE)
        mount("none", layers, "tmpfs")
        for folder in "/etc", "/home":
            shield(folder, layers)
    except OSError as e:
        print(f"# the machine is not shielded: {e}", flush=True)
        return False
    finally:
        _libc.umount2(os.fsencode(layers), MNT_DETACH)
        os.rmdir(layers)
    return True


SHIELDED = shield_machine()

# --- TAP ----------------------------------------------------------------------

_run = 0
_failed = 0


def ok(good, name, *notes):
    """One check. Notes are shown if it fails; it returns whether it passed."""
    global _run, _failed
    _run += 1
    good = bool(good)
    print(f"{'' if good else 'not '}ok {_run} - {name.replace('#', '')}")
    if not good:
        _failed += 1
        frame = sys._getframe(1)
        while frame.f_code.co_filename == __file__ and frame.f_back:
            frame = frame.f_back
        note(f"failed at {frame.f_code.co_filename}:{frame.f_lineno}", *notes)
    sys.stdout.flush()
    return good


LATER = "TO" "DO"  # the word of TAP for a check that may fail


def todo(good, name, why, *notes):
    """A check that may fail until what why names is done; prove lists it, and tells when it passes."""
    global _run
    _run += 1
    print(f"{'' if good else 'not '}ok {_run} - {name.replace('#', '')} # {LATER} {why}", flush=True)
    if not good:
        note(*notes)
    return good


def note(*lines):
    for line in lines:
        text = line if isinstance(line, str) else repr(line)
        for part in text[:4000].splitlines():
            print("#   " + part)


def eq(got, want, name):
    return ok(got == want, name, f"got    {got!r}", f"wanted {want!r}")


def has(text, part, name):
    return ok(part in text, name, f"got {text!r}", f"without {part!r}")


def under(got, most, name):
    return ok(got <= most, f"{name} ({got:.4g}, {most:.4g} at most)")


def slim(kib, most, name):
    """Like under, of our memory."""
    if SHIPS:
        under(kib, most, name)
    else:
        skip(name, "not the program that ships")


def skip(name, why):
    global _run
    _run += 1
    print(f"ok {_run} - {name} # SKIP {why}", flush=True)


class Hangs(BaseException):
    """A test has taken far too long. No test catches this."""


def on_alarm(*_):
    raise Hangs(f"more than {PATIENCE} s")


def main():
    """Runs the test_ functions of the calling file, in its order."""
    tests = sys._getframe(1).f_globals
    # A shell has its background jobs ignore it, and they would hand that on.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, on_alarm)
    wanted = sys.argv[1:]
    for name, test in list(tests.items()):
        if not name.startswith("test_") or (wanted and name not in wanted):
            continue
        print(f"# {name}", flush=True)
        signal.alarm(PATIENCE)
        try:
            test()
        except (Exception, Hangs):
            ok(False, f"{name} ran to its end", traceback.format_exc())
            for client in Client.alive:
                note("the client said: " + client.log())
        finally:
            signal.alarm(0)
            for client in list(Client.alive):
                client.kill()
    print(f"1..{_run}")
    sys.exit(1 if _failed or not _run else 0)


# --- Waiting ------------------------------------------------------------------

def until(condition, seconds=None, step=0.005):
    """Asks until condition() is true, for what has no event to wait for.

    Returns its value, or None when the time is over."""
    end = time.monotonic() + (seconds or DEADLINE)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            return None
        select.select([], [], [], step)


class Gate:
    """Holds up a command of the sandbox until the test lets it go, so many times.

    Each time has a FIFO of its own, PATH.0, PATH.1 and so on: with one for all, who
    comes back early would meet the end of the line before."""

    def __init__(self, client, times=1):
        self.path = tempfile.mktemp(prefix="gate-", dir=client.top)
        self.next = 0
        for i in range(times):
            os.mkfifo(f"{self.path}.{i}")

    def __str__(self):
        return self.path + ".0"

    def reader(self):
        try:
            return os.open(f"{self.path}.{self.next}", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None  # ENXIO: nobody reads yet

    def go(self, text=b"go\n"):
        """Waits until somebody reads, and gives him a line."""
        fd = until(self.reader, step=0.001)
        if fd is None:
            raise RuntimeError("nobody waits at the gate")
        os.write(fd, text)
        os.close(fd)
        self.next += 1


def wait_exit(process, seconds=None):
    """The exit status of a child, or None if it still runs then."""
    try:
        return process.wait(seconds or DEADLINE)
    except subprocess.TimeoutExpired:
        return None


# --- HTTP ---------------------------------------------------------------------

class Closed(Exception):
    """The other side closed the connection before an answer was complete."""


class Response:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def field(self, name):
        """The value of a header field; several are joined, none is None."""
        values = [v for n, v in self.fields if n.lower() == name.lower()]
        return ", ".join(values) if values else None

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.fields} {self.body[:500]!r}>"


class Conn:
    """One TCP connection that says exactly what it is told to say."""

    most = 65536  # bytes that are received at once

    def __init__(self, port, host="127.0.0.1"):
        self.sock = socket.create_connection((host, port), timeout=DEADLINE)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.data = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def reset(self):
        """Closes with RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)
        return self

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def _more(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no answer in time, only {self.data!r}")
        self.sock.settimeout(left)
        try:
            data = self.sock.recv(self.most)
        except ConnectionResetError:
            data = b""
        if not data:
            raise Closed(self.data)
        self.data += data

    def _until(self, mark, deadline):
        while mark not in self.data:
            self._more(deadline)
        head, self.data = self.data.split(mark, 1)
        return head

    def _take(self, n, deadline):
        while len(self.data) < n:
            self._more(deadline)
        piece, self.data = self.data[:n], self.data[n:]
        return piece

    def response(self, seconds=None, head=False):
        """The next answer; interim ones (1xx) count as answers of their own."""
        deadline = time.monotonic() + (seconds or DEADLINE)
        lines = self._until(b"\r\n\r\n", deadline).decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1])
        fields = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]]
        answer = Response(status, fields, b"")
        if head or status < 200 or status in (204, 304):
            return answer
        if answer.field("content-length") is not None:
            answer.body = self._take(int(answer.field("content-length")), deadline)
            return answer
        try:
            while True:
                self._more(deadline)
        except Closed:
            answer.body, self.data = self.data, b""
        return answer

    def closed(self, seconds=None):
        """Whether the other side closes, without a byte more, within the time."""
        try:
            self._more(time.monotonic() + (seconds or DEADLINE))
        except Closed:
            return not self.data
        except (TimeoutError, OSError):
            return False
        return False

    def idle(self):
        """Whether nothing has arrived and nobody has closed, now."""
        return not self.data and not select.select([self.sock], [], [], 0)[0]


def request(method, path, body=b"", **fields):
    """The bytes of a request; a field given as None is left out."""
    given = {"Host": "localhost"}
    if body or method == "POST":
        given["Content-Type"] = "application/json"
        given["Content-Length"] = str(len(body))
    for name, value in fields.items():
        given[name.replace("_", "-")] = value
    head = "".join(f"{n}: {v}\r\n" for n, v in given.items() if v is not None)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


def action(name, timeout=10.0, **args):
    """The body of /execute_action, as the backend makes it."""
    event = {"action": name, "args": args, "timeout": timeout}
    return json.dumps({"action": event}, separators=(",", ":"), ensure_ascii=False).encode()


# --- Files --------------------------------------------------------------------

def scratch(prefix="od-e2e-", place=None):
    """A folder of its own, which goes with this process."""
    path = tempfile.mkdtemp(prefix=prefix, dir=place)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def cold():
    """For the prefix of a Client: a copy of its program that nobody has read yet. Of a file that was written
    just now the kernel maps more than is asked for, as it lies in memory."""
    copy = os.path.join(scratch(), "client")
    shutil.copy(CLIENT, copy)
    with open(copy, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return ["sh", "-c", 'copy=$1; shift 2; exec "$copy" "$@"', "sh", copy]


class Disk:
    """Something mounted at a path; None where that may not be."""

    def __init__(self, path, *options):
        self.path = path
        os.makedirs(path, exist_ok=True)
        self.good = not os.geteuid() and not subprocess.run(
            ["mount", *options, path], stderr=subprocess.DEVNULL).returncode

    def __enter__(self):
        return self.path if self.good else None

    def __exit__(self, *_):
        if self.good:
            subprocess.run(["umount", "-l", self.path])


# --- Processes ----------------------------------------------------------------

def proc(pid, name):
    """A file of /proc/PID; empty once the process is gone."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as f:
            return f.read()
    except OSError:
        return b""


def children(pid):
    """The living children of a process."""
    out = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        stat = proc(entry, "stat")
        if stat:
            state, parent = stat[stat.rindex(b")") + 2:].split()[:2]
            if int(parent) == pid and state != b"Z":
                out.append(int(entry))
    return out


def descendants(pid):
    out = []
    for child in children(pid):
        out += [child, *descendants(child)]
    return out


def alive(pid):
    stat = proc(pid, "stat")
    return bool(stat) and stat[stat.rindex(b")") + 2:stat.rindex(b")") + 3] != b"Z"


def marked(mark):
    """Processes that carry mark in their environment or command line."""
    mark = mark.encode()
    return [int(e) for e in os.listdir("/proc") if e.isdigit()
            and (mark in proc(e, "environ") or mark in proc(e, "cmdline")) and alive(e)]


def pss_kib(pid, kind="Pss"):
    for line in proc(pid, "smaps_rollup").decode().splitlines():
        if line.startswith(kind + ":"):
            return int(line.split()[1])
    raise RuntimeError(f"no memory figures of process {pid}")


def own_kib(pid):
    """Without files: others that run the same program share them, and its part grows as they end."""
    return pss_kib(pid) - pss_kib(pid, "Pss_File")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def listening(port):
    """Whether somebody accepts connections on this port of the loopback."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError as e:
        if e.errno in (errno.ECONNREFUSED, errno.ECONNRESET):
            return False
        raise


# --- The client under test ------------------------------------------------------

class Client:
    """A running od-runtime-client on a free port of the loopback.

    Its shell is that of the present user, with an empty home of its own, unless
    the arguments say otherwise. self.work is its fresh working directory.

    prefix are words put before it, or what gives them when it is called with the
    client, whose folders exist then; place is where these are made."""

    alive = []

    def __init__(self, *options, role="serve", env=None, argv=None, prefix=(), ready=True,
                 user=True, place=None):
        self.port = free_port()
        self.top = tempfile.mkdtemp(prefix="od-e2e-", dir=place)
        self.work = os.path.join(self.top, "work")
        self.home = os.path.join(self.top, "home")
        os.mkdir(self.work)
        os.mkdir(self.home)
        if argv is None:
            argv = [CLIENT, role, str(self.port), "--address", "127.0.0.1",
                    "--working-dir", self.work]
            argv += ["--username", ME] if user else []
        prefix = prefix(self) if callable(prefix) else prefix
        self.argv = [*prefix, *(WRAP if argv[0] == CLIENT else []), *argv, *options]
        self.stderr = open(os.path.join(self.top, "stderr"), "w+b")
        full = {k: v for k, v in os.environ.items() if not k.startswith("OD_")}
        full.update({"HOME": self.home, "SU_TO_USER": "0"})
        full.update(env or {})
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            self.argv, env={k: v for k, v in full.items() if v is not None},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.stderr)
        self.pid = self.process.pid
        self.shared = None
        self.stdout = b""
        Client.alive.append(self)
        if ready and not self.wait_ready():
            raise RuntimeError(f"the client is not ready; it said: {self.log()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def wait_ready(self, seconds=None):
        """Reads standard output until the line that says so; False at its end."""
        end = time.monotonic() + (seconds or DEADLINE)
        while READY not in self.stdout:
            if not select.select([self.process.stdout], [], [], end - time.monotonic())[0]:
                return False
            data = os.read(self.process.stdout.fileno(), 4096)
            if not data:
                return False
            self.stdout += data
        return True

    def log(self):
        self.stderr.seek(0)
        return self.stderr.read().decode(errors="replace")

    def conn(self):
        return Conn(self.port)

    def ask(self, data, seconds=None):
        """One request on the connection that is kept for this."""
        if self.shared is None:
            self.shared = self.conn()
        try:
            answer = self.shared.send(data).response(seconds)
        except (Closed, OSError):
            self.shared = None
            raise
        if answer.field("connection") == "close":
            self.shared.close()
            self.shared = None
        return answer

    def get(self, path, **fields):
        return self.ask(request("GET", path, **fields))

    def post(self, path, body=b"", **fields):
        return self.ask(request("POST", path, body, **fields))

    def act(self, name, timeout=10.0, conn=None, **args):
        """An observation; anything but 200 with an object is an error."""
        data = request("POST", "/execute_action", action(name, timeout, **args))
        seconds = (timeout or 0) * SLOW + DEADLINE
        answer = conn.send(data).response(seconds) if conn else self.ask(data, seconds)
        if answer.status != 200:
            raise RuntimeError(f"{name}: {answer!r}")
        return answer.json()

    def run(self, command, timeout=10.0, **args):
        return self.act("run", timeout, command=command, **args)

    def serve_pid(self):
        """The server process below init, once there is one: it has init's command line."""
        name = proc(self.pid, "cmdline")
        found = until(lambda: [c for c in children(self.pid) if proc(c, "cmdline") == name],
                      step=0.001)
        return found[0] if found else None

    def shell_pid(self):
        return int(self.run("echo $$")["content"])

    def stop(self, signo=signal.SIGTERM, seconds=None):
        """Asks it to end; its exit status, None if it does not."""
        self.process.send_signal(signo)
        return wait_exit(self.process, seconds)

    def kill(self):
        """The end of a test: nothing of it stays, whatever state it is in."""
        if self not in Client.alive:
            return
        Client.alive.remove(self)
        if self.shared:
            self.shared.close()
        family = descendants(self.pid) if self.process.poll() is None else []
        if self.process.poll() is None:
            self.process.terminate()
            wait_exit(self.process, 8 * SLOW)
        self.process.kill()
        self.process.wait()
        for pid in family:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.stdout.close()
        self.stderr.close()
        shutil.rmtree(self.top, ignore_errors=True)


class DropIn(Client):
    """The client as an unmodified backend starts it, but on the loopback and by a link of its own: not at the
    path of the contract, so that no user is added to this machine."""

    def __init__(self, *options, user="openhands", name="micromamba", **more):
        root = scratch()
        os.chmod(root, 0o755)
        os.symlink(CLIENT, f"{root}/{name}")
        port = free_port()
        argv = [f"{root}/{name}", "run", "-n", "openhands", "poetry", "run", "python", "-u", "-m",
                "openhands.runtime.action_execution_server", str(port), "--address", "127.0.0.1",
                "--working-dir", root + "/work", "--username", user]
        os.mkdir(root + "/work")
        self.root = root
        super().__init__(argv=argv, *options, user=False, **more)
        self.port, self.work = port, root + "/work"


def run_client(*argv, env=None, stdin=subprocess.DEVNULL):
    """Runs the client to its end, with an empty home: (status, stdout, stderr)."""
    with tempfile.TemporaryDirectory(prefix="od-e2e-") as home:
        done = subprocess.run([*WRAP, CLIENT, *argv], env={**os.environ, "HOME": home, **(env or {})},
                              stdin=stdin, capture_output=True, timeout=DEADLINE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def sha256_hex(text):
    return hashlib.sha256(text.encode()).hexdigest()
