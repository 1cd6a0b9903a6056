/*
 * Edits of a text file's bytes. An engine: who reads and writes files is elsewhere.
 *
 * The editor shows and takes lines that end in LF and UTF-8. A file may have other line
 * ends, a byte order mark, or bytes that are no UTF-8, which are shown as Latin-1. An
 * edit changes nothing but the place it is about; text that it puts there has the
 * file's own line ends and encoding.
 */
#ifndef FILE_EDIT_H
#define FILE_EDIT_H

#include "base/buf.h"

/* A file as the editor sees it. */
struct edit_text {
	struct str raw;   /* as it is in the file; borrowed */
	size_t mark;      /* length of the byte order mark */
	bool latin1;      /* not UTF-8: each byte is a character */
	const char *end;  /* how its lines end */
	struct buf lines; /* raw without the mark, each line end a LF */
};

/* -ENOMEM; to be freed either way. */
int edit_open(struct edit_text *t, struct str raw) MUST_USE;
void edit_free(struct edit_text *t);

/* Lines as Python counts them: an unfinished last one counts, an empty one does not. */
size_t edit_count(const struct edit_text *t);
/* Lines first to last, counted from 1, with their ends, in the encoding of the file. */
struct str edit_range(const struct edit_text *t, size_t first, size_t last);
/* Appends a part of t->lines as UTF-8. */
void edit_show(const struct edit_text *t, struct str part, struct buf *out);

/* Where a text occurs. */
struct edit_found {
	size_t n;         /* how often, without overlaps; an empty text is everywhere */
	size_t at;        /* offset in t->lines of the first */
	size_t length;    /* in t->lines */
	size_t line;      /* of the first, from 1 */
	struct buf lines; /* of all, "1, 2, 7"; each once; for n > 1 */
};

/*
 * Looks for UTF-8 text. 0 or -ENOMEM; f->lines is to be freed. More than
 * EDIT_LINES_MAX places are not told one by one: the list then ends in "...".
 */
int edit_find(const struct edit_text *t, struct str text, struct edit_found *f) MUST_USE;

/*
 * Appends the file's new bytes, with length bytes of t->lines at offset at replaced by
 * UTF-8 text. ERR_RANGE when the file's encoding has no such characters; -ENOMEM.
 */
int edit_replace(const struct edit_text *t, size_t at, size_t length, struct str text,
	struct buf *out) MUST_USE;

/*
 * The same with text and a LF put behind line, which is not above edit_count; a last
 * line without an end gets one.
 */
int edit_insert(const struct edit_text *t, size_t line, struct str text,
	struct buf *out) MUST_USE;

/*
 * Appends text as "cat -n" shows it, from line number first on, with a headline that
 * names what it is. A text of more than EDIT_SHOWN_CHARS is cut, and says so.
 */
void edit_number(struct buf *out, struct str what, struct str text, size_t first);

#endif
