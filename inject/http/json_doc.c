#include "inject/http/json_doc.h"

#include "limits.h"

enum {
	INJECT_TOKENS_MAX = 2 << 20, /* 20 bytes each */
	INJECT_KEYS_MAX = 4096,      /* labels of one image are one object */
};

int json_doc_parse(struct json_doc *d, struct str text)
{
	static const struct json_caps caps = {
		.depth = JSON_DEPTH_MAX,
		.tokens = INJECT_TOKENS_MAX,
		.keys = INJECT_KEYS_MAX,
	};
	struct json_error e;
	int r;

	*d = (struct json_doc){0};
	arena_init(&d->arena, INJECT_ARENA_MAX);
	r = json_parse(&d->json, text, &caps, &d->arena, &e);
	if (r)
		json_doc_free(d);
	return r;
}

void json_doc_free(struct json_doc *d)
{
	/* The document may have contained a login. */
	arena_wipe(&d->arena);
	d->json = (struct json){0};
}

struct json_val json_doc_root(const struct json_doc *d)
{
	return json_root(&d->json);
}

struct str json_doc_str(struct json_doc *d, struct json_val v)
{
	struct str s = {0};

	return json_str(v, &d->arena, &s) ? str_make(NULL, 0) : s;
}

int64_t json_doc_int(struct json_val v, int64_t other)
{
	int64_t n;

	return json_i64(v, &n) ? other : n;
}

uint64_t json_doc_uint(struct json_val v, uint64_t max)
{
	int64_t n = json_doc_int(v, 0);

	return n >= 0 && (uint64_t)n <= max ? (uint64_t)n : 0;
}

bool json_doc_is_true(struct json_val v)
{
	bool b;

	return json_bool(v, &b) == 0 && b;
}
