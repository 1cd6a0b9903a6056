/*
 * Turns of the loop: output moves from the terminal to the marks. A turn ends when it has
 * read SHELL_READ_BUDGET bytes, or when the terminal model has done its work. Until the
 * backlog has been fed, nothing more is read.
 */
#include "shell/shell_private.h"

#include <errno.h>

enum {
	SHELL_READ_BUDGET = 65536, /* bytes per wake-up: other sessions get their turn */
};

/* Without a terminal the shell would read input ahead, after its line, and keep it. */
static bool shell_is_input_blocked(const struct shell *s)
{
	return s->tty.no_pty && s->rec->state == SHELL_RUNNING && !s->rec->started;
}

int shell_flush(struct shell *s)
{
	return shell_tty_flush(&s->tty, shell_is_input_blocked(s));
}

/*
 * Feeds the backlog, then reads and feeds until the state changes. 0: the terminal has
 * no more bytes for now; positive: a budget is used up. *shown: something was printed.
 */
static int shell_pump(struct shell *s, bool *shown)
{
	enum shell_state before = s->rec->state;
	struct shell_output *o = &s->output;
	size_t total = 0;

	shell_output_begin_turn(o);
	shell_output_feed_backlog(o, shown);
	while (total < SHELL_READ_BUDGET && s->rec->state == before &&
		!shell_output_is_turn_over(o)) {
		ssize_t n = s->tty.fd < 0 ? 0 : shell_output_read(o, s->tty.fd, shown);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? ERR_CLOSED : n == -EAGAIN ? 0 : (int)n;
		total += (size_t)n;
		s->exit.bytes += (size_t)n;
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
		shell_output_drop(&s->output, s->output.fed);
		s->ops.ready(s->arg, 0, NULL);
	} else if (before == SHELL_RUNNING && s->rec->state == SHELL_DONE) {
		shell_notify_done(s);
	}
}

static timer_fn shell_on_turn;

void shell_arm_turn(struct shell *s)
{
	if (shell_output_has_backlog(&s->output))
		timer_set(s->loop, &s->turn, 0, shell_on_turn);
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
		loop_remove(s->loop, &s->tty.io);
	shell_arm_turn(s);
	if (shown && s->rec->state == SHELL_RUNNING)
		s->ops.output(s->arg);
	shell_notify_state(s, before);
}

/* Whether more of a command's last output is to be fed, or may come. */
static bool shell_has_final_output(const struct shell *s)
{
	return s->rec->state == SHELL_RUNNING &&
		(shell_output_has_backlog(&s->output) || s->exit.bytes < SHELL_LAST_MAX);
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

void shell_on_tty_ready(struct io *io, uint32_t events)
{
	struct shell *s = container_of(io, struct shell, tty.io);

	(void)events;
	timer_cancel(s->loop, &s->turn);
	if (s->exit.under_way)
		shell_drain_output(s);
	else
		shell_run_turn(s);
}
