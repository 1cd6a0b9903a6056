/* The tabs of a browser: creation, setup, activation and closing. */
#include "browser/page/browser_private.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/jw.h"
#include "base/log.h"
#include "limits.h"
#include "proc/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	TABS_MAX = 64,        /* further ones are closed when they appear */
	PARAMS_MAX = 8192,    /* of a request of the client */
	SETUP_MS = 10000,     /* for a tab; the browser may be busy with pages */
	CLOSE_MS = 1000,      /* after that time a tab counts as closed */
	DIALOG_MS = 2000,     /* for a dialog that was answered to close */
	LEAVE_MS = 120000,    /* for another page's first event; longer than goto waits */
	STALL_MS = 1500,      /* without an answer while the browser sleeps */
	STALL_BUSY_MS = 20000 /* without an answer while the browser runs */
};

/* --- Liveness --------------------------------------------------------------------- */

/* The state of a thread, from /proc; 'S' if it cannot be read. */
static char browser_read_thread_state(pid_t pid, const char *thread)
{
	char path[64], text[512];
	struct str rest;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)pid, thread);
	fd = fd_open(path, O_RDONLY, 0);
	if (fd >= 0)
		n = read(fd, text, sizeof(text));
	fd_close(&fd);
	if (n <= 0)
		return 'S';
	rest = str_make(text, (size_t)n);
	while (rest.n && rest.p[rest.n - 1] != ')')
		rest.n--;
	return rest.n + 2 < (size_t)n ? rest.p[rest.n + 1] : 'S';
}

/*
 * The state of the first thread. If it sleeps, the state of the first thread that does
 * not sleep; else 'S'. Only the first thread shows that the process is stopped or has
 * ended: 'Z' and 'T' of other threads, which end one by one, are reported as 'R'.
 */
static char browser_read_process_state(pid_t pid)
{
	char path[64], first[16], state;
	const struct dirent *e;
	DIR *threads;

	snprintf(first, sizeof(first), "%d", (int)pid);
	state = browser_read_thread_state(pid, first);
	if (state != 'S')
		return state;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	if (!threads)
		return state;
	while (state == 'S' && (e = readdir(threads)))
		if (e->d_name[0] != '.')
			state = browser_read_thread_state(pid, e->d_name);
	closedir(threads);
	return state == 'Z' || state == 'T' ? 'R' : state;
}

/*
 * A sleeping browser that does not answer is hung. A browser that is ready to run may
 * lack processor time, and the request passes from thread to thread, so it gets more
 * time. The browser may also wait for one of its own processes. Stopped processes never
 * answer and are killed: the browser handles their end.
 */
static bool browser_on_silence(void *ctx, uint64_t silent_ms)
{
	const struct browser *b = ctx;
	char state = b->pid ? browser_read_process_state(b->pid) : 'S';

	if (state == 'T' || state == 'Z')
		return false;
	if (!silent_ms && b->pid)
		tree_kill_stopped(b->pid);
	return silent_ms < (state == 'S' ? STALL_MS : STALL_BUSY_MS);
}

/* --- Tabs ------------------------------------------------------------------------- */

void browser_set_active(struct browser *b, struct tab *t)
{
	t->shown = ++b->last_shown;
	b->active = t;
}

static struct tab *browser_tab_new(
	struct browser *b, struct str target, struct str session)
{
	struct tab *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct tab){
		.browser = b,
		.url = BUF_INIT(BROWSER_URL_MAX),
		.drag = BUF_INIT(CDP_EVENT_MAX),
	};
	snprintf(t->target, sizeof(t->target), "%.*s", STR_ARG(target));
	snprintf(t->session, sizeof(t->session), "%.*s", STR_ARG(session));
	/* The ID of a page's main frame is the ID of its target. */
	if (tab_add_frame(t, target))
		return t;
	free(t);
	return NULL;
}

struct tab *browser_add_tab(struct browser *b, struct str target, struct str session)
{
	struct tab *t;

	if (browser_count_tabs(b) >= TABS_MAX || target.n >= CDP_ID_MAX ||
		session.n >= CDP_ID_MAX)
		return NULL;
	t = browser_tab_new(b, target, session);
	if (t) {
		list_append(&b->tabs, &t->node);
		browser_set_active(b, t);
	}
	return t;
}

static void browser_tab_free(struct tab *t)
{
	LIST_EACH (struct page_frame, f, &t->frames, node)
		free(f);
	buf_free(&t->url);
	buf_free(&t->drag);
	free(t);
}

/* Chooses, among the tabs that are not closed, the one that was last activated. */
static void browser_choose_active(struct browser *b)
{
	b->active = NULL;
	LIST_EACH (struct tab, t, &b->tabs, node)
		if (t->state != TAB_CLOSED && (!b->active || t->shown > b->active->shown))
			b->active = t;
}

void browser_free_closed(struct browser *b)
{
	browser_choose_active(b);
	LIST_EACH (struct tab, t, &b->tabs, node)
		if (t->state == TAB_CLOSED) {
			list_remove(&t->node);
			browser_tab_free(t);
		}
}

#define SIZE \
	"\"width\":1280,\"height\":720,\"screenWidth\":1280,\"screenHeight\":720," \
	"\"deviceScaleFactor\":1,\"mobile\":false"

/* Sent in this order. The page's scripts start with the last request. */
static const struct {
	const char *method;
	struct str params;
} setup[] = {
	{"Page.enable", {NULL, 0}},
	{"Page.setLifecycleEventsEnabled", {"{\"enabled\":true}", 16}},
	{"Runtime.enable", {NULL, 0}},
	{"DOM.enable", {NULL, 0}},
	{"Inspector.enable", {NULL, 0}},
	{"Emulation.setFocusEmulationEnabled", {"{\"enabled\":true}", 16}},
	{"Emulation.setDeviceMetricsOverride", {"{" SIZE "}", sizeof("{" SIZE "}") - 1}},
	{"Page.setInterceptFileChooserDialog", {"{\"enabled\":true}", 16}},
	{"Runtime.runIfWaitingForDebugger", {NULL, 0}},
};

/*
 * No other request may be sent to a page before all of these are answered: Chromium 156
 * loses the page's process if a navigation follows too early.
 */
static int browser_setup_tab(struct tab *t, uint64_t deadline)
{
	struct cdp *c = &t->browser->cdp;
	struct json_val tree;
	uint64_t ids[ARRAY_LEN(setup)];
	struct arena a;
	size_t sent = 0;
	int r = 0;

	arena_init(&a, CDP_MEMORY_MAX);
	while (!r && sent < ARRAY_LEN(setup)) {
		r = cdp_send(c, str_c(t->session), setup[sent].method, setup[sent].params,
			&ids[sent]);
		sent += !r;
	}
	for (size_t i = 0; i < sent; i++) {
		int got = r ? r : cdp_wait(c, ids[i], deadline, NULL, NULL);

		cdp_drop_reply(c, ids[i]);
		/* Older browsers do not support every method. A refusal is ignored. */
		r = got == ERR_REFUSED ? 0 : got;
	}
	if (!r)
		r = cdp_call(c, str_c(t->session), "Page.getFrameTree", STR(""), deadline,
			&a, &tree);
	if (!r)
		tab_record_tree(t, json_get(tree, "frameTree"));
	arena_reset(&a);
	if (r == -EPIPE || r == -ETIMEDOUT || r == ERR_REFUSED || r == ERR_DEPTH)
		return 0;
	return r;
}

/* Sends a request about the target of t. */
static int browser_call_target(struct tab *t, const char *method, uint64_t deadline)
{
	char params[CDP_ID_MAX + 32];

	snprintf(params, sizeof(params), "{\"targetId\":\"%s\"}", t->target);
	return cdp_call(
		&t->browser->cdp, STR(""), method, str_c(params), deadline, NULL, NULL);
}

/*
 * A dialog that opens while its page is being left blocks Chromium: it accepts no answer
 * for a page that is not active any more, and the next page cannot become active before
 * the dialog is closed. Only closing the tab resolves this.
 */
static int browser_end_stuck_dialog(struct tab *t)
{
	struct cdp *c = &t->browser->cdp;
	uint64_t now = clock_ms();
	struct str said;
	int r;

	if (!t->dialog || now - t->dialog < DIALOG_MS || t->state != TAB_READY)
		return 0;
	t->dialog = 0;
	r = cdp_call(c, str_c(t->session), "Page.handleJavaScriptDialog",
		STR("{\"accept\":false}"), now + CLOSE_MS, NULL, NULL);
	said = str_c(c->refusal);
	if (r == ERR_REFUSED && str_find(said, STR("active page")) < said.n) {
		log_warn("browser: a page with an open dialog does not respond; its tab "
			 "is closed");
		t->state = TAB_CLOSED;
		cdp_fail_session(c, str_c(t->session), -EPIPE);
		r = browser_call_target(t, "Target.closeTarget", now + CLOSE_MS);
	}
	return r == ERR_CLOSED || r == -ECANCELED ? r : 0;
}

static struct tab *browser_find_new_tab(const struct browser *b)
{
	LIST_EACH (struct tab, t, &b->tabs, node)
		if (t->state == TAB_NEW)
			return t;
	return NULL;
}

int browser_setup_tabs(struct browser *b, uint64_t deadline)
{
	struct tab *new;
	int r = 0;

	/* During a setup, tabs may be added or closed. */
	while (!r && (new = browser_find_new_tab(b))) {
		new->state = TAB_READY;
		r = browser_setup_tab(new, deadline);
	}
	LIST_EACH (struct tab, t, &b->tabs, node)
		if (!r)
			r = browser_end_stuck_dialog(t);
	browser_choose_active(b);
	browser_update_cast(b);
	return r;
}

/* --- Screencast -------------------------------------------------------------------- */

void browser_update_cast(struct browser *b)
{
	static const char how[] = "{\"format\":\"jpeg\",\"quality\":60}";
	const struct tab *t = b->on_picture ? b->active : NULL;
	const char *now = t && t->state == TAB_READY ? t->session : "";

	if (!strcmp(now, b->cast_session))
		return;
	if (b->cast_session[0])
		cdp_post(&b->cdp, str_c(b->cast_session), "Page.stopScreencast", STR(""));
	if (now[0])
		cdp_post(&b->cdp, str_c(now), "Page.startScreencast", str_c(how));
	snprintf(b->cast_session, sizeof(b->cast_session), "%s", now);
}

/* --- Operations on tabs ------------------------------------------------------------ */

struct tab *browser_active_tab(struct browser *b)
{
	return b->active;
}

struct tab *browser_tab_at(struct browser *b, size_t index)
{
	LIST_EACH (struct tab, t, &b->tabs, node)
		if (!index--)
			return t;
	return NULL;
}

size_t browser_count_tabs(const struct browser *b)
{
	return browser_find_tab_index(b, NULL);
}

size_t browser_find_tab_index(const struct browser *b, const struct tab *t)
{
	size_t n = 0;

	LIST_EACH (const struct tab, at, &b->tabs, node) {
		if (at == t)
			break;
		n++;
	}
	return n;
}

static bool browser_has_ready_tab(void *arg)
{
	struct tab *t = browser_active_tab(arg);

	return t && t->state != TAB_NEW;
}

/* Starts an object, with the browser context if there is one. The caller ends it. */
static void browser_begin_params(
	const struct browser *b, struct buf *params, struct jw *w)
{
	jw_init(w, params);
	jw_object(w);
	if (!b->context[0])
		return;
	jw_key(w, "browserContextId");
	jw_cstr(w, b->context);
}

/* Sends a request to the browser itself. Frees params. */
static int browser_call_take(
	struct browser *b, const char *method, struct buf *params, uint64_t deadline)
{
	int r = params->err ? params->err
			    : cdp_call(&b->cdp, STR(""), method, buf_view(params),
				      deadline, NULL, NULL);

	buf_free(params);
	return r;
}

int browser_new_tab(struct browser *b, uint64_t deadline)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct jw w;
	int r;

	browser_begin_params(b, &params, &w);
	jw_key(&w, "url");
	jw_cstr(&w, "about:blank");
	jw_end(&w);
	r = browser_call_take(b, "Target.createTarget", &params, deadline);
	return r ? r : browser_wait_until(b, browser_has_ready_tab, b, deadline);
}

static bool browser_is_tab_closed(void *arg)
{
	const struct tab *t = arg;

	return t->state == TAB_CLOSED;
}

int browser_close_tab(struct browser *b, uint64_t deadline)
{
	struct tab *t = b->active, *last = NULL;
	uint64_t now = clock_ms();
	int r;

	if (deadline > now + CLOSE_MS)
		deadline = now + CLOSE_MS;
	r = browser_call_target(t, "Target.closeTarget", deadline);
	while (!r && !browser_is_tab_closed(t) && clock_ms() < deadline)
		r = cdp_poll(&b->cdp, deadline);
	/* A tab that has not closed in time counts as closed. */
	t->state = TAB_CLOSED;
	if (r && r != -ETIMEDOUT && r != ERR_REFUSED && r != -EPIPE)
		return r;
	browser_free_closed(b);
	LIST_EACH (struct tab, each, &b->tabs, node)
		last = each;
	return last ? browser_focus_tab(b, last, now + SETUP_MS)
		    : browser_new_tab(b, now + SETUP_MS);
}

int browser_focus_tab(struct browser *b, struct tab *t, uint64_t deadline)
{
	browser_set_active(b, t);
	browser_update_cast(b);
	return browser_call_target(t, "Target.activateTarget", deadline);
}

struct page_frame *tab_main_frame(struct tab *t)
{
	return LIST_FIRST(&t->frames, struct page_frame, node);
}

bool tab_leaves(struct tab *t)
{
	const struct page_frame *f = tab_main_frame(t);

	return f->loading && !(f->events & FRAME_INIT) &&
		clock_ms() - f->started < LEAVE_MS;
}

int tab_create_world(struct tab *t, struct str frame, uint64_t deadline, struct arena *a,
	struct page_frame *world)
{
	struct buf params = BUF_INIT(CDP_WORDS_MAX);
	struct json_val result;
	struct jw w;
	int r;

	jw_init(&w, &params);
	jw_object(&w);
	jw_key(&w, "frameId");
	jw_str(&w, frame);
	jw_key(&w, "worldName");
	jw_cstr(&w, "od-runtime");
	jw_end(&w);
	r = tab_call_take(t, "Page.createIsolatedWorld", &params, deadline, a, &result);
	*world = (struct page_frame){.context = 0};
	return r ? r : json_i64(json_get(result, "executionContextId"), &world->context);
}

/* --- The browser ------------------------------------------------------------------ */

static int browser_allow_downloads(
	struct browser *b, const char *folder, uint64_t deadline)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct jw w;

	browser_begin_params(b, &params, &w);
	jw_key(&w, "behavior");
	jw_cstr(&w, "allowAndName");
	jw_key(&w, "downloadPath");
	jw_cstr(&w, folder);
	jw_key(&w, "eventsEnabled");
	jw_bool(&w, true);
	jw_end(&w);
	return browser_call_take(b, "Browser.setDownloadBehavior", &params, deadline);
}

static int browser_create_context(struct browser *b, uint64_t deadline)
{
	struct json_val result;
	struct arena a;
	struct str id;
	int r;

	arena_init(&a, CDP_MEMORY_MAX);
	r = cdp_call(&b->cdp, STR(""), "Target.createBrowserContext",
		STR("{\"disposeOnDetach\":true}"), deadline, &a, &result);
	if (!r)
		r = json_str(json_get(result, "browserContextId"), &a, &id);
	if (!r && id.n && id.n < CDP_ID_MAX)
		snprintf(b->context, sizeof(b->context), "%.*s", STR_ARG(id));
	else if (!r)
		r = ERR_LIMIT;
	arena_reset(&a);
	return r;
}

static int browser_begin(
	struct browser *b, bool ours, const char *downloads, uint64_t deadline)
{
	static const char attach[] =
		"{\"autoAttach\":true,\"waitForDebuggerOnStart\":true,\"flatten\":true,"
		"\"filter\":[{\"type\":\"browser_ui\",\"exclude\":true},"
		"{\"type\":\"browser\",\"exclude\":true},"
		"{\"type\":\"tab\",\"exclude\":true},{}]}";
	int r;

	b->cdp.on_event = browser_on_event;
	b->cdp.has_handler = browser_has_handler;
	b->cdp.ctx = b;
	r = cdp_call(
		&b->cdp, STR(""), "Browser.getVersion", STR(""), deadline, NULL, NULL);
	b->cdp.on_silence = browser_on_silence;
	if (!r && !ours)
		r = browser_create_context(b, deadline);
	if (!r)
		r = browser_allow_downloads(b, downloads, deadline);
	if (!r || r == ERR_REFUSED)
		r = cdp_call(&b->cdp, STR(""), "Target.setAutoAttach", str_c(attach),
			deadline, NULL, NULL);
	return r ? r : browser_new_tab(b, deadline);
}

int browser_init(struct browser *b, int in, int out, pid_t pid, const char *downloads,
	uint64_t deadline)
{
	*b = (struct browser){.pid = pid};
	cdp_init(&b->cdp, in, out);
	return browser_begin(b, true, downloads, deadline);
}

int browser_init_socket(
	struct browser *b, int fd, const char *downloads, uint64_t deadline)
{
	*b = (struct browser){.pid = 0};
	cdp_init_socket(&b->cdp, fd);
	return browser_begin(b, false, downloads, deadline);
}

void browser_free(struct browser *b)
{
	cdp_close(&b->cdp);
	LIST_EACH (struct tab, t, &b->tabs, node)
		browser_tab_free(t);
	list_init(&b->tabs);
	b->active = NULL;
}
