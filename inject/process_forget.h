/* Removing a process that a command has started in a sandbox, and its kept output. */
#ifndef INJECT_PROCESS_FORGET_H
#define INJECT_PROCESS_FORGET_H

#include "inject/sandbox.h"

/* A process with less output is left to the sandbox, which keeps the newest 256. */
enum { PROCESS_FORGET_MIN = 16384 };

/*
 * Has the sandbox forget a process that has exited, unless one of its children still
 * writes to its output. Never prints; that it fails is no error.
 */
void process_forget(const struct sandbox *s, const char *id);
/* Has the sandbox kill a process with all its children, and forget it. As above. */
void process_discard(const struct sandbox *s, const char *id);

#endif
