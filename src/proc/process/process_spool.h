/*
 * An output of a process, addressed by offset, in memory that outlives a crash of serve.
 *
 * The bytes lie in a memfd: byte k of the output is byte k of the file, and the size of
 * the file is the end of the output. splice(2) moves bytes out of a pipe and grows the
 * file in one system call, so that a kill at any moment neither loses nor doubles a byte.
 * If a source cannot be spliced (a pty), bytes pass through the landing area of the meta
 * record, which after a crash holds the bytes that were read and not yet stored.
 *
 * The oldest bytes are released to the system as holes; meta->start is the offset of the
 * first byte that is left.
 */
#ifndef PROC_PROCESS_PROCESS_SPOOL_H
#define PROC_PROCESS_PROCESS_SPOOL_H

#include "base/buf.h"

#include <sys/types.h>

enum { PROCESS_LANDING = 4096 };

/* The part of an output that lies in the record of its process: shared memory. */
struct process_spool_meta {
	uint64_t start;    /* the offset of the first byte that is kept */
	uint64_t land_at;  /* where the bytes in landing belong */
	uint32_t land_n;   /* how many bytes landing holds; 0: none are known */
	uint32_t land_arm; /* a read into landing may have happened; it was zero before */
	char landing[PROCESS_LANDING];
};

struct process_spool {
	int fd; /* the memfd; -1: none */
	struct process_spool_meta *meta;
	uint64_t end;     /* the offset behind the newest byte: the size of the file */
	uint64_t punched; /* bytes below this offset have been released */
	bool no_splice;   /* the source cannot be spliced */
	bool no_holes;    /* files of this system cannot have holes */
};

/* A part of an output. */
struct process_part {
	uint64_t from; /* the first byte that is there; the bytes before it are lost */
	uint64_t next; /* the offset behind the last byte */
};

/* An empty spool over meta, which is zero. -errno. */
int process_spool_make(struct process_spool *s, struct process_spool_meta *meta) MUST_USE;
/*
 * Takes fd over, in any case: the spool of an earlier process of serve. Stores what the
 * landing area holds. -errno.
 */
int process_spool_restore(
	struct process_spool *s, struct process_spool_meta *meta, int fd) MUST_USE;
void process_spool_free(struct process_spool *s);

/* The number of bytes that are kept. */
uint64_t process_spool_size(const struct process_spool *s);

/*
 * Appends up to n bytes of the pipe or terminal source, which does not block. The number
 * of bytes; 0 at the end of source; -EAGAIN: it has none now; another -errno: of source.
 * Bytes that the system has no memory for become a gap.
 */
ssize_t process_spool_append(struct process_spool *s, int source, size_t n) MUST_USE;

/* Releases the bytes before offset; an offset beyond the end means the end. */
void process_spool_trim(struct process_spool *s, uint64_t offset);

/*
 * Whether more memory is held than needed, because the system has no holes: then
 * process_spool_compact copies the kept bytes to another file, whose descriptor has to
 * replace the old one in the store. -errno: the spool is unchanged.
 */
bool process_spool_is_wasteful(const struct process_spool *s);
int process_spool_compact(struct process_spool *s) MUST_USE;

/*
 * Appends up to max bytes from offset at on to out. A gap is skipped: *part has the
 * offset at which the bytes begin. 0; ERR_RANGE: at is beyond the end; -errno.
 */
int process_spool_read(const struct process_spool *s, uint64_t at, size_t max,
	struct buf *out, struct process_part *part) MUST_USE;

/*
 * Sends up to n bytes from offset at on to a socket without a copy. Returns their number;
 * -EAGAIN: the socket is full; ERR_RANGE: at lies in the gap or not before the end;
 * -EINVAL: not supported, process_spool_read has to be used; another -errno, of the
 * socket.
 */
ssize_t process_spool_send(
	const struct process_spool *s, uint64_t at, size_t n, int sock) MUST_USE;

#endif
