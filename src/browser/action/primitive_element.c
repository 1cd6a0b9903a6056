/* Primitives that point at an element, or press keys in it. */
#include "browser/page/input.h"
#include "browser/page/upload.h"

/* --- Clicks ----------------------------------------------------------------------- */

struct pointer_action {
	const struct button *button; /* NULL: hover only */
	unsigned modifiers;
	int clicks;
};

static int primitive_try_pointer(
	struct action_call *d, struct element *e, void *arg, unsigned nth)
{
	const struct pointer_action *p = arg;
	struct point at;
	struct input in;
	int r = element_find_point(d, e, p->button != NULL, nth, &at);

	if (r)
		return r;
	calllog_add(&d->log, 1, "performing %s action",
		!p->button              ? "hover"
			: p->clicks > 1 ? "dblclick"
					: "click");
	input_init(&in, d);
	input_press_modifiers(&in, p->modifiers);
	input_move_mouse(&in, at);
	for (int i = 1; p->button && i <= p->clicks; i++) {
		input_press_button(&in, p->button, i);
		input_release_button(&in, p->button, i);
	}
	input_release_modifiers(&in, p->modifiers);
	return input_wait(&in);
}

/* Reads the modifiers, after the element is found: an unknown bid is reported first. */
static int primitive_read_modifiers(
	struct action_call *d, const struct value *v, unsigned *out)
{
	size_t i = 0;

	*out = 0;
	if (!action_call_has_value(v))
		return 0;
	if (v->kind != VALUE_LIST && v->kind != VALUE_TUPLE)
		return action_call_refuse(d,
			"Error: %s: modifiers: expected array, got %s", d->api,
			action_call_js_type(v));
	for (const struct value *one = v->first; one; one = one->next, i++) {
		unsigned bit =
			one->kind == VALUE_STRING ? input_find_modifier(one->text) : 0;

		if (!bit)
			return action_call_refuse(d,
				"Error: %s: modifiers[%zu]: expected one of "
				"(Alt|Control|ControlOrMeta|Meta|Shift)",
				d->api, i);
		*out |= bit;
	}
	return 0;
}

static int primitive_click_times(
	struct action_call *d, const struct value *const *values, int clicks)
{
	struct pointer_action p = {.clicks = clicks};
	struct element e;
	int r = element_find(d, values[0], &e);

	if (!r)
		r = input_read_button(d, values[1], &p.button);
	if (!r)
		r = primitive_read_modifiers(d, values[2], &p.modifiers);
	if (!r)
		r = element_retry(d, &e, clicks > 1 ? "dblclick" : "click",
			primitive_try_pointer, &p);
	return element_end(d, &e, r);
}

int primitive_click(struct action_call *d, const struct value *const *values)
{
	return primitive_click_times(d, values, 1);
}

int primitive_dblclick(struct action_call *d, const struct value *const *values)
{
	return primitive_click_times(d, values, 2);
}

int primitive_hover(struct action_call *d, const struct value *const *values)
{
	struct pointer_action p = {.button = NULL};
	struct element e;
	int r = element_find(d, values[0], &e);

	if (!r)
		r = element_retry(d, &e, "hover", primitive_try_pointer, &p);
	return element_end(d, &e, r);
}

/* --- Dragging --------------------------------------------------------------------- */

static int primitive_try_locate(
	struct action_call *d, struct element *e, void *arg, unsigned nth)
{
	return element_find_point(d, e, false, nth, arg);
}

static int primitive_press_at(struct action_call *d, struct point at)
{
	struct input in;

	input_init(&in, d);
	input_move_mouse(&in, at);
	input_press_button(&in, input_find_button(STR("left")), 1);
	return input_wait(&in);
}

/*
 * With the button pressed: drags to the other element. If that fails, releases the
 * button where the mouse is.
 */
static int primitive_drag_to(
	struct action_call *d, const struct element *from, const struct value *bid)
{
	struct point at = {0, 0};
	struct element to;
	struct input in;
	int r;

	action_call_begin(d);
	r = element_find(d, bid, &to);
	if (!r)
		r = element_retry(d, &to, "hover", primitive_try_locate, &at);
	r = element_end(d, &to, r);
	if (!r)
		return input_drop_drag(d, from, at);
	input_init(&in, d);
	input_release_button(&in, input_find_button(STR("left")), 1);
	return input_wait(&in) == ERR_CLOSED ? ERR_CLOSED : r;
}

int primitive_drag_and_drop(struct action_call *d, const struct value *const *values)
{
	struct point at = {0, 0};
	struct element from;
	int r = element_find(d, values[0], &from);

	if (!r)
		r = element_retry(d, &from, "hover", primitive_try_locate, &at);
	if (!r)
		r = primitive_press_at(d, at);
	if (!r)
		r = primitive_drag_to(d, &from, values[1]);
	return element_end(d, &from, r);
}

/* --- Keys ------------------------------------------------------------------------- */

int primitive_press(struct action_call *d, const struct value *const *values)
{
	struct element e;
	struct str keys, word;
	int r = element_find(d, values[0], &e);

	if (!r)
		r = action_call_read_str(d, "key", values[1], &keys);
	if (!r)
		r = element_call_strings(d, &e, &word, "focus", "caret", (char *)NULL);
	if (!r) {
		calllog_add(&d->log, 0, "elementHandle.press(\"%.*s\")", STR_ARG(keys));
		r = input_press_keys(d, keys);
	}
	return element_end(d, &e, r);
}

int primitive_focus(struct action_call *d, const struct value *const *values)
{
	struct element e;
	struct str word;
	int r = element_find(d, values[0], &e);

	if (!r)
		r = element_call_strings(d, &e, &word, "focus", (char *)NULL);
	return element_end(d, &e, r);
}

/* --- Files ------------------------------------------------------------------------ */

int primitive_upload_file(struct action_call *d, const struct value *const *values)
{
	struct pointer_action p = {.button = input_find_button(STR("left")), .clicks = 1};
	unsigned before = d->tab->choosers;
	struct element e;
	int r = element_find(d, values[0], &e);

	if (!r)
		r = upload_check_files(d, values[1]);
	if (!r)
		r = element_retry(d, &e, "click", primitive_try_pointer, &p);
	r = element_end(d, &e, r);
	return r ? r : upload_finish_chooser(d, before, values[1]);
}
