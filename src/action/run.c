/* The run action: reads the request. The session does the rest. */
#include "action/run.h"

#include "action/observe.h"
#include "action/run_text.h"
#include "action/session.h"
#include "action/table.h"

#include "codec/split.h"
#include "limits.h"

#include <errno.h>

static const char blanks[] = " \t\r\n\v\f";

static enum run_kind act_run_get_kind(struct str command, bool is_input)
{
	struct split_pieces pieces;

	if (command.n == 0)
		return RUN_POLL;
	if (run_parse_key(command))
		return is_input ? RUN_INPUT_KEY : RUN_KEY;
	if (split_command(command, &pieces) == SPLIT_MULTIPLE)
		return is_input ? RUN_INPUT_LIST : RUN_COMMAND_LIST;
	return is_input ? RUN_INPUT : RUN_COMMAND;
}

/* The command as given. False, and an error observed, if no shell could take it. */
static bool act_run_read_command(struct act *a, struct str *given)
{
	if (act_arg_str(a, "command", str_make(NULL, 0), given) < 0) {
		observe_error(a,
			STR("The run action needs the argument \"command\", a string."));
		return false;
	}
	if (str_find_byte(*given, '\0') < given->n) {
		observe_error(a,
			STR("The command contains a NUL byte, which no shell accepts. "
			    "Remove it."));
		return false;
	}
	return true;
}

/* There is no such session, and none can be made before another one has ended. */
static int act_run_refuse_session(struct act *a, int err)
{
	static const char way_out[] = "Use one of them (GET /v1/sessions lists them), "
				      "or end one (DELETE /v1/sessions/NAME).";

	if (err == -ENOMEM)
		return err;
	if (err == ERR_LIMIT)
		observe_errorf(a, "There are %d shell sessions, which is the limit. %s",
			SESSIONS_MAX, way_out);
	else
		observe_errorf(a,
			"ERROR: No further shell session can be created (%s). %s",
			err_text(err), way_out);
	return ACT_DONE;
}

static struct run *act_run_new(struct act *a, struct str given)
{
	struct str command = str_trim(given, blanks);
	struct run *r = arena_alloc(a->arena, sizeof(*r));

	if (r)
		*r = (struct run){
			.act = a,
			.command = command,
			.input = str_make(
				given.p, (size_t)(command.p - given.p) + command.n),
			.kind = act_run_get_kind(
				command, act_arg_bool(a, "is_input", false)),
			.blocking = act_arg_bool(a, "blocking", false),
			.before = BUF_INIT(RUN_OUTPUT_MAX),
		};
	return r;
}

static int act_run_start_session(struct act *a, struct str given)
{
	struct session *s;
	struct str name;
	struct run *r;
	int err;

	if (!session_parse_arg(a, &name))
		return ACT_DONE;
	r = act_run_new(a, given);
	if (!r)
		return -ENOMEM;
	err = session_get(a->box, name, &s);
	if (err < 0)
		return act_run_refuse_session(a, err);
	a->state = r;
	if (session_run(s, r) == 0)
		return ACT_WAIT;
	a->state = NULL;
	observe_error(a,
		STR("Too many commands are waiting for this shell. Wait until one has "
		    "ended, or use another session."));
	return ACT_DONE;
}

static int act_run_start(struct act *a)
{
	struct str given;

	if (!act_run_read_command(a, &given))
		return ACT_DONE;
	if (json_type(json_get(a->args, "is_static")) != JSON_ABSENT)
		a->box->is_static_known = true;
	if (act_arg_bool(a, "is_static", false))
		return run_static_start(a, str_trim(given, blanks));
	return act_run_start_session(a, given);
}

static int act_run_stop(struct act *a, enum act_stop how)
{
	return a->state ? session_stop(a->state, how) : ERR_CLOSED;
}

static bool act_run_is_late(struct act *a)
{
	return !act_arg_bool(a, "is_static", false);
}

static int act_run_resume(struct act *a)
{
	struct str given, name;
	struct session *s;
	struct run *r;

	if (!act_run_read_command(a, &given) || !session_parse_arg(a, &name))
		return ERR_CLOSED;
	s = session_find(a->box, name);
	r = s ? act_run_new(a, given) : NULL;
	if (!r)
		return ERR_CLOSED;
	a->state = r;
	if (session_resume(s, r) == 0)
		return ACT_WAIT;
	a->state = NULL;
	return ERR_CLOSED;
}

static void act_run_abandon(struct act *a)
{
	if (a->state)
		session_abandon(a->state);
}

static void act_run_cancel(struct act *a)
{
	if (a->state)
		session_cancel(a->state);
}

static const struct arg args[] = {
	{"command",
		"One command for the shell, several joined by && or ;. Empty: more "
		"output of the command that runs. C-c, C-z, C-d: that key. With "
		"is_input: text for the program that runs.",
		.required = true},
	{"is_input", "The command is input for the program that runs.", .type = ARG_BOOL},
	{"timeout",
		"Seconds until the answer comes in any case; the command goes on then, "
		"and can be polled, typed to, or ended by C-c.",
		.type = ARG_TIMEOUT},
	{"blocking",
		"Wait for the end, or the timeout, however silent the command is. "
		"Otherwise 10 seconds without new output bring the answer.",
		.type = ARG_BOOL},
	{"session",
		"Name of the shell, which is made if there is none of that name; each "
		"has its own directory and variables and runs one command at a time.",
		.type = ARG_TEXT},
	{0},
};

const struct action action_run = {
	.name = "run",
	.args = args,
	.start = act_run_start,
	.abandon = act_run_abandon,
	.cancel = act_run_cancel,
	.stop = act_run_stop,
	.late = act_run_is_late,
	.resume = act_run_resume,
};
