#include "inject/pin.h"

#include "inject/out.h"
#include "inject/tail.h"
#include "limits.h"
#include "net/tls.h"
#include "net/tls_credentials.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

enum { NANOS = 1000000000 };

/* As engines write it: 2026-01-02T03:04:05.678901234Z, or with +01:00. */
static bool read_time(struct str t, int64_t *seconds, uint32_t *nanos)
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

/* What the runs before this one have written does not count. */
static void point(const struct state *s, char *out, size_t room)
{
	int64_t seconds;
	uint32_t nanos;

	out[0] = '\0';
	if (read_time(str_c(s->ended), &seconds, &nanos) && seconds > 0)
		snprintf(out, room, "%lld.%09u", (long long)seconds, nanos);
}

int pin_learn(const struct engine *e, struct sandbox *s)
{
	struct state *is = &s->state;
	char hex[SHA256_HEX], since[48];
	struct call c;
	int r;

	if (!is->tls || is->pinned)
		return 0;
	point(is, since, sizeof(since));
	/* Engines do not keep the order between the two. */
	r = since[0] ? tail_open(e, is->id, &c, "&since=%s", since)
		     : tail_open(e, is->id, &c, "&tail=all");
	if (!r && c.head.status == 501)
		r = out_fail("leave --tls out, or give the engine a log driver that "
			     "can be read, such as json-file or local",
			"the engine cannot read the log of %s, which tells by what key "
			"it is known",
			is->name);
	else if (!r)
		is->pinned = c.head.status == 200 &&
			tail_find(&c, INJECT_ENGINE_MS, STR(TLS_PIN_IS), hex,
				sizeof(hex)) &&
			hex_decode(str_make(hex, sizeof(hex)), is->pin,
				sizeof(is->pin)) == 0;
	else if (r != -EINTR && r != -ENOMEM)
		r = 1;
	call_close(&c);
	return r ? r : !is->pinned;
}
