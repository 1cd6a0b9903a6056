/* The children of this process, and the callbacks for their ends. */
#ifndef PROC_CHILDREN_H
#define PROC_CHILDREN_H

#include "base/list.h"
#include "loop/loop.h"

#include <sys/types.h>

struct child;

/* status is as from wait(2). */
typedef void child_fn(struct child *c, int status);

/* The watch of a child; embedded in its owner, and zeroed to begin with. */
struct child {
	struct list node;
	pid_t pid; /* 0: not watched */
	child_fn *fn;
};

/* Takes SIGCHLD over. Once per process. */
int children_init(struct loop *l) MUST_USE;

/*
 * Watches pid. fn is called once, from the loop, before the child is reaped: a status
 * that fn stores is not lost even if we are killed right after it. An earlier watch of c
 * is forgotten.
 */
void children_watch(struct child *c, pid_t pid, child_fn *fn);
void children_forget(struct child *c);

#endif
