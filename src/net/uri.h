/* Percent-encoding and query strings (RFC 3986; application/x-www-form-urlencoded). */
#ifndef NET_URI_H
#define NET_URI_H

#include "base/arena.h"

/*
 * Decodes in into out, which has room for in.n bytes and may be in.p itself.
 * plus: '+' is a blank, as in queries. 0 with *n set; ERR_SYNTAX on an escape
 * that is not two hex digits, and on %00, which would cut a path in two.
 */
int uri_decode(struct str in, bool plus, char *out, size_t *n) MUST_USE;

/*
 * The decoded value of the parameter called name (compared decoded). 0; 1 when
 * absent; ERR_DUPLICATE when it stands twice; ERR_SYNTAX as above; -ENOMEM when
 * the arena is full. The value lives in the arena.
 */
int uri_query_find(struct str query, struct str name, struct arena *arena,
	struct str *value) MUST_USE;

#endif
