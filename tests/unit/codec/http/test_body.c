#include "base/buf.h"
#include "codec/http/body.h"
#include "tests/tap.h"

#include <stdlib.h>

struct row {
	int result;       /* of the last call */
	const char *data; /* decoded */
	size_t left;      /* bytes behind the body */
	const char *p;
	size_t n;
};

#define ROW(result, data, left, text) \
	{ \
		(result), (data), (left), (text), sizeof(text) - 1 \
	}
#define BAD(text) ROW(ERR_SYNTAX, NULL, 0, text)
#define EXT16 "aaaaaaaaaaaaaaaa"
#define EXT64 EXT16 EXT16 EXT16 EXT16

static const struct row rows[] = {
	ROW(0, "", 0, "0\r\n\r\n"),
	ROW(0, "", 3, "0\r\n\r\nGET"),
	ROW(0, "hello", 0, "5\r\nhello\r\n0\r\n\r\n"),
	ROW(0, "hello world", 0, "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"),
	ROW(0, "0123456789abcdef", 0, "10\r\n0123456789abcdef\r\n0\r\n\r\n"),
	ROW(0, "0123456789", 0, "a\r\n0123456789\r\n000\r\n\r\n"),
	ROW(0, "0123456789", 0, "0000000A\r\n0123456789\r\n00000000\r\n\r\n"),
	ROW(0, "\r\n0\r\n", 0, "5\r\n\r\n0\r\n\r\n0\r\n\r\n"),
	ROW(0, "x", 0, "1;\r\nx\r\n0\r\n\r\n"),
	ROW(0, "x", 0, "1;a=b;c=\"d e\"\r\nx\r\n0;z\r\n\r\n"),
	ROW(0, "x", 0, "1;" EXT64 "\r\nx\r\n0\r\n\r\n"),
	ROW(0, "x", 0, "1\r\nx\r\n0\r\nA: b\r\nC:\t\xff\r\n\r\n"),
	ROW(1, "", 0, ""),
	ROW(1, "", 0, "5"),
	ROW(1, "", 0, "5\r"),
	ROW(1, "hel", 0, "5\r\nhel"),
	ROW(1, "hello", 0, "5\r\nhello\r\n"),
	ROW(1, "hello", 0, "5\r\nhello\r\n0\r\n"),
	ROW(1, "hello", 0, "5\r\nhello\r\n0\r\n\r"),
	ROW(1, "", 0, "ffffffff\r\n"),
	BAD("\r\n"),
	BAD("g\r\n"),
	BAD("-1\r\n"),
	BAD("+1\r\nx"),
	BAD(" 1\r\nx"),
	BAD("1 \r\nx"),
	BAD("1\t\r\nx"),
	BAD("1 ;a\r\nx"),
	BAD("0x1\r\nx"),
	BAD("1_0\r\nx"),
	BAD("1\nx\r\n0\r\n\r\n"),
	BAD("1\r\r\nx"),
	BAD("1\rx"),
	BAD("1\r\nx\n0\r\n\r\n"),
	BAD("1\r\nx0\r\n\r\n"),
	BAD("1\r\nxy\r\n"),
	BAD("1\r\nx\r0\r\n"),
	BAD("1\r\nx\r\n\r\n"),
	BAD("1;a\nx\r\n"),
	BAD("1;a\x01\r\nx"),
	BAD("1;a\0\r\nx"),
	BAD("1;a\rb\r\nx"),
	BAD("1;a\x7f\r\nx"),
	BAD("1;" EXT64 "a\r\nx"),
	BAD("100000000\r\n"),
	BAD("000000001\r\nx"),
	BAD("ffffffffffffffff\r\n"),
	BAD("10000000000000001\r\nx"),
	BAD("0\n\n"),
	BAD("0\r\n\n"),
	BAD("0\r\n\rX"),
	BAD("0\r\n A: b\r\n\r\n"),
	BAD("0\r\nA\r\n\r\n"),
	BAD("0\r\nA : b\r\n\r\n"),
	BAD("0\r\n: b\r\n\r\n"),
	BAD("0\r\nA: b\n\r\n"),
	BAD("0\r\nA: \0\r\n\r\n"),
	BAD("0\r\nA: b\rc\r\n\r\n"),
};

/* Feeds the bytes [from, to) from memory that ends with them; appends the data. */
static int feed(struct body *b, const char *p, size_t n, struct buf *data, size_t *left)
{
	char *copy = malloc(n ? n : 1);
	struct str in, piece;
	int r;

	if (n)
		memcpy(copy, p, n);
	in = str_make(copy, n);
	do {
		r = body_next(b, &in, &piece);
		if (r >= 0)
			buf_str(data, piece);
	} while (r == 1 && in.n);
	*left = in.n;
	free(copy);
	return r;
}

/* Cuts the input at a and at b. */
static bool same(const struct row *row, size_t a, size_t b)
{
	size_t cuts[] = {0, a, b, row->n}, left = 0;
	struct buf data = BUF_INIT(1 << 20);
	struct body body;
	int r = 1;
	bool good;

	body_init(&body, HTTP_CHUNKED, 0);
	for (size_t i = 0; i < 3 && r == 1; i++) {
		r = feed(&body, row->p + cuts[i], cuts[i + 1] - cuts[i], &data, &left);
		left += row->n - cuts[i + 1];
	}
	good = r == row->result;
	if (r >= 0)
		good = good && str_eq(buf_view(&data), str_c(row->data)) &&
			(r == 1 || left == row->left);
	buf_free(&data);
	return good;
}

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		size_t a = 0, b = 0;
		bool good = true;

		for (a = 0; a <= r->n && good; a++)
			for (b = a; b <= r->n && good; b++)
				good = same(r, a, b);
		if (!ok(good, "chunks %zu, whole and at each two splits", i)) {
			printf("# cut at %zu and %zu\n", a - 1, b - 1);
			tap_bytes("input", r->p, r->n);
		}
	}
}

static void test_bytewise(void)
{
	static const char text[] = "5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n";
	struct buf data = BUF_INIT(100);
	struct body b;
	size_t left, i;
	int r = 1;

	body_init(&b, HTTP_CHUNKED, 0);
	for (i = 0; i < sizeof(text) - 1 && r == 1; i++)
		r = feed(&b, text + i, 1, &data, &left);
	is_int(r, 0, "byte by byte");
	is_int((long long)i, sizeof(text) - 1, "not complete before its last byte");
	is_view(buf_view(&data), "hello!", "data");
	buf_free(&data);
}

/* Each byte in the place of the size, of the CR and of the LF. */
static void test_sweep(void)
{
	unsigned wrong = 0;

	for (unsigned c = 0; c < 256; c++) {
		char size[] = {(char)c, '\r', '\n'};
		char cr[] = {'1', (char)c, '\n'};
		char lf[] = {'1', '\r', (char)c};
		bool digit = c && strchr("0123456789abcdefABCDEF", (int)c);
		struct buf data = BUF_INIT(100);
		struct body b;
		size_t left;

		body_init(&b, HTTP_CHUNKED, 0);
		wrong += (feed(&b, size, 3, &data, &left) == 1) != digit;
		body_init(&b, HTTP_CHUNKED, 0);
		wrong += (feed(&b, cr, 3, &data, &left) == 1) !=
			(digit ? false : c == '\r');
		body_init(&b, HTTP_CHUNKED, 0);
		wrong += (feed(&b, lf, 3, &data, &left) == 1) != (c == '\n');
		buf_free(&data);
	}
	is_int(wrong, 0, "each byte in size, CR and LF");
}

static int repeat(const char *before, const char *text, size_t times)
{
	struct buf data = BUF_INIT(1 << 20);
	struct body b;
	size_t left;
	int r;

	body_init(&b, HTTP_CHUNKED, 0);
	r = feed(&b, before, strlen(before), &data, &left);
	for (size_t i = 0; i < times && r == 1; i++)
		r = feed(&b, text, strlen(text), &data, &left);
	buf_free(&data);
	return r;
}

static void test_limits(void)
{
	is_int(repeat("", "1\r\nx\r\n", 100000), 1, "one-byte chunks are fine");
	is_int(repeat("", "1;" EXT64 "\r\nx\r\n", 200), 1, "some long extensions");
	is_int(repeat("", "1;" EXT64 "\r\nx\r\n", 400), ERR_LIMIT, "too many of them");
	is_int(repeat("0\r\n", "A: b\r\n", HTTP_TRAILER_MAX / 5), 1, "largest trailer");
	is_int(repeat("0\r\n", "A: b\r\n", HTTP_TRAILER_MAX / 5 + 1), ERR_LIMIT,
		"trailer too large");
}

static void test_others(void)
{
	struct buf data = BUF_INIT(100);
	struct body b;
	size_t left;

	body_init(&b, HTTP_NO_BODY, 0);
	is_int(feed(&b, "GET", 3, &data, &left), 0, "no body");
	is_int((long long)left, 3, "takes nothing");

	body_init(&b, HTTP_LENGTH, 5);
	is_int(feed(&b, "he", 2, &data, &left), 1, "part of a length");
	is_int(body_close(&b), ERR_CLOSED, "an early end is an error");
	is_int(feed(&b, "lloGET", 6, &data, &left), 0, "all of it");
	is_int((long long)left, 3, "and no more");
	is_view(buf_view(&data), "hello", "data");
	is_int(body_close(&b), 0, "an end behind it is none");

	body_init(&b, HTTP_LENGTH, 0);
	is_int(feed(&b, "G", 1, &data, &left), 0, "length 0");
	body_init(&b, HTTP_LENGTH, (uint64_t)1 << 53);
	is_int(feed(&b, "G", 1, &data, &left), 1, "largest length");
	is_int((long long)b.left, (1LL << 53) - 1, "its rest");

	buf_reset(&data);
	body_init(&b, HTTP_UNTIL_CLOSE, 0);
	is_int(feed(&b, "a\r\n", 3, &data, &left), 1, "until close");
	is_int(feed(&b, "b", 1, &data, &left), 1, "goes on");
	is_view(buf_view(&data), "a\r\nb", "data");
	is_int(body_close(&b), 0, "the end completes it");

	body_init(&b, HTTP_CHUNKED, 0);
	is_int(feed(&b, "1\r\nx\r\n", 6, &data, &left), 1, "chunks without the last");
	is_int(body_close(&b), ERR_CLOSED, "an early end is an error");
	buf_free(&data);
}

/* What goes past the decoder. */
static void test_passed(void)
{
	struct buf data = BUF_INIT(1000);
	struct body b;
	size_t left;

	body_init(&b, HTTP_CHUNKED, 0);
	is_int(feed(&b, "5\r\nh", 4, &data, &left), 1, "inside of a chunk");
	is_int((long long)body_get_remaining(&b), 0, "nothing is sure");
	body_init(&b, HTTP_UNTIL_CLOSE, 0);
	is_int((long long)body_get_remaining(&b), 0, "nor before a close");
	body_init(&b, HTTP_LENGTH, 10);
	is_int((long long)body_get_remaining(&b), 10, "a length is");
	buf_reset(&data);
	is_int(feed(&b, "ab", 2, &data, &left), 1, "some of it is seen");
	body_skip_data(&b, 5);
	is_int((long long)body_get_remaining(&b), 3, "some passes by");
	is_int((long long)b.data, 7, "all of it counts");
	is_int(feed(&b, "hijG", 4, &data, &left), 0, "the rest completes it");
	is_int((long long)left, 1, "and no more than the rest");
	is_view(buf_view(&data), "abhij", "data");
	body_init(&b, HTTP_LENGTH, 10);
	body_skip_data(&b, 10);
	is_int(b.state, BODY_DONE, "all of it may pass by");
	is_int((long long)body_get_remaining(&b), 0, "then nothing comes");
	buf_free(&data);
}

int main(void)
{
	test_rows();
	test_bytewise();
	test_sweep();
	test_limits();
	test_others();
	test_passed();
	return done_testing();
}
