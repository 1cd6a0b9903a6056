/* A runtime image without a builder: a container that never runs, and its commit. */
#ifndef INJECT_COMMIT_H
#define INJECT_COMMIT_H

#include "inject/plan.h"

/*
 * Makes the product of p, under its name, with one layer on the image on, as the engine's
 * commit of a container of that with our files and settings. ONBUILD instructions do
 * not run, and are not in it. 0, -EINTR, -ENOMEM or FAIL_*.
 */
int commit_image(struct plan *p, struct image *on) MUST_USE;

#endif
