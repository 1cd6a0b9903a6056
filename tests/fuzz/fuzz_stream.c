/* Streams of engines, fed whole and byte by byte with the same result. The first
 * byte chooses between lines and frames. */
#include "base/lines.h"
#include "inject/http/stream.h"

#include <assert.h>
#include <stdlib.h>

enum { LINE_MAX_BYTES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int feed_lines(struct str text, size_t step, struct buf *out)
{
	struct lines l;
	struct str line;
	struct arena a;
	int r = 1;

	lines_init(&l, LINE_MAX_BYTES);
	arena_init(&a, 1 << 20);
	for (size_t at = 0; at < text.n && r >= 0; at += step) {
		struct str in = str_skip(text, at);

		in.n = in.n < step ? in.n : step;
		while ((r = lines_next(&l, &in, &line)) == 0) {
			struct progress p;

			buf_fmt(out, "%zu:", line.n);
			if (progress_read(line, &a, &p) == 0)
				buf_fmt(out, "%d %.*s|", p.kind, STR_ARG(p.text));
			arena_reset(&a);
		}
	}
	lines_free(&l);
	arena_reset(&a);
	return r;
}

static int feed_frames(struct str text, size_t step, struct buf *out)
{
	struct frames f;
	struct str piece;
	int fd, r = 1;

	frames_init(&f);
	for (size_t at = 0; at < text.n && r >= 0; at += step) {
		struct str in = str_skip(text, at);

		in.n = in.n < step ? in.n : step;
		while ((r = frames_next(&f, &in, &fd, &piece)) == 0) {
			assert(piece.n && (fd == 1 || fd == 2));
			for (size_t i = 0; i < piece.n; i++) {
				buf_putc(out, (char)fd);
				buf_putc(out, piece.p[i]);
			}
		}
	}
	return r < 0 ? r : frames_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf whole = BUF_INIT(1 << 22), bytes = BUF_INIT(1 << 22);
	int (*feed)(struct str, size_t, struct buf *);
	char *text;

	if (n < 2 || n > 4096)
		return 0;
	feed = data[0] & 1 ? feed_lines : feed_frames;
	text = malloc(n - 1);
	if (!text)
		return 0;
	memcpy(text, data + 1, n - 1);
	assert(feed(str_make(text, n - 1), n, &whole) ==
		feed(str_make(text, n - 1), 1, &bytes));
	assert(str_eq(buf_view(&whole), buf_view(&bytes)));
	buf_free(&whole);
	buf_free(&bytes);
	free(text);
	return 0;
}
