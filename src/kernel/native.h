/*
 * Executes cells that only call skills, where there is no Python: each call is a
 * process of the sandbox user, one after another.
 */
#ifndef KERNEL_NATIVE_H
#define KERNEL_NATIVE_H

#include "kernel/cell.h"
#include "loop/loop.h"
#include "proc/spawn.h"

struct native;

typedef void native_done_fn(void *arg);

/* env and user stay the caller's; done is told of each cell's end. NULL: no memory. */
struct native *native_new(struct loop *l, const char *const *env,
	const struct spawn_user *user, native_done_fn *done, void *arg);
void native_del(struct native *n);

/*
 * Executes code in cwd; done follows, perhaps before this returns. ERR_SYNTAX: it does
 * more than to call skills, and nothing of it was executed; ERR_LIMIT, -ENOMEM.
 */
int native_execute(struct native *n, struct str code, struct str cwd) MUST_USE;
/* Ends what runs, without a done. */
void native_stop(struct native *n);
/* What the cell has given. */
struct cell *native_cell(struct native *n);

#endif
