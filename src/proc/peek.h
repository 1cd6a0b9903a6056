/* Facts about another process, as far as /proc shows them. */
#ifndef PROC_PEEK_H
#define PROC_PEEK_H

#include <stdbool.h>
#include <sys/types.h>

enum { PEEK_WHERE = 256 };

/*
 * Another process whose standard error is this file, the first that is found; 0: no
 * process that may be inspected has it.
 */
pid_t peek_find_stderr(dev_t dev, ino_t ino);

/* True if the process ignores the signal; false if that cannot be found out. */
bool peek_ignores(pid_t pid, int signo);

/*
 * True if the process, whose only thread this is, sleeps without a time limit in a futex
 * of its own memory, so that only its own signal handlers can wake it. *where identifies
 * the sleep. False if /proc does not show it, or if the process executes another file
 * than program by now.
 */
bool peek_deadlock(pid_t pid, const char *program, char where[PEEK_WHERE]);

#endif
