/*
 * Heads of requests of foreign pages: Host must be an address, localhost or the host's
 * name, in any case of letters; a page from elsewhere is refused.
 */
#include "net/conn.h"
#include "server/origin.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_head(struct exchange *x, struct str head)
{
	*x = (struct exchange){.in = {.p = (char *)head.p, .n = head.n}};
	http_request_init(&x->http);
	return http_request_parse(&x->http, head) == 0;
}

static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

static const struct origin_names known = {.own = STR("sandbox")};

/* A name that somebody else may have. */
static bool is_public(struct str host)
{
	unsigned char address[16];
	char name[HTTP_HEAD_MAX + 1];
	size_t n = host.n;

	if (n && host.p[0] == '[') {
		n = str_find_byte(host, ']');
		memcpy(name, host.p + 1, n - 1);
		name[n - 1] = '\0';
		return inet_pton(AF_INET6, name, address) != 1;
	}
	n = str_find_byte(host, ':');
	memcpy(name, host.p, n);
	name[n] = '\0';
	return host.n && strcasecmp(name, "localhost") && strcasecmp(name, "sandbox") &&
		inet_pton(AF_INET, name, address) != 1;
}

/* The same with both fields in capitals. */
static void check_case(struct str head, const struct exchange *x, unsigned status)
{
	static const struct str names[] = {
		{"host", sizeof("host") - 1}, {"origin", sizeof("origin") - 1}};
	char *copy = malloc(head.n);
	struct exchange other;
	struct str v;

	memcpy(copy, head.p, head.n);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (request_header(&x->rq, names[i], &v))
			continue;
		for (size_t at = (size_t)(v.p - head.p), n = v.n; n; n--, at++)
			copy[at] = upper(copy[at]);
	}
	assert(!read_head(&other, str_make(copy, head.n)) ||
		origin_check(&other.rq, &known, false) == status);
	free(copy);
}

/* The same head behind whose first line an Origin stands. */
static void check_foreign(struct str head)
{
	size_t line = str_find_byte(head, '\n') + 1;
	struct buf b = BUF_INIT(HTTP_HEAD_MAX);
	struct exchange x;

	buf_str(&b, str_make(head.p, line));
	buf_puts(&b, "Origin: http://evil.test\r\n");
	buf_str(&b, str_skip(head, line));
	if (!b.err && read_head(&x, buf_view(&b)))
		assert(origin_check(&x.rq, &known, false));
	buf_free(&b);
}

static void check_home(const struct exchange *x)
{
	struct str origin;
	int r = request_header(&x->rq, STR("origin"), &origin);

	assert(r == 0 || request_is_local_origin(&x->rq) == (r == 1));
	if (r == 0 && request_is_local_origin(&x->rq))
		assert(str_find(origin, STR("localhost")) < origin.n ||
			str_find(origin, STR("127.0.0.1")) < origin.n ||
			str_find(origin, STR("[::1]")) < origin.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct str head = str_make(copy, size), host = STR("");
	unsigned page, any;
	struct exchange x;

	if (size)
		memcpy(copy, data, size);
	if (read_head(&x, head)) {
		page = origin_check(&x.rq, &known, false);
		any = origin_check(&x.rq, &known, true);
		assert(any == 0 || any == 421);
		assert(any ? page == any : page == 0 || page == 403);
		if (!request_header(&x.rq, STR("host"), &host))
			assert(is_public(host) == (any == 421));
		check_case(head, &x, page);
		check_foreign(head);
		check_home(&x);
	}
	free(copy);
	return 0;
}
