/*
 * What actions have printed, by offset: byte k of an output has one value for ever, or is
 * in a gap. Of each the first OUTPUT_HEAD bytes are kept and the last OUTPUT_TAIL, and of
 * all together OUTPUT_BLOCK times blocks_max: when that is not enough outputs that have
 * ended give theirs, oldest first, and then the largest one its middle.
 *
 * All lie in one file of blocks, which outlives its writer: a block begins with a head
 * that says whose it is, where it stands, and the SHA-256 of all before it. Killed at any
 * moment, the writer leaves what it had completed; what its source still has to give
 * behind that is known too.
 */
#ifndef EVENT_OUTPUT_H
#define EVENT_OUTPUT_H

#include "base/buf.h"
#include "base/hash.h"

enum {
	OUTPUT_KEY = 16,
	OUTPUT_BLOCK = 4096,
	OUTPUT_DATA = OUTPUT_BLOCK - 128, /* of that; whole blocks of SHA-256 */
};

/* One action's. */
struct output {
	struct output *newer, *older;
	uint8_t key[OUTPUT_KEY];
	uint64_t end; /* bytes printed so far */
	struct sha256 sha;
	uint64_t source;    /* where in what it comes from the next byte stands... */
	uint64_t source_at; /* ...if this many have been printed */
	uint64_t skip;      /* bytes that will come once more, after a crash */
	bool closed;        /* it has ended */
	uint32_t *blocks;   /* numbers of blocks, by the place of each; see output.c */
	size_t places, held;
	uint64_t low;               /* no block of the tail below it is held */
	uint32_t sum;               /* of the last block's bytes */
	uint8_t before[SHA256_LEN]; /* digest's state at the start of the last block */
};

struct outputs {
	int fd;                        /* its own */
	uint32_t blocks_max, blocks_n; /* of the file */
	uint32_t *free;                /* numbers of blocks that are nobody's */
	size_t free_n, free_cap;
	struct output *oldest, *newest;
};

/*
 * Takes fd over, in any case, and finds the outputs in it; an empty one has none. known:
 * it is that of an earlier process of this boot; else all its bytes are read, for the
 * machine may have ended. 0, -ENOMEM, -errno.
 */
int outputs_open(struct outputs *o, int fd, uint32_t blocks_max, bool known) MUST_USE;
void outputs_close(struct outputs *o);

/* A new one, without bytes; NULL out of memory. */
struct output *output_new(struct outputs *o, const uint8_t key[OUTPUT_KEY]);
/* Its bytes are not wanted any more; nor is x valid. */
void output_del(struct outputs *o, struct output *x);
/*
 * More bytes, in which its source comes to this place. Bytes that have no room, on a
 * full disk, become a gap.
 */
void output_add(struct outputs *o, struct output *x, struct str bytes, uint64_t source);
/* No more will come: the SHA-256 of all bytes. */
void output_close(struct output *x, uint8_t digest[SHA256_LEN]);

/* A part of an output. */
struct output_part {
	uint64_t from; /* the first byte that is there; those before are lost */
	uint64_t next; /* behind the last; where nothing is left: the end */
};
/*
 * Appends bytes from offset on to out, max at most and none behind a gap. x may be NULL:
 * all is lost, up to end, which is not before x->end. 0, ERR_RANGE: beyond the end;
 * -errno, ERR_CLOSED.
 */
int output_read(const struct outputs *o, const struct output *x, uint64_t end,
	uint64_t offset, size_t max, struct buf *out, struct output_part *part) MUST_USE;

#endif
