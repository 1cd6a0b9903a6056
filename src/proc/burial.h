/* Waits for a child, for programs without a loop (children.h is for the others). */
#ifndef PROC_BURIAL_H
#define PROC_BURIAL_H

#include <sys/types.h>

/* The status as of waitpid, if the child has ended, without reaping it; otherwise -1. */
int burial_peek(pid_t pid);
/* Waits for the end of the child. */
void burial_wait(pid_t pid);

#endif
