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
	LOOK_MS = 30000,     /* pages of 12,000 nodes take 1.5 s */
};

/* Whether url is a bare host: a name with a dot, localhost, or an address in brackets. */
static bool is_bare_host(struct str url)
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
static void put_quoted(struct buf *b, struct str url)
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
static int visit_text(struct str url, struct arena *a, struct str *text)
{
	struct buf whole = BUF_INIT(VISIT_MAX);
	char *copy;

	buf_puts(&whole, "goto(\"");
	if (str_starts(url, STR("/")) && !str_starts(url, STR("//"))) {
		/* No character of a path has a special meaning. */
		buf_puts(&whole, "file://");
		buf_percent(&whole, url, "/");
	} else {
		if (is_bare_host(url))
			buf_puts(&whole, "http://");
		put_quoted(&whole, url);
	}
	buf_puts(&whole, "\")");
	copy = whole.err ? NULL : arena_cstr(a, buf_view(&whole));
	if (copy)
		*text = str_make(copy, whole.n);
	buf_free(&whole);
	return copy ? 0 : -ENOMEM;
}

static int tell(struct buf *error, const char *words)
{
	buf_reset(error);
	buf_puts(error, words);
	return error->err;
}

/* Runs the action. Errors that do not lose the browser become errors of the action. */
static int act(struct browser *b, struct str action, struct arena *a, struct buf *error)
{
	int r = browser_act(b, action, a, error);
	struct tab *t;

	if (r)
		buf_reset(error);
	if (r && r != ERR_CLOSED && r != -ECANCELED && r != -ENOMEM) {
		buf_fmt(error, "Error: the page has not taken it: %s.", err_text(r));
		r = error->err;
	}
	if (!r)
		r = browser_wake(b);
	if (r == -EPIPE)
		return tell(error, "Error: the page let nobody in; its tab is closed.");
	/* The last page may have closed itself when it answered. */
	t = browser_active(b);
	if (!r && t && t->lost) {
		t->lost = false;
		return tell(error, "Error: Page crashed; it is blank now.");
	}
	return r;
}

static int note_pages(struct browser *b, struct answer *answer, struct arena *a)
{
	size_t n = browser_tabs(b), i = 0;
	struct str *urls = arena_array(a, n + 1, sizeof(*urls));

	if (!urls)
		return -ENOMEM;
	for (struct tab *t = b->tabs; t; t = t->next)
		urls[i++] = buf_view(&t->url);
	answer->urls = urls;
	answer->urls_n = n;
	answer->active = -1;
	if (!browser_active(b))
		return 0;
	answer->active = (int)browser_index(b, browser_active(b));
	answer->url = urls[answer->active];
	return 0;
}

static int look(struct drive *d, const struct drive_task *task, const struct answer *done,
	struct arena *a, struct buf *out)
{
	struct observe_want want = {
		.visit = task->visit,
		.objects = task->wants_tree,
		.marks = true,
		.view.data_url = DATA_SHOWN,
	};
	struct answer answer = *done;
	struct browser *b = &d->browser;
	char path[FILE_PATH_MAX];
	struct sight s;
	int r;

	sight_init(&s);
	r = observe(b, &want, clock_ms() + LOOK_MS, &s);
	if (!r)
		r = note_pages(b, &answer, a);
	if (!r) {
		drive_save(d, buf_view(&s.picture), path);
		answer.path = str_c(path);
		answer.knows_path = task->knows_path;
		answer.screenshot = buf_view(&s.picture);
		answer.marks = buf_view(&s.marks);
		answer.text = buf_view(&s.text);
		answer.no_text = str_c(s.no_text);
		answer.axtree = buf_view(&s.axtree);
		answer.props = buf_view(&s.props);
		answer.focused = s.focused;
		answer_write(&answer, out);
		r = out->err;
		buf_free(&d->seen);
		d->seen = s.picture;
		buf_init(&s.picture, OBSERVE_PICTURE_MAX);
	}
	sight_free(&s);
	return r;
}

/*
 * Returns 1 if there was a download, which then is the observation. A download that
 * starts after the end of an action is reported by the next action.
 */
static int fetch(struct drive *d, struct str action, struct buf *out)
{
	enum download_state state = d->browser.download.state;
	char file[FILE_PATH_MAX];
	int r;

	if (state == DOWNLOAD_NONE || state == DOWNLOAD_SLOW)
		return 0;
	r = drive_fetch(d, file);
	if (r)
		return r == ERR_REFUSED ? 0 : r;
	buf_reset(out);
	answer_download(action, str_c(file), out);
	return out->err ? out->err : 1;
}

int drive_step(struct drive *d, const struct drive_task *task, struct arena *a,
	struct buf *error, struct buf *out)
{
	struct answer answer = {.visit = task->visit, .action = task->what};
	int r = 0;

	if (task->visit)
		r = visit_text(task->what, a, &answer.action);
	if (!r)
		r = act(&d->browser, answer.action, a, error);
	if (!r)
		r = fetch(d, answer.action, out);
	answer.error = buf_view(error);
	if (!r)
		r = look(d, task, &answer, a, out);
	/* A click may start a download during the observation. */
	if (!r)
		r = fetch(d, answer.action, out);
	return r < 0 ? r : 0;
}
