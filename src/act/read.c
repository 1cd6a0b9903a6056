#include "act/observe.h"
#include "act/session.h"
#include "act/table.h"

#include "file/read.h"

static int start(struct act *a)
{
	struct buf content = BUF_INIT(FILE_CONTENT_MAX);
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	struct line_range range = {
		.start = arg_int(a, "start", 0),
		.end = arg_int(a, "end", -1),
	};
	struct file_path path;
	struct str sent, cwd;
	int r;

	if (!arg_cwd(a, &cwd))
		return ACT_DONE;
	if (arg_str(a, "path", str_make(NULL, 0), &sent) < 0) {
		observe_error(
			a, STR("The read action needs the argument \"path\", a string."));
		return ACT_DONE;
	}
	r = file_path_make(&path, cwd, sent, &why);
	if (r == 0)
		r = file_read(&path, cwd, range, &content, &why);
	if (r < 0)
		observe_error(a, buf_view(&why));
	else
		observe_read(a, str_make(path.abs, path.n), buf_view(&content));
	buf_free(&content);
	buf_free(&why);
	return ACT_DONE;
}

const struct action action_read = {.name = "read", .start = start};
