#include "server/files/watch.h"

#include "base/clock.h"
#include "base/fd.h"
#include "limits.h"
#include "server/files/file_jobs.h"
#include "server/files/watch_look.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct watch *watch_job_engine_new(void)
{
	return calloc(1, sizeof(struct watch));
}

static void watch_job_del_engine(struct watcher *w)
{
	if (w->engine)
		watch_free(w->engine);
	free(w->engine);
	w->engine = NULL;
	fd_close(&w->fd);
}

/* Makes an engine and watches the top, which is open at fd. */
static int watch_job_start(struct watcher *w, int fd)
{
	w->engine = watch_job_engine_new();
	if (!w->engine)
		return -ENOMEM;
	w->deep = w->ask->tree && !w->filter.file_name;
	watch_init(w->engine, watch_scan_get_ops(w->deep), w);
	w->fd = fd_inotify();
	return w->fd < 0 ? w->fd : watch_scan_top(w, fd);
}

/* Watches the rest. After "ready" the client can list files without missing a change. */
static int watch_job_put_ready(struct watcher *w, int fd)
{
	struct jw jw;
	int r = watch_scan_below(w, fd);

	if (r)
		return r;
	watch_stream_begin(&w->stream, &jw, "ready");
	watch_stream_put_path(&jw, "path", str_make(w->top.p, w->top.n - (w->top.n > 1)));
	jw_key(&jw, "folders");
	jw_uint(&jw, w->engine->tree.count);
	watch_stream_end(&w->stream, &jw);
	return chdir("/") < 0 ? -errno : 0;
}

/* --- The end ---------------------------------------------------------------------- */

static int watch_job_put_end(struct watcher *w, const char *reason, const char *detail)
{
	struct jw jw;

	watch_stream_begin(&w->stream, &jw, "end");
	jw_key(&jw, "reason");
	jw_cstr(&jw, reason);
	jw_key(&jw, "detail");
	jw_cstr(&jw, detail);
	watch_stream_end(&w->stream, &jw);
	return watch_stream_flush(&w->stream);
}

/* The missed changes are unknown: the watch begins again, and the client lists again. */
static int watch_job_restart(struct watcher *w)
{
	struct jw jw;
	int fd = watch_open_top(w);
	int r = fd < 0 ? fd : 0;

	watch_stream_begin(&w->stream, &jw, "overflow");
	jw_key(&jw, "detail");
	jw_cstr(&jw, "Changes were missed. List everything after the next \"ready\".");
	watch_stream_end(&w->stream, &jw);
	watch_job_del_engine(w);
	if (!r)
		r = watch_job_start(w, fd);
	if (!r)
		r = watch_job_put_ready(w, fd);
	fd_close(&fd);
	return r;
}

/* --- The loop --------------------------------------------------------------------- */

/* Waits for events. 0: there is work; 1: the watch is to end; or an error. */
static int watch_job_poll(struct watcher *w, bool *readable)
{
	struct pollfd fds[] = {
		{.fd = w->fd, .events = watch_has_space(w->engine) ? POLLIN : 0},
		/* no bytes come, only the end */
		{.fd = w->stream.io->in, .events = POLLIN},
		{.fd = w->stream.io->out},
	};
	uint64_t now = clock_ms(), due = watch_get_deadline(w->engine);
	int ms;

	due = due < w->stream.beat ? due : w->stream.beat;
	ms = due > now ? (int)(due - now) : 0;
	if (poll(fds, ARRAY_LEN(fds), ms) < 0 && errno != EINTR)
		return -errno;
	*readable = fds[0].revents;
	return fds[1].revents || fds[2].revents;
}

static int watch_job_step(struct watcher *w)
{
	bool readable = false;
	int r = watch_job_poll(w, &readable);

	if (r > 0) {
		r = watch_job_put_end(w, "stopping", "The server stops.");
		return r ? r : -ECANCELED;
	}
	if (readable)
		r = watch_read_events(w);
	if (r >= 0)
		r = watch_run(w->engine, clock_ms());
	if (r == WATCH_GAP)
		r = watch_job_restart(w);
	return r ? r : watch_stream_flush(&w->stream);
}

static int watch_job_run_loop(struct watcher *w)
{
	int r;

	while ((r = watch_job_step(w)) == 0)
		;
	switch (r) {
	case -ECANCELED:
		return 0;
	case WATCH_REMOVED:
		return watch_job_put_end(w, "removed", "The folder was removed.");
	case WATCH_MOVED:
		return watch_job_put_end(w, "moved", "The folder was renamed.");
	case ERR_CLOSED:
		return watch_job_put_end(
			w, "moved", "The path now leads to another folder.");
	case WATCH_UNMOUNTED:
		return watch_job_put_end(
			w, "unmounted", "Its file system was unmounted.");
	case -EPIPE:
		return r;
	default:
		return watch_job_put_end(w, "failed", watch_stream_get_error(r));
	}
}

/* --- The beginning ---------------------------------------------------------------- */

/* Opens the folder at p, or the folder of the file at p, whose name goes to base. */
static int watch_job_open_top(struct watcher *w, const struct file_path *p, char *base)
{
	char cwd[FILE_PATH_MAX];
	struct stat st;
	int dir, fd, r;

	if (stat(p->abs, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode)) {
		fd = fd_open(p->abs, O_RDONLY | O_DIRECTORY, 0);
	} else {
		/*
		 * A rename can replace the file by another one, so its name is watched in
		 * its folder.
		 */
		r = file_path_open_dir(p, &dir, base);
		if (r)
			return r;
		w->filter.file_name = base;
		fd = fd_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
		fd_close(&dir);
	}
	if (fd < 0)
		return fd;
	if (fchdir(fd) < 0 || !getcwd(cwd, sizeof(cwd))) {
		r = -errno;
		fd_close(&fd);
		return r;
	}
	buf_puts(&w->top, cwd);
	if (!str_ends(buf_view(&w->top), STR("/")))
		buf_putc(&w->top, '/');
	if (buf_cstr(&w->top)) {
		w->filter.top = buf_view(&w->top);
		return fd;
	}
	fd_close(&fd);
	return w->top.err;
}

static int watch_job_fail(struct watcher *w, int err)
{
	if (err == -ENOSPC || err == -EMFILE || err == -ENOMEM)
		return transfer_fail(
			w->stream.io, 503, str_c(watch_stream_get_error(err)));
	if (err == -ENOSYS || err == -EPERM)
		return transfer_fail(
			w->stream.io, 501, str_c(watch_stream_get_error(err)));
	return file_jobs_fail(w->stream.io, err, w->ask->path);
}

static int watch_job_stream(struct watcher *w, int fd)
{
	struct transfer_head head = {
		.status = 200,
		.length = REQUEST_LENGTH_UNKNOWN,
		.type = REQUEST_EVENTS,
	};
	int r = watch_job_start(w, fd);

	if (r) {
		fd_close(&fd);
		return watch_job_fail(w, r);
	}
	transfer_add_field(&head, "cache-control", STR("no-cache"));
	/* Makes proxies pass the reply on without buffering. */
	transfer_add_field(&head, "x-accel-buffering", STR("no"));
	r = transfer_begin(w->stream.io, &head);
	if (!r)
		r = watch_job_put_ready(w, fd);
	fd_close(&fd);
	if (!r)
		r = watch_stream_flush(&w->stream);
	return r == -EPIPE ? r
		: r        ? watch_job_put_end(w, "failed", watch_stream_get_error(r))
			   : watch_job_run_loop(w);
}

static int watch_job_compile_glob(struct watcher *w)
{
	const char *why = "out of memory";
	char words[128];
	int r;

	r = watch_filter_set_exclude(&w->filter, w->ask->exclude, &why);
	if (!r)
		return 0;
	snprintf(words, sizeof(words), "query: \"exclude\": %s", why);
	r = transfer_fail(w->stream.io, 422, str_c(words));
	return r ? r : 1;
}

int watch_work(struct transfer_io *io, const struct transfer_request *ask)
{
	struct watcher w = {.ask = ask, .fd = -1};
	char base[FILE_PATH_MAX];
	struct file_path p;
	int fd, r;

	watch_stream_init(&w.stream, io, ask->beat_s);
	watch_filter_init(&w.filter, ask->ignore);
	buf_init(&w.top, FILE_PATH_MAX + 1);
	buf_init(&w.path, WATCH_PATH_MAX);
	if (!file_jobs_check_path(io, ask->path, &p, &r))
		return r;
	r = watch_job_compile_glob(&w);
	if (r == 0) {
		fd = watch_job_open_top(&w, &p, base);
		r = fd < 0 ? watch_job_fail(&w, fd) : watch_job_stream(&w, fd);
	}
	watch_job_del_engine(&w);
	watch_filter_free(&w.filter);
	buf_free(&w.top);
	buf_free(&w.path);
	return r > 0 ? 0 : r;
}
