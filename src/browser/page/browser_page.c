/* Operations on a tab: requests, scripts, navigations, and waiting for their results. */
#include "browser/page/browser_private.h"

#include "base/clock.h"
#include "base/jw.h"
#include "proc/tree.h"

#include <errno.h>
#include <stdio.h>

enum {
	PARAMS_MAX = 32 << 20, /* of a script's arguments: a text to fill in */
	FLUSH_MS = 500,        /* for a page's scripts to answer */
	CONTENT_MS = 3000,     /* for DOMContentLoaded, as in the contract */
	LOAD_MS = 1500,        /* for load after that */
	STILL_MS = 60,         /* without navigation events: the page is settled */
	STILL_MAX_MS = 500,    /* after that time a page counts as settled */
	SETUP_MS = 10000,
	SETTLES = 3,
	CRASH_MS = 10000, /* a load that is aborted so soon after a crash is retried */
	LEAVE_MS = 1000,  /* for a script of a page that is left */
	ABORT_MS = 300,   /* from the end of a load to its document, at most */
	BUSY_MS = 4000,   /* for a page's script to answer; the second time it is ended */
};

/* --- Requests --------------------------------------------------------------------- */

int tab_send(struct tab *t, const char *method, struct str params, uint64_t *id)
{
	if (t->state != TAB_READY)
		return -EPIPE;
	return cdp_send(&t->browser->cdp, str_c(t->session), method, params, id);
}

struct waiting {
	struct cdp *cdp;
	uint64_t id;
};

static bool is_answered(void *arg)
{
	const struct waiting *w = arg;

	return cdp_answered(w->cdp, w->id);
}

/* A script that opens another page waits until browser_until has set up that page. */
int tab_wait(struct tab *t, uint64_t id, uint64_t deadline, struct arena *a,
	struct json_val *result)
{
	struct cdp *c = &t->browser->cdp;
	struct waiting w = {c, id};
	int r = browser_until(t->browser, is_answered, &w, deadline);

	if (!r || r == -ETIMEDOUT)
		return cdp_wait(c, id, deadline, a, result);
	cdp_forget(c, id);
	return r;
}

int tab_call(struct tab *t, const char *method, struct str params, uint64_t deadline,
	struct arena *a, struct json_val *result)
{
	uint64_t id;
	int r = tab_send(t, method, params, &id);

	return r ? r : tab_wait(t, id, deadline, a, result);
}

int tab_call_take(struct tab *t, const char *method, struct buf *params,
	uint64_t deadline, struct arena *a, struct json_val *result)
{
	int r = params->err ? params->err
			    : tab_call(t, method, buf_view(params), deadline, a, result);

	buf_free(params);
	return r;
}

/* --- Scripts ---------------------------------------------------------------------- */

void tab_end_script(struct tab *t)
{
	cdp_post(&t->browser->cdp, str_c(t->session), "Runtime.terminateExecution",
		STR(""));
}

static int refuse(struct tab *t, const char *words)
{
	t->browser->cdp.refusal_code = 0;
	snprintf(t->browser->cdp.refusal, CDP_WORDS_MAX, "%s", words);
	return ERR_REFUSED;
}

/* Where a function is called: in the world of f, or on an object. */
struct place {
	struct frame *f;
	struct str object;
	bool by_value;
};

static void write_call(
	struct buf *out, const struct place *at, const char *function, struct str args)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "functionDeclaration");
	jw_cstr(&w, function);
	if (at->f) {
		jw_key(&w, "executionContextId");
		jw_int(&w, at->f->context);
	} else {
		jw_key(&w, "objectId");
		jw_str(&w, at->object);
	}
	jw_key(&w, "arguments");
	jw_raw(&w, args.n ? args : STR("[]"));
	jw_key(&w, "returnByValue");
	jw_bool(&w, at->by_value);
	jw_key(&w, "awaitPromise");
	jw_bool(&w, true);
	/* A call in a frame's world only observes: it is no user gesture. */
	jw_key(&w, "userGesture");
	jw_bool(&w, !at->f);
	jw_end(&w);
}

/* Sets the refusal to the first line of the exception. Returns ERR_REFUSED. */
static int thrown(struct tab *t, struct json_val details, struct arena *a)
{
	struct str words = STR("");
	char line[CDP_WORDS_MAX];

	if (json_str(json_get(json_get(details, "exception"), "description"), a, &words))
		if (json_str(json_get(details, "text"), a, &words))
			words = STR("an exception");
	words = str_cut(&words, '\n');
	snprintf(line, sizeof(line), "%.*s",
		words.n < sizeof(line) ? (int)words.n : (int)sizeof(line) - 1, words.p);
	return refuse(t, line);
}

/* Calls the function and returns its remote object. */
static int call(struct tab *t, const struct place *at, const char *function,
	struct str args, uint64_t deadline, struct arena *a, struct json_val *object)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct json_val result, details;
	int r;

	if (at->f && !at->f->context)
		return refuse(t, "Cannot find context with specified id");
	write_call(&params, at, function, args);
	r = tab_call_take(t, "Runtime.callFunctionOn", &params, deadline, a, &result);
	if (r)
		return r;
	details = json_get(result, "exceptionDetails");
	if (json_type(details) != JSON_ABSENT)
		return thrown(t, details, a);
	*object = json_get(result, "result");
	return 0;
}

static int eval(struct tab *t, const struct place *at, const char *function,
	struct str args, uint64_t deadline, struct arena *a, struct json_val *value)
{
	struct json_val object;
	int r = call(t, at, function, args, deadline, a, &object);

	if (!r)
		*value = json_get(object, "value");
	return r;
}

int tab_eval(struct tab *t, struct frame *f, const char *function, struct str args,
	uint64_t deadline, struct arena *a, struct json_val *value)
{
	struct place at = {.f = f, .by_value = true};

	return eval(t, &at, function, args, deadline, a, value);
}

int tab_eval_on(struct tab *t, struct str object, const char *function, struct str args,
	uint64_t deadline, struct arena *a, struct json_val *value)
{
	struct place at = {.object = object, .by_value = true};

	return eval(t, &at, function, args, deadline, a, value);
}

int tab_find(struct tab *t, struct frame *f, const char *function, struct str args,
	uint64_t deadline, struct arena *a, struct str *object)
{
	struct place at = {.f = f};
	struct json_val got;
	struct str id = STR("");
	int r = call(t, &at, function, args, deadline, a, &got);

	if (r)
		return r;
	r = json_str(json_get(got, "objectId"), a, &id);
	if (r == -ENOMEM)
		return r;
	*object = id;
	return 0;
}

/* --- Waiting ---------------------------------------------------------------------- */

int browser_until(
	struct browser *b, bool (*done)(void *arg), void *arg, uint64_t deadline)
{
	int r = cdp_turn(&b->cdp, 0);

	while (!r) {
		r = browser_tidy(b, deadline + SETUP_MS);
		if (r || done(arg))
			return r;
		if (clock_ms() >= deadline)
			return -ETIMEDOUT;
		r = cdp_turn(&b->cdp, deadline);
	}
	return r;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

int browser_pump(struct browser *b, uint64_t until)
{
	int r = browser_until(b, never, NULL, until);

	return r == -ETIMEDOUT ? 0 : r;
}

/* Whether all documents that load in the active tab have reached DOMContentLoaded. */
static bool has_content(void *arg)
{
	struct tab *t = browser_active(arg);

	if (!t || t->state != TAB_READY)
		return true;
	for (const struct frame *f = t->frames; f; f = f->next)
		if (f->loading && !(f->events & FRAME_CONTENT))
			return false;
	return true;
}

static bool has_loaded(void *arg)
{
	struct tab *t = browser_active(arg);
	const struct frame *f = t ? tab_main(t) : NULL;

	return !f || t->state != TAB_READY || !f->loading || f->events & FRAME_LOAD;
}

static bool is_still(void *arg)
{
	struct tab *t = browser_active(arg);

	return !t || clock_ms() - t->moved >= STILL_MS;
}

/* Waits until the active tab is still. Short steps: only events end cdp_turn early. */
static int wait_still(struct browser *b, uint64_t deadline)
{
	int r = 0;

	deadline = clock_within(STILL_MAX_MS, deadline);
	while (!r && !is_still(b) && clock_ms() < deadline)
		r = browser_pump(b, clock_within(STILL_MS / 4, deadline));
	return r;
}

/* Ignores the error of a page that is busy or gone, but not of a closed browser. */
static int forgive(int r)
{
	return r == -ETIMEDOUT || r == -EPIPE || r == ERR_REFUSED ? 0 : r;
}

/* Checks that the scripts of the page answer. */
static int knock(struct tab *t, uint64_t deadline, uint64_t ms)
{
	return tab_call(t, "Runtime.evaluate", STR("{\"expression\":\"0\"}"),
		clock_within(ms, deadline), NULL, NULL);
}

/* Navigates crashed tabs to about:blank, which gives them a new process. */
static int revive(struct browser *b, uint64_t deadline)
{
	int r = 0;

	for (struct tab *t = b->tabs; t && !r; t = t->next) {
		if (t->state != TAB_CRASHED)
			continue;
		t->state = TAB_READY;
		r = forgive(tab_call(t, "Page.navigate", STR("{\"url\":\"about:blank\"}"),
			deadline, NULL, NULL));
	}
	return r;
}

static bool has_crashed(const struct browser *b)
{
	for (const struct tab *t = b->tabs; t; t = t->next)
		if (t->state == TAB_CRASHED)
			return true;
	return false;
}

/* Waits once for each kind of activity to end. */
static int calm(struct browser *b, uint64_t deadline)
{
	int r = revive(b, deadline);

	if (!r && !b->active)
		r = browser_new_tab(b, deadline);
	if (!r)
		r = forgive(knock(b->active, deadline, FLUSH_MS));
	if (!r)
		r = forgive(browser_until(
			b, has_content, b, clock_within(CONTENT_MS, deadline)));
	if (!r)
		r = forgive(
			browser_until(b, has_loaded, b, clock_within(LOAD_MS, deadline)));
	return r ? r : wait_still(b, deadline);
}

int browser_settle(struct browser *b, uint64_t deadline)
{
	int r = browser_pump(b, 0);

	browser_sweep(b);
	/* A tab may crash or close itself during the wait, so the wait is repeated. */
	for (int i = 0; !r && i < SETTLES; i++) {
		r = calm(b, deadline);
		if (b->active && !has_crashed(b))
			break;
	}
	browser_cast(b);
	return r ? r : b->active ? 0 : -ETIMEDOUT;
}

static int wake(struct browser *b, uint64_t end)
{
	int r = -ETIMEDOUT;

	while (r == -ETIMEDOUT && b->active && clock_ms() < end) {
		r = knock(b->active, end, FLUSH_MS);
		/* The kill is reported as a crash, which ends pending requests. */
		if (r == -ETIMEDOUT && b->pid)
			tree_kill_stopped(b->pid);
		if (r == -EPIPE)
			r = browser_settle(b, end);
	}
	return r == ERR_REFUSED ? 0 : r;
}

int browser_wake(struct browser *b)
{
	int r = wake(b, clock_ms() + BUSY_MS);

	/* A script that has run since the previous step will not end by itself. */
	if (r == -ETIMEDOUT && b->active && b->active->busy && !tab_leaves(b->active)) {
		tab_end_script(b->active);
		r = wake(b, clock_ms() + BUSY_MS);
		if (r == -ETIMEDOUT && b->active) {
			r = browser_close_tab(b, clock_ms() + SETUP_MS);
			return r ? r : -EPIPE;
		}
	}
	if (b->active)
		b->active->busy = r == -ETIMEDOUT && !tab_leaves(b->active);
	return r;
}

/* --- Navigation ------------------------------------------------------------------- */

/* The wait for a document other than the previous one, and for the end of its load. */
struct arrival {
	struct tab *t;
	char loader[CDP_ID_MAX];
	unsigned navigated;
	uint64_t since;
	bool within; /* a navigation within the document counts, too */
};

static bool has_arrived(void *arg)
{
	const struct arrival *at = arg;
	const struct frame *f = tab_main(at->t);

	if (at->t->state != TAB_READY)
		return true;
	/* The new document may navigate away as soon as it has loaded. */
	if (strcmp(f->loader, at->loader) != 0)
		return f->loaded;
	return at->within && at->t->navigated != at->navigated;
}

static void note_departure(struct arrival *at, struct tab *t)
{
	*at = (struct arrival){.t = t, .navigated = t->navigated, .since = clock_ms()};
	memcpy(at->loader, tab_main(t)->loader, sizeof(at->loader));
}

/* Whether the load has ended and no other load has started instead. */
static bool has_stopped(const struct arrival *at)
{
	const struct frame *f = tab_main(at->t);

	return !f->loading && f->stopped >= at->since &&
		clock_ms() - f->stopped >= ABORT_MS;
}

/* Whether the load has ended without a document: its process ended before it had one. */
static bool is_aborted(const struct arrival *at)
{
	return has_stopped(at) && !strcmp(tab_main(at->t)->loader, at->loader);
}

/* Waits for the arrival. Returns the results of tab_navigate; 1: the load was aborted. */
static int arrive(struct arrival *at, uint64_t deadline, struct tab_moved *moved)
{
	int r = -ETIMEDOUT;

	*moved = (struct tab_moved){.how = MOVED};
	while (r == -ETIMEDOUT && clock_ms() < deadline && !has_stopped(at))
		r = browser_until(at->t->browser, has_arrived, at,
			clock_within(ABORT_MS, deadline));
	if (!r && at->t->state != TAB_READY)
		return -EPIPE;
	if (r != -ETIMEDOUT)
		return r;
	if (is_aborted(at)) {
		*moved = (struct tab_moved){MOVED_FAILED, STR("net::ERR_ABORTED")};
		return 1;
	}
	/* No more events follow for a load that was aborted or that stopped itself. */
	if (has_stopped(at))
		*moved = (struct tab_moved){
			MOVED_FAILED, STR("Loading has stopped before its end")};
	else
		moved->how = MOVED_LATE;
	return 0;
}

/* Reads the answer of Page.navigate. *waits: a new document is to be waited for. */
static int read_navigation(
	struct json_val result, struct arena *a, struct tab_moved *moved, bool *waits)
{
	bool download = false;
	struct str words = STR("");
	int r = json_bool(json_get(result, "isDownload"), &download);

	if (r)
		download = false;
	r = json_str(json_get(result, "errorText"), a, &words);
	if (r == -ENOMEM)
		return r;
	*waits = false;
	if (download)
		*moved = (struct tab_moved){.how = MOVED_DOWNLOAD};
	else if (words.n)
		*moved = (struct tab_moved){MOVED_FAILED, words};
	else
		*waits = json_type(json_get(result, "loaderId")) != JSON_ABSENT;
	return 0;
}

/*
 * Ends a script that does not finish before its page is left. Chromium would wait for
 * the script, and cannot end a script any more once the navigation has started.
 */
static int leave(struct tab *t, uint64_t deadline)
{
	int r = knock(t, deadline, LEAVE_MS);

	if (r == -ETIMEDOUT)
		tab_end_script(t);
	return forgive(r);
}

static int navigate(struct tab *t, struct str url, uint64_t deadline, struct arena *a,
	struct tab_moved *moved)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct arrival at;
	struct json_val result;
	struct jw w;
	bool waits;
	int r;

	jw_init(&w, &params);
	jw_object(&w);
	jw_key(&w, "url");
	jw_str(&w, url);
	jw_key(&w, "referrerPolicy");
	jw_cstr(&w, "unsafeUrl");
	jw_end(&w);
	note_departure(&at, t);
	*moved = (struct tab_moved){.how = MOVED};
	r = tab_call_take(t, "Page.navigate", &params, deadline, a, &result);
	if (r == ERR_REFUSED) {
		moved->how = MOVED_REFUSED;
		moved->words = str_c(t->browser->cdp.refusal);
		return 0;
	}
	if (r == -ETIMEDOUT) {
		moved->how = MOVED_LATE;
		return 0;
	}
	if (!r)
		r = read_navigation(result, a, moved, &waits);
	return r || !waits ? r : arrive(&at, deadline, moved);
}

/* Whether a navigation was aborted because the process to be reused has ended. */
static bool is_cut_short(const struct tab *t, const struct tab_moved *moved)
{
	return moved->how == MOVED_FAILED && t->crashed &&
		clock_ms() - t->crashed < CRASH_MS &&
		str_eq(moved->words, STR("net::ERR_ABORTED"));
}

int tab_navigate(struct tab *t, struct str url, uint64_t deadline, struct arena *a,
	struct tab_moved *moved)
{
	int r = leave(t, deadline);

	if (!r)
		r = navigate(t, url, deadline, a, moved);
	/* The browser creates a new process for the retry. */
	if (r > 0 || (!r && is_cut_short(t, moved)))
		r = navigate(t, url, deadline, a, moved);
	return r < 0 ? r : 0;
}

/* Navigates to a history entry. Network.loadingFailed has the error of an error page. */
static int move_to(struct tab *t, int64_t entry, uint64_t deadline, struct arena *a,
	struct tab_moved *moved)
{
	struct arrival at;
	char params[64];
	int r, off;

	snprintf(params, sizeof(params), "{\"entryId\":%lld}", (long long)entry);
	note_departure(&at, t);
	at.within = true;
	t->failed[0] = '\0';
	r = leave(t, deadline);
	if (!r)
		r = tab_call(t, "Network.enable", STR(""), deadline, NULL, NULL);
	if (!r)
		r = tab_call(t, "Page.navigateToHistoryEntry", str_c(params), deadline,
			NULL, NULL);
	if (!r)
		r = arrive(&at, deadline, moved);
	if (r == ERR_CLOSED)
		return r;
	off = forgive(tab_call(t, "Network.disable", STR(""), deadline, NULL, NULL));
	if (r >= 0 && t->failed[0] && !strcmp(t->failed, tab_main(t)->loader)) {
		moved->how = MOVED_FAILED;
		moved->words = str_c(arena_cstr(a, str_c(t->failure)));
	}
	return r < 0 ? r : off;
}

int tab_history(struct tab *t, int step, uint64_t deadline, struct arena *a,
	struct tab_moved *moved)
{
	struct json_val result, entry;
	int64_t index, id, i = 0;
	int it = 0, r;

	r = tab_call(t, "Page.getNavigationHistory", STR(""), deadline, a, &result);
	if (r)
		return r;
	r = json_i64(json_get(result, "currentIndex"), &index);
	if (r)
		return r;
	while (json_next(json_get(result, "entries"), &it, NULL, &entry))
		if (i++ == index + step)
			break;
	*moved = (struct tab_moved){.how = MOVED_NOT};
	if (index + step < 0 || index + step >= i)
		return 0;
	r = json_i64(json_get(entry, "id"), &id);
	if (r)
		return r;
	return move_to(t, id, deadline, a, moved);
}
