/* The line on a terminal that shows how far a pull, a push or a build has come. */
#ifndef INJECT_BAR_H
#define INJECT_BAR_H

#include "inject/progress.h"

struct bar {
	const char *doing; /* "pulling"; the only member that is not zero at first */
	struct meter meter;
	uint64_t shown; /* when, in milliseconds */
};

/* Takes one report and shows all of them, but not more often than one can read. */
void bar_take(struct bar *b, const struct progress *p);

#endif
