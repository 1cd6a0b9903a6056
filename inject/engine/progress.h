/*
 * The progress of a pull, a push or a build, as a line with a bar. Without I/O: the
 * caller passes the reports about each part.
 */
#ifndef INJECT_ENGINE_PROGRESS_H
#define INJECT_ENGINE_PROGRESS_H

#include "inject/http/stream.h"

enum { METER_PARTS_MAX = 256 }; /* layers of an image; engines stack 127 */

enum meter_state { METER_WAITING, METER_ACTIVE, METER_DONE };

struct meter_part {
	char id[32]; /* as much of it as fits */
	enum meter_state state;
	uint64_t moved, total; /* bytes; total is 0 while it is not known */
};

struct meter {
	struct meter_part parts[METER_PARTS_MAX];
	size_t n;
	unsigned step, steps; /* of a build; 0: none */
};

/*
 * Handles a report; reports without progress are ignored. A zeroed meter is a valid
 * start.
 */
void meter_update(struct meter *m, const struct progress *p);

/*
 * Appends "3 of 7 parts, 12.3 of 45.0 MB [====>     ]  27%", at most columns wide; the
 * last parts are left out if the line is too narrow. False: nothing is known yet.
 */
bool meter_write_line(const struct meter *m, size_t columns, struct buf *out);

#endif
