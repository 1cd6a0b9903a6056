/*
 * Where the files lie in a tar archive that can be read at any place. The contents
 * stay where they are: only headers are read.
 */
#ifndef INJECT_TARBALL_H
#define INJECT_TARBALL_H

#include "base/arena.h"
#include "base/buf.h"

struct tarball {
	int fd;              /* borrowed */
	struct arena *arena; /* borrowed; for the names */
	struct buf entries;  /* owned */
};

/*
 * Reads the headers of the archive in fd. 0; ERR_SYNTAX with *why in words when it is
 * no archive, is compressed, cut off or hostile; -ENOMEM, -errno. tarball_free in any
 * case.
 */
int tarball_read(
	struct tarball *t, int fd, struct arena *arena, const char **why) MUST_USE;
/* Takes a zeroed object too. */
void tarball_free(struct tarball *t);

/*
 * The place of the file called name, or of the one that the links of that name lead
 * to within the archive. 0; -ENOENT; -ELOOP for links that lead nowhere or out of it;
 * ERR_DUPLICATE when the archive has two files of that name.
 */
int tarball_find(
	const struct tarball *t, struct str name, uint64_t *at, uint64_t *size) MUST_USE;

#endif
