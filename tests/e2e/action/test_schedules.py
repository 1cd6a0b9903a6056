#!/usr/bin/env python3
"""Schedules of faults against three oracles, and two programs with a fault that these must find."""
import os
import shutil
import subprocess
import tempfile

import harness
from harness import TOP, eq, ok, skip

import schedules

COUNT = 300
CAUGHT_WITHIN = 100

# A program that does again what was done, and one that answers before it records.
FAULTS = {
    "no dedup": [("src/server/idempotency/action_submit.c",
                  "	if (e && (spec->find || !action_submit_is_waiting(e))) {",
                  "	if (e && !action_submit_is_waiting(e))\n		e = NULL;\n	if (e && spec->find) {")],
    "reply before record": [
        ("src/action/ledger/ledger.c", "r = request ? ledger_add_queue(l, made, *request) : ledger_add_accept(l, made);", "r = 0;"),
        ("src/action/ledger/ledger.c", "	r = ledger_add_start(l, e);", "	r = ledger_add_accept(l, e);\n	if (!r)\n		r = ledger_add_start(l, e);"),
    ],
}


def test_schedules():
    eq(schedules.run(1, COUNT), None, f"{COUNT} schedules: no oracle has anything to say")


def build_with(changes, top):
    """The client, built with these changes in a copy; None where it cannot be built."""
    objects = os.path.join(TOP, "build", "x86_64", "release")
    if not os.path.isdir(objects) or not shutil.which("make"):
        return None
    for part in ("Makefile", "src", "inject", "third_party", "build/x86_64/release", "build/x86_64/kernel-include"):
        if not os.path.exists(os.path.join(TOP, part)):
            continue
        os.makedirs(os.path.dirname(os.path.join(top, part)), exist_ok=True)
        subprocess.run(["cp", "-a", os.path.join(TOP, part), os.path.join(top, part)], check=True)
    for name, old, new in changes:
        with open(os.path.join(top, name), encoding="utf-8") as f:
            text = f.read()
        if text.count(old) != 1:
            raise RuntimeError(f"{name} has not the line that is to be changed: {old}")
        with open(os.path.join(top, name), "w", encoding="utf-8") as f:
            f.write(text.replace(old, new))
    made = "build/x86_64/release/od-runtime-client"
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "ARCH")}
    done = subprocess.run(["make", "-C", top, made], env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    return os.path.join(top, made)


def test_controls():
    if os.uname().machine != "x86_64":
        skip("programs with faults", "they are built on x86_64 only")
        return
    for name, changes in FAULTS.items():
        with tempfile.TemporaryDirectory(prefix="od-control-") as top:
            faulty = build_with(changes, top)
            if not faulty:
                skip(name, "there is nothing to build it from")
                continue
            was, harness.CLIENT = harness.CLIENT, faulty
            try:
                found = schedules.run(1, CAUGHT_WITHIN, often=1)
            finally:
                harness.CLIENT = was
            ok(found, f"{name}: is caught within {CAUGHT_WITHIN} schedules")
            harness.note(str(found)[:200])


if __name__ == "__main__":
    harness.main()
