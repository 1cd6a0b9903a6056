/*
 * Outputs of actions, by offset: byte k of an output has a fixed value, or lies in a gap.
 * Each output keeps its first OUTPUT_HEAD bytes and its last OUTPUT_TAIL bytes. All
 * outputs together have at most blocks_max blocks of OUTPUT_BLOCK bytes. When that is not
 * enough, outputs that have ended lose their blocks, oldest first, and then the largest
 * output loses its middle.
 *
 * All lie in one file of blocks, which outlives its writer. A block begins with a head
 * that names its output, its index, and the SHA-256 state of all bytes before it. If the
 * writer is killed at any moment, the completed blocks are valid, and the head says at
 * which offset its source has the bytes that follow.
 */
#ifndef ACTION_LEDGER_OUTPUT_H
#define ACTION_LEDGER_OUTPUT_H

#include "base/buf.h"
#include "base/hash.h"

enum {
	OUTPUT_KEY = 16,
	OUTPUT_BLOCK = 4096,
	/* data bytes of a block; whole blocks of SHA-256 */
	OUTPUT_DATA = OUTPUT_BLOCK - 128,
};

/* The output of an action. */
struct output {
	struct output *newer, *older;
	uint8_t key[OUTPUT_KEY];
	uint64_t end; /* bytes printed so far */
	struct sha256 sha;
	uint64_t source;    /* the offset in its source of the next byte... */
	uint64_t source_at; /* ...if this many have been printed */
	uint64_t skip;      /* bytes that the source will repeat, after a crash */
	bool closed;        /* the output has ended */
	uint32_t *blocks;   /* numbers of blocks, by the place of each; see output.c */
	size_t places, held;
	uint64_t low;               /* no block of the tail below it is held */
	uint32_t sum;               /* of the last block's bytes */
	uint8_t before[SHA256_LEN]; /* digest's state at the start of the last block */
};

struct outputs {
	int fd;                        /* its own */
	uint32_t blocks_max, blocks_n; /* of the file */
	uint32_t *free;                /* numbers of free blocks */
	size_t free_n, free_cap;
	struct output *oldest, *newest;
};

/*
 * Takes fd over, in any case, and finds the outputs in it; an empty file has none. known:
 * the file was written in this boot; otherwise all bytes are checked, since the machine
 * may have crashed. 0, -ENOMEM, -errno.
 */
int outputs_open(struct outputs *o, int fd, uint32_t blocks_max, bool known) MUST_USE;
void outputs_close(struct outputs *o);

/* A new output without bytes; NULL: out of memory. */
struct output *output_new(struct outputs *o, const uint8_t key[OUTPUT_KEY]);
/* Deletes the output and its bytes; x is invalid afterwards. */
void output_del(struct outputs *o, struct output *x);
/*
 * Adds bytes; source is the offset in the source behind them. Bytes that have no space,
 * on a full disk, become a gap.
 */
void output_add(struct outputs *o, struct output *x, struct str bytes, uint64_t source);
/* Ends the output: returns the SHA-256 of all bytes. */
void output_close(struct output *x, uint8_t digest[SHA256_LEN]);

/* A part of an output. */
struct output_part {
	uint64_t from; /* the first byte that is kept; those before it are lost */
	uint64_t next; /* the offset behind the last byte; if no byte is left: the end */
};
/*
 * Appends bytes from offset on to out, at most max and none behind a gap. x may be NULL:
 * all bytes up to end are lost; end is not before x->end. 0, ERR_RANGE: offset is beyond
 * the end; -errno, ERR_CLOSED.
 */
int output_read(const struct outputs *o, const struct output *x, uint64_t end,
	uint64_t offset, size_t max, struct buf *out, struct output_part *part) MUST_USE;

#endif
