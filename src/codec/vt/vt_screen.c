/* The screen: cursor, printing, scrolling, erasing. */
#include "base/utf8.h"
#include "codec/vt/vt_impl.h"

static size_t vt_count_rows(const struct screen *s)
{
	return s->rows.n - s->rows.top;
}

static bool vt_is_last_row(const struct screen *s)
{
	return s->rows.top + s->at.y + 1 == s->rows.n;
}

/* Row y of the screen, or NULL when nothing was written there or below. */
static struct row *vt_find_row(const struct screen *s, unsigned y)
{
	return y < vt_count_rows(s) ? vt_row_at(&s->rows, s->rows.top + y) : NULL;
}

static void vt_touch_row(struct vt *vt, struct row *row)
{
	row->edited = vt->report;
	vt->screen->changed = vt->report;
}

/* Makes rows until there are n of them on the screen. */
static bool vt_ensure_rows(struct vt *vt, unsigned n)
{
	struct screen *s = vt->screen;
	size_t have = vt_count_rows(s);

	return have >= n || vt_rows_add(vt, s, n - have);
}

static struct row *vt_get_cursor_row(struct vt *vt)
{
	struct screen *s = vt->screen;

	return vt_ensure_rows(vt, s->at.y + 1) ? vt_find_row(s, s->at.y) : NULL;
}

/* --- Scrolling --- */

static void vt_clear_rows(struct vt *vt, struct row *row, size_t n)
{
	for (; n; n--, row++) {
		vt_row_clear(vt, row);
		vt_touch_row(vt, row);
	}
}

/* Makes empty rows where the content has moved elsewhere. */
static void vt_init_rows(struct vt *vt, struct row *row, size_t n)
{
	vt->work += 1 + n / 4;
	for (; n; n--, row++) {
		*row = (struct row){0};
		vt_touch_row(vt, row);
	}
}

/*
 * Moved rows count as changed, because a mark identifies rows by their place. Only the
 * first moved row is stored: a stamp for each row would double the cost of moving.
 */
static void vt_stamp_moved(struct vt *vt, const struct row *first)
{
	const struct screen *s = vt->screen;
	uint64_t number = vt->first + s->rows.top + (uint64_t)(first - vt_find_row(s, 0));

	vt->screen->changed = vt->report;
	if (s == &vt->main && number < vt->moved)
		vt->moved = number;
}

static void vt_move_rows(struct vt *vt, struct row *to, struct row *from, size_t n)
{
	vt_work_block(vt, n);
	if (to < from)
		memmove(to, from, n * sizeof(*to));
	else
		while (n--) /* musl's memmove is slow in this direction */
			to[n] = from[n];
	vt_stamp_moved(vt, to < from ? to : from);
}

/* Removes blank rows below the cursor, as if they had never been written. */
static void vt_trim_rows(struct vt *vt, struct screen *s)
{
	size_t n = s->rows.n;

	while (n > s->rows.top + s->at.y + 1 &&
		vt_row_columns(vt_row_at(&s->rows, n - 1)) == 0)
		n--;
	if (n < s->rows.n)
		vt_rows_truncate(vt, s, n);
}

void vt_prepare_report(struct vt *vt)
{
	const struct rows *r = &vt->main.rows;

	vt_trim_rows(vt, &vt->main);
	vt_trim_rows(vt, &vt->alt);
	for (size_t i = r->n; i > 0 && vt->first + i > vt->moved; i--)
		vt_row_at(r, i - 1)->edited = vt->report;
	vt->moved = UINT64_MAX;
}

/* Ends the wrapping of the row above y into row y. */
static void vt_unwrap_above(struct vt *vt, unsigned y)
{
	size_t i = vt->screen->rows.top + y;

	if (i > 0 && i <= vt->screen->rows.n)
		vt_row_at(&vt->screen->rows, i - 1)->wrapped = false;
}

/* The first n rows become history; rows below the scroll region stay in place. */
static void vt_scroll_history(struct vt *vt, unsigned n)
{
	struct screen *s = &vt->main;
	unsigned at = s->below + 1 - n;
	size_t end;

	/* Rows that were never written are no history. */
	if (n > vt_count_rows(s))
		n = (unsigned)vt_count_rows(s);
	for (unsigned y = 0; y < n; y++)
		vt_row_close(vt, vt_find_row(s, y));
	vt->work += n;
	vt_rows_archive(&s->rows, n);
	end = vt_count_rows(s);
	if (end > at && vt_rows_add(vt, s, n)) {
		struct row *row = vt_find_row(s, at);

		vt_unwrap_above(vt, at);
		vt_move_rows(vt, row + n, row, end - at);
		vt_init_rows(vt, row, n);
	}
	s->changed = vt->report;
}

void vt_scroll(struct vt *vt, unsigned n)
{
	struct screen *s = vt->screen;

	if (n > s->below - s->above + 1)
		n = s->below - s->above + 1;
	if (s->above == 0 && s == &vt->main)
		vt_scroll_history(vt, n);
	else
		vt_delete_rows(vt, s->above, n);
}

void vt_delete_rows(struct vt *vt, unsigned y, unsigned n)
{
	struct screen *s = vt->screen;
	size_t end = vt_count_rows(s);
	struct row *row = vt_find_row(s, y);

	if (end > s->below + 1)
		end = s->below + 1;
	if (end <= y)
		return;
	if (n > end - y)
		n = (unsigned)(end - y);
	vt_unwrap_above(vt, y);
	vt_unwrap_above(vt, (unsigned)end);
	vt_clear_rows(vt, row, n);
	vt_move_rows(vt, row, row + n, end - y - n);
	vt_init_rows(vt, row + (end - y - n), n);
}

void vt_insert_rows(struct vt *vt, unsigned y, unsigned n)
{
	struct screen *s = vt->screen;
	size_t end = vt_count_rows(s);
	struct row *row;

	if (end <= y)
		return;
	if (n > s->below - y + 1)
		n = s->below - y + 1;
	/* The lowest rows are pushed down, out of the region in the end. */
	end = end + n < s->below + 1 ? end + n : s->below + 1;
	if (!vt_ensure_rows(vt, (unsigned)end))
		return;
	row = vt_find_row(s, y);
	vt_unwrap_above(vt, y);
	vt_unwrap_above(vt, (unsigned)end - n);
	vt_unwrap_above(vt, (unsigned)end);
	vt_clear_rows(vt, row + (end - y - n), n);
	if (y == 0 && end == vt_count_rows(s) && vt_rows_rotate(vt, s, n)) {
		vt_stamp_moved(vt, vt_find_row(s, 0));
		return;
	}
	vt_move_rows(vt, row + n, row, end - y - n);
	vt_init_rows(vt, row, n);
}

void vt_linefeed(struct vt *vt)
{
	struct screen *s = vt->screen;
	bool last = vt_is_last_row(s);

	if (s->at.y == s->below)
		vt_scroll(vt, 1);
	else if (s->at.y < VT_ROWS - 1)
		s->at.y++;
	/* The row after a line end exists, so that the text contains that line end. */
	if (last)
		vt_get_cursor_row(vt);
}

/* --- Printing --- */

static void vt_wrap_line(struct vt *vt)
{
	struct screen *s = vt->screen;
	struct row *row = vt_get_cursor_row(vt);

	/* Below the scroll region the cursor cannot leave the last row. */
	if (row && (s->at.y == s->below || s->at.y < VT_ROWS - 1))
		row->wrapped = true;
	vt_linefeed(vt);
	s->at.x = 0;
}

/*
 * The row of the cursor, ready for n columns: closed if the text can be added to its
 * end, else open. Only in the last row, added text is not an edit.
 */
static struct row *vt_prepare_row(struct vt *vt, size_t n)
{
	struct screen *s = vt->screen;
	struct row *row = vt_get_cursor_row(vt);

	if (!row)
		return NULL;
	if (s->at.x < vt_row_columns(row) || !vt_is_last_row(s))
		vt_touch_row(vt, row);
	s->changed = vt->report;
	if (row->kind == ROW_TEXT && s->at.x >= row->cols &&
		(row->n == 0 || vt_is_last_row(s) || vt_row_is_extendable(vt, row)))
		return row;
	if (!vt_row_open(vt, row))
		return NULL;
	if (vt->modes & MODE_INSERT)
		vt_cells_insert(vt, row, s->at.x, n);
	return row;
}

static void vt_print_ascii_run(struct vt *vt, struct str run)
{
	struct screen *s = vt->screen;
	struct row *row = vt_prepare_row(vt, run.n);

	if (!row)
		return;
	if (row->kind == ROW_CELLS)
		vt_cells_write(vt, row, s->at.x, run);
	else if (!vt_row_append(vt, row, s->at.x - row->cols, run, run.n))
		return;
	s->at.x += (unsigned)run.n;
}

void vt_print_ascii(struct vt *vt, struct str text)
{
	struct screen *s = vt->screen;

	if (text.n == 0)
		return;
	vt->last = vt->prev = (unsigned char)text.p[text.n - 1];
	vt->tail = 1;
	while (text.n) {
		size_t n;

		if (s->at.x == VT_COLUMNS && (vt->modes & MODE_NO_WRAP))
			s->at.x--;
		else if (s->at.x == VT_COLUMNS)
			vt_wrap_line(vt);
		n = VT_COLUMNS - s->at.x;
		if (n > text.n)
			n = text.n;
		vt_print_ascii_run(vt, str_make(text.p, n));
		if (vt->err)
			return;
		text = str_skip(text, n);
	}
}

/* Adds to the character left of the cursor, if there is one with space. */
static bool vt_join_char(struct vt *vt, struct str utf8)
{
	struct screen *s = vt->screen;
	struct row *row = vt_find_row(s, s->at.y);

	if (!row || s->at.x == 0 || s->at.x > vt_row_columns(row))
		return false;
	if (vt->tail + utf8.n > VT_GLYPH_MAX)
		return false;
	if (row->kind == ROW_TEXT && vt->tail && row->n >= vt->tail &&
		row->cols == s->at.x && vt_is_last_row(s)) {
		if (!vt_row_append(vt, row, 0, utf8, 0))
			return false;
	} else {
		if (!vt_row_open(vt, row) || !vt_cells_join(vt, row, s->at.x - 1, utf8))
			return false;
		vt_touch_row(vt, row);
	}
	if (vt->tail)
		vt->tail += utf8.n;
	s->changed = vt->report;
	return true;
}

static void vt_print_char(struct vt *vt, uint32_t cp, size_t width, struct str utf8)
{
	struct screen *s = vt->screen;
	struct row *row;

	if (s->at.x + width > VT_COLUMNS) {
		if (!(vt->modes & MODE_NO_WRAP))
			vt_wrap_line(vt);
		else if (width == 1)
			s->at.x--;
		else
			return;
	}
	row = vt_prepare_row(vt, width);
	if (!row)
		return;
	if (row->kind == ROW_CELLS)
		vt_cells_put(vt, row, s->at.x, cp, width);
	else if (!vt_row_append(vt, row, s->at.x - row->cols, utf8, width))
		return;
	s->at.x += (unsigned)width;
	vt->last = vt->prev = cp;
	vt->tail = utf8.n;
}

void vt_print(struct vt *vt, uint32_t cp)
{
	int width = vt_width(cp);
	char room[4];
	struct str utf8 = str_make(room, utf8_encode(cp, room));

	if (width < 0)
		return;
	if ((width == 0 || vt_is_joined(vt->prev, vt->tail, cp, width)) &&
		vt_join_char(vt, utf8))
		vt->prev = cp;
	else if (width > 0)
		vt_print_char(vt, cp, (size_t)width, utf8);
}

/* Adds a run to the end of a row; false if it must be printed character by character. */
static bool vt_append_run(struct vt *vt, struct str utf8, size_t cols)
{
	struct screen *s = vt->screen;
	struct row *row;

	if (vt->prev == ZERO_WIDTH_JOINER || (vt->modes & MODE_INSERT))
		return false;
	row = vt_prepare_row(vt, cols);
	if (!row || row->kind != ROW_TEXT ||
		!vt_row_append(vt, row, s->at.x - row->cols, utf8, cols))
		return false;
	s->at.x += (unsigned)cols;
	return true;
}

void vt_print_run(struct vt *vt, struct str utf8, size_t cols, uint32_t cp)
{
	char room[4];

	if (vt_append_run(vt, utf8, cols)) {
		vt->last = vt->prev = cp;
		vt->tail = utf8_encode(cp, room);
		return;
	}
	while (utf8.n && !vt->err)
		vt_print(vt, utf8_next(&utf8));
}

/* k copies of one character. */
static struct str vt_fill_run(char *run, struct str one, size_t k)
{
	size_t all = k * one.n;

	memcpy(run, one.p, one.n);
	for (size_t n = one.n; n < all; n *= 2)
		memcpy(run + n, run, n < all - n ? n : all - n);
	return str_make(run, all);
}

/* Prints k characters that fit into the row of the cursor and do not combine. */
static void vt_repeat_in_row(
	struct vt *vt, uint32_t cp, size_t width, struct str utf8, size_t k)
{
	struct screen *s = vt->screen;
	struct row *row = vt_prepare_row(vt, k * width);
	char run[VT_COLUMNS * 4];

	if (!row)
		return;
	if (row->kind == ROW_CELLS)
		vt_cells_fill(vt, row, s->at.x, cp, width, k);
	else if (!vt_row_append(vt, row, s->at.x - row->cols, vt_fill_run(run, utf8, k),
			 k * width))
		return;
	vt_work_block(vt, k * width);
	s->at.x += (unsigned)(k * width);
	vt->tail = utf8.n;
}

void vt_print_repeat(struct vt *vt, uint32_t cp, size_t n)
{
	const struct screen *s = vt->screen;
	size_t width = vt_width(cp) == 2 ? 2 : 1;
	char room[4];
	struct str utf8 = str_make(room, utf8_encode(cp, room));

	while (n && !vt->err) {
		size_t k = (VT_COLUMNS - s->at.x) / width;

		/* The first character may join the character before it, or wrap. */
		if (k == 0 || vt->prev != cp || vt->tail != utf8.n ||
			vt_is_joined(cp, utf8.n, cp, (int)width)) {
			vt->work += 4;
			vt_print(vt, cp);
			n--;
			continue;
		}
		if (k > n)
			k = n;
		vt_repeat_in_row(vt, cp, width, utf8, k);
		n -= k;
	}
}

/* --- Erasing and editing --- */

void vt_erase(struct vt *vt, unsigned y, size_t from, size_t to)
{
	struct row *row = vt_find_row(vt->screen, y);

	if (!row || from >= vt_row_columns(row))
		return;
	vt_touch_row(vt, row);
	if (from == 0 && to >= vt_row_columns(row)) {
		vt_row_clear(vt, row);
		return;
	}
	if (to >= vt_row_columns(row))
		row->wrapped = false;
	if (vt_row_open(vt, row))
		vt_cells_erase(vt, row, from, to);
}

void vt_erase_rows(struct vt *vt, unsigned from, unsigned to)
{
	struct screen *s = vt->screen;

	if (to >= vt_count_rows(s)) {
		if (from < vt_count_rows(s))
			vt_rows_truncate(vt, s, s->rows.top + from);
		return;
	}
	vt_unwrap_above(vt, from);
	if (from < to)
		vt_clear_rows(vt, vt_find_row(s, from), to - from);
}

void vt_align(struct vt *vt)
{
	struct screen *s = vt->screen;

	vt_unwrap_above(vt, 0);
	if (!vt_ensure_rows(vt, VT_ROWS))
		return;
	for (unsigned y = 0; y < VT_ROWS; y++) {
		vt_row_align(vt, vt_find_row(s, y));
		vt_touch_row(vt, vt_find_row(s, y));
	}
}

void vt_erase_history(struct vt *vt)
{
	uint64_t lost = vt->lost;

	while (vt->main.rows.top > 0)
		vt_rows_drop(vt);
	/* The program has erased these rows, so they do not count as lost. */
	vt->lost = lost;
}

struct row *vt_edit_row(struct vt *vt)
{
	struct screen *s = vt->screen;
	struct row *row = vt_find_row(s, s->at.y);

	if (!row || s->at.x >= vt_row_columns(row) || !vt_row_open(vt, row))
		return NULL;
	vt_touch_row(vt, row);
	return row;
}
