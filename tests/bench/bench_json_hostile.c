/*
 * The cost per byte of hostile JSON bodies, and of writing a large observation.
 * Prints one line per body; fails above 20 ns per byte read or 40 written.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/jw.h"
#include "limits.h"

#include <stdio.h>

enum { BODY_MAX = 8 << 20, ARENA_MAX = 16 << 20, ROUNDS = 5 };
enum { READ_NS_MAX = 20, WRITE_NS_MAX = 40 };

/* head, then n times unit with sep between, then tail; %d in unit is a counter. */
struct body {
	const char *name;
	const char *head;
	const char *unit;
	const char *sep;
	const char *tail;
	int n;
	int numbered; /* unit is a format for its number */
};

static const char deep64[] =
	"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
	"[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";

static const struct body bodies[] = {
	{"100,000 open brackets", "", "[", "", "", 100000, 0},
	{"brackets 64 deep", "[", deep64, ",", "]", 310, 0},
	{"19,999 empty arrays", "[", "[]", ",", "]", 19999, 0},
	{"19,999 numbers", "[", "0", ",", "]", 19999, 0},
	{"200,000 empty arrays", "[", "[]", ",", "]", 200000, 0},
	{"200,000 pairs", "{", "\"%d\":0", ",", "}", 200000, 1},
	{"1,000,000 commas", "[", ",", "", "]", 1000000, 0},
	{"8 MB plain string", "[\"", "abcdefghijklmnop", "", "\"]", 500000, 0},
	{"8 MB three-byte characters", "[\"", "\xe4\xb8\xad", "", "\"]", 2700000, 0},
	{"8 MB two-byte characters", "[\"", "\xc3\xa9", "", "\"]", 4000000, 0},
	{"8 MB mixed text", "[\"", "a\xe4\xb8\xad\\n", "", "\"]", 1300000, 0},
	{"8 MB short escapes", "[\"", "\\n", "", "\"]", 4000000, 0},
	{"8 MB long escapes", "[\"", "\\u0041", "", "\"]", 1300000, 0},
	{"8 MB escaped pairs", "[\"", "\\ud83d\\ude00", "", "\"]", 660000, 0},
	{"8 MB escaped key", "{\"", "\\n", "", "\":0}", 4000000, 0},
	{"8 MB key", "{\"", "abcdefghijklmnop", "", "\":0}", 500000, 0},
	{"8 MB blanks", "[", " ", "", "]", 8000000, 0},
	{"8 MB digits", "[", "1", "", "]", 8000000, 0},
};

static void build(struct buf *b, const struct body *body)
{
	buf_reset(b);
	buf_puts(b, body->head);
	for (int i = 0; i < body->n; i++) {
		if (i)
			buf_puts(b, body->sep);
		if (body->numbered)
			buf_fmt(b, "\"%d\":0", i);
		else
			buf_puts(b, body->unit);
	}
	buf_puts(b, body->tail);
}

/* As many full objects of short keys as the caps allow. */
static void build_many_keys(struct buf *b, int nested)
{
	buf_reset(b);
	buf_putc(b, '[');
	for (int o = 0; o < 70; o++) {
		buf_puts(b, o ? ",{" : "{");
		for (int k = 0; k < JSON_KEYS_MAX; k++)
			buf_fmt(b, "%s\"%x\":%s", k ? "," : "", k, nested ? "{}" : "0");
		buf_putc(b, '}');
	}
	buf_putc(b, ']');
}

/* Long keys that differ in their last character only. */
static void build_long_keys(struct buf *b, const char *unit, int n)
{
	buf_reset(b);
	buf_putc(b, '{');
	for (int k = 0; k < JSON_KEYS_MAX; k++) {
		buf_puts(b, k ? ",\"" : "\"");
		for (int i = 0; i < n; i++)
			buf_puts(b, unit);
		buf_fmt(b, "%02x\":0", k);
	}
	buf_putc(b, '}');
}

/* Objects in objects, each key a level. */
static void build_deep_objects(struct buf *b)
{
	buf_reset(b);
	buf_putc(b, '[');
	for (int o = 0; o < 150; o++) {
		buf_puts(b, o ? "," : "");
		for (int d = 1; d < JSON_DEPTH_MAX; d++)
			buf_puts(b, "{\"\":");
		buf_puts(b, "0");
		for (int d = 1; d < JSON_DEPTH_MAX; d++)
			buf_putc(b, '}');
	}
	buf_putc(b, ']');
}

static int measure(const char *name, struct str text)
{
	static const struct json_caps caps = {
		JSON_DEPTH_MAX, JSON_TOKENS_MAX, JSON_KEYS_MAX};
	uint64_t best = UINT64_MAX, check_best = UINT64_MAX;
	double per_byte, check_per_byte;
	struct json_error e;
	struct json j;
	struct arena a;
	size_t tokens;
	int r = 0, rounds = text.n < 1 << 20 ? 100 * ROUNDS : ROUNDS;

	arena_init(&a, ARENA_MAX);
	for (int i = 0; i < rounds; i++) {
		uint64_t start = clock_us(), t;

		r = json_check(text, &caps, &tokens, &e);
		t = clock_us() - start;
		check_best = t < check_best ? t : check_best;
		start = clock_us();
		r = json_parse(&j, text, &caps, &a, &e);
		arena_reset(&a);
		t = clock_us() - start;
		best = t < best ? t : best;
	}
	per_byte = (double)best * 1000 / (double)text.n;
	check_per_byte = (double)check_best * 1000 / (double)text.n;
	printf("%-30s %8zu bytes %8.3f ms  %6.2f ns/byte (check alone %5.2f)  %s\n", name,
		text.n, (double)best / 1000, per_byte, check_per_byte,
		r ? e.why : "accepted");
	return per_byte > READ_NS_MAX;
}

/* A 30 KB observation as a command's output makes it. */
static int measure_writer(const char *name, const char *line)
{
	struct buf text = BUF_INIT(BODY_MAX), out = BUF_INIT(BODY_MAX);
	uint64_t start;
	double per_byte;

	while (text.n < 30000)
		buf_puts(&text, line);
	start = clock_us();
	for (int i = 0; i < 1000; i++) {
		struct jw w;

		buf_reset(&out);
		jw_init(&w, &out);
		jw_str(&w, buf_view(&text));
	}
	per_byte = (double)(clock_us() - start) / (double)text.n;
	printf("write %-24s %8zu bytes %8.3f ms  %6.2f ns/byte\n", name, text.n,
		per_byte * (double)text.n / 1e6, per_byte);
	buf_free(&text);
	buf_free(&out);
	return per_byte > WRITE_NS_MAX;
}

int main(void)
{
	struct buf b = BUF_INIT(2 * BODY_MAX);
	int slow = 0;

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		build(&b, &bodies[i]);
		slow += measure(bodies[i].name, buf_view(&b));
	}
	build_many_keys(&b, 0);
	slow += measure("objects of 128 keys", buf_view(&b));
	build_many_keys(&b, 1);
	slow += measure("the same with empty objects", buf_view(&b));
	build_long_keys(&b, "abcdefghijklmnop", 4000);
	slow += measure("128 long keys, one prefix", buf_view(&b));
	build_long_keys(&b, "\\n", 30000);
	slow += measure("the same escaped", buf_view(&b));
	build_deep_objects(&b);
	slow += measure("objects 64 deep", buf_view(&b));
	slow += measure_writer("plain lines",
		"-rw-r--r-- 1 root root 12345 Jan  1 00:00 some_file_name.txt\n");
	slow += measure_writer("colours",
		"\x1b[31merror\x1b[0m: \"it\" said \xe2\x80\x98no\xe2\x80\x99\n");
	slow += measure_writer("three-byte characters", "\xe4\xb8\xad\xe6\x96\x87");
	slow += measure_writer("line ends", "\n");
	slow += measure_writer("bytes that are no UTF-8", "\xff");
	buf_free(&b);
	return slow ? 1 : 0;
}
