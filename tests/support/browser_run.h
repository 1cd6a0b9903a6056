/*
 * A real browser for the tests of actions: started, asked, and done with. Include it in
 * one file of the program only.
 */
#ifndef TESTS_SUPPORT_BROWSER_RUN_H
#define TESTS_SUPPORT_BROWSER_RUN_H

#include "base/clock.h"
#include "browser/action/action.h"
#include "browser/devtools/find.h"
#include "browser/devtools/launch.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MEMORY = 64 << 20, START_MS = 60000, ANSWER_MS = 20000 };

static struct {
	struct browser browser;
	struct launch launch;
	struct arena memory;
	char folder[64];
	int pages;
} t;

/* --- The browser ------------------------------------------------------------------- */

static inline bool start(void)
{
	static const char *const env[] = {"HOME=/tmp", "PATH=/usr/bin", NULL};
	const char *more = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost";
	struct buf places = BUF_INIT(65536);
	const char **found = NULL;
	int r = find_browsers(env, NULL, &t.memory, &places, &found);

	buf_free(&places);
	if (r || !found[0])
		return false;
	ok(launch_begin(&t.launch, found[0], env, more) == 0, "%s starts", found[0]);
	r = browser_init(&t.browser, t.launch.in, t.launch.out, t.launch.pid, t.folder,
		clock_ms() + START_MS);
	t.launch.in = t.launch.out = -1;
	return ok(r == 0, "it is ready");
}

static inline void stop(void)
{
	char command[128];

	browser_free(&t.browser);
	launch_end(&t.launch);
	arena_reset(&t.memory);
	for (int i = 0; i <= t.pages; i++) {
		snprintf(command, sizeof(command), "%s/%d.html", t.folder, i);
		unlink(command);
	}
	snprintf(command, sizeof(command), "%s/file.txt", t.folder);
	unlink(command);
	snprintf(command, sizeof(command), "%s/other.txt", t.folder);
	unlink(command);
	rmdir(t.folder);
}

/* --- Doing and looking ------------------------------------------------------------- */

/* Does it, and wants that to be told; "...": what begins so. */
static inline void act(const char *text, const char *want)
{
	struct buf error = BUF_INIT(65536);
	struct str got, head = str_c(want);
	struct arena a;
	int r;

	arena_init(&a, MEMORY);
	r = browser_action_run(&t.browser, str_c(text), &a, &error);
	got = buf_view(&error);
	if (str_ends(head, STR("..."))) {
		head.n -= 3;
		got.n = got.n < head.n ? got.n : head.n;
	}
	if (!is_mem(got.n ? got.p : "", got.n, head.p, head.n, "%.60s", text))
		printf("# all of it: %.*s\n", STR_ARG(buf_view(&error)));
	if (r)
		is_int(r, 0, "the browser goes on behind %.60s", text);
	arena_reset(&a);
	buf_free(&error);
}

/* What JavaScript says of the active page. */
static inline void see(const char *expression, const char *want)
{
	struct tab *tab = browser_active_tab(&t.browser);
	struct buf function = BUF_INIT(65536);
	struct json_val value;
	struct str got = STR("nothing");
	struct arena a;
	const char *f;
	int r;

	arena_init(&a, MEMORY);
	buf_fmt(&function, "async function () { return String(await (%s)) }", expression);
	f = buf_cstr(&function);
	r = f ? tab_eval(tab, tab_main_frame(tab), f, STR(""), clock_ms() + ANSWER_MS, &a,
			&value)
	      : -1;
	if (!r)
		r = json_str(value, &a, &got);
	if (r)
		got = str_c(r == ERR_REFUSED ? t.browser.cdp.refusal : err_text(r));
	is_view(got, want, "%.70s", expression);
	arena_reset(&a);
	buf_free(&function);
}

static inline void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

/* Shows a page with that body; what it notes with note() stands in its title. */
static inline void show(const char *body)
{
	struct buf page = BUF_INIT(65536);
	char path[128], text[256];
	const char *whole;

	snprintf(path, sizeof(path), "%s/%d.html", t.folder, ++t.pages);
	buf_fmt(&page,
		"<!doctype html><title></title><script>"
		"var note = (...w) => document.title += (document.title && ' ') + "
		"w.join()"
		"</script><body style='margin:0'>%s",
		body);
	whole = buf_cstr(&page);
	write_file(path, whole ? whole : "");
	snprintf(text, sizeof(text), "goto('file://%s')", path);
	act(text, "");
	buf_free(&page);
}

/* All tests, if there is a browser to do them with; the exit status of main. */
static inline int run_with_browser(void (*tests)(void))
{
	arena_init(&t.memory, MEMORY);
	snprintf(t.folder, sizeof(t.folder), "/tmp/od-test-action-XXXXXX");
	if (!mkdtemp(t.folder))
		return 1;
	if (start())
		tests();
	if (t.launch.pid) {
		stop();
	} else {
		skip("all of it", "there is no browser");
		arena_reset(&t.memory);
		rmdir(t.folder);
	}
	return done_testing();
}

#endif
