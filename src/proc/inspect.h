/* Facts about another process, as far as /proc shows them. */
#ifndef PROC_INSPECT_H
#define PROC_INSPECT_H

#include <stdbool.h>
#include <sys/types.h>

enum { INSPECT_TEXT_MAX = 256 };

/*
 * Another process whose standard error is this file, the first that is found; 0: no
 * process that may be inspected has it.
 */
pid_t inspect_find_stderr(dev_t dev, ino_t ino);

/* True if the process ignores the signal; false if that cannot be found out. */
bool inspect_ignores_signal(pid_t pid, int signo);

/*
 * True if the process, whose only thread this is, sleeps without a time limit in a futex
 * of its own memory, so that only its own signal handlers can wake it. *where identifies
 * the sleep. False if /proc does not show it, or if the process executes another file
 * than program by now.
 */
bool inspect_is_deadlocked(pid_t pid, const char *program, char where[INSPECT_TEXT_MAX]);

#endif
