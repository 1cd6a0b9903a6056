/* What the tests of the terminal model share. */
#ifndef TESTS_VT_HELP_H
#define TESTS_VT_HELP_H

#include "base/buf.h"
#include "codec/vt/vt.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { OUT_MAX = 16 << 20 };

#define ESC "\x1b"
#define CSI "\x1b["

#define FFFD "\xef\xbf\xbd"
#define ZHONG "\xe4\xb8\xad" /* two columns */
#define WEN "\xe6\x96\x87"
#define ACUTE "\xcc\x81" /* combining */
#define ZWJ "\xe2\x80\x8d"
#define VS16 "\xef\xb8\x8f"
#define GRIN "\xf0\x9f\x98\x80"
#define MAN "\xf0\x9f\x91\xa8"
#define WOMAN "\xf0\x9f\x91\xa9"
#define GIRL "\xf0\x9f\x91\xa7"
#define THUMB "\xf0\x9f\x91\x8d"
#define DARK "\xf0\x9f\x8f\xbf" /* a skin tone */

static inline struct vt *vt_start(void)
{
	struct vt *vt = vt_new();

	if (!vt) {
		printf("Bail out! no memory\n");
		exit(1);
	}
	return vt;
}

/* Feeds bytes from a block of exactly their size, so that reading on is seen. */
static inline void feed(struct vt *vt, struct str in)
{
	char *copy = malloc(in.n ? in.n : 1);

	memcpy(copy, in.p, in.n);
	if (vt_feed(vt, str_make(copy, in.n)) < 0)
		ok(false, "out of memory");
	free(copy);
}

static inline void feed_c(struct vt *vt, const char *in)
{
	feed(vt, str_c(in));
}

/* The report since *mark, to be freed; kept lines into *kept if it is asked for. */
static inline char *report(struct vt *vt, struct vt_mark *mark, size_t *kept)
{
	struct buf out = BUF_INIT(OUT_MAX);
	size_t k = 0;

	if (vt_report(vt, mark, &out, &k) < 0 || !buf_cstr(&out)) {
		printf("Bail out! no report\n");
		exit(1);
	}
	if (kept)
		*kept = k;
	return out.p;
}

static inline char *all(struct vt *vt, size_t *kept)
{
	struct vt_mark mark = {0};

	return report(vt, &mark, kept);
}

static inline bool shows(struct vt *vt, const char *want)
{
	char *got = all(vt, NULL);
	bool same = strcmp(got, want) == 0;

	free(got);
	return same;
}

static inline void is_shown(struct vt *vt, const char *want, const char *name)
{
	char *got = all(vt, NULL);

	is_str(got, want, "%s", name);
	free(got);
}

/* The next report of a reader. */
static inline void is_next(
	struct vt *vt, struct vt_mark *mark, const char *want, const char *name)
{
	char *got = report(vt, mark, NULL);

	is_str(got, want, "%s", name);
	free(got);
}

static inline char *repeated(const char *unit, size_t n)
{
	size_t len = strlen(unit);
	char *s = malloc(n * len + 1);

	for (size_t i = 0; i < n; i++)
		memcpy(s + i * len, unit, len);
	s[n * len] = 0;
	return s;
}

#endif
