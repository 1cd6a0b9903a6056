/* The state of the skills in one shell session: the open file, and the line. */
#ifndef SKILL_STATE_H
#define SKILL_STATE_H

#include "base/buf.h"
#include "limits.h"

/* The environment variable with the common prefix of the paths of all state files. */
#define SKILL_STATE_ENV "OD_SKILLS"
/*
 * The environment variable with the ID that follows the prefix instead of the session ID
 * of the shell, for callers that are no shell.
 */
#define SKILL_ID_ENV "OD_SKILLS_ID"

struct skill_state {
	char path[FILE_PATH_MAX]; /* absolute; empty: no file is open */
	uint64_t line;
};

/* Reads the state file with this suffix. out stays empty if there is none. */
void skill_state_read(const char *suffix, struct buf *out);
/* Writes the state file with this suffix. After an error the next skill finds none. */
void skill_state_write(const char *suffix, struct str text);

/* Loads the state of this shell session; the default state if there is none. */
void skill_state_load(struct skill_state *s);
/* Saves the state. Errors are ignored: the next skill then finds no open file. */
void skill_state_save(const struct skill_state *s);

#endif
