/*
 * A parser of server-sent events (WHATWG HTML, section 9.2.6) that returns the data of
 * each event. An engine without I/O. A CR alone does not end a line, and names and ids of
 * events are ignored.
 */
#ifndef CODEC_HTTP_SSE_H
#define CODEC_HTTP_SSE_H

#include "base/lines.h"

struct sse {
	struct lines lines;
	struct buf data; /* of the incomplete event */
	bool has_data;   /* the event has a line of data */
	bool delivered;  /* data was returned; the next call resets it */
};

/* max is the largest size of an event's data, in bytes, and of a line's. */
void sse_init(struct sse *s, size_t max);
void sse_free(struct sse *s);
/*
 * Consumes bytes from the front of *in. 0: *data is the data of an event, valid until the
 * next call; there may be more events. 1: *in is used up. ERR_LIMIT, -ENOMEM: the stream
 * cannot be read further.
 */
int sse_next(struct sse *s, struct str *in, struct str *data) MUST_USE;

#endif
