/*
 * The data that a zip writer stores for each entry until the end of the archive. It is
 * compressed, about seven bytes per file, so that a tree of a million files needs
 * neither much memory nor a temporary file.
 */
#ifndef CODEC_ARCHIVE_ZIP_INDEX_H
#define CODEC_ARCHIVE_ZIP_INDEX_H

#include "base/buf.h"

#include <zlib.h>

struct zip_record {
	struct str name;
	uint32_t mode;
	int64_t mtime;
	uint32_t crc;
	uint64_t size, packed;
	bool deflated;
	bool streamed; /* it has a data descriptor */
	bool zip64;    /* the descriptor has 64-bit sizes */
};

struct zip_index_chunk;

struct zip_index {
	uint64_t entries;
	z_stream z; /* compresses first, later decompresses */
	enum { ZIP_INDEX_NEW, ZIP_INDEX_WRITES, ZIP_INDEX_READS } state;
	struct zip_index_chunk *first, *last;
	size_t memory;
	struct buf line; /* one encoded record */
	struct buf name; /* of the last record */
	int64_t mtime;
};

/* A zeroed object is a valid index without entries. */
void zip_index_free(struct zip_index *ix);

/* 0; -ENOMEM; ERR_LIMIT. */
int zip_index_add(struct zip_index *ix, const struct zip_record *r) MUST_USE;

/*
 * Reads the records in the order in which they were added, each once. No record can be
 * added after the first call. The name is borrowed until the next call. 0; 1 at the
 * end; -ENOMEM.
 */
int zip_index_next(struct zip_index *ix, struct zip_record *out) MUST_USE;

#endif
