/* The user's terminal while a program in a sandbox uses it. */
#ifndef INJECT_CONSOLE_TERMINAL_H
#define INJECT_CONSOLE_TERMINAL_H

#include "base/err.h"

#include <stdbool.h>
#include <termios.h>

struct terminal {
	struct termios saved;
	bool raw;
};

/* Whether stdin and stdout are a terminal. */
bool terminal_is_attached(void);

/*
 * Switches to raw mode: every key is passed on unchanged. terminal_restore in any case. 0
 * or -errno.
 */
int terminal_set_raw(struct terminal *t) MUST_USE;
void terminal_restore(struct terminal *t);

/* The size of the terminal; 24 rows of 80 columns if it is unknown. */
void terminal_get_size(unsigned *rows, unsigned *columns);

#endif
