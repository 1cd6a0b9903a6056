#include "codec/png.h"

#include "base/crc.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

enum {
	RGB = 2, /* colour types */
	RGBA = 6,
	DEPTH = 8,
	HEAD = 8, /* of a chunk: its length and its type */
	HEADER = 13,
	LEVEL = 3,     /* a third of the time of level 4 for flat pages, for 10 KB more */
	NO_FILTER = 0, /* flat areas, as in pages, are smallest without a filter */
};

static const struct str signature = {"\x89PNG\r\n\x1a\n", 8};

static uint32_t png_get32(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void png_set32(char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (char)(v >> (24 - 8 * i));
}

void png_free(struct png *p)
{
	buf_free(&p->pixels);
}

/* --- Reading ---------------------------------------------------------------------- */

struct reader {
	struct png *p;
	z_stream z;
	bool unpacks;      /* z is in use */
	bool ended;        /* z has reached its end */
	size_t depth;      /* bytes of a pixel */
	size_t row_n;      /* bytes of a row, with its filter byte */
	struct buf memory; /* holds both rows */
	uint8_t *row, *above;
	size_t have; /* bytes read of the row */
	uint32_t y;  /* index of the row */
};

static int png_read_header(struct reader *r, struct str data)
{
	uint32_t width, height;

	if (data.n != HEADER || r->unpacks)
		return ERR_SYNTAX;
	width = png_get32(data.p);
	height = png_get32(data.p + 4);
	if (!width || !height)
		return ERR_SYNTAX;
	if (data.p[8] != DEPTH || (data.p[9] != RGB && data.p[9] != RGBA) || data.p[10] ||
		data.p[11] || data.p[12])
		return ERR_TYPE;
	if (width > PNG_PIXELS_MAX / height)
		return ERR_LIMIT;
	r->depth = data.p[9] == RGBA ? PNG_PIXEL + 1 : PNG_PIXEL;
	r->row_n = 1 + width * r->depth;
	r->p->width = width;
	r->p->height = height;
	buf_init(&r->p->pixels, (size_t)width * height * PNG_PIXEL);
	buf_init(&r->memory, 2 * r->row_n);
	r->row = (uint8_t *)buf_reserve(&r->memory, 2 * r->row_n);
	if (!r->row)
		return -ENOMEM;
	memset(r->row, 0, 2 * r->row_n);
	r->above = r->row + r->row_n;
	if (inflateInit(&r->z) != Z_OK)
		return -ENOMEM;
	r->unpacks = true;
	return 0;
}

/* Reverses the filter of a row (9.2): n bytes, with depth bytes per pixel. */
typedef void undo_fn(uint8_t *row, const uint8_t *above, size_t n, size_t depth);

static void png_undo_none(uint8_t *row, const uint8_t *above, size_t n, size_t depth)
{
	(void)row, (void)above, (void)n, (void)depth;
}

static void png_undo_sub(uint8_t *row, const uint8_t *above, size_t n, size_t depth)
{
	(void)above;
	for (size_t i = depth; i < n; i++)
		row[i] = (uint8_t)(row[i] + row[i - depth]);
}

static void png_undo_up(uint8_t *row, const uint8_t *above, size_t n, size_t depth)
{
	(void)depth;
	for (size_t i = 0; i < n; i++)
		row[i] = (uint8_t)(row[i] + above[i]);
}

static void png_undo_average(uint8_t *row, const uint8_t *above, size_t n, size_t depth)
{
	for (size_t i = 0; i < n; i++)
		row[i] = (uint8_t)(row[i] +
			((i < depth ? 0 : row[i - depth]) + above[i]) / 2);
}

/* The Paeth predictor: the neighbour that is nearest to left + up - corner. */
static uint8_t png_predict_paeth(int left, int up, int corner)
{
	int to_left = abs(up - corner), to_up = abs(left - corner);
	int to_corner = abs(left + up - 2 * corner);

	if (to_left <= to_up && to_left <= to_corner)
		return (uint8_t)left;
	return (uint8_t)(to_up <= to_corner ? up : corner);
}

static void png_undo_paeth(uint8_t *row, const uint8_t *above, size_t n, size_t depth)
{
	png_undo_up(row, above, depth, depth);
	for (size_t i = depth; i < n; i++)
		row[i] = (uint8_t)(row[i] +
			png_predict_paeth(row[i - depth], above[i], above[i - depth]));
}

static int png_unfilter_row(struct reader *r)
{
	static undo_fn *const undo[] = {png_undo_none, png_undo_sub, png_undo_up,
		png_undo_average, png_undo_paeth};

	if (r->row[0] >= ARRAY_LEN(undo))
		return ERR_SYNTAX;
	undo[r->row[0]](r->row + 1, r->above + 1, r->row_n - 1, r->depth);
	return 0;
}

static int png_store_row(struct reader *r)
{
	const uint8_t *row = r->row + 1;
	uint8_t *above = r->above;
	int err = png_unfilter_row(r);

	if (err)
		return err;
	if (r->depth == PNG_PIXEL)
		buf_put(&r->p->pixels, row, r->row_n - 1);
	else
		for (size_t i = 0; i < r->row_n - 1; i += r->depth)
			buf_put(&r->p->pixels, row + i, PNG_PIXEL);
	r->above = r->row;
	r->row = above;
	r->have = 0;
	r->y++;
	return r->p->pixels.err;
}

static int png_read_data(struct reader *r, struct str data)
{
	int err = Z_OK;

	if (!r->unpacks)
		return ERR_SYNTAX;
	r->z.next_in = (Bytef *)(uintptr_t)data.p;
	r->z.avail_in = (uInt)data.n;
	while (r->z.avail_in || err == Z_OK) {
		/* After the last row there is space for one byte, to detect excess. */
		r->z.next_out = r->row + r->have;
		r->z.avail_out = r->y < r->p->height ? (uInt)(r->row_n - r->have) : 1;
		if (r->ended)
			return ERR_SYNTAX;
		err = inflate(&r->z, Z_NO_FLUSH);
		if (err == Z_MEM_ERROR)
			return -ENOMEM;
		if (err == Z_BUF_ERROR)
			return 0;
		if (err != Z_OK && err != Z_STREAM_END)
			return ERR_SYNTAX;
		r->ended = err == Z_STREAM_END;
		r->have = (size_t)(r->z.next_out - r->row);
		if (r->y >= r->p->height) {
			if (r->have)
				return ERR_SYNTAX;
		} else if (r->have == r->row_n) {
			int bad = png_store_row(r);

			if (bad)
				return bad;
		}
	}
	return 0;
}

/* Returns 0; positive: it was the last chunk; or an error. */
static int png_read_chunk(struct reader *r, struct str type, struct str data)
{
	if (str_eq(type, STR("IHDR")))
		return png_read_header(r, data);
	if (str_eq(type, STR("IDAT")))
		return png_read_data(r, data);
	if (str_eq(type, STR("IEND")))
		return r->ended && r->unpacks && r->y == r->p->height ? 1 : ERR_SYNTAX;
	/* An ancillary chunk has a type with a small first letter and is skipped. */
	return type.p[0] & 0x20 ? 0 : ERR_TYPE;
}

static int png_read_chunks(struct reader *r, struct str file)
{
	int err = 0;

	while (!err) {
		struct str type, data;
		uint32_t n;

		if (file.n < HEAD + 4)
			return ERR_SYNTAX;
		n = png_get32(file.p);
		if (n > file.n - HEAD - 4)
			return ERR_SYNTAX;
		type = str_make(file.p + 4, 4);
		data = str_make(file.p + HEAD, n);
		if (crc_update(0, str_make(type.p, 4 + n)) != png_get32(data.p + n))
			return ERR_SYNTAX;
		if (!r->unpacks && !str_eq(type, STR("IHDR")))
			return ERR_SYNTAX;
		err = png_read_chunk(r, type, data);
		file = str_skip(file, HEAD + (size_t)n + 4);
	}
	return err > 0 ? 0 : err;
}

int png_decode(struct png *p, struct str file)
{
	struct png got = {0};
	struct reader r = {.p = &got};
	int err = ERR_SYNTAX;

	if (str_starts(file, signature))
		err = png_read_chunks(&r, str_skip(file, signature.n));
	if (r.unpacks)
		inflateEnd(&r.z);
	buf_free(&r.memory);
	if (err)
		png_free(&got);
	else
		*p = got;
	return err;
}

/* --- Writing ---------------------------------------------------------------------- */

/* Reserves a chunk's length and writes its type. Returns where the chunk starts. */
static size_t png_begin_chunk(struct buf *out, const char *type)
{
	size_t at = out->n;

	buf_put(out, "\0\0\0", 4);
	buf_put(out, type, 4);
	return at;
}

static void png_end_chunk(struct buf *out, size_t at)
{
	char crc[4];

	if (out->err)
		return;
	png_set32(out->p + at, (uint32_t)(out->n - at - HEAD));
	png_set32(crc, crc_update(0, str_make(out->p + at + 4, out->n - at - 4)));
	buf_put(out, crc, 4);
}

static int png_deflate(z_stream *z, const void *p, size_t n, int flush, struct buf *out)
{
	enum { PIECE = 16384 };
	int r;

	z->next_in = (Bytef *)(uintptr_t)p;
	z->avail_in = (uInt)n;
	do {
		char *room = buf_reserve(out, PIECE);

		if (!room)
			return out->err;
		z->next_out = (Bytef *)room;
		z->avail_out = PIECE;
		r = deflate(z, flush);
		buf_commit(out, PIECE - z->avail_out);
	} while (r == Z_OK && (z->avail_in || flush == Z_FINISH));
	return 0;
}

static int png_put_rows(const struct png *p, struct buf *out)
{
	static const char filter = NO_FILTER;
	size_t row = (size_t)p->width * PNG_PIXEL;
	z_stream z = {0};
	int r = 0;

	if (deflateInit(&z, LEVEL) != Z_OK)
		return -ENOMEM;
	for (size_t y = 0; !r && y < p->height; y++) {
		r = png_deflate(&z, &filter, 1, Z_NO_FLUSH, out);
		if (!r)
			r = png_deflate(&z, p->pixels.p + y * row, row, Z_NO_FLUSH, out);
	}
	if (!r)
		r = png_deflate(&z, NULL, 0, Z_FINISH, out);
	deflateEnd(&z);
	return r;
}

int png_encode(const struct png *p, struct buf *out)
{
	char header[HEADER] = {[8] = DEPTH, [9] = RGB};
	size_t at;
	int r;

	png_set32(header, p->width);
	png_set32(header + 4, p->height);
	buf_str(out, signature);
	at = png_begin_chunk(out, "IHDR");
	buf_put(out, header, HEADER);
	png_end_chunk(out, at);
	at = png_begin_chunk(out, "IDAT");
	r = png_put_rows(p, out);
	if (r)
		return r;
	png_end_chunk(out, at);
	at = png_begin_chunk(out, "IEND");
	png_end_chunk(out, at);
	return out->err;
}
