#include "act/table.h"

#include "act/observe.h"

/* The contract has words of its own for a sandbox without a browser. */
static int no_browser(struct act *a)
{
	observe_error(a, STR("Browser functionality is not supported or disabled."));
	return ACT_DONE;
}

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
	&action_browse,
	&action_browse_interactive,
};
const size_t actions_n = ARRAY_LEN(actions);
