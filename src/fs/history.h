/*
 * Earlier contents of edited files, for undo_edit: in memory, lost when the process
 * ends. At most HISTORY_PER_FILE texts per file and HISTORY_BYTES_MAX bytes in all; the
 * oldest text is dropped first.
 */
#ifndef FS_HISTORY_H
#define FS_HISTORY_H

#include "base/str.h"

struct history_entry;

/* A zeroed object is valid and empty. */
struct history {
	struct history_entry *newest;
	size_t bytes;
};

/* Stores a copy of text; stores nothing if memory is short or the text is too large. */
void history_push(struct history *h, struct str path, struct str text);
/* The newest text of path, borrowed until the next change; false if there is none. */
bool history_find_newest(const struct history *h, struct str path, struct str *text);
/* Removes the newest text of path. */
void history_pop(struct history *h, struct str path);
void history_free(struct history *h);

#endif
