#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUF_FIRST = 64 };

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf)BUF_INIT(max);
}

void buf_free(struct buf *b)
{
	if (b->secret && b->p)
		explicit_bzero(b->p, b->cap);
	free(b->p);
	*b = (struct buf){.max = b->max, .secret = b->secret};
}

void buf_reset(struct buf *b)
{
	b->n = 0;
	b->err = 0;
}

static void buf_fail(struct buf *b, int err)
{
	if (!b->err)
		b->err = err;
}

/* realloc(3) would leave a copy of the secret in the old block. */
static char *buf_move_secret(struct buf *b, size_t cap)
{
	char *p = malloc(cap);

	if (p && b->p) {
		memcpy(p, b->p, b->n);
		explicit_bzero(b->p, b->cap);
		free(b->p);
	}
	return p;
}

char *buf_reserve(struct buf *b, size_t n)
{
	size_t want, cap;
	char *p;

	if (b->err)
		return NULL;
	if (n <= b->cap - b->n)
		return b->p + b->n;
	if (n > b->max - b->n) {
		buf_fail(b, ERR_LIMIT);
		return NULL;
	}
	want = b->n + n;
	cap = b->cap ? b->cap : BUF_FIRST;
	while (cap < want)
		cap = cap > b->max / 2 ? b->max : cap * 2;
	if (cap > b->max)
		cap = b->max;
	p = b->secret ? buf_move_secret(b, cap) : realloc(b->p, cap);
	if (!p) {
		buf_fail(b, -ENOMEM);
		return NULL;
	}
	b->p = p;
	b->cap = cap;
	return b->p + b->n;
}

void buf_commit(struct buf *b, size_t n)
{
	assert(n <= b->cap - b->n);
	b->n += n;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	char *room;

	if (n == 0)
		return;
	room = buf_reserve(b, n);
	if (!room)
		return;
	memcpy(room, p, n);
	b->n += n;
}

void buf_putc(struct buf *b, char c)
{
	buf_put(b, &c, 1);
}

void buf_puts(struct buf *b, const char *c)
{
	buf_put(b, c, strlen(c));
}

void buf_str(struct buf *b, struct str s)
{
	buf_put(b, s.p, s.n);
}

void buf_percent(struct buf *b, struct str s, const char *also)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9');

		if (alnum || (c && (strchr("-._~", c) || strchr(also, c))))
			buf_putc(b, c);
		else
			buf_fmt(b, "%%%02X", (unsigned char)c);
	}
}

void buf_fmt(struct buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (n < 0) {
		buf_fail(b, -EINVAL);
	} else if ((size_t)n < sizeof(small)) {
		buf_put(b, small, (size_t)n);
	} else {
		/* vsnprintf needs space for its NUL, which is not kept. */
		char *room = buf_reserve(b, (size_t)n + 1);

		if (!room)
			return;
		va_start(ap, fmt);
		vsnprintf(room, (size_t)n + 1, fmt, ap);
		va_end(ap);
		b->n += (size_t)n;
	}
	if (b->secret)
		explicit_bzero(small, sizeof(small));
}

void buf_consume(struct buf *b, size_t n)
{
	assert(n <= b->n);
	b->n -= n;
	if (n && b->n)
		memmove(b->p, b->p + n, b->n);
}

const char *buf_cstr(struct buf *b)
{
	char *room = buf_reserve(b, 1);

	if (!room)
		return NULL;
	*room = '\0';
	return b->p;
}
