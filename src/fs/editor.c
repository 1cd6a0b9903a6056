#include "fs/editor_private.h"

#include "base/fd.h"
#include "fs/edit.h"
#include "fs/load.h"
#include "fs/outline.h"
#include "fs/replace.h"
#include "fs/textfile.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct command {
	const char *name;
	int (*run)(struct editor *r);
	bool makes; /* the file must not exist */
	bool views;
};

/* --- Texts ------------------------------------------------------------------- */

static void editor_fail_path(struct editor *r, const char *before, const char *after)
{
	EDITOR_FAIL(r, "Invalid `path` parameter: %s. %s", r->path, before);
	if (after)
		buf_fmt(&r->out->content, "%s%s", r->path, after);
}

/* Reports an errno as Python prints it, followed by advice. */
void editor_fail_errno(struct editor *r, int err, const char *what)
{
	const char *advice = replace_get_advice(err);

	EDITOR_FAIL(r, "Ran into [Errno %d] %s: '%s' while trying to %s %s",
		err > -4096 ? -err : 0, err_text(err), r->path, what, r->path);
	if (*advice)
		buf_fmt(&r->out->content, ". %s", advice);
}

int editor_fail_missing(struct editor *r, const char *name)
{
	EDITOR_FAIL(r, "Parameter `%s` is required for command: %.*s.", name,
		STR_ARG(r->q->command));
	return 0;
}

/* --- Files -------------------------------------------------------------------- */

static bool editor_is_document(const struct file_path *path)
{
	static const char *const kinds[] = {
		"docx", "xlsx", "pptx", "pdf", "mp3", "wav", "m4a", "flac"};
	struct str ext = file_path_ext(path);

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_eq_nocase(ext, str_c(kinds[i])))
			return true;
	return false;
}

static bool editor_fail_size(struct editor *r, uint64_t size)
{
	unsigned long long tenths = (size * 10 + (1 << 19)) >> 20;

	EDITOR_FAIL(r,
		"File validation failed for %s: File is too large (%llu.%lluMB). Maximum "
		"allowed size is %dMB.",
		r->path, tenths / 10, tenths % 10, EDIT_FILE_MAX >> 20);
	return false;
}

static bool editor_fail_wide(struct editor *r)
{
	EDITOR_FAIL(r,
		"File validation failed for %s: File is UTF-16 or UTF-32, which this "
		"tool "
		"cannot edit. Convert it first, for example with `iconv -t UTF-8`.",
		r->path);
	return false;
}

static bool editor_fail_binary(struct editor *r)
{
	EDITOR_FAIL(r,
		"File validation failed for %s: File appears to be binary and this file "
		"type cannot be read or edited by this tool.",
		r->path);
	return false;
}

/* Reads the whole file if it is a text small enough to edit. */
bool editor_load(struct editor *r, int fd, const struct stat *st, struct buf *text)
{
	uint64_t size = (uint64_t)st->st_size;
	int err;

	if (size > EDIT_FILE_MAX)
		return editor_fail_size(r, size);
	/* The size is not trusted: files of /proc have size 0 and content. */
	err = load_read_part(fd, 0, EDIT_FILE_MAX + 1, text);
	if (err) {
		editor_fail_errno(r, err, "read");
		return false;
	}
	if (text->n > EDIT_FILE_MAX)
		return editor_fail_size(r, text->n);
	if (text_is_binary(
		    str_make(text->p, text->n < TEXT_PROBE ? text->n : TEXT_PROBE)) ||
		file_path_is_binary(&r->out->path))
		return editor_fail_binary(r);
	return text_has_wide_bom(buf_view(text)) ? editor_fail_wide(r) : true;
}

void editor_fail_kind(struct editor *r)
{
	editor_fail_path(r, "The path ", " is ");
	buf_fmt(&r->out->content, "%s, and only files can be viewed and edited.",
		load_describe_kind(AT_FDCWD, r->path));
}

static bool editor_load_path(struct editor *r, struct buf *text)
{
	struct stat st;
	int fd = load_open(AT_FDCWD, r->path, O_RDONLY, &st);
	bool good = false;

	if (fd == ERR_TYPE)
		editor_fail_kind(r);
	else if (fd < 0)
		editor_fail_errno(r, fd, "read");
	else
		good = editor_load(r, fd, &st, text);
	fd_close(&fd);
	return good;
}

/* --- view --------------------------------------------------------------------- */

static bool editor_check_range(
	struct editor *r, size_t lines, size_t *first, size_t *last)
{
	const struct editor_req *q = r->q;
	int64_t a = q->range[0], b = q->range[1], n = (int64_t)lines;

	if (q->range_kind == EDITOR_INVALID) {
		EDITOR_FAIL(r,
			"Invalid `view_range` parameter: %.*s. It should be a list of "
			"two "
			"integers.",
			STR_ARG(q->range_shown));
		return false;
	}
	if (a < 1 || a > n) {
		EDITOR_FAIL(r,
			"Invalid `view_range` parameter: %.*s. Its first element `%lld` "
			"should be within the range of lines of the file: [1, %lld].",
			STR_ARG(q->range_shown), (long long)a, (long long)n);
		return false;
	}
	if (b > n)
		buf_fmt(&r->out->content,
			"NOTE: We only show up to %lld since there're only %lld lines in "
			"this file.\n",
			(long long)n, (long long)n);
	if (b == -1 || b > n)
		b = n;
	if (b < a) {
		buf_reset(&r->out->content);
		EDITOR_FAIL(r,
			"Invalid `view_range` parameter: [%lld, %lld]. Its second "
			"element "
			"`%lld` should be greater than or equal to the first element "
			"`%lld`.",
			(long long)a, (long long)b, (long long)b, (long long)a);
		return false;
	}
	*first = (size_t)a;
	*last = (size_t)b;
	return true;
}

static int editor_show_file(struct editor *r, struct str raw)
{
	struct buf shown = BUF_INIT(2 * EDIT_CONTENT_MAX);
	struct edit_text t;
	size_t first = 1, last = 0;
	struct str part;
	int err = edit_open(&t, raw);

	if (err)
		goto out;
	part = buf_view(&t.lines);
	if (r->q->range_kind != EDITOR_ABSENT) {
		if (!editor_check_range(r, edit_count_lines(&t), &first, &last))
			goto out;
		part = edit_get_lines(&t, first, last);
		part.n -= part.n && part.p[part.n - 1] == '\n';
	}
	edit_show(&t, part, &shown);
	err = shown.err;
	edit_put_cat(&r->out->content, str_c(r->path), buf_view(&shown), first);
out:
	edit_free(&t);
	buf_free(&shown);
	return err;
}

static int editor_view(struct editor *r)
{
	struct buf text = BUF_INIT(EDIT_FILE_MAX + 1);
	int err = 0;

	if (r->folder && r->q->range_kind != EDITOR_ABSENT) {
		EDITOR_FAIL(r,
			"Invalid `view_range` parameter: %.*s. The `view_range` "
			"parameter is "
			"not allowed when `path` points to a directory.",
			STR_ARG(r->q->range_shown));
	} else if (r->folder) {
		err = outline_write(&r->out->path, &r->out->content);
		if (err && err != -ENOMEM) {
			buf_reset(&r->out->content);
			editor_fail_errno(r, err, "read");
			err = 0;
		}
	} else if (editor_is_document(&r->out->path)) {
		EDITOR_FAIL(r,
			"Error in converting file to Markdown: no converter is part of "
			"this sandbox. Please use Python code to read %s",
			r->path);
	} else if (editor_load_path(r, &text)) {
		err = editor_show_file(r, buf_view(&text));
	}
	buf_free(&text);
	return err;
}

/* --- The command -------------------------------------------------------------- */

static const struct command commands[] = {
	{.name = "view", .run = editor_view, .views = true},
	{.name = "create", .run = editor_create, .makes = true},
	{.name = "str_replace", .run = editor_str_replace},
	{.name = "insert", .run = editor_insert},
	{.name = "undo_edit", .run = editor_undo_edit},
};

static const struct command *editor_find_command(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (str_eq(name, str_c(commands[i].name)))
			return &commands[i];
	return NULL;
}

static void editor_fail_relative(struct editor *r)
{
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	struct file_path meant;

	r->path = r->out->path.n > 1 ? r->out->path.abs + 1 : ".";
	editor_fail_path(
		r, "The path should be an absolute path, starting with `/`.", NULL);
	if (file_path_make(&meant, r->q->root, str_c(r->path), &why) == 0 &&
		access(meant.abs, F_OK) == 0)
		buf_fmt(&r->out->content, " Maybe you meant %s?", meant.abs);
	buf_free(&why);
}

/* Checks the path in the contract's order; false if a check has failed. */
static bool editor_check_path(struct editor *r, const struct command *c)
{
	bool makes = c && c->makes, views = c && c->views;
	struct stat st;

	if (!str_starts(r->q->path, STR("/"))) {
		editor_fail_relative(r);
		return false;
	}
	r->found = stat(r->path, &st) == 0;
	r->folder = r->found && S_ISDIR(st.st_mode);
	if (!r->found && errno != ENOENT && errno != ENOTDIR) {
		editor_fail_errno(r, -errno, makes ? "write to" : "read");
		return false;
	}
	if (makes && r->found)
		editor_fail_path(r, "File already exists at: ",
			". Cannot overwrite files using command `create`.");
	else if (!makes && !r->found)
		editor_fail_path(
			r, "The path ", " does not exist. Please provide a valid path.");
	else if (!views && r->folder)
		editor_fail_path(r, "The path ",
			" is a directory and only the `view` command can be used on "
			"directories.");
	else if (!views && editor_is_document(&r->out->path)) {
		editor_fail_path(r, "The path ", " points to a binary file (.");
		buf_str(&r->out->content, file_path_ext(&r->out->path));
		buf_puts(&r->out->content,
			") and only the `view` command can be used on supported binary "
			"files.");
	} else
		return true;
	return false;
}

int editor_run(const struct editor_req *q, struct editor_answer *out)
{
	const struct command *c = editor_find_command(q->command);
	struct editor r = {.q = q, .out = out, .path = out->path.abs};
	int err = 0;

	*out = (struct editor_answer){
		.content = BUF_INIT(EDIT_CONTENT_MAX),
		.diff = BUF_INIT(2 * EDIT_CONTENT_MAX),
		.history_text = BUF_INIT(EDIT_CONTENT_MAX),
	};
	if (q->line_kind == EDITOR_INVALID) {
		EDITOR_FAIL(&r, "Invalid insert_line value: '%.*s'. Expected an integer.",
			STR_ARG(q->line_shown));
		return out->content.err;
	}
	buf_puts(&out->content, "ERROR:\n");
	if (file_path_make(&out->path, STR("/"), q->path, &out->content) < 0)
		return out->content.err;
	buf_reset(&out->content);
	if (!editor_check_path(&r, c))
		return out->content.err;
	if (c)
		err = c->run(&r);
	else
		EDITOR_FAIL(&r,
			"Unrecognized command %.*s. The allowed commands for the "
			"oh_editor "
			"tool are: view, create, str_replace, insert, undo_edit",
			STR_ARG(q->command));
	return err ? err : out->content.err ? out->content.err : out->diff.err;
}

void editor_free(struct editor_answer *out)
{
	buf_free(&out->content);
	buf_free(&out->diff);
	buf_free(&out->history_text);
}
