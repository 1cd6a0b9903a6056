/* Accessibility trees: bids taken out, frames joined, printed as text and as JSON. */
#include "browser/observe/axtree.h"

#include "limits.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdlib.h>

static const struct json_caps caps = {JSON_DEPTH_MAX, 4 << 20, 1000};
static struct arena arena;
static struct buf out = BUF_INIT(64 << 20);

static struct json_val parsed(struct str text)
{
	struct json_error e = {.why = ""};
	struct json *doc = arena_alloc(&arena, sizeof(*doc));

	if (!doc || json_parse(doc, text, &caps, &arena, &e)) {
		ok(false, "JSON at %zu: %s", e.at, e.why);
		return (struct json_val){.at = -1};
	}
	return json_root(doc);
}

static void begin(struct axtree *t)
{
	arena_reset(&arena);
	arena_init(&arena, 512 << 20);
	axtree_init(t, &arena);
}

static const struct axtree_view plain;

static struct str printed(const struct axtree *t, struct props_row *rows, size_t rows_n,
	const struct axtree_view *view)
{
	struct props p = {.row = rows, .n = rows_n};
	int r;

	buf_reset(&out);
	if (names_init(&p.by_bid, rows_n, &arena))
		return STR("no memory");
	for (size_t i = 0; i < rows_n; i++)
		names_put(&p.by_bid, rows[i].bid, i);
	r = axtree_print(t, &p, view, &out);
	return r ? str_c(err_text(r)) : buf_view(&out);
}

/* The text of one tree without frames and properties. */
static struct str text_of(const char *json)
{
	struct axtree t;
	int r;

	begin(&t);
	r = axtree_add_frame(&t, STR("F"), parsed(str_c(json)));
	return r ? str_c(err_text(r)) : printed(&t, NULL, 0, &plain);
}

#define NODE(id, role, name, more) \
	"{\"nodeId\":\"" id "\",\"role\":{\"type\":\"role\",\"value\":\"" role \
	"\"},\"name\":{\"type\":\"computedString\",\"value\":\"" name "\"}" more "}"
#define KIDS(list) ",\"childIds\":[" list "]"
#define PROPS(list) ",\"properties\":[" list "]"
#define PROP(name, value) \
	"{\"name\":\"" name "\",\"value\":{\"type\":\"t\",\"value\":" value "}}"
#define TREE(list) "{\"nodes\":[" list "]}"

static void test_lines(void)
{
	is_view(text_of(TREE(NODE("1", "RootWebArea", "A b", ""))), "RootWebArea 'A b'",
		"one node");
	is_view(text_of(TREE(NODE("1", "generic", "", KIDS("\"2\"")) "," NODE("2",
			"generic", " ", KIDS("\"3\",\"9\"")) "," NODE("3", "x", "", ""))),
		"generic\n\tgeneric ''\n\t\tx ''",
		"names that are empty; a child that is not there");
	is_view(text_of(TREE(NODE("1", "a", "",
			KIDS("\"2\",\"4\"")) ",{\"nodeId\":\"2\","
					     "\"ignored\":true,\"role\":{\"value\":"
					     "\"none\"},\"childIds\":[\"3\"]}," NODE(
						     "3", "b", "", "") "," NODE("4",
						     "LineBreak", "x",
						     KIDS("\"5\"")) "," NODE("5",
						     "StaticText", "x", ""))),
		"a ''\n\tb ''\n\tStaticText 'x'", "nodes without a line");
	is_view(text_of(TREE(NODE("1", "link", "See also this",
			KIDS("\"2\",\"3\",\"4\"")) "," NODE("2", "StaticText", "also",
			KIDS("\"5\"")) "," NODE("3", "StaticText", "other",
			"") "," NODE("4", "StaticText", "", "") "," NODE("5",
			"InlineTextBox", "also", ""))),
		"link 'See also this'\n\tInlineTextBox 'also'\n\tStaticText 'other'",
		"text that its parent's name has");
	is_view(text_of(TREE(NODE("1", "a", "",
			",\"value\":{\"value\":0.5}" PROPS(PROP(
				"focused", "true") "," PROP("required",
				"false") "," PROP("focusable", "true") "," PROP("checked",
				"\"true\"") "," PROP("valuemin", "1") "," PROP("disabled",
				"true") ","
					"{\"name\":\"none\",\"value\":{\"type\":\"t\"}"
					"}")))),
		"a '' value=0.5, focused, checked='true', valuemin=1, disabled=True",
		"value and properties");
	is_view(text_of(TREE(NODE("1", "a", "", ",\"value\":{\"value\":null}"))), "a ''",
		"no value");
	is_view(text_of(TREE("{\"nodeId\":\"1\",\"name\":{\"value\":7}}")), " ''",
		"neither a role nor a name of letters");
}

static void test_bids(void)
{
	is_view(text_of(TREE(NODE("1", "a", "",
			",\"description\":{\"value\":\"browsergym_id_aB7\"}"))),
		"[aB7] a ''", "from the description");
	is_view(text_of(TREE(NODE("1", "a", "",
			",\"description\":{\"value\":\"browsergym_id_x\"}" PROPS(
				PROP("roledescription", "\"browsergym_id_12 \""))))),
		"[12] a ''", "from the role's description, which goes");
	is_view(text_of(TREE(NODE("1", "a", "",
			PROPS(PROP(
				"roledescription", "\"browsergym_id_12 fancy \\n\""))))),
		"[12] a '', roledescription='fancy \\n'", "the page's own stays");
	is_view(text_of(TREE(NODE("1", "a", "",
			PROPS(PROP("roledescription", "\"browsergym_id_ 12\""))))),
		"a '', roledescription='browsergym_id_ 12'", "what is no bid");
	is_view(text_of(TREE(NODE("1", "a", "", PROPS(PROP("roledescription", "\"\""))))),
		"a ''", "an empty one");
}

static void test_views(void)
{
	static const char tree[] =
		TREE(NODE("1", "root", "", KIDS("\"2\",\"5\"")) "," NODE("2", "b", "",
			KIDS("\"3\"") ",\"description\":{\"value\":\"browsergym_"
				      "id_2\"}") "," NODE("3", "StaticText", "t",
			KIDS("\"4\"")) "," NODE("4", "InlineTextBox", "t",
			"") "," NODE("5", "link", "l",
			",\"description\":{\"value\":\"browsergym_id_5\"}" PROPS(
				PROP("url", "\"data:x,0123456789\\u00e9\""))));
	struct props_row rows[] = {
		{.bid = STR("2"), .visibility = 0.49},
		{.bid = STR("5"), .visibility = 0.5, .clickable = true},
		{.bid = STR("5"), .visibility = 1, .clickable = true},
	};
	struct axtree t;

	begin(&t);
	is_int(axtree_add_frame(&t, STR("F"), parsed(STR(tree))), 0, "a tree");
	is_view(printed(&t, rows, 2, &plain),
		"root ''\n\t[2] b ''\n\t\tStaticText 't'\n\t\t\tInlineTextBox 't'\n"
		"\t[5] link 'l', clickable, url='data:x,0123456789\u00e9'",
		"all of it");
	is_view(printed(&t, rows, 2, &(struct axtree_view){.visible_only = true}),
		"root ''\n\tInlineTextBox 't'\n\t[5] link 'l', clickable, "
		"url='data:x,0123456789\u00e9'",
		"what is visible");
	rows[1].visibility = -1;
	is_view(printed(&t, rows, 2, &(struct axtree_view){.visible_only = true}),
		"root ''\n\tInlineTextBox 't'", "unknown is hidden");
	is_view(printed(&t, rows, 3, &(struct axtree_view){.visible_only = true}),
		"root ''\n\tInlineTextBox 't'\n\t[5] link 'l', clickable, "
		"url='data:x,0123456789\u00e9'",
		"of two the last one counts");
	is_view(printed(&t, rows, 2,
			&(struct axtree_view){.no_inline = true, .data_url = 18}),
		"root ''\n\t[2] b ''\n\t\tStaticText 't'\n"
		"\t[5] link 'l', clickable, url='data:x,0123456789...'",
		"without lines of text; data cut, but no character");
	is_view(printed(&t, rows, 2,
			&(struct axtree_view){.no_inline = true, .data_url = 19}),
		"root ''\n\t[2] b ''\n\t\tStaticText 't'\n"
		"\t[5] link 'l', clickable, url='data:x,0123456789\u00e9'",
		"data that is short enough");
}

static void test_frames(void)
{
	struct axtree t;
	struct jw w;
	size_t at = 0;

	begin(&t);
	is_int(axtree_add_frame(&t, STR("M"),
		       parsed(STR(TREE(NODE("1", "root", "",
			       KIDS("\"2\",\"3\"")) "," NODE("2", "Iframe", "f",
			       KIDS("") ",\"backendDOMNodeId\":5") "," NODE("3", "Iframe",
			       "g", ",\"backendDOMNodeId\":6"))))),
		0, "the page");
	is_int(axtree_add_frame(&t, STR("E"), parsed(STR("{\"nodes\":[]}"))), 0,
		"an empty frame");
	is_int(axtree_add_frame(&t, STR("C"),
		       parsed(STR(TREE(NODE("8", "inner", "x",
			       ",\"description\":{\"type\":\"t\",\"value\":"
			       "\"browsergym_id_a0 own\"}" PROPS(PROP("roledescription",
				       "\"browsergym_id_a0 \"") "," PROP("roledescriptio"
									 "n",
				       "\"second\""))))))),
		0, "a frame");
	is_int(axtree_next_owner(&t, &at), true, "the first that has one");
	is_int(t.node[at].backend, 5, "is the one");
	axtree_attach_frame(&t, at, STR("C"));
	is_int(axtree_next_owner(&t, &at), true, "the second");
	axtree_attach_frame(&t, at, STR("unknown"));
	axtree_attach_frame(&t, at, STR("E"));
	is_int(axtree_next_owner(&t, &at), false, "there are no more");
	is_view(printed(&t, NULL, 0, &plain),
		"root ''\n\tIframe 'f'\n\t\t[a0] inner 'x'\n\tIframe 'g'", "joined");
	buf_reset(&out);
	jw_init(&w, &out);
	is_int(axtree_write(&t, &w), 0, "as JSON");
	is_view(buf_view(&out),
		TREE(NODE("1", "root", "", KIDS("\"2\",\"3\"")) "," NODE("2", "Iframe",
			"f", KIDS("\"8\"") ",\"backendDOMNodeId\":5") "," NODE("3",
			"Iframe", "g",
			",\"backendDOMNodeId\":6") "," NODE("8", "inner", "x",
			",\"description\":{\"type\":\"t\",\"value\":\"own\"}" PROPS(
				PROP("roledescription",
					"\"second\"")) ",\"browsergym_id\":\"a0\"")),
		"with what was taken out and put in");
	/* A frame in itself: each node has one line at most. */
	axtree_attach_frame(&t, 1, STR("M"));
	is_view(printed(&t, NULL, 0, &plain), "root ''\n\tIframe 'f'\n\tIframe 'g'",
		"a frame within itself");
}

static void test_hostile(void)
{
	struct arena little;
	struct json_val v;
	struct axtree t;

	is_view(text_of(TREE(NODE("1", "a", "", KIDS("\"1\",\"2\",\"2\"")) "," NODE(
			"2", "b", "", KIDS("\"1\",\"3\"")) "," NODE("3", "c", "",
			KIDS("\"2\",\"1\"")))),
		"a ''\n\tb ''\n\t\tc ''", "circles");
	is_view(text_of(TREE(NODE("1", "a", "", KIDS("\"2\"")) "," NODE(
			"2", "b", "", "") "," NODE("2", "c", "", ""))),
		"a ''\n\tc ''", "an id twice");
	is_view(text_of("{}"), err_text(ERR_TYPE), "no list");
	is_view(text_of("{\"nodes\":[]}"), err_text(ERR_TYPE), "nothing to print");
	is_view(text_of(TREE("{\"nodeId\":1}")), err_text(ERR_TYPE),
		"an id that is none");
	is_view(text_of(TREE(NODE("1", "a", "", KIDS("2")))), err_text(ERR_TYPE),
		"a child that is none");
	is_view(text_of(TREE("{\"name\":{\"value\":\"x\"},\"properties\":[{}]}")),
		err_text(ERR_TYPE), "a property without a name");
	begin(&t);
	v = parsed(STR(TREE(NODE("1", "a", "", ""))));
	arena_init(&little, 100);
	t.a = &little;
	is_int(axtree_add_frame(&t, STR("F"), v), -ENOMEM, "too little memory");
	arena_reset(&little);
}

/* n nodes: each the child of the one before it, or all children of the first. */
static void make_large(struct buf *json, int n, bool deep)
{
	buf_puts(json, "{\"nodes\":[");
	for (int i = 0; i < n; i++) {
		buf_fmt(json, "%s{\"nodeId\":\"%d\",\"role\":{\"value\":\"r\"}%s",
			i ? "," : "", i,
			deep && i > 10 ? "" : ",\"name\":{\"value\":\"n\"}");
		buf_puts(json, ",\"childIds\":[");
		if (deep && i + 1 < n)
			buf_fmt(json, "\"%d\"", i + 1);
		for (int k = 1; !deep && !i && k < n; k++)
			buf_fmt(json, "%s\"%d\"", k > 1 ? "," : "", k);
		buf_puts(json, "]}");
	}
	buf_puts(json, "]}");
}

static void test_large(void)
{
	struct buf json = BUF_INIT(64 << 20), small = BUF_INIT(1000);
	struct props none = {0};
	struct axtree t;

	make_large(&json, AXTREE_NODES_MAX, true);
	begin(&t);
	is_int(axtree_add_frame(&t, STR("F"), parsed(buf_view(&json))), 0,
		"as deep as can be");
	is_int(axtree_add_frame(&t, STR("G"), parsed(STR(TREE("{}")))), ERR_LIMIT,
		"one more");
	is_int(str_count(printed(&t, NULL, 0, &plain), '\n'), 10, "is printed");
	buf_reset(&json);
	make_large(&json, 12000, false);
	begin(&t);
	is_int(axtree_add_frame(&t, STR("F"), parsed(buf_view(&json))), 0, "a wide one");
	is_int(str_count(printed(&t, NULL, 0, &plain), '\n'), 11999, "is printed");
	is_int(axtree_print(&t, &none, &plain, &small), ERR_LIMIT,
		"into too little room");
	buf_free(&json);
	buf_free(&small);
}

int main(void)
{
	test_lines();
	test_bids();
	test_views();
	test_frames();
	test_hostile();
	test_large();
	arena_reset(&arena);
	buf_free(&out);
	return done_testing();
}
