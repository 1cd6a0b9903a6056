/*
 * Counts failed requests by the address of the peer. After PENALTY_FREE failures the
 * answer to each further one is delayed. A table without I/O, of bounded size; old
 * entries expire.
 */
#ifndef NET_PENALTY_H
#define NET_PENALTY_H

#include <stdint.h>
#include <sys/socket.h>

enum {
	PENALTY_ADDRESSES = 64,     /* the address that failed longest ago is replaced */
	PENALTY_FREE = 10,          /* failures without a delay: settings may be wrong */
	PENALTY_FIRST_MS = 100,     /* the first delay, doubling... */
	PENALTY_MAX_MS = 1000,      /* ...up to this */
	PENALTY_FORGET_MS = 60000,  /* time after which failures are forgotten */
	PENALTY_ADDRESS_BYTES = 16, /* an IPv4 address is mapped into IPv6 */
};

struct penalty_row {
	uint8_t address[PENALTY_ADDRESS_BYTES];
	unsigned failures; /* 0: the row is free */
	uint64_t last;     /* monotonic ms */
};

/* A zeroed table is empty. */
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
