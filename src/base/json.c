#include "base/json.h"

#include "base/float.h"
#include "base/json_text.h"

#include <assert.h>
#include <errno.h>

#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

int json_parse(struct json *j, struct str text, const struct json_caps *caps,
	struct arena *a, struct json_error *e)
{
	jsmn_parser parser;
	jsmntok_t *index;
	struct str root;
	size_t tokens;
	int n, r;

	r = json_check(text, caps, &tokens, e);
	if (r)
		return r;
	root = str_trim(text, " \t\r\n");
	if (root.p[0] != '{' && root.p[0] != '[') {
		*e = (struct json_error){(size_t)(root.p - text.p),
			"the text must be an object or an array"};
		return ERR_TYPE;
	}
	index = arena_array(a, tokens, sizeof(*index));
	if (!index) {
		*e = (struct json_error){0, "out of memory"};
		return -ENOMEM;
	}
	jsmn_init(&parser);
	n = jsmn_parse(&parser, root.p, root.n, index, (unsigned)tokens);
	assert(n >= 0 && (size_t)n == tokens);
	*j = (struct json){root, index, n};
	return 0;
}

static const struct json_val absent = {NULL, -1};

static const jsmntok_t *json_get_token(struct json_val v)
{
	return v.at < 0 ? NULL : (const jsmntok_t *)v.doc->index + v.at;
}

struct json_val json_root(const struct json *j)
{
	return (struct json_val){j, 0};
}

enum json_type json_type(struct json_val v)
{
	const jsmntok_t *t = json_get_token(v);

	if (!t)
		return JSON_ABSENT;
	if (t->type == JSMN_OBJECT)
		return JSON_OBJECT;
	if (t->type == JSMN_ARRAY)
		return JSON_ARRAY;
	if (t->type == JSMN_STRING)
		return JSON_STRING;
	switch (v.doc->text.p[t->start]) {
	case 'n':
		return JSON_NULL;
	case 't':
	case 'f':
		return JSON_BOOL;
	default:
		return JSON_NUMBER;
	}
}

static bool json_is_container(struct json_val v)
{
	enum json_type type = json_type(v);

	return type == JSON_ARRAY || type == JSON_OBJECT;
}

size_t json_count(struct json_val v)
{
	return json_is_container(v) ? (size_t)json_get_token(v)->size : 0;
}

/* The index of the first token after v and all tokens inside v. */
static int json_next_index(struct json_val v)
{
	int end = json_get_token(v)->end;

	do
		v.at++;
	while (v.at < v.doc->n && json_get_token(v)->start < end);
	return v.at;
}

bool json_next(
	struct json_val container, int *it, struct json_val *key, struct json_val *value)
{
	struct json_val v = {container.doc, *it ? *it : container.at + 1};

	if (!json_is_container(container))
		return false;
	if (v.at >= v.doc->n ||
		json_get_token(v)->start >= json_get_token(container)->end)
		return false;
	if (json_type(container) == JSON_OBJECT) {
		if (key)
			*key = v;
		v.at++;
	}
	*value = v;
	*it = json_next_index(v);
	return true;
}

static struct str json_token_text(struct json_val v)
{
	const jsmntok_t *t = json_get_token(v);

	return str_make(v.doc->text.p + t->start, (size_t)(t->end - t->start));
}

struct json_val json_get(struct json_val object, const char *key)
{
	struct json_val k, v;
	int it = 0;

	if (json_type(object) != JSON_OBJECT)
		return absent;
	while (json_next(object, &it, &k, &v))
		if (json_text_equals(json_token_text(k), str_c(key)))
			return v;
	return absent;
}

struct str json_raw(struct json_val v)
{
	struct str s = {0};

	if (v.at < 0)
		return s;
	s = json_token_text(v);
	return json_type(v) == JSON_STRING ? str_make(s.p - 1, s.n + 2) : s;
}

struct str json_raw_content(struct json_val v)
{
	return json_type(v) == JSON_STRING ? json_token_text(v) : str_make("", 0);
}

int json_str(struct json_val v, struct arena *a, struct str *out)
{
	struct str s, p;
	char *copy, part[4];
	size_t n = 0;

	if (json_type(v) != JSON_STRING)
		return ERR_TYPE;
	s = json_token_text(v);
	if (str_find_byte(s, '\\') == s.n) {
		*out = s;
		return 0;
	}
	copy = arena_alloc(a, s.n); /* no escape is shorter than its meaning */
	if (!copy)
		return -ENOMEM;
	while (s.n) {
		p = json_decode_next(&s, part);
		memcpy(copy + n, p.p, p.n);
		n += p.n;
	}
	*out = str_make(copy, n);
	return 0;
}

int json_bool(struct json_val v, bool *out)
{
	if (json_type(v) != JSON_BOOL)
		return ERR_TYPE;
	*out = *json_token_text(v).p == 't';
	return 0;
}

/* The exponent, limited to 2^40: no text has enough digits to make up for more. */
static int64_t json_parse_exponent(struct str s)
{
	bool negative = str_starts(s, STR("-"));
	int64_t v = 0;

	if (negative || str_starts(s, STR("+")))
		s = str_skip(s, 1);
	for (; s.n && v < (int64_t)1 << 40; s = str_skip(s, 1))
		v = v * 10 + (s.p[0] - '0');
	return negative ? -v : v;
}

/*
 * The absolute value of a number without its sign, exactly. The digits before the decimal
 * point, after the exponent has moved it, must all fit; the digits behind it must all be
 * zero.
 */
static int json_parse_magnitude(struct str s, uint64_t *out)
{
	size_t mark = str_find_byte(s, 'e');
	struct str whole, fraction;
	int64_t places;
	uint64_t v = 0;

	if (mark == s.n)
		mark = str_find_byte(s, 'E');
	fraction = str_make(s.p, mark);
	whole = str_cut(&fraction, '.');
	places = (int64_t)whole.n + json_parse_exponent(str_skip(s, mark + 1));
	for (size_t i = 0; i < whole.n + fraction.n; i++) {
		char c = i < whole.n ? whole.p[i] : fraction.p[i - whole.n];
		unsigned digit = (unsigned)(c - '0');

		if ((int64_t)i >= places) {
			if (digit)
				return ERR_TYPE;
		} else if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, digit, &v)) {
			return ERR_RANGE;
		}
	}
	for (int64_t i = (int64_t)(whole.n + fraction.n); v && i < places; i++)
		if (__builtin_mul_overflow(v, 10, &v))
			return ERR_RANGE;
	*out = v;
	return 0;
}

int json_i64(struct json_val v, int64_t *out)
{
	struct str s;
	bool negative;
	uint64_t n;
	int r;

	if (json_type(v) != JSON_NUMBER)
		return ERR_TYPE;
	s = json_token_text(v);
	negative = str_starts(s, STR("-"));
	r = json_parse_magnitude(str_skip(s, negative), &n);
	if (r)
		return r;
	if (n > (uint64_t)INT64_MAX + negative)
		return ERR_RANGE;
	*out = negative ? (int64_t)(0 - n) : (int64_t)n;
	return 0;
}

int json_double(struct json_val v, double *out)
{
	if (json_type(v) != JSON_NUMBER)
		return ERR_TYPE;
	/*
	 * strtod reads no further than the number: at least the closing bracket of the
	 * root follows it.
	 */
	return float_read(json_token_text(v).p, out);
}
