#include "codec/split_impl.h"

/*
 * The places in which a byte ends a run of plain bytes: in a word, in " ", in a pair of
 * brackets.
 */
enum {
	IN_WORD = 1,
	IN_DOUBLE = 2,
	IN_PAIR = 4,
	ALL = IN_WORD | IN_DOUBLE | IN_PAIR,
	BREAK = 8 | IN_WORD, /* no part of a word, as a rule */
};

static const uint8_t stops[256] = {
	[' '] = BREAK,
	['\t'] = BREAK,
	['\r'] = IN_WORD,
	['\n'] = BREAK | IN_PAIR,
	[';'] = BREAK,
	['&'] = BREAK,
	['|'] = BREAK,
	['<'] = BREAK,
	['>'] = BREAK,
	['='] = IN_WORD,
	['('] = BREAK | IN_PAIR,
	[')'] = BREAK | IN_PAIR,
	['['] = IN_WORD | IN_PAIR,
	[']'] = IN_PAIR,
	['}'] = IN_PAIR,
	['\''] = IN_WORD | IN_PAIR,
	['"'] = ALL,
	['`'] = ALL,
	['$'] = ALL,
	['\\'] = ALL,
};

/* Frames that end at the bracket that closes the first one. */
static const struct pair {
	char open; /* counted; NUL: the first close ends the frame */
	char close;
	bool lines; /* may go over several lines */
} pairs[FRAME_KINDS] = {
	[FRAME_PARAM] = {'\0', '}', true},
	[FRAME_EXPR] = {'(', ')', true},
	[FRAME_ARITH] = {'(', ')', true},
	/* bash lets these span lines, but only under conditions that few texts meet. */
	[FRAME_PATTERN] = {'(', ')', false},
	[FRAME_SUBSCRIPT] = {'[', ']', false},
};

bool split_is_cr(const struct splitter *m)
{
	return split_peek(m, 0) == '\r' && strchr("\n", split_peek(m, 1));
}

static void split_lex_skip_plain(struct splitter *m, unsigned where)
{
	/* The present byte is plain here, whatever it is elsewhere. */
	do
		m->at++;
	while (m->at < m->text.n && !(stops[(unsigned char)m->text.p[m->at]] & where));
}

/* Skips text up to its end byte; with escapes, a backslash quotes the next byte. */
static void split_lex_skip_until(struct splitter *m, size_t from, char end, bool escapes)
{
	for (m->at += from; m->at < m->text.n; m->at++) {
		if (m->text.p[m->at] == end) {
			m->at++;
			return;
		}
		if (escapes && m->text.p[m->at] == '\\')
			m->at++;
	}
	m->at = m->text.n;
	m->state = SPLIT_OPEN;
}

static void split_lex_skip_backslash(struct splitter *m)
{
	if (m->at + 1 == m->text.n)
		m->state = SPLIT_OPEN;
	m->at = m->state == SPLIT_OPEN ? m->text.n : m->at + 2;
}

static bool split_lex_is_arithmetic(struct splitter *m)
{
	enum frame_kind kind = split_top(m)->kind;

	return kind == FRAME_EXPR || kind == FRAME_ARITH;
}

static void split_lex_on_dollar(struct splitter *m, bool quoted)
{
	char next = split_peek(m, 1);
	char then = next ? split_peek(m, 2) : '\0';

	if (next == '(' && then == '(')
		split_push(m, FRAME_EXPR, 3);
	else if (next == '(')
		split_push(m, FRAME_SUBST, 2);
	else if (next == '{' && split_lex_is_arithmetic(m))
		m->at += 2; /* bash counts parentheses there, and nothing else */
	else if (next == '{' && then && strchr(" \t\r\n|", then))
		split_lose(m); /* commands in some shells, an error in others */
	else if (next == '{')
		split_push(m, FRAME_PARAM, 2);
	else if (next == '[')
		split_push(m, FRAME_SUBSCRIPT, 2);
	else if (next == '\'' && !quoted)
		split_lex_skip_until(m, 2, '\'', true);
	else if (next == '\\' && then == '\n')
		split_lose(m); /* the next line may make it an expansion */
	else
		m->at += next == '$' ? 2 : 1;
}

/*
 * A single quote inside "${x}" is a quote for bash and a letter for other shells. Skips
 * it if both readings end at the same byte, as in "${x%'/'}" and "${x%$'\\n'}".
 */
static void split_lex_skip_single(struct splitter *m)
{
	for (m->at++; m->at < m->text.n; m->at++) {
		unsigned char c = (unsigned char)split_peek(m, 0);
		char next = split_peek(m, 1);

		if (c == '\\' && next != '\'')
			m->at++;
		else if (stops[c] & IN_PAIR)
			break;
	}
	if (m->at >= m->text.n) {
		m->at = m->text.n;
		m->state = SPLIT_OPEN;
	} else if (split_peek(m, 0) == '\'') {
		m->at++;
	} else {
		split_lose(m);
	}
}

/* Skips or opens a quote or an expansion; false if none begins here. */
static bool split_lex_step_quote(struct splitter *m, bool quoted)
{
	switch (split_peek(m, 0)) {
	case '\'':
		if (quoted)
			split_lex_skip_single(m);
		else
			split_lex_skip_until(m, 1, '\'', false);
		return true;
	case '"':
		split_push(m, FRAME_DOUBLE, 1);
		return true;
	case '`':
		split_lex_skip_until(m, 1, '`', true);
		return true;
	case '$':
		split_lex_on_dollar(m, quoted);
		return true;
	case '\\':
		split_lex_skip_backslash(m);
		return true;
	default:
		return false;
	}
}

static void split_lex_step_double(struct splitter *m)
{
	char c = split_peek(m, 0);

	if (c == '"')
		split_pop(m, 1);
	else if (c == '\'' || !split_lex_step_quote(m, true))
		split_lex_skip_plain(m, IN_DOUBLE);
}

static void split_lex_close_pair(struct splitter *m, struct split_frame *f)
{
	f->parens--;
	/*
	 * "((a); b)" is a subshell in a subshell, not arithmetic; few people write that.
	 */
	if (f->kind == FRAME_ARITH && f->parens == 1 && split_peek(m, 1) != ')')
		split_lose(m);
	else if (f->parens == 0)
		split_pop(m, 1);
	else
		m->at++;
}

static void split_lex_step_pair(struct splitter *m, struct split_frame *f)
{
	const struct pair *pair = &pairs[f->kind];
	char c = split_peek(m, 0);

	if (c == pair->close) {
		split_lex_close_pair(m, f);
	} else if (c == pair->open) {
		f->parens++;
		m->at++;
	} else if (c == '\n' && !pair->lines) {
		split_lose(m);
	} else if (!split_lex_step_quote(m, f->quoted)) {
		split_lex_skip_plain(m, IN_PAIR);
	}
}

static bool split_lex_is_subst(const struct splitter *m)
{
	char c = split_peek(m, 0);

	return (c == '<' || c == '>') && split_peek(m, 1) == '(';
}

static bool split_lex_is_word_end(const struct splitter *m)
{
	unsigned char c = (unsigned char)split_peek(m, 0);

	if (c == '\r')
		return split_is_cr(m);
	return (stops[c] & BREAK) == BREAK && !split_lex_is_subst(m);
}

/* Is the word up to end a variable's name, maybe with a subscript? */
static bool split_lex_is_name(
	const struct splitter *m, const struct split_frame *f, size_t end)
{
	if (f->word_flags & WORD_BRACKET)
		return m->text.p[end - 1] == ']';
	for (size_t i = f->word; i < end; i++) {
		char c = m->text.p[i];
		bool letter =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

		if (!letter && (i == f->word || c < '0' || c > '9'))
			return false;
	}
	return end > f->word;
}

/* At the first = of a word: an assignment? */
static void split_lex_on_equals(struct splitter *m, struct split_frame *f)
{
	size_t end = m->at;

	if (!(f->word_flags & WORD_EQUALS)) {
		if (end > f->word && m->text.p[end - 1] == '+')
			end--;
		if (end > f->word && split_lex_is_name(m, f, end))
			f->value = m->at + 1;
	}
	f->word_flags |= WORD_EQUALS;
	m->at++;
}

/* At the first [ of a word: a subscript, which may hold blanks and operators? */
static void split_lex_on_bracket(struct splitter *m, struct split_frame *f)
{
	bool subscript = f->kind == FRAME_ARRAY
		? m->at == f->word
		: split_among(f->pos, SPLIT_ASSIGNS) && split_lex_is_name(m, f, m->at);

	if (f->word_flags & (WORD_BRACKET | WORD_EQUALS) || f->redir)
		subscript = false;
	f->word_flags |= WORD_BRACKET;
	if (subscript)
		split_push(m, FRAME_SUBSCRIPT, 1);
	else
		m->at++;
}

static void split_lex_read_word(struct splitter *m, struct split_frame *f)
{
	char c = split_peek(m, 0);

	if (c == '=')
		split_lex_on_equals(m, f);
	else if (c == '[')
		split_lex_on_bracket(m, f);
	else if (split_lex_is_subst(m))
		split_push(m, FRAME_SUBST, 2);
	else if (c == '\\' && split_peek(m, 1) == '\r' && strchr("\n", split_peek(m, 2)))
		split_lose(m); /* meant to join two lines, but does not */
	else if (!split_lex_step_quote(m, false))
		split_lex_skip_plain(m, IN_WORD);
}

/* Handles a parenthesis inside a word; false if it is an operator after the word. */
static bool split_lex_on_paren(struct splitter *m, struct split_frame *f)
{
	if (f->value == m->at &&
		split_among(f->pos, SPLIT_ASSIGNS | SPLIT_BIT(POS_DECLARE))) {
		split_push(m, FRAME_ARRAY, 1);
		return true;
	}
	if (!strchr("?*+@!", m->text.p[m->at - 1]))
		return false;
	/* Without extglob "yes?()" is a function. */
	if (split_peek(m, 1) == ')')
		split_lose(m);
	else
		split_push(m, FRAME_PATTERN, 1);
	return true;
}

/* The 2 of 2>file, or the {fd} of {fd}>file? */
static bool split_lex_is_descriptor(struct str word)
{
	if (word.n > 2 && word.p[0] == '{' && word.p[word.n - 1] == '}')
		return true;
	for (size_t i = 0; i < word.n; i++)
		if (word.p[i] < '0' || word.p[i] > '9')
			return false;
	return true;
}

void split_word_end(struct splitter *m, size_t end)
{
	struct split_frame *f = split_top(m);
	struct str word;

	if (f->word == NOWHERE)
		return;
	word = split_slice(m, f->word, end);
	f->word = NOWHERE;
	if (f->kind == FRAME_COND && str_eq(word, STR("]]")))
		split_pop(m, 0);
	else if (f->kind != FRAME_COND && f->kind != FRAME_ARRAY)
		split_on_word(m, word);
}

static void split_lex_skip_comment(struct splitter *m, const struct split_frame *f)
{
	struct str rest = str_skip(m->text, m->at);

	/* bash reads a comment, which the author of [[ $x == #* ]] did not intend. */
	if (f->kind == FRAME_COND)
		split_lose(m);
	if (f->kind == FRAME_TEXT && m->pieces->n == 0 && m->lead == NOWHERE)
		m->lead = m->at;
	m->at += str_find_byte(rest, '\n');
}

/* Handles a backslash that joins two lines. */
static void split_lex_join_lines(struct splitter *m, struct split_frame *f)
{
	size_t end = m->at;

	split_begin_piece(m);
	m->at += 2;
	if (m->at == m->text.n)
		m->state = SPLIT_OPEN;
	else if (f->word != NOWHERE && split_lex_is_word_end(m))
		split_word_end(m, end);
	else
		f->word_flags |= WORD_SPLICED;
}

static void split_lex_begin_word(struct splitter *m, struct split_frame *f)
{
	f->word = m->at;
	f->value = NOWHERE;
	f->word_flags = 0;
	split_begin_piece(m);
}

static void split_lex_leave_word(struct splitter *m, struct split_frame *f)
{
	char c = split_peek(m, 0);

	if (c == '(' && split_lex_on_paren(m, f))
		return;
	if ((c == '<' || c == '>') &&
		split_lex_is_descriptor(split_slice(m, f->word, m->at)))
		f->word = NOWHERE;
	else
		split_word_end(m, m->at);
}

bool split_word_step(struct splitter *m)
{
	struct split_frame *f = split_top(m);

	if (split_lex_is_word_end(m)) {
		if (f->word == NOWHERE)
			return false;
		split_lex_leave_word(m, f);
	} else if (f->word == NOWHERE && split_peek(m, 0) == '#') {
		split_lex_skip_comment(m, f);
	} else if (split_peek(m, 0) == '\\' && split_peek(m, 1) == '\n') {
		split_lex_join_lines(m, f);
	} else {
		if (f->word == NOWHERE)
			split_lex_begin_word(m, f);
		split_lex_read_word(m, f);
	}
	return true;
}

/* Operators and blanks of [[ ]] have no effect; only its end matters. */
static void split_lex_step_cond(struct splitter *m)
{
	char c = split_peek(m, 0);

	if (c == '(')
		split_push(m, FRAME_PATTERN, 1);
	else if (split_word_step(m))
		return;
	else if (c == ')' || c == ';' || (c == '\n' && m->docs_n))
		split_lose(m);
	else
		m->at++;
}

static void split_lex_step_array(struct splitter *m)
{
	char c;

	if (split_word_step(m))
		return;
	c = split_peek(m, 0);
	if (c == ')')
		split_pop(m, 1);
	else if (strchr("();&|<>", c) || (c == '\n' && m->docs_n))
		split_lose(m);
	else
		m->at++;
}

void split_lex_step(struct splitter *m)
{
	struct split_frame *f = split_top(m);

	if (f->kind == FRAME_COND)
		split_lex_step_cond(m);
	else if (f->kind == FRAME_ARRAY)
		split_lex_step_array(m);
	else if (f->kind == FRAME_DOUBLE)
		split_lex_step_double(m);
	else
		split_lex_step_pair(m, f);
}
