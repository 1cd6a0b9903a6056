/*
 * A request as the layer above sees it, and the functions that answer it.
 *
 * A request belongs to its connection. It lives from server_ops.head until it is
 * answered (request_reply, request_fail; request_end, request_abort) or
 * request_ops.on_close is due, whichever comes first. After that it must not be used.
 */
#ifndef NET_REQUEST_H
#define NET_REQUEST_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "codec/http/http.h"

#include <sys/types.h>

struct request;

/*
 * The functions of the user of a request, who holds it. An event of the request calls
 * them, and looks up nothing by the path again. Members may be NULL, except on_ready
 * before the body is complete, and on_body if the body is streamed.
 */
struct request_ops {
	/* The body is complete: answer now or later. */
	void (*on_ready)(struct request *rq);
	/*
	 * The request cannot be answered any more: its peer has left, its body was
	 * refused, or a deadline has passed. rq is valid only during the call.
	 */
	void (*on_close)(struct request *rq);
	/* All bytes of request_write and request_offer have been sent. */
	void (*on_writable)(struct request *rq);
	/*
	 * A piece of the body, for requests with body_streams. Returns how much of it is
	 * taken. If that is not all, it is not called again before request_resume_body.
	 */
	size_t (*on_body)(struct request *rq, struct str piece);
	/*
	 * As on_body, for up to n bytes that the server has not read from the socket fd,
	 * which saves a copy. Returns how many were taken; 0: end of the stream;
	 * -EAGAIN: the socket is empty; -ENOBUFS: nothing more is taken before
	 * request_resume_body; another -errno: fd cannot be used this way, and on_body is
	 * called.
	 */
	ssize_t (*on_splice_in)(struct request *rq, int fd, size_t n);
	/*
	 * Sends up to n of the bytes of request_offer to the socket fd. Returns how many
	 * were sent; -EAGAIN: the socket is full; -EINVAL: fd cannot be used this way,
	 * and request_write has to supply the bytes; 0: the bytes do not exist any more,
	 * and the reply is aborted; another -errno: the peer has left.
	 */
	ssize_t (*on_splice_out)(struct request *rq, int fd, size_t n);
};

struct request {
	struct str method;
	struct str path;    /* decoded; starts with '/', or is "*" */
	struct str query;   /* still encoded; see request_query */
	struct str body;    /* complete and decoded; empty before ops->on_ready */
	size_t body_max;    /* 0; server_ops.head raises it for routes with a body */
	bool body_streams;  /* server_ops.head sets it: ops->on_body gets the body */
	bool needs_peer;    /* cancel the request if the peer closes its side */
	struct arena arena; /* for data that lives as long as the request */
	/*
	 * The layer above sets these; they are NULL at first. A function that sets user
	 * sets ops, too. on_close and on_writable are called only while user is set.
	 */
	const struct request_ops *ops;
	void *user;
	const void *route; /* the row of the table in which the path was found */
	struct str param;  /* the part of the path that has the place of a "*" */
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

/* The layer above can take more of a streamed body; see on_body. */
void request_resume_body(struct request *rq);

/* For a reply whose length is known only at its end. */
#define REQUEST_LENGTH_UNKNOWN UINT64_MAX

/*
 * Begins a reply in pieces: the head is sent at once. Legal whenever request_reply is.
 * The request lives on, and on_close may still be called. If the length is unknown, an
 * HTTP/1.1 peer receives chunks, and an HTTP/1.0 peer reads until the close.
 */
void request_begin(
	struct request *rq, unsigned status, const char *type, uint64_t length);
/* The content type of a stream of events, see codec/http/sse.h. */
#define REQUEST_EVENTS "text/event-stream"
/* Begins a reply that is a stream of events, with cache-control: no-cache. */
void request_begin_events(struct request *rq);
/*
 * Queues a copy of a piece of the reply. False if much is queued: on_writable is called
 * when all of it is sent. Never calls back.
 */
bool request_write(struct request *rq, struct str piece) MUST_USE;
/*
 * Queues a piece of n bytes, at least one, without a copy: on_splice_out sends them.
 * Nothing may be written before on_writable is called. False: nothing was queued, the
 * caller has to use request_write. Never calls back.
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
 * Legal in server_ops.head and on_ready. Removes the connection from the server: the
 * caller owns the transport, and rest receives what follows the head. rq must not be used
 * any more.
 */
void request_take_over(struct request *rq, struct transport *t, struct buf *rest);

#endif
