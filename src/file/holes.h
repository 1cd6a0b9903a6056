/*
 * Content of a file that comes in pieces, from its begin on: zeros are not written, so
 * that sparse files stay sparse whatever archive carries them. A file system allocates
 * whole blocks; zeros beside other bytes of their block cost nothing.
 */
#ifndef FILE_HOLES_H
#define FILE_HOLES_H

#include "base/str.h"

/* Zeroed is a valid start. */
struct holes {
	uint64_t at; /* bytes of content that have come */
};

/*
 * Takes bytes from the front of *piece: true with *data, which belongs at the offset *at
 * of the file; false when the rest of the piece is used up.
 */
bool holes_next(struct holes *h, struct str *piece, struct str *data, uint64_t *at);
/* Writes what of piece is no zeros to fd, a new file. 0 or -errno. */
int holes_write(struct holes *h, int fd, struct str piece) MUST_USE;
/* Gives the file its size, which ends in a hole perhaps. 0 or -errno. */
int holes_end(const struct holes *h, int fd) MUST_USE;

#endif
