#include "base/buf.h"
#include "base/json.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "limits.h"

#include <assert.h>

/* The tokens that may start at the next non-blank byte. */
enum expect {
	VALUE,
	FIRST_VALUE, /* or the end of the array */
	KEY,
	FIRST_KEY, /* or the end of the object */
	/* A comma or the end of the innermost open container. */
	AFTER,
};

struct key {
	uint64_t hash; /* of the decoded text */
	uint32_t at;   /* where the inside starts in the text */
	uint32_t n;
};

struct level {
	bool object;
	size_t first_key; /* index of the object's first key in check.keys */
};

struct check {
	const char *start;
	const char *p;
	const char *end;
	const struct json_caps *caps;
	struct json_error *e;
	size_t tokens;
	struct buf keys; /* struct key of all open objects, the innermost's last */
	size_t depth;
	struct level level[JSON_DEPTH_MAX];
};

static int json_check_fail(struct check *c, int err, const char *why)
{
	*c->e = (struct json_error){(size_t)(c->p - c->start), why};
	return err;
}

static int json_check_escape(struct check *c)
{
	size_t left = (size_t)(c->end - c->p);
	int unit;

	if (left >= 2 && c->p[1] && strchr("\"\\/bfnrt", c->p[1])) {
		c->p += 2;
		return 0;
	}
	unit = left >= 6 && c->p[1] == 'u' ? json_parse_hex4(c->p + 2) : -1;
	if (unit < 0)
		return json_check_fail(
			c, ERR_SYNTAX, "unknown or unfinished escape in a string");
	if (json_is_low_surrogate(unit))
		return json_check_fail(
			c, ERR_UTF8, "second half of a surrogate pair alone");
	if (json_is_high_surrogate(unit)) {
		if (left < 12 || c->p[6] != '\\' || c->p[7] != 'u' ||
			!json_is_low_surrogate(json_parse_hex4(c->p + 8)))
			return json_check_fail(
				c, ERR_UTF8, "first half of a surrogate pair alone");
		c->p += 6;
	}
	c->p += 6;
	return 0;
}

/* Checks a string with its quotes; *inside is the text between them. */
static int json_check_string(struct check *c, struct str *inside)
{
	const char *first = ++c->p;
	size_t valid;

	for (;;) {
		int r;

		c->p += json_plain_length(str_make(c->p, (size_t)(c->end - c->p)));
		if (c->p == c->end)
			return json_check_fail(
				c, ERR_SYNTAX, "string without a closing quote");
		if (*c->p == '"')
			break;
		if (*c->p != '\\')
			return json_check_fail(c, ERR_SYNTAX,
				"control character in a string; it must be escaped");
		r = json_check_escape(c);
		if (r)
			return r;
	}
	*inside = str_make(first, (size_t)(c->p - first));
	valid = utf8_prefix(*inside);
	if (valid < inside->n) {
		c->p = first + valid;
		return json_check_fail(c, ERR_UTF8, "invalid UTF-8");
	}
	c->p++;
	return 0;
}

static bool json_check_is_digit(const struct check *c)
{
	return c->p < c->end && *c->p >= '0' && *c->p <= '9';
}

static int json_check_digits(struct check *c)
{
	if (!json_check_is_digit(c))
		return json_check_fail(c, ERR_SYNTAX, "digit expected");
	while (json_check_is_digit(c))
		c->p++;
	return 0;
}

static int json_check_number(struct check *c)
{
	int r = 0;

	if (*c->p == '-')
		c->p++;
	/* No other digit may follow a leading zero; AFTER will refuse it. */
	if (c->p < c->end && *c->p == '0')
		c->p++;
	else
		r = json_check_digits(c);
	if (!r && c->p < c->end && *c->p == '.') {
		c->p++;
		r = json_check_digits(c);
	}
	if (!r && c->p < c->end && (*c->p == 'e' || *c->p == 'E')) {
		c->p++;
		if (c->p < c->end && (*c->p == '+' || *c->p == '-'))
			c->p++;
		r = json_check_digits(c);
	}
	return r;
}

static int json_check_keyword(struct check *c, struct str want)
{
	if (!str_starts(str_make(c->p, (size_t)(c->end - c->p)), want))
		return json_check_fail(
			c, ERR_SYNTAX, "only true, false and null are words");
	c->p += want.n;
	return 0;
}

static int json_check_count_token(struct check *c)
{
	if (c->tokens >= c->caps->tokens)
		return json_check_fail(c, ERR_LIMIT, "too many values and keys");
	c->tokens++;
	return 0;
}

static int json_check_open(struct check *c, bool object)
{
	if (c->depth >= c->caps->depth)
		return json_check_fail(c, ERR_DEPTH, "nested too deeply");
	c->level[c->depth++] = (struct level){
		.object = object,
		.first_key = c->keys.n / sizeof(struct key),
	};
	c->p++;
	return object ? FIRST_KEY : FIRST_VALUE;
}

static int json_check_value(struct check *c)
{
	struct str inside;
	int r = json_check_count_token(c);

	if (r)
		return r;
	switch (*c->p) {
	case '{':
		return json_check_open(c, true);
	case '[':
		return json_check_open(c, false);
	case '"':
		r = json_check_string(c, &inside);
		break;
	case 't':
		r = json_check_keyword(c, STR("true"));
		break;
	case 'f':
		r = json_check_keyword(c, STR("false"));
		break;
	case 'n':
		r = json_check_keyword(c, STR("null"));
		break;
	default:
		if (*c->p != '-' && !json_check_is_digit(c))
			return json_check_fail(c, ERR_SYNTAX,
				"value expected: object, array, string in double "
				"quotes, number, true, false or null");
		r = json_check_number(c);
	}
	return r ? r : AFTER;
}

/* FNV-1a: keys can be made to collide, which only costs json_check_compare_keys time. */
static uint64_t json_check_hash_key(struct str inside)
{
	uint64_t h = 0xcbf29ce484222325;
	char out[4];

	while (inside.n) {
		struct str s = json_decode_next(&inside, out);

		for (size_t i = 0; i < s.n; i++)
			h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3;
	}
	return h;
}

static int json_check_compare_keys(
	const char *text, const struct key *a, const struct key *b)
{
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return json_compare(str_make(text + a->at, a->n), str_make(text + b->at, b->n));
}

/* Shell's sort, gaps of Knuth: short, and quick enough for any order. */
static void json_check_sort_keys(const char *text, struct key *k, size_t n)
{
	size_t gap = 1;

	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap; gap /= 3) {
		for (size_t i = gap; i < n; i++) {
			struct key moving = k[i];
			size_t j = i;

			for (; j >= gap &&
				json_check_compare_keys(text, &k[j - gap], &moving) > 0;
				j -= gap)
				k[j] = k[j - gap];
			k[j] = moving;
		}
	}
}

/* The number of keys of the innermost object so far. */
static size_t json_check_count_keys(const struct check *c)
{
	return c->keys.n / sizeof(struct key) - c->level[c->depth - 1].first_key;
}

/* Looks for equal keys in the innermost object and forgets its keys. */
static int json_check_unique_keys(struct check *c)
{
	size_t first = c->level[c->depth - 1].first_key;
	size_t n = json_check_count_keys(c);
	struct key *k;

	if (!n)
		return 0;
	k = (struct key *)(void *)c->keys.p + first;
	json_check_sort_keys(c->start, k, n);
	for (size_t i = 1; i < n; i++) {
		if (json_check_compare_keys(c->start, &k[i - 1], &k[i]) == 0) {
			c->p = c->start + (k[i].at > k[i - 1].at ? k[i].at : k[i - 1].at);
			return json_check_fail(
				c, ERR_DUPLICATE, "the key is given twice");
		}
	}
	c->keys.n = first * sizeof(struct key);
	return 0;
}

static int json_check_close(struct check *c)
{
	int r = 0;

	if (c->level[c->depth - 1].object)
		r = json_check_unique_keys(c);
	if (r)
		return r;
	c->depth--;
	c->p++;
	return AFTER;
}

static void json_check_skip_blanks(struct check *c)
{
	while (c->p < c->end &&
		(*c->p == ' ' || *c->p == '\n' || *c->p == '\r' || *c->p == '\t'))
		c->p++;
}

static int json_check_add_key(struct check *c, struct str inside)
{
	struct key k = {
		.hash = json_check_hash_key(inside),
		.at = (uint32_t)(inside.p - c->start),
		.n = (uint32_t)inside.n,
	};

	buf_put(&c->keys, &k, sizeof(k));
	if (c->keys.err)
		return json_check_fail(c, c->keys.err, "out of memory");
	return 0;
}

static int json_check_key(struct check *c)
{
	struct str inside;
	int r;

	if (*c->p != '"')
		return json_check_fail(
			c, ERR_SYNTAX, "key expected: a string in double quotes");
	if (json_check_count_keys(c) >= c->caps->keys)
		return json_check_fail(c, ERR_LIMIT, "too many keys in one object");
	r = json_check_count_token(c);
	if (!r)
		r = json_check_string(c, &inside);
	if (!r)
		r = json_check_add_key(c, inside);
	if (r)
		return r;
	json_check_skip_blanks(c);
	if (c->p == c->end || *c->p != ':')
		return json_check_fail(c, ERR_SYNTAX, "colon expected after the key");
	c->p++;
	return VALUE;
}

static int json_check_first_key(struct check *c)
{
	return *c->p == '}' ? json_check_close(c) : json_check_key(c);
}

static int json_check_first_value(struct check *c)
{
	return *c->p == ']' ? json_check_close(c) : json_check_value(c);
}

static int json_check_separator(struct check *c)
{
	bool object;

	if (!c->depth)
		return json_check_fail(
			c, ERR_SYNTAX, "the text continues after the value");
	object = c->level[c->depth - 1].object;
	if (*c->p == ',') {
		c->p++;
		return object ? KEY : VALUE;
	}
	if (*c->p == (object ? '}' : ']'))
		return json_check_close(c);
	return json_check_fail(c, ERR_SYNTAX,
		object ? "a comma or } is missing" : "a comma or ] is missing");
}

static int json_check_text(struct check *c)
{
	static int (*const step[])(struct check *) = {
		[VALUE] = json_check_value,
		[FIRST_VALUE] = json_check_first_value,
		[KEY] = json_check_key,
		[FIRST_KEY] = json_check_first_key,
		[AFTER] = json_check_separator,
	};
	int expect = VALUE;

	for (json_check_skip_blanks(c); c->p < c->end; json_check_skip_blanks(c)) {
		expect = step[expect](c);
		if (expect < 0)
			return expect;
	}
	if (expect != AFTER || c->depth)
		return json_check_fail(c, ERR_SYNTAX, "the text ends too early");
	return 0;
}

int json_check(struct str text, const struct json_caps *caps, size_t *tokens,
	struct json_error *e)
{
	struct check c = {
		.start = text.p,
		.p = text.p,
		.end = text.n ? text.p + text.n : text.p,
		.caps = caps,
		.e = e,
		.keys = BUF_INIT(caps->tokens * sizeof(struct key)),
	};
	int r;

	assert(caps->depth <= JSON_DEPTH_MAX && caps->tokens <= INT32_MAX);
	if (text.n > INT32_MAX) /* jsmn counts bytes in int */
		return json_check_fail(&c, ERR_LIMIT, "the text is too long");
	if (str_starts(text, STR("\xef\xbb\xbf")))
		return json_check_fail(&c, ERR_SYNTAX, "byte order mark before the text");
	r = json_check_text(&c);
	buf_free(&c.keys);
	if (!r)
		*tokens = c.tokens;
	return r;
}
