/* The end of processes: exit, signal, timeout, or the end of their connection. */
#include "proc/process/process_private.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "proc/pty.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

enum {
	KILL_TURN_US = 20000, /* per batch: other peers wait meanwhile */
	KILL_SHARED = 16,     /* a larger tree needs a snapshot of its own */
	TURN_MS = 1,          /* until the next batch */
};

static bool process_is_running(const struct process *p)
{
	return p->record->state == PROCESS_RUNNING;
}

static void process_set_killing(struct process *p, bool active)
{
	if (p->killing.active == active)
		return;
	p->killing.active = active;
	p->all->kills_n += active ? 1 : -1U;
}

void process_end_timers(struct process *p)
{
	struct loop *l = p->all->conf->loop;

	timer_cancel(l, &p->timeout);
	timer_cancel(l, &p->orphan);
	timer_cancel(l, &p->killing.timer);
	process_set_killing(p, false);
	if (timer_is_armed(&p->signalling))
		p->all->signals_n--;
	timer_cancel(l, &p->signalling);
	p->signals = 0;
}

/* --- Turns ----------------------------------------------------------------- */

/*
 * A snapshot of /proc takes milliseconds if there are many processes, and a peer may ask
 * for hundreds of them at once. Each batch has time for some.
 */
static void process_update_turn(struct process_turn *turn, const struct loop *l)
{
	if (turn->batch == loop_batch(l) + 1)
		return;
	*turn = (struct process_turn){.batch = loop_batch(l) + 1, .began = clock_us()};
}

/* --- Exit ------------------------------------------------------------------ */

void process_on_exit(struct process *p, int status)
{
	struct process_record *r = p->record;

	/* A later serve relies on this order. */
	r->status = status;
	r->ended_at = clock_unix_time();
	process_end_timers(p);
	process_sink_close(p);
	process_source_mark_exit(p);
	process_set_exit(p);
	process_enter(p, PROCESS_EXITED);
	processes_evict(p->all);
}

void process_set_exit(struct process *p)
{
	p->exit = (struct process_exit){
		.status = p->record->status,
		.timed_out = p->record->timed_out,
		.at = p->record->ended_at,
	};
}

void processes_on_exit(struct processes *all, pid_t pid, int status)
{
	LIST_EACH (struct process, p, &all->list, node)
		if (p->record->pid == pid && process_is_running(p)) {
			process_on_child_exit(&p->child, status);
			return;
		}
}

/* --- Kill ------------------------------------------------------------------ */

static void process_kill_step(struct timer *t);

static void process_schedule_kill(struct process *p, uint64_t ms)
{
	timer_set(p->all->conf->loop, &p->killing.timer, ms, process_kill_step);
}

/* Whether the tree needs another snapshot; r: the result of tree_kill. */
static bool process_needs_kill(const struct process *p, bool before, int r)
{
	const struct process_killing *k = &p->killing;

	/* Another snapshot finds processes that were forked meanwhile. */
	if (r > 0)
		return loop_now(p->all->conf->loop) < k->until;
	return k->tree.moment && !before;
}

static void process_kill_step(struct timer *t)
{
	struct process *p = container_of(t, struct process, killing.timer);
	struct process_killing *k = &p->killing;
	struct process_turn *turn = &p->all->kills;
	bool before = k->was_empty;
	int r;

	process_update_turn(turn, p->all->conf->loop);
	if (turn->n && clock_us() - turn->began > KILL_TURN_US) {
		process_schedule_kill(p, TURN_MS);
		return;
	}
	turn->n++;
	k->tree.moment =
		p->all->kills_n > 1 && k->tree.live <= KILL_SHARED ? turn->batch : 0;
	r = tree_kill(&k->tree);
	k->was_empty = r <= 0;
	if (process_needs_kill(p, before, r)) {
		process_schedule_kill(p, END_LOOK_MS);
		return;
	}
	kill(p->record->pid, SIGKILL);
	process_set_killing(p, false);
}

void process_kill(struct process *p)
{
	struct process_killing *k = &p->killing;

	if (p->record->state == PROCESS_STARTING && p->record->pid > 0)
		kill(p->record->pid, SIGKILL);
	if (!process_is_running(p) || k->active)
		return;
	/* The root is stopped so that it cannot replace the killed children. */
	kill(p->record->pid, SIGSTOP);
	p->record->killed = true;
	process_set_killing(p, true);
	k->was_empty = false;
	k->tree = (struct tree){.root = p->record->pid};
	k->until = clock_ms() + TREE_KILL_MS;
	process_kill_step(&k->timer);
}

/* --- Signals --------------------------------------------------------------- */

static int process_signal_tree(struct process *p, int signo)
{
	struct process_turn *turn = &p->all->signals;
	pid_t pid = p->record->pid;

	process_update_turn(turn, p->all->conf->loop);
	turn->n++;
	if (tree_signal_all(pid, signo) < 0 && kill(-pid, signo) < 0)
		return -errno;
	return 0;
}

/* Sends one of the signals that wait, if this batch has time for it. */
static void process_signal_step(struct timer *t)
{
	struct process *p = container_of(t, struct process, signalling);
	struct process_turn *turn = &p->all->signals;
	struct loop *l = p->all->conf->loop;
	int r = 0;

	process_update_turn(turn, l);
	if (!turn->n) {
		r = process_signal_tree(p, __builtin_ctzll(p->signals) + 1);
		p->signals &= p->signals - 1;
	}
	if (r < 0)
		log_warn("process %s: the signal cannot be sent: %s", p->id, err_text(r));
	if (p->signals)
		timer_set(l, t, TURN_MS, process_signal_step);
	else
		p->all->signals_n--;
}

/* Signals that wait are sent one for each batch, and each of them only once. */
static int process_queue_signal(struct process *p, int signo)
{
	struct processes *all = p->all;

	process_update_turn(&all->signals, all->conf->loop);
	if (!all->signals.n && !all->signals_n)
		return process_signal_tree(p, signo);
	if (!timer_is_armed(&p->signalling)) {
		timer_set(all->conf->loop, &p->signalling, TURN_MS, process_signal_step);
		all->signals_n++;
	}
	p->signals |= 1ULL << (signo - 1);
	return 0;
}

int process_signal(struct process *p, int signo, enum process_target to)
{
	pid_t pid = p->record->pid, group = pid;

	if (!process_is_running(p))
		return -ESRCH;
	switch (to) {
	case PROCESS_TREE:
		if (signo != SIGKILL)
			return process_queue_signal(p, signo);
		process_kill(p);
		return 0;
	case PROCESS_GROUP:
		if (p->record->pty && p->out[PROCESS_STDOUT].fd >= 0)
			group = pty_foreground(p->out[PROCESS_STDOUT].fd);
		pid = group > 0 ? -group : -pid;
		break;
	case PROCESS_ALONE:
		break;
	}
	return kill(pid, signo) < 0 ? -errno : 0;
}

static void process_on_timeout(struct timer *t)
{
	struct process *p = container_of(t, struct process, timeout);

	p->record->timed_out = true;
	process_kill(p);
}

void process_arm_timeout(struct process *p)
{
	uint64_t now = clock_ms(), end = p->record->deadline;

	if (!end)
		return;
	timer_set(p->all->conf->loop, &p->timeout, end > now ? end - now : 0,
		process_on_timeout);
}

static void process_on_start_timeout(struct timer *t)
{
	struct process *p = container_of(t, struct process, killing.timer);

	process_kill(p);
}

void process_arm_start(struct process *p)
{
	timer_set(p->all->conf->loop, &p->killing.timer, PROCESS_START_MS,
		process_on_start_timeout);
}

/* --- Owners ---------------------------------------------------------------- */

void process_own(struct process *p)
{
	p->owners++;
	timer_cancel(p->all->conf->loop, &p->orphan);
}

static void process_orphaned(struct process *p)
{
	if (p->owners == 0 && p->record->kill_on_disconnect)
		process_kill(p);
}

void process_disown(struct process *p)
{
	p->owners--;
	process_orphaned(p);
}

static void process_on_orphan(struct timer *t)
{
	process_orphaned(container_of(t, struct process, orphan));
}

void process_await_owner(struct process *p)
{
	if (p->record->kill_on_disconnect && process_is_running(p))
		timer_set(p->all->conf->loop, &p->orphan, PROCESS_ORPHAN_MS,
			process_on_orphan);
}

int process_resize(struct process *p, uint16_t rows, uint16_t columns)
{
	if (!p->record->pty)
		return -ENOTTY;
	if (p->out[PROCESS_STDOUT].fd < 0)
		return -ESRCH;
	return pty_resize(p->out[PROCESS_STDOUT].fd, rows, columns);
}
