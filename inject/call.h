/*
 * HTTP/1.1 exchanges over one connection, blocking, with a limit on silence and one on
 * the whole exchange, which grows with the bytes that move. Used for
 * engines (unix sockets), for sandboxes (TCP on loopback) and for registries (TLS).
 */
#ifndef INJECT_CALL_H
#define INJECT_CALL_H

#include "inject/stream.h"
#include "net/body.h"
#include "net/target.h"
#include "net/transport.h"

#include "base/buf.h"

#include <errno.h>

struct call;

struct call_request {
	const char *method;
	struct str prefix; /* of the target, such as an engine's version */
	const struct target *target;
	const char *headers;     /* more lines, each with its CR LF; NULL for none */
	const char *type;        /* of the body; NULL when there is no body */
	const struct str *parts; /* the body, borrowed */
	size_t parts_n;
	bool chunked;     /* send the parts as chunks instead of with their length */
	const char *host; /* for the Host field; NULL: localhost */
	bool keep;        /* the connection, for call_again */
	uint64_t put_n;   /* bytes that will follow by call_push */
	/* Pushes what follows the parts; NULL for nothing. What it gives is the error. */
	int (*more)(const void *arg, struct call *c);
	const void *more_arg;
};

struct call {
	struct transport way;     /* owned */
	bool secure;              /* it is TLS */
	struct tls_trust *pinned; /* owned; NULL: whom to believe is the caller's */
	uint32_t idle_ms;         /* longest silence; 0: no limit */
	uint32_t grace_ms;        /* before INJECT_RATE counts; 0: no limit */
	size_t piece_max;         /* largest size of one read; 0: as many bytes as fit */
	uint64_t began;           /* monotonic ms: when the exchange began */
	uint64_t moved;           /* bytes sent and received since */
	bool calm;                /* signals do not end it: clean-up */
	struct http_response head;
	struct body body;
	struct buf in; /* from the first byte of the head on */
	size_t at;     /* how much of it is dealt with */
	bool answered; /* the head has come */
	bool ended;    /* the peer has closed its side */
	bool chunked;  /* what is sent */
	bool framed;   /* what comes is in an engine's frames; only stdout is for us */
	struct frames frames;
	bool unwanted; /* the rest of the request does not interest the peer */
};

/*
 * The error of a connection whose network is lost: for CALL_LOST_MS the peer has
 * acknowledged neither bytes nor the probes of the kernel. A peer that acknowledges may
 * be silent for as long as the limits of the call allow.
 */
enum { CALL_LOST = -EHOSTDOWN, CALL_LOST_MS = 15000 };

/*
 * A connection to a unix socket, or to a port of 127.0.0.1; ms is the longest wait.
 * The fd, for call_begin; -ETIMEDOUT; -EINTR, but not with calm; -errno.
 */
int call_connect_unix(const char *path, uint32_t ms, bool calm) MUST_USE;
int call_connect_tcp(uint16_t port, uint32_t ms) MUST_USE;

/* A port of a numeric address. */
int call_connect_address(
	const char *address, uint16_t port, uint32_t ms, bool calm) MUST_USE;

/*
 * Takes over fd. Every call that was begun is closed, whatever happened to it. idle_ms is
 * the grace as well: the exchange may take so long, and longer at INJECT_RATE only.
 */
void call_begin(struct call *c, int fd, uint32_t idle_ms, bool calm);
void call_close(struct call *c);
/*
 * The same through TLS to host, of which trust is to be convinced; the handshake is
 * done by the way. Fails as transport_tls_client does, and then there is no call.
 */
int call_begin_tls(struct call *c, int fd, uint32_t idle_ms,
	const struct tls_trust *trust, struct str host) MUST_USE;
/*
 * The same to whoever has the key of which this is the SHA-256 (of its
 * SubjectPublicKeyInfo), on this machine.
 */
int call_begin_pinned(
	struct call *c, int fd, uint32_t idle_ms, const uint8_t pin[SHA256_LEN]) MUST_USE;
/*
 * Other limits, for an exchange that begins now, or for what is left of an answer that
 * comes bit by bit: grace_ms 0 limits silence alone.
 */
void call_limit(struct call *c, uint32_t idle_ms, uint32_t grace_ms);
/*
 * Whether bytes sent are repeated without an answer for CALL_LOST_MS. A caller that polls
 * c->way.fd itself asks at each call_tick: the monotonic ms of the next question, or end
 * (0: none) if that is earlier.
 */
uint64_t call_tick(uint64_t end);
bool call_is_lost(const struct call *c) MUST_USE;
/* An error of a read or a write: CALL_LOST in the place of several. */
int call_read_error(int r) MUST_USE;
/* Why TLS failed, after ERR_TLS. */
const char *call_tls_error(const struct call *c);

/*
 * Sends q and receives the head of the answer. A server may refuse before it has
 * read all of the body and close: then the rest stays unsent and its answer
 * counts. 0 with c->head filled in; -EINVAL, before a byte is sent, for a method,
 * target, host or field that cannot stand in a head; -ETIMEDOUT after silence; -ETIME
 * when all of it takes too long; -EINTR; ERR_CLOSED when the connection ended without an
 * answer; ERR_SYNTAX when that is no HTTP; -errno.
 */
int call_send(struct call *c, const struct call_request *q) MUST_USE;

/*
 * The same in steps, for a body that is made on the way: q, which is chunked or says
 * put_n, then pieces, then the end and the answer. Pieces that are not wanted any more
 * are passed over; the answer tells why. Errors as above.
 */
int call_start(struct call *c, const struct call_request *q) MUST_USE;
int call_push(struct call *c, struct str part) MUST_USE;
int call_finish(struct call *c) MUST_USE;

/*
 * Readies c for another exchange over its connection. False when that is not possible:
 * the answer was not read to its end, or either side wants to close.
 */
bool call_again(struct call *c) MUST_USE;

/*
 * The engine has agreed, by its answer, to carry bytes between us and a program that it
 * executes: from now on c is a fresh connection to that program. 0 or ERR_SYNTAX.
 */
int call_tunnel(struct call *c, uint32_t idle_ms) MUST_USE;

/*
 * The next piece of the answer's body, valid until the next one is asked for. 1 with
 * *piece not empty, 0 at the end of the body, or an error as above.
 */
int call_read(struct call *c, struct str *piece) MUST_USE;

/* The same without waiting: -EAGAIN when no piece is there yet. */
int call_try(struct call *c, struct str *piece) MUST_USE;

/* Appends all the rest of the body; ERR_LIMIT when it does not fit. */
int call_collect(struct call *c, struct buf *out) MUST_USE;

#endif
