/*
 * Programs of a finite automaton over bytes. Regular expressions and globs are compiled
 * to them, and dfa.h runs them. A program is built from the front to the back. The last
 * part can be repeated or made optional, because all jumps in it are relative and none
 * leads out of it.
 *
 * Why this is not a library: musl's regexec, which is TRE, does 50 to 65 MB/s on the
 * lines of C headers where GNU grep does more than 1,000, allocates as it matches and
 * wants C strings; TRE itself is the same code. PCRE2 backtracks, which is exponential
 * on patterns that agents do write, and is 630 KB, nearly twice this program.
 */
#ifndef SEARCH_AUTOMATON_H
#define SEARCH_AUTOMATON_H

#include "base/buf.h"

enum { AUTOMATON_INSTS_MAX = 20000 }; /* 8 bytes each, and 10 while states are made */

enum automaton_op {
	AUTOMATON_BYTES, /* matches a byte of a set, then the next instruction */
	AUTOMATON_SPLIT, /* both the next instruction and that at "to" */
	AUTOMATON_JUMP,  /* the instruction at "to" */
	AUTOMATON_CHECK, /* the next instruction, if the check holds */
	AUTOMATON_MATCH,
};

/* Conditions on a position between two bytes. */
enum automaton_check {
	CHECK_LINE_START,
	CHECK_LINE_END,
	CHECK_WORD_EDGE, /* words are of ASCII letters, digits and '_' */
	CHECK_WORD_INSIDE,
	CHECK_WORD_START,
	CHECK_WORD_END,
};

struct automaton_inst {
	uint8_t op;
	uint8_t check;
	uint16_t set; /* index in sets */
	int32_t to;   /* distance from this instruction */
};

struct byte_set {
	uint64_t bits[4];
};

static inline void automaton_set_add_byte(struct byte_set *s, uint8_t c)
{
	s->bits[c >> 6] |= UINT64_C(1) << (c & 63);
}

static inline bool automaton_set_has_byte(const struct byte_set *s, uint8_t c)
{
	return s->bits[c >> 6] >> (c & 63) & 1;
}

/* A range of code points, both ends included. */
struct char_range {
	uint32_t first;
	uint32_t last;
};

enum { CHAR_MAX_CODE = 0x10ffff };

/* err keeps the first error: -ENOMEM, or ERR_LIMIT for AUTOMATON_INSTS_MAX. */
struct automaton {
	struct buf insts; /* of struct automaton_inst */
	struct buf sets;  /* of struct byte_set */
	bool checks;      /* an instruction is AUTOMATON_CHECK */
	int err;
};

void automaton_init(struct automaton *a);
void automaton_free(struct automaton *a);

static inline const struct automaton_inst *automaton_insts(const struct automaton *a)
{
	return (const void *)a->insts.p;
}

static inline const struct byte_set *automaton_sets(const struct automaton *a)
{
	return (const void *)a->sets.p;
}

/* The number of instructions, which is the index of the next one. */
size_t automaton_count_insts(const struct automaton *a);

void automaton_bytes(struct automaton *a, const struct byte_set *set);
/* Matches one UTF-8 character (RFC 3629) out of n ranges, which may overlap. */
void automaton_chars(struct automaton *a, const struct char_range *r, size_t n);
void automaton_check(struct automaton *a, enum automaton_check check);
void automaton_match(struct automaton *a);

enum { AUTOMATON_FOREVER = -1 };

/*
 * Repeats the instructions from index "from" on at least min times and at most max
 * times, which may be AUTOMATON_FOREVER.
 */
void automaton_repeat(struct automaton *a, size_t from, int min, int max);

/* Alternative branches: call begin, next before each further branch, then end. */
struct automaton_alt {
	size_t branch; /* start of the current branch */
	size_t jumps;  /* the last jump without a target yet, counted from 1 */
};
void automaton_alt_begin(struct automaton *a, struct automaton_alt *alt);
void automaton_alt_next(struct automaton *a, struct automaton_alt *alt);
void automaton_alt_end(struct automaton *a, struct automaton_alt *alt);

#endif
