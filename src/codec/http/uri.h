/* Percent-encoding and query strings (RFC 3986; application/x-www-form-urlencoded). */
#ifndef CODEC_HTTP_URI_H
#define CODEC_HTTP_URI_H

#include "base/arena.h"

/*
 * Decodes in into out, which has space for in.n bytes and may be in.p itself. plus: '+'
 * is a blank, as in queries. 0 with *n set; ERR_SYNTAX: an escape is not two hex digits,
 * or is %00, which would truncate a path.
 */
int uri_decode(struct str in, bool plus, char *out, size_t *n) MUST_USE;

/*
 * The decoded value of the parameter called name (compared decoded). 0; 1: absent;
 * ERR_DUPLICATE: it occurs twice; ERR_SYNTAX as above; -ENOMEM: the arena is full. The
 * value lives in the arena.
 */
int uri_query_find(struct str query, struct str name, struct arena *arena,
	struct str *value) MUST_USE;

#endif
