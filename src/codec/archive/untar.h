/*
 * A reader of tar archives: ustar and older formats, pax headers, the long names and
 * numbers of GNU. Without I/O: it is fed with pieces of any size.
 *
 * Devices, pipes and sparse files are refused, and so is an archive without the two
 * empty blocks at its end: it may be truncated.
 */
#ifndef CODEC_ARCHIVE_UNTAR_H
#define CODEC_ARCHIVE_UNTAR_H

#include "base/buf.h"
#include "limits.h"

enum untar_event {
	UNTAR_MORE,  /* all input is used: feed more */
	UNTAR_ENTRY, /* entry is set */
	UNTAR_DATA,  /* a piece of its content */
	UNTAR_END,   /* the content of a file is complete */
	UNTAR_DONE,  /* the archive is complete; further input is ignored */
};

enum untar_type {
	UNTAR_FILE,
	UNTAR_DIR,
	UNTAR_SYMLINK,
	UNTAR_HARDLINK,
};

struct untar_entry {
	enum untar_type type;
	struct str name;   /* any bytes, ".." included; valid until the next entry */
	struct str target; /* of a link */
	unsigned mode;     /* permission bits, 07777 at most */
	int64_t mtime;
	uint64_t size; /* of a file's content */
};

enum untar_state {
	UNTAR_HEADER,
	UNTAR_META, /* in the body of an extended header: names, pax records */
	UNTAR_CONTENT,
	UNTAR_PADDING, /* after either */
	UNTAR_EPILOGUE,
};

enum { UNTAR_BLOCK = 512 };

struct untar {
	enum untar_state state;
	struct untar_entry entry;
	const char *reason; /* error message */

	unsigned char block[UNTAR_BLOCK];
	size_t block_n;
	unsigned zeros; /* empty blocks in a row */
	uint64_t left;  /* bytes of content or meta */
	size_t padding; /* bytes of padding after them */
	char meta_type; /* type of the extended header: x, g, L or K */
	struct buf meta;
	struct buf name, target; /* from meta for the next entry; then that entry's */
	bool has_name, has_target, has_size, has_mtime;
	uint64_t size;
	int64_t mtime;
};

void untar_init(struct untar *u);
void untar_free(struct untar *u);

/*
 * Reads bytes from the front of *in, and moves *in past them, up to the next event,
 * which is returned. For UNTAR_DATA piece is set and points into the input. A file has
 * an UNTAR_END, other entries have none. ERR_SYNTAX or ERR_LIMIT, with why; -ENOMEM.
 */
int untar_next(struct untar *u, struct str *in, struct str *piece) MUST_USE;

/*
 * After UNTAR_ENTRY, for seekable input: returns the bytes of content and padding that
 * the caller skips. The next input is the header after them; no UNTAR_END follows.
 */
uint64_t untar_skip_content(struct untar *u) MUST_USE;

#endif
