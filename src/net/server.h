/*
 * An HTTP/1.1 server on the loop: listeners, connections, deadlines and limits. The layer
 * above handles the requests, in server_ops.
 */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include "loop/loop.h"
#include "net/request.h"
#include "net/tls.h"

#include <sys/types.h>

struct server;

/*
 * The server calls head for each request. Unless head answers it, ready or gone follows.
 * Unless it is answered in ready or later, gone follows. body and room are for streamed
 * bodies and replies, and may be NULL.
 */
struct server_ops {
	/*
	 * The head is complete; none of the body is handled. Sets rq->body_max, or
	 * answers.
	 */
	void (*head)(void *arg, struct request *rq);
	/*
	 * Whether n bytes of memory are available. Called before a body of more than
	 * HTTP_BODY_STEP is buffered, and again as the body grows. If false, the request
	 * is answered with 503. May be NULL.
	 */
	bool (*has_memory)(void *arg, uint64_t n);
	/*
	 * A piece of the body, for requests with body_streams. Returns how much of it is
	 * taken. If that is not all, body is not called again before request_resume_body.
	 */
	size_t (*body)(void *arg, struct request *rq, struct str piece);
	/*
	 * As body, for up to n bytes that the server has not read from the socket fd,
	 * which saves a copy. Returns how many were taken; 0: end of the stream;
	 * -EAGAIN: the socket is empty; -ENOBUFS: nothing more is taken before
	 * request_resume_body; another -errno: fd cannot be used this way, and body is
	 * called. May be NULL.
	 */
	ssize_t (*recv_direct)(void *arg, struct request *rq, int fd, size_t n);
	/* The body is complete: answer now or later. */
	void (*ready)(void *arg, struct request *rq);
	/*
	 * Sends up to n of the bytes of request_offer to the socket fd. Returns how many
	 * were sent; -EAGAIN: the socket is full; -EINVAL: fd cannot be used this way,
	 * and request_write has to supply the bytes; 0: the bytes do not exist any more,
	 * and the reply is aborted; another -errno: the peer has left. May be NULL.
	 */
	ssize_t (*send_direct)(void *arg, struct request *rq, int fd, size_t n);
	/* All bytes of request_write and request_offer have been sent. */
	void (*writable)(void *arg, struct request *rq);
	/*
	 * The request cannot be answered any more: its peer has left, its body was
	 * refused, or a deadline has passed. rq is valid only during the call.
	 */
	void (*aborted)(void *arg, struct request *rq);
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
 * Closes every connection (gone is called where it is due) and all fds. Among the
 * server_ops only drained may call this function.
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
