#include "shell/shell_end.h"

#include "proc/pty.h"
#include "shell/shell_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

/* The time that processes have before the next step. */
enum {
	END_KEY_MS = 300,    /* after an interrupt key; most programs need 10 */
	END_TERM_MS = 500,   /* after SIGTERM, to store what must not be lost */
	END_HUP_MS = 300,    /* after SIGHUP: as END_TERM_MS; shells end only by it */
	END_SHELL_MS = 200,  /* for a shell, which writes its history */
	END_HANGUP_MS = 100, /* for processes whose terminal was closed */
};

enum { RUNG_OTHERS = 3 }; /* the last rung about other processes than the shell */

/* The foreground group, if it is not the shell's own; else 0. */
static pid_t shell_end_get_foreground(const struct shell *s)
{
	pid_t group = s->master < 0 ? 0 : shell_get_foreground(s);

	return group > 0 && group != s->end.tree.root ? group : 0;
}

/* Counts the processes besides the shell; without /proc, only the foreground group. */
static size_t shell_end_count_children(struct shell *s)
{
	int n = tree_signal(s->end.tree.root, 0);

	if (n < 0)
		return shell_end_get_foreground(s) &&
			kill(-shell_end_get_foreground(s), 0) == 0;
	return (size_t)n;
}

/*
 * As shell_end_count_children(), but 0 if SIGTERM was sent and no process is left that
 * SIGTERM may end.
 */
static size_t shell_end_count_term(struct shell *s)
{
	size_t n = shell_end_count_children(s);

	return s->end.until && !tree_can_terminate(s->end.tree.root) ? 0 : n;
}

static size_t shell_end_count_shell(struct shell *s)
{
	return s->rec->pid > 0;
}

/*
 * Without a terminal the shell's own group gets SIGINT; the shell is stopped and ignores
 * it.
 */
static void shell_end_interrupt(struct shell *s)
{
	pid_t group = s->rec->no_tty ? s->rec->pid : shell_end_get_foreground(s);

	if (group)
		kill(-group, SIGINT);
}

int shell_signal(struct shell *s, int signo)
{
	int r = s->rec->pid > 0 ? tree_signal(s->rec->pid, signo) : -ESRCH;
	pid_t group = s->master < 0 ? 0 : shell_get_foreground(s);

	if (r >= 0)
		return 0;
	if (group <= 0 || group == s->rec->pid)
		return r;
	return kill(-group, signo) < 0 ? -errno : 0;
}

/*
 * r: the result of the call in tree.h. If it failed (no /proc), signo is sent to the
 * foreground group.
 */
static void shell_end_signal_group(const struct shell *s, int r, int signo)
{
	if (r >= 0 || !shell_end_get_foreground(s))
		return;
	kill(-shell_end_get_foreground(s), signo);
	kill(-shell_end_get_foreground(s), SIGCONT);
}

static void shell_end_terminate(struct shell *s)
{
	shell_end_signal_group(s, tree_terminate(s->end.tree.root), SIGTERM);
}

/* Ends shells within the shell, which do not end by SIGTERM. */
static void shell_end_hang_up_children(struct shell *s)
{
	shell_end_signal_group(s, tree_hang_up(s->end.tree.root), SIGHUP);
}

/* Runs at each look: a process that is forked during a kill is found at the next look. */
static size_t shell_end_kill_children(struct shell *s)
{
	int r = tree_kill(&s->end.tree);

	if (s->end.tree.blind && shell_end_get_foreground(s))
		kill(-shell_end_get_foreground(s), SIGKILL);
	/* Waiting does not help if all processes left may not be killed. */
	return r > 0 ? s->end.tree.live : 0;
}

/* Not for a shell in the middle of a command: it might go on with the text after that. */
static size_t shell_end_count_prompt(struct shell *s)
{
	return s->end.at_prompt && shell_end_count_shell(s);
}

static void shell_end_hang_up_shell(struct shell *s)
{
	kill(s->rec->pid, SIGHUP);
	kill(s->rec->pid, SIGCONT);
}

/* When the shell ends, its terminal hangs up, which may end processes that were left. */
static size_t shell_end_count_survivors(struct shell *s)
{
	struct tree *t = &s->end.tree;
	size_t n = 0;

	for (size_t i = 0; i < t->survivors_n; i++)
		if (kill(t->survivors[i].pid, 0) == 0 || errno != ESRCH)
			t->survivors[n++] = t->survivors[i];
	t->live -= t->survivors_n - n;
	t->survivors_n = n;
	return n;
}

/* Each rung: the processes waited for, the action at its start, and its duration. */
static const struct rung {
	size_t (*count)(struct shell *s);
	void (*act)(struct shell *s);
	uint64_t ms;
} ladder[] = {
	{shell_end_count_children, shell_end_interrupt, END_KEY_MS},
	{shell_end_count_term, shell_end_terminate, END_TERM_MS},
	{shell_end_count_children, shell_end_hang_up_children, END_HUP_MS},
	{shell_end_kill_children, NULL, TREE_KILL_MS},
	{shell_end_count_prompt, shell_end_hang_up_shell, END_SHELL_MS},
	{shell_end_count_shell, shell_kill, TREE_KILL_MS},
	{shell_end_count_survivors, NULL, END_HANGUP_MS},
};

static void shell_end_finish(struct shell *s)
{
	struct shell_ending *e = &s->end;
	struct tree *t = &e->tree;
	shell_ended_fn *fn = e->fn;

	t->killed = e->most - t->live + (t->root && !shell_end_count_shell(s));
	if (shell_end_count_shell(s) && t->survivors_n < TREE_SURVIVORS) {
		t->survivors[t->survivors_n] = (struct tree_survivor){.pid = s->rec->pid};
		snprintf(t->survivors[t->survivors_n].name, TREE_NAME, "%s",
			s->setup.arg0);
		t->survivors_n++;
	}
	e->fn = NULL;
	fn(e->arg, t);
}

/*
 * Passes all rungs whose time is over or that have no process left; true after the last.
 */
static bool shell_end_run_rungs(struct shell *s, uint64_t now)
{
	struct shell_ending *e = &s->end;

	for (; e->tree.root && e->rung < ARRAY_LEN(ladder); e->rung++) {
		const struct rung *at = &ladder[e->rung];
		size_t n = at->count(s);

		if (e->rung <= RUNG_OTHERS && n > e->most)
			e->most = n;
		if (n && !e->until) {
			if (at->act)
				at->act(s);
			e->until = now + at->ms;
			e->pause = END_LOOK_MS;
		}
		if (n && now < e->until)
			return false;
		e->until = 0;
	}
	return true;
}

static void shell_end_on_check(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, end.timer);
	uint64_t pause;

	/* The end of the command is reported before the end of the session. */
	if (shell_end_run_rungs(s, loop_now(s->loop)) && !shell_is_restoring(s) &&
		!s->exit.under_way) {
		shell_end_finish(s);
		return;
	}
	pause = s->end.pause;
	s->end.pause = pause * 2 < END_LOOK_MAX_MS ? pause * 2 : END_LOOK_MAX_MS;
	timer_set(s->loop, &s->end.timer, pause, shell_end_on_check);
}

int shell_end(struct shell *s, const char *note, shell_ended_fn *fn, void *arg)
{
	if (s->end.fn)
		return -EALREADY;
	timer_cancel(s->loop, &s->end.timer);
	s->end = (struct shell_ending){
		.fn = fn,
		.arg = arg,
		.tree.root = s->rec->pid,
		.at_prompt =
			s->rec->state != SHELL_RUNNING && s->rec->state != SHELL_STARTING,
	};
	timer_set(s->loop, &s->end.timer, 0, shell_end_on_check);
	if (s->rec->state == SHELL_RUNNING)
		s->note = note;
	/* The text after the command in the foreground must not be executed. */
	if (s->rec->pid > 0)
		kill(s->rec->pid, SIGSTOP);
	return 0;
}

bool shell_is_ending(const struct shell *s)
{
	return s->end.fn;
}
