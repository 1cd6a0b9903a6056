#include "codec/http/jsonrpc.h"

#include "limits.h"

#include <errno.h>

static bool jsonrpc_is_id(struct json_val v)
{
	enum json_type type = json_type(v);

	return (type == JSON_STRING || type == JSON_NUMBER) &&
		json_raw(v).n <= JSONRPC_ID_MAX;
}

static bool jsonrpc_is_params(struct json_val v)
{
	enum json_type type = json_type(v);

	return type == JSON_ABSENT || type == JSON_OBJECT || type == JSON_ARRAY;
}

static int jsonrpc_read_call(
	struct jsonrpc *m, struct json_val method, struct arena *a, const char **why)
{
	*why = "\"method\" must be a string";
	if (json_type(method) != JSON_STRING)
		return ERR_TYPE;
	*why = "\"params\" must be an object or an array";
	if (!jsonrpc_is_params(m->params))
		return ERR_TYPE;
	m->kind = m->id.n ? JSONRPC_REQUEST : JSONRPC_NOTIFICATION;
	return json_str(method, a, &m->method);
}

static int jsonrpc_read_response(struct jsonrpc *m, const char **why)
{
	bool result = json_type(m->result) != JSON_ABSENT;
	bool error = json_type(m->error) != JSON_ABSENT;

	*why = "a message has a \"method\", or else one of \"result\" and \"error\"";
	if (result == error)
		return ERR_TYPE;
	*why = "\"error\" must be an object";
	if (error && json_type(m->error) != JSON_OBJECT)
		return ERR_TYPE;
	m->kind = JSONRPC_RESPONSE;
	return 0;
}

int jsonrpc_read(struct json_val v, struct arena *a, struct jsonrpc *m, const char **why)
{
	struct json_val id = json_get(v, "id"), method = json_get(v, "method");
	struct json_val version = json_get(v, "jsonrpc");

	*m = (struct jsonrpc){
		.params = json_get(v, "params"),
		.result = json_get(v, "result"),
		.error = json_get(v, "error"),
	};
	*why = "a message is an object";
	if (json_type(v) != JSON_OBJECT)
		return ERR_TYPE;
	if (jsonrpc_is_id(id))
		m->id = json_raw(id);
	*why = "\"jsonrpc\" must be \"2.0\"";
	if (!str_eq(json_raw(version), STR("\"2.0\"")))
		return ERR_TYPE;
	*why = "\"id\" must be a string or a number, and not a long one";
	if (json_type(id) != JSON_ABSENT && !m->id.n)
		/*
		 * An error response has the id null if the sender could not read the
		 * request's id.
		 */
		if (json_type(id) != JSON_NULL || json_type(m->error) == JSON_ABSENT)
			return ERR_TYPE;
	if (json_type(method) != JSON_ABSENT)
		return jsonrpc_read_call(m, method, a, why);
	return jsonrpc_read_response(m, why);
}

/* The text after the key and its colon; empty if s does not begin with them. */
static struct str jsonrpc_skip_key(struct str s, struct str key)
{
	static const char blanks[] = " \t\r\n";

	if (!str_starts(s, key))
		return STR("");
	s = str_trim(str_skip(s, key.n), blanks);
	return s.n && s.p[0] == ':' ? str_trim(str_skip(s, 1), blanks) : STR("");
}

static struct str jsonrpc_read_digits(struct str s)
{
	size_t n = 0;

	while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
		n++;
	return str_make(s.p, n);
}

struct str jsonrpc_recover_id(struct str text)
{
	bool quoted = false, ours = false, asks = false;
	struct str id = STR("");
	size_t depth = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		struct str s = str_skip(text, i);

		if (quoted) {
			i += c == '\\';
			quoted = c != '"';
		} else if (c == '"') {
			quoted = true;
			if (depth != 1)
				continue;
			ours = ours || jsonrpc_skip_key(s, STR("\"jsonrpc\"")).n;
			asks = asks || jsonrpc_skip_key(s, STR("\"method\"")).n;
			if (!id.n)
				id = jsonrpc_read_digits(
					jsonrpc_skip_key(s, STR("\"id\"")));
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			depth -= depth > 0;
		}
	}
	return ours && !asks ? id : STR("");
}

static void jsonrpc_begin_answer(struct jw *w, struct buf *out, struct str id)
{
	jw_init(w, out);
	jw_object(w);
	jw_key(w, "jsonrpc");
	jw_cstr(w, "2.0");
	jw_key(w, "id");
	if (id.n)
		jw_raw(w, id);
	else
		jw_null(w);
}

void jsonrpc_begin(struct jw *w, struct buf *out, struct str id)
{
	jsonrpc_begin_answer(w, out, id);
	jw_key(w, "result");
}

void jsonrpc_end(struct jw *w)
{
	jw_end(w);
}

void jsonrpc_write_error(struct buf *out, struct str id, int code, struct str words)
{
	struct jw w;

	jsonrpc_begin_answer(&w, out, id);
	jw_key(&w, "error");
	jw_object(&w);
	jw_key(&w, "code");
	jw_int(&w, code);
	jw_key(&w, "message");
	jw_str(&w, words);
	jw_end(&w);
	jw_end(&w);
}

void jsonrpc_write_forward(struct buf *out, struct str id, const struct jsonrpc *m)
{
	bool good = json_type(m->error) == JSON_ABSENT;
	struct jw w;

	jsonrpc_begin_answer(&w, out, id);
	jw_key(&w, good ? "result" : "error");
	jw_raw(&w, json_raw(good ? m->result : m->error));
	jw_end(&w);
}

void jsonrpc_write_call(
	struct buf *out, uint64_t id, struct str method, struct str params)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "jsonrpc");
	jw_cstr(&w, "2.0");
	if (id) {
		jw_key(&w, "id");
		jw_uint(&w, id);
	}
	jw_key(&w, "method");
	jw_str(&w, method);
	if (params.n) {
		jw_key(&w, "params");
		jw_raw(&w, params);
	}
	jw_end(&w);
}
