#include "mcp/mcp_private.h"

#include <errno.h>

const char *const mcp_versions[] = {"2025-06-18", "2025-03-26", "2024-11-05", NULL};

/* The supported protocol version equal to version; NULL if there is none. */
const char *mcp_find_version(struct str version)
{
	for (size_t i = 0; mcp_versions[i]; i++)
		if (str_eq(version, str_c(mcp_versions[i])))
			return mcp_versions[i];
	return NULL;
}

/* --- Checks ------------------------------------------------------------------ */

void mcp_reply_error(struct request *rq, unsigned status, int code, const char *words)
{
	struct buf *out = request_out(rq);

	buf_reset(out);
	jsonrpc_write_error(out, STR(""), code, str_c(words));
	request_reply(rq, status, MCP_JSON);
}

bool mcp_check_origin(struct request *rq)
{
	if (request_is_local_origin(rq))
		return true;
	mcp_reply_error(rq, 403, JSONRPC_INVALID,
		"Requests with this Origin header are refused.");
	return false;
}

/* Whether the field Accept allows the type, or the wildcard group that the type is in. */
static bool mcp_accepts_type(struct request *rq, struct str type, struct str group)
{
	struct str list;

	return request_header(rq, STR("accept"), &list) != 0 ||
		request_accepts(rq, type) || request_accepts(rq, group) ||
		request_accepts(rq, STR("*/*"));
}

bool mcp_accepts_events(struct request *rq)
{
	return mcp_accepts_type(rq, STR(REQUEST_EVENTS), STR("text/*"));
}

bool mcp_accepts_json(struct request *rq)
{
	return mcp_accepts_type(rq, STR(MCP_JSON), STR("application/*"));
}

bool mcp_is_json(struct request *rq)
{
	struct str type;

	if (request_header(rq, STR("content-type"), &type) != 0)
		return false;
	return str_eq_nocase(str_trim(str_cut(&type, ';'), " \t"), STR(MCP_JSON));
}

/* Checks a request before anything else of it is used. False: the request is answered. */
bool mcp_check_request(struct request *rq)
{
	struct str version;
	int r;

	if (!mcp_check_origin(rq))
		return false;
	r = request_header(rq, STR("mcp-protocol-version"), &version);
	if (r == 1 || (r == 0 && mcp_find_version(version)))
		return true;
	mcp_reply_error(rq, 400, JSONRPC_INVALID,
		"This MCP-Protocol-Version is not supported. Use 2025-06-18, 2025-03-26 "
		"or 2024-11-05.");
	return false;
}

/* --- Messages ---------------------------------------------------------------- */

bool mcp_is_initialize(const struct jsonrpc *m)
{
	return m->kind == JSONRPC_REQUEST && str_eq(m->method, STR("initialize"));
}

/*
 * Reads the messages of a body, *n of them. NULL: something is wrong, and the request is
 * answered.
 */
struct jsonrpc *mcp_read_messages(
	struct request *rq, struct arena *arena, struct str body, size_t *n, bool *batch)
{
	static const struct json_caps caps = {
		.depth = JSON_DEPTH_MAX,
		.tokens = JSON_TOKENS_MAX,
		.keys = JSON_KEYS_MAX,
	};
	struct json *doc = arena_alloc(arena, sizeof(*doc));
	struct json_error e = {.why = "out of memory"};
	struct jsonrpc *messages = NULL;
	struct json_val v;
	const char *why = "out of memory";
	int it = 0, r = doc ? json_parse(doc, body, &caps, arena, &e) : -ENOMEM;

	if (r < 0) {
		mcp_reply_error(rq, r == -ENOMEM ? 503 : 400, JSONRPC_PARSE, e.why);
		return NULL;
	}
	*batch = json_type(json_root(doc)) == JSON_ARRAY;
	*n = *batch ? json_count(json_root(doc)) : 1;
	if (*n)
		messages = arena_array(arena, *n, sizeof(*messages));
	else
		why = "an empty list of messages";
	r = messages ? 0 : ERR_TYPE;
	for (size_t i = 0; !r && i < *n; i++) {
		v = json_root(doc);
		if (*batch && !json_next(v, &it, NULL, &v))
			break;
		r = jsonrpc_read(v, arena, &messages[i], &why);
		if (!r && *batch && mcp_is_initialize(&messages[i])) {
			why = "initialize must not be part of a list";
			r = ERR_TYPE;
		}
	}
	if (!r)
		return messages;
	mcp_reply_error(rq, r == -ENOMEM ? 503 : 400, JSONRPC_INVALID, why);
	return NULL;
}
