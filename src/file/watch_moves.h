/*
 * The renames of late, to suspect an exchange. Two names that change places (renameat2)
 * are told as two renames, there and back, each of which may be read and dealt with
 * alone. So are two real ones. For file/watch.
 */
#ifndef FILE_WATCH_MOVES_H
#define FILE_WATCH_MOVES_H

#include "limits.h"

#include <stdbool.h>
#include <stdint.h>

/* Its places, see watch_place; 0: not seen. */
struct watch_move {
	uint32_t cookie, from, to;
};

/* Zeroed, nothing has moved. */
struct watch_moves {
	struct watch_move ring[WATCH_MOVES];
	unsigned n; /* how many there ever were */
};

/* A number for a name in a folder, which another place hardly shares; never 0. */
uint32_t watch_place(int wd, const char *name);

/* The halves of a rename, which share the kernel's cookie. */
void watch_moves_leave(struct watch_moves *m, uint32_t cookie, uint32_t from);
void watch_moves_come(struct watch_moves *m, uint32_t cookie, uint32_t to);

/* Whether a rename leads back where the name had come from. */
bool watch_moves_back(const struct watch_moves *m, uint32_t from, uint32_t to);

#endif
