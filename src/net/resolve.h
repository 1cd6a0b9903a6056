/*
 * Resolves host names: /etc/hosts, then the name servers of /etc/resolv.conf, as musl
 * does, but every wait has a deadline, and a truncated answer is requested again over
 * TCP. OD_RESOLV_CONF names a file to read instead of /etc/resolv.conf.
 */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include "codec/dns.h"

/*
 * Waits for events of fd until deadline, monotonic ms. 1; 0: the deadline passed; -errno.
 */
typedef int resolve_wait_fn(int fd, short events, uint64_t deadline);

/*
 * 0 with at least one address; -ENOENT: there is no such name; -ETIMEDOUT, -EAGAIN: no
 * name server can answer now; ERR_SYNTAX; -EINTR; -errno.
 */
int resolve(struct str name, resolve_wait_fn *wait, struct dns_addresses *found) MUST_USE;

#endif
