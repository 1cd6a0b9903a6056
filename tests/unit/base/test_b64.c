#include "base/b64.h"
#include "tests/tap.h"

#include <stdlib.h>

struct pair {
	struct str plain;
	struct str text;
};

/* RFC 4648 section 10, and bytes that reach both ends of the alphabet. */
static const struct pair pairs[] = {
	{{"", 0}, {"", 0}},
	{{"f", 1}, {"Zg==", 4}},
	{{"fo", 2}, {"Zm8=", 4}},
	{{"foo", 3}, {"Zm9v", 4}},
	{{"foob", 4}, {"Zm9vYg==", 8}},
	{{"fooba", 5}, {"Zm9vYmE=", 8}},
	{{"foobar", 6}, {"Zm9vYmFy", 8}},
	{{"\0\0\0", 3}, {"AAAA", 4}},
	{{"\xff\xff\xff", 3}, {"////", 4}},
	{{"\xfb\xef\xbe", 3}, {"++++", 4}},
};

static const char *const refused[] = {
	"Z",
	"Zg",
	"Zg=",
	"Zg===",
	"=",
	"====",
	"Z===",
	"=Zg=",
	"Zg==Zg==",
	"Zm8=Zm9v",
	"Zg=v",
	"Zh==",
	"Zm9=",
	"Zm 9",
	"Zm9v\n",
	"Zm-_",
	"Zm9*",
	"Zm9\xe9",
	"\0\0\0\0",
};

static void check_pairs(void)
{
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		const struct pair *p = &pairs[i];
		struct buf b = BUF_INIT(64);

		b64_encode(&b, p->plain);
		is_int(b.err, 0, "encoding %zu has room", i);
		is_mem(b.n ? b.p : "", b.n, p->text.p, p->text.n, "encode %s", p->text.p);
		buf_reset(&b);
		is_int(b64_decode(&b, p->text), 0, "decode %s", p->text.p);
		is_mem(b.n ? b.p : "", b.n, p->plain.p, p->plain.n, "decoded %s",
			p->text.p);
		buf_free(&b);
	}
}

static void check_refused(void)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct buf b = BUF_INIT(64);
		size_t n = *refused[i] ? strlen(refused[i]) : 4;

		buf_puts(&b, "kept");
		is_int(b64_decode(&b, str_make(refused[i], n)), ERR_SYNTAX,
			"refuse text %zu", i);
		is_view(buf_view(&b), "kept", "text %zu leaves the buf", i);
		buf_free(&b);
	}
}

/* Every length and every byte there and back, in one piece and in two. */
static void check_round_trip(void)
{
	unsigned char all[256];
	bool good = true, pieces = true;

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)i;
	for (size_t n = 0; n <= sizeof(all); n++) {
		struct str in = {(const char *)all, n};
		struct buf text = BUF_INIT(1024), back = BUF_INIT(1024);
		struct buf two = BUF_INIT(1024);

		b64_encode(&text, in);
		good &= b64_decode(&back, buf_view(&text)) == 0;
		good &= str_eq(buf_view(&back), in) && text.n == (n + 2) / 3 * 4;
		b64_encode(&two, str_make(in.p, n / 2 / 3 * 3));
		b64_encode(&two, str_skip(in, n / 2 / 3 * 3));
		pieces &= str_eq(buf_view(&two), buf_view(&text));
		buf_free(&text);
		buf_free(&back);
		buf_free(&two);
	}
	ok(good, "round trip of every length to 256");
	ok(pieces, "pieces of a multiple of three join");
}

static void check_room(void)
{
	struct buf b = BUF_INIT(7);

	b64_encode(&b, STR("foobar"));
	is_int(b.err, ERR_LIMIT, "no room to encode");
	is_int(b.n, 0, "nothing encoded");
	buf_reset(&b);
	is_int(b64_decode(&b, STR("Zm9vYmFyZm9v")), ERR_LIMIT, "no room to decode");
	is_int(b64_decode(&b, STR("")), ERR_LIMIT, "the failure sticks");
	buf_free(&b);
}

int main(void)
{
	check_pairs();
	check_refused();
	check_round_trip();
	check_room();
	return done_testing();
}
