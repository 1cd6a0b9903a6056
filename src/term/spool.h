/*
 * The raw output of one command, in memory that outlives a crash of serve.
 *
 * A memfd that init keeps: SPOOL_STATE bytes that belong to the shell, and behind
 * them the first SPOOL_HEAD bytes of the output and the newest SPOOL_TAIL. What
 * came between these two is gone, and spool_gap says so. Offsets count from the
 * command's start and never wrap.
 *
 * Bytes are read from the terminal straight into the spool. A kill between that
 * read and the note that it happened loses nothing: the room was zero before, so
 * what is not zero was read. (NUL bytes at the very end may be lost that way,
 * which no terminal shows.) A kill at any other moment finds the spool as it was
 * before the step or after it.
 *
 * What has been written leaves this process's resident set, and what has been
 * forgotten leaves the machine's memory: an empty spool holds the pages of the state
 * and two more.
 */
#ifndef TERM_SPOOL_H
#define TERM_SPOOL_H

#include "base/str.h"

enum { SPOOL_STATE = 8192 };

struct spool_map;

struct spool {
	int fd; /* -1: none */
	struct spool_map *map;
	char *seen; /* the window that spool_at showed last; NULL: none */
};

/* Bytes that are lost: from..to, the latter not included. Equal: none. */
struct spool_gap {
	uint64_t from, to;
};

/* A new, empty spool, or -errno. */
int spool_make(struct spool *s) MUST_USE;
/* Takes over fd, which holds a spool of an earlier life; counts what it lost track of. */
int spool_adopt(struct spool *s, int fd) MUST_USE;
void spool_free(struct spool *s);

/* SPOOL_STATE bytes for the owner, zero in a new spool. */
void *spool_state(struct spool *s);

/* Room to read into: at least one byte; *n says how many. */
char *spool_room(struct spool *s, size_t *n);
/* n bytes of that room have been filled; returns them, valid until the next commit. */
struct str spool_commit(struct spool *s, size_t n);

/* The offset behind the newest byte. */
uint64_t spool_end(const struct spool *s);
/* What is lost between the head and the tail. */
struct spool_gap spool_gap(const struct spool *s);
/*
 * What stands at offset, as far as it lies in one piece: call again behind it.
 * Empty in the gap and at the end. Valid until the spool is written to.
 */
struct str spool_at(struct spool *s, uint64_t offset);

/*
 * Forgets what stands before offset `from`, which becomes offset 0 of a new
 * command. Where that would leave a gap, all before the tail is forgotten.
 */
void spool_keep(struct spool *s, uint64_t from);

#endif
