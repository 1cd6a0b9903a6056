#include "action/file_job.h"
#include "action/observe.h"
#include "action/session.h"
#include "action/table.h"

#include "fs/write.h"

#include <errno.h>

struct writing {
	struct file_path path;
	struct write_req req;
};

static int act_write_run(struct act *a, struct buf *kept)
{
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	const struct writing *w = a->work;
	enum put_how how;

	(void)kept;
	if (file_write(&w->req, &how, &why) < 0)
		observe_error(a, buf_view(&why));
	else
		observe_write(a, str_make(w->path.abs, w->path.n));
	buf_free(&why);
	return 0;
}

static int act_write_start(struct act *a)
{
	static const struct file_task task = {.work = act_write_run, .changes = true};
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	struct writing *w = arena_alloc(a->arena, sizeof(*w));
	struct str sent, cwd;
	int r;

	if (!w)
		return -ENOMEM;
	if (act_arg_str(a, "path", str_make(NULL, 0), &sent) < 0 ||
		act_arg_str(a, "content", str_make(NULL, 0), &w->req.content) < 0) {
		observe_error(a,
			STR("The write action needs the arguments \"path\" and "
			    "\"content\", both strings."));
		return ACT_DONE;
	}
	if (!session_parse_cwd(a, sent, &cwd))
		return ACT_DONE;
	w->req.path = &w->path;
	w->req.range.start = act_arg_int(a, "start", 0);
	w->req.range.end = act_arg_int(a, "end", -1);
	a->work = w;
	r = file_path_make(&w->path, cwd, sent, &why);
	if (r < 0)
		observe_error(a, buf_view(&why));
	buf_free(&why);
	return r < 0 ? ACT_DONE
		     : file_job_start(a, &task, str_make(w->path.abs, w->path.n));
}

static const struct arg args[] = {
	{"path", "Of the file; relative to the directory of the shell.",
		.required = true},
	{"content", "All that shall be in it, or what takes the place of lines.",
		.required = true},
	{"start", "First line that is replaced, counted from 0.", .type = ARG_INT},
	{"end", "The line behind the last one that is replaced; -1: all.",
		.type = ARG_INT},
	{"session", "The shell whose directory a relative path is meant against.",
		.type = ARG_TEXT},
	{0},
};

const struct action action_write = {
	.name = "write",
	.args = args,
	.start = act_write_start,
	.abandon = file_job_abandon,
};
