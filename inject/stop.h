/*
 * Waiting, and being told to stop: SIGINT, SIGTERM and SIGHUP end every wait
 * with -EINTR, so that a command can take away what it has made and leave.
 */
#ifndef INJECT_STOP_H
#define INJECT_STOP_H

#include "base/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Installs the handlers and ignores SIGPIPE. 0 or -errno. */
int stop_init(void) MUST_USE;

/* The signal that asked us to stop; 0 while there was none. */
int stop_signal(void);

/*
 * The user's limit on the whole command, in monotonic milliseconds: from then on every
 * wait that is not calm ends with -EINTR, as after a signal. 0: no limit.
 */
void stop_set_limit(uint64_t deadline);
/* Whether that limit has passed. */
bool stop_limit_ended(void);
/* Whether a signal or the limit ends what is not calm. */
bool stop_is_asked(bool calm);

/*
 * Waits until fd (or nothing, for -1) has one of poll's events, until the
 * monotonic millisecond deadline (0 for none), or for a signal. Returns the
 * events, 0 when the deadline passed, or -errno: -EINTR when told to stop, which
 * is overlooked with calm set, as clean-up has to come to its end.
 */
int stop_wait(int fd, short events, uint64_t deadline, bool calm) MUST_USE;

/*
 * The same for several: the caller fills in fds[1] and on, up to STOP_FDS, -1 for
 * none; the first is ours. The number of those with events; 0 at the deadline, and
 * when the terminal has got another size; -errno.
 */
enum { STOP_FDS = 3 };
int stop_poll(struct pollfd *fds, uint64_t deadline, bool calm) MUST_USE;
/* The same for n of them. */
int stop_poll_n(struct pollfd *fds, size_t n, uint64_t deadline, bool calm) MUST_USE;

/* From now on changes of the terminal's size are noticed. 0 or -errno. */
int stop_watch_size(void) MUST_USE;
/* Whether there was one since the last call. */
bool stop_resized(void);

/*
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT are collected and do not end waits:
 * stop_poll returns 0 then. Signals that this program ignores stay ignored. 0 or -errno.
 */
int stop_collect_signals(void) MUST_USE;
/* The next collected signal; 0 if there is none. */
int stop_next_signal(void);
/* The first of these signals ends waits again, as before stop_collect_signals. */
void stop_end_collecting(void);

/* Microseconds that stop_wait has taken so far. */
uint64_t stop_waited_us(void);

#endif
