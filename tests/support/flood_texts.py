"""Terminal sequences that change the whole screen, which cost the terminal model most per byte."""
FILL = "\x1b#8"
# name, before, and the sequence that is repeated
FLOODS = (
    ("DECALN", FILL, FILL),
    ("SD", FILL, "\x1b[999T"),
    ("IL", FILL + "\x1b[H", "\x1b[999L"),
    ("DL, filled again", FILL + "\x1b[H", "\x1b[999M\x1b[999Bx\x1b[H"),
    ("SU", FILL + "\x1b[1;999r\x1b[999H", "\x1b[999S"),
    ("REP of an emoji, inserted", "\x1b[4h\U0001f600", "\x1b[G\x1b[999b"),
    ("REP of a wide character", "\u4e2d", "\x1b[G\x1b[999b"),
    ("RI in a region", FILL + "\x1b[2;999r\x1b[2H", "\x1bM"),
    ("ED, filled again", "", "\x1b[2J\x1b[999Bx\x1b[H"),
)


def flood_text(before, unit, size):
    """About so many bytes of a flood."""
    return before + unit * (1 + size // len(unit))
