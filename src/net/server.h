/*
 * An HTTP/1.1 server on the loop: listeners, connections, deadlines and caps. What
 * requests mean is decided above, in server_ops.
 */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include "loop/loop.h"
#include "net/request.h"
#include "net/tls.h"

#include <sys/types.h>

struct server;

/*
 * Each request is announced by head. Unless head answers it, ready or gone follows;
 * unless it is answered then, or later, gone follows. body and room are for what
 * streams, and may be NULL.
 */
struct server_ops {
	/* The head is in; no byte of the body is read. Sets rq->body_max, or answers. */
	void (*head)(void *arg, struct request *rq);
	/*
	 * Whether n bytes of memory are available. It is asked before a body of more
	 * than HTTP_BODY_STEP is buffered, and again as the body grows; if not, the
	 * request is answered with 503. May be NULL.
	 */
	bool (*has_memory)(void *arg, uint64_t n);
	/*
	 * A piece of the body, for requests with body_streams; returns how much of it
	 * is taken. If that is not all, nothing more comes before request_take_more.
	 */
	size_t (*body)(void *arg, struct request *rq, struct str piece);
	/*
	 * The same for up to n bytes that have not been read from the socket yet, which
	 * spares their copy: how many were taken; 0 at its end; -EAGAIN: it has none;
	 * -ENOBUFS: nothing more comes before request_take_more; another -errno: this
	 * cannot be, and body is called. May be NULL.
	 */
	ssize_t (*move)(void *arg, struct request *rq, int fd, size_t n);
	/* The body is complete: answer now or later. */
	void (*ready)(void *arg, struct request *rq);
	/*
	 * Puts up to n of the bytes that request_offer told of onto the socket: how
	 * many; -EAGAIN: it is full; -EINVAL: this cannot be, and they are wanted by
	 * request_write; 0: they are not there any more, and the reply is cut; another
	 * -errno: the peer has left. May be NULL.
	 */
	ssize_t (*hand)(void *arg, struct request *rq, int fd, size_t n);
	/* All that request_write was given, or request_offer told of, has been sent. */
	void (*room)(void *arg, struct request *rq);
	/* The peer left, or its body was bad. Forget rq; it is too late to answer. */
	void (*gone)(void *arg, struct request *rq);
	/* After server_stop: the last connection has ended. May be NULL. */
	void (*drained)(void *arg);
};

/* Zero means the value of limits.h. Tests have no time to wait for those. */
struct server_conf {
	const struct server_ops *ops;
	void *arg; /* of the ops */
	unsigned conns_max;
	unsigned head_ms; /* from the first byte to the end of the head */
	unsigned idle_ms; /* between a reply and the next request */
	unsigned body_ms; /* before a body must come at body_rate bytes per second */
	unsigned body_rate;
	unsigned stall_ms;  /* pause within a body or a reply */
	unsigned wait_ms;   /* for the layer above: an answer, or a part of it */
	unsigned linger_ms; /* after the last reply, for the peer to close */
	unsigned turn_us;   /* of a connection in one wake-up, see HTTP_TURN_US */
	unsigned young_ms;  /* younger peers are spared while others can go */
};

/* NULL with *err set to -errno. */
struct server *server_new(
	struct loop *l, const struct server_conf *conf, int *err) MUST_USE;
/*
 * Cuts every connection (gone is called where it is due) and closes all fds. Of the
 * server_ops only drained may call it.
 */
void server_del(struct server *s);

/*
 * Accepts from fd, a listening non-blocking socket, which s owns from now on: clients
 * that speak TLS if there is a tls, which must outlive s.
 */
int server_listen(struct server *s, int fd, const struct tls_credentials *tls) MUST_USE;
/*
 * Serves a connection that is there already, plain; fd belongs to s, also on failure.
 * authorized is for request_is_authorized. Another connection makes room as it does for
 * one that is accepted. ERR_LIMIT: there are too many in use; -errno.
 */
int server_take(struct server *s, int fd, bool authorized) MUST_USE;
/*
 * Closes the listeners and idle connections and lets running requests end; then, or
 * at once, drained is called, which may delete s.
 */
void server_stop(struct server *s);

/* How many connections are open. */
unsigned server_conns(const struct server *s);

#endif
