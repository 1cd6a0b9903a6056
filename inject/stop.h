/*
 * Waiting, and being told to stop: SIGINT, SIGTERM and SIGHUP end every wait
 * with -EINTR, so that a command can take away what it has made and leave.
 */
#ifndef INJECT_STOP_H
#define INJECT_STOP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Installs the handlers and ignores SIGPIPE. 0 or -errno. */
int stop_init(void) MUST_USE;

/* The signal that asked us to stop; 0 while there was none. */
int stop_signal(void);

/*
 * Waits until fd (or nothing, for -1) has one of poll's events, until the
 * monotonic millisecond deadline (0 for none), or for a signal. Returns the
 * events, 0 when the deadline passed, or -errno: -EINTR when told to stop, which
 * is overlooked with calm set, as clean-up has to come to its end.
 */
int stop_wait(int fd, short events, uint64_t deadline, bool calm) MUST_USE;

/* Microseconds that stop_wait has taken so far. */
uint64_t stop_waited_us(void);

#endif
