/*
 * A writer of tar archives (POSIX.1-2001, pax): names of any length and bytes, files of
 * any size. Without state and I/O: it appends to a buf, and the caller puts the content
 * between header and padding.
 */
#ifndef CODEC_ARCHIVE_PAX_H
#define CODEC_ARCHIVE_PAX_H

#include "base/buf.h"

struct pax_entry {
	struct str name;   /* relative; a folder's without a slash at the end */
	struct str target; /* of a symbolic link, or of a hard one (see hard) */
	uint32_t mode;     /* as in struct stat: type and permissions */
	bool hard;         /* a hard link to target, an earlier entry */
	int64_t mtime;
	uint64_t size; /* of a regular file's content; otherwise ignored */
	uint32_t uid, gid;
	struct str comment; /* a note for humans; readers ignore it */
};

/* 0; ERR_TYPE for types that are not supported: devices, pipes, sockets. */
int pax_write_header(struct buf *out, const struct pax_entry *e) MUST_USE;
/* Pads the last block of content that is size bytes long. */
void pax_pad(struct buf *out, uint64_t size);
/* Appends the two empty blocks of the end. */
void pax_end(struct buf *out);

#endif
