/*
 * A stream of events: the same data whether it comes at once or byte by byte, none of it
 * beyond the maximum; and what is written as an event comes back as it was.
 */
#include "codec/http/sse.h"

#include <assert.h>
#include <stdlib.h>

enum { MAX = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static int feed(struct str text, size_t step, struct buf *out)
{
	struct str data;
	struct sse s;
	int r = 1;

	sse_init(&s, MAX);
	for (size_t at = 0; at < text.n && r > 0; at += step) {
		struct str in = str_skip(text, at);

		in.n = in.n < step ? in.n : step;
		while ((r = sse_next(&s, &in, &data)) == 0) {
			assert(data.n <= MAX);
			buf_fmt(out, "%zu:", data.n);
			buf_str(out, data);
		}
	}
	sse_free(&s);
	return r;
}

/* Written as a server would. */
static void write_event(struct buf *out, struct str data)
{
	buf_puts(out, ": comment\nevent: message\n");
	while (data.n) {
		size_t at = str_find_byte(data, '\n');

		buf_puts(out, "data: ");
		buf_put(out, data.p, at);
		buf_putc(out, '\n');
		if (at + 1 == data.n)
			buf_puts(out, "data:\n");
		data = str_skip(data, at + 1);
	}
	buf_putc(out, '\n');
}

static void check_again(struct str data)
{
	struct buf text = BUF_INIT(1 << 16), got = BUF_INIT(1 << 16),
		   want = BUF_INIT(1 << 16);
	int r;

	write_event(&text, data);
	buf_fmt(&want, "%zu:", data.n);
	buf_str(&want, data);
	r = feed(buf_view(&text), 7, &got);
	assert(r == 1 || r == ERR_LIMIT);
	/* CR LF ends a line, too. */
	if (data.n && data.n <= MAX && str_find_byte(data, '\r') == data.n)
		assert(str_eq(buf_view(&got), buf_view(&want)));
	buf_free(&text);
	buf_free(&got);
	buf_free(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf once = BUF_INIT(1 << 20), bytes = BUF_INIT(1 << 20);
	char *exact;
	int r, s;

	if (n == 0 || n > 2048)
		return 0;
	exact = malloc(n);
	assert(exact);
	memcpy(exact, p, n);
	r = feed(str_make(exact, n), n, &once);
	s = feed(str_make(exact, n), 1, &bytes);
	assert(r == s);
	assert(str_eq(buf_view(&once), buf_view(&bytes)));
	check_again(str_make(exact, n));
	buf_free(&once);
	buf_free(&bytes);
	free(exact);
	return 0;
}
