#include "base/literal.h"
#include "browser/action/grammar.h"
#include "browser/action/primitives.h"
#include "limits.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { MEMORY = 8 << 20 };

/* --- What is found in a text ------------------------------------------------------- */

static void put_call(struct buf *out, const struct call *c)
{
	buf_str(out, c->name);
	buf_putc(out, '(');
	for (const struct value *a = c->args; a; a = a->next) {
		if (a->name.n)
			buf_fmt(out, "%.*s=", STR_ARG(a->name));
		value_put_repr(out, a);
		buf_puts(out, a->next ? ", " : "");
	}
	buf_puts(out, ")\n");
}

/* All calls, as Python would write them; or what is wrong with them. */
static void read_all(struct str text, struct buf *out)
{
	struct buf error = BUF_INIT(4096);
	struct grammar g;
	struct arena a;
	struct call c;
	/* What is read beyond its end is seen. */
	char *exact = malloc(text.n ? text.n : 1);
	int r;

	memcpy(exact, text.p, text.n);
	buf_reset(out);
	arena_init(&a, MEMORY);
	grammar_init(&g, str_make(exact, text.n), &a);
	while ((r = grammar_next(&g, &c)) == 0) {
		if (!primitive_find(c.name, false) && !error.n)
			buf_fmt(&error, "EXC NameError Invalid action type '%.*s'.",
				STR_ARG(c.name));
		put_call(out, &c);
	}
	if (r < 0)
		buf_fmt(&error, "EXC %s", err_text(r));
	if (!out->n && !error.n)
		buf_puts(&error, "EXC ValueError Received an empty action.");
	if (error.n) {
		buf_reset(out);
		buf_str(out, buf_view(&error));
	}
	grammar_free(&g);
	arena_reset(&a);
	buf_free(&error);
	free(exact);
}

static void check(const char *text, const char *want, const char *name)
{
	struct buf got = BUF_INIT(1 << 20);

	read_all(str_c(text), &got);
	is_view(buf_view(&got), want, "%s", name);
	buf_free(&got);
}

/* --- What the reference has read --------------------------------------------------- */

/* 'text' => 'calls', or what was raised. */
static bool check_line(struct str line, struct buf *text, struct buf *want)
{
	struct buf got = BUF_INIT(1 << 20);
	bool good;

	buf_reset(want);
	good = literal_parse_string(&line, text) == 0 && str_starts(line, STR("=> "));
	line = str_skip(line, 3);
	if (good && literal_is_string(line))
		good = literal_parse_string(&line, want) == 0;
	else
		buf_str(want, line);
	read_all(buf_view(text), &got);
	good = good && str_eq(buf_view(&got), buf_view(want));
	if (!good)
		printf("# %.*s: got %.*s\n", STR_ARG(buf_view(text)),
			STR_ARG(buf_view(&got)));
	buf_free(&got);
	return good;
}

static void test_reference(void)
{
	FILE *f = fopen("../shared/data/browser/action-grammar.txt", "re");
	struct buf text = BUF_INIT(65536), want = BUF_INIT(65536);
	char line[4096];
	int cases = 0, bad = 0;

	if (!f) {
		skip("the cases of the reference", "its data are not here");
		return;
	}
	if (fgets(line, sizeof(line), f))
		while (fgets(line, sizeof(line), f)) {
			cases++;
			bad += !check_line(str_trim(str_c(line), "\n"), &text, &want);
		}
	fclose(f);
	ok(cases >= 51, "the reference has %d cases", cases);
	is_int(bad, 0, "all of them are read as it reads them");
	buf_free(&text);
	buf_free(&want);
}

/* --- Cases of our own --------------------------------------------------------------- */

static void test_texts(void)
{
	check("", "EXC ValueError Received an empty action.", "no text");
	check("noop(\n\t 5 # five\n ,)", "noop(5)\n",
		"blanks, lines, comments, a last comma");
	check("click('1' button='left')", "click('1', button='left')\n",
		"no comma before the first name");
	check("noop(,)", "EXC ValueError Received an empty action.", "a comma alone");
	check("noop(1 2)", "EXC ValueError Received an empty action.", "two values");
	check("noop(wait_ms=1 x=2)", "EXC ValueError Received an empty action.",
		"two names without a comma");
	check("noop(wait_ms=1, 2)", "EXC ValueError Received an empty action.",
		"a place behind a name");
	check("noop(wait_ms==1)", "EXC ValueError Received an empty action.",
		"a comparison");
	check("noop(noop(1))", "noop(1)\n", "what is within a call that is none");
	check("1noop()", "noop()\n", "behind a figure");
	check("\xe2\x80\x9cnoop()\xe2\x80\x9d", "noop()\n", "within quotes of prose");
	check("noop()\n#noop(1)", "noop()\n", "a comment at the end");
}

static void test_values(void)
{
	check("fill(.5, -.25, +7, 007, -0, 1., 1e3, 2.5E-1)",
		"fill(0.5, -0.25, 7, 7, 0, 1.0, 1000.0, 0.25)\n", "numbers");
	check("noop(1e999)", "noop(inf)\n", "what is too large is infinite");
	check("noop(.5e1)", "EXC ValueError Received an empty action.",
		"no power behind a point alone");
	check("noop(-)", "EXC ValueError Received an empty action.", "a sign alone");
	check("noop([], (), {}, (1,), [[1], (2, 'b')], {'a': [1], 'b': {}})",
		"noop([], (), {}, (1,), [[1], (2, 'b')], {'a': [1], 'b': {}})\n",
		"containers");
	check("noop({1: 2})", "EXC ValueError Received an empty action.",
		"keys are strings");
	check("noop({'a'})", "EXC ValueError Received an empty action.", "no sets");
	check("noop([1,,])", "EXC ValueError Received an empty action.",
		"a comma too many");
	check("noop([1)", "EXC ValueError Received an empty action.", "another bracket");
	check("noop('a', \"it's\", 'q\"', '\\'\"')",
		"noop('a', \"it's\", 'q\"', '\\'\"')\n", "quotes");
	check("noop('a\\ud83d\\ude00b')",
		"noop('a\xf0\x9f\x98\x80"
		"b')\n",
		"a character in two halves");
	check("noop('\\ud83d\\ud83d\\ude00\\ude00\\ud83dx\\ud83d\\u0041\\ud83d')",
		"noop('\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbdx"
		"\xef\xbf\xbd"
		"A\xef\xbf\xbd')\n",
		"halves that stand alone");
	check("noop('\\ud83d\\u12')", "EXC ValueError Received an empty action.",
		"half a character, and no number");
	check("noop('\\U00110000')", "EXC ValueError Received an empty action.",
		"beyond all characters");
	check("noop('\\101\\x42\\\ncd\\q')", "noop('ABcd\\\\q')\n", "escapes");
	check("noop(Nonesuch)", "EXC ValueError Received an empty action.", "a variable");
}

/* --- What is made to hurt ---------------------------------------------------------- */

static void repeat(struct buf *out, const char *piece, size_t times)
{
	while (times--)
		buf_puts(out, piece);
}

static void check_repeated(
	const char *piece, size_t times, const char *want, const char *name)
{
	struct buf text = BUF_INIT(MEMORY), got = BUF_INIT(MEMORY);

	repeat(&text, piece, times);
	read_all(buf_view(&text), &got);
	is_view(buf_view(&got), want, "%s", name);
	buf_free(&text);
	buf_free(&got);
}

static void test_limits(void)
{
	struct buf text = BUF_INIT(MEMORY);
	struct buf got = BUF_INIT(MEMORY);

	check_repeated("f('''", 50001, "EXC ValueError Received an empty action.",
		"strings that never end");
	check_repeated("f([", 100000, "EXC ValueError Received an empty action.",
		"calls within lists within calls");
	buf_puts(&text, "noop(");
	repeat(&text, "[", ACTION_DEPTH_MAX + 1);
	repeat(&text, "]", ACTION_DEPTH_MAX + 1);
	buf_puts(&text, ")");
	read_all(buf_view(&text), &got);
	is_view(buf_view(&got), "EXC ValueError Received an empty action.",
		"lists too deep");
	buf_reset(&text);
	buf_puts(&text, "noop(1");
	repeat(&text, ",1", ACTION_ARGS_MAX);
	buf_puts(&text, ")");
	read_all(buf_view(&text), &got);
	is_view(buf_view(&got), "EXC ValueError Received an empty action.",
		"too many arguments");
	buf_reset(&text);
	buf_puts(&text, "fill('1', '");
	repeat(&text, "0123456789", 100000);
	buf_puts(&text, "')");
	read_all(buf_view(&text), &got);
	is_int(got.n, text.n + 1, "a megabyte to fill in");
	buf_free(&text);
	buf_free(&got);
}

/* The memory for a call ends at any time. */
static void test_memory(void)
{
	static const struct str text = STR("fill('1', ['abc', ('d', 5)], x={'y': 1.5})");
	size_t max = 0;
	int r, wrong = 0;

	do {
		struct grammar g;
		struct arena a;
		struct call c;

		arena_init(&a, max += 16);
		grammar_init(&g, text, &a);
		r = grammar_next(&g, &c);
		wrong += r && r != -ENOMEM;
		grammar_free(&g);
		arena_reset(&a);
	} while (r && max < 65536);
	is_int(r, 0, "with enough memory it is read");
	is_int(wrong, 0, "with less it says so");
}

/* --- Arguments and parameters ------------------------------------------------------ */

static void bind(const char *text, const char *want)
{
	const struct value *values[PRIMITIVE_PARAMS_MAX];
	struct buf error = BUF_INIT(4096);
	const struct primitive *p;
	struct grammar g;
	struct arena a;
	struct call c;
	int r;

	arena_init(&a, MEMORY);
	grammar_init(&g, str_c(text), &a);
	r = grammar_next(&g, &c);
	p = r ? NULL : primitive_find(c.name, true);
	if (!p)
		buf_puts(&error, "no call");
	else if (primitive_check(&c, &error) == 0 &&
		primitive_bind(p, &c, values, &error) == 0)
		for (size_t i = 0; i < PRIMITIVE_PARAMS_MAX; i++) {
			if (values[i])
				value_put_repr(&error, values[i]);
			buf_puts(&error, values[i] ? ";" : "-;");
		}
	is_view(buf_view(&error), want, "%s", text);
	grammar_free(&g);
	arena_reset(&a);
	buf_free(&error);
}

static void test_binding(void)
{
	bind("noop()", "-;-;-;-;");
	bind("click('1', modifiers=['Alt'])", "'1';-;['Alt'];-;");
	bind("fill(value='x', bid='1')", "'1';'x';-;-;");
	bind("click()",
		"TypeError: click() missing 1 required positional argument: 'bid'");
	bind("fill()",
		"TypeError: fill() missing 2 required positional arguments: "
		"'bid' and 'value'");
	bind("fill(value=1)",
		"TypeError: fill() missing 1 required positional argument: 'bid'");
	bind("mouse_drag_and_drop(1)",
		"TypeError: mouse_drag_and_drop() missing 3 required positional "
		"arguments: 'from_y', 'to_x', and 'to_y'");
	bind("goto('a', 'b')",
		"TypeError: goto() takes 1 positional argument but 2 were given");
	bind("go_back(1)",
		"TypeError: go_back() takes 0 positional arguments but 1 was given");
	bind("click(1, 2, 3, 4)",
		"TypeError: click() takes from 1 to 3 positional arguments but 4 were "
		"given");
	bind("noop(1, 2)",
		"TypeError: noop() takes from 0 to 1 positional arguments but 2 were "
		"given");
	bind("click('1', bid='2')",
		"TypeError: click() got multiple values for argument 'bid'");
	bind("click('1', foo='2')",
		"TypeError: click() got an unexpected keyword argument 'foo'");
	bind("click(button='left', button='right')",
		"SyntaxError: keyword argument repeated: button");
	ok(!primitive_find(STR("mouse_click"), false) &&
			primitive_find(STR("mouse_click"), true),
		"what knows places is there where it is asked for");
}

int main(void)
{
	test_reference();
	test_texts();
	test_values();
	test_limits();
	test_memory();
	test_binding();
	return done_testing();
}
