#include "browser/page/names.h"

#include "base/hash.h"

#include <errno.h>

enum { BID_MAX = 64 };

bool names_is_bid(struct str text)
{
	size_t n = 0;

	while (n < text.n &&
		((text.p[n] >= '0' && text.p[n] <= '9') ||
			((text.p[n] | 0x20) >= 'a' && (text.p[n] | 0x20) <= 'z')))
		n++;
	return n && n == text.n && n <= BID_MAX;
}

int names_init(struct names *m, size_t max, struct arena *a)
{
	struct names got = {.mask = 1};

	while (got.mask + 1 < 2 * max)
		got.mask = 2 * got.mask + 1;
	got.row = arena_array(a, got.mask + 1, sizeof(*got.row));
	if (!got.row)
		return -ENOMEM;
	/* Without a seed, a hostile page can only make the table slower. */
	if (random_bytes(&got.seed, sizeof(got.seed)))
		got.seed = 0;
	*m = got;
	return 0;
}

/* The row of the name, or the free row for it. */
static struct name *names_find_row(const struct names *m, struct str text)
{
	uint64_t h = m->seed;
	struct name *row;

	for (size_t i = 0; i < text.n; i++) {
		h = (h ^ (unsigned char)text.p[i]) * 0x9e3779b97f4a7c15;
		h ^= h >> 32;
	}
	for (size_t i = h & m->mask;; i = (i + 1) & m->mask) {
		row = &m->row[i];
		if (!row->text.p || str_eq(row->text, text))
			return row;
	}
}

void names_put(struct names *m, struct str text, size_t at)
{
	*names_find_row(m, text) = (struct name){text.p ? text : STR(""), at};
}

int names_find(const struct names *m, struct str text, size_t *at)
{
	const struct name *row = m->row ? names_find_row(m, text) : NULL;

	if (!row || !row->text.p)
		return ERR_RANGE;
	*at = row->at;
	return 0;
}
