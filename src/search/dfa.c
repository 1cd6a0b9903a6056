#include "search/dfa.h"

#include "search/needle.h"

#include <errno.h>
#include <stdlib.h>

enum {
	DFA_MEMORY_MAX = 2 << 20, /* bytes of states of one pattern; most need 20 KB */
	DFA_TABLE = 8192,         /* slots of the hash table of states */
};

/* Context before a state's position, as far as a check can test it. */
enum before { BEFORE_ANY, BEFORE_LINE, BEFORE_WORD, BEFORE_OTHER };

/* Reserved row numbers that are not states. */
enum { ROW_UNKNOWN, ROW_MATCH, ROW_DEAD, ROWS_FIXED };

struct dfa_state {
	uint32_t list; /* offset of its instructions */
	uint32_t n;
	uint32_t before;
};

/*
 * A set of instructions: its members as a list, and the stack of those still to follow.
 */
struct work {
	uint16_t *list, *place, *stack;
	size_t n, open;
};

static const struct dfa_state *dfa_get_state(const struct dfa *d, size_t row)
{
	return (const struct dfa_state *)(const void *)d->states.p + row / d->columns;
}

static uint32_t *dfa_get_row(const struct dfa *d, size_t row)
{
	return (uint32_t *)(void *)d->rows.p + row;
}

static const uint16_t *dfa_get_list(const struct dfa *d, const struct dfa_state *s)
{
	return (const uint16_t *)(const void *)d->lists.p + s->list;
}

static bool dfa_is_word_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9') || c == '_';
}

/* --- Sets of instructions ------------------------------------------------------ */

static struct work dfa_work_init(struct dfa *d)
{
	size_t insts = automaton_count_insts(&d->program);
	uint16_t *p = (uint16_t *)(void *)d->work.p;

	return (struct work){.list = p, .place = p + insts, .stack = p + 2 * insts};
}

/* place needs no clearing: an entry is valid only if the list agrees with it. */
static bool dfa_work_has(const struct work *w, size_t inst)
{
	return w->place[inst] < w->n && w->list[w->place[inst]] == inst;
}

static void dfa_work_add(struct work *w, size_t inst)
{
	if (dfa_work_has(w, inst))
		return;
	w->place[inst] = (uint16_t)w->n;
	w->list[w->n++] = (uint16_t)inst;
	w->stack[w->open++] = (uint16_t)inst;
}

static bool dfa_test_check(uint8_t check, enum before before, bool at_end, bool word_next)
{
	bool word = before == BEFORE_WORD;

	switch (check) {
	case CHECK_LINE_START:
		return before == BEFORE_LINE;
	case CHECK_LINE_END:
		return at_end;
	case CHECK_WORD_EDGE:
		return word != word_next;
	case CHECK_WORD_INSIDE:
		return word == word_next;
	case CHECK_WORD_START:
		return !word && word_next;
	case CHECK_WORD_END:
		return word && !word_next;
	}
	return false;
}

/* Adds inst and all instructions reachable from it without a byte or a check. */
static void dfa_add_closure(const struct dfa *d, struct work *w, size_t inst)
{
	const struct automaton_inst *insts = automaton_insts(&d->program);

	dfa_work_add(w, inst);
	while (w->open) {
		size_t i = w->stack[--w->open];

		if (insts[i].op == AUTOMATON_SPLIT)
			dfa_work_add(w, i + 1);
		if (insts[i].op == AUTOMATON_SPLIT || insts[i].op == AUTOMATON_JUMP)
			dfa_work_add(w, (size_t)((ptrdiff_t)i + insts[i].to));
	}
}

/* --- States -------------------------------------------------------------------- */

static int dfa_compare_inst(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* Keeps only the instructions that need a byte or a check: the others were followed. */
static void dfa_work_reduce(const struct dfa *d, struct work *w, enum before *before)
{
	const struct automaton_inst *insts = automaton_insts(&d->program);
	bool checks = false;
	size_t kept = 0;

	for (size_t i = 0; i < w->n; i++) {
		uint8_t op = insts[w->list[i]].op;

		if (op == AUTOMATON_SPLIT || op == AUTOMATON_JUMP)
			continue;
		checks |= op == AUTOMATON_CHECK;
		w->list[kept++] = w->list[i];
	}
	w->n = kept;
	qsort(w->list, kept, sizeof(*w->list), dfa_compare_inst);
	if (!checks)
		*before = BEFORE_ANY;
}

static size_t dfa_hash_work(const struct work *w, enum before before)
{
	uint64_t h = before + 1;

	for (size_t i = 0; i < w->n; i++)
		h = (h ^ w->list[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(h >> 32);
}

static bool dfa_is_same_state(const struct dfa *d, const struct dfa_state *s,
	const struct work *w, enum before before)
{
	return s->n == w->n && s->before == before &&
		!memcmp(dfa_get_list(d, s), w->list, w->n * sizeof(*w->list));
}

/* Appends a state whose transitions are all unknown; *row is its row. */
static int dfa_add_state(
	struct dfa *d, const struct work *w, enum before before, uint32_t *row)
{
	struct dfa_state s = {
		.list = (uint32_t)(d->lists.n / sizeof(uint16_t)),
		.n = (uint32_t)w->n,
		.before = before,
	};
	size_t bytes = d->columns * sizeof(uint32_t);
	size_t at = d->rows.n / sizeof(uint32_t);
	char *room;

	buf_put(&d->lists, w->list, w->n * sizeof(*w->list));
	buf_put(&d->states, &s, sizeof(s));
	room = buf_reserve(&d->rows, bytes);
	if (!room || d->lists.err || d->states.err)
		return room ? d->lists.err | d->states.err : d->rows.err;
	memset(room, 0, bytes);
	buf_commit(&d->rows, bytes);
	*row = (uint32_t)at;
	return 0;
}

/* Finds the row of the state that w describes; adds the state if it is new. */
static int dfa_find_state_row(
	struct dfa *d, struct work *w, enum before before, uint32_t *row)
{
	uint16_t *table = (uint16_t *)(void *)d->table.p;
	uint32_t columns = (uint32_t)d->columns;
	size_t slot;
	int r;

	dfa_work_reduce(d, w, &before);
	if (!w->n && d->mode == DFA_WHOLE) {
		*row = (uint32_t)(ROW_DEAD * d->columns);
		return 0;
	}
	for (slot = dfa_hash_work(w, before) % DFA_TABLE; table[slot];
		slot = (slot + 1) % DFA_TABLE)
		if (dfa_is_same_state(
			    d, dfa_get_state(d, table[slot] * columns), w, before)) {
			*row = table[slot] * columns;
			return 0;
		}
	r = dfa_add_state(d, w, before, row);
	if (!r)
		table[slot] = (uint16_t)(*row / columns);
	return r;
}

static bool dfa_is_full(const struct dfa *d)
{
	return d->rows.n + d->lists.n > DFA_MEMORY_MAX ||
		d->states.n / sizeof(struct dfa_state) > DFA_STATES_MAX;
}

static int dfa_reset_states(struct dfa *d)
{
	struct work w = dfa_work_init(d);
	int r;

	buf_reset(&d->rows);
	buf_reset(&d->states);
	buf_reset(&d->lists);
	memset(d->table.p, 0, d->table.n);
	for (size_t i = 0; i < ROWS_FIXED; i++) {
		uint32_t ignored;

		r = dfa_add_state(d, &w, BEFORE_ANY, &ignored);
		if (r)
			return r;
	}
	dfa_add_closure(d, &w, 0);
	r = dfa_find_state_row(d, &w, BEFORE_LINE, &d->start);
	if (r)
		return r;
	w = dfa_work_init(d);
	dfa_add_closure(d, &w, 0);
	return dfa_find_state_row(d, &w, BEFORE_OTHER, &d->idle);
}

/* Drops all states except that of *row, which gets another row. */
static int dfa_drop_states(struct dfa *d, uint32_t *row)
{
	struct dfa_state s = *dfa_get_state(d, *row);
	size_t bytes = s.n * sizeof(uint16_t);
	struct buf copy = BUF_INIT(DFA_MEMORY_MAX);
	struct work w;
	int r;

	buf_put(&copy, dfa_get_list(d, &s), bytes);
	r = copy.err ? copy.err : dfa_reset_states(d);
	if (!r) {
		w = dfa_work_init(d);
		w.n = s.n;
		if (bytes)
			memcpy(w.list, copy.p, bytes);
		r = dfa_find_state_row(d, &w, s.before, row);
	}
	buf_free(&copy);
	return r;
}

/*
 * Simulates one step: the set of instructions after the byte c, or after the end of the
 * text, which is also the end of a line. Instructions that follow a check are appended
 * to those of the state itself.
 */
static int dfa_compute_step(struct dfa *d, uint32_t row, size_t column, uint32_t *next)
{
	const struct automaton_inst *insts = automaton_insts(&d->program);
	const struct byte_set *sets = automaton_sets(&d->program);
	const struct dfa_state *s = dfa_get_state(d, row);
	const uint16_t *list = dfa_get_list(d, s);
	bool end = column == d->columns - 1;
	uint8_t c = end ? '\n' : d->sample[column];
	bool line_end = end || (d->mode == DFA_LINES && c == '\n');
	bool word = !line_end && dfa_is_word_byte(c);
	struct work now = dfa_work_init(d), after;
	uint16_t *copy;
	bool match = false;

	for (size_t i = 0; i < s->n; i++)
		dfa_work_add(&now, list[i]);
	now.open = 0;
	for (size_t i = 0; i < now.n; i++) {
		const struct automaton_inst *inst = &insts[now.list[i]];

		match |= inst->op == AUTOMATON_MATCH;
		if (inst->op == AUTOMATON_CHECK &&
			dfa_test_check(inst->check, s->before, line_end, word))
			dfa_add_closure(d, &now, now.list[i] + 1U);
	}
	if (match && (end || d->mode == DFA_LINES)) {
		*next = (uint32_t)(ROW_MATCH * d->columns);
		return 0;
	}
	if (end) {
		*next = (uint32_t)(ROW_DEAD * d->columns);
		return 0;
	}
	if (line_end) {
		*next = d->start;
		return 0;
	}
	/* The second half of the scratch space holds the set after the byte. */
	copy = now.stack + automaton_count_insts(&d->program);
	after = (struct work){
		.list = copy,
		.place = copy + automaton_count_insts(&d->program),
		.stack = now.stack,
	};
	for (size_t i = 0; i < now.n; i++) {
		const struct automaton_inst *inst = &insts[now.list[i]];

		if (inst->op == AUTOMATON_BYTES &&
			automaton_set_has_byte(&sets[inst->set], c))
			dfa_add_closure(d, &after, now.list[i] + 1U);
	}
	if (d->mode == DFA_LINES)
		dfa_add_closure(d, &after, 0);
	return dfa_find_state_row(d, &after, word ? BEFORE_WORD : BEFORE_OTHER, next);
}

/* Finds the next row. *row itself may change if states are dropped. */
static int dfa_compute_next(struct dfa *d, uint32_t *row, size_t column, uint32_t *next)
{
	int r = 0;

	if (dfa_is_full(d))
		r = dfa_drop_states(d, row);
	if (!r)
		r = dfa_compute_step(d, *row, column, next);
	if (!r)
		dfa_get_row(d, *row)[column] = *next;
	return r;
}

/* --- Setting up ---------------------------------------------------------------- */

/* Splits the classes by a property of bytes. */
static size_t dfa_refine_classes(struct dfa *d, size_t n, const struct byte_set *set)
{
	int inside[256], outside[256];
	size_t fresh = n;

	memset(inside, 0, sizeof(inside));
	memset(outside, 0, sizeof(outside));
	for (unsigned c = 0; c < 256; c++)
		(automaton_set_has_byte(set, (uint8_t)c) ? inside
							 : outside)[d->class[c]] = 1;
	for (size_t k = 0; k < n; k++)
		inside[k] = inside[k] && outside[k] ? (int)fresh++ : (int)k;
	for (unsigned c = 0; c < 256; c++)
		if (automaton_set_has_byte(set, (uint8_t)c))
			d->class[c] = (uint8_t)inside[d->class[c]];
	return fresh;
}

static void dfa_find_classes(struct dfa *d)
{
	const struct byte_set *sets = automaton_sets(&d->program);
	struct byte_set newline = {{0}}, words = {{0}};
	size_t n = 1;

	automaton_set_add_byte(&newline, '\n');
	for (unsigned c = 0; c < 256; c++)
		if (dfa_is_word_byte((uint8_t)c))
			automaton_set_add_byte(&words, (uint8_t)c);
	for (size_t i = 0; i < d->program.sets.n / sizeof(*sets); i++)
		n = dfa_refine_classes(d, n, &sets[i]);
	if (d->mode == DFA_LINES)
		n = dfa_refine_classes(d, n, &newline);
	if (d->program.checks)
		n = dfa_refine_classes(d, n, &words);
	for (unsigned c = 0; c < 256; c++)
		d->sample[d->class[c]] = (uint8_t)c;
	d->columns = n + 1;
}

static int dfa_find_stops(struct dfa *d)
{
	unsigned n = 0;

	for (unsigned c = 0; c < 256; c++) {
		uint32_t row = d->idle, next = dfa_get_row(d, row)[d->class[c]];
		int r = next ? 0 : dfa_compute_next(d, &row, d->class[c], &next);

		if (r)
			return r;
		if (next == d->idle)
			continue;
		if (n == DFA_STOPS)
			return 0;
		d->stops[n++] = (uint8_t)c;
	}
	/* If there are fewer than DFA_STOPS stops, the first fills the free places. */
	for (unsigned i = n; n && i < DFA_STOPS; i++)
		d->stops[i] = d->stops[0];
	d->stops_n = n;
	return 0;
}

int dfa_init_program(struct dfa *d, struct automaton *program, enum dfa_mode mode)
{
	size_t work = 5 * automaton_count_insts(program) * sizeof(uint16_t);
	int r;

	*d = (struct dfa){.program = *program, .mode = mode};
	automaton_init(program);
	if (d->program.err)
		return d->program.err;
	/* Room for the most that dfa_is_full allows and for one further state. */
	buf_init(&d->rows, 2 * DFA_MEMORY_MAX);
	buf_init(&d->lists, 2 * DFA_MEMORY_MAX);
	buf_init(&d->states, 2 * DFA_STATES_MAX * sizeof(struct dfa_state));
	buf_init(&d->table, DFA_TABLE * sizeof(uint16_t));
	buf_init(&d->work, work);
	dfa_find_classes(d);
	if (!buf_reserve(&d->table, DFA_TABLE * sizeof(uint16_t)) ||
		!buf_reserve(&d->work, work))
		return -ENOMEM;
	memset(d->table.p, 0, DFA_TABLE * sizeof(uint16_t));
	memset(d->work.p, 0, work);
	buf_commit(&d->table, DFA_TABLE * sizeof(uint16_t));
	r = dfa_reset_states(d);
	if (!r && mode == DFA_LINES)
		r = dfa_find_stops(d);
	return r;
}

void dfa_free(struct dfa *d)
{
	automaton_free(&d->program);
	buf_free(&d->rows);
	buf_free(&d->lists);
	buf_free(&d->states);
	buf_free(&d->table);
	buf_free(&d->work);
}

/* --- Running ------------------------------------------------------------------- */

/*
 * Follows the text from *at and *row to the first row that is not a state, or to the
 * end. *at is then the offset of the byte that led to that row.
 */
static int dfa_run_text(struct dfa *d, struct str text, uint32_t *row, size_t *at)
{
	const uint8_t *p = (const uint8_t *)text.p;
	uint32_t fixed = (uint32_t)(ROWS_FIXED * d->columns);
	uint32_t s = *row;
	size_t i = *at;

	while (i < text.n && s >= fixed) {
		const uint32_t *rows = dfa_get_row(d, 0);
		uint32_t idle = d->stops_n ? d->idle : UINT32_MAX;
		uint32_t next = s;

		if (s == idle)
			i += needle_find_bytes(str_skip(text, i), d->stops);
		while (i < text.n && (next = rows[s + d->class[p[i]]]) >= fixed) {
			s = next;
			i++;
			if (s == idle)
				break;
		}
		if (i == text.n || next >= fixed)
			continue;
		if (next == ROW_UNKNOWN) {
			int r = dfa_compute_next(d, &s, d->class[p[i]], &next);

			if (r)
				return r;
		}
		s = next;
		i += next >= fixed;
	}
	*row = s;
	*at = i;
	return 0;
}

static int dfa_end_text(struct dfa *d, uint32_t *row)
{
	uint32_t next;
	int r;

	if (*row < ROWS_FIXED * d->columns)
		return 0;
	next = dfa_get_row(d, *row)[d->columns - 1];
	r = next ? 0 : dfa_compute_next(d, row, d->columns - 1, &next);
	if (!r)
		*row = next;
	return r;
}

int dfa_find(struct dfa *d, struct str text, size_t *end)
{
	uint32_t row = d->start;
	size_t at = 0;
	int r = dfa_run_text(d, text, &row, &at);

	/* There is no line after the last LF. */
	if (!r && text.n && text.p[text.n - 1] == '\n' && at == text.n)
		return 1;
	if (!r)
		r = dfa_end_text(d, &row);
	if (r)
		return r;
	if (row != ROW_MATCH * d->columns)
		return 1;
	*end = at;
	return 0;
}

int dfa_match(struct dfa *d, struct str text)
{
	uint32_t row = d->start;
	size_t at = 0;
	int r = dfa_run_text(d, text, &row, &at);

	if (!r)
		r = dfa_end_text(d, &row);
	return r ? r : row != ROW_MATCH * d->columns;
}
