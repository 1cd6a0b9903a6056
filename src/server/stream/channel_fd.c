/*
 * Channels over a descriptor: a terminal with its own shell, and an HTTP connection to
 * this server. Output that the peer does not take stays in the descriptor, so that the
 * writer waits.
 *
 * A terminal that outlives its connection has a name. Its output stays in kept until the
 * peer has acknowledged it. If the connection is lost, the terminal waits for the peer to
 * come back.
 */
#include "server/stream/stream_private.h"

#include "base/fd.h"
#include "base/hash.h"
#include "limits.h"
#include "proc/children.h"
#include "proc/pty.h"
#include "shell/shell.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME = 8 };

struct pipe {
	struct channel channel;
	struct streams *all;
	struct pipe *next;       /* in the list of terminals with a name */
	char name[2 * NAME + 1]; /* empty: the terminal ends with its stream */
	struct buf kept;
	uint64_t kept_at;  /* offset of kept */
	uint64_t began;    /* offset of the channel's first byte */
	struct timer away; /* limits the wait for the peer */
	int fd;
	struct io io;  /* registered only while events are needed */
	struct buf in; /* input that fd has not taken */
	uint64_t at;   /* offset after the bytes of fd that were sent */
	bool in_ended; /* the peer sends no more input */
	struct child child;
	struct spawn_report report;
	int exit_code; /* -1: the shell has not ended */
	struct later later;
};

static struct pipe *pipe_of(struct channel *c)
{
	return container_of(c, struct pipe, channel);
}

static struct loop *loop_of(const struct pipe *p)
{
	return p->all->api->box->loop;
}

/* Adds p to the list, as the newest terminal with a name. */
static void enlist(struct pipe *p)
{
	p->next = p->all->terminals;
	p->all->terminals = p;
}

/* Removes p from the list, if it is there. */
static void strike_out(struct pipe *p)
{
	struct pipe **at = &p->all->terminals;

	while (*at && *at != p)
		at = &(*at)->next;
	if (*at)
		*at = p->next;
}

static io_fn on_event;

/*
 * epoll reports a hang-up to every registered descriptor, so without events p is removed.
 */
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
		/*
		 * On an error there is no reader, and the input is discarded; read
		 * reports the error.
		 */
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

/* Gets at most max bytes to send. Returns their number; 0: the end; -1 with errno. */
static ssize_t next_bytes(struct pipe *p, size_t max, const char **at)
{
	static char piece[STREAM_PIECE];
	size_t room = max < sizeof(piece) ? max : sizeof(piece), held;
	char *to = piece;
	ssize_t n;

	if (p->name[0]) {
		buf_consume(&p->kept, p->began + p->channel.acked - p->kept_at);
		p->kept_at = p->began + p->channel.acked;
		held = (size_t)(p->at - p->kept_at);
		if (p->kept.n > held) {
			*at = p->kept.p + held;
			return (ssize_t)(p->kept.n - held < room ? p->kept.n - held
								 : room);
		}
		room = STREAM_LIVE - held < room ? STREAM_LIVE - held : room;
		to = buf_room(&p->kept, room);
	}
	if (!to)
		errno = ENOMEM;
	do
		n = to ? read(p->fd, to, room) : -1;
	while (n < 0 && errno == EINTR);
	if (n > 0 && p->name[0])
		buf_commit(&p->kept, (size_t)n);
	*at = to;
	return n;
}

static void park(struct pipe *p);

static int more(struct channel *c, size_t max)
{
	struct pipe *p = pipe_of(c);
	const char *bytes;
	ssize_t n = next_bytes(p, max, &bytes);

	if (n > 0) {
		channel_send(c, CHANNEL_OUTPUT, p->at, (uint64_t)n,
			str_make(bytes, (size_t)n));
		p->at += (uint64_t)n;
		return 0;
	}
	/*
	 * A terminal ends with its shell, although other processes may still have it
	 * open.
	 */
	if (p->child.pid || (n < 0 && errno == EAGAIN && p->exit_code < 0)) {
		c->ready = false;
		watch(p,
			n < 0 && errno == EAGAIN ? EPOLLIN | (p->in.n ? EPOLLOUT : 0U)
						 : 0U);
		return 1;
	}
	if (p->name[0]) {
		/* The peer may not receive the end, so the terminal is kept for it. */
		loop_remove(loop_of(p), &p->io);
		fd_close(&p->fd);
		buf_free(&p->in);
		channel_part(c, p->exit_code, NULL);
		park(p);
	} else {
		channel_close(c, p->exit_code, NULL);
	}
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

/* Closing the pty hangs up processes that still have the terminal. */
static void free_pipe(struct channel *c)
{
	struct pipe *p = pipe_of(c);

	strike_out(p);
	timer_cancel(loop_of(p), &p->away);
	buf_free(&p->kept);
	children_forget(&p->child);
	spawn_report_close(&p->report);
	loop_remove(loop_of(p), &p->io);
	fd_close(&p->fd);
	buf_free(&p->in);
	loop_free_later(loop_of(p), &p->later, free_now);
}

static struct pipe *pipe_new(struct streams *all)
{
	struct pipe *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->all = all;
	p->fd = p->io.fd = p->report.fd = -1;
	p->exit_code = -1;
	buf_init(&p->in, STREAM_INPUT);
	buf_init(&p->kept, STREAM_LIVE);
	return p;
}

/* --- Terminals that wait for their peers ------------------------------------------ */

static void gave_up(struct timer *t)
{
	free_pipe(&container_of(t, struct pipe, away)->channel);
}

/* Frees the terminal that has waited longest if too many wait. */
static void make_room(struct streams *all)
{
	struct pipe *oldest = NULL;
	unsigned n = 0;

	for (struct pipe *p = all->terminals; p; p = p->next)
		if (!p->channel.stream) {
			oldest = p;
			n++;
		}
	if (n > STREAM_AWAY_MAX)
		free_pipe(&oldest->channel);
}

/*
 * Makes the terminal wait for its peer, without a stream. Further output waits in the
 * pty.
 */
static void park(struct pipe *p)
{
	strike_out(p);
	enlist(p);
	p->channel.ready = true;
	settle(p);
	if (timer_set(loop_of(p), &p->away, STREAM_AWAY_MS, gave_up))
		free_pipe(&p->channel);
	else
		make_room(p->all);
}

static bool wait_for_peer(struct channel *c)
{
	struct pipe *p = pipe_of(c);

	if (!p->name[0])
		return false;
	c->stream = NULL;
	park(p);
	return true;
}

void terminals_end(struct streams *all)
{
	while (all->terminals)
		free_pipe(&all->terminals->channel);
}

static bool keep(struct pipe *p)
{
	uint8_t name[NAME];

	if (random_bytes(name, sizeof(name)))
		return false;
	hex_encode(name, sizeof(name), p->name);
	enlist(p);
	return true;
}

static struct pipe *find_kept(const struct streams *all, struct str name)
{
	struct pipe *p = all->terminals;

	while (p && !str_eq(name, str_c(p->name)))
		p = p->next;
	return p;
}

/*
 * Moves a terminal to this stream; it continues after the bytes that the peer has. NULL:
 * *why has the reason.
 */
static struct pipe *take_up(
	struct stream *s, const struct stream_ask *ask, struct channel_refusal *why)
{
	struct pipe *p = find_kept(s->all, ask->terminal);

	if (!p) {
		*why = (struct channel_refusal){
			404, "There is no terminal of that name.", ""};
		return NULL;
	}
	if (ask->offset != UINT64_MAX &&
		(ask->offset < p->kept_at || ask->offset > p->kept_at + p->kept.n)) {
		*why = (struct channel_refusal){
			416, "This is not where the terminal can go on.", ""};
		return NULL;
	}
	if (p->channel.stream)
		channel_part(&p->channel, -1, "Another connection has taken over.");
	timer_cancel(loop_of(p), &p->away);
	p->at = p->began = ask->offset == UINT64_MAX ? p->kept_at : ask->offset;
	p->channel.sent = p->channel.acked = 0;
	return p;
}

/* --- A terminal with its own shell ---------------------------------------------- */

static void child_ended(struct child *child, int status)
{
	struct pipe *p = container_of(child, struct pipe, child);

	p->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	p->child.pid = 0;
	channel_wake(&p->channel);
}

/* Starts the user's shell on a new pty. Returns 0 or -errno. */
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

static struct pipe *new_terminal(
	struct stream *s, const struct stream_ask *ask, struct channel_refusal *why)
{
	const struct shell_setup *setup = stream_api(s)->box->shell_setup;
	struct pipe *p = setup->path ? pipe_new(s->all) : NULL;
	bool ok = p && start_shell(p, ask, setup) == 0;

	if (ok && (!ask->keep || keep(p)))
		return p;
	why->words = setup->path ? "No terminal could be made."
				 : "There is no shell in this sandbox.";
	if (p)
		free_pipe(&p->channel);
	return NULL;
}

static struct channel *begin_terminal(struct stream *s, const struct stream_ask *ask,
	struct jw *w, struct channel_refusal *why)
{
	struct pipe *p =
		ask->terminal.n ? take_up(s, ask, why) : new_terminal(s, ask, why);

	if (!p)
		return NULL;
	jw_key(w, "pid");
	jw_int(w, p->child.pid);
	if (p->name[0]) {
		p->channel.window = STREAM_LIVE;
		jw_key(w, "terminal");
		jw_cstr(w, p->name);
		jw_key(w, "window");
		jw_uint(w, p->channel.window);
		jw_key(w, "offset");
		jw_uint(w, p->at);
		jw_key(w, "input");
		jw_uint(w, p->channel.got);
	}
	return &p->channel;
}

const struct channel_kind channel_terminal = {
	.begin = begin_terminal,
	.more = more,
	.input = input,
	.resize = resize,
	.wait = wait_for_peer,
	.free = free_pipe,
};

/* --- A connection to this server ------------------------------------------------ */

static struct channel *begin_http(struct stream *s, const struct stream_ask *ask,
	struct jw *w, struct channel_refusal *why)
{
	struct pipe *p;
	int pair[2], r;

	(void)w;
	if (ask->authorized && s->proof.step != STREAM_PROOF_DONE) {
		*why = (struct channel_refusal){
			403, "The peer has not proved the session key.", ""};
		return NULL;
	}
	p = pipe_new(s->all);
	r = p ? fd_socketpair(SOCK_STREAM, pair) : -ENOMEM;
	if (!r) {
		p->fd = pair[0];
		r = server_take(stream_api(s)->server, pair[1], ask->authorized);
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
	.open = true,
	.begin = begin_http,
	.more = more,
	.input = input,
	.end = end,
	.free = free_pipe,
};
