#include "inject/engine/engine_time.h"
#include "tests/tap.h"

static const struct {
	const char *text;
	int64_t seconds;
	uint32_t nanos;
	bool good;
} rows[] = {
	{"1970-01-01T00:00:00Z", 0, 0, true},
	{"2026-01-02T03:04:05.678901234Z", 1767323045, 678901234, true},
	{"2026-01-02T03:04:05.5Z", 1767323045, 500000000, true},
	{"2026-01-02T04:04:05+01:00", 1767323045, 0, true},
	{"2026-01-02T02:04:05-01:00", 1767323045, 0, true},
	{"0001-01-01T00:00:00Z", -62135596800, 0, true},
	{"", 0, 0, false},
	{"2026-01-02", 0, 0, false},
	{"2026-01-0xT03:04:05Z", 0, 0, false},
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t seconds = 0;
		uint32_t nanos = 0;
		bool good = engine_time_read(str_c(rows[i].text), &seconds, &nanos);

		is_int(good, rows[i].good, "'%s' is %s", rows[i].text,
			rows[i].good ? "a time" : "no time");
		is_int(seconds, rows[i].seconds, "seconds of '%s'", rows[i].text);
		is_int(nanos, rows[i].nanos, "nanoseconds of '%s'", rows[i].text);
	}
	return done_testing();
}
