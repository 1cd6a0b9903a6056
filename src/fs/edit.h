/*
 * Edits of a text file's bytes, without I/O.
 *
 * The editor shows and takes lines that end in LF, in UTF-8. A file may have other line
 * ends, a byte order mark, or bytes that are not UTF-8, which are shown as Latin-1. An
 * edit changes only the bytes of its place. The new text there gets the line ends and
 * the encoding of the file.
 */
#ifndef FS_EDIT_H
#define FS_EDIT_H

#include "base/buf.h"

enum { EDIT_LINES_MAX = 20000 }; /* line numbers in one error: 130 KB */

/* A file as the editor sees it. */
struct edit_text {
	struct str raw;   /* as it is in the file; borrowed */
	size_t mark;      /* length of the byte order mark */
	bool latin1;      /* not UTF-8: each byte is a character */
	const char *end;  /* how its lines end */
	struct buf lines; /* raw without the mark, each line end a LF */
};

/* -ENOMEM; call edit_free in either case. */
int edit_open(struct edit_text *t, struct str raw) MUST_USE;
void edit_free(struct edit_text *t);

/*
 * The number of lines as Python counts them: an unterminated last line counts, an empty
 * one does not.
 */
size_t edit_count_lines(const struct edit_text *t);
/*
 * Lines first to last, counted from 1, with their line ends, in the encoding of the
 * file.
 */
struct str edit_get_lines(const struct edit_text *t, size_t first, size_t last);
/* Appends a part of t->lines as UTF-8. */
void edit_show(const struct edit_text *t, struct str part, struct buf *out);

/* Where a text occurs. */
struct edit_found {
	size_t n;         /* occurrences without overlaps; an empty text is everywhere */
	size_t at;        /* offset of the first in t->lines */
	size_t length;    /* in t->lines */
	size_t line;      /* of the first, from 1 */
	struct buf lines; /* lines of all, "1, 2, 7", each once; only for n > 1 */
};

/*
 * Finds UTF-8 text. 0 or -ENOMEM; the caller frees f->lines. If there are more than
 * EDIT_LINES_MAX lines, the list ends in "...".
 */
int edit_find(const struct edit_text *t, struct str text, struct edit_found *f) MUST_USE;

/*
 * Appends the file's new bytes, with length bytes of t->lines at offset at replaced by
 * UTF-8 text. ERR_RANGE if the file's encoding cannot represent the text; -ENOMEM.
 */
int edit_replace(const struct edit_text *t, size_t at, size_t length, struct str text,
	struct buf *out) MUST_USE;

/*
 * Like edit_replace, but inserts text and an LF after line, which is at most
 * edit_count_lines. A last line without a line end gets one.
 */
int edit_insert(const struct edit_text *t, size_t line, struct str text,
	struct buf *out) MUST_USE;

/*
 * Appends text as "cat -n" shows it, from line number first on, with a headline that
 * names what it is. A text of more than EDIT_SHOWN_CHARS is cut, with a note.
 */
void edit_put_cat(struct buf *out, struct str what, struct str text, size_t first);

#endif
