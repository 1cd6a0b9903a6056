/*
 * The JSON checker against jsmn and against our own writer. What the checker
 * accepts jsmn must index with the same number of tokens, every accessor must
 * stay within the text, and the document written anew must be JSON again.
 */
#include "base/json.h"
#include "base/jw.h"
#include "limits.h"

#include <assert.h>
#include <stdlib.h>

#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

/* The writer nests less deeply than the reader. */
static const struct json_caps caps = {JW_DEPTH, 2000, JSON_KEYS_MAX};

static bool within(struct str outer, struct str s)
{
	return s.p >= outer.p && s.p + s.n <= outer.p + outer.n;
}

static void write_number(struct jw *w, struct json_val v)
{
	int64_t n;
	double d, d2;
	int r = json_i64(v, &n), r2 = json_double(v, &d2);

	assert(r == 0 || r == ERR_TYPE || r == ERR_RANGE);
	assert(r2 == 0 || r2 == ERR_RANGE);
	if (r == 0) {
		d = (double)n;
		assert(r2 == 0 && d == d2);
		jw_int(w, n);
	} else {
		jw_raw(w, json_raw(v));
	}
}

static void write_scalar(struct jw *w, struct json_val v, struct arena *a)
{
	struct str s;
	bool b;

	switch (json_type(v)) {
	case JSON_NULL:
		jw_null(w);
		break;
	case JSON_BOOL:
		assert(!json_bool(v, &b));
		jw_bool(w, b);
		break;
	case JSON_NUMBER:
		write_number(w, v);
		break;
	default:
		assert(json_type(v) == JSON_STRING && !json_str(v, a, &s));
		jw_str(w, s);
	}
}

/* The key, if it can be a C string; else one that is as good as unique. */
static void write_key(struct jw *w, struct json_val object, struct json_val key,
	struct json_val value, struct arena *a)
{
	char *c;
	struct str s;

	assert(!json_str(key, a, &s));
	c = arena_cstr(a, s);
	assert(c);
	if (memchr(s.p, 0, s.n)) {
		c = arena_cstr(a, json_raw(key));
		assert(c);
	} else {
		assert(json_get(object, c).at == value.at);
	}
	jw_key(w, c);
}

static bool is_container(struct json_val v)
{
	return json_type(v) == JSON_OBJECT || json_type(v) == JSON_ARRAY;
}

static void begin(struct jw *w, struct json_val v)
{
	if (json_type(v) == JSON_OBJECT)
		jw_object(w);
	else
		jw_array(w);
}

/* Copies a document by way of every accessor; returns the number of tokens. */
static size_t copy(struct jw *w, const struct json *j, struct str text, struct arena *a)
{
	struct level {
		struct json_val v;
		int it;
		size_t count;
	} stack[JW_DEPTH] = {{.v = json_root(j)}};
	struct json_val key, v;
	size_t tokens = 1;
	int depth = 1;

	begin(w, stack[0].v);
	while (depth) {
		struct level *top = &stack[depth - 1];

		if (!json_next(top->v, &top->it, &key, &v)) {
			assert(top->count == json_count(top->v));
			jw_end(w);
			depth--;
			continue;
		}
		top->count++;
		tokens++;
		assert(within(text, json_raw(v)));
		if (json_type(top->v) == JSON_OBJECT) {
			assert(within(text, json_raw(key)));
			write_key(w, top->v, key, v, a);
			tokens++;
		}
		if (is_container(v)) {
			begin(w, v);
			stack[depth++] = (struct level){.v = v};
		} else {
			write_scalar(w, v, a);
		}
	}
	return tokens;
}

static void use(struct str text, size_t tokens)
{
	struct buf out = BUF_INIT(64 << 20);
	struct json_error e;
	struct arena a;
	struct json j;
	struct jw w;
	size_t again;
	int r;

	arena_init(&a, 64 << 20);
	jw_init(&w, &out);
	assert(!json_parse(&j, text, &caps, &a, &e));
	assert(copy(&w, &j, text, &a) == tokens);
	assert(!out.err);
	r = json_check(buf_view(&out), &caps, &again, &e);
	/* A key with NUL was replaced by its source, which may be another key. */
	assert(r == ERR_DUPLICATE || (!r && again == tokens));
	buf_free(&out);
	arena_reset(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct json_error e = {0};
	struct str text, root;
	jsmn_parser parser;
	size_t tokens;
	char *p = malloc(n ? n : 1);
	int r;

	assert(p);
	memcpy(p, data, n);
	text = str_make(p, n);
	r = json_check(text, &caps, &tokens, &e);
	root = str_trim(text, " \t\r\n");
	if (r) {
		assert(e.at <= n && e.why);
	} else if (root.p[0] == '{' || root.p[0] == '[') {
		jsmn_init(&parser);
		assert(jsmn_parse(&parser, p, n, NULL, 0) == (int)tokens);
		use(text, tokens);
	}
	free(p);
	return 0;
}
