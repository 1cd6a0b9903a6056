/* Which names below the folder of a watch are reported. */
#ifndef SERVER_FILES_WATCH_FILTER_H
#define SERVER_FILES_WATCH_FILTER_H

#include "base/buf.h"
#include "search/glob.h"
#include "search/ignore.h"

struct watch_filter {
	struct str top;        /* real path of the folder, with a slash at its end */
	const char *file_name; /* name of the only watched file in it; NULL: all */
	bool ignores;          /* names that gitignore files exclude are hidden */
	bool excludes;
	struct glob exclude;
	struct ignore rules; /* ignore rules for the contents of the folder... */
	struct buf rules_of; /* ...with this path, with a slash; empty: none */
	bool rules_out;      /* the rules leave out the whole folder */
};

/* The caller sets top, which it owns, before the first check, and file_name. */
void watch_filter_init(struct watch_filter *f, bool ignores);
void watch_filter_free(struct watch_filter *f);
/* Hides what the glob matches; an empty glob matches nothing. ERR_SYNTAX, -ENOMEM. */
int watch_filter_set_exclude(
	struct watch_filter *f, struct str glob, const char **why) MUST_USE;

/* Whether changes of the path, which is relative to the top, are not reported. */
bool watch_filter_is_hidden(struct watch_filter *f, struct str path, bool dir);

#endif
