#include "act/observe.h"
#include "act/session.h"
#include "act/table.h"

#include "file/write.h"

#include <unistd.h>

static int start(struct act *a)
{
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	struct file_path path;
	struct write_req q = {
		.path = &path,
		.range = {.start = arg_int(a, "start", 0), .end = arg_int(a, "end", -1)},
		.uid = a->box->user ? a->box->user->uid : geteuid(),
		.gid = a->box->user ? a->box->user->gid : getegid(),
	};
	enum write_how how;
	struct str sent, cwd;
	int r;

	if (!arg_cwd(a, &cwd))
		return ACT_DONE;
	if (arg_str(a, "path", str_make(NULL, 0), &sent) < 0 ||
		arg_str(a, "content", str_make(NULL, 0), &q.content) < 0) {
		observe_error(a,
			STR("The write action needs the arguments \"path\" and "
			    "\"content\", both strings."));
		return ACT_DONE;
	}
	r = file_path_make(&path, cwd, sent, &why);
	if (r == 0)
		r = file_write(&q, &how, &why);
	if (r < 0)
		observe_error(a, buf_view(&why));
	else
		observe_write(a, str_make(path.abs, path.n));
	buf_free(&why);
	return ACT_DONE;
}

const struct action action_write = {.name = "write", .start = start};
