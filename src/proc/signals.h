/* What another process does with signals. */
#ifndef PROC_SIGNALS_H
#define PROC_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/* True if the process ignores the signal; false where nobody can tell. */
bool signals_ignored(pid_t pid, int signo);

#endif
