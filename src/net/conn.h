/* The inside of the server: connections and exchanges. For src/net only. */
#ifndef NET_CONN_H
#define NET_CONN_H

#include "net/body.h"
#include "net/server.h"
#include "net/transport.h"

enum conn_state {
	C_FREE,
	C_IDLE,   /* kept alive, nothing of a next request is here */
	C_HEAD,   /* new, or the head is incomplete */
	C_ROUTE,  /* inside server_ops.head */
	C_BODY,   /* the body is incomplete */
	C_FULL,   /* the same, and the layer above takes no more of it for now */
	C_READY,  /* inside server_ops.ready */
	C_WAIT,   /* the layer above owes the answer */
	C_DELAY,  /* the reply is ready, and due later */
	C_SEND,   /* the reply is on its way */
	C_PART,   /* a part of it is, and may grow */
	C_OWED,   /* that part is sent; the layer above owes the next */
	C_LINGER, /* all is sent; the peer shall close first */
	C_STATES
};

/* What is known of a peer; those with little to lose make room first. */
enum conn_rank {
	RANK_NEW,     /* has not completed a request */
	RANK_SERVED,  /* got an answer that is no error */
	RANK_TRUSTED, /* see request_trust */
};

/* Connections that may be closed for a new one, each queue in order of entry. */
enum evict_queue {
	EVICT_NONE,
	EVICT_NEW,     /* RANK_NEW, while the server owes it no reply */
	EVICT_IDLE,    /* RANK_SERVED, between requests */
	EVICT_PART,    /* RANK_SERVED, with an incomplete request or an unread reply */
	EVICT_TRUSTED, /* RANK_TRUSTED, between requests */
	EVICT_QUEUES
};

/*
 * The memory of a request and its reply. A connection has one only from the first
 * byte of a request to the last of the reply; idle connections cost little.
 */
struct exchange {
	struct request rq;
	struct conn *conn;
	struct exchange *next; /* among the spares */

	struct buf in; /* the head; behind it a window of the body, or what follows */
	size_t used;   /* bytes of in that belong to this request */
	struct http_request http;
	struct body decoder;
	struct buf body;
	size_t body_checked; /* bytes of it for which conn_has_memory was asked */
	struct str kept;     /* a piece of a body that streams and was not taken; in in */
	uint64_t body_from;  /* when the body was due, monotonic ms */
	uint64_t full_from;  /* when it was held up by us; that does not count */

	struct buf head, fields, out; /* of the reply */
	size_t sent;
	size_t offered; /* bytes that server_ops.hand has still to send, behind out */
	bool copies;    /* it cannot: they come by request_write */
	enum http_framing framing; /* of a reply in pieces */
	uint64_t promised;         /* bytes of it that are still to come, for a length */
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
	struct peer_watch *watches; /* see request_watch_peer */
	struct exchange *x;         /* NULL while no byte of a request is received */
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

/* What the operator hears of, but not more than once a minute. */
enum trouble {
	TROUBLE_FULL,
	TROUBLE_TLS,
	TROUBLE_KEY,
	TROUBLES,
};

struct server {
	struct loop *loop;
	struct server_conf conf; /* no zeros left */
	unsigned ms[C_STATES];   /* deadline of each state; 0: keeps the last one */
	struct conn *first, *last;
	unsigned conns_n;
	struct conn_queue queues[EVICT_QUEUES];
	struct exchange *spares;
	unsigned spares_n;
	struct listener listeners[HTTP_LISTENERS_MAX];
	unsigned listeners_n;
	struct timer pause;
	int spare_fd; /* given up for a moment to refuse a peer when fds are out */
	uint64_t warned[TROUBLES]; /* monotonic ms; 0: never */
	uint64_t batch;            /* of the loop, see HTTP_BATCH_US */
	uint64_t batch_until;      /* monotonic us */
	bool stopping;
};

/* Takes fd and waits for a head. -errno or ERR_TLS, with fd closed. */
int conn_open(struct server *s, int fd, const struct tls_credentials *tls,
	struct conn **out) MUST_USE;
/* Handles what the peer has sent already; c may be gone afterwards. */
void conn_start(struct conn *c);
/* Moves c to the queue that its state and its rank demand. O(1). */
void conn_requeue(struct conn *c);
/* The connection whose end costs least; NULL if each of them is in use. O(1). */
struct conn *server_find_victim(const struct server *s);
/* Ends c at once; its memory goes after the batch. Always ERR_CLOSED. */
int conn_drop(struct conn *c);
/* The same, but its transport lives on, with somebody else. */
void conn_leave(struct conn *c);
/* The only function that assigns a state. */
void conn_enter(struct conn *c, enum conn_state next);
/* The layer above has answered after it had returned: sends, and goes on. */
void conn_resume(struct conn *c);

/* Calls and unlinks the watches of c. */
void conn_tell_watches(struct conn *c);

/* Has the loop go on with c: there is work that no event of the socket tells of. */
void conn_wake(struct conn *c);

/* What a connection may still use of this wake-up. */
struct turn {
	size_t bytes;
	unsigned replies;
	uint64_t until; /* monotonic us: no further reply after it */
	bool dry;       /* the socket had less than was asked for */
};

/* A turn ends at the latest when the connections of this wake-up have had their time. */
struct turn turn_begin(struct server *s);

static inline void turn_spend(struct turn *turn, ssize_t n)
{
	turn->bytes -= (size_t)n < turn->bytes ? (size_t)n : turn->bytes;
}

/* What conn.c and conn_body.c share; as steps, they return what conn.c says of those. */
int conn_step_body(struct conn *c, struct turn *turn);
/* Up to n more bytes of input. */
int conn_fill(struct conn *c, struct turn *turn, size_t n);
/*
 * Whether memory is available for a body of total bytes. The body is held once as it
 * comes and once decoded; what is held already is subtracted.
 */
bool conn_has_memory(const struct exchange *x, uint64_t total);
/* The body is complete. */
int conn_ready(struct conn *c);
/* The peer will send no more; it may still wait for an answer. */
int conn_ended(struct conn *c);
/* Answers what cannot be understood, or not in time; the connection ends with it. */
int conn_refuse(struct conn *c, const struct http_fault *fault);
void conn_set_deadline(struct conn *c, unsigned ms);
extern const struct http_fault conn_no_memory, conn_body_no_memory, conn_too_large;

/* A fresh or recycled exchange of c; NULL when out of memory. */
struct exchange *exchange_take(struct conn *c) MUST_USE;
/* Gives c->x back. */
void exchange_give(struct conn *c);
/* Frees those that are kept for reuse. */
void exchange_free_spares(struct server *s);
/* Forgets the request that was answered; the input keeps what follows it. */
void exchange_next(struct exchange *x);
/* Fills the public part from the parsed head. ERR_SYNTAX: a bad escape. */
int exchange_route(struct exchange *x) MUST_USE;
/* Writes an error as the reply; head.err tells when even that found no room. */
void exchange_fail(struct exchange *x, unsigned status, struct str words);
/* What was offered has been sent, or is written: what the framing puts behind it. */
void exchange_end_offer(struct exchange *x);

/* A line in the log, unless there was one of that kind a short time ago. */
void server_warn(struct server *s, enum trouble what, const char *why);
/* c has ended and left the list. The last thing that is done with the server. */
void server_conn_ended(struct server *s);

#endif
