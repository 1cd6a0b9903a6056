#include "action/table.h"

const struct action *const actions[] = {
	&action_run,
	&action_read,
	&action_write,
	&action_edit,
};
const size_t actions_n = ARRAY_LEN(actions);
