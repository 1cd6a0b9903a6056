/*
 * Programs as files of this machine that containers can be shown: in
 * ${XDG_CACHE_HOME:-~/.cache}/od-runtime, of mode 0700, under names that hold their
 * hash, so that what is there never changes and may be removed at any time.
 */
#ifndef INJECT_CACHE_H
#define INJECT_CACHE_H

#include "inject/program.h"

/*
 * The path of p's file, which is made if it is not there with these bytes: 0 with the
 * path in room bytes; -errno; -EACCES also where nothing may be executed.
 */
int cache_file(
	const struct program *p, const char *name, char *path, size_t room) MUST_USE;

/*
 * Waits until no other od-runtime of this user holds the turn called name, and takes it:
 * it ends with *fd, or with the process. 0; 1 when others had it meanwhile; -EINTR. Where
 * there is no folder for it everybody has it, and *fd is -1.
 */
int cache_turn(struct str name, int *fd) MUST_USE;

#endif
