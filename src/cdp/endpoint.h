/* A browser that somebody else has started, spoken to by WebSocket (RFC 6455). */
#ifndef CDP_ENDPOINT_H
#define CDP_ENDPOINT_H

#include "base/buf.h"

/* Whether it is ws://HOST[:PORT]/PATH, or http://HOST[:PORT]; nothing is asked. */
bool endpoint_ok(const char *url);
/*
 * Connects; by http the browser is asked for its path first, which is another one after
 * each start. 0 with the socket, behind whose handshake nothing has been read. -errno,
 * ERR_SYNTAX, ERR_REFUSED, with why, a sentence for people.
 */
int endpoint_open(const char *url, uint64_t deadline, int *fd, struct buf *why) MUST_USE;

#endif
