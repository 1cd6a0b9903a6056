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
	BUSY_MS = 4000, /* for a page's script to answer; the second time it is ended */
};

/* --- Requests --------------------------------------------------------------------- */

int tab_send(struct tab *t, const char *method, struct str params, uint64_t *id)
{
	if (t->state != TAB_READY)
		return -EPIPE;
	return cdp_send(&t->browser->cdp, str_c(t->session), method, params, id);
}

struct reply_wait {
	struct cdp *cdp;
	uint64_t id;
};

static bool tab_is_answered(void *arg)
{
	const struct reply_wait *w = arg;

	return cdp_has_reply(w->cdp, w->id);
}

/* A script that opens another page waits until that page is set up. */
int tab_wait(struct tab *t, uint64_t id, uint64_t deadline, struct arena *a,
	struct json_val *result)
{
	struct cdp *c = &t->browser->cdp;
	struct reply_wait w = {c, id};
	int r = browser_wait_until(t->browser, tab_is_answered, &w, deadline);

	if (!r || r == -ETIMEDOUT)
		return cdp_wait(c, id, deadline, a, result);
	cdp_drop_reply(c, id);
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

static int tab_set_refusal(struct tab *t, const char *words)
{
	t->browser->cdp.refusal_code = 0;
	snprintf(t->browser->cdp.refusal, CDP_WORDS_MAX, "%s", words);
	return ERR_REFUSED;
}

/* Where a function is called: in the world of f, or on an object. */
struct call_scope {
	struct page_frame *f;
	struct str object;
	bool by_value;
};

static void tab_write_call(struct buf *out, const struct call_scope *at,
	const char *function, struct str args)
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
static int tab_set_exception(struct tab *t, struct json_val details, struct arena *a)
{
	struct str words = STR("");
	char line[CDP_WORDS_MAX];

	if (json_str(json_get(json_get(details, "exception"), "description"), a, &words))
		if (json_str(json_get(details, "text"), a, &words))
			words = STR("an exception");
	words = str_cut(&words, '\n');
	snprintf(line, sizeof(line), "%.*s",
		words.n < sizeof(line) ? (int)words.n : (int)sizeof(line) - 1, words.p);
	return tab_set_refusal(t, line);
}

/* Calls the function and returns its remote object. */
static int tab_call_function(struct tab *t, const struct call_scope *at,
	const char *function, struct str args, uint64_t deadline, struct arena *a,
	struct json_val *object)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct json_val result, details;
	int r;

	if (at->f && !at->f->context)
		return tab_set_refusal(t, "Cannot find context with specified id");
	tab_write_call(&params, at, function, args);
	r = tab_call_take(t, "Runtime.callFunctionOn", &params, deadline, a, &result);
	if (r)
		return r;
	details = json_get(result, "exceptionDetails");
	if (json_type(details) != JSON_ABSENT)
		return tab_set_exception(t, details, a);
	*object = json_get(result, "result");
	return 0;
}

static int tab_eval_value(struct tab *t, const struct call_scope *at,
	const char *function, struct str args, uint64_t deadline, struct arena *a,
	struct json_val *value)
{
	struct json_val object;
	int r = tab_call_function(t, at, function, args, deadline, a, &object);

	if (!r)
		*value = json_get(object, "value");
	return r;
}

int tab_eval(struct tab *t, struct page_frame *f, const char *function, struct str args,
	uint64_t deadline, struct arena *a, struct json_val *value)
{
	struct call_scope at = {.f = f, .by_value = true};

	return tab_eval_value(t, &at, function, args, deadline, a, value);
}

int tab_eval_on(struct tab *t, struct str object, const char *function, struct str args,
	uint64_t deadline, struct arena *a, struct json_val *value)
{
	struct call_scope at = {.object = object, .by_value = true};

	return tab_eval_value(t, &at, function, args, deadline, a, value);
}

int tab_eval_object(struct tab *t, struct page_frame *f, const char *function,
	struct str args, uint64_t deadline, struct arena *a, struct str *object)
{
	struct call_scope at = {.f = f};
	struct json_val got;
	struct str id = STR("");
	int r = tab_call_function(t, &at, function, args, deadline, a, &got);

	if (r)
		return r;
	r = json_str(json_get(got, "objectId"), a, &id);
	if (r == -ENOMEM)
		return r;
	*object = id;
	return 0;
}

/* --- Waiting ---------------------------------------------------------------------- */

int browser_wait_until(
	struct browser *b, bool (*done)(void *arg), void *arg, uint64_t deadline)
{
	int r = cdp_poll(&b->cdp, 0);

	while (!r) {
		r = browser_setup_tabs(b, deadline + SETUP_MS);
		if (r || done(arg))
			return r;
		if (clock_ms() >= deadline)
			return -ETIMEDOUT;
		r = cdp_poll(&b->cdp, deadline);
	}
	return r;
}

static bool browser_is_never_done(void *arg)
{
	(void)arg;
	return false;
}

int browser_pump(struct browser *b, uint64_t until)
{
	int r = browser_wait_until(b, browser_is_never_done, NULL, until);

	return r == -ETIMEDOUT ? 0 : r;
}

/* Whether all documents that load in the active tab have reached DOMContentLoaded. */
static bool browser_has_content(void *arg)
{
	struct tab *t = browser_active_tab(arg);

	if (!t || t->state != TAB_READY)
		return true;
	LIST_EACH (const struct page_frame, f, &t->frames, node)
		if (f->loading && !(f->events & FRAME_CONTENT))
			return false;
	return true;
}

static bool browser_has_loaded(void *arg)
{
	struct tab *t = browser_active_tab(arg);
	const struct page_frame *f = t ? tab_main_frame(t) : NULL;

	return !f || t->state != TAB_READY || !f->loading || f->events & FRAME_LOAD;
}

static bool browser_is_still(void *arg)
{
	struct tab *t = browser_active_tab(arg);

	return !t || clock_ms() - t->navigation_time >= STILL_MS;
}

/* Waits until the active tab is still. Short steps: only events end cdp_poll early. */
static int browser_wait_still(struct browser *b, uint64_t deadline)
{
	int r = 0;

	deadline = clock_min_deadline(STILL_MAX_MS, deadline);
	while (!r && !browser_is_still(b) && clock_ms() < deadline)
		r = browser_pump(b, clock_min_deadline(STILL_MS / 4, deadline));
	return r;
}

int browser_filter(int r)
{
	return r == -ETIMEDOUT || r == -EPIPE || r == ERR_REFUSED ? 0 : r;
}

int tab_probe_scripts(struct tab *t, uint64_t deadline, uint64_t ms)
{
	return tab_call(t, "Runtime.evaluate", STR("{\"expression\":\"0\"}"),
		clock_min_deadline(ms, deadline), NULL, NULL);
}

/* Navigates crashed tabs to about:blank, which gives them a new process. */
static int browser_revive_tabs(struct browser *b, uint64_t deadline)
{
	int r = 0;

	LIST_EACH (struct tab, t, &b->tabs, node) {
		if (r || t->state != TAB_CRASHED)
			continue;
		t->state = TAB_READY;
		r = browser_filter(tab_call(t, "Page.navigate",
			STR("{\"url\":\"about:blank\"}"), deadline, NULL, NULL));
	}
	return r;
}

static bool browser_has_crashed(const struct browser *b)
{
	LIST_EACH (const struct tab, t, &b->tabs, node)
		if (t->state == TAB_CRASHED)
			return true;
	return false;
}

/* Waits once for each kind of activity to end. */
static int browser_wait_calm(struct browser *b, uint64_t deadline)
{
	int r = browser_revive_tabs(b, deadline);

	if (!r && !b->active)
		r = browser_new_tab(b, deadline);
	if (!r)
		r = browser_filter(tab_probe_scripts(b->active, deadline, FLUSH_MS));
	if (!r)
		r = browser_filter(browser_wait_until(b, browser_has_content, b,
			clock_min_deadline(CONTENT_MS, deadline)));
	if (!r)
		r = browser_filter(browser_wait_until(
			b, browser_has_loaded, b, clock_min_deadline(LOAD_MS, deadline)));
	return r ? r : browser_wait_still(b, deadline);
}

int browser_settle(struct browser *b, uint64_t deadline)
{
	int r = browser_pump(b, 0);

	browser_free_closed(b);
	/* A tab may crash or close itself during the wait, so the wait is repeated. */
	for (int i = 0; !r && i < SETTLES; i++) {
		r = browser_wait_calm(b, deadline);
		if (b->active && !browser_has_crashed(b))
			break;
	}
	browser_update_cast(b);
	return r ? r : b->active ? 0 : -ETIMEDOUT;
}

static int browser_wait_scripts(struct browser *b, uint64_t end)
{
	int r = -ETIMEDOUT;

	while (r == -ETIMEDOUT && b->active && clock_ms() < end) {
		r = tab_probe_scripts(b->active, end, FLUSH_MS);
		/* The kill is reported as a crash, which ends pending requests. */
		if (r == -ETIMEDOUT && b->pid)
			tree_kill_stopped(b->pid);
		if (r == -EPIPE)
			r = browser_settle(b, end);
	}
	return r == ERR_REFUSED ? 0 : r;
}

int browser_wake_page(struct browser *b)
{
	int r = browser_wait_scripts(b, clock_ms() + BUSY_MS);

	/* A script that has run since the previous step will not end by itself. */
	if (r == -ETIMEDOUT && b->active && b->active->busy && !tab_leaves(b->active)) {
		tab_end_script(b->active);
		r = browser_wait_scripts(b, clock_ms() + BUSY_MS);
		if (r == -ETIMEDOUT && b->active) {
			r = browser_close_tab(b, clock_ms() + SETUP_MS);
			return r ? r : -EPIPE;
		}
	}
	if (b->active)
		b->active->busy = r == -ETIMEDOUT && !tab_leaves(b->active);
	return r;
}
