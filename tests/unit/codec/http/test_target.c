#include "codec/http/target.h"
#include "tests/tap.h"

#include <errno.h>

#define S(lit) \
	{ \
		(lit), sizeof(lit) - 1 \
	}

/* A value in the path, in the query, and as a name of several segments. */
static const struct {
	struct str value;
	const char *path, *query, *name; /* NULL: refused */
} rows[] = {
	{S("abc-._~09"), "abc-._~09", "abc-._~09", "abc-._~09"},
	{S("sha256:ab@c"), "sha256:ab@c", "sha256%3Aab%40c", "sha256:ab@c"},
	{S("a b"), "a%20b", "a%20b", "a%20b"},
	{S("a?b#c%d&e=f+g"), "a%3Fb%23c%25d%26e%3Df%2Bg", "a%3Fb%23c%25d%26e%3Df%2Bg",
		"a%3Fb%23c%25d%26e%3Df%2Bg"},
	{S("a%2Fb"), "a%252Fb", "a%252Fb", "a%252Fb"},
	{S("\xc3\xa9"), "%C3%A9", "%C3%A9", "%C3%A9"},
	{S("..."), "...", "...", "..."},
	{S(""), NULL, "", NULL},
	{S("."), NULL, ".", NULL},
	{S(".."), NULL, "..", NULL},
	{S("/"), NULL, "%2F", NULL},
	{S("a/b"), NULL, "a%2Fb", "a/b"},
	{S("a/b/c:1"), NULL, "a%2Fb%2Fc%3A1", "a/b/c:1"},
	{S("a/../b"), NULL, "a%2F..%2Fb", NULL},
	{S("a/./b"), NULL, "a%2F.%2Fb", NULL},
	{S("a//b"), NULL, "a%2F%2Fb", NULL},
	{S("/a"), NULL, "%2Fa", NULL},
	{S("a/"), NULL, "a%2F", NULL},
	{S("a\r\nX: y"), NULL, "a%0D%0AX%3A%20y", NULL},
	{S("a\x1b[2J"), NULL, "a%1B%5B2J", NULL},
	{S("a\x7f"), NULL, "a%7F", NULL},
	{S("a\0b"), NULL, NULL, NULL},
};

static void check(
	struct target *t, const char *before, const char *want, const char *behind)
{
	struct buf all = BUF_INIT(512);

	if (want) {
		buf_fmt(&all, "%s%s%s", before, want, behind);
		is_int(target_error(t), 0, "it can be sent");
		is_view(target_view(t), buf_cstr(&all), "as it is expected");
	} else {
		is_int(target_error(t), -EINVAL, "it is refused");
		is_int(target_view(t).n, 0, "and there is nothing to send");
	}
	buf_free(&all);
	target_free(t);
}

static void test_values(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str v = rows[i].value;
		struct target t;

		target_init(&t, 512);
		target_add(&t, "/a/%.*s/b?c=1", STR_ARG(v));
		check(&t, "/a/", rows[i].path, "/b?c=1");
		target_init(&t, 512);
		target_add(&t, "/a?b=%.*s&c=1", STR_ARG(v));
		check(&t, "/a?b=", rows[i].query, "&c=1");
		target_init(&t, 512);
		target_add(&t, "/a?b=1");
		target_add(&t, "&c=%.*s", STR_ARG(v));
		check(&t, "/a?b=1&c=", rows[i].query, "");
		target_init(&t, 512);
		target_add(&t, "/a/");
		target_add_name(&t, v);
		target_add(&t, "/json");
		check(&t, "/a/", rows[i].name, "/json");
	}
}

static void test_directives(void)
{
	struct target t;

	target_init(&t, 512);
	target_add(&t, "/%s?a=%d&b=%u&c=%llu&d=%%2F%s", "x", -1, 2u,
		18446744073709551615ull, "y/");
	is_view(target_view(&t), "/x?a=-1&b=2&c=18446744073709551615&d=%2Fy%2F",
		"every directive");
	target_reset(&t);
	target_add(&t, "/a/%s", "b/c");
	is_int(target_error(&t), -EINVAL, "after a reset values stand in the path again");
	target_free(&t);
	is_view(target_view(TARGET("/alive")), "/alive", "a literal");
	is_int(target_error(TARGET("/alive")), 0, "can be sent");
}

static void test_limit(void)
{
	struct target t;

	target_init(&t, 8);
	target_add(&t, "/%s", "1234567");
	is_int(target_error(&t), 0, "8 bytes fit");
	target_add(&t, "%s", "x");
	is_int(target_error(&t), ERR_LIMIT, "a ninth does not");
	is_int(target_view(&t).n, 0, "no part of it is sent");
	target_free(&t);
	target_init(&t, 8);
	target_add(&t, "/%s", "..");
	target_add(&t, "/%s", "123456789");
	is_int(target_error(&t), -EINVAL, "the first error counts");
	target_free(&t);
}

static void test_reference(void)
{
	static const struct {
		struct str in;
		int err;
	} refs[] = {
		{S("/v2/x/uploads/1?state=a%20b"), 0},
		{S("https://h:1/p?q"), 0},
		{S(""), -EINVAL},
		{S("/a b"), -EINVAL},
		{S("/a\r\nX: y"), -EINVAL},
		{S("/a\tb"), -EINVAL},
		{S("/a\0b"), -EINVAL},
		{S("/\xc3\xa9"), -EINVAL},
		{S("/\x7f"), -EINVAL},
	};
	struct target t;

	target_init(&t, 512);
	for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
		target_set_reference(&t, refs[i].in);
		is_int(target_error(&t), refs[i].err, "reference %zu", i);
	}
	target_set_reference(&t, STR("/u?s=1"));
	target_add(&t, "&digest=%s", "sha256:a/b");
	is_view(target_view(&t), "/u?s=1&digest=sha256%3Aa%2Fb",
		"a value behind its query");
	target_free(&t);
}

int main(void)
{
	test_values();
	test_directives();
	test_limit();
	test_reference();
	return done_testing();
}
