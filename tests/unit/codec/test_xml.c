/* The XML reader: what it tells of a document, and what it refuses. */
#include "codec/xml.h"

#include "tests/tap.h"

#include <stdlib.h>

static const struct xml_namespace known[] = {
	{"w", "urn:w"},
	{"w", "urn:w-strict"},
	{"a", "urn:a"},
	{NULL, NULL},
};

/* All events as text: "<NAME", ">", quoted text; then the error, if any. */
static void tell(struct str doc, struct buf *out)
{
	struct xml *x = calloc(1, sizeof(*x));
	char *copy = malloc(doc.n + !doc.n);
	int r = XML_END;

	if (!x || !copy)
		exit(1);
	memcpy(copy, doc.p, doc.n);
	xml_init(x, str_make(copy, doc.n), known);
	while ((r = xml_next(x)) > 0) {
		const struct xml_name *in = &x->open[x->depth - 1];

		if (r == XML_OPEN)
			buf_fmt(out, "<%s:%.*s", in->prefix ? in->prefix : "?",
				STR_ARG(in->local));
		else if (r == XML_CLOSE)
			buf_putc(out, '>');
		else
			buf_putc(out, '"'), xml_put_text(x, out), buf_putc(out, '"');
		if (r == XML_OPEN && xml_put_attr(x, "w:id", out))
			buf_putc(out, ';');
		if (r == XML_OPEN && xml_put_attr(x, "id", out))
			buf_putc(out, '.');
	}
	if (r < 0)
		buf_fmt(out, "! %s", x->reason);
	ok(r == 0 || xml_next(x) == r, "an error stays");
	free(copy);
	free(x);
}

static const struct {
	const char *doc, *want;
} rows[] = {
	{"<a/>", "<:a>"},
	{"<a></a >", "<:a>"},
	{"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- <x> --><a>b</a>\n<!--c--><?d?>",
		"<:a\"b\">"},
	{"<a>1<!--2-->3<?4?>5</a>", "<:a\"1\"\"3\"\"5\">"},
	{"<a>x&lt;&gt;&amp;&apos;&quot;&#65;&#x41;&#x1F600;y</a>",
		"<:a\"x<>&'\"AA\xf0\x9f\x98\x80y\">"},
	{"<a><![CDATA[<b>&amp;]]]></a>", "<:a\"<b>&amp;]\">"},
	{"<a>1\r\n2\r3\n&#13;4</a>", "<:a\"1\n2\n3\n\r4\">"},
	{"<a><![CDATA[1\r\n2\r]]></a>", "<:a\"1\n2\n\">"},
	{"<a b='\"' c=\"'>\" d = '&lt;'\n/>", "<:a>"},
	/* Namespaces. */
	{"<w:p xmlns:w='urn:w'/>", "<w:p>"},
	{"<x:p xmlns:x='urn:w-strict' x:id='1' id='2'/>", "<w:p1;2.>"},
	{"<p xmlns='urn:w' id='&#65;&lt;'><q/></p>", "<w:pA<.<w:q>>"},
	{"<p xmlns='urn:w'><q xmlns=''><r/></q><r/></p>", "<w:p<:q<:r>><w:r>>"},
	{"<p xmlns:n='urn:a'><n:q xmlns:n='urn:w'/><n:q/></p>", "<:p<w:q><a:q>>"},
	{"<p xmlns:n='urn:other' n:id='1' xmlns:id='2'><n:q/></p>", "<:p<?:q>>"},
	{"<p xml:id='1'/>", "<:p>"},
	{"<x:p/>", "! a prefix has no namespace"},
	{"<p x:a=''/>", "! a prefix has no namespace"},
	{"<p><q xmlns:x='urn:a'/><x:r/></p>", "<:p<:q>! a prefix has no namespace"},
	/* What is refused. */
	{"", "! it is cut off"},
	{" \n", "! it is cut off"},
	{"<a>", "<:a! it is cut off"},
	{"<a", "! a tag is malformed"},
	{"<a b", "! an attribute has no value"},
	{"<a b=", "! an attribute has no value"},
	{"<a b='c", "! the value of an attribute has no end"},
	{"<a b='<'/>", "! the value of an attribute has no end"},
	{"<a b=c/>", "! an attribute has no value"},
	{"<a b='1'c='2'/>", "! a tag is malformed"},
	{"<a b='1' b='2'/>", "! an attribute stands twice"},
	{"< a/>", "! a tag is malformed"},
	{"<1/>", "! a tag is malformed"},
	{"<a:/>", "! a tag is malformed"},
	{"<:a/>", "! a tag is malformed"},
	{"<a:b:c/>", "! a tag is malformed"},
	{"<a/ >", "! a tag is malformed"},
	{"<a></b>", "<:a! a tag closes what is not open"},
	{"<a></aa>", "<:a! a tag closes what is not open"},
	{"</a>", "! a tag closes what is not open"},
	{"<a/></a>", "<:a>! a tag closes what is not open"},
	{"<a/><b/>", "<:a>! something stands behind its end"},
	{"<a/>b", "<:a>! there is text outside of all elements"},
	{"b<a/>", "! there is text outside of all elements"},
	{"<!DOCTYPE a><a/>", "! it has a document type"},
	{"<![CDATA[a]]><a/>", "! it has a document type"},
	{"<a><!ENTITY b></a>", "<:a! it has a document type"},
	{"<a>&b;</a>", "<:a! a reference to no character"},
	{"<a>&</a>", "<:a! a reference to no character"},
	{"<a>&#0;</a>", "<:a! a reference to no character"},
	{"<a>&#xD800;</a>", "<:a! a reference to no character"},
	{"<a>&#x110000;</a>", "<:a! a reference to no character"},
	{"<a>&#x100000041;</a>", "<:a! a reference to no character"},
	{"<a>&#-1;</a>", "<:a! a reference to no character"},
	{"<a>&lt</a>", "<:a! a reference to no character"},
	{"<a b='&b;'/>", "! a reference to no character"},
	{"<a>\x01</a>", "<:a! a control character"},
	{"<a><![CDATA[\x02]]></a>", "<:a! a control character"},
	{"<a><![CDATA[b]]</a>", "<:a! it is cut off"},
	{"<a><!-- b</a>", "<:a! it is cut off"},
	{"<?a", "! it is cut off"},
	{"<a>\xff</a>", "! it is not UTF-8"},
};

static void test_rows(void)
{
	struct buf got = BUF_INIT(4096);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_reset(&got);
		tell(str_c(rows[i].doc), &got);
		is_view(buf_view(&got), rows[i].want, "document %zu", i);
	}
	buf_free(&got);
}

/* Every part of a document that is not all of it is refused. */
static void test_cut(void)
{
	static const struct str doc =
		STR("<?xml version='1.0'?><w:a xmlns:w='urn:w' b='&#x41;'>"
		    "<!--c-->x&amp;<![CDATA[d]]><e/></w:a>");
	struct buf got = BUF_INIT(4096);

	for (size_t n = 0; n < doc.n; n++) {
		buf_reset(&got);
		tell(str_make(doc.p, n), &got);
		ok(str_find_byte(buf_view(&got), '!') < got.n, "%zu bytes", n);
	}
	buf_reset(&got);
	tell(doc, &got);
	is_view(buf_view(&got), "<w:a\"x&\"\"d\"<:e>>", "all of it");
	buf_free(&got);
}

static void repeat(struct buf *out, const char *text, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		buf_fmt(out, "%s", text);
}

static void test_caps(void)
{
	struct buf doc = BUF_INIT(1 << 20), got = BUF_INIT(1 << 20);

	repeat(&doc, "<a>", XML_DEPTH_MAX);
	repeat(&doc, "</a>", XML_DEPTH_MAX);
	tell(buf_view(&doc), &got);
	is_int(got.n, 4 * XML_DEPTH_MAX, "as deep as it may be");
	buf_reset(&doc);
	buf_reset(&got);
	repeat(&doc, "<a>", XML_DEPTH_MAX + 1);
	tell(buf_view(&doc), &got);
	ok(str_ends(buf_view(&got), STR("! it is nested too deeply")), "one deeper");

	for (unsigned more = 0; more < 2; more++) {
		buf_reset(&doc);
		buf_reset(&got);
		buf_puts(&doc, "<a");
		for (unsigned i = 0; i < XML_ATTRS_MAX + more; i++)
			buf_fmt(&doc, " b%u=''", i);
		buf_puts(&doc, "/>");
		tell(buf_view(&doc), &got);
		is_view(buf_view(&got),
			more ? "! an element has too many attributes" : "<:a>",
			"the attributes of one");
	}
	for (unsigned more = 0; more < 2; more++) {
		buf_reset(&doc);
		buf_reset(&got);
		for (unsigned i = 0; i < XML_BINDINGS_MAX / 2 + more; i++)
			buf_puts(&doc, "<a xmlns='' xmlns:b='urn:c'>");
		tell(buf_view(&doc), &got);
		ok(str_ends(buf_view(&got),
			   more ? STR("! it has too many namespaces")
				: STR("! it is cut off")),
			"the namespaces of all");
	}
	buf_free(&doc);
	buf_free(&got);
}

static void test_path(void)
{
	static struct xml x;
	int r;

	xml_init(&x, STR("<w:a xmlns:w='urn:w'><w:b><c/></w:b></w:a>"), known);
	for (int i = 0; i < 3; i++)
		r = xml_next(&x);
	is_int(r, XML_OPEN, "the third element");
	ok(xml_is_at(&x, "w:a/w:b/c"), "its path");
	ok(!xml_is_at(&x, "w:a/w:b"), "a part of it");
	ok(!xml_is_at(&x, "w:b/c"), "another part of it");
	ok(!xml_is_at(&x, "w:a/w:b/w:c"), "another namespace");
	ok(!xml_is_at(&x, "w:a/w:b/d"), "another name");
	ok(!xml_is_at(&x, "w:a/w:b/c/d"), "one more");
	is_int(xml_next(&x), XML_CLOSE, "its end");
	ok(xml_is_at(&x, "w:a/w:b/c"), "is in it");
	is_int(xml_next(&x), XML_CLOSE, "the end of the one around");
	ok(xml_is_at(&x, "w:a/w:b"), "is in that");
}

int main(void)
{
	test_rows();
	test_cut();
	test_caps();
	test_path();
	return done_testing();
}
