/*
 * Finds out within about two seconds that the peer of a TCP connection cannot be reached
 * any more. A peer that can be reached and does not read is not lost.
 */
#ifndef NET_PEER_PROBE_H
#define NET_PEER_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum { PEER_PROBE_TICK_MS = 250 };

/* Zeroed to begin with. */
struct peer_probe {
	/* Since then the window of the peer is closed, monotonic ms; 0: it is open. */
	uint64_t closed_from;
	/* Time since which nothing sent has been acknowledged; 0: none. */
	uint64_t waits_from;
};

/* Has the kernel probe the peer of fd while the connection is idle. */
void peer_probe_begin(int fd);

/*
 * To be called every PEER_PROBE_TICK_MS. True: the peer does not acknowledge what it was
 * sent, for too long. False for what is no TCP connection.
 */
bool peer_probe_is_lost(struct peer_probe *p, int fd, uint64_t now);

#endif
