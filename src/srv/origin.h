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
};

/*
 * Whether no foreign page asks: 0, or the status of the answer. Any other name in Host
 * is 421, because its owner may have it lead here; a page that is not ours is 403, unless
 * pages may be from elsewhere and their route checks them.
 */
unsigned origin_check(const struct request *rq, const struct origin_names *names,
	bool elsewhere) MUST_USE;

#endif
