/* Observers of a session, and the functions that they read it with. */
#include "shell/shell_private.h"

#include "proc/pty.h"

#include <errno.h>

void shell_follow(struct shell *s, struct shell_follower *f)
{
	list_prepend(&s->followers, &f->node);
}

void shell_unfollow(struct shell_follower *f)
{
	list_remove(&f->node);
}

void shell_notify_followers(struct shell *s, bool gone)
{
	LIST_EACH (struct shell_follower, f, &s->followers, node) {
		if (gone)
			list_remove(&f->node);
		f->fn(f, gone);
	}
}

void shell_drop_output(struct shell *s, uint64_t from)
{
	uint64_t end = spool_get_end(&s->spool);

	spool_drop_before(&s->spool, from);
	end -= spool_get_end(&s->spool);
	s->dropped_bytes += end;
	s->fed = s->fed > end ? s->fed - end : 0;
}

uint64_t shell_get_dropped(const struct shell *s)
{
	return s->dropped_bytes;
}

uint64_t shell_output_end(const struct shell *s)
{
	return spool_get_end(&s->spool);
}

uint64_t shell_screen_end(const struct shell *s)
{
	return s->fed;
}

int shell_screen(struct shell *s, struct buf *out)
{
	struct vt_mark all = {0};
	size_t kept = 0;

	return vt_report(s->vt, &all, out, &kept);
}

int shell_resize(struct shell *s, uint16_t rows, uint16_t columns)
{
	if (s->master < 0 || s->rec->no_tty)
		return -ENOTTY;
	return pty_resize(s->master, rows, columns);
}
