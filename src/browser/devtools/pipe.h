/* The input from a browser: JSON messages, each terminated by a NUL. It does no I/O. */
#ifndef BROWSER_DEVTOOLS_PIPE_H
#define BROWSER_DEVTOOLS_PIPE_H

#include "base/buf.h"

enum {
	CDP_HEAD = 256,   /* bytes kept of a longer message, to find its request */
	CDP_READ = 65536, /* bytes read at once: a pipe holds as many */
};

struct cdp_pipe {
	struct buf in;
	size_t at;   /* where the next message starts */
	size_t seen; /* so many bytes from at contain no NUL */
	bool cut;    /* only the head of the first message is stored */
};

void cdp_pipe_init(struct cdp_pipe *p);
void cdp_pipe_free(struct cdp_pipe *p);
/* Adds received bytes. Returns 0 or -ENOMEM. */
int cdp_pipe_put(struct cdp_pipe *p, struct str bytes) MUST_USE;
/*
 * Returns the next message without its NUL, borrowed until the next put. Unpaired
 * surrogates, which pages may produce and JSON does not allow, are replaced by U+FFFD.
 * Returns 0; positive: no message is complete; ERR_LIMIT: the message is longer than
 * CDP_MESSAGE_MAX, and *message is its head.
 */
int cdp_pipe_next(struct cdp_pipe *p, struct str *message) MUST_USE;

#endif
