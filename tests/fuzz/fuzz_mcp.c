/*
 * A message of a client or of a proxied server: whatever it holds, what is passed on of
 * it is JSON in one line, with the ids, tokens and names that it shall have.
 */
#include "limits.h"
#include "mcp/mcp_proxy_private.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static const struct json_caps caps = {JSON_DEPTH_MAX, 4096, 4096};

/* Parsed again; a second member of one name would be refused. */
static struct json_val again(struct json *doc, struct buf *text, struct arena *a)
{
	struct json_error e;
	int r;

	assert(!text->err);
	assert(!memchr(text->p, '\n', text->n));
	r = json_parse(doc, buf_view(text), &caps, a, &e);
	assert(r == 0);
	return json_root(doc);
}

static void check_params(struct json_val params, struct arena *a)
{
	struct buf out = BUF_INIT(1 << 20);
	struct json_val root, meta;
	struct json doc;

	mcp_put_params(&out, params, "name", STR("\"x\""), 7);
	if (json_type(params) != JSON_OBJECT) {
		assert(!out.n);
		return;
	}
	root = again(&doc, &out, a);
	assert(json_count(root) == json_count(params));
	if (json_type(json_get(params, "name")) != JSON_ABSENT)
		assert(str_eq(json_raw(json_get(root, "name")), STR("\"x\"")));
	meta = json_get(json_get(root, "_meta"), "progressToken");
	if (json_type(meta) != JSON_ABSENT)
		assert(str_eq(json_raw(meta), STR("7")));
	buf_reset(&out);
	mcp_progress_params(&out, STR("\"t\""), params);
	root = again(&doc, &out, a);
	assert(str_eq(json_raw(json_get(root, "progressToken")), STR("\"t\"")));
	buf_free(&out);
}

static void check_names(struct json_val params, struct arena *a)
{
	struct mcp_child child = {.name = "server-1"};
	struct str name = json_raw_content(json_get(params, "uri"));
	struct buf out = BUF_INIT(1 << 20);
	struct json doc;

	for (int i = 0; i < 4; i++) {
		buf_reset(&out);
		buf_putc(&out, '[');
		mcp_put_public_name(&out, &child, i & 1, i & 2, name);
		buf_putc(&out, ']');
		again(&doc, &out, a);
		assert(out.n >= name.n + 4);
	}
	buf_free(&out);
}

static void check_passed(const struct jsonrpc *m, struct arena *a)
{
	struct buf out = BUF_INIT(1 << 20);
	struct jsonrpc got;
	const char *why;
	struct json doc;
	int r;

	if (m->kind == JSONRPC_RESPONSE)
		jsonrpc_write_forward(&out, STR("9"), m);
	else
		jsonrpc_write_call(&out, m->id.n ? 9 : 0, m->method, json_raw(m->params));
	r = jsonrpc_read(again(&doc, &out, a), a, &got, &why);
	assert(r == 0 && got.kind == m->kind);
	assert(str_eq(got.id, m->kind == JSONRPC_NOTIFICATION ? STR("") : STR("9")));
	assert(str_eq(got.method, m->method));
	if (m->kind == JSONRPC_RESPONSE) {
		assert(str_eq(json_raw(got.result), json_raw(m->result)));
		assert(str_eq(json_raw(got.error), json_raw(m->error)));
	}
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char *exact = malloc(n ? n : 1);
	struct json_error e;
	struct arena arena;
	const char *why;
	struct jsonrpc m;
	struct json doc;

	assert(exact);
	memcpy(exact, p, n);
	arena_init(&arena, 64 << 20);
	/* What comes of a server is a line; of a client blanks are made of line ends. */
	for (size_t i = 0; i < n; i++)
		if (exact[i] == '\n' || exact[i] == '\r')
			exact[i] = ' ';
	if (n <= 4096 && json_parse(&doc, str_make(exact, n), &caps, &arena, &e) == 0 &&
		jsonrpc_read(json_root(&doc), &arena, &m, &why) == 0) {
		check_params(m.params, &arena);
		check_names(m.params, &arena);
		check_passed(&m, &arena);
	}
	arena_reset(&arena);
	free(exact);
	return 0;
}
