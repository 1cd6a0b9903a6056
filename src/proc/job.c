#include "proc/job.h"

#include "base/fd.h"
#include "limits.h"
#include "proc/children.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bytes: all that serve may have, and the job's own. */
enum { JOB_DATA_MAX = (256 + 128) << 20 };

/* Exit codes of the child. */
enum { EXIT_WORK = 1, EXIT_RIGHTS = 2, EXIT_SETUP = 3 };

/* The descriptor for the end of the input: the end of a pipe alone is ambiguous. */
enum { INPUT_END = 3 };

/*
 * Epoll flags of a paused or idle pipe. Its end is reported nevertheless, but once and
 * not in each turn of the loop.
 */
enum { QUIET = EPOLLONESHOT };

/* A process has its entry here, also after its job was given up, until it is reaped. */
struct job_process {
	struct child child; /* pid 0: the place is free */
	struct job *job;    /* NULL: given up */
	enum job_kind kind;
};

#define TOO_LITTLE \
	"the sandbox has too little memory, or too few processes or descriptors, " \
	"left for it; try again when less runs"

static struct job_process kids[JOBS_MAX];
static struct list queue;

/* --- In the child ------------------------------------------------------------- */

/* Moves the pipes to 0, 1 and INPUT_END, whatever their numbers are; 2 is unchanged. */
static int job_setup_fds(int in, int out, int input_end)
{
	const int above = INPUT_END + 1;
	int high_in = in < 0 ? fd_open("/dev/null", O_RDONLY, 0) : fd_dup(in, above);
	int high_out = fd_dup(out, above);
	int high_end = in < 0 ? -1 : fd_dup(input_end, above);

	if (high_out < 0 || high_in < 0)
		return -1;
	if (dup2(high_in, 0) < 0 || fd_set_blocking(0) < 0)
		return -1;
	if (dup2(high_out, 1) < 0 || fd_set_blocking(1) < 0)
		return -1;
	if (in >= 0 && dup2(high_end, INPUT_END) < 0)
		return -1;
	spawn_close_from(in < 0 ? INPUT_END : above);
	return 0;
}

static void job_set_limits(void)
{
	struct rlimit data, core = {0, 0};

	setrlimit(RLIMIT_CORE, &core);
#ifndef __SANITIZE_ADDRESS__
	if (getrlimit(RLIMIT_DATA, &data) == 0) {
		data.rlim_cur =
			data.rlim_max < JOB_DATA_MAX ? data.rlim_max : JOB_DATA_MAX;
		setrlimit(RLIMIT_DATA, &data);
	}
#else
	(void)data;
#endif
}

/* The parent's memory holds secrets: the child must not become readable at any moment. */
static _Noreturn void job_run_child(
	const struct job_conf *c, int in, int out, int input_end, pid_t parent)
{
	spawn_reset_signals();
	/* A full disk or a closed peer is an error to be returned, not a fatal signal. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	spawn_raise_oom_score();
	if (setsid() < 0 || job_setup_fds(in, out, input_end) < 0)
		_exit(EXIT_SETUP);
	job_set_limits();
	if (c->prepare)
		c->prepare(c->arg);
	if (spawn_set_user(c->user) < 0)
		_exit(EXIT_RIGHTS);
	/*
	 * A change of identity resets both; the system defines how it resets the first.
	 */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(EXIT_SETUP);
	_exit(c->work(c->arg, in < 0 ? -1 : 0, 1) == 0 ? 0 : EXIT_WORK);
}

bool job_is_input_complete(void)
{
	struct pollfd p = {.fd = INPUT_END, .events = POLLIN};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

/* --- Its life ----------------------------------------------------------------- */

static void job_start_queued(void);

static void job_set_state(struct job *j, enum job_state to)
{
	static const bool legal[JOB_OVER + 1][JOB_OVER + 1] = {
		[JOB_NONE] = {[JOB_WAITS] = true, [JOB_RUNS] = true},
		[JOB_WAITS] = {[JOB_RUNS] = true, [JOB_OVER] = true},
		[JOB_RUNS] = {[JOB_OVER] = true},
	};

	assert(legal[j->state][to]);
	j->state = to;
}

static void job_close_input(struct job *j)
{
	loop_remove(j->loop, &j->in_io);
	fd_close(&j->in);
	fd_close(&j->in_end);
}

static void job_end_input(struct job *j)
{
	/*
	 * If the byte is lost, the job treats its input as truncated, which is harmless.
	 */
	if (j->in_end >= 0)
		(void)!write(j->in_end, "", 1);
	job_close_input(j);
}

static void job_close_output(struct job *j)
{
	loop_remove(j->loop, &j->out_io);
	fd_close(&j->out_fd);
}

/* Releases everything but the output. */
static void job_release(struct job *j)
{
	job_set_state(j, JOB_OVER);
	list_remove(&j->node);
	job_close_input(j);
	job_close_output(j);
	timer_cancel(j->loop, &j->deadline);
	if (!j->process)
		return;
	/* A process that we may not kill ends by itself. */
	kill(j->process->child.pid, SIGKILL);
	j->process->job = NULL;
	j->process = NULL;
}

static void job_finish(struct job *j, enum job_outcome outcome)
{
	job_release(j);
	j->outcome = outcome;
	j->conf.ops->done(j);
}

static enum job_outcome job_parse_status(int status)
{
	if (!WIFEXITED(status))
		return JOB_KILLED;
	switch (WEXITSTATUS(status)) {
	case 0:
		return JOB_DONE;
	case EXIT_RIGHTS:
		return JOB_RIGHTS;
	default:
		return JOB_FAILED;
	}
}

/* The job is over when its process is reaped and its output has been read. */
static void job_check_end(struct job *j)
{
	if (j->state == JOB_RUNS && !j->process && j->out_fd < 0)
		job_finish(j, job_parse_status(j->status));
}

static void job_on_child_exit(struct child *c, int status)
{
	struct job_process *k = container_of(c, struct job_process, child);
	struct job *j = k->job;

	k->job = NULL;
	if (j) {
		j->process = NULL;
		j->status = status;
		job_check_end(j);
	}
	job_start_queued();
}

static void job_on_deadline(struct timer *t)
{
	struct job *j = container_of(t, struct job, deadline);

	job_finish(j, j->state == JOB_WAITS ? JOB_QUEUE_TIMEOUT : JOB_TIMED_OUT);
}

static void job_on_output(struct io *io, uint32_t events)
{
	static char piece[JOB_PIECE];
	struct job *j = container_of(io, struct job, out_io);
	ssize_t n;

	(void)events;
	if (j->paused || (j->conf.ops->output_ready && j->conf.ops->output_ready(j)))
		return;
	n = read(j->out_fd, piece, sizeof(piece));
	if (n < 0)
		return;
	if (n == 0) {
		job_close_output(j);
		job_check_end(j);
	} else if (j->conf.ops->output) {
		j->conf.ops->output(j, str_make(piece, (size_t)n));
	} else {
		buf_put(&j->out, piece, (size_t)n);
		if (j->out.err)
			job_finish(j,
				j->out.err == ERR_LIMIT ? JOB_OUTPUT_LIMIT : JOB_FAILED);
	}
}

static void job_on_writable(struct io *io, uint32_t events)
{
	struct job *j = container_of(io, struct job, in_io);
	bool wanted = io->events == EPOLLOUT;

	loop_set_events(j->loop, io, QUIET);
	if (events & EPOLLERR)
		job_close_input(j);
	if (wanted && j->conf.ops->writable)
		j->conf.ops->writable(j);
}

/* --- Starting ----------------------------------------------------------------- */

static struct job_process *job_find_slot(const struct job_conf *c)
{
	struct job_process *free_kid = NULL;
	size_t alike = 0;

	for (size_t i = 0; i < ARRAY_LEN(kids); i++) {
		if (kids[i].child.pid == 0)
			free_kid = &kids[i];
		else
			alike += kids[i].kind == c->kind;
	}
	return c->kind != JOB_SHORT && alike >= JOBS_OF_KIND_MAX ? NULL : free_kid;
}

static int job_fork_child(
	struct job *j, struct job_process *k, int in, int out, int input_end)
{
	sigset_t all, before;
	pid_t parent = getpid();
	pid_t pid;
	int r;

	/* Our handlers must not run in the child: they write into our self-pipe. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		job_run_child(&j->conf, in, out, input_end, parent);
	r = pid < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r)
		return r;
	children_watch(&k->child, pid, job_on_child_exit);
	k->job = j;
	k->kind = j->conf.kind;
	j->process = k;
	return 0;
}

static int job_launch(struct job *j, struct job_process *k)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, end[2] = {-1, -1};
	int r = fd_pipe(out);

	if (!r && j->conf.input)
		r = fd_pipe(in);
	if (!r && j->conf.input)
		r = fd_pipe(end);
	if (!r)
		r = loop_add(j->loop, &j->out_io, out[0], j->paused ? QUIET : EPOLLIN,
			job_on_output);
	if (!r && j->conf.input)
		r = loop_add(j->loop, &j->in_io, in[1], QUIET, job_on_writable);
	if (!r)
		r = job_fork_child(j, k, in[0], out[1], end[0]);
	fd_close(&in[0]);
	fd_close(&end[0]);
	fd_close(&out[1]);
	j->in = in[1];
	j->in_end = end[1];
	j->out_fd = out[0];
	if (r) {
		job_close_input(j);
		job_close_output(j);
		return r;
	}
	if (j->conf.pipe_size) {
		fd_widen_pipe(j->out_fd, j->conf.pipe_size);
		fd_widen_pipe(j->in, j->conf.pipe_size);
	}
	if (j->fed)
		job_end_input(j);
	job_set_state(j, JOB_RUNS);
	return 0;
}

/* Removes the first queued job whose kind has a free place. */
static struct job *job_pop_queued(struct job_process **k)
{
	LIST_EACH (struct job, j, &queue, node) {
		*k = job_find_slot(&j->conf);
		if (*k) {
			list_remove(&j->node);
			return j;
		}
	}
	return NULL;
}

static void job_start_queued(void)
{
	struct job_process *k;
	struct job *j;

	/* The queue is searched from its front each time: callbacks may change it. */
	while ((j = job_pop_queued(&k))) {
		if (job_launch(j, k) < 0)
			job_finish(j, JOB_NO_START);
		else if (j->in >= 0 && j->conf.ops->writable)
			j->conf.ops->writable(j);
	}
}

static int job_enqueue(struct job *j)
{
	if (list_count(&queue) >= JOBS_WAITING_MAX)
		return ERR_LIMIT;
	list_append(&queue, &j->node);
	job_set_state(j, JOB_WAITS);
	return 0;
}

/* Callbacks of an ended job run before the queue is served; queued jobs come first. */
static bool job_is_queue_served(void)
{
	LIST_EACH (const struct job, j, &queue, node)
		if (job_find_slot(&j->conf))
			return false;
	return true;
}

int job_start(struct job *j, struct loop *l, const struct job_conf *conf)
{
	struct job_process *k = job_is_queue_served() ? job_find_slot(conf) : NULL;
	int r;

	assert(j->state == JOB_NONE || j->state == JOB_OVER);
	*j = (struct job){
		.loop = l,
		.conf = *conf,
		.in = -1,
		.in_end = -1,
		.out_fd = -1,
		.in_io.fd = -1,
		.out_io.fd = -1,
		.out = BUF_INIT(conf->out_max),
	};
	if (conf->ms)
		timer_set(l, &j->deadline, conf->ms, job_on_deadline);
	r = k ? job_launch(j, k) : job_enqueue(j);
	if (r)
		timer_cancel(l, &j->deadline);
	return r;
}

void job_free(struct job *j)
{
	if (j->state == JOB_WAITS || j->state == JOB_RUNS)
		job_release(j);
	buf_free(&j->out);
}

/* --- Its pipes ---------------------------------------------------------------- */

size_t job_feed(struct job *j, struct str piece)
{
	size_t taken = 0;

	if (j->state == JOB_WAITS)
		return 0;
	while (taken < piece.n && j->in >= 0) {
		ssize_t n = write(j->in, piece.p + taken, piece.n - taken);

		if (n >= 0) {
			taken += (size_t)n;
		} else if (errno == EAGAIN) {
			loop_set_events(j->loop, &j->in_io, EPOLLOUT);
			return taken;
		} else if (errno != EINTR) {
			job_close_input(j);
		}
	}
	return piece.n;
}

static bool job_is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

ssize_t job_splice_in(struct job *j, int fd, size_t n)
{
	ssize_t moved;
	int err;

	if (j->in < 0)
		return -EPIPE;
	do
		moved = splice(fd, NULL, j->in, NULL, n, SPLICE_F_NONBLOCK);
	while (moved < 0 && errno == EINTR);
	if (moved >= 0)
		return moved;
	err = errno;
	/*
	 * Either end may cause EAGAIN. If the pipe has space again by now, the loop
	 * reports that at once.
	 */
	if (err == EAGAIN && job_is_readable(fd)) {
		loop_set_events(j->loop, &j->in_io, EPOLLOUT);
		return -ENOBUFS;
	}
	return -err;
}

size_t job_count_output(const struct job *j)
{
	int n = 0;

	if (j->out_fd < 0 || ioctl(j->out_fd, FIONREAD, &n) < 0)
		return 0;
	return n > 0 ? (size_t)n : 0;
}

ssize_t job_splice_out(struct job *j, int fd, size_t n)
{
	ssize_t moved;
	int err;

	do
		moved = splice(j->out_fd, NULL, fd, NULL, n, SPLICE_F_NONBLOCK);
	while (moved < 0 && errno == EINTR);
	if (moved >= 0)
		return moved;
	err = errno;
	/*
	 * Either end may cause EAGAIN, and a wait for the wrong end would never return.
	 */
	if (err == EAGAIN)
		return job_count_output(j) ? -EAGAIN : 0;
	return err == ENOSYS || err == EPERM ? -EINVAL : -err;
}

void job_feed_end(struct job *j)
{
	j->fed = true;
	if (j->state == JOB_RUNS)
		job_end_input(j);
}

void job_pause(struct job *j, bool pause)
{
	j->paused = pause;
	if (j->state == JOB_RUNS)
		loop_set_events(j->loop, &j->out_io, pause ? QUIET : EPOLLIN);
}

pid_t job_pid(const struct job *j)
{
	return j->process ? j->process->child.pid : 0;
}

bool job_has_no_effect(enum job_outcome outcome)
{
	return outcome == JOB_NO_START || outcome == JOB_QUEUE_TIMEOUT ||
		outcome == JOB_RIGHTS;
}

const char *job_outcome_text(enum job_outcome outcome)
{
	static const char *const words[] = {
		[JOB_DONE] = "it is done",
		[JOB_FAILED] = TOO_LITTLE,
		[JOB_NO_START] = TOO_LITTLE,
		[JOB_QUEUE_TIMEOUT] = "too many other jobs were running, so that it was "
				      "not started in time; try again later",
		[JOB_RIGHTS] = "the rights of the sandbox user cannot be taken: the "
			       "server lacks CAP_SETUID or CAP_SETGID",
		[JOB_KILLED] = "its process was killed, perhaps because the sandbox was "
			       "out of memory",
		[JOB_TIMED_OUT] = "it took too long and was ended; the disk may be slow "
				  "or not answer",
		[JOB_OUTPUT_LIMIT] = "its answer is too large; request less at once",
	};

	return words[outcome];
}
