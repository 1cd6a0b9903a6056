#include "browser/page/calllog.h"

#include <stdarg.h>
#include <stdio.h>

void calllog_init(struct calllog *l, struct arena *a)
{
	l->arena = a;
	l->n = 0;
}

static void PRINTF(4, 0) calllog_insert_va(
	struct calllog *l, size_t at, unsigned depth, const char *fmt, va_list ap)
{
	char line[CALLLOG_LINE_MAX];

	if (vsnprintf(line, sizeof(line), fmt, ap) < 0 || l->n == CALLLOG_LINES_MAX)
		return;
	memmove(&l->lines[at + 1], &l->lines[at], (l->n - at) * sizeof(l->lines[0]));
	l->lines[at].text = str_c(arena_cstr(l->arena, str_c(line)));
	l->lines[at].depth = depth;
	l->n++;
}

void calllog_insert(struct calllog *l, size_t at, unsigned depth, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	calllog_insert_va(l, at, depth, fmt, ap);
	va_end(ap);
}

void calllog_add(struct calllog *l, unsigned depth, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	calllog_insert_va(l, l->n, depth, fmt, ap);
	va_end(ap);
}

static bool calllog_is_run_equal(const struct calllog *l, size_t a, size_t b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (l->lines[a + i].depth != l->lines[b + i].depth ||
			!str_eq(l->lines[a + i].text, l->lines[b + i].text))
			return false;
	return true;
}

/* The shortest run of lines at i that repeats directly, and how often it occurs. */
static size_t calllog_find_run(const struct calllog *l, size_t i, size_t *times)
{
	*times = 1;
	for (size_t n = 1; i + 2 * n <= l->n; n++) {
		size_t at = i + n;

		while (at + n <= l->n && calllog_is_run_equal(l, i, at, n))
			at += n;
		if (at > i + n) {
			*times = (at - i) / n;
			return n;
		}
	}
	return 1;
}

void calllog_put(const struct calllog *l, struct buf *out)
{
	size_t run, times;

	if (l->n)
		buf_puts(out, "\nCall log:\n");
	for (size_t i = 0; i < l->n; i += run * times) {
		char count[32] = "";
		int inner = 0;

		run = calllog_find_run(l, i, &times);
		if (times > 1)
			/* The sign is one column wide and two bytes long. */
			inner = snprintf(count, sizeof(count), "%zu \xc3\x97 ", times) -
				3;
		for (size_t k = i; k < i + run; k++) {
			buf_fmt(out, "%*s", (int)(2 + 2 * l->lines[k].depth), "");
			if (k > i || !inner)
				buf_fmt(out, "%*s- ", inner, "");
			else
				buf_puts(out, count);
			buf_str(out, l->lines[k].text);
			buf_putc(out, '\n');
		}
	}
}
