/*
 * Which paths git would leave out: the rules of .gitignore files (gitignore(5)),
 * stacked as a walk goes down into folders. An engine: who reads the files, and which,
 * is not known here.
 */
#ifndef FILE_IGNORE_H
#define FILE_IGNORE_H

#include "base/buf.h"

/* Later rules go before earlier ones, those of deeper folders before outer ones. */
struct ignore {
	struct buf rules; /* of struct ignore_rule */
};

enum ignore_verdict { IGNORE_NOTHING_SAID, IGNORE_LEAVE_OUT, IGNORE_TAKE_IN };

void ignore_init(struct ignore *g);
void ignore_free(struct ignore *g);

/*
 * Adds the rules of a file. Paths that are asked about later begin with that file's
 * folder, of base bytes with the slash at its end. A rule that makes no sense
 * matches nothing. ERR_LIMIT after IGNORE_RULES_MAX rules, -ENOMEM.
 */
int ignore_add(struct ignore *g, struct str text, size_t base) MUST_USE;

/* How many rules there are; drop takes away those that came after so many. */
size_t ignore_count(const struct ignore *g);
void ignore_drop(struct ignore *g, size_t count);

/*
 * What the rules say about a path, which lies in the folders of all of them. Its
 * folders are not looked at: who walks does not enter what is left out. -ENOMEM.
 */
int ignore_ask(struct ignore *g, struct str path, bool is_dir,
	enum ignore_verdict *verdict) MUST_USE;

#endif
