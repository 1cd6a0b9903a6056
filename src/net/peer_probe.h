/*
 * Detects within two seconds that the peer of a TCP connection is unreachable. A peer
 * that is reachable and does not read is not lost.
 *
 * The check uses bytes that the connection sends, because the kernel retransmits them if
 * they are lost. A keepalive probe of the kernel is sent only once: one lost packet would
 * end the connection.
 */
#ifndef NET_PEER_PROBE_H
#define NET_PEER_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum { PEER_PROBE_TICK_MS = 250 };

/* Zeroed before the first call. */
struct peer_probe {
	/* When the peer's window closed, monotonic ms; 0: it is open. */
	uint64_t closed_from;
	/* Time since which nothing sent has been acknowledged; 0: none. */
	uint64_t waits_from;
};

/*
 * Makes the kernel probe the peer of fd while the connection is idle, and end the
 * connection if the peer has not answered for four seconds, also if peer_probe_check is
 * not called.
 */
void peer_probe_begin(int fd);

enum peer_probe_state {
	PEER_PROBE_OK,   /* also for sockets that are no TCP connections */
	PEER_PROBE_IDLE, /* the caller should send bytes that have no effect */
	PEER_PROBE_LOST, /* the peer has not acknowledged what was sent, for too long */
};

/* To be called every PEER_PROBE_TICK_MS, with monotonic ms. */
enum peer_probe_state peer_probe_check(struct peer_probe *p, int fd, uint64_t now);

#endif
