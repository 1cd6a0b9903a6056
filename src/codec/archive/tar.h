/*
 * A writer of reproducible USTAR archives (POSIX.1-1988): owner 0:0, no user names,
 * time 0, entries in byte order. Without I/O: it writes headers and padding into a buf.
 * The caller puts the content between them, into the same buf or directly to the
 * archive's destination.
 */
#ifndef CODEC_ARCHIVE_TAR_H
#define CODEC_ARCHIVE_TAR_H

#include "base/buf.h"

enum { TAR_BLOCK = 512, TAR_NAME_MAX = 100 };

enum tar_type {
	TAR_FILE = '0',
	TAR_LINK = '2', /* symbolic */
	TAR_DIR = '5',
};

struct tar_entry {
	enum tar_type type;
	unsigned mode;      /* permission bits, 07777 at most */
	const char *name;   /* relative; a directory's ends with '/' */
	const char *target; /* of a link; NULL otherwise */
	uint64_t size;      /* of a file's content; 0 otherwise */
};

struct tar {
	struct buf *out;
	uint64_t pending; /* bytes of content announced by the last header */
	char last[TAR_NAME_MAX + 1];
};

void tar_init(struct tar *t, struct buf *out);

/*
 * Writes the header of e. 0; ERR_LIMIT for a name or target of more than 100 bytes or a
 * size of 8 GiB and more; ERR_SYNTAX for a name that is empty, absolute, has an empty,
 * "." or ".." part or a wrong end; ERR_RANGE if the name is not after the last one in
 * byte order; or the error of the buf.
 */
int tar_write_header(struct tar *t, const struct tar_entry *e) MUST_USE;

/* Pads the last block of the announced content; call it once after each file. */
void tar_pad(struct tar *t);

/* Appends the two empty blocks of the end. */
void tar_end(struct tar *t);

#endif
