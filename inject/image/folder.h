/* Writes the build context as a folder for docker build. */
#ifndef INJECT_IMAGE_FOLDER_H
#define INJECT_IMAGE_FOLDER_H

#include "inject/image/plan.h"

/*
 * Writes Dockerfile, .dockerignore and all files that they name into the folder path. The
 * folder is created; it may exist if it is empty. The Dockerfile begins with the base
 * image, even if images of higher stages exist. On failure all written files are removed.
 * 0, -ENOMEM or FAIL_*.
 */
int folder_write(struct plan *p, const char *path) MUST_USE;

#endif
