#include "codec/archive/zip_index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum {
	ZIP_INDEX_MAX = 64 << 20, /* bytes in a written archive: ten million files */
	ZIP_INDEX_CHUNK = 65536,  /* bytes by which the index grows and is freed */
};

struct zip_index_chunk {
	struct zip_index_chunk *next;
	size_t n;
	unsigned char bytes[ZIP_INDEX_CHUNK];
};

enum { DEFLATED = 1, STREAMED = 2, ZIP64 = 4, NUMBER_MAX = 10 };

void zip_index_free(struct zip_index *ix)
{
	if (ix->state == ZIP_INDEX_WRITES)
		deflateEnd(&ix->z);
	if (ix->state == ZIP_INDEX_READS)
		inflateEnd(&ix->z);
	while (ix->first) {
		struct zip_index_chunk *c = ix->first;

		ix->first = c->next;
		free(c);
	}
	buf_free(&ix->line);
	buf_free(&ix->name);
	*ix = (struct zip_index){.entries = 0};
}

static struct zip_index_chunk *zip_index_chunk_new(void)
{
	return calloc(1, sizeof(struct zip_index_chunk));
}

static int zip_index_add_chunk(struct zip_index *ix)
{
	struct zip_index_chunk *c;

	if (ix->memory + sizeof(*c) > ZIP_INDEX_MAX)
		return ERR_LIMIT;
	c = zip_index_chunk_new();
	if (!c)
		return -ENOMEM;
	ix->memory += sizeof(*c);
	*(ix->last ? &ix->last->next : &ix->first) = c;
	ix->last = c;
	ix->z.next_out = c->bytes;
	ix->z.avail_out = sizeof(c->bytes);
	return 0;
}

static int zip_index_begin(struct zip_index *ix)
{
	int r = zip_index_add_chunk(ix);

	if (r)
		return r;
	if (deflateInit2(&ix->z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	ix->state = ZIP_INDEX_WRITES;
	buf_init(&ix->line, 2 * 65536);
	buf_init(&ix->name, 2 * 65536);
	return 0;
}

static int zip_index_deflate(struct zip_index *ix, int flush)
{
	int r = Z_OK;

	ix->z.next_in = (unsigned char *)ix->line.p;
	ix->z.avail_in = (unsigned)ix->line.n;
	for (;;) {
		int err;

		r = deflate(&ix->z, flush);
		ix->last->n = sizeof(ix->last->bytes) - ix->z.avail_out;
		if (ix->z.avail_out || r == Z_STREAM_END)
			return 0;
		err = zip_index_add_chunk(ix);
		if (err)
			return err;
	}
}

/* Writes a number, seven bits per byte, low bits first. */
static void zip_index_put_number(struct buf *b, uint64_t v)
{
	for (; v > 127; v >>= 7)
		buf_putc(b, (char)(v | 128));
	buf_putc(b, (char)v);
}

/* Zigzag encoding: small signed numbers become small unsigned ones. */
static uint64_t zip_index_encode_zigzag(int64_t v)
{
	return v < 0 ? ~((uint64_t)v << 1) : (uint64_t)v << 1;
}

static int64_t zip_index_decode_zigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static size_t zip_index_match_prefix(struct str a, struct str b)
{
	size_t n = 0;

	while (n < a.n && n < b.n && a.p[n] == b.p[n])
		n++;
	return n;
}

int zip_index_add(struct zip_index *ix, const struct zip_record *r)
{
	struct buf *b = &ix->line;
	size_t same;
	int err = ix->state == ZIP_INDEX_NEW ? zip_index_begin(ix) : 0;

	if (err)
		return err;
	assert(ix->state == ZIP_INDEX_WRITES && r->name.n <= 65535);
	same = zip_index_match_prefix(buf_view(&ix->name), r->name);
	buf_reset(b);
	buf_putc(b,
		(char)((r->deflated ? DEFLATED : 0) | (r->streamed ? STREAMED : 0) |
			(r->zip64 ? ZIP64 : 0)));
	zip_index_put_number(b, same);
	zip_index_put_number(b, r->name.n - same);
	buf_str(b, str_skip(r->name, same));
	zip_index_put_number(b, r->mode);
	zip_index_put_number(b, zip_index_encode_zigzag(r->mtime - ix->mtime));
	zip_index_put_number(b, r->size);
	zip_index_put_number(b, zip_index_encode_zigzag((int64_t)(r->packed - r->size)));
	buf_put(b, &r->crc, sizeof(r->crc));
	buf_reset(&ix->name);
	buf_str(&ix->name, r->name);
	ix->mtime = r->mtime;
	if (b->err || ix->name.err)
		return -ENOMEM;
	err = zip_index_deflate(ix, Z_NO_FLUSH);
	if (!err)
		ix->entries++;
	return err;
}

static int zip_index_begin_read(struct zip_index *ix)
{
	int r;

	buf_reset(&ix->line);
	r = zip_index_deflate(ix, Z_FINISH);
	deflateEnd(&ix->z);
	ix->state = ZIP_INDEX_NEW;
	if (r)
		return r;
	ix->z = (z_stream){
		.next_in = ix->first->bytes, .avail_in = (unsigned)ix->first->n};
	if (inflateInit2(&ix->z, -15) != Z_OK)
		return -ENOMEM;
	ix->state = ZIP_INDEX_READS;
	ix->mtime = 0;
	buf_reset(&ix->name);
	return 0;
}

/* Decompresses exactly n bytes. Each chunk is freed when it is used up. */
static int zip_index_inflate(struct zip_index *ix, void *p, size_t n)
{
	ix->z.next_out = p;
	ix->z.avail_out = (unsigned)n;
	while (ix->z.avail_out) {
		int r = inflate(&ix->z, Z_NO_FLUSH);
		struct zip_index_chunk *c = ix->first;

		if (ix->z.avail_out == 0)
			break;
		if (r == Z_MEM_ERROR || r == Z_STREAM_END || !c->next)
			return -ENOMEM;
		ix->first = c->next;
		free(c);
		ix->z.next_in = ix->first->bytes;
		ix->z.avail_in = (unsigned)ix->first->n;
	}
	return 0;
}

static int zip_index_read_number(struct zip_index *ix, uint64_t *out)
{
	uint64_t v = 0;
	unsigned char c = 128;

	for (unsigned i = 0; i < NUMBER_MAX && c & 128; i++) {
		int r = zip_index_inflate(ix, &c, 1);

		if (r)
			return r;
		v |= (uint64_t)(c & 127) << 7 * i;
	}
	*out = v;
	return 0;
}

static int zip_index_read_name(struct zip_index *ix)
{
	uint64_t same, more;
	char *room;
	int r = zip_index_read_number(ix, &same);

	if (!r)
		r = zip_index_read_number(ix, &more);
	if (r)
		return r;
	ix->name.n = (size_t)same;
	room = buf_reserve(&ix->name, (size_t)more + 1);
	if (!room)
		return -ENOMEM;
	r = zip_index_inflate(ix, room, (size_t)more);
	buf_commit(&ix->name, (size_t)more);
	return r;
}

int zip_index_next(struct zip_index *ix, struct zip_record *out)
{
	struct zip_record rec = {.crc = 0};
	uint64_t mode = 0, mtime = 0, packed = 0;
	unsigned char flags;
	int r;

	if (ix->entries == 0)
		return 1;
	r = ix->state == ZIP_INDEX_WRITES ? zip_index_begin_read(ix) : 0;
	if (!r)
		r = zip_index_inflate(ix, &flags, 1);
	if (!r)
		r = zip_index_read_name(ix);
	if (!r)
		r = zip_index_read_number(ix, &mode);
	if (!r)
		r = zip_index_read_number(ix, &mtime);
	if (!r)
		r = zip_index_read_number(ix, &rec.size);
	if (!r)
		r = zip_index_read_number(ix, &packed);
	if (!r)
		r = zip_index_inflate(ix, &rec.crc, sizeof(rec.crc));
	if (r)
		return r;
	ix->entries--;
	ix->mtime += zip_index_decode_zigzag(mtime);
	rec.name = buf_view(&ix->name);
	rec.mode = (uint32_t)mode;
	rec.mtime = ix->mtime;
	rec.packed = rec.size + (uint64_t)zip_index_decode_zigzag(packed);
	rec.deflated = flags & DEFLATED;
	rec.streamed = flags & STREAMED;
	rec.zip64 = flags & ZIP64;
	*out = rec;
	return 0;
}
