/*
 * An owned, growing run of bytes with a maximum set by its initializer.
 *
 * Writers append without checks and read buf.err once at the end: the first failure
 * (-ENOMEM or ERR_LIMIT) is kept and turns later writes into no-ops.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/str.h"

struct buf {
	char *p;
	size_t n;    /* bytes in use */
	size_t cap;  /* bytes allocated */
	size_t max;  /* cap never grows beyond this */
	int err;     /* 0, or the first failure */
	bool secret; /* memory is wiped before it is freed */
};

#define BUF_INIT(limit) \
	{ \
		.max = (limit) \
	}

/* For passwords and keys: memory that held them is wiped before it is freed. */
#define BUF_SECRET(limit) \
	{ \
		.max = (limit), .secret = true \
	}

void buf_init(struct buf *b, size_t max);
/* Releases the memory; the buf is empty again, as after buf_init. */
void buf_free(struct buf *b);
/* Empties the buf and forgets the error; the memory stays. */
void buf_reset(struct buf *b);

void buf_put(struct buf *b, const void *p, size_t n);
void buf_putc(struct buf *b, char c);
void buf_puts(struct buf *b, const char *c);
void buf_str(struct buf *b, struct str s);
/* Percent-encodes all bytes but unreserved ones (RFC 3986, 2.3) and those in also. */
void buf_percent(struct buf *b, struct str s, const char *also);
void buf_fmt(struct buf *b, const char *fmt, ...) PRINTF(2, 3);

/*
 * Space for n more bytes at the end, to be filled by the caller and made part of the
 * content by buf_commit. NULL (with err set) when there is none.
 */
char *buf_reserve(struct buf *b, size_t n) MUST_USE;
void buf_commit(struct buf *b, size_t n);

/* Drops the first n bytes and moves the rest to the front. */
void buf_consume(struct buf *b, size_t n);

/* The content with a NUL behind it (not counted); NULL when out of room. */
const char *buf_cstr(struct buf *b) MUST_USE;

/* The content, borrowed until the next write. */
static inline struct str buf_view(const struct buf *b)
{
	return (struct str){b->p, b->n};
}

#endif
