/*
 * The output of commands in a trace of BuildKit: the message StatusResponse of its
 * control API (moby.buildkit.v1) in the encoding of Protocol Buffers. An engine.
 */
#ifndef INJECT_IMAGE_BUILD_TRACE_H
#define INJECT_IMAGE_BUILD_TRACE_H

#include "base/str.h"

/*
 * Takes the next piece of output from the front of *trace: 0 with *text; 1 at the end;
 * ERR_SYNTAX, also for a field that reaches beyond its message.
 */
int build_trace_next(struct str *trace, struct str *text) MUST_USE;

#endif
