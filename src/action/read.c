#include "action/edit.h"
#include "action/file_job.h"
#include "action/observe.h"
#include "action/session.h"
#include "action/table.h"

#include "fs/read.h"

#include <errno.h>

struct reading {
	struct file_path path;
	struct str cwd;
	struct line_range range;
};

static int act_read_run(struct act *a, struct buf *kept)
{
	struct buf content = BUF_INIT(FILE_CONTENT_MAX);
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	const struct reading *d = a->work;

	(void)kept;
	if (file_read(&d->path, d->cwd, d->range, &content, &why) < 0)
		observe_error(a, buf_view(&why));
	else
		observe_read(a, str_make(d->path.abs, d->path.n), buf_view(&content));
	buf_free(&content);
	buf_free(&why);
	return 0;
}

static int act_read_start_file(struct act *a, struct str sent)
{
	static const struct file_task task = {.work = act_read_run};
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	struct reading *d = arena_alloc(a->arena, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	if (!session_parse_cwd(a, sent, &d->cwd))
		return ACT_DONE;
	d->range.start = act_arg_int(a, "start", 0);
	d->range.end = act_arg_int(a, "end", -1);
	a->work = d;
	r = file_path_make(&d->path, d->cwd, sent, &why);
	if (r < 0)
		observe_error(a, buf_view(&why));
	buf_free(&why);
	return r < 0 ? ACT_DONE : file_job_start(a, &task, STR(""));
}

static int act_read_start(struct act *a)
{
	struct str sent, source;

	if (act_arg_str(a, "path", str_make(NULL, 0), &sent) < 0) {
		observe_error(
			a, STR("The read action needs the argument \"path\", a string."));
		return ACT_DONE;
	}
	if (act_arg_str(a, "impl_source", STR(""), &source) == 0 &&
		str_eq(source, STR("oh_aci")))
		return edit_view_start(a, sent);
	return act_read_start_file(a, sent);
}

static const struct arg args[] = {
	{"path", "Of the file; relative to the directory of the shell.",
		.required = true},
	{"start", "First line, counted from 0.", .type = ARG_INT},
	{"end", "The line behind the last one; -1: all.", .type = ARG_INT},
	{"session", "The shell whose directory a relative path is meant against.",
		.type = ARG_TEXT},
	{0},
};

const struct action action_read = {
	.name = "read",
	.args = args,
	.start = act_read_start,
	.abandon = file_job_abandon,
};
