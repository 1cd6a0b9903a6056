/* GET /v1/files/stat, in its job. */
#include "server/files/file_jobs.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *send_stat_get_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "pipe";
	case S_IFSOCK:
		return "socket";
	default:
		return "device";
	}
}

/* Some file systems have times outside of 64 bits of nanoseconds: these are clamped. */
static int64_t send_stat_compute_ns(const struct timespec *t)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)t->tv_sec, INT64_C(1000000000), &ns) ||
		__builtin_add_overflow(ns, (int64_t)t->tv_nsec, &ns))
		return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static void send_stat_put_members(
	struct jw *w, const struct file_path *p, const struct stat *st)
{
	char text[FILE_PATH_MAX];
	ssize_t n;

	jw_key(w, "path");
	jw_str(w, str_make(p->abs, p->n));
	jw_key(w, "type");
	jw_cstr(w, send_stat_get_type(st->st_mode));
	jw_key(w, "size");
	jw_int(w, st->st_size);
	snprintf(text, sizeof(text), "%04o", st->st_mode & 07777);
	jw_key(w, "mode");
	jw_cstr(w, text);
	jw_key(w, "uid");
	jw_uint(w, st->st_uid);
	jw_key(w, "gid");
	jw_uint(w, st->st_gid);
	jw_key(w, "links");
	jw_uint(w, st->st_nlink);
	jw_key(w, "mtime_ns");
	jw_int(w, send_stat_compute_ns(&st->st_mtim));
	n = S_ISLNK(st->st_mode) ? readlink(p->abs, text, sizeof(text)) : -1;
	if (n >= 0) {
		jw_key(w, "target");
		jw_str(w, str_make(text, (size_t)n));
	}
}

int send_stat(struct transfer_io *io, const struct transfer_request *ask)
{
	struct file_path p;
	struct stat st;
	struct jw w;
	int r;

	if (!file_jobs_check_path(io, ask->path, &p, &r))
		return r;
	if (lstat(p.abs, &st) < 0)
		return file_jobs_fail(io, -errno, ask->path);
	jw_init(&w, &io->buf);
	jw_object(&w);
	send_stat_put_members(&w, &p, &st);
	jw_end(&w);
	return transfer_reply_json(io, 200);
}
