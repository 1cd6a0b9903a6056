/*
 * Any bytes as an address, as a place to go on to, and as an IP address. What is read can
 * be written and read again; a path alone stays where it is; an IPv4 address is as far
 * as the IPv6 address that stands for it.
 */
#include "codec/http/url.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct url *u)
{
	struct buf b = BUF_INIT(1 << 20);
	struct url again;

	assert(u->host.n && u->port && u->target.n && u->target.p[0] == '/');
	for (size_t i = 0; i < u->target.n; i++)
		assert((unsigned char)u->target.p[i] > ' ' &&
			!strchr("#\\\x7f", u->target.p[i]));
	buf_puts(&b, u->secure ? "https://" : "http://");
	url_put_host(u, &b);
	buf_str(&b, u->target);
	assert(!b.err && url_parse(&again, buf_view(&b)) == 0);
	assert(url_is_same_origin(u, &again) && str_eq(u->target, again.target));
	buf_free(&b);
}

/* ws and wss mirror http and https. */
static void mirror(struct str text, const struct url *u)
{
	struct buf b = BUF_INIT(1 << 20);
	struct url ws;

	buf_puts(&b, "ws");
	buf_str(&b, str_skip(text, 4));
	assert(!b.err && url_parse_ws(&ws, buf_view(&b)) == 0);
	assert(url_is_same_origin(u, &ws) && str_eq(u->target, ws.target));
	assert(url_parse_ws(&ws, text) == ERR_SYNTAX);
	buf_free(&b);
}

static void follow(struct str ref)
{
	static const struct str from[] = {
		{"https://a.io/b/c?d", sizeof("https://a.io/b/c?d") - 1},
		{"http://[::1]:8080", sizeof("http://[::1]:8080") - 1},
	};
	struct url base, u;

	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		struct buf text = BUF_INIT(4096);
		bool path = ref.n > 1 && ref.p[0] == '/' && ref.p[1] != '/';

		assert(url_parse(&base, from[i]) == 0);
		if (url_resolve(&u, &base, ref, &text) == 0) {
			check(&u);
			assert(!path || url_is_same_origin(&u, &base));
			/* A path without segments of dots stays as it is. */
			assert(!path || str_find(ref, STR("/.")) < ref.n ||
				str_starts(ref, u.target));
			assert(str_find(ref, STR("//")) < ref.n ||
				url_is_same_origin(&u, &base));
			assert(url_check_redirect(&base, &u, 1) || !base.secure ||
				u.secure);
		}
		buf_free(&text);
	}
}

static void reach(const uint8_t *p)
{
	uint8_t mapped[16] = {[10] = 0xFF, [11] = 0xFF};
	enum reach far = url_classify(p, 4);

	memcpy(mapped + 12, p, 4);
	assert(url_classify(mapped, 16) == far && far <= REACH_FORBIDDEN);
	assert(url_is_reach_allowed(far, REACH_PUBLIC) == (far == REACH_PUBLIC));
	assert(url_is_reach_allowed(far, far) == (far != REACH_FORBIDDEN));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct str in = str_make(copy, size);
	struct url u;

	if (size)
		memcpy(copy, data, size);
	if (url_parse(&u, in) == 0) {
		check(&u);
		mirror(in, &u);
	}
	if (url_parse_ws(&u, in) == 0)
		check(&u);
	follow(in);
	if (size >= 4)
		reach(data);
	if (size >= 16)
		assert(url_classify(data, 16) <= REACH_FORBIDDEN);
	free(copy);
	return 0;
}
