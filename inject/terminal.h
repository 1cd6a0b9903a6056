/* The user's own terminal while it belongs to a program in a sandbox. */
#ifndef INJECT_TERMINAL_H
#define INJECT_TERMINAL_H

#include "base/err.h"

#include <stdbool.h>
#include <termios.h>

struct terminal {
	struct termios before;
	bool raw;
};

/* Whether stdin and stdout are one. */
bool terminal_is_there(void);

/* Every key goes through as it is. terminal_restore in any case. 0 or -errno. */
int terminal_raw(struct terminal *t) MUST_USE;
void terminal_restore(struct terminal *t);

/* 24 rows of 80 columns where it does not say. */
void terminal_size(unsigned *rows, unsigned *columns);

#endif
