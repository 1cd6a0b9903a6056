#include "skill/latex.h"

#include "base/utf8.h"
#include "limits.h"
#include "skill/latex_names.h"
#include "skill/latex_put.h"

static const char blanks[] = " \t\r\n\v\f";

enum { ARGS_MAX = 6 };

enum kind {
	WHOLE,
	GROUP,       /* { to } */
	ARG,         /* { to } or [ to ], of the macro frame below it */
	MATH,        /* between math delimiters */
	MACRO,       /* its arguments are being read */
	ENVIRONMENT, /* \begin to \end */
};

struct frame {
	enum kind kind;
	bool math;       /* blanks between the parts of formulas are left out */
	char end;        /* of ARG: } or ] */
	size_t from;     /* where its text starts in out */
	struct str name; /* of ENVIRONMENT; of MATH: the delimiter that ends it */
	struct latex_macro macro; /* of MACRO, ENVIRONMENT */
	const char *left;         /* of MACRO: arguments still to be read */
	size_t args[ARGS_MAX];    /* where the text of each argument ends */
	unsigned args_n;
};

struct latex {
	struct str rest;
	struct str today;
	struct buf *out;
	struct buf piece; /* the result of a frame */
	struct buf title, author, date;
	struct frame frames[LATEX_DEPTH_MAX];
	unsigned n;
	int err;
};

static struct frame *top(struct latex *x)
{
	return &x->frames[x->n - 1];
}

/* Pushes a frame. If the stack is full, sets the error and returns the top frame. */
static struct frame *push(struct latex *x, enum kind kind)
{
	bool math = x->n && top(x)->math;

	if (x->n == LATEX_DEPTH_MAX) {
		x->err = ERR_DEPTH;
		return top(x);
	}
	x->frames[x->n] = (struct frame){
		.kind = kind,
		.math = math || kind == MATH,
		.from = x->out->n,
	};
	return &x->frames[x->n++];
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_blank(char c)
{
	return c && strchr(blanks, c);
}

/* A character with a special meaning. */
static bool is_special(char c)
{
	return c && strchr("\\{}$%", c);
}

static bool take(struct latex *x, struct str what)
{
	if (!str_starts(x->rest, what))
		return false;
	x->rest = str_skip(x->rest, what.n);
	return true;
}

/* Takes blanks. The end of a paragraph is not a blank. */
static struct str take_blanks(struct latex *x)
{
	struct str s = x->rest;
	size_t n = 0;

	while (n < s.n && is_blank(s.p[n])) {
		n++;
		if (str_ends(str_make(s.p, n), STR("\n\n"))) {
			n -= 2;
			break;
		}
	}
	x->rest = str_skip(s, n);
	return str_make(s.p, n);
}

static void skip_all_blanks(struct latex *x)
{
	while (x->rest.n && is_blank(x->rest.p[0]))
		x->rest = str_skip(x->rest, 1);
}

/* --- The text of frames that end ------------------------------------------------- */

static struct str text_from(const struct latex *x, size_t from)
{
	return str_make(x->out->p + from, x->out->n - from);
}

static struct str arg(const struct latex *x, const struct frame *f, unsigned i)
{
	size_t from = i ? f->args[i - 1] : f->from;

	if (i >= f->args_n || x->out->err)
		return STR("");
	return str_make(x->out->p + from, f->args[i] - from);
}

/* Appends the value of a macro with its arguments inserted. */
static void put_value(struct latex *x, const struct frame *f, const char *value)
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
			latex_put_capitals(
				&x->piece, arg(x, f, (unsigned)(rest.p[0] - '1')));
		else
			buf_str(&x->piece, arg(x, f, (unsigned)(rest.p[0] - '1')));
		rest = str_skip(rest, 1);
	}
}

static void keep(struct latex *x, struct str name, struct str text)
{
	struct buf *to = str_eq(name, STR("title")) ? &x->title
		: str_eq(name, STR("author"))       ? &x->author
						    : &x->date;

	buf_reset(to);
	buf_str(to, text);
}

static void put_title(struct latex *x)
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

static void put_macro(struct latex *x, const struct frame *f)
{
	struct str first = arg(x, f, 0);

	switch (f->macro.how) {
	case LATEX_TEXT:
		put_value(x, f, f->macro.value);
		break;
	case LATEX_KEEP:
		keep(x, f->name, first);
		break;
	case LATEX_TITLE:
		put_title(x);
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
static void pop(struct latex *x)
{
	struct frame *f = top(x);
	bool block = f->kind == MATH && !str_eq(f->name, STR("$")) &&
		!str_eq(f->name, STR("\\)"));

	x->n--;
	if (x->out->err)
		return;
	buf_reset(&x->piece);
	if (f->kind == ENVIRONMENT)
		f->args[f->args_n++] = x->out->n;
	if (f->macro.args)
		put_macro(x, f);
	else if (block)
		latex_put_block(&x->piece, text_from(x, f->from));
	else if (f->kind == MATH)
		buf_str(&x->piece, str_trim(text_from(x, f->from), blanks));
	if (f->macro.args || f->kind == MATH) {
		x->out->n = f->from;
		buf_str(x->out, buf_view(&x->piece));
	}
	if (f->kind == ARG)
		top(x)->args[top(x)->args_n++] = x->out->n;
}

/* Ends all frames above the lowest n, whether they are complete or not. */
static void pop_to(struct latex *x, unsigned n)
{
	while (x->n > n)
		pop(x);
}

/* --- Macros ------------------------------------------------------------------------ */

/* Takes the name after a backslash. */
static struct str take_name(struct latex *x)
{
	struct str s = x->rest;
	size_t n = 0;

	while (n < s.n && is_letter(s.p[n]))
		n++;
	if (!n && s.n) {
		utf8_next(&s);
		n = x->rest.n - s.n;
	}
	s = str_make(x->rest.p, n);
	x->rest = str_skip(x->rest, n);
	return s;
}

static struct str symbol(struct str name)
{
	return name.n == 1 && is_blank(name.p[0]) ? STR(" ") : latex_symbol(name);
}

static bool is_plain(const struct latex *x, struct str s)
{
	const struct frame *f = &x->frames[x->n - 1];

	return !is_special(s.p[0]) && !latex_sign(s) &&
		!(f->kind == ARG && s.p[0] == f->end);
}

/* Takes an argument without braces: a character, or a macro without arguments. */
static void take_single(struct latex *x)
{
	struct str s = x->rest;

	if (take(x, STR("\\"))) {
		struct str name = take_name(x);

		take_blanks(x);
		buf_str(x->out, symbol(name));
		return;
	}
	if (!s.n || is_special(s.p[0]))
		return;
	utf8_next(&s);
	buf_put(x->out, x->rest.p, x->rest.n - s.n);
	x->rest = s;
}

static void begin_arg(struct latex *x, char end)
{
	struct frame *f = push(x, ARG);

	x->rest = str_skip(x->rest, 1);
	if (!x->err)
		f->end = end;
}

/* Reads the next argument of the macro on top, or ends that macro. */
static void advance_macro(struct latex *x)
{
	struct frame *f = top(x);
	struct str behind = x->rest;
	char kind = *f->left;

	if (!kind) {
		pop(x);
		return;
	}
	f->left++;
	/* An argument of the macro \\ must follow without blanks. */
	if (!str_eq(f->name, STR("\\")))
		skip_all_blanks(x);
	if (kind == '[' && x->rest.n && x->rest.p[0] == '[') {
		begin_arg(x, ']');
		return;
	}
	if (kind == '{' && x->rest.n && x->rest.p[0] == '{') {
		begin_arg(x, '}');
		return;
	}
	if (kind == '{')
		take_single(x);
	else if (kind == '[' || !take(x, STR("*")))
		x->rest = behind;
	f->args[f->args_n++] = x->out->n;
}

static void begin_macro(struct latex *x, struct str name, const struct latex_macro *m)
{
	struct frame *f = push(x, MACRO);

	if (x->err)
		return;
	f->macro = *m;
	f->name = name;
	f->left = m->args;
}

/* --- Environments and formulas ---------------------------------------------------- */

/* Copies the source unchanged, up to end. */
static void verbatim(struct latex *x, struct str end)
{
	size_t n = str_find(x->rest, end);

	buf_put(x->out, x->rest.p, n);
	x->rest = str_skip(x->rest, n + end.n);
}

static bool take_environment(struct latex *x, struct str *name)
{
	struct str all = x->rest;
	size_t n;

	skip_all_blanks(x);
	n = str_find_byte(x->rest, '}');
	if (!take(x, STR("{")) || n > x->rest.n) {
		x->rest = all;
		return false;
	}
	*name = str_make(x->rest.p, n - 1);
	x->rest = str_skip(x->rest, n);
	return true;
}

static void begin_environment(struct latex *x)
{
	struct latex_macro arguments = {.how = LATEX_TEXT, .value = ""};
	struct frame *f;
	struct str name;

	if (!take_environment(x, &name))
		return;
	if (str_eq(name, STR("verbatim"))) {
		verbatim(x, STR("\\end{verbatim}"));
		return;
	}
	f = push(x, ENVIRONMENT);
	if (x->err)
		return;
	f->name = name;
	if (!latex_environment(name, &f->macro))
		return;
	f->math = f->math || f->macro.how == LATEX_MATH;
	arguments.args = f->macro.args;
	begin_macro(x, STR(""), &arguments);
}

static void end_environment(struct latex *x)
{
	struct str name;

	if (!take_environment(x, &name))
		return;
	for (unsigned i = x->n; i-- > 1;)
		if (x->frames[i].kind == ENVIRONMENT && str_eq(x->frames[i].name, name)) {
			pop_to(x, i);
			return;
		}
}

/* Ends the innermost formula with that delimiter in the current group. */
static bool end_math(struct latex *x, struct str delimiter)
{
	for (unsigned i = x->n; i-- > 1;) {
		const struct frame *f = &x->frames[i];

		if (f->kind == MATH && str_eq(f->name, delimiter)) {
			pop_to(x, i);
			return true;
		}
		if (f->kind == ARG || f->kind == GROUP || f->kind == ENVIRONMENT)
			break;
	}
	return false;
}

static void begin_math(struct latex *x, struct str end)
{
	struct frame *f = push(x, MATH);

	if (!x->err)
		f->name = end;
}

static void dollar(struct latex *x)
{
	if (end_math(x, STR("$"))) {
		take(x, STR("$"));
	} else if (take(x, STR("$$"))) {
		if (!end_math(x, STR("$$")))
			begin_math(x, STR("$$"));
	} else {
		take(x, STR("$"));
		begin_math(x, STR("$"));
	}
}

static void end_group(struct latex *x)
{
	for (unsigned i = x->n; i-- > 1;) {
		const struct frame *f = &x->frames[i];

		if (f->kind == ENVIRONMENT)
			return;
		if (f->kind == GROUP || (f->kind == ARG && f->end == '}')) {
			pop_to(x, i);
			return;
		}
	}
}

/* --- The source ------------------------------------------------------- */

static void put_symbol(struct latex *x, struct str name)
{
	struct str space = STR("");

	if (is_letter(name.p[0]))
		space = take_blanks(x);
	buf_str(x->out, symbol(name));
	/* In formulas, "\alpha x" has two parts, so the blank is kept. */
	if (top(x)->math && x->rest.n && is_plain(x, x->rest))
		buf_str(x->out, space);
}

static void verb(struct latex *x)
{
	struct str end = str_make(x->rest.p, x->rest.n ? 1 : 0);

	x->rest = str_skip(x->rest, 1);
	verbatim(x, end);
}

static void backslash(struct latex *x)
{
	struct str name;
	struct latex_macro m;

	x->rest = str_skip(x->rest, 1);
	name = take_name(x);
	if (!name.n)
		return;
	if (str_eq(name, STR("begin")))
		begin_environment(x);
	else if (str_eq(name, STR("end")))
		end_environment(x);
	else if (str_eq(name, STR("verb")))
		verb(x);
	else if (str_eq(name, STR("[")))
		begin_math(x, STR("\\]"));
	else if (str_eq(name, STR("(")))
		begin_math(x, STR("\\)"));
	else if (str_eq(name, STR("]")))
		end_math(x, STR("\\]"));
	else if (str_eq(name, STR(")")))
		end_math(x, STR("\\)"));
	else if (latex_macro(name, &m)) {
		if (is_letter(name.p[0]))
			take_blanks(x);
		begin_macro(x, name, &m);
	} else {
		put_symbol(x, name);
	}
}

/* Skips a comment. The end of its line and of a paragraph after it are kept. */
static void comment(struct latex *x)
{
	x->rest = str_skip(x->rest, str_find_byte(x->rest, '\n'));
	if (x->rest.n && !str_starts(x->rest, STR("\n\n")) && take(x, STR("\n")))
		buf_putc(x->out, '\n');
}

/* Copies characters up to the next one with a special meaning. */
static void plain(struct latex *x)
{
	struct str s = x->rest;

	while (s.n && is_plain(x, s))
		s = str_skip(s, 1);
	s = str_make(x->rest.p, x->rest.n - s.n);
	x->rest = str_skip(x->rest, s.n);
	if (!top(x)->math || str_trim(s, blanks).n)
		buf_str(x->out, s);
}

static void step(struct latex *x)
{
	const struct latex_sign *sign = latex_sign(x->rest);
	const struct frame *f = top(x);

	if (f->kind == MACRO) {
		advance_macro(x);
	} else if (sign) {
		buf_puts(x->out, sign->to);
		x->rest = str_skip(x->rest, sign->from.n);
	} else if (x->rest.p[0] == '\\') {
		backslash(x);
	} else if (x->rest.p[0] == '$') {
		dollar(x);
	} else if (x->rest.p[0] == '%') {
		comment(x);
	} else if (take(x, STR("{"))) {
		push(x, GROUP);
	} else if (take(x, STR("}"))) {
		end_group(x);
	} else if (f->kind == ARG && f->end == ']' && take(x, STR("]"))) {
		pop(x);
	} else {
		plain(x);
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
	push(&x, WHOLE);
	/* From here on out->p is not NULL. */
	if (!buf_room(out, 1))
		return 0;
	while (x.rest.n && !x.err && !out->err)
		step(&x);
	pop_to(&x, 1);
	if (x.piece.err && !out->err)
		out->err = x.piece.err;
	buf_free(&x.piece);
	buf_free(&x.title);
	buf_free(&x.author);
	buf_free(&x.date);
	return x.err;
}
