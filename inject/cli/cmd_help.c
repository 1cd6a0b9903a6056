#include "inject/cli/commands.h"

#include "inject/console/out.h"

int cmd_help(const struct options *o)
{
	const struct command *c = NULL;

	if (o->operand_n) {
		for (c = commands; c->name && strcmp(c->name, o->operand[0]) != 0;)
			c++;
		if (!c->name)
			return out_fail_usage("od-runtime --help",
				"there is no command %s", o->operand[0]);
	}
	return options_print_help(c);
}
