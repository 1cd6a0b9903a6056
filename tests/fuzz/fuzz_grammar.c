/* Texts of actions: what is found, written as Python does it, is found again. */
#include "browser/action/grammar.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 16 << 20 };

static int put_calls(struct str text, struct buf *out)
{
	struct grammar g;
	struct arena a;
	struct call c;
	int r;

	arena_init(&a, MEMORY);
	grammar_init(&g, text, &a);
	while ((r = grammar_next(&g, &c)) == 0) {
		buf_str(out, c.name);
		buf_putc(out, '(');
		for (const struct value *arg = c.args; arg; arg = arg->next) {
			if (arg->name.n)
				buf_fmt(out, "%.*s=", STR_ARG(arg->name));
			value_put_repr(out, arg);
			buf_putc(out, ',');
		}
		buf_puts(out, ")\n");
	}
	grammar_free(&g);
	arena_reset(&a);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf once = BUF_INIT(MEMORY), twice = BUF_INIT(MEMORY);
	char *exact = malloc(n ? n : 1);

	if (!exact)
		return 0;
	if (n)
		memcpy(exact, p, n);
	/* Infinity is a number that Python cannot read either. */
	if (put_calls(str_make(exact, n), &once) > 0 && !once.err &&
		str_find(buf_view(&once), STR("inf")) == once.n) {
		assert(put_calls(buf_view(&once), &twice) > 0);
		assert(str_eq(buf_view(&once), buf_view(&twice)));
	}
	buf_free(&once);
	buf_free(&twice);
	free(exact);
	return 0;
}
