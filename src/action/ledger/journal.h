/*
 * An append-only file of records. Records written before the writer, or its machine, was
 * killed are read again. The first torn record ends the journal; the number of torn bytes
 * is reported, their content is not read.
 *
 * A record is n u32 | crc u32 | type u8 | version u8 | n bytes, numbers little-endian.
 * crc is the CRC-32 (RFC 1952) of all bytes behind it. The file begins with
 * JOURNAL_MAGIC.
 */
#ifndef ACTION_LEDGER_JOURNAL_H
#define ACTION_LEDGER_JOURNAL_H

#include "base/buf.h"

enum { JOURNAL_LATE_MAX = 256 << 10 }; /* bytes collected, to be written at once */

#define JOURNAL_MAGIC "od-journal 1\n"

enum {
	JOURNAL_PEEK = 4096,
	JOURNAL_PARTS = 4,
	JOURNAL_FIRST = sizeof(JOURNAL_MAGIC) - 1 + 10, /* the first record's payload */
};

struct journal {
	int fd;           /* the owner's; read and write */
	uint64_t size;    /* of the whole records, the magic included */
	bool torn;        /* bytes that are no whole record may follow */
	struct buf *late; /* the last records, not written yet; see journal_collect */
};

/* A record as read from the file. */
struct journal_entry {
	uint8_t type;
	uint64_t at;     /* offset of its payload */
	uint64_t n;      /* size of the payload */
	struct str peek; /* the first JOURNAL_PEEK bytes of the payload, at most */
};

/* A result other than 0 ends the reading with that result. */
typedef int journal_fn(void *ctx, const struct journal_entry *e);

/*
 * Reads a file from its start and calls fn for each whole record; an empty file becomes a
 * journal without records. 0 with *torn, the number of bytes behind the last whole
 * record, which stay until the first journal_add; ERR_VERSION: the file is no journal,
 * and is not changed; -errno; the result of fn.
 */
int journal_begin(
	struct journal *j, int fd, journal_fn *fn, void *ctx, uint64_t *torn) MUST_USE;

/*
 * Appends a record of the parts; with sync, waits until it is on disk. 0 with *at, the
 * offset of its payload; -errno (-ENOSPC...), with the file unchanged; ERR_LIMIT: longer
 * than JOURNAL_RECORD_MAX.
 */
int journal_add(struct journal *j, uint8_t type, const struct str *parts, size_t parts_n,
	bool sync, uint64_t *at) MUST_USE;

/*
 * Collects records in b, up to JOURNAL_LATE_MAX bytes; b is borrowed until journal_flush
 * has written the last of them. sync and journal_undo have no meaning for collected
 * records. NULL: each record is written at once again.
 */
void journal_collect(struct journal *j, struct buf *b);
/* Writes the collected records. 0 or -errno. */
int journal_flush(struct journal *j) MUST_USE;

/* Removes the records added since j->size was size; no event about them was sent yet. */
void journal_undo(struct journal *j, uint64_t size);

/*
 * Reads n bytes at the offset of a record: 0; ERR_CLOSED when the file has fewer; -errno.
 */
int journal_read(const struct journal *j, uint64_t at, void *p, size_t n) MUST_USE;

#endif
