/*
 * Decides whether a text is one shell command or several: a tokenizer.
 *
 * The wire contract refuses a text of several top-level commands on separate lines.
 * Refusing one valid command is worse than running several, hence the text is split only
 * if every byte of it was understood, as bash would read it; a text that is not
 * understood is one command. Aliases and shells with another grammar are not supported.
 * No recursion, no allocation, time linear in the text.
 */
#ifndef CODEC_SPLIT_H
#define CODEC_SPLIT_H

#include "base/buf.h"

/* The limits of the splitter. */
enum {
	SPLIT_DEPTH_MAX = 128,     /* open quotes and compounds, 40 bytes each */
	SPLIT_PIECES_MAX = 256,    /* commands listed separately; scripts have 100 */
	SPLIT_DOCS_MAX = 16,       /* here-documents on one line, as bash */
	SPLIT_DELIMITER_MAX = 256, /* the word that ends a here-document, in bytes */
};

enum split_kind {
	/*
	 * At most one command, or a text that the tokenizer does not follow: a
	 * syntax error, a NUL byte, more nesting than SPLIT_DEPTH_MAX.
	 */
	SPLIT_SINGLE,
	/* Two or more commands, all complete. */
	SPLIT_MULTIPLE,
	/*
	 * Correct so far, but the shell would wait for another line: an open quote,
	 * expansion, here-document, compound command or function, a backslash or one of
	 * && || | at the end. The caller may submit text, newline and more text as a
	 * whole. Complete commands may come before the unfinished one.
	 */
	SPLIT_UNFINISHED,
};

/* A command and the comments below it: from the first byte to the byte after the last. */
struct split_piece {
	size_t from, to;
};

/* Never empty, in order; beyond SPLIT_PIECES_MAX the last holds all the rest. */
struct split_pieces {
	struct split_piece piece[SPLIT_PIECES_MAX];
	size_t n;
};

/*
 * Returns the kind of the text. *pieces is set for SPLIT_MULTIPLE only, and has two or
 * more pieces then. Blanks and empty lines around a piece are not part of it. Comments
 * belong to the piece before them, or to the first. A carriage return before a line end
 * is a blank.
 */
enum split_kind split_command(struct str text, struct split_pieces *pieces) MUST_USE;

/*
 * True for a single command that lacks only the rest of a here-document and what may
 * follow it, such as "cat <<EOF": later input completes the command.
 */
bool split_is_in_document(struct str text) MUST_USE;

/* True if every byte was understood and nothing is missing at the end. */
bool split_is_complete(struct str text) MUST_USE;

/* Writes the contract's refusal of several commands, with a list of them. */
void split_write_refusal(
	struct str text, const struct split_pieces *pieces, struct buf *out);

#endif
