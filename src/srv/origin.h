/*
 * Pages in a browser, which ask for whatever they like where there is no key. What they
 * cannot hide are fields of the browser's: Host, which is what they call us, and Origin
 * and Sec-Fetch-Site, which are where they are from.
 */
#ifndef SRV_ORIGIN_H
#define SRV_ORIGIN_H

#include "net/request.h"

/* By which names the sandbox may be called, beside addresses and localhost. */
struct origin_names {
	struct str own; /* the host's name; empty: none */
	bool drop_in;   /* also those that unmodified backends use */
	bool pod;       /* with drop_in: also the DNS names of Services of Kubernetes */
};

/*
 * Refuses requests of foreign pages: 0, or the status of the answer. Any other name in
 * Host is 421, because its owner may resolve it to this address. A page that this server
 * has not sent is 403, unless elsewhere says that the route checks the origin itself.
 */
unsigned origin_check(const struct request *rq, const struct origin_names *names,
	bool elsewhere) MUST_USE;

#endif
