/*
 * Channels that are a descriptor: a terminal with a shell of its own, and a connection to
 * this server. What nobody takes stays in it, so that the writer waits.
 */
#include "srv/stream_private.h"

#include "base/fd.h"
#include "limits.h"
#include "proc/children.h"
#include "proc/pty.h"
#include "term/shell.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct pipe {
	struct channel channel;
	int fd;
	struct io io;  /* watches while there is something to wait for */
	struct buf in; /* input that fd has not taken */
	uint64_t at;   /* bytes read from fd */
	bool in_ended; /* the peer has no more input */
	struct child child;
	struct spawn_report report;
	int exit_code; /* -1: it has not ended */
	struct later later;
};

static struct pipe *pipe_of(struct channel *c)
{
	return container_of(c, struct pipe, channel);
}

static struct loop *loop_of(const struct pipe *p)
{
	return stream_api(p->channel.stream)->box->loop;
}

static io_fn on_event;

/* A hang-up is told to all who watch: who waits for nothing does not. */
static void watch(struct pipe *p, uint32_t events)
{
	struct loop *l = loop_of(p);

	if (!events)
		loop_remove(l, &p->io);
	else if (p->io.fd >= 0)
		loop_want(l, &p->io, events);
	else if (loop_add(l, &p->io, p->fd, events, on_event) < 0)
		channel_wake(&p->channel);
}

static void settle(struct pipe *p)
{
	watch(p, (p->channel.ready ? 0U : EPOLLIN) | (p->in.n ? EPOLLOUT : 0U));
}

static void flush(struct pipe *p)
{
	size_t before = p->in.n;

	while (p->in.n) {
		ssize_t n = write(p->fd, p->in.p, p->in.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		/* Nobody reads it any more: what there is to tell is told by reading. */
		buf_consume(&p->in, n < 0 ? p->in.n : (size_t)n);
	}
	if (!p->in.n) {
		buf_free(&p->in);
		if (p->in_ended)
			shutdown(p->fd, SHUT_WR);
	}
	if (before > p->in.n)
		channel_took(&p->channel, before - p->in.n);
}

static void on_event(struct io *io, uint32_t events)
{
	struct pipe *p = container_of(io, struct pipe, io);

	if (events & EPOLLOUT)
		flush(p);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		channel_wake(&p->channel);
	settle(p);
}

static int more(struct channel *c, size_t max)
{
	static char piece[STREAM_PIECE];
	struct pipe *p = pipe_of(c);
	ssize_t n;

	do
		n = read(p->fd, piece, max < sizeof(piece) ? max : sizeof(piece));
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		channel_send(c, CHANNEL_OUTPUT, p->at, (uint64_t)n,
			str_make(piece, (size_t)n));
		p->at += (uint64_t)n;
		return 0;
	}
	/* Of a terminal the end is that of its shell, whoever else still has it. */
	if (p->child.pid || (n < 0 && errno == EAGAIN && p->exit_code < 0)) {
		c->ready = false;
		watch(p,
			n < 0 && errno == EAGAIN ? EPOLLIN | (p->in.n ? EPOLLOUT : 0U)
						 : 0U);
		return 1;
	}
	channel_close(c, p->exit_code, NULL);
	return -1;
}

static void input(struct channel *c, struct str bytes)
{
	struct pipe *p = pipe_of(c);

	buf_str(&p->in, bytes);
	if (p->in.err) {
		channel_close(c, -1, "Out of memory.");
		return;
	}
	flush(p);
	settle(p);
}

static void end(struct channel *c)
{
	struct pipe *p = pipe_of(c);

	p->in_ended = true;
	flush(p);
}

static void resize(struct channel *c, uint16_t rows, uint16_t columns)
{
	if (pty_resize(pipe_of(c)->fd, rows, columns) < 0)
		channel_complain(c, "The terminal does not take a size.");
}

static void free_now(struct later *later)
{
	free(container_of(later, struct pipe, later));
}

/* Who still has the terminal gets a hang-up. */
static void free_pipe(struct channel *c)
{
	struct pipe *p = pipe_of(c);

	children_forget(&p->child);
	spawn_report_close(&p->report);
	loop_remove(loop_of(p), &p->io);
	fd_close(&p->fd);
	buf_free(&p->in);
	loop_free_later(loop_of(p), &p->later, free_now);
}

static struct pipe *pipe_new(void)
{
	struct pipe *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->fd = p->io.fd = p->report.fd = -1;
	p->exit_code = -1;
	buf_init(&p->in, STREAM_INPUT);
	return p;
}

/* --- A terminal of its own ------------------------------------------------------ */

static void child_ended(struct child *child, int status)
{
	struct pipe *p = container_of(child, struct pipe, child);

	p->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	p->child.pid = 0;
	channel_wake(&p->channel);
}

/* Starts the user's shell on a new pty: 0 or -errno. */
static int start_shell(
	struct pipe *p, const struct stream_ask *ask, const struct shell_setup *setup)
{
	const char *argv[] = {setup->arg0, NULL};
	struct spawn s = {
		.path = setup->path,
		.argv = argv,
		.env = setup->env,
		.cwd = setup->cwd,
		.fds = {-1, -1, -1},
		.user = setup->user,
	};
	pid_t pid;
	int r = pty_open(ask->rows ? (uint16_t)ask->rows : 24,
		ask->columns ? (uint16_t)ask->columns : 80, &p->fd, &s.tty);

	if (r < 0)
		return r;
	pty_set_echo(p->fd);
	r = spawn(&s, &pid, &p->report);
	fd_close(&s.tty);
	if (!r)
		children_watch(&p->child, pid, child_ended);
	return r;
}

static struct channel *begin_terminal(struct stream *s, const struct stream_ask *ask,
	struct jw *w, struct channel_refusal *why)
{
	const struct shell_setup *setup = stream_api(s)->box->shell_setup;
	struct pipe *p = setup->path ? pipe_new() : NULL;

	if (!p || start_shell(p, ask, setup) < 0) {
		why->words = setup->path ? "No terminal could be made."
					 : "There is no shell in this sandbox.";
		if (p)
			fd_close(&p->fd);
		free(p);
		return NULL;
	}
	jw_key(w, "pid");
	jw_int(w, p->child.pid);
	return &p->channel;
}

const struct channel_kind channel_terminal = {
	.name = "terminal",
	.begin = begin_terminal,
	.more = more,
	.input = input,
	.resize = resize,
	.free = free_pipe,
};

/* --- A connection to this server ------------------------------------------------ */

static struct channel *begin_http(struct stream *s, const struct stream_ask *ask,
	struct jw *w, struct channel_refusal *why)
{
	struct pipe *p = pipe_new();
	int pair[2];
	int r = p ? fd_socketpair(SOCK_STREAM, pair) : -ENOMEM;

	(void)ask;
	(void)w;
	if (!r) {
		p->fd = pair[0];
		r = server_take(stream_api(s)->server, pair[1]);
		if (r)
			fd_close(&p->fd);
	}
	if (!r)
		return &p->channel;
	free(p);
	why->words = r == ERR_LIMIT ? "Too many connections." : "Out of memory.";
	return NULL;
}

const struct channel_kind channel_http = {
	.name = "http",
	.open = true,
	.begin = begin_http,
	.more = more,
	.input = input,
	.end = end,
	.free = free_pipe,
};
