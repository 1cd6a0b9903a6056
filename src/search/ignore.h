/*
 * Matches paths against the rules of .gitignore files (gitignore(5)), stacked as a walk
 * descends into folders. No I/O: the caller reads the files.
 */
#ifndef SEARCH_IGNORE_H
#define SEARCH_IGNORE_H

#include "base/buf.h"

enum { IGNORE_RULES_MAX = 20000 }; /* 600 bytes each; the largest trees have 2,000 */

/* Later rules override earlier ones; rules of deeper folders override outer ones. */
struct ignore {
	struct buf rules; /* of struct ignore_rule */
};

enum ignore_verdict { IGNORE_NO_RULE, IGNORE_EXCLUDE, IGNORE_INCLUDE };

void ignore_init(struct ignore *g);
void ignore_free(struct ignore *g);

/*
 * Adds the rules of a file. Paths passed to ignore_check later begin with the path of
 * that file's folder, base bytes long with the slash at its end. An invalid rule
 * matches nothing. ERR_LIMIT after IGNORE_RULES_MAX rules, -ENOMEM.
 */
int ignore_add(struct ignore *g, struct str text, size_t base) MUST_USE;

/* The number of rules. ignore_drop removes all rules after the first count. */
size_t ignore_count(const struct ignore *g);
void ignore_drop(struct ignore *g, size_t count);

/*
 * Evaluates the rules for a path that lies in the folders of all of them. The parent
 * folders of the path are not checked: a walk does not enter ignored folders. -ENOMEM.
 */
int ignore_check(struct ignore *g, struct str path, bool is_dir,
	enum ignore_verdict *verdict) MUST_USE;

#endif
