#include "kernel/kernel.h"

#include "base/clock.h"
#include "base/fd.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* Times in milliseconds, and counts. The limits that a user can meet are in limits.h. */
enum {
	KERNEL_RETRY_MS = 10,     /* between attempts to connect to a starting kernel */
	KERNEL_ASK_MS = 200,      /* for output to follow the first reply */
	KERNEL_AGAIN_MS = 1000,   /* for any output after it; it may have been lost */
	KERNEL_LAST_READS = 256,  /* of a dead kernel; sockets hold fewer messages */
	KERNEL_BEATS_MISSED = 2,  /* heartbeats without an answer that are silence */
	KERNEL_BEATS_UNHEARD = 6, /* heartbeats of a cell until the kernel is woken */
	KERNEL_DEATH_MS = 500,    /* from a closed connection to the process's end */
};

static const char not_ready[] = "it was not ready in time";
static const char kernel_info[] = "kernel_info_request";
static const char no_memory[] = "there is no memory to wait for it";

/* The parts of a result: its reply and the idle status. */
enum { REPLY = 1, IDLE = 2 };

static const enum zmtp_type types[] = {
	[CONNECTION_SHELL] = ZMTP_DEALER,
	[CONNECTION_IOPUB] = ZMTP_SUB,
	[CONNECTION_CONTROL] = ZMTP_DEALER,
	[CONNECTION_HEARTBEAT] = ZMTP_REQ,
};

/* Changes the state by a legal transition; cancels the timers of the old state. */
static void kernel_enter(struct kernel *k, enum kernel_state s)
{
	static const unsigned from[] = {
		[KERNEL_DEAD] = 1 << KERNEL_STARTING | 1 << KERNEL_ENDING,
		[KERNEL_STARTING] = 1 << KERNEL_DEAD,
		[KERNEL_IDLE] = 1 << KERNEL_STARTING | 1 << KERNEL_BUSY,
		[KERNEL_BUSY] = 1 << KERNEL_IDLE,
		[KERNEL_DRAINING] = 1 << KERNEL_BUSY,
		[KERNEL_ENDING] = 1 << KERNEL_STARTING | 1 << KERNEL_IDLE |
			1 << KERNEL_BUSY | 1 << KERNEL_DRAINING,
	};

	assert(from[s] & 1U << k->state);
	k->state = s;
	timer_cancel(k->setup.loop, &k->timer);
	timer_cancel(k->setup.loop, &k->beat);
}

/* Ends the kernel from that step on, at once or after wait ms; the next steps follow. */
static void kernel_end_from(
	struct kernel *k, enum service_step step, uint64_t wait, const char *why)
{
	if (k->state == KERNEL_DEAD || k->state == KERNEL_DRAINING)
		return;
	if (k->state != KERNEL_ENDING)
		kernel_enter(k, KERNEL_ENDING);
	service_end(&k->service, step, wait, why);
}

/* --- Channels ------------------------------------------------------------------- */

static enum connection_channel kernel_channel_index(const struct kernel_channel *ch)
{
	return (enum connection_channel)(ch - ch->kernel->channels);
}

static void kernel_channel_close(struct kernel_channel *ch)
{
	if (ch->fd < 0)
		return;
	loop_remove(ch->kernel->setup.loop, &ch->io);
	fd_close(&ch->fd);
	zmtp_free(&ch->zmtp);
	ch->up = false;
}

/*
 * Handles a protocol error (why), or a closed connection: the kernel is ended. It first
 * gets time to end by itself, so that its exit status is its own.
 */
static void kernel_channel_fail(struct kernel_channel *ch, const char *why)
{
	kernel_channel_close(ch);
	if (ch->kernel->state != KERNEL_ENDING)
		kernel_end_from(ch->kernel, SERVICE_KILL, KERNEL_DEATH_MS, why);
}

static void kernel_channel_flush(struct kernel_channel *ch)
{
	struct buf *out = &ch->zmtp.out;
	ssize_t n = 1;

	if (out->err) {
		kernel_channel_fail(ch, "there is no memory for what is sent to it");
		return;
	}
	while (out->n > 0 && n > 0) {
		n = send(ch->fd, out->p, out->n, MSG_NOSIGNAL);
		if (n > 0)
			buf_consume(out, (size_t)n);
	}
	/* The reader reports other errors. */
	loop_set_events(ch->kernel->setup.loop, &ch->io,
		out->n > 0 && errno == EAGAIN ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void kernel_channel_send(
	struct kernel_channel *ch, const struct str *parts, size_t n)
{
	if (!ch->up)
		return;
	zmtp_send(&ch->zmtp, parts, n);
	kernel_channel_flush(ch);
}

/* Sends k->request if that channel is connected. */
static void kernel_send_request(struct kernel *k, enum connection_channel to)
{
	kernel_channel_send(&k->channels[to], k->request.parts, JMSG_PARTS);
}

/* --- Messages ------------------------------------------------------------------- */

static bool kernel_has_cell(const struct kernel *k)
{
	return k->state == KERNEL_BUSY || k->state == KERNEL_DRAINING;
}

static void kernel_finish_request(struct kernel *k)
{
	k->awaited = 0;
	if (k->state == KERNEL_STARTING) {
		kernel_enter(k, KERNEL_IDLE);
		/*
		 * All channels are connected: the names are not needed any more, and no
		 * other process shall connect.
		 */
		connection_remove(&k->connection);
		k->setup.events->ready(k);
	} else if (kernel_has_cell(k)) {
		kernel_enter(k, k->state == KERNEL_BUSY ? KERNEL_IDLE : KERNEL_ENDING);
		k->setup.events->done(k, k->outcome);
	}
}

static void kernel_on_rest_timeout(struct timer *t)
{
	kernel_finish_request(container_of(t, struct kernel, timer));
}

/*
 * Reply or idle status is here, and the other may have been dropped on its way. The
 * timer restarts while anything is published, up to the deadline k->by.
 */
static void kernel_await_rest(struct kernel *k)
{
	uint64_t now = clock_ms(), left = k->deadline > now ? k->deadline - now : 0;

	if (k->state != KERNEL_BUSY || k->awaited == 0 || k->awaited == (REPLY | IDLE))
		return;
	timer_set(k->setup.loop, &k->timer, left < KERNEL_REST_MS ? left : KERNEL_REST_MS,
		kernel_on_rest_timeout);
}

static void kernel_send_info_request(struct timer *t);

static void kernel_receive_part(struct kernel *k, unsigned what)
{
	k->awaited &= ~what;
	if (k->state == KERNEL_BUSY)
		k->deadline = clock_ms() + KERNEL_LATE_MS;
	if (k->awaited == 0)
		kernel_finish_request(k);
	else if (k->state == KERNEL_STARTING && what == REPLY)
		timer_set(k->setup.loop, &k->timer, KERNEL_ASK_MS,
			kernel_send_info_request);
	else
		kernel_await_rest(k);
}

static void kernel_handle_message(
	struct kernel *k, enum connection_channel from, const struct jmsg *m)
{
	if (!str_eq(m->parent, str_c(k->id)) || k->awaited == 0)
		return;
	k->silent_beats = 0;
	if (from == CONNECTION_IOPUB && m->type == JMSG_STATUS) {
		if (m->state == JMSG_IDLE)
			kernel_receive_part(k, IDLE);
		return;
	}
	if (kernel_has_cell(k))
		k->setup.events->message(k, m, &k->arena);
	if (from == CONNECTION_SHELL && m->type == JMSG_EXECUTE_REPLY) {
		k->outcome = m->reply.outcome;
		kernel_receive_part(k, REPLY);
	} else if (from == CONNECTION_SHELL && m->type == JMSG_KERNEL_INFO_REPLY) {
		kernel_receive_part(k, REPLY);
	}
}

static void kernel_drop_message(
	struct kernel *k, enum connection_channel from, uint64_t bytes)
{
	if (kernel_has_cell(k))
		k->setup.events->lost(k, bytes);
	/* This channel carries replies, and only one is awaited: the lost one. */
	if (from == CONNECTION_SHELL && k->awaited & REPLY)
		kernel_receive_part(k, REPLY);
}

static void kernel_channel_on_message(
	struct kernel_channel *ch, const struct zmtp_message *z)
{
	struct kernel *k = ch->kernel;
	enum connection_channel from = kernel_channel_index(ch);
	const char *why;
	struct jmsg m;

	if (from == CONNECTION_HEARTBEAT) {
		k->beats = 0;
		return;
	}
	arena_rewind(&k->arena);
	if (jmsg_read(&k->session, z->parts, z->parts_n, &k->arena, &m, &why) == 0)
		kernel_handle_message(k, from, &m);
	else
		kernel_drop_message(k, from, z->bytes);
	arena_rewind(&k->arena);
}

static void kernel_channel_on_ready(struct kernel_channel *ch)
{
	struct kernel *k = ch->kernel;

	ch->up = true;
	for (size_t i = 0; i < CONNECTION_CHANNELS; i++)
		if (!k->channels[i].up)
			return;
	if (k->state == KERNEL_STARTING)
		kernel_send_info_request(&k->timer);
}

/* Handles all input, or as much as came before the channel was closed. */
static void kernel_channel_feed(struct kernel_channel *ch, struct str in)
{
	struct zmtp_message m;
	enum zmtp_step step = ZMTP_READY;

	while (ch->fd >= 0 && step != ZMTP_MORE) {
		step = zmtp_next(&ch->zmtp, &in, &m);
		if (step == ZMTP_READY)
			kernel_channel_on_ready(ch);
		else if (step == ZMTP_MESSAGE)
			kernel_channel_on_message(ch, &m);
		else if (step == ZMTP_DROPPED)
			kernel_drop_message(
				ch->kernel, kernel_channel_index(ch), m.bytes);
		else if (step == ZMTP_FAILED)
			kernel_channel_fail(ch, ch->zmtp.reason);
	}
	if (ch->fd >= 0 && ch->zmtp.out.n > 0)
		kernel_channel_flush(ch);
}

/* Receives and handles input: the number of bytes, 0 at the end, -EAGAIN, -errno. */
static ssize_t kernel_channel_read(struct kernel_channel *ch)
{
	static char input[65536];
	ssize_t n = recv(ch->fd, input, sizeof(input), 0);

	if (n > 0)
		kernel_channel_feed(ch, str_make(input, (size_t)n));
	if (n > 0 && kernel_channel_index(ch) == CONNECTION_IOPUB)
		kernel_await_rest(ch->kernel);
	return n < 0 ? -errno : n;
}

static void kernel_connect_channels(struct timer *t);

/*
 * Handles the end of a connection. At the start the kernel may not listen yet: a TCP
 * connection reports that late.
 */
static void kernel_channel_on_eof(struct kernel_channel *ch)
{
	struct kernel *k = ch->kernel;

	if (k->state != KERNEL_STARTING || ch->up) {
		kernel_channel_fail(ch, NULL);
		return;
	}
	kernel_channel_close(ch);
	timer_set(k->setup.loop, &k->timer, KERNEL_RETRY_MS, kernel_connect_channels);
}

static void kernel_channel_on_event(struct io *io, uint32_t events)
{
	struct kernel_channel *ch = container_of(io, struct kernel_channel, io);
	ssize_t n;

	if (events & EPOLLOUT)
		kernel_channel_flush(ch);
	if (ch->fd < 0 || !(events & ~(uint32_t)EPOLLOUT))
		return;
	n = kernel_channel_read(ch);
	if (ch->fd >= 0 && n <= 0 && n != -EAGAIN && n != -EINTR)
		kernel_channel_on_eof(ch);
}

/* --- The start ------------------------------------------------------------------ */

static int kernel_channel_open(struct kernel_channel *ch)
{
	struct kernel *k = ch->kernel;
	int r, fd;

	if (ch->fd >= 0)
		return 0;
	fd = connection_open(&k->connection, kernel_channel_index(ch));
	if (fd < 0)
		return fd;
	r = fd_connect_result(fd);
	if (!r)
		r = loop_add(
			k->setup.loop, &ch->io, fd, EPOLLIN, kernel_channel_on_event);
	if (r) {
		fd_close(&fd);
		return r;
	}
	ch->fd = fd;
	zmtp_init(&ch->zmtp, types[kernel_channel_index(ch)], str_c(k->session.id));
	kernel_channel_flush(ch);
	return 0;
}

/* Tries to connect until all channels are open. The handshakes follow in the loop. */
static void kernel_connect_channels(struct timer *t)
{
	struct kernel *k = container_of(t, struct kernel, timer);
	uint64_t now = clock_ms();
	bool again = false;

	if (now >= k->deadline) {
		kernel_end_from(k, SERVICE_TERM, 0, not_ready);
		return;
	}
	for (size_t i = 0; i < CONNECTION_CHANNELS; i++)
		again |= kernel_channel_open(&k->channels[i]) != 0;
	/* In another state the timer belongs to that state. */
	if (k->state == KERNEL_STARTING)
		timer_set(k->setup.loop, &k->timer,
			again ? KERNEL_RETRY_MS : k->deadline - now,
			kernel_connect_channels);
}

static int kernel_make_info_request(struct kernel *k)
{
	int r = jmsg_plain_request(&k->session, kernel_info, &k->request);

	if (r)
		return r;
	memcpy(k->id, k->request.id, sizeof(k->id));
	k->awaited = REPLY | IDLE;
	return 0;
}

/*
 * Output published before a subscription has arrived is lost. So the kernel is ready
 * when it has both replied and published. If one of the two is missing, a new request
 * is sent. If both are missing, the same request is repeated: ZeroMQ in Node may
 * process a request only when another one arrives.
 */
static void kernel_send_info_request(struct timer *t)
{
	struct kernel *k = container_of(t, struct kernel, timer);
	uint64_t now = clock_ms(), left = k->deadline > now ? k->deadline - now : 0;
	bool same = k->awaited == (REPLY | IDLE);

	if (left == 0) {
		kernel_end_from(k, SERVICE_TERM, 0, not_ready);
		return;
	}
	if (!same && kernel_make_info_request(k)) {
		kernel_end_from(k, SERVICE_KILL, 0, no_memory);
		return;
	}
	timer_set(k->setup.loop, &k->timer,
		left < KERNEL_AGAIN_MS ? left : KERNEL_AGAIN_MS,
		kernel_send_info_request);
	kernel_send_request(k, CONNECTION_SHELL);
}

static void kernel_close_channels(struct kernel *k)
{
	for (size_t i = 0; i < CONNECTION_CHANNELS; i++)
		kernel_channel_close(&k->channels[i]);
	connection_remove(&k->connection);
}

static void kernel_ask_to_end(struct service *s)
{
	struct kernel *k = container_of(s, struct kernel, service);

	if (jmsg_restart_request(&k->session, &k->request) == 0)
		kernel_send_request(k, CONNECTION_CONTROL);
}

static void kernel_on_exit(struct service *s, const char *why, int status)
{
	struct kernel *k = container_of(s, struct kernel, service);
	struct kernel_channel *ch = k->channels;

	if (k->state != KERNEL_ENDING)
		kernel_enter(
			k, k->state == KERNEL_BUSY ? KERNEL_DRAINING : KERNEL_ENDING);
	/*
	 * Reads the last output, up to a limit: another process may hold the socket and
	 * write forever.
	 */
	for (int i = 0; i < KERNEL_LAST_READS && ch < k->channels + CONNECTION_CHANNELS;
		i++)
		if (ch->fd < 0 || kernel_channel_read(ch) <= 0)
			ch++;
	if (k->state != KERNEL_ENDING)
		kernel_enter(k, KERNEL_ENDING);
	kernel_close_channels(k);
	kernel_enter(k, KERNEL_DEAD);
	k->setup.events->ended(k, why ? why : "it ended by itself", status);
}

static const struct service_kind kernel_service = {
	.closed_why = "it closed its connection and did not end",
	.ask = kernel_ask_to_end,
	.exited = kernel_on_exit,
};

static int kernel_spawn_child(struct kernel *k)
{
	const struct kernel_setup *s = &k->setup;
	const char *const *argv = NULL, *const *env = NULL;
	char parent[] = "JPY_PARENT_PID=-2147483648";
	struct spawn sp;
	int r;

	r = kernelspec_argv(s->spec, s->env, k->connection.file, &k->arena, &argv);
	/* With this variable ipykernel ends when this process has died. */
	snprintf(parent, sizeof(parent), "JPY_PARENT_PID=%d", (int)getpid());
	r = r ? r : kernelspec_env(s->spec, s->env, parent, &k->arena, &env);
	if (r)
		return r;
	sp = (struct spawn){
		.path = argv[0],
		.argv = argv,
		.env = env,
		.cwd = s->cwd,
		.tty = -1,
		.fds = {-1, -1, -1},
		.dies_with_parent = true,
		.orphans_leave = true,
		.user = s->user,
	};
	return service_start(&k->service, &sp, SERVICE_SILENT, 0);
}

int kernel_start(struct kernel *k)
{
	const struct kernel_setup *s = &k->setup;
	char name[KERNELSPEC_NAME_MAX + 1];
	int r;

	assert(k->state == KERNEL_DEAD);
	snprintf(name, sizeof(name), "%.*s", STR_ARG(s->spec->name));
	r = connection_make(&k->connection, s->tmp, s->spec->by_ipc, s->user, name);
	if (r)
		return r;
	r = jmsg_session_init(&k->session, str_c(k->connection.key));
	r = r ? r : kernel_spawn_child(k);
	arena_rewind(&k->arena);
	if (r) {
		kernel_close_channels(k);
		return r;
	}
	k->beats = 0;
	k->awaited = 0;
	k->deadline = clock_ms() + s->start_ms;
	kernel_enter(k, KERNEL_STARTING);
	kernel_connect_channels(&k->timer);
	return 0;
}

/* --- Cells ---------------------------------------------------------------------- */

static void kernel_on_heartbeat(struct timer *t)
{
	struct kernel *k = container_of(t, struct kernel, beat);
	struct str ping = STR("ping");

	if (k->beats++ == 0)
		kernel_channel_send(&k->channels[CONNECTION_HEARTBEAT], &ping, 1);
	/*
	 * Like kernel_send_info_request(), but a cell must not run twice: the additional
	 * request is a kernel_info_request.
	 */
	if (k->silent_beats && k->silent_beats++ == KERNEL_BEATS_UNHEARD &&
		jmsg_plain_request(&k->session, kernel_info, &k->request) == 0)
		kernel_send_request(k, CONNECTION_SHELL);
	if (k->state != KERNEL_BUSY)
		return;
	timer_set(k->setup.loop, &k->beat, KERNEL_BEAT_MS, kernel_on_heartbeat);
	if (k->beats == KERNEL_BEATS_MISSED + 1)
		k->setup.events->silent(k);
}

int kernel_run(struct kernel *k, struct str code)
{
	int r = jmsg_execute_request(&k->session, code, &k->request);

	if (r)
		return r;
	kernel_enter(k, KERNEL_BUSY);
	timer_set(k->setup.loop, &k->beat, KERNEL_BEAT_MS, kernel_on_heartbeat);
	memcpy(k->id, k->request.id, sizeof(k->id));
	k->awaited = REPLY | IDLE;
	k->outcome = JMSG_FAILED; /* until the reply, which may be lost */
	k->beats = k->beats > 0;
	k->silent_beats = 1;
	kernel_send_request(k, CONNECTION_SHELL);
	return 0;
}

void kernel_interrupt(struct kernel *k)
{
	if (k->state != KERNEL_BUSY)
		return;
	/* A stopped process handles SIGINT only after SIGCONT. */
	if (!k->setup.spec->by_message)
		service_signal(&k->service, SIGINT);
	service_signal(&k->service, SIGCONT);
	if (k->setup.spec->by_message &&
		jmsg_plain_request(&k->session, "interrupt_request", &k->request) == 0)
		kernel_send_request(k, CONNECTION_CONTROL);
}

void kernel_stop(struct kernel *k)
{
	bool listens = k->channels[CONNECTION_CONTROL].up;

	if (k->state != KERNEL_ENDING)
		kernel_end_from(
			k, listens ? SERVICE_ASK : SERVICE_TERM, 0, "it was stopped");
}

void kernel_kill(struct kernel *k)
{
	kernel_end_from(k, SERVICE_KILL, 0, "it was killed");
}

void kernel_init(struct kernel *k, const struct kernel_setup *setup)
{
	*k = (struct kernel){.setup = *setup, .connection.dir = -1};
	service_init(&k->service, &kernel_service, setup->loop, 0);
	arena_init(&k->arena, JMSG_ARENA_MAX);
	for (size_t i = 0; i < CONNECTION_CHANNELS; i++)
		k->channels[i] =
			(struct kernel_channel){.kernel = k, .io.fd = -1, .fd = -1};
}

void kernel_free(struct kernel *k)
{
	service_forget(&k->service, true);
	kernel_close_channels(k);
	timer_cancel(k->setup.loop, &k->timer);
	timer_cancel(k->setup.loop, &k->beat);
	jmsg_out_free(&k->request);
	arena_reset(&k->arena);
}
