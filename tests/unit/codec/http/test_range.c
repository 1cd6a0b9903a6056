#include "codec/http/range.h"
#include "tests/tap.h"

static const struct {
	const char *field;
	int want;
	uint64_t size, from, n;
} rows[] = {
	{"bytes=0-0", 0, 10, 0, 1},
	{"bytes=0-9", 0, 10, 0, 10},
	{"bytes=0-10", 0, 10, 0, 10},
	{"bytes=3-", 0, 10, 3, 7},
	{"bytes=9-", 0, 10, 9, 1},
	{"bytes=2-9223372036854775807", 0, 10, 2, 8},
	{"bytes=-1", 0, 10, 9, 1},
	{"bytes=-10", 0, 10, 0, 10},
	{"bytes=-11", 0, 10, 0, 10},
	{"bytes=10-", ERR_RANGE, 10, 0, 0},
	{"bytes=10-11", ERR_RANGE, 10, 0, 0},
	{"bytes=-0", ERR_RANGE, 10, 0, 0},
	{"bytes=0-", ERR_RANGE, 0, 0, 0},
	{"bytes=0-0", ERR_RANGE, 0, 0, 0},
	{"bytes=-1", ERR_RANGE, 0, 0, 0},
	{"", 1, 10, 0, 0},
	{"bytes", 1, 10, 0, 0},
	{"bytes=", 1, 10, 0, 0},
	{"bytes=-", 1, 10, 0, 0},
	{"bytes=5", 1, 10, 0, 0},
	{"bytes=5-4", 1, 10, 0, 0},
	{"bytes=0-1,3-4", 1, 10, 0, 0},
	{"bytes=a-4", 1, 10, 0, 0},
	{"bytes=1-b", 1, 10, 0, 0},
	{"bytes=1--2", 1, 10, 0, 0},
	{"bytes=9223372036854775808-", 1, 10, 0, 0},
	{"lines=0-1", 1, 10, 0, 0},
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct range r = {77, 77};
		int got = range_read(str_c(rows[i].field), rows[i].size, &r);

		is_int(got, rows[i].want, "%s of %d", rows[i].field, (int)rows[i].size);
		if (got)
			ok(r.from == 77 && r.n == 77, "out is untouched");
		else
			ok(r.from == rows[i].from && r.n == rows[i].n, "the bytes");
	}
	return done_testing();
}
