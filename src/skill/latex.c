#include "skill/latex.h"

#include "base/utf8.h"
#include "skill/latex_names.h"
#include "skill/latex_put.h"

static const char blanks[] = " \t\r\n\v\f";

enum { ARGS_MAX = 6 };

enum latex_frame_kind {
	DOCUMENT,
	GROUP,       /* { to } */
	ARG,         /* { to } or [ to ], of the macro frame below it */
	MATH,        /* between math delimiters */
	MACRO,       /* its arguments are being read */
	ENVIRONMENT, /* \begin to \end */
};

struct latex_frame {
	enum latex_frame_kind kind;
	bool math;       /* blanks between the parts of formulas are left out */
	char end;        /* of ARG: } or ] */
	size_t from;     /* where its text starts in out */
	struct str name; /* of ENVIRONMENT; of MATH: the delimiter that ends it */
	struct latex_macro macro; /* of MACRO, ENVIRONMENT */
	const char *args_left;    /* of MACRO: arguments still to be read */
	size_t args[ARGS_MAX];    /* where the text of each argument ends */
	unsigned args_n;
};

struct latex {
	struct str rest;
	struct str today;
	struct buf *out;
	struct buf piece; /* the result of a frame */
	struct buf title, author, date;
	struct latex_frame frames[LATEX_DEPTH_MAX];
	unsigned n;
	int err;
};

static struct latex_frame *latex_top_frame(struct latex *x)
{
	return &x->frames[x->n - 1];
}

/* Pushes a frame. If the stack is full, sets the error and returns the top frame. */
static struct latex_frame *latex_push_frame(struct latex *x, enum latex_frame_kind kind)
{
	bool math = x->n && latex_top_frame(x)->math;

	if (x->n == LATEX_DEPTH_MAX) {
		x->err = ERR_DEPTH;
		return latex_top_frame(x);
	}
	x->frames[x->n] = (struct latex_frame){
		.kind = kind,
		.math = math || kind == MATH,
		.from = x->out->n,
	};
	return &x->frames[x->n++];
}

static bool latex_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool latex_is_blank(char c)
{
	return c && strchr(blanks, c);
}

/* A character with a special meaning. */
static bool latex_is_special(char c)
{
	return c && strchr("\\{}$%", c);
}

static bool latex_accept(struct latex *x, struct str what)
{
	if (!str_starts(x->rest, what))
		return false;
	x->rest = str_skip(x->rest, what.n);
	return true;
}

/* Takes blanks. The end of a paragraph is not a blank. */
static struct str latex_cut_blanks(struct latex *x)
{
	struct str s = x->rest;
	size_t n = 0;

	while (n < s.n && latex_is_blank(s.p[n])) {
		n++;
		if (str_ends(str_make(s.p, n), STR("\n\n"))) {
			n -= 2;
			break;
		}
	}
	x->rest = str_skip(s, n);
	return str_make(s.p, n);
}

static void latex_skip_blanks(struct latex *x)
{
	while (x->rest.n && latex_is_blank(x->rest.p[0]))
		x->rest = str_skip(x->rest, 1);
}

/* --- The text of frames that end ------------------------------------------------- */

static struct str latex_text_from(const struct latex *x, size_t from)
{
	return str_make(x->out->p + from, x->out->n - from);
}

static struct str latex_get_arg(
	const struct latex *x, const struct latex_frame *f, unsigned i)
{
	size_t from = i ? f->args[i - 1] : f->from;

	if (i >= f->args_n || x->out->err)
		return STR("");
	return str_make(x->out->p + from, f->args[i] - from);
}

/* Appends the value of a macro with its arguments inserted. */
static void latex_put_value(
	struct latex *x, const struct latex_frame *f, const char *value)
{
	struct str rest = str_c(value);

	while (rest.n) {
		struct str before = str_cut(&rest, '%');
		bool capitals = str_starts(rest, STR("^"));

		buf_str(&x->piece, before);
		rest = str_skip(rest, capitals);
		if (!rest.n)
			return;
		if (capitals)
			latex_put_capitals(&x->piece,
				latex_get_arg(x, f, (unsigned)(rest.p[0] - '1')));
		else
			buf_str(&x->piece,
				latex_get_arg(x, f, (unsigned)(rest.p[0] - '1')));
		rest = str_skip(rest, 1);
	}
}

static void latex_store_title_part(struct latex *x, struct str name, struct str text)
{
	struct buf *to = str_eq(name, STR("title")) ? &x->title
		: str_eq(name, STR("author"))       ? &x->author
						    : &x->date;

	buf_reset(to);
	buf_str(to, text);
}

static void latex_put_title(struct latex *x)
{
	struct str title = x->title.n ? buf_view(&x->title) : STR("[NO \\title GIVEN]");
	struct str author =
		x->author.n ? buf_view(&x->author) : STR("[NO \\author GIVEN]");
	struct str date = x->date.n ? buf_view(&x->date) : x->today;
	size_t width = utf8_count(title);

	if (width < utf8_count(author) + 4)
		width = utf8_count(author) + 4;
	if (width < utf8_count(date) + 4)
		width = utf8_count(date) + 4;
	buf_fmt(&x->piece, "%.*s\n    %.*s\n    %.*s\n", STR_ARG(title), STR_ARG(author),
		STR_ARG(date));
	while (width--)
		buf_putc(&x->piece, '=');
	buf_puts(&x->piece, "\n\n");
}

static void latex_put_macro(struct latex *x, const struct latex_frame *f)
{
	struct str first = latex_get_arg(x, f, 0);

	switch (f->macro.action) {
	case LATEX_TEXT:
		latex_put_value(x, f, f->macro.value);
		break;
	case LATEX_KEEP:
		latex_store_title_part(x, f->name, first);
		break;
	case LATEX_TITLE:
		latex_put_title(x);
		break;
	case LATEX_TODAY:
		buf_str(&x->piece, x->today);
		break;
	case LATEX_ITEM:
		buf_puts(&x->piece, "\n  ");
		buf_str(&x->piece, first.n ? first : STR("* "));
		break;
	case LATEX_ACCENT:
		latex_put_accented(
			&x->piece, str_trim(first, blanks), str_c(f->macro.value));
		break;
	case LATEX_STYLE:
		latex_put_styled(&x->piece, first, str_c(f->macro.value));
		break;
	case LATEX_MATH:
		latex_put_block(&x->piece, first);
		break;
	}
}

/* Ends the top frame. Its result replaces its text. */
static void latex_pop_frame(struct latex *x)
{
	struct latex_frame *f = latex_top_frame(x);
	bool block = f->kind == MATH && !str_eq(f->name, STR("$")) &&
		!str_eq(f->name, STR("\\)"));

	x->n--;
	if (x->out->err)
		return;
	buf_reset(&x->piece);
	if (f->kind == ENVIRONMENT)
		f->args[f->args_n++] = x->out->n;
	if (f->macro.args)
		latex_put_macro(x, f);
	else if (block)
		latex_put_block(&x->piece, latex_text_from(x, f->from));
	else if (f->kind == MATH)
		buf_str(&x->piece, str_trim(latex_text_from(x, f->from), blanks));
	if (f->macro.args || f->kind == MATH) {
		x->out->n = f->from;
		buf_str(x->out, buf_view(&x->piece));
	}
	if (f->kind == ARG)
		latex_top_frame(x)->args[latex_top_frame(x)->args_n++] = x->out->n;
}

/* Ends all frames above the lowest n, whether they are complete or not. */
static void latex_pop_frames(struct latex *x, unsigned n)
{
	while (x->n > n)
		latex_pop_frame(x);
}

/* --- Macros ------------------------------------------------------------------------ */

/* Takes the name after a backslash. */
static struct str latex_cut_name(struct latex *x)
{
	struct str s = x->rest;
	size_t n = 0;

	while (n < s.n && latex_is_letter(s.p[n]))
		n++;
	if (!n && s.n) {
		utf8_next(&s);
		n = x->rest.n - s.n;
	}
	s = str_make(x->rest.p, n);
	x->rest = str_skip(x->rest, n);
	return s;
}

static struct str latex_find_symbol(struct str name)
{
	return name.n == 1 && latex_is_blank(name.p[0]) ? STR(" ") : latex_symbol(name);
}

static bool latex_is_plain(const struct latex *x, struct str s)
{
	const struct latex_frame *f = &x->frames[x->n - 1];

	return !latex_is_special(s.p[0]) && !latex_sign(s) &&
		!(f->kind == ARG && s.p[0] == f->end);
}

/* Takes an argument without braces: a character, or a macro without arguments. */
static void latex_read_single_arg(struct latex *x)
{
	struct str s = x->rest;

	if (latex_accept(x, STR("\\"))) {
		struct str name = latex_cut_name(x);

		latex_cut_blanks(x);
		buf_str(x->out, latex_find_symbol(name));
		return;
	}
	if (!s.n || latex_is_special(s.p[0]))
		return;
	utf8_next(&s);
	buf_put(x->out, x->rest.p, x->rest.n - s.n);
	x->rest = s;
}

static void latex_begin_arg(struct latex *x, char end)
{
	struct latex_frame *f = latex_push_frame(x, ARG);

	x->rest = str_skip(x->rest, 1);
	if (!x->err)
		f->end = end;
}

/* Reads the next argument of the macro on top, or ends that macro. */
static void latex_advance_macro(struct latex *x)
{
	struct latex_frame *f = latex_top_frame(x);
	struct str behind = x->rest;
	char kind = *f->args_left;

	if (!kind) {
		latex_pop_frame(x);
		return;
	}
	f->args_left++;
	/* An argument of the macro \\ must follow without blanks. */
	if (!str_eq(f->name, STR("\\")))
		latex_skip_blanks(x);
	if (kind == '[' && x->rest.n && x->rest.p[0] == '[') {
		latex_begin_arg(x, ']');
		return;
	}
	if (kind == '{' && x->rest.n && x->rest.p[0] == '{') {
		latex_begin_arg(x, '}');
		return;
	}
	if (kind == '{')
		latex_read_single_arg(x);
	else if (kind == '[' || !latex_accept(x, STR("*")))
		x->rest = behind;
	f->args[f->args_n++] = x->out->n;
}

static void latex_begin_macro(
	struct latex *x, struct str name, const struct latex_macro *m)
{
	struct latex_frame *f = latex_push_frame(x, MACRO);

	if (x->err)
		return;
	f->macro = *m;
	f->name = name;
	f->args_left = m->args;
}

/* --- Environments and formulas ---------------------------------------------------- */

/* Copies the source unchanged, up to end. */
static void latex_copy_verbatim(struct latex *x, struct str end)
{
	size_t n = str_find(x->rest, end);

	buf_put(x->out, x->rest.p, n);
	x->rest = str_skip(x->rest, n + end.n);
}

static bool latex_read_environment(struct latex *x, struct str *name)
{
	struct str all = x->rest;
	size_t n;

	latex_skip_blanks(x);
	n = str_find_byte(x->rest, '}');
	if (!latex_accept(x, STR("{")) || n > x->rest.n) {
		x->rest = all;
		return false;
	}
	*name = str_make(x->rest.p, n - 1);
	x->rest = str_skip(x->rest, n);
	return true;
}

static void latex_begin_environment(struct latex *x)
{
	struct latex_macro arguments = {.action = LATEX_TEXT, .value = ""};
	struct latex_frame *f;
	struct str name;

	if (!latex_read_environment(x, &name))
		return;
	if (str_eq(name, STR("verbatim"))) {
		latex_copy_verbatim(x, STR("\\end{verbatim}"));
		return;
	}
	f = latex_push_frame(x, ENVIRONMENT);
	if (x->err)
		return;
	f->name = name;
	if (!latex_environment(name, &f->macro))
		return;
	f->math = f->math || f->macro.action == LATEX_MATH;
	arguments.args = f->macro.args;
	latex_begin_macro(x, STR(""), &arguments);
}

static void latex_end_environment(struct latex *x)
{
	struct str name;

	if (!latex_read_environment(x, &name))
		return;
	for (unsigned i = x->n; i-- > 1;)
		if (x->frames[i].kind == ENVIRONMENT && str_eq(x->frames[i].name, name)) {
			latex_pop_frames(x, i);
			return;
		}
}

/* Ends the innermost formula with that delimiter in the current group. */
static bool latex_end_math(struct latex *x, struct str delimiter)
{
	for (unsigned i = x->n; i-- > 1;) {
		const struct latex_frame *f = &x->frames[i];

		if (f->kind == MATH && str_eq(f->name, delimiter)) {
			latex_pop_frames(x, i);
			return true;
		}
		if (f->kind == ARG || f->kind == GROUP || f->kind == ENVIRONMENT)
			break;
	}
	return false;
}

static void latex_begin_math(struct latex *x, struct str end)
{
	struct latex_frame *f = latex_push_frame(x, MATH);

	if (!x->err)
		f->name = end;
}

static void latex_read_dollar(struct latex *x)
{
	if (latex_end_math(x, STR("$"))) {
		latex_accept(x, STR("$"));
	} else if (latex_accept(x, STR("$$"))) {
		if (!latex_end_math(x, STR("$$")))
			latex_begin_math(x, STR("$$"));
	} else {
		latex_accept(x, STR("$"));
		latex_begin_math(x, STR("$"));
	}
}

static void latex_end_group(struct latex *x)
{
	for (unsigned i = x->n; i-- > 1;) {
		const struct latex_frame *f = &x->frames[i];

		if (f->kind == ENVIRONMENT)
			return;
		if (f->kind == GROUP || (f->kind == ARG && f->end == '}')) {
			latex_pop_frames(x, i);
			return;
		}
	}
}

/* --- The source ------------------------------------------------------- */

static void latex_put_symbol(struct latex *x, struct str name)
{
	struct str space = STR("");

	if (latex_is_letter(name.p[0]))
		space = latex_cut_blanks(x);
	buf_str(x->out, latex_find_symbol(name));
	/* In formulas, "\alpha x" has two parts, so the blank is kept. */
	if (latex_top_frame(x)->math && x->rest.n && latex_is_plain(x, x->rest))
		buf_str(x->out, space);
}

static void latex_read_verb(struct latex *x)
{
	struct str end = str_make(x->rest.p, x->rest.n ? 1 : 0);

	x->rest = str_skip(x->rest, 1);
	latex_copy_verbatim(x, end);
}

static void latex_read_backslash(struct latex *x)
{
	struct str name;
	struct latex_macro m;

	x->rest = str_skip(x->rest, 1);
	name = latex_cut_name(x);
	if (!name.n)
		return;
	if (str_eq(name, STR("begin")))
		latex_begin_environment(x);
	else if (str_eq(name, STR("end")))
		latex_end_environment(x);
	else if (str_eq(name, STR("verb")))
		latex_read_verb(x);
	else if (str_eq(name, STR("[")))
		latex_begin_math(x, STR("\\]"));
	else if (str_eq(name, STR("(")))
		latex_begin_math(x, STR("\\)"));
	else if (str_eq(name, STR("]")))
		latex_end_math(x, STR("\\]"));
	else if (str_eq(name, STR(")")))
		latex_end_math(x, STR("\\)"));
	else if (latex_macro(name, &m)) {
		if (latex_is_letter(name.p[0]))
			latex_cut_blanks(x);
		latex_begin_macro(x, name, &m);
	} else {
		latex_put_symbol(x, name);
	}
}

/* Skips a comment. The end of its line and of a paragraph after it are kept. */
static void latex_skip_comment(struct latex *x)
{
	x->rest = str_skip(x->rest, str_find_byte(x->rest, '\n'));
	if (x->rest.n && !str_starts(x->rest, STR("\n\n")) && latex_accept(x, STR("\n")))
		buf_putc(x->out, '\n');
}

/* Copies characters up to the next one with a special meaning. */
static void latex_copy_plain(struct latex *x)
{
	struct str s = x->rest;

	while (s.n && latex_is_plain(x, s))
		s = str_skip(s, 1);
	s = str_make(x->rest.p, x->rest.n - s.n);
	x->rest = str_skip(x->rest, s.n);
	if (!latex_top_frame(x)->math || str_trim(s, blanks).n)
		buf_str(x->out, s);
}

static void latex_read_token(struct latex *x)
{
	const struct latex_sign *sign = latex_sign(x->rest);
	const struct latex_frame *f = latex_top_frame(x);

	if (f->kind == MACRO) {
		latex_advance_macro(x);
	} else if (sign) {
		buf_puts(x->out, sign->to);
		x->rest = str_skip(x->rest, sign->from.n);
	} else if (x->rest.p[0] == '\\') {
		latex_read_backslash(x);
	} else if (x->rest.p[0] == '$') {
		latex_read_dollar(x);
	} else if (x->rest.p[0] == '%') {
		latex_skip_comment(x);
	} else if (latex_accept(x, STR("{"))) {
		latex_push_frame(x, GROUP);
	} else if (latex_accept(x, STR("}"))) {
		latex_end_group(x);
	} else if (f->kind == ARG && f->end == ']' && latex_accept(x, STR("]"))) {
		latex_pop_frame(x);
	} else {
		latex_copy_plain(x);
	}
}

int latex_put_text(struct str source, struct str today, struct buf *out)
{
	static struct latex x;

	x = (struct latex){.rest = source, .today = today, .out = out};
	buf_init(&x.piece, out->max);
	buf_init(&x.title, LATEX_TITLE_MAX);
	buf_init(&x.author, LATEX_TITLE_MAX);
	buf_init(&x.date, LATEX_TITLE_MAX);
	latex_push_frame(&x, DOCUMENT);
	/* From here on out->p is not NULL. */
	if (!buf_reserve(out, 1))
		return 0;
	while (x.rest.n && !x.err && !out->err)
		latex_read_token(&x);
	latex_pop_frames(&x, 1);
	if (x.piece.err && !out->err)
		out->err = x.piece.err;
	buf_free(&x.piece);
	buf_free(&x.title);
	buf_free(&x.author);
	buf_free(&x.date);
	return x.err;
}
