#include "kernel/calls.h"

#include "base/jw.h"
#include "base/literal.h"
#include "limits.h"

enum { CALLS_NAME_MAX = 64 }; /* bytes of the name of an argument */

enum { PARAMS_MAX = 8 };

/* The signatures of the functions in skills.py. */
static const struct signature {
	const char *name;
	bool returns; /* returns its text and prints nothing */
	size_t needed;
	struct {
		const char *name;
		bool number; /* the value must be a number */
	} params[PARAMS_MAX];
} signatures[] = {
	{"open_file", false, 1,
		{{"path", false}, {"line_number", true}, {"context_lines", true}}},
	{"goto_line", false, 1, {{"line_number", true}}},
	{"scroll_down", false, 0, {{NULL, false}}},
	{"scroll_up", false, 0, {{NULL, false}}},
	{"search_dir", false, 1, {{"search_term", false}, {"dir_path", false}}},
	{"search_file", false, 1, {{"search_term", false}, {"file_path", false}}},
	{"find_file", false, 1, {{"file_name", false}, {"dir_path", false}}},
	{"parse_pdf", false, 1, {{"file_path", false}}},
	{"parse_docx", false, 1, {{"file_path", false}}},
	{"parse_latex", false, 1, {{"file_path", false}}},
	{"parse_pptx", false, 1, {{"file_path", false}}},
	{"file_editor", true, 2,
		{{"command", false}, {"path", false}, {"file_text", false},
			{"view_range", false}, {"old_str", false}, {"new_str", false},
			{"insert_line", false}, {"enable_linting", false}}},
};

static char calls_peek_char(struct str s)
{
	return s.n ? s.p[0] : '\0';
}

/* --- Calls ------------------------------------------------------------------------ */

/* A call that is being parsed. */
struct reading {
	const struct signature *of;
	struct {
		bool given;
		size_t from, n; /* in values */
	} args[PARAMS_MAX];
	size_t next; /* next positional parameter */
	bool named;  /* a keyword argument was read: no positional one can follow */
	struct calls_step *step;
};

/* Keeps the first error. Parsing continues, because the rest must be acceptable, too. */
static void calls_set_error(
	struct calls *c, struct reading *d, const char *what, struct str name)
{
	if (d->step->kind == CALLS_ERROR)
		return;
	d->step->kind = CALLS_ERROR;
	buf_fmt(&c->text, "TypeError: %s() %s", d->of->name, what);
	if (name.n)
		buf_fmt(&c->text, " '%.*s'", STR_ARG(name));
}

static size_t calls_find_param(const struct signature *of, struct str name)
{
	size_t i = 0;

	while (i < PARAMS_MAX && of->params[i].name &&
		!str_eq(name, str_c(of->params[i].name)))
		i++;
	return i;
}

static bool calls_is_param(const struct signature *of, size_t i)
{
	return i < PARAMS_MAX && of->params[i].name;
}

static int calls_parse_arg(struct calls *c, struct reading *d, size_t i, struct str name)
{
	size_t from = c->values.n;
	bool good = calls_is_param(d->of, i);
	int r = literal_parse_value(
		&c->rest, good && d->of->params[i].number, &c->piece, &c->values);

	if (r)
		return r;
	if (!good)
		calls_set_error(c, d,
			name.n ? "got an unexpected keyword argument"
			       : "was given too many positional arguments",
			name);
	else if (d->args[i].given)
		calls_set_error(c, d, "got multiple values for argument", name);
	if (!good)
		return 0;
	d->args[i].given = true;
	d->args[i].from = from;
	d->args[i].n = c->values.n - from;
	return 0;
}

/* Parses **{'name': value, ...}. */
static int calls_parse_dict(struct calls *c, struct reading *d)
{
	struct buf key = BUF_INIT(CALLS_NAME_MAX);
	int r = literal_accept(&c->rest, '{') ? 0 : ERR_SYNTAX;

	while (!r && !literal_accept(&c->rest, '}')) {
		literal_skip_space(&c->rest);
		r = literal_is_string(c->rest) ? literal_parse_string(&c->rest, &key)
					       : ERR_SYNTAX;
		if (!r)
			r = literal_accept(&c->rest, ':') ? 0 : ERR_SYNTAX;
		if (!r)
			r = calls_parse_arg(c, d, calls_find_param(d->of, buf_view(&key)),
				buf_view(&key));
		if (!r && !literal_accept(&c->rest, ',') &&
			(literal_skip_space(&c->rest), calls_peek_char(c->rest) != '}'))
			r = ERR_SYNTAX;
	}
	buf_free(&key);
	return r;
}

/* Parses name=value, **{...}, or a value alone. */
static int calls_parse_next_arg(struct calls *c, struct reading *d)
{
	struct str at, name;

	literal_skip_space(&c->rest);
	if (str_starts(c->rest, STR("**"))) {
		c->rest = str_skip(c->rest, 2);
		d->named = true;
		return calls_parse_dict(c, d);
	}
	at = c->rest;
	name = literal_parse_name(&at, '\0');
	if (name.n && literal_accept(&at, '=') && calls_peek_char(at) != '=') {
		c->rest = at;
		d->named = true;
		return calls_parse_arg(c, d, calls_find_param(d->of, name), name);
	}
	if (d->named)
		return ERR_SYNTAX;
	at = calls_is_param(d->of, d->next) ? str_c(d->of->params[d->next].name)
					    : STR("");
	return calls_parse_arg(c, d, d->next++, at);
}

static void calls_put_args(struct calls *c, const struct reading *d)
{
	struct jw w;

	jw_init(&w, &c->text);
	jw_object(&w);
	for (size_t i = 0; i < PARAMS_MAX; i++) {
		if (!d->args[i].given)
			continue;
		jw_key(&w, d->of->params[i].name);
		jw_raw(&w, str_make(c->values.p + d->args[i].from, d->args[i].n));
	}
	jw_end(&w);
}

/* Parses the rest of a call after its name. */
static int calls_parse_call(
	struct calls *c, const struct signature *of, struct calls_step *step)
{
	struct reading d = {.of = of, .step = step};
	int r = 0;

	if (!literal_accept(&c->rest, '('))
		return ERR_SYNTAX;
	step->kind = CALLS_SKILL;
	step->skill = of->name;
	buf_reset(&c->values);
	while (!r && !literal_accept(&c->rest, ')')) {
		r = calls_parse_next_arg(c, &d);
		if (!r && !literal_accept(&c->rest, ',') &&
			(literal_skip_space(&c->rest), calls_peek_char(c->rest) != ')'))
			r = ERR_SYNTAX;
	}
	for (size_t i = 0; !r && i < of->needed; i++)
		if (!d.args[i].given)
			calls_set_error(c, &d, "missing a required argument:",
				str_c(of->params[i].name));
	if (!r && step->kind == CALLS_SKILL)
		calls_put_args(c, &d);
	return r;
}

static const struct signature *calls_find_skill(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(signatures); i++)
		if (str_eq(name, str_c(signatures[i].name)))
			return &signatures[i];
	return NULL;
}

/* Parses print(CALL), print("text") or print(). */
static int calls_parse_print(struct calls *c, struct calls_step *step)
{
	const struct signature *of;
	int r;

	if (!literal_accept(&c->rest, '('))
		return ERR_SYNTAX;
	literal_skip_space(&c->rest);
	if (literal_is_string(c->rest) || calls_peek_char(c->rest) == ')') {
		step->kind = CALLS_PRINT;
		r = calls_peek_char(c->rest) == ')'
			? 0
			: literal_parse_string(&c->rest, &c->text);
		buf_putc(&c->text, '\n');
	} else {
		of = calls_find_skill(literal_parse_name(&c->rest, '\0'));
		r = of ? calls_parse_call(c, of, step) : ERR_SYNTAX;
		step->show = of && of->returns ? CALLS_TEXT : CALLS_TEXT_NONE;
	}
	literal_accept(&c->rest, ',');
	return r ? r : literal_accept(&c->rest, ')') ? 0 : ERR_SYNTAX;
}

/* --- Lines ------------------------------------------------------------------------ */

/* Whether a module of that name holds the skills; other modules may do anything. */
static bool calls_is_module(struct str name)
{
	static const struct str part = STR(".agent_skills");

	return str_eq(name, STR("agentskills")) || str_ends(name, part) ||
		str_ends(name, STR(".agent_skills.agentskills")) ||
		str_ends(name, STR(".agent_skills.file_ops")) ||
		str_ends(name, STR(".agent_skills.file_reader")) ||
		str_ends(name, STR(".agent_skills.file_editor"));
}

/* Parses from MODULE import *, or names of skills instead of *. */
static int calls_parse_import(struct calls *c)
{
	struct str *s = &c->rest;
	struct str word;

	literal_skip_blanks(s);
	if (!calls_is_module(literal_parse_name(s, '.')))
		return ERR_SYNTAX;
	literal_skip_blanks(s);
	word = literal_parse_name(s, '\0');
	literal_skip_blanks(s);
	if (!str_eq(word, STR("import")))
		return ERR_SYNTAX;
	if (calls_peek_char(*s) == '*') {
		*s = str_skip(*s, 1);
		return 0;
	}
	for (;;) {
		literal_skip_blanks(s);
		if (!calls_find_skill(literal_parse_name(s, '\0')))
			return ERR_SYNTAX;
		literal_skip_blanks(s);
		if (calls_peek_char(*s) != ',')
			return 0;
		*s = str_skip(*s, 1);
	}
}

/* Parses the end of a statement: the end of its line or a semicolon. */
static int calls_parse_end(struct calls *c, bool *muted)
{
	literal_skip_blanks(&c->rest);
	*muted = calls_peek_char(c->rest) == ';';
	if (*muted)
		c->rest = str_skip(c->rest, 1);
	literal_skip_blanks(&c->rest);
	literal_skip_comment(&c->rest);
	return *muted || !c->rest.n || calls_peek_char(c->rest) == '\n' ? 0 : ERR_SYNTAX;
}

static int calls_parse_step(struct calls *c, struct calls_step *step)
{
	struct str name = literal_parse_name(&c->rest, '\0');
	const struct signature *of = calls_find_skill(name);
	struct str ahead;
	bool muted;
	int r;

	literal_skip_blanks(&c->rest);
	if (str_eq(name, STR("from")))
		r = calls_parse_import(c);
	else if (str_eq(name, STR("print")))
		r = calls_parse_print(c, step);
	else
		r = of ? calls_parse_call(c, of, step) : ERR_SYNTAX;
	if (!r)
		r = calls_parse_end(c, &muted);
	if (r)
		return r;
	ahead = c->rest;
	literal_skip_space(&ahead);
	if (of && of->returns)
		step->show = ahead.n || muted ? CALLS_NOTHING : CALLS_REPR;
	return c->text.err ? c->text.err : c->values.err;
}

void calls_init(struct calls *c, struct str code)
{
	c->rest = code;
	buf_init(&c->text, CALLS_STEP_MAX);
	buf_init(&c->piece, CALLS_STEP_MAX);
	buf_init(&c->values, CALLS_STEP_MAX);
}

void calls_free(struct calls *c)
{
	buf_free(&c->text);
	buf_free(&c->piece);
	buf_free(&c->values);
}

int calls_next(struct calls *c, struct calls_step *step)
{
	int r;

	*step = (struct calls_step){.kind = CALLS_PRINT};
	do {
		struct str line = c->rest;

		buf_reset(&c->text);
		literal_skip_space(&c->rest);
		if (!c->rest.n)
			return 1;
		/* An indented line is part of a compound statement, which is refused. */
		line.n = (size_t)(c->rest.p - line.p);
		if (str_ends(line, STR(" ")) || str_ends(line, STR("\t")))
			return ERR_SYNTAX;
		r = calls_parse_step(c, step);
	} while (!r && step->kind == CALLS_PRINT && !c->text.n);
	step->text = buf_view(&c->text);
	return r;
}

int calls_check(struct str code)
{
	struct calls_step step;
	struct calls c;
	int r;

	calls_init(&c, code);
	while ((r = calls_next(&c, &step)) == 0)
		;
	calls_free(&c);
	return r < 0 ? r : 0;
}

void calls_put_repr(struct buf *out, struct str text)
{
	static const char names[] = "\\\n\r\t", letters[] = "\\nrt";
	bool both = str_find_byte(text, '"') < text.n;
	char quote = str_find_byte(text, '\'') < text.n && !both ? '"' : '\'';

	buf_putc(out, quote);
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		const char *name = c ? strchr(names, c) : NULL;

		if (name)
			buf_fmt(out, "\\%c", letters[name - names]);
		else if (c == quote)
			buf_fmt(out, "\\%c", c);
		else if ((unsigned char)c < 0x20 || c == 0x7f)
			buf_fmt(out, "\\x%02x", (unsigned char)c);
		else
			buf_putc(out, c);
	}
	buf_putc(out, quote);
}
