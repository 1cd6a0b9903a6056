/*
 * Any bytes as what a sandbox answers, and as an action for one. What people see of an
 * answer is text, harmless on a terminal, with a line for each of its extras and no
 * other; a request that is made is JSON with an action in it.
 */
#include "inject/cli/observation.h"

#include "base/utf8.h"
#include "inject/console/out.h"
#include "inject/options/options.h"
#include "limits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_shown(struct json_val v)
{
	return json_type(v) == JSON_NUMBER || json_type(v) == JSON_BOOL ||
		(json_type(v) == JSON_STRING && json_raw(v).n > 2);
}

/* Of the extras, of which each has a line. */
static size_t count_shown(struct json_val extras)
{
	struct json_val key, v, inner;
	int it = 0;
	size_t n = 0;

	while (json_next(extras, &it, &key, &v)) {
		int inner_it = 0;

		n += is_shown(v);
		while (json_type(v) == JSON_OBJECT &&
			json_next(v, &inner_it, &key, &inner))
			n += is_shown(inner);
	}
	return n;
}

static void check_clean(struct str printed)
{
	struct buf clean = BUF_INIT(4 * (size_t)INJECT_REPLY_MAX);

	out_clean(&clean, printed, true);
	assert(!clean.err && utf8_is_valid(buf_view(&clean)));
	for (size_t i = 0; i < clean.n; i++)
		assert((unsigned char)clean.p[i] >= ' ' || clean.p[i] == '\n' ||
			clean.p[i] == '\t');
	buf_free(&clean);
}

static void show(struct str text)
{
	struct buf out = BUF_INIT(INJECT_REPLY_MAX);
	struct observation ob;
	struct str content;
	size_t lines;

	if (observation_read(&ob, text))
		return;
	(void)observation_is_failure(&ob);
	observation_print(&ob, &out);
	assert(!out.err && utf8_is_valid(buf_view(&out)));
	content = ob.content;
	lines = 1 + count_shown(json_get(json_doc_root(&ob.doc), "extras"));
	if (content.n)
		lines += 1 + str_count(content, '\n') + !str_ends(content, STR("\n"));
	assert(str_count(buf_view(&out), '\n') == lines);
	check_clean(buf_view(&out));
	observation_free(&ob);
	buf_free(&out);
}

static void ask(struct str text)
{
	struct buf out = BUF_INIT(INJECT_REPLY_MAX);
	struct json_doc d;
	int r;

	if (observation_write_request(text, &out) == 0) {
		r = json_doc_parse(&d, buf_view(&out));
		/* The envelope may be one too many. */
		assert(r == 0 || r == ERR_DEPTH || r == ERR_LIMIT || r == -ENOMEM);
		if (!r)
			assert(json_type(json_get(json_doc_root(&d), "action")) ==
				JSON_OBJECT);
		if (!r)
			json_doc_free(&d);
		assert(observation_read_timeout(buf_view(&out)) <= SECONDS_MAX);
	}
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);

	if (size)
		memcpy(copy, data, size);
	show(str_make(copy, size));
	ask(str_make(copy, size));
	free(copy);
	return 0;
}
