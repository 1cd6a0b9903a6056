#include "mcp/mcp_child.h"

#include "base/backoff.h"
#include "base/fd.h"
#include "base/log.h"
#include "mcp/mcp_server.h"
#include "proc/tree.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The limits of one server, sizes in bytes. */
enum {
	MCP_CHILD_READ = 65536,         /* read at once: a pipe holds as many */
	MCP_CHILD_SEND_MAX = 16 << 20,  /* two messages of HTTP_BODY_MAX, not read yet */
	MCP_CHILD_TOKENS_MAX = 500000,  /* 20 bytes each; long lists of tools */
	MCP_CHILD_ARENA_MAX = 64 << 20, /* a message, decoded, and its index */
};

enum { DRAIN_READS = 16 }; /* more than a pipe holds */

static void mcp_child_enter(struct mcp_child *c, enum mcp_child_state to)
{
	enum {
		OFF = 1 << MCP_CHILD_OFF,
		HELLO = 1 << MCP_CHILD_HELLO,
		READY = 1 << MCP_CHILD_READY,
		PAUSED = 1 << MCP_CHILD_PAUSED,
		LEAVING = 1 << MCP_CHILD_STOPPING,
	};
	static const unsigned from[] = {
		[MCP_CHILD_OFF] = OFF | HELLO | READY | PAUSED | LEAVING,
		[MCP_CHILD_HELLO] = OFF | PAUSED,
		[MCP_CHILD_READY] = HELLO,
		[MCP_CHILD_PAUSED] = HELLO | READY,
		[MCP_CHILD_STOPPING] = HELLO | READY | PAUSED,
	};
	enum mcp_child_state before = c->state;

	assert(from[to] & 1U << before);
	c->state = to;
	c->since = loop_now(c->loop);
	if (to != MCP_CHILD_OFF && to != MCP_CHILD_STOPPING)
		c->ops->on_state(c, before);
}

/* --- Requests ------------------------------------------------------------------ */

static void mcp_child_unlink_request(struct mcp_child_call *q)
{
	list_remove(&q->node);
	q->child = NULL;
}

static void mcp_child_fail_requests(struct mcp_child *c, const char *why)
{
	struct mcp_child_call *q;

	while ((q = LIST_FIRST(&c->calls, struct mcp_child_call, node))) {
		mcp_child_unlink_request(q);
		q->done(q, NULL, why);
	}
}

/* Bytes that the pipe does not accept stay queued. The size of send limits the queue. */
static void mcp_child_flush(struct mcp_child *c)
{
	while (c->send.n && c->in.fd >= 0) {
		ssize_t n = write(c->in.fd, c->send.p, c->send.n);

		if (n > 0)
			buf_consume(&c->send, (size_t)n);
		else if (n < 0 && errno == EAGAIN)
			break;
		else if (n < 0 && errno != EINTR)
			/* The end of the process reports the reason. */
			buf_reset(&c->send);
	}
	if (c->in.fd >= 0)
		loop_set_events(c->loop, &c->in, c->send.n ? EPOLLOUT : 0);
}

static void mcp_child_on_stdin(struct io *io, uint32_t events)
{
	struct mcp_child *c = container_of(io, struct mcp_child, in);

	if (!(events & (EPOLLERR | EPOLLHUP))) {
		mcp_child_flush(c);
		return;
	}
	/*
	 * The process has usually ended. If not, it is killed, because it cannot read
	 * requests.
	 */
	buf_reset(&c->send);
	loop_close(c->loop, io);
	tree_kill_now(c->pid);
}

/*
 * Ends the message that begins at the offset before: makes it a line, or removes it on
 * error.
 */
static int mcp_child_end_line(struct mcp_child *c, size_t before)
{
	int err;

	/* JSON may have line feeds between values, but a message must not. */
	for (size_t i = before; !c->send.err && i < c->send.n; i++)
		if (c->send.p[i] == '\n' || c->send.p[i] == '\r')
			c->send.p[i] = ' ';
	buf_putc(&c->send, '\n');
	err = c->send.err;
	if (err) {
		c->send.err = 0;
		c->send.n = before;
	}
	return err;
}

/* Writes a request; id 0: a notification. */
static int mcp_child_put_message(
	struct mcp_child *c, uint64_t id, struct str method, struct str params)
{
	size_t before = c->send.n;

	jsonrpc_write_call(&c->send, id, method, params);
	return mcp_child_end_line(c, before);
}

static int mcp_child_send_request(struct mcp_child *c, struct mcp_child_call *q,
	struct str method, struct str params)
{
	int r = mcp_child_put_message(c, ++c->last_id, method, params);

	if (r < 0)
		return r;
	q->id = c->last_id;
	q->child = c;
	list_prepend(&c->calls, &q->node);
	mcp_child_flush(c);
	return 0;
}

int mcp_child_request(struct mcp_child *c, struct mcp_child_call *q, struct str method,
	struct str params)
{
	return c->state == MCP_CHILD_READY ? mcp_child_send_request(c, q, method, params)
					   : ERR_CLOSED;
}

uint64_t mcp_child_next_id(const struct mcp_child *c)
{
	return c->last_id + 1;
}

void mcp_child_cancel(struct mcp_child_call *q, bool tell)
{
	struct mcp_child *c = q->child;
	char room[MCP_CANCELLED_MAX];

	if (!c)
		return;
	mcp_child_unlink_request(q);
	if (tell &&
		mcp_child_put_message(
			c, 0, STR(MCP_CANCELLED), mcp_cancelled_params(room, q->id)) == 0)
		mcp_child_flush(c);
}

/* --- Messages from the server -------------------------------------------------- */

static struct mcp_child_call *mcp_child_find_request(struct mcp_child *c, struct str id)
{
	uint64_t n;

	/* Some servers write every id as a string. */
	if (str_u64(str_trim(id, "\""), UINT64_MAX, &n) < 0)
		return NULL;
	LIST_EACH (struct mcp_child_call, q, &c->calls, node)
		if (q->id == n)
			return q;
	return NULL;
}

void mcp_child_notify(struct mcp_child *c, struct str method, struct str params)
{
	if (c->state == MCP_CHILD_READY &&
		mcp_child_put_message(c, 0, method, params) == 0)
		mcp_child_flush(c);
}

void mcp_child_send_answer(struct mcp_child *c, struct str id, const struct jsonrpc *m)
{
	size_t before = c->send.n;

	jsonrpc_write_forward(&c->send, id, m);
	if (mcp_child_end_line(c, before) == 0)
		mcp_child_flush(c);
	else
		mcp_child_send_error(c, id, JSONRPC_INTERNAL,
			"The sandbox has no memory for the answer.");
}

void mcp_child_send_error(struct mcp_child *c, struct str id, int code, const char *words)
{
	size_t before = c->send.n;

	jsonrpc_write_error(&c->send, id, code, str_c(words));
	if (mcp_child_end_line(c, before) == 0)
		mcp_child_flush(c);
}

static void mcp_child_send_pong(struct mcp_child *c, struct str id)
{
	size_t before = c->send.n;
	struct jw w;

	jsonrpc_begin(&w, &c->send, id);
	jw_raw(&w, STR("{}"));
	jsonrpc_end(&w);
	if (mcp_child_end_line(c, before) == 0)
		mcp_child_flush(c);
}

static void mcp_child_handle_message(struct mcp_child *c, const struct jsonrpc *m)
{
	struct mcp_child_call *q;

	if (m->kind == JSONRPC_REQUEST && str_eq(m->method, STR("ping"))) {
		mcp_child_send_pong(c, m->id);
	} else if (m->kind == JSONRPC_RESPONSE) {
		q = mcp_child_find_request(c, m->id);
		if (!q)
			return;
		mcp_child_unlink_request(q);
		q->done(q, m, NULL);
	} else if (str_eq(m->method, STR("notifications/progress"))) {
		q = mcp_child_find_request(
			c, json_raw(json_get(m->params, "progressToken")));
		if (q && q->progress)
			q->progress(q, m->params);
	} else {
		c->ops->on_message(c, m);
	}
}

/* Fails the request that a malformed line was to answer: it would wait for ever. */
static void mcp_child_reject_line(struct mcp_child *c, struct str line, const char *why)
{
	struct mcp_child_call *q = mcp_child_find_request(c, jsonrpc_recover_id(line));
	char words[MCP_NAME_MAX + MCP_WHY_MAX + 64];

	if (!c->bad_lines++)
		log_warn(
			"mcp: the server %s has written a line that is not a message: %s",
			c->name, why);
	if (!q)
		return;
	snprintf(words, sizeof(words), "The MCP server %s has given no valid answer: %s.",
		c->name, why);
	mcp_child_unlink_request(q);
	q->done(q, NULL, words);
}

static void mcp_child_handle_line(struct mcp_child *c, struct str line)
{
	static const struct json_caps caps = {
		JSON_DEPTH_MAX, MCP_CHILD_TOKENS_MAX, MCP_CHILD_TOKENS_MAX};
	struct arena arena;
	struct json_error e;
	struct jsonrpc m;
	struct json doc;
	const char *why;
	int r;

	line = str_trim(line, " \t\r");
	if (!line.n || c->state == MCP_CHILD_STOPPING)
		return;
	arena_init(&arena, MCP_CHILD_ARENA_MAX);
	r = json_parse(&doc, line, &caps, &arena, &e);
	why = r ? e.why : NULL;
	if (r == 0)
		r = jsonrpc_read(json_root(&doc), &arena, &m, &why);
	if (r == 0)
		mcp_child_handle_message(c, &m);
	else
		mcp_child_reject_line(c, line, r == -ENOMEM ? err_text(r) : why);
	arena_reset(&arena);
}

static void mcp_child_kill(struct mcp_child *c, const char *why)
{
	snprintf(c->why, sizeof(c->why), "%s", why);
	if (c->pid)
		tree_kill_now(c->pid);
}

/* 0; 1: there is nothing more to read now, or ever. */
static int mcp_child_read(struct mcp_child *c)
{
	static char room[MCP_CHILD_READ]; /* its bytes are used up before the next read */
	ssize_t n = read(c->out.fd, room, sizeof(room));
	struct str in, line;
	int r;

	if (n <= 0)
		return 1;
	/*
	 * JSON allows CR between values, but in a stream of events CR would end a line.
	 */
	for (ssize_t i = 0; i < n; i++)
		if (room[i] == '\r')
			room[i] = ' ';
	in = str_make(room, (size_t)n);
	while ((r = lines_next(&c->lines, &in, &line)) == 0) {
		mcp_child_handle_line(c, line);
		/* The receiver of an answer may have replaced this server. */
		if (c->state == MCP_CHILD_OFF)
			return 1;
	}
	if (r > 0)
		return 0;
	lines_free(&c->lines);
	mcp_child_kill(c, "its message is too long");
	return 1;
}

static void mcp_child_on_stdout(struct io *io, uint32_t events)
{
	struct mcp_child *c = container_of(io, struct mcp_child, out);

	if (!mcp_child_read(c) || !(events & EPOLLHUP) || c->out.fd < 0)
		return;
	/*
	 * The process has usually ended. If not, it is killed, because it cannot answer.
	 */
	loop_close(c->loop, io);
	if (c->state != MCP_CHILD_STOPPING)
		tree_kill_now(c->pid);
}

/* --- The process --------------------------------------------------------------- */

static void mcp_child_on_pause_end(struct timer *t)
{
	mcp_child_start(container_of(t, struct mcp_child, timer));
}

static void mcp_child_close_io(struct mcp_child *c)
{
	loop_close(c->loop, &c->in);
	loop_close(c->loop, &c->out);
	spawn_report_close(&c->report);
	buf_free(&c->send);
	lines_free(&c->lines);
}

static void mcp_child_pause(struct mcp_child *c)
{
	if (c->state == MCP_CHILD_READY && loop_now(c->loop) - c->since >= MCP_STEADY_MS)
		c->pause = 0;
	c->pause = backoff(c->pause, MCP_PAUSE_MS, MCP_PAUSE_MAX_MS);
	timer_set(c->loop, &c->timer, c->pause, mcp_child_on_pause_end);
	mcp_child_enter(c, MCP_CHILD_PAUSED);
}

static void mcp_child_finish_stop(struct mcp_child *c)
{
	timer_cancel(c->loop, &c->timer);
	mcp_child_close_io(c);
	arena_reset(&c->memory);
	mcp_child_enter(c, MCP_CHILD_OFF);
	c->ops->on_stopped(c);
}

static void mcp_child_on_exit(struct child *child, int status)
{
	struct mcp_child *c = container_of(child, struct mcp_child, child);
	int err = spawn_read_outcome(&c->report);
	char why[MCP_NAME_MAX + MCP_WHY_MAX + 64];

	/*
	 * Processes left in its group would go on writing. Processes that have left the
	 * group may.
	 */
	kill(-c->pid, SIGKILL);
	for (int i = 0; i < DRAIN_READS && c->out.fd >= 0; i++)
		if (mcp_child_read(c))
			break;
	if (c->state == MCP_CHILD_OFF)
		return;
	if (c->state == MCP_CHILD_STOPPING) {
		c->pid = 0;
		mcp_child_finish_stop(c);
		return;
	}
	if (!c->why[0] && err < 0 && err != -EAGAIN)
		snprintf(c->why, sizeof(c->why), "%s: %s", c->report.step, err_text(err));
	else if (!c->why[0] && WIFSIGNALED(status))
		snprintf(c->why, sizeof(c->why), "it was ended by signal %d",
			WTERMSIG(status));
	else if (!c->why[0])
		snprintf(c->why, sizeof(c->why), "it has ended with exit code %d",
			WEXITSTATUS(status));
	log_warn("mcp: the server %s: %s", c->name, c->why);
	mcp_child_close_io(c);
	c->pid = 0;
	timer_cancel(c->loop, &c->timer);
	snprintf(why, sizeof(why), "The MCP server %s failed: %s.", c->name, c->why);
	mcp_child_fail_requests(c, why);
	mcp_child_pause(c);
}

static int mcp_child_spawn(struct mcp_child *c, int in, int out)
{
	const struct spawn sp = {
		.path = c->path,
		.argv = c->argv,
		.env = c->env,
		.cwd = c->cwd,
		.tty = -1,
		.fds = {in, out, STDERR_FILENO},
		.dies_with_parent = true,
		.user = c->user,
	};
	pid_t pid;
	int r = spawn(&sp, &pid, &c->report);

	if (r == 0) {
		c->pid = pid;
		children_watch(&c->child, pid, mcp_child_on_exit);
	}
	return r;
}

static int mcp_child_launch(struct mcp_child *c)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1};
	int r = fd_pipe(in);

	if (r == 0)
		r = fd_pipe(out);
	if (r == 0)
		r = loop_add(c->loop, &c->in, in[1], 0, mcp_child_on_stdin);
	if (r == 0) {
		in[1] = -1;
		r = loop_add(c->loop, &c->out, out[0], EPOLLIN, mcp_child_on_stdout);
	}
	if (r == 0) {
		out[0] = -1;
		r = fd_set_blocking(in[0]);
	}
	if (r == 0)
		r = fd_set_blocking(out[1]);
	if (r == 0)
		r = mcp_child_spawn(c, in[0], out[1]);
	for (int i = 0; i < 2; i++) {
		fd_close(&in[i]);
		fd_close(&out[i]);
	}
	return r;
}

static void mcp_child_on_initialize(
	struct mcp_child_call *q, const struct jsonrpc *m, const char *why)
{
	struct mcp_child *c = container_of(q, struct mcp_child, hello);

	(void)why;
	if (!m)
		return;
	timer_cancel(c->loop, &c->timer);
	if (json_type(m->result) != JSON_OBJECT ||
		mcp_child_put_message(c, 0, STR("notifications/initialized"), STR("")) <
			0) {
		mcp_child_kill(c, "it refused to initialize");
		return;
	}
	mcp_child_flush(c);
	c->why[0] = '\0';
	mcp_child_enter(c, MCP_CHILD_READY);
}

static void mcp_child_on_start_timeout(struct timer *t)
{
	mcp_child_kill(
		container_of(t, struct mcp_child, timer), "it was not ready in time");
}

void mcp_child_start(struct mcp_child *c)
{
	int r;

	c->report.fd = -1;
	c->in.fd = c->out.fd = -1;
	c->why[0] = '\0';
	buf_init(&c->send, MCP_CHILD_SEND_MAX);
	lines_init(&c->lines, MCP_CHILD_LINE_MAX);
	c->hello = (struct mcp_child_call){.done = mcp_child_on_initialize};
	c->bad_lines = 0;
	mcp_child_enter(c, MCP_CHILD_HELLO);
	r = mcp_child_launch(c);
	if (r == 0)
		r = mcp_child_send_request(c, &c->hello, STR("initialize"),
			STR("{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{"
			    "\"sampling\":{},\"elicitation\":{},"
			    "\"roots\":{\"listChanged\":true}},"
			    "\"clientInfo\":{\"name\":\"od-runtime\",\"version\":"
			    "\"" OD_VERSION "\"}}"));
	if (r < 0) {
		snprintf(c->why, sizeof(c->why), "it cannot be started: %s", err_text(r));
		if (c->pid) {
			tree_kill_now(c->pid);
			return;
		}
		mcp_child_close_io(c);
		mcp_child_pause(c);
		return;
	}
	timer_set(c->loop, &c->timer, MCP_HELLO_MS, mcp_child_on_start_timeout);
}

/* The steps: its input is closed, SIGTERM, SIGKILL. */
static void mcp_child_on_stop_timeout(struct timer *t)
{
	struct mcp_child *c = container_of(t, struct mcp_child, timer);

	if (c->sigterm_sent) {
		tree_kill_now(c->pid);
		return;
	}
	c->sigterm_sent = true;
	kill(-c->pid, SIGTERM);
	timer_set(c->loop, &c->timer, MCP_LEAVE_MS, mcp_child_on_stop_timeout);
}

void mcp_child_stop(struct mcp_child *c, const char *why)
{
	mcp_child_enter(c, MCP_CHILD_STOPPING);
	mcp_child_fail_requests(c, why);
	timer_cancel(c->loop, &c->timer);
	if (!c->pid) {
		mcp_child_finish_stop(c);
		return;
	}
	loop_close(c->loop, &c->in);
	timer_set(c->loop, &c->timer, MCP_LEAVE_MS, mcp_child_on_stop_timeout);
}

void mcp_child_free(struct mcp_child *c, const char *why, bool kill)
{
	children_forget(&c->child);
	timer_cancel(c->loop, &c->timer);
	if (c->pid && kill)
		tree_kill_now(c->pid);
	c->pid = 0;
	mcp_child_enter(c, MCP_CHILD_OFF);
	mcp_child_close_io(c);
	mcp_child_fail_requests(c, why);
	arena_reset(&c->memory);
}
