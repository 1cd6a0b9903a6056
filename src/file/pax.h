/*
 * A writer of tar archives (POSIX.1-2001, pax) for trees as they are: names of any
 * length and bytes, files of any size. Without state and without I/O: it appends to a
 * buf, and the caller puts the content between header and padding.
 */
#ifndef FILE_PAX_H
#define FILE_PAX_H

#include "base/buf.h"

struct pax_entry {
	struct str name;   /* relative; a folder's without a slash at the end */
	struct str target; /* of a symbolic link; or of a hard one, see hard */
	uint32_t mode;     /* as in struct stat: type and permissions */
	bool hard;         /* a further name for target, which came before */
	int64_t mtime;
	uint64_t size; /* of a regular file's content; otherwise not looked at */
	uint32_t uid, gid;
	struct str comment; /* for people; readers pass over it */
};

/* 0; ERR_TYPE for what tar would not carry here: devices, pipes, sockets. */
int pax_header(struct buf *out, const struct pax_entry *e) MUST_USE;
/* Fills the last block of content that is size bytes long. */
void pax_pad(struct buf *out, uint64_t size);
/* The two empty blocks of the end. */
void pax_end(struct buf *out);

#endif
