#include "inject/cli/commands.h"

#include "inject/console/out.h"
#include "inject/options/manual.h"
#include "limits.h"

static int cmd_man(const struct command_line *line)
{
	const char *form = line->operand_n ? line->operand[0] : "roff";
	struct buf out = BUF_INIT(INJECT_FILE_MAX);
	int r = 0;

	if (strcmp(form, "roff") == 0)
		manual_write_roff(&out);
	else if (strcmp(form, "markdown") == 0)
		manual_write_markdown(&out);
	else
		r = out_fail_usage("name one of these formats: roff, markdown",
			"the manual is not available in the format '%s'", form);
	if (!r)
		r = out_write_buf(&out);
	buf_free(&out);
	return r;
}

const struct command command_man = {
	.name = "man",
	.usage = "[roff|markdown]",
	.purpose = "print the manual page",
	.examples = {"od-runtime man", "od-runtime man markdown"},
	.operands = 1,
	.last_optional = true,
	.hidden = true,
	.subject = SUBJECT_WORD,
	.words = "roff markdown",
	.run = cmd_man,
};
