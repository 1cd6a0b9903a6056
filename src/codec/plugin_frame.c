#include "codec/plugin_frame.h"

#include "base/b64.h"
#include "base/utf8.h"

#include <errno.h>

/* --- Frames from a plugin --------------------------------------------------------- */

static int plugin_frame_refuse(const char **why, const char *what)
{
	*why = what;
	return ERR_SYNTAX;
}

/* Reads a member that is a string. False: it is no string, or there is no memory. */
static bool plugin_frame_read_member(
	struct json_val root, const char *key, struct arena *a, struct str *out)
{
	return json_str(json_get(root, key), a, out) == 0;
}

static int plugin_frame_read_id(struct plugin_frame *f, const char **why)
{
	int64_t id;

	if (json_i64(json_get(f->root, "id"), &id) < 0 || id < 1)
		return plugin_frame_refuse(why, "a reply without an id");
	f->id = (uint64_t)id;
	return 0;
}

int plugin_frame_read(
	struct plugin_frame *f, struct str line, struct arena *a, const char **why)
{
	static const struct {
		const char *name, *words; /* the member with the text, or NULL */
	} ops[] = {
		[PLUGIN_READY] = {"ready", NULL},
		[PLUGIN_UNAVAILABLE] = {"unavailable", "why"},
		[PLUGIN_LOG] = {"log", "text"},
		[PLUGIN_PONG] = {"pong", NULL},
		[PLUGIN_REPLY] = {"reply", NULL},
	};
	static const struct json_caps caps = {
		JSON_DEPTH_MAX, JSON_TOKENS_MAX, JSON_KEYS_MAX};
	struct json_error e = {0};
	struct str op;
	int r = json_parse(&f->json, line, &caps, a, &e);

	if (r == -ENOMEM)
		return r;
	if (r)
		return plugin_frame_refuse(why, e.why);
	f->root = json_root(&f->json);
	if (!plugin_frame_read_member(f->root, "op", a, &op))
		return plugin_frame_refuse(why, "a frame without an op");
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		if (!str_eq(op, str_c(ops[i].name)))
			continue;
		f->op = (enum plugin_op)i;
		f->text = STR("");
		if (ops[i].words &&
			!plugin_frame_read_member(f->root, ops[i].words, a, &f->text))
			return plugin_frame_refuse(
				why, "a frame \"log\" without its text");
		return f->op == PLUGIN_REPLY ? plugin_frame_read_id(f, why) : 0;
	}
	return plugin_frame_refuse(why, "a frame with an unknown op");
}

bool plugin_frame_match_reply(struct str line, uint64_t *id, struct str *observation)
{
	const struct str front = STR("{\"op\":\"reply\",\"id\":"),
			 between = STR(",\"observation\":{");
	struct str rest = str_skip(line, front.n), number;

	if (!str_starts(line, front) || !str_ends(line, STR("}}")))
		return false;
	number = str_make(rest.p, str_find_byte(rest, ','));
	rest = str_skip(rest, number.n);
	if (!str_starts(rest, between) || str_u64(number, UINT64_MAX, id) < 0)
		return false;
	rest = str_skip(rest, between.n - 1);
	*observation = str_make(rest.p, rest.n - 1);
	return true;
}

/* --- Replies ---------------------------------------------------------------------- */

/* Headers that the server writes itself, or that concern the connection. */
static bool plugin_frame_is_reserved(struct str name)
{
	static const char *const names[] = {"connection", "content-length", "date",
		"keep-alive", "proxy-connection", "server", "te", "trailer",
		"transfer-encoding", "upgrade"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq_nocase(name, str_c(names[i])))
			return true;
	return false;
}

static bool plugin_frame_is_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
			!(c >= '0' && c <= '9') && c != '-' && c != '_')
			return false;
	}
	return name.n > 0;
}

static bool plugin_frame_is_value(struct str value)
{
	for (size_t i = 0; i < value.n; i++)
		if ((unsigned char)value.p[i] < 0x20 || value.p[i] == 0x7f)
			return false;
	return true;
}

static int plugin_frame_read_fields(struct plugin_answer *an, struct json_val headers,
	struct arena *a, const char **why)
{
	struct json_val key, value;
	int it = 0;

	if (json_type(headers) != JSON_OBJECT && json_type(headers) != JSON_ABSENT)
		return plugin_frame_refuse(why, "\"headers\" is not an object");
	while (json_next(headers, &it, &key, &value)) {
		struct plugin_field f;

		if (json_str(key, a, &f.name) || json_str(value, a, &f.value))
			return plugin_frame_refuse(why, "a header is not a string");
		if (!plugin_frame_is_name(f.name) || !plugin_frame_is_value(f.value))
			return plugin_frame_refuse(
				why, "a header has a character that is not allowed");
		if (plugin_frame_is_reserved(f.name))
			return plugin_frame_refuse(
				why, "a header that only the server sets");
		if (str_eq_nocase(f.name, STR("content-type"))) {
			an->type = arena_cstr(a, f.value);
			if (!an->type)
				return -ENOMEM;
			continue;
		}
		if (an->fields_n == PLUGIN_HEADERS_MAX)
			return plugin_frame_refuse(why, "it has too many headers");
		an->fields[an->fields_n++] = f;
	}
	return 0;
}

static int plugin_frame_read_body(
	struct plugin_answer *an, struct json_val root, struct arena *a, const char **why)
{
	struct json_val plain = json_get(root, "body"), coded = json_get(root, "body64");
	struct str s = STR("");

	if (json_type(plain) != JSON_ABSENT && json_type(coded) != JSON_ABSENT)
		return plugin_frame_refuse(why, "it has both body and body64");
	if (json_type(plain) != JSON_ABSENT && json_str(plain, a, &s))
		return plugin_frame_refuse(why, "\"body\" is not a string");
	buf_str(&an->body, s);
	if (json_type(coded) == JSON_ABSENT)
		return an->body.err;
	if (json_str(coded, a, &s) || b64_decode(&an->body, s) == ERR_SYNTAX)
		return plugin_frame_refuse(why, "\"body64\" is not Base64");
	return an->body.err;
}

int plugin_piece_read(
	struct plugin_answer *an, struct json_val root, struct arena *a, const char **why)
{
	struct json_val more = json_get(root, "more");

	*an = (struct plugin_answer){.body = BUF_INIT(PLUGIN_FRAME_MAX)};
	if (json_type(more) != JSON_ABSENT && json_bool(more, &an->more))
		return plugin_frame_refuse(why, "\"more\" is neither true nor false");
	return plugin_frame_read_body(an, root, a, why);
}

int plugin_answer_read(
	struct plugin_answer *an, struct json_val root, struct arena *a, const char **why)
{
	int64_t status;
	int r = plugin_piece_read(an, root, a, why);

	if (r)
		return r;
	if (json_i64(json_get(root, "status"), &status) < 0 || status < 200 ||
		status > 599)
		return plugin_frame_refuse(
			why, "\"status\" is not a number from 200 to 599");
	an->status = (unsigned)status;
	r = plugin_frame_read_fields(an, json_get(root, "headers"), a, why);
	if (!r && (an->body.n || an->more) && (status == 204 || status == 304))
		return plugin_frame_refuse(
			why, "a reply with this status cannot have a body");
	return r;
}

/* Reads a string; if it is absent, *s is other. ERR_TYPE: it is no string. */
static int plugin_frame_read_text(struct json_val o, const char *key, const char *other,
	struct arena *a, struct str *s)
{
	*s = str_c(other);
	return json_type(json_get(o, key)) == JSON_ABSENT
		? 0
		: json_str(json_get(o, key), a, s);
}

int plugin_frame_put_observation(struct json_val root, const char *kind, struct arena *a,
	struct buf *out, const char **why)
{
	struct json_val o = json_get(root, "observation"), extras, success;
	struct str message, what, content;
	bool good = false;
	struct jw w;

	if (json_type(o) != JSON_OBJECT)
		return plugin_frame_refuse(why, "\"observation\" is not an object");
	extras = json_get(o, "extras");
	success = json_get(o, "success");
	if (plugin_frame_read_text(o, "message", "", a, &message) ||
		plugin_frame_read_text(o, "observation", kind, a, &what) ||
		plugin_frame_read_text(o, "content", "", a, &content))
		return plugin_frame_refuse(why,
			"\"message\", \"observation\" or \"content\" is not a string");
	if (json_type(extras) != JSON_OBJECT && json_type(extras) != JSON_ABSENT)
		return plugin_frame_refuse(why, "\"extras\" is not an object");
	if (json_type(success) != JSON_ABSENT && json_bool(success, &good))
		return plugin_frame_refuse(why, "\"success\" is neither true nor false");
	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "message");
	jw_str(&w, message);
	jw_key(&w, "observation");
	jw_str(&w, what);
	jw_key(&w, "content");
	jw_str(&w, content);
	jw_key(&w, "extras");
	jw_raw(&w, json_type(extras) == JSON_OBJECT ? json_raw(extras) : STR("{}"));
	if (json_type(success) != JSON_ABSENT) {
		jw_key(&w, "success");
		jw_bool(&w, good);
	}
	jw_end(&w);
	return 0;
}

/* --- Calls ------------------------------------------------------------------------- */

static bool plugin_frame_is_text(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
			return false;
	}
	return utf8_is_valid(s);
}

void plugin_body_write(struct jw *w, struct str body)
{
	struct buf coded = BUF_INIT(PLUGIN_FRAME_MAX);

	if (plugin_frame_is_text(body)) {
		jw_key(w, "body");
		jw_str(w, body);
		return;
	}
	b64_encode(&coded, body);
	jw_key(w, "body64");
	jw_str(w, buf_view(&coded));
	if (coded.err && !w->out->err)
		w->out->err = coded.err;
	buf_free(&coded);
}

int plugin_json_write(struct jw *w, struct str json, struct arena *a)
{
	char *to = arena_alloc(a, json.n + 1);
	bool quoted = false;
	size_t n = 0;

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < json.n; i++) {
		char c = json.p[i];

		if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'))
			continue;
		to[n++] = c;
		if (c == '\\' && quoted && i + 1 < json.n)
			to[n++] = json.p[++i];
		else if (c == '"')
			quoted = !quoted;
	}
	jw_raw(w, str_make(to, n));
	return 0;
}
