/* An action in a running browser: the step, and the observation after it. */
#include "browser/drive_private.h"

#include "base/clock.h"
#include "browser/action/action.h"
#include "browser/action/answer.h"
#include "browser/observe/observe.h"

#include <errno.h>
#include <string.h>

enum {
	VISIT_MAX = 8 << 20, /* a data: URL, with the call around it */
	DATA_SHOWN = 64,     /* characters of a data: URL */
	OBSERVE_MS = 30000,  /* pages of 12,000 nodes take 1.5 s */
};

/* Whether url is a bare host: a name with a dot, localhost, or an address in brackets. */
static bool drive_is_bare_host(struct str url)
{
	size_t end = 0;
	struct str host, port;

	while (end < url.n && !strchr("/?#", url.p[end]))
		end++;
	port = str_make(url.p, end);
	if (str_starts(port, STR("[")))
		return str_find_byte(port, ']') < port.n;
	host = str_cut(&port, ':');
	for (size_t i = 0; i < port.n; i++)
		if (port.p[i] < '0' || port.p[i] > '9')
			return false;
	return str_eq(host, STR("localhost")) || str_find_byte(host, '.') < host.n;
}

/* Writes the URL as the inside of a literal. Nothing in the URL ends the literal. */
static void drive_put_quoted(struct buf *b, struct str url)
{
	for (size_t i = 0; i < url.n; i++)
		if (url.p[i] == '"' || url.p[i] == '\\')
			buf_fmt(b, "\\%c", url.p[i]);
		else if (url.p[i] == '\n')
			buf_puts(b, "\\n");
		else if (url.p[i] == '\r')
			buf_puts(b, "\\r");
		else
			buf_putc(b, url.p[i]);
}

/* Converts a URL to the call of the contract. Paths and bare hosts are accepted, too. */
static int drive_make_goto(struct str url, struct arena *a, struct str *text)
{
	struct buf whole = BUF_INIT(VISIT_MAX);
	char *copy;

	buf_puts(&whole, "goto(\"");
	if (str_starts(url, STR("/")) && !str_starts(url, STR("//"))) {
		/* No character of a path has a special meaning. */
		buf_puts(&whole, "file://");
		buf_percent(&whole, url, "/");
	} else {
		if (drive_is_bare_host(url))
			buf_puts(&whole, "http://");
		drive_put_quoted(&whole, url);
	}
	buf_puts(&whole, "\")");
	copy = whole.err ? NULL : arena_cstr(a, buf_view(&whole));
	if (copy)
		*text = str_make(copy, whole.n);
	buf_free(&whole);
	return copy ? 0 : -ENOMEM;
}

static int drive_set_error(struct buf *error, const char *words)
{
	buf_reset(error);
	buf_puts(error, words);
	return error->err;
}

/* Runs the action. Errors that do not lose the browser become errors of the action. */
static int drive_run_action(
	struct browser *b, struct str action, struct arena *a, struct buf *error)
{
	int r = browser_action_run(b, action, a, error);
	struct tab *t;

	if (r)
		buf_reset(error);
	if (r && r != ERR_CLOSED && r != -ECANCELED && r != -ENOMEM) {
		buf_fmt(error, "Error: the page has not taken it: %s.", err_text(r));
		r = error->err;
	}
	if (!r)
		r = browser_wake_page(b);
	if (r == -EPIPE)
		return drive_set_error(
			error, "Error: the page let nobody in; its tab is closed.");
	/* The last page may have closed itself when it answered. */
	t = browser_active_tab(b);
	if (!r && t && t->crash_reset) {
		t->crash_reset = false;
		return drive_set_error(error, "Error: Page crashed; it is blank now.");
	}
	return r;
}

static int drive_list_pages(
	struct browser *b, struct browse_answer *answer, struct arena *a)
{
	size_t n = browser_count_tabs(b), i = 0;
	struct str *urls = arena_array(a, n + 1, sizeof(*urls));

	if (!urls)
		return -ENOMEM;
	LIST_EACH (struct tab, t, &b->tabs, node)
		urls[i++] = buf_view(&t->url);
	answer->urls = urls;
	answer->urls_n = n;
	answer->active = -1;
	if (!browser_active_tab(b))
		return 0;
	answer->active = (int)browser_find_tab_index(b, browser_active_tab(b));
	answer->url = urls[answer->active];
	return 0;
}

static int drive_observe(struct drive *d, const struct drive_task *task,
	const struct browse_answer *done, struct arena *a, struct buf *out)
{
	struct observe_options want = {
		.visit = task->visit,
		.objects = task->wants_tree,
		.marks = true,
		.view.data_url = DATA_SHOWN,
	};
	struct browse_answer answer = *done;
	struct browser *b = &d->browser;
	char path[FILE_PATH_MAX];
	struct page_observation s;
	int r;

	page_observation_init(&s);
	r = observe_page(b, &want, clock_ms() + OBSERVE_MS, &s);
	if (!r)
		r = drive_list_pages(b, &answer, a);
	if (!r) {
		drive_save_screenshot(d, buf_view(&s.picture), path);
		answer.path = str_c(path);
		answer.has_path_member = task->has_path_member;
		answer.screenshot = buf_view(&s.picture);
		answer.marks = buf_view(&s.marks);
		answer.text = buf_view(&s.text);
		answer.text_error = str_c(s.text_error);
		answer.axtree = buf_view(&s.axtree);
		answer.props = buf_view(&s.props);
		answer.focused = s.focused;
		browse_answer_write(&answer, out);
		r = out->err;
		buf_free(&d->screenshot);
		d->screenshot = s.picture;
		buf_init(&s.picture, OBSERVE_PICTURE_MAX);
	}
	page_observation_free(&s);
	return r;
}

/*
 * Returns 1 if there was a download, which then is the observation. A download that
 * starts after the end of an action is reported by the next action.
 */
static int drive_put_download(struct drive *d, struct str action, struct buf *out)
{
	enum download_state state = d->browser.download.state;
	char file[FILE_PATH_MAX];
	int r;

	if (state == DOWNLOAD_NONE || state == DOWNLOAD_SLOW)
		return 0;
	r = drive_save_download(d, file);
	if (r)
		return r == ERR_REFUSED ? 0 : r;
	buf_reset(out);
	browse_answer_put_download(action, str_c(file), out);
	return out->err ? out->err : 1;
}

int drive_run_step(struct drive *d, const struct drive_task *task, struct arena *a,
	struct buf *error, struct buf *out)
{
	struct browse_answer answer = {.visit = task->visit, .action = task->source};
	int r = 0;

	if (task->visit)
		r = drive_make_goto(task->source, a, &answer.action);
	if (!r)
		r = drive_run_action(&d->browser, answer.action, a, error);
	if (!r)
		r = drive_put_download(d, answer.action, out);
	answer.error = buf_view(error);
	if (!r)
		r = drive_observe(d, task, &answer, a, out);
	/* A click may start a download during the observation. */
	if (!r)
		r = drive_put_download(d, answer.action, out);
	return r < 0 ? r : 0;
}
