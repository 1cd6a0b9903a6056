/*
 * The editor's engine: input is a text, what to look for and what to put there, apart
 * by 0x01. The mark stays, nothing is lost before the place, and there is a diff if and
 * only if something has changed.
 */
#include "fs/diff.h"
#include "fs/edit.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_diff(const struct edit_text *a, const struct edit_text *b)
{
	struct buf out = BUF_INIT(1 << 24);
	struct buf from = BUF_INIT(1 << 24), to = BUF_INIT(1 << 24);

	edit_show(a, buf_view(&a->lines), &from);
	edit_show(b, buf_view(&b->lines), &to);
	assert(diff_unified(&out, STR("f"), buf_view(&from), buf_view(&to)) == 0);
	assert((out.n == 0) == str_eq(buf_view(&from), buf_view(&to)));
	buf_free(&out);
	buf_free(&from);
	buf_free(&to);
}

static void check_after(const struct edit_text *before, struct str raw)
{
	struct buf out = BUF_INIT(1 << 24);
	struct edit_text t;

	assert(edit_open(&t, raw) == 0);
	edit_put_cat(&out, STR("W"), buf_view(&t.lines), edit_count_lines(&t));
	check_diff(before, &t);
	edit_free(&t);
	buf_free(&out);
}

static void check(struct str raw, struct str old, struct str put)
{
	struct buf out = BUF_INIT(1 << 24);
	struct edit_found f;
	struct edit_text t;

	assert(edit_open(&t, raw) == 0 && edit_find(&t, old, &f) == 0);
	assert(!f.n || f.at + f.length <= t.lines.n);
	if (f.n && edit_replace(&t, f.at, f.length, put, &out) == 0) {
		/* One byte of t.lines is one or two of raw: so many of them stay. */
		assert(out.n >= t.mark + f.at);
		assert(t.mark + f.at == 0 || !memcmp(out.p, raw.p, t.mark));
		check_after(&t, buf_view(&out));
	}
	buf_reset(&out);
	if (edit_insert(&t, raw.n % (edit_count_lines(&t) + 1), put, &out) == 0) {
		assert(out.n > raw.n);
		check_after(&t, buf_view(&out));
	}
	buf_free(&f.lines);
	edit_free(&t);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + !size);
	struct str rest = str_make(copy, size);
	struct str raw, old;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	raw = str_cut(&rest, '\1');
	old = str_cut(&rest, '\1');
	check(raw, old, rest);
	free(copy);
	return 0;
}
