#include "base/embed.h"

#include <stdlib.h>
#include <zlib.h>

enum { GZIP = 16, SIZE_FIELD = 4 }; /* added to zlib's window; at the end */

/* The last field of a gzip file: the length of the unpacked text (RFC 1952, ISIZE). */
static size_t embed_read_size(const struct embed *e)
{
	const unsigned char *p = e->packed + *e->n - SIZE_FIELD;

	return p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

struct str embed_text(struct embed *e)
{
	size_t n = embed_read_size(e);
	char *text = e->text.p ? NULL : calloc(1, n + 1);
	z_stream z = {
		.next_in = (z_const Bytef *)(uintptr_t)e->packed,
		.avail_in = *e->n,
		.next_out = (Bytef *)text,
		.avail_out = (uInt)n,
	};

	if (!text)
		return e->text.p ? e->text : STR("");
	if (inflateInit2(&z, MAX_WBITS + GZIP) != Z_OK) {
		free(text);
		return STR("");
	}
	if (inflate(&z, Z_FINISH) == Z_STREAM_END)
		e->text = str_make(text, n);
	else
		free(text);
	inflateEnd(&z);
	return e->text.p ? e->text : STR("");
}
