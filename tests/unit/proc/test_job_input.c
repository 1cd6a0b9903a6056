#include "base/fd.h"
#include "limits.h"
#include "proc/children.h"
#include "proc/job.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

enum { DEADLINE_MS = 20000 };

static struct loop *loop;
static struct job job;

static void stop(struct timer *t)
{
	(void)t;
	loop_stop(loop);
}

static void on_done(struct job *j)
{
	(void)j;
	loop_stop(loop);
}

/* What a job takes for the end of its input; it may ask twice. */
static int is_whole(void *arg, int in, int out)
{
	char piece[16];

	(void)arg;
	while (read(in, piece, sizeof(piece)) > 0)
		;
	if (job_is_input_complete() != job_is_input_complete())
		return -1;
	return fd_write_all(out, job_is_input_complete() ? "whole" : "part", 4);
}

static void check(bool whole)
{
	static const struct job_ops ops = {.done = on_done};
	struct job_conf c = {
		.ops = &ops, .work = is_whole, .out_max = 100, .input = true};
	struct timer rescue = {0};

	is_int(job_start(&job, loop, &c), 0, "a job that reads to the end");
	is_int((long long)job_feed(&job, STR("text")), 4, "is fed");
	if (whole) {
		job_feed_end(&job);
	} else {
		/* As when this process is killed. */
		loop_remove(loop, &job.in_io);
		fd_close(&job.in);
		fd_close(&job.in_end);
	}
	timer_set(loop, &rescue, DEADLINE_MS, stop);
	if (loop_run(loop) < 0)
		exit(1);
	timer_cancel(loop, &rescue);
	is_int(job.outcome, JOB_DONE, "it ends");
	is_view(buf_view(&job.out), whole ? "whol" : "part", "and knows what has come");
	job_free(&job);
	memset(&job, 0, sizeof(job));
}

int main(void)
{
	int err = 0;

	loop = loop_new(&err);
	if (!loop || children_init(loop) < 0)
		return 1;
	check(true);
	check(false);
	loop_del(loop);
	return done_testing();
}
