/*
 * The opening handshake of a WebSocket (RFC 6455, 4), both sides: what is asked, what is
 * answered, and whether it is in order. Engines without I/O.
 */
#ifndef NET_WS_HAND_H
#define NET_WS_HAND_H

#include "net/http.h"
#include "net/request.h"

/* Sec-WebSocket-Key: 16 random bytes in base64. */
enum { WS_KEY_LEN = 24 };

/* Whether the field stands once and lists the token, in any case. */
bool ws_hand_field_lists(const struct request *rq, struct str name, struct str token);
/*
 * Checks a request for one (4.2.1). NULL with *key, which lives as long as the request;
 * or why it is refused: 400, or 426 where it asks for none, or for another version.
 */
const struct http_fault *ws_hand_check(const struct request *rq, struct str *key);
/* Whether a client offers the subprotocol (a token; case counts). */
bool ws_hand_offers(const struct request *rq, struct str protocol);
/* The token that it offers which begins with prefix, without that; false for none. */
bool ws_hand_offered(const struct request *rq, struct str prefix, struct str *rest);
/* Appends the answer; protocol is one that was offered, or empty. */
void ws_hand_answer(struct buf *out, struct str key, struct str protocol);

/* What a client asks. */
struct ws_hand_ask {
	struct str host;   /* for the field Host, with its port where that is not usual */
	struct str target; /* encoded, starts with '/' */
	struct str fields; /* more lines, each with its CR LF; or empty */
};
/*
 * The fields alone, for a request that somebody else writes, as a string in n bytes; key
 * is made for them. -errno without random bytes; ERR_LIMIT.
 */
int ws_hand_fields(char *out, size_t n, char key[WS_KEY_LEN]) MUST_USE;
/*
 * Appends the request; key is made for it. -errno without random bytes; -EINVAL for a
 * host, target or field that cannot stand in a head.
 */
int ws_hand_request(
	struct buf *out, const struct ws_hand_ask *ask, char key[WS_KEY_LEN]) MUST_USE;
/* Whether the answer, whose head is at p, agrees (4.1). NULL, or why not. */
const char *ws_hand_agrees(
	const struct http_response *r, const char *p, const char key[WS_KEY_LEN]);

#endif
