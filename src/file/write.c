#include "file/write.h"

#include "base/fd.h"
#include "base/swap.h"
#include "base/utf8.h"
#include "file/load.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { PARTS = 4, XATTR_NAMES = 1024, MODE_NEW = 0664, MODE_BITS = 07777 };

struct writing {
	int dir;                  /* where the file really is */
	char base[FILE_PATH_MAX]; /* and its name there */
	int old;                  /* open for both, -1 when there is none */
	struct stat st;           /* of the old file */
	struct buf text;          /* the old text, when lines of it stay */
	struct str parts[PARTS];  /* the new text */
};

/* Makes the missing folders above the file and gives them to the owner. */
static int make_parents(const struct write_req *q)
{
	char path[FILE_PATH_MAX];
	struct stat st;

	memcpy(path, q->path->abs, q->path->n + 1);
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (stat(path, &st) < 0) {
			if (mkdir(path, 0777) == 0)
				/* Better a folder of ours than none at all. */
				(void)!lchown(path, q->uid, q->gid);
			else if (errno != EEXIST)
				return -errno;
		}
		*at = '/';
	}
	return 0;
}

static int open_old(struct writing *w)
{
	int fd = load_open(w->dir, w->base, O_RDWR | O_NOFOLLOW, &w->st);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	w->old = fd;
	return 0;
}

/* Checks the old text and puts the new one together. */
static int compose(struct writing *w, const struct write_req *q)
{
	uint64_t size = (uint64_t)w->st.st_size;
	struct text_slice cut;
	struct str old;
	int r;

	w->parts[1] = q->content;
	w->parts[2] = STR("\n");
	if (w->old < 0)
		return 0;
	if (q->range.start == 0 && q->range.end == -1)
		return load_find_lines(
			w->old, q->range, UINT64_MAX, size + FILE_READ_MAX, &cut);
	r = load_part(w->old, 0, FILE_READ_MAX + 1, &w->text);
	old = buf_view(&w->text);
	if (!r && old.n > FILE_READ_MAX)
		r = ERR_LIMIT;
	if (!r && !utf8_valid(old))
		r = ERR_UTF8;
	if (r)
		return r;
	cut = text_splice(old, q->range);
	w->parts[0] = str_make(old.p, (size_t)cut.from);
	w->parts[3] = str_skip(old, (size_t)cut.to);
	return 0;
}

/*
 * Attributes that a new inode would lack: ACLs, capabilities, the user's own.
 * The SELinux label comes with the folder.
 */
static bool has_xattrs(int fd)
{
	char names[XATTR_NAMES];
	ssize_t n = flistxattr(fd, names, sizeof(names));
	struct str rest;

	if (n < 0)
		return errno == ERANGE;
	rest = str_make(names, (size_t)n);
	while (rest.n)
		if (!str_eq(str_cut(&rest, '\0'), STR("security.selinux")))
			return true;
	return false;
}

/* Writes the bytes from..to of the parts to where they belong. */
static int put_range(const struct writing *w, uint64_t from, uint64_t to)
{
	uint64_t at = 0;

	for (size_t i = 0; i < PARTS && at < to; at += w->parts[i].n, i++) {
		struct str s = w->parts[i];
		uint64_t begin = at;

		if (at + s.n > to)
			s.n = (size_t)(to - at);
		if (begin < from) {
			s = str_skip(
				s, from - begin < s.n ? (size_t)(from - begin) : s.n);
			begin = from;
		}
		while (s.n) {
			ssize_t put = pwrite(w->old, s.p, s.n, (off_t)begin);

			if (put < 0 && errno == EINTR)
				continue;
			if (put < 0)
				return -errno;
			s = str_skip(s, (size_t)put);
			begin += (size_t)put;
		}
	}
	return 0;
}

/*
 * Overwrites the old file. What needs new room on the disk goes first, behind
 * the old text: when there is none, cutting it off restores the old file.
 * *damaged tells whether a failure came after that point.
 */
static int overwrite(const struct writing *w, bool *damaged)
{
	uint64_t old = (uint64_t)w->st.st_size;
	uint64_t all = 0;
	int r;

	for (size_t i = 0; i < PARTS; i++)
		all += w->parts[i].n;
	r = put_range(w, old, all);
	if (r) {
		*damaged = ftruncate(w->old, w->st.st_size) < 0;
		return r;
	}
	r = put_range(w, 0, all < old ? all : old);
	if (!r && ftruncate(w->old, (off_t)all) < 0)
		r = -errno;
	*damaged = r != 0;
	return r;
}

/* The neighbour cannot be made or take the name, but the old file is open. */
static bool is_in_the_way(int err)
{
	return err == -EACCES || err == -EPERM || err == -EROFS || err == -EBUSY ||
		err == -EXDEV || err == -EINVAL;
}

static int change_old(const struct writing *w, enum write_how *how, bool *damaged)
{
	struct swap_attr attr = {w->st.st_mode & MODE_BITS, w->st.st_uid, w->st.st_gid};
	int r = -EBUSY;

	if (w->st.st_nlink == 1 && !has_xattrs(w->old))
		r = swap_file(w->dir, w->base, &attr, w->parts, PARTS, NULL);
	if (!r) {
		*how = WRITE_REPLACED;
	} else if (is_in_the_way(r)) {
		r = overwrite(w, damaged);
		if (!r)
			*how = WRITE_IN_PLACE;
	}
	return r;
}

static int make_new(const struct writing *w, const struct write_req *q,
	enum write_how *how, struct buf *why)
{
	struct swap_attr attr = {MODE_NEW, q->uid, q->gid};
	int given = 0;
	int r = swap_file(w->dir, w->base, &attr, w->parts, PARTS, &given);

	if (r)
		return r;
	if (given) {
		const char *path = q->path->abs;

		buf_fmt(why,
			"File %s written, but failed to change ownership and "
			"permissions: [Errno %d] %s: '%s'",
			path, -given, err_text(given), path);
		return given;
	}
	*how = WRITE_NEW;
	return 0;
}

static void say(const struct writing *w, const char *path, int err, struct buf *why)
{
	switch (err) {
	case -ENOENT:
		buf_fmt(why, "File not found: %s", path);
		break;
	case -EISDIR:
	case ERR_TYPE:
		buf_fmt(why, "Path is %s: %s. You can only write to files",
			load_kind(AT_FDCWD, path), path);
		break;
	case ERR_UTF8:
		buf_fmt(why, "File could not be decoded as utf-8: %s", path);
		break;
	case ERR_LIMIT:
		buf_fmt(why,
			"File is too large: %s has %llu bytes, and lines can be replaced "
			"in at most %d bytes. Use `start` 0 and `end` -1 to replace all",
			path, (unsigned long long)w->st.st_size, FILE_READ_MAX);
		break;
	default:
		buf_fmt(why, "File could not be written: %s: %s", path, err_text(err));
	}
}

int file_write(const struct write_req *q, enum write_how *how, struct buf *why)
{
	struct writing w = {.dir = -1, .old = -1, .text = BUF_INIT(FILE_READ_MAX + 1)};
	bool damaged = false;
	int r = make_parents(q);

	if (!r)
		r = file_path_open_dir(q->path, &w.dir, w.base);
	if (!r)
		r = open_old(&w);
	if (!r)
		r = compose(&w, q);
	if (!r)
		r = w.old < 0 ? make_new(&w, q, how, why) : change_old(&w, how, &damaged);
	/* What make_new says of a complete file stands. */
	if (r && !why->n)
		say(&w, q->path->abs, r, why);
	if (damaged)
		buf_puts(why, ". It may hold old and new text mixed");
	fd_close(&w.dir);
	fd_close(&w.old);
	buf_free(&w.text);
	return r;
}
