/*
 * Names of hosts to addresses: /etc/hosts, then the name servers of /etc/resolv.conf, as
 * musl would ask them, but with an end to every wait, and again by TCP when an answer
 * is cut. OD_RESOLV_CONF names another file in place of /etc/resolv.conf.
 */
#ifndef INJECT_RESOLVE_H
#define INJECT_RESOLVE_H

#include "inject/dns.h"

/*
 * 0 with at least one address; -ENOENT: there is no such name; -ETIMEDOUT, -EAGAIN: no
 * name server knows now; ERR_SYNTAX; -EINTR; -errno.
 */
int resolve(struct str name, struct dns_addresses *found) MUST_USE;

#endif
