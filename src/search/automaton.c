#include "search/automaton.h"

#include <assert.h>

enum {
	SETS_MAX = UINT16_MAX,
	SURROGATES = 0xd800, /* first code point that is no character */
	SURROGATES_LAST = 0xdfff,
};

void automaton_init(struct automaton *a)
{
	*a = (struct automaton){.err = 0};
	buf_init(&a->insts, AUTOMATON_INSTS_MAX * sizeof(struct automaton_inst));
	buf_init(&a->sets, SETS_MAX * sizeof(struct byte_set));
}

void automaton_free(struct automaton *a)
{
	buf_free(&a->insts);
	buf_free(&a->sets);
}

size_t automaton_count_insts(const struct automaton *a)
{
	return a->insts.n / sizeof(struct automaton_inst);
}

static struct automaton_inst *automaton_get_inst(struct automaton *a, size_t i)
{
	return (struct automaton_inst *)(void *)a->insts.p + i;
}

static void automaton_put_inst(struct automaton *a, struct automaton_inst inst)
{
	buf_put(&a->insts, &inst, sizeof(inst));
	if (a->insts.err && !a->err)
		a->err = a->insts.err;
}

static void automaton_put_jump(struct automaton *a, enum automaton_op op, ptrdiff_t to)
{
	automaton_put_inst(
		a, (struct automaton_inst){.op = (uint8_t)op, .to = (int32_t)to});
}

/* Inserts an instruction before index "from". */
static void automaton_insert_inst(
	struct automaton *a, size_t from, enum automaton_op op, ptrdiff_t to)
{
	size_t n = automaton_count_insts(a) - from;
	struct automaton_inst *inst;

	automaton_put_jump(a, op, to);
	if (a->err)
		return;
	inst = automaton_get_inst(a, from);
	memmove(inst + 1, inst, n * sizeof(*inst));
	*inst = (struct automaton_inst){.op = (uint8_t)op, .to = (int32_t)to};
}

/*
 * The index of an equal set, which is added if it is new. Most patterns have few
 * different sets.
 */
static size_t automaton_intern_set(struct automaton *a, const struct byte_set *set)
{
	const struct byte_set *sets = automaton_sets(a);
	size_t n = a->sets.n / sizeof(*set);

	for (size_t i = 0; i < n; i++)
		if (!memcmp(&sets[i], set, sizeof(*set)))
			return i;
	buf_put(&a->sets, set, sizeof(*set));
	if (a->sets.err && !a->err)
		a->err = a->sets.err;
	return n;
}

void automaton_bytes(struct automaton *a, const struct byte_set *set)
{
	automaton_put_inst(a,
		(struct automaton_inst){
			.op = AUTOMATON_BYTES,
			.set = (uint16_t)automaton_intern_set(a, set),
		});
}

void automaton_check(struct automaton *a, enum automaton_check check)
{
	a->checks = true;
	automaton_put_inst(a,
		(struct automaton_inst){.op = AUTOMATON_CHECK, .check = (uint8_t)check});
}

void automaton_match(struct automaton *a)
{
	automaton_put_inst(a, (struct automaton_inst){.op = AUTOMATON_MATCH});
}

/* --- Repetition ---------------------------------------------------------------- */

static void automaton_append_copy(struct automaton *a, size_t from, size_t n)
{
	size_t bytes = n * sizeof(struct automaton_inst);
	char *room = buf_reserve(&a->insts, bytes);

	if (!room) {
		a->err = a->err ? a->err : a->insts.err;
		return;
	}
	memcpy(room, automaton_get_inst(a, from), bytes);
	buf_commit(&a->insts, bytes);
}

void automaton_repeat(struct automaton *a, size_t from, int min, int max)
{
	size_t n = automaton_count_insts(a) - from;
	int optional = max - (min ? min : 1);
	size_t body = from;
	bool forever = max == AUTOMATON_FOREVER;

	if (a->err)
		return;
	if (max == 0) {
		a->insts.n = from * sizeof(struct automaton_inst);
		return;
	}
	for (int i = 1; i < min && !a->err; i++)
		automaton_append_copy(a, from, n);
	if (min == 0) {
		size_t after = forever ? n + 2 : n + 1 + (size_t)optional * (n + 1);

		automaton_insert_inst(a, from, AUTOMATON_SPLIT, (ptrdiff_t)after);
		body = from + 1;
		if (forever)
			automaton_put_jump(a, AUTOMATON_JUMP, -(ptrdiff_t)(n + 1));
	} else if (forever) {
		automaton_put_jump(a, AUTOMATON_SPLIT, -(ptrdiff_t)n);
	}
	for (int left = optional; left > 0 && !a->err; left--) {
		automaton_put_jump(
			a, AUTOMATON_SPLIT, (ptrdiff_t)((size_t)left * (n + 1)));
		automaton_append_copy(a, body, n);
	}
}

/* --- Alternatives -------------------------------------------------------------- */

void automaton_alt_begin(struct automaton *a, struct automaton_alt *alt)
{
	*alt = (struct automaton_alt){.branch = automaton_count_insts(a)};
}

void automaton_alt_next(struct automaton *a, struct automaton_alt *alt)
{
	size_t n = automaton_count_insts(a) - alt->branch;

	automaton_insert_inst(a, alt->branch, AUTOMATON_SPLIT, (ptrdiff_t)(n + 2));
	/* The jumps form a linked list until the end is known. */
	automaton_put_jump(a, AUTOMATON_JUMP, (ptrdiff_t)alt->jumps);
	alt->jumps = automaton_count_insts(a);
	alt->branch = alt->jumps;
}

void automaton_alt_end(struct automaton *a, struct automaton_alt *alt)
{
	size_t end = automaton_count_insts(a);

	if (a->err)
		return;
	while (alt->jumps) {
		struct automaton_inst *jump = automaton_get_inst(a, alt->jumps - 1);
		size_t before = (size_t)jump->to;

		jump->to = (int32_t)(end - (alt->jumps - 1));
		alt->jumps = before;
	}
}

/* --- Characters ---------------------------------------------------------------- */

/* Alternatives under construction. ASCII is collected separately, since it is one set. */
struct branches {
	struct automaton *a;
	struct automaton_alt alt;
	struct byte_set ascii;
	bool any; /* a branch was written */
};

static void automaton_begin_branch(struct branches *c)
{
	if (c->any)
		automaton_alt_next(c->a, &c->alt);
	c->any = true;
}

static void automaton_put_byte_range(struct automaton *a, uint8_t first, uint8_t last)
{
	struct byte_set set = {{0}};

	for (unsigned b = first; b <= last; b++)
		automaton_set_add_byte(&set, (uint8_t)b);
	automaton_bytes(a, &set);
}

static size_t automaton_encode_char(uint32_t cp, uint8_t out[4])
{
	static const uint8_t lead[] = {[2] = 0xc0, [3] = 0xe0, [4] = 0xf0};
	size_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i > 0; i--, cp >>= 6)
		out[i] = (uint8_t)(0x80 | (cp & 0x3f));
	out[0] = (uint8_t)(lead[n] | cp);
	return n;
}

/*
 * The last code point of the first piece of a range. Ranges are split so that each byte
 * of the encodings has a range of its own, independent of the other bytes.
 */
static uint32_t automaton_split_range(struct char_range r)
{
	static const uint32_t lengths[] = {0x7f, 0x7ff, 0xffff};

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++)
		if (r.first <= lengths[i] && lengths[i] < r.last)
			r.last = lengths[i];
	if (r.last < 0x80)
		return r.last;
	for (unsigned bits = 6; bits < 24; bits += 6) {
		uint32_t low = (UINT32_C(1) << bits) - 1;

		if ((r.first | low) == (r.last | low))
			break;
		if (r.first & low)
			r.last = r.first | low;
		else if ((r.last & low) != low)
			r.last = (r.last & ~low) - 1;
	}
	return r.last;
}

static void automaton_put_branches(struct branches *c, struct char_range r)
{
	while (r.first <= r.last) {
		uint8_t from[4] = {0}, to[4] = {0};
		uint32_t last = automaton_split_range(r);
		size_t n;

		if (last < 0x80) {
			for (uint32_t b = r.first; b <= last; b++)
				automaton_set_add_byte(&c->ascii, (uint8_t)b);
		} else {
			n = automaton_encode_char(r.first, from);
			automaton_encode_char(last, to);
			automaton_begin_branch(c);
			for (size_t i = 0; i < n; i++)
				automaton_put_byte_range(c->a, from[i], to[i]);
		}
		r.first = last + 1;
	}
}

void automaton_chars(struct automaton *a, const struct char_range *r, size_t n)
{
	static const struct byte_set none;
	struct branches c = {.a = a};

	automaton_alt_begin(a, &c.alt);
	for (size_t i = 0; i < n; i++) {
		struct char_range low = r[i], high = r[i];

		assert(r[i].last <= CHAR_MAX_CODE);
		if (low.last >= SURROGATES)
			low.last = SURROGATES - 1;
		if (high.first <= SURROGATES_LAST)
			high.first = SURROGATES_LAST + 1;
		automaton_put_branches(&c, low);
		automaton_put_branches(&c, high);
	}
	if (!c.any || memcmp(&c.ascii, &none, sizeof(none)) != 0) {
		automaton_begin_branch(&c);
		automaton_bytes(a, &c.ascii);
	}
	automaton_alt_end(a, &c.alt);
}
