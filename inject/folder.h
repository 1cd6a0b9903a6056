/* What the engine's builder would get, as a folder for docker build. */
#ifndef INJECT_FOLDER_H
#define INJECT_FOLDER_H

#include "inject/plan.h"

/*
 * Writes Dockerfile, .dockerignore and all that they speak of into path, which is made;
 * it may be there if nothing is in it. From the base on, whatever rungs there are. On
 * failure nothing of it stays. 0, -ENOMEM or FAIL_*.
 */
int folder_write(struct plan *p, const char *path) MUST_USE;

#endif
