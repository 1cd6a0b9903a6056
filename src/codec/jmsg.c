#include "codec/jmsg.h"

#include "base/clock.h"
#include "base/json_text.h"
#include "base/jw.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static const char delimiter[] = "<IDS|MSG>";
enum { HEADER, PARENT, METADATA, CONTENT, TEXTS };

int jmsg_session_init(struct jmsg_session *s, struct str key)
{
	uint8_t id[JMSG_SESSION / 2];
	int r = random_bytes(id, sizeof(id));

	if (r)
		return r;
	*s = (struct jmsg_session){.is_signed = key.n > 0};
	hex_encode(id, sizeof(id), s->id);
	hmac_key_init(&s->key, key);
	return 0;
}

/* --- Writing -------------------------------------------------------------------- */

static void jmsg_put_header(
	const struct jmsg_session *s, const char *type, const char *id, struct buf *out)
{
	time_t now = clock_unix_s();
	struct tm tm = {0};
	char date[64] = "";
	struct jw w;

	if (gmtime_r(&now, &tm))
		snprintf(date, sizeof(date), "%04d-%02d-%02dT%02d:%02d:%02dZ",
			tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
			tm.tm_min, tm.tm_sec);
	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "msg_id");
	jw_cstr(&w, id);
	jw_key(&w, "session");
	jw_cstr(&w, s->id);
	jw_key(&w, "username");
	jw_cstr(&w, "");
	jw_key(&w, "date");
	jw_cstr(&w, date);
	jw_key(&w, "msg_type");
	jw_cstr(&w, type);
	jw_key(&w, "version");
	jw_cstr(&w, "5.3");
	jw_end(&w);
}

/* Writes header, parent and metadata; returns the offset of the content. */
static size_t jmsg_begin_message(
	struct jmsg_session *s, const char *type, struct jmsg_out *o)
{
	if (!o->text.max)
		buf_init(&o->text, JMSG_OUT_MAX);
	buf_reset(&o->text);
	snprintf(o->id, sizeof(o->id), "%s_%" PRIu64, s->id, ++s->sent);
	jmsg_put_header(s, type, o->id, &o->text);
	o->parts[2].n = o->text.n;
	buf_puts(&o->text, "{}{}");
	return o->text.n;
}

/*
 * Signs the four texts, which are contiguous in the buffer; content_at is the offset of
 * the last.
 */
static int jmsg_sign_message(
	const struct jmsg_session *s, size_t content_at, struct jmsg_out *o)
{
	size_t header_n = o->parts[2].n;
	uint8_t mac[SHA256_LEN];
	struct sha256 h;

	if (o->text.err)
		return o->text.err;
	o->signature[0] = '\0';
	if (s->is_signed) {
		hmac_begin(&s->key, &h);
		sha256_update(&h, o->text.p, o->text.n);
		hmac_end(&s->key, &h, mac);
		hex_encode(mac, sizeof(mac), o->signature);
	}
	o->parts[0] = STR(delimiter);
	o->parts[1] = str_c(o->signature);
	o->parts[2] = str_make(o->text.p, header_n);
	o->parts[3] = str_make(o->text.p + header_n, 2);
	o->parts[4] = str_make(o->text.p + header_n + 2, 2);
	o->parts[5] = str_skip(buf_view(&o->text), content_at);
	return 0;
}

int jmsg_execute_request(struct jmsg_session *s, struct str code, struct jmsg_out *o)
{
	size_t at = jmsg_begin_message(s, "execute_request", o);
	struct jw w;

	jw_init(&w, &o->text);
	jw_object(&w);
	jw_key(&w, "code");
	jw_str(&w, code);
	jw_key(&w, "silent");
	jw_bool(&w, false);
	jw_key(&w, "store_history");
	jw_bool(&w, false);
	jw_key(&w, "user_expressions");
	jw_object(&w);
	jw_end(&w);
	jw_key(&w, "allow_stdin");
	jw_bool(&w, false);
	jw_key(&w, "stop_on_error");
	jw_bool(&w, false);
	jw_end(&w);
	return jmsg_sign_message(s, at, o);
}

int jmsg_restart_request(struct jmsg_session *s, struct jmsg_out *o)
{
	size_t at = jmsg_begin_message(s, "shutdown_request", o);

	buf_puts(&o->text, "{\"restart\":true}");
	return jmsg_sign_message(s, at, o);
}

int jmsg_plain_request(struct jmsg_session *s, const char *type, struct jmsg_out *o)
{
	size_t at = jmsg_begin_message(s, type, o);

	buf_puts(&o->text, "{}");
	return jmsg_sign_message(s, at, o);
}

void jmsg_out_free(struct jmsg_out *o)
{
	buf_free(&o->text);
}

/* --- Content -------------------------------------------------------------------- */

static int jmsg_read_status(struct json_val c, struct arena *a, struct jmsg *out)
{
	static const char *const names[] = {
		[JMSG_BUSY] = "busy", [JMSG_IDLE] = "idle", [JMSG_STARTING] = "starting"};
	struct str state;
	int r = json_str(json_get(c, "execution_state"), a, &state);

	if (r)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq(state, str_c(names[i]))) {
			out->state = (enum jmsg_state)i;
			return 0;
		}
	/* Kernels send further states (restarting, dead), which do not concern a cell. */
	out->type = JMSG_OTHER;
	return 0;
}

static int jmsg_read_stream(struct json_val c, struct arena *a, struct jmsg *out)
{
	int r = json_str(json_get(c, "name"), a, &out->stream.name);

	return r ? r : json_str(json_get(c, "text"), a, &out->stream.text);
}

static int jmsg_read_data(struct json_val c, struct arena *a, struct jmsg *out)
{
	(void)a;
	out->data = json_get(c, "data");
	return json_type(out->data) == JSON_OBJECT ? 0 : ERR_TYPE;
}

static int jmsg_read_error(struct json_val c, struct arena *a, struct jmsg *out)
{
	int r = json_str(json_get(c, "ename"), a, &out->error.name);
	struct json_val line;
	int it = 0;

	r = r ? r : json_str(json_get(c, "evalue"), a, &out->error.value);
	out->error.traceback = json_get(c, "traceback");
	if (!r && json_type(out->error.traceback) != JSON_ARRAY)
		r = ERR_TYPE;
	while (!r && json_next(out->error.traceback, &it, NULL, &line))
		r = json_type(line) == JSON_STRING ? 0 : ERR_TYPE;
	return r;
}

static int jmsg_read_reply(struct json_val c, struct arena *a, struct jmsg *out)
{
	struct str status;
	int r = json_str(json_get(c, "status"), a, &status);

	if (r)
		return r;
	out->reply.payload = json_get(c, "payload");
	/* Early versions of the protocol send "abort". */
	if (str_eq(status, STR("aborted")) || str_eq(status, STR("abort")))
		out->reply.outcome = JMSG_ABORTED;
	else
		out->reply.outcome = str_eq(status, STR("ok")) ? JMSG_OK : JMSG_FAILED;
	return 0;
}

static int jmsg_skip_content(struct json_val c, struct arena *a, struct jmsg *out)
{
	(void)c, (void)a, (void)out;
	return 0;
}

static const struct kind {
	const char *name;
	int (*read)(struct json_val content, struct arena *a, struct jmsg *out);
} kinds[] = {
	[JMSG_OTHER] = {"", jmsg_skip_content},
	[JMSG_STATUS] = {"status", jmsg_read_status},
	[JMSG_STREAM] = {"stream", jmsg_read_stream},
	[JMSG_EXECUTE_RESULT] = {"execute_result", jmsg_read_data},
	[JMSG_DISPLAY_DATA] = {"display_data", jmsg_read_data},
	[JMSG_UPDATE_DISPLAY_DATA] = {"update_display_data", jmsg_read_data},
	[JMSG_ERROR] = {"error", jmsg_read_error},
	[JMSG_EXECUTE_REPLY] = {"execute_reply", jmsg_read_reply},
	[JMSG_KERNEL_INFO_REPLY] = {"kernel_info_reply", jmsg_skip_content},
};

static enum jmsg_type jmsg_find_type(struct str name)
{
	for (size_t i = 1; i < ARRAY_LEN(kinds); i++)
		if (str_eq(name, str_c(kinds[i].name)))
			return (enum jmsg_type)i;
	return JMSG_OTHER;
}

/* --- Reading -------------------------------------------------------------------- */

static bool jmsg_is_signature_valid(
	const struct jmsg_session *s, struct str signature, const struct str texts[TEXTS])
{
	uint8_t theirs[SHA256_LEN], ours[SHA256_LEN];
	struct sha256 h;

	if (!s->is_signed)
		return true;
	if (hex_decode(signature, theirs, sizeof(theirs)))
		return false;
	hmac_begin(&s->key, &h);
	for (int i = 0; i < TEXTS; i++)
		sha256_update(&h, texts[i].p, texts[i].n);
	hmac_end(&s->key, &h, ours);
	return hash_equal(ours, theirs, sizeof(ours));
}

/*
 * Copies an escape, or a replacement for half of a surrogate pair, which is no
 * character.
 */
static void jmsg_repair_escape(struct str *rest, struct buf *out)
{
	int unit = rest->n >= 6 && rest->p[1] == 'u' ? json_parse_hex4(rest->p + 2) : -1;
	bool pair = json_is_high_surrogate(unit) && rest->n >= 12 && rest->p[6] == '\\' &&
		rest->p[7] == 'u' && json_is_low_surrogate(json_parse_hex4(rest->p + 8));
	size_t n = pair ? 12 : unit >= 0 ? 6 : 2;

	if (n > rest->n)
		n = rest->n;
	if (!pair && (json_is_high_surrogate(unit) || json_is_low_surrogate(unit)))
		buf_puts(out, "\\ufffd");
	else
		utf8_repair(out, str_make(rest->p, n));
	*rest = str_skip(*rest, n);
}

/*
 * Copies the text with a replacement for each invalid character; empty if memory is
 * short.
 */
static struct str jmsg_repair_text(struct str text, struct arena *a)
{
	struct buf b = BUF_INIT(JMSG_ARENA_MAX);
	char *copy = NULL;
	size_t n;

	while (text.n > 0) {
		size_t plain = str_find_byte(text, '\\');

		utf8_repair(&b, str_make(text.p, plain));
		text = str_skip(text, plain);
		if (text.n > 0)
			jmsg_repair_escape(&text, &b);
	}
	n = b.n;
	if (!b.err)
		copy = arena_cstr(a, buf_view(&b));
	buf_free(&b);
	return str_make(copy, copy ? n : 0);
}

static int jmsg_parse_json(
	struct str text, struct arena *a, struct json_val *root, const char **why)
{
	static const struct json_caps caps = {
		JSON_DEPTH_MAX, JMSG_TOKENS_MAX, JMSG_KEYS_MAX};
	struct json *j = arena_alloc(a, sizeof(*j));
	struct json_error e = {0, "there is no memory for it"};
	int r = j ? json_parse(j, text, &caps, a, &e) : -ENOMEM;

	if (r == ERR_UTF8)
		r = json_parse(j, jmsg_repair_text(text, a), &caps, a, &e);
	if (r) {
		*why = e.why ? e.why : "it is no JSON";
		return r;
	}
	*root = json_root(j);
	if (json_type(*root) == JSON_OBJECT)
		return 0;
	*why = "a part is no object";
	return ERR_TYPE;
}

static int jmsg_read_texts(const struct str texts[TEXTS], struct arena *a,
	struct jmsg *out, const char **why)
{
	struct json_val header, parent, id;
	int r = jmsg_parse_json(texts[HEADER], a, &header, why);

	r = r ? r : jmsg_parse_json(texts[PARENT], a, &parent, why);
	r = r ? r : jmsg_parse_json(texts[CONTENT], a, &out->content, why);
	if (r)
		return r;
	*why = "its header lacks the type, or its parent has no name";
	r = json_str(json_get(header, "msg_type"), a, &out->name);
	id = json_get(parent, "msg_id");
	if (!r && json_type(id) != JSON_ABSENT)
		r = json_str(id, a, &out->parent);
	if (r)
		return r;
	*why = "its content is not that of its type";
	out->type = jmsg_find_type(out->name);
	return kinds[out->type].read(out->content, a, out);
}

int jmsg_read(const struct jmsg_session *s, const struct str *parts, size_t n,
	struct arena *a, struct jmsg *out, const char **why)
{
	struct jmsg m = {.type = JMSG_OTHER, .name = STR(""), .parent = STR("")};
	size_t at = 0;
	int r;

	while (at < n && !str_eq(parts[at], STR(delimiter)))
		at++;
	if (n - at < JMSG_PARTS) {
		*why = at == n ? "it has no delimiter" : "parts of it are missing";
		return ERR_SYNTAX;
	}
	if (!jmsg_is_signature_valid(s, parts[at + 1], parts + at + 2)) {
		*why = "its signature is wrong";
		return ERR_SYNTAX;
	}
	r = jmsg_read_texts(parts + at + 2, a, &m, why);
	if (!r)
		*out = m;
	return r;
}
