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

struct fd_channel {
	struct channel channel;
	struct streams *all;
	struct list node;        /* in the list of terminals with a name */
	char name[2 * NAME + 1]; /* empty: the terminal ends with its stream */
	struct buf unacked;
	uint64_t unacked_at;  /* offset of kept */
	uint64_t began;       /* offset of the channel's first byte */
	struct timer timeout; /* limits the wait for the peer */
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

static struct fd_channel *channel_fd_cast(struct channel *c)
{
	return container_of(c, struct fd_channel, channel);
}

static struct loop *channel_fd_get_loop(const struct fd_channel *p)
{
	return p->all->api->box->loop;
}

static io_fn channel_fd_on_event;

/*
 * epoll reports a hang-up to every registered descriptor, so without events p is removed.
 */
static void channel_fd_set_events(struct fd_channel *p, uint32_t events)
{
	struct loop *l = channel_fd_get_loop(p);

	if (!events)
		loop_remove(l, &p->io);
	else if (p->io.fd >= 0)
		loop_set_events(l, &p->io, events);
	else if (loop_add(l, &p->io, p->fd, events, channel_fd_on_event) < 0)
		channel_wake(&p->channel);
}

static void channel_fd_update_events(struct fd_channel *p)
{
	channel_fd_set_events(
		p, (p->channel.ready ? 0U : EPOLLIN) | (p->in.n ? EPOLLOUT : 0U));
}

static void channel_fd_flush(struct fd_channel *p)
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
		channel_ack_input(&p->channel, before - p->in.n);
}

static void channel_fd_on_event(struct io *io, uint32_t events)
{
	struct fd_channel *p = container_of(io, struct fd_channel, io);

	if (events & EPOLLOUT)
		channel_fd_flush(p);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		channel_wake(&p->channel);
	channel_fd_update_events(p);
}

/* Gets at most max bytes to send. Returns their number; 0: the end; -1 with errno. */
static ssize_t channel_fd_read_next(struct fd_channel *p, size_t max, const char **at)
{
	static char piece[STREAM_PIECE];
	size_t room = max < sizeof(piece) ? max : sizeof(piece), held;
	char *to = piece;
	ssize_t n;

	if (p->name[0]) {
		buf_consume(&p->unacked, p->began + p->channel.acked - p->unacked_at);
		p->unacked_at = p->began + p->channel.acked;
		held = (size_t)(p->at - p->unacked_at);
		if (p->unacked.n > held) {
			*at = p->unacked.p + held;
			return (ssize_t)(p->unacked.n - held < room ? p->unacked.n - held
								    : room);
		}
		room = STREAM_LIVE - held < room ? STREAM_LIVE - held : room;
		to = buf_reserve(&p->unacked, room);
	}
	if (!to)
		errno = ENOMEM;
	do
		n = to ? read(p->fd, to, room) : -1;
	while (n < 0 && errno == EINTR);
	if (n > 0 && p->name[0])
		buf_commit(&p->unacked, (size_t)n);
	*at = to;
	return n;
}

static void channel_fd_park(struct fd_channel *p);

static int channel_fd_send_next(struct channel *c, size_t max)
{
	struct fd_channel *p = channel_fd_cast(c);
	const char *bytes;
	ssize_t n = channel_fd_read_next(p, max, &bytes);

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
		channel_fd_set_events(p,
			n < 0 && errno == EAGAIN ? EPOLLIN | (p->in.n ? EPOLLOUT : 0U)
						 : 0U);
		return 1;
	}
	if (p->name[0]) {
		/* The peer may not receive the end, so the terminal is kept for it. */
		loop_remove(channel_fd_get_loop(p), &p->io);
		fd_close(&p->fd);
		buf_free(&p->in);
		channel_detach(c, p->exit_code, NULL);
		channel_fd_park(p);
	} else {
		channel_close(c, p->exit_code, NULL);
	}
	return -1;
}

static void channel_fd_input(struct channel *c, struct str bytes)
{
	struct fd_channel *p = channel_fd_cast(c);

	buf_str(&p->in, bytes);
	if (p->in.err) {
		channel_close(c, -1, "Out of memory.");
		return;
	}
	channel_fd_flush(p);
	channel_fd_update_events(p);
}

static void channel_fd_end_input(struct channel *c)
{
	struct fd_channel *p = channel_fd_cast(c);

	p->in_ended = true;
	channel_fd_flush(p);
}

static void channel_fd_resize(struct channel *c, uint16_t rows, uint16_t columns)
{
	if (pty_resize(channel_fd_cast(c)->fd, rows, columns) < 0)
		channel_send_error(c, "The size of the terminal cannot be set.");
}

static void channel_fd_free_memory(struct later *later)
{
	free(container_of(later, struct fd_channel, later));
}

/* Closing the pty hangs up processes that still have the terminal. */
static void channel_fd_free(struct channel *c)
{
	struct fd_channel *p = channel_fd_cast(c);

	list_remove(&p->node);
	timer_cancel(channel_fd_get_loop(p), &p->timeout);
	buf_free(&p->unacked);
	children_forget(&p->child);
	spawn_report_close(&p->report);
	loop_remove(channel_fd_get_loop(p), &p->io);
	fd_close(&p->fd);
	buf_free(&p->in);
	loop_defer_free(channel_fd_get_loop(p), &p->later, channel_fd_free_memory);
}

static struct fd_channel *channel_fd_new(struct streams *all)
{
	struct fd_channel *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->all = all;
	p->fd = p->io.fd = p->report.fd = -1;
	p->exit_code = -1;
	buf_init(&p->in, STREAM_INPUT);
	buf_init(&p->unacked, STREAM_LIVE);
	return p;
}

/* --- Terminals that wait for their peers ------------------------------------------ */

static void channel_fd_on_timeout(struct timer *t)
{
	channel_fd_free(&container_of(t, struct fd_channel, timeout)->channel);
}

/* Frees the terminal that has waited longest if too many wait. */
static void channel_fd_evict_oldest(struct streams *all)
{
	struct fd_channel *oldest = NULL;
	unsigned n = 0;

	LIST_EACH (struct fd_channel, p, &all->terminals, node)
		if (!p->channel.stream) {
			oldest = p;
			n++;
		}
	if (n > STREAM_AWAY_MAX)
		channel_fd_free(&oldest->channel);
}

/*
 * Makes the terminal wait for its peer, without a stream. Further output waits in the
 * pty.
 */
static void channel_fd_park(struct fd_channel *p)
{
	list_remove(&p->node);
	list_prepend(&p->all->terminals, &p->node);
	p->channel.ready = true;
	channel_fd_update_events(p);
	timer_set(channel_fd_get_loop(p), &p->timeout, STREAM_AWAY_MS,
		channel_fd_on_timeout);
	channel_fd_evict_oldest(p->all);
}

static bool channel_fd_wait_peer(struct channel *c)
{
	struct fd_channel *p = channel_fd_cast(c);

	if (!p->name[0])
		return false;
	c->stream = NULL;
	channel_fd_park(p);
	return true;
}

void terminals_end(struct streams *all)
{
	LIST_EACH (struct fd_channel, p, &all->terminals, node)
		channel_fd_free(&p->channel);
}

static bool channel_fd_set_name(struct fd_channel *p)
{
	uint8_t name[NAME];

	if (random_bytes(name, sizeof(name)))
		return false;
	hex_encode(name, sizeof(name), p->name);
	list_prepend(&p->all->terminals, &p->node);
	return true;
}

static struct fd_channel *channel_fd_find_terminal(
	const struct streams *all, struct str name)
{
	LIST_EACH (struct fd_channel, p, &all->terminals, node)
		if (str_eq(name, str_c(p->name)))
			return p;
	return NULL;
}

/*
 * Moves a terminal to this stream; it continues after the bytes that the peer has. NULL:
 * *why has the reason.
 */
static struct fd_channel *channel_fd_resume_terminal(
	struct stream *s, const struct stream_request *ask, struct channel_refusal *why)
{
	struct fd_channel *p = channel_fd_find_terminal(s->all, ask->terminal);

	if (!p) {
		*why = (struct channel_refusal){404, "No terminal has this name.", ""};
		return NULL;
	}
	if (ask->offset != UINT64_MAX &&
		(ask->offset < p->unacked_at ||
			ask->offset > p->unacked_at + p->unacked.n)) {
		*why = (struct channel_refusal){
			416, "The terminal cannot continue at this offset.", ""};
		return NULL;
	}
	if (p->channel.stream)
		channel_detach(&p->channel, -1, "Another connection has taken over.");
	timer_cancel(channel_fd_get_loop(p), &p->timeout);
	p->at = p->began = ask->offset == UINT64_MAX ? p->unacked_at : ask->offset;
	p->channel.sent = p->channel.acked = 0;
	return p;
}

/* --- A terminal with its own shell ---------------------------------------------- */

static void channel_fd_on_exit(struct child *child, int status)
{
	struct fd_channel *p = container_of(child, struct fd_channel, child);

	p->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	p->child.pid = 0;
	channel_wake(&p->channel);
}

/* Starts the user's shell on a new pty. Returns 0 or -errno. */
static int channel_fd_start_shell(struct fd_channel *p, const struct stream_request *ask,
	const struct shell_setup *setup)
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
		children_watch(&p->child, pid, channel_fd_on_exit);
	return r;
}

static struct fd_channel *channel_fd_new_terminal(
	struct stream *s, const struct stream_request *ask, struct channel_refusal *why)
{
	const struct shell_setup *setup = stream_get_api(s)->box->shell_setup;
	struct fd_channel *p = setup->path ? channel_fd_new(s->all) : NULL;
	bool ok = p && channel_fd_start_shell(p, ask, setup) == 0;

	if (ok && (!ask->keep || channel_fd_set_name(p)))
		return p;
	why->message = setup->path ? "No terminal could be created."
				   : "The sandbox has no shell.";
	if (p)
		channel_fd_free(&p->channel);
	return NULL;
}

static struct channel *channel_fd_begin_terminal(struct stream *s,
	const struct stream_request *ask, struct jw *w, struct channel_refusal *why)
{
	struct fd_channel *p = ask->terminal.n ? channel_fd_resume_terminal(s, ask, why)
					       : channel_fd_new_terminal(s, ask, why);

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
		jw_uint(w, p->channel.received);
	}
	return &p->channel;
}

const struct channel_kind channel_terminal = {
	.begin = channel_fd_begin_terminal,
	.more = channel_fd_send_next,
	.input = channel_fd_input,
	.resize = channel_fd_resize,
	.wait = channel_fd_wait_peer,
	.free = channel_fd_free,
};

/* --- A connection to this server ------------------------------------------------ */

static struct channel *channel_fd_begin_http(struct stream *s,
	const struct stream_request *ask, struct jw *w, struct channel_refusal *why)
{
	struct fd_channel *p;
	int pair[2], r;

	(void)w;
	if (ask->authorized && s->proof.step != STREAM_PROOF_DONE) {
		*why = (struct channel_refusal){
			403, "The peer has not proved the session key.", ""};
		return NULL;
	}
	p = channel_fd_new(s->all);
	r = p ? fd_socketpair(SOCK_STREAM, pair) : -ENOMEM;
	if (!r) {
		p->fd = pair[0];
		r = server_adopt(stream_get_api(s)->server, pair[1], ask->authorized);
		if (r)
			fd_close(&p->fd);
	}
	if (!r)
		return &p->channel;
	free(p);
	why->message = r == ERR_LIMIT ? "Too many connections." : "Out of memory.";
	return NULL;
}

const struct channel_kind channel_http = {
	.open = true,
	.begin = channel_fd_begin_http,
	.more = channel_fd_send_next,
	.input = channel_fd_input,
	.end = channel_fd_end_input,
	.free = channel_fd_free,
};
