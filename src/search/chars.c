#include "search/chars.h"

#include <stdlib.h>

/*
 * Letters with two cases: either all capitals have the same distance to their small
 * letters, or capitals and small letters alternate.
 */
static const struct pair {
	uint32_t first, last; /* of the capitals, or of all where they alternate */
	uint32_t distance;
	bool turns;
} pairs[] = {
	{'A', 'Z', 32, false},
	{0xc0, 0xd6, 32, false},
	{0xd8, 0xde, 32, false},
	{0x100, 0x12f, 1, true},
	{0x132, 0x137, 1, true},
	{0x139, 0x148, 1, true},
	{0x14a, 0x177, 1, true},
	{0x179, 0x17e, 1, true},
	{0x391, 0x3a1, 32, false},
	{0x3a3, 0x3a9, 32, false},
	{0x400, 0x40f, 80, false},
	{0x410, 0x42f, 32, false},
	{0x460, 0x481, 1, true},
	{0x48a, 0x4bf, 1, true},
	{0x4d0, 0x52f, 1, true},
};

static const struct named {
	const char *name;
	struct char_range r[4];
} named[] = {
	{"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
	{"alpha", {{'A', 'Z'}, {'a', 'z'}}},
	{"blank", {{' ', ' '}, {'\t', '\t'}}},
	{"cntrl", {{0, 0x1f}, {0x7f, 0x7f}}},
	{"digit", {{'0', '9'}}},
	{"graph", {{'!', '~'}}},
	{"lower", {{'a', 'z'}}},
	{"print", {{' ', '~'}}},
	{"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
	{"space", {{'\t', '\r'}, {' ', ' '}}},
	{"upper", {{'A', 'Z'}}},
	{"word", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {'_', '_'}}},
	{"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
};

void chars_add(struct chars *c, uint32_t first, uint32_t last)
{
	if (c->n < ARRAY_LEN(c->r))
		c->r[c->n++] = (struct char_range){first, last};
	else
		c->full = true;
}

/* Adds the intersection of the range and [first, last], shifted by distance. */
static void chars_add_shifted(struct chars *c, struct char_range r, uint32_t first,
	uint32_t last, uint32_t distance)
{
	uint32_t from = r.first > first ? r.first : first;
	uint32_t to = r.last < last ? r.last : last;

	if (from <= to)
		chars_add(c, from + distance, to + distance);
}

/*
 * Adds each letter and its other case where cases alternate: the bounds grow to whole
 * pairs.
 */
static void chars_add_pairs(struct chars *c, struct char_range r, const struct pair *p)
{
	uint32_t from = r.first > p->first ? r.first : p->first;
	uint32_t to = r.last < p->last ? r.last : p->last;

	if (from <= to)
		chars_add(c, from - ((from - p->first) & 1), to + ((p->last - to) & 1));
}

void chars_fold(struct chars *c)
{
	size_t n = c->n;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < ARRAY_LEN(pairs); k++) {
			const struct pair *p = &pairs[k];

			if (p->turns) {
				chars_add_pairs(c, c->r[i], p);
				continue;
			}
			chars_add_shifted(c, c->r[i], p->first, p->last, p->distance);
			chars_add_shifted(c, c->r[i], p->first + p->distance,
				p->last + p->distance, -p->distance);
		}
}

static int chars_compare_first(const void *a, const void *b)
{
	const struct char_range *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

void chars_invert(struct chars *c)
{
	struct chars out = {.n = 0, .full = c->full};
	uint32_t next = 0;

	qsort(c->r, c->n, sizeof(c->r[0]), chars_compare_first);
	for (size_t i = 0; i < c->n; i++) {
		if (c->r[i].first > next)
			chars_add(&out, next, c->r[i].first - 1);
		if (c->r[i].last >= next)
			next = c->r[i].last + 1;
	}
	if (next <= CHAR_MAX_CODE)
		chars_add(&out, next, CHAR_MAX_CODE);
	*c = out;
}

void chars_drop(struct chars *c, uint32_t cp)
{
	chars_invert(c);
	chars_add(c, cp, cp);
	chars_invert(c);
}

bool chars_add_named(struct chars *c, struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		if (!str_eq(name, str_c(named[i].name)))
			continue;
		for (size_t k = 0; k < ARRAY_LEN(named[i].r) && named[i].r[k].last; k++)
			chars_add(c, named[i].r[k].first, named[i].r[k].last);
		return true;
	}
	return false;
}

bool chars_add_kind(struct chars *c, uint32_t letter)
{
	static const struct {
		char letter;
		const char *name;
	} kinds[] = {{'d', "digit"}, {'w', "word"}, {'s', "space"}};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct chars set = {.n = 0};

		if ((letter | 0x20) != (uint32_t)kinds[i].letter)
			continue;
		chars_add_named(&set, str_c(kinds[i].name));
		if (!(letter & 0x20))
			chars_invert(&set);
		for (size_t k = 0; k < set.n; k++)
			chars_add(c, set.r[k].first, set.r[k].last);
		return true;
	}
	return false;
}
