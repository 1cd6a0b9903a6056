#include "inject/cli/commands.h"

#include "inject/console/out.h"

const struct command commands[] = {
	{"build", "IMAGE [OPTION...]",
		"make a runtime image of IMAGE, print its name or digest", 1,
		.subject = SUBJECT_IMAGE, .bit = FOR_BUILD, .run = cmd_build},
	{"dockerfile", "IMAGE [OPTION...]",
		"print the Dockerfile that build sends to the engine", 1,
		.subject = SUBJECT_IMAGE, .bit = FOR_DOCKERFILE, .run = cmd_dockerfile},
	{"tags", "IMAGE [OPTION...]",
		"print the names that its runtime images have, and what they are made "
		"from",
		1, .subject = SUBJECT_IMAGE, .bit = FOR_TAGS, .run = cmd_tags},
	{"prune", "[IMAGE] [OPTION...]",
		"remove what killed commands have left, and unused runtime images of "
		"each base (or of IMAGE) but the newest; print what is removed",
		1, .last_optional = true, .subject = SUBJECT_IMAGE, .bit = FOR_PRUNE,
		.run = cmd_prune},
	{"run", "[OPTION...] IMAGE [CMD [ARG...]]",
		"start a sandbox of IMAGE, wait until it is ready, execute CMD in it", 1,
		.argv = ARGV_OPTIONAL, .subject = SUBJECT_IMAGE, .bit = FOR_RUN,
		.run = cmd_run},
	{"inject", "CONTAINER [OPTION...]",
		"put the client into a container that runs already, and start it there",
		1, .subject = SUBJECT_SANDBOX, .bit = FOR_INJECT, .run = cmd_inject},
	{"doctor", "[IMAGE|SANDBOX] [OPTION...]",
		"say what is there, what is missing and what that means", 1,
		.last_optional = true, .subject = SUBJECT_ANY, .bit = FOR_DOCTOR,
		.run = cmd_doctor},
	{"exec", "[OPTION...] SANDBOX CMD [ARG...]",
		"execute a program in the sandbox, as docker exec does; for text of a "
		"shell: exec SANDBOX sh -c 'ls -l | wc'",
		1, .argv = ARGV_REQUIRED, .subject = SUBJECT_SANDBOX, .bit = FOR_EXEC,
		.run = cmd_exec},
	{"shell", "SANDBOX [OPTION...]",
		"a terminal in the sandbox, or a script from stdin", 1,
		.subject = SUBJECT_SANDBOX, .bit = FOR_SHELL, .run = cmd_shell},
	{"mcp", "SANDBOX|IMAGE [OPTION...]",
		"be a server of the Model Context Protocol on stdin and stdout, with the "
		"sandbox's tools; one of IMAGE is started for it, and removed at the end",
		1, .subject = SUBJECT_ANY, .bit = FOR_MCP, .run = cmd_mcp},
	{"action", "SANDBOX JSON|-", "send one action and print its observation", 2,
		.subject = SUBJECT_SANDBOX, .bit = FOR_ACTION, .run = cmd_action},
	{"cp", "SANDBOX:PATH PATH|- | PATH|- SANDBOX:PATH",
		"copy files as docker cp does, but make the missing parents of what is "
		"copied; - is a tar archive",
		2, .subject = SUBJECT_COPY, .bit = FOR_CP, .run = cmd_cp},
	{"ls", "SANDBOX[:PATH] | SANDBOX PATH",
		"list the files of a folder in the sandbox: of its working directory "
		"without PATH",
		2, .last_optional = true, .subject = SUBJECT_PLACE, .bit = FOR_LS,
		.run = cmd_ls},
	{"screenshot", "SANDBOX [OPTION...]",
		"print how the sandbox's browser looks, as PNG", 1,
		.subject = SUBJECT_SANDBOX, .bit = FOR_SCREENSHOT, .run = cmd_screenshot},
	{"ps", "[OPTION...]",
		"list the sandboxes, and the containers that inject was used on", 0,
		.bit = FOR_PS, .run = cmd_ps},
	{"inspect", "SANDBOX... [OPTION...]",
		"print what is known about sandboxes as a JSON array", 1,
		.variadic = true, .subject = SUBJECT_SANDBOX, .bit = FOR_INSPECT,
		.run = cmd_inspect},
	{"env", "SANDBOX [OPTION...]",
		"print the address and the key of a sandbox as shell commands, as in "
		"eval \"$(od-runtime env box)\"",
		1, .subject = SUBJECT_SANDBOX, .bit = FOR_ENV, .run = cmd_env},
	{"sessions", "SANDBOX [OPTION...]",
		"list the shell sessions of a sandbox, or end one", 1,
		.subject = SUBJECT_SANDBOX, .bit = FOR_SESSIONS, .run = cmd_sessions},
	{"logs", "SANDBOX [OPTION...]", "print what the sandbox's server has written", 1,
		.subject = SUBJECT_SANDBOX, .bit = FOR_LOGS, .run = cmd_logs},
	{"attach", "SANDBOX [OPTION...]",
		"print what the sandbox's server writes from now on, or take part in a "
		"session",
		1, .subject = SUBJECT_SANDBOX, .bit = FOR_ATTACH, .run = cmd_attach},
	{"pause", "SANDBOX... [OPTION...]", "hold all processes of sandboxes", 1,
		.variadic = true, .subject = SUBJECT_SANDBOX, .bit = FOR_PAUSE,
		.run = cmd_pause},
	{"resume", "SANDBOX... [OPTION...]", "let paused sandboxes go on", 1,
		.variadic = true, .subject = SUBJECT_SANDBOX, .bit = FOR_RESUME,
		.run = cmd_resume},
	{"wait", "SANDBOX... [OPTION...]",
		"wait until sandboxes have stopped, print "
		"their exit codes",
		1, .variadic = true, .subject = SUBJECT_SANDBOX, .bit = FOR_WAIT,
		.run = cmd_wait},
	{"kill", "SANDBOX... [OPTION...]", "send a signal to sandboxes", 1,
		.variadic = true, .subject = SUBJECT_SANDBOX, .bit = FOR_KILL,
		.run = cmd_kill},
	{"update", "SANDBOX [OPTION...]",
		"give a sandbox another client, and start it again with its files", 1,
		.subject = SUBJECT_SANDBOX, .bit = FOR_UPDATE, .run = cmd_update},
	{"start", "SANDBOX... [OPTION...]",
		"start stopped sandboxes and wait until they are ready; their files are "
		"kept, and their ports may change",
		1, .variadic = true, .subject = SUBJECT_SANDBOX, .bit = FOR_START,
		.run = cmd_start},
	{"restart", "SANDBOX... [OPTION...]",
		"stop and start sandboxes and wait until they are ready", 1,
		.variadic = true, .subject = SUBJECT_SANDBOX, .bit = FOR_RESTART,
		.run = cmd_restart},
	{"stop", "SANDBOX... [OPTION...]", "stop sandboxes", 1, .variadic = true,
		.subject = SUBJECT_SANDBOX, .bit = FOR_STOP, .run = cmd_stop},
	{"rm", "SANDBOX... [OPTION...]", "remove sandboxes", 1, .variadic = true,
		.subject = SUBJECT_SANDBOX, .bit = FOR_RM, .run = cmd_rm},
	{"listen", "[OPTION...]",
		"run a backend that sandboxes dial in to; it serves the API of each "
		"under /sandboxes/NAME/",
		0, .bit = FOR_LISTEN, .run = cmd_listen},
	{"token", "FILE NAME | FILE --operator",
		"print the token with which sandbox NAME dials in to listen --token "
		"FILE",
		2, .last_optional = true, .bit = FOR_TOKEN, .run = cmd_token},
	{"completion", "bash|zsh|fish", "print the completion script of a shell", 1,
		.hidden = true, .subject = SUBJECT_WORD, .bit = FOR_COMPLETION,
		.run = cmd_completion},
	{"man", "[roff|markdown]", "print the manual page", 1, .last_optional = true,
		.hidden = true, .subject = SUBJECT_WORD, .bit = FOR_MAN, .run = cmd_man},
	{"help", "[COMMAND]", "explain a command", 1, .last_optional = true,
		.bit = FOR_HELP, .run = cmd_help},
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
	return options_print_help(c);
}
