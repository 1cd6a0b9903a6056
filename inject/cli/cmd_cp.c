/* Copies files to and from a sandbox. */
#include "inject/cli/commands.h"

#include "inject/cli/remote_path.h"
#include "inject/console/out.h"
#include "inject/sandbox/copy/copy.h"
#include "limits.h"

#include <stdio.h>

static int cp_open_sandbox(const struct engine *e, const char *name, struct sandbox *s)
{
	int r = sandbox_require(e, name, s);

	/*
	 * A running sandbox copies with its user's rights; a stopped one only by the
	 * engine.
	 */
	if (!r && s->running)
		r = sandbox_open(e, name, s);
	return r;
}

static int cmd_cp(const struct command_line *line)
{
	bool down = remote_path_is(line->operand[0]);
	const char *remote = line->operand[down ? 0 : 1];
	struct str path = str_c(remote), name = str_cut(&path, ':');
	struct buf whole = BUF_INIT(FILE_PATH_MAX);
	char sandbox[STATE_NAME_MAX + 1];
	struct sandbox s = {0};
	struct engine e;
	struct copy c = {
		.engine = &e,
		.sandbox = &s,
		.local = line->operand[down ? 1 : 0],
	};
	int r = engine_open(&e, line->host);

	snprintf(sandbox, sizeof(sandbox), "%.*s", STR_ARG(name));
	c.remote = remote_path_make_absolute(&whole, path.p);
	if (!r && !c.remote)
		r = out_fail("a path has at most 4,095 bytes", "the path is too long");
	if (!r)
		r = cp_open_sandbox(&e, sandbox, &s);
	if (!r)
		r = down ? copy_down(&c) : copy_up(&c);
	state_wipe_key(&s.state);
	buf_free(&whole);
	return r;
}

/* Checks that one of the operands is in a sandbox. */
static int cp_check_operands(const struct command_line *line)
{
	const char *from = line->operand[0], *to = line->operand[1];
	const char *remote = remote_path_is(from) ? from : to;

	if (remote_path_is(from) == remote_path_is(to))
		return out_fail_usage(
			"give for example: cp box:/etc/hosts . or cp ./src box:/work",
			"exactly one of the two arguments of cp must be "
			"SANDBOX:PATH");
	return remote_path_check(remote);
}

const struct command command_cp = {
	.name = "cp",
	.usage = "SANDBOX:PATH PATH|- | PATH|- SANDBOX:PATH",
	.purpose = "copy files to or from a sandbox, as docker cp does",
	.more = "It also makes the missing parents of the destination. The path "
		"- is a tar archive on stdin or stdout.",
	.examples = {"od-runtime cp ./src box:/work", "od-runtime cp box:/work/out ."},
	.operands = 2,
	.subject = SUBJECT_COPY,
	.check = cp_check_operands,
	.run = cmd_cp,
};
