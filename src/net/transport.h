/*
 * The transport of a connection's bytes: the bare socket, or TLS over it. Its users
 * depend on these calls only.
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

/* Makes t a transport over fd, a connected socket, which t owns from now on. */
void transport_plain(struct transport *t, int fd);

/*
 * Makes t a server's TLS transport over fd. The handshake takes place inside recv, send
 * and flush. s must outlive t. Fails as tls_accept does; on failure the caller still owns
 * fd.
 */
int transport_tls(struct transport *t, int fd, const struct tls_credentials *s) MUST_USE;
/*
 * Makes t a client's TLS transport. host is the name or the address of the server, which
 * c checks. c must outlive t. Fails as tls_connect does; on failure the caller still owns
 * fd.
 */
int transport_tls_client(
	struct transport *t, int fd, const struct tls_trust *c, struct str host) MUST_USE;
/* After ERR_TLS: the reason, for the log. */
const char *transport_tls_error(const struct transport *t);

/*
 * The number of bytes received; 0: end of the stream; -EAGAIN: none now; -errno; ERR_TLS;
 * ERR_CLOSED: an attacker may have cut off the stream. After transport_end the bytes of a
 * failed TLS connection are returned as they are, for the caller to discard.
 */
static inline ssize_t transport_recv(struct transport *t, void *p, size_t n)
{
	return t->ops->recv(t, p, n);
}

/*
 * The number of bytes taken; -EAGAIN: none now; -errno; ERR_TLS. Never raises SIGPIPE.
 * The bytes may stay queued until transport_flush.
 */
static inline ssize_t transport_send(struct transport *t, const struct iovec *v, int v_n)
{
	return t->ops->send(t, v, v_n);
}

/*
 * Sends the bytes that were taken, and TLS's own. 0: all are sent; 1: the socket is full,
 * and the caller should not read from the peer before it is writable; -errno.
 */
static inline int transport_flush(struct transport *t)
{
	return t->ops->flush(t);
}

/*
 * Whether transport_recv would return something other than -EAGAIN although the socket
 * has no data, so that the loop would report no event.
 */
static inline bool transport_pending(const struct transport *t)
{
	return t->ops->pending(t);
}

/* The socket, if bytes travel over it unchanged; else -1. */
int transport_get_plain_fd(const struct transport *t);

/* Announces to the peer that nothing more will be sent. The peer may still send. */
static inline void transport_end(struct transport *t)
{
	t->ops->end(t);
}

/* Closes the socket, after sending what can be sent at once, and frees the side. */
static inline void transport_close(struct transport *t)
{
	t->ops->close(t);
}

#endif
