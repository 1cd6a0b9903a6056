/* Zip archives, unpacked as far as they can be. */
#include "codec/archive/unzip.h"

#include "limits.h"

#include <assert.h>
#include <stdlib.h>

struct bytes {
	const uint8_t *p;
	size_t n;
};

static int read_at(void *arg, uint64_t at, void *p, size_t n)
{
	const struct bytes *b = arg;

	assert(at <= b->n && n <= b->n - at);
	if (n)
		memcpy(p, b->p + at, n);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);
	struct bytes b = {copy, n};
	struct unzip_source source = {.read = read_at, .arg = &b, .size = n};
	struct unzip_entry e;
	struct unzip u;
	int r;

	if (n)
		memcpy(copy, p, n);
	r = unzip_open(&u, &source);
	assert(!r == !u.reason);
	while (!r && (r = unzip_next(&u, &e)) == 0) {
		struct unzip_content c;
		uint64_t size = 0;
		struct str piece;

		assert(e.name.n);
		r = unzip_begin(&c, &u, &e);
		while (!r && (r = unzip_read_piece(&c, &piece)) == 1) {
			size += piece.n;
			r = 0;
		}
		assert(r || size == e.size);
	}
	unzip_free(&u);
	free(copy);
	return 0;
}
