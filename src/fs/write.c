#include "fs/write.h"

#include "base/utf8.h"
#include "fs/load.h"

#include <errno.h>
#include <fcntl.h>

enum { PARTS = 4, MODE_NEW = 0664 };

struct writing {
	struct replace file;
	struct buf text;         /* the old text, if it was read */
	struct str parts[PARTS]; /* the new text */
};

/* Makes the missing folders above the file. */
static int file_write_make_parents(const struct write_req *q)
{
	char path[FILE_PATH_MAX];
	struct stat st;

	memcpy(path, q->path->abs, q->path->n + 1);
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (stat(path, &st) < 0) {
			if (mkdir(path, 0777) < 0 && errno != EEXIST)
				return -errno;
		}
		*at = '/';
	}
	return 0;
}

/* Checks the old text and composes the new one. */
static int file_write_compose(struct writing *w, const struct write_req *q)
{
	int fd = w->file.old;
	uint64_t size = (uint64_t)w->file.st.st_size;
	struct text_slice cut;
	struct str old;
	int r;

	w->parts[1] = q->content;
	w->parts[2] = STR("\n");
	if (fd < 0)
		return 0;
	if (q->range.start == 0 && q->range.end == -1 && size > FILE_READ_MAX)
		return load_find_lines(
			fd, q->range, UINT64_MAX, size + FILE_READ_MAX, &cut);
	r = load_read_part(fd, 0, FILE_READ_MAX + 1, &w->text);
	old = buf_view(&w->text);
	if (!r && old.n > FILE_READ_MAX)
		r = ERR_LIMIT;
	if (!r && !utf8_is_valid(old))
		r = ERR_UTF8;
	if (r)
		return r;
	cut = text_find_splice(old, q->range);
	w->parts[0] = str_make(old.p, (size_t)cut.from);
	w->parts[3] = str_skip(old, (size_t)cut.to);
	return 0;
}

static int file_write_put(
	const struct writing *w, const char *path, enum put_how *how, struct buf *why)
{
	struct replace_new to = {
		.parts = w->parts,
		.n = PARTS,
		.mode = MODE_NEW,
	};
	enum put_how done = PUT_NEW;
	bool damaged;
	int attr;
	int r = replace_put(&w->file, &to, &done, &attr, &damaged);

	if (attr) {
		buf_fmt(why,
			"File %s written, but failed to change ownership and "
			"permissions: [Errno %d] %s: '%s'",
			path, -attr, err_text(attr), path);
		return attr;
	}
	if (damaged)
		buf_fmt(why,
			"File could not be written: %s: %s. It may hold old and new text "
			"mixed. %s",
			path, err_text(r), replace_get_advice(r));
	if (!r)
		*how = done;
	return r;
}

static void file_write_format_error(
	const struct writing *w, const char *path, int err, struct buf *why)
{
	const char *advice = replace_get_advice(err);

	switch (err) {
	case -ENOENT:
		buf_fmt(why, "File not found: %s", path);
		break;
	case -EISDIR:
	case ERR_TYPE:
		buf_fmt(why, "Path is %s: %s. You can only write to files",
			load_describe_kind(AT_FDCWD, path), path);
		break;
	case ERR_UTF8:
		buf_fmt(why, "File could not be decoded as utf-8: %s", path);
		break;
	case ERR_LIMIT:
		buf_fmt(why,
			"File is too large: %s has %llu bytes, and lines can be replaced "
			"in at most %d bytes. Use `start` 0 and `end` -1 to replace all",
			path, (unsigned long long)w->file.st.st_size, FILE_READ_MAX);
		break;
	default:
		buf_fmt(why, "File could not be written: %s: %s%s%s", path, err_text(err),
			*advice ? ". " : "", advice);
	}
}

int file_write(const struct write_req *q, enum put_how *how, struct buf *why)
{
	struct writing w = {
		.file = {.dir = -1, .old = -1},
		.text = BUF_INIT(FILE_READ_MAX + 1),
	};
	int r = file_write_make_parents(q);

	if (!r)
		r = replace_open(&w.file, q->path);
	if (!r)
		r = file_write_compose(&w, q);
	if (!r)
		r = file_write_put(&w, q->path->abs, how, why);
	/* An error message of file_write_put is kept. */
	if (r && !why->n)
		file_write_format_error(&w, q->path->abs, r, why);
	replace_close(&w.file);
	buf_free(&w.text);
	return r;
}
