/*
 * The mark splitter: what it hands out is the same whether the bytes come at once or
 * cut in two, and nothing that is no mark is lost.
 */
#include "codec/mark.h"

#include <assert.h>
#include <stdlib.h>

enum { SEEN_MAX = 1 << 20 };

static const char nonce[] = "00112233445566778899aabbccddeeff";

static void feed(struct mark_splitter *m, struct str in, struct buf *seen)
{
	struct mark_event e;
	struct str data;
	enum mark_step step;

	while ((step = mark_next(m, &in, &data, &e)) != MARK_MORE) {
		if (step == MARK_DATA)
			buf_str(seen, data);
		else
			buf_fmt(seen, "<%c %d %.*s>", (char)e.kind, e.status,
				STR_ARG(e.cwd));
	}
}

/* The fuzzer cannot guess the nonce: '@' stands for it. */
static void expand(const uint8_t *p, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] == '@')
			buf_puts(out, nonce);
		else
			buf_putc(out, (char)p[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf in = BUF_INIT(SEEN_MAX), once = BUF_INIT(SEEN_MAX),
		   cut = BUF_INIT(SEEN_MAX);
	struct mark_splitter m;
	size_t at;
	char *exact;

	if (n == 0 || n > 4096)
		return 0;
	expand(p + 1, n - 1, &in);
	/* Flush against the end of an allocation. */
	exact = malloc(in.n + !in.n);
	assert(exact);
	if (in.n)
		memcpy(exact, in.p, in.n);
	mark_init(&m, nonce);
	feed(&m, str_make(exact, in.n), &once);
	mark_free(&m);
	at = in.n ? p[0] * in.n / 256 : 0;
	mark_init(&m, nonce);
	feed(&m, str_make(exact, at), &cut);
	feed(&m, str_make(exact + at, in.n - at), &cut);
	mark_free(&m);
	assert(str_eq(buf_view(&once), buf_view(&cut)));
	free(exact);
	buf_free(&in);
	buf_free(&once);
	buf_free(&cut);
	return 0;
}
