/*
 * The skill file_editor: runs the editor and wraps its answer in the envelope that
 * callers parse.
 */
#include "fs/editor.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "fs/load.h"
#include "limits.h"
#include "skill/private.h"
#include "skill/state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* In the order of the skill's arguments. */
enum { COMMAND, PATH, FILE_TEXT, VIEW_RANGE, OLD_STR, NEW_STR, INSERT_LINE };

#define UNDO "-undo"

/* --- The history for undo_edit ------------------------------------------------- */

/* A record of the history file: "PATH_BYTES TEXT_BYTES\n", then both texts. */
struct history_record {
	struct str whole, path, text;
};

/* Removes the first record from *rest; false at the end, or if the record is invalid. */
static bool skill_editor_next_record(struct str *rest, struct history_record *out)
{
	struct str from = *rest, head = str_cut(rest, '\n');
	struct str path = str_cut(&head, ' ');
	uint64_t path_n, text_n;

	if (str_u64(path, rest->n, &path_n) < 0 ||
		str_u64(head, rest->n - path_n, &text_n) < 0)
		return false;
	out->path = str_make(rest->p, path_n);
	out->text = str_make(rest->p + path_n, text_n);
	*rest = str_skip(*rest, path_n + text_n);
	out->whole = str_make(from.p, from.n - rest->n);
	return true;
}

static size_t skill_editor_count_records(struct str all, struct str path)
{
	struct history_record r;
	size_t n = 0;

	while (skill_editor_next_record(&all, &r))
		n += str_eq(r.path, path);
	return n;
}

/* Copies all records except record number skip of path. */
static void skill_editor_copy_records(
	struct buf *out, struct str all, struct str path, size_t skip)
{
	struct history_record r;
	size_t n = 0;

	while (skill_editor_next_record(&all, &r))
		if (!str_eq(r.path, path) || n++ != skip)
			buf_str(out, r.whole);
}

static void skill_editor_load_history(struct history *h, struct str all, struct str path)
{
	struct history_record r, newest = {.whole = {NULL, 0}};

	while (skill_editor_next_record(&all, &r))
		if (str_eq(r.path, path))
			newest = r;
	if (newest.whole.p)
		history_push(h, path, newest.text);
}

static void skill_editor_save_history(const struct editor_answer *e, struct str all)
{
	struct str path = str_make(e->path.abs, e->path.n);
	size_t n = skill_editor_count_records(all, path);
	struct buf out = BUF_INIT(2 * HISTORY_BYTES_MAX);

	if (e->history == EDITOR_NO_HISTORY)
		return;
	if (e->history == EDITOR_POP) {
		skill_editor_copy_records(&out, all, path, n - 1);
	} else {
		struct str rest = all;
		struct history_record r;

		/* The oldest records are dropped to make space. */
		while (rest.n + e->history_text.n > HISTORY_BYTES_MAX &&
			skill_editor_next_record(&rest, &r))
			;
		skill_editor_copy_records(&out, rest, path,
			skill_editor_count_records(rest, path) < HISTORY_PER_FILE
				? SIZE_MAX
				: 0);
		buf_fmt(&out, "%zu %zu\n", path.n, e->history_text.n);
		buf_str(&out, path);
		buf_str(&out, buf_view(&e->history_text));
	}
	if (!out.err)
		skill_state_write(UNDO, buf_view(&out));
	buf_free(&out);
}

/* --- The envelope -------------------------------------------------------------- */

/* Writes s as Python's json.dumps does: in ASCII. */
static void skill_editor_put_string(struct buf *out, struct str s)
{
	static const char names[] = "\"\\\n\r\t\b\f", letters[] = "\"\\nrtbf";

	buf_putc(out, '"');
	while (s.n) {
		uint32_t cp = utf8_next(&s);
		const char *name = cp && cp < 0x80 ? strchr(names, (int)cp) : NULL;

		if (name)
			buf_fmt(out, "\\%c", letters[name - names]);
		else if (cp >= 0x20 && cp < 0x80)
			buf_putc(out, (char)cp);
		else if (cp < 0x10000)
			buf_fmt(out, "\\u%04x", cp);
		else
			buf_fmt(out, "\\u%04x\\u%04x", 0xd7c0 + (cp >> 10),
				0xdc00 + (cp & 0x3ff));
	}
	buf_putc(out, '"');
}

static void skill_editor_put_member(
	struct buf *out, const char *key, const struct str *value)
{
	buf_fmt(out, "%s\"%s\": ", out->n && out->p[out->n - 1] == '{' ? "" : ",", key);
	if (value)
		skill_editor_put_string(out, *value);
	else
		buf_puts(out, "null");
}

static void skill_editor_put_marker(struct buf *out, const char *slash, const char *id)
{
	buf_fmt(out, "<%soh_aci_output_%s>\n", slash, id);
}

/* Writes the envelope. A text that does not exist is NULL. */
static void skill_editor_put_answer(struct skill_call *c, struct str content,
	struct str path, const struct str *old_text, const struct str *new_text,
	bool existed)
{
	const struct str mark = STR("ERROR:\n"), error = str_skip(content, mark.n);
	bool failed = str_starts(content, mark);
	char id[2 * 16 + 1];
	uint8_t bytes[16] = {0};

	/* The ID only has to differ between answers. */
	if (random_bytes(bytes, sizeof(bytes)) < 0)
		bytes[0] = 1;
	hex_encode(bytes, sizeof(bytes), id);
	skill_editor_put_marker(&c->out, "", id);
	buf_putc(&c->out, '{');
	skill_editor_put_member(&c->out, "output", failed ? NULL : &content);
	skill_editor_put_member(&c->out, "error", failed ? &error : NULL);
	if (!failed) {
		skill_editor_put_member(&c->out, "path", &path);
		buf_fmt(&c->out, ",\"prev_exist\": %s", existed ? "true" : "false");
		skill_editor_put_member(&c->out, "old_content", old_text);
		skill_editor_put_member(&c->out, "new_content", new_text);
	}
	buf_puts(&c->out, ", \"formatted_output_and_error\": ");
	skill_editor_put_string(&c->out, content);
	buf_puts(&c->out, "}\n");
	skill_editor_put_marker(&c->out, "/", id);
	c->failed = failed;
}

/* --- The command --------------------------------------------------------------- */

/* Parses "[1, -1]", with or without brackets. */
static enum editor_number skill_editor_parse_range(struct str text, int64_t out[2])
{
	struct str second = str_trim(text, "[] \t"), first = str_cut(&second, ',');

	return str_i64(str_trim(first, " \t"), &out[0]) == 0 &&
			str_i64(str_trim(second, " \t"), &out[1]) == 0
		? EDITOR_GIVEN
		: EDITOR_INVALID;
}

static struct editor_req skill_editor_make_request(
	const struct skill_call *c, const char *cwd)
{
	struct editor_req q = {
		.command = str_c(c->args[COMMAND]),
		.path = str_c(c->args[PATH]),
		.root = str_c(cwd),
		.file_text = str_c(c->args[FILE_TEXT]),
		.old_str = str_c(c->args[OLD_STR]),
		.new_str = str_c(c->args[NEW_STR]),
		.line_shown = str_c(c->args[INSERT_LINE]),
		.range_shown = str_c(c->args[VIEW_RANGE]),
	};

	if (q.range_shown.p)
		q.range_kind = skill_editor_parse_range(q.range_shown, q.range);
	if (q.line_shown.p)
		q.line_kind = str_i64(q.line_shown, &q.insert_line) == 0 ? EDITOR_GIVEN
									 : EDITOR_INVALID;
	return q;
}

/* Reads the file as it is now. NULL: there is no such file, or asked is false. */
static const struct str *skill_editor_read_file(
	const char *path, bool asked, struct buf *text, struct str *view)
{
	struct stat st;
	int fd = asked ? load_open(AT_FDCWD, path, O_RDONLY, &st) : -1;
	int r = fd < 0 ? fd : load_read_part(fd, 0, EDIT_FILE_MAX, text);

	fd_close(&fd);
	*view = buf_view(text);
	return r < 0 ? NULL : view;
}

void skill_file_editor(struct skill_call *c)
{
	struct buf undo = BUF_INIT(2 * HISTORY_BYTES_MAX);
	struct buf was = BUF_INIT(EDIT_FILE_MAX), is = BUF_INIT(EDIT_FILE_MAX);
	bool views = !strcmp(c->args[COMMAND], "view");
	struct history history = {.newest = NULL};
	const struct str *old_text, *new_text;
	struct str old_view, new_view;
	char cwd[FILE_PATH_MAX];
	struct file_path path = {.n = 0};
	struct editor_answer e;
	struct editor_req q;
	int r;

	q = skill_editor_make_request(c, getcwd(cwd, sizeof(cwd)) ? cwd : "/");
	skill_state_read(UNDO, &undo);
	/* Without a valid path there is no history. The editor reports the error. */
	if (file_path_make(&path, STR("/"), q.path, &was) < 0)
		buf_reset(&was);
	skill_editor_load_history(&history, buf_view(&undo), str_make(path.abs, path.n));
	q.history = &history;
	old_text = skill_editor_read_file(c->args[PATH], !views, &was, &old_view);
	r = editor_run(&q, &e);
	if (r) {
		skill_set_error(c, "%s: %s", c->args[PATH], err_text(r));
	} else {
		new_text = skill_editor_read_file(c->args[PATH], !views, &is, &new_view);
		skill_editor_put_answer(c, buf_view(&e.content), q.path, old_text,
			new_text, views || old_text);
		skill_editor_save_history(&e, buf_view(&undo));
	}
	editor_free(&e);
	history_free(&history);
	buf_free(&undo);
	buf_free(&was);
	buf_free(&is);
}
