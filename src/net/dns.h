/* Questions to a name server and its answers (RFC 1035, RFC 3596). An engine. */
#ifndef NET_DNS_H
#define NET_DNS_H

#include "base/buf.h"

enum {
	DNS_PACKET_MAX = 4096, /* by TCP up to 64 KB, which no address list needs */
	DNS_ADDRESSES_MAX = 16,
};

enum dns_type { DNS_A = 1, DNS_AAAA = 28 };

struct dns_addresses {
	size_t n;
	struct dns_address {
		uint8_t len; /* 4 or 16 */
		uint8_t bytes[16];
	} at[DNS_ADDRESSES_MAX];
};

/* Appends the question for name; ERR_SYNTAX for a name that cannot be asked for. */
int dns_ask(uint16_t id, struct str name, enum dns_type type, struct buf *out) MUST_USE;

/*
 * Takes an answer to dns_ask(id, name, type): its addresses are added to *found, up to
 * the maximum. 0, also without an address; 1 when it answers something else; -ENOENT
 * when there is no such name; -EMSGSIZE when it has been cut and is to be had by TCP;
 * -EAGAIN when the server cannot say; ERR_SYNTAX.
 */
int dns_take(struct str packet, uint16_t id, struct str name, enum dns_type type,
	struct dns_addresses *found) MUST_USE;

/*
 * Adds the addresses that a line of /etc/hosts has for name, if any; a line that makes
 * no sense has none.
 */
void dns_take_hosts_line(struct str line, struct str name, struct dns_addresses *found);

/* The text of an address; room for 46 bytes. */
void dns_text(const struct dns_address *a, char out[46]);

/* Reads an address as people write it; false when it is none. */
bool dns_read(struct str text, struct dns_address *a);

#endif
