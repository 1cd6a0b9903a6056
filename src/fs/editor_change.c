/* The commands of the editor that change a file. */
#include "fs/editor_private.h"

#include "fs/diff.h"
#include "fs/edit.h"
#include "fs/replace.h"
#include "fs/strip.h"
#include "limits.h"

#include <errno.h>

enum { CONTEXT = 4 };

#define REVIEW "Review the changes and make sure they are as expected"

/* A file being changed. All members but the buffers' maxima start as zero. */
struct change {
	struct replace file;
	struct buf old;
	struct buf new;
};

#define CHANGE_INIT \
	{ \
		.file = {.dir = -1, .old = -1}, .old = BUF_INIT(EDIT_FILE_MAX + 1), \
		.new = BUF_INIT(EDIT_CONTENT_MAX), \
	}

static void editor_change_free(struct change *c)
{
	replace_close(&c->file);
	buf_free(&c->old);
	buf_free(&c->new);
}

/* Opens the file for change and reads it. */
static bool editor_change_open(struct editor *r, struct change *c)
{
	int err = replace_open(&c->file, &r->out->path);

	if (!err && c->file.old < 0)
		err = -ENOENT;
	if (err == ERR_TYPE)
		editor_fail_kind(r);
	else if (err)
		editor_fail_errno(r, err, "read");
	return !err && editor_load(r, c->file.old, &c->file.st, &c->old);
}

static bool editor_change_write(struct editor *r, struct change *c)
{
	struct str part = buf_view(&c->new);
	struct replace_new to = {
		.parts = &part,
		.n = 1,
		.mode = put_get_new_mode(),
	};
	enum put_how how;
	bool damaged;
	int attr;
	int err = replace_put(&c->file, &to, &how, &attr, &damaged);

	if (err)
		editor_fail_errno(r, err, "write to");
	if (damaged)
		buf_puts(&r->out->content, " It may hold old and new text mixed.");
	return !err;
}

/* --- Diff and snippet ----------------------------------------------------------- */

static int editor_put_diff(
	struct editor *r, const struct edit_text *a, const struct edit_text *b)
{
	struct buf from = BUF_INIT(2 * EDIT_CONTENT_MAX),
		   to = BUF_INIT(2 * EDIT_CONTENT_MAX);
	int err;

	edit_show(a, buf_view(&a->lines), &from);
	edit_show(b, buf_view(&b->lines), &to);
	err = from.err ? from.err : to.err;
	if (!err)
		err = diff_unified(
			&r->out->diff, r->q->path, buf_view(&from), buf_view(&to));
	buf_free(&from);
	buf_free(&to);
	return err;
}

/* Appends lines first to last of the new text with their numbers. */
static int editor_put_snippet(struct editor *r, const struct edit_text *t,
	const char *what, size_t first, size_t last)
{
	struct buf part = BUF_INIT(2 * EDIT_CONTENT_MAX);
	int err;

	edit_show(t, edit_get_lines(t, first, last), &part);
	err = part.err;
	edit_put_cat(&r->out->content, str_c(what), buf_view(&part), first);
	buf_free(&part);
	return err;
}

static int editor_save_history(struct editor *r, struct str text)
{
	r->out->history = EDITOR_PUSH;
	buf_str(&r->out->history_text, text);
	return r->out->history_text.err;
}

/* --- create ------------------------------------------------------------------- */

int editor_create(struct editor *r)
{
	struct edit_text none = {.lines = BUF_INIT(1)}, made;
	struct change c = CHANGE_INIT;
	int err = 0;

	if (!r->q->file_text.p)
		return editor_fail_missing(r, "file_text");
	buf_str(&c.new, r->q->file_text);
	if (c.new.err)
		return c.new.err;
	err = replace_open(&c.file, &r->out->path);
	if (!err && c.file.old >= 0)
		err = -EEXIST;
	if (err) {
		editor_fail_errno(r, err, "write to");
		err = 0;
	} else if (editor_change_write(r, &c)) {
		buf_fmt(&r->out->content, "File created successfully at: %s", r->path);
		err = edit_open(&made, buf_view(&c.new));
		if (!err)
			err = editor_put_diff(r, &none, &made);
		if (!err)
			err = editor_save_history(r, buf_view(&c.new));
		edit_free(&made);
	}
	editor_change_free(&c);
	return err;
}

/* --- str_replace -------------------------------------------------------------- */

static void editor_fail_match_count(
	struct editor *r, const struct edit_found *f, struct str old)
{
	if (f->n == 0)
		EDITOR_FAIL(r,
			"No replacement was performed, old_str `%.*s` did not appear "
			"verbatim in %s.",
			STR_ARG(old), r->path);
	else
		EDITOR_FAIL(r,
			"No replacement was performed. Multiple occurrences of old_str "
			"`%.*s` in lines [%.*s]. Please ensure it is unique.",
			STR_ARG(old), STR_ARG(buf_view(&f->lines)));
}

static void editor_fail_encoding(struct editor *r)
{
	EDITOR_FAIL(r,
		"No replacement was performed: %s is not UTF-8, and the new text has "
		"characters that its bytes cannot hold. Convert the file first, for "
		"example with `iconv -t UTF-8`.",
		r->path);
}

/* Writes the new bytes and reports the lines around the change. */
static int editor_change_finish(struct editor *r, struct change *c,
	const struct edit_text *before, const char *what, size_t first, size_t last)
{
	struct edit_text after;
	int err = 0;

	if (!editor_change_write(r, c))
		return 0;
	buf_fmt(&r->out->content, "The file %s has been edited. ", r->path);
	err = edit_open(&after, buf_view(&c->new));
	if (!err)
		err = editor_put_snippet(r, &after, what, first, last);
	if (!err)
		err = editor_put_diff(r, before, &after);
	if (!err)
		err = editor_save_history(r, buf_view(&c->old));
	edit_free(&after);
	return err;
}

static int editor_replace_match(struct editor *r, struct change *c,
	const struct edit_text *t, const struct edit_found *f, struct str new_str)
{
	size_t first = f->line > CONTEXT ? f->line - CONTEXT + 1 : 1;
	size_t last = f->line + CONTEXT + str_count(new_str, '\n');
	struct buf what = BUF_INIT(FILE_WORDS_MAX);
	const char *name;
	int err = edit_replace(t, f->at, f->length, new_str, &c->new);

	if (err == ERR_RANGE) {
		editor_fail_encoding(r);
		return 0;
	}
	buf_fmt(&what, "a snippet of %s", r->path);
	name = buf_cstr(&what);
	if (!err)
		err = name ? editor_change_finish(r, c, t, name, first, last) : -ENOMEM;
	if (!err && r->out->history == EDITOR_PUSH)
		buf_puts(&r->out->content, REVIEW ". Edit the file again if necessary.");
	buf_free(&what);
	return err;
}

int editor_str_replace(struct editor *r)
{
	const struct editor_req *q = r->q;
	struct str old = q->old_str;
	struct str new_str = q->new_str.p ? q->new_str : STR("");
	struct change c = CHANGE_INIT;
	struct edit_found f = {.n = 0};
	struct edit_text t = {.lines = BUF_INIT(0)};
	int err = 0;

	if (!old.p)
		return editor_fail_missing(r, "old_str");
	if (q->new_str.p && str_eq(q->new_str, old)) {
		EDITOR_FAIL(r,
			"Invalid `new_str` parameter: %.*s. No replacement was "
			"performed. "
			"`new_str` and `old_str` must be different.",
			STR_ARG(new_str));
		return 0;
	}
	if (!editor_change_open(r, &c))
		goto out;
	err = edit_open(&t, buf_view(&c.old));
	if (!err)
		err = edit_find(&t, old, &f);
	if (!err && f.n == 0) {
		old = strip_both(old);
		new_str = strip_both(new_str);
		buf_free(&f.lines);
		err = edit_find(&t, old, &f);
	}
	if (!err && f.n != 1)
		editor_fail_match_count(r, &f, old);
	else if (!err)
		err = editor_replace_match(r, &c, &t, &f, new_str);
out:
	buf_free(&f.lines);
	edit_free(&t);
	editor_change_free(&c);
	return err;
}

/* --- insert ------------------------------------------------------------------- */

static int editor_insert_text(struct editor *r, struct change *c,
	const struct edit_text *t, size_t line, size_t lines)
{
	size_t pieces = str_count(r->q->new_str, '\n') + 1;
	size_t first = line > CONTEXT ? line - CONTEXT + 1 : 1;
	size_t last = line + CONTEXT + pieces;
	int err = edit_insert(t, line, r->q->new_str, &c->new);

	if (err == ERR_RANGE) {
		editor_fail_encoding(r);
		return 0;
	}
	if (!err)
		err = editor_change_finish(r, c, t, "a snippet of the edited file", first,
			last < lines + pieces ? last : lines + pieces);
	if (!err && r->out->history == EDITOR_PUSH)
		buf_puts(&r->out->content,
			REVIEW
			" (correct indentation, no duplicate lines, etc). Edit the "
			"file again if necessary.");
	return err;
}

int editor_insert(struct editor *r)
{
	const struct editor_req *q = r->q;
	struct change c = CHANGE_INIT;
	struct edit_text t = {.lines = BUF_INIT(0)};
	size_t lines;
	int err = 0;

	if (q->line_kind != EDITOR_GIVEN)
		return editor_fail_missing(r, "insert_line");
	if (!q->new_str.p)
		return editor_fail_missing(r, "new_str");
	if (!editor_change_open(r, &c))
		goto out;
	err = edit_open(&t, buf_view(&c.old));
	if (err)
		goto out;
	lines = edit_count_lines(&t);
	if (q->insert_line < 0 || (uint64_t)q->insert_line > lines)
		EDITOR_FAIL(r,
			"Invalid `insert_line` parameter: %lld. It should be within the "
			"range of allowed values: [0, %zu]",
			(long long)q->insert_line, lines);
	else
		err = editor_insert_text(r, &c, &t, (size_t)q->insert_line, lines);
out:
	edit_free(&t);
	editor_change_free(&c);
	return err;
}

/* --- undo_edit ---------------------------------------------------------------- */

static int editor_show_undo(struct editor *r, const struct change *c)
{
	struct buf shown = BUF_INIT(2 * EDIT_CONTENT_MAX);
	struct edit_text before, after = {.lines = BUF_INIT(0)};
	int err = edit_open(&before, buf_view(&c->old));

	if (!err)
		err = edit_open(&after, buf_view(&c->new));
	if (!err) {
		edit_show(&after, buf_view(&after.lines), &shown);
		buf_fmt(&r->out->content, "Last edit to %s undone successfully. ",
			r->path);
		edit_put_cat(&r->out->content, str_c(r->path), buf_view(&shown), 1);
		err = shown.err ? shown.err : editor_put_diff(r, &before, &after);
	}
	edit_free(&before);
	edit_free(&after);
	buf_free(&shown);
	return err;
}

int editor_undo_edit(struct editor *r)
{
	struct change c = CHANGE_INIT;
	struct str text;
	int err = 0;

	if (!editor_change_open(r, &c))
		goto out;
	if (!r->q->history ||
		!history_find_newest(
			r->q->history, str_make(r->path, r->out->path.n), &text)) {
		EDITOR_FAIL(r, "No edit history found for %s.", r->path);
		goto out;
	}
	buf_str(&c.new, text);
	err = c.new.err;
	if (err || !editor_change_write(r, &c))
		goto out;
	r->out->history = EDITOR_POP;
	err = editor_show_undo(r, &c);
out:
	editor_change_free(&c);
	return err;
}
