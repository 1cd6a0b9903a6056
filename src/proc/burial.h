/* The end of a child, for programs without a loop (children.h is for the others). */
#ifndef PROC_BURIAL_H
#define PROC_BURIAL_H

#include <sys/types.h>

/* Its status as of waitpid, if it has ended; its number stays its own. Or -1. */
int burial_peek(pid_t pid);
/* Waits for its end. */
void burial_wait(pid_t pid);

#endif
