/*
 * A reader of zip archives by their central directory, over any source of bytes.
 *
 * What two readers could understand in two ways is refused: headers that disagree,
 * content that overlaps, names that stand twice, names with a NUL, a backslash or a
 * drive letter. So is what cannot be read here
 * (encryption, other methods than stored and deflate, several disks), and what is
 * larger than ARCHIVE_ENTRIES_MAX, ARCHIVE_BYTES_MAX or ARCHIVE_RATIO_MAX allow.
 */
#ifndef FILE_UNZIP_H
#define FILE_UNZIP_H

#include "base/buf.h"

#include <zlib.h>

/* Reads exactly n bytes at offset at, which lie within the source: 0 or -errno. */
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
	uint64_t local; /* where its local header is */
};

struct unzip {
	struct unzip_source source;
	struct buf directory;
	uint64_t directory_at;
	uint64_t entries;
	const char *why;    /* after an error, in words */
	struct str culprit; /* the entry that it is about; or empty */

	uint64_t next_i; /* the entry that unzip_next gives */
	size_t next_at;

	/* For the content, from the first use on. */
	z_stream z;
	bool unpacks;
	unsigned char *room;
};

/*
 * Finds the directory and looks at every entry, so that nothing needs to be unpacked
 * of an archive that is no good as a whole. 0; ERR_TYPE: no zip archive; ERR_SYNTAX:
 * malformed or not for us; ERR_LIMIT; -errno of the source. unzip_free in any case.
 */
int unzip_open(struct unzip *u, const struct unzip_source *source) MUST_USE;
void unzip_free(struct unzip *u);

/* The entries in the order of the directory: 0; 1 when there are no more. */
int unzip_next(struct unzip *u, struct unzip_entry *e) MUST_USE;
/* unzip_next begins with the first entry again. */
void unzip_rewind(struct unzip *u);

/* The entry of that name: 0; 1 when there is none. */
int unzip_find(struct unzip *u, struct str name, struct unzip_entry *e) MUST_USE;

/* The content of an entry, unpacked. */
struct unzip_content {
	struct unzip *u;
	struct unzip_entry entry;
	uint64_t at, left; /* of the packed bytes */
	uint64_t size;     /* unpacked so far */
	uint32_t crc;
};

/* 0 or an error as of unzip_open. One at a time. */
int unzip_begin(
	struct unzip_content *c, struct unzip *u, const struct unzip_entry *e) MUST_USE;
/* 1 with the next piece; 0 at the end, when size and checksum are right; or an error. */
int unzip_piece(struct unzip_content *c, struct str *piece) MUST_USE;
#endif
