/*
 * Where archives are unpacked: everything goes into a folder of its own first, beside
 * what is there, and moves into place when all of it is good. Runs with the rights of
 * the calling process, whose umask it takes away.
 */
#ifndef FILE_UNPACK_H
#define FILE_UNPACK_H

#include "base/buf.h"
#include "limits.h"
#include "proc/broom.h"

#include <sys/types.h>

enum { UNPACK_NAME = 48 };

struct unpack {
	int dest;  /* the caller's */
	bool sync; /* the caller's, up to unpack_commit: wait until the disk has it */
	int stage;
	char stage_name[UNPACK_NAME];
	struct broom broom; /* removes the stage when this process is killed */
	int parent; /* the folder of the last entry, which the next one often shares */
	char parent_path[FILE_PATH_MAX];
	uint64_t entries;     /* and folders above them */
	uint64_t entries_max; /* ARCHIVE_ENTRIES_MAX; the caller may change it */
	unsigned in_place;    /* files that unpack_commit has overwritten */
	bool damaged;         /* one of them holds old and new bytes, after an error */
	struct buf where;     /* after an error in unpack_commit: the path in question */
};

/* dest is the fd of a folder, which must stay open. 0 or -errno. */
int unpack_begin(struct unpack *u, int dest) MUST_USE;
/* Removes what has not moved; the way to end in any case. */
void unpack_end(struct unpack *u);

/*
 * One entry; name as the archive has it. Folders above it are made. Set-id bits of
 * the mode are dropped. 0 (or the fd of the file, for its content); ERR_SYNTAX for a
 * name, or the target of a link, that leads out of the destination; -errno; ERR_LIMIT.
 */
int unpack_dir(struct unpack *u, struct str name, mode_t mode) MUST_USE;
int unpack_file(struct unpack *u, struct str name, mode_t mode) MUST_USE;
/*
 * any: the target of a symbolic link may be what it likes; else it has no ".." behind
 * a name, as that may be a link, too.
 */
int unpack_symlink(
	struct unpack *u, struct str name, struct str target, bool any) MUST_USE;
/* A further name for a file, or for a symbolic link, of this archive. */
int unpack_hardlink(
	struct unpack *u, struct str name, struct str target, bool any) MUST_USE;

/*
 * Moves all into the destination. Files and links there are replaced, one by one, and
 * folders are joined; a mount point is overwritten, and in_place counts it. 0 or
 * -errno, with the path in where: nothing has moved if a folder, or what is none, is in
 * the way, or no right is there to write; otherwise what has not moved never will.
 */
int unpack_commit(struct unpack *u) MUST_USE;

#endif
