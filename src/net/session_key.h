/*
 * The session key in a request: the header X-Session-API-Key, else a bearer token, else a
 * WebSocket subprotocol, for pages: a browser's WebSocket sets no other header.
 */
#ifndef NET_SESSION_KEY_H
#define NET_SESSION_KEY_H

#include "net/request.h"

/* 0 with *key; 1: the request has no key; ERR_DUPLICATE: a header occurs twice. */
int session_key_find(const struct request *rq, struct str *key) MUST_USE;

/*
 * Appends a header of a request as resp_field does, but removes everything that
 * session_key_find could read as a key.
 */
void session_key_strip_field(struct buf *out, struct str name, struct str value);

#endif
