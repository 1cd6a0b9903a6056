/*
 * HTTP/1.1 exchanges over one connection, blocking, with a limit on silence and one on
 * the whole exchange, which grows with the bytes that move. Used for
 * engines (unix sockets), for sandboxes (TCP on loopback) and for registries (TLS).
 */
#ifndef INJECT_HTTP_CALL_H
#define INJECT_HTTP_CALL_H

#include "codec/http/body.h"
#include "codec/http/target.h"
#include "inject/http/stream.h"
#include "net/transport.h"

#include "base/buf.h"

#include <errno.h>

struct call;

struct call_request {
	const char *method;
	struct str prefix; /* of the target, such as an engine's version */
	const struct target *target;
	const char *headers;     /* further lines, each with its CR LF; NULL for none */
	const char *type;        /* of the body; NULL when there is no body */
	const struct str *parts; /* the body, borrowed */
	size_t parts_n;
	bool chunked;     /* send the parts as chunks instead of with their length */
	const char *host; /* for the Host field; NULL: localhost */
	bool keep;        /* keep the connection, for call_again */
	uint64_t put_n;   /* bytes that will follow by call_push */
	/*
	 * Pushes the data after the parts; NULL for none. Its result is the error of the
	 * call.
	 */
	int (*more)(const void *arg, struct call *c);
	const void *more_arg;
};

struct call {
	struct transport way;     /* owned */
	bool secure;              /* way is TLS */
	struct tls_trust *pinned; /* owned; NULL: the caller owns the trust */
	uint32_t idle_ms;         /* longest silence; 0: no limit */
	uint32_t grace_ms;        /* before INJECT_RATE counts; 0: no limit */
	size_t piece_max;         /* largest size of one read; 0: as many bytes as fit */
	uint64_t began;           /* monotonic ms: when the exchange began */
	uint64_t moved;           /* bytes sent and received since began */
	bool calm;                /* signals do not end the exchange: for clean-up */
	struct http_response head;
	struct body body;
	struct buf in; /* from the first byte of the head on */
	size_t at;     /* bytes of in that are handled */
	bool answered; /* the head has been received */
	bool ended;    /* the peer has closed its side */
	bool chunked;  /* the request body is sent in chunks */
	bool framed;   /* received bytes are in an engine's frames; only stdout is used */
	struct frames frames;
	bool unwanted; /* the peer does not want the rest of the request */
};

/*
 * The error of a connection whose network is lost: for CALL_LOST_MS the peer has
 * acknowledged neither bytes nor the probes of the kernel. A peer that acknowledges may
 * be silent for as long as the limits of the call allow.
 */
enum { CALL_LOST = -EHOSTDOWN, CALL_LOST_MS = 15000 };

/*
 * Connects to a unix socket, or to a port of 127.0.0.1; ms is the longest wait. Returns
 * the fd, for call_begin; -ETIMEDOUT; -EINTR, but not with calm; -errno.
 */
int call_connect_unix(const char *path, uint32_t ms, bool calm) MUST_USE;
int call_connect_tcp(uint16_t port, uint32_t ms) MUST_USE;

/* Connects to a port of a numeric address; results as above. */
int call_connect_address(
	const char *address, uint16_t port, uint32_t ms, bool calm) MUST_USE;

/*
 * Takes over fd. The caller closes every call that was begun, whatever happened to it.
 * idle_ms is also the grace: the exchange may take this long, and longer only at
 * INJECT_RATE.
 */
void call_begin(struct call *c, int fd, uint32_t idle_ms, bool calm);
void call_close(struct call *c);
/*
 * As call_begin, through TLS to host, whose certificate must be valid for trust; the
 * handshake happens with the first bytes. Errors of transport_tls_client: then there is
 * no call to close.
 */
int call_begin_tls(struct call *c, int fd, uint32_t idle_ms,
	const struct tls_trust *trust, struct str host) MUST_USE;
/*
 * As call_begin_tls, to the holder of the key with this SHA-256 (of its
 * SubjectPublicKeyInfo), on this machine.
 */
int call_begin_pinned(
	struct call *c, int fd, uint32_t idle_ms, const uint8_t pin[SHA256_LEN]) MUST_USE;
/*
 * Sets other limits, for an exchange that begins now, or for the rest of an answer that
 * arrives over time: grace_ms 0 limits silence alone.
 */
void call_limit(struct call *c, uint32_t idle_ms, uint32_t grace_ms);
/*
 * call_is_lost: whether sent bytes are retransmitted without an answer for CALL_LOST_MS.
 * A caller that polls c->way.fd itself checks it at each call_tick: the monotonic ms of
 * the next check, or end (0: none) if that is earlier.
 */
uint64_t call_tick(uint64_t end);
bool call_is_lost(const struct call *c) MUST_USE;
/* The error of a read or a write: CALL_LOST for several errno values. */
int call_read_error(int r) MUST_USE;
/* The reason of the TLS failure, after ERR_TLS. */
const char *call_tls_error(const struct call *c);

/*
 * Sends q and receives the head of the answer. If the server refuses and closes before
 * it has read all of the body, the rest stays unsent and its answer is the result. 0
 * with c->head filled in; -EINVAL, before a byte is sent, for a method, target, host or
 * field that is invalid in a head; -ETIMEDOUT after silence; -ETIME if the exchange
 * takes too long; -EINTR; ERR_CLOSED if the connection ended without an answer;
 * ERR_SYNTAX if the answer is not HTTP; -errno.
 */
int call_send(struct call *c, const struct call_request *q) MUST_USE;

/*
 * As call_send, in steps, for a body that is made during the call: first q, which is
 * chunked or has put_n, then pieces, then the end and the answer. Pieces that the peer
 * does not want any more are skipped; the answer has the reason. Errors as above.
 */
int call_start(struct call *c, const struct call_request *q) MUST_USE;
int call_push(struct call *c, struct str part) MUST_USE;
int call_finish(struct call *c) MUST_USE;

/*
 * Prepares c for another exchange over its connection. False if that is not possible:
 * the answer was not read to its end, or either side wants to close.
 */
bool call_again(struct call *c) MUST_USE;

/*
 * The engine's answer switches the connection to a program that it executes: from now on
 * c is a new connection to that program. 0 or ERR_SYNTAX.
 */
int call_tunnel(struct call *c, uint32_t idle_ms) MUST_USE;

/*
 * The next piece of the answer's body, valid until the next call_read or call_try. 1
 * with *piece not empty, 0 at the end of the body, or an error as above.
 */
int call_read(struct call *c, struct str *piece) MUST_USE;

/* As call_read, without waiting: -EAGAIN if no piece is available yet. */
int call_try(struct call *c, struct str *piece) MUST_USE;

/* Appends the rest of the body; ERR_LIMIT if it does not fit. */
int call_collect(struct call *c, struct buf *out) MUST_USE;

#endif
