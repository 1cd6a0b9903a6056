/*
 * A process that cleans up after its maker if the maker is killed. It parses nothing, so
 * that it outlives a crash of code that does, and it is not killed with a job that is
 * given up.
 */
#ifndef PROC_CLEANUP_GUARD_H
#define PROC_CLEANUP_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

struct cleanup_guard {
	pid_t pid; /* 0: there is none */
	int fd;
};

/* Removes the file name in the folder dir. */
typedef void cleanup_guard_fn(int dir, const char *name, const void *arg);

/*
 * From now on fn is called, in another process with the same rights, when this process
 * ends without cleanup_guard_end. The process has copies of name and of the object of
 * arg. If the process cannot be made, nothing is removed.
 */
void cleanup_guard_begin(struct cleanup_guard *b, int dir, const char *name,
	cleanup_guard_fn *fn, const void *arg);
/*
 * Ends the process. done: nothing is left to clean up; otherwise it cleans up first.
 * Legal on a zeroed broom and twice.
 */
void cleanup_guard_end(struct cleanup_guard *b, bool done);

#endif
