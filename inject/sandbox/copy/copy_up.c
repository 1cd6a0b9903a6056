/* Copies to a sandbox: a tar stream from stdin, or of local files. */
#include "inject/sandbox/copy/copy.h"

#include "base/fd.h"
#include "codec/archive/pax.h"
#include "fs/tree.h"
#include "inject/console/out.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct copy_upload {
	const struct copy *copy;
	struct http_client *call;
	struct str top; /* name of the source there; empty for its content alone */
	struct buf name;
	struct buf out;
};

static int copy_up_flush(struct copy_upload *u, bool all)
{
	int r = u->out.err;

	if (!r && (all || u->out.n >= TRANSFER_PIECE)) {
		/* Slow stdin does not count against the time limit of the peer. */
		http_client_set_limits(u->call, INJECT_STREAM_MS, INJECT_STREAM_MS);
		r = http_client_push(u->call, buf_view(&u->out));
		buf_reset(&u->out);
	}
	return r;
}

static int copy_up_fail_read(struct str path, int err)
{
	return out_fail("exclude it, or make it readable", "%.*s: %s", STR_ARG(path),
		err_text(err));
}

/* Sends exactly the size in the header. */
static int copy_up_send_content(struct copy_upload *u, int fd, uint64_t size)
{
	uint64_t left = size;
	int r = 0;

	while (left && !r) {
		size_t want = left < TRANSFER_PIECE ? (size_t)left : TRANSFER_PIECE;
		char *room = buf_reserve(&u->out, want);
		ssize_t n = room ? read(fd, room, want) : -1;

		if (!room)
			return u->out.err;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return out_fail("try again when no program writes to it",
				"%.*s: %s", STR_ARG(buf_view(&u->name)),
				n ? err_text(-errno)
				  : "it became shorter while it was read");
		buf_commit(&u->out, (size_t)n);
		left -= (uint64_t)n;
		r = copy_up_flush(u, false);
	}
	pax_pad(&u->out, size);
	return r;
}

static int copy_up_send_entry(
	struct copy_upload *u, int dir, const char *name, const struct stat *st)
{
	char target[FILE_PATH_MAX];
	struct pax_entry e = {
		.name = buf_view(&u->name),
		.mode = st->st_mode,
		.mtime = st->st_mtime,
		.uid = st->st_uid,
		.gid = st->st_gid,
	};
	struct stat now = *st;
	int fd = -1, r = 0;

	if (S_ISREG(st->st_mode)) {
		fd = fd_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
		if (fd < 0 || fstat(fd, &now) < 0)
			r = fd < 0 ? fd : -errno;
		if (!r && !S_ISREG(now.st_mode))
			r = ERR_TYPE;
		e.size = (uint64_t)now.st_size;
	} else if (S_ISLNK(st->st_mode)) {
		ssize_t n = readlinkat(dir, name, target, sizeof(target));

		r = n < 0 ? -errno : 0;
		e.target = str_make(target, n < 0 ? 0 : (size_t)n);
	}
	if (!r)
		r = pax_write_header(&u->out, &e);
	if (r == ERR_TYPE) {
		out_note("od-runtime: not copied, because it is not a file, a folder or "
			 "a symbolic link: %.*s",
			STR_ARG(e.name));
		r = 0;
	} else if (r) {
		r = copy_up_fail_read(e.name, r);
	} else if (fd >= 0) {
		r = copy_up_send_content(u, fd, e.size);
	}
	fd_close(&fd);
	return r ? r : copy_up_flush(u, false);
}

static void copy_up_set_name(struct copy_upload *u, struct str path)
{
	buf_reset(&u->name);
	buf_str(&u->name, u->top);
	if (u->top.n && path.n)
		buf_putc(&u->name, '/');
	buf_str(&u->name, path);
}

/* A tree_fn. */
static int copy_up_on_tree_item(void *arg, const struct tree_item *i)
{
	struct copy_upload *u = arg;

	copy_up_set_name(u, i->path);
	if (i->err)
		return copy_up_fail_read(i->path, i->err);
	return copy_up_send_entry(u, i->dir, i->name, &i->st);
}

static int copy_up_send_tree(struct copy_upload *u, const struct stat *st)
{
	int dir = fd_open(u->copy->local, O_RDONLY | O_DIRECTORY, 0);
	int r = dir < 0 ? copy_up_fail_read(str_c(u->copy->local), dir) : 0;

	copy_up_set_name(u, (struct str){0});
	if (!r && u->name.n)
		r = copy_up_send_entry(u, AT_FDCWD, u->copy->local, st);
	if (!r)
		r = tree_for_each(dir, copy_up_on_tree_item, u);
	fd_close(&dir);
	return r;
}

static int copy_up_send_stdin(struct copy_upload *u)
{
	for (;;) {
		char *room = buf_reserve(&u->out, TRANSFER_PIECE);
		ssize_t n = room ? read(STDIN_FILENO, room, TRANSFER_PIECE) : -1;
		int r;

		if (!room)
			return u->out.err;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return out_fail(
				"check the program that writes to the standard input",
				"cannot read the archive: %s", err_text(-errno));
		buf_commit(&u->out, (size_t)n);
		r = copy_up_flush(u, true);
		if (r || n == 0)
			return r;
	}
}

static int copy_up_send_all(struct copy_upload *u, bool raw, const struct stat *st)
{
	int r;

	if (raw)
		return copy_up_send_stdin(u);
	if (S_ISDIR(st->st_mode)) {
		r = copy_up_send_tree(u, st);
	} else {
		copy_up_set_name(u, (struct str){0});
		r = copy_up_send_entry(u, AT_FDCWD, u->copy->local, st);
	}
	pax_end(&u->out);
	return r ? r : copy_up_flush(u, true);
}

/* Chooses the target folder and the name in it. */
static int copy_up_choose_target(
	struct copy_upload *u, bool is_folder, struct str *parent)
{
	const struct copy *c = u->copy;
	struct str remote = str_c(c->remote);
	enum copy_kind kind;
	int r = copy_find_kind(c, remote, &kind);

	if (r)
		return r;
	*parent = remote;
	if (kind == COPY_FOLDER) {
		u->top = copy_is_content_path(str_c(c->local))
			? str_make(NULL, 0)
			: copy_base(str_c(c->local));
		return 0;
	}
	if (is_folder && kind == COPY_FILE)
		return out_fail("name a folder",
			"%s is not a folder in the sandbox, but the source %s is a "
			"folder",
			c->remote, c->local);
	if (!is_folder && str_ends(remote, STR("/")))
		return out_fail("create it, or leave out the slash at the end",
			"the folder %s does not exist in the sandbox", c->remote);
	*parent = copy_parent(remote);
	u->top = copy_base(remote);
	return 0;
}

int copy_up(const struct copy *c)
{
	struct http_client call;
	struct copy_upload u = {
		.copy = c,
		.call = &call,
		.name = BUF_INIT(FILE_PATH_MAX),
		.out = BUF_INIT(4 * (size_t)TRANSFER_PIECE),
	};
	bool raw = strcmp(c->local, "-") == 0;
	struct str parent = str_c(c->remote);
	struct stat st = {0};
	int r = 0;

	if (!raw && lstat(c->local, &st) < 0)
		return out_fail("check the path and the permissions of its folder",
			"%s: %s", c->local, err_text(-errno));
	/* "link/" and "link/." mean the target of the link. */
	if (!raw && S_ISLNK(st.st_mode) && str_ends(str_c(c->local), STR("/")) &&
		stat(c->local, &st) < 0)
		return out_fail("check the path and the permissions of its folder",
			"%s: %s", c->local, err_text(-errno));
	r = raw ? 0 : copy_up_choose_target(&u, S_ISDIR(st.st_mode), &parent);
	if (r)
		return r;
	r = copy_begin(c, "PUT", parent, &call);
	if (!r)
		r = copy_up_send_all(&u, raw, &st);
	if (!r)
		r = copy_finish(c, &call);
	if (!r && call.head.status >= 300)
		r = copy_fail_status(c, &call);
	http_client_close(&call);
	buf_free(&u.out);
	buf_free(&u.name);
	return r ? copy_fail(c, r) : 0;
}
