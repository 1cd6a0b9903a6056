/*
 * How far a pull, a push or a build has come, as one line with a bar. An engine
 * without I/O: it is fed with what the other side reports of each part.
 */
#ifndef INJECT_PROGRESS_H
#define INJECT_PROGRESS_H

#include "inject/stream.h"
#include "limits.h"

enum meter_state { METER_WAITS, METER_MOVES, METER_DONE };

struct meter_part {
	char id[32]; /* as much of it as fits */
	enum meter_state state;
	uint64_t moved, total; /* bytes; total 0 while it is not known */
};

struct meter {
	struct meter_part parts[METER_PARTS_MAX];
	size_t n;
	unsigned step, steps; /* of a build; 0 for none */
};

/* Zeroed is a valid start. Takes one report; those that tell nothing are passed over. */
void meter_take(struct meter *m, const struct progress *p);

/*
 * Appends "3 of 7 parts, 12.3 of 45.0 MB [====>     ]  27%", at most columns wide;
 * without its end parts where there is no room. False when nothing is known yet.
 */
bool meter_line(const struct meter *m, size_t columns, struct buf *out);

#endif
