/*
 * A kernel without Jupyter: a Python interpreter with our driver in it, which needs no
 * package. It runs as the sandbox user and executes one cell after another in one
 * namespace; IPython is used where it is there.
 */
#ifndef KERNEL_DRIVER_H
#define KERNEL_DRIVER_H

#include "kernel/runner.h"
#include "loop/loop.h"
#include "proc/spawn.h"

/*
 * env and user stay the caller's. So does prepare, a Python text that each interpreter
 * executes before its first cell, in a namespace of its own. NULL: out of memory.
 * Nothing is started.
 */
struct runner *driver_new(struct loop *l, const char *const *env,
	const struct spawn_user *user, struct str prepare, const struct runner_ops *ops,
	void *arg);

/*
 * The skills as functions of a Python kernel of any kind: its __name__ is to be
 * "agentskills", and behind it install(), to have them importable, or
 * install(NAMESPACE), to have them there, too.
 */
struct str skills_text(void);

#endif
