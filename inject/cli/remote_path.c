#include "inject/cli/remote_path.h"

const char *remote_path_make_absolute(struct buf *out, const char *path)
{
	if (*path != '/')
		buf_putc(out, '/');
	buf_puts(out, path);
	return buf_cstr(out);
}
