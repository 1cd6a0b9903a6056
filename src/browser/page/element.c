#include "browser/page/element.h"

#include "base/clock.h"
#include "base/embed.h"
#include "base/jw.h"

#include <errno.h>
#include <stdarg.h>

enum {
	ARGS_MAX = 32 << 20, /* of JSON: a text to fill in */
	PAUSES_N = 5,
	DOCUMENT_PAUSE_MS = 20, /* between attempts to find a document */
};

/* Pauses in milliseconds before further attempts. The last one repeats. */
static const unsigned pauses[PAUSES_N] = {0, 20, 100, 100, 500};

EMBED(element_script, "src/browser/page/element.js");

/* --- Calls of element.js ---------------------------------------------------------- */

int element_call_json(
	struct action_call *d, struct str object, struct str args, struct str *word)
{
	struct json_val value;
	int r = tab_eval_on(d->tab, object, embed_text(&element_script).p, args,
		d->answer_deadline, d->arena, &value);

	if (r)
		return r;
	r = json_str(value, d->arena, word);
	return r == ERR_TYPE ? ERR_REFUSED : r;
}

static void element_put_arg(struct jw *w, struct str s)
{
	jw_object(w);
	jw_key(w, "value");
	jw_str(w, s);
	jw_end(w);
}

int element_call_strings(struct action_call *d, const struct element *e, struct str *word,
	const char *what, ...)
{
	struct buf args = BUF_INIT(ARGS_MAX);
	struct jw w;
	va_list ap;
	int r;

	jw_init(&w, &args);
	jw_array(&w);
	va_start(ap, what);
	for (; what; what = va_arg(ap, const char *))
		element_put_arg(&w, str_c(what));
	va_end(ap);
	jw_end(&w);
	r = args.err ? args.err : element_call_json(d, e->object, buf_view(&args), word);
	buf_free(&args);
	return r;
}

int element_call_value(struct action_call *d, const struct element *e, const char *what,
	const struct value *v, struct str *word)
{
	struct buf args = BUF_INIT(ARGS_MAX);
	struct jw w;
	int r;

	jw_init(&w, &args);
	jw_array(&w);
	element_put_arg(&w, str_c(what));
	if (v->kind == VALUE_STRING)
		element_put_arg(&w, v->text);
	for (const struct value *one = v->first; one; one = one->next)
		element_put_arg(&w, one->text);
	jw_end(&w);
	r = args.err ? args.err : element_call_json(d, e->object, buf_view(&args), word);
	buf_free(&args);
	return r;
}

/* --- Finding the element ---------------------------------------------------------- */

/* Returns the result of find or root of element.js in a frame; empty: none. */
static int element_find_in_frame(struct action_call *d, struct str frame,
	const char *what, struct str bid, struct str *object)
{
	struct buf args = BUF_INIT(ARGS_MAX);
	struct page_frame world;
	struct jw w;
	int r = tab_create_world(d->tab, frame, d->answer_deadline, d->arena, &world);

	if (r)
		return r;
	jw_init(&w, &args);
	jw_array(&w);
	element_put_arg(&w, str_c(what));
	element_put_arg(&w, bid);
	jw_end(&w);
	r = args.err ? args.err
		     : tab_eval_object(d->tab, &world, embed_text(&element_script).p,
			       buf_view(&args), d->answer_deadline, d->arena, object);
	buf_free(&args);
	return r;
}

static void element_put_object(struct buf *params, struct str object)
{
	struct jw w;

	jw_init(&w, params);
	jw_object(&w);
	jw_key(&w, "objectId");
	jw_str(&w, object);
	jw_end(&w);
}

/* Sends a request about an object. */
static int element_call_node(struct action_call *d, const char *method, struct str object,
	struct json_val *result)
{
	struct buf params = BUF_INIT(CDP_WORDS_MAX);

	element_put_object(&params, object);
	return tab_call_take(
		d->tab, method, &params, d->answer_deadline, d->arena, result);
}

/* The ID of the frame in an iframe; ERR_TYPE for other elements. */
static int element_find_frame(struct action_call *d, struct str object, struct str *frame)
{
	struct json_val result;
	int r = element_call_node(d, "DOM.describeNode", object, &result);

	return r ? r
		 : json_str(json_get(json_get(result, "node"), "frameId"), d->arena,
			   frame);
}

/* The end of the next part of a bid after from that names a frame; 0: there is none. */
static size_t element_frame_prefix_end(struct str bid, size_t from)
{
	size_t n = from;

	while (n < bid.n && bid.p[n] >= '0' && bid.p[n] <= '9')
		n++;
	if (n == bid.n)
		return 0;
	n = from + 1;
	while (n < bid.n && bid.p[n] >= 'A' && bid.p[n] <= 'Z')
		n++;
	return n;
}

static int element_refuse_missing(struct action_call *d, struct str bid)
{
	return action_call_refuse(
		d, "ValueError: Could not find element with bid \"%.*s\"", STR_ARG(bid));
}

/* Finds the element through the frames that its bid names. */
static int element_find_by_bid(struct action_call *d, struct element *e)
{
	struct page_frame *main = tab_main_frame(d->tab);
	struct str frame, object;
	size_t part = 0;
	int r;

	if (!main)
		return -EPIPE;
	frame = str_c(main->id);
	e->depth = 0;
	for (;;) {
		part = element_frame_prefix_end(e->bid, part);
		r = element_find_in_frame(d, frame, "find",
			part ? str_make(e->bid.p, part) : e->bid, &object);
		if (r)
			return r;
		if (!object.n)
			return element_refuse_missing(d, e->bid);
		if (!part) {
			e->object = object;
			return 0;
		}
		/* The bid of an iframe is also the prefix of the bids in its frame. */
		if (e->depth == ELEMENT_FRAMES_MAX)
			return ERR_LIMIT;
		e->frames[e->depth++] = object;
		r = element_find_frame(d, object, &frame);
		if (r)
			return r == ERR_TYPE ? element_refuse_missing(d, e->bid) : r;
	}
}

int element_find(struct action_call *d, const struct value *bid, struct element *e)
{
	struct buf shown = BUF_INIT(CALLLOG_LINE_MAX);
	int r;

	*e = (struct element){.depth = 0};
	if (bid->kind != VALUE_STRING) {
		value_put_repr(&shown, bid);
		r = action_call_refuse(d, "ValueError: expected a string, got %.*s",
			STR_ARG(buf_view(&shown)));
		buf_free(&shown);
		return r;
	}
	e->bid = bid->text;
	/* The document may be about to be replaced by the next one. */
	while (action_call_is_stale(d, r = element_find_by_bid(d, e)) &&
		clock_ms() < d->deadline) {
		r = browser_pump(d->browser, clock_ms() + DOCUMENT_PAUSE_MS);
		if (r)
			break;
	}
	if (!r)
		d->element = e;
	return r;
}

int element_find_root(struct action_call *d, struct element *e)
{
	struct page_frame *main = tab_main_frame(d->tab);

	*e = (struct element){.depth = 0};
	return main
		? element_find_in_frame(d, str_c(main->id), "root", STR(""), &e->object)
		: -EPIPE;
}

static void element_release_object(struct action_call *d, struct str object)
{
	struct buf params = BUF_INIT(CDP_WORDS_MAX);

	element_put_object(&params, object);
	if (object.n && !params.err && d->tab->state == TAB_READY)
		cdp_post(&d->browser->cdp, str_c(d->tab->session),
			"Runtime.releaseObject", buf_view(&params));
	buf_free(&params);
}

static void element_free_objects(struct action_call *d, struct element *e)
{
	for (size_t i = 0; i < e->depth; i++)
		element_release_object(d, e->frames[i]);
	element_release_object(d, e->object);
	e->depth = 0;
	e->object = STR("");
	if (d->element == e)
		d->element = NULL;
}

int element_end(struct action_call *d, struct element *e, int r)
{
	if (r)
		r = action_call_set_error(d, r);
	element_free_objects(d, e);
	return r;
}

/* --- Retries ---------------------------------------------------------------------- */

/* The page may have inserted the element anew, with the same bid. */
static int element_find_again(struct action_call *d, struct element *e)
{
	size_t told = d->error->n;
	struct element found = {.bid = e->bid};
	int r = element_find_by_bid(d, &found);

	if (!r) {
		element_free_objects(d, e);
		*e = found;
		d->element = e;
		return 0;
	}
	element_free_objects(d, &found);
	if (r == ERR_REFUSED) {
		d->error->n = told;
		r = 0;
	}
	return r;
}

int element_retry(struct action_call *d, struct element *e, const char *verb,
	element_attempt_fn *attempt, void *arg)
{
	int r = 0;

	calllog_add(&d->log, 0, "attempting %s action", verb);
	for (unsigned nth = 0;; nth++) {
		r = attempt(d, e, arg, nth);
		if (action_call_is_stale(d, r)) {
			calllog_add(&d->log, 1,
				"element was detached from the DOM, retrying");
			r = element_find_again(d, e);
			r = r ? r : 1;
		}
		if (r <= 0)
			return r;
		calllog_add(&d->log, 0, "retrying %s action", verb);
		if (nth) {
			unsigned ms = pauses[nth < PAUSES_N ? nth : PAUSES_N - 1];
			uint64_t then = clock_ms() + ms;

			calllog_add(&d->log, 1, "waiting %ums", ms);
			r = browser_pump(
				d->browser, then < d->deadline ? then : d->deadline);
			if (r)
				return r;
		}
		if (clock_ms() >= d->deadline)
			return action_call_fail_timeout(d, ACTION_CALL_TRY_MS);
		if (d->tab->state != TAB_READY)
			return -EPIPE;
	}
}

int element_log_verdict(struct action_call *d, struct str word)
{
	static const struct {
		struct str word;
		const char *line;
	} lines[] = {
		{STR("visible"), "element is not visible"},
		{STR("enabled"), "element is not enabled"},
		{STR("editable"), "element is not editable"},
		{STR("stable"), "element is not stable"},
		{STR("detached"), "element was detached from the DOM, retrying"},
		{STR("missing"), "did not find some options"},
		{STR("disabled"), "option being selected is not enabled"},
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (str_eq(word, lines[i].word)) {
			calllog_add(&d->log, 1, "%s", lines[i].line);
			return 1;
		}
	return 0;
}

int element_check_states(struct action_call *d, struct element *e, const char *a,
	const char *b, const char *c)
{
	struct str word;
	int r = element_call_strings(d, e, &word, "check", a, b, c, (char *)NULL);

	if (!r && str_eq(word, STR("detached")))
		r = element_find_again(d, e);
	return r ? r : element_log_verdict(d, word);
}

/* --- Pointing at the element ------------------------------------------------------ */

static int element_scroll_into_view(
	struct action_call *d, struct element *e, unsigned nth)
{
	static const char *const places[] = {NULL, "end", "center", "start"};
	const char *where = places[nth % ARRAY_LEN(places)];
	struct json_val result;
	struct str word;
	int r;

	calllog_add(&d->log, 1, "scrolling into view if needed");
	if (where)
		r = element_call_strings(d, e, &word, "scroll", where, (char *)NULL);
	else
		r = element_call_node(
			d, "DOM.scrollIntoViewIfNeeded", e->object, &result);
	if (r == ERR_REFUSED) {
		calllog_add(&d->log, 1, "element is not visible");
		return 1;
	}
	if (!r)
		calllog_add(&d->log, 1, "done scrolling");
	return r;
}

enum { CORNERS = 4 };

static int element_read_quad(struct json_val quad, struct point corners[CORNERS])
{
	double numbers[2 * CORNERS];
	struct json_val number;
	size_t n = 0;
	int it = 0;

	while (n < ARRAY_LEN(numbers) && json_next(quad, &it, NULL, &number)) {
		int r = json_double(number, &numbers[n++]);

		if (r)
			return r;
	}
	if (n < ARRAY_LEN(numbers))
		return ERR_TYPE;
	for (size_t i = 0; i < CORNERS; i++)
		corners[i] = (struct point){numbers[2 * i], numbers[2 * i + 1]};
	return 0;
}

static double element_clamp(double v, double max)
{
	return v < 0 ? 0 : v > max ? max : v;
}

/* The middle of the part of a quad in the viewport; false if that is almost empty. */
static bool element_find_middle(struct point corners[CORNERS], struct point *out)
{
	double area = 0;

	*out = (struct point){0, 0};
	for (size_t i = 0; i < CORNERS; i++) {
		corners[i].x = element_clamp(corners[i].x, BROWSER_WIDTH);
		corners[i].y = element_clamp(corners[i].y, BROWSER_HEIGHT);
	}
	for (size_t i = 0; i < CORNERS; i++) {
		struct point a = corners[i], b = corners[(i + 1) % CORNERS];

		area += (a.x * b.y - b.x * a.y) / 2;
		out->x += a.x / CORNERS;
		out->y += a.y / CORNERS;
	}
	return area > 0.99 || area < -0.99;
}

/*
 * Finds the middle of the first visible box of the element. Returns 0; positive: not
 * yet; or an error.
 */
static int element_find_visible_point(
	struct action_call *d, struct element *e, struct point *out)
{
	struct point corners[CORNERS];
	struct json_val result, quads = {0}, quad;
	int it = 0;
	int r = element_call_node(d, "DOM.getContentQuads", e->object, &result);

	if (r && r != ERR_REFUSED)
		return r;
	if (!r)
		quads = json_get(result, "quads");
	if (r || !json_count(quads)) {
		calllog_add(&d->log, 1, "element is not visible");
		return 1;
	}
	while (json_next(quads, &it, NULL, &quad))
		if (element_read_quad(quad, corners) == 0 &&
			element_find_middle(corners, out))
			return 0;
	calllog_add(&d->log, 1, "element is outside of the viewport");
	return 1;
}

/* The top left corner of an object's box, in the viewport of the page. */
static int element_find_corner(
	struct action_call *d, struct str object, struct point *out)
{
	struct point corners[CORNERS];
	struct json_val result;
	int r = element_call_node(d, "DOM.getBoxModel", object, &result);

	if (!r)
		r = element_read_quad(
			json_get(json_get(result, "model"), "border"), corners);
	if (r)
		return r;
	*out = corners[0];
	for (size_t i = 1; i < CORNERS; i++) {
		out->x = corners[i].x < out->x ? corners[i].x : out->x;
		out->y = corners[i].y < out->y ? corners[i].y : out->y;
	}
	return 0;
}

/*
 * Checks that a click at the point reaches the object. The check covers the object's own
 * document only.
 */
static int element_check_hit(struct action_call *d, struct str object, struct point at)
{
	struct buf args = BUF_INIT(CDP_WORDS_MAX);
	struct point corner;
	struct str word;
	struct jw w;
	int r = element_find_corner(d, object, &corner);

	if (r)
		return r == ERR_REFUSED || r == ERR_TYPE ? 0 : r;
	jw_init(&w, &args);
	jw_array(&w);
	element_put_arg(&w, STR("hit"));
	for (size_t i = 0; i < 4; i++) {
		const double values[] = {at.x, at.y, corner.x, corner.y};

		jw_object(&w);
		jw_key(&w, "value");
		jw_double(&w, values[i]);
		jw_end(&w);
	}
	jw_end(&w);
	r = args.err ? args.err : element_call_json(d, object, buf_view(&args), &word);
	buf_free(&args);
	if (r || str_eq(word, STR("done")))
		return r;
	calllog_add(&d->log, 1, "%.*s intercepts pointer events", STR_ARG(word));
	return 1;
}

int element_find_point(struct action_call *d, struct element *e, bool enabled,
	unsigned nth, struct point *out)
{
	const char *states =
		enabled ? "visible, enabled and stable" : "visible and stable";
	int r;

	calllog_add(&d->log, 1, "waiting for element to be %s", states);
	r = element_check_states(d, e, "visible", "stable", enabled ? "enabled" : NULL);
	if (r)
		return r;
	calllog_add(&d->log, 1, "element is %s", states);
	r = element_scroll_into_view(d, e, nth);
	if (!r)
		r = element_find_visible_point(d, e, out);
	for (size_t i = 0; !r && i < e->depth; i++)
		r = element_check_hit(d, e->frames[i], *out);
	return r ? r : element_check_hit(d, e->object, *out);
}
