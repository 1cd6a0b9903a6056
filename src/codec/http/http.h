/*
 * A strict parser of HTTP/1.1 heads (RFC 9112): a head that two parsers could understand
 * in two ways is refused. Engines without I/O. They borrow the caller's buffer, which may
 * move between calls, and keep offsets only.
 */
#ifndef CODEC_HTTP_HTTP_H
#define CODEC_HTTP_HTTP_H

#include "base/str.h"
#include "limits.h"

/* A run of bytes of the head. */
struct http_span {
	uint16_t at, n;
};

struct http_field {
	struct http_span name, value;
};

/* How the body is delimited (RFC 9112, 6.3). */
enum http_framing {
	HTTP_NO_BODY,
	HTTP_LENGTH,
	HTTP_CHUNKED,
	HTTP_UNTIL_CLOSE, /* responses only */
};

/* Why a head is refused: the status of the answer and a text for the peer. */
struct http_fault {
	unsigned status;
	const char *text;
};

/* The part that requests and responses share. Valid once parse has returned 0. */
struct http_head {
	uint16_t n;             /* bytes of the head, the empty line included */
	uint16_t line, scanned; /* start of the unfinished line; end of the search */
	uint8_t minor;          /* of the version: 0 or 1 */
	bool keep_alive;        /* the peer can reuse the connection */
	bool expect_continue;   /* the peer waits for "100 Continue" before the body */
	enum http_framing framing;
	uint64_t length; /* of the body, for HTTP_LENGTH */
	unsigned fields_n;
	struct http_field fields[HTTP_FIELDS_MAX];
};

struct http_request {
	struct http_head head;
	struct http_span method;
	struct http_span path;      /* starts with '/', or is "*"; still encoded */
	struct http_span query;     /* after the '?', still encoded */
	struct http_span authority; /* of an absolute target; equals Host */
	const struct http_fault *fault;
};

struct http_response {
	struct http_head head;
	unsigned status;
	bool to_head; /* the request was HEAD: no body, whatever the fields say */
	const struct http_fault *fault;
};

/* Resets the state. The next parse starts at the first byte of a head. */
void http_request_init(struct http_request *r);
/* head_request: the request was HEAD. 1xx responses are reported like others. */
void http_response_init(struct http_response *r, bool head_request);

/*
 * in is everything received so far, from the first byte of the head on. Bytes of earlier
 * calls must not have changed. 0: the head is complete and valid, head.n bytes long. 1:
 * more bytes are needed. ERR_SYNTAX: fault is the reason. The result does not depend on
 * how the bytes were split over calls.
 */
int http_request_parse(struct http_request *r, struct str in) MUST_USE;
int http_response_parse(struct http_response *r, struct str in) MUST_USE;

/* The bytes of a span; p is where the head starts. */
static inline struct str http_text(const char *p, struct http_span s)
{
	return str_make(p + s.at, s.n);
}

/*
 * The value of the field called name (any case), without blanks around it. 0 if it occurs
 * once; 1 if it is absent; ERR_DUPLICATE if it occurs more than once.
 */
int http_field_find(const struct http_head *h, const char *p, struct str name,
	struct str *value) MUST_USE;

/* Bytes of a token (RFC 9110, 5.6.2), and of a field value. */
bool http_is_token_char(unsigned char c);
bool http_is_value_char(unsigned char c);

#endif
