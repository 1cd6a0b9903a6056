/*
 * Files with programs on this machine that containers can mount: in
 * ${XDG_CACHE_HOME:-~/.cache}/od-runtime, of mode 0700, under names that contain their
 * hash, so that a file never changes and may be removed at any time.
 */
#ifndef INJECT_IMAGE_CACHE_H
#define INJECT_IMAGE_CACHE_H

#include "inject/image/program.h"

/*
 * The path of p's file, which is made if it does not exist with p's bytes: 0 with the
 * path in room bytes; -errno; -EACCES also if the folder allows no execution.
 */
int cache_put_file(
	const struct program *p, const char *name, char *path, size_t room) MUST_USE;

/*
 * Waits until no other od-runtime of this user holds the lock called name, and takes the
 * lock, which is released with *fd or with the process. 0; 1 if others held it
 * meanwhile; -EINTR. Without a folder for it there is no lock, and *fd is -1.
 */
int cache_lock(struct str name, int *fd) MUST_USE;

#endif
