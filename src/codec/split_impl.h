/*
 * Inside the tokenizer of commands. From the bottom up:
 *
 *	split_doc.c  here-documents
 *	split_lex.c  words, and what nests inside a word
 *	split.c      the grammar of commands, and the functions of split.h
 *
 * A single stack holds all open constructs, lists of commands and quotes alike, since
 * each may be inside the other. A step examines the byte m->at and the frame on top, and
 * consumes bytes, or changes the stack, or gives up.
 */
#ifndef CODEC_SPLIT_IMPL_H
#define CODEC_SPLIT_IMPL_H

#include "codec/split.h"

enum frame_kind {
	/* Lists of commands, or the words around them. */
	FRAME_TEXT,  /* all of it */
	FRAME_SUBST, /* $( <( >( */
	FRAME_PAREN, /* ( */
	FRAME_BRACE, /* { */
	FRAME_IF,    /* if, elif */
	FRAME_THEN,
	FRAME_ELSE,
	FRAME_WHILE, /* while, until */
	FRAME_DO,
	FRAME_FOR,    /* for, select: up to do or { */
	FRAME_CASE,   /* up to the ) of a pattern */
	FRAME_CLAUSE, /* from there to ;; */
	/* Words without commands. */
	FRAME_COND,  /* [[ */
	FRAME_ARRAY, /* name=( */
	/* Inside a word. */
	FRAME_DOUBLE,    /* " */
	FRAME_PARAM,     /* ${ */
	FRAME_EXPR,      /* $(( */
	FRAME_ARITH,     /* ((, a command */
	FRAME_PATTERN,   /* ?( *( +( @( !( and groups of [[ ]] */
	FRAME_SUBSCRIPT, /* name[ $[ */
	FRAME_KINDS,
};

/* The part of a command that has been read, which determines what may follow. */
enum position {
	POS_INVALID,      /* nothing: the text is wrong, or not supported */
	POS_START,        /* a command must come */
	POS_PIPED,        /* the same, after | */
	POS_NEXT,         /* a command, or the end of the list */
	POS_BANG,         /* after ! */
	POS_TIME,         /* after time */
	POS_PREFIX,       /* after assignments and redirections before a command */
	POS_FIRST,        /* after the first word of a command */
	POS_ARGS,         /* after more of it */
	POS_DECLARE,      /* after declare or the like, which takes arrays */
	POS_DONE,         /* after a compound command */
	POS_REDIRECTED,   /* after a compound command and a redirection */
	POS_FN_NAME,      /* after function */
	POS_FN_PAREN,     /* after function NAME */
	POS_FN_CLOSE,     /* after NAME ( */
	POS_FN_BODY,      /* after NAME ( ) */
	POS_FOR_NAME,     /* after for */
	POS_FOR_IN,       /* after for NAME */
	POS_FOR_WORDS,    /* after for NAME in */
	POS_FOR_EXPR,     /* after for (( )) */
	POS_FOR_DO,       /* before do */
	POS_CASE_WORD,    /* after case */
	POS_CASE_IN,      /* after case WORD */
	POS_CASE_PATTERN, /* before a clause */
	POS_CASE_OPEN,    /* after ( or | of a pattern */
	POS_CASE_REST,    /* after a pattern */
	POS_COPROC,       /* after coproc */
	POS_COPROC_NAME,  /* after coproc NAME */
	POSITIONS,
};

#define SPLIT_BIT(x) (1u << (x))

/* Sets of positions: where a command may begin; where assignments are made. */
enum {
	SPLIT_BEGINS = SPLIT_BIT(POS_START) | SPLIT_BIT(POS_PIPED) | SPLIT_BIT(POS_NEXT) |
		SPLIT_BIT(POS_BANG) | SPLIT_BIT(POS_TIME),
	SPLIT_ASSIGNS = SPLIT_BEGINS | SPLIT_BIT(POS_PREFIX),
};

static inline bool split_among(enum position pos, unsigned set)
{
	return SPLIT_BIT(pos) & set;
}

enum redirection {
	REDIR_NONE,
	REDIR_WORD,     /* a word must follow: the target */
	REDIR_DOC,      /* ... the delimiter of a here-document */
	REDIR_DOC_TABS, /* ... the same, after <<- */
};

/* Properties of the word that is being read. */
enum {
	WORD_SPLICED = 1, /* continues after a backslash at a line's end */
	WORD_EQUALS = 2,  /* holds a = */
	WORD_BRACKET = 4, /* holds a [ */
};

struct split_frame {
	enum frame_kind kind;
	enum position pos;
	enum redirection redir;
	unsigned word_flags;
	bool quoted;     /* inside ${ } or the like, which is inside " " */
	unsigned parens; /* unclosed, of a frame that counts its pairs */
	size_t word;     /* where the word begins, or NOWHERE */
	size_t value;    /* where its value begins if it is an assignment, or NOWHERE */
};

#define NOWHERE SIZE_MAX

struct here_doc {
	struct str delimiter; /* as written */
	unsigned level;       /* the depth of substitutions around it */
	bool quoted;          /* backslashes in the body are plain text */
	bool tabs;            /* tabs before a line do not count */
	bool cr;              /* the delimiter's line ends in CR LF */
};

enum split_state {
	SPLIT_RUNNING,
	SPLIT_FAILED, /* not understood */
	SPLIT_OPEN,   /* the text has ended inside a quote or a here-document */
};

struct splitter {
	struct str text;
	size_t at;
	enum split_state state;
	unsigned level; /* substitutions around the byte at */
	size_t depth;   /* of the stack, at least one */
	struct split_frame stack[SPLIT_DEPTH_MAX];
	struct here_doc docs[SPLIT_DOCS_MAX]; /* their bodies begin at the next line */
	size_t docs_n;
	size_t lead;  /* the comment before the first command, or NOWHERE */
	bool in_line; /* the last piece is still being read */
	struct split_pieces *pieces;
};

static inline struct split_frame *split_top(struct splitter *m)
{
	return &m->stack[m->depth - 1];
}

/* The byte i ahead; NUL, which no text contains, after the end. */
static inline char split_peek(const struct splitter *m, size_t i)
{
	return m->at < m->text.n && i < m->text.n - m->at ? m->text.p[m->at + i] : '\0';
}

static inline struct str split_slice(const struct splitter *m, size_t from, size_t to)
{
	return str_make(m->text.p + from, to - from);
}

static inline void split_lose(struct splitter *m)
{
	m->state = SPLIT_FAILED;
}

/* split_doc.c */

/* Stores a here-document, given by the redirection and the word of the frame. */
void split_doc_add(struct splitter *m, const struct split_frame *f, struct str word);
/* Skips the bodies of all stored here-documents; m->at is after a newline. */
void split_doc_read(struct splitter *m);
/* Gives up if the substitution that ends here leaves a here-document without its body. */
void split_doc_close(struct splitter *m);

/* split_lex.c */

/* Is the byte a carriage return that ends a line? */
bool split_is_cr(const struct splitter *m);
/*
 * Reads on in a word, or begins or ends a word, or skips a comment. False for any other
 * byte: an operator, a blank or a newline.
 */
bool split_word_step(struct splitter *m) MUST_USE;
/* Ends the word, if there is one, at the offset. */
void split_word_end(struct splitter *m, size_t end);
/* Makes a step in a frame that is not a list of commands. */
void split_lex_step(struct splitter *m);

/* split.c */

/* Opens a frame after its n opening bytes; gives up if the stack is full. */
void split_push(struct splitter *m, enum frame_kind kind, size_t n);
/* Closes the top frame after n bytes. */
void split_pop(struct splitter *m, size_t n);
/* Takes a whole word of a list of commands. */
void split_on_word(struct splitter *m, struct str word);
/* Begins a piece here, unless the piece of this line has begun. */
void split_begin_piece(struct splitter *m);

#endif
