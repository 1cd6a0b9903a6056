/*
 * Inside the terminal model. From the bottom up:
 *
 *	vt_width.c   columns of a character
 *	vt_store.c   memory: blocks under one cap, lists of rows
 *	vt_row.c     one row, closed (UTF-8 text) or open (cells)
 *	vt_cells.c   editing an open row
 *	vt_screen.c  cursor, printing, scrolling, erasing
 *	vt_command.c controls and escape sequences
 *	vt_parse.c   the byte machine
 *	vt.c         the functions of vt.h
 *
 * Rows are created closed, and plain output only adds to the last row, so most rows
 * never have cells. A row is opened when it is edited elsewhere than at its end, and
 * closed when it leaves the screen: at most once each, which keeps hostile streams
 * cheap.
 */
#ifndef CODEC_VT_VT_IMPL_H
#define CODEC_VT_VT_IMPL_H

#include "codec/vt/vt.h"
#include "limits.h"

enum {
	VT_GLYPH_MAX = 47, /* bytes of one character; a family with skin tones has 41 */
	VT_PARAMS = 16,    /* parameters of one sequence, as xterm */
};

enum { ZERO_WIDTH_JOINER = 0x200d };

/* Sizes of blocks: chunks, 5 of cells, 9 of glyphs. */
enum { VT_SPARES = 15 };

/* Text of closed rows, filled from the front; freed with its last row. */
struct chunk {
	uint32_t used; /* bytes */
	uint32_t rows; /* with text here */
	char text[VT_CHUNK - 8];
};

_Static_assert(sizeof(struct chunk) == VT_CHUNK, "chunks fill the cap exactly");
_Static_assert(VT_COLUMNS *VT_GLYPH_MAX <= VT_CHUNK - 8, "any row fits into a chunk");

/*
 * A column: a code point of the BMP; CELL_RIGHT, the second half of a wide character; or
 * CELL_GLYPH + i (these values are surrogates, which never occur), a longer character in
 * glyphs[i].
 */
enum { CELL_RIGHT = 0, CELL_GLYPH = 0xd800, CELL_GLYPHS = 2048 };

/* Half the space of the longest character: a length byte, then its UTF-8. */
struct glyph {
	char b[(VT_GLYPH_MAX + 1) / 2];
};

_Static_assert(CELL_GLYPHS >= 2 * VT_COLUMNS + 2, "a full row of long characters");

struct cells {
	struct glyph *glyphs;
	uint16_t glyphs_n, glyphs_cap;
	uint16_t n, cap; /* columns */
	uint16_t c[];
};

enum row_kind { ROW_TEXT, ROW_CELLS };

/* Instead of the number of a chunk: the text is constant. */
enum { CHUNK_NONE = 255 };

struct row {
	union {
		char *text; /* n bytes in a chunk; undefined when n is 0 */
		struct cells *cells;
	};
	uint32_t edited; /* number of the report that will show it as changed */
	uint16_t n;      /* bytes of text */
	uint16_t cols;   /* columns of text */
	uint8_t kind;    /* enum row_kind */
	uint8_t chunk;
	bool wrapped; /* continues in the next row */
};

struct rows {
	struct row *v;
	size_t cap;
	size_t head; /* the oldest row is v[head] */
	size_t n;
	size_t top; /* rows before the first one of the screen */
	size_t gap; /* free places before that row */
};

/* Freed blocks of one size, each with the address of the next one in it. */
struct spares {
	size_t size;
	void *first;
};

struct cursor {
	unsigned x, y; /* x == VT_COLUMNS: the next character wraps */
};

/* The character sets that are line drawing: bits 0 and 1 for G0 and G1. */
struct charsets {
	uint8_t drawing;
	uint8_t shift; /* the set in use, 0 or 1 */
};

/* Rows are created when something is written to them or below them. */
struct screen {
	struct rows rows;
	struct cursor at;
	unsigned above, below; /* first and last row of the scroll region */
	uint32_t changed;      /* as in a row */
	struct cursor saved_at;
	struct charsets saved_sets;
	unsigned saved_modes; /* only MODE_ORIGIN is used */
};

enum vt_mode { MODE_INSERT = 1, MODE_NO_WRAP = 2, MODE_ORIGIN = 4, MODE_NEWLINE = 8 };

/* STAY means "unchanged" in the table and is never the present state. */
enum vt_state {
	STAY,
	GROUND,
	UTF8,
	ESCAPE,
	ESCAPE_INTERMEDIATE,
	CSI_ENTRY,
	CSI_PARAM,
	CSI_INTERMEDIATE,
	CSI_IGNORE,
	OSC,
	STRING,
	STATES,
};

/* The sequence that is being read. */
struct sequence {
	uint16_t param[VT_PARAMS + 1]; /* 0: left out, or one too many */
	unsigned n;                    /* index of the last one */
	char prefix;                   /* '?', '>', ... before them, or 0 */
	char intermediate;             /* the last byte of 0x20 to 0x2f, or 0 */
};

/* The character that is being read. */
struct partial {
	uint32_t cp;
	uint8_t need;   /* bytes to come */
	uint8_t lo, hi; /* range of the next byte */
};

struct vt {
	enum vt_state state;
	struct sequence seq;
	struct partial part;

	struct screen main, alt;
	struct screen *screen; /* main or alt, the one in use */
	struct charsets sets;
	unsigned modes;
	unsigned fixed_modes;                /* modes that nothing turns off */
	uint64_t stops[VT_COLUMNS / 64 + 1]; /* tab stops, a bit for each column */

	uint32_t last; /* printed, with a width; 0: none */
	uint32_t prev; /* printed, of any width */
	size_t tail;   /* bytes of the character before the cursor; 0: it has moved */

	struct chunk *chunks[VT_CHUNKS];
	unsigned chunk; /* index of the chunk being filled */
	size_t memory;  /* of chunks, cells and glyphs */
	size_t spare;   /* bytes in spares */
	struct spares spares[VT_SPARES];
	uint64_t first;  /* number of the oldest row */
	uint64_t lost;   /* rows below this number were dropped */
	uint64_t moved;  /* rows from this number on may have moved */
	uint32_t report; /* number of the next report */
	int err;

	uint64_t work;  /* units, see vt_get_work */
	uint64_t limit; /* at which the present feed stops */
};

/* Counts n rows or cells that are moved or overwritten as one block. */
static inline void vt_work_block(struct vt *vt, size_t n)
{
	vt->work += 1 + n / 32;
}

/* --- vt_width.c --- */

/* Code points of one width: 0, 1 or 2 columns, -1 for control characters. */
struct vt_span {
	uint32_t first, last;
	int width;
};

/* The span around cp. */
struct vt_span vt_find_span(uint32_t cp);
int vt_width(uint32_t cp);
/* Whether cp becomes part of prev (tail bytes so far) instead of standing alone. */
bool vt_is_joined(uint32_t prev, size_t tail, uint32_t cp, int width);

/* --- vt_store.c --- */

/*
 * n bytes under the cap of memory, content undefined. The oldest rows are dropped to
 * make space, except keep. NULL, with vt->err set, if that does not suffice.
 */
void *vt_block_new(struct vt *vt, size_t n, const struct row *keep);
void vt_block_free(struct vt *vt, void *p, size_t n);
/* Frees the blocks that vt_block_free has set aside. */
void vt_spares_free(struct vt *vt);

/* Adds k empty rows at the end. */
bool vt_rows_add(struct vt *vt, struct screen *s, size_t k);
/* Drops the oldest row, which must not be on the screen. */
void vt_rows_drop(struct vt *vt);
/* Empties and removes all rows from the i-th on. */
void vt_rows_truncate(struct vt *vt, struct screen *s, size_t i);
void vt_rows_free(struct vt *vt, struct screen *s);
/* The first k rows of the screen become history. */
void vt_rows_archive(struct rows *r, size_t k);
/* Moves the last k rows, which are empty, to the top of the screen. */
bool vt_rows_rotate(struct vt *vt, struct screen *s, size_t k);

/* The rows of the history are contiguous, and so are those of the screen. */
static inline struct row *vt_row_at(const struct rows *r, size_t i)
{
	return r->v + r->head + i + (i < r->top ? 0 : r->gap);
}

/* --- vt_row.c --- */

/* Empties a row; its stamp (edited) stays. */
void vt_row_clear(struct vt *vt, struct row *row);
/* Whether text can be added to a closed row where it stands. */
bool vt_row_is_extendable(const struct vt *vt, const struct row *row);
/* Adds blanks, then n bytes of cols columns, to a closed row. */
bool vt_row_append(
	struct vt *vt, struct row *row, size_t blanks, struct str text, size_t cols);
/* Fills the row with the letter E, which needs no memory. */
void vt_row_align(struct vt *vt, struct row *row);
bool vt_row_open(struct vt *vt, struct row *row);
void vt_row_close(struct vt *vt, struct row *row);
/* The row's text after its first `from` bytes. */
void vt_row_text(const struct row *row, size_t from, struct buf *out);
size_t vt_row_bytes(const struct row *row);
size_t vt_row_columns(const struct row *row);

/* --- vt_cells.c: the row must be open --- */

struct cells *vt_cells_new(struct vt *vt, size_t cols, const struct row *keep);
void vt_cells_free(struct vt *vt, struct cells *c);
/* Overwrites cells with ASCII text, or with a character. */
void vt_cells_write(struct vt *vt, struct row *row, size_t col, struct str ascii);
void vt_cells_put(struct vt *vt, struct row *row, size_t col, uint32_t cp, size_t width);
/* Writes k characters that are the same. */
void vt_cells_fill(
	struct vt *vt, struct row *row, size_t col, uint32_t cp, size_t width, size_t k);
/* Adds to the character at or around col; false when it is full. */
bool vt_cells_join(struct vt *vt, struct row *row, size_t col, struct str utf8);
void vt_cells_erase(struct vt *vt, struct row *row, size_t from, size_t to);
void vt_cells_insert(struct vt *vt, struct row *row, size_t col, size_t n);
void vt_cells_delete(struct vt *vt, struct row *row, size_t col, size_t n);
/* Length as UTF-8, and that text. */
size_t vt_cells_bytes(const struct cells *c);
void vt_cells_copy(const struct cells *c, char *to);

/* --- vt_screen.c: the screen in use --- */

void vt_print_ascii(struct vt *vt, struct str text);
void vt_print(struct vt *vt, uint32_t cp);
/*
 * Prints characters that do not combine and fit into the row: cols columns, the last is
 * cp.
 */
void vt_print_run(struct vt *vt, struct str utf8, size_t cols, uint32_t cp);
/* Prints cp n times. */
void vt_print_repeat(struct vt *vt, uint32_t cp, size_t n);
void vt_linefeed(struct vt *vt);
/* Moves the scroll region up; rows that leave the top of the screen become history. */
void vt_scroll(struct vt *vt, unsigned n);
/*
 * Inserts or deletes n rows at y: other rows leave the scroll region, or blank rows
 * enter.
 */
void vt_insert_rows(struct vt *vt, unsigned y, unsigned n);
void vt_delete_rows(struct vt *vt, unsigned y, unsigned n);
/* Columns from..to of row y, the latter not included. */
void vt_erase(struct vt *vt, unsigned y, size_t from, size_t to);
/* The rows from..to, the latter not included. */
void vt_erase_rows(struct vt *vt, unsigned from, unsigned to);
void vt_erase_history(struct vt *vt);
/* Fills the screen with the letter E. */
void vt_align(struct vt *vt);
/* Before a report: stamps rows that have moved, forgets blank ones at the end. */
void vt_prepare_report(struct vt *vt);
/* The cursor's row, opened, if it has text at or after the cursor; else NULL. */
struct row *vt_edit_row(struct vt *vt);

/* --- vt_command.c --- */

void vt_run_control(struct vt *vt, unsigned char c);
void vt_run_escape(struct vt *vt, char final);
void vt_run_csi(struct vt *vt, char final);
/* Resets everything but the rows to the state after vt_new. */
void vt_set_defaults(struct vt *vt);

#endif
