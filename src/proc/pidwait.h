/* Waits for the end of any process, not only of a child. */
#ifndef PROC_PIDWAIT_H
#define PROC_PIDWAIT_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Returns when the process has ended, reaped or not, or at the deadline, in monotonic
 * ms. On a kernel without pidfd_open (before Linux 5.3, old gVisor) it returns sooner:
 * call it in a loop that reads its condition each time.
 */
void pidwait_end(pid_t pid, uint64_t deadline);

#endif
