/*
 * Content of a file, received in pieces from its beginning. Zeros are not written, so
 * that sparse files stay sparse in any archive format. A file system allocates whole
 * blocks: zeros next to other bytes of the same block cost nothing and are written.
 */
#ifndef FS_HOLES_H
#define FS_HOLES_H

#include "base/str.h"

/* A zeroed object is a valid start. */
struct holes {
	uint64_t at; /* bytes of content received so far */
};

/*
 * Takes bytes from the front of *piece. True with *data, to be written at the offset
 * *at of the file; false if the rest of the piece is used up.
 */
bool holes_next(struct holes *h, struct str *piece, struct str *data, uint64_t *at);
/* Writes the bytes of piece that are not zeros to fd, a new file. 0 or -errno. */
int holes_write(struct holes *h, int fd, struct str piece) MUST_USE;
/* Sets the size of the file, which may end in a hole. 0 or -errno. */
int holes_end(const struct holes *h, int fd) MUST_USE;

#endif
