#include "shell/shell_end.h"

#include "base/log.h"
#include "proc/pty.h"
#include "shell/shell_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

enum { RUNG_OTHERS = 3 }; /* the last rung about other processes than the shell */

/* The foreground group, if it is not the shell's own; else 0. */
static pid_t front(const struct shell *s)
{
	pid_t group = s->master < 0 ? 0 : shell_front(s);

	return group > 0 && group != s->end.tree.root ? group : 0;
}

/* Counts the processes besides the shell; without /proc, only the foreground group. */
static size_t others(struct shell *s)
{
	int n = tree_signal(s->end.tree.root, 0);

	if (n < 0)
		return front(s) && kill(-front(s), 0) == 0;
	return (size_t)n;
}

/* As others(), but 0 if SIGTERM was sent and no process is left that SIGTERM may end. */
static size_t others_who_heed(struct shell *s)
{
	size_t n = others(s);

	return s->end.until && !tree_heeds(s->end.tree.root) ? 0 : n;
}

static size_t the_shell(struct shell *s)
{
	return s->rec->pid > 0;
}

/*
 * Without a terminal the shell's own group gets SIGINT; the shell is stopped and ignores
 * it.
 */
static void interrupt(struct shell *s)
{
	pid_t group = s->rec->no_tty ? s->rec->pid : front(s);

	if (group)
		kill(-group, SIGINT);
}

int shell_signal(struct shell *s, int signo)
{
	int r = s->rec->pid > 0 ? tree_signal(s->rec->pid, signo) : -ESRCH;
	pid_t group = s->master < 0 ? 0 : shell_front(s);

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
static void ask_front(const struct shell *s, int r, int signo)
{
	if (r >= 0 || !front(s))
		return;
	kill(-front(s), signo);
	kill(-front(s), SIGCONT);
}

static void terminate(struct shell *s)
{
	ask_front(s, tree_ask(s->end.tree.root), SIGTERM);
}

/* Ends shells within the shell, which do not end by SIGTERM. */
static void hang_up_others(struct shell *s)
{
	ask_front(s, tree_hang_up(s->end.tree.root), SIGHUP);
}

/* Runs at each look: a process that is forked during a kill is found at the next look. */
static size_t kill_others(struct shell *s)
{
	int r = tree_kill(&s->end.tree);

	if (s->end.tree.blind && front(s))
		kill(-front(s), SIGKILL);
	/* Waiting does not help if all processes left may not be killed. */
	return r > 0 ? s->end.tree.live : 0;
}

/* Not for a shell in the middle of a command: it might go on with the text after that. */
static size_t shell_at_prompt(struct shell *s)
{
	return s->end.at_prompt && the_shell(s);
}

static void hang_up(struct shell *s)
{
	kill(s->rec->pid, SIGHUP);
	kill(s->rec->pid, SIGCONT);
}

/* When the shell ends, its terminal hangs up, which may end processes that were left. */
static size_t still_left(struct shell *s)
{
	struct tree *t = &s->end.tree;
	size_t n = 0;

	for (size_t i = 0; i < t->left_n; i++)
		if (kill(t->left[i].pid, 0) == 0 || errno != ESRCH)
			t->left[n++] = t->left[i];
	t->live -= t->left_n - n;
	t->left_n = n;
	return n;
}

/* Each rung: the processes waited for, the action at its start, and its duration. */
static const struct rung {
	size_t (*left)(struct shell *s);
	void (*act)(struct shell *s);
	uint64_t ms;
} ladder[] = {
	{others, interrupt, END_KEY_MS},
	{others_who_heed, terminate, END_TERM_MS},
	{others, hang_up_others, END_HUP_MS},
	{kill_others, NULL, TREE_KILL_MS},
	{shell_at_prompt, hang_up, END_SHELL_MS},
	{the_shell, shell_kill, TREE_KILL_MS},
	{still_left, NULL, END_HANGUP_MS},
};

static void finish(struct shell *s)
{
	struct shell_ending *e = &s->end;
	struct tree *t = &e->tree;
	shell_ended_fn *fn = e->fn;

	t->killed = e->most - t->live + (t->root && !the_shell(s));
	if (the_shell(s) && t->left_n < TREE_LEFT) {
		t->left[t->left_n] = (struct tree_left){.pid = s->rec->pid};
		snprintf(t->left[t->left_n].name, TREE_NAME, "%s", s->setup.arg0);
		t->left_n++;
	}
	e->fn = NULL;
	fn(e->arg, t);
}

/*
 * Passes all rungs whose time is over or that have no process left; true after the last.
 */
static bool climb(struct shell *s, uint64_t now)
{
	struct shell_ending *e = &s->end;

	for (; e->tree.root && e->rung < ARRAY_LEN(ladder); e->rung++) {
		const struct rung *at = &ladder[e->rung];
		size_t n = at->left(s);

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

static void look(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, end.timer);
	uint64_t pause;

	/* The end of the command is reported before the end of the session. */
	if (climb(s, loop_now(s->loop)) && !shell_is_restoring(s) && !s->exit.under_way) {
		finish(s);
		return;
	}
	pause = s->end.pause;
	s->end.pause = pause * 2 < END_LOOK_MAX_MS ? pause * 2 : END_LOOK_MAX_MS;
	if (timer_set(s->loop, &s->end.timer, pause, look) == 0)
		return;
	log_warn("shell %s: out of memory, it is killed at once", s->setup.name);
	shell_kill(s);
	finish(s);
}

int shell_end(struct shell *s, const char *note, shell_ended_fn *fn, void *arg)
{
	if (s->end.fn)
		return -EALREADY;
	if (timer_set(s->loop, &s->end.timer, 0, look) < 0)
		return -ENOMEM;
	s->end = (struct shell_ending){
		.timer = s->end.timer,
		.fn = fn,
		.arg = arg,
		.tree.root = s->rec->pid,
		.at_prompt =
			s->rec->state != SHELL_RUNNING && s->rec->state != SHELL_STARTING,
	};
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
