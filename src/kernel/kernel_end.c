/* Ends a kernel in steps: shutdown request, SIGTERM, SIGKILL. */
#include "kernel/kernel_private.h"

#include "limits.h"
#include "proc/tree.h"

#include <assert.h>
#include <signal.h>

static void end_by_message(struct kernel *k);
static void end_by_sigterm(struct kernel *k);
static void end_by_sigkill(struct kernel *k);

/* The steps in order; wait is the time until the next one. */
static const struct rung {
	void (*act)(struct kernel *k);
	uint64_t wait;
} rungs[] = {
	[KERNEL_BY_MESSAGE] = {end_by_message, KERNEL_SHUTDOWN_MS},
	[KERNEL_BY_SIGTERM] = {end_by_sigterm, KERNEL_TERM_MS},
	[KERNEL_BY_SIGKILL] = {end_by_sigkill, KERNEL_TERM_MS},
};

static void step_down(struct timer *t)
{
	struct kernel *k = container_of(t, struct kernel, timer);
	const struct rung *r = &rungs[k->rung];

	/* The last step is repeated: a killed process may not be able to end yet. */
	if (k->rung + 1 < ARRAY_LEN(rungs))
		k->rung++;
	r->act(k);
	/* Without memory for the timer, SIGKILL follows at once. */
	if (timer_set(k->setup.loop, &k->timer, r->wait, step_down))
		end_by_sigkill(k);
}

void kernel_signal_group(const struct kernel *k, int signo)
{
	/* 0 is the group of this process. */
	assert(k->pid > 0);
	/* Before a child has started its own session, it has no group. */
	if (kill(-k->pid, signo) < 0)
		kill(k->pid, signo);
}

static void end_by_message(struct kernel *k)
{
	if (jmsg_restart_request(&k->session, &k->request) == 0)
		kernel_send_request(k, CONNECTION_CONTROL);
}

static void end_by_sigterm(struct kernel *k)
{
	kernel_signal_group(k, SIGTERM);
}

static void end_by_sigkill(struct kernel *k)
{
	if (k->why == kernel_ended_itself)
		k->why = "it closed its connection and did not end";
	assert(k->pid > 0);
	tree_kill_now(k->pid);
}

void kernel_end_from(
	struct kernel *k, enum kernel_rung rung, uint64_t wait, const char *why)
{
	if (k->state == KERNEL_DEAD || k->state == KERNEL_LAST)
		return;
	if (k->state != KERNEL_ENDING) {
		kernel_enter(k, KERNEL_ENDING);
		k->why = why;
		k->rung = rung;
	}
	if (rung > k->rung)
		k->rung = rung;
	if (wait == 0 || timer_set(k->setup.loop, &k->timer, wait, step_down))
		step_down(&k->timer);
}
