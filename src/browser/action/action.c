#include "browser/action/action.h"

#include "base/clock.h"
#include "browser/page/action_call.h"
#include "limits.h"

#include <errno.h>

enum { SETTLE_MS = 10000 }; /* for a whole browser_settle */

struct action_step {
	struct call call;
	const struct primitive *of;
	struct action_step *next;
};

/*
 * Parses all calls before the first one runs. ERR_REFUSED: a call is unknown or invalid;
 * error has the text.
 */
static int browser_action_parse(struct browser *b, struct str text, struct arena *a,
	struct buf *error, struct action_step **steps)
{
	struct action_step *step, **end = steps;
	struct grammar g;
	size_t n = 0;
	int r;

	grammar_init(&g, text, a);
	do {
		step = arena_alloc(a, sizeof(*step));
		r = step ? grammar_next(&g, &step->call) : -ENOMEM;
		if (r)
			break;
		step->of = primitive_find(step->call.name, b->by_place);
		*end = step;
		end = &step->next;
	} while (++n < ACTION_CALLS_MAX);
	grammar_free(&g);
	*end = NULL;
	if (r == ERR_TYPE)
		buf_puts(error,
			"ValueError: \\N{...} in a string is not known here; \\u and "
			"\\U are.");
	if (r < 0 && r != ERR_TYPE)
		return r;
	if (!r)
		buf_fmt(error, "ValueError: The action has too many calls.");
	else if (!n && !error->n)
		buf_fmt(error, "ValueError: Received an empty action.");
	for (step = *steps; step && !error->n; step = step->next)
		if (!step->of)
			buf_fmt(error, "NameError: Invalid action type '%.*s'.",
				STR_ARG(step->call.name));
	for (step = *steps; step && !error->n; step = step->next)
		if (primitive_check(&step->call, error))
			break;
	return error->err ? error->err : error->n ? ERR_REFUSED : 0;
}

static int browser_action_run_step(struct browser *b, const struct action_step *step,
	struct arena *a, struct buf *error)
{
	const struct value *values[PRIMITIVE_PARAMS_MAX];
	struct action_call d = {
		.browser = b,
		.tab = browser_active_tab(b),
		.arena = a,
		.error = error,
		.api = step->of->api,
	};
	int r = primitive_bind(step->of, &step->call, values, error);

	if (r)
		return ERR_REFUSED;
	if (!d.tab)
		return -EPIPE;
	action_call_begin(&d);
	r = step->of->run(&d, values);
	return r ? action_call_set_error(&d, r) : 0;
}

int browser_action_run(
	struct browser *b, struct str text, struct arena *a, struct buf *error)
{
	struct action_step *steps = NULL;
	int r = browser_action_parse(b, text, a, error, &steps), rest;

	if (r)
		return r == ERR_REFUSED ? 0 : r;
	for (const struct action_step *step = steps; step && !r; step = step->next) {
		r = browser_action_run_step(b, step, a, error);
		if (r && r != ERR_REFUSED)
			return r;
		rest = browser_settle(b, clock_ms() + SETTLE_MS);
		if (rest)
			return rest;
	}
	return error->err;
}
