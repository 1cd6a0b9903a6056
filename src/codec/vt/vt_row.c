/* A row: a closed row is text in a chunk, an open row is cells. */
#include "base/utf8.h"
#include "codec/vt/vt_impl.h"

#include <assert.h>

static size_t vt_chunk_get_space(const struct chunk *c)
{
	return c ? sizeof(c->text) - c->used : 0;
}

static struct chunk *vt_chunk_new(struct vt *vt, const struct row *keep)
{
	struct chunk *c = vt_block_new(vt, sizeof(*c), keep);
	struct chunk *full = vt->chunks[vt->chunk];
	unsigned i = 0;

	if (!c)
		return NULL;
	c->used = 0;
	c->rows = 0;
	/* Making space for the new chunk may have emptied the old one. */
	if (full && full->rows == 0) {
		vt->chunks[vt->chunk] = NULL;
		vt_block_free(vt, full, sizeof(*full));
	}
	/* The memory cap equals that of all chunks, so a place is free. */
	while (vt->chunks[i])
		i++;
	vt->chunks[i] = c;
	vt->chunk = i;
	return c;
}

bool vt_row_is_extendable(const struct vt *vt, const struct row *row)
{
	const struct chunk *c = vt->chunks[vt->chunk];

	return row->n && row->chunk == vt->chunk &&
		row->text + row->n == c->text + c->used;
}

static void vt_row_release(struct vt *vt, const struct row *row)
{
	struct chunk *c;

	if (row->n == 0 || row->chunk == CHUNK_NONE)
		return;
	c = vt->chunks[row->chunk];
	if (row->text + row->n == c->text + c->used)
		c->used -= row->n;
	if (--c->rows)
		return;
	c->used = 0;
	if (row->chunk == vt->chunk)
		return;
	vt->chunks[row->chunk] = NULL;
	vt_block_free(vt, c, sizeof(*c));
}

/* Space for n more bytes of the row: after its text, which moves if it has to. */
static char *vt_row_reserve(struct vt *vt, struct row *row, size_t n)
{
	struct chunk *c = vt->chunks[vt->chunk];
	bool extends = vt_row_is_extendable(vt, row);
	struct row old;

	if (vt_chunk_get_space(c) < (extends ? n : row->n + n)) {
		c = vt_chunk_new(vt, row);
		if (!c)
			return NULL;
		extends = false;
	}
	if (extends)
		return row->text + row->n;
	old = *row;
	row->text = c->text + c->used;
	row->chunk = (uint8_t)vt->chunk;
	c->rows++;
	c->used += old.n;
	vt_work_block(vt, old.n / 2);
	if (old.n)
		memcpy(row->text, old.text, old.n);
	vt_row_release(vt, &old);
	return row->text + row->n;
}

static void vt_row_commit(struct vt *vt, struct row *row, size_t n, size_t cols)
{
	row->n = (uint16_t)(row->n + n);
	row->cols = (uint16_t)(row->cols + cols);
	vt->chunks[row->chunk]->used += (uint32_t)n;
}

bool vt_row_append(
	struct vt *vt, struct row *row, size_t blanks, struct str text, size_t cols)
{
	char *to = vt_row_reserve(vt, row, blanks + text.n);

	assert(row->kind == ROW_TEXT && row->cols + blanks + cols <= VT_COLUMNS);
	if (!to)
		return false;
	if (blanks)
		memset(to, ' ', blanks);
	memcpy(to + blanks, text.p, text.n);
	vt_row_commit(vt, row, blanks + text.n, blanks + cols);
	return true;
}

void vt_row_clear(struct vt *vt, struct row *row)
{
	vt->work++;
	if (row->kind == ROW_CELLS)
		vt_cells_free(vt, row->cells);
	else
		vt_row_release(vt, row);
	*row = (struct row){.edited = row->edited};
}

void vt_row_align(struct vt *vt, struct row *row)
{
	/* Filled at the first use: a constant takes 1 KB of the program. */
	static char letters[VT_COLUMNS];

	if (!letters[0])
		memset(letters, 'E', sizeof(letters));
	vt_row_clear(vt, row);
	row->text = letters;
	row->n = row->cols = VT_COLUMNS;
	row->chunk = CHUNK_NONE;
}

static size_t vt_row_measure_ascii(struct str s)
{
	size_t n = 0;

	while (n < s.n && (unsigned char)s.p[n] < 0x80)
		n++;
	return n;
}

/* Puts the characters of text into the cells of row, as they were printed. */
static void vt_row_fill(struct vt *vt, struct row *row, struct str text)
{
	uint32_t prev = 0;
	size_t tail = 0, n;

	for (; text.n; text = str_skip(text, n)) {
		struct str rest = text;
		size_t col = row->cells->n;
		uint32_t cp;
		int width;

		n = vt_row_measure_ascii(text);
		if (n > 0) {
			vt_cells_write(vt, row, col, str_make(text.p, n));
			vt->work++;
			prev = (unsigned char)text.p[n - 1];
			tail = 1;
			continue;
		}
		cp = utf8_next(&rest);
		vt->work += 2;
		n = text.n - rest.n;
		width = vt_width(cp);
		if (vt_is_joined(prev, tail, cp, width) &&
			vt_cells_join(vt, row, col - 1, str_make(text.p, n))) {
			tail += n;
		} else if (width > 0) {
			vt_cells_put(vt, row, col, cp, (size_t)width);
			tail = n;
		}
		prev = cp;
	}
}

bool vt_row_open(struct vt *vt, struct row *row)
{
	struct row old;
	struct cells *c;

	if (row->kind == ROW_CELLS)
		return true;
	c = vt_cells_new(vt, row->cols, row);
	if (!c)
		return false;
	old = *row;
	row->kind = ROW_CELLS;
	row->cells = c;
	row->n = 0;
	row->cols = 0;
	vt_row_fill(vt, row, str_make(old.text, old.n));
	vt_row_release(vt, &old);
	return true;
}

void vt_row_close(struct vt *vt, struct row *row)
{
	struct cells *c = row->cells;
	size_t n;
	char *to;

	if (row->kind == ROW_TEXT)
		return;
	vt->work += 1 + c->n / 4;
	n = vt_cells_bytes(c);
	*row = (struct row){.edited = row->edited, .wrapped = row->wrapped};
	to = n ? vt_row_reserve(vt, row, n) : NULL;
	if (to) {
		vt_cells_copy(c, to);
		vt_row_commit(vt, row, n, c->n);
	}
	vt_cells_free(vt, c);
}

size_t vt_row_bytes(const struct row *row)
{
	return row->kind == ROW_CELLS ? vt_cells_bytes(row->cells) : row->n;
}

size_t vt_row_columns(const struct row *row)
{
	return row->kind == ROW_CELLS ? row->cells->n : row->cols;
}

void vt_row_text(const struct row *row, size_t from, struct buf *out)
{
	size_t n = vt_row_bytes(row);
	char *to;

	if (from >= n)
		return;
	to = buf_reserve(out, n);
	if (!to)
		return;
	if (row->kind == ROW_CELLS)
		vt_cells_copy(row->cells, to);
	else
		memcpy(to, row->text, n);
	memmove(to, to + from, n - from);
	buf_commit(out, n - from);
}
