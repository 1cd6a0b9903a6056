/* Primitives that set the values of a form. */
#include "browser/page/input.h"

/* The argument of an attempt: the value for the element. */
struct form_value {
	const struct value *value;
};

/* --- Texts ------------------------------------------------------------------------ */

/* Replaces the selection by the text. */
static int primitive_type_text(struct action_call *d, struct str text)
{
	struct input in;

	if (!text.n)
		return input_press_keys(d, STR("Delete"));
	input_init(&in, d);
	input_insert_text(&in, text);
	return input_wait(&in);
}

static int primitive_try_fill(
	struct action_call *d, struct element *e, void *arg, unsigned nth)
{
	const struct form_value *gift = arg;
	struct str word = {0};
	int r;

	(void)nth;
	calllog_add(
		&d->log, 1, "waiting for element to be visible, enabled and editable");
	r = element_check_states(d, e, "visible", "enabled", "editable");
	if (!r)
		r = element_call_value(d, e, "fill", gift->value, &word);
	if (r || !str_eq(word, STR("type")))
		return r;
	return primitive_type_text(d, gift->value->text);
}

static int primitive_fill_value(
	struct action_call *d, const struct value *bid, const struct value *value)
{
	struct form_value gift = {value};
	struct element e;
	struct str text;
	int r = element_find(d, bid, &e);

	if (!r)
		r = action_call_read_str(d, "value", value, &text);
	if (!r) {
		calllog_add(&d->log, 1, "fill(\"%.*s\")", STR_ARG(text));
		r = element_retry(d, &e, "fill", primitive_try_fill, &gift);
	}
	return element_end(d, &e, r);
}

int primitive_fill(struct action_call *d, const struct value *const *values)
{
	return primitive_fill_value(d, values[0], values[1]);
}

int primitive_clear(struct action_call *d, const struct value *const *values)
{
	static const struct value nothing = {.kind = VALUE_STRING, .text = {"", 0}};

	return primitive_fill_value(d, values[0], &nothing);
}

/* --- Options ---------------------------------------------------------------------- */

static int primitive_try_select(
	struct action_call *d, struct element *e, void *arg, unsigned nth)
{
	const struct form_value *gift = arg;
	struct str word;
	int r;

	(void)nth;
	calllog_add(&d->log, 1, "waiting for element to be visible and enabled");
	r = element_check_states(d, e, "visible", "enabled", NULL);
	if (!r)
		r = element_call_value(d, e, "select", gift->value, &word);
	return r ? r : element_log_verdict(d, word);
}

static int primitive_check_options(struct action_call *d, const struct value *v)
{
	size_t i = 0;

	if (!action_call_has_value(v) || v->kind == VALUE_STRING)
		return 0;
	if (v->kind != VALUE_LIST && v->kind != VALUE_TUPLE)
		return action_call_refuse(
			d, "TypeError: '%s' object is not iterable", value_type_name(v));
	for (const struct value *one = v->first; one; one = one->next, i++)
		if (one->kind != VALUE_STRING)
			return action_call_refuse(d,
				"Error: %s: options[%zu].value_or_label: expected "
				"string, "
				"got %s",
				d->api, i, action_call_js_type(one));
	return 0;
}

int primitive_select_option(struct action_call *d, const struct value *const *values)
{
	struct form_value gift = {values[1]};
	struct element e;
	int r = element_find(d, values[0], &e);

	if (!r)
		r = primitive_check_options(d, values[1]);
	if (!r)
		r = element_retry(d, &e, "select option", primitive_try_select, &gift);
	return element_end(d, &e, r);
}
