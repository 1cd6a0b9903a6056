/*
 * The functions that a browser action can call, and how arguments are bound to
 * parameters: by the rules of Python, with Python's error messages.
 */
#ifndef BROWSER_ACTION_PRIMITIVES_H
#define BROWSER_ACTION_PRIMITIVES_H

#include "browser/action/grammar.h"

enum { PRIMITIVE_PARAMS_MAX = 4 };

struct action_call;

/*
 * Runs a primitive. values[i] is the value of params[i], NULL if it is not given.
 * Returns 0; ERR_REFUSED: it failed, with an error text set or in cdp.refusal; or the
 * errors of cdp_wait.
 */
typedef int primitive_fn(struct action_call *d, const struct value *const *values);

struct primitive {
	const char *name;
	const char *api; /* the API name in error messages */
	bool by_place;   /* not in the default set: takes coordinates or keys */
	uint8_t needed;  /* so many params are required */
	const char *params[PRIMITIVE_PARAMS_MAX];
	primitive_fn *run;
};

/* The primitive of that name; NULL if there is none. */
const struct primitive *primitive_find(struct str name, bool by_place);
/* Checks the syntax of a call. Returns 0, or ERR_SYNTAX with the error's text. */
int primitive_check(const struct call *c, struct buf *error) MUST_USE;
/* Binds the arguments. Returns 0, or ERR_TYPE with the error's text. */
int primitive_bind(const struct primitive *p, const struct call *c,
	const struct value *values[PRIMITIVE_PARAMS_MAX], struct buf *error) MUST_USE;

/* --- For elements: primitive_element.c, primitive_form.c */

primitive_fn primitive_click, primitive_dblclick, primitive_hover, primitive_press;
primitive_fn primitive_drag_and_drop;
primitive_fn primitive_fill, primitive_clear, primitive_select_option, primitive_focus;
primitive_fn primitive_upload_file;

/* --- For pages: primitive_page.c */

primitive_fn primitive_noop, primitive_message, primitive_scroll, primitive_goto;
primitive_fn primitive_go_back, primitive_go_forward;
primitive_fn primitive_new_tab, primitive_tab_close, primitive_tab_focus;

/* --- For coordinates and keys: primitive_place.c */

primitive_fn primitive_mouse_move, primitive_mouse_up, primitive_mouse_down;
primitive_fn primitive_mouse_click, primitive_mouse_dblclick;
primitive_fn primitive_mouse_drag_and_drop, primitive_mouse_upload_file;
primitive_fn primitive_keyboard_press, primitive_keyboard_up, primitive_keyboard_down;
primitive_fn primitive_keyboard_type, primitive_keyboard_insert_text;

#endif
