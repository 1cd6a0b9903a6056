#include "browser/page/input.h"

#include "base/clock.h"
#include "base/jw.h"

#include <errno.h>

enum {
	PARAMS_MAX = 32 << 20, /* a text, or drag data */
	DRAG_MS = 3000,        /* from the start of a drag to the browser's event */
};

static const struct button buttons[] = {{"left", 1}, {"right", 2}, {"middle", 4}};

static const struct {
	const char *name;
	unsigned bit;
} modifiers[] = {
	{"Alt", MODIFIER_ALT},
	{"Control", MODIFIER_CONTROL},
	{"Meta", MODIFIER_META},
	{"Shift", MODIFIER_SHIFT},
};

const struct button *input_find_button(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(buttons); i++)
		if (str_eq(name, str_c(buttons[i].name)))
			return &buttons[i];
	return NULL;
}

int input_read_button(
	struct action_call *d, const struct value *v, const struct button **out)
{
	struct str name = STR("left");

	if (action_call_has_value(v))
		name = v->kind == VALUE_STRING ? v->text : STR("");
	*out = input_find_button(name);
	if (*out)
		return 0;
	return action_call_refuse(
		d, "Error: %s: button: expected one of (left|right|middle)", d->api);
}

unsigned input_find_modifier(struct str name)
{
	/* ControlOrMeta is Control on Linux. It is Meta on macOS. */
	if (str_eq(name, STR("ControlOrMeta")))
		return MODIFIER_CONTROL;
	for (size_t i = 0; i < ARRAY_LEN(modifiers); i++)
		if (str_eq(name, str_c(modifiers[i].name)))
			return modifiers[i].bit;
	return 0;
}

/* --- A batch ---------------------------------------------------------------------- */

void input_init(struct input *in, struct action_call *d)
{
	*in = (struct input){.call = d};
}

int input_wait(struct input *in)
{
	struct tab *t = in->call->tab;

	for (size_t i = 0; i < in->n; i++) {
		int r = tab_wait(t, in->ids[i], in->call->answer_deadline, NULL, NULL);

		if ((r == -EPIPE && t->state == TAB_CLOSED) ||
			action_call_is_stale(in->call, r))
			r = 0;
		if (r && !in->err)
			in->err = r;
	}
	in->n = 0;
	return in->err;
}

static void input_send_event(struct input *in, const char *method, struct buf *params)
{
	if (!in->err)
		in->err = params->err;
	if (!in->err && in->n == INPUT_BATCH)
		in->err = input_wait(in);
	if (!in->err)
		in->err = tab_send(
			in->call->tab, method, buf_view(params), &in->ids[in->n]);
	if (!in->err)
		in->n++;
	buf_free(params);
}

/* --- The mouse -------------------------------------------------------------------- */

/* Writes the members that all mouse events share. The object stays open. */
static void input_begin_mouse(
	struct input *in, struct jw *w, struct buf *params, const char *type)
{
	const struct tab *t = in->call->tab;

	buf_init(params, PARAMS_MAX);
	jw_init(w, params);
	jw_object(w);
	jw_key(w, "type");
	jw_cstr(w, type);
	jw_key(w, "x");
	jw_double(w, t->mouse_x);
	jw_key(w, "y");
	jw_double(w, t->mouse_y);
	jw_key(w, "modifiers");
	jw_uint(w, t->held);
}

static void input_send_button(
	struct input *in, const char *type, const char *name, int clicks)
{
	struct buf params;
	struct jw w;

	input_begin_mouse(in, &w, &params, type);
	jw_key(&w, "button");
	jw_cstr(&w, name);
	jw_key(&w, "buttons");
	jw_uint(&w, in->call->tab->buttons);
	jw_key(&w, "clickCount");
	jw_int(&w, clicks);
	jw_end(&w);
	input_send_event(in, "Input.dispatchMouseEvent", &params);
}

void input_move_mouse(struct input *in, struct point to)
{
	struct tab *t = in->call->tab;
	const char *name = "none";

	t->mouse_x = to.x;
	t->mouse_y = to.y;
	for (size_t i = 0; i < ARRAY_LEN(buttons); i++)
		if (t->buttons & buttons[i].bit)
			name = buttons[i].name;
	input_send_button(in, "mouseMoved", name, 0);
}

void input_press_button(struct input *in, const struct button *b, int clicks)
{
	in->call->tab->buttons |= b->bit;
	input_send_button(in, "mousePressed", b->name, clicks);
}

void input_release_button(struct input *in, const struct button *b, int clicks)
{
	in->call->tab->buttons &= ~b->bit;
	input_send_button(in, "mouseReleased", b->name, clicks);
}

void input_turn_wheel(struct input *in, double dx, double dy)
{
	struct buf params;
	struct jw w;

	input_begin_mouse(in, &w, &params, "mouseWheel");
	jw_key(&w, "deltaX");
	jw_double(&w, dx);
	jw_key(&w, "deltaY");
	jw_double(&w, dy);
	jw_end(&w);
	input_send_event(in, "Input.dispatchMouseEvent", &params);
}

void input_send_drag(struct input *in, const char *type, struct str data)
{
	struct buf params;
	struct jw w;

	input_begin_mouse(in, &w, &params, type);
	jw_key(&w, "data");
	jw_raw(&w, data);
	jw_end(&w);
	input_send_event(in, "Input.dispatchDragEvent", &params);
}

/* --- The keyboard ----------------------------------------------------------------- */

static void input_send_key(
	struct input *in, const char *type, const struct key *k, const char *text)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct jw w;

	jw_init(&w, &params);
	jw_object(&w);
	jw_key(&w, "type");
	jw_cstr(&w, type);
	jw_key(&w, "key");
	jw_cstr(&w, k->key);
	jw_key(&w, "code");
	jw_cstr(&w, k->code);
	jw_key(&w, "windowsVirtualKeyCode");
	jw_uint(&w, k->number);
	jw_key(&w, "location");
	jw_uint(&w, k->location);
	jw_key(&w, "isKeypad");
	jw_bool(&w, k->location == KEY_LOCATION_PAD);
	jw_key(&w, "modifiers");
	jw_uint(&w, in->call->tab->held);
	if (*text) {
		jw_key(&w, "text");
		jw_cstr(&w, text);
		jw_key(&w, "unmodifiedText");
		jw_cstr(&w, text);
	}
	jw_end(&w);
	input_send_event(in, "Input.dispatchKeyEvent", &params);
}

void input_key_down(struct input *in, const struct key *k)
{
	in->call->tab->held |= k->modifier;
	input_send_key(in, *k->text ? "keyDown" : "rawKeyDown", k, k->text);
}

void input_key_up(struct input *in, const struct key *k)
{
	in->call->tab->held &= ~k->modifier;
	input_send_key(in, "keyUp", k, "");
}

static void input_send_modifiers(struct input *in, unsigned set,
	void (*how)(struct input *in, const struct key *k))
{
	struct key k;

	for (size_t i = 0; i < ARRAY_LEN(modifiers); i++)
		if (set & modifiers[i].bit && !keys_find(str_c(modifiers[i].name), 0, &k))
			how(in, &k);
}

void input_press_modifiers(struct input *in, unsigned set)
{
	input_send_modifiers(in, set, input_key_down);
}

void input_release_modifiers(struct input *in, unsigned set)
{
	input_send_modifiers(in, set, input_key_up);
}

void input_insert_text(struct input *in, struct str text)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct jw w;

	jw_init(&w, &params);
	jw_object(&w);
	jw_key(&w, "text");
	jw_str(&w, text);
	jw_end(&w);
	input_send_event(in, "Input.insertText", &params);
}

int input_find_key(struct action_call *d, struct str name, struct key *out)
{
	if (keys_find(name, d->tab->held, out) == 0)
		return 0;
	return action_call_fail(d, "Error", "Unknown key: \"%.*s\"", STR_ARG(name));
}

/* Presses the keys in order and releases them in reverse order. */
int input_press_keys(struct action_call *d, struct str keys)
{
	struct key down[INPUT_BATCH / 2];
	struct input in;
	size_t n = 0;
	int r = 0;

	input_init(&in, d);
	do {
		struct str name = keys_cut_name(&keys);

		r = n == ARRAY_LEN(down) ? ERR_LIMIT : input_find_key(d, name, &down[n]);
		if (!r)
			input_key_down(&in, &down[n++]);
	} while (!r && keys.n);
	while (n)
		input_key_up(&in, &down[--n]);
	if (!r)
		return input_wait(&in);
	/* The keys that were pressed are released in any case. */
	return input_wait(&in) == ERR_CLOSED ? ERR_CLOSED : r;
}

/* --- Dragging --------------------------------------------------------------------- */

static int input_intercept_drags(struct action_call *d, bool on)
{
	return tab_call(d->tab, "Input.setInterceptDrags",
		on ? STR("{\"enabled\":true}") : STR("{\"enabled\":false}"),
		d->answer_deadline, NULL, NULL);
}

struct drag_wait {
	const struct tab *tab;
	unsigned drags;
};

static bool input_has_drag(void *arg)
{
	const struct drag_wait *a = arg;

	return a->tab->drags != a->drags || a->tab->state != TAB_READY;
}

/* Moves the mouse. If the page starts a drag, waits for the drag data. */
static int input_move_dragging(struct action_call *d, const struct element *source,
	struct point to, bool *dragging)
{
	struct drag_wait a = {d->tab, d->tab->drags};
	struct input in;
	struct str word;
	int r;

	*dragging = false;
	r = element_call_strings(d, source, &word, "watch", (char *)NULL);
	if (r)
		return r;
	input_init(&in, d);
	input_move_mouse(&in, to);
	r = input_wait(&in);
	if (!r)
		r = element_call_strings(d, source, &word, "watched", (char *)NULL);
	if (r || !str_eq(word, STR("drag")))
		return r;
	r = browser_wait_until(d->browser, input_has_drag, &a, clock_ms() + DRAG_MS);
	*dragging = !r && d->tab->drags != a.drags;
	return r == -ETIMEDOUT ? 0 : r;
}

int input_drop_drag(struct action_call *d, const struct element *source, struct point to)
{
	bool dragging = false;
	struct input in;
	int r = input_intercept_drags(d, true), off;

	if (!r)
		r = input_move_dragging(d, source, to, &dragging);
	input_init(&in, d);
	if (dragging) {
		struct str data = buf_view(&d->tab->drag);

		input_send_drag(&in, "dragEnter", data);
		input_send_drag(&in, "dragOver", data);
		input_send_drag(&in, "drop", data);
		if (!r)
			r = input_wait(&in);
	}
	off = d->tab->state == TAB_READY ? input_intercept_drags(d, false) : 0;
	/* The button is released, whatever happened before. */
	in.err = 0;
	input_release_button(&in, &buttons[0], 1);
	if (!r)
		r = input_wait(&in);
	return r ? r : off;
}
