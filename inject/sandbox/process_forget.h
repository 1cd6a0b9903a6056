/* Removes processes that a command has started in a sandbox, with their output. */
#ifndef INJECT_SANDBOX_PROCESS_FORGET_H
#define INJECT_SANDBOX_PROCESS_FORGET_H

#include "inject/sandbox/sandbox.h"

/*
 * A process with less output is not removed: the sandbox keeps the newest 256 processes.
 */
enum { PROCESS_FORGET_MIN = 16384 };

/*
 * Removes a process that has exited, unless one of its children can still write to its
 * output. Prints nothing, and ignores failures.
 */
void process_remove_exited(const struct sandbox *s, const char *id);
/*
 * Kills a process with all its children, and removes it. Prints nothing, and ignores
 * failures.
 */
void process_discard(const struct sandbox *s, const char *id);

#endif
