#include "codec/archive/zip.h"

#include "base/crc.h"
#include "base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>
#include <time.h>

enum {
	LOCAL_SIGN = 0x04034b50,
	DESCRIPTOR_SIGN = 0x08074b50,
	CENTRAL_SIGN = 0x02014b50,
	END_SIGN = 0x06054b50,
	END64_SIGN = 0x06064b50,
	LOCATOR_SIGN = 0x07064b50,

	LOCAL_SIZE = 30,
	TIME_SIZE = 9,   /* the extra field with the time in seconds */
	ZIP64_SIZE = 20, /* the extra field of a local header */
	DESCRIPTOR_SIZE = 16,
	DESCRIPTOR64_SIZE = 24,

	FLAG_DESCRIPTOR = 1 << 3,
	FLAG_UTF8 = 1 << 11,
	STORED = 0,
	DEFLATED = 8,
	MADE_BY = 3 << 8 | 45, /* Unix: the mode is in the external attributes */
	DOS_DIRECTORY = 0x10,
	NAME_MAX_BYTES = 65535,
	DIRECTORY_STEP = 65536,
};

/* Values from which a number does not fit into 32 or 16 bits. */
static const uint64_t long32 = 0xffffffff;
static const uint64_t long16 = 0xffff;
/* Size from which ZIP64 is used: deflate may add five bytes to each 16 KiB. */
static const uint64_t zip64_from = 0xffe00000;

static void zip_put16(struct buf *b, uint64_t v)
{
	buf_putc(b, (char)v);
	buf_putc(b, (char)(v >> 8));
}

static void zip_put32(struct buf *b, uint64_t v)
{
	zip_put16(b, v);
	zip_put16(b, v >> 16);
}

static void zip_put64(struct buf *b, uint64_t v)
{
	zip_put32(b, v);
	zip_put32(b, v >> 32);
}

static uint64_t zip_min(uint64_t v, uint64_t most)
{
	return v < most ? v : most;
}

void zip_init(struct zip *z, struct buf *out)
{
	*z = (struct zip){.out = out};
	buf_init(&z->name, NAME_MAX_BYTES + 1);
}

void zip_free(struct zip *z)
{
	if (z->z_ready)
		deflateEnd(&z->z);
	zip_index_free(&z->index);
	buf_free(&z->name);
	*z = (struct zip){.out = NULL};
}

/* The MS-DOS time, in UTC: from 1980 to 2107, in steps of two seconds. */
static uint32_t zip_to_dos_time(int64_t mtime)
{
	static const int64_t first = 315532800, last = 4354819199;
	time_t t = (time_t)(mtime < first ? first : mtime > last ? last : mtime);
	struct tm tm = {0};

	gmtime_r(&t, &tm);
	return (uint32_t)(tm.tm_year - 80) << 25 | (uint32_t)(tm.tm_mon + 1) << 21 |
		(uint32_t)tm.tm_mday << 16 | (uint32_t)tm.tm_hour << 11 |
		(uint32_t)tm.tm_min << 5 | (uint32_t)tm.tm_sec / 2;
}

static unsigned zip_get_version(const struct zip_record *r)
{
	if (r->zip64)
		return 45;
	return r->deflated || S_ISDIR(r->mode) ? 20 : 10;
}

/* Writes version, flags, method and time, which are in both kinds of header. */
static void zip_put_common(struct buf *b, const struct zip_record *r)
{
	bool ascii = true;

	for (size_t i = 0; i < r->name.n && ascii; i++)
		ascii = !((unsigned char)r->name.p[i] & 128);
	zip_put16(b, zip_get_version(r));
	/* The flag is set only for valid UTF-8; other names are raw bytes. */
	zip_put16(b,
		(r->streamed ? FLAG_DESCRIPTOR : 0) |
			(!ascii && utf8_is_valid(r->name) ? FLAG_UTF8 : 0));
	zip_put16(b, r->deflated ? DEFLATED : STORED);
	zip_put32(b, zip_to_dos_time(r->mtime));
}

static void zip_put_time(struct buf *b, int64_t mtime)
{
	zip_put16(b, 0x5455);
	zip_put16(b, TIME_SIZE - 4);
	buf_putc(b, 1); /* only the modification time */
	zip_put32(b,
		(uint64_t)(mtime > INT32_MAX        ? INT32_MAX
				: mtime < INT32_MIN ? INT32_MIN
						    : mtime));
}

static void zip_put_local(struct buf *b, const struct zip_record *r)
{
	zip_put32(b, LOCAL_SIGN);
	zip_put_common(b, r);
	zip_put32(b, r->streamed ? 0 : r->crc);
	zip_put32(b, r->zip64 ? long32 : r->streamed ? 0 : r->packed);
	zip_put32(b, r->zip64 ? long32 : r->streamed ? 0 : r->size);
	zip_put16(b, r->name.n);
	zip_put16(b, TIME_SIZE + (r->zip64 ? ZIP64_SIZE : 0));
	buf_str(b, r->name);
	zip_put_time(b, r->mtime);
	if (r->zip64) {
		zip_put16(b, 1);
		zip_put16(b, ZIP64_SIZE - 4);
		zip_put64(b, 0);
		zip_put64(b, 0);
	}
}

static void zip_put_central(struct buf *b, const struct zip_record *r, uint64_t from)
{
	unsigned extra = (r->zip64 ? 16u : 0u) + (from >= long32 ? 8u : 0u);
	bool folder = S_ISDIR(r->mode);

	zip_put32(b, CENTRAL_SIGN);
	zip_put16(b, MADE_BY);
	zip_put_common(b, r);
	zip_put32(b, r->crc);
	zip_put32(b, r->zip64 ? long32 : r->packed);
	zip_put32(b, r->zip64 ? long32 : r->size);
	zip_put16(b, r->name.n);
	zip_put16(b, TIME_SIZE + (extra ? 4 + extra : 0));
	zip_put16(b, 0); /* no comment */
	zip_put16(b, 0); /* the first disk */
	zip_put16(b, 0);
	zip_put32(b, (uint64_t)r->mode << 16 | (folder ? DOS_DIRECTORY : 0));
	zip_put32(b, zip_min(from, long32));
	buf_str(b, r->name);
	zip_put_time(b, r->mtime);
	if (!extra)
		return;
	zip_put16(b, 1);
	zip_put16(b, extra);
	if (r->zip64) {
		zip_put64(b, r->size);
		zip_put64(b, r->packed);
	}
	if (from >= long32)
		zip_put64(b, from);
}

/* The bytes of the archive that an entry occupies, its content included. */
static uint64_t zip_get_span(const struct zip_record *r)
{
	uint64_t n = LOCAL_SIZE + r->name.n + TIME_SIZE + r->packed;

	if (r->zip64)
		n += ZIP64_SIZE;
	if (r->streamed)
		n += r->zip64 ? DESCRIPTOR64_SIZE : DESCRIPTOR_SIZE;
	return n;
}

static int zip_check_entry(const struct zip_entry *e)
{
	if (e->name.n == 0 || e->name.n > NAME_MAX_BYTES || e->name.p[0] == '/')
		return ERR_SYNTAX;
	return S_ISDIR(e->mode) == str_ends(e->name, STR("/")) ? 0 : ERR_SYNTAX;
}

static struct zip_record zip_make_record(const struct zip_entry *e)
{
	return (struct zip_record){.name = e->name, .mode = e->mode, .mtime = e->mtime};
}

int zip_put(struct zip *z, const struct zip_entry *e, struct str content)
{
	size_t before = z->out->n;
	struct zip_record r = zip_make_record(e);
	int err = zip_check_entry(e);

	assert(z->state == ZIP_ENTRIES && !z->open);
	if (err)
		return err;
	if (content.n > INT32_MAX || (content.n && S_ISDIR(e->mode)))
		return ERR_SYNTAX;
	r.size = r.packed = content.n;
	r.crc = crc_update(0, content);
	zip_put_local(z->out, &r);
	buf_str(z->out, content);
	if (z->out->err)
		return z->out->err;
	z->at += z->out->n - before;
	return zip_index_add(&z->index, &r);
}

static int zip_init_deflate(struct zip *z, int level)
{
	bool same = z->z_ready && z->level == level;

	z->level = level;
	if (level == 0)
		return 0;
	if (same)
		return deflateReset(&z->z) == Z_OK ? 0 : -ENOMEM;
	if (z->z_ready)
		deflateEnd(&z->z);
	z->z = (z_stream){.next_in = NULL};
	z->z_ready = deflateInit2(&z->z, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) ==
		Z_OK;
	return z->z_ready ? 0 : -ENOMEM;
}

int zip_open(struct zip *z, const struct zip_entry *e, uint64_t most, int level)
{
	size_t before = z->out->n;
	int r = zip_check_entry(e);

	assert(z->state == ZIP_ENTRIES && !z->open);
	if (r)
		return r;
	if (S_ISDIR(e->mode))
		return ERR_SYNTAX;
	r = zip_init_deflate(z, level);
	if (r)
		return r;
	buf_reset(&z->name);
	buf_str(&z->name, e->name);
	if (z->name.err)
		return z->name.err;
	z->entry = zip_make_record(e);
	z->entry.name = buf_view(&z->name);
	z->entry.deflated = z->entry.streamed = true;
	z->entry.zip64 = most >= zip64_from;
	z->max_size = most;
	zip_put_local(z->out, &z->entry);
	if (z->out->err)
		return z->out->err;
	z->at += z->out->n - before;
	z->open = true;
	return 0;
}

static int zip_deflate(struct zip *z, struct str piece, int flush)
{
	int r;

	z->z.next_in = (unsigned char *)(uintptr_t)piece.p;
	z->z.avail_in = (unsigned)piece.n;
	do {
		/* The output may be a little larger than the input. */
		size_t room_n = z->z.avail_in + 4096u;
		char *room = buf_reserve(z->out, room_n);

		if (!room)
			return z->out->err;
		z->z.next_out = (unsigned char *)room;
		z->z.avail_out = (unsigned)room_n;
		r = deflate(&z->z, flush);
		if (r == Z_STREAM_ERROR)
			return -ENOMEM;
		room_n -= z->z.avail_out;
		buf_commit(z->out, room_n);
		z->entry.packed += room_n;
		z->at += room_n;
	} while (z->z.avail_out == 0 || (flush == Z_FINISH && r != Z_STREAM_END));
	return 0;
}

/*
 * Writes the header of a stored block of n bytes, which is byte-aligned (RFC 1951,
 * 3.2.4).
 */
static void zip_put_block_head(char head[ZIP_BLOCK_HEAD], size_t n, bool last)
{
	head[0] = last;
	head[1] = (char)n;
	head[2] = (char)(n >> 8);
	head[3] = (char)~head[1];
	head[4] = (char)~head[2];
}

/* Adds a piece to the size and checksum of the entry. */
static int zip_count_piece(struct zip *z, struct str piece)
{
	assert(z->open);
	if (piece.n > z->max_size - z->entry.size || piece.n > INT32_MAX)
		return ERR_RANGE;
	z->entry.size += piece.n;
	z->entry.crc = crc_update(z->entry.crc, piece);
	return 0;
}

int zip_add_block(struct zip *z, struct str piece, char head[ZIP_BLOCK_HEAD])
{
	int r = zip_count_piece(z, piece);

	assert(z->level == 0 && piece.n <= ZIP_BLOCK_MAX);
	if (r)
		return r;
	zip_put_block_head(head, piece.n, false);
	z->entry.packed += ZIP_BLOCK_HEAD + piece.n;
	z->at += ZIP_BLOCK_HEAD + piece.n;
	return 0;
}

/* Like pack for level 0, which does not need zlib. */
static int zip_store(struct zip *z, struct str piece, bool last)
{
	char head[ZIP_BLOCK_HEAD];
	size_t before = z->out->n;

	do {
		struct str block =
			str_make(piece.p, (size_t)zip_min(piece.n, ZIP_BLOCK_MAX));

		zip_put_block_head(head, block.n, last);
		buf_put(z->out, head, sizeof(head));
		buf_str(z->out, block);
		piece = str_skip(piece, block.n);
	} while (piece.n);
	z->entry.packed += z->out->n - before;
	z->at += z->out->n - before;
	return z->out->err;
}

int zip_add_data(struct zip *z, struct str piece)
{
	int r = zip_count_piece(z, piece);

	if (r || piece.n == 0)
		return r;
	return z->level ? zip_deflate(z, piece, Z_NO_FLUSH) : zip_store(z, piece, false);
}

int zip_close(struct zip *z)
{
	const struct zip_record *r = &z->entry;
	size_t before;
	int err = z->level ? zip_deflate(z, STR(""), Z_FINISH)
			   : zip_store(z, STR(""), true);

	assert(z->open);
	if (err)
		return err;
	/* Many small blocks can exceed the reserve of zip64_from. */
	if (!r->zip64 && r->packed >= long32)
		return ERR_RANGE;
	before = z->out->n;
	zip_put32(z->out, DESCRIPTOR_SIGN);
	zip_put32(z->out, r->crc);
	if (r->zip64) {
		zip_put64(z->out, r->packed);
		zip_put64(z->out, r->size);
	} else {
		zip_put32(z->out, r->packed);
		zip_put32(z->out, r->size);
	}
	if (z->out->err)
		return z->out->err;
	z->at += z->out->n - before;
	z->open = false;
	return zip_index_add(&z->index, r);
}

static void zip_put_end(struct zip *z, uint64_t end, struct str comment)
{
	struct buf *b = z->out;
	uint64_t size = end - z->directory;

	if (z->entries >= long16 || size >= long32 || z->directory >= long32) {
		zip_put32(b, END64_SIGN);
		zip_put64(b, 44); /* bytes that follow */
		zip_put16(b, MADE_BY);
		zip_put16(b, 45);
		zip_put64(b, 0); /* this disk and that of the directory */
		zip_put64(b, z->entries);
		zip_put64(b, z->entries);
		zip_put64(b, size);
		zip_put64(b, z->directory);
		zip_put32(b, LOCATOR_SIGN);
		zip_put32(b, 0);
		zip_put64(b, end);
		zip_put32(b, 1); /* disks */
	}
	zip_put32(b, END_SIGN);
	zip_put32(b, 0);
	zip_put16(b, zip_min(z->entries, long16));
	zip_put16(b, zip_min(z->entries, long16));
	zip_put32(b, zip_min(size, long32));
	zip_put32(b, zip_min(z->directory, long32));
	zip_put16(b, comment.n);
	buf_str(b, comment);
}

int zip_finish(struct zip *z, struct str comment)
{
	size_t before = z->out->n;
	struct zip_record rec;
	int r = 0;

	assert(!z->open && z->state != ZIP_COMPLETE && comment.n <= NAME_MAX_BYTES);
	if (z->state == ZIP_ENTRIES) {
		z->state = ZIP_DIRECTORY;
		z->directory = z->at;
		z->entries = z->index.entries;
	}
	while (z->out->n - before < DIRECTORY_STEP) {
		r = zip_index_next(&z->index, &rec);
		if (r)
			break;
		zip_put_central(z->out, &rec, z->entry_from);
		z->entry_from += zip_get_span(&rec);
	}
	if (r < 0)
		return r;
	z->at += z->out->n - before;
	if (r == 1) {
		assert(z->entry_from == z->directory);
		zip_put_end(z, z->at, comment);
		z->state = ZIP_COMPLETE;
	}
	return z->out->err ? z->out->err : !r;
}
