#include "inject/edit.h"

#include "base/json_text.h"

static void comma(struct buf *out, bool *first)
{
	if (!*first)
		buf_putc(out, ',');
	*first = false;
}

/* The edit of the member called key, in quotes; n for none. */
static size_t find(struct str key, const struct edit *edits, size_t n)
{
	size_t i = 0;

	for (; i < n; i++)
		if (json_means(str_make(key.p + 1, key.n - 2), str_c(edits[i].key)))
			break;
	return i;
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
		size_t i = find(name, edits, n);

		if (i < n && !edits[i].value.p)
			continue;
		comma(out, &first);
		buf_str(out, name);
		buf_putc(out, ':');
		buf_str(out, i < n ? edits[i].value : json_raw(value));
	}
	for (size_t i = 0; i < n; i++) {
		if (!edits[i].value.p || json_type(json_get(object, edits[i].key)))
			continue;
		comma(out, &first);
		buf_fmt(out, "\"%s\":", edits[i].key);
		buf_str(out, edits[i].value);
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
		comma(out, &first);
		buf_str(out, json_raw(value));
	}
	if (more.p) {
		comma(out, &first);
		buf_str(out, more);
	}
	buf_putc(out, ']');
}
