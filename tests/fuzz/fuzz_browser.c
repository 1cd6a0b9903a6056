/*
 * All that a browser says, in any pieces: answers go to who waits for them, events to the
 * tabs, and what is kept of either holds together.
 */
#include "browser/page/browser_private.h"

#include "base/fd.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	INPUT_MAX = 32768, /* a pipe holds it */
	ASKED = 8,
	MEMORY = 64 << 20,
};

static void check_tab(const struct browser *b, const struct tab *t)
{
	size_t n = 0;

	assert(t->browser == b && !list_is_empty(&t->frames));
	LIST_EACH (const struct page_frame, f, &t->frames, node) {
		assert(f->id[0] && strlen(f->id) < CDP_ID_MAX);
		assert(strlen(f->parent) < CDP_ID_MAX && strlen(f->loader) < CDP_ID_MAX);
		n++;
	}
	assert(n <= BROWSER_FRAMES_MAX);
	assert(strlen(t->target) < CDP_ID_MAX && strlen(t->session) < CDP_ID_MAX);
	assert(!t->url.err || t->url.n <= t->url.max);
}

/* The end of what was written is the end of the browser. */
static void feed(struct browser *b, int fd, const uint8_t *data, size_t size)
{
	size_t piece = size ? (size_t)data[0] * 16 + 1 : 1;

	for (size_t at = 0; at < size; at += piece) {
		size_t n = size - at < piece ? size - at : piece;

		assert(!fd_write_all(fd, data + at, n));
		if (cdp_poll(&b->cdp, 0))
			break;
	}
	fd_close(&fd);
	while (!cdp_poll(&b->cdp, UINT64_MAX))
		;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t ids[ASKED];
	struct browser b = {.pid = 0};
	struct json_val result;
	struct arena a;
	int to[2];

	if (size > INPUT_MAX || fd_pipe(to))
		return 0;
	cdp_init(&b.cdp, to[0], fd_open("/dev/null", O_WRONLY, 0));
	b.cdp.on_event = browser_on_event;
	b.cdp.has_handler = browser_has_handler;
	b.cdp.ctx = &b;
	assert(browser_add_tab(&b, STR("T"), STR("S")));
	LIST_FIRST(&b.tabs, struct tab, node)->state = TAB_READY;
	for (size_t i = 0; i < ASKED; i++)
		assert(!cdp_send(
			&b.cdp, i % 2 ? STR("S") : STR(""), "A.b", STR("{}"), &ids[i]));
	feed(&b, to[1], data, size);
	arena_init(&a, MEMORY);
	for (size_t i = 0; i < ASKED; i++) {
		int r = cdp_wait(&b.cdp, ids[i], 0, &a, &result);

		if (!r && json_type(result) != JSON_ABSENT)
			assert(json_raw(result).n);
		assert(!r || r == -ETIMEDOUT || (r < 0 && r != ERR_LIMIT));
	}
	LIST_EACH (const struct tab, t, &b.tabs, node)
		check_tab(&b, t);
	browser_free_closed(&b);
	arena_reset(&a);
	browser_free(&b);
	return 0;
}
