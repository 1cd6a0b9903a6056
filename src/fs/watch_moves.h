/*
 * Recent renames, to detect an exchange. inotify reports an exchange of two names
 * (renameat2 RENAME_EXCHANGE) as two renames, there and back, which may be read and
 * handled separately. Two real renames look alike. For fs/watch.
 */
#ifndef FS_WATCH_MOVES_H
#define FS_WATCH_MOVES_H

#include <stdbool.h>
#include <stdint.h>

enum { WATCH_MOVES = 64 }; /* moves reported between the two renames of an exchange */

/* The places of a rename, see watch_moves_hash_place; 0: not seen. */
struct watch_move {
	uint32_t cookie, from, to;
};

/* A zeroed object is valid and empty. */
struct watch_moves {
	struct watch_move ring[WATCH_MOVES];
	unsigned n; /* total number of renames seen */
};

/* A hash of a name in a folder, which other places rarely share; never 0. */
uint32_t watch_moves_hash_place(int wd, const char *name);

/* Record a half of a rename. Both halves have the same cookie of the kernel. */
void watch_moves_add_from(struct watch_moves *m, uint32_t cookie, uint32_t from);
void watch_moves_add_to(struct watch_moves *m, uint32_t cookie, uint32_t to);

/* Whether a rename leads back to where the name came from. */
bool watch_moves_is_return(const struct watch_moves *m, uint32_t from, uint32_t to);

#endif
