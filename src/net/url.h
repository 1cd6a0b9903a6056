/*
 * Addresses of the web (RFC 3986) and of WebSockets, without users and fragments, and the
 * rules by which one may lead to another. Engines without I/O.
 */
#ifndef NET_URL_H
#define NET_URL_H

#include "base/buf.h"

struct url {
	bool secure;       /* https, wss */
	uint16_t port;     /* that of the scheme if none was written */
	struct str host;   /* a name or an address, without brackets */
	struct str target; /* path and query; starts with '/' */
};

/*
 * Reads an absolute http or https address, which *u borrows. 0 or ERR_SYNTAX: also for
 * user:password@, for blanks, control bytes and bytes beyond ASCII, and for a bad host.
 * A fragment is left out.
 */
int url_parse(struct url *u, struct str text) MUST_USE;
/* The same of a ws or wss address (RFC 6455 3), which mirrors one of those. */
int url_parse_ws(struct url *u, struct str text) MUST_USE;

/*
 * Reads ref as it stands in a Location of an answer from base, without its dot segments;
 * *text holds what *u borrows. 0, ERR_SYNTAX, or the error of text.
 */
int url_follow(
	struct url *u, const struct url *base, struct str ref, struct buf *text) MUST_USE;

/* Whether scheme, host and port are the same: then, alone, they share secrets. */
bool url_same_origin(const struct url *a, const struct url *b);

/* Appends "host[:port]", as in a Host field; the port unless it is the scheme's. */
void url_put_host(const struct url *u, struct buf *out);

/*
 * Why an answer from one must not lead to the other, for people; NULL when it may.
 * Nothing leads from https to http, or further than URL_HOPS_MAX.
 */
enum { URL_HOPS_MAX = 5 };
const char *url_refuse_hop(const struct url *from, const struct url *to, unsigned hops);

/*
 * How far away an address is. What a stranger's word leads us to may not be nearer to us
 * than the registry is that we were told to ask: behind our own walls stand services
 * that believe whoever reaches them.
 */
enum reach {
	REACH_PUBLIC,
	REACH_PRIVATE,
	REACH_LOOPBACK,
	REACH_NEVER, /* link-local, multicast, a cloud's metadata */
};

/* address: 4 or 16 bytes. One that stands for an IPv4 address is as far as that. */
enum reach url_reach(const uint8_t *address, size_t n);
bool url_may_reach(enum reach target, enum reach registry);

#endif
