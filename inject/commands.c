#include "inject/commands.h"

#include "inject/out.h"

const struct command commands[] = {
	{"build", "IMAGE [OPTION...]", "make a runtime image of IMAGE, print its name", 1,
		.subject = SUBJECT_IMAGE, .bit = FOR_BUILD, .run = cmd_build},
	{"dockerfile", "IMAGE [OPTION...]",
		"print the Dockerfile that build sends to the engine", 1,
		.subject = SUBJECT_IMAGE, .bit = FOR_DOCKERFILE, .run = cmd_dockerfile},
	{"run", "IMAGE [OPTION...] [-- CMD...]",
		"start a sandbox of IMAGE, wait until it is ready, execute CMD in it", 1,
		.words = WORDS_MAY, .subject = SUBJECT_IMAGE, .bit = FOR_RUN,
		.run = cmd_run},
	{"exec", "SANDBOX [OPTION...] -- CMD...",
		"execute CMD, joined by blanks as ssh does, in the sandbox's shell", 1,
		.words = WORDS_MUST, .subject = SUBJECT_SANDBOX, .bit = FOR_EXEC,
		.run = cmd_exec},
	{"action", "SANDBOX JSON|-", "send one action and print its observation", 2,
		.subject = SUBJECT_SANDBOX, .bit = FOR_ACTION, .run = cmd_action},
	{"ps", "[OPTION...]", "list the sandboxes", 0, .bit = FOR_PS, .run = cmd_ps},
	{"logs", "SANDBOX [OPTION...]", "print what the sandbox's server has written", 1,
		.subject = SUBJECT_SANDBOX, .bit = FOR_LOGS, .run = cmd_logs},
	{"stop", "SANDBOX [OPTION...]", "stop a sandbox", 1, .subject = SUBJECT_SANDBOX,
		.bit = FOR_STOP, .run = cmd_stop},
	{"rm", "SANDBOX [OPTION...]", "remove a sandbox", 1, .subject = SUBJECT_SANDBOX,
		.bit = FOR_RM, .run = cmd_rm},
	{"help", "[COMMAND]", "explain a command", 1, .fewer = true, .bit = FOR_HELP,
		.run = cmd_help},
	{0},
};

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
	return options_help(c);
}
