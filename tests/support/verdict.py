"""Runs a program beside a hostile peer, in bounds, and lists what is wrong with how it ended."""
import os
import re
import select
import signal
import subprocess
import time

KEEP = 1 << 20           # bytes of output that are kept
GRACE_SECONDS = 35       # from an interrupt to the end: the engine is asked to remove what was made
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")


class Outcome:
    """How a program ended. code is negative for a signal; interrupted says that it did not end by itself."""

    def __init__(self):
        self.code, self.out, self.err = None, b"", b""
        self.interrupted = self.killed = False
        self.seconds, self.rss_kib = 0.0, 0


def run_bounded(argv, env, cwd, stdin=b"", seconds=60.0, interrupt=None):
    """Runs it for so many seconds at most; interrupt: the seconds after which it gets SIGINT."""
    start = time.monotonic()
    got = Outcome()
    process = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    fds = {process.stdout.fileno(): "out", process.stderr.fileno(): "err"}
    feed, fd_in = stdin, process.stdin.fileno()
    os.set_blocking(fd_in, False)
    until = start + (interrupt if interrupt is not None else seconds)
    while fds:
        poll = select.poll()
        for fd in fds:
            poll.register(fd, select.POLLIN)
        if fd_in is not None:
            poll.register(fd_in, select.POLLOUT)
        ready = [fd for fd, _ in poll.poll(max(0, until - time.monotonic()) * 1000)]
        if fd_in in ready:
            ready.remove(fd_in)
            feed = feed[write_some(fd_in, feed):]
            if not feed:
                process.stdin.close()
                fd_in = None
        for fd in ready:
            data = os.read(fd, 65536)
            if not data:
                del fds[fd]
            elif len(getattr(got, fds[fd])) < KEEP:
                setattr(got, fds[fd], getattr(got, fds[fd]) + data)
        if time.monotonic() > until:
            # Not by methods of the process, which would reap it before its resources are read.
            if got.interrupted:
                got.killed = True
                os.kill(process.pid, signal.SIGKILL)
                break
            got.interrupted = True
            os.kill(process.pid, signal.SIGINT)
            until = time.monotonic() + GRACE_SECONDS
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = got.code = os.waitstatus_to_exitcode(status)
    got.seconds, got.rss_kib = time.monotonic() - start, usage.ru_maxrss
    for file in (process.stdin, process.stdout, process.stderr):
        file.close()
    return got


def write_some(fd, data):
    try:
        return os.write(fd, data[:4096]) if data else 0
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(data)


def faults(got, codes, ends, data=False, rss_kib=0, report=False):
    """The faults of an outcome, as texts.

    codes are the exit codes that are allowed; ends says whether it has to end by itself; data says that its output is
    content of the sandbox, which a pipe gets as it is; rss_kib bounds the memory, 0 for no bound; report says that
    the reason for a failure stands on standard output."""
    out = []
    if got.killed:
        return ["it does not end by SIGINT"]
    if got.interrupted and ends:
        out.append("it does not end by itself")
    if got.interrupted and got.code not in (130, *codes):
        out.append(f"exit code {got.code} after SIGINT")
    elif not got.interrupted and got.code not in codes:
        out.append(f"exit code {got.code}")
    if not data and CONTROL.search(got.err):
        out.append("control characters on standard error")
    if not data and CONTROL.search(got.out):
        out.append("control characters on standard output")
    lines = [line for line in got.err.decode(errors="replace").splitlines() if not line.startswith("  | ")]
    if got.code == 111 and not report:
        said = [line for line in lines if line.startswith("od-runtime: ")]
        if not 1 <= len(said) <= 2:  # the second is about clean-up
            out.append(f"{len(said)} lines of error for one failure")
        if any(len(line) > 1000 for line in lines):
            out.append("a line of error of more than 1,000 characters")
        if not any(line.startswith("  next: ") for line in lines):
            out.append("no next step")
    if rss_kib and got.rss_kib > rss_kib:
        out.append(f"{got.rss_kib} KiB of memory")
    return out


def tree(folder):
    """All paths below a folder with their kind, without following a link."""
    found = {}
    for top, dirs, files in os.walk(folder):
        for name in dirs + files:
            path = os.path.join(top, name)
            st = os.lstat(path)
            found[os.path.relpath(path, folder)] = (st.st_mode, st.st_nlink if not name in dirs else 0)
    return found
