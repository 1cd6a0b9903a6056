#include "codec/split_impl.h"

#include <assert.h>

enum token {
	TOKEN_WORD,
	TOKEN_NEWLINE,
	TOKEN_SEMI,     /* ; */
	TOKEN_AMP,      /* & */
	TOKEN_PIPE,     /* | */
	TOKEN_PIPE_ALL, /* |& */
	TOKEN_AND,      /* && || */
	TOKEN_REDIR,    /* and its target */
	ORDINARY_TOKENS,
	/* The effect of these tokens depends on more than the position. */
	TOKEN_CLAUSE_END = ORDINARY_TOKENS,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_DOC,
	TOKEN_DOC_TABS,
};

/*
 * The position after an ordinary token. A combination that is not listed is POS_INVALID.
 */
static const uint8_t after[POSITIONS][ORDINARY_TOKENS] = {
#define ENDS \
	[TOKEN_NEWLINE] = POS_NEXT, [TOKEN_SEMI] = POS_NEXT, [TOKEN_AMP] = POS_NEXT, \
	[TOKEN_PIPE] = POS_PIPED, [TOKEN_PIPE_ALL] = POS_PIPED, [TOKEN_AND] = POS_START
#define BEGINS [TOKEN_WORD] = POS_FIRST, [TOKEN_REDIR] = POS_PREFIX
	[POS_START] = {BEGINS, [TOKEN_NEWLINE] = POS_START},
	[POS_PIPED] = {BEGINS, [TOKEN_NEWLINE] = POS_PIPED},
	[POS_NEXT] = {BEGINS, [TOKEN_NEWLINE] = POS_NEXT},
	[POS_BANG] = {BEGINS, [TOKEN_NEWLINE] = POS_NEXT, [TOKEN_SEMI] = POS_NEXT},
	[POS_TIME] = {BEGINS, [TOKEN_NEWLINE] = POS_NEXT, [TOKEN_SEMI] = POS_NEXT},
	[POS_PREFIX] = {ENDS, [TOKEN_WORD] = POS_ARGS, [TOKEN_REDIR] = POS_PREFIX},
	[POS_FIRST] = {ENDS, [TOKEN_WORD] = POS_ARGS, [TOKEN_REDIR] = POS_ARGS},
	[POS_ARGS] = {ENDS, [TOKEN_WORD] = POS_ARGS, [TOKEN_REDIR] = POS_ARGS},
	[POS_DECLARE] = {ENDS, [TOKEN_WORD] = POS_DECLARE, [TOKEN_REDIR] = POS_DECLARE},
	[POS_DONE] = {ENDS, [TOKEN_REDIR] = POS_REDIRECTED},
	[POS_REDIRECTED] = {ENDS, [TOKEN_REDIR] = POS_REDIRECTED},
	[POS_FN_NAME] = {[TOKEN_WORD] = POS_FN_PAREN},
	[POS_FN_PAREN] = {[TOKEN_NEWLINE] = POS_FN_BODY},
	[POS_FN_BODY] = {[TOKEN_NEWLINE] = POS_FN_BODY},
	[POS_FOR_NAME] = {[TOKEN_WORD] = POS_FOR_IN},
	[POS_FOR_IN] = {[TOKEN_NEWLINE] = POS_FOR_IN, [TOKEN_SEMI] = POS_FOR_DO},
	[POS_FOR_WORDS] = {[TOKEN_WORD] = POS_FOR_WORDS,
		[TOKEN_NEWLINE] = POS_FOR_DO,
		[TOKEN_SEMI] = POS_FOR_DO},
	[POS_FOR_EXPR] = {[TOKEN_NEWLINE] = POS_FOR_DO, [TOKEN_SEMI] = POS_FOR_DO},
	[POS_FOR_DO] = {[TOKEN_NEWLINE] = POS_FOR_DO},
	[POS_CASE_WORD] = {[TOKEN_WORD] = POS_CASE_IN},
	[POS_CASE_IN] = {[TOKEN_NEWLINE] = POS_CASE_IN},
	[POS_CASE_PATTERN] =
		{[TOKEN_WORD] = POS_CASE_REST, [TOKEN_NEWLINE] = POS_CASE_PATTERN},
	[POS_CASE_OPEN] = {[TOKEN_WORD] = POS_CASE_REST},
	[POS_CASE_REST] = {[TOKEN_PIPE] = POS_CASE_OPEN},
	[POS_COPROC] = {[TOKEN_WORD] = POS_COPROC_NAME, [TOKEN_REDIR] = POS_PREFIX},
	[POS_COPROC_NAME] = {ENDS, [TOKEN_WORD] = POS_ARGS, [TOKEN_REDIR] = POS_ARGS},
#undef ENDS
#undef BEGINS
};

#define BIT(x) SPLIT_BIT(x)

/* More sets of positions. */
enum {
	COMMANDS = SPLIT_BEGINS,
	PIPELINES = COMMANDS & ~BIT(POS_PIPED),
	BODIES = COMMANDS | BIT(POS_FN_PAREN) | BIT(POS_FN_BODY) | BIT(POS_COPROC) |
		BIT(POS_COPROC_NAME),
	CLOSERS = BIT(POS_NEXT) | BIT(POS_DONE),
	LOOPS = BIT(POS_FOR_IN) | BIT(POS_FOR_EXPR) | BIT(POS_FOR_DO),
	RESERVED = BODIES | CLOSERS, /* a reserved word is never a plain word here */
	PLAIN = BIT(POS_FIRST) | BIT(POS_ARGS) | BIT(POS_DECLARE) | BIT(POS_FN_NAME) |
		BIT(POS_FOR_NAME) | BIT(POS_FOR_WORDS) | BIT(POS_CASE_WORD) |
		BIT(POS_CASE_OPEN), /* every word is a plain one here */
};

enum effect {
	PUSH,   /* opens a frame; POS_DONE follows the frame */
	GO_TO,  /* another position */
	BECOME, /* the frame becomes another kind, at its start */
	POP,    /* closes arg frames */
};

enum { ANY_FRAME = 0 };

static const struct rule {
	char text[12];
	unsigned at; /* positions */
	unsigned in; /* frames */
	enum effect effect;
	unsigned arg;
} rules[] = {
	{"if", BODIES, ANY_FRAME, PUSH, FRAME_IF},
	{"for", BODIES, ANY_FRAME, PUSH, FRAME_FOR},
	{"while", BODIES, ANY_FRAME, PUSH, FRAME_WHILE},
	{"until", BODIES, ANY_FRAME, PUSH, FRAME_WHILE},
	{"case", BODIES, ANY_FRAME, PUSH, FRAME_CASE},
	{"select", BODIES, ANY_FRAME, PUSH, FRAME_FOR},
	{"{", BODIES, ANY_FRAME, PUSH, FRAME_BRACE},
	{"[[", BODIES, ANY_FRAME, PUSH, FRAME_COND},
	{"!", PIPELINES, ANY_FRAME, GO_TO, POS_BANG},
	{"time", PIPELINES, ANY_FRAME, GO_TO, POS_TIME},
	{"time", BIT(POS_PIPED), ANY_FRAME, GO_TO, POS_FIRST}, /* the program */
	{"-p", BIT(POS_TIME), ANY_FRAME, GO_TO, POS_TIME},
	{"--", BIT(POS_TIME), ANY_FRAME, GO_TO, POS_TIME},
	{"function", COMMANDS, ANY_FRAME, GO_TO, POS_FN_NAME},
	{"coproc", COMMANDS, ANY_FRAME, GO_TO, POS_COPROC},
	{"declare", SPLIT_ASSIGNS, ANY_FRAME, GO_TO, POS_DECLARE},
	{"typeset", SPLIT_ASSIGNS, ANY_FRAME, GO_TO, POS_DECLARE},
	{"local", SPLIT_ASSIGNS, ANY_FRAME, GO_TO, POS_DECLARE},
	{"export", SPLIT_ASSIGNS, ANY_FRAME, GO_TO, POS_DECLARE},
	{"readonly", SPLIT_ASSIGNS, ANY_FRAME, GO_TO, POS_DECLARE},
	{"then", CLOSERS, BIT(FRAME_IF), BECOME, FRAME_THEN},
	{"elif", CLOSERS, BIT(FRAME_THEN), BECOME, FRAME_IF},
	{"else", CLOSERS, BIT(FRAME_THEN), BECOME, FRAME_ELSE},
	{"fi", CLOSERS, BIT(FRAME_THEN) | BIT(FRAME_ELSE), POP, 1},
	{"in", BIT(POS_FOR_IN), BIT(FRAME_FOR), GO_TO, POS_FOR_WORDS},
	{"in", BIT(POS_CASE_IN), BIT(FRAME_CASE), GO_TO, POS_CASE_PATTERN},
	{"do", LOOPS, BIT(FRAME_FOR), BECOME, FRAME_DO},
	{"do", CLOSERS, BIT(FRAME_WHILE), BECOME, FRAME_DO},
	{"{", LOOPS, BIT(FRAME_FOR), BECOME, FRAME_BRACE},
	{"done", CLOSERS, BIT(FRAME_DO), POP, 1},
	{"}", CLOSERS, BIT(FRAME_BRACE), POP, 1},
	{"esac", BIT(POS_CASE_PATTERN), BIT(FRAME_CASE), POP, 1},
	{"esac", CLOSERS, BIT(FRAME_CLAUSE), POP, 2},
	{"]]", 0, ANY_FRAME, POP, 0}, /* FRAME_COND handles it */
};

/* The initial state of a frame: its position and the number of open brackets. */
static const struct {
	enum position pos;
	unsigned parens;
} fresh[FRAME_KINDS] = {
	[FRAME_TEXT] = {.pos = POS_NEXT},
	[FRAME_SUBST] = {.pos = POS_NEXT},
	[FRAME_PAREN] = {.pos = POS_START},
	[FRAME_BRACE] = {.pos = POS_START},
	[FRAME_IF] = {.pos = POS_START},
	[FRAME_THEN] = {.pos = POS_START},
	[FRAME_ELSE] = {.pos = POS_START},
	[FRAME_WHILE] = {.pos = POS_START},
	[FRAME_DO] = {.pos = POS_START},
	[FRAME_FOR] = {.pos = POS_FOR_NAME},
	[FRAME_CASE] = {.pos = POS_CASE_WORD},
	[FRAME_CLAUSE] = {.pos = POS_NEXT},
	[FRAME_PARAM] = {.parens = 1},
	[FRAME_EXPR] = {.parens = 2},
	[FRAME_ARITH] = {.parens = 2},
	[FRAME_PATTERN] = {.parens = 1},
	[FRAME_SUBSCRIPT] = {.parens = 1},
};

/* The operators; an operator comes before its own prefixes. */
static const struct {
	char text[4];
	enum token token;
} operators[] = {
	{";;&", TOKEN_CLAUSE_END},
	{";;", TOKEN_CLAUSE_END},
	{";&", TOKEN_CLAUSE_END},
	{";", TOKEN_SEMI},
	{"&&", TOKEN_AND},
	{"&>>", TOKEN_REDIR},
	{"&>", TOKEN_REDIR},
	{"&", TOKEN_AMP},
	{"||", TOKEN_AND},
	{"|&", TOKEN_PIPE_ALL},
	{"|", TOKEN_PIPE},
	{"(", TOKEN_OPEN},
	{")", TOKEN_CLOSE},
	{"<<<", TOKEN_REDIR},
	{"<<-", TOKEN_DOC_TABS},
	{"<<", TOKEN_DOC},
	{"<&", TOKEN_REDIR},
	{"<>", TOKEN_REDIR},
	{"<", TOKEN_REDIR},
	{">>", TOKEN_REDIR},
	{">&", TOKEN_REDIR},
	{">|", TOKEN_REDIR},
	{">", TOKEN_REDIR},
};

static bool split_is_list(enum frame_kind kind)
{
	return kind <= FRAME_CLAUSE;
}

void split_push(struct splitter *m, enum frame_kind kind, size_t n)
{
	const struct split_frame *parent = split_top(m);
	bool quoted = parent->kind == FRAME_DOUBLE || parent->quoted;

	if (m->depth == SPLIT_DEPTH_MAX) {
		split_lose(m);
		return;
	}
	m->at += n;
	m->level += kind == FRAME_SUBST;
	m->stack[m->depth++] = (struct split_frame){
		.kind = kind,
		.pos = fresh[kind].pos,
		.parens = fresh[kind].parens,
		.quoted = quoted && kind != FRAME_SUBST,
		.word = NOWHERE,
		.value = NOWHERE,
	};
}

void split_pop(struct splitter *m, size_t n)
{
	assert(m->depth > 1);
	m->at += n;
	m->level -= split_top(m)->kind == FRAME_SUBST;
	m->depth--;
}

void split_begin_piece(struct splitter *m)
{
	struct split_pieces *p = m->pieces;

	if (m->in_line || m->depth > 1)
		return;
	m->in_line = true;
	if (p->n < SPLIT_PIECES_MAX)
		p->piece[p->n++].from = m->lead == NOWHERE ? m->at : m->lead;
	m->lead = NOWHERE;
}

static void split_set_pos(struct splitter *m, enum position pos)
{
	split_top(m)->pos = pos;
	if (pos == POS_INVALID)
		split_lose(m);
}

/* Begins a compound command and consumes its n opening bytes. */
static void split_open_compound(struct splitter *m, enum frame_kind kind, size_t n)
{
	split_set_pos(m, POS_DONE);
	split_push(m, kind, n);
}

static void split_apply_rule(struct splitter *m, const struct rule *r)
{
	struct split_frame *f = split_top(m);

	switch (r->effect) {
	case PUSH:
		split_open_compound(m, (enum frame_kind)r->arg, 0);
		break;
	case GO_TO:
		split_set_pos(m, (enum position)r->arg);
		break;
	case BECOME:
		f->kind = (enum frame_kind)r->arg;
		f->pos = fresh[f->kind].pos;
		break;
	case POP:
		for (unsigned i = 0; i < r->arg; i++)
			split_pop(m, 0);
		break;
	}
}

static bool split_has_text(const struct rule *r, struct str word)
{
	return memcmp(r->text, word.p, word.n) == 0 && !r->text[word.n];
}

/* True if the word was a reserved word, in a valid place or not. */
static bool split_on_reserved(
	struct splitter *m, const struct split_frame *f, struct str word)
{
	bool misplaced = false;

	if (split_among(f->pos, PLAIN) || word.n >= sizeof(rules[0].text))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		const struct rule *r = &rules[i];

		if (r->text[0] != word.p[0] || !split_has_text(r, word))
			continue;
		if (split_among(f->pos, r->at) && (!r->in || (r->in & BIT(f->kind)))) {
			split_apply_rule(m, r);
			return true;
		}
		misplaced = misplaced || r->at != BIT(POS_TIME);
	}
	if (misplaced && split_among(f->pos, RESERVED)) {
		split_lose(m);
		return true;
	}
	return false;
}

void split_on_word(struct splitter *m, struct str word)
{
	struct split_frame *f = split_top(m);
	enum redirection redir = f->redir;

	if (redir == REDIR_DOC || redir == REDIR_DOC_TABS)
		split_doc_add(m, f, word);
	f->redir = REDIR_NONE;
	if (redir != REDIR_NONE)
		return;
	/* It might be a reserved word. */
	if ((f->word_flags & WORD_SPLICED) && !split_among(f->pos, PLAIN))
		split_lose(m);
	else if (split_on_reserved(m, f, word))
		return;
	else if (f->value != NOWHERE && split_among(f->pos, SPLIT_ASSIGNS))
		split_set_pos(m, POS_PREFIX);
	else
		split_set_pos(m, after[f->pos][TOKEN_WORD]);
}

static void split_on_token(struct splitter *m, enum token token, size_t n)
{
	split_set_pos(m, after[split_top(m)->pos][token]);
	m->at += n;
}

static void split_on_redirection(struct splitter *m, enum redirection redir, size_t n)
{
	split_on_token(m, TOKEN_REDIR, n);
	split_top(m)->redir = redir;
}

static void split_on_newline(struct splitter *m)
{
	const struct split_frame *f = split_top(m);

	if (f->redir)
		split_lose(m);
	split_on_token(m, TOKEN_NEWLINE, 1);
	if (m->state == SPLIT_RUNNING && m->docs_n)
		split_doc_read(m);
	if (m->depth == 1 && f->pos == POS_NEXT)
		m->in_line = false;
}

static void split_on_open(struct splitter *m)
{
	const struct split_frame *f = split_top(m);
	bool twice = split_peek(m, 1) == '(';

	if (f->pos == POS_FIRST || f->pos == POS_FN_PAREN) {
		split_set_pos(m, POS_FN_CLOSE);
		m->at++;
	} else if (split_among(f->pos, BODIES)) {
		split_open_compound(m, twice ? FRAME_ARITH : FRAME_PAREN, twice ? 2 : 1);
	} else if (f->pos == POS_FOR_NAME && twice) {
		split_set_pos(m, POS_FOR_EXPR);
		split_push(m, FRAME_ARITH, 2);
	} else if (f->pos == POS_CASE_PATTERN) {
		split_set_pos(m, POS_CASE_OPEN);
		m->at++;
	} else {
		split_lose(m);
	}
}

/* May the list end here? */
static bool split_is_list_end(const struct split_frame *f)
{
	return after[f->pos][TOKEN_NEWLINE] == POS_NEXT;
}

static void split_on_close(struct splitter *m)
{
	const struct split_frame *f = split_top(m);

	if (f->pos == POS_FN_CLOSE) {
		split_set_pos(m, POS_FN_BODY);
		m->at++;
	} else if (f->pos == POS_CASE_REST) {
		split_set_pos(m, POS_CASE_PATTERN);
		split_push(m, FRAME_CLAUSE, 1);
	} else if (f->kind == FRAME_PAREN && split_is_list_end(f)) {
		split_pop(m, 1);
	} else if (f->kind == FRAME_SUBST && split_is_list_end(f)) {
		split_doc_close(m);
		split_pop(m, 1);
	} else {
		split_lose(m);
	}
}

static void split_on_clause_end(struct splitter *m, size_t n)
{
	const struct split_frame *f = split_top(m);

	if (f->kind == FRAME_CLAUSE && split_is_list_end(f))
		split_pop(m, n);
	else
		split_lose(m);
}

static void split_on_operator(struct splitter *m, enum token token, size_t n)
{
	split_begin_piece(m);
	if (split_top(m)->redir) {
		split_lose(m);
		return;
	}
	switch (token) {
	case TOKEN_CLAUSE_END:
		split_on_clause_end(m, n);
		break;
	case TOKEN_OPEN:
		split_on_open(m);
		break;
	case TOKEN_CLOSE:
		split_on_close(m);
		break;
	case TOKEN_REDIR:
		split_on_redirection(m, REDIR_WORD, n);
		break;
	case TOKEN_DOC:
		split_on_redirection(m, REDIR_DOC, n);
		break;
	case TOKEN_DOC_TABS:
		split_on_redirection(m, REDIR_DOC_TABS, n);
		break;
	default:
		split_on_token(m, token, n);
		break;
	}
}

/* The length of the operator if the text has it here, otherwise 0. */
static size_t split_match_operator(const struct splitter *m, const char *text)
{
	size_t n = 0;

	while (text[n] && text[n] == split_peek(m, n))
		n++;
	return text[n] ? 0 : n;
}

/* Takes an operator, which must be here: every other byte belongs to a word. */
static void split_step_operator(struct splitter *m)
{
	size_t i = 0, n;

	while ((n = split_match_operator(m, operators[i].text)) == 0) {
		i++;
		assert(i < ARRAY_LEN(operators));
	}
	split_on_operator(m, operators[i].token, n);
}

static void split_step_list(struct splitter *m)
{
	if (split_word_step(m))
		return;
	switch (split_peek(m, 0)) {
	case '\n':
		split_on_newline(m);
		break;
	case ' ':
	case '\t':
	case '\r':
		m->at++;
		break;
	default:
		split_step_operator(m);
		break;
	}
}

/* The kind of the text, as if a newline followed. */
static enum split_kind split_classify(struct splitter *m)
{
	const struct split_frame *f;

	if (m->state == SPLIT_OPEN)
		return SPLIT_UNFINISHED;
	if (m->state == SPLIT_RUNNING)
		split_word_end(m, m->text.n);
	f = split_top(m);
	if (m->state == SPLIT_FAILED || f->kind == FRAME_PATTERN ||
		f->kind == FRAME_SUBSCRIPT)
		return SPLIT_SINGLE;
	if (split_is_list(f->kind) && (f->redir || !after[f->pos][TOKEN_NEWLINE]))
		return SPLIT_SINGLE;
	if (m->depth > 1 || m->docs_n || !split_is_list_end(f))
		return SPLIT_UNFINISHED;
	return m->pieces->n > 1 ? SPLIT_MULTIPLE : SPLIT_SINGLE;
}

static void split_trim_pieces(struct str text, struct split_pieces *pieces)
{
	size_t to = text.n;

	for (size_t i = pieces->n; i-- > 0;) {
		size_t from = pieces->piece[i].from;

		/* A form feed may be all of a command: it is a word for the shell. */
		while (to - 1 > from && strchr(" \t\r\n\v\f", text.p[to - 1]))
			to--;
		pieces->piece[i].to = to;
		to = from;
	}
}

static enum split_kind split_tokenize(
	struct splitter *m, struct str text, struct split_pieces *pieces)
{
	/* Not all of *m is initialized: most of the stack stays unused. */
	m->text = text;
	m->at = 0;
	m->state = str_find_byte(text, '\0') < text.n ? SPLIT_FAILED : SPLIT_RUNNING;
	m->level = 0;
	m->depth = 1;
	m->stack[0] = (struct split_frame){
		.kind = FRAME_TEXT, .pos = POS_NEXT, .word = NOWHERE, .value = NOWHERE};
	m->docs_n = 0;
	m->lead = NOWHERE;
	m->in_line = false;
	m->pieces = pieces;
	pieces->n = 0;
	while (m->state == SPLIT_RUNNING && m->at < text.n) {
		if (split_is_list(split_top(m)->kind))
			split_step_list(m);
		else
			split_lex_step(m);
	}
	return split_classify(m);
}

enum split_kind split_command(struct str text, struct split_pieces *pieces)
{
	struct splitter m;
	enum split_kind kind = split_tokenize(&m, text, pieces);

	if (kind == SPLIT_MULTIPLE)
		split_trim_pieces(text, pieces);
	else
		pieces->n = 0;
	return kind;
}

bool split_is_in_document(struct str text)
{
	struct split_pieces pieces;
	struct splitter m;

	/* Most texts need no closer look. */
	if (str_find(text, STR("<<")) == text.n)
		return false;
	return split_tokenize(&m, text, &pieces) == SPLIT_UNFINISHED && m.docs_n &&
		pieces.n == 1;
}

bool split_is_complete(struct str text)
{
	struct split_pieces pieces;
	struct splitter m;

	return split_tokenize(&m, text, &pieces) != SPLIT_UNFINISHED &&
		m.state != SPLIT_FAILED && m.depth == 1 &&
		split_is_list_end(split_top(&m));
}

void split_write_refusal(
	struct str text, const struct split_pieces *pieces, struct buf *out)
{
	buf_puts(out,
		"ERROR: Cannot execute multiple commands at once.\n"
		"Please run each command separately OR chain them into a single "
		"command via && or ;\nProvided commands:");
	for (size_t i = 0; i < pieces->n; i++) {
		const struct split_piece *p = &pieces->piece[i];

		buf_fmt(out, "\n(%zu) ", i + 1);
		buf_put(out, text.p + p->from, p->to - p->from);
	}
}
