/*
 * A file of records that are only ever appended: what was written before its writer was
 * killed, or its machine, is read again; a record that is torn ends it, and what lies
 * there is told, not read.
 *
 * A record is n u32 | crc u32 | type u8 | version u8 | n bytes, numbers little-endian,
 * the CRC-32 (RFC 1952) that of all behind it. The file begins with JOURNAL_MAGIC.
 */
#ifndef EVENT_JOURNAL_H
#define EVENT_JOURNAL_H

#include "base/buf.h"

#define JOURNAL_MAGIC "od-journal 1\n"

enum {
	JOURNAL_PEEK = 4096,
	JOURNAL_PARTS = 4,
	JOURNAL_FIRST = sizeof(JOURNAL_MAGIC) - 1 + 10, /* the first record's payload */
};

struct journal {
	int fd;           /* the owner's; read and write */
	uint64_t size;    /* of the whole records, the magic included */
	bool torn;        /* something else may lie behind them */
	struct buf *late; /* the last of them; see journal_collect */
};

/* A record that was read. */
struct journal_entry {
	uint8_t type;
	uint64_t at;     /* offset of its payload */
	uint64_t n;      /* bytes of it */
	struct str peek; /* the first JOURNAL_PEEK of them at most */
};

/* Not 0 ends the reading with that result. */
typedef int journal_fn(void *ctx, const struct journal_entry *e);

/*
 * Reads a file from its start and calls fn for each whole record; an empty one becomes a
 * journal without records. 0 with *torn, the bytes behind the last whole record, which
 * stay until the first journal_add; ERR_VERSION: it is no journal, and is not touched;
 * -errno; fn's.
 */
int journal_begin(
	struct journal *j, int fd, journal_fn *fn, void *ctx, uint64_t *torn) MUST_USE;

/*
 * Appends a record of the parts; with sync the disk has it. 0 with *at, the offset of
 * its payload; -errno (-ENOSPC...), and the file is as it was; ERR_LIMIT: longer than
 * JOURNAL_RECORD_MAX.
 */
int journal_add(struct journal *j, uint8_t type, const struct str *parts, size_t parts_n,
	bool sync, uint64_t *at) MUST_USE;

/*
 * Records collect in b, JOURNAL_LATE_MAX bytes, borrowed until journal_flush has put the
 * last of them into the file: sync and journal_undo mean nothing for those. NULL: each is
 * written at once again.
 */
void journal_collect(struct journal *j, struct buf *b);
/* 0 or -errno. */
int journal_flush(struct journal *j) MUST_USE;

/* Takes back what was added since j->size was size, and nobody was told of. */
void journal_undo(struct journal *j, uint64_t size);

/* n bytes at an offset that a record gave: 0, or ERR_CLOSED when they are not there. */
int journal_read(const struct journal *j, uint64_t at, void *p, size_t n) MUST_USE;

#endif
