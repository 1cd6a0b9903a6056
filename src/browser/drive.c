/*
 * The lifetime of a browser: which one is used, and how its pages are restored after a
 * loss.
 */
#include "browser/drive_private.h"

#include "base/b64.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "browser/action/answer.h"
#include "browser/devtools/endpoint.h"
#include "browser/devtools/find.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
	PLACES_MAX = 65536, /* of the list of searched places */
	START_MS = 20000,   /* for a browser to start from a cold disk */
	CONNECT_MS = 8000,  /* for a connection to a running browser */
	RESTORE_MS = 8000,  /* to restore all pages */
	ANSWER_MAX = 64 << 20,
	DOWNLOADS_PATH = FILE_PATH_MAX + 16,
};

void drive_init(struct drive *d, const char *const *env)
{
	*d = (struct drive){
		.env = env,
		.endpoint = env_value(env, "OD_CDP"),
		.launch = {.in = -1, .out = -1, .output_fd = -1},
		.lost_urls = BUF_INIT(BROWSER_URL_MAX),
		.screenshot = BUF_INIT(OBSERVE_PICTURE_MAX),
		.wake_fd = -1,
	};
}

static void drive_end_browser(struct drive *d)
{
	if (d->state == DRIVE_RUNNING)
		browser_free(&d->browser);
	launch_end(&d->launch);
	d->state = DRIVE_OFF;
}

void drive_free(struct drive *d)
{
	drive_end_browser(d);
	buf_free(&d->lost_urls);
	buf_free(&d->screenshot);
}

/* --- Lost pages ------------------------------------------------------------------- */

static void drive_store_pages(struct drive *d)
{
	struct browser *b = &d->browser;
	size_t n = 0;

	buf_reset(&d->lost_urls);
	d->lost_active = 0;
	LIST_EACH (struct tab, t, &b->tabs, node) {
		struct str url = buf_view(&t->url);

		if (t->state == TAB_CLOSED || !url.n ||
			url.n + 1 > d->lost_urls.max - d->lost_urls.n)
			continue;
		if (t == b->active)
			d->lost_active = n;
		buf_str(&d->lost_urls, url);
		buf_putc(&d->lost_urls, '\0');
		n++;
	}
	if (d->lost_urls.err)
		buf_free(&d->lost_urls);
}

static int drive_open_page(struct drive *d, bool first, struct str url, uint64_t deadline)
{
	struct tab_navigation moved;
	struct arena a;
	int r = first ? 0 : browser_new_tab(&d->browser, deadline);

	arena_init(&a, CDP_MEMORY_MAX);
	if (!r && !str_eq(url, STR("about:blank")))
		r = tab_navigate(
			browser_active_tab(&d->browser), url, deadline, &a, &moved);
	arena_reset(&a);
	return r == ERR_CLOSED || r == -ECANCELED ? r : 0;
}

/* Restores the pages once: pages that crash a browser must not crash the next one. */
static int drive_restore_pages(struct drive *d)
{
	struct buf kept = d->lost_urls;
	struct str rest = buf_view(&kept);
	uint64_t deadline = clock_ms() + RESTORE_MS;
	bool first = true;
	int r = 0;

	d->lost_urls = (struct buf)BUF_INIT(BROWSER_URL_MAX);
	while (!r && rest.n && clock_ms() < deadline) {
		r = drive_open_page(d, first, str_cut(&rest, '\0'), deadline);
		first = false;
	}
	if (!r && !first) {
		struct tab *t = browser_tab_at(&d->browser, d->lost_active);

		r = t ? browser_focus_tab(&d->browser, t, deadline) : 0;
	}
	buf_free(&kept);
	return r == ERR_CLOSED || r == -ECANCELED ? r : 0;
}

/* --- Starting --------------------------------------------------------------------- */

static void drive_put_start_error(
	struct drive *d, const char *program, int r, struct buf *why)
{
	struct buf words = BUF_INIT(CDP_WORDS_MAX * 4);

	launch_read_output(&d->launch, &words);
	buf_reset(why);
	buf_fmt(why, "%s does not work: %s", program,
		r == ERR_REFUSED ? d->browser.cdp.refusal : err_text(r));
	if (words.n && !words.err)
		buf_fmt(why, ": %.*s",
			(int)(words.n < CDP_WORDS_MAX ? words.n : CDP_WORDS_MAX),
			words.p);
	buf_free(&words);
	log_warn("browser: %.*s", STR_ARG(buf_view(why)));
}

static void drive_make_downloads_path(const struct drive *d, char path[DOWNLOADS_PATH])
{
	snprintf(path, DOWNLOADS_PATH, "%s/.downloads", d->cwd);
}

static void drive_begin_session(struct drive *d)
{
	char downloads[DOWNLOADS_PATH];

	/* Clients expect this folder from the start. The browser would create it late. */
	drive_make_downloads_path(d, downloads);
	if (mkdir(downloads, 0777) < 0 && errno != EEXIST)
		log_warn("browser: %s: %s", downloads, err_text(-errno));
	d->browser.cdp.wake_fd = d->wake_fd;
	d->browser.cdp.on_wake = d->on_wake;
	d->browser.cdp.wake_arg = d->arg;
	d->browser.by_place = env_value(d->env, "OD_BROWSER_COORD") != NULL;
	drive_update_cast(d);
}

/* Connects to an external browser. */
static int drive_connect_endpoint(struct drive *d, struct buf *why)
{
	struct buf words = BUF_INIT(CDP_WORDS_MAX);
	char downloads[DOWNLOADS_PATH];
	int fd = -1;
	int r = endpoint_open(d->endpoint, clock_ms() + CONNECT_MS, &fd, &words);

	if (!r) {
		drive_make_downloads_path(d, downloads);
		r = browser_init_socket(
			&d->browser, fd, downloads, clock_ms() + CONNECT_MS);
		d->state = DRIVE_RUNNING;
		if (r == ERR_REFUSED)
			buf_puts(&words, d->browser.cdp.refusal);
		else if (r)
			buf_puts(&words, err_text(r));
		if (r)
			drive_end_browser(d);
	}
	if (r) {
		buf_fmt(why, "The browser at %s cannot be used: %.*s.", d->endpoint,
			STR_ARG(buf_view(&words)));
		log_warn("browser: %.*s", STR_ARG(buf_view(why)));
	} else {
		drive_begin_session(d);
	}
	buf_free(&words);
	return r;
}

static int drive_try_program(struct drive *d, const char *program, struct buf *why)
{
	char downloads[DOWNLOADS_PATH];
	int r = launch_begin(
		&d->launch, program, d->env, env_value(d->env, "OD_BROWSER_FLAGS"));

	if (r) {
		drive_put_start_error(d, program, r, why);
		return r;
	}
	drive_make_downloads_path(d, downloads);
	r = browser_init(&d->browser, d->launch.in, d->launch.out, d->launch.pid,
		downloads, clock_ms() + START_MS);
	d->launch.in = d->launch.out = -1;
	d->state = DRIVE_RUNNING;
	if (r) {
		drive_put_start_error(d, program, r, why);
		drive_end_browser(d);
		return r;
	}
	drive_begin_session(d);
	return 0;
}

static int drive_start_browser(struct drive *d, struct buf *why)
{
	struct buf places = BUF_INIT(PLACES_MAX);
	const char **found;
	struct arena a;
	int r;

	if (d->endpoint)
		return drive_connect_endpoint(d, why);
	arena_init(&a, PLACES_MAX);
	r = find_browsers(d->env, BROWSER_FOLDER, &a, &places, &found);
	buf_free(&places);
	if (!r) {
		r = -ENOENT;
		buf_puts(why, "no browser was found");
		while (*found && r)
			r = drive_try_program(d, *found++, why);
	}
	arena_reset(&a);
	return r;
}

void drive_mark_lost(struct drive *d)
{
	log_warn("browser: %s",
		d->endpoint ? "the connection to the browser has ended"
			    : "the browser has ended and is started again");
	drive_store_pages(d);
	drive_end_browser(d);
}

/* Whether the browser still runs. If it has closed, it is marked as lost. */
static bool drive_is_alive(struct drive *d)
{
	if (d->state == DRIVE_RUNNING && cdp_pump(&d->browser.cdp, 0) != ERR_CLOSED)
		return true;
	if (d->state == DRIVE_RUNNING)
		drive_mark_lost(d);
	return false;
}

int drive_start(struct drive *d, struct buf *why)
{
	int r;

	if (drive_is_alive(d))
		return 0;
	r = drive_start_browser(d, why);
	if (r)
		return r;
	r = drive_restore_pages(d);
	if (r != ERR_CLOSED)
		return r;
	/* The browser was lost while its pages were restored: do so only once. */
	drive_end_browser(d);
	return drive_start_browser(d, why);
}

int drive_wait_event(struct drive *d)
{
	struct cdp *c = &d->browser.cdp;
	bool (*patient)(void *ctx, uint64_t silent_ms) = c->on_silence;
	int r;

	/* No request is pending, so the browser may sleep. */
	c->on_silence = NULL;
	r = cdp_poll(c, UINT64_MAX);
	c->on_silence = patient;
	return r;
}

/* --- Pictures --------------------------------------------------------------------- */

void drive_update_cast(struct drive *d)
{
	if (d->state != DRIVE_RUNNING)
		return;
	d->browser.on_picture = d->on_picture;
	d->browser.picture_arg = d->arg;
	browser_update_cast(&d->browser);
}

int drive_capture_page(struct drive *d, uint64_t deadline)
{
	struct tab *t = browser_active_tab(&d->browser);
	struct json_val result;
	struct str coded;
	struct arena a;
	int r = -ETIMEDOUT;

	arena_init(&a, CDP_MEMORY_MAX);
	if (t)
		r = tab_call(t, "Page.captureScreenshot", STR("{\"format\":\"png\"}"),
			deadline, &a, &result);
	if (!r)
		r = json_str(json_get(result, "data"), &a, &coded);
	if (!r) {
		buf_free(&d->screenshot);
		r = b64_decode(&d->screenshot, coded);
	}
	arena_reset(&a);
	return r;
}

/* --- Actions ---------------------------------------------------------------------- */

/* Describes the end of a browser that does not answer any more. */
static void drive_put_loss(struct drive *d, struct buf *words)
{
	int status = launch_wait_status(&d->launch);

	buf_puts(words, d->endpoint ? "The connection to the browser " : "The browser ");
	if (d->endpoint)
		buf_puts(words, "has ended.");
	else if (status < 0)
		buf_puts(words, "did not answer and was ended.");
	else if (WIFSIGNALED(status))
		buf_fmt(words, "has crashed (signal %d).", WTERMSIG(status));
	else
		buf_fmt(words, "has ended (exit status %d).", WEXITSTATUS(status));
	buf_fmt(words,
		" It is %s again with its pages, loaded anew. Whether the action has had "
		"an effect is not known.",
		d->endpoint ? "connected" : "started");
	log_warn("browser: %.*s", STR_ARG(buf_view(words)));
}

static bool drive_is_page_leaving(struct drive *d)
{
	struct tab *t = browser_active_tab(&d->browser);

	return t && tab_leaves(t);
}

int drive_run_task(struct drive *d, const struct drive_task *task, struct buf *out)
{
	struct buf words = BUF_INIT(CDP_WORDS_MAX), error = BUF_INIT(DRIVE_ERROR_MAX);
	struct buf answer = BUF_INIT(ANSWER_MAX);
	struct arena a;
	int r;

	arena_init(&a, CDP_MEMORY_MAX);
	r = drive_run_step(d, task, &a, &error, &answer);
	if (r == ERR_CLOSED) {
		drive_put_loss(d, &words);
		drive_store_pages(d);
		drive_end_browser(d);
	} else if (r == -ETIMEDOUT && drive_is_page_leaving(d)) {
		buf_puts(&words,
			"The page goes to another one, of which nothing has come yet: "
			"until then it answers nobody. noop() looks again.");
	} else if (r == -ETIMEDOUT) {
		buf_puts(&words,
			"The page is busy: its scripts let nobody look. It goes on; "
			"noop() looks again.");
	} else if (r && r != -ECANCELED) {
		buf_fmt(&words, "The page could not be looked at: %s.", err_text(r));
	}
	if (words.n) {
		buf_reset(&answer);
		if (error.n)
			buf_putc(&error, '\n');
		buf_str(&error, buf_view(&words));
		browse_answer_put_failure(
			task->visit, task->source, buf_view(&error), &answer);
		r = error.err;
	}
	buf_str(out, buf_view(&answer));
	arena_reset(&a);
	buf_free(&answer);
	buf_free(&error);
	buf_free(&words);
	return r ? r : out->err;
}
