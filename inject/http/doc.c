#include "inject/http/doc.h"

#include "limits.h"

int doc_parse(struct doc *d, struct str text)
{
	static const struct json_caps caps = {
		.depth = JSON_DEPTH_MAX,
		.tokens = INJECT_TOKENS_MAX,
		.keys = INJECT_KEYS_MAX,
	};
	struct json_error e;
	int r;

	*d = (struct doc){0};
	arena_init(&d->arena, INJECT_ARENA_MAX);
	r = json_parse(&d->json, text, &caps, &d->arena, &e);
	if (r)
		doc_free(d);
	return r;
}

void doc_free(struct doc *d)
{
	/* The document may have contained a login. */
	arena_wipe(&d->arena);
	d->json = (struct json){0};
}

struct json_val doc_root(const struct doc *d)
{
	return json_root(&d->json);
}

struct str doc_str(struct doc *d, struct json_val v)
{
	struct str s = {0};

	return json_str(v, &d->arena, &s) ? str_make(NULL, 0) : s;
}

int64_t doc_int(struct json_val v, int64_t other)
{
	int64_t n;

	return json_i64(v, &n) ? other : n;
}

uint64_t doc_uint(struct json_val v, uint64_t max)
{
	int64_t n = doc_int(v, 0);

	return n >= 0 && (uint64_t)n <= max ? (uint64_t)n : 0;
}

bool doc_true(struct json_val v)
{
	bool b;

	return json_bool(v, &b) == 0 && b;
}
