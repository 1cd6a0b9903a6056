/* Navigations of a tab: to a URL, through the history, and the arrival. */
#include "browser/page/browser_private.h"

#include "base/clock.h"
#include "base/jw.h"

#include <errno.h>
#include <stdio.h>

enum {
	PARAMS_MAX = 32 << 20, /* of a navigation: its URL */
	CRASH_MS = 10000, /* a load that is aborted so soon after a crash is retried */
	LEAVE_MS = 1000,  /* for a script of a page that is left */
	ABORT_MS = 300,   /* from the end of a load to its document, at most */
};

/* The wait for a document other than the previous one, and for the end of its load. */
struct arrival {
	struct tab *t;
	char loader[CDP_ID_MAX];
	unsigned navigated;
	uint64_t since;
	bool within; /* a navigation within the document counts, too */
};

static bool tab_has_arrived(void *arg)
{
	const struct arrival *at = arg;
	const struct page_frame *f = tab_main_frame(at->t);

	if (at->t->state != TAB_READY)
		return true;
	/* The new document may navigate away as soon as it has loaded. */
	if (strcmp(f->loader, at->loader) != 0)
		return f->loaded;
	return at->within && at->t->navigated != at->navigated;
}

static void tab_begin_arrival(struct arrival *at, struct tab *t)
{
	*at = (struct arrival){.t = t, .navigated = t->navigated, .since = clock_ms()};
	memcpy(at->loader, tab_main_frame(t)->loader, sizeof(at->loader));
}

/* Whether the load has ended and no other load has started instead. */
static bool tab_has_stopped(const struct arrival *at)
{
	const struct page_frame *f = tab_main_frame(at->t);

	return !f->loading && f->stopped >= at->since &&
		clock_ms() - f->stopped >= ABORT_MS;
}

/* Whether the load has ended without a document: its process ended before it had one. */
static bool tab_is_load_aborted(const struct arrival *at)
{
	return tab_has_stopped(at) && !strcmp(tab_main_frame(at->t)->loader, at->loader);
}

/* Waits for the arrival. Returns the results of tab_navigate; 1: the load was aborted. */
static int tab_wait_arrival(
	struct arrival *at, uint64_t deadline, struct tab_navigation *moved)
{
	int r = -ETIMEDOUT;

	*moved = (struct tab_navigation){.result = NAV_LOADED};
	while (r == -ETIMEDOUT && clock_ms() < deadline && !tab_has_stopped(at))
		r = browser_wait_until(at->t->browser, tab_has_arrived, at,
			clock_min_deadline(ABORT_MS, deadline));
	if (!r && at->t->state != TAB_READY)
		return -EPIPE;
	if (r != -ETIMEDOUT)
		return r;
	if (tab_is_load_aborted(at)) {
		*moved = (struct tab_navigation){NAV_FAILED, STR("net::ERR_ABORTED")};
		return 1;
	}
	/* No more events follow for a load that was aborted or that stopped itself. */
	if (tab_has_stopped(at))
		*moved = (struct tab_navigation){
			NAV_FAILED, STR("Loading has stopped before its end")};
	else
		moved->result = NAV_TIMEOUT;
	return 0;
}

/* Reads the answer of Page.navigate. *waits: a new document is to be waited for. */
static int tab_read_navigation(struct json_val result, struct arena *a,
	struct tab_navigation *moved, bool *waits)
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
		*moved = (struct tab_navigation){.result = NAV_DOWNLOAD};
	else if (words.n)
		*moved = (struct tab_navigation){NAV_FAILED, words};
	else
		*waits = json_type(json_get(result, "loaderId")) != JSON_ABSENT;
	return 0;
}

/*
 * Ends a script that does not finish before its page is left. Chromium would wait for
 * the script, and cannot end a script any more once the navigation has started.
 */
static int tab_end_busy_script(struct tab *t, uint64_t deadline)
{
	int r = tab_probe_scripts(t, deadline, LEAVE_MS);

	if (r == -ETIMEDOUT)
		tab_end_script(t);
	return browser_filter(r);
}

static int tab_navigate_once(struct tab *t, struct str url, uint64_t deadline,
	struct arena *a, struct tab_navigation *moved)
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
	tab_begin_arrival(&at, t);
	*moved = (struct tab_navigation){.result = NAV_LOADED};
	r = tab_call_take(t, "Page.navigate", &params, deadline, a, &result);
	if (r == ERR_REFUSED) {
		moved->result = NAV_REFUSED;
		moved->reason = str_c(t->browser->cdp.refusal);
		return 0;
	}
	if (r == -ETIMEDOUT) {
		moved->result = NAV_TIMEOUT;
		return 0;
	}
	if (!r)
		r = tab_read_navigation(result, a, moved, &waits);
	return r || !waits ? r : tab_wait_arrival(&at, deadline, moved);
}

/* Whether a navigation was aborted because the process to be reused has ended. */
static bool tab_is_crash_aborted(const struct tab *t, const struct tab_navigation *moved)
{
	return moved->result == NAV_FAILED && t->crashed &&
		clock_ms() - t->crashed < CRASH_MS &&
		str_eq(moved->reason, STR("net::ERR_ABORTED"));
}

int tab_navigate(struct tab *t, struct str url, uint64_t deadline, struct arena *a,
	struct tab_navigation *moved)
{
	int r = tab_end_busy_script(t, deadline);

	if (!r)
		r = tab_navigate_once(t, url, deadline, a, moved);
	/* The browser creates a new process for the retry. */
	if (r > 0 || (!r && tab_is_crash_aborted(t, moved)))
		r = tab_navigate_once(t, url, deadline, a, moved);
	return r < 0 ? r : 0;
}

/* Navigates to a history entry. Network.loadingFailed has the error of an error page. */
static int tab_navigate_entry(struct tab *t, int64_t entry, uint64_t deadline,
	struct arena *a, struct tab_navigation *moved)
{
	struct arrival at;
	char params[64];
	int r, off;

	snprintf(params, sizeof(params), "{\"entryId\":%lld}", (long long)entry);
	tab_begin_arrival(&at, t);
	at.within = true;
	t->failed_loader[0] = '\0';
	r = tab_end_busy_script(t, deadline);
	if (!r)
		r = tab_call(t, "Network.enable", STR(""), deadline, NULL, NULL);
	if (!r)
		r = tab_call(t, "Page.navigateToHistoryEntry", str_c(params), deadline,
			NULL, NULL);
	if (!r)
		r = tab_wait_arrival(&at, deadline, moved);
	if (r == ERR_CLOSED)
		return r;
	off = browser_filter(
		tab_call(t, "Network.disable", STR(""), deadline, NULL, NULL));
	if (r >= 0 && t->failed_loader[0] &&
		!strcmp(t->failed_loader, tab_main_frame(t)->loader)) {
		moved->result = NAV_FAILED;
		moved->reason = str_c(arena_cstr(a, str_c(t->failure_text)));
	}
	return r < 0 ? r : off;
}

int tab_navigate_history(struct tab *t, int step, uint64_t deadline, struct arena *a,
	struct tab_navigation *moved)
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
	*moved = (struct tab_navigation){.result = NAV_NO_ENTRY};
	if (index + step < 0 || index + step >= i)
		return 0;
	r = json_i64(json_get(entry, "id"), &id);
	if (r)
		return r;
	return tab_navigate_entry(t, id, deadline, a, moved);
}
