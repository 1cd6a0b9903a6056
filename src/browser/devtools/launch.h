/* The process of a browser: its pipes, its profile folder and its end. */
#ifndef BROWSER_DEVTOOLS_LAUNCH_H
#define BROWSER_DEVTOOLS_LAUNCH_H

#include "base/buf.h"
#include "limits.h"
#include "proc/cleanup_guard.h"

struct launch {
	pid_t pid;     /* 0: there is no process */
	int in, out;   /* pipes from and to it; the caller takes them and sets -1 */
	int output_fd; /* memory file with the start of its output */
	char folder[FILE_PATH_MAX]; /* its profile folder; empty: none */
	struct cleanup_guard broom; /* removes that folder */
};

/*
 * Starts the program as a browser that is connected by pipes only. All its files go to a
 * new folder in TMPDIR of env, or in another folder that can be written to. more are
 * further arguments, separated by newlines, or NULL. Returns 0 or -errno. 0 does not
 * mean that the browser works.
 */
int launch_begin(struct launch *l, const char *program, const char *const *env,
	const char *more) MUST_USE;
/* Ends the browser with all its processes, removes its folder. Legal on a zeroed one. */
void launch_end(struct launch *l);
/* Waits for a moment for its end. Returns its waitpid status; -1 if it still runs. */
int launch_wait_status(struct launch *l);
/* Appends the last line of the recorded output, for people. It may be empty. */
void launch_read_output(const struct launch *l, struct buf *out);

#endif
