/* The output of a job that goes onto a socket without a copy. */
#include "base/fd.h"
#include "proc/children.h"
#include "proc/job.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BIG = 3 << 20, DEADLINE_MS = 20000 };

static struct loop *loop;
static struct job job;
static struct timer rescue;
static char big[BIG];
static int pair[2]; /* onto 1 goes what is read from 0 */
static size_t seen; /* bytes that came as they were written */
static int hand_n;  /* pieces that were handed on */
static int full_n;  /* times that the socket was full */

static void stop(struct timer *t)
{
	(void)t;
	loop_stop(loop);
}

static void run_for(unsigned ms)
{
	timer_set(loop, &rescue, ms, stop);
	if (loop_run(loop) < 0)
		exit(1);
	timer_cancel(loop, &rescue);
}

static void on_done(struct job *j)
{
	(void)j;
	loop_stop(loop);
}

static void compare(struct job *j, struct str piece)
{
	(void)j;
	if (seen + piece.n > sizeof(big) || memcmp(big + seen, piece.p, piece.n) != 0)
		seen = BIG * 10ul;
	else
		seen += piece.n;
}

/* Onto the socket, as far as it takes them. */
static bool hand(struct job *j)
{
	static char piece[1 << 16];
	ssize_t n;

	/* Its end is for the loop to see. */
	if (job_count_output(j) == 0)
		return false;
	while ((n = job_splice_out(j, pair[1], BIG)) > 0)
		hand_n++;
	full_n += n == -EAGAIN;
	while ((n = read(pair[0], piece, sizeof(piece))) > 0)
		compare(j, str_make(piece, (size_t)n));
	return true;
}

static int say_big(void *arg, int in, int out)
{
	(void)arg;
	(void)in;
	return fd_write_all(out, big, sizeof(big));
}

static void begin(const struct job_ops *ops)
{
	struct job_conf c = {.ops = ops, .work = say_big, .pipe_size = 1 << 20};

	job = (struct job){.outcome = JOB_DONE};
	is_int(job_start(&job, loop, &c), 0, "a job");
}

static void test_all(void)
{
	static const struct job_ops ops = {
		.output = compare, .output_ready = hand, .done = on_done};

	begin(&ops);
	run_for(DEADLINE_MS);
	is_int(job.outcome, JOB_DONE, "whose output goes onto a socket");
	is_int((long long)seen, BIG, "all came as it was");
	ok(hand_n > 0 && full_n > 0, "the socket was full at times");
	is_int((long long)job_count_output(&job), 0, "there is no more");
	job_free(&job);
}

static void test_refused(void)
{
	static const struct job_ops ops = {.output = compare, .done = on_done};
	int nowhere = fd_open("/dev/null", O_RDONLY, 0);

	begin(&ops);
	job_pause(&job, true);
	for (int i = 0; i < DEADLINE_MS && job_count_output(&job) == 0; i++)
		run_for(1);
	is_int((long long)job_splice_out(&job, -1, 10), -EBADF, "no socket");
	is_int((long long)job_splice_out(&job, nowhere, 10), -EBADF,
		"nor one to write to");
	fd_close(&nowhere);
	fd_close(&pair[0]);
	is_int((long long)job_splice_out(&job, pair[1], 10), -EPIPE,
		"a peer that has left");
	job_free(&job);
}

/* Whoever else reads the pipe: nobody waits for what is gone. */
static void test_gone(void)
{
	static const struct job_ops ops = {.output = compare, .done = on_done};
	static char piece[1 << 16];
	pid_t pid;

	if (fd_socketpair(SOCK_STREAM, pair) < 0)
		exit(1);
	begin(&ops);
	job_pause(&job, true);
	for (int i = 0; i < DEADLINE_MS && job_count_output(&job) == 0; i++)
		run_for(1);
	pid = job_pid(&job);
	kill(pid, SIGKILL);
	for (int i = 0; i < DEADLINE_MS && job_pid(&job); i++)
		run_for(1);
	ok(job_count_output(&job) > 0, "what a dead job wrote is there");
	while (read(job.out_fd, piece, sizeof(piece)) > 0)
		;
	is_int((long long)job_splice_out(&job, pair[1], 10), 0, "until it is taken");
	job_free(&job);
	is_int((long long)job_count_output(&job), 0,
		"nothing waits in a job that is over");
}

int main(void)
{
	int err;

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * 2654435761u >> 13);
	loop = loop_new(&err);
	if (!loop || children_init(loop) < 0 || fd_socketpair(SOCK_STREAM, pair) < 0)
		return 1;
	test_all();
	test_refused();
	fd_close(&pair[1]);
	test_gone();
	fd_close(&pair[0]);
	fd_close(&pair[1]);
	loop_del(loop);
	return done_testing();
}
