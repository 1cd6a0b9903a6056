/*
 * A kernel without Jupyter: a Python interpreter that runs the embedded driver, which
 * needs no package. It runs as the sandbox user and executes one cell after another in
 * one namespace. IPython is used if it is installed.
 */
#ifndef KERNEL_DRIVER_H
#define KERNEL_DRIVER_H

#include "kernel/runner.h"
#include "loop/loop.h"
#include "proc/spawn.h"

/*
 * The strings of env, user and prepare are borrowed and must outlive the runner. Each
 * interpreter executes prepare, a Python text, before its first cell, in a namespace of
 * its own. NULL: out of memory. No process is started.
 */
struct runner *driver_new(struct loop *l, const char *const *env,
	const struct spawn_user *user, struct str prepare, const struct runner_ops *ops,
	void *arg);

/*
 * The Python source of the skills, for any Python kernel. Execute it with __name__
 * "agentskills" and then call install(), which makes the module importable, or
 * install(NAMESPACE), which also adds the functions to NAMESPACE.
 */
struct str skills_text(void);
/* The Python source of the driver, and of what reads and executes it: for python -c. */
struct str driver_text(void);
extern const char driver_boot[];

#endif
