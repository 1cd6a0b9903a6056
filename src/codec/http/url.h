/*
 * http, https, ws and wss URLs (RFC 3986), without user names and fragments, and the
 * rules for redirects between them. Engines without I/O.
 */
#ifndef CODEC_HTTP_URL_H
#define CODEC_HTTP_URL_H

#include "base/buf.h"

struct url {
	bool secure;       /* https, wss */
	uint16_t port;     /* the scheme's default if the URL has none */
	struct str host;   /* a name or an address, without brackets */
	struct str target; /* path and query; starts with '/' */
};

/*
 * Parses an absolute http or https URL, which *u borrows. 0 or ERR_SYNTAX: also for
 * user:password@, for blanks, control bytes and bytes beyond ASCII, and for a bad host. A
 * fragment is dropped.
 */
int url_parse(struct url *u, struct str text) MUST_USE;
/* Parses a ws or wss URL (RFC 6455 3) by the rules of url_parse. */
int url_parse_ws(struct url *u, struct str text) MUST_USE;

/*
 * Resolves ref, the Location of an answer from base, and removes its dot segments. *text
 * holds what *u borrows. 0, ERR_SYNTAX, or the error of text.
 */
int url_resolve(
	struct url *u, const struct url *base, struct str ref, struct buf *text) MUST_USE;

/*
 * Whether scheme, host and port are equal. Only then may both receive the same secrets.
 */
bool url_is_same_origin(const struct url *a, const struct url *b);

/* Appends "host[:port]", as in a Host field. A default port is omitted. */
void url_put_host(const struct url *u, struct buf *out);

/*
 * Why a redirect from one URL to the other is refused, as text for users; NULL if it is
 * allowed. Redirects from https to http and more than URL_HOPS_MAX redirects are refused.
 */
enum { URL_HOPS_MAX = 5 };
const char *url_check_redirect(
	const struct url *from, const struct url *to, unsigned hops);

/*
 * The network an address belongs to, from public to local. An address that a registry's
 * answer leads to must not be more local than the registry itself: services in a private
 * network often trust every client that can reach them.
 */
enum reach {
	REACH_PUBLIC,
	REACH_PRIVATE,
	REACH_LOOPBACK,
	REACH_FORBIDDEN, /* link-local, multicast, metadata of a cloud */
};

/*
 * address: 4 or 16 bytes. An IPv6 address that embeds an IPv4 address has the reach of
 * the latter.
 */
enum reach url_classify(const uint8_t *address, size_t n);
bool url_is_reach_allowed(enum reach target, enum reach registry);

#endif
