/*
 * How a connection's bytes travel: over the bare socket, or through TLS. Whoever
 * holds a transport knows no more than these calls.
 */
#ifndef NET_TRANSPORT_H
#define NET_TRANSPORT_H

#include "net/tls.h"

#include <sys/types.h>
#include <sys/uio.h>

struct transport;

struct transport_ops {
	ssize_t (*recv)(struct transport *t, void *p, size_t n);
	ssize_t (*send)(struct transport *t, const struct iovec *v, int v_n);
	int (*flush)(struct transport *t);
	bool (*pending)(const struct transport *t);
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

/*
 * Takes the socket of a TLS client, whose handshake is done by the way; s must
 * outlive t. Fails as tls_accept does, and then fd stays the caller's.
 */
int transport_tls(struct transport *t, int fd, const struct tls_credentials *s) MUST_USE;
/*
 * The same towards a server: host is its name or address, of which c is to be convinced.
 * Fails as tls_connect does.
 */
int transport_tls_client(
	struct transport *t, int fd, const struct tls_trust *c, struct str host) MUST_USE;
/* After ERR_TLS: why, for the log. */
const char *transport_tls_error(const struct transport *t);

/*
 * How many bytes came, 0 at the end of the stream, -EAGAIN for none now, -errno;
 * ERR_TLS, ERR_CLOSED for an end that may have been cut off by somebody else. After
 * transport_end what is left of a failed TLS comes as it is, to be thrown away.
 */
static inline ssize_t transport_recv(struct transport *t, void *p, size_t n)
{
	return t->ops->recv(t, p, n);
}

/*
 * How many bytes were taken, -EAGAIN for none now, -errno, ERR_TLS. Never raises
 * SIGPIPE. They may wait for transport_flush.
 */
static inline ssize_t transport_send(struct transport *t, const struct iovec *v, int v_n)
{
	return t->ops->send(t, v, v_n);
}

/*
 * Sends what was taken, and what TLS itself has to say. 0: all is on its way; 1: the
 * socket is full, and nothing should be asked of the peer before; -errno.
 */
static inline int transport_flush(struct transport *t)
{
	return t->ops->flush(t);
}

/*
 * Whether transport_recv would answer something else than -EAGAIN although the
 * socket has nothing, which therefore nobody will be woken for.
 */
static inline bool transport_pending(const struct transport *t)
{
	return t->ops->pending(t);
}

/* The socket if bytes travel over it as they are; or -1. */
int transport_bare(const struct transport *t);

/* Tells the peer that nothing more will be sent; it may still send. */
static inline void transport_end(struct transport *t)
{
	t->ops->end(t);
}

/* Closes the socket, with what can still be sent at once, and frees the side. */
static inline void transport_close(struct transport *t)
{
	t->ops->close(t);
}

#endif
