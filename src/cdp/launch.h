/* The process of a browser: its pipes, its folder, its end. */
#ifndef CDP_LAUNCH_H
#define CDP_LAUNCH_H

#include "base/buf.h"
#include "limits.h"
#include "proc/broom.h"

struct launch {
	pid_t pid;   /* 0: there is none */
	int in, out; /* what it says and hears; to be taken, with -1 left */
	int words;   /* memory with what it has printed first */
	char folder[FILE_PATH_MAX]; /* its own; empty: there is none */
	struct broom broom;         /* removes that */
};

/*
 * Starts the program as a browser with nothing but pipes to it, and all that it writes
 * in a folder of its own below TMPDIR of env, or another that can be written to. more
 * are further arguments, parted by newlines, or NULL. 0 says nothing of whether it runs.
 * -errno.
 */
int launch_begin(struct launch *l, const char *program, const char *const *env,
	const char *more) MUST_USE;
/* Ends it with all its processes, and removes its folder. Legal on a zeroed one. */
void launch_end(struct launch *l);
/* Its end, as of waitpid; -1 if it still runs, a moment later. */
int launch_status(struct launch *l);
/* The last line that it has printed, for people; perhaps empty. */
void launch_words(const struct launch *l, struct buf *out);

#endif
