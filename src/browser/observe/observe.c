#include "browser/observe/observe.h"

#include "base/b64.h"
#include "base/clock.h"
#include "base/embed.h"
#include "base/jw.h"
#include "browser/observe/marks.h"
#include "browser/observe/text.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>

enum {
	OBSERVE_TEXT_MAX = 32 << 20, /* bytes of a page; escaped it may be twice that */
	OBSERVE_JSON_MAX = 48 << 20, /* bytes of its tree: CDP_MESSAGE_MAX and frames */
};

EMBED(observe_mark, "src/browser/observe/mark.js");

enum {
	ATTEMPTS = 5,
	PAUSE_MS = 100,    /* before the second attempt; grows with each attempt */
	SETTLE_MS = 2000,  /* after that pause; shrinks with each attempt */
	PICTURE_MS = 4000, /* after all else; a page that always navigates has none */
	PARAMS_MAX = 4096,
	TREES_PENDING_MAX =
		CDP_PENDING_MAX / 4, /* frames whose trees are requested together */
	MARK_MS = 4000,   /* for mark.js; what the page makes of it may never end */
	UNMARK_MS = 2000, /* to remove the marks when all other time is over */
	TREE_MS = 15000,  /* for the trees; a page of 60,000 elements takes half of it */
};

/* A frame of the page, and the element that contains it. */
struct observe_frame {
	struct str id;
	size_t parent; /* itself for the first, the main frame */
	struct str bid;
	int64_t owner; /* backendNodeId */
	bool marked;
	uint64_t asked; /* the ID of the request for its tree */
};

struct observe_attempt {
	struct tab *t;
	const struct observe_options *want;
	struct page_observation *o;
	struct arena *a;
	uint64_t deadline;
	bool last_attempt; /* the last attempt, which accepts a partial result */
	bool isolated;    /* mark.js runs in an isolated world, out of the page's reach */
	bool tree_busy;   /* the page still computes a tree whose request has timed out */
	bool no_snapshot; /* the DOM snapshot is too large */
	struct observe_frame *view;
	size_t views_n;
};

void page_observation_init(struct page_observation *o)
{
	*o = (struct page_observation){
		.picture = BUF_INIT(OBSERVE_PICTURE_MAX),
		.marks = BUF_INIT(OBSERVE_PICTURE_MAX),
		.text = BUF_INIT(OBSERVE_TEXT_MAX),
		.axtree = BUF_INIT(OBSERVE_JSON_MAX),
		.props = BUF_INIT(OBSERVE_JSON_MAX),
	};
	arena_init(&o->memory, CDP_MEMORY_MAX);
}

void page_observation_free(struct page_observation *o)
{
	arena_reset(&o->memory);
	buf_free(&o->picture);
	buf_free(&o->marks);
	buf_free(&o->text);
	buf_free(&o->axtree);
	buf_free(&o->props);
	page_observation_init(o);
}

/* The last attempt tolerates a refusal. A part of the observation is missing then. */
static int observe_filter_error(const struct observe_attempt *l, int r)
{
	return l->last_attempt && r == ERR_REFUSED ? 0 : r;
}

/* --- Frames ----------------------------------------------------------------------- */

static int observe_add_frame(
	struct observe_attempt *l, struct json_val frame, size_t parent)
{
	struct observe_frame *v = &l->view[l->views_n];
	int r = json_str(json_get(frame, "id"), l->a, &v->id);

	if (r)
		return r;
	v->parent = parent;
	l->views_n++;
	return 0;
}

/* Lists the frames in the contract's order of their trees: the last child first. */
static int observe_read_frames(struct observe_attempt *l, struct json_val tree)
{
	struct open {
		struct json_val tree;
		size_t parent;
	} *todo = arena_array(l->a, BROWSER_FRAMES_MAX, sizeof(*todo));
	size_t todo_n = 1;
	struct json_val child;
	int it, r;

	l->view = arena_array(l->a, BROWSER_FRAMES_MAX, sizeof(*l->view));
	if (!todo || !l->view)
		return -ENOMEM;
	todo[0] = (struct open){tree, 0};
	while (todo_n && l->views_n < BROWSER_FRAMES_MAX) {
		struct open at = todo[--todo_n];

		r = observe_add_frame(l, json_get(at.tree, "frame"), at.parent);
		if (r)
			return r;
		at.parent = l->views_n - 1;
		at.tree = json_get(at.tree, "childFrames");
		for (it = 0; todo_n < BROWSER_FRAMES_MAX &&
			json_next(at.tree, &it, NULL, &child);
			todo_n++)
			todo[todo_n] = (struct open){child, at.parent};
	}
	return 0;
}

static int observe_list_frames(struct observe_attempt *l)
{
	struct json_val result;
	int r = tab_call(l->t, "Page.getFrameTree", STR(""), l->deadline, l->a, &result);

	/* With thirty nested frames (ERR_DEPTH) only the main frame is observed. */
	if (r == ERR_DEPTH) {
		l->view = arena_array(l->a, 1, sizeof(*l->view));
		if (!l->view)
			return -ENOMEM;
		l->view[l->views_n++] =
			(struct observe_frame){.id = str_c(tab_main_frame(l->t)->id)};
		return 0;
	}
	return r ? r : observe_read_frames(l, json_get(result, "frameTree"));
}

/* Writes the parameters of a request about a frame. */
static void observe_put_frame_id(struct buf *out, const struct observe_frame *v)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "frameId");
	jw_str(&w, v->id);
	jw_end(&w);
}

/* Whether sandboxed content may run scripts. If not, mark.js cannot run there either. */
static bool observe_allows_scripts(struct str sandbox)
{
	while (sandbox.n) {
		struct str word = str_cut(&sandbox, ' ');

		if (str_eq_nocase(word, STR("allow-scripts")))
			return true;
	}
	return false;
}

/* Reads the attributes of a frame's element: its bid, if the frame can be marked. */
static int observe_read_owner(
	struct observe_attempt *l, struct observe_frame *v, struct json_val node)
{
	struct json_val list = json_get(node, "attributes"), name, value;
	struct str id, key, text, bid = {0};
	bool scripts = true;
	int it = 0;
	int r = json_str(json_get(node, "frameId"), l->a, &id);

	if (r == ERR_TYPE || (!r && !str_eq(id, v->id)))
		return 0; /* it shows its own document, such as the PDF viewer */
	while (!r && json_next(list, &it, NULL, &name) &&
		json_next(list, &it, NULL, &value)) {
		r = json_str(name, l->a, &key);
		if (!r)
			r = json_str(value, l->a, &text);
		if (!r && str_eq(key, STR("bid")) && names_is_bid(text))
			bid = text;
		else if (!r && str_eq(key, STR("sandbox")))
			scripts = observe_allows_scripts(text);
	}
	if (!r && scripts)
		v->bid = bid;
	return r;
}

static int observe_find_owner(struct observe_attempt *l, struct observe_frame *v)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct json_val result;
	int r;

	observe_put_frame_id(&params, v);
	r = tab_call_take(l->t, "DOM.getFrameOwner", &params, l->deadline, l->a, &result);
	if (!r)
		r = json_i64(json_get(result, "backendNodeId"), &v->owner);
	if (r)
		return r;
	/* They are read again: marking the frame's parent has changed them. */
	buf_fmt(&params, "{\"backendNodeId\":%lld}", (long long)v->owner);
	r = tab_call_take(l->t, "DOM.describeNode", &params, l->deadline, l->a, &result);
	return r ? r : observe_read_owner(l, v, json_get(result, "node"));
}

/* --- Marks ------------------------------------------------------------------------ */

static int observe_call_script(struct observe_attempt *l, struct page_frame *f,
	struct str args, struct json_val *value)
{
	int r = tab_eval(l->t, f, embed_text(&observe_mark).p, args,
		clock_min_deadline(MARK_MS, l->deadline), l->a, value);

	/* If the whole observation has timed out, the page is not to blame. */
	if (r != -ETIMEDOUT || l->isolated || clock_ms() >= l->deadline)
		return r;
	tab_end_script(l->t);
	l->isolated = true;
	return ERR_REFUSED;
}

/* Runs a step of mark.js in a frame. */
static int observe_run_mark_step(struct observe_attempt *l, const struct observe_frame *v,
	const char *step, struct str bid, struct json_val *value)
{
	struct page_frame *f = tab_find_frame(l->t, v->id), world;
	struct buf args = BUF_INIT(OBSERVE_TEXT_MAX);
	struct jw w;
	int r = f ? 0 : ERR_REFUSED;

	if (!r && l->isolated) {
		r = tab_create_world(l->t, v->id, l->deadline, l->a, &world);
		f = &world;
	}
	if (r)
		return r;
	jw_init(&w, &args);
	jw_array(&w);
	jw_object(&w);
	jw_key(&w, "value");
	jw_cstr(&w, step);
	jw_end(&w);
	jw_object(&w);
	jw_key(&w, "value");
	jw_str(&w, bid);
	jw_end(&w);
	jw_end(&w);
	r = args.err ? args.err : observe_call_script(l, f, buf_view(&args), value);
	buf_free(&args);
	return r;
}

static int observe_mark_frame(struct observe_attempt *l, size_t i)
{
	struct observe_frame *v = &l->view[i];
	struct json_val nothing;
	int r = 0;

	if (i) {
		r = observe_find_owner(l, v);
		if (r || !v->bid.n || !l->view[v->parent].marked)
			return r;
	}
	r = observe_run_mark_step(l, v, "mark", v->bid, &nothing);
	v->marked = !r;
	return r;
}

/* The browser reports visibility frame by frame, while other frames are marked. */
static int observe_mark_frames(struct observe_attempt *l)
{
	struct json_val nothing;
	int r = 0;

	for (size_t i = 0; !r && i < l->views_n; i++)
		r = observe_filter_error(l, observe_mark_frame(l, i));
	for (size_t i = 0; !r && i < l->views_n; i++)
		if (l->view[i].marked)
			r = observe_filter_error(l,
				observe_run_mark_step(
					l, &l->view[i], "wait", STR(""), &nothing));
	return r;
}

static int observe_unmark_frames(struct observe_attempt *l)
{
	struct json_val nothing;
	int r = 0;

	for (size_t i = 0; !r && i < l->views_n; i++) {
		if (!l->view[i].marked)
			continue;
		r = observe_run_mark_step(l, &l->view[i], "unmark", STR(""), &nothing);
		if (r == ERR_REFUSED || r == -ETIMEDOUT)
			r = 0;
	}
	return r;
}

/* The marked frame in the element with that bid in the frame outer; NULL if none. */
static const struct observe_frame *observe_find_child_frame(
	const struct observe_attempt *l, const struct observe_frame *outer,
	struct str bid)
{
	for (size_t i = 1; i < l->views_n; i++) {
		const struct observe_frame *v = &l->view[i];

		if (v->marked && &l->view[v->parent] == outer && str_eq(v->bid, bid))
			return v;
	}
	return NULL;
}

/* Finds the innermost focused element, from frame to frame. */
static int observe_find_focus(struct observe_attempt *l)
{
	const struct observe_frame *v = &l->view[0];
	struct json_val value;
	struct str bid;
	int r;

	l->o->focused = STR("");
	while (v) {
		r = observe_run_mark_step(l, v, "focus", STR(""), &value);
		if (r)
			return observe_filter_error(l, r);
		r = json_str(value, l->a, &bid);
		if (!r && !bid.n)
			return 0;
		/* The focused element has no bid, or the page has changed its bid. */
		if (r == ERR_TYPE || (!r && !names_is_bid(bid))) {
			l->o->focused = str_make(NULL, 0);
			return 0;
		}
		if (r)
			return r;
		l->o->focused = bid;
		v = observe_find_child_frame(l, v, bid);
	}
	return 0;
}

/* --- Replies ---------------------------------------------------------------------- */

static bool observe_needs_tree(const struct observe_options *want)
{
	return want->objects || !want->visit;
}

static int observe_request_tree(struct observe_attempt *l, struct observe_frame *v)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	int r;

	observe_put_frame_id(&params, v);
	r = params.err ? params.err
		       : tab_send(l->t, "Accessibility.getFullAXTree", buf_view(&params),
				 &v->asked);
	buf_free(&params);
	return r;
}

static int observe_wait_tree(
	struct observe_attempt *l, struct observe_frame *v, uint64_t deadline)
{
	struct json_val result;
	int r = cdp_wait(&l->t->browser->cdp, v->asked, deadline, l->a, &result);

	r = r ? observe_filter_error(l, r) : axtree_add_frame(&l->o->tree, v->id, result);
	/* A tree that is too large or too late is left out. The rest is kept. */
	if (r == ERR_LIMIT || r == -ETIMEDOUT)
		l->o->text_error = err_text(r);
	l->tree_busy = r == -ETIMEDOUT;
	return l->o->text_error ? 0 : r;
}

static int observe_collect_trees(struct observe_attempt *l)
{
	uint64_t end = clock_min_deadline(TREE_MS, l->deadline);
	size_t asked = 0;
	int r = 0;

	for (size_t i = 0; !r && !l->o->text_error && i < l->views_n; i++) {
		for (; !r && asked < l->views_n && asked - i < TREES_PENDING_MAX; asked++)
			r = observe_request_tree(l, &l->view[asked]);
		if (!r)
			r = observe_wait_tree(l, &l->view[i], end);
	}
	for (size_t i = 0; i < asked; i++)
		cdp_drop_reply(&l->t->browser->cdp, l->view[i].asked);
	return r;
}

/* Attaches the trees of frames to the elements that contain the frames. */
static void observe_join_trees(struct observe_attempt *l)
{
	struct axtree *tree = &l->o->tree;
	size_t at = 0;

	while (axtree_next_owner(tree, &at))
		for (size_t i = 1; i < l->views_n; i++)
			if (l->view[i].owner == tree->node[at].backend)
				axtree_attach_frame(tree, at, l->view[i].id);
}

static int observe_wait_snapshot(struct observe_attempt *l, uint64_t id)
{
	struct json_val result;
	int r = cdp_wait(&l->t->browser->cdp, id, l->deadline, l->a, &result);

	if (!r)
		r = snapshot_read(&l->o->snapshot, result, l->a);
	if (!r)
		r = props_read(&l->o->marked, &l->o->snapshot, l->a);
	if (r != ERR_LIMIT)
		return r;
	l->o->text_error = err_text(r);
	l->no_snapshot = true;
	return 0;
}

static int observe_wait_picture(struct observe_attempt *l, uint64_t id)
{
	struct json_val result;
	struct str coded;
	int r = cdp_wait(&l->t->browser->cdp, id,
		clock_min_deadline(PICTURE_MS, l->deadline), l->a, &result);

	if (!r)
		r = json_str(json_get(result, "data"), l->a, &coded);
	if (r == -ETIMEDOUT)
		return 0;
	return r ? observe_filter_error(l, r) : b64_decode(&l->o->picture, coded);
}

/* Whether another attempt may succeed: the page has changed, or has navigated. */
static bool observe_is_transient(int r)
{
	return r == ERR_REFUSED || r == -EPIPE;
}

/* Sends all requests at once. The picture takes longest: it waits for the screen. */
static int observe_request_all(struct observe_attempt *l)
{
	struct cdp *c = &l->t->browser->cdp;
	uint64_t snapshot = 0, picture = 0;
	int r = tab_send(l->t, "DOMSnapshot.captureSnapshot",
		STR("{\"computedStyles\":[],\"includeDOMRects\":true,"
		    "\"includePaintOrder\":true}"),
		&snapshot);

	if (!r)
		r = tab_send(l->t, "Page.captureScreenshot", STR("{\"format\":\"png\"}"),
			&picture);
	if (!r && observe_needs_tree(l->want))
		r = observe_collect_trees(l);
	/* A script called before the snapshot arrives would only wait for it. */
	if (!r)
		r = observe_wait_snapshot(l, snapshot);
	if (!r && !l->tree_busy)
		r = observe_find_focus(l);
	/* Marks that stay in a page that changes are lost with that page. */
	if (!r)
		r = observe_unmark_frames(l);
	if (!r)
		r = observe_wait_picture(l, picture);
	cdp_drop_reply(c, snapshot);
	cdp_drop_reply(c, picture);
	return r;
}

/* --- The whole observation -------------------------------------------------------- */

static int observe_write_text(struct observe_attempt *l)
{
	struct page_observation *o = l->o;
	int r = 0;

	if (l->no_snapshot)
		return 0;
	if (l->want->visit)
		r = page_text_print(&o->snapshot, &o->text, &o->memory);
	else if (!o->text_error)
		r = axtree_print(&o->tree, &o->marked, &l->want->view, &o->text);
	if (r && r != -ENOMEM) {
		buf_reset(&o->text);
		o->text_error = err_text(r);
		return 0;
	}
	return r;
}

static int observe_write_objects(struct observe_attempt *l)
{
	struct jw w;
	int r;

	jw_init(&w, &l->o->axtree);
	r = axtree_write(&l->o->tree, &w);
	if (r)
		return r;
	jw_init(&w, &l->o->props);
	props_write(&l->o->marked, &w);
	return l->o->props.err;
}

/* If the marks cannot be drawn, their picture is left out: agents have the plain one. */
static int observe_draw_marks(struct observe_attempt *l)
{
	struct page_observation *o = l->o;
	int r = marks_put_png(buf_view(&o->picture), &o->marked, &o->marks);

	if (r)
		buf_reset(&o->marks);
	return r == -ENOMEM ? r : 0;
}

static int observe_run_attempt(struct observe_attempt *l)
{
	int r = observe_list_frames(l);

	axtree_init(&l->o->tree, l->a);
	if (!r)
		r = observe_mark_frames(l);
	if (!r)
		r = observe_request_all(l);
	/* After other errors the marks are removed from the page. */
	if (r && !observe_is_transient(r)) {
		l->deadline = clock_ms() + UNMARK_MS;
		(void)observe_unmark_frames(l);
	}
	if (r)
		return r;
	observe_join_trees(l);
	r = observe_write_text(l);
	if (!r && l->want->objects && !l->o->text_error)
		r = observe_write_objects(l);
	return r || !l->want->marks ? r : observe_draw_marks(l);
}

int observe_page(struct browser *b, const struct observe_options *want, uint64_t deadline,
	struct page_observation *o)
{
	bool apart = false;
	int r = 0;

	for (unsigned i = 1; i <= ATTEMPTS; i++) {
		struct observe_attempt l = {
			.t = browser_active_tab(b),
			.want = want,
			.o = o,
			.a = &o->memory,
			.deadline = deadline,
			.last_attempt = i == ATTEMPTS,
			.isolated = apart || i == ATTEMPTS,
		};

		page_observation_free(o);
		r = l.t ? observe_run_attempt(&l) : -EPIPE;
		apart = l.isolated;
		/* If another tab has become active, it is observed instead. */
		if (!r && !l.last_attempt && browser_active_tab(b) != l.t)
			r = -EPIPE;
		if (!r)
			return 0;
		page_observation_free(o);
		if (!observe_is_transient(r) || l.last_attempt)
			return r;
		r = browser_pump(b, clock_ms() + PAUSE_MS * i);
		if (!r)
			r = browser_settle(b, clock_ms() + SETTLE_MS / i);
		if (r)
			return r;
	}
	return r;
}
