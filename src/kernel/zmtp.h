/*
 * ZMTP 3.0 with the NULL mechanism (RFC 23/ZMTP), the connecting side: how ZeroMQ
 * sockets talk. An engine without I/O: fed with what came, it hands out messages and
 * puts what is to be sent into a buffer.
 *
 * Later minor versions are peers like others: they speak 3.0 to who says so. Their
 * PING is answered, commands that are not known here are passed over.
 */
#ifndef KERNEL_ZMTP_H
#define KERNEL_ZMTP_H

#include "base/buf.h"
#include "limits.h"

/* What this end is. The peer has to be of a type that goes with it. */
enum zmtp_type {
	ZMTP_DEALER, /* sends and receives messages as they are */
	ZMTP_SUB,    /* receives all that is published; sends nothing */
	ZMTP_REQ,    /* an empty first part goes before each message, both ways */
};

enum zmtp_step {
	ZMTP_MORE,    /* all input was taken */
	ZMTP_READY,   /* the handshake is done, once: messages may be sent */
	ZMTP_MESSAGE, /* a whole one, in *m */
	ZMTP_LOST,    /* one beyond the caps went by: m->bytes of it, no parts */
	ZMTP_BAD,     /* the peer breaks the protocol; for good. See why and said */
};

/* Borrowed until the next call. */
struct zmtp_message {
	struct str parts[ZMTP_PARTS_MAX];
	size_t parts_n;
	uint64_t bytes; /* of all parts, the kept and the others */
};

enum zmtp_state { ZMTP_S_GREETING, ZMTP_S_HEAD, ZMTP_S_BODY, ZMTP_S_BAD };

struct zmtp {
	struct buf out;  /* to be sent; the caller consumes what went */
	const char *why; /* after ZMTP_BAD: a static string */
	struct str said; /* the peer's own words beside it, or empty */

	/* Of use to zmtp.c alone. */
	const struct zmtp_role *role;
	char identity[ZMTP_IDENTITY_MAX];
	size_t identity_n;
	enum zmtp_state state;
	bool open;         /* READY was received */
	bool handed;       /* what in and ends hold was handed out */
	uint8_t head[9];   /* flags and size of the present frame */
	size_t got;        /* bytes of the greeting, or of head */
	uint64_t left;     /* bytes of the body to come */
	struct buf in;     /* the parts so far, then the present command */
	size_t command_at; /* where that begins */
	size_t ends[ZMTP_PARTS_MAX];
	size_t parts_n;
	uint64_t bytes;
	bool lost;
};

/*
 * Begins a connection: the greeting is in out afterwards. identity is what the peer
 * tells its connections apart by, up to ZMTP_IDENTITY_MAX bytes (cut), or empty. Errors
 * of memory stick in out.err.
 */
void zmtp_init(struct zmtp *z, enum zmtp_type type, struct str identity);
void zmtp_free(struct zmtp *z);

/*
 * Takes input off *in up to the next step. What is handed out does not depend on how
 * the input was cut. Out of memory is ZMTP_BAD, too.
 */
enum zmtp_step zmtp_next(struct zmtp *z, struct str *in, struct zmtp_message *m) MUST_USE;

/* Puts a message of n parts, 1 or more, into out; after ZMTP_READY. */
void zmtp_send(struct zmtp *z, const struct str *parts, size_t n);

#endif
