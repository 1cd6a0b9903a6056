/*
 * The raw output of one command, in memory that outlives a crash of serve.
 *
 * A ring in a memfd that init keeps, behind SPOOL_STATE bytes that belong to the
 * shell. The ring keeps the newest SPOOL_RING bytes; offsets count from the
 * command's start and never wrap. Bytes are read from the terminal straight
 * into the ring. A kill between that read and the note that it happened loses
 * nothing: the room was zero before, so what is not zero was read. (NUL bytes
 * at the very end may be lost that way, which no terminal shows.)
 */
#ifndef TERM_SPOOL_H
#define TERM_SPOOL_H

#include "base/str.h"

enum { SPOOL_STATE = 8192 };

struct spool_map;

struct spool {
	int fd; /* -1: none */
	struct spool_map *map;
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
/* n bytes of that room have been filled; returns them. */
struct str spool_commit(struct spool *s, size_t n);

/* Offsets of the oldest byte that is still there, and behind the newest. */
uint64_t spool_first(const struct spool *s);
uint64_t spool_end(const struct spool *s);
/* What stands at offset, as far as it is contiguous; empty at the end. */
struct str spool_at(const struct spool *s, uint64_t offset);

/* Forgets all bytes: a new command begins at offset 0. */
void spool_reset(struct spool *s);

#endif
