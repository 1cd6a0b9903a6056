/*
 * A body of any content, as one message or as a list of them: what is read has the parts
 * of its kind, and an answer to it can be read again.
 */
#include "codec/http/jsonrpc.h"
#include "limits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_caps caps = {JSON_DEPTH_MAX, JSON_TOKENS_MAX, JSON_KEYS_MAX};

static void check_answer(struct str id, struct arena *arena)
{
	struct buf out = BUF_INIT(4096);
	struct json_error e;
	struct jsonrpc m;
	struct json doc;
	const char *why;
	int r;

	jsonrpc_write_error(&out, id, JSONRPC_INTERNAL, STR("no"));
	assert(!out.err);
	r = json_parse(&doc, buf_view(&out), &caps, arena, &e);
	if (r == 0)
		r = jsonrpc_read(json_root(&doc), arena, &m, &why);
	assert(r == -ENOMEM || (r == 0 && m.kind == JSONRPC_RESPONSE));
	assert(r || str_eq(m.id, id));
	buf_free(&out);
}

static void check(struct json_val v, struct arena *arena)
{
	const char *why = NULL;
	struct jsonrpc m;
	int r = jsonrpc_read(v, arena, &m, &why);

	assert(r == 0 || r == ERR_TYPE || r == -ENOMEM);
	assert(m.id.n <= JSONRPC_ID_MAX);
	check_answer(m.id, arena);
	if (r == ERR_TYPE)
		assert(why && *why);
	if (r)
		return;
	assert((m.kind == JSONRPC_REQUEST) <= (m.id.n > 0));
	assert((m.kind == JSONRPC_NOTIFICATION) <= (m.id.n == 0));
	if (m.kind == JSONRPC_RESPONSE)
		assert((json_type(m.result) == JSON_ABSENT) !=
			(json_type(m.error) == JSON_ABSENT));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct arena arena;
	struct json_val v;
	struct json_error e;
	struct json doc;
	int it = 0;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	assert(jsonrpc_recover_id(str_make(copy, size)).n <= size);
	arena_init(&arena, HTTP_ARENA_MAX);
	if (json_parse(&doc, str_make(copy, size), &caps, &arena, &e) == 0) {
		check(json_root(&doc), &arena);
		while (json_type(json_root(&doc)) == JSON_ARRAY &&
			json_next(json_root(&doc), &it, NULL, &v))
			check(v, &arena);
	}
	arena_reset(&arena);
	free(copy);
	return 0;
}
