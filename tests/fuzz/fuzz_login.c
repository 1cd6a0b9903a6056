/* Any bytes as config.json, as a helper's answer, as an address and as a name server. */
#include "net/dns.h"
#include "inject/login.h"
#include "net/url.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *copy = malloc(n ? n : 1);
	struct str in = str_make(copy, n);
	struct buf text = BUF_INIT(4096);
	struct dns_addresses found = {0};
	struct login_source s;
	struct arena arena;
	struct url base, u;
	struct login l;

	if (n)
		memcpy(copy, data, n);
	arena_init(&arena, 1 << 20);
	(void)!login_read(in, STR("a.io"), &arena, &s);
	(void)!login_read_helper(in, &arena, &l);
	assert(url_parse(&base, STR("https://a.io/b/c?d")) == 0);
	if (url_follow(&u, &base, in, &text) == 0)
		assert(u.host.n && u.port && u.target.p[0] == '/');
	(void)!dns_take(in, n > 1 ? (uint16_t)(data[0] << 8 | data[1]) : 0, STR("a"),
		DNS_A, &found);
	dns_take_hosts_line(in, STR("a"), &found);
	assert(found.n <= DNS_ADDRESSES_MAX);
	buf_free(&text);
	arena_reset(&arena);
	free(copy);
	return 0;
}
