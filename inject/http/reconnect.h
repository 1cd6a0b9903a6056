/* The times at which a lost connection is made again and at which it is given up. */
#ifndef INJECT_HTTP_RECONNECT_H
#define INJECT_HTTP_RECONNECT_H

#include "base/err.h"

#include <stdint.h>

enum { RECONNECT_MS = 2000 }; /* until a lost connection is given up */

/* Zeroed at first. Times are monotonic ms. */
struct reconnect {
	uint64_t tried; /* the last attempt */
	uint64_t until; /* when to give up */
	uint64_t moved; /* bytes moved at the loss that until counts from */
	uint64_t pause; /* ms before the next attempt */
};

/*
 * Records that a connection was lost, after moved bytes in all. If a peer accepts each
 * connection and closes it again without a byte, the time of the first loss counts.
 */
void reconnect_note_loss(struct reconnect *r, uint64_t moved);
/* Waits for the next attempt: 0; ERR_CLOSED: the time is over; -EINTR as stop_wait. */
int reconnect_wait(struct reconnect *r) MUST_USE;

#endif
