/*
 * The output of a build's commands. On a terminal it is shown at once; otherwise the
 * last lines are kept, to explain a failure.
 */
#ifndef INJECT_IMAGE_BUILD_LOG_H
#define INJECT_IMAGE_BUILD_LOG_H

#include "base/buf.h"

struct build_log {
	bool shown;       /* on a terminal, at once */
	struct buf part;  /* of the line that is being received */
	struct buf lines; /* lines, each with its LF */
};

void build_log_init(struct build_log *l);
void build_log_free(struct build_log *l);
/* Takes text in pieces of any size. Only the part of a line after its last CR is used. */
void build_log_append(struct build_log *l, struct str text);
/* Takes a trace of BuildKit: base64 of its message StatusResponse. */
void build_log_append_trace(struct build_log *l, struct str trace);
/* After a failure: prints the last lines unless they were shown. */
void build_log_print_end(struct build_log *l);

#endif
