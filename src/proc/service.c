#include "proc/service.h"

#include "base/backoff.h"
#include "base/fd.h"
#include "proc/tree.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SERVICE_READ = 65536,    /* bytes read at once: a pipe holds as many */
	SERVICE_LAST_READS = 16, /* more than a socket or a pipe holds */
	SERVICE_STEP_MS = 2000,  /* between two steps that end a process */
};

static timer_fn service_on_pause_end, service_on_late, service_on_step;

#define TO(state) (1u << (state))

static const struct {
	timer_fn *late; /* the time of the state has passed */
	unsigned next;  /* the states that may follow, one bit each */
} traits[] = {
	[SERVICE_OFF] = {NULL, TO(SERVICE_PAUSED) | TO(SERVICE_STARTING)},
	[SERVICE_PAUSED] = {service_on_pause_end, TO(SERVICE_OFF)},
	[SERVICE_STARTING] = {service_on_late,
		TO(SERVICE_STARTING) | TO(SERVICE_READY) | TO(SERVICE_ENDING) |
			TO(SERVICE_OFF)},
	[SERVICE_READY] = {NULL,
		TO(SERVICE_STARTING) | TO(SERVICE_ENDING) | TO(SERVICE_OFF)},
	[SERVICE_ENDING] = {service_on_step, TO(SERVICE_OFF)},
};

static void service_set_timer(struct service *s, uint64_t ms)
{
	timer_set(s->loop, &s->timer, ms, traits[s->state].late);
}

static void service_enter(struct service *s, enum service_state to)
{
	uint64_t now = loop_now(s->loop);

	assert(traits[s->state].next & TO(to));
	if (to == SERVICE_ENDING) {
		s->was_ready = s->state == SERVICE_READY;
		if (s->was_ready && now - s->since >= s->kind->steady_ms)
			s->pause = 0;
	}
	s->state = to;
	s->since = now;
	timer_cancel(s->loop, &s->timer);
}

bool service_is_running(const struct service *s)
{
	return s->child.pid && s->state != SERVICE_ENDING;
}

/* --- The end ---------------------------------------------------------------------- */

void service_signal(const struct service *s, int signo)
{
	/* 0 is the group of this process. */
	assert(s->pid > 0);
	/* Before the child has started its own session, it has no group. */
	if (kill(-s->pid, signo) < 0)
		kill(s->pid, signo);
}

static void service_terminate(struct service *s)
{
	service_signal(s, SIGTERM);
}

static void service_kill_tree(struct service *s)
{
	if (!s->why[0] && s->kind->closed_why)
		snprintf(s->why, sizeof(s->why), "%s", s->kind->closed_why);
	tree_kill_now(s->pid);
}

static void service_run_step(struct service *s)
{
	void (*const steps[])(struct service * s) = {
		[SERVICE_ASK] = s->kind->ask,
		[SERVICE_TERM] = service_terminate,
		[SERVICE_KILL] = service_kill_tree,
	};

	service_set_timer(s, SERVICE_STEP_MS);
	steps[s->step](s);
}

/* The last step is repeated: a killed process may not be able to end yet. */
static void service_on_step(struct timer *t)
{
	struct service *s = container_of(t, struct service, timer);

	service_run_step(s);
	if (s->step < SERVICE_KILL)
		s->step++;
}

void service_end(
	struct service *s, enum service_step step, uint64_t wait, const char *why)
{
	if (!s->pid)
		return;
	if (why && !s->why[0])
		snprintf(s->why, sizeof(s->why), "%s", why);
	if (s->state != SERVICE_ENDING) {
		service_enter(s, SERVICE_ENDING);
		s->step = step;
	} else if (s->step < step) {
		s->step = step;
	}
	if (wait)
		service_set_timer(s, wait);
	else
		service_on_step(&s->timer);
}

void service_kill(struct service *s, const char *why)
{
	service_end(s, SERVICE_KILL, 0, why);
}

/* The process has usually ended. If not, it is of no use. */
static void service_end_closed(struct service *s)
{
	if (s->state != SERVICE_ENDING)
		service_end(s, SERVICE_KILL, s->kind->closed_ms, NULL);
}

/* --- Input and output ------------------------------------------------------------- */

static void service_update_events(struct service *s)
{
	uint32_t in = s->deaf ? 0 : EPOLLIN, out = s->out.n ? EPOLLOUT : 0;

	if (s->output.fd >= 0)
		loop_set_events(s->loop, &s->output, in);
	if (s->from.fd >= 0)
		loop_set_events(
			s->loop, &s->from, in | (s->channel == SERVICE_SOCKET ? out : 0));
	if (s->to.fd >= 0)
		loop_set_events(s->loop, &s->to, out);
}

void service_set_deaf(struct service *s, bool deaf)
{
	s->deaf = deaf;
	service_update_events(s);
}

void service_flush(struct service *s)
{
	int fd = s->channel == SERVICE_SOCKET ? s->from.fd : s->to.fd;

	while (s->out.n && fd >= 0) {
		ssize_t n = write(fd, s->out.p, s->out.n);

		if (n >= 0)
			buf_consume(&s->out, (size_t)n);
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			buf_reset(&s->out); /* the loop reports a broken channel */
	}
	if (!s->out.n)
		buf_free(&s->out);
	service_update_events(s);
}

/* 0: there may be more; 1: nothing now; ERR_CLOSED. */
static int service_read(const struct io *io, char *bytes, struct str *got)
{
	ssize_t n = read(io->fd, bytes, SERVICE_READ);

	*got = str_make(bytes, n > 0 ? (size_t)n : 0);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return errno == EAGAIN;
	return n > 0 ? 0 : ERR_CLOSED;
}

/* True: there is none left, now or ever. */
static bool service_read_output(struct service *s)
{
	static char bytes[SERVICE_READ]; /* used up before the next read */
	struct str text;
	int r = s->output.fd < 0 ? 1 : service_read(&s->output, bytes, &text);

	if (r == 0 && text.n)
		s->kind->printed(s, text);
	else if (r < 0)
		loop_close(s->loop, &s->output);
	return r != 0;
}

void service_drain_output(struct service *s)
{
	for (int i = 0; i < SERVICE_LAST_READS && !service_read_output(s); i++)
		;
}

static void service_on_output(struct io *io, uint32_t events)
{
	(void)events;
	service_read_output(container_of(io, struct service, output));
}

/* Results as of service_read. */
static int service_read_channel(struct service *s)
{
	static char bytes[SERVICE_READ]; /* used up before the next read */
	struct str got;
	int r = s->from.fd < 0 ? 1 : service_read(&s->from, bytes, &got);

	if (r || !got.n || !s->kind->received(s, bytes, got.n))
		return r;
	loop_close(s->loop, &s->from);
	return 1;
}

static void service_on_channel(struct io *io, uint32_t events)
{
	struct service *s = container_of(io, struct service, from);

	if (events & EPOLLOUT)
		service_flush(s);
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	if (service_read_channel(s) < 0) {
		loop_close(s->loop, io);
		service_end_closed(s);
	}
}

static void service_on_input(struct io *io, uint32_t events)
{
	struct service *s = container_of(io, struct service, to);

	if (!(events & (EPOLLERR | EPOLLHUP))) {
		service_flush(s);
		return;
	}
	service_close_input(s);
	service_end_closed(s);
}

void service_close_input(struct service *s)
{
	loop_close(s->loop, &s->to);
	buf_free(&s->out);
}

static void service_close(struct service *s)
{
	service_close_input(s);
	loop_close(s->loop, &s->from);
	loop_close(s->loop, &s->output);
	spawn_report_close(&s->report);
	s->deaf = false;
}

/* --- The process ------------------------------------------------------------------ */

static void service_on_late(struct timer *t)
{
	struct service *s = container_of(t, struct service, timer);

	s->kind->late(s);
}

/* Passes on the last that it wrote, up to a limit: others may hold its descriptors. */
static void service_drain(struct service *s)
{
	for (int i = 0; i < SERVICE_LAST_READS && !service_read_channel(s); i++)
		;
	service_drain_output(s);
}

static void service_on_exit(struct child *c, int status)
{
	struct service *s = container_of(c, struct service, child);
	int err = spawn_read_outcome(&s->report);
	char why[SERVICE_WHY_MAX];

	/* Processes that are left in its group have no peer any more. */
	kill(-s->pid, SIGKILL);
	service_drain(s);
	if (s->state == SERVICE_OFF)
		return; /* forgotten by a function that got the last bytes */
	if (s->state != SERVICE_ENDING)
		service_enter(s, SERVICE_ENDING);
	if (!s->why[0] && err < 0 && err != -EAGAIN && err != -EINTR)
		snprintf(s->why, sizeof(s->why), "%s: %s", s->report.step, err_text(err));
	snprintf(why, sizeof(why), "%s", s->why);
	service_forget(s, false);
	s->kind->exited(s, why[0] ? why : NULL, status);
}

/* Makes a pipe or a socket pair, and watches this process's end of it. */
static int service_open(
	struct service *s, struct io *io, int type, int pair[2], io_fn *fn)
{
	int mine = io == &s->to; /* a pipe is read from its first end */
	int r = type ? fd_socketpair(type, pair) : fd_pipe(pair);

	if (r == 0)
		r = loop_add(s->loop, io, pair[mine], mine ? 0 : EPOLLIN, fn);
	if (r == 0)
		pair[mine] = -1;
	return r;
}

static int service_spawn(struct service *s, struct spawn sp, enum service_channel channel)
{
	int out[2] = {-1, -1}, from[2] = {-1, -1}, to[2] = {-1, -1};
	bool prints = channel == SERVICE_PRINTS || channel == SERVICE_SOCKET;
	int r = 0;

	if (prints)
		r = service_open(s, &s->output, 0, out, service_on_output);
	if (r == 0 && channel == SERVICE_SOCKET)
		r = service_open(s, &s->from, SOCK_STREAM, from, service_on_channel);
	if (r == 0 && channel == SERVICE_STDIO)
		r = service_open(s, &s->from, 0, from, service_on_channel);
	if (r == 0 && channel == SERVICE_STDIO)
		r = service_open(s, &s->to, 0, to, service_on_input);
	if (prints)
		sp.fds[1] = sp.fds[2] = out[1];
	if (channel == SERVICE_SOCKET)
		sp.channel = from[1];
	if (channel == SERVICE_STDIO) {
		sp.fds[0] = to[0];
		sp.fds[1] = from[1];
	}
	if (r == 0)
		r = spawn(&sp, &s->pid, &s->report);
	for (int i = 0; i < 2; i++) {
		fd_close(&out[i]);
		fd_close(&from[i]);
		fd_close(&to[i]);
	}
	return r;
}

int service_start(struct service *s, const struct spawn *sp, enum service_channel channel,
	uint64_t ready_ms)
{
	int r;

	assert(s->state == SERVICE_OFF);
	buf_free(&s->out); /* what was meant for a process that has ended */
	s->was_ready = false;
	s->channel = channel;
	r = service_spawn(s, *sp, channel);
	if (r < 0) {
		service_close(s);
		return r;
	}
	children_watch(&s->child, s->pid, service_on_exit);
	service_enter(s, SERVICE_STARTING);
	if (ready_ms)
		service_set_timer(s, ready_ms);
	return 0;
}

void service_set_ready(struct service *s)
{
	spawn_report_close(&s->report);
	service_enter(s, SERVICE_READY);
}

void service_set_unready(struct service *s)
{
	service_enter(s, SERVICE_STARTING);
}

static void service_on_pause_end(struct timer *t)
{
	struct service *s = container_of(t, struct service, timer);

	service_enter(s, SERVICE_OFF);
	s->kind->restart(s);
}

void service_pause(struct service *s)
{
	s->pause = backoff(s->pause, s->kind->pause_ms, s->kind->pause_max_ms);
	service_enter(s, SERVICE_PAUSED);
	service_set_timer(s, s->pause);
}

void service_forget(struct service *s, bool kill)
{
	children_forget(&s->child);
	if (s->pid && kill)
		tree_kill_now(s->pid);
	s->pid = 0;
	s->why[0] = '\0';
	service_close(s);
	if (s->state != SERVICE_OFF)
		service_enter(s, SERVICE_OFF);
}

void service_init(struct service *s, const struct service_kind *kind, struct loop *loop,
	size_t out_max)
{
	*s = (struct service){
		.kind = kind,
		.loop = loop,
		.out = BUF_INIT(out_max),
		.from.fd = -1,
		.to.fd = -1,
		.output.fd = -1,
		.report.fd = -1,
	};
}
