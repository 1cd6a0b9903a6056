/*
 * Executes cells that only call skills, if there is no Python: each call is a process
 * of the sandbox user, one after another.
 */
#ifndef KERNEL_NATIVE_H
#define KERNEL_NATIVE_H

#include "kernel/cell.h"
#include "loop/loop.h"
#include "proc/spawn.h"

struct native;

typedef void native_done_fn(void *arg);

/*
 * The strings of env and user are borrowed and must outlive the object. done is called
 * at each cell's end. NULL: out of memory.
 */
struct native *native_new(struct loop *l, const char *const *env,
	const struct spawn_user *user, native_done_fn *done, void *arg);
void native_del(struct native *n);

/*
 * Executes code in cwd; done follows, perhaps before this returns. ERR_SYNTAX: the code
 * does more than to call skills, and none of it was executed; ERR_LIMIT, -ENOMEM.
 */
int native_execute(struct native *n, struct str code, struct str cwd) MUST_USE;
/* Ends the running cell, without calling done. */
void native_stop(struct native *n);
/* The output of the cell. */
struct cell *native_cell(struct native *n);

#endif
