/*
 * Makes a runtime image without a builder: a container that never runs, and its commit.
 */
#ifndef INJECT_IMAGE_COMMIT_H
#define INJECT_IMAGE_COMMIT_H

#include "inject/image/plan.h"

/*
 * Makes the product of p, under its name, with a layer on the image on: the engine
 * commits a container of that image with our files and settings. ONBUILD instructions do
 * not run, and the product does not have them. 0, -EINTR, -ENOMEM or FAIL_*.
 */
int commit_image(struct plan *p, struct image *on) MUST_USE;

#endif
