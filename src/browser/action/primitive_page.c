/* Primitives for pages and tabs. */
#include "base/clock.h"
#include "browser/page/input.h"

enum {
	GOTO_MS = 100000, /* of the contract */
	NOOP_MAX_MS = 3600000,
	TAB_MS = 10000,
};

int primitive_noop(struct action_call *d, const struct value *const *values)
{
	double ms = 1000;
	int r = values[0] ? action_call_read_double(d, "wait_timeout", values[0], &ms)
			  : 0;

	if (r)
		return r;
	ms = ms < 0 ? 0 : ms > NOOP_MAX_MS ? NOOP_MAX_MS : ms;
	return browser_pump(d->browser, clock_ms() + (uint64_t)ms);
}

/* The message has no receiver here. The caller has already read it in the action. */
int primitive_message(struct action_call *d, const struct value *const *values)
{
	struct buf shown = BUF_INIT(CALLLOG_LINE_MAX);
	int r;

	if (values[0]->kind == VALUE_STRING)
		return 0;
	value_put_repr(&shown, values[0]);
	r = action_call_refuse(d, "ValueError: Forbidden value: %.*s is not a string",
		STR_ARG(buf_view(&shown)));
	buf_free(&shown);
	return r;
}

int primitive_scroll(struct action_call *d, const struct value *const *values)
{
	double dx, dy;
	struct element root;
	struct input in;
	struct str word;
	int r = action_call_read_double(d, "delta_x", values[0], &dx);

	if (!r)
		r = action_call_read_double(d, "delta_y", values[1], &dy);
	if (r)
		return r;
	input_init(&in, d);
	input_turn_wheel(&in, dx, dy);
	r = input_wait(&in);
	/* The request returns long before the page has scrolled. */
	if (!r)
		r = element_find_root(d, &root);
	if (!r)
		r = element_end(d, &root,
			element_call_strings(d, &root, &word, "rest", (char *)NULL));
	return r;
}

/* --- Navigation ------------------------------------------------------------------- */

/* Sets the error text of a navigation that failed. url is empty for the history. */
static int primitive_set_goto_error(
	struct action_call *d, const struct tab_navigation *moved, struct str url)
{
	switch (moved->result) {
	case NAV_LOADED:
	case NAV_NO_ENTRY:
		return 0;
	case NAV_REFUSED:
		return action_call_fail(d, "Error",
			"Protocol error (Page.navigate): %.*s", STR_ARG(moved->reason));
	case NAV_DOWNLOAD:
		return action_call_fail(d, "Error", "Download is starting");
	case NAV_FAILED:
		if (!url.n)
			return action_call_fail(
				d, "Error", "%.*s", STR_ARG(moved->reason));
		return action_call_fail(
			d, "Error", "%.*s at %.*s", STR_ARG(moved->reason), STR_ARG(url));
	default:
		return action_call_fail_timeout(d, GOTO_MS);
	}
}

int primitive_goto(struct action_call *d, const struct value *const *values)
{
	struct buf whole = BUF_INIT(BROWSER_URL_MAX);
	struct tab_navigation moved;
	struct str url;
	int r = action_call_read_str(d, "url", values[0], &url);

	if (r)
		return r;
	if (str_starts(url, STR("localhost")) || str_starts(url, STR("127.0.0.1")))
		buf_puts(&whole, "http://");
	buf_str(&whole, url);
	url = buf_view(&whole);
	calllog_add(&d->log, 0, "navigating to \"%.*s\", waiting until \"load\"",
		STR_ARG(url));
	r = whole.err ? whole.err
		      : tab_navigate(d->tab, url, clock_ms() + GOTO_MS, d->arena, &moved);
	if (!r)
		r = primitive_set_goto_error(d, &moved, url);
	buf_free(&whole);
	return r;
}

static int primitive_move_in_history(struct action_call *d, int step)
{
	struct tab_navigation moved;
	int r;

	calllog_add(&d->log, 0, "waiting for navigation until \"load\"");
	r = tab_navigate_history(d->tab, step, clock_ms() + GOTO_MS, d->arena, &moved);
	return r ? r : primitive_set_goto_error(d, &moved, STR(""));
}

int primitive_go_back(struct action_call *d, const struct value *const *values)
{
	(void)values;
	return primitive_move_in_history(d, -1);
}

int primitive_go_forward(struct action_call *d, const struct value *const *values)
{
	(void)values;
	return primitive_move_in_history(d, 1);
}

/* --- Tabs ------------------------------------------------------------------------- */

int primitive_new_tab(struct action_call *d, const struct value *const *values)
{
	(void)values;
	return browser_new_tab(d->browser, clock_ms() + TAB_MS);
}

int primitive_tab_close(struct action_call *d, const struct value *const *values)
{
	(void)values;
	return browser_close_tab(d->browser, clock_ms() + TAB_MS);
}

/* The index of a tab; negative numbers count from the end; SIZE_MAX if there is none. */
static size_t primitive_find_tab_index(const struct action_call *d, double index)
{
	double tabs = (double)browser_count_tabs(d->browser);

	if (index < 0)
		index += tabs;
	return index < 0 || index >= tabs ? SIZE_MAX : (size_t)index;
}

int primitive_tab_focus(struct action_call *d, const struct value *const *values)
{
	const struct value *v = values[0];
	struct tab *tab = NULL;
	double index;
	size_t place;

	if (v->kind == VALUE_FLOAT || value_read_double(v, &index))
		return action_call_refuse(d,
			"TypeError: list indices must be integers or slices, not %s",
			value_type_name(v));
	place = primitive_find_tab_index(d, index);
	if (place != SIZE_MAX)
		tab = browser_tab_at(d->browser, place);
	if (!tab)
		return action_call_refuse(d, "IndexError: list index out of range");
	return browser_focus_tab(d->browser, tab, clock_ms() + TAB_MS);
}
