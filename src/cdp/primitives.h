/*
 * What a browser action can call, and how arguments come to parameters: as Python does
 * it, and in its words where they do not fit.
 */
#ifndef CDP_PRIMITIVES_H
#define CDP_PRIMITIVES_H

#include "cdp/grammar.h"

enum { PRIMITIVE_PARAMS_MAX = 4 };

struct doing;

/*
 * Does one; values[i] is that of params[i], NULL where none was given. 0; ERR_REFUSED:
 * it failed, in words of its own or in cdp.refusal; or as cdp_wait has it.
 */
typedef int primitive_fn(struct doing *d, const struct value *const *values);

struct primitive {
	const char *name;
	const char *api; /* what errors say it is */
	bool by_place;   /* not of the default set: it takes coordinates or keys */
	uint8_t needed;  /* the first so many params must be given */
	const char *params[PRIMITIVE_PARAMS_MAX];
	primitive_fn *run;
};

/* NULL: there is none of that name. */
const struct primitive *primitive_find(struct str name, bool by_place);
/* Whether it is a call at all: 0; ERR_SYNTAX with the error's text. */
int primitive_check(const struct call *c, struct buf *error) MUST_USE;
/* 0; ERR_TYPE with the error's text. */
int primitive_bind(const struct primitive *p, const struct call *c,
	const struct value *values[PRIMITIVE_PARAMS_MAX], struct buf *error) MUST_USE;

/* --- Of single elements: primitive_element.c, primitive_form.c */

primitive_fn primitive_click, primitive_dblclick, primitive_hover, primitive_press;
primitive_fn primitive_drag_and_drop;
primitive_fn primitive_fill, primitive_clear, primitive_select_option, primitive_focus;
primitive_fn primitive_upload_file;

/* --- Of pages: primitive_page.c */

primitive_fn primitive_noop, primitive_message, primitive_scroll, primitive_goto;
primitive_fn primitive_go_back, primitive_go_forward;
primitive_fn primitive_new_tab, primitive_tab_close, primitive_tab_focus;

/* --- Of places and keys: primitive_place.c */

primitive_fn primitive_mouse_move, primitive_mouse_up, primitive_mouse_down;
primitive_fn primitive_mouse_click, primitive_mouse_dblclick;
primitive_fn primitive_mouse_drag_and_drop, primitive_mouse_upload_file;
primitive_fn primitive_keyboard_press, primitive_keyboard_up, primitive_keyboard_down;
primitive_fn primitive_keyboard_type, primitive_keyboard_insert_text;

#endif
