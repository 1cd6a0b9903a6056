/*
 * A connection that is a WebSocket (RFC 6455), either side of it, over any transport:
 * messages, pings, the end. What messages mean is decided above, in ws_ops.
 *
 *	client: CONNECT -> ASK -> OPEN -> CLOSING -> ENDING -> GONE
 *	server:                   OPEN ...
 *
 * One without anything under way holds about 700 bytes: no buffers.
 */
#ifndef NET_WS_CONN_H
#define NET_WS_CONN_H

#include "loop/loop.h"
#include "net/transport.h"
#include "net/ws.h"
#include "net/ws_hand.h"

struct ws_conn;

/* Called from the loop, never by a function of this header. */
struct ws_ops {
	/* A client's handshake is done. May be NULL. */
	void (*open)(void *arg);
	/* A whole message, borrowed. The connection may be deleted meanwhile. */
	void (*message)(void *arg, enum ws_op op, struct str data);
	/* All that was to be sent has been handed over. May be NULL. */
	void (*room)(void *arg);
	/* beat_ms have passed; a ping goes out, too. May be NULL. */
	void (*beat)(void *arg);
	/*
	 * The last call, the connection is gone: with the peer's code, or ours where it
	 * was at fault; WS_LOST: it ended without one. why is for the log: the reason of
	 * a close that had one.
	 */
	void (*ended)(void *arg, unsigned code, const char *why);
};

enum { WS_LOST = 1006 };

/* Zero means the value of limits.h. */
struct ws_conf {
	const struct ws_ops *ops;
	void *arg;          /* of the ops */
	size_t message_max; /* of one that comes */
	size_t queue_max;   /* of what is to be sent; more ends the connection */
	unsigned beat_ms;   /* between pings */
	unsigned dead_ms;   /* in beats without a byte of the peer, which is dead then */
	unsigned open_ms;   /* for a client, to the end of the handshake */
	unsigned close_ms;  /* for the peer to close, too */
};

/*
 * Answers a request for a WebSocket and takes its connection over: rq is no more. To be
 * called from server_ops.ready. protocol is the one of those offered that is agreed to,
 * or empty. 1: there is none, and rq has been answered or cut.
 */
int ws_conn_accept(struct loop *l, struct request *rq, const struct ws_conf *conf,
	struct str protocol, struct ws_conn **out) MUST_USE;

/*
 * Makes one of a transport whose socket is connected, or about to be; it belongs to the
 * connection from now on, also on failure. -errno.
 */
int ws_conn_dial(struct loop *l, struct transport *t, const struct ws_hand_ask *ask,
	const struct ws_conf *conf, struct ws_conn **out) MUST_USE;

/* Ends it at once; ended is not called. NULL is none. */
void ws_conn_del(struct ws_conn *c);

/*
 * Queues a message of two parts, of which either may be empty. False when much is queued
 * now: room will be called. What cannot be queued at all ends the connection, soon.
 * Nothing is sent any more once either side closes.
 */
bool ws_conn_send(struct ws_conn *c, enum ws_op op, struct str head, struct str body);
/* How much is queued. */
size_t ws_conn_queued(const struct ws_conn *c);
/* Says goodbye; ended follows when the peer has answered, or in close_ms. */
void ws_conn_close(struct ws_conn *c, unsigned code, struct str reason);

#endif
