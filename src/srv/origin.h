/*
 * Pages in a browser, which ask for whatever they like where there is no key. What they
 * cannot hide are fields of the browser's: Host, which is what they call us, and Origin
 * and Sec-Fetch-Site, which are where they are from.
 */
#ifndef SRV_ORIGIN_H
#define SRV_ORIGIN_H

#include "net/request.h"

/*
 * Whether no foreign page asks: 0, or the status of the answer. A name that may be
 * anybody's, and lead here, is 421; a page that is not ours is 403, unless pages may be
 * from elsewhere and are looked at by their route.
 */
unsigned origin_check(const struct request *rq, bool elsewhere) MUST_USE;

#endif
