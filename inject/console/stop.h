/*
 * Waiting, and requests to stop: SIGINT, SIGTERM and SIGHUP end every wait with -EINTR,
 * so that a command can remove what it has created and exit.
 */
#ifndef INJECT_CONSOLE_STOP_H
#define INJECT_CONSOLE_STOP_H

#include "base/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Installs the handlers and ignores SIGPIPE. 0 or -errno. */
int stop_init(void) MUST_USE;

/* The signal that requested the stop; 0: none yet. */
int stop_get_signal(void);

/*
 * Sets the user's limit on the whole command, in monotonic milliseconds: after it every
 * wait that is not calm ends with -EINTR, as after a signal. 0: no limit.
 */
void stop_set_limit(uint64_t deadline);
/* Whether that limit has passed. */
bool stop_is_expired(void);
/* Whether a signal or the limit ends waits; always false for calm. */
bool stop_is_requested(bool calm);

/*
 * Waits until fd (-1: none) has one of poll's events, until the monotonic millisecond
 * deadline (0: none), or for a signal. Returns the events, 0 at the deadline, or -errno:
 * -EINTR after a request to stop, which is ignored if calm is set, because clean-up has
 * to finish.
 */
int stop_wait(int fd, short events, uint64_t deadline, bool calm) MUST_USE;

/*
 * As stop_wait, for several descriptors: the caller fills in fds[1] and on, up to
 * STOP_FDS, -1 for none; fds[0] is reserved. Returns the number of descriptors with
 * events; 0 at the deadline, and if the size of the terminal has changed; -errno.
 */
enum { STOP_FDS = 3 };
int stop_poll(struct pollfd *fds, uint64_t deadline, bool calm) MUST_USE;
/* As stop_poll, for n descriptors. */
int stop_poll_n(struct pollfd *fds, size_t n, uint64_t deadline, bool calm) MUST_USE;

/* Starts to watch the size of the terminal. 0 or -errno. */
int stop_watch_size(void) MUST_USE;
/* Whether the size has changed since the last call. */
bool stop_is_resized(void);

/*
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT are collected and do not end waits:
 * stop_poll returns 0 then. Signals that this program ignores stay ignored. 0 or -errno.
 */
int stop_collect_signals(void) MUST_USE;
/* The next collected signal; 0 if there is none. */
int stop_next_signal(void);
/*
 * From now on the first of these signals ends waits again, as before
 * stop_collect_signals.
 */
void stop_end_collecting(void);

/* The microseconds that stop_wait has taken so far. */
uint64_t stop_get_wait_us(void);

#endif
