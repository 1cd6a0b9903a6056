/* Editing an open row. A CELL_RIGHT always has its left half before it. */
#include "base/utf8.h"
#include "codec/vt/vt_impl.h"

#include <assert.h>

enum { CELLS_FIRST = 64, GLYPHS_FIRST = 8 };

static size_t vt_cells_get_size(size_t cap)
{
	return sizeof(struct cells) + cap * sizeof(uint16_t);
}

static size_t vt_cells_round_cap(size_t cols)
{
	size_t cap = CELLS_FIRST;

	while (cap < cols)
		cap *= 2;
	return cap < VT_COLUMNS ? cap : VT_COLUMNS;
}

struct cells *vt_cells_new(struct vt *vt, size_t cols, const struct row *keep)
{
	size_t cap = vt_cells_round_cap(cols);
	struct cells *c = vt_block_new(vt, vt_cells_get_size(cap), keep);

	if (c)
		*c = (struct cells){.cap = (uint16_t)cap};
	return c;
}

void vt_cells_free(struct vt *vt, struct cells *c)
{
	vt_block_free(vt, c->glyphs, c->glyphs_cap * sizeof(*c->glyphs));
	vt_block_free(vt, c, vt_cells_get_size(c->cap));
}

static bool vt_cells_reserve(struct vt *vt, struct row *row, size_t cols)
{
	struct cells *old = row->cells, *c;

	assert(cols <= VT_COLUMNS);
	if (cols <= old->cap)
		return true;
	c = vt_cells_new(vt, cols, row);
	if (!c)
		return false;
	c->glyphs = old->glyphs;
	c->glyphs_n = old->glyphs_n;
	c->glyphs_cap = old->glyphs_cap;
	c->n = old->n;
	vt_work_block(vt, old->n);
	memcpy(c->c, old->c, old->n * sizeof(*old->c));
	vt_block_free(vt, old, vt_cells_get_size(old->cap));
	row->cells = c;
	return true;
}

/* --- Characters longer than a cell --- */

static bool vt_is_glyph(uint16_t cell)
{
	return cell >= CELL_GLYPH && cell < CELL_GLYPH + CELL_GLYPHS;
}

static size_t vt_glyph_get_len(const struct glyph *g)
{
	return (unsigned char)g->b[0];
}

static size_t vt_glyph_count(size_t len)
{
	return (len + sizeof(struct glyph)) / sizeof(struct glyph);
}

/* The number of columns to search to find all glyphs. */
static size_t vt_glyph_get_columns(const struct cells *c)
{
	return c->glyphs_n ? c->n : 0;
}

/* Moves the glyphs that are in use to a block of their own; cells follow. */
static bool vt_glyph_move_all(struct vt *vt, struct row *row, size_t cap)
{
	struct glyph *to = vt_block_new(vt, cap * sizeof(*to), row);
	struct cells *c = row->cells;
	size_t used = 0;

	if (!to)
		return false;
	vt->work += 1 + vt_glyph_get_columns(c) / 4;
	for (size_t i = 0; i < vt_glyph_get_columns(c); i++) {
		const struct glyph *g;
		size_t k;

		if (!vt_is_glyph(c->c[i]))
			continue;
		g = c->glyphs + (c->c[i] - CELL_GLYPH);
		k = vt_glyph_count(vt_glyph_get_len(g));
		memcpy(to + used, g, k * sizeof(*g));
		c->c[i] = (uint16_t)(CELL_GLYPH + used);
		used += k;
	}
	vt_block_free(vt, c->glyphs, c->glyphs_cap * sizeof(*to));
	c->glyphs = to;
	c->glyphs_n = (uint16_t)used;
	c->glyphs_cap = (uint16_t)cap;
	return true;
}

/* Makes space for k glyphs; if there is none, overwritten glyphs are dropped. */
static bool vt_glyph_reserve(struct vt *vt, struct row *row, size_t k)
{
	const struct cells *c = row->cells;
	size_t used = k, cap = GLYPHS_FIRST;

	if (c->glyphs_n + k <= c->glyphs_cap)
		return true;
	for (size_t i = 0; i < vt_glyph_get_columns(c); i++)
		if (vt_is_glyph(c->c[i]))
			used += vt_glyph_count(
				vt_glyph_get_len(c->glyphs + (c->c[i] - CELL_GLYPH)));
	/* Enough glyphs that the search of all columns pays. */
	used += c->n / 32;
	while (cap < 2 * used && cap < CELL_GLYPHS)
		cap *= 2;
	return vt_glyph_move_all(vt, row, cap);
}

/* The cell for a character with that text; U+FFFD if memory is short. */
static uint16_t vt_glyph_add(struct vt *vt, struct row *row, struct str text)
{
	size_t k = vt_glyph_count(text.n);
	struct cells *c;
	struct glyph *g;

	assert(text.n <= VT_GLYPH_MAX);
	if (!vt_glyph_reserve(vt, row, k))
		return UTF8_REPLACEMENT;
	c = row->cells;
	g = c->glyphs + c->glyphs_n;
	g->b[0] = (char)text.n;
	memcpy(g->b + 1, text.p, text.n);
	c->glyphs_n = (uint16_t)(c->glyphs_n + k);
	return (uint16_t)(CELL_GLYPH + c->glyphs_n - k);
}

/* The text of cell i: a glyph's own, or encoded into room. */
static struct str vt_cells_get_text(const struct cells *c, size_t i, char room[4])
{
	const struct glyph *g;

	if (c->c[i] == CELL_RIGHT)
		return str_make(room, 0);
	if (!vt_is_glyph(c->c[i]))
		return str_make(room, utf8_encode(c->c[i], room));
	g = c->glyphs + (c->c[i] - CELL_GLYPH);
	return str_make(g->b + 1, vt_glyph_get_len(g));
}

/* --- Edits --- */

/* Blanks a wide character of which only one half would stay. */
static void vt_cells_split(struct cells *c, size_t col)
{
	if (col < c->n && c->c[col] == CELL_RIGHT)
		c->c[col - 1] = c->c[col] = ' ';
}

static void vt_cells_blank(struct cells *c, size_t from, size_t to)
{
	while (from < to)
		c->c[from++] = ' ';
}

/* Makes col..col + n ready to be written; the rest of the row stays whole. */
static struct cells *vt_cells_prepare(
	struct vt *vt, struct row *row, size_t col, size_t n)
{
	struct cells *c;

	if (!vt_cells_reserve(vt, row, col + n))
		return NULL;
	c = row->cells;
	vt_cells_split(c, col);
	vt_cells_split(c, col + n);
	if (c->n < col)
		vt_cells_blank(c, c->n, col);
	if (c->n < col + n)
		c->n = (uint16_t)(col + n);
	vt_work_block(vt, n);
	return c;
}

void vt_cells_write(struct vt *vt, struct row *row, size_t col, struct str ascii)
{
	struct cells *c = vt_cells_prepare(vt, row, col, ascii.n);

	if (!c)
		return;
	for (size_t i = 0; i < ascii.n; i++)
		c->c[col + i] = (unsigned char)ascii.p[i];
}

void vt_cells_put(struct vt *vt, struct row *row, size_t col, uint32_t cp, size_t width)
{
	struct cells *c = vt_cells_prepare(vt, row, col, width);
	char utf8[4];

	if (!c)
		return;
	/* The old cells need no glyph any more, and the new cell has none yet. */
	vt_cells_blank(c, col, col + width);
	c->c[col] = cp <= 0xffff
		? (uint16_t)cp
		: vt_glyph_add(vt, row, str_make(utf8, utf8_encode(cp, utf8)));
	if (width == 2)
		c->c[col + 1] = CELL_RIGHT;
}

void vt_cells_fill(
	struct vt *vt, struct row *row, size_t col, uint32_t cp, size_t width, size_t k)
{
	struct cells *c;

	/*
	 * Each cell has a glyph of its own, because a combining character changes its
	 * glyph.
	 */
	if (cp > 0xffff) {
		vt->work += k;
		for (; k; k--, col += width)
			vt_cells_put(vt, row, col, cp, width);
		return;
	}
	c = vt_cells_prepare(vt, row, col, k * width);
	for (; c && k; k--, col += width) {
		c->c[col] = (uint16_t)cp;
		if (width == 2)
			c->c[col + 1] = CELL_RIGHT;
	}
}

bool vt_cells_join(struct vt *vt, struct row *row, size_t col, struct str utf8)
{
	struct cells *c = row->cells;
	char room[4], all[VT_GLYPH_MAX];
	struct str have;
	struct glyph *g;

	if (col < c->n && c->c[col] == CELL_RIGHT)
		col--;
	if (col >= c->n)
		return false;
	have = vt_cells_get_text(c, col, room);
	if (have.n + utf8.n > VT_GLYPH_MAX)
		return false;
	if (vt_is_glyph(c->c[col]) &&
		vt_glyph_count(have.n + utf8.n) == vt_glyph_count(have.n)) {
		g = c->glyphs + (c->c[col] - CELL_GLYPH);
		memcpy(g->b + 1 + have.n, utf8.p, utf8.n);
		g->b[0] = (char)(have.n + utf8.n);
		return true;
	}
	memcpy(all, have.p, have.n);
	memcpy(all + have.n, utf8.p, utf8.n);
	c->c[col] = ' ';
	c->c[col] = vt_glyph_add(vt, row, str_make(all, have.n + utf8.n));
	return true;
}

void vt_cells_erase(struct vt *vt, struct row *row, size_t from, size_t to)
{
	struct cells *c = row->cells;

	if (from >= c->n)
		return;
	vt_work_block(vt, c->n - from);
	vt_cells_split(c, from);
	vt_cells_split(c, to);
	if (to < c->n)
		vt_cells_blank(c, from, to);
	else
		c->n = (uint16_t)from;
}

void vt_cells_insert(struct vt *vt, struct row *row, size_t col, size_t n)
{
	size_t end = row->cells->n;
	uint16_t moved[VT_COLUMNS];
	struct cells *c;

	if (col >= end)
		return;
	if (n > VT_COLUMNS - col)
		n = VT_COLUMNS - col;
	if (end > VT_COLUMNS - n)
		end = VT_COLUMNS - n;
	if (!vt_cells_reserve(vt, row, end + n))
		return;
	c = row->cells;
	vt_work_block(vt, 2 * (end - col) + n);
	vt_cells_split(c, col);
	vt_cells_split(c, end);
	/* Copies twice, because musl's memmove is slow towards the end. */
	memcpy(moved, c->c + col, (end - col) * sizeof(*moved));
	memcpy(c->c + col + n, moved, (end - col) * sizeof(*moved));
	vt_cells_blank(c, col, col + n);
	c->n = (uint16_t)(end + n);
}

void vt_cells_delete(struct vt *vt, struct row *row, size_t col, size_t n)
{
	struct cells *c = row->cells;

	if (col >= c->n)
		return;
	if (n > c->n - col)
		n = c->n - col;
	vt_work_block(vt, c->n - col);
	vt_cells_split(c, col);
	vt_cells_split(c, col + n);
	memmove(c->c + col, c->c + col + n, (c->n - col - n) * sizeof(*c->c));
	c->n = (uint16_t)(c->n - n);
}

size_t vt_cells_bytes(const struct cells *c)
{
	size_t n = 0;
	char room[4];

	for (size_t i = 0; i < c->n; i++)
		n += vt_cells_get_text(c, i, room).n;
	return n;
}

void vt_cells_copy(const struct cells *c, char *to)
{
	char room[4];

	for (size_t i = 0; i < c->n; i++) {
		struct str one = vt_cells_get_text(c, i, room);

		memcpy(to, one.p, one.n);
		to += one.n;
	}
}
