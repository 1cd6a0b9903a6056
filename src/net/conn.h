/* The internals of the server: connections and exchanges. For src/net only. */
#ifndef NET_CONN_H
#define NET_CONN_H

#include "base/list.h"
#include "codec/http/body.h"
#include "net/server.h"
#include "net/transport.h"

enum { HTTP_LISTENERS_MAX = 4 }; /* two addresses, each plain and TLS */

enum conn_state {
	C_FREE,
	C_IDLE,   /* kept alive; no byte of a next request has come */
	C_HEAD,   /* new, or the head is incomplete */
	C_ROUTE,  /* inside server_ops.head */
	C_BODY,   /* the body is incomplete */
	C_FULL,   /* as C_BODY, but the layer above takes no more data for now */
	C_READY,  /* inside request_ops.on_ready */
	C_WAIT,   /* the layer above owes the answer */
	C_DELAY,  /* the reply is ready, and due later */
	C_SEND,   /* the reply is being sent */
	C_PART,   /* a part of a reply is being sent; more may be added */
	C_OWED,   /* that part is sent; the layer above owes the next */
	C_LINGER, /* all is sent; the peer is expected to close first */
	C_STATES
};

/* The phases of a request, for the layer above. Each state of its connection has one. */
enum request_phase {
	REQUEST_NONE,   /* there is none, or it was answered */
	REQUEST_ROUTED, /* its head is complete, and its handler is chosen */
	REQUEST_BODY,   /* its body is received */
	REQUEST_READY,  /* its body is complete, and a reply is owed */
	REQUEST_PARTS,  /* a part of the reply was given, and the next is owed */
};

/* The standing of a peer. Connections of a lower rank are closed first for a new one. */
enum conn_rank {
	RANK_NEW,     /* has not completed a request */
	RANK_SERVED,  /* has received an answer that is no error */
	RANK_TRUSTED, /* see request_trust */
};

/* Connections that may be closed for a new one, each queue in order of entry. */
enum evict_queue {
	EVICT_NONE,
	EVICT_NEW,     /* RANK_NEW, unless the layer above owes a reply; or C_DELAY */
	EVICT_IDLE,    /* RANK_SERVED, between requests */
	EVICT_PART,    /* RANK_SERVED, with an incomplete request or an unread reply */
	EVICT_TRUSTED, /* RANK_TRUSTED, between requests */
	EVICT_QUEUES
};

/*
 * The memory of a request and its reply. A connection has an exchange only from the first
 * byte of a request to the last byte of the reply, so that an idle connection uses little
 * memory.
 */
struct exchange {
	struct request rq;
	struct conn *conn;
	struct exchange *next; /* in the list of spares */

	struct buf in; /* the head; then a window of the body, or what follows */
	size_t used;   /* bytes of in that belong to this request */
	struct http_request http;
	struct body decoder;
	struct buf body;
	size_t body_checked; /* bytes of body for which conn_has_memory was called */
	struct str unread;   /* piece of a streamed body that was not taken; in in */
	uint64_t body_from;  /* when waiting for the body began, monotonic ms */
	uint64_t full_from;  /* when the layer above paused it; pauses do not count */

	struct buf head, fields, out; /* of the reply */
	size_t sent;
	size_t offered; /* bytes behind out that on_splice_out still has to send */
	bool copies;    /* on_splice_out cannot send them: request_write supplies them */
	enum http_framing framing; /* of a reply in pieces */
	uint64_t promised;         /* bytes of it still to come, if it has a length */
	unsigned status;
	bool last; /* the connection ends after this reply */
};

struct conn {
	enum conn_state state;
	enum conn_rank rank;
	bool authorized; /* see request_is_authorized */
	struct server *server;
	struct conn *prev, *next; /* oldest first */
	enum evict_queue queue;
	struct conn *queue_prev, *queue_next;
	uint64_t queued; /* when it entered its queue, monotonic ms */
	struct transport transport;
	struct io io;
	struct timer timer;
	struct later later;
	struct list watches; /* see request_watch_peer */
	struct exchange *x;  /* NULL while no byte of a request is received */
};

struct listener {
	struct io io;
	int fd;
	struct server *server;
	const struct tls_credentials *tls; /* NULL: plain */
};

struct conn_queue {
	struct conn *first, *last;
	unsigned n;
};

/* The kinds of warning in the log. Each kind is logged at most once a minute. */
enum trouble {
	SERVER_WARN_FULL,
	SERVER_WARN_TLS,
	SERVER_WARN_KEY,
	SERVER_WARNINGS,
};

struct server {
	struct loop *loop;
	struct server_conf conf; /* no zeros left */
	unsigned ms[C_STATES];   /* deadline of each state; 0: the last one stays */
	struct conn *first, *last;
	unsigned conns_n;
	struct conn_queue queues[EVICT_QUEUES];
	struct exchange *spares;
	unsigned spares_n;
	struct listener listeners[HTTP_LISTENERS_MAX];
	unsigned listeners_n;
	struct timer pause;
	int spare_fd; /* closed for a moment to refuse a peer when no fd is left */
	uint64_t warned[SERVER_WARNINGS]; /* monotonic ms; 0: never */
	uint64_t batch;                   /* of the loop, see HTTP_BATCH_US */
	uint64_t batch_until;             /* monotonic us */
	bool stopping;
};

/* Takes fd and waits for a head. On -errno or ERR_TLS fd is closed. */
int conn_open(struct server *s, int fd, const struct tls_credentials *tls,
	struct conn **out) MUST_USE;
/* Handles what the peer has already sent. c may have ended afterwards. */
void conn_start(struct conn *c);
/* Moves c to the queue that its state and its rank demand. O(1). */
void conn_requeue(struct conn *c);
/* The connection whose end costs least; NULL if all are in use. O(1). */
struct conn *server_find_victim(const struct server *s);
/* Ends c at once. Its memory is freed after the batch. Always returns ERR_CLOSED. */
int conn_drop(struct conn *c);
/*
 * Removes c from the server without a call of on_close. Its transport has another owner
 * now.
 */
void conn_detach(struct conn *c);
/* The only function that assigns a state. */
void conn_set_state(struct conn *c, enum conn_state next);
/* The phase of the request of c. */
enum request_phase conn_get_phase(const struct conn *c);
/* The layer above has answered after its callback had returned: sends the answer. */
void conn_resume(struct conn *c);

/* Calls and unlinks the watches of c. */
void conn_notify_watches(struct conn *c);

/* Makes the loop continue with c. Needed for work that no event of the socket reports. */
void conn_wake(struct conn *c);

/* The budget that a connection has left in this wake-up of the loop. */
struct turn {
	size_t bytes;
	unsigned replies;
	uint64_t until; /* monotonic us: no further reply after it */
	bool dry;       /* the last read returned less than was asked for */
};

/*
 * A turn ends at the latest when all connections of this wake-up have used up their time.
 */
struct turn conn_begin_turn(struct server *s);

static inline void conn_spend_turn(struct turn *turn, ssize_t n)
{
	turn->bytes -= (size_t)n < turn->bytes ? (size_t)n : turn->bytes;
}

/*
 * Shared by conn.c and conn_body.c. The functions that are steps return what step_fn in
 * conn.c describes.
 */
int conn_step_body(struct conn *c, struct turn *turn);
/* Reads up to n more bytes of input. */
int conn_fill(struct conn *c, struct turn *turn, size_t n);
/*
 * Whether memory is available for a body of total bytes. The body is held twice: as it
 * was received and decoded. Bytes that are already held are subtracted.
 */
bool conn_has_memory(const struct exchange *x, uint64_t total);
/* The body is complete. */
int conn_finish_body(struct conn *c);
/* The peer has ended its stream. It may still wait for an answer. */
int conn_handle_eof(struct conn *c);
/*
 * Answers a request that the server itself refuses, for instance a malformed one. The
 * connection ends after the answer.
 */
int conn_refuse(struct conn *c, const struct http_fault *fault);
void conn_set_deadline(struct conn *c, unsigned ms);
extern const struct http_fault conn_no_memory, conn_body_no_memory, conn_too_large;

/* Returns a new or recycled exchange for c; NULL if out of memory. */
struct exchange *exchange_acquire(struct conn *c) MUST_USE;
/* Returns c->x to the spares, or frees it. */
void exchange_release(struct conn *c);
/* Frees the exchanges that are kept for reuse. */
void exchange_free_spares(struct server *s);
/* Resets the request that was answered. The input keeps the bytes that follow it. */
void exchange_reset(struct exchange *x);
/* Fills the public part from the parsed head. ERR_SYNTAX: the path has a bad escape. */
int exchange_route(struct exchange *x) MUST_USE;
/* Writes an error as the reply. head.err is set if even the error cannot be written. */
void exchange_fail(struct exchange *x, unsigned status, struct str words);
/* All offered bytes have been sent or written: adds the end that the framing demands. */
void exchange_end_offer(struct exchange *x);

/* Logs a line, unless a line of that kind was logged within the last minute. */
void server_warn(struct server *s, enum trouble what, const char *why);
/* c has ended and left the list. The caller must not use the server after this call. */
void server_on_conn_end(struct server *s);

#endif
