/*
 * A folder in which one name leads to /dev/tty. busybox ash reads its commands from a
 * file that its command line names, and $0 becomes that name: users expect "sh".
 */
#ifndef SHELL_TTY_FOLDER_H
#define SHELL_TTY_FOLDER_H

#include "base/err.h"

#include <stdbool.h>

#define TTY_FOLDER_NAME "sh"

enum { TTY_FOLDER_PATH = 64 };

struct tty_place {
	const char *above; /* an absolute path; NULL ends a list */
	const char *state; /* the name of a folder in it that belongs to this program */
	bool makes_state;  /* the folder is made if it is missing */
};

/* /.od, else .od-state in /dev/shm, /tmp or /var/tmp. */
extern const struct tty_place tty_folder_places[];

/*
 * Finds or makes the folder in the first place that takes it; path receives its name,
 * which needs no quoting. The folder stays: all shells share it. A place is refused if
 * a user other than root and the present one could change the folder or replace it.
 * -errno of the last place.
 */
int tty_folder_make(const struct tty_place *places, char path[TTY_FOLDER_PATH]) MUST_USE;

#endif
