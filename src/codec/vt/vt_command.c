/* Controls and escape sequences (ECMA-48 and additions of xterm). */
#include "codec/vt/vt_impl.h"

static unsigned vt_min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Parameter i; if it is left out or 0, the value is other. */
static unsigned vt_get_param(const struct vt *vt, unsigned i, unsigned other)
{
	unsigned v = i <= vt->seq.n ? vt->seq.param[i] : 0;

	return v ? v : other;
}

/* --- The cursor --- */

static void vt_set_column(struct vt *vt, unsigned x)
{
	vt->screen->at.x = vt_min(x, VT_COLUMNS - 1);
}

/* Moves to row y, counted from the scroll region's first row in origin mode. */
static void vt_set_row(struct vt *vt, unsigned y)
{
	struct screen *s = vt->screen;

	if (vt->modes & MODE_ORIGIN)
		s->at.y = vt_min(s->above + y, s->below);
	else
		s->at.y = vt_min(y, VT_ROWS - 1);
}

static void vt_move_home(struct vt *vt)
{
	vt_set_row(vt, 0);
	vt_set_column(vt, 0);
}

/* Vertical moves end at the scroll region's edge if they begin inside of it. */
static void vt_move_up(struct vt *vt)
{
	struct screen *s = vt->screen;
	unsigned limit = s->at.y < s->above ? 0 : s->above;

	s->at.y -= vt_min(vt_get_param(vt, 0, 1), s->at.y - limit);
	vt_set_column(vt, s->at.x);
}

static void vt_move_down(struct vt *vt)
{
	struct screen *s = vt->screen;
	unsigned limit = s->at.y > s->below ? VT_ROWS - 1 : s->below;

	s->at.y += vt_min(vt_get_param(vt, 0, 1), limit - s->at.y);
	vt_set_column(vt, s->at.x);
}

static void vt_move_forward(struct vt *vt)
{
	vt_set_column(vt, vt->screen->at.x + vt_get_param(vt, 0, 1));
}

static void vt_move_back(struct vt *vt)
{
	vt->screen->at.x -= vt_min(vt_get_param(vt, 0, 1), vt->screen->at.x);
}

static void vt_move_next_line(struct vt *vt)
{
	vt_move_down(vt);
	vt_set_column(vt, 0);
}

static void vt_move_prev_line(struct vt *vt)
{
	vt_move_up(vt);
	vt_set_column(vt, 0);
}

static void vt_move_column(struct vt *vt)
{
	vt_set_column(vt, vt_get_param(vt, 0, 1) - 1);
}

static void vt_move_row(struct vt *vt)
{
	vt_set_row(vt, vt_get_param(vt, 0, 1) - 1);
	vt_set_column(vt, vt->screen->at.x);
}

static void vt_move_position(struct vt *vt)
{
	vt_set_row(vt, vt_get_param(vt, 0, 1) - 1);
	vt_set_column(vt, vt_get_param(vt, 1, 1) - 1);
}

static void vt_set_stop(struct vt *vt, unsigned x, bool on)
{
	uint64_t bit;

	x = vt_min(x, VT_COLUMNS - 1);
	bit = (uint64_t)1 << x % 64;
	vt->stops[x / 64] = on ? vt->stops[x / 64] | bit : vt->stops[x / 64] & ~bit;
}

static void vt_set_default_stops(struct vt *vt)
{
	memset(vt->stops, 0x01, sizeof(vt->stops));
}

/* The first tab stop after column x, else the last column. */
static unsigned vt_find_next_stop(const struct vt *vt, unsigned x)
{
	for (x++; x < VT_COLUMNS; x = (x / 64 + 1) * 64) {
		uint64_t rest = vt->stops[x / 64] >> x % 64;

		if (rest)
			return vt_min(
				x + (unsigned)__builtin_ctzll(rest), VT_COLUMNS - 1);
	}
	return VT_COLUMNS - 1;
}

/* The last tab stop before column x, else the first column. */
static unsigned vt_find_prev_stop(const struct vt *vt, unsigned x)
{
	for (; x > 0; x = (x - 1) / 64 * 64) {
		uint64_t rest = vt->stops[(x - 1) / 64] << (63 - (x - 1) % 64);

		if (rest)
			return x - 1 - (unsigned)__builtin_clzll(rest);
	}
	return 0;
}

static void vt_advance_tabs(struct vt *vt, unsigned n)
{
	unsigned x = vt->screen->at.x;

	/* A cursor that waits to wrap stays where it is. */
	for (; n && x < VT_COLUMNS - 1; n--, vt->work++)
		x = vt_find_next_stop(vt, x);
	vt->screen->at.x = x;
}

static void vt_tab_forward(struct vt *vt)
{
	vt_advance_tabs(vt, vt_get_param(vt, 0, 1));
}

static void vt_tab_backward(struct vt *vt)
{
	unsigned x = vt->screen->at.x;

	for (unsigned n = vt_get_param(vt, 0, 1); n && x > 0; n--, vt->work++)
		x = vt_find_prev_stop(vt, x);
	vt->screen->at.x = x;
}

static void vt_clear_stops(struct vt *vt)
{
	if (vt_get_param(vt, 0, 0) == 0)
		vt_set_stop(vt, vt->screen->at.x, false);
	else if (vt_get_param(vt, 0, 0) == 3)
		memset(vt->stops, 0, sizeof(vt->stops));
}

static void vt_backspace(struct vt *vt)
{
	struct screen *s = vt->screen;
	size_t above = s->rows.top + s->at.y;

	if (s->at.x > 0) {
		s->at.x--;
		return;
	}
	/* Moves back into a line that was wrapped, as line editors expect. */
	if (s->at.y > 0 && above <= s->rows.n &&
		vt_row_at(&s->rows, above - 1)->wrapped) {
		s->at.y--;
		s->at.x = VT_COLUMNS - 1;
	}
}

static void vt_save_cursor(struct vt *vt)
{
	vt->screen->saved_at = vt->screen->at;
	vt->screen->saved_sets = vt->sets;
	vt->screen->saved_modes = vt->modes;
}

static void vt_restore_cursor(struct vt *vt)
{
	vt->screen->at = vt->screen->saved_at;
	vt->sets = vt->screen->saved_sets;
	vt->modes = (vt->modes & ~(unsigned)MODE_ORIGIN) |
		(vt->screen->saved_modes & MODE_ORIGIN);
}

/* --- Erasing, inserting, deleting --- */

static void vt_erase_display(struct vt *vt)
{
	struct cursor at = vt->screen->at;

	switch (vt_get_param(vt, 0, 0)) {
	case 0:
		vt_erase(vt, at.y, at.x, VT_COLUMNS);
		vt_erase_rows(vt, at.x ? at.y + 1 : at.y, VT_ROWS);
		break;
	case 1:
		vt_erase_rows(vt, 0, at.y);
		vt_erase(vt, at.y, 0, at.x + 1);
		break;
	case 2:
		vt_erase_rows(vt, 0, VT_ROWS);
		break;
	case 3:
		vt_erase_history(vt);
		break;
	}
}

static void vt_erase_line(struct vt *vt)
{
	struct cursor at = vt->screen->at;
	unsigned what = vt_get_param(vt, 0, 0);

	if (what <= 2)
		vt_erase(vt, at.y, what == 0 ? at.x : 0,
			what == 1 ? at.x + 1 : VT_COLUMNS);
}

static void vt_erase_chars(struct vt *vt)
{
	struct cursor at = vt->screen->at;

	vt_erase(vt, at.y, at.x, at.x + vt_get_param(vt, 0, 1));
}

static void vt_insert_chars(struct vt *vt)
{
	struct row *r = vt_edit_row(vt);

	if (!r)
		return;
	/* The part of the line in the next row is pushed out. */
	r->wrapped = false;
	vt_cells_insert(vt, r, vt->screen->at.x, vt_get_param(vt, 0, 1));
}

static void vt_delete_chars(struct vt *vt)
{
	struct row *r = vt_edit_row(vt);

	if (!r)
		return;
	r->wrapped = false;
	vt_cells_delete(vt, r, vt->screen->at.x, vt_get_param(vt, 0, 1));
}

static bool vt_is_in_region(const struct screen *s)
{
	return s->at.y >= s->above && s->at.y <= s->below;
}

static void vt_insert_lines(struct vt *vt)
{
	struct screen *s = vt->screen;

	if (vt_is_in_region(s))
		vt_insert_rows(vt, s->at.y, vt_get_param(vt, 0, 1));
}

static void vt_delete_lines(struct vt *vt)
{
	struct screen *s = vt->screen;

	if (vt_is_in_region(s))
		vt_delete_rows(vt, s->at.y, vt_get_param(vt, 0, 1));
}

static void vt_scroll_up(struct vt *vt)
{
	vt_scroll(vt, vt_get_param(vt, 0, 1));
}

static void vt_scroll_down(struct vt *vt)
{
	/* With five parameters the sequence is about the mouse. */
	if (vt->seq.n == 0)
		vt_insert_rows(vt, vt->screen->above, vt_get_param(vt, 0, 1));
}

static void vt_reverse_index(struct vt *vt)
{
	struct screen *s = vt->screen;

	if (s->at.y == s->above)
		vt_insert_rows(vt, s->above, 1);
	else if (s->at.y > 0)
		s->at.y--;
}

static void vt_repeat_char(struct vt *vt)
{
	unsigned x = vt_min(vt->screen->at.x, VT_COLUMNS - 1);

	if (vt->last)
		vt_print_repeat(
			vt, vt->last, vt_min(vt_get_param(vt, 0, 1), VT_COLUMNS - x));
}

/* --- Modes --- */

static void vt_set_region(struct vt *vt)
{
	struct screen *s = vt->screen;
	unsigned first = vt_get_param(vt, 0, 1),
		 last = vt_min(vt_get_param(vt, 1, VT_ROWS), VT_ROWS);

	if (first >= last)
		return;
	s->above = first - 1;
	s->below = last - 1;
	vt_move_home(vt);
}

static void vt_init_screen(struct screen *s)
{
	s->above = 0;
	s->below = VT_ROWS - 1;
	s->at = s->saved_at = (struct cursor){0};
	s->saved_sets = (struct charsets){0};
	s->saved_modes = 0;
}

static void vt_leave_alternate(struct vt *vt)
{
	if (vt->screen == &vt->main)
		return;
	vt->main.at = vt->alt.at;
	vt_rows_free(vt, &vt->alt);
	vt->screen = &vt->main;
}

static void vt_enter_alternate(struct vt *vt)
{
	vt_init_screen(&vt->alt);
	vt->alt.at = vt->main.at;
	vt->screen = &vt->alt;
}

static void vt_set_mode(struct vt *vt, unsigned bit, bool on)
{
	vt->modes = (on ? vt->modes | bit : vt->modes & ~bit) | vt->fixed_modes;
}

/* Only mode 1049 keeps the cursor of the main screen. */
static void vt_switch_screen(struct vt *vt, bool on, bool keep)
{
	bool change = on == (vt->screen == &vt->main);

	if (!change)
		return;
	if (on && keep)
		vt_save_cursor(vt);
	(on ? vt_enter_alternate : vt_leave_alternate)(vt);
	if (!on && keep)
		vt_restore_cursor(vt);
}

static void vt_set_private_mode(struct vt *vt, unsigned mode, bool on)
{
	switch (mode) {
	case 6:
		vt_set_mode(vt, MODE_ORIGIN, on);
		vt_move_home(vt);
		break;
	case 7:
		vt_set_mode(vt, MODE_NO_WRAP, !on);
		/* No wrap is pending now. */
		vt_set_column(vt, vt->screen->at.x);
		break;
	case 47:
	case 1047:
	case 1049:
		vt_switch_screen(vt, on, mode == 1049);
		break;
	case 1048:
		(on ? vt_save_cursor : vt_restore_cursor)(vt);
		break;
	}
}

static void vt_set_modes(struct vt *vt, bool on)
{
	for (unsigned i = 0; i <= vt->seq.n; i++) {
		if (vt->seq.prefix == '?')
			vt_set_private_mode(vt, vt->seq.param[i], on);
		else if (vt->seq.param[i] == 4)
			vt_set_mode(vt, MODE_INSERT, on);
		else if (vt->seq.param[i] == 20)
			vt_set_mode(vt, MODE_NEWLINE, on);
	}
}

static void vt_set_modes_on(struct vt *vt)
{
	vt_set_modes(vt, true);
}

static void vt_set_modes_off(struct vt *vt)
{
	vt_set_modes(vt, false);
}

void vt_set_defaults(struct vt *vt)
{
	vt_leave_alternate(vt);
	vt_init_screen(&vt->main);
	vt->sets = (struct charsets){0};
	vt->modes = vt->fixed_modes;
	vt->last = 0;
	vt_set_default_stops(vt);
}

/* As the reset of a terminal before a session; the screen's content stays. */
static void vt_soft_reset(struct vt *vt)
{
	struct cursor at = vt->screen->at;

	vt_init_screen(vt->screen);
	vt->screen->at = at;
	vt->sets = (struct charsets){0};
	vt->modes = vt->fixed_modes;
}

static void vt_run_align(struct vt *vt)
{
	vt_init_screen(vt->screen);
	vt->modes &= ~(unsigned)MODE_ORIGIN;
	vt_align(vt);
}

/* --- Dispatch --- */

void vt_run_control(struct vt *vt, unsigned char c)
{
	switch (c) {
	case '\b':
		vt_backspace(vt);
		break;
	case '\t':
		vt_advance_tabs(vt, 1);
		break;
	case '\n':
	case '\v':
	case '\f':
		if (vt->modes & MODE_NEWLINE)
			vt->screen->at.x = 0;
		vt_linefeed(vt);
		break;
	case '\r':
		vt->screen->at.x = 0;
		break;
	case 0x0e:
	case 0x0f:
		vt->sets.shift = c == 0x0e;
		break;
	default:
		return;
	}
	vt->tail = 0;
}

/* ESC ( or ESC ) and a letter: G0 or G1 becomes line drawing, or text again. */
static void vt_select_charset(struct vt *vt, char final)
{
	unsigned bit = vt->seq.intermediate == ')' ? 2 : 1;

	if (vt->seq.intermediate != '(' && vt->seq.intermediate != ')')
		return;
	vt->sets.drawing = (uint8_t)(vt->sets.drawing & ~bit);
	if (final == '0')
		vt->sets.drawing = (uint8_t)(vt->sets.drawing | bit);
}

void vt_run_escape(struct vt *vt, char final)
{
	if (vt->seq.intermediate == '#' && final == '8')
		vt_run_align(vt);
	if (vt->seq.intermediate) {
		vt_select_charset(vt, final);
		return;
	}
	vt->tail = 0;
	switch (final) {
	case '7':
		vt_save_cursor(vt);
		break;
	case '8':
		vt_restore_cursor(vt);
		break;
	case 'E':
		vt->screen->at.x = 0;
		vt_linefeed(vt);
		break;
	case 'D':
		vt_linefeed(vt);
		break;
	case 'H':
		vt_set_stop(vt, vt->screen->at.x, true);
		break;
	case 'M':
		vt_reverse_index(vt);
		break;
	case 'c':
		vt_set_defaults(vt);
		vt_erase_rows(vt, 0, VT_ROWS);
		break;
	}
}

typedef void command_fn(struct vt *vt);

static command_fn *const commands[128] = {
	['@'] = vt_insert_chars,
	['A'] = vt_move_up,
	['B'] = vt_move_down,
	['C'] = vt_move_forward,
	['D'] = vt_move_back,
	['E'] = vt_move_next_line,
	['F'] = vt_move_prev_line,
	['G'] = vt_move_column,
	['H'] = vt_move_position,
	['I'] = vt_tab_forward,
	['J'] = vt_erase_display,
	['K'] = vt_erase_line,
	['L'] = vt_insert_lines,
	['M'] = vt_delete_lines,
	['P'] = vt_delete_chars,
	['S'] = vt_scroll_up,
	['T'] = vt_scroll_down,
	['X'] = vt_erase_chars,
	['Z'] = vt_tab_backward,
	['`'] = vt_move_column,
	['a'] = vt_move_forward,
	['b'] = vt_repeat_char,
	['d'] = vt_move_row,
	['e'] = vt_move_down,
	['f'] = vt_move_position,
	['g'] = vt_clear_stops,
	['h'] = vt_set_modes_on,
	['l'] = vt_set_modes_off,
	['r'] = vt_set_region,
	['s'] = vt_save_cursor,
	['u'] = vt_restore_cursor,
};

void vt_run_csi(struct vt *vt, char final)
{
	command_fn *fn = commands[final & 0x7f];
	bool mode = final == 'h' || final == 'l';

	if (vt->seq.intermediate == '!' && final == 'p' && !vt->seq.prefix)
		vt_soft_reset(vt);
	if (!fn || vt->seq.intermediate ||
		(vt->seq.prefix && !(mode && vt->seq.prefix == '?')))
		return;
	vt->tail = 0;
	fn(vt);
}
