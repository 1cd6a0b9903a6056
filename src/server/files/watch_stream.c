#include "server/files/watch_stream.h"

#include "base/b64.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

void watch_stream_init(struct watch_stream *s, struct transfer_io *io, uint64_t beat_s)
{
	*s = (struct watch_stream){.io = io, .beat_ms = beat_s * 1000};
	s->beat = clock_ms() + s->beat_ms;
}

void watch_stream_begin(struct watch_stream *s, struct jw *jw, const char *name)
{
	buf_fmt(&s->io->buf, "id: %" PRIu64 "\nevent: %s\ndata: ", ++s->id, name);
	jw_init(jw, &s->io->buf);
	jw_object(jw);
}

/* JSON escapes line feeds, so the data is one line. */
void watch_stream_end(struct watch_stream *s, struct jw *jw)
{
	jw_end(jw);
	buf_puts(&s->io->buf, "\n\n");
}

void watch_stream_put_path(struct jw *jw, const char *key, struct str path)
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

int watch_stream_send_change(struct watch_stream *s, const struct watch_event *e)
{
	static const char *const names[] = {
		[WATCH_CREATE] = "create",
		[WATCH_WRITE] = "write",
		[WATCH_REMOVE] = "remove",
		[WATCH_RENAME] = "rename",
		[WATCH_CHMOD] = "chmod",
	};
	struct jw jw;

	watch_stream_begin(s, &jw, names[e->kind]);
	watch_stream_put_path(&jw, "path", e->path);
	if (e->kind == WATCH_RENAME)
		watch_stream_put_path(&jw, "from", e->from);
	jw_key(&jw, "dir");
	jw_bool(&jw, e->dir);
	watch_stream_end(s, &jw);
	return watch_stream_flush_large(s);
}

const char *watch_stream_get_error(int err)
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

void watch_stream_put_unwatched(struct watch_stream *s, struct str path, int err)
{
	struct jw jw;

	/* The lack of watches can affect thousands of folders: it is reported once. */
	if (err == -ENOSPC || err == ERR_LIMIT) {
		if (s->full)
			return;
		s->full = true;
	}
	watch_stream_begin(s, &jw, "unwatched");
	watch_stream_put_path(&jw, "path", path);
	jw_key(&jw, "dir");
	jw_bool(&jw, true);
	jw_key(&jw, "detail");
	jw_cstr(&jw, watch_stream_get_error(err));
	watch_stream_end(s, &jw);
}

int watch_stream_flush(struct watch_stream *s)
{
	uint64_t now = clock_ms();

	/* A comment, which clients ignore. */
	if (!s->io->buf.n && now >= s->beat)
		buf_puts(&s->io->buf, ":\n\n");
	if (!s->io->buf.n && !s->io->buf.err)
		return 0;
	s->beat = now + s->beat_ms;
	return transfer_flush(s->io);
}

int watch_stream_flush_large(struct watch_stream *s)
{
	return s->io->buf.n < WATCH_READ && clock_ms() < s->beat ? 0
								 : watch_stream_flush(s);
}
