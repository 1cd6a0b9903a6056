/* Snapshots of the DOM, and what they tell of marked elements. */
#include "browser/observe/props.h"

#include "limits.h"
#include "tests/support/snapshot_make.h"
#include "tests/tap.h"

#include <errno.h>

static const struct json_caps caps = {JSON_DEPTH_MAX, 1 << 20, 1000};
static struct arena arena;
static struct buf json = BUF_INIT(16 << 20), out = BUF_INIT(1 << 20);

static int read_text(struct str text, struct snapshot *s)
{
	struct json_error e = {.why = ""};
	static struct json doc;

	arena_reset(&arena);
	arena_init(&arena, 64 << 20);
	if (json_parse(&doc, text, &caps, &arena, &e)) {
		ok(false, "JSON at %zu: %s", e.at, e.why);
		return -EINVAL;
	}
	return snapshot_read(s, json_root(&doc), &arena);
}

static struct str props_of(const char *const *docs, int docs_n)
{
	struct snapshot s;
	struct props p;
	struct jw w;
	int r;

	made_write(&json, docs, docs_n);
	r = read_text(buf_view(&json), &s);
	if (!r)
		r = props_read(&p, &s, &arena);
	if (r)
		return str_c(err_text(r));
	buf_reset(&out);
	jw_init(&w, &out);
	props_write(&p, &w);
	return buf_view(&out);
}

#define RATIO "browsergym_visibility_ratio"
#define MARK "browsergym_set_of_marks"

static void test_elements(void)
{
	const char *docs[] = {
		"<html bid=\"0\"><a bid=\"1\" " RATIO "=\"0.25\" " MARK
		"=\"1\" clickable=\"1\" box=\"1 2.5 3 4\"/>text"
		"<b " RATIO "=\"1\"/><b bid=\"2\" " RATIO "=\"1\" " MARK
		"=\"0\" norect=\"5 6 7 8\"/>"
		"<i bid=\"\"/><i bid=\"3]x\"/></html>",
	};

	is_view(props_of(docs, 1),
		"{\"0\":{\"visibility\":null,\"bbox\":null,\"clickable\":false,"
		"\"set_of_marks\":null},"
		"\"1\":{\"visibility\":0.25,\"bbox\":[1.0,2.5,3.0,4.0],\"clickable\":"
		"true,"
		"\"set_of_marks\":true},"
		"\"2\":{\"visibility\":1.0,\"bbox\":null,\"clickable\":false,"
		"\"set_of_marks\":false}}",
		"what has a bid");
}

static void test_frames(void)
{
	const char *docs[] = {
		"<html><frame n=\"2\" box=\"10 20 30 40\"/><frame n=\"1\"/></html>",
		"<p bid=\"b1\" box=\"1 1 1 1\"/>",
		"<div><frame n=\"3\" box=\"5 5 5 5\"/><p bid=\"a1\" box=\"1 1 1 "
		"1\"/></div>",
		"<p bid=\"aa1\" box=\"1 1 1 1\"/>",
	};

	/* Each document is scrolled by its number, and by twice that downwards. */
	is_view(props_of(docs, 4),
		"{\"b1\":{\"visibility\":null,\"bbox\":[0.0,-1.0,1.0,1.0],\"clickable\":"
		"false,"
		"\"set_of_marks\":null},"
		"\"a1\":{\"visibility\":null,\"bbox\":[9.0,17.0,1.0,1.0],\"clickable\":"
		"false,"
		"\"set_of_marks\":null},"
		"\"aa1\":{\"visibility\":null,\"bbox\":[11.0,16.0,1.0,1.0],"
		"\"clickable\":false,\"set_of_marks\":null}}",
		"documents in documents");
	docs[1] = "<frame n=\"1\"/><frame n=\"0\"/><p bid=\"b1\"/>";
	docs[2] = docs[3] =
		"<frame n=\"2\"/><frame n=\"1\"/><p bid=\"b1\" clickable=\"1\"/>";
	is_view(props_of(docs, 4),
		"{\"b1\":{\"visibility\":null,\"bbox\":null,\"clickable\":true,"
		"\"set_of_marks\":null}}",
		"circles are walked once; of two with a bid the last counts");
}

static void test_visibility(void)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{"0", "0.0"},
		{"1", "1.0"},
		{"0.1", "0.1"},
		{"0.99", "0.99"},
		{"", "null"},
		{"2", "null"},
		{"0,5", "null"},
		{"0.5x", "null"},
		{"0x1", "null"},
		{"1e9", "null"},
		{"-1", "null"},
		{" 1", "null"},
		{"0.000000001", "null"},
	};
	struct buf html = BUF_INIT(1000), want = BUF_INIT(1000);

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *doc;

		buf_reset(&html);
		buf_reset(&want);
		buf_fmt(&html, "<p bid=\"x\" " RATIO "=\"%s\"/>", cases[i].text);
		buf_fmt(&want,
			"{\"x\":{\"visibility\":%s,\"bbox\":null,\"clickable\":false,"
			"\"set_of_marks\":null}}",
			cases[i].want);
		doc = buf_cstr(&html);
		is_view(props_of(&doc, 1), buf_cstr(&want), "visibility \"%s\"",
			cases[i].text);
	}
	buf_free(&html);
	buf_free(&want);
}

/* A snapshot of two nodes, in which one text is replaced by another. */
static void test_refused(void)
{
	static const struct {
		const char *from, *to;
		int want;
	} cases[] = {
		{"", "", 0},
		{"\"strings\"", "\"x\"", ERR_RANGE},
		{"\"documents\"", "\"x\"", ERR_TYPE},
		{"\"strings\":[\"a\"", "\"strings\":[1", ERR_TYPE},
		{"\"parentIndex\":[-1,0]", "\"parentIndex\":[-1,1]", ERR_RANGE},
		{"\"parentIndex\":[-1,0]", "\"parentIndex\":[-1,2]", ERR_RANGE},
		{"\"parentIndex\":[-1,0]", "\"parentIndex\":[-2,0]", ERR_RANGE},
		{"\"parentIndex\":[-1,0]", "\"parentIndex\":[-1]", ERR_TYPE},
		{"\"parentIndex\":[-1,0]", "\"parentIndex\":[-1,0.5]", ERR_TYPE},
		{"\"nodeType\":[9,1]", "\"nodeType\":[9,3000000000]", ERR_RANGE},
		{"\"nodeName\":[0,1]", "\"nodeName\":[0,2]", ERR_RANGE},
		{"\"nodeName\":[0,1]", "\"nodeName\":[0,-1]", 0},
		{"\"attributes\":[[],[0,1]]", "\"attributes\":[[],[0,7]]", ERR_RANGE},
		{"\"attributes\":[[],[0,1]]", "\"attributes\":[[],[0]]", 0},
		{"\"attributes\":[[],[0,1]]", "\"attributes\":[[0,1]]", ERR_TYPE},
		{"\"isClickable\":{\"index\":[1]", "\"isClickable\":{\"index\":[2]",
			ERR_RANGE},
		{"\"isClickable\":{\"index\":[1]", "\"isClickable\":{\"index\":[-1]",
			ERR_RANGE},
		{"\"value\":[0]", "\"value\":[1]", ERR_RANGE},
		{"\"nodeIndex\":[1]", "\"nodeIndex\":[5]", ERR_TYPE},
		{"\"bounds\":[[1,2,3,4]]", "\"bounds\":[]", ERR_TYPE},
		{"\"bounds\":[[1,2,3,4]]", "\"bounds\":[[1,2,3]]", ERR_TYPE},
		{"\"clientRects\":[[]]", "\"clientRects\":[]", ERR_TYPE},
		{"\"scrollOffsetX\":0", "\"scrollOffsetX\":\"0\"", ERR_TYPE},
		{"\"scrollOffsetY\":0", "\"y\":0", ERR_TYPE},
	};
	static const char good[] =
		"{\"documents\":[{\"nodes\":{\"parentIndex\":[-1,0],\"nodeType\":[9,1],"
		"\"nodeName\":[0,1],\"nodeValue\":[-1,-1],\"attributes\":[[],[0,1]],"
		"\"isClickable\":{\"index\":[1]},\"pseudoType\":{\"index\":[]},"
		"\"contentDocumentIndex\":{\"index\":[1],\"value\":[0]}},"
		"\"layout\":{\"nodeIndex\":[1],\"bounds\":[[1,2,3,4]],\"clientRects\":[[]"
		"]},"
		"\"scrollOffsetX\":0,\"scrollOffsetY\":0}],\"strings\":[\"a\",\"b\"]}";
	struct snapshot s;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str from = str_c(cases[i].from);
		size_t at = str_find(STR(good), from);

		buf_reset(&json);
		buf_put(&json, good, at);
		buf_puts(&json, cases[i].to);
		buf_str(&json, str_skip(STR(good), at + from.n));
		is_int(read_text(buf_view(&json), &s), cases[i].want, "%s instead of %s",
			cases[i].to, cases[i].from);
	}
}

static void test_memory(void)
{
	const char *doc = "<p bid=\"1\" box=\"1 1 1 1\">text</p>";
	struct json_error e;
	struct snapshot s;
	struct arena little;
	struct props p;
	struct json j;
	int r = -ENOMEM;

	made_write(&json, &doc, 1);
	arena_reset(&arena);
	if (json_parse(&j, buf_view(&json), &caps, &arena, &e))
		r = -EINVAL;
	for (size_t max = 0; r == -ENOMEM && max < 100000; max += 16) {
		arena_init(&little, max);
		r = snapshot_read(&s, json_root(&j), &little);
		if (!r)
			r = props_read(&p, &s, &little);
		arena_reset(&little);
	}
	is_int(r, 0, "whatever the memory, it is enough or told");
}

int main(void)
{
	arena_init(&arena, 64 << 20);
	test_elements();
	test_frames();
	test_visibility();
	test_refused();
	test_memory();
	arena_reset(&arena);
	buf_free(&json);
	buf_free(&out);
	return done_testing();
}
