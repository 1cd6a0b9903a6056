/*
 * A pattern, a NUL, a text: the search ends, what it finds lies in the text, and a
 * line that was found is found again when it stands alone; one behind it is not lost.
 * The first byte holds the flags.
 */
#include "limits.h"
#include "search/regex.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct str line_at(struct str text, size_t at)
{
	const char *lf = at ? memrchr(text.p, '\n', at) : NULL;
	struct str line = str_skip(text, lf ? (size_t)(lf - text.p) + 1 : 0);

	line.n = str_find_byte(line, '\n');
	return line;
}

static void search(struct regex *x, struct str text)
{
	while (text.n) {
		struct str line, before;
		size_t at, again;

		if (regex_find(x, text, &at) != 0) {
			line = line_at(text, 0);
			assert(regex_find(x, line, &again) == 1);
			return;
		}
		assert(at <= text.n);
		line = line_at(text, at);
		assert(regex_find(x, line, &again) == 0 && again <= line.n);
		before = line_at(text, 0);
		if (before.p != line.p)
			assert(regex_find(x, before, &again) == 1);
		text = str_skip(text, (size_t)(line.p - text.p) + line.n + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest, pattern;
	struct regex_error e;
	struct regex x;
	char *copy;

	if (size < 2 || size > 4096)
		return 0;
	copy = malloc(size - 1);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	rest = str_make(copy, size - 1);
	pattern = str_cut(&rest, '\0');
	if (regex_init(&x, pattern, data[0] & 3, &e) == 0)
		search(&x, rest);
	else
		assert(e.at <= pattern.n && e.why[0]);
	regex_free(&x);
	free(copy);
	return 0;
}
