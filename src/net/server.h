/*
 * An HTTP/1.1 server on the loop: listeners, connections, deadlines and limits. The layer
 * above handles the requests, in server_ops.
 */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include "loop/loop.h"
#include "net/request.h"
#include "net/tls.h"

struct server;

struct server_ops {
	/*
	 * The head of a request is complete; none of the body is handled. Answers, or
	 * sets rq->ops and rq->body_max.
	 */
	void (*head)(void *arg, struct request *rq);
	/*
	 * Whether n bytes of memory are available. Called before a body of more than
	 * HTTP_BODY_STEP is buffered, and again as the body grows. If false, the request
	 * is answered with 503. May be NULL.
	 */
	bool (*has_memory)(void *arg, uint64_t n);
	/* After server_stop: the last connection has ended. May be NULL. */
	void (*drained)(void *arg);
};

/* A zero means the default of limits.h. Tests set shorter times. */
struct server_conf {
	const struct server_ops *ops;
	void *arg; /* of the ops */
	unsigned conns_max;
	unsigned head_ms; /* from the first byte to the end of the head */
	unsigned idle_ms; /* between a reply and the next request */
	unsigned body_ms; /* until the body has to come at body_rate */
	unsigned body_rate;
	unsigned stall_ms;  /* longest pause within a body or a reply */
	unsigned wait_ms;   /* for the layer above to answer or continue */
	unsigned linger_ms; /* after the last reply, for the peer to close */
	unsigned turn_us;   /* of a connection in one wake-up, see HTTP_TURN_US */
	unsigned young_ms;  /* younger connections are spared if others can go */
};

/* NULL on failure, with *err set to -errno. */
struct server *server_new(
	struct loop *l, const struct server_conf *conf, int *err) MUST_USE;
/*
 * Closes every connection (on_close is called where it is due) and all fds. No callback
 * except drained may call this function.
 */
void server_del(struct server *s);

/*
 * Accepts connections from fd, a listening non-blocking socket, which s owns on success.
 * If tls is not NULL, clients use TLS; tls must outlive s.
 */
int server_listen(struct server *s, int fd, const struct tls_credentials *tls) MUST_USE;
/*
 * Serves an existing connection without TLS. fd belongs to s, also on failure. authorized
 * is the result of request_is_authorized. If the server is full, another connection is
 * closed, as for an accepted one. ERR_LIMIT: too many are in use; -errno.
 */
int server_adopt(struct server *s, int fd, bool authorized) MUST_USE;
/*
 * Closes the listeners and the idle connections, and lets running requests end. When no
 * connection is left, perhaps at once, drained is called, which may delete s.
 */
void server_stop(struct server *s);

/* The number of open connections. */
unsigned server_count_conns(const struct server *s);

#endif
