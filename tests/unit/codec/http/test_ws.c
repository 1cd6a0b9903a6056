#include "base/utf8.h"
#include "codec/http/ws.h"
#include "tests/tap.h"

#include <stdlib.h>

/* What came of some bytes: "text:abc. ping:x " and the like, pieces put together. */
static char seen[4096];
static size_t seen_n;
static char text[1 << 17];
static size_t text_n;

static const char *name_of(unsigned op)
{
	switch (op) {
	case WS_TEXT:
		return "text";
	case WS_BINARY:
		return "binary";
	case WS_CLOSE:
		return "close";
	case WS_PING:
		return "ping";
	default:
		return "pong";
	}
}

static void note(const struct ws_event *e)
{
	bool message = e->op == WS_TEXT || e->op == WS_BINARY;

	if (message) {
		memcpy(text + text_n, e->data.p, e->data.n);
		text_n += e->data.n;
		if (!e->last)
			return;
	}
	seen_n += (size_t)snprintf(
		seen + seen_n, sizeof(seen) - seen_n, "%s", name_of(e->op));
	if (e->op == WS_CLOSE)
		seen_n += (size_t)snprintf(
			seen + seen_n, sizeof(seen) - seen_n, "=%u", e->code);
	seen_n += (size_t)snprintf(seen + seen_n, sizeof(seen) - seen_n, ":%.*s ",
		(int)(message ? text_n : e->data.n), message ? text : e->data.p);
	if (message)
		text_n = 0;
}

/* Feeds pieces of at most step bytes, each in memory of its own size. */
static int feed(struct ws *w, struct str s, size_t step)
{
	int r = 1;

	seen_n = text_n = 0;
	seen[0] = '\0';
	while (s.n) {
		size_t n = s.n < step ? s.n : step;
		char *copy = malloc(n), *at = copy;
		struct ws_event e;
		size_t left = n;

		memcpy(copy, s.p, n);
		while ((r = ws_next(w, &at, &left, &e)) == 0)
			note(&e);
		free(copy);
		s = str_skip(s, n);
		if (r < 0)
			break;
	}
	return r;
}

/* --- What a client gets, unmasked ----------------------------------------------- */

struct row {
	int r;
	unsigned code;
	const char *seen;
	const char *p;
	size_t n;
};

#define ROW(r, code, seen, bytes) \
	{ \
		r, code, seen, bytes, sizeof(bytes) - 1 \
	}
#define OK(seen, bytes) ROW(1, 0, seen, bytes)
#define BAD(seen, bytes) ROW(ERR_SYNTAX, WS_PROTOCOL, seen, bytes)
#define BAD_TEXT(bytes) ROW(ERR_UTF8, WS_BAD_TEXT, "", bytes)
#define X25 "xxxxxxxxxxxxxxxxxxxxxxxxx"
#define X125 X25 X25 X25 X25 X25

static const struct row rows[] = {
	OK("", ""),
	OK("text:Hello ", "\x81\x05Hello"),
	OK("text: ", "\x81\0"),
	OK("binary: ", "\x82\0"),
	OK("text:Hello ", "\x01\x03Hel\x80\x02lo"),
	OK("text:Hello ", "\x01\x03Hel\0\0\x80\x02lo"),
	OK("text:abc ",
		"\x01\x01"
		"a\0\x01"
		"b\x80\x01"
		"c"),
	OK("text: ", "\x01\0\x80\0"),
	OK("ping:Hello ", "\x89\x05Hello"),
	OK("ping: pong: ", "\x89\0\x8a\0"),
	OK("ping:" X125 " ", "\x89\x7d" X125),
	OK("ping:p text:Hello ", "\x01\x03Hel\x89\x01p\x80\x02lo"),
	OK("text:" X125 "x ", "\x81\x7e\0\x7e" X125 "x"),
	OK("text:\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 ",
		"\x81\x09\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
	OK("text:\xc3\xa4\xe2\x82\xac ", "\x01\x01\xc3\0\x02\xa4\xe2\x80\x02\x82\xac"),
	OK("text:\xf4\x8f\xbf\xbf\xed\x9f\xbf ", "\x81\x07\xf4\x8f\xbf\xbf\xed\x9f\xbf"),
	OK("binary:\xff\xfe ", "\x82\x02\xff\xfe"),
	OK("close=1005: ", "\x88\0"),
	OK("close=1000: ", "\x88\x02\x03\xe8"),
	OK("close=1001:bye ",
		"\x88\x05\x03\xe9"
		"bye"),
	OK("close=3000: ", "\x88\x02\x0b\xb8"),
	OK("close=4999: ", "\x88\x02\x13\x87"),
	OK("close=1014: ", "\x88\x02\x03\xf6"),
	OK("close=1000: ", "\x88\x02\x03\xe8\x81\x01x"),
	OK("text:a close=1000: ",
		"\x81\x01"
		"a\x88\x02\x03\xe8"),
	/* Reserved bits and ops. */
	BAD("", "\xc1\x05Hello"),
	BAD("", "\xa1\0"),
	BAD("", "\x91\0"),
	BAD("", "\x83\0"),
	BAD("", "\x87\0"),
	BAD("", "\x8b\0"),
	BAD("", "\x8f\0"),
	BAD("text:a ",
		"\x81\x01"
		"a\x8b\0"),
	/* A server's frames are not masked. */
	BAD("",
		"\x81\x85"
		"1234"),
	/* Control frames: whole and short. */
	BAD("", "\x09\0"),
	BAD("", "\x08\0"),
	BAD("", "\x89\x7e\0\x7e"),
	BAD("", "\x88\x7f"),
	/* A message in pieces. */
	BAD("", "\x80\x01x"),
	BAD("", "\0\x01x"),
	BAD("", "\x01\x01x\x81\x01y"),
	BAD("", "\x01\x01x\x02\x01y"),
	BAD("text:xy ", "\x01\x01x\x80\x01y\x80\x01z"),
	/* Lengths in the shortest form. */
	BAD("", "\x81\x7e\0\x7d"),
	BAD("", "\x81\x7e\0\0"),
	BAD("", "\x81\x7f\0\0\0\0\0\0\xff\xff"),
	BAD("", "\x81\x7f\x80\0\0\0\0\0\0\0"),
	ROW(ERR_LIMIT, WS_TOO_BIG, "", "\x81\x7f\0\0\0\0\0\x01\0\0"),
	ROW(ERR_LIMIT, WS_TOO_BIG, "", "\x82\x7e\x03\xe9"),
	ROW(ERR_LIMIT, WS_TOO_BIG, "", "\x02\x01x\0\x7e\x03\xe8"),
	/* Codes of a close. */
	BAD("", "\x88\x01x"),
	BAD("", "\x88\x02\0\0"),
	BAD("", "\x88\x02\x03\xe7"),
	BAD("", "\x88\x02\x03\xec"),
	BAD("", "\x88\x02\x03\xed"),
	BAD("", "\x88\x02\x03\xee"),
	BAD("", "\x88\x02\x03\xf7"),
	BAD("", "\x88\x02\x07\xd0"),
	BAD("", "\x88\x02\x13\x88"),
	BAD("", "\x88\x02\xff\xff"),
	ROW(ERR_UTF8, WS_BAD_TEXT, "", "\x88\x03\x03\xe8\xff"),
	/* Texts: refused at the byte that cannot be, or for a missing one. */
	BAD_TEXT("\x81\x01\xff"),
	BAD_TEXT("\x81\x01\xc3"),
	BAD_TEXT("\x01\x01\xc3\x80\0"),
	BAD_TEXT("\x01\x02\xc3x"),
	BAD_TEXT("\x81\x02\xc0\x80"),
	BAD_TEXT("\x81\x03\xe0\x9f\xbf"),
	BAD_TEXT("\x81\x03\xed\xa0\x80"),
	BAD_TEXT("\x81\x04\xf0\x8f\xbf\xbf"),
	BAD_TEXT("\x81\x04\xf4\x90\x80\x80"),
	BAD_TEXT("\x81\x04\xf5\x80\x80\x80"),
	BAD_TEXT("\x81\x7e\x01\0\xf4\x90"),
	BAD_TEXT("\x01\x01\xf4\x80\x01\x90"),
};

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		bool same = true;

		for (size_t step = 1; step <= (row->n ? row->n : 1) && same; step++) {
			struct ws w;
			int r;

			ws_init(&w, false, 1000);
			r = feed(&w, str_make(row->p, row->n), step);
			same = r == row->r && w.code == row->code &&
				strcmp(seen, row->seen) == 0;
			if (!same)
				printf("# by %zu: %d %u <%s>\n", step, r, w.code, seen);
		}
		ok(same, "row %zu: %s, however it comes", i, row->seen);
	}
}

/* --- Both ways ------------------------------------------------------------------ */

static void round_trip(size_t n, bool masked)
{
	static char bytes[100000 + WS_HEAD_MAX];
	const uint8_t key[4] = {0x12, 0x00, 0xff, 0x7e};
	struct ws_event e = {0};
	struct ws w;
	char *at = bytes;
	size_t head, left, got = 0;
	bool right = true;
	uint8_t first[WS_HEAD_MAX];

	head = ws_write_head(first, WS_BINARY, true, n, masked ? key : NULL);
	memcpy(bytes, first, head);
	for (size_t i = 0; i < n; i++)
		bytes[head + i] = (char)(i * 7);
	/* In two pieces: the key goes on where it was. */
	if (masked) {
		size_t half = n / 2 + (n > 2);

		ws_mask(bytes + head, half < n ? half : n, key, 0);
		if (half < n)
			ws_mask(bytes + head + half, n - half, key, half);
	}
	ws_init(&w, masked, 1 << 20);
	left = head + n;
	while (!e.last) {
		size_t some = left < 777 ? left : 777, had = some;
		int r = ws_next(&w, &at, &some, &e);

		left -= had - some;
		if (r < 0 || (r == 1 && !left))
			break;
		if (r == 1)
			continue;
		for (size_t i = 0; i < e.data.n; i++)
			right = right && e.data.p[i] == (char)((got + i) * 7);
		got += e.data.n;
	}
	ok(right && e.last && got == n && left == 0, "%zu bytes%s", n,
		masked ? ", masked" : "");
}

static void test_round_trips(void)
{
	static const size_t sizes[] = {0, 1, 3, 8, 125, 126, 127, 65535, 65536, 99999};

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		round_trip(sizes[i], false);
		round_trip(sizes[i], true);
	}
}

static void test_server(void)
{
	struct ws w;

	ws_init(&w, true, 1000);
	is_int(feed(&w, STR("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), 100), 1,
		"a masked frame");
	is_str(seen, "text:Hello ", "as the RFC has it");
	is_int(feed(&w, STR("\x81\x05Hello"), 100), ERR_SYNTAX, "a client has to mask");
	is_int(w.code, WS_PROTOCOL, "is told");
	is_int(feed(&w, STR("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), 100), 1,
		"nothing is taken after that");
	is_str(seen, "", "at all");
}

static void test_close(void)
{
	char out[WS_CONTROL_MAX], reason[200];
	struct str long_one = str_make(reason, sizeof(reason));
	size_t n = ws_write_close(out, WS_GOING_AWAY, STR("bye"));

	is_view(str_make(out, n),
		"\x03\xe9"
		"bye",
		"a close");
	for (size_t i = 0; i < sizeof(reason); i += 2)
		memcpy(reason + i, "\xc3\xa4", 2);
	n = ws_write_close(out, WS_FAILED, long_one);
	is_int((long long)n, 2 + 122, "a long reason is cut between characters");
	ok(utf8_is_valid(str_make(out + 2, n - 2)), "and stays a text");
}

static void test_handshake(void)
{
	struct buf out = BUF_INIT(100);

	ok(ws_is_key(STR("dGhlIHNhbXBsZSBub25jZQ==")), "a key");
	ok(!ws_is_key(STR("dGhlIHNhbXBsZSBub25jZQ=")), "too short");
	ok(!ws_is_key(STR("dGhlIHNhbXBsZSBub25jZXXX")), "18 bytes");
	ok(!ws_is_key(STR("dGhlIHNhbXBsZSBub25j!Q==")), "no base64");
	ok(!ws_is_key(STR("")), "none");
	ws_write_accept(&out, STR("dGhlIHNhbXBsZSBub25jZQ=="));
	is_view(buf_view(&out), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "its answer");
	buf_free(&out);
}

int main(void)
{
	test_rows();
	test_round_trips();
	test_server();
	test_close();
	test_handshake();
	return done_testing();
}
