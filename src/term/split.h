/*
 * One command or several: a tokenizer for the text of a shell command.
 *
 * The wire contract refuses a text of several top-level commands that stand on
 * lines of their own. Refusing one valid command is worse than running several,
 * hence the text is split only where every byte of it was understood, as bash
 * would read it; whatever is not understood is one command. Aliases and shells
 * with another grammar are not known here. No recursion, no allocation, time
 * linear in the text.
 */
#ifndef TERM_SPLIT_H
#define TERM_SPLIT_H

#include "base/buf.h"
#include "limits.h"

enum split_kind {
	/*
	 * At most one command, or a text that the tokenizer does not follow: a
	 * syntax error, a NUL byte, more nesting than SPLIT_DEPTH_MAX.
	 */
	SPLIT_ONE,
	/* Two or more commands, all complete. */
	SPLIT_SEVERAL,
	/*
	 * Right as far as it goes, but the shell would wait for another line: an
	 * open quote, expansion, here-document, compound command or function, a
	 * backslash or one of && || | at the end. Text, newline and more text may
	 * be given again as a whole. Complete commands may stand before.
	 */
	SPLIT_UNFINISHED,
};

/* A command and the comments below it: from the first byte to behind the last. */
struct split_piece {
	size_t from, to;
};

/* Never empty, in order; beyond SPLIT_PIECES_MAX the last holds all the rest. */
struct split_pieces {
	struct split_piece piece[SPLIT_PIECES_MAX];
	size_t n;
};

/*
 * Says what the text is. *pieces is set for SPLIT_SEVERAL only, and has two or
 * more then: blanks and empty lines around a piece are not part of it, comments
 * belong to the piece before them, or to the first. A carriage return before a
 * line end is a blank.
 */
enum split_kind split_command(struct str text, struct split_pieces *pieces) MUST_USE;

/*
 * True for one command that lacks nothing but the rest of a here-document and what
 * may stand behind it, such as "cat <<EOF": input that is to come completes it.
 */
bool split_wants_document(struct str text) MUST_USE;

/* True if every byte was understood and nothing is missing at the end. */
bool split_is_whole(struct str text) MUST_USE;

/* Writes the contract's refusal of several commands, with a list of them. */
void split_write_refusal(
	struct str text, const struct split_pieces *pieces, struct buf *out);

#endif
