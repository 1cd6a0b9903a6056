#include "net/penalty.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

enum { NETWORK_BYTES = 8 /* of an IPv6 address: one subscriber has a /64 */ };

/* Computes the address that identifies a row. False: a has no IP address. */
static bool penalty_key(const struct sockaddr *a, uint8_t key[PENALTY_ADDRESS_BYTES])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	memset(key, 0, PENALTY_ADDRESS_BYTES);
	if (a->sa_family == AF_INET) {
		struct sockaddr_in four;

		memcpy(&four, a, sizeof(four));
		memcpy(key, mapped, sizeof(mapped));
		memcpy(key + sizeof(mapped), &four.sin_addr, sizeof(four.sin_addr));
		return true;
	}
	if (a->sa_family == AF_INET6) {
		struct sockaddr_in6 six;

		memcpy(&six, a, sizeof(six));
		memcpy(key, &six.sin6_addr,
			IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) ? PENALTY_ADDRESS_BYTES
							     : NETWORK_BYTES);
		return true;
	}
	return false;
}

/* Returns the row of key, or an empty row that is now key's. */
static struct penalty_row *penalty_find(struct penalty *p, const uint8_t *key)
{
	struct penalty_row *oldest = &p->rows[0];

	for (unsigned i = 0; i < PENALTY_ADDRESSES; i++) {
		struct penalty_row *row = &p->rows[i];

		if (row->failures && !memcmp(row->address, key, PENALTY_ADDRESS_BYTES))
			return row;
		if (!row->failures || (oldest->failures && row->last < oldest->last))
			oldest = row;
	}
	*oldest = (struct penalty_row){0};
	memcpy(oldest->address, key, PENALTY_ADDRESS_BYTES);
	return oldest;
}

unsigned penalty_fail(struct penalty *p, const struct sockaddr *a, uint64_t now)
{
	uint8_t key[PENALTY_ADDRESS_BYTES];
	unsigned ms = PENALTY_FIRST_MS;
	struct penalty_row *row;

	if (!penalty_key(a, key))
		return 0;
	row = penalty_find(p, key);
	if (row->failures && now - row->last >= PENALTY_FORGET_MS)
		row->failures = 0;
	row->last = now;
	if (row->failures < UINT16_MAX)
		row->failures++;
	if (row->failures <= PENALTY_FREE)
		return 0;
	for (unsigned i = PENALTY_FREE + 1; i < row->failures && ms < PENALTY_MAX_MS; i++)
		ms *= 2;
	return ms < PENALTY_MAX_MS ? ms : PENALTY_MAX_MS;
}
