#include "browser/page/action_call.h"

#include "base/clock.h"
#include "browser/page/element.h"

#include <errno.h>
#include <float.h>
#include <stdarg.h>
#include <stdio.h>

enum {
	ANSWER_MS = 2000,  /* for a busy page to answer */
	DESCRIBE_MS = 200, /* to describe the element of an error */
};

void action_call_begin(struct action_call *d)
{
	uint64_t now = clock_ms();

	d->deadline = now + ACTION_CALL_TRY_MS;
	d->answer_deadline = now + ANSWER_MS;
	calllog_init(&d->log, d->arena);
}

/* --- Error texts ------------------------------------------------------------------ */

static void PRINTF(2, 0)
	action_call_put_va(struct action_call *d, const char *fmt, va_list ap)
{
	char line[CALLLOG_LINE_MAX];

	vsnprintf(line, sizeof(line), fmt, ap);
	buf_puts(d->error, line);
}

int action_call_refuse(struct action_call *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	action_call_put_va(d, fmt, ap);
	va_end(ap);
	return ERR_REFUSED;
}

/* Prepends to the log which element the bid was resolved to. */
static void action_call_log_element(struct action_call *d)
{
	const struct element *e = d->element;
	struct str word;

	if (!e)
		return;
	d->element = NULL;
	calllog_insert(
		&d->log, 0, 0, "waiting for get_by_test_id(\"%.*s\")", STR_ARG(e->bid));
	d->answer_deadline = clock_ms() + DESCRIBE_MS;
	if (element_call_strings(d, e, &word, "show", (char *)NULL) == 0)
		calllog_insert(&d->log, 1, 1, "locator resolved to %.*s", STR_ARG(word));
}

int action_call_fail(struct action_call *d, const char *kind, const char *fmt, ...)
{
	va_list ap;

	action_call_log_element(d);
	buf_fmt(d->error, "%s: %s: ", kind, d->api);
	va_start(ap, fmt);
	action_call_put_va(d, fmt, ap);
	va_end(ap);
	calllog_put(&d->log, d->error);
	return ERR_REFUSED;
}

int action_call_fail_timeout(struct action_call *d, unsigned ms)
{
	return action_call_fail(d, "TimeoutError", "Timeout %ums exceeded.", ms);
}

int action_call_set_error(struct action_call *d, int r)
{
	if (d->error->n)
		return r;
	switch (r) {
	case ERR_REFUSED:
		return action_call_fail(d, "Error", "%s", d->browser->cdp.refusal);
	case -ETIMEDOUT:
		return action_call_fail_timeout(d, ACTION_CALL_TRY_MS);
	case -EPIPE:
		d->element = NULL;
		if (d->tab->state == TAB_CLOSED)
			return action_call_fail(d, "TargetClosedError",
				"Target page, context or browser has been closed");
		return action_call_fail(d, "Error", "Target crashed");
	case ERR_LIMIT:
	case ERR_TYPE:
	case ERR_SYNTAX:
		return action_call_fail(d, "Error", "%s", err_text(r));
	default:
		return r;
	}
}

bool action_call_is_stale(const struct action_call *d, int r)
{
	static const struct str signs[] = {
		STR("frameId"),            /* "Frame with the given frameId is not... */
		STR("context"),            /* "Cannot find context with specified id" */
		STR("navigated"),          /* "Inspected target navigated or closed" */
		STR("find object"),        /* "Could not find object with given id" */
		STR("does not belong to"), /* "Node with given id does not... */
	};
	struct str words = str_c(d->browser->cdp.refusal);

	if (r != ERR_REFUSED || d->error->n)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (str_find(words, signs[i]) < words.n)
			return true;
	return false;
}

/* --- Arguments -------------------------------------------------------------------- */

bool action_call_has_value(const struct value *v)
{
	return v && v->kind != VALUE_NONE;
}

const char *action_call_js_type(const struct value *v)
{
	if (!action_call_has_value(v))
		return "undefined";
	switch (v->kind) {
	case VALUE_FALSE:
	case VALUE_TRUE:
		return "boolean";
	case VALUE_INT:
	case VALUE_FLOAT:
		return "number";
	case VALUE_STRING:
		return "string";
	default:
		return "object";
	}
}

static int action_call_refuse_type(struct action_call *d, const char *param,
	const char *wanted, const struct value *v)
{
	return action_call_refuse(d, "Error: %s: %s: expected %s, got %s", d->api, param,
		wanted, action_call_js_type(v));
}

int action_call_read_str(
	struct action_call *d, const char *param, const struct value *v, struct str *out)
{
	if (!v || v->kind != VALUE_STRING)
		return action_call_refuse_type(d, param, "string", v);
	*out = v->text;
	return 0;
}

int action_call_read_double(
	struct action_call *d, const char *param, const struct value *v, double *out)
{
	int r;

	if (!v || (v->kind != VALUE_INT && v->kind != VALUE_FLOAT))
		return action_call_refuse_type(d, param, "float", v);
	r = value_read_double(v, out);
	/* Chromium never answers an input with a number that is infinite as a float. */
	if (!r && *out > FLT_MAX)
		*out = FLT_MAX;
	else if (!r && *out < -FLT_MAX)
		*out = -FLT_MAX;
	return r;
}
