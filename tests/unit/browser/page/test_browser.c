/* What is known of a tab. */
#include "browser/page/browser_private.h"

#include "base/clock.h"
#include "tests/tap.h"

enum { LONG_MS = 125000 };

static void check_leaving(void)
{
	struct browser b = {.cdp = {.in = -1, .out = -1}};
	struct tab *t = browser_add_tab(&b, STR("T"), STR("S"));
	struct page_frame *f;

	if (!ok(t != NULL, "a tab"))
		return;
	f = tab_main_frame(t);
	ok(!tab_leaves(t), "stays where it is");
	f->loading = true;
	f->started = clock_ms();
	ok(tab_leaves(t), "one that goes elsewhere leaves");
	f->events = FRAME_INIT;
	ok(!tab_leaves(t), "...until something has come");
	f->events = 0;
	f->started -= LONG_MS;
	ok(!tab_leaves(t), "...or for as long as that may take");
	browser_free(&b);
}

int main(void)
{
	check_leaving();
	return done_testing();
}
