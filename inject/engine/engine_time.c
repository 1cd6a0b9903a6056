#include "inject/engine/engine_time.h"

#include <time.h>

enum { NANOS = 1000000000 };

bool engine_time_read(struct str t, int64_t *seconds, uint32_t *nanos)
{
	static const struct {
		unsigned char at, n;
	} parts[] = {{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}};
	uint64_t v[ARRAY_LEN(parts)], hours, minutes;
	uint32_t unit = NANOS / 10, fraction = 0;
	struct tm tm = {0};
	int64_t zone = 0;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (t.n < 19 ||
			str_u64(str_make(t.p + parts[i].at, parts[i].n), 9999, &v[i]))
			return false;
	tm.tm_year = (int)v[0] - 1900;
	tm.tm_mon = (int)v[1] - 1;
	tm.tm_mday = (int)v[2];
	tm.tm_hour = (int)v[3];
	tm.tm_min = (int)v[4];
	tm.tm_sec = (int)v[5];
	t = str_skip(t, 19);
	if (str_starts(t, STR(".")))
		t = str_skip(t, 1);
	for (; t.n && t.p[0] >= '0' && t.p[0] <= '9'; unit /= 10, t = str_skip(t, 1))
		fraction += unit * (uint32_t)(t.p[0] - '0');
	if (t.n == 6 && str_u64(str_make(t.p + 1, 2), 99, &hours) == 0 &&
		str_u64(str_make(t.p + 4, 2), 99, &minutes) == 0)
		zone = (t.p[0] == '-' ? -1 : 1) * (int64_t)(hours * 3600 + minutes * 60);
	*seconds = (int64_t)timegm(&tm) - zone;
	*nanos = fraction;
	return true;
}
