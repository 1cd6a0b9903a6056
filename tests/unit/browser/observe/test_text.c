/* The text of pages as Markdown. */
#include "browser/observe/text.h"

#include "limits.h"
#include "tests/support/snapshot_make.h"
#include "tests/tap.h"

#include <errno.h>

static const struct json_caps caps = {JSON_DEPTH_MAX, 1 << 20, 1000};
static struct arena arena;
static struct buf json = BUF_INIT(16 << 20), out = BUF_INIT(1 << 20);

static struct str text_of_all(const char *const *docs, int docs_n)
{
	struct json_error e = {.why = ""};
	struct snapshot s;
	struct json doc;
	int r;

	made_write(&json, docs, docs_n);
	arena_reset(&arena);
	arena_init(&arena, 64 << 20);
	r = json_parse(&doc, buf_view(&json), &caps, &arena, &e);
	if (!r)
		r = snapshot_read(&s, json_root(&doc), &arena);
	buf_reset(&out);
	if (!r)
		r = page_text_print(&s, &out, &arena);
	return r ? str_c(err_text(r)) : buf_view(&out);
}

static struct str text_of(const char *html)
{
	return text_of_all(&html, 1);
}

static void test_rules(void)
{
	static const struct {
		const char *html;
		const char *want;
	} cases[] = {
		{"", ""},
		{" \n ", ""},
		{"<html><head><title>T</title></head><body>x</body></html>", "x\n"},
		{"<p> a\n\t b </p><p></p><p>c</p>", "a b\n\nc\n"},
		{"<div>a</div><div>b</div><span>c</span><span>d</span>",
			"a\n\nb\n\ncd\n"},
		{"<SECTION>a</SECTION>b<NAV>c</NAV>", "a\n\nb\n\nc\n"},
		{"a<b>b</b>c", "a**b**c\n"},
		{"a <b> b </b> c", "a **b** c\n"},
		{"a<b> b </b>c<i><b> d</b></i>", "a **b** c _**d**_\n"},
		{"<ul><li><p>a</p><p>b</p></li><li></li><li><b/>c</li></ul>",
			"  * a\n\nb\n\n  * \n  * c\n"},
		{"a<i>b</i>", "a _b_\n"},
		{"(<i>b</i>)<em>c</em> <u>d</u>", "(_b_)_c_ _d_\n"},
		{"a <b></b>b<b> </b> c<code></code>", "a b c\n"},
		{"<b><p>a</p></b>b", "**a**\n\nb\n"},
		{"<del>a</del><s>b</s> <strike>c</strike>", "~~a~~~~b~~ ~~c~~\n"},
		{"<code>1. x</code><kbd> y </kbd><tt>z</tt>", "`1. x` `y` `z`\n"},
		{"<q>a</q>", "\"a\"\n"},
		{"a<br/>b<br/><br/>c<p>d</p><br/>e", "a  \nb  \n\nc\n\nd\n\ne\n"},
		{"<br/>a<hr/>b", "a\n\n* * *\n\nb\n"},
		{"<h1>A</h1><h3> B <i>c</i></h3><h6/>d",
			"# A\n\n### B _c_\n\n###### \n\nd\n"},
		{"<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>d",
			"  * a\n    * b\n  * c\n\nd\n"},
		{"<ol start=\"3\"><li>x</li><li value=\"0\">y</li></ol>",
			"  3. x\n  4. y\n"},
		{"<ol start=\"x\"><li>a<ol><li>b</li></ol></li><li>c</li></ol>",
			"  1. a\n    1. b\n  2. c\n"},
		{"<li>a</li><li>b</li>", "* a\n* b\n"},
		{"<ol><li><::marker>1. </::marker>a</li></ol>", "  1. a\n"},
		{"<dl><dt>t</dt><dd>d</dd><dt>u</dt><dd>e</dd></dl>f",
			"t\n    d\nu\n    e\n\nf\n"},
		{"a<blockquote><p>b</p><p>c</p></blockquote>d",
			"a\n\n> b\n> \n> c\n\nd\n"},
		{"<blockquote>a<blockquote>b</blockquote></blockquote>",
			"> a\n> \n> > b\n"},
		{"<blockquote><pre>a\nb</pre></blockquote>", ">     a\n>     b\n"},
		{"a<pre>  x\n\n y <b>z</b>\n</pre>b",
			"a\n\n      x\n    \n     y **z**\n\nb\n"},
		{"<pre><code>x  y</code></pre>", "    x  y\n"},
		{"1. a", "1\\. a\n"},
		{"<p>12. a</p>b 1. c 1.5 d", "12\\. a\n\nb 1. c 1.5 d\n"},
		{"1.", "1.\n"},
		{"* - + # _ ` \\", "* - + # _ ` \\\n"},
		{"<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td><p>2</p><p>3</"
		 "p></td></tr>"
		 "</table>c",
			"a | b  \n---|---  \n1 | 2 3  \n\nc\n"},
		{"<table><tr><td>a</td></tr></table>", "a  \n---\n"},
		{"<table><tr></tr></table>a", "a\n"},
		{"<a href=\"/p\" title=\"T\">x</a>", "[x](/p \"T\")\n"},
		{"<a href=\"x (y)\\[].html\"> <img/>p </a>q",
			"[p](x \\(y\\)\\\\\\[\\].html) q\n"},
		{"<a href=\"y\"><div>a</div><div>b</div></a>", "[a b](y)\n"},
		{"<a href=\"#f\">a</a> <a>b</a> <a href=\"\"></a>", "a b []()\n"},
		{"<script>s</script><style>s</style><template>t</template>"
		 "<noscript>n</noscript>a",
			"a\n"},
		{"<select><option>a</option><option>b</option></select><button>c</"
		 "button>",
			"a b c\n"},
		{"a\u00a0\u3000b\u200bc", "a b\u200bc\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		is_view(text_of(cases[i].html), cases[i].want, "%s",
			cases[i].html[0] == '*' ? "signs" : cases[i].html);
}

static void test_frames(void)
{
	const char *docs[] = {
		"<html><body>a<frame n=\"1\"/>c<frame n=\"2\"/></body></html>",
		"<html><head><title>T</title><style>s</style></head><body><p>b</p></"
		"body></html>",
		"d<frame n=\"1\"/><frame n=\"2\"/><frame n=\"0\"/>",
	};

	is_view(text_of_all(docs, 3), "a T\n\nb\n\ncd\n",
		"frames, each where it is first");
	docs[0] = "<iframe><frame n=\"1\"/></iframe>a";
	docs[1] = "<title>T</title>b";
	is_view(text_of_all(docs, 3), "T b a\n", "the title of a frame");
	docs[0] = "<script><frame n=\"1\"/></script>a";
	is_view(text_of_all(docs, 3), "a\n", "in what is left out");
}

static void test_limits(void)
{
	struct buf html = BUF_INIT(1 << 20), small = BUF_INIT(20);
	struct json_error e;
	struct arena little;
	struct snapshot s;
	struct json doc;
	const char *text;
	int r = -ENOMEM;

	for (int i = 0; i < 900; i++)
		buf_puts(&html, "<ul><li>x");
	for (int i = 0; i < 900; i++)
		buf_puts(&html, "</li></ul>");
	text = buf_cstr(&html);
	is_int(str_count(text_of(text), '\n'), 900, "deep lists");
	is_view(text_of("<p>0123456789 0123456789</p>"), "0123456789 0123456789\n",
		"a text");
	if (json_parse(&doc, buf_view(&json), &caps, &arena, &e) ||
		snapshot_read(&s, json_root(&doc), &arena))
		r = -EINVAL;
	is_int(page_text_print(&s, &small, &arena), ERR_LIMIT, "too little room for it");
	for (size_t max = 0; r == -ENOMEM && max < 100000; max += 16) {
		arena_init(&little, max);
		buf_reset(&out);
		r = page_text_print(&s, &out, &little);
		arena_reset(&little);
	}
	is_int(r, 0, "whatever the memory, it is enough or told");
	buf_free(&html);
	buf_free(&small);
}

int main(void)
{
	arena_init(&arena, 64 << 20);
	test_rules();
	test_frames();
	test_limits();
	arena_reset(&arena);
	buf_free(&json);
	buf_free(&out);
	return done_testing();
}
