/*
 * A Jupyter kernel, selected by the name of its kernelspec, as a runner: it converts
 * messages to cell output and adds the wire contract's requirements for Python.
 */
#ifndef KERNEL_NAMED_H
#define KERNEL_NAMED_H

#include "kernel/runner.h"
#include "loop/loop.h"
#include "proc/spawn.h"

/*
 * env, user and prepare are borrowed and must outlive the runner; name is copied. The
 * kernelspec is read again at each start. "python" means "python3" if no kernelspec has
 * that name. prepare is executed in Python kernels, as in the embedded one (driver.h).
 * NULL: out of memory. No process is started.
 */
struct runner *named_new(struct loop *l, const char *const *env,
	const struct spawn_user *user, struct str name, struct str prepare,
	const struct runner_ops *ops, void *arg);

#endif
