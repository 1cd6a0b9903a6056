/* The functions of vt.h: creation, reset, reports. */
#include "codec/vt/vt.h"

#include "codec/vt/vt_impl.h"

#include <assert.h>
#include <stdlib.h>

struct vt *vt_new(void)
{
	struct vt *vt = calloc(1, sizeof(*vt));

	if (!vt)
		return NULL;
	vt->screen = &vt->main;
	vt_reset(vt);
	return vt;
}

void vt_free(struct vt *vt)
{
	if (!vt)
		return;
	vt_reset(vt);
	free(vt);
}

void vt_set_newline(struct vt *vt, bool on)
{
	vt->fixed_modes = on ? MODE_NEWLINE : 0;
	vt->modes = (vt->modes & ~(unsigned)MODE_NEWLINE) | vt->fixed_modes;
}

void vt_reset(struct vt *vt)
{
	vt_set_defaults(vt);
	vt_rows_free(vt, &vt->main);
	for (size_t i = 0; i < VT_CHUNKS; i++)
		if (vt->chunks[i])
			vt_block_free(vt, vt->chunks[i], sizeof(*vt->chunks[i]));
	vt_spares_free(vt);
	assert(vt->memory == 0);
	*vt = (struct vt){
		.state = GROUND,
		.screen = &vt->main,
		.fixed_modes = vt->fixed_modes,
		.moved = UINT64_MAX,
		.report = 1,
		.work = vt->work,
		.limit = UINT64_MAX,
	};
	vt_set_defaults(vt);
}

uint64_t vt_get_work(const struct vt *vt)
{
	return vt->work;
}

int vt_feed(struct vt *vt, struct str bytes)
{
	return vt_feed_limited(vt, &bytes, UINT64_MAX);
}

#define NONE SIZE_MAX

/* A report that is being made. */
struct text {
	struct buf *out;
	size_t line;  /* where the present line begins */
	size_t joins; /* index of the row that continues this line, or NONE */
	bool started;
};

static void vt_end_line(struct text *t)
{
	struct buf *out = t->out;

	while (out->n > t->line && out->p[out->n - 1] == ' ')
		out->n--;
	t->line = out->n;
}

static void vt_put_row(struct text *t, const struct rows *r, size_t i, size_t from)
{
	const struct row *row = vt_row_at(r, i);

	if (t->started && t->joins != i) {
		vt_end_line(t);
		buf_putc(t->out, '\n');
		t->line = t->out->n;
	}
	t->started = true;
	t->joins = row->wrapped ? i + 1 : NONE;
	vt_row_text(row, from, t->out);
}

static uint64_t vt_get_last_row(const struct vt *vt)
{
	return vt->first + (vt->main.rows.n ? vt->main.rows.n - 1 : 0);
}

/* Lines of the main screen and its history. */
static size_t vt_count_lines(const struct rows *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += !vt_row_at(r, i)->wrapped || i + 1 == r->n;
	/* The last line end is followed by an empty row, which is not a line. */
	if (n > 1 && vt_row_columns(vt_row_at(r, r->n - 1)) == 0)
		n--;
	return n;
}

/* Appends the new text of the main screen and its history. */
static void vt_put_main(struct text *t, const struct vt *vt, const struct vt_mark *mark)
{
	const struct rows *r = &vt->main.rows;

	for (size_t i = 0; i < r->n; i++) {
		const struct row *row = vt_row_at(r, i);

		if (row->edited > mark->report)
			vt_put_row(t, r, i, 0);
		else if (vt->first + i != mark->row)
			continue;
		else if (!t->started || vt_row_bytes(row) > mark->bytes)
			vt_put_row(t, r, i, mark->bytes);
	}
	vt_end_line(t);
	t->joins = NONE;
}

int vt_report(struct vt *vt, struct vt_mark *mark, struct buf *out, size_t *kept)
{
	const struct rows *alt = &vt->alt.rows;
	struct text t = {.out = out, .line = out->n, .joins = NONE};
	size_t start = out->n;

	vt_prepare_report(vt);
	vt_put_main(&t, vt, mark);
	/* The output of a full-screen program begins on a new line. */
	t.started = out->n > start && out->p[out->n - 1] != '\n';
	if (vt->alt.changed > mark->report)
		for (size_t i = 0; i < alt->n; i++)
			vt_put_row(&t, alt, i, 0);
	vt_end_line(&t);
	if (out->err)
		return out->err;
	*kept = vt->lost > mark->row ? vt_count_lines(&vt->main.rows) : 0;
	vt_update_mark(vt, mark);
	return 0;
}

void vt_update_mark(struct vt *vt, struct vt_mark *mark)
{
	const struct rows *r = &vt->main.rows;

	vt_prepare_report(vt);
	mark->row = vt_get_last_row(vt);
	mark->bytes = r->n ? (uint32_t)vt_row_bytes(vt_row_at(r, r->n - 1)) : 0;
	mark->report = vt->report++;
}
