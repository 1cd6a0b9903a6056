#include "base/buf.h"

#include "tests/tap.h"

#include <errno.h>
#include <stdlib.h>

/* More than the processors address. */
#define NOBODY_HAS ((size_t)1 << 56)

/* The sanitizer shall answer a huge request as malloc does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void test_append(void)
{
	struct buf b = BUF_INIT(1 << 20);

	is_int(b.n, 0, "a new buf is empty");
	is_view(buf_view(&b), "", "and has an empty view");
	buf_put(&b, NULL, 0);
	is_int(b.err, 0, "nothing may be put without an address");
	buf_putc(&b, 'a');
	buf_puts(&b, "bc");
	buf_str(&b, STR("d\0e"));
	buf_put(&b, "f", 1);
	is_mem(b.p, b.n, "abcd\0ef", 7, "all ways of appending");
	buf_reset(&b);
	is_int(b.n, 0, "reset empties");
	for (int i = 0; i < 100000; i++)
		buf_putc(&b, (char)('a' + i % 26));
	is_int(b.n, 100000, "many bytes are all there");
	is_int(b.p[99999], 'a' + 99999 % 26, "and in their places");
	buf_free(&b);
	ok(!b.p && !b.n && !b.cap && b.max == 1 << 20, "free empties and keeps the cap");
	buf_free(&b);
	buf_puts(&b, "again");
	is_view(buf_view(&b), "again", "a freed buf can be used");
	buf_free(&b);
}

static void test_limit(void)
{
	struct buf b;

	buf_init(&b, 100);
	for (int i = 0; i < 100; i++)
		buf_putc(&b, 'x');
	is_int(b.err, 0, "the maximum itself fits");
	is_int(b.cap, 100, "the memory stays within the maximum");
	buf_putc(&b, 'y');
	is_int(b.err, ERR_LIMIT, "one more is an error");
	is_int(b.n, 100, "and leaves the content");
	buf_puts(&b, "");
	buf_fmt(&b, "%d", 1);
	ok(!buf_reserve(&b, 0) && b.n == 100, "the error sticks");
	buf_reset(&b);
	buf_puts(&b, "ok");
	is_view(buf_view(&b), "ok", "reset forgets the error");
	buf_put(&b, "?", SIZE_MAX);
	is_int(b.err, ERR_LIMIT, "a length that would overflow is an error");
	buf_free(&b);
	buf_init(&b, 0);
	buf_putc(&b, 'x');
	is_int(b.err, ERR_LIMIT, "nothing fits into a maximum of nothing");
	buf_free(&b);
	buf_init(&b, NOBODY_HAS);
	ok(!buf_reserve(&b, NOBODY_HAS), "memory that nobody has");
	is_int(b.err, -ENOMEM, "is out of memory");
	buf_free(&b);
}

static void test_fmt(void)
{
	struct buf b = BUF_INIT(4096);

	buf_fmt(&b, "%s-%d", "x", 7);
	is_view(buf_view(&b), "x-7", "a short text");
	buf_reset(&b);
	for (int n = 254; n <= 258; n++) {
		buf_reset(&b);
		buf_fmt(&b, "%0*d", n, 1);
		ok(b.n == (size_t)n && !b.err && b.p[n - 1] == '1', "%d bytes", n);
	}
	buf_reset(&b);
	buf_fmt(&b, "%05000d", 1);
	is_int(b.err, ERR_LIMIT, "a text beyond the maximum");
	is_int(b.n, 0, "adds nothing");
	buf_free(&b);
}

static void test_room(void)
{
	struct buf b = BUF_INIT(16);
	char *room;

	room = buf_reserve(&b, 4);
	memcpy(room, "abcd", 4);
	is_int(b.n, 0, "room is no content");
	buf_commit(&b, 3);
	is_view(buf_view(&b), "abc", "until it is committed");
	is_str(buf_cstr(&b), "abc", "as a C string");
	is_int(b.n, 3, "the NUL is not counted");
	buf_consume(&b, 0);
	buf_consume(&b, 1);
	is_view(buf_view(&b), "bc", "consumed at the front");
	buf_consume(&b, 2);
	is_int(b.n, 0, "consumed to the end");
	buf_puts(&b, "0123456789abcdef");
	ok(!buf_cstr(&b) && b.err == ERR_LIMIT, "no room for a NUL");
	is_view(buf_view(&b), "0123456789abcdef", "what is there stays");
	buf_free(&b);
}

static void test_percent(void)
{
	struct buf b = BUF_INIT(64), small = BUF_INIT(4);

	buf_percent(&b, str_make("aZ0-._~ /:@\0\xff%", 14), "");
	is_view(buf_view(&b), "aZ0-._~%20%2F%3A%40%00%FF%25", "percent-encoding");
	buf_reset(&b);
	buf_percent(&b, str_make("/a\n\"/?\0", 7), "/\"");
	is_view(buf_view(&b), "/a%0A\"/%3F%00", "...but for some");
	buf_percent(&small, STR("ab?"), "");
	is_int(small.err, ERR_LIMIT, "...to the limit");
	buf_free(&b);
	buf_free(&small);
}

/* Of the sanitizers; who has no such hook cannot look into memory that is given back. */
int __sanitizer_install_malloc_and_free_hooks(
	void (*malloc_hook)(const volatile void *, size_t),
	void (*free_hook)(const volatile void *)) __attribute__((weak));

static const volatile char *watched[2];
static bool wiped[2];

static void on_malloc(const volatile void *p, size_t n)
{
	(void)p;
	(void)n;
}

static void on_free(const volatile void *p)
{
	for (size_t i = 0; i < ARRAY_LEN(watched); i++)
		if (p && p == watched[i]) {
			wiped[i] = !watched[i][0] && !watched[i][15];
			watched[i] = NULL;
		}
}

static void test_secret(void)
{
	struct buf b = BUF_SECRET(1 << 20);

	if (!__sanitizer_install_malloc_and_free_hooks) {
		ok(true, "memory that is given back # SKIP no sanitizer");
		return;
	}
	__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
	buf_puts(&b, "a very secret word");
	watched[0] = b.p;
	for (int i = 0; i < 1000; i++)
		buf_fmt(&b, "%s", "more of that");
	ok(!watched[0] && wiped[0], "the memory that became too small is wiped");
	is_mem(b.p, 18, "a very secret word", 18, "what it held has moved");
	watched[1] = b.p;
	buf_free(&b);
	ok(!watched[1] && wiped[1], "and so is the last");
	buf_puts(&b, "another secret word");
	watched[0] = b.p;
	wiped[0] = false;
	buf_free(&b);
	ok(wiped[0], "as often as it is used");
}

int main(void)
{
	test_append();
	test_secret();
	test_limit();
	test_fmt();
	test_percent();
	test_room();
	return done_testing();
}
