/* Copies from a sandbox: a tar stream to stdout, or unpacked here. */
#include "inject/sandbox/copy/copy.h"

#include "base/fd.h"
#include "codec/archive/untar.h"
#include "fs/holes.h"
#include "fs/unpack.h"
#include "inject/console/out.h"
#include "inject/sandbox/copy/copy_space.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct copy_download {
	const struct copy *copy;
	bool folder;    /* the source is a folder */
	struct str top; /* local name of its top; empty for its content alone */
	struct buf name;
	struct untar tar;
	struct unpack to;
	int fd; /* of the file whose content is received */
	struct holes holes;
	struct copy_space space;
};

static int copy_down_write_stdout(const struct copy *c, struct http_client *call)
{
	struct str piece = {0};
	unsigned rounds = 0;
	int r;

	while ((r = copy_read(c, call, &rounds, &piece)) == 1) {
		r = fd_write_all(STDOUT_FILENO, piece.p, piece.n);
		if (r)
			return out_fail("check the program or the file that receives the "
					"standard output",
				"cannot write the archive: %s", err_text(r));
	}
	return r;
}

/*
 * Sets the local name of an entry. The engine puts the source's own name in front of all
 * names; the server sends names relative to the folder, and "." for the folder itself.
 */
static struct str copy_down_rename_entry(struct copy_download *d, struct str name)
{
	if (!d->copy->sandbox->running)
		(void)str_cut(&name, '/');
	else if (!d->folder || str_eq(name, STR(".")))
		name.n = 0;
	buf_reset(&d->name);
	buf_str(&d->name, d->top);
	if (d->top.n && name.n)
		buf_putc(&d->name, '/');
	buf_str(&d->name, name);
	return buf_view(&d->name);
}

static int copy_down_put_entry(struct copy_download *d)
{
	const struct untar_entry *e = &d->tar.entry;
	struct str target = e->target, name;
	struct buf kept = BUF_INIT(FILE_PATH_MAX);
	int r;

	if (e->type == UNTAR_HARDLINK) {
		buf_str(&kept, copy_down_rename_entry(d, target));
		target = buf_view(&kept);
	}
	name = copy_down_rename_entry(d, e->name);
	if (!name.n || d->name.err) {
		buf_free(&kept);
		return d->name.err;
	}
	switch (e->type) {
	case UNTAR_DIR:
		r = unpack_dir(&d->to, name, e->mode & 0777);
		break;
	case UNTAR_SYMLINK:
		r = unpack_symlink(&d->to, name, target, true);
		break;
	case UNTAR_HARDLINK:
		r = kept.err ? kept.err : unpack_hardlink(&d->to, name, target, true);
		break;
	default:
		r = unpack_file(&d->to, name, e->mode & 0777);
		d->fd = r < 0 ? -1 : r;
		d->holes = (struct holes){0};
		r = r < 0 ? r : 0;
		break;
	}
	buf_free(&kept);
	return r;
}

/* Handles an entry. A header may name 2,000 folders, and each missing folder is made. */
static int copy_down_take_entry(struct copy_download *d)
{
	uint64_t before = d->to.entries, made;
	int r = copy_down_put_entry(d);

	made = d->to.entries - before;
	return r ? r : copy_space_reserve(&d->space, d->to.dest, 0, made ? made : 1);
}

static int copy_down_end_file(struct copy_download *d)
{
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT}, {.tv_sec = d->tar.entry.mtime}};
	int r = holes_end(&d->holes, d->fd);

	if (!r && futimens(d->fd, times) < 0)
		r = -errno;
	fd_close(&d->fd);
	return r;
}

/*
 * Writes content with holes. Holes take no space, but an archive of zeros may have no
 * end.
 */
static int copy_down_write_content(struct copy_download *d, struct str content)
{
	struct holes ahead = d->holes;
	struct str rest = content, data;
	uint64_t at, bytes = 0;
	int r;

	while (holes_next(&ahead, &rest, &data, &at))
		bytes += data.n;
	r = copy_space_reserve(&d->space, d->to.dest, bytes, 0);
	if (!r)
		r = copy_space_skip(&d->space, d->to.dest, content.n - bytes);
	return r ? r : holes_write(&d->holes, d->fd, content);
}

/* Handles a piece of the archive: 0; 1 at the end of the archive. */
static int copy_down_on_piece(struct copy_download *d, struct str in)
{
	for (;;) {
		struct str content = {0};
		int r = untar_next(&d->tar, &in, &content);

		switch (r) {
		case UNTAR_MORE:
			return 0;
		case UNTAR_DONE:
			return 1;
		case UNTAR_ENTRY:
			r = copy_down_take_entry(d);
			break;
		case UNTAR_DATA:
			r = copy_down_write_content(d, content);
			break;
		case UNTAR_END:
			r = copy_down_end_file(d);
			break;
		default:
			break;
		}
		if (r)
			return r;
	}
}

static int copy_down_unpack_stream(struct copy_download *d, struct http_client *call)
{
	struct str piece = {0};
	unsigned rounds = 0;
	bool done = false;
	int r, s;

	while ((r = copy_read(d->copy, call, &rounds, &piece)) == 1) {
		s = done ? 0 : copy_down_on_piece(d, piece);
		if (s == -ENOSPC)
			return out_fail("free disk space, choose another folder, or "
					"write an archive to a pipe with - as PATH",
				"%s: the disk of %s is nearly full; nothing was copied",
				d->copy->remote, d->copy->local);
		if (s < 0)
			return out_fail("copy without this file, or write an archive: cp "
					"SANDBOX:PATH - >FILE",
				"%.*s: %s",
				STR_ARG(d->name.n ? buf_view(&d->name)
						  : str_c(d->copy->remote)),
				d->tar.reason ? d->tar.reason : err_text(s));
		done = done || s == 1;
	}
	if (!r && !done)
		return out_fail(
			"try again", "the archive from the sandbox ended too early");
	return r;
}

static int copy_down_unpack_at(
	struct copy_download *d, struct http_client *call, struct str parent)
{
	char path[FILE_PATH_MAX];
	int dir, r;

	snprintf(path, sizeof(path), "%.*s", STR_ARG(parent));
	dir = fd_open(path, O_RDONLY | O_DIRECTORY, 0);
	r = dir < 0 ? dir : unpack_begin(&d->to, dir);
	if (r < 0) {
		fd_close(&dir);
		return out_fail("choose another folder", "cannot write to %s: %s", path,
			err_text(r));
	}
	/*
	 * The user chooses the tree, so it may have any number of entries; the disk
	 * limits it.
	 */
	d->to.entries_max = UINT64_MAX;
	copy_space_init(&d->space);
	untar_init(&d->tar);
	r = copy_down_unpack_stream(d, call);
	if (!r) {
		r = unpack_commit(&d->to);
		if (r)
			r = out_fail(
				"check the free space and the permissions of that folder",
				"%.*s: %s", STR_ARG(buf_view(&d->to.where)), err_text(r));
	}
	fd_close(&d->fd);
	untar_free(&d->tar);
	unpack_end(&d->to);
	fd_close(&dir);
	return r;
}

/* Chooses the target folder and the name in it. */
static int copy_down_choose_target(struct copy_download *d, struct str *parent)
{
	const struct copy *c = d->copy;
	struct str local = str_c(c->local);
	struct stat st;
	int r = stat(c->local, &st) < 0 ? -errno : 0;

	if (!r && S_ISDIR(st.st_mode)) {
		*parent = local;
		d->top = copy_is_content_path(str_c(c->remote))
			? str_make(NULL, 0)
			: copy_base(str_c(c->remote));
		return 0;
	}
	if (!r && d->folder)
		return out_fail("name a folder",
			"%s is not a folder, but the source %s is a folder", c->local,
			c->remote);
	if (r && r != -ENOENT)
		return out_fail("check the path and the permissions of its folder",
			"%s: %s", c->local, err_text(r));
	if (r && !d->folder && str_ends(local, STR("/")))
		return out_fail("create it, or leave out the slash at the end",
			"the folder %s does not exist", c->local);
	*parent = copy_parent(local);
	d->top = copy_base(local);
	return 0;
}

int copy_down(const struct copy *c)
{
	struct copy_download d = {.copy = c, .fd = -1, .name = BUF_INIT(FILE_PATH_MAX)};
	bool raw = strcmp(c->local, "-") == 0;
	struct str parent = {0};
	struct http_client call;
	enum copy_kind kind = COPY_ABSENT;
	int r = raw ? 0 : copy_find_kind(c, str_c(c->remote), &kind);

	d.folder = kind == COPY_FOLDER;
	if (!r && !raw)
		r = copy_down_choose_target(&d, &parent);
	if (r)
		return r;
	r = copy_begin(c, "GET", str_c(c->remote), &call);
	if (!r) {
		r = copy_finish(c, &call);
		if (r)
			r = copy_fail(c, r);
		else if (call.head.status != 200)
			r = copy_fail_status(c, &call);
		else
			r = raw ? copy_down_write_stdout(c, &call)
				: copy_down_unpack_at(&d, &call, parent);
		r = r ? copy_fail(c, r) : 0;
	}
	http_client_close(&call);
	buf_free(&d.name);
	return r;
}
