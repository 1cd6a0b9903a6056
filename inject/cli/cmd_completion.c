#include "inject/cli/commands.h"

#include "inject/console/out.h"
#include "inject/options/manual.h"
#include "limits.h"

static int cmd_completion(const struct command_line *line)
{
	struct buf out = BUF_INIT(INJECT_FILE_MAX);
	int r = complete_write(line->operand[0], &out);

	if (r == ERR_TYPE)
		r = out_fail_usage("name one of these shells: bash, zsh, fish",
			"there is no completion script for the shell '%s'",
			line->operand[0]);
	if (!r)
		r = out_write_buf(&out);
	buf_free(&out);
	return r;
}

const struct command command_completion = {
	.name = "completion",
	.usage = "bash|zsh|fish",
	.purpose = "print the completion script of a shell",
	.examples = {"od-runtime completion bash"},
	.operands = 1,
	.hidden = true,
	.subject = SUBJECT_WORD,
	.words = "bash zsh fish",
	.run = cmd_completion,
};
