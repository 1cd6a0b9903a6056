#include "server/files/watch_private.h"

#include "base/b64.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

void watch_put_begin(struct watcher *w, struct jw *jw, const char *name)
{
	buf_fmt(&w->io->buf, "id: %" PRIu64 "\nevent: %s\ndata: ", ++w->id, name);
	jw_init(jw, &w->io->buf);
	jw_object(jw);
}

/* JSON escapes line feeds, so the data is one line. */
void watch_put_end(struct watcher *w, struct jw *jw)
{
	jw_end(jw);
	buf_puts(&w->io->buf, "\n\n");
}

void watch_put_path(struct jw *jw, const char *key, struct str path)
{
	struct buf coded = BUF_INIT(2 * WATCH_PATH_MAX);
	char other[32];

	jw_key(jw, key);
	jw_str(jw, path);
	if (utf8_is_valid(path))
		return;
	b64_encode(&coded, path);
	snprintf(other, sizeof(other), "%s_base64", key);
	jw_key(jw, other);
	jw_str(jw, buf_view(&coded));
	if (coded.err)
		jw->out->err = coded.err;
	buf_free(&coded);
}

int watch_put_change(void *arg, const struct watch_event *e)
{
	static const char *const names[] = {
		[WATCH_CREATE] = "create",
		[WATCH_WRITE] = "write",
		[WATCH_REMOVE] = "remove",
		[WATCH_RENAME] = "rename",
		[WATCH_CHMOD] = "chmod",
	};
	struct watcher *w = arg;
	struct jw jw;

	watch_put_begin(w, &jw, names[e->kind]);
	watch_put_path(&jw, "path", e->path);
	if (e->kind == WATCH_RENAME)
		watch_put_path(&jw, "from", e->from);
	jw_key(&jw, "dir");
	jw_bool(&jw, e->dir);
	watch_put_end(w, &jw);
	return watch_flush_large(w);
}

const char *watch_get_error(int err)
{
	switch (err) {
	case -ENOSPC:
		return "The limit of inotify watches is reached "
		       "(fs.inotify.max_user_watches). Exclude folders, watch fewer, or "
		       "raise the limit on the host.";
	case ERR_LIMIT:
		return "The limit of folders of one request is reached. Exclude some "
		       "folders, or watch smaller trees.";
	case -EMFILE:
		return "The limit of inotify instances is reached "
		       "(fs.inotify.max_user_instances). End other programs that watch "
		       "files, or raise the limit on the host.";
	case -ENOSYS:
	case -EPERM:
		return "The system does not support watches: inotify is missing, or a "
		       "seccomp filter refuses it. List the files periodically instead.";
	case ERR_DUPLICATE:
		return "The folder is mounted at two places and is already watched at "
		       "the other place.";
	default:
		return err_text(err);
	}
}

void watch_put_unwatched(struct watcher *w, struct str path, int err)
{
	struct jw jw;

	/* The lack of watches can affect thousands of folders: it is reported once. */
	if (err == -ENOSPC || err == ERR_LIMIT) {
		if (w->full)
			return;
		w->full = true;
	}
	watch_put_begin(w, &jw, "unwatched");
	watch_put_path(&jw, "path", path);
	jw_key(&jw, "dir");
	jw_bool(&jw, true);
	jw_key(&jw, "detail");
	jw_cstr(&jw, watch_get_error(err));
	watch_put_end(w, &jw);
}

int watch_flush(struct watcher *w)
{
	uint64_t now = clock_ms();

	/* A comment, which clients ignore. */
	if (!w->io->buf.n && now >= w->beat)
		buf_puts(&w->io->buf, ":\n\n");
	if (!w->io->buf.n && !w->io->buf.err)
		return 0;
	w->beat = now + w->ask->beat_s * 1000;
	return transfer_flush(w->io);
}

int watch_flush_large(struct watcher *w)
{
	return w->io->buf.n < WATCH_READ && clock_ms() < w->beat ? 0 : watch_flush(w);
}
