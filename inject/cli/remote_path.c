#include "inject/cli/remote_path.h"

#include "inject/console/out.h"
#include "inject/names/state.h"

/* A colon after a slash belongs to a path. */
bool remote_path_is(const char *operand)
{
	size_t colon = strcspn(operand, ":/");

	return colon && operand[colon] == ':';
}

int remote_path_check(const char *operand)
{
	if (state_is_name(str_make(operand, strcspn(operand, ":"))))
		return 0;
	return out_fail_usage(out_help_hint(),
		"'%s' does not begin with a valid name of a sandbox", operand);
}

const char *remote_path_make_absolute(struct buf *out, const char *path)
{
	if (*path != '/')
		buf_putc(out, '/');
	buf_puts(out, path);
	return buf_cstr(out);
}
