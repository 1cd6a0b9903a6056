/*
 * A borrowed run of bytes. It may hold NUL and need not end with NUL. The maker of the
 * bytes owns them; a str is passed by value.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *p;
	size_t n;
};

/* A str over a string literal. */
#define STR(lit) ((struct str){(lit), sizeof(lit) - 1})
/* For printf's "%.*s". */
#define STR_ARG(s) (int)(s).n, (s).p

static inline struct str str_make(const char *p, size_t n)
{
	return (struct str){p, n};
}

/* A str over a C string; NULL gives the empty str. */
static inline struct str str_c(const char *c)
{
	return (struct str){c, c ? strlen(c) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* ASCII case is ignored; bytes above 127 compare as they are. */
bool str_eq_nocase(struct str a, struct str b);
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);

/* The offset of the first byte c, or of the first needle; s.n when absent. */
size_t str_find_byte(struct str s, char c);
/* How often the byte c occurs. */
size_t str_count(struct str s, char c);
size_t str_find(struct str s, struct str needle);

/* s without its first n bytes; n is cut to s.n. */
struct str str_skip(struct str s, size_t n);

/* s without the bytes of the set (a C string) at both ends. */
struct str str_trim(struct str s, const char *set);

/*
 * Cuts *rest at the first byte sep: returns the text before it and moves *rest behind it.
 * Without sep returns all of *rest, leaving it empty.
 */
struct str str_cut(struct str *rest, char sep);

/*
 * Decimal digits only, no sign, no blanks. 0 with *out set; ERR_SYNTAX;
 * ERR_RANGE above max.
 */
int str_u64(struct str s, uint64_t max, uint64_t *out) MUST_USE;
/* As str_u64, with an optional sign in front; ERR_RANGE if the number does not fit. */
int str_i64(struct str s, int64_t *out) MUST_USE;

#endif
