#include "browser/action/grammar.h"

#include "base/float.h"
#include "base/literal.h"
#include "browser/page/pyrepr.h"
#include "limits.h"

#include <errno.h>
#include <float.h>
#include <math.h>

static char first(struct str s)
{
	return s.n ? s.p[0] : '\0';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* --- Values ----------------------------------------------------------------------- */

static bool is_container(const struct value *v)
{
	return v->kind >= VALUE_LIST;
}

static size_t count_digits(struct str s)
{
	size_t n = 0;

	while (n < s.n && is_digit(s.p[n]))
		n++;
	return n;
}

/* Parses digits with a sign, point and exponent. A number such as .5 has no exponent. */
static int take_number(struct str *s, struct value *v)
{
	struct str at = *s;
	size_t whole, part = 0;

	v->kind = VALUE_INT;
	if (first(at) == '-' || first(at) == '+')
		at = str_skip(at, 1);
	whole = count_digits(at);
	at = str_skip(at, whole);
	if (first(at) == '.') {
		part = count_digits(str_skip(at, 1));
		at = str_skip(at, 1 + part);
		v->kind = VALUE_FLOAT;
	}
	if (!whole && !part)
		return ERR_SYNTAX;
	if (whole && (first(at) == 'e' || first(at) == 'E')) {
		struct str power = str_skip(at, 1);
		size_t n;

		if (first(power) == '-' || first(power) == '+')
			power = str_skip(power, 1);
		n = count_digits(power);
		if (n) {
			at = str_skip(power, n);
			v->kind = VALUE_FLOAT;
		}
	}
	v->text = str_make(s->p, (size_t)(at.p - s->p));
	*s = at;
	return 0;
}

static int take_word(struct str *s, struct value *v)
{
	static const struct {
		struct str name;
		enum value_kind kind;
	} words[] = {
		{STR("None"), VALUE_NONE},
		{STR("True"), VALUE_TRUE},
		{STR("False"), VALUE_FALSE},
	};
	struct str name = literal_take_name(s, '\0');

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_eq(name, words[i].name)) {
			v->kind = words[i].kind;
			return 0;
		}
	return ERR_SYNTAX;
}

static int keep_text(struct grammar *g, struct value *v, struct str text)
{
	v->text = str_make(arena_cstr(g->arena, text), text.n);
	return v->text.p ? 0 : -ENOMEM;
}

/* Parses a value that contains no others, or the start of a container. */
static int take_start(struct grammar *g, struct str *s, struct value *v)
{
	int r;

	literal_skip_space(s);
	switch (first(*s)) {
	case '\'':
	case '"':
		v->kind = VALUE_STRING;
		buf_reset(&g->piece);
		r = literal_take_quoted(s, LITERAL_HALVES, &g->piece);
		if (!r)
			r = g->piece.err;
		return r ? r : keep_text(g, v, buf_view(&g->piece));
	case '[':
	case '(':
	case '{':
		v->kind = first(*s) == '[' ? VALUE_LIST
			: first(*s) == '(' ? VALUE_TUPLE
					   : VALUE_DICT;
		*s = str_skip(*s, 1);
		return 0;
	default:
		if (!is_digit(first(*s)) && !strchr("+-.", first(*s)))
			return take_word(s, v);
		r = take_number(s, v);
		return r ? r : keep_text(g, v, v->text);
	}
}

/*
 * Parses the separator after a value of the container v, or the start of v. Returns 1: v
 * ends here; 0: a value follows; or ERR_SYNTAX.
 */
static int take_between(struct str *s, const struct value *v)
{
	char close = v->kind == VALUE_LIST ? ']' : v->kind == VALUE_TUPLE ? ')' : '}';

	if (v->kind == VALUE_DICT && v->count % 2)
		return literal_take(s, ':') ? 0 : ERR_SYNTAX;
	if (!v->count)
		return literal_take(s, close);
	if (literal_take(s, ','))
		return literal_take(s, close);
	return literal_take(s, close) ? 1 : ERR_SYNTAX;
}

static int put_in(struct value *open, struct value *v)
{
	if (open->kind == VALUE_DICT && open->count % 2 == 0 && v->kind != VALUE_STRING)
		return ERR_SYNTAX;
	*(open->last ? &open->last->next : &open->first) = v;
	open->last = v;
	open->count++;
	v->parent = open;
	return 0;
}

static struct value *new_value(struct grammar *g)
{
	struct value *v = g->spare;

	if (v) {
		g->spare = v->kept;
		*v = (struct value){.count = 0};
	} else {
		v = arena_alloc(g->arena, sizeof(*v));
	}
	if (v) {
		v->kept = g->made;
		g->made = v;
	}
	return v;
}

/* Parses a value. *s is the text after it then. */
static int take_value(struct grammar *g, struct str *s, struct value **out)
{
	struct value *open = NULL, *v;
	unsigned depth = 0;
	int r;

	do {
		v = new_value(g);
		if (!v)
			return -ENOMEM;
		r = take_start(g, s, v);
		if (!r && open)
			r = put_in(open, v);
		if (r)
			return r;
		if (is_container(v)) {
			if (++depth > ACTION_DEPTH_MAX)
				return ERR_SYNTAX;
			open = v;
		}
		while (open && (r = take_between(s, open)) > 0) {
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
static struct str take_keyword(struct str *s)
{
	struct str at = *s, name;

	literal_skip_space(&at);
	name = literal_take_name(&at, '\0');
	if (!name.n || !literal_take(&at, '='))
		return STR("");
	*s = at;
	return name;
}

/*
 * Parses the arguments from the bracket on. The comma before the first keyword argument
 * may be missing.
 */
static int take_args(struct grammar *g, struct str *s, struct call *out)
{
	bool comma = true, named = false;
	struct value *v, *last = NULL;
	size_t n = 0;

	if (!literal_take(s, '('))
		return ERR_SYNTAX;
	while (!literal_take(s, ')')) {
		struct str name = take_keyword(s);
		int r;

		if (n++ == ACTION_ARGS_MAX || (named && !name.n) ||
			(!comma && (named || !name.n)))
			return ERR_SYNTAX;
		r = take_value(g, s, &v);
		if (r)
			return r;
		v->name = name;
		*(last ? &last->next : &out->args) = v;
		last = v;
		named = name.n > 0;
		comma = literal_take(s, ',');
	}
	return 0;
}

/*
 * Releases the values of a failed attempt, so that a text full of near-calls takes no
 * more memory than one of them.
 */
static void settle(struct grammar *g, bool made)
{
	while (g->made && !made) {
		struct value *v = g->made;

		g->made = v->kept;
		v->kept = g->spare;
		g->spare = v;
	}
	g->made = NULL;
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
		call.name = literal_take_name(&g->rest, '\0');
		if (!call.name.n) {
			g->rest = str_skip(g->rest, 1);
			continue;
		}
		/* A text that is no call may contain calls. */
		at = g->rest;
		r = take_args(g, &at, &call);
		settle(g, r == 0);
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

int value_double(const struct value *v, double *out)
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
			*out = first(v->text) == '-' ? -DBL_MAX : DBL_MAX;
		return 0;
	default:
		return ERR_TYPE;
	}
}

const char *value_type(const struct value *v)
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

static void put_int(struct buf *out, struct str digits)
{
	bool minus = first(digits) == '-';

	while (digits.n > 1 && strchr("+-0", first(digits)))
		digits = str_skip(digits, 1);
	if (minus && first(digits) != '0')
		buf_putc(out, '-');
	buf_str(out, digits);
}

static void put_float(struct buf *out, const struct value *v)
{
	char text[FLOAT_TEXT];
	double d;

	if (float_read(v->text.p, &d))
		d = first(v->text) == '-' ? -(double)INFINITY : (double)INFINITY;
	float_text(d, text);
	buf_puts(out, text);
}

static void put_leaf(struct buf *out, const struct value *v)
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
		put_int(out, v->text);
		break;
	case VALUE_FLOAT:
		put_float(out, v);
		break;
	default:
		pyrepr_text(out, v->text);
	}
}

/* Writes the separator after the value at index of the container v. */
static void put_behind(struct buf *out, const struct value *v, size_t index)
{
	bool pair = v->kind == VALUE_DICT && index % 2 == 0;

	if (index + 1 < v->count)
		buf_puts(out, pair ? ": " : ", ");
	else if (v->kind == VALUE_TUPLE && v->count == 1)
		buf_putc(out, ',');
}

void value_repr(struct buf *out, const struct value *v)
{
	static const char opening[] = "[({", closing[] = "])}";
	const struct value *top = v->parent;
	size_t index[ACTION_DEPTH_MAX + 1] = {0}, depth = 0;

	for (;;) {
		if (is_container(v))
			buf_putc(out, opening[v->kind - VALUE_LIST]);
		else
			put_leaf(out, v);
		if (is_container(v) && v->first) {
			index[++depth] = 0;
			v = v->first;
			continue;
		}
		if (is_container(v))
			buf_putc(out, closing[v->kind - VALUE_LIST]);
		while (v->parent != top) {
			put_behind(out, v->parent, index[depth]++);
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
