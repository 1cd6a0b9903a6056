/*
 * TLS for a connection as a state machine without I/O: the caller passes in the bytes of
 * the peer and sends the bytes that the machine produces. A server begins with
 * tls_accept, a client with tls_connect; the other functions are for both.
 *
 *	peer -> tls_input -> [machine] -> tls_read  -> application
 *	peer <- tls_output <- [machine] <- tls_write <- application
 *
 * After every feed, write or close, send what tls_output returns. TLS 1.2 only (RFC
 * 5246), ECDHE with AES-GCM or ChaCha20-Poly1305, no renegotiation, no resumption. There
 * is no TLS 1.3.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "base/hash.h"

/* The results of a function besides 0 and errors. */
enum tls_answer {
	TLS_WAIT = 1, /* call again after bytes came from, or went to, the peer */
	TLS_END = 2,  /* the peer ended the stream properly (close_notify) */
};

struct tls_credentials; /* net/tls_credentials.h */
struct tls_trust;       /* net/tls_trust.h */

/* A connection. Zeroed, or after tls_free, there is no connection. */
struct tls {
	struct tls_state *state;
};

/*
 * Starts a connection, which waits for the client's first bytes. Allocates about 37 KB,
 * and 24 KB more during the handshake if clients need certificates. now is the time of
 * day, in seconds since 1970. own must outlive t. 0; -ENOMEM; ERR_TLS: no random bytes.
 */
int tls_accept(struct tls *t, const struct tls_credentials *own, int64_t now) MUST_USE;
/*
 * Starts a connection to host, a name or an address. Its first bytes are ready in
 * tls_output. now is the time of day, in seconds since 1970. Allocates about 37 KB, and
 * 24 KB more during the handshake. trust must outlive t. 0; -ENOMEM; ERR_SYNTAX: host is
 * neither a name nor an address; ERR_RANGE: the clock is not set; ERR_TLS: no random
 * bytes.
 */
int tls_connect(struct tls *t, const struct tls_trust *trust, struct str host,
	int64_t now) MUST_USE;
void tls_free(struct tls *t);

/*
 * Takes bytes from the peer, *taken of n. 0: fewer than n are taken if there is something
 * to read or to send first. TLS_END: the peer has sent close_notify, the rest is void.
 * ERR_TLS: the connection has failed.
 */
int tls_feed(struct tls *t, const void *p, size_t n, size_t *taken) MUST_USE;

/*
 * As tls_feed without a copy: space for the peer's bytes, at most a record, borrowed
 * until the next call. NULL if there is something to read or to send first, and after the
 * end.
 */
char *tls_input(struct tls *t, size_t *room) MUST_USE;
/* The first n bytes of tls_input have been filled. tls_read reports the result. */
void tls_input_done(struct tls *t, size_t n);

/*
 * The peer's stream has ended. 0 after its close_notify; ERR_CLOSED: an attacker may have
 * cut off the stream; ERR_TLS.
 */
int tls_feed_end(const struct tls *t) MUST_USE;

/*
 * Bytes for the peer, borrowed until the next call; empty for none. Gathers all bytes
 * written so far into records. After an error there may be bytes, too: the alert that
 * reports the error to the peer.
 */
struct str tls_output(struct tls *t);
/* The first n bytes of tls_output have been sent. */
void tls_output_done(struct tls *t, size_t n);

/*
 * Bytes of the application, borrowed until the next call. 0 with at least one
 * byte; TLS_WAIT; TLS_END; ERR_TLS.
 */
int tls_read(const struct tls *t, struct str *data) MUST_USE;
/* The first n bytes of tls_read have been consumed. */
void tls_read_done(struct tls *t, size_t n);

/*
 * Takes bytes for the peer, *taken of n, at most 16 KB. 0 with at least one byte (or n is
 * 0); TLS_WAIT: during the handshake, or tls_output must be sent first; ERR_CLOSED:
 * either side has closed; ERR_TLS.
 */
int tls_write(struct tls *t, const void *p, size_t n, size_t *taken) MUST_USE;

/*
 * Ends our side: written bytes are sent, then close_notify. Bytes of the peer are dropped
 * from now on, until it answers with its own close_notify.
 */
void tls_close(struct tls *t);

/* Why the connection failed, for the log; a static sentence, never NULL. */
const char *tls_error_text(const struct tls *t);

#endif
