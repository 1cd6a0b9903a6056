/*
 * A reader of zip archives by their central directory, over any source of bytes.
 *
 * An archive that two readers could interpret differently is refused: headers that
 * disagree, content that overlaps, duplicate names, names with a NUL, a backslash or a
 * drive letter. Unsupported features are refused, too: encryption, methods other than
 * stored and deflate, several disks. Archives beyond ARCHIVE_ENTRIES_MAX,
 * ARCHIVE_BYTES_MAX or ARCHIVE_RATIO_MAX are refused as well.
 */
#ifndef CODEC_ARCHIVE_UNZIP_H
#define CODEC_ARCHIVE_UNZIP_H

#include "base/buf.h"

#include <zlib.h>

/* Reads exactly n bytes at offset at, within the source: 0 or -errno. */
typedef int unzip_read_fn(void *arg, uint64_t at, void *p, size_t n);

struct unzip_source {
	unzip_read_fn *read;
	void *arg;
	uint64_t size;
};

struct unzip_entry {
	struct str name; /* lives as long as the unzip; not empty, no NUL, no backslash */
	uint32_t mode;   /* as in struct stat */
	int64_t mtime;   /* seconds since 1970 */
	bool deflated;
	uint32_t crc;
	uint64_t size, packed;
	uint64_t local; /* offset of its local header */
};

struct unzip {
	struct unzip_source source;
	struct buf directory;
	uint64_t directory_at;
	uint64_t entries;
	const char *reason;    /* error message */
	struct str error_name; /* the entry with the error, or empty */

	uint64_t next_i; /* the next entry of unzip_next */
	size_t next_at;

	/* For the content, allocated at the first use. */
	z_stream z;
	bool z_ready;
	unsigned char *buffer;
};

/*
 * Finds the directory and checks each entry, so that nothing is unpacked of an invalid
 * archive. 0; ERR_TYPE: no zip archive; ERR_SYNTAX: malformed or not supported;
 * ERR_LIMIT; -errno of the source. Call unzip_free in any case.
 */
int unzip_open(struct unzip *u, const struct unzip_source *source) MUST_USE;
void unzip_free(struct unzip *u);

/* The next entry in the order of the directory: 0; 1 at the end. */
int unzip_next(struct unzip *u, struct unzip_entry *e) MUST_USE;
/* unzip_next restarts at the first entry. */
void unzip_rewind(struct unzip *u);

/* Finds the entry of that name: 0; 1 if there is none. */
int unzip_find(struct unzip *u, struct str name, struct unzip_entry *e) MUST_USE;

/* The content of an entry while it is unpacked. */
struct unzip_content {
	struct unzip *u;
	struct unzip_entry entry;
	uint64_t at, left; /* offset and rest of the packed bytes */
	uint64_t size;     /* unpacked so far */
	uint32_t crc;
};

/* Starts to unpack an entry; at most one at a time. 0 or an error as of unzip_open. */
int unzip_begin(
	struct unzip_content *c, struct unzip *u, const struct unzip_entry *e) MUST_USE;
/* 1 with the next piece; 0 at the end if size and checksum match; or an error. */
int unzip_read_piece(struct unzip_content *c, struct str *piece) MUST_USE;
#endif
