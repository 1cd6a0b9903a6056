#include "action/edit.h"

#include "action/file_job.h"
#include "action/observe.h"
#include "action/table.h"

#include "base/fd.h"
#include "fs/editor.h"
#include "fs/load.h"
#include "fs/path.h"
#include "fs/textfile.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>

/* Head of the data that a job returns to the server; path and text follow. */
struct edit_history_head {
	enum editor_history what;
	size_t path_n;
};

/* The undo history is lost when the server ends, as in the wire contract. */
static struct history history;

/* --- In the job --------------------------------------------------------------- */

static void act_edit_put_history(const struct editor_answer *e, struct buf *kept)
{
	struct edit_history_head head = {.what = e->history, .path_n = e->path.n};

	if (e->history == EDITOR_NO_HISTORY)
		return;
	buf_put(kept, &head, sizeof(head));
	buf_put(kept, e->path.abs, e->path.n);
	buf_str(kept, buf_view(&e->history_text));
}

static int act_edit_run_edit(struct act *a, struct buf *kept)
{
	const struct editor_req *q = a->work;
	struct editor_answer e;
	int r = editor_run(q, &e);

	if (!r) {
		act_edit_put_history(&e, kept);
		observe_edit(a,
			&(struct edit_observation){
				.path = q->path,
				.content = buf_view(&e.content),
				.old_str = q->old_str,
				.new_str = q->new_str,
				.diff = buf_view(&e.diff),
			});
	}
	editor_free(&e);
	return r;
}

/* The wire contract has a message for binary files that precedes those of the editor. */
static bool act_edit_is_binary(struct str path)
{
	struct buf head = BUF_INIT(TEXT_PROBE), why = BUF_INIT(FILE_WORDS_MAX);
	struct file_path p;
	struct stat st;
	bool binary = false;
	int fd = -1;

	if (str_starts(path, STR("/")) && file_path_make(&p, STR("/"), path, &why) == 0)
		fd = load_open(AT_FDCWD, p.abs, O_RDONLY, &st);
	if (fd >= 0)
		binary = load_read_part(fd, 0, TEXT_PROBE, &head) == 0 &&
			(text_is_binary(buf_view(&head)) || file_path_is_binary(&p));
	fd_close(&fd);
	buf_free(&head);
	buf_free(&why);
	return binary;
}

static int act_edit_run_view(struct act *a, struct buf *kept)
{
	const struct editor_req *q = a->work;
	struct editor_answer e;
	int r;

	(void)kept;
	if (act_edit_is_binary(q->path)) {
		observe_error(a, STR("ERROR_BINARY_FILE"));
		return 0;
	}
	r = editor_run(q, &e);
	if (!r)
		observe_view(a, q->path, buf_view(&e.content));
	editor_free(&e);
	return r;
}

/* --- In the server ------------------------------------------------------------ */

static void act_edit_apply_history(struct str kept)
{
	struct edit_history_head head;
	struct str path, text;

	if (kept.n < sizeof(head))
		return;
	memcpy(&head, kept.p, sizeof(head));
	text = str_skip(kept, sizeof(head));
	path = str_make(text.p, head.path_n < text.n ? head.path_n : text.n);
	text = str_skip(text, path.n);
	if (head.what == EDITOR_PUSH)
		history_push(&history, path, text);
	else
		history_pop(&history, path);
}

/* --- Arguments ---------------------------------------------------------------- */

static void act_edit_read_line(struct act *a, struct editor_req *q)
{
	struct json_val v = json_get(a->args, "insert_line");
	bool good;

	if (json_type(v) == JSON_ABSENT || json_type(v) == JSON_NULL)
		return;
	q->line_shown = json_raw(v);
	good = json_i64(v, &q->insert_line) == 0;
	/* Strings are accepted as by Python's int(). */
	if (!good && json_type(v) == JSON_STRING &&
		json_str(v, a->arena, &q->line_shown) == 0)
		good = str_i64(str_trim(q->line_shown, " \t\r\n\f\v"), &q->insert_line) ==
			0;
	q->line_kind = good ? EDITOR_GIVEN : EDITOR_INVALID;
}

/* Prints a value as Python does, except for rare differences. */
static void act_edit_put_python(struct buf *out, struct json_val v)
{
	struct str raw = json_raw(v);
	bool b;

	if (json_type(v) == JSON_NULL)
		buf_puts(out, "None");
	else if (json_bool(v, &b) == 0)
		buf_puts(out, b ? "True" : "False");
	else if (json_type(v) == JSON_STRING && raw.n >= 2)
		buf_fmt(out, "'%.*s'", (int)raw.n - 2, raw.p + 1);
	else
		buf_str(out, raw);
}

static int act_edit_read_range(struct act *a, struct editor_req *q)
{
	struct json_val list = json_get(a->args, "view_range"), v;
	struct buf shown = BUF_INIT(HTTP_BODY_MAX);
	size_t n = 0;
	bool good = true;
	int it = 0;
	char *copy;

	if (json_type(list) == JSON_ABSENT || json_type(list) == JSON_NULL ||
		(json_type(list) == JSON_ARRAY && json_count(list) == 0))
		return 0;
	if (json_type(list) != JSON_ARRAY)
		act_edit_put_python(&shown, list);
	else
		buf_putc(&shown, '[');
	while (json_type(list) == JSON_ARRAY && json_next(list, &it, NULL, &v)) {
		buf_puts(&shown, n ? ", " : "");
		act_edit_put_python(&shown, v);
		good = good && n < 2 && json_i64(v, &q->range[n]) == 0;
		n++;
	}
	if (json_type(list) == JSON_ARRAY)
		buf_putc(&shown, ']');
	q->range_kind = good && n == 2 ? EDITOR_GIVEN : EDITOR_INVALID;
	copy = shown.err ? NULL : arena_cstr(a->arena, buf_view(&shown));
	q->range_shown = str_make(copy, copy ? shown.n : 0);
	buf_free(&shown);
	return copy ? 0 : -ENOMEM;
}

/* Reads a string that may be absent or null; false for any other type. */
static bool act_edit_read_text(struct act *a, const char *name, struct str *out)
{
	enum json_type type = json_type(json_get(a->args, name));

	if (type == JSON_ABSENT || type == JSON_NULL)
		return true;
	if (act_arg_str(a, name, STR(""), out) < 0)
		return false;
	/* The string is empty, but present. */
	if (!out->p)
		*out = STR("");
	return true;
}

static struct editor_req *act_edit_make_request(struct act *a, struct str path)
{
	struct editor_req *q = arena_alloc(a->arena, sizeof(*q));

	if (!q)
		return NULL;
	q->path = path;
	q->root = act_box_cwd(a->box);
	q->history = &history;
	a->work = q;
	return q;
}

int edit_view_start(struct act *a, struct str path)
{
	static const struct file_task task = {.work = act_edit_run_view};
	struct editor_req *q = act_edit_make_request(a, path);

	if (!q || act_edit_read_range(a, q) < 0)
		return -ENOMEM;
	q->command = STR("view");
	return file_job_start(a, &task, STR(""));
}

/*
 * Changes of a file queue by this key: the path as the write action normalizes it, or the
 * path as sent if it is not valid, which the editor reports.
 */
static struct str act_edit_make_queue_key(struct act *a, struct str path)
{
	struct file_path *p = arena_alloc(a->arena, sizeof(*p));
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	bool good = p && file_path_make(p, STR("/"), path, &why) == 0;

	buf_free(&why);
	if (good)
		return str_make(p->abs, p->n);
	return str_make(path.p, path.n < FILE_PATH_MAX ? path.n : 0);
}

static int act_edit_start(struct act *a)
{
	static const struct file_task change = {.work = act_edit_run_edit,
		.on_result = act_edit_apply_history,
		.changes = true};
	static const struct file_task look = {.work = act_edit_run_edit};
	struct editor_req *q;
	struct str path;

	if (act_arg_str(a, "path", str_make(NULL, 0), &path) < 0) {
		observe_error(
			a, STR("The edit action needs the argument \"path\", a string."));
		return ACT_DONE;
	}
	q = act_edit_make_request(a, path);
	if (!q)
		return -ENOMEM;
	if (act_arg_str(a, "command", STR(""), &q->command) < 0 ||
		!act_edit_read_text(a, "file_text", &q->file_text) ||
		!act_edit_read_text(a, "old_str", &q->old_str) ||
		!act_edit_read_text(a, "new_str", &q->new_str)) {
		observe_error(a,
			STR("The arguments \"command\", \"file_text\", \"old_str\" and "
			    "\"new_str\" of the edit action must be strings."));
		return ACT_DONE;
	}
	act_edit_read_line(a, q);
	return file_job_start(a, str_eq(q->command, STR("view")) ? &look : &change,
		act_edit_make_queue_key(a, path));
}

static const char *const commands[] = {
	"view", "create", "str_replace", "insert", "undo_edit", NULL};

static const struct arg args[] = {
	{"command", "What to do.", .required = true, .choices = commands},
	{"path", "Absolute path of the file, or of a folder to view.", .required = true},
	{"file_text", "For create: the content of the new file.", .type = ARG_TEXT},
	{"old_str",
		"For str_replace: the text to replace, which must stand in the file "
		"exactly once.",
		.type = ARG_TEXT},
	{"new_str", "For str_replace and insert: the new text.", .type = ARG_TEXT},
	{"insert_line", "For insert: the line behind which it goes; 0: the top.",
		.type = ARG_INT},
	{"view_range", "For view: first and last line, counted from 1; -1: the end.",
		.type = ARG_LINES},
	{0},
};

const struct action action_edit = {
	.name = "edit",
	.args = args,
	.start = act_edit_start,
	.abandon = file_job_abandon,
};
