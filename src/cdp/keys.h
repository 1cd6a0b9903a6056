/* The keys of an American keyboard, by the names that browsers give them. */
#ifndef CDP_KEYS_H
#define CDP_KEYS_H

#include "base/str.h"

/* As bits of Input.dispatchKeyEvent and Input.dispatchMouseEvent. */
enum {
	MODIFIER_ALT = 1,
	MODIFIER_CONTROL = 2,
	MODIFIER_META = 4,
	MODIFIER_SHIFT = 8,
};

enum { KEY_LOCATION_PAD = 3 };

struct key {
	const char *code; /* where it is */
	const char *key;  /* what it means */
	const char *text; /* what it types; empty for none */
	unsigned number;  /* of Windows, the same for left and right */
	unsigned location;
	unsigned modifier; /* its bit, or 0 */
};

/*
 * A key by its place ("KeyA"), by what it types ("A", "\n") or by a short name
 * ("Control"). held: modifiers that are down; with others than Shift nothing is typed.
 * ERR_SYNTAX: there is none of that name.
 */
int keys_find(struct str name, unsigned held, struct key *out) MUST_USE;
/* Takes the next name off a combination: "Control++" is "Control" and "+". */
struct str keys_take(struct str *combination);

#endif
