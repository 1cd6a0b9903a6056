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

#endif
