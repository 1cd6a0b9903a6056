/*
 * The terminal model: what a program writes to a terminal, as the text that a person
 * would see.
 *
 * An engine without I/O. The screen has VT_COLUMNS x VT_ROWS characters; lines that
 * scroll off its top stay as history. Carriage returns, cursor movement, erasing,
 * inserting, scroll regions, the alternate screen and line drawing act as on a terminal;
 * colours, titles and unknown sequences are dropped; queries get no answer. Text is
 * UTF-8, invalid parts show as U+FFFD. Bytes may be split anywhere.
 *
 * Memory is bounded for any input: VT_LINES_KEPT lines and VT_MEMORY_MAX bytes, beyond
 * which the oldest lines are dropped. When all of that is on the screen, its upper rows
 * are emptied.
 *
 * libvterm is not used because it keeps a grid of cells, 38 MB for this screen, and
 * moves all of it for each line: 0.1 MB/s of plain lines, where this model reaches 1,100
 * MB/s.
 */
#ifndef CODEC_VT_VT_H
#define CODEC_VT_VT_H

#include "base/buf.h"

/* The memory of a terminal in bytes: a chunk holds the longest row. */
enum {
	VT_CHUNK = 65472, /* a little less than 64 KiB */
	VT_CHUNKS = 32,
	VT_MEMORY_MAX = VT_CHUNKS * VT_CHUNK, /* text and open rows: 2 MB */
	VT_WORK_STEP = 16384,                 /* units: it may drop all lines kept */
};

struct vt;

/*
 * How much of the output a reader has received. Zeroed: nothing yet. Marks are invalid
 * after vt_reset.
 *
 * The next report holds the rows that changed since: each row that was overwritten,
 * moved or inserted, as a whole; new rows; and of the former last row only the added
 * text. Unchanged rows are not reported again. The alternate screen counts as a single
 * row: any change reports all of it.
 *
 *	bytes fed            report
 *	"one\r\ntwo"         "one\ntwo"
 *	" and\r\nthree"      " and\nthree"
 *	"\r10%"              "10%ee"
 *	"\x1b[2A\x1b[2K1st"   "   1st"
 */
struct vt_mark {
	uint64_t row;    /* counted since vt_reset */
	uint32_t bytes;  /* of that row, blanks included */
	uint32_t report; /* number of the last report; 0: none */
};

/* An empty terminal, 1 KB until it is fed; NULL when out of memory. */
struct vt *vt_new(void) MUST_USE;
void vt_free(struct vt *vt);
/* Forgets everything: an empty screen, the cursor at its start, default modes. */
void vt_reset(struct vt *vt);

/*
 * From now on, and after every reset, a line feed also returns to the first column: for
 * bytes that have passed no terminal, which would have added the carriage return.
 */
void vt_set_newline(struct vt *vt, bool on);

/*
 * Shows bytes. If memory is short, the oldest lines are dropped first; -ENOMEM: even
 * that did not suffice, and some of these bytes are lost.
 */
int vt_feed(struct vt *vt, struct str bytes) MUST_USE;

/*
 * The work of all feeds so far. A unit takes about 10 ns: a row that is created, cleared
 * or closed is a unit, 32 rows or cells that only move are another. Plain text that is
 * added to the last row costs no unit, so a caller also has to limit its bytes.
 */
uint64_t vt_get_work(const struct vt *vt);

/*
 * Shows bytes until the work reaches limit, and takes what it has shown off *bytes. 0:
 * all is shown; 1: the rest waits for a call with a higher limit; -ENOMEM as vt_feed,
 * with the same *bytes as 0 or 1 would leave. The last sequence may exceed the limit,
 * by VT_WORK_STEP at most.
 */
int vt_feed_limited(struct vt *vt, struct str *bytes, uint64_t limit) MUST_USE;

/*
 * Appends the new text since the mark and moves the mark. Lines end in '\n', except the
 * last; rows that the terminal wrapped are joined to a line again; blanks at the end of
 * a line are left out.
 *
 * If unreported lines were dropped, *kept is the number of lines left, otherwise 0.
 * Returns out's error, with the mark unmoved.
 */
int vt_report(
	struct vt *vt, struct vt_mark *mark, struct buf *out, size_t *kept) MUST_USE;

/* Moves the mark as vt_report does, without the text. */
void vt_update_mark(struct vt *vt, struct vt_mark *mark);

#endif
