/*
 * multipart/form-data (RFC 7578, RFC 2046 5.1). An engine without I/O that finds the
 * parts of a body in input of any piece size.
 */
#ifndef CODEC_HTTP_MULTIPART_H
#define CODEC_HTTP_MULTIPART_H

#include "base/buf.h"

/* The limits of a form, sizes in bytes. */
enum {
	MULTIPART_BOUNDARY_MAX = 70, /* the limit of RFC 2046 */
	MULTIPART_HEAD_MAX = 8192,   /* the head of a part: a file name, escaped twice */
	MULTIPART_PARTS_MAX = 32,    /* clients need one */
};

enum multipart_event {
	MULTIPART_MORE, /* all of the input is used: pass more */
	MULTIPART_PART, /* a part begins: name and file_name are set */
	MULTIPART_DATA, /* a piece of its content */
	MULTIPART_END,  /* the part is complete */
	MULTIPART_DONE, /* the last part is complete; what follows is ignored */
};

enum multipart_state {
	MULTIPART_PREAMBLE,
	MULTIPART_CONTENT,
	MULTIPART_CLOSING,   /* the content has ended; MULTIPART_END is due */
	MULTIPART_DELIMITED, /* behind a boundary */
	MULTIPART_DASH,
	MULTIPART_PADDING,
	MULTIPART_LINE_END,
	MULTIPART_HEAD,
	MULTIPART_EPILOGUE,
};

struct multipart {
	enum multipart_state state;
	char delimiter[4 + MULTIPART_BOUNDARY_MAX]; /* CR LF "--" and the boundary */
	size_t delimiter_n;
	size_t matched; /* bytes of the delimiter at the end of the input so far */
	unsigned parts;
	struct buf head; /* of the part */

	/* Valid until the next part begins. */
	struct str name;
	struct str file_name;  /* as sent, with any folders; p is NULL if absent */
	struct buf name_bytes; /* the bytes of both names */
};

/*
 * content_type is the value of the header. 0; ERR_TYPE: it is not multipart/form-data;
 * ERR_SYNTAX: the boundary is absent or violates RFC 2046.
 */
int multipart_init(struct multipart *m, struct str content_type) MUST_USE;
void multipart_free(struct multipart *m);

/*
 * Consumes bytes from the front of *in up to the next event, which is returned, and
 * advances *in behind them. piece is set for MULTIPART_DATA; it points into the input or
 * into m, and is valid until the next call. ERR_SYNTAX; ERR_LIMIT: too many parts or too
 * large a head; -ENOMEM. The sequence of events, with pieces joined, does not depend on
 * how the input was split.
 */
int multipart_next(struct multipart *m, struct str *in, struct str *piece) MUST_USE;

/* The file_name without its folders. The result may be empty, "." or "..". */
struct str multipart_get_base(struct str file_name);

#endif
