/*
 * What files held before they were edited, for undoing it: in memory, lost with the
 * process. HISTORY_PER_FILE texts of a file, HISTORY_BYTES_MAX in all; what was put
 * longest ago goes first.
 */
#ifndef FILE_HISTORY_H
#define FILE_HISTORY_H

#include "base/str.h"

struct history_entry;

/* Zeroed to begin with. */
struct history {
	struct history_entry *newest;
	size_t bytes;
};

/* Keeps a copy of text; without memory for it, or if it is too large, nothing. */
void history_push(struct history *h, struct str path, struct str text);
/* The newest text of path, borrowed until the next change; false for none. */
bool history_newest(const struct history *h, struct str path, struct str *text);
/* Forgets it. */
void history_pop(struct history *h, struct str path);
void history_free(struct history *h);

#endif
