/*
 * A writer of zip archives (APPNOTE 6.3.x) that never goes back: an engine without
 * I/O, which appends to a buf that the caller empties whenever he likes.
 *
 * What is short enough to be held is stored with its size and checksum in front.
 * Longer content is deflated, at level 0 in blocks as it is, and followed by a data
 * descriptor: deflate tells its own end, so that readers need not seek either. ZIP64 is
 * used where it is needed, and nowhere else.
 */
#ifndef FILE_ZIP_H
#define FILE_ZIP_H

#include "file/zip_index.h"

struct zip_entry {
	struct str name; /* relative; a folder's ends with '/'; 65,535 bytes at most */
	uint32_t mode;   /* as in struct stat: type and permissions */
	int64_t mtime;   /* seconds since 1970, UTC */
};

enum {
	ZIP_BLOCK_HEAD = 5, /* what a block at level 0 takes beside its bytes */
	ZIP_BLOCK_MAX = 65535,
};

struct zip {
	struct buf *out;
	uint64_t at; /* bytes of the archive so far */
	struct zip_index index;

	/* The entry whose content comes in pieces. */
	bool open;
	struct zip_record entry;
	uint64_t most; /* it will not be longer */
	struct buf name;
	z_stream z;
	bool packs; /* z is in use; kept from one entry to the next */
	int level;

	/* The central directory. */
	enum { ZIP_ENTRIES, ZIP_DIRECTORY, ZIP_COMPLETE } state;
	uint64_t entries;
	uint64_t directory;  /* where it starts */
	uint64_t entry_from; /* where the local header of the next record is */
};

void zip_init(struct zip *z, struct buf *out);
void zip_free(struct zip *z);

/*
 * One entry with all of its content: that of a file, nothing for a folder, the target
 * for a symbolic link. 0; ERR_SYNTAX for a name that is empty, absolute or too long,
 * or content of a folder; -ENOMEM, ERR_LIMIT.
 */
int zip_put(struct zip *z, const struct zip_entry *e, struct str content) MUST_USE;

/*
 * A file of at most most bytes whose content follows by zip_data, in pieces, until
 * zip_close. level is that of deflate, 0 for none. Results as of zip_put; of zip_data
 * also ERR_RANGE for more than most, and of zip_close when small pieces at level 0 made
 * it longer than its header can tell.
 */
int zip_open(struct zip *z, const struct zip_entry *e, uint64_t most, int level) MUST_USE;
int zip_data(struct zip *z, struct str piece) MUST_USE;
int zip_close(struct zip *z) MUST_USE;
/*
 * As zip_data, at level 0, of up to ZIP_BLOCK_MAX bytes, but the caller sends them: after
 * what is in the buf, head and then piece.
 */
int zip_block(struct zip *z, struct str piece, char head[ZIP_BLOCK_HEAD]) MUST_USE;

/*
 * Writes the end of the archive, some 64 KiB at a time: 1, empty the buf and call
 * again; 0, the archive is complete; -ENOMEM. comment, 65,535 bytes at most, is
 * for people.
 */
int zip_finish(struct zip *z, struct str comment) MUST_USE;

#endif
