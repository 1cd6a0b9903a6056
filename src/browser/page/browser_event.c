/* Handles the events of the browser and records the state that they report. */
#include "browser/page/browser_private.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The string of a member; empty if there is none. It lives as long as the event. */
static struct str text_of(struct browser *b, struct json_val object, const char *key)
{
	struct str s = STR("");

	if (json_str(json_get(object, key), &b->cdp.memory, &s))
		return STR("");
	return s;
}

static void copy_id(char to[CDP_ID_MAX], struct str id)
{
	snprintf(to, CDP_ID_MAX, "%.*s", id.n < CDP_ID_MAX ? (int)id.n : CDP_ID_MAX - 1,
		id.n ? id.p : "");
}

/* --- Frames ----------------------------------------------------------------------- */

struct frame *tab_frame(struct tab *t, struct str id)
{
	for (struct frame *f = t->frames; f; f = f->next)
		if (str_eq(str_c(f->id), id))
			return f;
	return NULL;
}

static struct frame *frame_new(struct str id)
{
	struct frame *f = calloc(1, sizeof(*f));

	if (f)
		copy_id(f->id, id);
	return f;
}

struct frame *tab_note_frame(struct tab *t, struct str id)
{
	struct frame *f = tab_frame(t, id), **end = &t->frames;
	size_t n = 0;

	if (f || !id.n || id.n >= CDP_ID_MAX)
		return f;
	for (; *end; end = &(*end)->next)
		n++;
	if (n < BROWSER_FRAMES_MAX)
		*end = frame_new(id);
	return *end;
}

static void forget_frame(struct tab *t, const struct frame *gone)
{
	for (struct frame **at = &t->frames; *at; at = &(*at)->next) {
		if (*at != gone)
			continue;
		*at = gone->next;
		free((void *)(uintptr_t)gone);
		return;
	}
}

/* Removes all frames below a frame, at any depth. above is the ID of that frame. */
static void forget_below(struct tab *t, const char *above)
{
	struct frame *f = t->frames;

	while (f) {
		if (strcmp(f->parent, above) != 0) {
			f = f->next;
			continue;
		}
		/* The children of f move to above, so that they are removed, too. */
		for (struct frame *in = t->frames; in; in = in->next)
			if (!strcmp(in->parent, f->id))
				memcpy(in->parent, above, sizeof(in->parent));
		forget_frame(t, f);
		f = t->frames;
	}
}

static void set_url(struct tab *t, struct str url, struct str fragment)
{
	buf_reset(&t->url);
	buf_str(&t->url, url);
	buf_str(&t->url, fragment);
}

static void set_loader(struct frame *f, struct str id)
{
	char before[CDP_ID_MAX];

	memcpy(before, f->loader, sizeof(before));
	copy_id(f->loader, id);
	if (strcmp(before, f->loader) != 0)
		f->loaded = false;
}

/* Records a Page.Frame of an event or of a tree. */
static struct frame *note_frame(struct tab *t, struct json_val frame)
{
	struct browser *b = t->browser;
	struct frame *f = tab_note_frame(t, text_of(b, frame, "id"));

	if (!f)
		return NULL;
	copy_id(f->parent, text_of(b, frame, "parentId"));
	set_loader(f, text_of(b, frame, "loaderId"));
	if (f == t->frames)
		set_url(t, text_of(b, frame, "url"), text_of(b, frame, "urlFragment"));
	return f;
}

void tab_note_tree(struct tab *t, struct json_val tree)
{
	struct json_val stack[JSON_DEPTH_MAX];
	size_t n = 0;

	stack[n++] = tree;
	while (n) {
		struct json_val node = stack[--n], child;
		int it = 0;

		if (json_type(json_get(node, "frame")) == JSON_OBJECT)
			note_frame(t, json_get(node, "frame"));
		while (json_next(json_get(node, "childFrames"), &it, NULL, &child))
			if (n < ARRAY_LEN(stack))
				stack[n++] = child;
	}
}

/* --- Events of a page ------------------------------------------------------------- */

static void moves(struct tab *t)
{
	t->moved = clock_ms();
}

static void started(struct tab *t, struct json_val params)
{
	struct frame *f = tab_note_frame(t, text_of(t->browser, params, "frameId"));

	moves(t);
	if (!f)
		return;
	f->loading = true;
	f->started = clock_ms();
	f->events = 0;
}

static void stopped(struct tab *t, struct json_val params)
{
	struct frame *f = tab_frame(t, text_of(t->browser, params, "frameId"));

	if (!f)
		return;
	f->loading = false;
	f->stopped = clock_ms();
}

static void requested(struct tab *t, struct json_val params)
{
	(void)params;
	moves(t);
}

static void attached_frame(struct tab *t, struct json_val params)
{
	struct frame *f = tab_note_frame(t, text_of(t->browser, params, "frameId"));

	moves(t);
	if (f)
		copy_id(f->parent, text_of(t->browser, params, "parentFrameId"));
}

static void detached_frame(struct tab *t, struct json_val params)
{
	struct str id = text_of(t->browser, params, "frameId");

	struct frame *f = tab_frame(t, id);

	/* A frame that moves to another process still exists. */
	if (!f || f == t->frames ||
		str_eq(text_of(t->browser, params, "reason"), STR("swap")))
		return;
	forget_below(t, f->id);
	forget_frame(t, f);
}

static void opened(struct tab *t, struct json_val params)
{
	moves(t);
	if (note_frame(t, json_get(params, "frame")) != t->frames)
		return;
	t->navigated++;
	t->dialog = 0;
	if (!str_eq(buf_view(&t->url), STR("about:blank")))
		t->lost = false;
}

/* A new document. No events follow for the frames of the previous document. */
static void navigated(struct tab *t, struct json_val params)
{
	struct frame *f =
		tab_frame(t, text_of(t->browser, json_get(params, "frame"), "id"));

	if (f)
		forget_below(t, f->id);
	opened(t, params);
}

static void moved_within(struct tab *t, struct json_val params)
{
	struct browser *b = t->browser;

	if (!str_eq(text_of(b, params, "frameId"), str_c(t->frames->id)))
		return;
	set_url(t, text_of(b, params, "url"), STR(""));
	t->navigated++;
}

static void lifecycle(struct tab *t, struct json_val params)
{
	static const struct {
		struct str name;
		enum frame_event event;
	} names[] = {
		{{"DOMContentLoaded", 16}, FRAME_CONTENT},
		{{"load", 4}, FRAME_LOAD},
	};
	struct browser *b = t->browser;
	struct frame *f = tab_note_frame(t, text_of(b, params, "frameId"));
	struct str name = text_of(b, params, "name");

	if (!f)
		return;
	if (str_eq(name, STR("init"))) {
		set_loader(f, text_of(b, params, "loaderId"));
		f->events = FRAME_INIT;
	}
	/* Events of a document that has been left are ignored. */
	if (!str_eq(text_of(b, params, "loaderId"), str_c(f->loader)))
		return;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq(name, names[i].name))
			f->events |= names[i].event;
	f->loaded = f->loaded || f->events & FRAME_LOAD;
}

/* A page with an open dialog answers no requests, so the dialog is answered at once. */
static void dialog(struct tab *t, struct json_val params)
{
	bool leave = str_eq(text_of(t->browser, params, "type"), STR("beforeunload"));

	t->dialog = clock_ms();
	cdp_post(&t->browser->cdp, str_c(t->session), "Page.handleJavaScriptDialog",
		leave ? STR("{\"accept\":true}") : STR("{\"accept\":false}"));
}

static void dialog_closed(struct tab *t, struct json_val params)
{
	(void)params;
	t->dialog = 0;
}

static void chooser(struct tab *t, struct json_val params)
{
	int64_t node = 0;

	if (json_i64(json_get(params, "backendNodeId"), &node))
		return;
	t->choosers++;
	t->chooser_node = node;
	t->chooser_multiple =
		str_eq(text_of(t->browser, params, "mode"), STR("selectMultiple"));
}

static void dragged(struct tab *t, struct json_val params)
{
	buf_reset(&t->drag);
	buf_str(&t->drag, json_raw(json_get(params, "data")));
	if (t->drag.err)
		buf_free(&t->drag);
	else
		t->drags++;
}

/* The request ID of a document is its loader ID. */
static void failed(struct tab *t, struct json_val params)
{
	struct browser *b = t->browser;

	if (!str_eq(text_of(b, params, "type"), STR("Document")))
		return;
	copy_id(t->failed, text_of(b, params, "requestId"));
	copy_id(t->failure, text_of(b, params, "errorText"));
}

static void context_made(struct tab *t, struct json_val params)
{
	struct json_val context = json_get(params, "context"),
			about = json_get(context, "auxData");
	struct frame *f = tab_note_frame(t, text_of(t->browser, about, "frameId"));
	bool own = false;

	if (!f || json_bool(json_get(about, "isDefault"), &own) || !own)
		return;
	if (json_i64(json_get(context, "id"), &f->context))
		f->context = 0;
}

static void context_gone(struct tab *t, struct json_val params)
{
	int64_t id = 0;

	if (json_i64(json_get(params, "executionContextId"), &id))
		return;
	for (struct frame *f = t->frames; f; f = f->next)
		if (f->context == id)
			f->context = 0;
}

static void contexts_gone(struct tab *t, struct json_val params)
{
	(void)params;
	for (struct frame *f = t->frames; f; f = f->next)
		f->context = 0;
}

static void crashed(struct tab *t, struct json_val params)
{
	contexts_gone(t, params);
	t->state = TAB_CRASHED;
	t->lost = true;
	t->crashed = clock_ms();
	t->dialog = 0;
	if (!strcmp(t->session, t->browser->cast))
		t->browser->cast[0] = '\0';
	cdp_fail(&t->browser->cdp, str_c(t->session), -EPIPE);
}

/* Chromium sends the next picture after this one is acknowledged. */
static void pictured(struct tab *t, struct json_val params)
{
	struct browser *b = t->browser;
	char words[64];
	int64_t number;

	if (json_i64(json_get(params, "sessionId"), &number))
		return;
	snprintf(words, sizeof(words), "{\"sessionId\":%lld}", (long long)number);
	cdp_post(&b->cdp, str_c(t->session), "Page.screencastFrameAck", str_c(words));
	if (b->picture && !strcmp(t->session, b->cast))
		b->picture(b->picture_arg, json_inside(json_get(params, "data")));
}

/* --- Events of the browser -------------------------------------------------------- */

static void attached(struct browser *b, struct json_val params)
{
	struct json_val info = json_get(params, "targetInfo");
	struct str session = text_of(b, params, "sessionId"),
		   target = text_of(b, info, "targetId");
	bool page = str_eq(text_of(b, info, "type"), STR("page"));
	bool ours = !b->context[0] ||
		str_eq(text_of(b, info, "browserContextId"), str_c(b->context));
	char words[CDP_ID_MAX + 16];

	if (page && ours && browser_add(b, target, session))
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

static void detached(struct browser *b, struct json_val params)
{
	struct str session = text_of(b, params, "sessionId");

	for (struct tab *t = b->tabs; t; t = t->next)
		if (str_eq(str_c(t->session), session))
			t->state = TAB_GONE;
	cdp_fail(&b->cdp, session, -EPIPE);
}

static void download_begins(struct browser *b, struct json_val params)
{
	struct str guid = text_of(b, params, "guid");

	b->download = (struct download){.state = DOWNLOAD_NONE};
	/* The GUID is used as the name of a file in a folder. */
	if (!guid.n || guid.p[0] == '.' || str_find_byte(guid, '/') < guid.n)
		return;
	copy_id(b->download.guid, guid);
	b->download.state = DOWNLOAD_BEGUN;
}

static void download_goes_on(struct browser *b, struct json_val params)
{
	struct str state = text_of(b, params, "state");
	struct download *d = &b->download;

	if (!str_eq(text_of(b, params, "guid"), str_c(d->guid)) ||
		(d->state != DOWNLOAD_BEGUN && d->state != DOWNLOAD_SLOW))
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
	{"Browser.downloadProgress", NULL, download_goes_on},
	{"Browser.downloadWillBegin", NULL, download_begins},
	{"Input.dragIntercepted", dragged, NULL},
	{"Inspector.targetCrashed", crashed, NULL},
	{"Network.loadingFailed", failed, NULL},
	{"Page.documentOpened", opened, NULL},
	{"Page.fileChooserOpened", chooser, NULL},
	{"Page.frameAttached", attached_frame, NULL},
	{"Page.frameDetached", detached_frame, NULL},
	{"Page.frameNavigated", navigated, NULL},
	{"Page.frameRequestedNavigation", requested, NULL},
	{"Page.frameStartedLoading", started, NULL},
	{"Page.frameStartedNavigating", started, NULL},
	{"Page.frameStoppedLoading", stopped, NULL},
	{"Page.javascriptDialogClosed", dialog_closed, NULL},
	{"Page.javascriptDialogOpening", dialog, NULL},
	{"Page.lifecycleEvent", lifecycle, NULL},
	{"Page.navigatedWithinDocument", moved_within, NULL},
	{"Page.screencastFrame", pictured, NULL},
	{"Runtime.executionContextCreated", context_made, NULL},
	{"Runtime.executionContextDestroyed", context_gone, NULL},
	{"Runtime.executionContextsCleared", contexts_gone, NULL},
	{"Target.attachedToTarget", NULL, attached},
	{"Target.detachedFromTarget", NULL, detached},
};

bool browser_wants(struct str method)
{
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (str_eq(method, str_c(events[i].method)))
			return true;
	return false;
}

void browser_event(
	void *ctx, struct str session, struct str method, struct json_val params)
{
	struct browser *b = ctx;
	struct tab *t = b->tabs;
	size_t i = 0;

	while (i < ARRAY_LEN(events) && !str_eq(method, str_c(events[i].method)))
		i++;
	if (i == ARRAY_LEN(events))
		return;
	if (events[i].browser) {
		events[i].browser(b, params);
		return;
	}
	while (t && !str_eq(str_c(t->session), session))
		t = t->next;
	if (t)
		events[i].tab(t, params);
}
