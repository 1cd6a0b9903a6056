/* Primitives that set the values of a form. */
#include "browser/page/input.h"

/* The argument of an attempt: the value for the element. */
struct gift {
	const struct value *value;
};

/* --- Texts ------------------------------------------------------------------------ */

/* Replaces the selection by the text. */
static int type_over(struct doing *d, struct str text)
{
	struct input in;

	if (!text.n)
		return input_combination(d, STR("Delete"));
	input_init(&in, d);
	input_text(&in, text);
	return input_wait(&in);
}

static int attempt_fill(struct doing *d, struct element *e, void *arg, unsigned nth)
{
	const struct gift *gift = arg;
	struct str word = {0};
	int r;

	(void)nth;
	calllog_add(
		&d->log, 1, "waiting for element to be visible, enabled and editable");
	r = element_check(d, e, "visible", "enabled", "editable");
	if (!r)
		r = element_ask_with(d, e, "fill", gift->value, &word);
	if (r || !str_eq(word, STR("type")))
		return r;
	return type_over(d, gift->value->text);
}

static int fill(struct doing *d, const struct value *bid, const struct value *value)
{
	struct gift gift = {value};
	struct element e;
	struct str text;
	int r = element_find(d, bid, &e);

	if (!r)
		r = doing_string(d, "value", value, &text);
	if (!r) {
		calllog_add(&d->log, 1, "fill(\"%.*s\")", STR_ARG(text));
		r = element_retry(d, &e, "fill", attempt_fill, &gift);
	}
	return element_end(d, &e, r);
}

int primitive_fill(struct doing *d, const struct value *const *values)
{
	return fill(d, values[0], values[1]);
}

int primitive_clear(struct doing *d, const struct value *const *values)
{
	static const struct value nothing = {.kind = VALUE_STRING, .text = {"", 0}};

	return fill(d, values[0], &nothing);
}

/* --- Options ---------------------------------------------------------------------- */

static int attempt_select(struct doing *d, struct element *e, void *arg, unsigned nth)
{
	const struct gift *gift = arg;
	struct str word;
	int r;

	(void)nth;
	calllog_add(&d->log, 1, "waiting for element to be visible and enabled");
	r = element_check(d, e, "visible", "enabled", NULL);
	if (!r)
		r = element_ask_with(d, e, "select", gift->value, &word);
	return r ? r : element_verdict(d, word);
}

static int check_options(struct doing *d, const struct value *v)
{
	size_t i = 0;

	if (!doing_given(v) || v->kind == VALUE_STRING)
		return 0;
	if (v->kind != VALUE_LIST && v->kind != VALUE_TUPLE)
		return doing_refuse(
			d, "TypeError: '%s' object is not iterable", value_type(v));
	for (const struct value *one = v->first; one; one = one->next, i++)
		if (one->kind != VALUE_STRING)
			return doing_refuse(d,
				"Error: %s: options[%zu].value_or_label: expected "
				"string, "
				"got %s",
				d->api, i, doing_typeof(one));
	return 0;
}

int primitive_select_option(struct doing *d, const struct value *const *values)
{
	struct gift gift = {values[1]};
	struct element e;
	int r = element_find(d, values[0], &e);

	if (!r)
		r = check_options(d, values[1]);
	if (!r)
		r = element_retry(d, &e, "select option", attempt_select, &gift);
	return element_end(d, &e, r);
}
