#include "browser/action/primitives.h"

#define BY_PLACE .by_place = true

static const struct primitive primitives[] = {
	{"noop", "Page.wait_for_timeout", .params = {"wait_ms"}, .run = primitive_noop},
	{"send_msg_to_user", "", .needed = 1, .params = {"text"},
		.run = primitive_message},
	{"report_infeasible", "", .needed = 1, .params = {"reason"},
		.run = primitive_message},
	{"scroll", "Mouse.wheel", .needed = 2, .params = {"delta_x", "delta_y"},
		.run = primitive_scroll},
	{"fill", "Locator.fill", .needed = 2, .params = {"bid", "value"},
		.run = primitive_fill},
	{"select_option", "Locator.select_option", .needed = 2,
		.params = {"bid", "options"}, .run = primitive_select_option},
	{"click", "Locator.click", .needed = 1, .params = {"bid", "button", "modifiers"},
		.run = primitive_click},
	{"dblclick", "Locator.dblclick", .needed = 1,
		.params = {"bid", "button", "modifiers"}, .run = primitive_dblclick},
	{"hover", "Locator.hover", .needed = 1, .params = {"bid"},
		.run = primitive_hover},
	{"press", "Locator.press", .needed = 2, .params = {"bid", "key_comb"},
		.run = primitive_press},
	{"focus", "Locator.focus", .needed = 1, .params = {"bid"},
		.run = primitive_focus},
	{"clear", "Locator.clear", .needed = 1, .params = {"bid"},
		.run = primitive_clear},
	{"drag_and_drop", "Locator.hover", .needed = 2, .params = {"from_bid", "to_bid"},
		.run = primitive_drag_and_drop},
	{"upload_file", "Locator.click", .needed = 2, .params = {"bid", "file"},
		.run = primitive_upload_file},
	{"go_back", "Page.go_back", .run = primitive_go_back},
	{"go_forward", "Page.go_forward", .run = primitive_go_forward},
	{"goto", "Page.goto", .needed = 1, .params = {"url"}, .run = primitive_goto},
	{"tab_close", "Page.close", .run = primitive_tab_close},
	{"tab_focus", "Page.bring_to_front", .needed = 1, .params = {"index"},
		.run = primitive_tab_focus},
	{"new_tab", "BrowserContext.new_page", .run = primitive_new_tab},

	{"mouse_move", "Mouse.move", BY_PLACE, .needed = 2, .params = {"x", "y"},
		.run = primitive_mouse_move},
	{"mouse_up", "Mouse.up", BY_PLACE, .needed = 2, .params = {"x", "y", "button"},
		.run = primitive_mouse_up},
	{"mouse_down", "Mouse.down", BY_PLACE, .needed = 2,
		.params = {"x", "y", "button"}, .run = primitive_mouse_down},
	{"mouse_click", "Mouse.click", BY_PLACE, .needed = 2,
		.params = {"x", "y", "button"}, .run = primitive_mouse_click},
	{"mouse_dblclick", "Mouse.dblclick", BY_PLACE, .needed = 2,
		.params = {"x", "y", "button"}, .run = primitive_mouse_dblclick},
	{"mouse_drag_and_drop", "Mouse.move", BY_PLACE, .needed = 4,
		.params = {"from_x", "from_y", "to_x", "to_y"},
		.run = primitive_mouse_drag_and_drop},
	{"mouse_upload_file", "Mouse.click", BY_PLACE, .needed = 3,
		.params = {"x", "y", "file"}, .run = primitive_mouse_upload_file},
	{"keyboard_press", "Keyboard.press", BY_PLACE, .needed = 1, .params = {"key"},
		.run = primitive_keyboard_press},
	{"keyboard_up", "Keyboard.up", BY_PLACE, .needed = 1, .params = {"key"},
		.run = primitive_keyboard_up},
	{"keyboard_down", "Keyboard.down", BY_PLACE, .needed = 1, .params = {"key"},
		.run = primitive_keyboard_down},
	{"keyboard_type", "Keyboard.type", BY_PLACE, .needed = 1, .params = {"text"},
		.run = primitive_keyboard_type},
	{"keyboard_insert_text", "Keyboard.insert_text", BY_PLACE, .needed = 1,
		.params = {"text"}, .run = primitive_keyboard_insert_text},
};

const struct primitive *primitive_find(struct str name, bool by_place)
{
	for (size_t i = 0; i < ARRAY_LEN(primitives); i++)
		if (str_eq(name, str_c(primitives[i].name)))
			return primitives[i].by_place && !by_place ? NULL
								   : &primitives[i];
	return NULL;
}

static size_t primitive_count_params(const struct primitive *p)
{
	size_t n = 0;

	while (n < PRIMITIVE_PARAMS_MAX && p->params[n])
		n++;
	return n;
}

/* --- Errors of arguments ---------------------------------------------------------- */

static int primitive_fail_too_many(
	const struct primitive *p, size_t given, struct buf *error)
{
	size_t n = primitive_count_params(p);

	buf_fmt(error, "TypeError: %s() takes ", p->name);
	if (p->needed < n)
		buf_fmt(error, "from %d to ", p->needed);
	buf_fmt(error, "%zu positional argument%s but %zu %s given", n,
		n == 1 && p->needed == n ? "" : "s", given, given == 1 ? "was" : "were");
	return ERR_TYPE;
}

static int primitive_fail_missing(const struct primitive *p,
	const struct value *const *values, size_t missing, struct buf *error)
{
	size_t told = 0;

	buf_fmt(error,
		"TypeError: %s() missing %zu required positional argument%s: ", p->name,
		missing, missing == 1 ? "" : "s");
	for (size_t i = 0; i < p->needed; i++) {
		if (values[i])
			continue;
		if (told++)
			buf_puts(error,
				missing == 2             ? " and "
					: told < missing ? ", "
							 : ", and ");
		buf_fmt(error, "'%s'", p->params[i]);
	}
	return ERR_TYPE;
}

static int primitive_bind_keyword(const struct primitive *p, const struct value *arg,
	const struct value **values, struct buf *error)
{
	size_t n = primitive_count_params(p), i = 0;

	while (i < n && !str_eq(arg->name, str_c(p->params[i])))
		i++;
	if (i < n && !values[i]) {
		values[i] = arg;
		return 0;
	}
	buf_fmt(error, "TypeError: %s() got %s '%.*s'", p->name,
		i < n ? "multiple values for argument" : "an unexpected keyword argument",
		STR_ARG(arg->name));
	return ERR_TYPE;
}

/* Python rejects the whole text if a call repeats a keyword argument. */
int primitive_check(const struct call *c, struct buf *error)
{
	for (const struct value *a = c->args; a; a = a->next)
		for (const struct value *b = a->next; a->name.n && b; b = b->next)
			if (str_eq(a->name, b->name)) {
				buf_fmt(error,
					"SyntaxError: keyword argument repeated: %.*s",
					STR_ARG(a->name));
				return ERR_SYNTAX;
			}
	return 0;
}

int primitive_bind(const struct primitive *p, const struct call *c,
	const struct value *values[PRIMITIVE_PARAMS_MAX], struct buf *error)
{
	size_t n = primitive_count_params(p), given = 0, missing = 0;

	for (size_t i = 0; i < PRIMITIVE_PARAMS_MAX; i++)
		values[i] = NULL;
	for (const struct value *a = c->args; a; a = a->next) {
		if (!a->name.n && given++ < n)
			values[given - 1] = a;
		if (a->name.n && primitive_bind_keyword(p, a, values, error))
			return ERR_TYPE;
	}
	if (given > n)
		return primitive_fail_too_many(p, given, error);
	for (size_t i = 0; i < p->needed; i++)
		missing += !values[i];
	return missing ? primitive_fail_missing(p, values, missing, error) : 0;
}
