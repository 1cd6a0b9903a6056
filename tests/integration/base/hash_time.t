#!/usr/bin/env python3
"""hash_equal executes the same number of instructions wherever two digests differ.

Callgrind counts them, so that no clock and no load of the machine has a part in it."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.environ.get("OD_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
BYTES = 32
PLACES = (0, 1, 7, 15, 16, 30, 31, BYTES)  # where the digests differ; the last one: nowhere
MAIN = """
#include "base/hash.h"
#include <stdlib.h>

int main(int argc, char **argv)
{
	uint8_t a[%d] = {1, 2, 3}, b[%d] = {1, 2, 3, [%d - 1] = 0};
	int place = argc > 1 ? atoi(argv[1]) : 0;

	if (place < %d)
		b[place] ^= 0x80;
	return %s(a, b, sizeof(a)) ? 0 : 1;
}
""" % (BYTES, BYTES, BYTES, BYTES, "%s")
EARLY = """
bool early_equal(const uint8_t *a, const uint8_t *b, size_t n);
__attribute__((noinline)) bool early_equal(const uint8_t *a, const uint8_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}
"""


def build(folder, name, function, more=""):
    """A program that compares two digests by one function; what that does not need is left out."""
    source, program = os.path.join(folder, name + ".c"), os.path.join(folder, name)
    with open(source, "w") as f:
        f.write(MAIN.replace("\nint main", more + "\nint main", 1) % function)
    subprocess.run(["gcc", "-O2", "-g", "-std=gnu11", "-D_GNU_SOURCE", "-ffunction-sections", "-iquote", "src",
                    "-isystem", "third_party/src/bearssl/inc", "-o", program, source, "src/base/hash.c",
                    "-Wl,--gc-sections", "-Wl,--unresolved-symbols=ignore-all", "-no-pie"], cwd=TOP, check=True)
    return program


def count(program, function, place):
    """The instructions of the function, and whether it found the digests equal."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           f"--toggle-collect={function}", program, str(place)],
                          capture_output=True, text=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1]), done.returncode == 0


def check(number, name, good, notes):
    print(f"{'' if good else 'not '}ok {number} - {name}")
    if not good:
        print(f"#   {notes}")


def main():
    for program in "valgrind", "gcc":
        if not shutil.which(program):
            print(f"ok 1 - the time of hash_equal # SKIP {program} is not installed\n1..1")
            return
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder, "constant", "hash_equal")
        got = {place: count(program, "hash_equal", place) for place in PLACES}
        check(1, "equal digests alone are equal", [p for p in PLACES if got[p][1]] == [BYTES], got)
        counts = {n for n, _ in got.values()}
        check(2, "it executes as many instructions wherever they differ", len(counts) == 1 and min(counts) > BYTES, got)
        program = build(folder, "early", "early_equal", EARLY)
        got = {place: count(program, "early_equal", place)[0] for place in PLACES}
        check(3, "a comparison that ends early is found", len(set(got.values())) > 4, got)
    print("1..3")


sys.exit(main())
