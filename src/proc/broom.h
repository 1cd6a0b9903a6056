/*
 * A process that tidies up after its maker when that is killed: it parses nothing, so
 * it outlives what may crash, and it does not share the fate of a job that is given up.
 */
#ifndef PROC_BROOM_H
#define PROC_BROOM_H

#include <stdbool.h>
#include <sys/types.h>

struct broom {
	pid_t pid; /* 0: there is none */
	int fd;
};

/* Removes what is called name in the folder dir. */
typedef void broom_fn(int dir, const char *name, const void *arg);

/*
 * From now on fn is called, in another process with the same rights, when this one ends
 * without broom_end. The process has copies of name and of what arg points to. If it
 * cannot be made, nothing is removed.
 */
void broom_begin(
	struct broom *b, int dir, const char *name, broom_fn *fn, const void *arg);
/*
 * Ends it; done: there is nothing left to tidy up, otherwise it does that first. Legal
 * on a zeroed broom and twice.
 */
void broom_end(struct broom *b, bool done);

#endif
