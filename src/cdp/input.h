/* What a mouse and a keyboard do, told to the active tab. */
#ifndef CDP_INPUT_H
#define CDP_INPUT_H

#include "cdp/doing.h"
#include "cdp/element.h"
#include "cdp/keys.h"

enum { INPUT_BATCH = 32 };

/* Steps that are sent one behind the other, without waiting in between. */
struct input {
	struct doing *doing;
	uint64_t ids[INPUT_BATCH];
	size_t n;
	int err; /* the first; what comes behind it is not sent */
};

struct button {
	const char *name; /* of the protocol */
	unsigned bit;
};

/* "left", "right" or "middle"; NULL. */
const struct button *button_find(struct str name);
/* The same of an argument, left if it is not given; ERR_REFUSED. */
int input_read_button(
	struct doing *d, const struct value *v, const struct button **out) MUST_USE;
/* The bit of a modifier by its name; 0. */
unsigned modifier_find(struct str name);

void input_init(struct input *in, struct doing *d);
void input_move(struct input *in, struct point to);
/* At the place of the mouse; clicks counts those at one place. */
void input_press(struct input *in, const struct button *b, int clicks);
void input_release(struct input *in, const struct button *b, int clicks);
void input_wheel(struct input *in, double dx, double dy);
void input_drag(struct input *in, const char *type, struct str data);
void input_key_down(struct input *in, const struct key *k);
void input_key_up(struct input *in, const struct key *k);
/* Modifiers, by a set of their bits. */
void input_hold(struct input *in, unsigned set);
void input_let_go(struct input *in, unsigned set);
/* Text that no key types. */
void input_text(struct input *in, struct str text);
/* Waits until all was taken. A page that has left at that has taken it. */
int input_wait(struct input *in) MUST_USE;

/* A combination such as "Control+a", down and up again; ERR_REFUSED for no such key. */
int input_combination(struct doing *d, struct str keys) MUST_USE;
/* ERR_REFUSED: unknown, in words. */
int input_find_key(struct doing *d, struct str name, struct key *out) MUST_USE;

/*
 * With the left button down: moves the mouse to a place, drops there what the page lets
 * be dragged, if it does, and lets the button go. source is in the document where it
 * has been pressed.
 */
int input_drop(struct doing *d, const struct element *source, struct point to) MUST_USE;

#endif
