/*
 * JSON writer: streams into a buf, compact, UTF-8 unchanged, invalid UTF-8 replaced by
 * U+FFFD. Errors are stored in the buf. Unbalanced or misplaced calls are bugs and
 * assert.
 */
#ifndef BASE_JW_H
#define BASE_JW_H

#include "base/buf.h"

enum { JW_DEPTH = 32 };

struct jw {
	struct buf *out;
	unsigned depth;
	uint8_t state[JW_DEPTH + 2]; /* the root, the open containers in it, a text */
};

void jw_init(struct jw *w, struct buf *out);

void jw_object(struct jw *w);
void jw_array(struct jw *w);
/* Closes the innermost object or array. */
void jw_end(struct jw *w);
void jw_key(struct jw *w, const char *key);
void jw_key_str(struct jw *w, struct str key);

void jw_str(struct jw *w, struct str s);
void jw_cstr(struct jw *w, const char *s);
void jw_int(struct jw *w, int64_t v);
void jw_uint(struct jw *w, uint64_t v);
/* The shortest text that reads back as v; null for infinities and NaN. */
void jw_double(struct jw *w, double v);
void jw_bool(struct jw *w, bool v);
void jw_null(struct jw *w);
/* Text that is JSON already. */
void jw_raw(struct jw *w, struct str json);

/*
 * A string value written in pieces; a character may be split over two of them. Between
 * begin and end only jw_text_put is legal.
 */
struct jw_text {
	struct jw *w;
	char part[4]; /* an unfinished character */
	unsigned part_n;
};
void jw_text_begin(struct jw_text *t, struct jw *w);
void jw_text_put(struct jw_text *t, struct str s);
void jw_text_end(struct jw_text *t);

#endif
