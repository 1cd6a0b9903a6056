#!/usr/bin/env python3
"""A fork bomb in a container with a limit of processes: the server answers, and ends the bomb on request."""
import json
import os

import harness
from harness import SLOW, Conn, action, eq, ok, request, skip, until
import engine as real

LIMIT = 64  # processes
BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), "")
BOMBS = {"a fork bomb": "b() { b | b & }; b", "children that ignore signals":
         "i=0; while [ $i -lt 200 ]; do sh -c \"trap '' INT TERM HUP; sleep 1000\" & i=$((i + 1)); done"}


def make_image(box):
    with open(BUSYBOX, "rb") as f:
        files = {"bin/busybox": f.read(), "tmp/": (b"", 0o1777)}
    files.update({f"bin/{name}": "busybox" for name in ("sh", "sleep", "echo", "ls", "cat")})
    name = f"{real.PREFIX}/bomb:1"
    box.engine.load(real.archive(files), name)
    return name


class Sandbox:
    """A running sandbox that is asked past od-runtime."""

    def __init__(self, box, name):
        self.host, self.port = real.port_of(box.engine, name)[0]
        with open(os.path.join(box.state, "sandboxes", name + ".json")) as f:
            self.key = json.load(f)["key"]

    def ask(self, method, path, body=b"", key=True):
        with Conn(self.port, self.host) as c:
            fields = {"X_Session_API_Key": self.key} if key else {}
            return c.send(request(method, path, body, **fields)).response(30 * SLOW)

    def run(self, command, timeout):
        return self.ask("POST", "/execute_action", action("run", timeout, command=command)).json()


def processes(box, container, most):
    """The largest number of processes of the container that was seen so far."""
    stats = box.engine.call("GET", f"/containers/{container}/stats", query={"stream": "0", "one-shot": "1"})
    most[0] = max(most[0], stats["pids_stats"].get("current", 0))
    return most[0]


def check(box, image, name, command):
    container = box.run(image, "--pids-limit", str(LIMIT))
    sandbox = Sandbox(box, container)
    sandbox.run(command, 0.5 * SLOW)
    most = [0]
    full = until(lambda: processes(box, container, most) >= LIMIT - 4)
    ok(full, f"{name}: it takes the processes that there are", most)
    answers = [sandbox.ask("GET", "/alive", key=False).status for _ in range(100)]
    eq(answers, [200] * 100, f"{name}: /alive is answered")
    eq(sandbox.ask("GET", "/v1/status").status, 200, f"{name}: the state is told")
    ended = sandbox.ask("DELETE", "/v1/sessions/default")
    eq((ended.status, ended.json().get("left")), (200, []), f"{name}: all of it is ended")
    got = sandbox.run("echo next", 10.0)
    ok(got["content"].endswith("next"), f"{name}: the next command runs", got)


def test_bombs():
    engine = real.find()
    if not engine or not BUSYBOX:
        skip("a fork bomb in a container", "no container engine answers, or there is no static busybox")
        return
    with real.Box(engine) as box:
        image = make_image(box)
        for name, command in BOMBS.items():
            check(box, image, name, command)


if __name__ == "__main__":
    harness.main()
