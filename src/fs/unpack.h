/*
 * Unpacks archives: all entries go to a stage first, a folder inside of the
 * destination, and move into place if all of them are good. Runs with the rights of the
 * calling process and sets its umask to 0.
 */
#ifndef FS_UNPACK_H
#define FS_UNPACK_H

#include "base/buf.h"
#include "limits.h"
#include "proc/cleanup_guard.h"

#include <sys/types.h>

enum { UNPACK_NAME = 48 };

struct unpack {
	int dest;  /* the caller's */
	bool sync; /* set before unpack_commit: sync to disk before success */
	int stage;
	char stage_name[UNPACK_NAME];
	struct cleanup_guard broom; /* removes the stage when this process is killed */
	int parent; /* the folder of the last entry, often shared by the next one */
	char parent_path[FILE_PATH_MAX];
	uint64_t entries;     /* entries and the folders above them */
	uint64_t entries_max; /* ARCHIVE_ENTRIES_MAX; the caller may change it */
	unsigned in_place;    /* files that unpack_commit has overwritten */
	bool damaged;         /* after an error: one of them may hold old and new bytes */
	struct buf where;     /* after an error in unpack_commit: the path in question */
};

/* dest is the fd of a folder, which must stay open. 0 or -errno. */
int unpack_begin(struct unpack *u, int dest) MUST_USE;
/* Removes all that has not moved. Call it in any case after a successful begin. */
void unpack_end(struct unpack *u);

/*
 * Add one entry; name as in the archive. Folders above it are created. Set-id bits of
 * the mode are dropped. 0, or the fd of the file for its content, which the caller
 * closes; ERR_SYNTAX for a name, or the target of a link, that leads out of the
 * destination; -errno; ERR_LIMIT.
 */
int unpack_dir(struct unpack *u, struct str name, mode_t mode) MUST_USE;
int unpack_file(struct unpack *u, struct str name, mode_t mode) MUST_USE;
/*
 * any: the target of a symbolic link is not checked. Otherwise it must stay inside of
 * the destination and have no ".." after a name, as that name may be a link itself.
 */
int unpack_symlink(
	struct unpack *u, struct str name, struct str target, bool any) MUST_USE;
/* Adds a hard link to a file, or to a symbolic link, of this archive. */
int unpack_hardlink(
	struct unpack *u, struct str name, struct str target, bool any) MUST_USE;

/*
 * Moves all entries into the destination. Existing files and links are replaced, one by
 * one, and folders are merged. A mount point is overwritten and counted in in_place. 0,
 * or -errno with the path in where. Nothing has moved if a folder conflicts with a file
 * or a folder is not writable. After another error the entries that have not moved are
 * lost.
 */
int unpack_commit(struct unpack *u) MUST_USE;

#endif
