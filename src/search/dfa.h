/*
 * Runs an automaton in time linear in the text. Sets of instructions become states of a
 * deterministic automaton, which are built when they are first reached. The memory of
 * the states is bounded: if it is full, all states are dropped and built again on
 * demand.
 */
#ifndef SEARCH_DFA_H
#define SEARCH_DFA_H

#include "search/automaton.h"

enum { DFA_STATES_MAX = 4000 }; /* half of the hash table, 16 KB */

enum dfa_mode {
	DFA_LINES, /* a match may be anywhere within a line; lines end with LF */
	DFA_WHOLE, /* the whole text must match; LF is an ordinary byte */
};

enum { DFA_STOPS = 3 };

struct dfa {
	struct automaton program;
	enum dfa_mode mode;
	uint8_t class[256]; /* bytes that no instruction distinguishes share a class */
	uint8_t sample[256];
	size_t columns;    /* number of classes, plus one for the end of the text */
	struct buf rows;   /* uint32_t per column: offset of the next row */
	struct buf states; /* struct dfa_state per row */
	struct buf lists;  /* uint16_t: the instructions of the states */
	struct buf table;  /* uint16_t: the states by hash */
	struct buf work;   /* scratch space while a state is built */
	uint32_t start;    /* the row at the start of a line or text */
	uint32_t idle;     /* within a line, with nothing matched so far */
	/*
	 * The only bytes that lead out of idle, if there are at most DFA_STOPS of them.
	 */
	uint8_t stops[DFA_STOPS];
	unsigned stops_n; /* 0: there are more than DFA_STOPS */
};

/*
 * Takes ownership of the program, which is empty afterwards. Returns the program's
 * error, or -ENOMEM. dfa_free accepts the object after a failed init, and a zeroed
 * object.
 */
int dfa_init_program(
	struct dfa *d, struct automaton *program, enum dfa_mode mode) MUST_USE;
void dfa_free(struct dfa *d);

/*
 * DFA_LINES: finds the first place in the text, which starts at the start of a line,
 * where a match is known to end or have ended. *end is an offset in the line of that
 * match, or the offset of its LF. 0: found; 1: no match; -ENOMEM.
 */
int dfa_find(struct dfa *d, struct str text, size_t *end) MUST_USE;

/* DFA_WHOLE: 0: text matches; 1: it does not; -ENOMEM. */
int dfa_match(struct dfa *d, struct str text) MUST_USE;

#endif
