/*
 * A snapshot and trees of any content: what is made of them is JSON again, or text, or
 * refused; and no line of a tree is printed twice.
 */
#include "browser/observe/axtree.h"
#include "browser/observe/text.h"
#include "limits.h"

#include "base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_caps caps = {JSON_DEPTH_MAX, JSON_TOKENS_MAX, 1000};
enum { ARENA_MAX = 32 << 20, OUT_MAX = 16 << 20 };

static void check_json(const struct buf *out)
{
	struct json_error e;
	size_t tokens;
	int r;

	if (out->err)
		return;
	r = json_check(
		buf_view(out), &(struct json_caps){64, 1 << 20, 1 << 20}, &tokens, &e);
	assert(!r || r == ERR_DUPLICATE);
}

static void check_trees(struct json_val frames, const struct props *p, struct arena *a)
{
	struct buf out = BUF_INIT(OUT_MAX);
	struct json_val frame;
	struct axtree t;
	struct jw w;
	size_t at = 0;
	int it = 0, r = 0;

	axtree_init(&t, a);
	while (!r && json_next(frames, &it, NULL, &frame))
		r = axtree_add_frame(&t, t.n ? STR("b") : STR("a"), frame);
	assert(!r || r == ERR_TYPE || r == ERR_RANGE || r == -ENOMEM);
	if (r)
		return;
	while (axtree_next_owner(&t, &at))
		axtree_attach_frame(&t, at, at % 3 ? STR("b") : STR("a"));
	for (int i = 0; i < 4; i++) {
		struct axtree_view view = {i & 1, i & 2, i & 2 ? 5 : 0};

		buf_reset(&out);
		r = axtree_print(&t, p, &view, &out);
		assert(!r || r == ERR_TYPE || r == ERR_LIMIT || r == -ENOMEM);
		assert(r || utf8_is_valid(buf_view(&out)));
	}
	buf_reset(&out);
	jw_init(&w, &out);
	if (!axtree_write(&t, &w))
		check_json(&out);
	buf_free(&out);
}

static void check_snapshot(const struct snapshot *s, struct arena *a)
{
	struct buf out = BUF_INIT(OUT_MAX);
	int r = page_text_print(s, &out, a);

	assert(!r || r == -ENOMEM || r == ERR_LIMIT);
	assert(r || utf8_is_valid(buf_view(&out)));
	assert(r || !out.n || out.p[out.n - 1] == '\n');
	buf_free(&out);
}

static void check(struct json_val root, struct arena *a)
{
	struct buf out = BUF_INIT(OUT_MAX);
	struct props p = {0};
	struct snapshot s;
	struct jw w;

	if (!snapshot_read(&s, json_get(root, "snapshot"), a)) {
		check_snapshot(&s, a);
		if (props_read(&p, &s, a))
			p = (struct props){0};
		jw_init(&w, &out);
		props_write(&p, &w);
		check_json(&out);
	}
	check_trees(json_get(root, "frames"), &p, a);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_error e;
	struct arena a;
	struct json doc;
	char *p = malloc(size ? size : 1);

	assert(p);
	memcpy(p, data, size);
	arena_init(&a, ARENA_MAX);
	if (!json_parse(&doc, str_make(p, size), &caps, &a, &e))
		check(json_root(&doc), &a);
	arena_reset(&a);
	free(p);
	return 0;
}
