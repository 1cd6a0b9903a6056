#include "browser/devtools/pipe.h"

#include "base/json_text.h"
#include "limits.h"

enum { UNIT = 6 }; /* length of an escape with four digits */

void cdp_pipe_init(struct cdp_pipe *p)
{
	buf_init(&p->in, CDP_MESSAGE_MAX + 2 * CDP_READ);
	p->at = p->seen = 0;
	p->cut = false;
}

void cdp_pipe_free(struct cdp_pipe *p)
{
	buf_free(&p->in);
	p->at = p->seen = 0;
	p->cut = false;
}

/* Removes the messages that were taken. The buffer of a large message is freed. */
static void cdp_pipe_compact(struct cdp_pipe *p)
{
	if (p->at == p->in.n && p->in.cap > 4 * CDP_READ)
		buf_free(&p->in);
	else
		buf_consume(&p->in, p->at);
	p->at = 0;
}

int cdp_pipe_put(struct cdp_pipe *p, struct str bytes)
{
	cdp_pipe_compact(p);
	if (p->cut && str_find_byte(buf_view(&p->in), '\0') == p->in.n)
		bytes = str_skip(bytes, str_find_byte(bytes, '\0'));
	buf_str(&p->in, bytes);
	return p->in.err;
}

/* The code unit of an escape such as \u0041 at p; -1 for anything else. */
static int cdp_pipe_parse_unit(const char *p, size_t n)
{
	return n >= UNIT && p[0] == '\\' && p[1] == 'u' ? json_parse_hex4(p + 2) : -1;
}

static void cdp_pipe_fix_surrogates(char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		const char *escape = memchr(p + i, '\\', n - i);
		int first, second;

		if (!escape)
			return;
		i = (size_t)(escape - p);
		first = cdp_pipe_parse_unit(p + i, n - i);
		if (first < 0) {
			i += 2;
			continue;
		}
		second = n - i > UNIT ? cdp_pipe_parse_unit(p + i + UNIT, n - i - UNIT)
				      : -1;
		if (json_is_high_surrogate(first) && json_is_low_surrogate(second)) {
			i += 2 * UNIT;
			continue;
		}
		if (json_is_high_surrogate(first) || json_is_low_surrogate(first))
			memcpy(p + i + 2, "fffd", 4);
		i += UNIT;
	}
}

int cdp_pipe_next(struct cdp_pipe *p, struct str *message)
{
	struct str rest = str_skip(buf_view(&p->in), p->at);
	size_t n = p->seen + str_find_byte(str_skip(rest, p->seen), '\0');
	bool cut = p->cut;

	if (n == rest.n && n > CDP_MESSAGE_MAX) {
		p->cut = true;
		p->in.n = p->at + CDP_HEAD;
		n = rest.n = CDP_HEAD;
	}
	if (n == rest.n) {
		p->seen = n;
		return 1;
	}
	if (!cut && n > CDP_MESSAGE_MAX) {
		*message = str_make(rest.p, CDP_HEAD);
		cut = true;
	} else {
		*message = str_make(rest.p, n);
		cdp_pipe_fix_surrogates(p->in.p + p->at, n);
	}
	p->at += n + 1;
	p->seen = 0;
	p->cut = false;
	return cut ? ERR_LIMIT : 0;
}
