/*
 * Removes objects that a killed od-runtime has left at an engine: containers that were
 * never started, sandboxes that end with their command, volumes, names lent to images.
 */
#ifndef INJECT_SANDBOX_LEFTOVERS_H
#define INJECT_SANDBOX_LEFTOVERS_H

#include "inject/engine/engine.h"

enum leftovers {
	LEFTOVERS_CONTAINERS, /* containers: two short lists */
	LEFTOVERS_ALL,        /* volumes and names, too */
};

/*
 * Removes the objects whose owner (owner.h) is gone. A container that was started is not
 * left over, unless it is bound to its owner. Prints nothing and never fails: objects
 * that the engine does not remove within two seconds stay until the next call.
 */
void leftovers_collect(const struct engine *e, enum leftovers what);

/*
 * As leftovers_collect with LEFTOVERS_ALL. Appends a line "KIND NAME" for each object
 * that was removed, or, with dry, would be. KIND is container, volume or name, and NAME
 * has no blanks.
 */
void leftovers_list(const struct engine *e, bool dry, struct buf *out);

#endif
