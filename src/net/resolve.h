/*
 * Names of hosts to addresses: /etc/hosts, then the name servers of /etc/resolv.conf, as
 * musl would ask them, but with an end to every wait, and again by TCP when an answer
 * is cut. OD_RESOLV_CONF names another file in place of /etc/resolv.conf.
 */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include "net/dns.h"

/* Waits for events of fd up to deadline, monotonic ms: 1, 0 when it is over, -errno. */
typedef int resolve_wait_fn(int fd, short events, uint64_t deadline);

/*
 * 0 with at least one address; -ENOENT: there is no such name; -ETIMEDOUT, -EAGAIN: no
 * name server knows now; ERR_SYNTAX; -EINTR; -errno.
 */
int resolve(struct str name, resolve_wait_fn *wait, struct dns_addresses *found) MUST_USE;

#endif
