/*
 * Parses single elements of a pattern (characters, escapes, classes) and collects the
 * literal.
 */
#include "search/regex_private.h"

#include "base/utf8.h"
#include "search/chars.h"

/* --- The literal --------------------------------------------------------------- */

void regex_run_end(struct regex_parser *p)
{
	if (p->run.n > p->longest.n)
		p->longest = p->run;
	p->run.n = p->run.last = 0;
}

static void regex_run_add_char(struct regex_parser *p, uint32_t cp)
{
	char text[4];
	size_t n = utf8_encode(cp, text);

	if (p->depth || (p->nocase && n > 1)) {
		regex_run_end(p);
		p->plain = false;
		return;
	}
	if (p->run.n + n > sizeof(p->run.text)) {
		regex_run_end(p);
		p->plain = false;
	}
	memcpy(p->run.text + p->run.n, text, n);
	p->run.n += n;
	p->run.last = n;
}

void regex_run_repeat(struct regex_parser *p, int min)
{
	if (min == 0)
		p->run.n -= p->run.last;
	regex_run_end(p);
	p->plain = false;
}

void regex_run_break(struct regex_parser *p)
{
	regex_run_end(p);
	p->plain = false;
}

/* --- Characters ---------------------------------------------------------------- */

static void regex_put_set(struct regex_parser *p, struct chars *set)
{
	p->atom = (ptrdiff_t)automaton_count_insts(p->out);
	automaton_chars(p->out, set->r, set->n);
}

void regex_put_char(struct regex_parser *p, uint32_t cp)
{
	struct chars set = {.n = 0};

	chars_add(&set, cp, cp);
	if (p->nocase)
		chars_fold(&set);
	regex_put_set(p, &set);
	regex_run_add_char(p, cp);
}

void regex_put_check(struct regex_parser *p, enum automaton_check check)
{
	automaton_check(p->out, check);
	p->atom = REGEX_NO_ATOM;
	p->plain = false;
	/* The character before the check can no longer be repeated. */
	p->run.last = 0;
}

void regex_put_dot(struct regex_parser *p)
{
	struct chars set = {.n = 0};

	chars_add(&set, '\n', '\n');
	chars_invert(&set);
	regex_put_set(p, &set);
	regex_run_break(p);
}

/* --- Escapes ------------------------------------------------------------------- */

static int regex_get_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads exactly digits hexadecimal digits, or those in braces. */
static int regex_parse_hex(struct regex_parser *p, size_t digits, uint32_t *cp)
{
	bool braces = digits == 2 && regex_take(p, '{');
	size_t at = regex_here(p), n = 0;
	uint32_t value = 0;

	while (p->rest.n && n < (braces ? 6 : digits) &&
		regex_get_hex_value(p->rest.p[0]) >= 0) {
		value = value << 4 | (uint32_t)regex_get_hex_value(p->rest.p[0]);
		p->rest = str_skip(p->rest, 1);
		n++;
	}
	if (!n || (!braces && n < digits) || (braces && !regex_take(p, '}')))
		return regex_refuse(p, at, "hexadecimal digits are missing");
	if (value > CHAR_MAX_CODE || (value >= 0xd800 && value <= 0xdfff))
		return regex_refuse(p, at, "the character does not exist");
	*cp = value;
	return 0;
}

/* The character of an escape whose letter has been read. */
static int regex_parse_escaped(struct regex_parser *p, uint32_t letter, uint32_t *cp)
{
	static const char names[] = "tfvaer0", codes[] = "\t\f\v\a\033\r";
	const char *name = letter && letter < 0x80 ? strchr(names, (int)letter) : NULL;
	size_t at = regex_here(p) - 1;

	if (letter == 'x')
		return regex_parse_hex(p, 2, cp);
	if (letter == 'u')
		return regex_parse_hex(p, 4, cp);
	if (letter == 'n')
		return regex_refuse(
			p, at, "lines are searched one by one, so \\n never matches");
	if (letter >= '1' && letter <= '9')
		return regex_refuse(p, at, "references to groups are not supported");
	if (letter == 'p' || letter == 'P')
		return regex_refuse(p, at, "Unicode properties are not supported");
	if (name) {
		*cp = (uint8_t)codes[name - names];
		return 0;
	}
	if ((letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
		(letter >= 'A' && letter <= 'Z'))
		return regex_refuse(p, at, "unknown escape");
	*cp = letter;
	return 0;
}

/* Parses the rest after a backslash. */
int regex_parse_escape(struct regex_parser *p)
{
	static const struct {
		char letter;
		enum automaton_check check;
	} checks[] = {
		{'b', CHECK_WORD_EDGE},
		{'B', CHECK_WORD_INSIDE},
		{'<', CHECK_WORD_START},
		{'>', CHECK_WORD_END},
	};
	struct chars set = {.n = 0};
	uint32_t letter, cp;
	size_t at;
	int r;

	if (!p->rest.n)
		return regex_refuse(p, regex_here(p) - 1, "a backslash at the end");
	at = regex_here(p);
	letter = utf8_next(&p->rest);
	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		if (letter == (uint32_t)checks[i].letter) {
			regex_put_check(p, checks[i].check);
			return 0;
		}
	if (chars_add_kind(&set, letter)) {
		chars_drop(&set, '\n');
		regex_put_set(p, &set);
		regex_run_break(p);
		return 0;
	}
	r = regex_parse_escaped(p, letter, &cp);
	if (!r && cp == '\n')
		r = regex_refuse(p, at, "lines are searched one by one");
	if (!r)
		regex_put_char(p, cp);
	return r;
}

/* --- Classes ------------------------------------------------------------------- */

/* Parses a name such as [:alpha:] after its "[:". */
static int regex_parse_class_name(struct regex_parser *p, struct chars *set)
{
	size_t at = regex_here(p), n = str_find(p->rest, STR(":]"));
	struct str name = str_make(p->rest.p, n);

	if (n == p->rest.n || !chars_add_named(set, name))
		return regex_refuse(p, at, "unknown name of a character class");
	p->rest = str_skip(p->rest, n + 2);
	return 0;
}

/* Parses a member of a class that may be an end of a range; 1 if it was a whole set. */
static int regex_parse_member(struct regex_parser *p, struct chars *set, uint32_t *cp)
{
	*cp = utf8_next(&p->rest);
	if (*cp == '[' && regex_take(p, ':')) {
		int r = regex_parse_class_name(p, set);

		return r ? r : 1;
	}
	if (*cp != '\\')
		return 0;
	if (!p->rest.n)
		return regex_refuse(p, regex_here(p) - 1, "a backslash at the end");
	*cp = utf8_next(&p->rest);
	if (chars_add_kind(set, *cp))
		return 1;
	if (*cp == 'b') {
		*cp = '\b';
		return 0;
	}
	if (*cp == 'n')
		return 0;
	return regex_parse_escaped(p, *cp, cp);
}

static int regex_parse_range(struct regex_parser *p, struct chars *set)
{
	size_t at = regex_here(p);
	uint32_t first, last;
	int r = regex_parse_member(p, set, &first);

	if (r)
		return r < 0 ? r : 0;
	last = first;
	if (p->rest.n > 1 && p->rest.p[0] == '-' && p->rest.p[1] != ']') {
		p->rest = str_skip(p->rest, 1);
		r = regex_parse_member(p, set, &last);
		if (r)
			return r < 0
				? r
				: regex_refuse(p, at, "a range needs two characters");
	}
	if (first > last)
		return regex_refuse(p, at, "a range has its end before its beginning");
	chars_add(set, first, last);
	return 0;
}

/* Parses a class after its opening bracket. */
int regex_parse_class(struct regex_parser *p)
{
	size_t at = regex_here(p) - 1;
	struct chars set = {.n = 0};
	bool invert = regex_take(p, '^');
	bool first = true;

	for (;; first = false) {
		int r;

		if (!p->rest.n)
			return regex_refuse(p, at, "the class has no end");
		if (!first && regex_take(p, ']'))
			break;
		r = regex_parse_range(p, &set);
		if (r)
			return r;
	}
	if (p->nocase)
		chars_fold(&set);
	if (invert)
		chars_invert(&set);
	chars_drop(&set, '\n');
	if (set.full)
		return regex_refuse(p, at, "the class has too many ranges");
	regex_put_set(p, &set);
	regex_run_break(p);
	return 0;
}
