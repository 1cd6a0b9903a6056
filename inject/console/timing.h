/* The duration of each step of a command. */
#ifndef INJECT_CONSOLE_TIMING_H
#define INJECT_CONSOLE_TIMING_H

#include "base/jw.h"

enum { TIMING_STEPS = 8 };

struct timing {
	uint64_t last; /* when the last step ended, microseconds */
	size_t n;
	struct {
		const char *name;
		uint64_t us;
		uint64_t own_us; /* the part of us that was not spent waiting */
	} steps[TIMING_STEPS];
	uint64_t last_waited;
};

void timing_start(struct timing *t);
/* The step called name (a literal) ends now and the next one begins. */
void timing_end_step(struct timing *t, const char *name);
/* Prints all steps on stderr. */
void timing_print(const struct timing *t);
/* Writes {"resolve":{"ms":1.5,"own_ms":0.2},...} */
void timing_write_json(const struct timing *t, struct jw *w);

#endif
