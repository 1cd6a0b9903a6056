/*
 * Parses the text of /etc/passwd and /etc/group. It reads no files and calls no C library
 * lookups (which need plug-ins that a static program lacks). Lines that are no entries
 * are skipped: comments, NIS lines, invalid lines.
 */
#ifndef PROC_USERDB_H
#define PROC_USERDB_H

#include "base/str.h"

#include <sys/types.h>

/* Views into the text. */
struct userdb_user {
	struct str name;
	struct str home;
	struct str shell;
	uid_t uid;
	gid_t gid;
};

struct userdb_group {
	struct str name;
	struct str members; /* names separated by commas, up to the end of the line */
	gid_t gid;
};

/* The next entry, moving *text behind its line; false at the end. */
bool userdb_next_user(struct str *text, struct userdb_user *out);
bool userdb_next_group(struct str *text, struct userdb_group *out);

/* The first entry of that name or number; false when there is none. */
bool userdb_find_name(struct str text, struct str name, struct userdb_user *out);
bool userdb_find_uid(struct str text, uid_t uid, struct userdb_user *out);
bool userdb_find_group(struct str text, struct str name, struct userdb_group *out);

bool userdb_has_member(const struct userdb_group *g, struct str name);

/* Whether a new entry may have this name: letters, digits, "_.-", no sign first. */
bool userdb_is_valid_name(struct str name);

#endif
