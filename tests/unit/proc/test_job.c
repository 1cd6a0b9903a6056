#include "base/fd.h"
#include "limits.h"
#include "proc/children.h"
#include "proc/job.h"
#include "tests/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, BIG = 3 << 20, DEADLINE_MS = 20000 };

static struct loop *loop;
static struct job job;
static int done_n;  /* jobs that are over */
static int want_n;  /* the loop stops then */
static size_t seen; /* bytes of output that were passed on */
static size_t sent; /* and of input */
static char big[BIG];
static char fifo[64];
static struct timer rescue;

static void give_up(struct timer *t)
{
	(void)t;
	loop_stop(loop);
}

static void run_until(int n)
{
	want_n = n;
	if (done_n >= n)
		return;
	timer_set(loop, &rescue, DEADLINE_MS, give_up);
	if (loop_run(loop) < 0)
		exit(1);
	timer_cancel(loop, &rescue);
}

static void on_done(struct job *j)
{
	(void)j;
	if (++done_n == want_n)
		loop_stop(loop);
}

static const struct job_ops plain = {.done = on_done};

/* Runs one job to its end and keeps it in job. */
static enum job_outcome run(const struct job_conf *c)
{
	job_free(&job);
	memset(&job, 0, sizeof(job));
	done_n = 0;
	if (job_start(&job, loop, c) < 0)
		return JOB_FAILED;
	run_until(1);
	return job.outcome;
}

static enum job_outcome run_work(job_work_fn *work, void *arg)
{
	struct job_conf c = {.ops = &plain, .work = work, .arg = arg, .out_max = 1 << 20};

	return run(&c);
}

/* --- What a job is ------------------------------------------------------------ */

static int say(void *arg, int in, int out)
{
	const char *text = arg;

	return in == -1 ? fd_write_all(out, text, strlen(text)) : -1;
}

static int fail(void *arg, int in, int out)
{
	(void)arg;
	(void)in;
	return fd_write_all(out, "half", 4) ? 0 : -ENOMEM;
}

static int die(void *arg, int in, int out)
{
	(void)in;
	(void)out;
	kill(getpid(), *(int *)arg);
	return 0;
}

/* Waits in an open for a writer who never comes. */
static int hang(void *arg, int in, int out)
{
	int fd = fd_open(fifo, O_RDONLY, 0);

	(void)arg;
	(void)in;
	return fd_write_all(out, "woken", 5) + fd;
}

static int endless(void *arg, int in, int out)
{
	(void)arg;
	(void)in;
	while (fd_write_all(out, big, sizeof(big)) == 0)
		;
	return 1;
}

static void test_outcomes(void)
{
	int signo = SIGSEGV;

	is_int(run_work(say, "hello"), JOB_DONE, "work that returns 0 is done");
	is_view(buf_view(&job.out), "hello", "its output was collected");
	is_int(run_work(say, ""), JOB_DONE, "and it may have none");
	is_int(job.out.n, 0, "which is empty");
	is_int(run_work(fail, NULL), JOB_FAILED, "work that returns an error");
	is_int(run_work(die, &signo), JOB_KILLED, "work that crashes");
	signo = SIGTERM;
	is_int(run_work(die, &signo), JOB_KILLED, "a signal has its default");
	signo = SIGPIPE;
	is_int(run_work(die, &signo), JOB_DONE, "but a closed pipe is an error");
	is_int(run_work(endless, NULL), JOB_OUTPUT_LIMIT, "more output than wanted");
	for (int i = JOB_DONE; i <= JOB_OUTPUT_LIMIT; i++)
		ok(strlen(job_outcome_text((enum job_outcome)i)) > 5,
			"words for outcome %d", i);
}

static void test_deadline(void)
{
	struct job_conf c = {.ops = &plain, .work = hang, .ms = 50, .out_max = 100};
	siginfo_t si = {0};
	pid_t pid;

	job_free(&job);
	memset(&job, 0, sizeof(job));
	done_n = 0;
	is_int(job_start(&job, loop, &c), 0, "a job that hangs is started");
	pid = job_pid(&job);
	run_until(1);
	is_int(job.outcome, JOB_TIMED_OUT, "its time runs out");
	is_int(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0, "it is dead");
	is_int(si.si_status, SIGKILL, "of us");
}

/* --- What it has and has not -------------------------------------------------- */

static int describe(void *arg, int in, int out)
{
	struct buf b = BUF_INIT(65536);
	DIR *d = opendir("/proc/self/fd");
	struct rlimit core;
	struct dirent *e;
	int death = 0;
	int fds = 0;

	(void)arg;
	(void)in;
	while (d && (e = readdir(d)))
		fds += e->d_name[0] != '.' && atoi(e->d_name) > 2 &&
			atoi(e->d_name) != dirfd(d);
	if (d)
		closedir(d);
	prctl(PR_GET_PDEATHSIG, &death);
	getrlimit(RLIMIT_CORE, &core);
	buf_fmt(&b, "fds %d dump %d death %d core %d leader %d uid %d gid %d groups %d",
		fds, prctl(PR_GET_DUMPABLE), death, (int)core.rlim_cur,
		getsid(0) == getpid(), (int)geteuid(), (int)getegid(),
		getgroups(0, NULL));
	return fd_write_all(out, b.p, b.n);
}

static int caps(void *arg, int in, int out)
{
	char text[8192];
	int fd = fd_open("/proc/self/status", O_RDONLY, 0);
	ssize_t n = read(fd, text, sizeof(text));
	struct str rest = str_make(text, n > 0 ? (size_t)n : 0);
	struct buf b = BUF_INIT(4096);

	(void)arg;
	(void)in;
	while (rest.n) {
		struct str at = str_cut(&rest, '\n');

		if (str_starts(at, STR("CapPrm:")) || str_starts(at, STR("CapEff:")) ||
			str_starts(at, STR("CapAmb:")))
			buf_str(&b, at);
	}
	return fd_write_all(out, b.p, b.n);
}

static void test_surroundings(void)
{
	char want[128];
	int extra = fd_open("/dev/null", O_RDONLY, 0);

	is_int(run_work(describe, NULL), JOB_DONE, "a job as ourselves");
	snprintf(want, sizeof(want),
		"fds 0 dump 0 death %d core 0 leader 1 uid %d gid %d ", SIGKILL,
		(int)geteuid(), (int)getegid());
	ok(str_starts(buf_view(&job.out), str_c(want)),
		"has no descriptor of ours, is hidden and dies with us: %.*s",
		STR_ARG(buf_view(&job.out)));
	fd_close(&extra);
}

static void test_identity(void)
{
	struct spawn_user user = {.uid = NOBODY, .gid = NOBODY};
	struct job_conf c = {
		.ops = &plain, .work = describe, .user = &user, .out_max = 4096};
	char want[128];

	if (geteuid() != 0) {
		skip("another identity", "needs root");
		return;
	}
	is_int(run(&c), JOB_DONE, "a job as another");
	snprintf(want, sizeof(want),
		"fds 0 dump 0 death %d core 0 leader 1 uid %d gid %d groups 0", SIGKILL,
		NOBODY, NOBODY);
	is_mem(job.out.p, job.out.n, want, strlen(want), "is he, and still hidden");
	c.work = caps;
	is_int(run(&c), JOB_DONE, "it can tell its capabilities");
	is_view(buf_view(&job.out),
		"CapPrm:\t0000000000000000CapEff:\t0000000000000000"
		"CapAmb:\t0000000000000000",
		"it has none");
	user.ngroups = 1 << 20;
	is_int(run(&c), JOB_RIGHTS, "rights that cannot be taken");
	is_int(job.out.n, 0, "and nothing was done");
}

/* As the job's own user, from outside: 0 if its memory can be opened. */
static int peep(pid_t pid)
{
	char path[64];
	int status = 0;
	pid_t spy = fork();

	if (spy == 0) {
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
		if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
			_exit(2);
		_exit(open(path, O_RDONLY) < 0 && errno == EACCES);
	}
	waitpid(spy, &status, 0);
	return WEXITSTATUS(status);
}

static int tell_and_hang(void *arg, int in, int out)
{
	return fd_write_all(out, "x", 1) ? 1 : hang(arg, in, out);
}

static void stop_at_output(struct job *j, struct str piece)
{
	(void)j;
	seen += piece.n;
	loop_stop(loop);
}

static const struct job_ops stopping = {.output = stop_at_output, .done = on_done};

static void test_memory_is_hidden(void)
{
	struct spawn_user user = {.uid = NOBODY, .gid = NOBODY};
	struct job_conf c = {.ops = &stopping, .work = tell_and_hang, .user = &user};

	if (geteuid() != 0) {
		skip("its memory is hidden from its user", "needs root");
		return;
	}
	job_free(&job);
	memset(&job, 0, sizeof(job));
	done_n = 0;
	is_int(job_start(&job, loop, &c), 0, "a job runs as another user");
	run_until(1);
	is_int(peep(job_pid(&job)), 1, "who cannot read its memory");
	job_free(&job);
}

/* --- Pipes -------------------------------------------------------------------- */

static int echo(void *arg, int in, int out)
{
	char piece[1000];
	ssize_t n;

	(void)arg;
	while ((n = read(in, piece, sizeof(piece))) > 0)
		if (fd_write_all(out, piece, (size_t)n))
			return 1;
	return n < 0;
}

static void feed(struct job *j)
{
	sent += job_feed(j, str_make(big + sent, sizeof(big) - sent));
	if (sent == sizeof(big))
		job_feed_end(j);
}

static void compare(struct job *j, struct str piece)
{
	(void)j;
	if (seen + piece.n > sizeof(big) || memcmp(big + seen, piece.p, piece.n) != 0)
		seen = BIG * 10ul;
	else
		seen += piece.n;
}

static const struct job_ops stream = {.output = compare,
	.writable = feed,
	.done = on_done};

static void test_stream(void)
{
	struct job_conf c = {.ops = &stream, .work = echo, .input = true};

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * 2654435761u >> 13);
	job_free(&job);
	memset(&job, 0, sizeof(job));
	done_n = 0;
	seen = sent = 0;
	is_int(job_start(&job, loop, &c), 0, "a job with input");
	job_pause(&job, true);
	feed(&job);
	ok(sent > 0 && sent < sizeof(big), "its pipe takes a part");
	timer_set(loop, &rescue, 30, give_up);
	if (loop_run(loop) < 0)
		exit(1);
	is_int((long long)seen, 0, "no output comes while it is paused");
	job_pause(&job, false);
	run_until(1);
	is_int(job.outcome, JOB_DONE, "it ends");
	is_int((long long)seen, BIG, "all came back as it was");
	is_int((long long)job_feed(&job, STR("late")), 4, "what comes late is forgotten");
}

static int source[2];
static int full_n;

/* As feed, from a socket. */
static void move(struct job *j)
{
	ssize_t n = 1;

	while (seen + sent < 2 * sizeof(big) && n > 0) {
		ssize_t put = write(source[1], big + sent, sizeof(big) - sent);

		sent += put > 0 ? (size_t)put : 0;
		n = job_splice_in(j, source[0], sizeof(big));
		full_n += n == -ENOBUFS;
		if (n == -EAGAIN && sent == sizeof(big))
			job_feed_end(j);
	}
}

static void test_move(void)
{
	static const struct job_ops ops = {
		.output = compare, .writable = move, .done = on_done};
	struct job_conf c = {.ops = &ops, .work = echo, .input = true};

	job_free(&job);
	memset(&job, 0, sizeof(job));
	done_n = full_n = 0;
	seen = sent = 0;
	if (fd_socketpair(SOCK_STREAM, source) < 0)
		exit(1);
	is_int(job_start(&job, loop, &c), 0, "a job whose input is a socket's");
	is_int((long long)job_splice_in(&job, source[0], 10), -EAGAIN, "which is empty");
	move(&job);
	is_int(full_n, 1, "and then has more than the pipe takes");
	run_until(1);
	is_int(job.outcome, JOB_DONE, "it ends");
	is_int((long long)seen, BIG, "all came back as it was");
	is_int((long long)job_splice_in(&job, source[0], 10), -EPIPE,
		"nobody takes more");
	fd_close(&source[0]);
	fd_close(&source[1]);
}

static void test_moved_end(void)
{
	struct job_conf c = {.ops = &stream, .work = echo, .input = true};

	job_free(&job);
	memset(&job, 0, sizeof(job));
	if (fd_socketpair(SOCK_STREAM, source) < 0)
		exit(1);
	fd_close(&source[1]);
	is_int(job_start(&job, loop, &c), 0, "another");
	is_int((long long)job_splice_in(&job, source[0], 10), 0, "the end of it is seen");
	is_int((long long)job_splice_in(&job, -1, 10), -EBADF, "a bad one refused");
	job_free(&job);
	fd_close(&source[0]);
}

static void test_deaf(void)
{
	struct job_conf c = {.ops = &stream, .work = say, .arg = "", .input = true};

	done_n = 0;
	seen = sent = 0;
	job_free(&job);
	memset(&job, 0, sizeof(job));
	c.work = fail;
	is_int(job_start(&job, loop, &c), 0, "a job that does not read its input");
	feed(&job);
	run_until(1);
	is_int((long long)sent, BIG, "takes all of it");
}

/* --- Several ------------------------------------------------------------------ */

enum { LINE = 4 };
static struct job many[JOBS_MAX + JOBS_WAITING_MAX + 1];

static int running(void)
{
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		n += many[i].state == JOB_RUNS;
	return n;
}

/* Those that were given up keep their places until the loop has reaped them. */
static void reap_all(void)
{
	do {
		timer_set(loop, &rescue, 1, give_up);
		if (loop_run(loop) < 0)
			exit(1);
	} while (waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) == 0);
}

static void test_line(void)
{
	struct job_conf c = {.ops = &plain, .work = hang, .out_max = 100};
	struct job_conf quick = {.ops = &plain, .work = say, .arg = "x", .out_max = 100};

	reap_all();
	done_n = 0;
	for (int i = 0; i < JOBS_MAX + JOBS_WAITING_MAX; i++)
		if (job_start(&many[i], loop, i < JOBS_MAX ? &c : &quick) < 0)
			ok(false, "job %d", i);
	is_int(running(), JOBS_MAX, "so many run");
	is_int(job_start(&many[JOBS_MAX + JOBS_WAITING_MAX], loop, &quick), ERR_LIMIT,
		"so many wait, and no more");
	is_int((long long)job_feed(&many[JOBS_MAX], STR("x")), 0,
		"who waits takes no input");
	for (int i = JOBS_MAX + LINE; i < JOBS_MAX + JOBS_WAITING_MAX; i++)
		job_free(&many[i]);
	is_int(many[JOBS_MAX].state, JOB_WAITS, "nobody is let in yet");
	job_free(&many[3]);
	run_until(LINE);
	is_int(done_n, LINE, "a place that was given up serves those in line, in turn");
	is_view(buf_view(&many[JOBS_MAX + LINE - 1].out), "x", "up to the last");
	job_free(&many[JOBS_MAX]);
	quick.ms = 30;
	is_int(job_start(&many[3], loop, &c), 0, "the place is taken again");
	is_int(job_start(&many[JOBS_MAX], loop, &quick), 0, "another waits");
	run_until(LINE + 1);
	is_int(many[JOBS_MAX].outcome, JOB_QUEUE_TIMEOUT, "not longer than it may");
	ok(job_has_no_effect(JOB_QUEUE_TIMEOUT) && !job_has_no_effect(JOB_TIMED_OUT),
		"nor has it begun");
	for (int i = 0; i < JOBS_MAX + LINE; i++)
		job_free(&many[i]);
	memset(many, 0, sizeof(many));
}

/* One that starts another when it ends, while others wait. */
static struct job next, waiting;
static bool next_first;

static void start_next(struct job *j)
{
	static const struct job_conf c = {
		.ops = &plain, .work = say, .arg = "x", .out_max = 100};

	(void)j;
	next_first = job_start(&next, loop, &c) == 0 && next.state == JOB_RUNS &&
		waiting.state == JOB_WAITS;
	on_done(j);
}

static void test_fair(void)
{
	static const struct job_ops ops = {.done = start_next};
	struct job_conf c = {.ops = &plain, .work = hang, .out_max = 100};
	struct job_conf quick = {.ops = &plain, .work = say, .arg = "x", .out_max = 100};
	struct job_conf starter = {.ops = &ops, .work = say, .arg = "x", .out_max = 100};

	reap_all();
	done_n = 0;
	for (int i = 0; i < JOBS_MAX; i++)
		if (job_start(&many[i], loop, i ? &c : &starter) < 0)
			ok(false, "job %d", i);
	is_int(job_start(&waiting, loop, &quick), 0, "one waits");
	run_until(3);
	ok(!next_first, "who comes later is not let past");
	is_int(waiting.outcome, JOB_DONE, "both have their turn");
	is_int(next.outcome, JOB_DONE, "in the end");
	for (int i = 0; i < JOBS_MAX; i++)
		job_free(&many[i]);
	job_free(&next);
	job_free(&waiting);
	memset(many, 0, sizeof(many));
}

static void test_kinds(void)
{
	struct job_conf c = {.ops = &plain, .work = hang};
	struct job_conf quick = {.ops = &plain, .work = say, .arg = "x", .out_max = 100};

	reap_all();
	done_n = 0;
	for (int i = 0; i < 2 * (JOBS_OF_KIND_MAX + 2); i++) {
		c.kind = i % 2 ? JOB_LASTING : JOB_LONG;
		if (job_start(&many[i], loop, &c) < 0)
			ok(false, "job %d", i);
	}
	is_int(running(), 2 * JOBS_OF_KIND_MAX, "each kind takes its part of the places");
	is_int(job_start(&many[JOBS_MAX], loop, &quick), 0, "and others are let past");
	run_until(1);
	is_int(many[JOBS_MAX].outcome, JOB_DONE, "as nothing else runs");
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		job_free(&many[i]);
}

/* Freed by its own callback, in each of them. */
static void free_at_output(struct job *j, struct str piece)
{
	(void)piece;
	job_free(j);
	loop_stop(loop);
}

static void test_freed_inside(void)
{
	static const struct job_ops ops = {.output = free_at_output, .done = on_done};
	struct job_conf c = {.ops = &ops, .work = endless};

	done_n = 0;
	job_free(&job);
	memset(&job, 0, sizeof(job));
	is_int(job_start(&job, loop, &c), 0, "a job that is given up in its callback");
	run_until(1);
	is_int(done_n, 0, "says nothing more");
	is_int(job.state, JOB_OVER, "it is over");
}

int main(void)
{
	int err;

	snprintf(fifo, sizeof(fifo), "/tmp/test-job-%d", (int)getpid());
	loop = loop_new(&err);
	if (!loop || children_init(loop) < 0 || mkfifo(fifo, 0666) < 0)
		return 1;
	if (chmod(fifo, 0666) < 0)
		return 1;
	loop_ignore_signal(SIGPIPE);
	job_free(&job);
	test_outcomes();
	test_deadline();
	test_surroundings();
	test_identity();
	test_memory_is_hidden();
	test_stream();
	test_move();
	test_moved_end();
	test_deaf();
	test_line();
	test_fair();
	test_kinds();
	test_freed_inside();
	job_free(&job);
	loop_del(loop);
	unlink(fifo);
	return done_testing();
}
