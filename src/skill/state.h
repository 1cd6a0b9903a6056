/* What a shell session's skills remember: the file that is open, and where. */
#ifndef SKILL_STATE_H
#define SKILL_STATE_H

#include "base/buf.h"
#include "limits.h"

/* The name of the variable that holds the front of the path of all state files. */
#define SKILL_STATE_ENV "OD_SKILLS"
/* That of what comes behind the front in place of the shell's id, for who is no shell. */
#define SKILL_ID_ENV "OD_SKILLS_ID"

struct skill_state {
	char path[FILE_PATH_MAX]; /* absolute; empty: no file is open */
	uint64_t line;
};

/* What lies in the file that has this behind its common name; or nothing. */
void skill_state_read(const char *suffix, struct buf *out);
/* Puts it there. Where that cannot be, the next skill finds nothing. */
void skill_state_write(const char *suffix, struct str text);

/* What was kept for the shell that this process descends from; or nothing. */
void skill_state_load(struct skill_state *s);
/* Keeps it. Where that cannot be, the next skill finds no file open. */
void skill_state_save(const struct skill_state *s);

#endif
