#!/usr/bin/env python3
"""Uploads on bad days: cut off, raced, on disks that fail; old or new, and nothing beside."""
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading

import harness
from harness import Client, Closed, Conn, Disk, Response, eq, ok, request, skip, until
from test_edit import Injection, can_inject
from test_transfer import BOUNDARY, content_in, form, quote, read, upload, write, zipped
from test_transfer_v1 import call, member, put_tar, tarred

OLD, NEW = b"old " * 1000, b"new, and longer " * 9000
FORM = f"multipart/form-data; boundary={BOUNDARY}"


def read_if_there(path):
    try:
        return read(path)
    except FileNotFoundError:
        return None


def below(top):
    """What is below top: names, and the content of files, None for those that are removed meanwhile."""
    out = {}
    for path, folders, files in os.walk(top):
        for name in folders:
            out[os.path.relpath(os.path.join(path, name), top)] = None
        for name in files:
            out[os.path.relpath(os.path.join(path, name), top)] = read_if_there(os.path.join(path, name))
    return out


def archives():
    names = ("f", "d/g", "e/i/h")
    return (zipped(*((n, NEW) for n in names)),
            tarred(*((member(n, NEW), NEW) for n in names)))


def kinds():
    """Each way to send files: (name, method and path, content type, body, what is new)."""
    z, t = archives()
    made = {"f": NEW, "d": None, "d/g": NEW, "e": None, "e/i": None, "e/i/h": NEW}
    return (
        ("a form", "POST", "/upload_file?sync=true&destination={}", FORM, form("f", NEW), {"f": NEW}),
        ("a zip", "POST", "/upload_file?recursive=true&destination={}", FORM, form("a.zip", z), made),
        ("a body", "PUT", "/v1/files?sync=true&path={}/f", None, NEW, {"f": NEW}),
        ("a tar", "PUT", "/v1/files/tar?path={}", None, t, made),
    )


def send(conn, kind, folder, cut=None):
    _, method, path, content_type, body, _ = kind
    conn.send(request(method, path.format(quote(folder)), Content_Type=content_type,
                      Content_Length=str(len(body))))
    conn.send(body[:cut])


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder + "/d")
    write(folder + "/f", OLD)
    write(folder + "/d/g", OLD)
    if not os.geteuid():
        os.chown(folder + "/f", 1234, 1234)
    return below(folder)


def jobs(client):
    return [pid for pid in harness.descendants(client.pid) if harness.alive(pid)]


def test_cut():
    """Nothing is left of what is cut off, whoever is killed."""
    def reset(conn, serve, job):
        conn.reset()

    def kill_job(conn, serve, job):
        os.kill(job, signal.SIGKILL)

    def kill_serve(conn, serve, job):
        os.kill(serve, signal.SIGKILL)

    for how in (reset, kill_job, kill_serve):
        with Client(role="init") as client:
            for kind in kinds():
                folder = client.work + "/dest"
                before = fresh(folder)
                serve = client.serve_pid()
                settled = set(jobs(client))
                with client.conn() as conn:
                    send(conn, kind, folder, 130000)
                    there = until(lambda: content_in(client, folder) or
                                  [n for n in os.listdir(folder) if n.startswith(".od")])
                    new = [p for p in harness.children(serve) if p not in settled]
                    ok(there and new, f"{kind[0]} is on its way")
                    how(conn, serve, new[0])
                    if how is kill_job:
                        conn.send(kind[4][130000:])
                        eq(conn.response().status, 500, "which is told")
                if how is kill_serve:
                    until(lambda: client.serve_pid() not in (None, serve))
                ok(until(lambda: below(folder) == before), f"{kind[0]}, {how.__name__}: nothing changes",
                   sorted(below(folder)))
                ok(until(lambda: not [p for p in jobs(client) if p not in settled and
                                      p != client.serve_pid()]), "and nobody stays", jobs(client))
                if how is kill_serve:
                    ok(until(lambda: harness.listening(client.port)), "the server is back")


def test_killed_unpacking():
    """An archive whose job is killed when half of it is there."""
    z = zipped(*((f"d/{i}", b"x") for i in range(20000)))
    with Client() as client:
        before = fresh(client.work + "/dest")
        settled = set(jobs(client))
        with client.conn() as conn:
            conn.send(request("POST", f"/upload_file?destination={quote(client.work)}/dest",
                              form("a.zip", z), Content_Type=FORM))
            stage = until(lambda: [n for n in os.listdir(client.work + "/dest") if n.startswith(".od")],
                          step=0.0005)
            ok(stage, "it is being unpacked")
            for pid in harness.children(client.pid):
                if pid not in settled:
                    os.kill(pid, signal.SIGKILL)
            eq(conn.response().status, 500, "its end is told")
        ok(until(lambda: below(client.work + "/dest") == before), "nothing of it stays")


def test_stopped_broom():
    """The process that would tidy up belongs to the user, who stops it."""
    t = tarred((member("f", NEW), NEW))
    for good in True, False:
        with Client() as client:
            folder = client.work + "/dest"
            settled = set(jobs(client))
            with client.conn() as conn:
                conn.send(request("PUT", f"/v1/files/tar?path={quote(folder)}",
                                  Content_Length=str(len(t))))
                conn.send(t[:1000])
                ok(until(lambda: os.path.isdir(folder) and os.listdir(folder)), "there is a stage")
                job, = set(harness.children(client.pid)) - settled
                broom, = harness.children(job)
                os.kill(broom, signal.SIGSTOP)
                conn.send(t[1000:] if good else b"x" * (len(t) - 1000))
                eq(conn.response().status, 200 if good else 422, "nobody waits for it")
            eq(below(folder), {"f": NEW} if good else {}, "all is as it should be")
            ok(until(lambda: not harness.alive(broom)), "and it ends")


def several(n, work):
    """What work(i) gives for each i, at the same time."""
    out = [None] * n

    def run(i):
        out[i] = work(i)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out


def together(client, path, bodies, **fields):
    """PUTs whose last byte is sent when all the others have come."""
    conns = [client.conn() for _ in bodies]
    for conn, body in zip(conns, bodies):
        conn.send(request("PUT", f"/v1/files?path={quote(path)}", Content_Length=str(len(body)),
                          **fields))
        conn.send(body[:-1])
    for conn, body in zip(conns, bodies):
        conn.send(body[-1:])
    answers = [conn.response() for conn in conns]
    for conn in conns:
        conn.close()
    return [answer.status for answer in answers]


def test_one_wins():
    """Of several conditional writes at a time one succeeds, and its bytes are there."""
    bodies = [b"%d" % i * 3000 for i in range(8)]
    with Client() as client:
        path = client.work + "/f"
        firsts, seconds = [], []
        for _ in range(20):
            if os.path.exists(path):
                os.unlink(path)
            got = together(client, path, bodies, If_None_Match="*")
            firsts.append(sorted(got) == [201] + [412] * 7 and
                          read(path) == bodies[got.index(201)])
            tag = call(client, "GET", f"/v1/files?path={quote(path)}").field("etag")
            others = [b"x" + body for body in bodies]
            got = together(client, path, others, If_Match=tag)
            seconds.append(sorted(got) == [200] + [412] * 7 and
                           read(path) == others[got.index(200)])
        ok(all(firsts), "one makes a file", firsts)
        ok(all(seconds), "one replaces it", seconds)
        eq(os.listdir(client.work), ["f"], "nothing is left behind")


# --- Links under the feet -----------------------------------------------------------

SWAP = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
pairs = [p.encode() for p in sys.argv[1:]]
pairs = list(zip(pairs[::2], pairs[1::2]))
print(max(libc.renameat2(-100, a, -100, b, 2) for a, b in pairs), flush=True)
while True:
    for a, b in pairs:
        libc.renameat2(-100, a, -100, b, 2)
"""


def race(client, rounds, connections):
    """rounds of three uploads on each connection, while names change places."""
    dest, outside = client.work + "/dest", client.work + "/outside"
    os.makedirs(dest + "/d/e")
    os.makedirs(outside + "/e")
    write(outside + "/e/f", b"canary")
    os.symlink(outside, dest + "/link")
    os.symlink(outside + "/e/f", dest + "/one")
    write(dest + "/two", b"")
    swapper = subprocess.Popen([sys.executable, "-c", SWAP, dest + "/d", dest + "/link",
                                dest + "/one", dest + "/two"], stdout=subprocess.PIPE)
    if swapper.stdout.readline().strip() != b"0":
        skip("a race", "names cannot be exchanged here")
        return
    names = ("d/e/f", "d/new", "link/e/f")
    asks = [request("POST", f"/upload_file?destination={quote(dest)}", form(name, data), Content_Type=FORM)
            for name, data in (("one", b"dead"), ("a.zip", zipped(*((n, "dead") for n in names))))]
    tar = tarred(*((member(n, b"dead"), b"dead") for n in names))
    asks.append(request("PUT", f"/v1/files/tar?path={quote(dest)}", tar, Content_Type=None))

    def work(_):
        count = {}
        with Conn(client.port) as conn:
            for i in range(rounds):
                for ask in asks:
                    status = conn.send(ask).response().status
                    count[status] = count.get(status, 0) + 1
        return count
    try:
        counts = several(connections, work)
        total = {}
        for count in counts:
            for status, n in (count or {}).items():
                total[status] = total.get(status, 0) + n
        harness.note(f"answers: {total}")
        eq(sum(total.values()), rounds * connections * 3, "all are answered")
        ok(set(total) <= {200, 409, 500, 404}, "as they should")
    finally:
        swapper.kill()
        swapper.wait()
    eq(below(outside), {"e": None, "e/f": b"canary"}, "nothing outside has changed")
    eq([n for n in os.listdir(dest) if n.startswith(".od")], [], "nothing is left behind")


def test_race():
    """Ten thousand uploads; fewer where all is slower."""
    with Client() as client:
        race(client, int(10000 / 12 / harness.SLOW ** 2) + 1, 4)


def test_race_by_steps():
    """The same where there is no openat2."""
    for name in ("ENOSYS", "EPERM"):
        with Client() as client:
            if not can_inject(client):
                return skip("no openat2", "strace may not trace here")
            with Injection(client, "openat2", name, "1+") as injection:
                race(client, 40, 3)
                hostile = zipped(("d/../../x", "dead"), ("ok/a/b", "1"))
                eq(upload(client, client.work + "/t", "a.zip", hostile).status, 200, "a zip that would lead out")
                eq(below(client.work + "/t"), {"ok": None, "ok/a": None, "ok/a/b": b"1"}, "does not")
                eq(put_tar(client, client.work + "/t", tarred((member("../x", b"1"), b"1"))).status, 422,
                   "a tar that does is refused")
                os.symlink(client.work, client.work + "/t/up")
                eq(put_tar(client, client.work + "/t",
                           tarred((member("up/x/y", b"1"), b"1"))).status, 409, "a link on the disk")
                ok(not os.path.exists(client.work + "/x"), "is not followed")
            ok(injection.hit, f"openat2 has failed: {name}")
    return None


# --- Errors of the disk ---------------------------------------------------------------

CALLS = ("write", "pwrite64", "openat", "openat2", "renameat", "renameat2", "fsync", "ftruncate", "close",
         "mkdirat", "linkat", "fchown", "fchmod")
ERRORS = ("ENOSPC", "EDQUOT", "EROFS", "EIO", "EPERM", "ENOMEM", "EINTR")
# Each pair of a call and an error takes its time: all of them with OD_FULL=1.
USUAL = {"write": ("ENOSPC", "EINTR"), "openat": ("EROFS", "EIO"), "close": ("EDQUOT", "EIO"),
         "renameat2": ("EIO", "EPERM"), "linkat": ("EIO", "EPERM", "ENOMEM"), "mkdirat": ("ENOSPC", "EDQUOT"),
         "fchown": ("EIO", "EPERM"), "fchmod": ("EIO", "EPERM"), "pwrite64": ("ENOSPC", "EIO", "EINTR"),
         "ftruncate": ("EIO", "EINTR")}
IN_PLACE = ("write", "openat", "pwrite64", "ftruncate", "close", "fsync")
MOST = 60
CUT = Response(0, [], b"")


def judge(kind, answer, before, after, name, call_name):
    """What is wrong with the outcome of one upload; empty if nothing."""
    new = kind[5]
    wrong = [n for n in after if n not in before and n not in new]
    done = answer.status in (200, 201)
    for n, data in new.items():
        if n in after and after[n] not in (data, before.get(n)):
            wrong.append(n)
        if done and after.get(n) != data:
            wrong.append(n)
    for n in before:
        if n not in after:
            wrong.append(n)
    if done:
        return wrong
    # A reply that cannot be written can hardly tell why.
    if answer is CUT and call_name == "write":
        return wrong
    try:
        detail = answer.json()["detail"]
    except (ValueError, KeyError):
        return wrong + ["no detail"]
    told = os.strerror(getattr(errno, name)) in detail or answer.status == 503
    if not told and not (call_name in ("write", "openat", "close") and "too little memory" in detail):
        wrong.append(detail)
    single = len(new) == 1
    if single and after != before and call_name not in ("write", "fsync", "openat"):
        wrong.append("changed all the same")
    return wrong


def inject_each(client, calls, what, folders):
    for call_name in calls:
        names = ERRORS if os.environ.get("OD_FULL") else USUAL.get(call_name, ("EIO",))
        for name in names:
            n, bad = 1, []
            while n < MOST and inject_all(client, call_name, name, n, folders, bad):
                n += 1
            ok(not bad and 1 < n < MOST, f"{what}, {call_name}: {name} at each of {n - 1} calls", *bad[:5])
    eq(client.get("/alive").status, 200, "the server lives")


def inject_all(client, call_name, name, n, folders, bad):
    """Each kind of upload with call number n failing; True if one of them got so far."""
    before = [folder() for folder in folders]
    with Injection(client, call_name, name, n) as injection:
        answers = []
        for kind, (folder, _) in zip(kinds(), before):
            with client.conn() as conn:
                send(conn, kind, folder)
                try:
                    answers.append(conn.response())
                except Closed:
                    answers.append(CUT)
    for kind, (folder, old), answer in zip(kinds(), before, answers):
        wrong = judge(kind, answer, old, below(folder), name, call_name)
        if wrong:
            bad.append(f"{kind[0]}, {call_name} {n}: {name}: {answer.status} {answer.body[:200]!r}: {wrong}")
    return injection.hit


def test_injected_errors():
    """Whatever call fails, and whenever."""
    with Client() as client:
        if not shutil.which("strace") or not can_inject(client):
            return skip("injected errors", "strace may not trace here")

        def folder(i):
            return lambda: (f"{client.work}/dest{i}", fresh(f"{client.work}/dest{i}"))
        calls = [c for c in CALLS if c not in ("pwrite64", "ftruncate") and
                 (c != "fchown" or not os.geteuid())]
        inject_each(client, calls, "another inode", [folder(i) for i in range(4)])
    return None


def test_sync():
    """With sync, and only then, an answer waits for the disk, and tells of its errors."""
    with Client() as client:
        if not shutil.which("strace") or not can_inject(client):
            return skip("sync", "strace may not trace here")
        for sync in True, False:
            with Injection(client, "fsync,syncfs", "EIO", "1+") as injection:
                for i, kind in enumerate(kinds()):
                    folder = f"{client.work}/{sync}{i}"
                    os.mkdir(folder)
                    path = kind[2].replace("sync=true&", "").replace("?", f"?sync={sync}&")
                    with client.conn() as conn:
                        send(conn, (kind[0], kind[1], path, *kind[3:]), folder)
                        answer = conn.response()
                    eq(answer.status in (200, 201), not sync, f"{kind[0]}, sync is {sync}")
                    eq(b"Input/output error" in answer.body, sync, "says what is wrong")
            eq(injection.hit, sync, "the disk was waited for" if sync else "nobody waited")
    return None


def test_injected_in_place():
    """The same where a file has to be overwritten, since something is mounted on it."""
    with Client() as client:
        if not shutil.which("strace") or not can_inject(client):
            return skip("injected errors in place", "strace may not trace here")
        mounted = []

        def folder(i):
            path, source = f"{client.work}/dest{i}", f"{client.work}/source{i}"

            def again():
                if i not in mounted:
                    fresh(path)
                write(source, OLD)
                write(path + "/d/g", OLD)
                shutil.rmtree(path + "/e", ignore_errors=True)
                if i not in mounted and not subprocess.run(
                        ["mount", "--bind", source, path + "/f"], stderr=subprocess.DEVNULL).returncode:
                    mounted.append(i)
                return path, below(path)
            return again
        folders = [folder(i) for i in range(4)]
        try:
            folders[0]()
            if not mounted:
                return skip("injected errors in place", "nothing can be mounted here")
            inject_each(client, IN_PLACE, "in place", folders)
        finally:
            for i in mounted:
                subprocess.run(["umount", "-l", f"{client.work}/dest{i}/f"])
    return None


def refused(client, folder, words, statuses, partly=False):
    """Each kind is refused with these words, and changes nothing; partly: or adds something."""
    before = below(folder)
    for kind, status in zip(kinds(), statuses):
        with client.conn() as conn:
            send(conn, kind, folder)
            answer = conn.response()
        eq(answer.status, status, f"{kind[0]} is refused")
        ok(words in answer.json()["detail"], f"with {words}", answer)
        after = below(folder)
        if partly:
            after = {name: data for name, data in after.items() if name in before}
        eq(after, before, "and nothing changes")


def test_disks():
    with Client() as client:
        disk = client.work + "/disk"
        with Disk(disk, "-t", "tmpfs", "-o", "size=64k", "none") as path:
            if not path:
                return skip("disks", "nothing can be mounted here")
            write(path + "/f", OLD)
            os.mkdir(path + "/d")
            write(path + "/d/g", OLD)
            refused(client, path, "No space left on device", (500, 500, 507, 507))
            subprocess.run(["mount", "-o", "remount,ro", path], check=True)
            refused(client, path, "Read-only file system", (500, 500, 403, 403))
        image = client.top + "/image"
        with open(image, "wb") as f:
            f.truncate(8 << 20)
        made = shutil.which("mkfs.ext4") and not subprocess.run(
            ["mkfs.ext4", "-q", "-F", "-N", "32", image], stderr=subprocess.DEVNULL).returncode
        with Disk(client.work + "/ext4", "-o", "loop", image if made else "none") as path:
            if not path:
                return skip("ext4", "it cannot be mounted here")
            fresh(path + "/t")
            for i in range(100):
                try:
                    write(f"{path}/fill{i}", b"")
                except OSError:
                    break
            refused(client, path + "/t", "No space left on device", (500, 500, 507, 507))
            for i in range(100):
                if os.path.exists(f"{path}/fill{i}"):
                    os.unlink(f"{path}/fill{i}")
            if shutil.which("chattr"):
                subprocess.run(["chattr", "+i", path + "/t/f", path + "/t/d/g"], check=True)
                refused(client, path + "/t", "Operation not permitted", (500, 500, 403, 403), True)
                subprocess.run(["chattr", "-i", path + "/t/f", path + "/t/d/g"], check=True)
            for kind in kinds():
                with client.conn() as conn:
                    send(conn, kind, path + "/t")
                    answer = conn.response()
                ok(answer.status in (200, 201), f"{kind[0]} when there is room again", answer)
    return None


if __name__ == "__main__":
    harness.main()
