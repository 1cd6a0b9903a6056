/*
 * Runs an automaton in time linear in the text: its sets of instructions become states
 * of a deterministic automaton, each when it is first met. The states have a maximum
 * of memory; when that is reached they are all forgotten and met again.
 */
#ifndef FILE_DFA_H
#define FILE_DFA_H

#include "file/automaton.h"

enum dfa_mode {
	DFA_LINES, /* a match stands anywhere within a line; lines end with LF */
	DFA_WHOLE, /* a match is the whole text; LF is a byte like others */
};

enum { DFA_STOPS = 3 };

struct dfa {
	struct automaton program;
	enum dfa_mode mode;
	uint8_t class[256]; /* bytes that no instruction tells apart are one */
	uint8_t sample[256];
	size_t columns;    /* classes, and the end of the text */
	struct buf rows;   /* uint32_t per column: where the next row begins */
	struct buf states; /* struct dfa_state per row */
	struct buf lists;  /* uint16_t: the instructions of the states */
	struct buf table;  /* uint16_t: the states by hash */
	struct buf work;   /* while a state is made */
	uint32_t start;    /* the row at the start of a line or text */
	uint32_t idle;     /* within a line, with nothing matched so far */
	/* The only bytes that lead out of idle, if there are so few. */
	uint8_t stops[DFA_STOPS];
	unsigned stops_n; /* 0: there are more */
};

/*
 * Takes the program, which is empty then. Its error, or -ENOMEM; dfa_free accepts what
 * init has left, and a zeroed object.
 */
int dfa_init_take(struct dfa *d, struct automaton *program, enum dfa_mode mode) MUST_USE;
void dfa_free(struct dfa *d);

/*
 * DFA_LINES: looks for the first place in the text, which starts with a line, where a
 * match is known to end or have ended; *end lies in the line of that match or is the
 * offset of its LF. 0 when found, 1 for none, -ENOMEM.
 */
int dfa_find(struct dfa *d, struct str text, size_t *end) MUST_USE;

/* DFA_WHOLE: 0 when text matches, 1 if not, -ENOMEM. */
int dfa_whole(struct dfa *d, struct str text) MUST_USE;

#endif
