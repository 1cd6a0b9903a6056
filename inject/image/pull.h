/* Requests whose answers are lines: builds and pulls. */
#ifndef INJECT_IMAGE_PULL_H
#define INJECT_IMAGE_PULL_H

#include "inject/engine/engine.h"
#include "inject/http/stream.h"
#include "inject/image/build_log.h"

/*
 * Sends q and reads the answer to its end. Shows progress, and shows the output of
 * commands in log if that is not NULL. A status of 200 is no success yet: a line with an
 * error is a failure. 0, -EINTR, -ENOMEM or FAIL_*, with doing and the engine's message
 * printed; next as in out_fail.
 */
int pull_read_lines(const struct engine *e, const struct http_client_request *q,
	const char *doing, const char *next, struct build_log *log) MUST_USE;

/*
 * Has the engine fetch the image called name from its registry, for the platform
 * ("linux/arm64"; NULL for the engine's own). As pull_read_lines.
 */
int pull_image(const struct engine *e, const char *name, const char *platform) MUST_USE;

#endif
