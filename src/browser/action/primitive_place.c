/* Primitives for coordinates and keys. They use no elements. */
#include "browser/page/input.h"
#include "browser/page/upload.h"

#include "base/utf8.h"

/* --- The mouse -------------------------------------------------------------------- */

static int primitive_read_point(struct action_call *d, const char *x, const char *y,
	const struct value *const *values, struct point *out)
{
	const char *api = d->api;
	int r;

	d->api = "Mouse.move";
	r = action_call_read_double(d, x, values[0], &out->x);
	if (!r)
		r = action_call_read_double(d, y, values[1], &out->y);
	d->api = api;
	return r;
}

/* Moves the mouse; then presses (down) and releases (released) so many times. */
static int primitive_send_mouse(struct action_call *d, const struct value *const *values,
	int times, bool down, bool released)
{
	const struct button *button = NULL;
	struct point at;
	struct input in;
	int r = primitive_read_point(d, "x", "y", values, &at);

	if (!r)
		r = input_read_button(d, times ? values[2] : NULL, &button);
	if (r)
		return r;
	input_init(&in, d);
	input_move_mouse(&in, at);
	for (int i = 1; i <= times; i++) {
		if (down)
			input_press_button(&in, button, i);
		if (released)
			input_release_button(&in, button, i);
	}
	return input_wait(&in);
}

int primitive_mouse_move(struct action_call *d, const struct value *const *values)
{
	return primitive_send_mouse(d, values, 0, false, false);
}

int primitive_mouse_up(struct action_call *d, const struct value *const *values)
{
	return primitive_send_mouse(d, values, 1, false, true);
}

int primitive_mouse_down(struct action_call *d, const struct value *const *values)
{
	return primitive_send_mouse(d, values, 1, true, false);
}

int primitive_mouse_click(struct action_call *d, const struct value *const *values)
{
	return primitive_send_mouse(d, values, 1, true, true);
}

int primitive_mouse_dblclick(struct action_call *d, const struct value *const *values)
{
	return primitive_send_mouse(d, values, 2, true, true);
}

int primitive_mouse_drag_and_drop(
	struct action_call *d, const struct value *const *values)
{
	struct element root;
	struct point from, to;
	struct input in;
	int r = primitive_read_point(d, "x", "y", values, &from);

	if (!r)
		r = primitive_read_point(d, "x", "y", values + 2, &to);
	if (r)
		return r;
	input_init(&in, d);
	input_move_mouse(&in, from);
	input_press_button(&in, input_find_button(STR("left")), 1);
	r = input_wait(&in);
	if (r)
		return r;
	r = element_find_root(d, &root);
	if (!r)
		r = input_drop_drag(d, &root, to);
	return element_end(d, &root, r);
}

int primitive_mouse_upload_file(struct action_call *d, const struct value *const *values)
{
	const struct value *const place[] = {values[0], values[1], NULL};
	unsigned before = d->tab->choosers;
	int r = upload_check_files(d, values[2]);

	if (!r)
		r = primitive_send_mouse(d, place, 1, true, true);
	return r ? r : upload_finish_chooser(d, before, values[2]);
}

/* --- The keyboard ----------------------------------------------------------------- */

int primitive_keyboard_press(struct action_call *d, const struct value *const *values)
{
	struct str keys;
	int r = action_call_read_str(d, "key", values[0], &keys);

	return r ? r : input_press_keys(d, keys);
}

static int primitive_send_key(struct action_call *d, const struct value *v,
	void (*how)(struct input *in, const struct key *k))
{
	struct input in;
	struct str name;
	struct key key;
	int r = action_call_read_str(d, "key", v, &name);

	if (!r)
		r = input_find_key(d, name, &key);
	if (r)
		return r;
	input_init(&in, d);
	how(&in, &key);
	return input_wait(&in);
}

int primitive_keyboard_up(struct action_call *d, const struct value *const *values)
{
	return primitive_send_key(d, values[0], input_key_up);
}

int primitive_keyboard_down(struct action_call *d, const struct value *const *values)
{
	return primitive_send_key(d, values[0], input_key_down);
}

/* Types the text. Characters that no key types are inserted as text. */
static void primitive_type_chars(struct input *in, struct str text)
{
	while (text.n) {
		struct str one = str_make(text.p, utf8_offset(text, 1));
		struct key key;

		if (keys_find(one, in->call->tab->held, &key) == 0) {
			input_key_down(in, &key);
			input_key_up(in, &key);
		} else {
			input_insert_text(in, one);
		}
		text = str_skip(text, one.n);
	}
}

static int primitive_send_text(struct action_call *d, const struct value *v,
	void (*how)(struct input *in, struct str text))
{
	struct input in;
	struct str text;
	int r = action_call_read_str(d, "text", v, &text);

	if (r)
		return r;
	input_init(&in, d);
	how(&in, text);
	return input_wait(&in);
}

int primitive_keyboard_type(struct action_call *d, const struct value *const *values)
{
	return primitive_send_text(d, values[0], primitive_type_chars);
}

int primitive_keyboard_insert_text(
	struct action_call *d, const struct value *const *values)
{
	return primitive_send_text(d, values[0], input_insert_text);
}
