/*
 * Message bodies (RFC 9112, 6 and 7): a decoder for all framings, without I/O and
 * without memory of its own. Data is handed out in place, as views of the input.
 */
#ifndef NET_BODY_H
#define NET_BODY_H

#include "net/http.h"

enum body_state {
	BODY_DONE,
	BODY_DATA, /* left bytes of a length or a chunk, or all until the close */
	BODY_DATA_CR,
	BODY_DATA_LF,
	BODY_SIZE,
	BODY_EXT,
	BODY_SIZE_LF,
	BODY_LINE,
	BODY_NAME,
	BODY_VALUE,
	BODY_VALUE_LF, /* a line of the trailer */
	BODY_LAST_LF,
	BODY_STATES
};

struct body {
	enum body_state state;
	enum http_framing framing;
	uint64_t left;     /* data bytes of the length or of the chunk to come */
	uint64_t data;     /* data bytes handed out */
	uint64_t overhead; /* framing bytes seen */
	unsigned line_n;   /* digits or extension bytes so far */
	unsigned trailer_n;
};

/* length counts for HTTP_LENGTH only. */
void body_init(struct body *b, enum http_framing framing, uint64_t length);

/*
 * Takes bytes from the front of *in and moves *in behind them; sets *piece to
 * data found in them, which may be empty. 0: the body is complete, and *in is what
 * follows it. 1: not complete; call again while *in has bytes. ERR_SYNTAX on bad
 * chunks; ERR_LIMIT when framing outweighs data absurdly.
 */
int body_next(struct body *b, struct str *in, struct str *piece) MUST_USE;

/* How many bytes come next that are data for sure; 0 when only body_next can tell. */
uint64_t body_sure(const struct body *b);
/* n of those went another way. */
void body_passed(struct body *b, uint64_t n);

/* The stream has ended: 0 when that completes the body, else ERR_CLOSED. */
int body_close(struct body *b) MUST_USE;

#endif
