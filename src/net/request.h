/*
 * One request as the layer above sees it, and the ways to answer it.
 *
 * A request belongs to its connection. It lives from server_ops.head until it is
 * answered (request_reply, request_fail) or server_ops.gone was called, whichever
 * comes first, and must not be touched after that.
 */
#ifndef NET_REQUEST_H
#define NET_REQUEST_H

#include "base/arena.h"
#include "base/buf.h"

struct request {
	struct str method;
	struct str path;    /* decoded; starts with '/', or is "*" */
	struct str query;   /* still encoded; see request_query */
	struct str body;    /* complete and decoded; empty before server_ops.ready */
	size_t body_max;    /* 0; server_ops.head raises it for routes that take a body */
	struct arena arena; /* for whatever lives as long as the request */
	void *user;         /* of the layer above; NULL at first */
};

/*
 * The value of the header called name (any case). 0 when it stands once; 1 when
 * absent; ERR_DUPLICATE when it stands more than once.
 */
int request_header(const struct request *rq, struct str name, struct str *value) MUST_USE;

/* The decoded value of a query parameter; results as of uri_query_find. */
int request_query(struct request *rq, struct str name, struct str *value) MUST_USE;

/*
 * Marks the peer as known, for instance because it showed the key: its connection
 * is spared when others have to make room.
 */
void request_trust(struct request *rq);

/*
 * Whether the peer has closed its side of the connection. It may still read an
 * answer, but as a rule it has given up.
 */
bool request_half_closed(const struct request *rq);

/* The body of the reply, to be written before request_reply. */
struct buf *request_out(struct request *rq);
/* One more header of the reply; a value with control bytes turns it into a 500. */
void request_add_field(struct request *rq, struct str name, struct str value);

/*
 * Answers with what was written to request_out; type is its content type, or NULL
 * for none. Legal from server_ops.head on, at once or later. An error in the
 * written body becomes 503 (out of memory) or 500.
 */
void request_reply(struct request *rq, unsigned status, const char *type);

/* Answers {"detail": words} in place of anything written before; fields stay. */
void request_fail(struct request *rq, unsigned status, struct str words);

#endif
