"""The rows that tests/bench/figures.py shows, and what measuring them shares."""
import json
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("OD_BUILD") or os.path.join(TOP, "build", os.uname().machine)
for name, program in (("OD_CLIENT", "od-runtime-client"), ("OD_RUNTIME", "od-runtime")):
    os.environ[name] = os.path.join(BUILD, program)  # the programs that ship, and no others
sys.path.insert(0, os.path.join(TOP, "tests", "support"))


LOAD = os.path.join(BUILD, "release", "bench", "load")
CROWD = os.path.join(BUILD, "release", "bench", "crowd")
ROWS = []
WIDTHS = (66, 16, 16, 0)  # of the columns


def row(what, value, unit, target=None, floor=None, floor_is="", most=True):
    good = target is None or (value <= target if most else value >= target)
    ROWS.append({"what": what, "value": value, "unit": unit, "target": target,
                 "target_is": "most" if most else "least", "floor": floor, "floor_is": floor_is,
                 "good": good})
    limit = "" if target is None else f"{'<=' if most else '>='} {number(target)}"
    print_line(what, f"{number(value)} {unit}", limit + ("" if good else " MISSED"),
               f"{number(floor)} {unit}: {floor_is}" if floor else "")


def load(*words, env=None, timeout=120):
    done = subprocess.run([LOAD, *map(str, words)], capture_output=True, text=True,
                          env=env, timeout=timeout)
    if done.returncode:
        raise RuntimeError(f"load {words}: {done.stderr}")
    return json.loads(done.stdout)


def bare_environment():
    """A home without start-up files, so that no one's .bashrc is measured."""
    home = tempfile.mkdtemp(prefix="od-bench-")
    return home, {"HOME": home, "PATH": os.environ["PATH"], "SU_TO_USER": "0"}


def number(x):
    return "" if x is None else f"{x:,.0f}" if x >= 1000 else f"{x:.3g}"


def print_line(*columns):
    """A line of the table, at once: a figure that comes later may take minutes."""
    print("  ".join(text.ljust(width) for text, width in zip(columns, WIDTHS)).rstrip(), flush=True)


def save():
    with open(os.path.join(os.path.dirname(BUILD), "figures.json"), "w") as f:
        json.dump({"machine": {"cpus": os.cpu_count(), "kernel": os.uname().release}, "rows": ROWS},
                  f, indent=1)
