/*
 * The keys of a US keyboard, by the names that browsers use (KeyboardEvent code and
 * key).
 */
#ifndef BROWSER_PAGE_KEYS_H
#define BROWSER_PAGE_KEYS_H

#include "base/str.h"

/* Bits of Input.dispatchKeyEvent and Input.dispatchMouseEvent. */
enum {
	MODIFIER_ALT = 1,
	MODIFIER_CONTROL = 2,
	MODIFIER_META = 4,
	MODIFIER_SHIFT = 8,
};

enum { KEY_LOCATION_PAD = 3 };

struct key {
	const char *code; /* physical key (KeyboardEvent.code) */
	const char *key;  /* its meaning (KeyboardEvent.key) */
	const char *text; /* text that it types; empty for none */
	unsigned number;  /* Windows virtual key code; equal for left and right */
	unsigned location;
	unsigned modifier; /* its bit, or 0 */
};

/*
 * Finds a key by its code ("KeyA"), by the text that it types ("A", "\n") or by a short
 * name ("Control"). held is the set of pressed modifiers. If a modifier other than Shift
 * is pressed, the key types no text. Returns ERR_SYNTAX if there is no key of that name.
 */
int keys_find(struct str name, unsigned held, struct key *out) MUST_USE;
/* Removes the first name from a combination: "Control++" is "Control" and "+". */
struct str keys_cut_name(struct str *combination);

#endif
