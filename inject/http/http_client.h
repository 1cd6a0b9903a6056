/*
 * HTTP/1.1 exchanges over one connection, blocking, with a limit on silence and one on
 * the whole exchange, which grows with the bytes that move. Used for
 * engines (unix sockets), for sandboxes (TCP on loopback) and for registries (TLS).
 */
#ifndef INJECT_HTTP_HTTP_CLIENT_H
#define INJECT_HTTP_HTTP_CLIENT_H

#include "codec/http/body.h"
#include "codec/http/target.h"
#include "inject/http/stream.h"
#include "net/transport.h"

#include "base/buf.h"

#include <errno.h>

struct http_client;

struct http_client_request {
	const char *method;
	struct str prefix; /* of the target, such as an engine's version */
	const struct target *target;
	const char *headers;     /* further lines, each with its CR LF; NULL for none */
	const char *type;        /* of the body; NULL when there is no body */
	const struct str *parts; /* the body, borrowed */
	size_t parts_n;
	bool chunked;     /* send the parts as chunks instead of with their length */
	const char *host; /* for the Host field; NULL: localhost */
	bool keep;        /* keep the connection, for http_client_reuse */
	uint64_t put_n;   /* bytes that will follow by http_client_push */
	/*
	 * Pushes the data after the parts; NULL for none. Its result is the error of the
	 * call.
	 */
	int (*more)(const void *arg, struct http_client *c);
	const void *more_arg;
};

struct http_client {
	struct transport transport; /* owned */
	bool secure;                /* way is TLS */
	struct tls_trust *pinned;   /* owned; NULL: the caller owns the trust */
	uint32_t idle_ms;           /* longest silence; 0: no limit */
	uint32_t grace_ms;          /* before INJECT_RATE counts; 0: no limit */
	size_t piece_max;     /* largest size of one read; 0: as many bytes as fit */
	uint64_t began;       /* monotonic ms: when the exchange began */
	uint64_t moved;       /* bytes sent and received since began */
	bool ignores_signals; /* signals do not end the exchange: for clean-up */
	struct http_response head;
	struct body body;
	struct buf in; /* from the first byte of the head on */
	size_t at;     /* bytes of in that are handled */
	bool answered; /* the head has been received */
	bool ended;    /* the peer has closed its side */
	bool chunked;  /* the request body is sent in chunks */
	bool framed;   /* received bytes are in an engine's frames; only stdout is used */
	struct frames frames;
	bool is_rejected; /* the peer does not want the rest of the request */
};

/*
 * The error of a connection whose network is lost: for HTTP_CLIENT_LOST_MS the peer has
 * acknowledged neither bytes nor the probes of the kernel. A peer that acknowledges may
 * be silent for as long as the limits of the call allow.
 */
enum { HTTP_CLIENT_LOST = -EHOSTDOWN, HTTP_CLIENT_LOST_MS = 15000 };

/*
 * Connects to a unix socket, or to a port of 127.0.0.1; ms is the longest wait. Returns
 * the fd, for http_client_begin; -ETIMEDOUT; -EINTR, but not with calm; -errno.
 */
int http_client_connect_unix(const char *path, uint32_t ms, bool calm) MUST_USE;
int http_client_connect_tcp(uint16_t port, uint32_t ms) MUST_USE;

/* Connects to a port of a numeric address; results as above. */
int http_client_connect_to(
	const char *address, uint16_t port, uint32_t ms, bool calm) MUST_USE;

/*
 * Takes over fd. The caller closes every call that was begun, whatever happened to it.
 * idle_ms is also the grace: the exchange may take this long, and longer only at
 * INJECT_RATE.
 */
void http_client_begin(struct http_client *c, int fd, uint32_t idle_ms, bool calm);
void http_client_close(struct http_client *c);
/*
 * As http_client_begin, through TLS to host, whose certificate must be valid for trust;
 * the handshake happens with the first bytes. Errors of transport_tls_client: then there
 * is no call to close.
 */
int http_client_begin_tls(struct http_client *c, int fd, uint32_t idle_ms,
	const struct tls_trust *trust, struct str host) MUST_USE;
/*
 * As http_client_begin_tls, to the holder of the key with this SHA-256 (of its
 * SubjectPublicKeyInfo), on this machine.
 */
int http_client_begin_pinned(struct http_client *c, int fd, uint32_t idle_ms,
	const uint8_t pin[SHA256_LEN]) MUST_USE;
/*
 * Sets other limits, for an exchange that begins now, or for the rest of an answer that
 * arrives over time: grace_ms 0 limits silence alone.
 */
void http_client_set_limits(struct http_client *c, uint32_t idle_ms, uint32_t grace_ms);
/*
 * http_client_is_lost: whether sent bytes are retransmitted without an answer for
 * HTTP_CLIENT_LOST_MS. A caller that polls c->way.fd itself checks it at each
 * http_client_next_check: the monotonic ms of the next check, or end (0: none) if that
 * is earlier.
 */
uint64_t http_client_next_check(uint64_t end);
bool http_client_is_lost(const struct http_client *c) MUST_USE;
/* The error of a read or a write: HTTP_CLIENT_LOST for several errno values. */
int http_client_map_error(int r) MUST_USE;
/* The reason of the TLS failure, after ERR_TLS. */
const char *http_client_tls_error(const struct http_client *c);

/*
 * Sends q and receives the head of the answer. If the server refuses and closes before
 * it has read all of the body, the rest stays unsent and its answer is the result. 0
 * with c->head filled in; -EINVAL, before a byte is sent, for a method, target, host or
 * field that is invalid in a head; -ETIMEDOUT after silence; -ETIME if the exchange
 * takes too long; -EINTR; ERR_CLOSED if the connection ended without an answer;
 * ERR_SYNTAX if the answer is not HTTP; -errno.
 */
int http_client_send(struct http_client *c, const struct http_client_request *q) MUST_USE;

/*
 * As http_client_send, in steps, for a body that is made during the call: first q, which
 * is chunked or has put_n, then pieces, then the end and the answer. Pieces that the
 * peer does not want any more are skipped; the answer has the reason. Errors as above.
 */
int http_client_start(
	struct http_client *c, const struct http_client_request *q) MUST_USE;
int http_client_push(struct http_client *c, struct str part) MUST_USE;
int http_client_finish(struct http_client *c) MUST_USE;

/*
 * Prepares c for another exchange over its connection. False if that is not possible:
 * the answer was not read to its end, or either side wants to close.
 */
bool http_client_reuse(struct http_client *c) MUST_USE;

/*
 * The engine's answer switches the connection to a program that it executes: from now on
 * c is a new connection to that program. 0 or ERR_SYNTAX.
 */
int http_client_begin_tunnel(struct http_client *c, uint32_t idle_ms) MUST_USE;

/*
 * The next piece of the answer's body, valid until the next http_client_read or
 * http_client_try_read. 1 with *piece not empty, 0 at the end of the body, or an error
 * as above.
 */
int http_client_read(struct http_client *c, struct str *piece) MUST_USE;

/* As http_client_read, without waiting: -EAGAIN if no piece is available yet. */
int http_client_try_read(struct http_client *c, struct str *piece) MUST_USE;

/* Appends the rest of the body; ERR_LIMIT if it does not fit. */
int http_client_read_all(struct http_client *c, struct buf *out) MUST_USE;

#endif
