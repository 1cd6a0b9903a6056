/* Primitives that point at an element, or press keys in it. */
#include "browser/page/input.h"
#include "browser/page/upload.h"

/* --- Clicks ----------------------------------------------------------------------- */

struct pointing {
	const struct button *button; /* NULL: hover only */
	unsigned modifiers;
	int clicks;
};

static int attempt_pointing(struct doing *d, struct element *e, void *arg, unsigned nth)
{
	const struct pointing *p = arg;
	struct point at;
	struct input in;
	int r = element_point(d, e, p->button != NULL, nth, &at);

	if (r)
		return r;
	calllog_add(&d->log, 1, "performing %s action",
		!p->button              ? "hover"
			: p->clicks > 1 ? "dblclick"
					: "click");
	input_init(&in, d);
	input_hold(&in, p->modifiers);
	input_move(&in, at);
	for (int i = 1; p->button && i <= p->clicks; i++) {
		input_press(&in, p->button, i);
		input_release(&in, p->button, i);
	}
	input_let_go(&in, p->modifiers);
	return input_wait(&in);
}

/* Reads the modifiers, after the element is found: an unknown bid is reported first. */
static int read_modifiers(struct doing *d, const struct value *v, unsigned *out)
{
	size_t i = 0;

	*out = 0;
	if (!doing_given(v))
		return 0;
	if (v->kind != VALUE_LIST && v->kind != VALUE_TUPLE)
		return doing_refuse(d, "Error: %s: modifiers: expected array, got %s",
			d->api, doing_typeof(v));
	for (const struct value *one = v->first; one; one = one->next, i++) {
		unsigned bit = one->kind == VALUE_STRING ? modifier_find(one->text) : 0;

		if (!bit)
			return doing_refuse(d,
				"Error: %s: modifiers[%zu]: expected one of "
				"(Alt|Control|ControlOrMeta|Meta|Shift)",
				d->api, i);
		*out |= bit;
	}
	return 0;
}

static int click(struct doing *d, const struct value *const *values, int clicks)
{
	struct pointing p = {.clicks = clicks};
	struct element e;
	int r = element_find(d, values[0], &e);

	if (!r)
		r = input_read_button(d, values[1], &p.button);
	if (!r)
		r = read_modifiers(d, values[2], &p.modifiers);
	if (!r)
		r = element_retry(
			d, &e, clicks > 1 ? "dblclick" : "click", attempt_pointing, &p);
	return element_end(d, &e, r);
}

int primitive_click(struct doing *d, const struct value *const *values)
{
	return click(d, values, 1);
}

int primitive_dblclick(struct doing *d, const struct value *const *values)
{
	return click(d, values, 2);
}

int primitive_hover(struct doing *d, const struct value *const *values)
{
	struct pointing p = {.button = NULL};
	struct element e;
	int r = element_find(d, values[0], &e);

	if (!r)
		r = element_retry(d, &e, "hover", attempt_pointing, &p);
	return element_end(d, &e, r);
}

/* --- Dragging --------------------------------------------------------------------- */

static int attempt_point(struct doing *d, struct element *e, void *arg, unsigned nth)
{
	return element_point(d, e, false, nth, arg);
}

static int press_at(struct doing *d, struct point at)
{
	struct input in;

	input_init(&in, d);
	input_move(&in, at);
	input_press(&in, button_find(STR("left")), 1);
	return input_wait(&in);
}

/*
 * With the button pressed: drags to the other element. If that fails, releases the
 * button where the mouse is.
 */
static int drag_to(struct doing *d, const struct element *from, const struct value *bid)
{
	struct point at = {0, 0};
	struct element to;
	struct input in;
	int r;

	doing_begin(d);
	r = element_find(d, bid, &to);
	if (!r)
		r = element_retry(d, &to, "hover", attempt_point, &at);
	r = element_end(d, &to, r);
	if (!r)
		return input_drop(d, from, at);
	input_init(&in, d);
	input_release(&in, button_find(STR("left")), 1);
	return input_wait(&in) == ERR_CLOSED ? ERR_CLOSED : r;
}

int primitive_drag_and_drop(struct doing *d, const struct value *const *values)
{
	struct point at = {0, 0};
	struct element from;
	int r = element_find(d, values[0], &from);

	if (!r)
		r = element_retry(d, &from, "hover", attempt_point, &at);
	if (!r)
		r = press_at(d, at);
	if (!r)
		r = drag_to(d, &from, values[1]);
	return element_end(d, &from, r);
}

/* --- Keys ------------------------------------------------------------------------- */

int primitive_press(struct doing *d, const struct value *const *values)
{
	struct element e;
	struct str keys, word;
	int r = element_find(d, values[0], &e);

	if (!r)
		r = doing_string(d, "key", values[1], &keys);
	if (!r)
		r = element_ask(d, &e, &word, "focus", "caret", (char *)NULL);
	if (!r) {
		calllog_add(&d->log, 0, "elementHandle.press(\"%.*s\")", STR_ARG(keys));
		r = input_combination(d, keys);
	}
	return element_end(d, &e, r);
}

int primitive_focus(struct doing *d, const struct value *const *values)
{
	struct element e;
	struct str word;
	int r = element_find(d, values[0], &e);

	if (!r)
		r = element_ask(d, &e, &word, "focus", (char *)NULL);
	return element_end(d, &e, r);
}

/* --- Files ------------------------------------------------------------------------ */

int primitive_upload_file(struct doing *d, const struct value *const *values)
{
	struct pointing p = {.button = button_find(STR("left")), .clicks = 1};
	unsigned before = d->tab->choosers;
	struct element e;
	int r = element_find(d, values[0], &e);

	if (!r)
		r = upload_check(d, values[1]);
	if (!r)
		r = element_retry(d, &e, "click", attempt_pointing, &p);
	r = element_end(d, &e, r);
	return r ? r : upload_finish(d, before, values[1]);
}
