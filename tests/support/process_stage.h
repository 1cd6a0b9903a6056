/* Helpers of the tests of processes: a loop, a table, and waiting for what is to come. */
#ifndef TESTS_PROCESS_STAGE_H
#define TESTS_PROCESS_STAGE_H

#include "base/fd.h"
#include "limits.h"
#include "proc/process/process_private.h"
#include "tests/tap.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG_MS = 20000 };

static const char *const base_env[] = {
	"PATH=/usr/bin:/bin", "HOME=/sandbox", "MARK=here", NULL};

static struct loop *loop;
static struct store store = {.sock = -1};
static struct processes_conf conf = {.store = &store, .user_name = "tester", .cwd = "/"};
static struct processes *all;

/* --- Waiting for what is to come ------------------------------------------------- */

struct wait {
	struct process_follower follower;
	bool (*is_there)(const struct process *p);
	unsigned calls;
};

static inline void overdue(struct timer *t)
{
	(void)t;
	ok(false, "the test ends in time");
	loop_stop(loop);
}

static inline void told(struct waiter *f)
{
	struct wait *w = container_of(f, struct wait, follower.waiter);

	w->calls++;
	if (w->is_there(w->follower.process))
		loop_stop(loop);
}

static inline void wait_for(struct process *p, bool (*is_there)(const struct process *p))
{
	struct wait w = {.follower.waiter.fn = told, .is_there = is_there};
	struct timer limit = {0};

	process_follow(p, &w.follower);
	timer_set(loop, &limit, LONG_MS, overdue);
	if (!is_there(p) && loop_run(loop) < 0)
		ok(false, "the loop runs");
	timer_cancel(loop, &limit);
	process_unfollow(&w.follower);
}

static inline bool has_started(const struct process *p)
{
	return process_state(p) != PROCESS_STARTING;
}

static inline bool has_exited(const struct process *p)
{
	return process_state(p) == PROCESS_EXITED;
}

static inline bool has_output(const struct process *p)
{
	struct process_output o;

	process_output(p, 0, &o);
	return o.end > 0;
}

static inline bool is_over(const struct process *p)
{
	struct process_output o;

	for (unsigned i = 0; i < process_outputs(p); i++) {
		process_output(p, i, &o);
		if (o.open)
			return false;
	}
	return has_exited(p);
}

static inline void stop_now(struct timer *t)
{
	(void)t;
	loop_stop(loop);
}

/* Everything that is due now is done. */
static inline void turn(void)
{
	struct timer t = {0};

	timer_set(loop, &t, 0, stop_now);
	if (loop_run(loop) < 0)
		ok(false, "the loop runs");
}

/* --- Starting ---------------------------------------------------------------------- */

static inline struct process_spec spec_of(const char *const *argv)
{
	return (struct process_spec){
		.argv = argv,
		.env = base_env,
		.defaults = base_env,
		.rows = 24,
		.columns = 80,
		.output_limit = PROCESS_OUTPUT_DEFAULT,
	};
}

static inline struct process *begin(const struct process_spec *spec)
{
	struct process *p = NULL;
	const char *why = "";
	int r = process_start(all, spec, &p, &why);

	if (r < 0)
		ok(false, "a process starts: %s: %s", why, err_text(r));
	return p;
}

static inline struct process *begin_shell(const char *text, struct process_spec *spec)
{
	const char *const argv[] = {"/bin/sh", "-c", text, NULL};
	struct process *p;

	spec->argv = argv;
	p = begin(spec);
	spec->argv = NULL;
	wait_for(p, has_started);
	return p;
}

static inline struct process *shell(const char *text)
{
	struct process_spec spec = spec_of(NULL);

	return begin_shell(text, &spec);
}

static inline struct str output_of(struct process *p, unsigned no)
{
	static struct buf out = BUF_INIT(64 << 20);
	struct process_output o;
	struct process_part part;

	buf_reset(&out);
	process_output(p, no, &o);
	if (process_output_read(p, no, 0, 64 << 20, &out, &part) < 0)
		ok(false, "an output is read");
	return buf_view(&out);
}

static inline void remove_it(struct process *p)
{
	if (!has_exited(p)) {
		process_kill(p);
		wait_for(p, has_exited);
	}
	process_remove(p);
	turn();
}

/* The loop and the table; false: the test cannot run. */
static inline bool begin_stage(void)
{
	int err;

	signal(SIGPIPE, SIG_IGN);
	loop = loop_new(&err);
	conf.loop = loop;
	all = processes_new(&conf);
	return loop && all && children_init(loop) == 0;
}

static inline void end_stage(void)
{
	processes_del(all);
	loop_del(loop);
}

#endif
