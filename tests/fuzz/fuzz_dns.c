/*
 * Any bytes as a name server's packet, as a name that is asked for, and as a line of
 * /etc/hosts. Only what answers our question gives addresses, of the kind that was asked
 * for; each of them is read again as it is written.
 */
#include "codec/dns.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_found(const struct dns_addresses *found, unsigned len)
{
	struct dns_address again;
	char text[46];

	assert(found->n <= DNS_ADDRESSES_MAX);
	for (size_t i = 0; i < found->n; i++) {
		assert(found->at[i].len == len || (!len && found->at[i].len == 16) ||
			(!len && found->at[i].len == 4));
		dns_format_address(&found->at[i], text);
		assert(dns_parse_address(str_c(text), &again) &&
			again.len == found->at[i].len);
		assert(!memcmp(again.bytes, found->at[i].bytes, again.len));
	}
}

static void take(struct str packet, uint16_t id, enum dns_type type)
{
	struct dns_addresses found = {0}, more = {0};
	int r = dns_read_answer(packet, id, STR("a.b"), type, &found);

	assert(r <= 0 || r == 1);
	assert(r <= 0 || !found.n);
	assert(r >= 0 || r == -ENOENT || r == -EMSGSIZE || r == -EAGAIN ||
		r == ERR_SYNTAX);
	assert(r == 0 || !found.n);
	check_found(&found, type == DNS_A ? 4 : 16);
	/* What answers this answers nothing else. */
	if (r == 1)
		return;
	assert(dns_read_answer(packet, id ^ 1, STR("a.b"), type, &more) == 1);
	assert(dns_read_answer(packet, id, STR("a.c"), type, &more) == 1);
	assert(dns_read_answer(packet, id, STR("a.b"), type ^ DNS_A ^ DNS_AAAA, &more) ==
		1);
	assert(!more.n);
	if (r == 0 && packet.n) {
		int cut;

		packet.n--;
		cut = dns_read_answer(packet, id, STR("a.b"), type, &more);
		assert((cut && !more.n) || (!cut && more.n == found.n));
	}
}

/* Our own question, sent back as an answer without an address. */
static void ask(struct str name)
{
	struct dns_addresses found = {0};
	struct buf q = BUF_INIT(512);

	if (dns_write_query(7, name, DNS_A, &q) == 0) {
		assert(dns_read_answer(buf_view(&q), 7, name, DNS_A, &found) == 1);
		q.p[2] |= (char)0x80;
		assert(dns_read_answer(buf_view(&q), 7, name, DNS_A, &found) == 0);
		q.p[7] = 1; /* it promises an address that is not there */
		assert(dns_read_answer(buf_view(&q), 7, name, DNS_A, &found) ==
			ERR_SYNTAX);
		assert(!found.n);
	}
	buf_free(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct str in = str_make(copy, size);
	uint16_t id = size > 1 ? (uint16_t)(data[0] << 8 | data[1]) : 0;
	struct dns_addresses found = {0};

	if (size)
		memcpy(copy, data, size);
	take(in, id, DNS_A);
	take(in, id, DNS_AAAA);
	ask(in);
	dns_read_hosts_line(in, STR("a.b"), &found);
	check_found(&found, 0);
	assert(!found.n || str_find_byte(in, '.') < in.n);
	free(copy);
	return 0;
}
