/* What a cell shows beyond texts and pictures. */
#include "kernel/rich.h"

#include "limits.h"
#include "tests/tap.h"

#include <stdlib.h>

static struct arena arena;
static struct buf out = BUF_INIT(2 * CELL_RICH_MAX);

static void put(struct rich *r, struct str text, bool texts)
{
	static const struct json_caps caps = {64, 1000, 100};
	static struct json doc;
	struct json_error e = {.why = ""};

	if (json_parse(&doc, text, &caps, &arena, &e))
		ok(false, "JSON: %s", e.why);
	else
		rich_put(r, json_root(&doc), texts ? &arena : NULL);
}

static struct str written(const struct rich *r)
{
	struct jw w;

	buf_reset(&out);
	jw_init(&w, &out);
	jw_object(&w);
	rich_write(r, &w);
	jw_end(&w);
	return buf_view(&out);
}

static void test_members(void)
{
	struct rich r;

	rich_init(&r);
	is_view(written(&r), "{\"outputs\":[],\"left_out\":0}", "nothing");
	put(&r, STR("{\"text/plain\":\"x\",\"image/png\":\"y\"}"), false);
	is_view(written(&r), "{\"outputs\":[],\"left_out\":0}",
		"what the observation has");
	put(&r,
		STR("{\"text/plain\":\"x\",\"text/"
		    "html\":\"<b>\\u00e9\",\"a\":{\"b\":[1]}}"),
		false);
	put(&r, STR("{\"x/json\":\"{}\"}"), false);
	is_view(written(&r),
		"{\"outputs\":[{\"text/html\":\"<b>\\u00e9\",\"a\":{\"b\":[1]}},"
		"{\"x/json\":\"{}\"}],\"left_out\":0}",
		"the others, as they are");
	rich_free(&r);
	put(&r, STR("{\"x/json\":\"{\\\"a\\\":[1,2]}\",\"y/json\":\"{\",\"z\":\"{}\"}"),
		true);
	is_view(written(&r),
		"{\"outputs\":[{\"x/json\":{\"a\":[1,2]},\"y/json\":\"{\",\"z\":\"{}\"}],"
		"\"left_out\":0}",
		"JSON in texts, where it is any");
	rich_free(&r);
}

static void test_much(void)
{
	size_t n = CELL_RICH_MAX / 2 + 1;
	char *text = malloc(n + 16);
	struct rich r, moved;

	rich_init(&r);
	rich_init(&moved);
	if (!text) {
		ok(false, "memory");
		return;
	}
	memcpy(text, "{\"a\":\"", 6);
	memset(text + 6, 'x', n);
	memcpy(text + 6 + n, "\"}", 2);
	put(&r, str_make(text, n + 8), false);
	put(&r, str_make(text, n + 8), false);
	put(&r, STR("{\"b\":1}"), false);
	is_int(r.left_out, 1, "what is too much is counted");
	ok(str_ends(written(&r), STR("x\"},{\"b\":1}],\"left_out\":1}")),
		"and what follows is there");
	rich_move(&moved, &r);
	is_int(r.list.n, 0, "moved away");
	is_int(moved.left_out, 1, "with the count");
	is_int(r.left_out, 0, "which begins anew");
	rich_move(&moved, &r);
	is_view(written(&moved), "{\"outputs\":[],\"left_out\":0}", "and forgotten");
	rich_free(&r);
	rich_free(&moved);
	free(text);
}

int main(void)
{
	arena_init(&arena, 4 * CELL_RICH_MAX);
	test_members();
	test_much();
	arena_reset(&arena);
	buf_free(&out);
	return done_testing();
}
