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

struct up {
	const struct copy *copy;
	struct call *call;
	struct str top; /* name of the source there; empty for its content alone */
	struct buf name;
	struct buf out;
};

static int put(struct up *u, bool all)
{
	int r = u->out.err;

	if (!r && (all || u->out.n >= TRANSFER_PIECE)) {
		/* Slow stdin does not count against the time limit of the peer. */
		call_limit(u->call, INJECT_STREAM_MS, INJECT_STREAM_MS);
		r = call_push(u->call, buf_view(&u->out));
		buf_reset(&u->out);
	}
	return r;
}

static int unreadable(struct str path, int err)
{
	return out_fail("leave it out, or make it readable", "%.*s: %s", STR_ARG(path),
		err_text(err));
}

/* Sends exactly the size in the header. */
static int put_content(struct up *u, int fd, uint64_t size)
{
	uint64_t left = size;
	int r = 0;

	while (left && !r) {
		size_t want = left < TRANSFER_PIECE ? (size_t)left : TRANSFER_PIECE;
		char *room = buf_room(&u->out, want);
		ssize_t n = room ? read(fd, room, want) : -1;

		if (!room)
			return u->out.err;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return out_fail("try again", "%.*s: %s",
				STR_ARG(buf_view(&u->name)),
				n ? err_text(-errno) : "it became shorter");
		buf_commit(&u->out, (size_t)n);
		left -= (uint64_t)n;
		r = put(u, false);
	}
	pax_pad(&u->out, size);
	return r;
}

static int put_entry(struct up *u, int dir, const char *name, const struct stat *st)
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
		r = pax_header(&u->out, &e);
	if (r == ERR_TYPE) {
		out_note("od-runtime: left out, as it is neither file, folder nor link: "
			 "%.*s",
			STR_ARG(e.name));
		r = 0;
	} else if (r) {
		r = unreadable(e.name, r);
	} else if (fd >= 0) {
		r = put_content(u, fd, e.size);
	}
	fd_close(&fd);
	return r ? r : put(u, false);
}

static void set_name(struct up *u, struct str path)
{
	buf_reset(&u->name);
	buf_str(&u->name, u->top);
	if (u->top.n && path.n)
		buf_putc(&u->name, '/');
	buf_str(&u->name, path);
}

/* A tree_fn. */
static int put_item(void *arg, const struct tree_item *i)
{
	struct up *u = arg;

	set_name(u, i->path);
	if (i->err)
		return unreadable(i->path, i->err);
	return put_entry(u, i->dir, i->name, &i->st);
}

static int put_tree(struct up *u, const struct stat *st)
{
	int dir = fd_open(u->copy->local, O_RDONLY | O_DIRECTORY, 0);
	int r = dir < 0 ? unreadable(str_c(u->copy->local), dir) : 0;

	set_name(u, (struct str){0});
	if (!r && u->name.n)
		r = put_entry(u, AT_FDCWD, u->copy->local, st);
	if (!r)
		r = tree_each(dir, put_item, u);
	fd_close(&dir);
	return r;
}

static int put_stdin(struct up *u)
{
	for (;;) {
		char *room = buf_room(&u->out, TRANSFER_PIECE);
		ssize_t n = room ? read(STDIN_FILENO, room, TRANSFER_PIECE) : -1;
		int r;

		if (!room)
			return u->out.err;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return out_fail("check what writes to standard input",
				"reading the archive: %s", err_text(-errno));
		buf_commit(&u->out, (size_t)n);
		r = put(u, true);
		if (r || n == 0)
			return r;
	}
}

static int put_all(struct up *u, bool raw, const struct stat *st)
{
	int r;

	if (raw)
		return put_stdin(u);
	if (S_ISDIR(st->st_mode)) {
		r = put_tree(u, st);
	} else {
		set_name(u, (struct str){0});
		r = put_entry(u, AT_FDCWD, u->copy->local, st);
	}
	pax_end(&u->out);
	return r ? r : put(u, true);
}

/* Chooses the target folder and the name in it. */
static int choose(struct up *u, bool is_folder, struct str *parent)
{
	const struct copy *c = u->copy;
	struct str remote = str_c(c->remote);
	enum copy_kind kind;
	int r = copy_look(c, remote, &kind);

	if (r)
		return r;
	*parent = remote;
	if (kind == COPY_FOLDER) {
		u->top = copy_wants_content(str_c(c->local)) ? str_make(NULL, 0)
							     : copy_base(str_c(c->local));
		return 0;
	}
	if (is_folder && kind == COPY_FILE)
		return out_fail("name a folder",
			"%s is no folder in the sandbox, and %s is one", c->remote,
			c->local);
	if (!is_folder && str_ends(remote, STR("/")))
		return out_fail("make it, or leave out the slash",
			"there is no folder %s in the sandbox", c->remote);
	*parent = copy_parent(remote);
	u->top = copy_base(remote);
	return 0;
}

int copy_up(const struct copy *c)
{
	struct call call;
	struct up u = {
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
		return out_fail("check the path, and the rights of its folder", "%s: %s",
			c->local, err_text(-errno));
	/* "link/" and "link/." mean the target of the link. */
	if (!raw && S_ISLNK(st.st_mode) && str_ends(str_c(c->local), STR("/")) &&
		stat(c->local, &st) < 0)
		return out_fail("check the path, and the rights of its folder", "%s: %s",
			c->local, err_text(-errno));
	r = raw ? 0 : choose(&u, S_ISDIR(st.st_mode), &parent);
	if (r)
		return r;
	r = copy_begin(c, "PUT", parent, &call);
	if (!r)
		r = put_all(&u, raw, &st);
	if (!r)
		r = copy_finish(c, &call);
	if (!r && call.head.status >= 300)
		r = copy_refused(c, &call);
	call_close(&call);
	buf_free(&u.out);
	buf_free(&u.name);
	return r ? copy_fail(c, r) : 0;
}
