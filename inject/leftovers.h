/*
 * Removes objects that a killed od-runtime has left at an engine: containers that were
 * never started, sandboxes that end with their command, volumes, names lent to images.
 */
#ifndef INJECT_LEFTOVERS_H
#define INJECT_LEFTOVERS_H

#include "inject/engine.h"

enum leftovers {
	LEFTOVERS_OF_RUN, /* containers: two short lists */
	LEFTOVERS_ALL,    /* volumes and names, too */
};

/*
 * Removes those whose owner (owner.h) is gone. A container that was started is handed
 * over, and is none, unless it is bound to its owner. Never prints and never fails: what
 * the engine does not do within two seconds is left for the next time.
 */
void leftovers_collect(const struct engine *e, enum leftovers what);

/*
 * The same for LEFTOVERS_ALL. Appends a line "KIND NAME" for each that was removed, or,
 * with dry, would be. KIND is container, volume or name, and NAME has no blanks.
 */
void leftovers_list(const struct engine *e, bool dry, struct buf *out);

#endif
