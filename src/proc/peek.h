/* What another process is about, as far as /proc tells. */
#ifndef PROC_PEEK_H
#define PROC_PEEK_H

#include <stdbool.h>
#include <sys/types.h>

enum { PEEK_WHERE = 256 };

/*
 * Another process whose standard error is this file, the first that is found; 0: there
 * is none that may be inspected.
 */
pid_t peek_find_stderr(dev_t dev, ino_t ino);

/* True if the process ignores the signal; false where nobody can tell. */
bool peek_ignores(pid_t pid, int signo);

/*
 * True if the process, whose only thread this is, sleeps without a time limit in a
 * futex of its own memory: nobody but one of its own signal handlers can wake it.
 * *where tells one such sleep from another. False where /proc does not tell, and if
 * it executes another file than program by now.
 */
bool peek_deadlock(pid_t pid, const char *program, char where[PEEK_WHERE]);

#endif
