#include "inject/cli/commands.h"

#include "inject/console/out.h"

static int cmd_help(const struct command_line *line)
{
	const struct command *const *c = commands;

	if (!line->operand_n)
		return options_print_help(NULL);
	while (*c && strcmp((*c)->name, line->operand[0]) != 0)
		c++;
	if (!*c)
		return out_fail_usage("od-runtime --help", "od-runtime has no command %s",
			line->operand[0]);
	return options_print_help(*c);
}

const struct command command_help = {
	.name = "help",
	.usage = "[COMMAND]",
	.purpose = "print the help of od-runtime or of a command",
	.examples = {"od-runtime help run"},
	.operands = 1,
	.last_optional = true,
	.run = cmd_help,
};
