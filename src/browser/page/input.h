/* Mouse and keyboard input for the active tab. */
#ifndef BROWSER_PAGE_INPUT_H
#define BROWSER_PAGE_INPUT_H

#include "browser/page/action_call.h"
#include "browser/page/element.h"
#include "browser/page/keys.h"

enum { INPUT_BATCH = 32 };

/* Input events that are sent in a batch, without a wait between them. */
struct input {
	struct action_call *call;
	uint64_t ids[INPUT_BATCH];
	size_t n;
	int err; /* the first error; later events are not sent */
};

struct button {
	const char *name; /* in the protocol */
	unsigned bit;
};

/* "left", "right" or "middle"; NULL for other names. */
const struct button *input_find_button(struct str name);
/* The button that an argument names; left if it is not given. 0 or ERR_REFUSED. */
int input_read_button(
	struct action_call *d, const struct value *v, const struct button **out) MUST_USE;
/* The bit of the modifier with that name, or 0. */
unsigned input_find_modifier(struct str name);

void input_init(struct input *in, struct action_call *d);
void input_move_mouse(struct input *in, struct point to);
/* At the position of the mouse. clicks is the number of the click at one position. */
void input_press_button(struct input *in, const struct button *b, int clicks);
void input_release_button(struct input *in, const struct button *b, int clicks);
void input_turn_wheel(struct input *in, double dx, double dy);
void input_send_drag(struct input *in, const char *type, struct str data);
void input_key_down(struct input *in, const struct key *k);
void input_key_up(struct input *in, const struct key *k);
/* Press and release modifiers. set has their bits. */
void input_press_modifiers(struct input *in, unsigned set);
void input_release_modifiers(struct input *in, unsigned set);
/* Inserts text that no key types. */
void input_insert_text(struct input *in, struct str text);
/* Waits until all events are handled. A page that has navigated has handled them. */
int input_wait(struct input *in) MUST_USE;

/* Presses and releases a combination such as "Control+a"; ERR_REFUSED: unknown key. */
int input_press_keys(struct action_call *d, struct str keys) MUST_USE;
/* Returns ERR_REFUSED, with an error text, for an unknown key. */
int input_find_key(struct action_call *d, struct str name, struct key *out) MUST_USE;

/*
 * With the left button pressed: moves the mouse to a position, drops the drag data there
 * if the page has started a drag, and releases the button. source is in the document in
 * which the button was pressed.
 */
int input_drop_drag(
	struct action_call *d, const struct element *source, struct point to) MUST_USE;

#endif
