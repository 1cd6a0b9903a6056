/* Observers of a session, and the functions that they read it with. */
#include "shell/shell_private.h"

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

uint64_t shell_get_dropped(const struct shell *s)
{
	return s->output.dropped;
}

uint64_t shell_output_end(const struct shell *s)
{
	return spool_get_end(&s->output.spool);
}

uint64_t shell_screen_end(const struct shell *s)
{
	return s->output.fed;
}

int shell_screen(struct shell *s, struct buf *out)
{
	struct vt_mark all = {0};
	size_t kept = 0;

	return vt_report(s->output.vt, &all, out, &kept);
}

int shell_raw(struct shell *s, uint64_t offset, size_t max, struct buf *out,
	struct shell_part *part)
{
	return shell_output_get_raw(&s->output, offset, max, out, part);
}

struct str shell_command(const struct shell *s)
{
	bool has = s->rec->state == SHELL_RUNNING || s->rec->state == SHELL_DONE;

	return has ? str_c(s->rec->command) : STR("");
}

struct str shell_command_id(const struct shell *s)
{
	return str_c(s->rec->id);
}
