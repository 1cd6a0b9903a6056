/*
 * Queries to a name server and its answers (RFC 1035, RFC 3596). An engine without I/O.
 */
#ifndef CODEC_DNS_H
#define CODEC_DNS_H

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

/* Appends the query for name. ERR_SYNTAX: the name cannot be queried. */
int dns_write_query(
	uint16_t id, struct str name, enum dns_type type, struct buf *out) MUST_USE;

/*
 * Reads an answer to dns_write_query(id, name, type) and adds its addresses to *found,
 * up to the maximum. 0, also without an address; 1: the packet answers another query;
 * -ENOENT: there is no such name; -EMSGSIZE: the answer is truncated, the query has to
 * be repeated over TCP; -EAGAIN: the server cannot answer; ERR_SYNTAX.
 */
int dns_read_answer(struct str packet, uint16_t id, struct str name, enum dns_type type,
	struct dns_addresses *found) MUST_USE;

/*
 * Adds the address that a line of /etc/hosts gives for name. A malformed line gives none.
 */
void dns_read_hosts_line(struct str line, struct str name, struct dns_addresses *found);

/* Writes the text of an address, of up to 46 bytes. */
void dns_format_address(const struct dns_address *a, char out[46]);

/* Parses an address in text form. False if text is none. */
bool dns_parse_address(struct str text, struct dns_address *a);

#endif
