/*
 * ZMTP 3.0 with the NULL mechanism (RFC 23/ZMTP), the connecting side: the wire
 * protocol of ZeroMQ sockets. Without I/O: it takes received bytes, returns messages
 * and puts the bytes to be sent into a buffer.
 *
 * Peers with later minor versions are accepted, because they speak 3.0 with a 3.0 peer.
 * Their PING is answered; unknown commands are ignored.
 */
#ifndef CODEC_ZMTP_H
#define CODEC_ZMTP_H

#include "base/buf.h"

/* The limits of a connection, sizes in bytes; ZMTP_MESSAGE_MAX is in limits.h. */
enum {
	ZMTP_PARTS_MAX = 64,     /* six of Jupyter, and the buffers of a widget */
	ZMTP_COMMAND_MAX = 4096, /* READY has 50 bytes */
	ZMTP_IDENTITY_MAX = 32,  /* ours is as long; the protocol allows 255 */
	ZMTP_OUT_MAX = 20 << 20, /* a cell of HTTP_BODY_MAX, escaped */
	ZMTP_KEEP_MAX = 65536,   /* a buffer above this is freed */
};

/* The socket type of this end. The peer's type must be compatible. */
enum zmtp_type {
	ZMTP_DEALER, /* sends and receives messages as they are */
	ZMTP_SUB,    /* subscribes to all messages; sends nothing */
	ZMTP_REQ,    /* an empty part precedes each message, both ways */
};

enum zmtp_step {
	ZMTP_MORE,    /* all input was taken */
	ZMTP_READY,   /* the handshake is done (once): messages may be sent */
	ZMTP_MESSAGE, /* a whole one, in *m */
	ZMTP_DROPPED, /* a message beyond the caps was dropped: m->bytes of it */
	ZMTP_FAILED,  /* a protocol error, permanent: see why and said */
};

/* Borrowed until the next call. */
struct zmtp_message {
	struct str parts[ZMTP_PARTS_MAX];
	size_t parts_n;
	uint64_t bytes; /* of all parts, kept or not */
};

enum zmtp_state { ZMTP_S_GREETING, ZMTP_S_HEAD, ZMTP_S_BODY, ZMTP_S_FAILED };

struct zmtp {
	struct buf out;         /* to be sent; the caller consumes sent bytes */
	const char *reason;     /* after ZMTP_FAILED: a static string */
	struct str peer_reason; /* the peer's message, or empty */

	/* Internal members of zmtp.c. */
	const struct zmtp_role *role;
	char identity[ZMTP_IDENTITY_MAX];
	size_t identity_n;
	enum zmtp_state state;
	bool open;         /* READY was received */
	bool delivered;    /* the message in in and ends was returned */
	uint8_t head[9];   /* flags and size of the current frame */
	size_t got;        /* bytes of the greeting, or of head */
	uint64_t left;     /* bytes of the body to come */
	struct buf in;     /* the parts so far, then the current command */
	size_t command_at; /* offset of that command */
	size_t ends[ZMTP_PARTS_MAX];
	size_t parts_n;
	uint64_t bytes;
	bool dropped;
};

/*
 * Starts a connection: afterwards the greeting is in out. identity identifies this
 * connection to the peer, up to ZMTP_IDENTITY_MAX bytes (cut), or is empty. out.err
 * keeps errors of memory.
 */
void zmtp_init(struct zmtp *z, enum zmtp_type type, struct str identity);
void zmtp_free(struct zmtp *z);

/*
 * Consumes input from *in up to the next step. The steps do not depend on how the input
 * was split. Out of memory is ZMTP_FAILED, too.
 */
enum zmtp_step zmtp_next(struct zmtp *z, struct str *in, struct zmtp_message *m) MUST_USE;

/* Puts a message of n parts, 1 or more, into out; after ZMTP_READY. */
void zmtp_send(struct zmtp *z, const struct str *parts, size_t n);

#endif
