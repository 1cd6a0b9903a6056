/* The progress line on a terminal of a pull, a push or a build. */
#ifndef INJECT_ENGINE_BAR_H
#define INJECT_ENGINE_BAR_H

#include "inject/engine/progress.h"

struct bar {
	const char *doing; /* "pulling"; the only member that is not zero at first */
	struct meter meter;
	uint64_t shown; /* when, in milliseconds */
};

/* Takes a report and shows the sum of all, but not more often than a person can read. */
void bar_update(struct bar *b, const struct progress *p);

#endif
