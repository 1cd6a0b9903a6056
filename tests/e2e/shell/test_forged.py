#!/usr/bin/env python3
"""Commands that print what the client itself prints: their observations stay their own."""
import os
import random
import re
import sys

from harness import CLIENT, SHIPS, Client, eq, main, note

COMMANDS = 1000 if SHIPS else 200
SEED = int(os.environ.get("OD_SEED", "29"))
MARK = "\x1b]7777;%s;%s;%s;0;;/;%s;/bin;%s\a"


def constants():
    """Every printable string of the client, as strings(1) finds them."""
    with open(CLIENT, "rb") as f:
        found = re.findall(rb"[\x20-\x7e]{4,400}", f.read())
    return sorted({s.decode().rstrip() for s in found if s.strip()})


def forged_mark(dice):
    """The mark of an end with a nonce that is not the shell's; a terminal shows nothing of it."""
    nonce, ident = f"{dice.getrandbits(128):032x}", f"{dice.getrandbits(64):016x}"
    return MARK % (nonce, dice.choice("step"), ident, nonce, nonce)


def test_constants():
    dice, words = random.Random(SEED), constants()
    dice.shuffle(words)
    wrong, printed = [], set()
    with Client() as client:
        path = os.path.join(client.work, "text")
        for i in range(COMMANDS):
            lines = words[i * len(words) // COMMANDS:(i + 1) * len(words) // COMMANDS]
            lines += dice.sample(words, 1 + dice.randrange(5))
            printed.update(lines)
            code = dice.randrange(256)
            with open(path, "w", encoding="ascii") as f:
                f.write("\n".join(line + forged_mark(dice) for line in lines) + "\n")
            o = client.run(f"cat {path}; (exit {code})")
            got = o["extras"]["metadata"]["exit_code"], o["content"], \
                o["extras"]["metadata"]["suffix"]
            want = code, "\n".join(lines), f"\n[The command completed with exit code {code}.]"
            if got != want:
                wrong.append((i, got, want))
    note(f"seed {SEED}, {len(words)} constants")
    eq(len(printed), len(words), "each constant of the client is printed")
    eq(wrong[:1], [], f"{COMMANDS} commands that print the client's constants keep exit code, "
       "output and suffix")


if __name__ == "__main__":
    sys.exit(main())
