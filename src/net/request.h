/*
 * A request as the layer above sees it, and the functions that answer it.
 *
 * A request belongs to its connection. It lives from server_ops.head until it is
 * answered (request_reply, request_fail; request_end, request_abort) or
 * server_ops.aborted is called, whichever comes first. After that it must not be used.
 */
#ifndef NET_REQUEST_H
#define NET_REQUEST_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "codec/http/http.h"

struct request {
	struct str method;
	struct str path;    /* decoded; starts with '/', or is "*" */
	struct str query;   /* still encoded; see request_query */
	struct str body;    /* complete and decoded; empty before server_ops.ready */
	size_t body_max;    /* 0; server_ops.head raises it for routes with a body */
	bool body_streams;  /* server_ops.head sets it: server_ops.body gets the body */
	bool needs_peer;    /* cancel the request if the peer closes its side */
	struct arena arena; /* for data that lives as long as the request */
	void *user;         /* of the layer above; NULL at first */
};

/*
 * The value of the header called name (any case). 0 if it occurs once; 1 if it is absent;
 * ERR_DUPLICATE if it occurs more than once.
 */
int request_header(const struct request *rq, struct str name, struct str *value) MUST_USE;

/* Whether the field Accept lists the type by its name, in any case. */
bool request_accepts(const struct request *rq, struct str type);

/* The decoded value of a query parameter; results as of uri_query_find. */
int request_query(struct request *rq, struct str name, struct str *value) MUST_USE;

/* Whether the request is HTTP/1.0. */
bool request_is_http10(const struct request *rq);

/*
 * Whether the request may come from a page of this machine: it has no field Origin, or
 * the origin is a loopback name with any port.
 */
bool request_is_local_origin(const struct request *rq);

/*
 * Marks the peer as trusted, for instance because it has sent the session key. Its
 * connection is among the last to be closed for a new one.
 */
void request_trust(struct request *rq);

/* Whether the layer above has authorized the connection as a whole, see server_adopt. */
bool request_is_authorized(const struct request *rq);

/*
 * Whether the peer has closed its side of the connection. It may still read an answer,
 * but has usually given up.
 */
bool request_is_half_closed(const struct request *rq);

/* The body of the reply, to be written before request_reply. */
struct buf *request_out(struct request *rq);
/* Adds a header to the reply. A value with control bytes turns the reply into a 500. */
void request_add_field(struct request *rq, struct str name, struct str value);

/*
 * Answers with what was written to request_out. type is its content type, or NULL for
 * none. Legal from server_ops.head on, at once or later. If the body has an error, the
 * reply is 503 (out of memory) or 500.
 */
void request_reply(struct request *rq, unsigned status, const char *type);

/* The layer above can take more of a streamed body; see server_ops.body. */
void request_resume_body(struct request *rq);

/* For a reply whose length is known only at its end. */
#define REQUEST_LENGTH_UNKNOWN UINT64_MAX

/*
 * Begins a reply in pieces: the head is sent at once. Legal whenever request_reply is.
 * The request lives on, and gone may still be called. If the length is unknown, an
 * HTTP/1.1 peer receives chunks, and an HTTP/1.0 peer reads until the close.
 */
void request_begin(
	struct request *rq, unsigned status, const char *type, uint64_t length);
/* The content type of a stream of events, see codec/http/sse.h. */
#define REQUEST_EVENTS "text/event-stream"
/* Begins a reply that is a stream of events, with cache-control: no-cache. */
void request_begin_events(struct request *rq);
/*
 * Queues a copy of a piece of the reply. False if much is queued: server_ops.room is
 * called when all of it is sent. Never calls back.
 */
bool request_write(struct request *rq, struct str piece) MUST_USE;
/*
 * Queues a piece of n bytes, at least one, without a copy: server_ops.send_direct sends
 * them. Nothing may be written before server_ops.room is called. False: nothing was
 * queued, the caller has to use request_write. Never calls back.
 */
bool request_offer(struct request *rq, size_t n) MUST_USE;
/*
 * Completes the reply. If its length differs from the announced one, the connection is
 * reset.
 */
void request_end(struct request *rq);
/*
 * Aborts the reply: the connection is reset, so that no peer takes the reply for
 * complete.
 */
void request_abort(struct request *rq);

/* Answers {"detail": words} and discards a body written before. Added fields are kept. */
void request_fail(struct request *rq, unsigned status, struct str words);

/* How the body is delimited. *length is 0 unless that is HTTP_LENGTH. */
enum http_framing request_framing(const struct request *rq, uint64_t *length);

/* Whether the request is a GET without a body that asks for a WebSocket. */
bool request_is_websocket(const struct request *rq);

struct penalty;

/*
 * As request_fail, for a peer that has failed to authenticate; legal in server_ops.head.
 * The failure counts for the peer's address. After some failures the answer is delayed.
 * No other peer is delayed by it, and the server evicts such a connection first.
 */
void request_deny(
	struct request *rq, struct penalty *p, unsigned status, struct str words);

/*
 * Appends the head as it was received, but with another target (encoded) and without the
 * session key. For a server behind this one that shall close the connection after its
 * answer.
 */
void request_forward(const struct request *rq, struct str target, struct buf *out);

/* Watches a connection; embedded in its owner, and zeroed except fn. */
struct peer_watch {
	void (*fn)(struct peer_watch *w);
	struct list node; /* in the list of the connection */
};

/*
 * Calls w->fn once when the connection of rq has ended or was taken over. Until then the
 * server does not evict the connection and keeps it idle for up to wait_ms instead of
 * idle_ms; the connection ends when the peer closes its side.
 */
void request_watch_peer(struct request *rq, struct peer_watch *w);
/* No effect on a watch that is not linked. */
void request_unwatch_peer(struct peer_watch *w);

struct transport;

/*
 * Legal in server_ops.head and .ready. Removes the connection from the server: the caller
 * owns the transport, and rest receives what follows the head. rq must not be used any
 * more.
 */
void request_take_over(struct request *rq, struct transport *t, struct buf *rest);

#endif
