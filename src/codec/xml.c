#include "codec/xml.h"

#include "base/utf8.h"

static const char blanks[] = " \t\r\n";
static const char *const xml_prefix = "xml";

/* An item that is no event. It extends enum xml_event. */
enum { NOTHING = XML_TEXT + 1 };

static int xml_fail(struct xml *x, int err, const char *why)
{
	x->reason = why;
	x->err = err;
	return err;
}

static int xml_refuse(struct xml *x, const char *why)
{
	return xml_fail(x, ERR_SYNTAX, why);
}

void xml_init(struct xml *x, struct str doc, const struct xml_namespace *known)
{
	static const struct str mark = STR("\xef\xbb\xbf");

	*x = (struct xml){.namespaces = known, .rest = doc};
	if (!utf8_is_valid(doc))
		xml_fail(x, ERR_UTF8, "it is not UTF-8");
	if (str_starts(doc, mark))
		x->rest = str_skip(doc, mark.n);
}

static bool xml_is_blank(char c)
{
	return c && strchr(blanks, c);
}

static bool xml_skip_blanks(struct xml *x)
{
	size_t n = 0;

	while (n < x->rest.n && xml_is_blank(x->rest.p[n]))
		n++;
	x->rest = str_skip(x->rest, n);
	return n;
}

static bool xml_skip_token(struct xml *x, struct str what)
{
	if (!str_starts(x->rest, what))
		return false;
	x->rest = str_skip(x->rest, what.n);
	return true;
}

/* Reads up to end, which is consumed: 0, or 1 if end is missing. */
static int xml_read_until(struct xml *x, struct str end, struct str *out)
{
	size_t n = str_find(x->rest, end);

	if (n == x->rest.n)
		return 1;
	*out = str_make(x->rest.p, n);
	x->rest = str_skip(x->rest, n + end.n);
	return 0;
}

/* --- Names --------------------------------------------------- */

static bool xml_is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c & 0x80;
}

static bool xml_is_name_char(char c)
{
	return xml_is_name_start(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

static size_t xml_measure_name(struct str s)
{
	size_t n = 0;

	if (s.n && xml_is_name_start(s.p[0]))
		while (n < s.n && xml_is_name_char(s.p[n]))
			n++;
	return n;
}

/* Reads NAME or PREFIX:NAME; its namespace is resolved later: 0 or 1. */
static int xml_read_name(struct xml *x, struct xml_name *out)
{
	size_t n = xml_measure_name(x->rest);
	struct str local = str_make(x->rest.p, n);

	if (n && n < x->rest.n && x->rest.p[n] == ':') {
		local.p += n + 1;
		local.n = xml_measure_name(str_skip(x->rest, n + 1));
		n += 1 + local.n;
	}
	if (!local.n)
		return 1;
	*out = (struct xml_name){
		.raw = str_make(x->rest.p, n), .local = local, .prefix = ""};
	x->rest = str_skip(x->rest, n);
	return 0;
}

static struct str xml_get_prefix(const struct xml_name *name)
{
	size_t n = name->raw.n - name->local.n;

	return str_make(name->raw.p, n ? n - 1 : 0);
}

static const char *xml_find_namespace(const struct xml *x, struct str uri)
{
	if (!uri.n)
		return "";
	for (const struct xml_namespace *k = x->namespaces; k->prefix; k++)
		if (str_eq(uri, str_c(k->uri)))
			return k->prefix;
	return NULL;
}

static int xml_resolve_name(struct xml *x, struct xml_name *name)
{
	struct str prefix = xml_get_prefix(name);

	for (unsigned i = x->bindings_n; i--;)
		if (str_eq(x->bindings[i].prefix, prefix)) {
			name->prefix = x->bindings[i].mapped_prefix;
			return 0;
		}
	if (str_eq(prefix, str_c(xml_prefix)))
		name->prefix = xml_prefix;
	else if (prefix.n)
		return xml_refuse(x, "a prefix has no namespace");
	return 0;
}

static bool xml_has_name(const struct xml_name *name, struct str want)
{
	size_t colon = str_find_byte(want, ':');
	struct str prefix = str_make(want.p, colon < want.n ? colon : 0);

	return name->prefix && str_eq(str_c(name->prefix), prefix) &&
		str_eq(name->local, str_skip(want, colon < want.n ? colon + 1 : 0));
}

/* --- Characters --------------------------------------------------- */

static bool xml_is_char(uint64_t cp)
{
	return cp == '\t' || cp == '\n' || cp == '\r' || (cp >= 0x20 && cp < 0xd800) ||
		(cp >= 0xe000 && cp < 0xfffe) || (cp >= 0x10000 && cp <= 0x10ffff);
}

static bool xml_parse_hex(struct str s, uint64_t *out)
{
	uint64_t v = 0;

	if (!s.n || s.n > 8)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v << 4 | (uint64_t)((c | 0x20) - 'a' + 10);
		else
			return false;
	}
	*out = v;
	return true;
}

/* The character of a reference between '&' and ';'; 0: none. */
static uint32_t xml_decode_reference(struct str name)
{
	static const struct {
		const char *name;
		char c;
	} entities[] = {
		{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"apos", '\''}, {"quot", '"'}};
	uint64_t cp = 0;

	for (size_t i = 0; i < ARRAY_LEN(entities); i++)
		if (str_eq(name, str_c(entities[i].name)))
			return (unsigned char)entities[i].c;
	if (str_starts(name, STR("#x")))
		return xml_parse_hex(str_skip(name, 2), &cp) && xml_is_char(cp)
			? (uint32_t)cp
			: 0;
	if (str_starts(name, STR("#")) && !str_u64(str_skip(name, 1), 0x10ffff, &cp))
		return xml_is_char(cp) ? (uint32_t)cp : 0;
	return 0;
}

/* The length of the longest reference: &#x0010FFFF; */
enum { REFERENCE_MAX = 12 };

static int xml_check_reference(struct xml *x, struct str s, size_t *n)
{
	size_t end = str_find_byte(
		str_make(s.p, s.n < REFERENCE_MAX ? s.n : REFERENCE_MAX), ';');

	if (end == s.n || end == REFERENCE_MAX ||
		!xml_decode_reference(str_make(s.p + 1, end - 1)))
		return xml_refuse(x, "a reference to no character");
	*n = end + 1;
	return 0;
}

static int xml_check_text(struct xml *x, struct str s, bool references)
{
	while (s.n) {
		size_t n = 1;
		int r = 0;

		if (*s.p == '&' && references)
			r = xml_check_reference(x, s, &n);
		else if (!xml_is_char((unsigned char)*s.p))
			r = xml_refuse(x, "a control character");
		if (r)
			return r;
		s = str_skip(s, n);
	}
	return 0;
}

/*
 * Appends checked text, with its references resolved and line ends as LF (XML 1.0,
 * 2.11).
 */
static void xml_append_text(struct buf *out, struct str s, bool references)
{
	while (s.n) {
		size_t n = 0;

		while (n < s.n && s.p[n] != '&' && s.p[n] != '\r')
			n++;
		buf_str(out, str_make(s.p, n));
		s = str_skip(s, n);
		if (!s.n)
			return;
		n = 1;
		if (*s.p == '\r') {
			if (s.n == 1 || s.p[1] != '\n')
				buf_putc(out, '\n');
		} else if (references) {
			char c[4];

			n = str_find_byte(s, ';') + 1;
			buf_put(out, c,
				utf8_encode(
					xml_decode_reference(str_make(s.p + 1, n - 2)),
					c));
		} else {
			buf_putc(out, '&');
		}
		s = str_skip(s, n);
	}
}

void xml_put_text(const struct xml *x, struct buf *out)
{
	xml_append_text(out, x->text, !x->verbatim);
}

/* --- Tags --------------------------------------------------- */

static int xml_bind_attr(struct xml *x, const struct xml_attr *a, bool all)
{
	struct xml_binding *b = &x->bindings[x->bindings_n];

	if (x->bindings_n == XML_BINDINGS_MAX)
		return xml_fail(x, ERR_LIMIT, "it has too many namespaces");
	*b = (struct xml_binding){
		.prefix = all ? STR("") : a->name.local,
		.mapped_prefix = xml_find_namespace(x, a->value),
		.depth = x->depth,
	};
	x->bindings_n++;
	return 0;
}

static int xml_read_attr(struct xml *x)
{
	struct xml_attr *a = &x->attrs[x->attrs_n];
	struct str quote;

	if (x->attrs_n == XML_ATTRS_MAX)
		return xml_fail(x, ERR_LIMIT, "an element has too many attributes");
	if (xml_read_name(x, &a->name))
		return xml_refuse(x, "a tag is malformed");
	for (unsigned i = 0; i < x->attrs_n; i++)
		if (str_eq(x->attrs[i].name.raw, a->name.raw))
			return xml_fail(x, ERR_DUPLICATE, "an attribute stands twice");
	xml_skip_blanks(x);
	if (!xml_skip_token(x, STR("=")))
		return xml_refuse(x, "an attribute has no value");
	xml_skip_blanks(x);
	quote = str_make(x->rest.p, x->rest.n ? 1 : 0);
	if (!xml_skip_token(x, STR("\"")) && !xml_skip_token(x, STR("'")))
		return xml_refuse(x, "an attribute has no value");
	if (xml_read_until(x, quote, &a->value) ||
		str_find_byte(a->value, '<') < a->value.n)
		return xml_refuse(x, "the value of an attribute has no end");
	x->attrs_n++;
	if (str_eq(a->name.raw, STR("xmlns")))
		return xml_bind_attr(x, a, true);
	if (str_starts(a->name.raw, STR("xmlns:")))
		return xml_bind_attr(x, a, false);
	return xml_check_text(x, a->value, true);
}

static int xml_resolve_names(struct xml *x)
{
	int r = xml_resolve_name(x, &x->open[x->depth - 1]);

	for (unsigned i = 0; i < x->attrs_n && !r; i++) {
		struct xml_name *name = &x->attrs[i].name;

		/* An attribute without a prefix is in no namespace. */
		if (str_starts(name->raw, STR("xmlns:")))
			name->prefix = NULL;
		else if (xml_get_prefix(name).n)
			r = xml_resolve_name(x, name);
	}
	return r;
}

static int xml_open_tag(struct xml *x)
{
	if (x->depth == XML_DEPTH_MAX)
		return xml_fail(x, ERR_DEPTH, "it is nested too deeply");
	if (!x->depth && x->had_root)
		return xml_refuse(x, "something stands behind its end");
	if (xml_read_name(x, &x->open[x->depth]))
		return xml_refuse(x, "a tag is malformed");
	x->had_root = true;
	x->depth++;
	x->attrs_n = 0;
	for (;;) {
		bool apart = xml_skip_blanks(x);
		int r;

		x->closes = xml_skip_token(x, STR("/>"));
		if (x->closes || xml_skip_token(x, STR(">")))
			break;
		r = apart ? xml_read_attr(x) : xml_refuse(x, "a tag is malformed");
		if (r)
			return r;
	}
	return xml_resolve_names(x) ? ERR_SYNTAX : XML_OPEN;
}

static int xml_close_tag(struct xml *x)
{
	if (!x->depth || !xml_skip_token(x, x->open[x->depth - 1].raw))
		return xml_refuse(x, "a tag closes what is not open");
	xml_skip_blanks(x);
	return xml_skip_token(x, STR(">"))
		? XML_CLOSE
		: xml_refuse(x, "a tag closes what is not open");
}

static void xml_leave_element(struct xml *x)
{
	while (x->bindings_n && x->bindings[x->bindings_n - 1].depth == x->depth)
		x->bindings_n--;
	x->depth--;
}

/* --- The document --------------------------------------------------- */

static int xml_emit_text(struct xml *x, struct str text, bool verbatim)
{
	int r = xml_check_text(x, text, !verbatim);

	x->text = text;
	x->verbatim = verbatim;
	return r ? r : XML_TEXT;
}

static int xml_read_text(struct xml *x)
{
	struct str s = str_make(x->rest.p, str_find_byte(x->rest, '<'));

	x->rest = str_skip(x->rest, s.n);
	if (x->depth)
		return xml_emit_text(x, s, false);
	return str_trim(s, blanks).n
		? xml_refuse(x, "there is text outside of all elements")
		: NOTHING;
}

/* Reads one item: an event; NOTHING; or an error. */
static int xml_read_item(struct xml *x)
{
	struct str inside;

	if (x->rest.p[0] != '<')
		return xml_read_text(x);
	if (xml_skip_token(x, STR("</")))
		return xml_close_tag(x);
	if (xml_skip_token(x, STR("<?")))
		return xml_read_until(x, STR("?>"), &inside)
			? xml_refuse(x, "it is cut off")
			: NOTHING;
	if (xml_skip_token(x, STR("<!--")))
		return xml_read_until(x, STR("-->"), &inside)
			? xml_refuse(x, "it is cut off")
			: NOTHING;
	if (x->depth && xml_skip_token(x, STR("<![CDATA[")))
		return xml_read_until(x, STR("]]>"), &inside)
			? xml_refuse(x, "it is cut off")
			: xml_emit_text(x, inside, true);
	if (xml_skip_token(x, STR("<!")))
		return xml_refuse(x, "it has a document type");
	xml_skip_token(x, STR("<"));
	return xml_open_tag(x);
}

static int xml_read_event(struct xml *x)
{
	int r = NOTHING;

	if (x->err)
		return x->err;
	if (x->event == XML_CLOSE)
		xml_leave_element(x);
	if (x->closes) {
		x->closes = false;
		return XML_CLOSE;
	}
	while (r == NOTHING && x->rest.n)
		r = xml_read_item(x);
	if (r != NOTHING)
		return r;
	return x->had_root && !x->depth ? XML_END : xml_refuse(x, "it is cut off");
}

int xml_next(struct xml *x)
{
	int r = xml_read_event(x);

	if (r >= 0)
		x->event = (enum xml_event)r;
	return r;
}

bool xml_is_at(const struct xml *x, const char *path)
{
	struct str rest = str_c(path);

	if (str_count(rest, '/') + 1 != x->depth)
		return false;
	for (unsigned i = 0; i < x->depth; i++)
		if (!xml_has_name(&x->open[i], str_cut(&rest, '/')))
			return false;
	return true;
}

bool xml_put_attr(const struct xml *x, const char *name, struct buf *out)
{
	for (unsigned i = 0; i < x->attrs_n; i++)
		if (xml_has_name(&x->attrs[i].name, str_c(name))) {
			xml_append_text(out, x->attrs[i].value, true);
			return true;
		}
	return false;
}
