/*
 * UTF-8 against a decoder by the definition, and the writer's pieces of text
 * against the whole.
 */
#include "base/jw.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>

/* Length of the character at p by bit patterns and ranges alone; 0 for none. */
static size_t defined(const unsigned char *p, size_t n)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} rows[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800},
		{0xf8, 0xf0, 0x10000}};

	for (size_t more = 0; more < ARRAY_LEN(rows); more++) {
		uint32_t cp = p[0] & (unsigned char)~rows[more].mask;

		if ((p[0] & rows[more].mask) != rows[more].lead)
			continue;
		if (more >= n)
			return 0;
		for (size_t i = 1; i <= more; i++) {
			if ((p[i] & 0xc0) != 0x80)
				return 0;
			cp = cp << 6 | (p[i] & 0x3f);
		}
		if (cp < rows[more].least || cp > 0x10ffff || cp >> 11 == 0x1b)
			return 0;
		return more + 1;
	}
	return 0;
}

static size_t defined_prefix(struct str s)
{
	size_t at = 0;

	while (at < s.n) {
		size_t n = defined((const unsigned char *)s.p + at, s.n - at);

		if (!n)
			break;
		at += n;
	}
	return at;
}

static void check_walk(struct str s)
{
	struct str rest = s;
	size_t count = 0;

	while (rest.n) {
		size_t before = rest.n;
		char bytes[4];
		uint32_t cp;

		assert(utf8_offset(s, count) == s.n - rest.n);
		cp = utf8_next(&rest);
		assert(rest.n < before && before - rest.n <= 4);
		if (cp != UTF8_REPLACEMENT)
			assert(utf8_encode(cp, bytes) == before - rest.n &&
				!memcmp(bytes, s.p + s.n - before, before - rest.n));
		if (++count > 64) /* the walk is quadratic */
			return;
	}
	assert(utf8_count(s) == count);
	assert(utf8_offset(s, count) == s.n);
}

static void check_repair(struct str s)
{
	struct buf once = BUF_INIT(1 << 24), twice = BUF_INIT(1 << 24);

	utf8_repair(&once, s);
	utf8_repair(&twice, buf_view(&once));
	assert(!once.err && defined_prefix(buf_view(&once)) == once.n);
	assert(str_eq(buf_view(&once), buf_view(&twice)));
	assert(utf8_count(buf_view(&once)) == utf8_count(s));
	assert(!utf8_is_valid(s) || str_eq(buf_view(&once), s));
	buf_free(&once);
	buf_free(&twice);
}

/* The tail is what more bytes could complete, and nothing else is. */
static void check_tail(struct str s)
{
	size_t tail = utf8_unfinished_length(s);
	struct str end = str_skip(s, s.n - tail);
	char longer[6];
	bool completes = false;

	assert(tail <= 3 && tail <= s.n);
	if (!tail)
		return;
	memcpy(longer, end.p, tail);
	for (int c = 0x80; c < 0xc0 && !completes; c++) {
		memset(longer + tail, 0x80, sizeof(longer) - tail);
		longer[tail] = (char)c;
		completes = defined((unsigned char *)longer, sizeof(longer)) > tail;
	}
	assert(completes && !utf8_is_valid(end));
}

static void check_pieces(struct str s, size_t step)
{
	struct buf whole = BUF_INIT(1 << 24), pieces = BUF_INIT(1 << 24);
	struct jw_text t;
	struct jw w;

	jw_init(&w, &whole);
	jw_str(&w, s);
	jw_init(&w, &pieces);
	jw_text_begin(&t, &w);
	for (size_t i = 0; i < s.n; i += step)
		jw_text_put(&t, str_make(s.p + i, step < s.n - i ? step : s.n - i));
	jw_text_end(&t);
	assert(str_eq(buf_view(&whole), buf_view(&pieces)));
	buf_free(&whole);
	buf_free(&pieces);
}

/* The first byte is the length of the pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *p = malloc(n ? n : 1);
	struct str s;

	assert(p);
	if (n > 1)
		memcpy(p, data + 1, n - 1);
	s = str_make(p, n ? n - 1 : 0);
	p = realloc(p, s.n ? s.n : 1);
	assert(p);
	s.p = p;
	assert(utf8_prefix(s) == defined_prefix(s));
	check_walk(s);
	check_repair(s);
	check_tail(s);
	check_pieces(s, n && data[0] ? data[0] : 1);
	free(p);
	return 0;
}
