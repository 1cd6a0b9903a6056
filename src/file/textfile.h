/*
 * Text files: lines, ranges of lines, and what is no text at all. Engines over
 * bytes; who reads them from where is not known here.
 *
 * A line ends with LF, CR LF or a lone CR ("universal newlines") or with the
 * text; its end belongs to it. An empty text has no lines.
 */
#ifndef FILE_TEXTFILE_H
#define FILE_TEXTFILE_H

#include "base/str.h"

/* The first bytes of a file that decide whether it is text. */
enum { TEXT_PROBE = 1024 };

/*
 * Whether a file that starts with head (at most TEXT_PROBE bytes) is binary.
 * UTF-8 without NUL is text, even cut in its last character, and so is what
 * starts with a mark of UTF-16 or UTF-32. Other bytes are binary when they hold
 * NUL or 0xff or look neither like ASCII nor like an 8-bit script.
 */
bool text_is_binary(struct str head);
/* Whether it starts with a mark of UTF-16 or UTF-32. */
bool text_is_wide(struct str head);

/*
 * A range as clients send it: 0-based start, end behind the last line, -1 for
 * the end of the file. What it means differs between reading and writing.
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
	TEXT_FRESH, /* a further byte begins a line */
	TEXT_CR,    /* the same, but a LF still belongs to the line before */
	TEXT_MID,
};

/* Finds the bytes of a range of lines in a text that comes in pieces. */
struct text_scan {
	enum text_state state;
	struct line_range range;
	uint64_t at;      /* bytes seen */
	uint64_t lines;   /* lines begun */
	uint64_t last[2]; /* where the last two began, the later one first */
	uint64_t from;    /* where line range.start began */
	uint64_t to;      /* where the line behind the range began */
};

/*
 * Range of the read action: start is clamped to the text. end -1 takes all from
 * start on. Otherwise lines min(start, count - 2) up to end, at least one: a
 * range behind the end gives the last two lines.
 */
void text_scan_init(struct text_scan *s, struct line_range range);
/* Takes a piece; true as soon as later bytes cannot change the slice. */
bool text_scan_feed(struct text_scan *s, struct str piece);
/* The slice, after the whole text or after feed answered true. */
struct text_slice text_scan_slice(const struct text_scan *s);

/* What is known of the slice's length, at least; for bounding it early. */
uint64_t text_scan_least(const struct text_scan *s);

/*
 * Range of the write action: what to replace in text. Lines before start stay
 * (a Python slice: negative counts from the end), and those from end on unless
 * end is -1. from > to means that the lines between them are kept twice.
 */
struct text_slice text_splice(struct str text, struct line_range range);

/* Makes every line end one LF, in place; returns the new length. */
size_t text_unix(char *p, size_t n);

#endif
