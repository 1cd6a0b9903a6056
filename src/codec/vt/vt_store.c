/* Memory of the terminal model, and the lists of rows. */
#include "codec/vt/vt_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum {
	ROWS_FIRST = 64,
	SLACK = VT_MEMORY_MAX / 16,
	SPARE_MAX = SLACK / 2, /* half of what shrink frees beyond its target */
	GAP = 256, /* rows: a screen moves once per GAP rows, which is cheap */
};

/* Empties the rows of one screen, from its top, until memory is down to target. */
static void vt_empty_rows(
	struct vt *vt, struct screen *s, size_t target, const struct row *keep)
{
	vt_work_block(vt, s->rows.n - s->rows.top);
	for (size_t i = s->rows.top; i < s->rows.n && vt->memory > target; i++) {
		struct row *row = vt_row_at(&s->rows, i);

		if (row == keep || (row->kind == ROW_TEXT && row->n == 0))
			continue;
		vt_row_clear(vt, row);
		if (s == &vt->main && vt->lost <= vt->first + i)
			vt->lost = vt->first + i + 1;
	}
}

static bool vt_shrink_memory(struct vt *vt, size_t target, const struct row *keep)
{
	size_t less = target > SLACK ? target - SLACK : 0;

	while (vt->memory > target && vt->main.rows.top > 0)
		vt_rows_drop(vt);
	if (vt->memory <= target)
		return true;
	/*
	 * Rows are searched from the top each time, so each search frees more than
	 * needed.
	 */
	vt_empty_rows(vt, &vt->main, less, keep);
	vt_empty_rows(vt, &vt->alt, less, keep);
	return vt->memory <= target;
}

/* The list of spare blocks of that size. */
static struct spares *vt_find_spares(struct vt *vt, size_t size)
{
	struct spares *s = vt->spares;

	while (s->size && s->size != size)
		s++;
	assert(s < vt->spares + VT_SPARES);
	s->size = size;
	return s;
}

static void *vt_memory_new(struct vt *vt, size_t size)
{
	struct spares *s = vt_find_spares(vt, size);
	void *p = s->first;

	if (!p)
		return calloc(1, size);
	memcpy(&s->first, p, sizeof(s->first));
	vt->spare -= size;
	return p;
}

void vt_spares_free(struct vt *vt)
{
	for (struct spares *s = vt->spares; s < vt->spares + VT_SPARES; s++)
		while (s->first)
			free(vt_memory_new(vt, s->size));
	assert(vt->spare == 0);
}

void *vt_block_new(struct vt *vt, size_t n, const struct row *keep)
{
	size_t target = VT_MEMORY_MAX - n;

	while (vt_shrink_memory(vt, target, keep)) {
		void *p = vt_memory_new(vt, n);

		if (p) {
			vt->memory += n;
			return p;
		}
		/* The system has no memory left: continue with half of ours. */
		vt_spares_free(vt);
		if (vt->memory == 0)
			break;
		target = vt->memory / 2;
	}
	vt->err = -ENOMEM;
	return NULL;
}

void vt_block_free(struct vt *vt, void *p, size_t n)
{
	if (!p)
		return;
	assert(n <= vt->memory);
	vt->memory -= n;
	/* A row must not cost two system calls each time, as in musl. */
	if (n <= SPARE_MAX - vt->spare) {
		struct spares *s = vt_find_spares(vt, n);

		memcpy(p, &s->first, sizeof(s->first));
		s->first = p;
		vt->spare += n;
		return;
	}
	free(p);
}

static struct row *vt_rows_new(size_t cap)
{
	return calloc(cap, sizeof(struct row));
}

/* Moves all rows to the front of v, which may be their own list. */
static void vt_rows_move(struct vt *vt, struct rows *r, struct row *v)
{
	vt_work_block(vt, r->n);
	if (r->n) {
		struct row *screen = vt_row_at(r, r->top);

		memmove(v, r->v + r->head, r->top * sizeof(*v));
		memmove(v + r->top, screen, (r->n - r->top) * sizeof(*v));
	}
	r->head = 0;
	r->gap = 0;
}

/* Makes space for k more rows, by moving them to the front if that pays. */
static bool vt_rows_reserve(struct vt *vt, struct rows *r, size_t k)
{
	size_t cap = r->cap ? r->cap : ROWS_FIRST;
	struct row *v;

	if (r->head + r->gap + r->n + k <= r->cap)
		return true;
	if (r->head + r->gap >= r->cap / 4 && r->n + k <= r->cap) {
		vt_rows_move(vt, r, r->v);
		return true;
	}
	while (cap < r->n + k)
		cap *= 2;
	if (cap == r->cap)
		cap *= 2;
	v = vt_rows_new(cap);
	if (!v) {
		if (r == &vt->main.rows)
			while (r->top > 0)
				vt_rows_drop(vt);
		if (r->n + k > r->cap) {
			vt->err = -ENOMEM;
			return false;
		}
		vt_rows_move(vt, r, r->v);
		return true;
	}
	vt_rows_move(vt, r, v);
	free(r->v);
	r->v = v;
	r->cap = cap;
	return true;
}

void vt_rows_archive(struct rows *r, size_t k)
{
	if (r->gap)
		memmove(r->v + r->head + r->top, vt_row_at(r, r->top), k * sizeof(*r->v));
	r->top += k;
}

bool vt_rows_rotate(struct vt *vt, struct screen *s, size_t k)
{
	struct rows *r = &s->rows;
	size_t more = k > GAP ? k : GAP;

	if (r->gap < k) {
		struct row *row;

		if (!vt_rows_reserve(vt, r, more))
			return false;
		row = vt_row_at(r, r->top);
		vt_work_block(vt, r->n - r->top);
		memmove(row + more, row, (r->n - r->top) * sizeof(*row));
		r->gap += more;
	}
	r->gap -= k;
	vt->work += k;
	for (size_t i = 0; i < k; i++)
		*vt_row_at(r, r->top + i) = (struct row){.edited = vt->report};
	return true;
}

bool vt_rows_add(struct vt *vt, struct screen *s, size_t k)
{
	struct rows *r = &s->rows;

	if (!vt_rows_reserve(vt, r, k))
		return false;
	vt->work += k;
	for (; k; k--)
		*vt_row_at(r, r->n++) = (struct row){.edited = vt->report};
	s->changed = vt->report;
	/* Keeps VT_LINES_KEPT + 1 rows, because a row follows the last line end. */
	while (s == &vt->main && r->n > VT_LINES_KEPT + 1)
		vt_rows_drop(vt);
	return true;
}

void vt_rows_drop(struct vt *vt)
{
	struct rows *r = &vt->main.rows;

	assert(r->top > 0 && r->n > 0);
	vt_row_clear(vt, vt_row_at(r, 0));
	r->head++;
	r->n--;
	r->top--;
	vt->first++;
	if (vt->lost < vt->first)
		vt->lost = vt->first;
}

void vt_rows_truncate(struct vt *vt, struct screen *s, size_t i)
{
	while (s->rows.n > i)
		vt_row_clear(vt, vt_row_at(&s->rows, --s->rows.n));
	if (i > 0 && i == s->rows.n)
		vt_row_at(&s->rows, i - 1)->wrapped = false;
	s->changed = vt->report;
}

void vt_rows_free(struct vt *vt, struct screen *s)
{
	vt_rows_truncate(vt, s, 0);
	free(s->rows.v);
	s->rows = (struct rows){0};
}
