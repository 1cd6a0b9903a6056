#include "net/peer_probe.h"

#include "base/str.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
	IDLE_S = 1,       /* from the last byte to the first probe of the kernel */
	PROBES = 3,       /* a single one may be lost: the kernel sends each once */
	IDLE_MS = 400,    /* from the last byte to the caller's next probe byte */
	LOST_MS = 900,    /* from such bytes on, without an acknowledgement */
	CLOSED_MS = 2500, /* between probes of a closed window */
};

void peer_probe_begin(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S},
		{IPPROTO_TCP, TCP_KEEPINTVL, IDLE_S},
		{IPPROTO_TCP, TCP_KEEPCNT, PROBES},
	};

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			sizeof(options[i].value));
}

/*
 * The kernel probes a closed window at intervals that double up to two minutes, but at
 * the latest when TCP_USER_TIMEOUT expires and it would reset the connection. A timeout
 * that is extended at each tick makes the probes frequent and never expires.
 */
static void peer_probe_hurry(const struct peer_probe *p, int fd, uint64_t now)
{
	unsigned ms = (unsigned)(now - p->closed_from) + PEER_PROBE_TICK_MS + CLOSED_MS;

	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

/*
 * The time without an acknowledgement counts from the last transmission: the kernel
 * repeats bytes for which the peer has no space at growing intervals, and the peer
 * acknowledges each of them.
 */
static bool peer_probe_waits(struct peer_probe *p, const struct tcp_info *i, uint64_t now)
{
	bool sent = i->tcpi_unacked && i->tcpi_last_data_sent < i->tcpi_last_ack_recv;

	if (now - i->tcpi_last_ack_recv >= p->waits_from)
		p->waits_from = 0;
	if (!p->waits_from && i->tcpi_probes)
		p->waits_from = now;
	else if (!p->waits_from && sent)
		p->waits_from = now - i->tcpi_last_data_sent;
	return p->waits_from && now - p->waits_from >= LOST_MS;
}

enum peer_probe_state peer_probe_check(struct peer_probe *p, int fd, uint64_t now)
{
	struct tcp_info i = {0};
	socklen_t n = sizeof(i);
	int queued = 0;
	bool is_closed;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &n) < 0)
		return PEER_PROBE_OK;
	/* Bytes are queued, and none are in flight. */
	is_closed = !i.tcpi_unacked && ioctl(fd, SIOCOUTQ, &queued) == 0 && queued;
	if (!is_closed)
		p->closed_from = 0;
	else if (!p->closed_from)
		p->closed_from = now;
	if (is_closed)
		peer_probe_hurry(p, fd, now);
	if (peer_probe_waits(p, &i, now))
		return PEER_PROBE_LOST;
	return !is_closed && !i.tcpi_unacked && i.tcpi_last_data_sent >= IDLE_MS
		? PEER_PROBE_IDLE
		: PEER_PROBE_OK;
}
