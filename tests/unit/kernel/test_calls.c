#include "kernel/calls.h"

#include "base/err.h"
#include "tests/tap.h"

/* The steps of a cell in words: ! where something is not understood. */
static void describe(struct str code, struct buf *out)
{
	static const char *const shows[] = {
		[CALLS_TEXT] = "",
		[CALLS_TEXT_NONE] = "+None",
		[CALLS_REPR] = "+repr",
		[CALLS_NOTHING] = "-",
	};
	struct calls_step step;
	struct calls c;
	int r;

	buf_reset(out);
	calls_init(&c, code);
	while ((r = calls_next(&c, &step)) == 0) {
		if (step.kind == CALLS_SKILL)
			buf_fmt(out, "%s%s", step.skill, shows[step.show]);
		else
			buf_puts(out, step.kind == CALLS_PRINT ? "=" : "E:");
		buf_str(out, step.text);
		buf_putc(out, ' ');
	}
	if (r < 0)
		buf_putc(out, '!');
	calls_free(&c);
}

#define EDIT "file_editor"
#define VIEW "{\"command\":\"view\",\"path\":\"/a\"}"

static const struct {
	const char *code, *want;
} cells[] = {
	{"", ""},
	{"\n  # nothing\n\n", ""},
	{"scroll_down()", "scroll_down{} "},
	{"scroll_up ( ) ; # twice\nscroll_up()\r\n", "scroll_up{} scroll_up{} "},
	{"scroll_down();scroll_up();", "scroll_down{} scroll_up{} "},
	{"open_file('a', 5)", "open_file{\"path\":\"a\",\"line_number\":5} "},
	{"open_file(\n  'a', # the file\n  line_number = -1,\n)",
		"open_file{\"path\":\"a\",\"line_number\":-1} "},
	{"open_file('a', None, '1')",
		"open_file{\"path\":\"a\",\"line_number\":\"None\","
		"\"context_lines\":\"1'\"} "},
	{"open_file('a', True, [1])",
		"open_file{\"path\":\"a\",\"line_number\":1,"
		"\"context_lines\":\"[]\"} "},
	{"search_file('a', None)",
		"search_file{\"search_term\":\"a\",\"file_path\":null} "},
	{"file_editor('view', '/a')", EDIT "+repr" VIEW " "},
	{"file_editor('view', '/a');", EDIT "-" VIEW " "},
	{"file_editor('view', '/a')\nscroll_up()", EDIT "-" VIEW " scroll_up{} "},
	{"print(file_editor('view', path='/a'))", EDIT VIEW " "},
	{"print(file_editor(**{'command': 'view', \"path\": '/a',}),)", EDIT VIEW " "},
	{"file_editor('view', '/a', view_range=[1, -1,])\n",
		EDIT "+repr{\"command\":\"view\",\"path\":\"/a\","
		     "\"view_range\":[1, -1]} "},
	{"print(scroll_up())", "scroll_up+None{} "},
	{"print('a' \"b\"\n'''c\nd''')\nprint()", "=abc\nd\n =\n "},
	{"print('\\n\\t\\\\\\'\\x41\\101\\u00e9\\U0001f600\\q\\\nz')",
		"=\n\t\\'AA\xc3\xa9\xf0\x9f\x98\x80\\qz\n "},
	{"print(r'a\\n\\'b')", "=a\\n\\'b\n "},
	{"print('''a''b\r\nc''')", "=a''b\nc\n "},
	{"print('')", "=\n "},
	{"from agentskills import *\nscroll_up()", "scroll_up{} "},
	{"from openhands.runtime.plugins.agent_skills.agentskills import open_file, "
	 "goto_line\n",
		""},
	/* What Python would say. */
	{"goto_line()",
		"E:TypeError: goto_line() missing a required argument: "
		"'line_number' "},
	{"goto_line(1, 2)",
		"E:TypeError: goto_line() was given too many positional "
		"arguments "},
	{"goto_line(x=2)",
		"E:TypeError: goto_line() got an unexpected keyword "
		"argument 'x' "},
	{"goto_line(1, line_number=2)",
		"E:TypeError: goto_line() got multiple values "
		"for argument 'line_number' "},
	/* What is no list of calls. */
	{"x = 1", "!"},
	{"print(1)", "!"},
	{"print('a', 'b')", "!"},
	{"print('a' + 'b')", "!"},
	{"print(f'{x}')", "!"},
	{"print(b'x')", "!"},
	{"import os", "!"},
	{"from os import *", "!"},
	{"from agentskills import system", "!"},
	{"open_file(x)", "!"},
	{"open_file('a', 1.0)", "!"},
	{"open_file('a', 0x10)", "!"},
	{"open_file('a', 1 + 1)", "!"},
	{"open_file('a', 99999999999999999999)", "!"},
	{"open_file('a', path='b', 'c')", "!"},
	{"open_file('a').x", "!"},
	{"open_file('a') or 1", "!"},
	{"open_file('a'", "!"},
	{"open_file('a\n')", "!"},
	{"open_file('a\\N{DASH}')", "!"},
	{"open_file('\\ud800')", "!"},
	{"open_file('\\U00110000')", "!"},
	{"open_file('\\x4')", "!"},
	{"open_file('\\", "!"},
	{"open_file", "!"},
	{"scroll_up() scroll_up()", "!"},
	{"if 1:\n  scroll_up()", "!"},
	{"scroll_up()\n  scroll_up()", "scroll_up{} !"},
	{"!ls", "!"},
};

static void check_cells(void)
{
	struct buf got = BUF_INIT(4096);

	for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
		struct str code = str_c(cells[i].code);
		bool refused = str_ends(str_c(cells[i].want), STR("!"));

		describe(code, &got);
		is_view(buf_view(&got), cells[i].want, "cell %zu", i);
		ok((calls_check(code) != 0) == refused, "...checked before");
	}
	buf_free(&got);
}

static void check_repr(void)
{
	struct buf out = BUF_INIT(256);

	calls_put_repr(&out, STR("a'b\"\n\\\x01"));
	is_view(buf_view(&out), "'a\\'b\"\\n\\\\\\x01'", "both quotes");
	buf_reset(&out);
	calls_put_repr(&out, STR("it's"));
	is_view(buf_view(&out), "\"it's\"", "one of them");
	buf_free(&out);
}

/* A cell that was cut is never taken for one that calls something else. */
static void check_cut(void)
{
	static const struct str code =
		STR("print(file_editor('create', '/a', \"b\\n\"))");
	size_t good = 0;

	for (size_t n = 1; n < code.n; n++)
		good += calls_check(str_make(code.p, n)) == 0;
	is_int((int64_t)good, 0, "every cut is refused");
}

int main(void)
{
	check_cells();
	check_repr();
	check_cut();
	return done_testing();
}
