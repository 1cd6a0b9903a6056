#include "search/needle.h"

#include <assert.h>

/* Bytes of source code, the most frequent ones first; all others are rarer. */
static const char frequent[] = " etnaisro_dclpufm\n,h-()g*;b.\t0v=1/y>k\"x2:w3T"
			       "SE#4ARICNDOLP85P6&7{}MU9<zF[]q'Bj+GV\\HW|XK!Yk?Q@J%~$^Z`";

/* A vector of 16 bytes. Compilers emulate it on processors without SIMD. */
struct lanes {
	uint8_t v __attribute__((vector_size(16)));
};

static struct lanes needle_load_lanes(const char *p)
{
	struct lanes l;

	memcpy(&l, p, sizeof(l));
	return l;
}

static struct lanes needle_fill_lanes(uint8_t c)
{
	struct lanes l;

	memset(&l, c, sizeof(l));
	return l;
}

static bool needle_has_hit(struct lanes l)
{
	uint64_t half[2];

	memcpy(half, &l, sizeof(half));
	return half[0] | half[1];
}

static size_t needle_get_rarity(uint8_t c)
{
	const char *p = c ? strchr(frequent, c) : NULL;

	return p ? (size_t)(p - frequent) : sizeof(frequent);
}

void needle_init(struct needle *n, struct str s, bool nocase)
{
	assert(s.n >= 1 && s.n <= NEEDLE_MAX);
	*n = (struct needle){.n = s.n};
	for (size_t i = 0; i < s.n; i++) {
		uint8_t c = (uint8_t)s.p[i], low = c | 0x20;
		bool letter = low >= 'a' && low <= 'z';

		n->fold[i] = nocase && letter ? 0x20 : 0;
		n->text[i] = c | n->fold[i];
	}
	for (size_t i = 1; i < n->n; i++) {
		size_t r = needle_get_rarity(n->text[i]);

		if (r > needle_get_rarity(n->text[n->rare[0]])) {
			n->rare[1] = n->rare[0];
			n->rare[0] = i;
		} else if (n->rare[1] == n->rare[0] ||
			r > needle_get_rarity(n->text[n->rare[1]])) {
			n->rare[1] = i;
		}
	}
}

static bool needle_is_at(const struct needle *n, const char *p)
{
	for (size_t i = 0; i < n->n; i++)
		if (((uint8_t)p[i] | n->fold[i]) != n->text[i])
			return false;
	return true;
}

size_t needle_find(const struct needle *n, struct str s)
{
	size_t a = n->rare[0], b = n->rare[1];
	struct lanes fold_a = needle_fill_lanes(n->fold[a]),
		     fold_b = needle_fill_lanes(n->fold[b]);
	struct lanes want_a = needle_fill_lanes(n->text[a]),
		     want_b = needle_fill_lanes(n->text[b]);
	size_t far = a > b ? a : b;
	size_t i = 0;

	if (s.n < n->n)
		return s.n;
	while (i + far + sizeof(struct lanes) <= s.n) {
		struct lanes x = needle_load_lanes(s.p + i + a),
			     y = needle_load_lanes(s.p + i + b);
		struct lanes hit;

		hit.v = (uint8_t __attribute__((vector_size(16))))(
			((x.v | fold_a.v) == want_a.v) & ((y.v | fold_b.v) == want_b.v));
		if (needle_has_hit(hit)) {
			for (size_t k = 0; k < sizeof(hit); k++)
				if (hit.v[k] && i + k + n->n <= s.n &&
					needle_is_at(n, s.p + i + k))
					return i + k;
		}
		i += sizeof(struct lanes);
	}
	for (; i + n->n <= s.n; i++)
		if (needle_is_at(n, s.p + i))
			return i;
	return s.n;
}

size_t needle_find_bytes(struct str s, const uint8_t any[3])
{
	struct lanes a = needle_fill_lanes(any[0]), b = needle_fill_lanes(any[1]),
		     c = needle_fill_lanes(any[2]);
	size_t i = 0;

	for (; i + sizeof(struct lanes) <= s.n; i += sizeof(struct lanes)) {
		struct lanes x = needle_load_lanes(s.p + i), hit;

		hit.v = (uint8_t __attribute__((vector_size(16))))(
			(x.v == a.v) | (x.v == b.v) | (x.v == c.v));
		if (needle_has_hit(hit))
			break;
	}
	for (; i < s.n; i++) {
		uint8_t x = (uint8_t)s.p[i];

		if (x == any[0] || x == any[1] || x == any[2])
			break;
	}
	return i;
}
