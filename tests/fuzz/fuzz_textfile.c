/*
 * Ranges of lines: the same slice whole and split, inside the text, at line
 * starts; line ends made one. Byte 0 is the start, 1 the end, 2 the split.
 */
#include "fs/textfile.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_scan(struct str text, struct line_range range, size_t split)
{
	struct text_slice whole, halves;
	struct text_scan s;

	text_scan_init(&s, range);
	text_scan_feed(&s, text);
	whole = text_scan_slice(&s);
	assert(whole.from <= whole.to && whole.to <= text.n);
	text_scan_init(&s, range);
	if (!text_scan_feed(&s, str_make(text.p, split)))
		text_scan_feed(&s, str_skip(text, split));
	halves = text_scan_slice(&s);
	assert(whole.from == halves.from && whole.to == halves.to);
	if (whole.from && whole.from < text.n)
		assert(strchr("\r\n", text.p[whole.from - 1]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct line_range range;
	struct text_slice cut;
	struct str text;
	char *copy;

	if (size < 4)
		return 0;
	range = (struct line_range){(int8_t)data[0], (int8_t)data[1]};
	text.n = size - 3;
	copy = malloc(text.n);
	if (!copy)
		return 0;
	memcpy(copy, data + 3, text.n);
	text.p = copy;
	check_scan(text, range, data[2] % text.n);
	cut = text_find_splice(text, range);
	assert(cut.from <= text.n && cut.to <= text.n);
	(void)text_is_binary(text);
	text.n = text_convert_newlines(copy, text.n);
	assert(!memchr(copy, '\r', text.n));
	free(copy);
	return 0;
}
