#include "inject/cli/commands.h"

#include "inject/console/out.h"
#include "inject/options/manual.h"
#include "limits.h"

int cmd_completion(const struct options *o)
{
	struct buf out = BUF_INIT(INJECT_FILE_MAX);
	int r = complete_write(o->operand[0], &out);

	if (r == ERR_TYPE)
		r = out_fail_usage("bash, zsh or fish",
			"no completion for the shell '%s'", o->operand[0]);
	if (!r)
		r = out_write_buf(&out);
	buf_free(&out);
	return r;
}
