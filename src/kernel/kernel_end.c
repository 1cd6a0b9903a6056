/* Ends a kernel in steps: shutdown request, SIGTERM, SIGKILL. */
#include "kernel/kernel_private.h"

#include "proc/tree.h"

#include <assert.h>
#include <signal.h>

static void kernel_end_by_message(struct kernel *k);
static void kernel_end_by_sigterm(struct kernel *k);
static void kernel_end_by_sigkill(struct kernel *k);

/* The steps in order; wait is the time until the next one. */
static const struct rung {
	void (*act)(struct kernel *k);
	uint64_t wait;
} rungs[] = {
	[KERNEL_BY_MESSAGE] = {kernel_end_by_message, KERNEL_SHUTDOWN_MS},
	[KERNEL_BY_SIGTERM] = {kernel_end_by_sigterm, KERNEL_TERM_MS},
	[KERNEL_BY_SIGKILL] = {kernel_end_by_sigkill, KERNEL_TERM_MS},
};

static void kernel_run_end_step(struct timer *t)
{
	struct kernel *k = container_of(t, struct kernel, timer);
	const struct rung *r = &rungs[k->end_step];

	/* The last step is repeated: a killed process may not be able to end yet. */
	if (k->end_step + 1 < ARRAY_LEN(rungs))
		k->end_step++;
	r->act(k);
	timer_set(k->setup.loop, &k->timer, r->wait, kernel_run_end_step);
}

void kernel_signal_group(const struct kernel *k, int signo)
{
	/* 0 is the group of this process. */
	assert(k->pid > 0);
	/* Before a child has started its own session, it has no group. */
	if (kill(-k->pid, signo) < 0)
		kill(k->pid, signo);
}

static void kernel_end_by_message(struct kernel *k)
{
	if (jmsg_restart_request(&k->session, &k->request) == 0)
		kernel_send_request(k, CONNECTION_CONTROL);
}

static void kernel_end_by_sigterm(struct kernel *k)
{
	kernel_signal_group(k, SIGTERM);
}

static void kernel_end_by_sigkill(struct kernel *k)
{
	if (k->end_reason == kernel_ended_itself)
		k->end_reason = "it closed its connection and did not end";
	assert(k->pid > 0);
	tree_kill_now(k->pid);
}

void kernel_end_from(
	struct kernel *k, enum kernel_end_step rung, uint64_t wait, const char *why)
{
	if (k->state == KERNEL_DEAD || k->state == KERNEL_DRAINING)
		return;
	if (k->state != KERNEL_ENDING) {
		kernel_enter(k, KERNEL_ENDING);
		k->end_reason = why;
		k->end_step = rung;
	}
	if (rung > k->end_step)
		k->end_step = rung;
	if (wait)
		timer_set(k->setup.loop, &k->timer, wait, kernel_run_end_step);
	else
		kernel_run_end_step(&k->timer);
}
