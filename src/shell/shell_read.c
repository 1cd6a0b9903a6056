/*
 * Moves output from the terminal through the spool and the mark splitter into the
 * terminal model. A turn ends when it has read SHELL_READ_BUDGET bytes, or when the
 * model has done SHELL_WORK units of work. The backlog, bytes that were read and not fed
 * by then, stays in the spool for the next turn of the loop. Until then nothing more is
 * read.
 */
#include "shell/shell_private.h"

#include "base/log.h"

#include <errno.h>
#include <unistd.h>

enum {
	SHELL_READ_BUDGET = 65536, /* bytes per wake-up: other sessions get their turn */
	SHELL_WORK = 32768,        /* units of vt_get_work per wake-up: about 0.3 ms */
};

uint64_t shell_get_fed(const struct shell *s)
{
	size_t pending = mark_count_pending(&s->marks);

	/* A part of a mark does not count: the other part alone would be text. */
	return s->fed > pending ? s->fed - pending : 0;
}

bool shell_has_backlog(const struct shell *s)
{
	return s->fed < spool_get_end(&s->spool);
}

/* Shows data, which came before *in; data that has to wait is put back in front. */
static void shell_feed_data(
	struct shell *s, struct str data, struct str *in, uint64_t limit)
{
	struct str rest = data;
	int r;

	/* A part of a prefix that turned out to be no mark is not in *in. */
	if (data.p + data.n != in->p)
		limit = UINT64_MAX;
	r = vt_feed_limited(s->vt, &rest, limit);
	if (r < 0)
		log_warn("shell %s: out of memory: output is lost", s->setup.name);
	if (s->rec->state == SHELL_RUNNING && s->ops.printed && !s->restoring.under_way)
		buf_str(&s->fresh, str_make(data.p, data.n - rest.n));
	if (rest.n)
		*in = str_make(rest.p, rest.n + in->n);
}

/* Feeds *in, and removes the fed bytes from it. */
static void shell_feed_until(struct shell *s, struct str *in, uint64_t limit, bool *shown)
{
	struct mark_event e;
	struct str data;
	enum mark_step step;

	while (in->n && vt_get_work(s->vt) < limit) {
		step = mark_next(&s->marks, in, &data, &e);
		if (step == MARK_EVENT) {
			shell_on_mark(s, &e);
		} else if (step == MARK_DATA && s->rec->state != SHELL_STARTING) {
			*shown = true;
			shell_feed_data(s, data, in, limit);
		}
	}
}

size_t shell_feed(struct shell *s, struct str in, bool *shown)
{
	size_t all = in.n;

	shell_feed_until(s, &in, vt_get_work(s->vt) + SHELL_WORK, shown);
	return all - in.n;
}

void shell_feed_all(struct shell *s, struct str in)
{
	bool shown = false;

	shell_feed_until(s, &in, UINT64_MAX, &shown);
}

/* Notifies the owner and followers of the text in the bytes that were just fed. */
static void shell_notify_output(struct shell *s, bool shown)
{
	if (s->fresh.err)
		log_warn("shell %s: out of memory: output is lost", s->setup.name);
	if (s->fresh.n)
		s->ops.printed(s->arg, buf_view(&s->fresh), shell_get_fed(s));
	buf_reset(&s->fresh);
	if (shown)
		shell_notify_followers(s, false);
}

/* Feeds the newest bytes of the spool; `part` begins where s->fed stands. */
static void shell_feed_part(struct shell *s, struct str part, uint64_t limit, bool *shown)
{
	size_t all = part.n;
	bool some = false;

	shell_feed_until(s, &part, limit, &some);
	s->fed += all - part.n;
	shell_notify_output(s, some);
	*shown |= some;
}

static void shell_feed_backlog(struct shell *s, uint64_t limit, bool *shown)
{
	while (shell_has_backlog(s) && vt_get_work(s->vt) < limit) {
		struct str part = spool_get_bytes(&s->spool, s->fed);

		/*
		 * At most as many bytes as a read, so that shell_ops.printed gets no
		 * more.
		 */
		if (part.n > SPOOL_READ)
			part.n = SPOOL_READ;
		shell_feed_part(s, part, limit, shown);
	}
}

void shell_print(struct shell *s, struct str bytes)
{
	bool shown = false;
	size_t room;

	for (size_t i = 0; i < bytes.n; i++) {
		*spool_get_space(&s->spool, &room) = bytes.p[i];
		shell_feed_part(s, spool_commit(&s->spool, 1), UINT64_MAX, &shown);
	}
}

/*
 * Feeds the backlog, then reads and feeds until the state changes. 0: the terminal has
 * no more bytes for now; positive: a budget is used up. *shown: something was printed.
 */
static int shell_pump(struct shell *s, bool *shown)
{
	enum shell_state before = s->rec->state;
	uint64_t limit = vt_get_work(s->vt) + SHELL_WORK;
	size_t total = 0;

	shell_feed_backlog(s, limit, shown);
	while (total < SHELL_READ_BUDGET && s->rec->state == before &&
		vt_get_work(s->vt) < limit) {
		size_t room;
		char *p = spool_get_space(&s->spool, &room);
		ssize_t n = s->master < 0 ? 0 : read(s->master, p, room);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? ERR_CLOSED : errno == EAGAIN ? 0 : -errno;
		total += (size_t)n;
		s->exit.bytes += (size_t)n;
		shell_feed_part(s, spool_commit(&s->spool, (size_t)n), limit, shown);
	}
	return 1;
}

/*
 * Notifies the owner of a change of state. Never during a feed: the owner may begin the
 * next command, which clears the spool.
 */
static void shell_notify_state(struct shell *s, enum shell_state before)
{
	if (before == SHELL_STARTING && s->rec->state == SHELL_IDLE) {
		shell_drop_output(s, s->fed);
		s->ops.ready(s->arg, 0, NULL);
	} else if (before == SHELL_RUNNING && s->rec->state == SHELL_DONE) {
		shell_notify_done(s);
	}
}

static timer_fn shell_on_turn;

/* The backlog has its turn after the other events that wait in the loop. */
static void shell_arm_turn(struct shell *s)
{
	if (shell_has_backlog(s))
		timer_set(s->loop, &s->turn, 0, shell_on_turn);
}

void shell_carry_output(struct shell *s)
{
	bool shown = false;

	shell_drop_output(s, s->reported);
	vt_reset(s->vt);
	mark_restart(&s->marks);
	s->shown = (struct vt_mark){0};
	s->reported = 0;
	s->fed = 0;
	shell_feed_backlog(s, vt_get_work(s->vt) + SHELL_WORK, &shown);
	shell_arm_turn(s);
}

static void shell_run_turn(struct shell *s)
{
	enum shell_state before = s->rec->state;
	bool shown = false;

	/*
	 * EIO, or the end of a socket, means that no process holds the terminal now.
	 * The shell's exit status reports its end; the next command watches again.
	 */
	if (shell_pump(s, &shown) < 0 || shell_flush(s) < 0)
		loop_remove(s->loop, &s->io);
	shell_arm_turn(s);
	if (shown && s->rec->state == SHELL_RUNNING)
		s->ops.output(s->arg);
	shell_notify_state(s, before);
}

/* Whether more of a command's last output is to be fed, or may come. */
static bool shell_has_final_output(const struct shell *s)
{
	return s->rec->state == SHELL_RUNNING &&
		(shell_has_backlog(s) || s->exit.bytes < SHELL_LAST_MAX);
}

void shell_drain_output(struct shell *s)
{
	enum shell_state before = s->rec->state;
	bool shown = false;
	int r = 1;

	/*
	 * Output of a command waits for its turns; other output is worth a few turns
	 * only.
	 */
	for (size_t i = 0; i < SHELL_LAST_MAX / SHELL_READ_BUDGET && r > 0; i++) {
		r = shell_pump(s, &shown);
		if (r > 0 && shell_has_final_output(s)) {
			timer_set(s->loop, &s->turn, 0, shell_on_turn);
			return;
		}
	}
	shell_arm_turn(s);
	shell_finish_exit(s, before);
}

static void shell_on_turn(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, turn);

	if (s->exit.under_way)
		shell_drain_output(s);
	else
		shell_run_turn(s);
}

static void shell_on_pty_ready(struct io *io, uint32_t events)
{
	struct shell *s = container_of(io, struct shell, io);

	(void)events;
	timer_cancel(s->loop, &s->turn);
	if (s->exit.under_way)
		shell_drain_output(s);
	else
		shell_run_turn(s);
}

int shell_watch(struct shell *s)
{
	if (s->io.fd >= 0)
		return 0;
	return loop_add(s->loop, &s->io, s->master, EPOLLIN, shell_on_pty_ready);
}
