#include "inject/cli/commands.h"

#include "inject/console/out.h"
#include "inject/options/manual.h"
#include "limits.h"

int cmd_man(const struct options *o)
{
	const char *form = o->operand_n ? o->operand[0] : "roff";
	struct buf out = BUF_INIT(INJECT_FILE_MAX);
	int r = 0;

	if (strcmp(form, "roff") == 0)
		manual_write_roff(&out);
	else if (strcmp(form, "markdown") == 0)
		manual_write_markdown(&out);
	else
		r = out_fail_usage("roff or markdown", "no manual as '%s'", form);
	if (!r)
		r = out_write_buf(&out);
	buf_free(&out);
	return r;
}
