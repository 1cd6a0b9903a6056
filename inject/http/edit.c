#include "inject/http/edit.h"

#include "base/json_text.h"

static void edit_write_comma(struct buf *out, bool *first)
{
	if (!*first)
		buf_putc(out, ',');
	*first = false;
}

/* The edit of the member called key, in quotes; NULL: there is none. */
static const struct edit *edit_find_member(
	struct str key, const struct edit *edits, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!edits[i].keep &&
			json_text_equals(
				str_make(key.p + 1, key.n - 2), str_c(edits[i].key)))
			return &edits[i];
	return NULL;
}

static struct str edit_get_value(const struct edit *e)
{
	return e->text ? buf_view(e->text) : e->value;
}

void edit_object(
	struct buf *out, struct json_val object, const struct edit *edits, size_t n)
{
	struct json_val key, value;
	bool first = true;
	int it = 0;

	buf_putc(out, '{');
	while (json_type(object) == JSON_OBJECT && json_next(object, &it, &key, &value)) {
		struct str name = json_raw(key);
		const struct edit *e = edit_find_member(name, edits, n);
		struct str to = e ? edit_get_value(e) : json_raw(value);

		if (!to.p)
			continue;
		edit_write_comma(out, &first);
		buf_str(out, name);
		buf_putc(out, ':');
		buf_str(out, to);
	}
	for (const struct edit *e = edits; e < edits + n; e++) {
		if (e->text && e->text->err)
			out->err = e->text->err;
		if (e->keep || !edit_get_value(e).p ||
			json_type(json_get(object, e->key)))
			continue;
		edit_write_comma(out, &first);
		buf_fmt(out, "\"%s\":", e->key);
		buf_str(out, edit_get_value(e));
	}
	buf_putc(out, '}');
}

void edit_array(struct buf *out, struct json_val array, size_t skip, struct str more)
{
	struct json_val value;
	bool first = true;
	int it = 0;

	buf_putc(out, '[');
	for (size_t i = 0;
		json_type(array) == JSON_ARRAY && json_next(array, &it, NULL, &value);
		i++) {
		if (i == skip)
			continue;
		edit_write_comma(out, &first);
		buf_str(out, json_raw(value));
	}
	if (more.p) {
		edit_write_comma(out, &first);
		buf_str(out, more);
	}
	buf_putc(out, ']');
}
