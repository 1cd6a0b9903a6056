/* Handles the events of the browser and records the state that they report. */
#include "browser/page/browser_private.h"

#include "base/clock.h"
#include "base/log.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The string of a member; empty if there is none. It lives as long as the event. */
static struct str browser_event_read_str(
	struct browser *b, struct json_val object, const char *key)
{
	struct str s = STR("");

	if (json_str(json_get(object, key), &b->cdp.memory, &s))
		return STR("");
	return s;
}

static void browser_event_copy_id(char to[CDP_ID_MAX], struct str id)
{
	snprintf(to, CDP_ID_MAX, "%.*s", id.n < CDP_ID_MAX ? (int)id.n : CDP_ID_MAX - 1,
		id.n ? id.p : "");
}

/* --- Frames ----------------------------------------------------------------------- */

struct page_frame *tab_find_frame(struct tab *t, struct str id)
{
	LIST_EACH (struct page_frame, f, &t->frames, node)
		if (str_eq(str_c(f->id), id))
			return f;
	return NULL;
}

static struct page_frame *browser_frame_new(struct str id)
{
	struct page_frame *f = calloc(1, sizeof(*f));

	if (f)
		browser_event_copy_id(f->id, id);
	return f;
}

struct page_frame *tab_add_frame(struct tab *t, struct str id)
{
	struct page_frame *f = tab_find_frame(t, id);

	if (f || !id.n || id.n >= CDP_ID_MAX ||
		list_count(&t->frames) >= BROWSER_FRAMES_MAX)
		return f;
	f = browser_frame_new(id);
	if (f)
		list_append(&t->frames, &f->node);
	return f;
}

/* Moves the frames directly below a frame from their tab to the end of a list. */
static void browser_take_subframes(struct tab *t, const char *above, struct list *out)
{
	LIST_EACH (struct page_frame, f, &t->frames, node)
		if (!strcmp(f->parent, above)) {
			list_remove(&f->node);
			list_append(out, &f->node);
		}
}

/* Removes all frames below a frame, at any depth. above is the ID of that frame. */
static void browser_remove_subframes(struct tab *t, const char *above)
{
	struct list gone = {0};
	struct page_frame *f;

	browser_take_subframes(t, above, &gone);
	for (f = LIST_FIRST(&gone, struct page_frame, node); f;
		f = LIST_NEXT(f, struct page_frame, node))
		browser_take_subframes(t, f->id, &gone);
	LIST_EACH (struct page_frame, each, &gone, node)
		free(each);
}

static void browser_set_tab_url(struct tab *t, struct str url, struct str fragment)
{
	buf_reset(&t->url);
	buf_str(&t->url, url);
	buf_str(&t->url, fragment);
}

static void browser_set_frame_loader(struct page_frame *f, struct str id)
{
	char before[CDP_ID_MAX];

	memcpy(before, f->loader, sizeof(before));
	browser_event_copy_id(f->loader, id);
	if (strcmp(before, f->loader) != 0)
		f->loaded = false;
}

/* Records a Page.Frame of an event or of a tree. */
static struct page_frame *browser_record_frame(struct tab *t, struct json_val frame)
{
	struct browser *b = t->browser;
	struct page_frame *f = tab_add_frame(t, browser_event_read_str(b, frame, "id"));

	if (!f)
		return NULL;
	browser_event_copy_id(f->parent, browser_event_read_str(b, frame, "parentId"));
	browser_set_frame_loader(f, browser_event_read_str(b, frame, "loaderId"));
	if (f == tab_main_frame(t))
		browser_set_tab_url(t, browser_event_read_str(b, frame, "url"),
			browser_event_read_str(b, frame, "urlFragment"));
	return f;
}

void tab_record_tree(struct tab *t, struct json_val tree)
{
	struct json_val stack[JSON_DEPTH_MAX];
	size_t n = 0;

	stack[n++] = tree;
	while (n) {
		struct json_val node = stack[--n], child;
		int it = 0;

		if (json_type(json_get(node, "frame")) == JSON_OBJECT)
			browser_record_frame(t, json_get(node, "frame"));
		while (json_next(json_get(node, "childFrames"), &it, NULL, &child))
			if (n < ARRAY_LEN(stack))
				stack[n++] = child;
	}
}

/* --- Events of a page ------------------------------------------------------------- */

static void browser_touch_navigation(struct tab *t)
{
	t->navigation_time = clock_ms();
}

static void browser_on_loading_started(struct tab *t, struct json_val params)
{
	struct page_frame *f =
		tab_add_frame(t, browser_event_read_str(t->browser, params, "frameId"));

	browser_touch_navigation(t);
	if (!f)
		return;
	f->loading = true;
	f->started = clock_ms();
	f->events = 0;
}

static void browser_on_loading_stopped(struct tab *t, struct json_val params)
{
	struct page_frame *f =
		tab_find_frame(t, browser_event_read_str(t->browser, params, "frameId"));

	if (!f)
		return;
	f->loading = false;
	f->stopped = clock_ms();
}

static void browser_on_navigation_request(struct tab *t, struct json_val params)
{
	(void)params;
	browser_touch_navigation(t);
}

static void browser_on_frame_attached(struct tab *t, struct json_val params)
{
	struct page_frame *f =
		tab_add_frame(t, browser_event_read_str(t->browser, params, "frameId"));

	browser_touch_navigation(t);
	if (f)
		browser_event_copy_id(f->parent,
			browser_event_read_str(t->browser, params, "parentFrameId"));
}

static void browser_on_frame_detached(struct tab *t, struct json_val params)
{
	struct str id = browser_event_read_str(t->browser, params, "frameId");

	struct page_frame *f = tab_find_frame(t, id);

	/* A frame that moves to another process still exists. */
	if (!f || f == tab_main_frame(t) ||
		str_eq(browser_event_read_str(t->browser, params, "reason"), STR("swap")))
		return;
	browser_remove_subframes(t, f->id);
	list_remove(&f->node);
	free(f);
}

static void browser_on_document_opened(struct tab *t, struct json_val params)
{
	browser_touch_navigation(t);
	if (browser_record_frame(t, json_get(params, "frame")) != tab_main_frame(t))
		return;
	t->navigated++;
	t->dialog = 0;
	if (!str_eq(buf_view(&t->url), STR("about:blank")))
		t->crash_reset = false;
}

/* A new document. No events follow for the frames of the previous document. */
static void browser_on_navigated(struct tab *t, struct json_val params)
{
	struct page_frame *f = tab_find_frame(
		t, browser_event_read_str(t->browser, json_get(params, "frame"), "id"));

	if (f)
		browser_remove_subframes(t, f->id);
	browser_on_document_opened(t, params);
}

static void browser_on_navigated_within(struct tab *t, struct json_val params)
{
	struct browser *b = t->browser;

	if (!str_eq(browser_event_read_str(b, params, "frameId"),
		    str_c(tab_main_frame(t)->id)))
		return;
	browser_set_tab_url(t, browser_event_read_str(b, params, "url"), STR(""));
	t->navigated++;
}

static void browser_on_lifecycle(struct tab *t, struct json_val params)
{
	static const struct {
		struct str name;
		enum frame_event event;
	} names[] = {
		{{"DOMContentLoaded", 16}, FRAME_CONTENT},
		{{"load", 4}, FRAME_LOAD},
	};
	struct browser *b = t->browser;
	struct page_frame *f =
		tab_add_frame(t, browser_event_read_str(b, params, "frameId"));
	struct str name = browser_event_read_str(b, params, "name");

	if (!f)
		return;
	if (str_eq(name, STR("init"))) {
		browser_set_frame_loader(
			f, browser_event_read_str(b, params, "loaderId"));
		f->events = FRAME_INIT;
	}
	/* Events of a document that has been left are ignored. */
	if (!str_eq(browser_event_read_str(b, params, "loaderId"), str_c(f->loader)))
		return;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq(name, names[i].name))
			f->events |= names[i].event;
	f->loaded = f->loaded || f->events & FRAME_LOAD;
}

/* A page with an open dialog answers no requests, so the dialog is answered at once. */
static void browser_on_dialog_opening(struct tab *t, struct json_val params)
{
	bool leave = str_eq(
		browser_event_read_str(t->browser, params, "type"), STR("beforeunload"));

	t->dialog = clock_ms();
	cdp_post(&t->browser->cdp, str_c(t->session), "Page.handleJavaScriptDialog",
		leave ? STR("{\"accept\":true}") : STR("{\"accept\":false}"));
}

static void browser_on_dialog_closed(struct tab *t, struct json_val params)
{
	(void)params;
	t->dialog = 0;
}

static void browser_on_file_chooser(struct tab *t, struct json_val params)
{
	int64_t node = 0;

	if (json_i64(json_get(params, "backendNodeId"), &node))
		return;
	t->choosers++;
	t->chooser_node = node;
	t->chooser_multiple = str_eq(browser_event_read_str(t->browser, params, "mode"),
		STR("selectMultiple"));
}

static void browser_on_drag(struct tab *t, struct json_val params)
{
	buf_reset(&t->drag);
	buf_str(&t->drag, json_raw(json_get(params, "data")));
	if (t->drag.err)
		buf_free(&t->drag);
	else
		t->drags++;
}

/* The request ID of a document is its loader ID. */
static void browser_on_loading_failed(struct tab *t, struct json_val params)
{
	struct browser *b = t->browser;

	if (!str_eq(browser_event_read_str(b, params, "type"), STR("Document")))
		return;
	browser_event_copy_id(
		t->failed_loader, browser_event_read_str(b, params, "requestId"));
	browser_event_copy_id(
		t->failure_text, browser_event_read_str(b, params, "errorText"));
}

static void browser_on_context_created(struct tab *t, struct json_val params)
{
	struct json_val context = json_get(params, "context"),
			about = json_get(context, "auxData");
	struct page_frame *f =
		tab_add_frame(t, browser_event_read_str(t->browser, about, "frameId"));
	bool own = false;

	if (!f || json_bool(json_get(about, "isDefault"), &own) || !own)
		return;
	if (json_i64(json_get(context, "id"), &f->context))
		f->context = 0;
}

static void browser_on_context_destroyed(struct tab *t, struct json_val params)
{
	int64_t id = 0;

	if (json_i64(json_get(params, "executionContextId"), &id))
		return;
	LIST_EACH (struct page_frame, f, &t->frames, node)
		if (f->context == id)
			f->context = 0;
}

static void browser_on_contexts_cleared(struct tab *t, struct json_val params)
{
	(void)params;
	LIST_EACH (struct page_frame, f, &t->frames, node)
		f->context = 0;
}

static void browser_on_crash(struct tab *t, struct json_val params)
{
	browser_on_contexts_cleared(t, params);
	t->state = TAB_CRASHED;
	t->crash_reset = true;
	t->crashed = clock_ms();
	t->dialog = 0;
	if (!strcmp(t->session, t->browser->cast_session))
		t->browser->cast_session[0] = '\0';
	cdp_fail_session(&t->browser->cdp, str_c(t->session), -EPIPE);
}

/* Chromium sends the next picture after this one is acknowledged. */
static void browser_on_cast_frame(struct tab *t, struct json_val params)
{
	struct browser *b = t->browser;
	char words[64];
	int64_t number;

	if (json_i64(json_get(params, "sessionId"), &number))
		return;
	snprintf(words, sizeof(words), "{\"sessionId\":%lld}", (long long)number);
	cdp_post(&b->cdp, str_c(t->session), "Page.screencastFrameAck", str_c(words));
	if (b->on_picture && !strcmp(t->session, b->cast_session))
		b->on_picture(b->picture_arg, json_raw_content(json_get(params, "data")));
}

/* --- Events of the browser -------------------------------------------------------- */

static void browser_on_attached(struct browser *b, struct json_val params)
{
	struct json_val info = json_get(params, "targetInfo");
	struct str session = browser_event_read_str(b, params, "sessionId"),
		   target = browser_event_read_str(b, info, "targetId");
	bool page = str_eq(browser_event_read_str(b, info, "type"), STR("page"));
	bool ours = !b->context[0] ||
		str_eq(browser_event_read_str(b, info, "browserContextId"),
			str_c(b->context));
	char words[CDP_ID_MAX + 16];

	if (page && ours && browser_add_tab(b, target, session))
		return;
	cdp_post(&b->cdp, session, "Runtime.runIfWaitingForDebugger", STR(""));
	if (!ours && session.n < CDP_ID_MAX) {
		snprintf(words, sizeof(words), "{\"sessionId\":\"%.*s\"}",
			STR_ARG(session));
		cdp_post(&b->cdp, STR(""), "Target.detachFromTarget", str_c(words));
	}
	if (!page || !ours || target.n >= CDP_ID_MAX)
		return;
	snprintf(words, sizeof(words), "{\"targetId\":\"%.*s\"}", STR_ARG(target));
	cdp_post(&b->cdp, STR(""), "Target.closeTarget", str_c(words));
}

static void browser_on_detached(struct browser *b, struct json_val params)
{
	struct str session = browser_event_read_str(b, params, "sessionId");

	LIST_EACH (struct tab, t, &b->tabs, node)
		if (str_eq(str_c(t->session), session))
			t->state = TAB_CLOSED;
	cdp_fail_session(&b->cdp, session, -EPIPE);
}

static void browser_on_download_begin(struct browser *b, struct json_val params)
{
	struct str guid = browser_event_read_str(b, params, "guid");

	b->download = (struct download){.state = DOWNLOAD_NONE};
	/* The GUID is used as the name of a file in a folder. */
	if (!guid.n || guid.p[0] == '.' || str_find_byte(guid, '/') < guid.n)
		return;
	browser_event_copy_id(b->download.guid, guid);
	b->download.state = DOWNLOAD_STARTED;
}

static void browser_on_download_progress(struct browser *b, struct json_val params)
{
	struct str state = browser_event_read_str(b, params, "state");
	struct download *d = &b->download;

	if (!str_eq(browser_event_read_str(b, params, "guid"), str_c(d->guid)) ||
		(d->state != DOWNLOAD_STARTED && d->state != DOWNLOAD_SLOW))
		return;
	if (str_eq(state, STR("completed")))
		d->state = DOWNLOAD_DONE;
	else if (str_eq(state, STR("canceled")))
		d->state = DOWNLOAD_FAILED;
}

/* Each row has one of the two functions. */
static const struct {
	const char *method;
	void (*tab)(struct tab *t, struct json_val params);
	void (*browser)(struct browser *b, struct json_val params);
} events[] = {
	{"Browser.downloadProgress", NULL, browser_on_download_progress},
	{"Browser.downloadWillBegin", NULL, browser_on_download_begin},
	{"Input.dragIntercepted", browser_on_drag, NULL},
	{"Inspector.targetCrashed", browser_on_crash, NULL},
	{"Network.loadingFailed", browser_on_loading_failed, NULL},
	{"Page.documentOpened", browser_on_document_opened, NULL},
	{"Page.fileChooserOpened", browser_on_file_chooser, NULL},
	{"Page.frameAttached", browser_on_frame_attached, NULL},
	{"Page.frameDetached", browser_on_frame_detached, NULL},
	{"Page.frameNavigated", browser_on_navigated, NULL},
	{"Page.frameRequestedNavigation", browser_on_navigation_request, NULL},
	{"Page.frameStartedLoading", browser_on_loading_started, NULL},
	{"Page.frameStartedNavigating", browser_on_loading_started, NULL},
	{"Page.frameStoppedLoading", browser_on_loading_stopped, NULL},
	{"Page.javascriptDialogClosed", browser_on_dialog_closed, NULL},
	{"Page.javascriptDialogOpening", browser_on_dialog_opening, NULL},
	{"Page.lifecycleEvent", browser_on_lifecycle, NULL},
	{"Page.navigatedWithinDocument", browser_on_navigated_within, NULL},
	{"Page.screencastFrame", browser_on_cast_frame, NULL},
	{"Runtime.executionContextCreated", browser_on_context_created, NULL},
	{"Runtime.executionContextDestroyed", browser_on_context_destroyed, NULL},
	{"Runtime.executionContextsCleared", browser_on_contexts_cleared, NULL},
	{"Target.attachedToTarget", NULL, browser_on_attached},
	{"Target.detachedFromTarget", NULL, browser_on_detached},
};

bool browser_has_handler(struct str method)
{
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (str_eq(method, str_c(events[i].method)))
			return true;
	return false;
}

void browser_on_event(
	void *ctx, struct str session, struct str method, struct json_val params)
{
	struct browser *b = ctx;
	size_t i = 0;

	while (i < ARRAY_LEN(events) && !str_eq(method, str_c(events[i].method)))
		i++;
	if (i == ARRAY_LEN(events))
		return;
	if (events[i].browser) {
		events[i].browser(b, params);
		return;
	}
	LIST_EACH (struct tab, t, &b->tabs, node)
		if (str_eq(str_c(t->session), session)) {
			events[i].tab(t, params);
			return;
		}
}
