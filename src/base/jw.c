#include "base/jw.h"

#include "base/float.h"
#include "base/json_text.h"
#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

/* The tokens that may come next at one depth. */
enum state {
	/* The single value of the text. */
	ROOT,
	/* Nothing. */
	ROOT_DONE,
	/* A value or the end. */
	ARRAY_FIRST,
	/* A comma and a value, or the end. */
	ARRAY_NEXT,
	/* A key or the end. */
	OBJECT_FIRST,
	/* A comma and a key, or the end. */
	OBJECT_NEXT,
	/* The value of the key. */
	OBJECT_VALUE,
	/* Pieces of a string, or its end. */
	TEXT,
};

static enum state jw_get_state(const struct jw *w)
{
	return w->state[w->depth];
}

static void jw_set_state(struct jw *w, enum state s)
{
	w->state[w->depth] = (uint8_t)s;
}

void jw_init(struct jw *w, struct buf *out)
{
	w->out = out;
	w->depth = 0;
	jw_set_state(w, ROOT);
}

/* Writes the separator before a value. */
static void jw_begin_value(struct jw *w)
{
	static const uint8_t after[] = {
		[ROOT] = ROOT_DONE,
		[ARRAY_FIRST] = ARRAY_NEXT,
		[ARRAY_NEXT] = ARRAY_NEXT,
		[OBJECT_VALUE] = OBJECT_NEXT,
	};
	enum state s = jw_get_state(w);

	assert(s == ROOT || s == ARRAY_FIRST || s == ARRAY_NEXT || s == OBJECT_VALUE);
	if (s == ARRAY_NEXT)
		buf_putc(w->out, ',');
	jw_set_state(w, after[s]);
}

static void jw_open(struct jw *w, char bracket, enum state first)
{
	jw_begin_value(w);
	buf_putc(w->out, bracket);
	assert(w->depth < JW_DEPTH);
	w->depth++;
	jw_set_state(w, first);
}

void jw_object(struct jw *w)
{
	jw_open(w, '{', OBJECT_FIRST);
}

void jw_array(struct jw *w)
{
	jw_open(w, '[', ARRAY_FIRST);
}

void jw_end(struct jw *w)
{
	enum state s = jw_get_state(w);
	bool array = s == ARRAY_FIRST || s == ARRAY_NEXT;

	assert(array || s == OBJECT_FIRST || s == OBJECT_NEXT);
	buf_putc(w->out, array ? ']' : '}');
	w->depth--;
}

/* Writes a character that must be escaped in a string. */
static void jw_put_escape(struct buf *out, unsigned char c)
{
	static const char letter[0x20] = {
		['\b'] = 'b',
		['\f'] = 'f',
		['\n'] = 'n',
		['\r'] = 'r',
		['\t'] = 't',
	};
	static const char hex[] = "0123456789abcdef";
	char text[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
	char two = c < 0x20 ? letter[c] : (char)c;

	if (two)
		text[1] = two;
	buf_put(out, text, two ? 2 : sizeof(text));
}

static void jw_put_escaped(struct buf *out, struct str s)
{
	while (s.n) {
		size_t plain = json_plain_length(s);

		if (plain)
			utf8_repair(out, str_make(s.p, plain));
		s = str_skip(s, plain);
		if (s.n) {
			jw_put_escape(out, (unsigned char)s.p[0]);
			s = str_skip(s, 1);
		}
	}
}

static void jw_put_quoted(struct buf *out, struct str s)
{
	buf_putc(out, '"');
	jw_put_escaped(out, s);
	buf_putc(out, '"');
}

void jw_key(struct jw *w, const char *key)
{
	jw_key_str(w, str_c(key));
}

void jw_key_str(struct jw *w, struct str key)
{
	enum state s = jw_get_state(w);

	assert(s == OBJECT_FIRST || s == OBJECT_NEXT);
	if (s == OBJECT_NEXT)
		buf_putc(w->out, ',');
	jw_put_quoted(w->out, key);
	buf_putc(w->out, ':');
	jw_set_state(w, OBJECT_VALUE);
}

void jw_str(struct jw *w, struct str s)
{
	jw_begin_value(w);
	jw_put_quoted(w->out, s);
}

void jw_cstr(struct jw *w, const char *s)
{
	jw_str(w, str_c(s));
}

void jw_int(struct jw *w, int64_t v)
{
	jw_begin_value(w);
	buf_fmt(w->out, "%" PRId64, v);
}

void jw_uint(struct jw *w, uint64_t v)
{
	jw_begin_value(w);
	buf_fmt(w->out, "%" PRIu64, v);
}

void jw_double(struct jw *w, double v)
{
	char text[FLOAT_TEXT];

	if (!isfinite(v)) {
		jw_null(w);
		return;
	}
	jw_begin_value(w);
	float_format(v, text);
	buf_puts(w->out, text);
}

void jw_bool(struct jw *w, bool v)
{
	jw_begin_value(w);
	buf_puts(w->out, v ? "true" : "false");
}

void jw_null(struct jw *w)
{
	jw_begin_value(w);
	buf_puts(w->out, "null");
}

void jw_raw(struct jw *w, struct str json)
{
	jw_begin_value(w);
	buf_str(w->out, json);
}

void jw_text_begin(struct jw_text *t, struct jw *w)
{
	jw_begin_value(w);
	buf_putc(w->out, '"');
	w->depth++;
	jw_set_state(w, TEXT);
	t->w = w;
	t->part_n = 0;
}

/*
 * Completes the character that the last piece left unfinished; U+FFFD if it is invalid.
 */
static struct str jw_text_complete(struct jw_text *t, struct str s)
{
	while (t->part_n && s.n) {
		struct str part = str_make(t->part, t->part_n + 1);

		t->part[t->part_n] = s.p[0];
		if (utf8_unfinished_length(part) == part.n) {
			t->part_n++;
			s = str_skip(s, 1);
			continue;
		}
		if (utf8_is_valid(part))
			s = str_skip(s, 1);
		else
			part.n--;
		utf8_repair(t->w->out, part);
		t->part_n = 0;
	}
	return s;
}

void jw_text_put(struct jw_text *t, struct str s)
{
	size_t tail;

	assert(jw_get_state(t->w) == TEXT);
	s = jw_text_complete(t, s);
	if (!s.n)
		return;
	tail = utf8_unfinished_length(s);
	jw_put_escaped(t->w->out, str_make(s.p, s.n - tail));
	for (; t->part_n < tail; t->part_n++)
		t->part[t->part_n] = s.p[s.n - tail + t->part_n];
}

void jw_text_end(struct jw_text *t)
{
	assert(jw_get_state(t->w) == TEXT);
	utf8_repair(t->w->out, str_make(t->part, t->part_n));
	t->part_n = 0;
	buf_putc(t->w->out, '"');
	t->w->depth--;
}
