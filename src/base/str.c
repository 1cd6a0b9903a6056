#include "base/str.h"

static char str_lower_char(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool str_eq_nocase(struct str a, struct str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (str_lower_char(a.p[i]) != str_lower_char(b.p[i]))
			return false;
	return true;
}

bool str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n && str_eq(str_make(s.p, prefix.n), prefix);
}

bool str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n && str_eq(str_skip(s, s.n - suffix.n), suffix);
}

size_t str_find_byte(struct str s, char c)
{
	const char *hit = s.n ? memchr(s.p, c, s.n) : NULL;

	return hit ? (size_t)(hit - s.p) : s.n;
}

size_t str_count(struct str s, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == c;
	return n;
}

size_t str_find(struct str s, struct str needle)
{
	const char *hit;

	if (needle.n == 0)
		return 0;
	if (s.n < needle.n)
		return s.n;
	hit = memmem(s.p, s.n, needle.p, needle.n);
	return hit ? (size_t)(hit - s.p) : s.n;
}

struct str str_skip(struct str s, size_t n)
{
	if (n == 0 || s.n == 0)
		return s;
	return n >= s.n ? str_make(s.p + s.n, 0) : str_make(s.p + n, s.n - n);
}

struct str str_trim(struct str s, const char *set)
{
	size_t set_n = strlen(set);

	while (s.n && memchr(set, s.p[0], set_n))
		s = str_skip(s, 1);
	while (s.n && memchr(set, s.p[s.n - 1], set_n))
		s.n--;
	return s;
}

struct str str_cut(struct str *rest, char sep)
{
	size_t at = str_find_byte(*rest, sep);
	struct str head = str_make(rest->p, at);

	*rest = str_skip(*rest, at < rest->n ? at + 1 : at);
	return head;
}

int str_u64(struct str s, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (s.n == 0)
		return ERR_SYNTAX;
	for (size_t i = 0; i < s.n; i++) {
		unsigned digit = (unsigned char)s.p[i] - '0';

		if (digit > 9)
			return ERR_SYNTAX;
		if (v > (UINT64_MAX - digit) / 10)
			return ERR_RANGE;
		v = v * 10 + digit;
	}
	if (v > max)
		return ERR_RANGE;
	*out = v;
	return 0;
}

int str_i64(struct str s, int64_t *out)
{
	bool minus = str_starts(s, STR("-"));
	uint64_t v;
	int r;

	if (minus || str_starts(s, STR("+")))
		s = str_skip(s, 1);
	r = str_u64(s, (uint64_t)INT64_MAX + minus, &v);
	if (r < 0)
		return r;
	*out = v > INT64_MAX ? INT64_MIN : minus ? -(int64_t)v : (int64_t)v;
	return 0;
}
