#include "act/table.h"

#include "act/observe.h"

/* The contract has words of its own for a sandbox without a browser. */
static int no_browser(struct act *a)
{
	observe_error(a, STR("Browser functionality is not supported or disabled."));
	return ACT_DONE;
}

/* Clients start with a cell and give up on an error: they get a cell's answer. */
static int no_ipython(struct act *a)
{
	struct str code = STR("");
	struct jw w;

	if (arg_str(a, "code", STR(""), &code) < 0)
		code = STR("");
	observe_begin(&w, a->out, "run_ipython", STR("Code executed in IPython cell."),
		STR("[IPython is not available in this sandbox]"));
	jw_key(&w, "code");
	jw_str(&w, code);
	jw_end(&w);
	jw_key(&w, "success");
	jw_bool(&w, true);
	jw_end(&w);
	return ACT_DONE;
}

static const struct action action_run_ipython = {.name = "run_ipython",
	.start = no_ipython};
static const struct action action_browse = {.name = "browse", .start = no_browser};
static const struct action action_browse_interactive = {
	.name = "browse_interactive",
	.start = no_browser,
};

const struct action *const actions[] = {
	&action_run,
	&action_read,
	&action_write,
	&action_edit,
	&action_run_ipython,
	&action_browse,
	&action_browse_interactive,
};
const size_t actions_n = ARRAY_LEN(actions);
