#include "inject/engine/bar.h"

#include "base/clock.h"
#include "inject/console/out.h"

/* The bar is drawn at most this often: engines report every few bytes. */
enum { SHOW_MS = 40, LINE_COLUMNS = 79 };

void bar_update(struct bar *b, const struct progress *p)
{
	struct buf line = BUF_INIT(1024);
	uint64_t now = clock_ms();
	size_t head = strlen(b->doing) + 2;

	meter_update(&b->meter, p);
	if (now - b->shown < SHOW_MS)
		return;
	b->shown = now;
	if (meter_write_line(&b->meter, LINE_COLUMNS - head, &line))
		out_step("%s: %.*s", b->doing, STR_ARG(buf_view(&line)));
	else
		out_step("%s: %.*s", b->doing, STR_ARG(p->text));
	buf_free(&line);
}
