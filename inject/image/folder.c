#include "inject/image/folder.h"

#include "base/fd.h"
#include "codec/archive/untar.h"
#include "fs/unpack.h"
#include "inject/console/out.h"
#include "inject/image/context.h"
#include "inject/image/plan_part.h"
#include "limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
	struct untar tar;
	struct unpack to;
	int fd; /* of the file being written; for times, of the folder */
};

static int folder_on_entry(struct folder *f)
{
	const struct untar_entry *e = &f->tar.entry;
	int r;

	switch (e->type) {
	case UNTAR_DIR:
		return unpack_dir(&f->to, e->name, e->mode & 0777);
	case UNTAR_SYMLINK:
		return unpack_symlink(&f->to, e->name, e->target, true);
	case UNTAR_FILE:
		r = unpack_file(&f->to, e->name, e->mode & 0777);
		f->fd = r < 0 ? -1 : r;
		return r < 0 ? r : 0;
	default:
		return ERR_TYPE;
	}
}

/* Sets the time of the archive: builders store the times of files in their layers. */
static int folder_end_file(struct folder *f)
{
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT}, {.tv_sec = f->tar.entry.mtime}};
	int r = futimens(f->fd, times) < 0 ? -errno : 0;

	fd_close(&f->fd);
	return r;
}

/* A plugin_put_fn. */
static int folder_on_piece(void *arg, struct str in)
{
	struct folder *f = arg;

	for (;;) {
		struct str content = {0};
		int r = untar_next(&f->tar, &in, &content);

		switch (r) {
		case UNTAR_MORE:
		case UNTAR_DONE:
			return 0;
		case UNTAR_ENTRY:
			r = folder_on_entry(f);
			break;
		case UNTAR_DATA:
			r = fd_write_all(f->fd, content.p, content.n);
			break;
		case UNTAR_END:
			r = folder_end_file(f);
			break;
		default:
			break;
		}
		if (r)
			return r;
	}
}

static int folder_unpack_context(const struct context *c, int dir)
{
	struct folder f = {.fd = -1};
	int r = unpack_begin(&f.to, dir);

	if (r)
		return r;
	umask(0);
	untar_init(&f.tar);
	r = context_put(c, folder_on_piece, &f);
	if (!r)
		r = unpack_commit(&f.to);
	fd_close(&f.fd);
	untar_free(&f.tar);
	unpack_end(&f.to);
	return r;
}

/*
 * A plugin_put_fn that sets the times of folders and links after all files are written.
 */
static int folder_on_time_piece(void *arg, struct str in)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 0}};
	struct folder *f = arg;
	struct str content;
	int event;

	while ((event = untar_next(&f->tar, &in, &content)) > UNTAR_MORE &&
		event != UNTAR_DONE) {
		char path[FILE_PATH_MAX];

		if (event != UNTAR_ENTRY || f->tar.entry.type == UNTAR_FILE)
			continue;
		snprintf(path, sizeof(path), "%.*s", STR_ARG(f->tar.entry.name));
		if (utimensat(f->fd, path, times, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
	}
	return event < 0 ? event : 0;
}

/*
 * Sets the times of folders and links to those of the archive, because builders store
 * them in their layers.
 */
static int folder_set_times(const struct context *c, int dir)
{
	struct folder f = {.fd = dir};
	int r;

	untar_init(&f.tar);
	r = context_put(c, folder_on_time_piece, &f);
	untar_free(&f.tar);
	return r;
}

/*
 * Writes the name of the base for FROM. The digest in a registry works in every builder.
 * For an image without one BuildKit accepts only a name, and the classic builder an id.
 */
static void folder_write_base_name(struct plan *p, struct buf *from)
{
	struct json_val names = json_get(json_doc_root(&p->base->doc), "RepoDigests"), v;
	int it = 0;

	if (json_next(names, &it, NULL, &v))
		buf_str(from, json_doc_str(&p->base->doc, v));
	else
		buf_str(from, p->engine->buildkit ? buf_view(&p->base_ref) : p->base->id);
}

static int folder_write_content(struct plan *p, int dir)
{
	struct buf from = BUF_INIT(1024), text = BUF_INIT(INJECT_DOCKERFILE_MAX);
	struct plan_part part = {.below = IMAGE_STAGE_BASE, .upto = IMAGE_STAGE_SOURCE};
	struct context context = {0};
	struct context_files files = {
		.plugins = &p->plugins,
		.client = buf_view(&p->client.bytes),
		.plugins_program = program_plugins_bytes(&p->client),
		.busybox = p->shell == IMAGE_SHELL_BUSYBOX ? buf_view(&p->busybox.bytes)
							   : STR(""),
		.drop_in = p->drop_in,
		.ignore = true,
	};
	int r;

	folder_write_base_name(p, &from);
	part.from = buf_view(&from);
	r = from.err ? from.err : plan_write_dockerfile(p, &part, &text);
	files.dockerfile = buf_view(&text);
	if (!r)
		r = context_init(&context, &files);
	if (!r)
		r = folder_unpack_context(&context, dir);
	if (!r)
		r = folder_set_times(&context, dir);
	context_free(&context);
	buf_free(&text);
	buf_free(&from);
	return r;
}

/* 0: the folder is empty. */
static int folder_check_empty(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int r = 0;

	if (!d)
		return -errno;
	while (!r && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = -ENOTEMPTY;
	closedir(d);
	return r;
}

int folder_write(struct plan *p, const char *path)
{
	bool made = mkdir(path, 0755) == 0;
	int r = made || errno == EEXIST ? folder_check_empty(path) : -errno;
	int dir;

	if (r)
		return out_fail("name a folder that does not exist yet", "%s: %s", path,
			err_text(r));
	dir = fd_open(path, O_RDONLY | O_DIRECTORY, 0);
	r = dir < 0 ? dir : folder_write_content(p, dir);
	fd_close(&dir);
	if (r && made)
		rmdir(path);
	/* Errors from FAIL_BASE down were printed already. */
	if (r && r > FAIL_BASE && r != -ENOMEM)
		r = out_fail("choose a folder that this user can write to",
			"cannot write to %s: %s", path, err_text(r));
	return r;
}
