/*
 * The terminal model: same text whole and split, within its caps, and reports at
 * any time are harmless. Long input repeats itself, to fill the screen.
 *
 * The work is linear in the bytes: at most WORK_PER_BYTE units per byte (three bytes may
 * clear and fill all rows of the screen) and WORK_START in addition. A feed exceeds its
 * limit by no more than VT_WORK_STEP.
 */
#include "codec/vt/vt_impl.h"

#include <assert.h>
#include <stdlib.h>

enum {
	OUT_MAX = 16 << 20,
	SPLIT_MAX = 37,
	ROUNDS_MAX = 64,
	WORK_PER_BYTE = VT_ROWS,
	WORK_START = VT_WORK_STEP,
	WORK_LIMIT = 997, /* units of one feed */
};

static void check(struct vt *vt)
{
	assert(vt->memory <= VT_MEMORY_MAX);
	assert(vt->main.rows.n <= VT_LINES_KEPT + 1);
	for (size_t i = 0; i < vt->main.rows.n; i++)
		assert(vt_row_columns(vt_row_at(&vt->main.rows, i)) <= VT_COLUMNS);
	for (size_t i = 0; i < vt->alt.rows.n; i++)
		assert(vt_row_columns(vt_row_at(&vt->alt.rows, i)) <= VT_COLUMNS);
	assert(vt->screen->at.x <= VT_COLUMNS && vt->screen->at.y < VT_ROWS);
}

static void feed(struct vt *vt, const uint8_t *p, size_t n)
{
	char *copy = malloc(n ? n : 1);

	if (n)
		memcpy(copy, p, n);
	assert(vt_feed(vt, str_make(copy, n)) == 0);
	free(copy);
}

/* In feeds that stop when their work is done. */
static void feed_some(struct vt *vt, const uint8_t *p, size_t n)
{
	struct str rest = str_make((const char *)p, n);
	int r;

	do {
		size_t before = rest.n;
		uint64_t work = vt_get_work(vt);

		r = vt_feed_limited(vt, &rest, work + WORK_LIMIT);
		assert(r >= 0 && (r == 1) == (rest.n > 0));
		assert(rest.n < before || before == 0);
		assert(vt_get_work(vt) - work <= WORK_LIMIT + VT_WORK_STEP);
	} while (r == 1);
}

static void report(struct vt *vt, struct vt_mark *mark, struct buf *out)
{
	size_t kept;

	assert(vt_report(vt, mark, out, &kept) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct vt *whole = vt_new(), *split = vt_new(), *polled = vt_new();
	struct vt_mark a = {0}, b = {0}, c = {0};
	struct buf text = BUF_INIT(OUT_MAX), other = BUF_INIT(OUT_MAX),
		   rest = BUF_INIT(OUT_MAX);
	size_t rounds = n ? 1 + p[n - 1] % ROUNDS_MAX : 1,
	       step = n ? 1 + p[n / 2] % SPLIT_MAX : 1;

	assert(whole && split && polled);
	for (size_t i = 0; i < rounds; i++) {
		feed(whole, p, n);
		for (size_t at = 0; at < n; at += step)
			feed(split, p + at, n - at < step ? n - at : step);
		feed_some(polled, p, n);
		buf_reset(&rest);
		report(polled, &c, &rest);
	}
	check(whole);
	check(polled);
	assert(vt_get_work(whole) <= (uint64_t)WORK_PER_BYTE * rounds * n + WORK_START);
	report(whole, &a, &text);
	report(split, &b, &other);
	assert(str_eq(buf_view(&text), buf_view(&other)));
	buf_reset(&rest);
	report(polled, &c, &rest);
	assert(rest.n == 0);
	vt_free(whole);
	vt_free(split);
	vt_free(polled);
	buf_free(&text);
	buf_free(&other);
	buf_free(&rest);
	return 0;
}
