/*
 * A Jupyter kernel by the name of its kernelspec, as a runner: what its messages mean
 * for a cell, and what the wire contract wants of one of Python besides.
 */
#ifndef KERNEL_NAMED_H
#define KERNEL_NAMED_H

#include "kernel/runner.h"
#include "loop/loop.h"
#include "proc/spawn.h"

/*
 * env and user stay the caller's; name is copied. The kernelspec is read anew at each
 * start. "python" is "python3" where there is no other of that name. prepare is
 * for kernels of Python, as for the embedded one (driver.h). NULL: out of memory.
 * Nothing is started.
 */
struct runner *named_new(struct loop *l, const char *const *env,
	const struct spawn_user *user, struct str name, struct str prepare,
	const struct runner_ops *ops, void *arg);

#endif
