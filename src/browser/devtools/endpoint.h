/* A browser that another program has started, reached over a WebSocket (RFC 6455). */
#ifndef BROWSER_DEVTOOLS_ENDPOINT_H
#define BROWSER_DEVTOOLS_ENDPOINT_H

#include "base/buf.h"

/* Whether url is ws://HOST[:PORT]/PATH or http://HOST[:PORT]. Nothing is connected. */
bool endpoint_is_valid(const char *url);
/*
 * Connects to the browser. For an http URL the browser is first asked for its WebSocket
 * path, which changes with each start. Returns 0 with a socket from which nothing after
 * the handshake has been read. Returns -errno, ERR_SYNTAX or ERR_REFUSED with a sentence
 * for people in why.
 */
int endpoint_open(const char *url, uint64_t deadline, int *fd, struct buf *why) MUST_USE;

#endif
