"""/alive while sessions print the sequences that cost the terminal model most."""
import os
import shutil
import tempfile
import time

import harness
from flood_texts import FLOODS, flood_text
from rows import bare_environment, row

SECONDS = 5
PLAIN = (("plain", "", "The quick brown fox jumps over the lazy dog\n"),) * len(FLOODS)


def write_flood(folder, name, before, unit):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(flood_text(before, unit, 1 << 18))
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
        for i, (_, before, unit) in enumerate(floods):
            path = write_flood(folder, f"flood{i}", before, unit)
            client.run(f"while :; do cat {path}; done", 0.2, session=f"flood{i}")
        most = alive_max_ms(client)
    shutil.rmtree(folder)
    shutil.rmtree(home)
    return most


def floods():
    row(f"/alive while {len(FLOODS)} sessions print the worst sequences, max", measure(FLOODS), "ms",
        100, measure(PLAIN), "the same while they print plain lines")
