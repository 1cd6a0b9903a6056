#include "inject/cli/observation.h"

#include "base/jw.h"
#include "base/utf8.h"
#include "inject/console/out.h"
#include "inject/options/options.h"

enum { VALUE_SHOWN = 200 };

int observation_read(struct observation *ob, struct str text)
{
	struct json_val root, meta;
	int r;

	*ob = (struct observation){0};
	r = json_doc_parse(&ob->doc, text);
	if (r)
		return r;
	root = json_doc_root(&ob->doc);
	meta = json_get(json_get(root, "extras"), "metadata");
	ob->kind = json_doc_str(&ob->doc, json_get(root, "observation"));
	ob->content = json_doc_str(&ob->doc, json_get(root, "content"));
	ob->exit_code = json_doc_int(json_get(meta, "exit_code"), -1);
	ob->prefix = json_doc_str(&ob->doc, json_get(meta, "prefix"));
	ob->suffix = json_doc_str(&ob->doc, json_get(meta, "suffix"));
	if (ob->kind.n)
		return 0;
	observation_free(ob);
	return ERR_TYPE;
}

void observation_free(struct observation *ob)
{
	json_doc_free(&ob->doc);
}

bool observation_is_failure(const struct observation *ob)
{
	return str_eq(ob->kind, STR("error")) ||
		(str_eq(ob->kind, STR("run")) && ob->exit_code > 0);
}

/* Prints text as a line, without line ends or other control characters of the sandbox. */
static void observation_print_line(struct str text, struct buf *out)
{
	while (text.n) {
		size_t n = str_find_byte(text, '\n');

		out_clean(out, str_make(text.p, n), false);
		if (n < text.n)
			buf_putc(out, ' ');
		text = str_skip(text, n + (n < text.n));
	}
}

static void observation_print_value(
	struct observation *ob, struct json_val v, struct buf *out)
{
	struct str text =
		json_type(v) == JSON_STRING ? json_doc_str(&ob->doc, v) : json_raw(v);
	bool cut = text.n > VALUE_SHOWN;

	if (cut)
		text.n = utf8_prefix(str_make(text.p, VALUE_SHOWN));
	observation_print_line(text, out);
	buf_puts(out, cut ? "...\n" : "\n");
}

static bool observation_is_printable(struct json_val v)
{
	switch (json_type(v)) {
	case JSON_NUMBER:
	case JSON_BOOL:
		return true;
	case JSON_STRING:
		return json_raw(v).n > 2;
	default:
		return false;
	}
}

static void observation_print_member(struct observation *ob, struct str outer,
	struct json_val key, struct json_val v, struct buf *out)
{
	if (!observation_is_printable(v))
		return;
	buf_puts(out, "  ");
	observation_print_line(outer, out);
	buf_puts(out, outer.n ? "." : "");
	observation_print_line(json_doc_str(&ob->doc, key), out);
	buf_puts(out, ": ");
	observation_print_value(ob, v, out);
}

/* Prints members of the extras; those of an object in the extras as "outer.inner". */
static void observation_print_extras(struct observation *ob, struct buf *out)
{
	struct json_val extras = json_get(json_doc_root(&ob->doc), "extras");
	struct json_val key, v, inner_key, inner;
	int it = 0;

	while (json_next(extras, &it, &key, &v)) {
		int inner_it = 0;

		observation_print_member(ob, str_make(NULL, 0), key, v, out);
		if (json_type(v) != JSON_OBJECT)
			continue;
		while (json_next(v, &inner_it, &inner_key, &inner))
			observation_print_member(
				ob, json_doc_str(&ob->doc, key), inner_key, inner, out);
	}
}

void observation_print(struct observation *ob, struct buf *out)
{
	observation_print_line(ob->kind, out);
	buf_putc(out, '\n');
	observation_print_extras(ob, out);
	if (!ob->content.n)
		return;
	buf_putc(out, '\n');
	buf_str(out, ob->content);
	if (!str_ends(ob->content, STR("\n")))
		buf_putc(out, '\n');
}

int observation_write_request(struct str text, struct buf *out)
{
	enum json_type type;
	struct json_doc d;
	int r = json_doc_parse(&d, text);

	if (r)
		return r;
	type = json_type(json_get(json_doc_root(&d), "action"));
	json_doc_free(&d);
	if (type == JSON_OBJECT) {
		buf_str(out, text);
	} else if (type == JSON_STRING) {
		buf_puts(out, "{\"action\":");
		buf_str(out, text);
		buf_putc(out, '}');
	} else {
		return ERR_TYPE;
	}
	return out->err;
}

uint64_t observation_read_timeout(struct str request)
{
	double seconds = 0;
	struct json_doc d;

	if (json_doc_parse(&d, request))
		return 0;
	if (json_double(
		    json_get(json_get(json_doc_root(&d), "action"), "timeout"), &seconds))
		seconds = 0;
	json_doc_free(&d);
	return seconds > 0 && seconds < SECONDS_MAX ? (uint64_t)seconds + 1 : 0;
}
