#include "shell/shell_end.h"

#include "limits.h"

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
static pid_t shell_end_get_foreground(const struct shell_end *e)
{
	pid_t group = e->tty->fd < 0 ? 0 : shell_tty_get_foreground(e->tty, *e->pid);

	return group > 0 && group != e->tree.root ? group : 0;
}

/* Counts the processes besides the shell; without /proc, only the foreground group. */
static size_t shell_end_count_children(struct shell_end *e)
{
	int n = tree_signal(e->tree.root, 0);

	if (n < 0)
		return shell_end_get_foreground(e) &&
			kill(-shell_end_get_foreground(e), 0) == 0;
	return (size_t)n;
}

/*
 * As shell_end_count_children(), but 0 if SIGTERM was sent and no process is left that
 * SIGTERM may end.
 */
static size_t shell_end_count_term(struct shell_end *e)
{
	size_t n = shell_end_count_children(e);

	return e->until && !tree_can_terminate(e->tree.root) ? 0 : n;
}

static size_t shell_end_count_shell(struct shell_end *e)
{
	return *e->pid > 0;
}

/*
 * Without a terminal the shell's own group gets SIGINT; the shell is stopped and ignores
 * it.
 */
static void shell_end_interrupt(struct shell_end *e)
{
	pid_t group = e->tty->no_pty ? *e->pid : shell_end_get_foreground(e);

	if (group)
		kill(-group, SIGINT);
}

/*
 * r: the result of the call in tree.h. If it failed (no /proc), signo is sent to the
 * foreground group.
 */
static void shell_end_signal_group(const struct shell_end *e, int r, int signo)
{
	if (r >= 0 || !shell_end_get_foreground(e))
		return;
	kill(-shell_end_get_foreground(e), signo);
	kill(-shell_end_get_foreground(e), SIGCONT);
}

static void shell_end_terminate(struct shell_end *e)
{
	shell_end_signal_group(e, tree_terminate(e->tree.root), SIGTERM);
}

/* Ends shells within the shell, which do not end by SIGTERM. */
static void shell_end_hang_up_children(struct shell_end *e)
{
	shell_end_signal_group(e, tree_hang_up(e->tree.root), SIGHUP);
}

/* Runs at each look: a process that is forked during a kill is found at the next look. */
static size_t shell_end_kill_children(struct shell_end *e)
{
	int r = tree_kill(&e->tree);

	if (e->tree.blind && shell_end_get_foreground(e))
		kill(-shell_end_get_foreground(e), SIGKILL);
	/* Waiting does not help if all processes left may not be killed. */
	return r > 0 ? e->tree.live : 0;
}

/* Not for a shell in the middle of a command: it might go on with the text after that. */
static size_t shell_end_count_prompt(struct shell_end *e)
{
	return e->at_prompt && shell_end_count_shell(e);
}

static void shell_end_hang_up_shell(struct shell_end *e)
{
	kill(*e->pid, SIGHUP);
	kill(*e->pid, SIGCONT);
}

static void shell_end_kill_shell(struct shell_end *e)
{
	tree_kill_now(*e->pid);
}

/* When the shell ends, its terminal hangs up, which may end processes that were left. */
static size_t shell_end_count_survivors(struct shell_end *e)
{
	struct tree *t = &e->tree;
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
	size_t (*count)(struct shell_end *e);
	void (*act)(struct shell_end *e);
	uint64_t ms;
} ladder[] = {
	{shell_end_count_children, shell_end_interrupt, END_KEY_MS},
	{shell_end_count_term, shell_end_terminate, END_TERM_MS},
	{shell_end_count_children, shell_end_hang_up_children, END_HUP_MS},
	{shell_end_kill_children, NULL, TREE_KILL_MS},
	{shell_end_count_prompt, shell_end_hang_up_shell, END_SHELL_MS},
	{shell_end_count_shell, shell_end_kill_shell, TREE_KILL_MS},
	{shell_end_count_survivors, NULL, END_HANGUP_MS},
};

static bool shell_end_report(struct shell_end *e)
{
	struct tree t = e->tree;

	t.killed = e->most - t.live + (t.root && !shell_end_count_shell(e));
	if (shell_end_count_shell(e) && t.survivors_n < TREE_SURVIVORS) {
		t.survivors[t.survivors_n] = (struct tree_survivor){.pid = *e->pid};
		snprintf(t.survivors[t.survivors_n].name, TREE_NAME, "%s", e->name);
		t.survivors_n++;
	}
	return e->fn(e, &t);
}

/*
 * Passes all rungs whose time is over or that have no process left; true after the last.
 */
static bool shell_end_run_rungs(struct shell_end *e, uint64_t now)
{
	for (; e->tree.root && e->rung < ARRAY_LEN(ladder); e->rung++) {
		const struct rung *at = &ladder[e->rung];
		size_t n = at->count(e);

		if (e->rung <= RUNG_OTHERS && n > e->most)
			e->most = n;
		if (n && !e->until) {
			if (at->act)
				at->act(e);
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
	struct shell_end *e = container_of(t, struct shell_end, timer);

	if (shell_end_run_rungs(e, loop_now(e->loop)) && shell_end_report(e))
		return;
	timer_set(e->loop, t, e->pause, shell_end_on_check);
	e->pause = e->pause * 2 < END_LOOK_MAX_MS ? e->pause * 2 : END_LOOK_MAX_MS;
}

void shell_end_begin(struct shell_end *e)
{
	e->tree.root = *e->pid;
	timer_set(e->loop, &e->timer, 0, shell_end_on_check);
	/* The text after the command in the foreground must not be executed. */
	if (*e->pid > 0)
		kill(*e->pid, SIGSTOP);
}

void shell_end_cancel(struct shell_end *e)
{
	timer_cancel(e->loop, &e->timer);
}
