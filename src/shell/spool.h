/*
 * The raw output of one command, in memory that outlives a crash of serve.
 *
 * The memory is a memfd that init keeps: SPOOL_STATE bytes that belong to the shell,
 * then the first SPOOL_HEAD bytes of the output and the newest SPOOL_TAIL. The bytes
 * between these two are lost; spool_gap returns their range. Offsets count from the
 * command's start and never wrap.
 *
 * Bytes are read from the terminal straight into the spool. A kill between that read and
 * its commit loses nothing: the memory was zero before, so bytes that are not zero were
 * read. (NUL bytes at the very end may be lost that way, which no terminal shows.) A
 * kill at any other moment finds the spool as it was before the step or after it.
 *
 * Written bytes leave this process's resident set, and dropped bytes leave the machine's
 * memory: an empty spool holds the pages of the state and two more.
 */
#ifndef SHELL_SPOOL_H
#define SHELL_SPOOL_H

#include "base/str.h"

enum { SPOOL_READ = 4096 }; /* a pty gives at most 4,095 bytes at a time */

enum { SPOOL_STATE = 8192 };

struct spool_map;

struct spool {
	int fd; /* -1: none */
	struct spool_map *map;
	char *seen; /* the window that spool_get_bytes used last; NULL: none */
};

/* Bytes that are lost: from..to, the latter not included. Equal: none. */
struct spool_gap {
	uint64_t from, to;
};

/* A new, empty spool, or -errno. */
int spool_make(struct spool *s) MUST_USE;
/*
 * Takes over fd, which holds the spool of an earlier process; completes its last commit.
 */
int spool_adopt(struct spool *s, int fd) MUST_USE;
void spool_free(struct spool *s);

/* SPOOL_STATE bytes for the owner, zero in a new spool. */
void *spool_get_state(struct spool *s);

/* Space to read into: at least one byte; *n is its size. */
char *spool_get_space(struct spool *s, size_t *n);
/*
 * Commits n bytes that were read into spool_get_space; returns them, valid until the next
 * commit.
 */
struct str spool_commit(struct spool *s, size_t n);

/* The offset after the newest byte. */
uint64_t spool_get_end(const struct spool *s);
/* The range of bytes that are lost between the head and the tail. */
struct spool_gap spool_gap(const struct spool *s);
/*
 * The bytes at offset that are contiguous: call again with the offset after them. Empty
 * in the gap and at the end. Valid until the spool is written to.
 */
struct str spool_get_bytes(struct spool *s, uint64_t offset);

/*
 * Drops the bytes before offset `from`, which becomes offset 0 of a new command. If a
 * gap would remain, all bytes before the tail are dropped.
 */
void spool_drop_before(struct spool *s, uint64_t from);

#endif
