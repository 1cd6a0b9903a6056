/*
 * Message bodies (RFC 9112, 6 and 7): a decoder for all framings, without I/O and
 * without memory of its own. Data is handed out in place, as views of the input.
 */
#ifndef CODEC_HTTP_BODY_H
#define CODEC_HTTP_BODY_H

#include "codec/http/http.h"

/* The limits of the framing, in bytes. */
enum {
	HTTP_CHUNK_EXT_MAX = 64,  /* extensions of a chunk are ignored up to here */
	HTTP_TRAILER_MAX = 8192,  /* trailers are discarded; the limit bounds only time */
	HTTP_CHUNK_SLACK = 16384, /* allowed framing beyond 8 bytes per data byte */
};

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
 * Consumes bytes from the front of *in and advances *in behind them. *piece becomes the
 * data found in them, and may be empty. Returns 0 if the body is complete; *in is then
 * what follows the body. Returns 1 if the body is not complete: call again while *in has
 * bytes. ERR_SYNTAX: the chunks are malformed. ERR_LIMIT: the framing is absurdly large
 * compared with the data.
 */
int body_next(struct body *b, struct str *in, struct str *piece) MUST_USE;

/*
 * The number of bytes that follow and are certainly data; 0 if only body_next can find
 * out.
 */
uint64_t body_get_remaining(const struct body *b);
/* The caller has moved n of those bytes past body_next. */
void body_skip_data(struct body *b, uint64_t n);

/* The stream has ended. 0 if that completes the body, else ERR_CLOSED. */
int body_close(struct body *b) MUST_USE;

#endif
