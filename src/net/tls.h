/*
 * TLS for one connection as a machine without I/O: it is fed with what came from the
 * peer and gives what has to go there. A server begins with tls_accept, a client with
 * tls_connect; all that follows is the same for both.
 *
 *	peer -> tls_input -> [machine] -> tls_read  -> application
 *	peer <- tls_output <- [machine] <- tls_write <- application
 *
 * After every feed, write or close, send what tls_output has. TLS 1.2 only (RFC
 * 5246), ECDHE with AES-GCM or ChaCha20-Poly1305, no renegotiation, no
 * resumption. There is no TLS 1.3.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "base/hash.h"

/* What a function answers besides 0 and errors. */
enum tls_answer {
	TLS_WAIT = 1, /* not before more bytes came from, or went to, the peer */
	TLS_END = 2,  /* the peer ended the stream, as it should (close_notify) */
};

struct tls_credentials; /* net/tls_credentials.h */
struct tls_trust;       /* net/tls_trust.h */

/* One connection. Zeroed, or after tls_free, it is none. */
struct tls {
	struct tls_state *state;
};

/*
 * Starts a connection, which waits for the client's first bytes; allocates about
 * 37 KB, and 24 more during the handshake if clients are judged. now is the time of day,
 * as seconds since 1970. own must outlive it. 0; -ENOMEM; ERR_TLS without random bytes.
 */
int tls_accept(struct tls *t, const struct tls_credentials *own, int64_t now) MUST_USE;
/*
 * Starts a connection to host, a name or an address; its first bytes are ready in
 * tls_output. now is the time of day, as seconds since 1970. Allocates about 37 KB, and
 * 24 more during the handshake. trust must outlive it. 0; -ENOMEM; ERR_SYNTAX when
 * that is no host; ERR_RANGE when the clock cannot have been set; ERR_TLS without random
 * bytes.
 */
int tls_connect(struct tls *t, const struct tls_trust *trust, struct str host,
	int64_t now) MUST_USE;
void tls_free(struct tls *t);

/*
 * Takes bytes from the peer, *taken of n. 0, and fewer than n are taken when
 * there is something to read or to send first; TLS_END after the peer's
 * close_notify, which makes the rest void; ERR_TLS, for good.
 */
int tls_feed(struct tls *t, const void *p, size_t n, size_t *taken) MUST_USE;

/*
 * The same without a copy: room for the peer's bytes, one record at most, borrowed
 * until the next call. NULL when there is something to read or to send first, and
 * after the end.
 */
char *tls_input(struct tls *t, size_t *room) MUST_USE;
/* The first n bytes of tls_input have come. How that went is what tls_read answers. */
void tls_input_done(struct tls *t, size_t n);

/*
 * Says that the peer's bytes have ended. 0 after its close_notify, ERR_CLOSED
 * when the end may have been cut off by somebody else.
 */
int tls_feed_end(const struct tls *t) MUST_USE;

/*
 * Bytes for the peer, borrowed until the next call; empty for none. Gathers all
 * that was written so far into records. Even after an error there may be some:
 * the alert that tells the peer of it.
 */
struct str tls_output(struct tls *t);
/* The first n bytes of tls_output have been sent. */
void tls_output_done(struct tls *t, size_t n);

/*
 * Bytes of the application, borrowed until the next call. 0 with at least one
 * byte; TLS_WAIT; TLS_END; ERR_TLS.
 */
int tls_read(const struct tls *t, struct str *data) MUST_USE;
/* The first n bytes of tls_read have been used. */
void tls_read_done(struct tls *t, size_t n);

/*
 * Takes bytes for the peer, *taken of n, which is 16 KB at most. 0 with at least
 * one byte (or n is 0); TLS_WAIT, during the handshake or when tls_output must be
 * sent first; ERR_CLOSED after either side's close; ERR_TLS.
 */
int tls_write(struct tls *t, const void *p, size_t n, size_t *taken) MUST_USE;

/*
 * Ends our side: what was written is sent, then close_notify. What the peer sent and
 * still sends is dropped, until it answers with its own.
 */
void tls_close(struct tls *t);

/* Why the connection failed, for the log; a static sentence, never NULL. */
const char *tls_error_text(const struct tls *t);

#endif
