/*
 * A WebSocket connection (RFC 6455), client or server, over any transport: messages,
 * pings, the end. The layer above handles the messages, in ws_ops.
 *
 *	client: CONNECT -> ASK -> OPEN -> CLOSING -> ENDING -> GONE
 *	server:                   OPEN ...
 *
 * An idle connection holds about 700 bytes and no buffers.
 */
#ifndef NET_WS_CONN_H
#define NET_WS_CONN_H

#include "codec/http/ws.h"
#include "loop/loop.h"
#include "net/transport.h"
#include "net/ws_hand.h"

struct ws_conn;

/* Called from the loop, never from inside a function of this header. */
struct ws_ops {
	/* A client's handshake is done. May be NULL. */
	void (*open)(void *arg);
	/* A whole message, borrowed. The callback may delete the connection. */
	void (*message)(void *arg, enum ws_op op, struct str data);
	/* All queued bytes have been sent. May be NULL. */
	void (*writable)(void *arg);
	/* beat_ms have passed; a ping is sent, too. May be NULL. */
	void (*beat)(void *arg);
	/*
	 * The last call: the connection has ended. code is the peer's close code, or ours
	 * if the peer was at fault; WS_LOST: the connection ended without a close. why is
	 * for the log: the reason of the close if it had one.
	 */
	void (*ended)(void *arg, unsigned code, const char *why);
};

enum { WS_LOST = 1006 };

/* A zero means the default of limits.h. */
struct ws_conf {
	const struct ws_ops *ops;
	void *arg;          /* of the ops */
	size_t message_max; /* largest message to receive */
	size_t queue_max;   /* largest queue to send; more ends the connection */
	unsigned beat_ms;   /* between pings */
	unsigned dead_ms;   /* of silence until the peer is dead, counted in beats */
	unsigned open_ms;   /* for a client, until the handshake is complete */
	unsigned close_ms;  /* for the peer to answer a close */
};

/*
 * Answers a request for a WebSocket and takes its connection over; rq must not be used
 * any more. Legal in request_ops.on_ready. protocol is the offered subprotocol that the
 * server selects, or empty. 1: there is no connection, and rq has been answered or its
 * connection closed.
 */
int ws_conn_accept(struct loop *l, struct request *rq, const struct ws_conf *conf,
	struct str protocol, struct ws_conn **out) MUST_USE;

/*
 * Makes a client's connection of a transport whose socket is connected, or is connecting.
 * The connection owns the transport from now on, also on failure. -errno.
 */
int ws_conn_dial(struct loop *l, struct transport *t, const struct ws_hand_params *ask,
	const struct ws_conf *conf, struct ws_conn **out) MUST_USE;

/* Ends the connection at once; ended is not called. c may be NULL. */
void ws_conn_del(struct ws_conn *c);

/*
 * Queues a message of two parts, either of which may be empty. False: much is queued now,
 * and room will be called; or the connection is not open, and nothing was queued. If a
 * message cannot be queued at all, the connection ends soon after.
 */
bool ws_conn_send(struct ws_conn *c, enum ws_op op, struct str head, struct str body);
/* The number of queued bytes. */
size_t ws_conn_queued(const struct ws_conn *c);
/* Sends a close; ended follows when the peer has answered, or after close_ms. */
void ws_conn_close(struct ws_conn *c, unsigned code, struct str reason);

#endif
