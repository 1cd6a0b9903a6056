#include "browser/action/grammar.h"

#include "base/float.h"
#include "base/literal.h"
#include "browser/page/pyrepr.h"
#include "limits.h"

#include <errno.h>
#include <float.h>
#include <math.h>

static char grammar_first_char(struct str s)
{
	return s.n ? s.p[0] : '\0';
}

static bool grammar_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* --- Values ----------------------------------------------------------------------- */

static bool grammar_is_container(const struct value *v)
{
	return v->kind >= VALUE_LIST;
}

static size_t grammar_count_digits(struct str s)
{
	size_t n = 0;

	while (n < s.n && grammar_is_digit(s.p[n]))
		n++;
	return n;
}

/* Parses digits with a sign, point and exponent. A number such as .5 has no exponent. */
static int grammar_parse_number(struct str *s, struct value *v)
{
	struct str at = *s;
	size_t whole, part = 0;

	v->kind = VALUE_INT;
	if (grammar_first_char(at) == '-' || grammar_first_char(at) == '+')
		at = str_skip(at, 1);
	whole = grammar_count_digits(at);
	at = str_skip(at, whole);
	if (grammar_first_char(at) == '.') {
		part = grammar_count_digits(str_skip(at, 1));
		at = str_skip(at, 1 + part);
		v->kind = VALUE_FLOAT;
	}
	if (!whole && !part)
		return ERR_SYNTAX;
	if (whole && (grammar_first_char(at) == 'e' || grammar_first_char(at) == 'E')) {
		struct str power = str_skip(at, 1);
		size_t n;

		if (grammar_first_char(power) == '-' || grammar_first_char(power) == '+')
			power = str_skip(power, 1);
		n = grammar_count_digits(power);
		if (n) {
			at = str_skip(power, n);
			v->kind = VALUE_FLOAT;
		}
	}
	v->text = str_make(s->p, (size_t)(at.p - s->p));
	*s = at;
	return 0;
}

static int grammar_parse_constant(struct str *s, struct value *v)
{
	static const struct {
		struct str name;
		enum value_kind kind;
	} words[] = {
		{STR("None"), VALUE_NONE},
		{STR("True"), VALUE_TRUE},
		{STR("False"), VALUE_FALSE},
	};
	struct str name = literal_parse_name(s, '\0');

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_eq(name, words[i].name)) {
			v->kind = words[i].kind;
			return 0;
		}
	return ERR_SYNTAX;
}

static int grammar_copy_text(struct grammar *g, struct value *v, struct str text)
{
	v->text = str_make(arena_cstr(g->arena, text), text.n);
	return v->text.p ? 0 : -ENOMEM;
}

/* Parses a value that contains no others, or the start of a container. */
static int grammar_parse_start(struct grammar *g, struct str *s, struct value *v)
{
	int r;

	literal_skip_space(s);
	switch (grammar_first_char(*s)) {
	case '\'':
	case '"':
		v->kind = VALUE_STRING;
		buf_reset(&g->piece);
		r = literal_parse_quoted(s, LITERAL_SURROGATES, &g->piece);
		if (!r)
			r = g->piece.err;
		return r ? r : grammar_copy_text(g, v, buf_view(&g->piece));
	case '[':
	case '(':
	case '{':
		v->kind = grammar_first_char(*s) == '[' ? VALUE_LIST
			: grammar_first_char(*s) == '(' ? VALUE_TUPLE
							: VALUE_DICT;
		*s = str_skip(*s, 1);
		return 0;
	default:
		if (!grammar_is_digit(grammar_first_char(*s)) &&
			!strchr("+-.", grammar_first_char(*s)))
			return grammar_parse_constant(s, v);
		r = grammar_parse_number(s, v);
		return r ? r : grammar_copy_text(g, v, v->text);
	}
}

/*
 * Parses the separator after a value of the container v, or the start of v. Returns 1: v
 * ends here; 0: a value follows; or ERR_SYNTAX.
 */
static int grammar_parse_separator(struct str *s, const struct value *v)
{
	char close = v->kind == VALUE_LIST ? ']' : v->kind == VALUE_TUPLE ? ')' : '}';

	if (v->kind == VALUE_DICT && v->count % 2)
		return literal_accept(s, ':') ? 0 : ERR_SYNTAX;
	if (!v->count)
		return literal_accept(s, close);
	if (literal_accept(s, ','))
		return literal_accept(s, close);
	return literal_accept(s, close) ? 1 : ERR_SYNTAX;
}

static int grammar_add_child(struct value *open, struct value *v)
{
	if (open->kind == VALUE_DICT && open->count % 2 == 0 && v->kind != VALUE_STRING)
		return ERR_SYNTAX;
	*(open->last ? &open->last->next : &open->first) = v;
	open->last = v;
	open->count++;
	v->parent = open;
	return 0;
}

static struct value *grammar_new_value(struct grammar *g)
{
	struct value *v = g->free_values;

	if (v) {
		g->free_values = v->chain;
		*v = (struct value){.count = 0};
	} else {
		v = arena_alloc(g->arena, sizeof(*v));
	}
	if (v) {
		v->chain = g->pending_values;
		g->pending_values = v;
	}
	return v;
}

/* Parses a value. *s is the text after it then. */
static int grammar_parse_value(struct grammar *g, struct str *s, struct value **out)
{
	struct value *open = NULL, *v;
	unsigned depth = 0;
	int r;

	do {
		v = grammar_new_value(g);
		if (!v)
			return -ENOMEM;
		r = grammar_parse_start(g, s, v);
		if (!r && open)
			r = grammar_add_child(open, v);
		if (r)
			return r;
		if (grammar_is_container(v)) {
			if (++depth > ACTION_DEPTH_MAX)
				return ERR_SYNTAX;
			open = v;
		}
		while (open && (r = grammar_parse_separator(s, open)) > 0) {
			v = open;
			open = v->parent;
			depth--;
		}
		if (r < 0)
			return r;
	} while (open);
	*out = v;
	return 0;
}

/* --- Calls ------------------------------------------------------------------------ */

/* Takes the name before a '='; empty if there is none. */
static struct str grammar_parse_keyword(struct str *s)
{
	struct str at = *s, name;

	literal_skip_space(&at);
	name = literal_parse_name(&at, '\0');
	if (!name.n || !literal_accept(&at, '='))
		return STR("");
	*s = at;
	return name;
}

/*
 * Parses the arguments from the bracket on. The comma before the first keyword argument
 * may be missing.
 */
static int grammar_parse_args(struct grammar *g, struct str *s, struct call *out)
{
	bool comma = true, named = false;
	struct value *v, *last = NULL;
	size_t n = 0;

	if (!literal_accept(s, '('))
		return ERR_SYNTAX;
	while (!literal_accept(s, ')')) {
		struct str name = grammar_parse_keyword(s);
		int r;

		if (n++ == ACTION_ARGS_MAX || (named && !name.n) ||
			(!comma && (named || !name.n)))
			return ERR_SYNTAX;
		r = grammar_parse_value(g, s, &v);
		if (r)
			return r;
		v->name = name;
		*(last ? &last->next : &out->args) = v;
		last = v;
		named = name.n > 0;
		comma = literal_accept(s, ',');
	}
	return 0;
}

/*
 * Releases the values of a failed attempt, so that a text full of near-calls takes no
 * more memory than one of them.
 */
static void grammar_release_values(struct grammar *g, bool made)
{
	while (g->pending_values && !made) {
		struct value *v = g->pending_values;

		g->pending_values = v->chain;
		v->chain = g->free_values;
		g->free_values = v;
	}
	g->pending_values = NULL;
}

void grammar_init(struct grammar *g, struct str text, struct arena *a)
{
	*g = (struct grammar){
		.rest = text,
		.arena = a,
		.piece = BUF_INIT(text.n + 1),
	};
}

void grammar_free(struct grammar *g)
{
	buf_free(&g->piece);
}

int grammar_next(struct grammar *g, struct call *out)
{
	for (;;) {
		struct call call = {.args = NULL};
		struct str at;
		int r;

		literal_skip_space(&g->rest);
		if (!g->rest.n)
			return 1;
		call.name = literal_parse_name(&g->rest, '\0');
		if (!call.name.n) {
			g->rest = str_skip(g->rest, 1);
			continue;
		}
		/* A text that is no call may contain calls. */
		at = g->rest;
		r = grammar_parse_args(g, &at, &call);
		grammar_release_values(g, r == 0);
		if (r == ERR_SYNTAX)
			continue;
		if (r == 0) {
			g->rest = at;
			*out = call;
		}
		return r;
	}
}

/* --- Properties of a value -------------------------------------------------------- */

int value_read_double(const struct value *v, double *out)
{
	switch (v->kind) {
	case VALUE_FALSE:
	case VALUE_TRUE:
		*out = v->kind == VALUE_TRUE;
		return 0;
	case VALUE_INT:
	case VALUE_FLOAT:
		/* A number that would be infinite becomes the largest finite one. */
		if (float_read(v->text.p, out))
			*out = grammar_first_char(v->text) == '-' ? -DBL_MAX : DBL_MAX;
		return 0;
	default:
		return ERR_TYPE;
	}
}

const char *value_type_name(const struct value *v)
{
	static const char *const names[] = {
		[VALUE_NONE] = "NoneType",
		[VALUE_FALSE] = "bool",
		[VALUE_TRUE] = "bool",
		[VALUE_INT] = "int",
		[VALUE_FLOAT] = "float",
		[VALUE_STRING] = "str",
		[VALUE_LIST] = "list",
		[VALUE_TUPLE] = "tuple",
		[VALUE_DICT] = "dict",
	};

	return names[v->kind];
}

static void grammar_put_int(struct buf *out, struct str digits)
{
	bool minus = grammar_first_char(digits) == '-';

	while (digits.n > 1 && strchr("+-0", grammar_first_char(digits)))
		digits = str_skip(digits, 1);
	if (minus && grammar_first_char(digits) != '0')
		buf_putc(out, '-');
	buf_str(out, digits);
}

static void grammar_put_float(struct buf *out, const struct value *v)
{
	char text[FLOAT_TEXT];
	double d;

	if (float_read(v->text.p, &d))
		d = grammar_first_char(v->text) == '-' ? -(double)INFINITY
						       : (double)INFINITY;
	float_format(d, text);
	buf_puts(out, text);
}

static void grammar_put_scalar(struct buf *out, const struct value *v)
{
	switch (v->kind) {
	case VALUE_NONE:
		buf_puts(out, "None");
		break;
	case VALUE_FALSE:
		buf_puts(out, "False");
		break;
	case VALUE_TRUE:
		buf_puts(out, "True");
		break;
	case VALUE_INT:
		grammar_put_int(out, v->text);
		break;
	case VALUE_FLOAT:
		grammar_put_float(out, v);
		break;
	default:
		pyrepr_put_str(out, v->text);
	}
}

/* Writes the separator after the value at index of the container v. */
static void grammar_put_separator(struct buf *out, const struct value *v, size_t index)
{
	bool pair = v->kind == VALUE_DICT && index % 2 == 0;

	if (index + 1 < v->count)
		buf_puts(out, pair ? ": " : ", ");
	else if (v->kind == VALUE_TUPLE && v->count == 1)
		buf_putc(out, ',');
}

void value_put_repr(struct buf *out, const struct value *v)
{
	static const char opening[] = "[({", closing[] = "])}";
	const struct value *top = v->parent;
	size_t index[ACTION_DEPTH_MAX + 1] = {0}, depth = 0;

	for (;;) {
		if (grammar_is_container(v))
			buf_putc(out, opening[v->kind - VALUE_LIST]);
		else
			grammar_put_scalar(out, v);
		if (grammar_is_container(v) && v->first) {
			index[++depth] = 0;
			v = v->first;
			continue;
		}
		if (grammar_is_container(v))
			buf_putc(out, closing[v->kind - VALUE_LIST]);
		while (v->parent != top) {
			grammar_put_separator(out, v->parent, index[depth]++);
			if (v->next)
				break;
			v = v->parent;
			depth--;
			buf_putc(out, closing[v->kind - VALUE_LIST]);
		}
		if (v->parent == top)
			return;
		v = v->next;
	}
}
