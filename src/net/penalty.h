/*
 * Failed requests by the address of the peer: after a few of them the answer to each
 * further one is due later. It is a table without I/O, bounded, and forgets by time.
 */
#ifndef NET_PENALTY_H
#define NET_PENALTY_H

#include <stdint.h>
#include <sys/socket.h>

enum {
	PENALTY_ADDRESSES = 64,     /* the one that failed longest ago makes room */
	PENALTY_FREE = 10,          /* failures without a delay: a wrong setting */
	PENALTY_FIRST_MS = 100,     /* the first delay, doubling... */
	PENALTY_MAX_MS = 1000,      /* ...up to this */
	PENALTY_FORGET_MS = 60000,  /* an address without a failure starts anew */
	PENALTY_ADDRESS_BYTES = 16, /* an IPv4 address is mapped into IPv6 */
};

struct penalty_row {
	uint8_t address[PENALTY_ADDRESS_BYTES];
	unsigned failures; /* 0: the row is free */
	uint64_t last;     /* monotonic ms */
};

/* Zeroed is empty. */
struct penalty {
	struct penalty_row rows[PENALTY_ADDRESSES];
};

/*
 * Counts a failure of a, at now (monotonic ms), and returns by how many ms the answer is
 * to be delayed. An IPv6 peer counts by its /64 network. Peers that are neither IPv4 nor
 * IPv6, such as those of unix sockets, are never delayed.
 */
unsigned penalty_fail(struct penalty *p, const struct sockaddr *a, uint64_t now);

#endif
