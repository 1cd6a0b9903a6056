/*
 * One request as the layer above sees it, and the ways to answer it.
 *
 * A request belongs to its connection. It lives from server_ops.head until it is
 * answered (request_reply, request_fail; request_end, request_cut) or
 * server_ops.gone was called, whichever comes first, and must not be touched after
 * that.
 */
#ifndef NET_REQUEST_H
#define NET_REQUEST_H

#include "base/arena.h"
#include "base/buf.h"
#include "net/http.h"

struct request {
	struct str method;
	struct str path;    /* decoded; starts with '/', or is "*" */
	struct str query;   /* still encoded; see request_query */
	struct str body;    /* complete and decoded; empty before server_ops.ready */
	size_t body_max;    /* 0; server_ops.head raises it for routes that take a body */
	bool body_streams;  /* server_ops.head sets it: server_ops.body gets the body */
	bool needs_peer;    /* one that has closed its side has left: no end otherwise */
	struct arena arena; /* for whatever lives as long as the request */
	void *user;         /* of the layer above; NULL at first */
};

/*
 * The value of the header called name (any case). 0 when it stands once; 1 when
 * absent; ERR_DUPLICATE when it stands more than once.
 */
int request_header(const struct request *rq, struct str name, struct str *value) MUST_USE;

/* Whether the field Accept lists the type by its name, in any case. */
bool request_accepts(const struct request *rq, struct str type);

/* The decoded value of a query parameter; results as of uri_query_find. */
int request_query(struct request *rq, struct str name, struct str *value) MUST_USE;

/* Whether it is of HTTP/1.0. */
bool request_is_old(const struct request *rq);

/*
 * Whether the page that asks, if it is one, is of this machine: no field Origin, or a
 * name of the loopback with any port in it.
 */
bool request_is_at_home(const struct request *rq);

/*
 * Marks the peer as known, for instance because it showed the key: its connection
 * is spared when others have to make room.
 */
void request_trust(struct request *rq);

/* Whether the layer above has authorized the connection as a whole, see server_take. */
bool request_is_authorized(const struct request *rq);

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

/* The body of a request that streams has room again; see server_ops.body. */
void request_take_more(struct request *rq);

/* The length of a reply that will be known when it ends. */
#define REQUEST_LENGTH_UNKNOWN UINT64_MAX

/*
 * Begins a reply in pieces: the head is sent at once. Legal as request_reply is; the
 * request lives on, and gone may still come. Without a length HTTP/1.1 is sent
 * chunks, and 1.0 all until the close.
 */
void request_begin(
	struct request *rq, unsigned status, const char *type, uint64_t length);
/* The type of a stream of events, see net/sse.h. */
#define REQUEST_EVENTS "text/event-stream"
/* Begins one, which nothing on its way shall keep. */
void request_begin_events(struct request *rq);
/*
 * Queues a piece of the reply, in a copy. False when much is queued: server_ops.room
 * will tell when all of it is sent. Never calls back.
 */
bool request_write(struct request *rq, struct str piece) MUST_USE;
/*
 * Queues a piece of n bytes, at least one, without a copy: server_ops.hand will send
 * them. Nothing may be written before server_ops.room. False, and nothing is done: they
 * have to be written. Never calls back.
 */
bool request_offer(struct request *rq, size_t n) MUST_USE;
/* The reply is complete. One of another length than announced is cut. */
void request_end(struct request *rq);
/* It will never be: the connection ends in a way that no peer takes for success. */
void request_cut(struct request *rq);

/* Answers {"detail": words} in place of anything written before; fields stay. */
void request_fail(struct request *rq, unsigned status, struct str words);

/* How the body is delimited; *length is 0 unless that is HTTP_LENGTH. */
enum http_framing request_framing(const struct request *rq, uint64_t *length);

/* Whether it is a GET that asks for a WebSocket and has no body. */
bool request_asks_websocket(const struct request *rq);

struct penalty;

/*
 * request_fail for a peer that has failed to authenticate, in server_ops.head: the
 * failure counts for its address, and after some failures the answer is sent later. No
 * other peer waits for it, and the server evicts such a connection first.
 */
void request_deny(
	struct request *rq, struct penalty *p, unsigned status, struct str words);

/*
 * Appends the head as it came, but with another target (encoded) and without the session
 * key, for a server behind this one that shall close the connection after its answer.
 */
void request_forward(const struct request *rq, struct str target, struct buf *out);

/* Watches a connection; embedded in its owner, and zeroed except fn. */
struct peer_watch {
	void (*fn)(struct peer_watch *w);
	struct peer_watch **at, *next; /* in the list of the connection */
};

/*
 * Has w->fn called once, when the connection of rq has ended or was taken over. Until
 * then the server neither evicts the connection nor closes it for being idle, and it ends
 * when the peer closes its side.
 */
void request_watch_peer(struct request *rq, struct peer_watch *w);
/* No effect on a watch that is not linked. */
void request_unwatch_peer(struct peer_watch *w);

struct transport;

/*
 * Legal in server_ops.head and .ready: the connection leaves the server with the caller,
 * who also gets what has come behind the head (appended to rest). rq is no more.
 */
void request_take_over(struct request *rq, struct transport *t, struct buf *rest);

#endif
