/*
 * Server-sent events (WHATWG HTML, section 9.2.6), as they are read: the data of each. An
 * engine. A CR alone ends no line here, and names and ids of events are passed over.
 */
#ifndef NET_SSE_H
#define NET_SSE_H

#include "base/lines.h"

struct sse {
	struct lines lines;
	struct buf data; /* of the event that is not complete */
	bool any;        /* it has a line of data */
	bool taken;      /* it was handed out and goes with the next call */
};

/* An event has max bytes of data at most, and so has a line. */
void sse_init(struct sse *s, size_t max);
void sse_free(struct sse *s);
/*
 * Takes bytes from the front of *in. 0: *data is that of an event, valid until the next
 * call; there may be more. 1: *in is used up. ERR_LIMIT, -ENOMEM: nothing can follow.
 */
int sse_next(struct sse *s, struct str *in, struct str *data) MUST_USE;

#endif
