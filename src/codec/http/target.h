/*
 * The target of a request (RFC 9112, 3.2.1): literal text and values. A value is
 * percent-encoded for its place: a value from an image, an engine or a registry never
 * becomes another path, query or request. Without I/O.
 */
#ifndef CODEC_HTTP_TARGET_H
#define CODEC_HTTP_TARGET_H

#include "codec/http/url.h"

#include <stdarg.h>

struct target {
	struct buf text; /* read it with target_view */
	bool query;      /* a '?' was appended: values are for the query */
};

/* A target without values: TARGET("/alive"). Only a string literal compiles. */
#define TARGET(literal) \
	(&(const struct target){.text = {.p = (char *)(uintptr_t)("" literal), \
					.n = sizeof("" literal) - 1}})

/* max: bytes of the longest target. The caller must call target_free. */
void target_init(struct target *t, size_t max);
/* Empties t and clears its error. */
void target_reset(struct target *t);
void target_free(struct target *t);

/*
 * Appends fmt, a string literal that supports %s, %.*s, %d, %u, %llu and %%. A string
 * before the '?' is a segment of the path: it must not be empty, "." or "..", nor contain
 * '/' or control bytes. A string after the '?' is a value of the query: it must not
 * contain NUL. Otherwise the target fails with -EINVAL; ERR_LIMIT: the target is too
 * long.
 */
void target_add(struct target *t, const char *fmt, ...) PRINTF(2, 3);
void target_add_list(struct target *t, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/* Appends a name of several segments, such as that of an image: a/b:c. */
void target_add_name(struct target *t, struct str name);

/*
 * Sets t to a reference that a server gave to be used verbatim, such as a Location.
 * -EINVAL: it is empty or has blanks, control bytes or bytes beyond ASCII.
 */
void target_set_reference(struct target *t, struct str reference);
/* Sets t to the target of an address that url_parse has read. */
void target_set_url(struct target *t, const struct url *u);

/* The error of t, or 0 if it can be sent. */
int target_error(const struct target *t) MUST_USE;
/* The text of t; empty after an error. */
struct str target_view(const struct target *t);

#endif
