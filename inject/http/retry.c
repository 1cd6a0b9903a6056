#include "inject/http/retry.h"

#include "base/backoff.h"
#include "limits.h"

#include <stdio.h>
#include <time.h>

enum {
	TRIES_MAX = 5,         /* of one request */
	PAUSE_MS = 500,        /* upper bound of the first pause */
	PAUSE_MAX_MS = 8000,   /* upper bound of a pause without Retry-After */
	AFTER_MAX_MS = 30000,  /* the longest Retry-After that is waited for */
	WAITED_MAX_MS = 60000, /* all pauses of one registry in a command */
	SPREAD_MS = 1000,      /* random addition to Retry-After, which many receive */
	DATE_MAX = 64,
};

bool retry_is_temporary(unsigned status)
{
	return status == 429 || (status >= 502 && status <= 504);
}

static bool retry_is_safe(enum retry_kind kind, unsigned status)
{
	if (kind == RETRY_READ)
		return retry_is_temporary(status);
	/* A server that answers 429 or 503 did not execute the request. */
	return status == 429 || (kind == RETRY_REPEAT && status == 503);
}

/* Retry-After as seconds or as a date (RFC 9110 section 10.2.3), in ms; 0: none. */
static uint64_t retry_read_after(struct str after, int64_t now)
{
	char text[DATE_MAX];
	struct tm tm = {0};
	uint64_t seconds;
	const char *end;
	int64_t then;

	after = str_trim(after, " \t");
	if (str_u64(after, UINT32_MAX, &seconds) == 0)
		return seconds * 1000;
	if (after.n == 0 || after.n >= sizeof(text))
		return 0;
	snprintf(text, sizeof(text), "%.*s", STR_ARG(after));
	end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	then = end && !*end ? (int64_t)timegm(&tm) : now;
	return then > now ? (uint64_t)(then - now) * 1000 : 0;
}

bool retry_pause(struct retry *r, enum retry_kind kind, unsigned status, struct str after,
	int64_t now, uint32_t jitter, uint64_t *ms)
{
	uint64_t named = retry_read_after(after, now);

	if (!retry_is_safe(kind, status) || ++r->tries >= TRIES_MAX ||
		named > AFTER_MAX_MS)
		return false;
	r->pause = backoff(r->pause, PAUSE_MS, PAUSE_MAX_MS);
	*ms = named ? named + jitter % SPREAD_MS : jitter % (r->pause + 1);
	if (r->waited + *ms > WAITED_MAX_MS)
		return false;
	r->waited += *ms;
	return true;
}
