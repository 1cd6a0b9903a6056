/*
 * Text files: lines, ranges of lines, and detection of binary files. Without I/O.
 *
 * A line ends with LF, CR LF or a lone CR ("universal newlines") or with the text. Its
 * line end belongs to it. An empty text has no lines.
 */
#ifndef FS_TEXTFILE_H
#define FS_TEXTFILE_H

#include "base/str.h"

/* The number of bytes at the start of a file that decide whether it is text. */
enum { TEXT_PROBE = 1024 };

/*
 * Whether a file that starts with head (at most TEXT_PROBE bytes) is binary. UTF-8
 * without NUL is text, even if its last character is cut, and so is a file that starts
 * with a byte order mark of UTF-16 or UTF-32. Other bytes are binary if they hold NUL
 * or 0xff or resemble neither ASCII nor an 8-bit script.
 */
bool text_is_binary(struct str head);
/* Whether head starts with a byte order mark of UTF-16 or UTF-32. */
bool text_has_wide_bom(struct str head);

/*
 * A range as clients send it: 0-based start, and the line after the last one as end, -1
 * for the end of the file. Reading and writing interpret it differently.
 */
struct line_range {
	int64_t start;
	int64_t end;
};

/* A range of byte offsets: from <= to. */
struct text_slice {
	uint64_t from;
	uint64_t to;
};

enum text_state {
	TEXT_FRESH, /* the next byte begins a line */
	TEXT_CR,    /* the same, but an LF still belongs to the last line */
	TEXT_MID,
};

/* Finds the bytes of a range of lines in a text that arrives in pieces. */
struct text_scan {
	enum text_state state;
	struct line_range range;
	uint64_t at;      /* bytes seen */
	uint64_t lines;   /* lines begun */
	uint64_t last[2]; /* offsets of the last two lines, the later one first */
	uint64_t from;    /* offset of line range.start */
	uint64_t to;      /* offset of the line after the range */
};

/*
 * Range of the read action: start is clamped to the text. If end is -1 the slice runs
 * from start to the end of the text. Otherwise it has lines min(start, count - 2) up to
 * end, at least one: a range beyond the end gives the last two lines.
 */
void text_scan_init(struct text_scan *s, struct line_range range);
/* Reads a piece; true as soon as later bytes cannot change the slice. */
bool text_scan_feed(struct text_scan *s, struct str piece);
/* The slice; call it after the whole text or after feed returned true. */
struct text_slice text_scan_slice(const struct text_scan *s);

/* A lower bound of the slice's length, to detect an excess early. */
uint64_t text_scan_min_length(const struct text_scan *s);

/*
 * Range of the write action: the part of text to replace. Lines before start are kept
 * (as in a Python slice, a negative number counts from the end), and so are those from
 * end on, unless end is -1. from > to means that the lines between them are kept twice.
 */
struct text_slice text_find_splice(struct str text, struct line_range range);

/* Converts each line end to one LF, in place; returns the new length. */
size_t text_convert_newlines(char *p, size_t n);

#endif
