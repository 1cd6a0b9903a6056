/*
 * The frames of a driver: the same whether the bytes come at once or cut in two; what
 * they hold is text of a cell, whose content never grows and stays the same if it is
 * put together again.
 */
#include "kernel/cell.h"
#include "kernel/driver_frame.h"

#include <assert.h>
#include <stdlib.h>

enum { SEEN_MAX = 1 << 20 };

/* False: nothing can follow. */
static bool feed(
	struct driver_frames *f, struct str bytes, struct buf *seen, struct cell *c)
{
	struct str frame;
	int r = driver_frames_put(f, bytes);

	assert(r == 0);
	while ((r = driver_frames_next(f, &frame)) == 0) {
		buf_putc(seen, '<');
		buf_str(seen, frame);
		cell_put_text(c, frame);
		cell_put_image(c, frame);
	}
	buf_puts(seen, r < 0 ? "!" : "");
	return r > 0;
}

static void check_cell(const struct cell *c)
{
	struct buf content = BUF_INIT(SEEN_MAX), again = BUF_INIT(SEEN_MAX);
	struct jw w;
	int r = cell_write_content(c, &content);

	assert(r == 0);
	assert(!c->has_text || content.n <= c->head.n);
	assert(cell_rstrip(buf_view(&content)).n == content.n);
	jw_init(&w, &again);
	cell_write_images(c, &w);
	assert(!again.err);
	buf_free(&content);
	buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf once = BUF_INIT(SEEN_MAX), cut = BUF_INIT(SEEN_MAX);
	struct driver_frames f;
	struct cell a, b;
	size_t at;
	char *exact;

	if (n == 0 || n > 4096)
		return 0;
	at = p[0] * (n - 1) / 256;
	exact = malloc(n);
	assert(exact);
	memcpy(exact, p + 1, n - 1);
	cell_init(&a);
	cell_init(&b);
	driver_frames_init(&f);
	feed(&f, str_make(exact, n - 1), &once, &a);
	driver_frames_free(&f);
	driver_frames_init(&f);
	if (feed(&f, str_make(exact, at), &cut, &b))
		feed(&f, str_make(exact + at, n - 1 - at), &cut, &b);
	driver_frames_free(&f);
	assert(str_eq(buf_view(&once), buf_view(&cut)));
	check_cell(&a);
	cell_free(&a);
	cell_free(&b);
	buf_free(&once);
	buf_free(&cut);
	free(exact);
	return 0;
}
