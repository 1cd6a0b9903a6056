#include "server/params.h"

#include "codec/http/uri.h"
#include "limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

int params_set_error(struct params *p, const char *name, const char *what)
{
	snprintf(p->error, sizeof(p->error), "%s: %s", name, what);
	return 422;
}

static int params_set_nomem(struct params *p)
{
	snprintf(p->error, sizeof(p->error), "out of memory");
	return 503;
}

int params_parse_body(struct params *p, struct str text)
{
	static const struct json_caps caps = {
		.depth = JSON_DEPTH_MAX,
		.tokens = JSON_TOKENS_MAX,
		.keys = JSON_KEYS_MAX,
	};

	return params_parse_limited(p, text, &caps);
}

int params_parse_limited(struct params *p, struct str text, const struct json_caps *caps)
{
	struct json_error e = {.why = "it is not a JSON object"};
	struct json *doc = arena_alloc(p->arena, sizeof(*doc));
	int r = doc ? json_parse(doc, text, caps, p->arena, &e) : -ENOMEM;

	if (r == -ENOMEM)
		return params_set_nomem(p);
	if (r == 0 && json_type(json_root(doc)) != JSON_OBJECT)
		r = ERR_TYPE;
	if (r < 0) {
		snprintf(p->error, sizeof(p->error), "body: %s (at byte %zu)", e.why,
			e.at);
		return r == ERR_SYNTAX || r == ERR_TYPE ? 422 : 400;
	}
	p->body = json_root(doc);
	return 0;
}

static bool params_is_text(uint8_t type)
{
	return type == PARAM_TEXT || type == PARAM_PATH;
}

/* Finds the text of a parameter. Returns 0; 1: it is absent; or a status. */
static int params_find_text(struct params *p, const struct param *want, struct str *out)
{
	struct json_val v;
	int r;

	if (!p->body.doc) {
		r = uri_query_find(p->query, str_c(want->name), p->arena, out);
		if (r == -ENOMEM)
			return params_set_nomem(p);
		return r < 0 ? params_set_error(p, want->name,
				       "it is given twice or badly encoded")
			     : r;
	}
	v = json_get(p->body, want->name);
	switch (json_type(v)) {
	case JSON_ABSENT:
	case JSON_NULL:
		return 1;
	case JSON_NUMBER:
	case JSON_BOOL:
		*out = json_raw(v);
		return params_is_text(want->type)
			? params_set_error(p, want->name, "it must be a string")
			: 0;
	default:
		r = json_str(v, p->arena, out);
		if (r == -ENOMEM)
			return params_set_nomem(p);
		return r ? params_set_error(p, want->name, "it must be a string") : 0;
	}
}

/* --- Types --------------------------------------------------------------------- */

static int params_set_path(struct params *p, struct str text, struct str *out)
{
	char *path;

	if (str_starts(text, STR("/"))) {
		*out = text;
		return 0;
	}
	path = arena_alloc(p->arena, p->cwd.n + 1 + text.n);
	if (!path)
		return params_set_nomem(p);
	memcpy(path, p->cwd.p, p->cwd.n);
	path[p->cwd.n] = '/';
	memcpy(path + p->cwd.n + 1, text.p, text.n);
	*out = str_make(path, p->cwd.n + 1 + text.n);
	return 0;
}

/* The words that clients of the upload have always used. */
static int params_set_bool(
	struct params *p, const struct param *want, struct str text, bool *out)
{
	static const struct {
		char word[8];
		bool value;
	} words[] = {
		{"true", true},
		{"false", false},
		{"1", true},
		{"0", false},
		{"on", true},
		{"off", false},
		{"yes", true},
		{"no", false},
		{"t", true},
		{"f", false},
		{"y", true},
		{"n", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_eq_nocase(text, str_c(words[i].word))) {
			*out = words[i].value;
			return 0;
		}
	return params_set_error(p, want->name, "it must be true or false");
}

static int params_set_number(
	struct params *p, const struct param *want, struct str text, uint64_t *out)
{
	char what[64];

	uint64_t n;

	if (str_u64(text, want->max, &n) == 0 && n >= want->min) {
		*out = n;
		return 0;
	}
	snprintf(what, sizeof(what), "it must be a number from %" PRIu32 " to %" PRIu64,
		want->min, want->max);
	return params_set_error(p, want->name, what);
}

static int params_set_choice(
	struct params *p, const struct param *want, struct str text, unsigned *out)
{
	char what[96];
	int n;

	for (unsigned i = 0; want->words[i]; i++)
		if (str_eq(text, str_c(want->words[i]))) {
			*out = i;
			return 0;
		}
	n = snprintf(what, sizeof(what), "it must be one of");
	for (unsigned i = 0; want->words[i] && n < (int)sizeof(what); i++)
		n += snprintf(what + n, sizeof(what) - (size_t)n, "%s %s", i ? "," : "",
			want->words[i]);
	return params_set_error(p, want->name, what);
}

static int params_set_value(
	struct params *p, const struct param *want, struct str text, void *at)
{
	switch ((enum param_type)want->type) {
	case PARAM_TEXT:
		*(struct str *)at = text;
		return 0;
	case PARAM_PATH:
		return params_set_path(p, text, at);
	case PARAM_BOOL:
		return params_set_bool(p, want, text, at);
	case PARAM_NUMBER:
		return params_set_number(p, want, text, at);
	case PARAM_CHOICE:
		return params_set_choice(p, want, text, at);
	}
	return 0;
}

int params_read(struct params *p, const struct param *table, size_t n, void *out)
{
	for (const struct param *want = table; want < table + n; want++) {
		struct str text;
		int r = params_find_text(p, want, &text);

		if (r == 0 && want->type == PARAM_PATH && !text.n)
			r = 1;
		if (r == 0)
			r = params_set_value(p, want, text, (char *)out + want->at);
		if (r == 1 && want->required)
			r = params_set_error(p, want->name, "it is required");
		if (r > 1)
			return r;
	}
	return 0;
}
