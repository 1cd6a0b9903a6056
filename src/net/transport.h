/*
 * How a connection's bytes travel: a plain socket now; TLS is one more table of
 * ops whose state hangs on the side. Whoever holds a transport knows no more than
 * these four calls.
 */
#ifndef NET_TRANSPORT_H
#define NET_TRANSPORT_H

#include "base/err.h"

#include <sys/types.h>
#include <sys/uio.h>

struct transport;

struct transport_ops {
	ssize_t (*recv)(struct transport *t, void *p, size_t n);
	ssize_t (*send)(struct transport *t, const struct iovec *v, int v_n);
	void (*end)(struct transport *t);
	void (*close)(struct transport *t);
};

struct transport {
	const struct transport_ops *ops;
	int fd;     /* the socket, non-blocking; for watching only */
	void *side; /* of the ops */
};

/* Takes the connected socket. */
void transport_plain(struct transport *t, int fd);

/* How many bytes came, 0 at the end of the stream, -EAGAIN for none now, -errno. */
static inline ssize_t transport_recv(struct transport *t, void *p, size_t n)
{
	return t->ops->recv(t, p, n);
}

/* How many bytes were taken, -EAGAIN for none now, -errno. Never raises SIGPIPE. */
static inline ssize_t transport_send(struct transport *t, const struct iovec *v, int v_n)
{
	return t->ops->send(t, v, v_n);
}

/* Tells the peer that nothing more will be sent; it may still send. */
static inline void transport_end(struct transport *t)
{
	t->ops->end(t);
}

/* Closes the socket and frees the side. */
static inline void transport_close(struct transport *t)
{
	t->ops->close(t);
}

#endif
