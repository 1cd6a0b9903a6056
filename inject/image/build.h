/* Makes a runtime image: the context is sent to the engine's builder. */
#ifndef INJECT_IMAGE_BUILD_H
#define INJECT_IMAGE_BUILD_H

#include "inject/image/plan.h"

/*
 * Builds what p plans, if anything, and prints a note if no command will run in it. 0:
 * the image p->name exists and matches the plan. After a failure nothing of the build
 * stays: no tag, no image, no container. -EINTR, -ENOMEM or FAIL_*.
 */
int build_run(struct plan *p) MUST_USE;

/* Gives p->name the style that the options ask for; changes nothing else. */
int build_set_name(struct plan *p) MUST_USE;

/* The name of the old style, "od_runtime:od_v...". */
void build_write_legacy_name(const struct plan *p, struct buf *out);

#endif
