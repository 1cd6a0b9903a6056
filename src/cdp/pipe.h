/*
 * What comes from a browser: messages of JSON, each with a NUL behind it. An engine.
 */
#ifndef CDP_PIPE_H
#define CDP_PIPE_H

#include "base/buf.h"

struct cdp_pipe {
	struct buf in;
	size_t at;   /* where the next message begins */
	size_t seen; /* from at on there is no NUL in so many bytes */
	bool cut;    /* of the first message only the head is kept */
};

void cdp_pipe_init(struct cdp_pipe *p);
void cdp_pipe_free(struct cdp_pipe *p);
/* Takes bytes as they come. -ENOMEM. */
int cdp_pipe_put(struct cdp_pipe *p, struct str bytes) MUST_USE;
/*
 * The next message without its NUL, borrowed until the next put; halves of surrogate
 * pairs that stand alone, which pages may have and JSON may not, have become U+FFFD.
 * 0; positive: none is complete; ERR_LIMIT: it is longer than CDP_MESSAGE_MAX, and
 * message is its head.
 */
int cdp_pipe_next(struct cdp_pipe *p, struct str *message) MUST_USE;

#endif
