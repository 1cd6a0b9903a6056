/*
 * A reader of tar archives: ustar and what came before it, pax headers, the long names
 * and numbers of GNU. An engine without I/O, fed with pieces of any size.
 *
 * Devices, pipes and sparse files are refused, and so is an archive that ends without
 * its two empty blocks: it may be cut off.
 */
#ifndef FILE_UNTAR_H
#define FILE_UNTAR_H

#include "base/buf.h"
#include "limits.h"

enum untar_event {
	UNTAR_MORE,  /* all of the input is used: feed more */
	UNTAR_ENTRY, /* entry is set */
	UNTAR_DATA,  /* a piece of its content */
	UNTAR_END,   /* the content of a file is complete */
	UNTAR_DONE,  /* the archive is; what follows does not matter */
};

enum untar_type {
	UNTAR_FILE,
	UNTAR_DIR,
	UNTAR_SYMLINK,
	UNTAR_HARDLINK,
};

struct untar_entry {
	enum untar_type type;
	struct str name;   /* may be anything, a way up too; valid until the next entry */
	struct str target; /* of a link */
	unsigned mode;     /* permission bits, 07777 at most */
	int64_t mtime;
	uint64_t size; /* of a file's content */
};

enum untar_state {
	UNTAR_HEADER,
	UNTAR_META, /* in a header's long form: names, pax records */
	UNTAR_CONTENT,
	UNTAR_PADDING, /* behind either */
	UNTAR_EPILOGUE,
};

enum { UNTAR_BLOCK = 512 };

struct untar {
	enum untar_state state;
	struct untar_entry entry;
	const char *why; /* after an error, in words */

	unsigned char block[UNTAR_BLOCK];
	size_t block_n;
	unsigned zeros; /* empty blocks in a row */
	uint64_t left;  /* bytes of content or meta */
	size_t padding; /* bytes behind them */
	char meta_type; /* what the meta is: x, g, L or K */
	struct buf meta;
	struct buf name, target; /* from meta, for the next entry; then of the entry */
	bool has_name, has_target, has_size, has_mtime;
	uint64_t size;
	int64_t mtime;
};

void untar_init(struct untar *u);
void untar_free(struct untar *u);

/*
 * Takes bytes from the front of *in, moving *in behind them, up to the next event,
 * which is returned; piece is set for UNTAR_DATA and points into the input. A file has
 * an END, other entries have none. ERR_SYNTAX or ERR_LIMIT, with why; -ENOMEM.
 */
int untar_next(struct untar *u, struct str *in, struct str *piece) MUST_USE;

/*
 * Behind UNTAR_ENTRY, for input that can be skipped: the bytes of content and padding
 * that the caller leaves out. Fed next is the header behind them; no END comes.
 */
uint64_t untar_pass(struct untar *u) MUST_USE;

#endif
