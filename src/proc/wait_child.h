/* Waits for a child, for programs without a loop (children.h is for the others). */
#ifndef PROC_WAIT_CHILD_H
#define PROC_WAIT_CHILD_H

#include <sys/types.h>

/* The status as of waitpid, if the child has ended, without reaping it; otherwise -1. */
int wait_child_poll(pid_t pid);
/* Waits for the end of the child. */
void wait_child_reap(pid_t pid);

#endif
