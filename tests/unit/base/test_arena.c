#include "base/arena.h"

#include "tests/tap.h"

#include <stdalign.h>

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static bool zeroed(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static void test_pieces(void)
{
	struct arena a;
	bool aligned = true, zero = true;
	char *pieces[200];

	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		pieces[i] = arena_alloc(&a, i + 1);
		if (!pieces[i])
			break;
		aligned = aligned && (uintptr_t)pieces[i] % alignof(max_align_t) == 0;
		zero = zero && zeroed(pieces[i], i + 1);
		memset(pieces[i], (int)i, i + 1);
	}
	ok(aligned, "pieces are aligned");
	ok(zero, "pieces are zeroed");
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
		zero = zero && pieces[i][0] == (char)i && pieces[i][i] == (char)i;
	ok(zero, "pieces do not overlap");
	arena_reset(&a);
	is_int(a.used, 0, "reset gives all back");
	pieces[0] = arena_alloc(&a, 100000);
	ok(pieces[0] && zeroed(pieces[0], 100000), "a piece larger than a chunk");
	pieces[1] = arena_alloc(&a, 0);
	ok(pieces[1], "a piece of nothing has an address");
	arena_reset(&a);
	arena_reset(&a);
}

static void test_rewind(void)
{
	struct arena a;
	char *p;

	arena_init(&a, 20000);
	arena_rewind(&a);
	p = arena_alloc(&a, 4000);
	if (p)
		memset(p, 'x', 4000);
	ok(p && arena_alloc(&a, 4000), "two chunks");
	arena_rewind(&a);
	is_int(a.used, 0, "rewind gives all back");
	p = arena_alloc(&a, 4000);
	ok(p && zeroed(p, 4000), "the chunk that is kept is zeroed");
	arena_rewind(&a);
	ok(arena_alloc(&a, 20000), "the whole cap is there again");
	arena_rewind(&a);
	ok(!a.head, "a large chunk is not kept");
	arena_reset(&a);
}

static void test_limit(void)
{
	struct arena a;

	arena_init(&a, 64);
	ok(arena_alloc(&a, 64), "the maximum itself");
	ok(!arena_alloc(&a, 1), "not a byte more");
	arena_reset(&a);
	ok(arena_alloc(&a, 1), "room again after a reset");
	ok(!arena_alloc(&a, 64), "a piece that no longer fits");
	ok(arena_alloc(&a, 48), "a smaller one does");
	arena_reset(&a);
	arena_init(&a, 60);
	ok(!arena_alloc(&a, 57), "alignment counts");
	arena_init(&a, SIZE_MAX);
	ok(!arena_alloc(&a, SIZE_MAX), "a size that alignment would overflow");
	ok(!arena_alloc(&a, (size_t)1 << 56), "memory that nobody has");
	ok(!arena_array(&a, SIZE_MAX / 2, 3), "a product that overflows");
	ok(arena_array(&a, 10, 10), "an array");
	arena_reset(&a);
}

static void test_cstr(void)
{
	struct arena a;
	char *c;

	arena_init(&a, 1000);
	is_str(arena_cstr(&a, STR("text")), "text", "a C string");
	is_str(arena_cstr(&a, str_c(NULL)), "", "an empty one");
	c = arena_cstr(&a, STR("a\0b"));
	is_mem(c, 4, "a\0b", 4, "NUL inside is kept");
	ok(!arena_cstr(&a, str_make("x", 2000)), "too long a string");
	ok(!arena_cstr(&a, str_make("x", SIZE_MAX)), "a length that overflows");
	arena_reset(&a);
}

int main(void)
{
	test_pieces();
	test_rewind();
	test_limit();
	test_cstr();
	return done_testing();
}
