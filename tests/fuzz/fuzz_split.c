/*
 * Commands: the pieces are in order, inside the text, trimmed, and none of them
 * is several commands again; a newline at the end changes nothing; the refusal
 * holds every piece.
 */
#include "codec/split.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_piece(struct str piece, bool is_rest)
{
	char *copy = malloc(piece.n);
	struct split_pieces p;

	assert(copy && !strchr(" \t\n", piece.p[0]));
	assert(!strchr(" \t\n", piece.p[piece.n - 1]));
	memcpy(copy, piece.p, piece.n);
	if (!is_rest)
		assert(split_command(str_make(copy, piece.n), &p) != SPLIT_MULTIPLE);
	free(copy);
}

static void check_pieces(struct str text, const struct split_pieces *p)
{
	struct buf out = BUF_INIT(1 << 24);
	size_t at = 0;

	assert(p->n > 1 && p->n <= SPLIT_PIECES_MAX);
	split_write_refusal(text, p, &out);
	assert(!out.err);
	for (size_t i = 0; i < p->n; i++) {
		struct split_piece piece = p->piece[i];

		assert(piece.from >= at && piece.from < piece.to && piece.to <= text.n);
		check_piece(str_make(text.p + piece.from, piece.to - piece.from),
			i + 1 == SPLIT_PIECES_MAX);
		at = piece.to;
	}
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct split_pieces whole, longer;
	enum split_kind kind, again;
	char *copy = malloc(size + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\n';
	again = split_command(str_make(copy, size + 1), &longer);
	copy = realloc(copy, size ? size : 1);
	assert(copy);
	kind = split_command(str_make(copy, size), &whole);
	if (kind != SPLIT_UNFINISHED) {
		assert(again == kind && longer.n == whole.n);
		assert(!memcmp(
			longer.piece, whole.piece, whole.n * sizeof(whole.piece[0])));
	}
	if (kind == SPLIT_MULTIPLE)
		check_pieces(str_make(copy, size), &whole);
	else
		assert(whole.n == 0);
	free(copy);
	return 0;
}
