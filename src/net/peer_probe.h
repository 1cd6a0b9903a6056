/*
 * Detects within two seconds that the peer of a TCP connection cannot be reached any
 * more. A peer that can be reached and does not read is not lost.
 *
 * A connection is judged by bytes that it sends, which the kernel repeats if they are
 * lost: a probe of the kernel would be sent once, and one lost packet would end the
 * connection.
 */
#ifndef NET_PEER_PROBE_H
#define NET_PEER_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum { PEER_PROBE_TICK_MS = 250 };

/* Zeroed to begin with. */
struct peer_probe {
	/* When the window of the peer was closed, monotonic ms; 0: it is open. */
	uint64_t closed_from;
	/* Time since which nothing sent has been acknowledged; 0: none. */
	uint64_t waits_from;
};

/*
 * Has the kernel probe the peer of fd while the connection is idle, and end a connection
 * whose peer has answered none for four seconds, also if peer_probe_check is not called.
 */
void peer_probe_begin(int fd);

enum peer_probe_state {
	PEER_PROBE_OK,   /* also for sockets that are no TCP connections */
	PEER_PROBE_IDLE, /* the caller sends something that has no effect */
	PEER_PROBE_LOST, /* the peer has not acknowledged what was sent, for too long */
};

/* To be called every PEER_PROBE_TICK_MS, with monotonic ms. */
enum peer_probe_state peer_probe_check(struct peer_probe *p, int fd, uint64_t now);

#endif
