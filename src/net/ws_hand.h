/*
 * The opening handshake of a WebSocket (RFC 6455, 4), both sides: the request, the
 * answer, and their checks. Engines without I/O.
 */
#ifndef NET_WS_HAND_H
#define NET_WS_HAND_H

#include "codec/http/http.h"
#include "net/request.h"

/* Sec-WebSocket-Key: 16 random bytes in base64. */
enum { WS_KEY_LEN = 24 };

/* Whether the field occurs once and lists the token, in any case. */
bool ws_hand_field_has(const struct request *rq, struct str name, struct str token);
/*
 * Checks a request for a WebSocket (4.2.1). NULL with *key, which lives as long as the
 * request; or the reason for a refusal: 400, or 426 if the request does not ask for a
 * WebSocket, or asks for another version.
 */
const struct http_fault *ws_hand_check(const struct request *rq, struct str *key);
/* Whether a client offers the subprotocol (a token; case matters). */
bool ws_hand_has_offer(const struct request *rq, struct str protocol);
/*
 * Finds an offered subprotocol that begins with prefix; *rest is what follows prefix.
 * False if there is none.
 */
bool ws_hand_find_offer(const struct request *rq, struct str prefix, struct str *rest);
/* Appends the answer. protocol is an offered subprotocol, or empty. */
void ws_hand_answer(struct buf *out, struct str key, struct str protocol);

/* The request of a client. */
struct ws_hand_params {
	struct str host;   /* for the field Host, with a port that is not the default */
	struct str target; /* encoded, starts with '/' */
	struct str fields; /* more lines, each with its CR LF; or empty */
};
/*
 * Writes the fields of the handshake alone into out, as a string of at most n bytes, for
 * a request that the caller writes. Creates key for them. -errno: no random bytes;
 * ERR_LIMIT.
 */
int ws_hand_fields(char *out, size_t n, char key[WS_KEY_LEN]) MUST_USE;
/*
 * Appends the request and creates key for it. -errno: no random bytes; -EINVAL: the host,
 * the target or a field is not valid in a head.
 */
int ws_hand_request(
	struct buf *out, const struct ws_hand_params *ask, char key[WS_KEY_LEN]) MUST_USE;
/*
 * Checks the answer, whose head is at p (4.1). NULL if it accepts, or the reason why not.
 */
const char *ws_hand_check_answer(
	const struct http_response *r, const char *p, const char key[WS_KEY_LEN]);

#endif
