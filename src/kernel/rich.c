#include "kernel/rich.h"

#include "limits.h"

void rich_init(struct rich *r)
{
	*r = (struct rich){.list = BUF_INIT(CELL_RICH_MAX)};
}

void rich_free(struct rich *r)
{
	buf_free(&r->list);
	rich_init(r);
}

void rich_move(struct rich *to, struct rich *from)
{
	rich_free(to);
	*to = *from;
	rich_init(from);
}

/*
 * Whether the key, as written in JSON, is shown elsewhere. Another spelling of it is
 * harmless.
 */
static bool rich_is_excluded(struct str key)
{
	return str_eq(key, STR("\"text/plain\"")) || str_eq(key, STR("\"image/png\""));
}

/* The JSON text to write for the value. */
static struct str rich_value_text(
	struct str key, struct json_val value, struct arena *texts)
{
	static const struct json_caps caps = {
		JSON_DEPTH_MAX, JMSG_TOKENS_MAX, JMSG_KEYS_MAX};
	struct json_error e;
	size_t tokens;
	struct str s;

	if (texts && str_ends(key, STR("json\"")) && json_str(value, texts, &s) == 0 &&
		json_check(s, &caps, &tokens, &e) == 0)
		return s;
	return json_raw(value);
}

void rich_put(struct rich *r, struct json_val data, struct arena *texts)
{
	size_t before = r->list.n;
	struct json_val key, value;
	size_t members = 0;
	int it = 0;

	while (json_next(data, &it, &key, &value)) {
		if (rich_is_excluded(json_raw(key)))
			continue;
		buf_puts(&r->list, members++ ? "," : before ? ",{" : "{");
		buf_str(&r->list, json_raw(key));
		buf_putc(&r->list, ':');
		buf_str(&r->list, rich_value_text(json_raw(key), value, texts));
	}
	if (members)
		buf_putc(&r->list, '}');
	if (!r->list.err)
		return;
	r->list.err = 0;
	r->list.n = before;
	r->left_out++;
}

void rich_write(const struct rich *r, struct jw *w)
{
	jw_key(w, "outputs");
	jw_array(w);
	if (r->list.n)
		jw_raw(w, buf_view(&r->list));
	jw_end(w);
	jw_key(w, "left_out");
	jw_uint(w, r->left_out);
}
