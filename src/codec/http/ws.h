/*
 * WebSocket frames and handshakes (RFC 6455), both roles. An engine without I/O and
 * without memory of its own: data is unmasked and returned in place. No extensions.
 */
#ifndef CODEC_HTTP_WS_H
#define CODEC_HTTP_WS_H

#include "base/buf.h"

enum ws_op {
	WS_CONTINUATION = 0,
	WS_TEXT = 1,
	WS_BINARY = 2,
	WS_CLOSE = 8,
	WS_PING = 9,
	WS_PONG = 10,
};

/* Status codes of a close (7.4.1). */
enum ws_code {
	WS_NORMAL = 1000,
	WS_GOING_AWAY = 1001,
	WS_PROTOCOL = 1002,
	WS_NO_CODE = 1005, /* never sent: the peer gave none */
	WS_BAD_TEXT = 1007,
	WS_POLICY = 1008,
	WS_TOO_BIG = 1009,
	WS_FAILED = 1011,
	WS_TRY_LATER = 1013,
};

enum { WS_HEAD_MAX = 14, WS_CONTROL_MAX = 125 };

enum ws_state {
	WS_HEAD,    /* reading the head of a frame */
	WS_DATA,    /* left bytes of a message are to come */
	WS_CONTROL, /* left bytes of a control frame are to come */
	WS_ENDED,   /* a close frame or an error has ended the stream */
	WS_STATES
};

struct ws {
	enum ws_state state;
	bool server;       /* received frames are masked */
	bool fin;          /* of the frame */
	uint8_t op;        /* of the frame, enum ws_op */
	uint8_t message;   /* op of the current message; WS_CONTINUATION: none */
	uint8_t n;         /* bytes in head or control */
	uint8_t utf8_left; /* bytes that the text's last character still needs... */
	uint8_t utf8_lo;   /* ...the next one is between utf8_lo and utf8_hi */
	uint8_t utf8_hi;
	uint8_t mask[4];
	uint8_t mask_at;
	unsigned fragments; /* frames of the message so far */
	uint64_t left;      /* of the frame's payload */
	uint64_t size;      /* of the message so far */
	uint64_t max;
	char head[WS_HEAD_MAX];
	char control[WS_CONTROL_MAX];
	unsigned code; /* after an error: the close code to send */
};

struct ws_event {
	uint8_t op;      /* WS_TEXT, WS_BINARY or the op of a control frame */
	bool last;       /* the message ends with it */
	unsigned code;   /* of WS_CLOSE */
	struct str data; /* a piece of a message; a control payload; a close reason */
};

/* max: bytes of the largest message. */
void ws_init(struct ws *w, bool server, uint64_t max);

/*
 * Consumes bytes from the front of *in, which has *n bytes, unmasks them in place and
 * advances both. 0 with *e, whose data is valid as long as these bytes. 1: the bytes are
 * consumed and hold no event. ERR_SYNTAX, ERR_LIMIT or ERR_UTF8: the connection fails
 * with w->code (7.1.7). After a WS_CLOSE and after an error nothing more is consumed: 1.
 */
int ws_next(struct ws *w, char **in, size_t *n, struct ws_event *e) MUST_USE;

/* Whether the last frame and the last message are complete. */
bool ws_is_idle(const struct ws *w);

/* Copies a close's reason for the log. Bytes other than printable ASCII become '?'. */
void ws_copy_reason(char out[WS_CONTROL_MAX + 1], struct str reason);

/*
 * Writes the head of a frame with n bytes of payload into out; returns its length. key: 4
 * random bytes that mask a client's payload (ws_mask), or NULL.
 */
size_t ws_write_head(uint8_t out[WS_HEAD_MAX], enum ws_op op, bool fin, uint64_t n,
	const uint8_t key[4]);
/* Masks or unmasks n bytes that are at this offset of the payload. */
void ws_mask(char *p, size_t n, const uint8_t key[4], uint64_t offset);
/*
 * Writes the payload of a close into out; returns its length. reason is UTF-8, and is
 * truncated if it is too long.
 */
size_t ws_write_close(char out[WS_CONTROL_MAX], unsigned code, struct str reason);

/*
 * ws_is_key: a Sec-WebSocket-Key is 16 bytes in base64 (4.2.1). ws_write_accept: appends
 * the value of Sec-WebSocket-Accept (4.2.2).
 */
bool ws_is_key(struct str key);
void ws_write_accept(struct buf *out, struct str key);

#endif
