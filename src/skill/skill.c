#include "skill/skill.h"

#include "base/exit.h"
#include "base/fd.h"
#include "base/json.h"
#include "limits.h"
#include "skill/private.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* No text can be extracted from PDF files yet. The error names an alternative. */
static void skill_parse_pdf(struct skill_call *c)
{
	skill_set_error(c,
		"[No PDF text extractor available] Convert %s with a program such as "
		"pdftotext (Debian: poppler-utils) and open the result with open_file.",
		c->args[0]);
}

static const struct skill {
	void (*run)(struct skill_call *c);
	size_t needed;                    /* number of required arguments */
	const char *args[SKILL_ARGS_MAX]; /* names of the arguments */
} skills[SKILL_COUNT] = {
	[SKILL_OPEN_FILE] = {skill_open_file, 1,
		{"path", "line_number", "context_lines"}},
	[SKILL_GOTO_LINE] = {skill_goto_line, 1, {"line_number"}},
	[SKILL_SCROLL_DOWN] = {skill_scroll_down, 0, {NULL}},
	[SKILL_SCROLL_UP] = {skill_scroll_up, 0, {NULL}},
	[SKILL_SEARCH_DIR] = {skill_search_dir, 1, {"search_term", "dir_path"}},
	[SKILL_SEARCH_FILE] = {skill_search_file, 1, {"search_term", "file_path"}},
	[SKILL_FIND_FILE] = {skill_find_file, 1, {"file_name", "dir_path"}},
	[SKILL_FILE_EDITOR] = {skill_file_editor, 2,
		{"command", "path", "file_text", "view_range", "old_str", "new_str",
			"insert_line", "enable_linting"}},
	[SKILL_PARSE_PDF] = {skill_parse_pdf, 1, {"file_path"}},
	[SKILL_PARSE_DOCX] = {skill_parse_docx, 1, {"file_path"}},
	[SKILL_PARSE_LATEX] = {skill_parse_latex, 1, {"file_path"}},
	[SKILL_PARSE_PPTX] = {skill_parse_pptx, 1, {"file_path"}},
};

/* The index of the skill that argv0 names; SKILLS for none. */
static size_t skill_find_id(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;
	struct str name = str_c(slash ? slash + 1 : argv0);
	size_t i = 0;

	while (i < SKILL_COUNT && !str_eq(name, str_c(skill_name(i))))
		i++;
	return i;
}

bool skill_is_name(const char *argv0)
{
	return skill_find_id(argv0) < SKILL_COUNT;
}

void skill_set_error(struct skill_call *c, const char *fmt, ...)
{
	char words[FILE_WORDS_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	buf_reset(&c->out);
	buf_fmt(&c->out, "ERROR: %s\n", words);
	c->failed = true;
}

/* --- Arguments ----------------------------------------------------------------- */

/* The index of the argument called name; SKILL_ARGS_MAX for none. */
static size_t skill_find_arg(const struct skill *k, struct str name)
{
	for (size_t i = 0; i < SKILL_ARGS_MAX && k->args[i]; i++)
		if (str_eq(name, str_c(k->args[i])))
			return i;
	return SKILL_ARGS_MAX;
}

static int skill_read_input(struct buf *text)
{
	enum { PIECE = 64 << 10 };
	ssize_t n;

	do {
		char *room = buf_reserve(text, PIECE);

		if (!room)
			return text->err;
		n = read(STDIN_FILENO, room, PIECE);
		if (n > 0)
			buf_commit(text, (size_t)n);
	} while (n > 0);
	return n < 0 ? -errno : 0;
}

/* Stores a JSON value: a string as it is, other types as JSON. null is ignored. */
static bool skill_store_value(struct skill_call *c, size_t at, struct json_val v)
{
	struct str text = json_raw(v);

	if (json_type(v) == JSON_NULL)
		return true;
	if (json_type(v) == JSON_STRING && json_str(v, &c->memory, &text) < 0)
		return false;
	if (str_find_byte(text, '\0') < text.n)
		return false;
	c->args[at] = arena_cstr(&c->memory, text);
	return c->args[at] != NULL;
}

/* Reads the arguments from a JSON object on standard input. */
static bool skill_read_json(const struct skill *k, struct skill_call *c)
{
	static const struct json_caps caps = {
		.depth = JSON_DEPTH_MAX,
		.tokens = JSON_TOKENS_MAX,
		.keys = JSON_KEYS_MAX,
	};
	struct buf text = BUF_INIT(SKILL_OUT_MAX);
	struct json_val key, value;
	struct json_error e;
	struct json doc;
	int it = 0;
	bool good;

	good = skill_read_input(&text) == 0 &&
		json_parse(&doc, buf_view(&text), &caps, &c->memory, &e) == 0 &&
		json_type(json_root(&doc)) == JSON_OBJECT;
	while (good && json_next(json_root(&doc), &it, &key, &value)) {
		struct str name;
		size_t at = SKILL_ARGS_MAX;

		if (json_str(key, &c->memory, &name) == 0)
			at = skill_find_arg(k, name);
		good = at < SKILL_ARGS_MAX && skill_store_value(c, at, value);
	}
	buf_free(&text);
	return good;
}

/* Reads "--name value" and "--name=value" by name, and other arguments by position. */
static bool skill_read_args(
	const struct skill *k, int argc, char **argv, struct skill_call *c)
{
	size_t next = 0;
	bool names = true;

	for (int i = 1; i < argc; i++) {
		struct str word = str_c(argv[i]);
		const char *value = argv[i];
		size_t at = next;

		if (names && str_eq(word, STR("--"))) {
			names = false;
			continue;
		}
		if (names && str_eq(word, STR("--json"))) {
			if (!skill_read_json(k, c))
				return false;
			continue;
		}
		if (names && str_starts(word, STR("--"))) {
			struct str rest = str_skip(word, 2);
			struct str name = str_cut(&rest, '=');

			at = skill_find_arg(k, name);
			value = 2 + name.n < word.n ? argv[i] + 3 + name.n : argv[++i];
		}
		if (at >= SKILL_ARGS_MAX || !k->args[at] || c->args[at] || !value)
			return false;
		c->args[at] = value;
		while (next < SKILL_ARGS_MAX && c->args[next])
			next++;
	}
	for (size_t i = 0; i < k->needed; i++)
		if (!c->args[i])
			return false;
	return true;
}

static int skill_print_usage(const struct skill *k)
{
	struct buf out = BUF_INIT(1024);
	int r;

	buf_fmt(&out, "usage: %s", skill_name((size_t)(k - skills)));
	for (size_t i = 0; i < SKILL_ARGS_MAX && k->args[i]; i++)
		buf_fmt(&out, i < k->needed ? " %s" : " [%s]", k->args[i]);
	buf_putc(&out, '\n');
	r = out.err ? out.err : fd_write_all(STDERR_FILENO, out.p, out.n);
	buf_free(&out);
	return r < 0 ? EXIT_ENVIRONMENT : EXIT_USAGE;
}

int skill_run(int argc, char **argv)
{
	size_t id = skill_find_id(argv[0]);
	const struct skill *k = &skills[id];
	struct skill_call c = {.failed = false};
	int r;

	assert(id < SKILL_COUNT);
	buf_init(&c.out, SKILL_OUT_MAX);
	arena_init(&c.memory, 2 * SKILL_OUT_MAX);
	if (!skill_read_args(k, argc, argv, &c)) {
		arena_reset(&c.memory);
		return skill_print_usage(k);
	}
	k->run(&c);
	if (c.out.err) {
		c.out.err = 0;
		skill_set_error(&c, "There is more than can be shown. Please narrow it.");
	}
	r = fd_write_all(STDOUT_FILENO, c.out.p, c.out.n);
	buf_free(&c.out);
	arena_reset(&c.memory);
	return r < 0 ? EXIT_ENVIRONMENT : c.failed;
}
