/*
 * What a plugin sends: the same lines whether the bytes come at once or cut in two. What
 * they hold is read as a reply to an action and to a request; an observation that is made
 * of one is JSON, and so is an argument that lost its blanks.
 */
#include "base/lines.h"
#include "codec/plugin_frame.h"
#include "limits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static const struct json_caps caps = {JSON_DEPTH_MAX, JSON_TOKENS_MAX, JSON_KEYS_MAX};

static void check_json(struct str text)
{
	struct json_error e;
	size_t tokens;
	int r = json_check(text, &caps, &tokens, &e);

	assert(r == 0 || r == ERR_LIMIT || r == ERR_DEPTH);
	assert(str_find_byte(text, '\n') == text.n);
}

static void read_frame(struct str line)
{
	struct buf out = BUF_INIT(PLUGIN_FRAME_MAX * 6);
	struct plugin_answer an;
	struct plugin_frame f;
	struct arena arena;
	const char *why = NULL;
	struct jw w;
	int r;

	arena_init(&arena, PLUGIN_JSON_MAX);
	r = plugin_frame_read(&f, line, &arena, &why);
	assert(r != ERR_SYNTAX || why);
	if (r == 0) {
		if (plugin_frame_put_observation(f.root, "kind", &arena, &out, &why) == 0)
			assert(out.n && !out.err);
		else
			assert(!out.n);
		if (plugin_answer_read(&an, f.root, &arena, &why) == 0)
			assert(an.status >= 200 && an.status < 600);
		buf_free(&an.body);
		r = plugin_piece_read(&an, f.root, &arena, &why);
		assert(r == 0 || r == ERR_SYNTAX || r == -ENOMEM);
		buf_free(&an.body);
		buf_reset(&out);
		jw_init(&w, &out);
		r = plugin_json_write(&w, json_raw(f.root), &arena);
		assert(r == 0);
		check_json(buf_view(&out));
	}
	buf_reset(&out);
	jw_init(&w, &out);
	jw_object(&w);
	plugin_body_write(&w, line);
	jw_end(&w);
	check_json(buf_view(&out));
	buf_free(&out);
	arena_reset(&arena);
}

static void feed(struct lines *l, struct str in, struct buf *seen)
{
	struct str line;
	int r;

	while ((r = lines_next(l, &in, &line)) == 0) {
		buf_str(seen, line);
		buf_putc(seen, '\n');
		read_frame(line);
	}
	assert(r > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf once = BUF_INIT(1 << 20), cut = BUF_INIT(1 << 20);
	struct lines l;
	size_t at;
	char *exact;

	if (n == 0 || n > 4096)
		return 0;
	at = p[0] * (n - 1) / 256;
	exact = malloc(n);
	assert(exact);
	memcpy(exact, p + 1, n - 1);
	lines_init(&l, PLUGIN_FRAME_MAX - 1);
	feed(&l, str_make(exact, n - 1), &once);
	lines_free(&l);
	lines_init(&l, PLUGIN_FRAME_MAX - 1);
	feed(&l, str_make(exact, at), &cut);
	feed(&l, str_make(exact + at, n - 1 - at), &cut);
	lines_free(&l);
	assert(str_eq(buf_view(&once), buf_view(&cut)));
	buf_free(&once);
	buf_free(&cut);
	free(exact);
	return 0;
}
