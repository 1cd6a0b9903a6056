#include "inject/cli/commands.h"
#include "inject/cli/exec/exec.h"

#include "inject/console/out.h"
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"

struct exec_options {
	struct terminal_options terminal;
	struct timeout_options timeout;
	struct env_options env;
	const char *working_dir, *user, *session;
};

static int cmd_exec_check_options(const struct exec_options *o, size_t argc)
{
	const struct terminal_options *t = &o->terminal;
	int r = exec_check_terminal(t, argc);

	if (r)
		return r;
	if (o->session && (t->interactive || t->tty || t->detach))
		return out_fail_usage("leave out --session, or -i, -t and -d",
			"--session cannot be combined with -i, -t or -d: a "
			"session has its own terminal");
	if (o->session &&
		(o->user || o->working_dir || o->env.env.n || o->env.env_file.n))
		return out_fail_usage("write them into the command: cd DIR; export "
				      "NAME=value",
			"-u, -w, -e and --env-file cannot be combined with "
			"--session: a session keeps its user, directory and "
			"variables");
	if (o->working_dir && o->working_dir[0] != '/')
		return out_fail_usage("give an absolute path, such as -w /work",
			"--workdir is '%s', not an absolute path", o->working_dir);
	return 0;
}

static int cmd_exec(const struct command_line *line)
{
	const struct exec_options *o = line->options;
	const struct sandbox_options environment = {.env = o->env};
	struct settings settings = {0};
	const struct exec_command command = {
		.argv = line->argv,
		.argc = line->argc,
		.terminal = o->terminal,
		.timeout = &o->timeout,
		.json = line->json,
		.settings = &settings,
		.working_dir = o->working_dir,
		.user = o->user,
		.session = o->session,
	};
	struct sandbox s = {0};
	struct engine e;
	int r = cmd_exec_check_options(o, line->argc);

	exec_set_limit(&o->timeout);
	if (!r)
		r = settings_read(&settings, &environment, true);
	if (!r)
		r = sandbox_open_quick(&e, line->host, line->operand[0], &s);
	if (!r)
		r = o->session ? exec_run_session(&command, &s)
			       : exec_run_argv(&command, &s);
	state_wipe_key(&s.state);
	settings_free(&settings);
	return timeout_end(line, &o->timeout, r);
}

#define OPTIONS struct exec_options
static const struct option exec_options[] = {
	{"detach", NULL, "start CMD in the background", FLAG, .letter = 'd',
		AT(terminal.detach), GROUP(COMMAND)},
	{SET(terminal_set, terminal)},
	{"workdir", "DIR", "execute CMD in DIR", TEXT, .letter = 'w', AT(working_dir),
		DEFAULT("the working directory of the sandbox"), GROUP(COMMAND)},
	{"user", "USER[:GROUP]", "execute CMD as USER, a name or an ID", TEXT,
		.letter = 'u', AT(user), DEFAULT("the user of the sandbox"),
		EXAMPLE("1000:1000"), GROUP(COMMAND)},
	{SET(env_set, env)},
	{SET(timeout_set, timeout)},
	{"session", "NAME",
		"execute CMD as text in the shell of session NAME, which keeps its "
		"working directory and variables for the next command",
		TEXT, AT(session), EXAMPLE("build"), GROUP(COMMAND)},
	{0},
};
#undef OPTIONS

const struct command command_exec = {
	.name = "exec",
	.usage = "[OPTION...] SANDBOX CMD [ARG...]",
	.purpose = "execute a program in a sandbox, as docker exec does",
	.more = "The exit code is that of the program. Operators of a shell "
		"need a shell, as in the second example.",
	.examples = {"od-runtime exec box make -C /work test",
		"od-runtime exec box sh -c 'ls -l | wc'"},
	.operands = 1,
	.argv = ARGV_REQUIRED,
	.subject = SUBJECT_SANDBOX,
	.options = exec_options,
	.options_size = sizeof(struct exec_options),
	.run = cmd_exec,
};
