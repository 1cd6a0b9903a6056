/*
 * Finds the program "python" on the PATH of a session: py_interpreter_path in the wire
 * contract.
 *
 * The user sets the PATH, which may lead to a disk that does not answer. So a job with
 * the user's rights does the lookup. A job that cannot be killed occupies a process of
 * the table of jobs, so no other lookup starts until that process has ended.
 */
#ifndef SHELL_PYTHON_LOOKUP_H
#define SHELL_PYTHON_LOOKUP_H

#include "base/buf.h"
#include "loop/loop.h"
#include "proc/spawn.h"

enum { PYTHON_PATH = 1024 }; /* bytes of the name of the program, with its NUL */

struct python_job;

struct python_lookup {
	struct loop *loop;
	const struct spawn_user *user;
	/* The loop calls it when a lookup has ended. */
	void (*done)(struct python_lookup *k);
	struct python_job *job; /* NULL: none runs */
	char *program;          /* receives the result of the job */
	bool is_path_new;       /* the lookup that runs has no earlier result */
	struct buf path;        /* the PATH of the last lookup */
	uint64_t again;         /* earliest time of the next lookup for the same PATH */
};

void python_lookup_init(struct python_lookup *k, struct loop *l,
	const struct spawn_user *user, void (*done)(struct python_lookup *k));
/* Cancels a lookup that runs. */
void python_lookup_free(struct python_lookup *k);

/*
 * Starts a lookup, unless one for this PATH runs or has just ended. Its result, or "",
 * is written to program. It is "" at once if the PATH is a new one; otherwise the last
 * result stays until the lookup has ended.
 */
void python_lookup_start(
	struct python_lookup *k, struct str path, char program[PYTHON_PATH]);

#endif
