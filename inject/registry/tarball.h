/*
 * The positions of the files in a tar archive with random access. Contents are not moved:
 * only headers are read.
 */
#ifndef INJECT_REGISTRY_TARBALL_H
#define INJECT_REGISTRY_TARBALL_H

#include "base/arena.h"
#include "base/buf.h"

struct tarball {
	int fd;              /* borrowed */
	struct arena *arena; /* borrowed; for the names */
	struct buf entries;  /* owned */
};

/*
 * Reads the headers of the archive in fd. 0; ERR_SYNTAX with the reason in *why: it is no
 * archive, is compressed, truncated or malicious; -ENOMEM, -errno. tarball_free in any
 * case.
 */
int tarball_read(
	struct tarball *t, int fd, struct arena *arena, const char **why) MUST_USE;
/* Takes a zeroed object too. */
void tarball_free(struct tarball *t);

/*
 * The position of the file called name, or of the file that links of that name lead to
 * within the archive. 0; -ENOENT; -ELOOP: the links lead nowhere or out of the archive;
 * ERR_DUPLICATE: the archive has two files of that name.
 */
int tarball_find(
	const struct tarball *t, struct str name, uint64_t *at, uint64_t *size) MUST_USE;

#endif
