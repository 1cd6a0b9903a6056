/*
 * A writer of zip archives (APPNOTE 6.3.x) that never seeks. Without I/O: it appends to
 * a buf that the caller empties at any time.
 *
 * Content that is short enough to be held in memory is stored with its size and
 * checksum in front. Longer content is deflated, at level 0 as stored blocks, and
 * followed by a data descriptor. Readers need not seek either, because a deflate stream
 * marks its own end. ZIP64 is used only where it is needed.
 */
#ifndef CODEC_ARCHIVE_ZIP_H
#define CODEC_ARCHIVE_ZIP_H

#include "codec/archive/zip_index.h"

struct zip_entry {
	struct str name; /* relative; a folder's ends with '/'; 65,535 bytes at most */
	uint32_t mode;   /* as in struct stat: type and permissions */
	int64_t mtime;   /* seconds since 1970, UTC */
};

enum {
	ZIP_BLOCK_HEAD = 5, /* overhead of a block at level 0 */
	ZIP_BLOCK_MAX = 65535,
};

struct zip {
	struct buf *out;
	uint64_t at; /* bytes of the archive so far */
	struct zip_index index;

	/* The open entry, whose content comes in pieces. */
	bool open;
	struct zip_record entry;
	uint64_t max_size; /* maximum size of its content */
	struct buf name;
	z_stream z;
	bool z_ready; /* z is initialized, and reused for each entry */
	int level;

	/* The central directory. */
	enum { ZIP_ENTRIES, ZIP_DIRECTORY, ZIP_COMPLETE } state;
	uint64_t entries;
	uint64_t directory;  /* its offset */
	uint64_t entry_from; /* offset of the next record's local header */
};

void zip_init(struct zip *z, struct buf *out);
void zip_free(struct zip *z);

/*
 * Adds an entry with all of its content: that of a file, nothing for a folder, the
 * target for a symbolic link. 0; ERR_SYNTAX for a name that is empty, absolute or too
 * long, or for content of a folder; -ENOMEM, ERR_LIMIT.
 */
int zip_put(struct zip *z, const struct zip_entry *e, struct str content) MUST_USE;

/*
 * Adds a file of at most most bytes whose content follows by zip_add_data, in pieces,
 * until zip_close. level is that of deflate, 0 for none. Results as of zip_put;
 * zip_add_data also returns ERR_RANGE for more than most bytes, and zip_close if small
 * pieces at level 0 made the packed size too large for the header.
 */
int zip_open(struct zip *z, const struct zip_entry *e, uint64_t most, int level) MUST_USE;
int zip_add_data(struct zip *z, struct str piece) MUST_USE;
int zip_close(struct zip *z) MUST_USE;
/*
 * Like zip_add_data at level 0 for up to ZIP_BLOCK_MAX bytes, but the caller sends them:
 * first the buf, then head, then piece.
 */
int zip_add_block(struct zip *z, struct str piece, char head[ZIP_BLOCK_HEAD]) MUST_USE;

/*
 * Writes the end of the archive, some 64 KiB at a time: 1, empty the buf and call
 * again; 0, the archive is complete; -ENOMEM. comment is for humans, 65,535 bytes at
 * most.
 */
int zip_finish(struct zip *z, struct str comment) MUST_USE;

#endif
