/* Controls and escape sequences (ECMA-48 and additions of xterm). */
#include "codec/vt/vt_impl.h"

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Parameter i; if it is left out or 0, the value is other. */
static unsigned param(const struct vt *vt, unsigned i, unsigned other)
{
	unsigned v = i <= vt->seq.n ? vt->seq.param[i] : 0;

	return v ? v : other;
}

/* --- The cursor --- */

static void to_column(struct vt *vt, unsigned x)
{
	vt->screen->at.x = least(x, VT_COLUMNS - 1);
}

/* Moves to row y, counted from the scroll region's first row in origin mode. */
static void to_row(struct vt *vt, unsigned y)
{
	struct screen *s = vt->screen;

	if (vt->modes & MODE_ORIGIN)
		s->at.y = least(s->above + y, s->below);
	else
		s->at.y = least(y, VT_ROWS - 1);
}

static void home(struct vt *vt)
{
	to_row(vt, 0);
	to_column(vt, 0);
}

/* Vertical moves end at the scroll region's edge if they begin inside of it. */
static void up(struct vt *vt)
{
	struct screen *s = vt->screen;
	unsigned limit = s->at.y < s->above ? 0 : s->above;

	s->at.y -= least(param(vt, 0, 1), s->at.y - limit);
	to_column(vt, s->at.x);
}

static void down(struct vt *vt)
{
	struct screen *s = vt->screen;
	unsigned limit = s->at.y > s->below ? VT_ROWS - 1 : s->below;

	s->at.y += least(param(vt, 0, 1), limit - s->at.y);
	to_column(vt, s->at.x);
}

static void forward(struct vt *vt)
{
	to_column(vt, vt->screen->at.x + param(vt, 0, 1));
}

static void back(struct vt *vt)
{
	vt->screen->at.x -= least(param(vt, 0, 1), vt->screen->at.x);
}

static void next_line(struct vt *vt)
{
	down(vt);
	to_column(vt, 0);
}

static void previous_line(struct vt *vt)
{
	up(vt);
	to_column(vt, 0);
}

static void column(struct vt *vt)
{
	to_column(vt, param(vt, 0, 1) - 1);
}

static void row(struct vt *vt)
{
	to_row(vt, param(vt, 0, 1) - 1);
	to_column(vt, vt->screen->at.x);
}

static void position(struct vt *vt)
{
	to_row(vt, param(vt, 0, 1) - 1);
	to_column(vt, param(vt, 1, 1) - 1);
}

static void set_stop(struct vt *vt, unsigned x, bool on)
{
	uint64_t bit;

	x = least(x, VT_COLUMNS - 1);
	bit = (uint64_t)1 << x % 64;
	vt->stops[x / 64] = on ? vt->stops[x / 64] | bit : vt->stops[x / 64] & ~bit;
}

static void default_stops(struct vt *vt)
{
	memset(vt->stops, 0x01, sizeof(vt->stops));
}

/* The first tab stop after column x, else the last column. */
static unsigned stop_after(const struct vt *vt, unsigned x)
{
	for (x++; x < VT_COLUMNS; x = (x / 64 + 1) * 64) {
		uint64_t rest = vt->stops[x / 64] >> x % 64;

		if (rest)
			return least(x + (unsigned)__builtin_ctzll(rest), VT_COLUMNS - 1);
	}
	return VT_COLUMNS - 1;
}

/* The last tab stop before column x, else the first column. */
static unsigned stop_before(const struct vt *vt, unsigned x)
{
	for (; x > 0; x = (x - 1) / 64 * 64) {
		uint64_t rest = vt->stops[(x - 1) / 64] << (63 - (x - 1) % 64);

		if (rest)
			return x - 1 - (unsigned)__builtin_clzll(rest);
	}
	return 0;
}

static void tab(struct vt *vt, unsigned n)
{
	unsigned x = vt->screen->at.x;

	/* A cursor that waits to wrap stays where it is. */
	for (; n && x < VT_COLUMNS - 1; n--, vt->work++)
		x = stop_after(vt, x);
	vt->screen->at.x = x;
}

static void tabs(struct vt *vt)
{
	tab(vt, param(vt, 0, 1));
}

static void back_tabs(struct vt *vt)
{
	unsigned x = vt->screen->at.x;

	for (unsigned n = param(vt, 0, 1); n && x > 0; n--, vt->work++)
		x = stop_before(vt, x);
	vt->screen->at.x = x;
}

static void clear_stops(struct vt *vt)
{
	if (param(vt, 0, 0) == 0)
		set_stop(vt, vt->screen->at.x, false);
	else if (param(vt, 0, 0) == 3)
		memset(vt->stops, 0, sizeof(vt->stops));
}

static void backspace(struct vt *vt)
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

static void save(struct vt *vt)
{
	vt->screen->saved_at = vt->screen->at;
	vt->screen->saved_sets = vt->sets;
	vt->screen->saved_modes = vt->modes;
}

static void restore(struct vt *vt)
{
	vt->screen->at = vt->screen->saved_at;
	vt->sets = vt->screen->saved_sets;
	vt->modes = (vt->modes & ~(unsigned)MODE_ORIGIN) |
		(vt->screen->saved_modes & MODE_ORIGIN);
}

/* --- Erasing, inserting, deleting --- */

static void erase_display(struct vt *vt)
{
	struct cursor at = vt->screen->at;

	switch (param(vt, 0, 0)) {
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

static void erase_line(struct vt *vt)
{
	struct cursor at = vt->screen->at;
	unsigned what = param(vt, 0, 0);

	if (what <= 2)
		vt_erase(vt, at.y, what == 0 ? at.x : 0,
			what == 1 ? at.x + 1 : VT_COLUMNS);
}

static void erase_chars(struct vt *vt)
{
	struct cursor at = vt->screen->at;

	vt_erase(vt, at.y, at.x, at.x + param(vt, 0, 1));
}

static void insert_chars(struct vt *vt)
{
	struct row *r = vt_edit_row(vt);

	if (!r)
		return;
	/* The part of the line in the next row is pushed out. */
	r->wrapped = false;
	vt_cells_insert(vt, r, vt->screen->at.x, param(vt, 0, 1));
}

static void delete_chars(struct vt *vt)
{
	struct row *r = vt_edit_row(vt);

	if (!r)
		return;
	r->wrapped = false;
	vt_cells_delete(vt, r, vt->screen->at.x, param(vt, 0, 1));
}

static bool in_region(const struct screen *s)
{
	return s->at.y >= s->above && s->at.y <= s->below;
}

static void insert_lines(struct vt *vt)
{
	struct screen *s = vt->screen;

	if (in_region(s))
		vt_insert_rows(vt, s->at.y, param(vt, 0, 1));
}

static void delete_lines(struct vt *vt)
{
	struct screen *s = vt->screen;

	if (in_region(s))
		vt_delete_rows(vt, s->at.y, param(vt, 0, 1));
}

static void scroll_up(struct vt *vt)
{
	vt_scroll(vt, param(vt, 0, 1));
}

static void scroll_down(struct vt *vt)
{
	/* With five parameters the sequence is about the mouse. */
	if (vt->seq.n == 0)
		vt_insert_rows(vt, vt->screen->above, param(vt, 0, 1));
}

static void reverse_index(struct vt *vt)
{
	struct screen *s = vt->screen;

	if (s->at.y == s->above)
		vt_insert_rows(vt, s->above, 1);
	else if (s->at.y > 0)
		s->at.y--;
}

static void repeat(struct vt *vt)
{
	unsigned x = least(vt->screen->at.x, VT_COLUMNS - 1);

	if (vt->last)
		vt_print_repeat(vt, vt->last, least(param(vt, 0, 1), VT_COLUMNS - x));
}

/* --- Modes --- */

static void region(struct vt *vt)
{
	struct screen *s = vt->screen;
	unsigned first = param(vt, 0, 1), last = least(param(vt, 1, VT_ROWS), VT_ROWS);

	if (first >= last)
		return;
	s->above = first - 1;
	s->below = last - 1;
	home(vt);
}

static void screen_init(struct screen *s)
{
	s->above = 0;
	s->below = VT_ROWS - 1;
	s->at = s->saved_at = (struct cursor){0};
	s->saved_sets = (struct charsets){0};
	s->saved_modes = 0;
}

static void leave_alternate(struct vt *vt)
{
	if (vt->screen == &vt->main)
		return;
	vt->main.at = vt->alt.at;
	vt_rows_free(vt, &vt->alt);
	vt->screen = &vt->main;
}

static void enter_alternate(struct vt *vt)
{
	screen_init(&vt->alt);
	vt->alt.at = vt->main.at;
	vt->screen = &vt->alt;
}

static void set_mode(struct vt *vt, unsigned bit, bool on)
{
	vt->modes = (on ? vt->modes | bit : vt->modes & ~bit) | vt->standing;
}

/* Only mode 1049 keeps the cursor of the main screen. */
static void alternate(struct vt *vt, bool on, bool keep)
{
	bool change = on == (vt->screen == &vt->main);

	if (!change)
		return;
	if (on && keep)
		save(vt);
	(on ? enter_alternate : leave_alternate)(vt);
	if (!on && keep)
		restore(vt);
}

static void private_mode(struct vt *vt, unsigned mode, bool on)
{
	switch (mode) {
	case 6:
		set_mode(vt, MODE_ORIGIN, on);
		home(vt);
		break;
	case 7:
		set_mode(vt, MODE_NO_WRAP, !on);
		/* No wrap is pending now. */
		to_column(vt, vt->screen->at.x);
		break;
	case 47:
	case 1047:
	case 1049:
		alternate(vt, on, mode == 1049);
		break;
	case 1048:
		(on ? save : restore)(vt);
		break;
	}
}

static void modes(struct vt *vt, bool on)
{
	for (unsigned i = 0; i <= vt->seq.n; i++) {
		if (vt->seq.prefix == '?')
			private_mode(vt, vt->seq.param[i], on);
		else if (vt->seq.param[i] == 4)
			set_mode(vt, MODE_INSERT, on);
		else if (vt->seq.param[i] == 20)
			set_mode(vt, MODE_NEWLINE, on);
	}
}

static void modes_on(struct vt *vt)
{
	modes(vt, true);
}

static void modes_off(struct vt *vt)
{
	modes(vt, false);
}

void vt_defaults(struct vt *vt)
{
	leave_alternate(vt);
	screen_init(&vt->main);
	vt->sets = (struct charsets){0};
	vt->modes = vt->standing;
	vt->last = 0;
	default_stops(vt);
}

/* As the reset of a terminal before a session; the screen's content stays. */
static void soft_reset(struct vt *vt)
{
	struct cursor at = vt->screen->at;

	screen_init(vt->screen);
	vt->screen->at = at;
	vt->sets = (struct charsets){0};
	vt->modes = vt->standing;
}

static void align(struct vt *vt)
{
	screen_init(vt->screen);
	vt->modes &= ~(unsigned)MODE_ORIGIN;
	vt_align(vt);
}

/* --- Dispatch --- */

void vt_control(struct vt *vt, unsigned char c)
{
	switch (c) {
	case '\b':
		backspace(vt);
		break;
	case '\t':
		tab(vt, 1);
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
static void designate(struct vt *vt, char final)
{
	unsigned bit = vt->seq.more == ')' ? 2 : 1;

	if (vt->seq.more != '(' && vt->seq.more != ')')
		return;
	vt->sets.drawing = (uint8_t)(vt->sets.drawing & ~bit);
	if (final == '0')
		vt->sets.drawing = (uint8_t)(vt->sets.drawing | bit);
}

void vt_escape(struct vt *vt, char final)
{
	if (vt->seq.more == '#' && final == '8')
		align(vt);
	if (vt->seq.more) {
		designate(vt, final);
		return;
	}
	vt->tail = 0;
	switch (final) {
	case '7':
		save(vt);
		break;
	case '8':
		restore(vt);
		break;
	case 'E':
		vt->screen->at.x = 0;
		vt_linefeed(vt);
		break;
	case 'D':
		vt_linefeed(vt);
		break;
	case 'H':
		set_stop(vt, vt->screen->at.x, true);
		break;
	case 'M':
		reverse_index(vt);
		break;
	case 'c':
		vt_defaults(vt);
		vt_erase_rows(vt, 0, VT_ROWS);
		break;
	}
}

typedef void command_fn(struct vt *vt);

static command_fn *const commands[128] = {
	['@'] = insert_chars,
	['A'] = up,
	['B'] = down,
	['C'] = forward,
	['D'] = back,
	['E'] = next_line,
	['F'] = previous_line,
	['G'] = column,
	['H'] = position,
	['I'] = tabs,
	['J'] = erase_display,
	['K'] = erase_line,
	['L'] = insert_lines,
	['M'] = delete_lines,
	['P'] = delete_chars,
	['S'] = scroll_up,
	['T'] = scroll_down,
	['X'] = erase_chars,
	['Z'] = back_tabs,
	['`'] = column,
	['a'] = forward,
	['b'] = repeat,
	['d'] = row,
	['e'] = down,
	['f'] = position,
	['g'] = clear_stops,
	['h'] = modes_on,
	['l'] = modes_off,
	['r'] = region,
	['s'] = save,
	['u'] = restore,
};

void vt_csi(struct vt *vt, char final)
{
	command_fn *fn = commands[final & 0x7f];
	bool mode = final == 'h' || final == 'l';

	if (vt->seq.more == '!' && final == 'p' && !vt->seq.prefix)
		soft_reset(vt);
	if (!fn || vt->seq.more || (vt->seq.prefix && !(mode && vt->seq.prefix == '?')))
		return;
	vt->tail = 0;
	fn(vt);
}
