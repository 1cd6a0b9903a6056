"""/alive while eight sessions print what costs the terminal model most."""
import os
import shutil
import tempfile
import time

import harness
from rows import bare_environment, row

SECONDS = 5
FILL = "\x1b#8"
REGION = FILL + "\x1b[2;999r"
# before, and the sequence that is repeated
FLOODS = (
    (FILL, FILL),
    (FILL, "\x1b[999T"),
    (FILL + "\x1b[H", "\x1b[999L"),
    (FILL + "\x1b[1;999r\x1b[999H", "\x1b[999S"),
    ("\x1b[4h\U0001f600", "\x1b[G\x1b[999b"),
    ("\u4e2d", "\x1b[G\x1b[999b"),
    (REGION + "\x1b[2H", "\x1bM"),
    ("", "\x1b[2J\x1b[999Bx\x1b[H"),
)
PLAIN = (("", "The quick brown fox jumps over the lazy dog\n"),) * len(FLOODS)


def write_flood(folder, name, before, unit):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + unit * (1 + (1 << 18) // len(unit)))
    return path


def alive_max_ms(client, seconds=SECONDS):
    """The longest of the answers that follow each other on one connection."""
    ask = harness.request("GET", "/alive")
    most, end = 0.0, time.perf_counter() + seconds
    with client.conn() as conn:
        while time.perf_counter() < end:
            t = time.perf_counter()
            conn.send(ask)
            if conn.response(120).status != 200:
                raise RuntimeError("/alive does not answer 200")
            most = max(most, time.perf_counter() - t)
            time.sleep(0.002)
    return most * 1000


def measure(floods):
    home, env = bare_environment()
    folder = tempfile.mkdtemp(prefix="od-bench-")
    with harness.Client(role="init", env=env) as client:
        for i, (before, unit) in enumerate(floods):
            path = write_flood(folder, f"flood{i}", before, unit)
            client.run(f"while :; do cat {path}; done", 0.2, session=f"flood{i}")
        most = alive_max_ms(client)
    shutil.rmtree(folder)
    shutil.rmtree(home)
    return most


def floods():
    row("/alive while 8 sessions print the worst sequences known, max", measure(FLOODS), "ms",
        100, measure(PLAIN), "the same while they print plain lines")
