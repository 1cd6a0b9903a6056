/*
 * Protection against pages in a browser, which can send any request to a server without a
 * session key. They cannot forge three fields that the browser sets: Host is the name
 * that the page used for this server; Origin and Sec-Fetch-Site state where the page is
 * from.
 */
#ifndef SERVER_ORIGIN_H
#define SERVER_ORIGIN_H

#include "net/request.h"

/* Names of the sandbox that are accepted in Host, beside addresses and localhost. */
struct origin_names {
	struct str own; /* host name of the sandbox; empty: none */
	bool drop_in;   /* also names that unmodified backends use */
	bool pod;       /* with drop_in: also the DNS names of Kubernetes Services */
};

/*
 * Refuses cross-origin requests. Returns 0 or the status of the answer. Another name in
 * Host is 421, because its owner can resolve it to this address (DNS rebinding). A page
 * of another origin is 403, unless elsewhere is true: the route checks the origin itself.
 */
unsigned origin_check(const struct request *rq, const struct origin_names *names,
	bool elsewhere) MUST_USE;

#endif
