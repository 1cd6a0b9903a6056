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

enum { DRAIN_READS = 16 }; /* more than a pipe holds */

static void enter(struct mcp_child *c, enum mcp_child_state to)
{
	enum {
		OFF = 1 << MCP_CHILD_OFF,
		HELLO = 1 << MCP_CHILD_HELLO,
		READY = 1 << MCP_CHILD_READY,
		PAUSED = 1 << MCP_CHILD_PAUSED,
		LEAVING = 1 << MCP_CHILD_LEAVING,
	};
	static const unsigned from[] = {
		[MCP_CHILD_OFF] = OFF | HELLO | READY | PAUSED | LEAVING,
		[MCP_CHILD_HELLO] = OFF | PAUSED,
		[MCP_CHILD_READY] = HELLO,
		[MCP_CHILD_PAUSED] = HELLO | READY,
		[MCP_CHILD_LEAVING] = HELLO | READY | PAUSED,
	};
	enum mcp_child_state before = c->state;

	assert(from[to] & 1U << before);
	c->state = to;
	c->since = loop_now(c->loop);
	if (to != MCP_CHILD_OFF && to != MCP_CHILD_LEAVING)
		c->ops->changed(c, before);
}

/* --- Requests ------------------------------------------------------------------ */

static void unlink_ask(struct mcp_ask *q)
{
	struct mcp_ask **at = &q->child->asks;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	q->child = NULL;
}

static void fail_all(struct mcp_child *c, const char *why)
{
	while (c->asks) {
		struct mcp_ask *q = c->asks;

		unlink_ask(q);
		q->done(q, NULL, why);
	}
}

/* Bytes that the pipe does not accept stay queued. The size of send limits the queue. */
static void flush(struct mcp_child *c)
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
		loop_want(c->loop, &c->in, c->send.n ? EPOLLOUT : 0);
}

static void in_ready(struct io *io, uint32_t events)
{
	struct mcp_child *c = container_of(io, struct mcp_child, in);

	if (!(events & (EPOLLERR | EPOLLHUP))) {
		flush(c);
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
static int end_line(struct mcp_child *c, size_t before)
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
static int put(struct mcp_child *c, uint64_t id, struct str method, struct str params)
{
	size_t before = c->send.n;

	jsonrpc_call(&c->send, id, method, params);
	return end_line(c, before);
}

static int ask(
	struct mcp_child *c, struct mcp_ask *q, struct str method, struct str params)
{
	int r = put(c, ++c->last_id, method, params);

	if (r < 0)
		return r;
	q->id = c->last_id;
	q->child = c;
	q->next = c->asks;
	c->asks = q;
	flush(c);
	return 0;
}

int mcp_child_ask(
	struct mcp_child *c, struct mcp_ask *q, struct str method, struct str params)
{
	return c->state == MCP_CHILD_READY ? ask(c, q, method, params) : ERR_CLOSED;
}

uint64_t mcp_child_next_id(const struct mcp_child *c)
{
	return c->last_id + 1;
}

void mcp_child_forget(struct mcp_ask *q, bool tell)
{
	struct mcp_child *c = q->child;
	char room[MCP_CANCELLED_MAX];

	if (!c)
		return;
	unlink_ask(q);
	if (tell && put(c, 0, STR(MCP_CANCELLED), mcp_cancelled_params(room, q->id)) == 0)
		flush(c);
}

/* --- Messages from the server -------------------------------------------------- */

static struct mcp_ask *find(struct mcp_child *c, struct str id)
{
	uint64_t n;

	/* Some servers write every id as a string. */
	if (str_u64(str_trim(id, "\""), UINT64_MAX, &n) < 0)
		return NULL;
	for (struct mcp_ask *q = c->asks; q; q = q->next)
		if (q->id == n)
			return q;
	return NULL;
}

void mcp_child_tell(struct mcp_child *c, struct str method, struct str params)
{
	if (c->state == MCP_CHILD_READY && put(c, 0, method, params) == 0)
		flush(c);
}

void mcp_child_answer(struct mcp_child *c, struct str id, const struct jsonrpc *m)
{
	size_t before = c->send.n;

	jsonrpc_pass(&c->send, id, m);
	if (end_line(c, before) == 0)
		flush(c);
	else
		mcp_child_refuse(
			c, id, JSONRPC_INTERNAL, "There is no room for the answer.");
}

void mcp_child_refuse(struct mcp_child *c, struct str id, int code, const char *words)
{
	size_t before = c->send.n;

	jsonrpc_error(&c->send, id, code, str_c(words));
	if (end_line(c, before) == 0)
		flush(c);
}

static void pong(struct mcp_child *c, struct str id)
{
	size_t before = c->send.n;
	struct jw w;

	jsonrpc_begin(&w, &c->send, id);
	jw_raw(&w, STR("{}"));
	jsonrpc_end(&w);
	if (end_line(c, before) == 0)
		flush(c);
}

static void take(struct mcp_child *c, const struct jsonrpc *m)
{
	struct mcp_ask *q;

	if (m->kind == JSONRPC_REQUEST && str_eq(m->method, STR("ping"))) {
		pong(c, m->id);
	} else if (m->kind == JSONRPC_RESPONSE) {
		q = find(c, m->id);
		if (!q)
			return;
		unlink_ask(q);
		q->done(q, m, NULL);
	} else if (str_eq(m->method, STR("notifications/progress"))) {
		q = find(c, json_raw(json_get(m->params, "progressToken")));
		if (q && q->progress)
			q->progress(q, m->params);
	} else {
		c->ops->heard(c, m);
	}
}

/* Fails the request that a malformed line was to answer: it would wait for ever. */
static void take_strange(struct mcp_child *c, struct str line, const char *why)
{
	struct mcp_ask *q = find(c, jsonrpc_spoiled_id(line));
	char words[MCP_NAME_MAX + MCP_WHY_MAX + 64];

	if (!c->strange++)
		log_warn("mcp: %s has written what is no message: %s", c->name, why);
	if (!q)
		return;
	snprintf(words, sizeof(words), "The MCP server %s has given no valid answer: %s.",
		c->name, why);
	unlink_ask(q);
	q->done(q, NULL, words);
}

static void take_line(struct mcp_child *c, struct str line)
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
	if (!line.n || c->state == MCP_CHILD_LEAVING)
		return;
	arena_init(&arena, MCP_CHILD_ARENA_MAX);
	r = json_parse(&doc, line, &caps, &arena, &e);
	why = r ? e.why : NULL;
	if (r == 0)
		r = jsonrpc_read(json_root(&doc), &arena, &m, &why);
	if (r == 0)
		take(c, &m);
	else
		take_strange(c, line, r == -ENOMEM ? err_text(r) : why);
	arena_reset(&arena);
}

static void kill_it(struct mcp_child *c, const char *why)
{
	snprintf(c->why, sizeof(c->why), "%s", why);
	if (c->pid)
		tree_kill_now(c->pid);
}

/* 0; 1: there is nothing more to read now, or ever. */
static int read_some(struct mcp_child *c)
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
		take_line(c, line);
		/* The receiver of an answer may have replaced this server. */
		if (c->state == MCP_CHILD_OFF)
			return 1;
	}
	if (r > 0)
		return 0;
	lines_free(&c->lines);
	kill_it(c, "it has written a message that is too long");
	return 1;
}

static void out_ready(struct io *io, uint32_t events)
{
	struct mcp_child *c = container_of(io, struct mcp_child, out);

	if (!read_some(c) || !(events & EPOLLHUP) || c->out.fd < 0)
		return;
	/*
	 * The process has usually ended. If not, it is killed, because it cannot answer.
	 */
	loop_close(c->loop, io);
	if (c->state != MCP_CHILD_LEAVING)
		tree_kill_now(c->pid);
}

/* --- The process --------------------------------------------------------------- */

static void restart(struct timer *t)
{
	mcp_child_start(container_of(t, struct mcp_child, timer));
}

static void close_all(struct mcp_child *c)
{
	loop_close(c->loop, &c->in);
	loop_close(c->loop, &c->out);
	spawn_report_close(&c->report);
	buf_free(&c->send);
	lines_free(&c->lines);
}

static void wait_and_restart(struct mcp_child *c)
{
	if (c->state == MCP_CHILD_READY && loop_now(c->loop) - c->since >= MCP_STEADY_MS)
		c->pause = 0;
	c->pause = backoff(c->pause, MCP_PAUSE_MS, MCP_PAUSE_MAX_MS);
	if (timer_set(c->loop, &c->timer, c->pause, restart) < 0)
		log_warn("mcp: out of memory for a timer");
	enter(c, MCP_CHILD_PAUSED);
}

static void left(struct mcp_child *c)
{
	timer_cancel(c->loop, &c->timer);
	close_all(c);
	arena_reset(&c->memory);
	enter(c, MCP_CHILD_OFF);
	c->ops->left(c);
}

static void child_ended(struct child *child, int status)
{
	struct mcp_child *c = container_of(child, struct mcp_child, child);
	int err = spawn_outcome(&c->report);
	char why[MCP_NAME_MAX + MCP_WHY_MAX + 64];

	/*
	 * Processes left in its group would go on writing. Processes that have left the
	 * group may.
	 */
	kill(-c->pid, SIGKILL);
	for (int i = 0; i < DRAIN_READS && c->out.fd >= 0; i++)
		if (read_some(c))
			break;
	if (c->state == MCP_CHILD_OFF)
		return;
	if (c->state == MCP_CHILD_LEAVING) {
		c->pid = 0;
		left(c);
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
	close_all(c);
	c->pid = 0;
	timer_cancel(c->loop, &c->timer);
	snprintf(why, sizeof(why), "The MCP server %s failed: %s.", c->name, c->why);
	fail_all(c, why);
	wait_and_restart(c);
}

static int spawn_it(struct mcp_child *c, int in, int out)
{
	const struct spawn sp = {
		.path = c->path,
		.argv = c->argv,
		.env = c->env,
		.cwd = c->cwd,
		.tty = -1,
		.fds = {in, out, STDERR_FILENO},
		.dies_with_us = true,
		.user = c->user,
	};
	pid_t pid;
	int r = spawn(&sp, &pid, &c->report);

	if (r == 0) {
		c->pid = pid;
		children_watch(&c->child, pid, child_ended);
	}
	return r;
}

static int launch(struct mcp_child *c)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1};
	int r = fd_pipe(in);

	if (r == 0)
		r = fd_pipe(out);
	if (r == 0)
		r = loop_add(c->loop, &c->in, in[1], 0, in_ready);
	if (r == 0) {
		in[1] = -1;
		r = loop_add(c->loop, &c->out, out[0], EPOLLIN, out_ready);
	}
	if (r == 0) {
		out[0] = -1;
		r = fd_blocking(in[0]);
	}
	if (r == 0)
		r = fd_blocking(out[1]);
	if (r == 0)
		r = spawn_it(c, in[0], out[1]);
	for (int i = 0; i < 2; i++) {
		fd_close(&in[i]);
		fd_close(&out[i]);
	}
	return r;
}

static void greeted(struct mcp_ask *q, const struct jsonrpc *m, const char *why)
{
	struct mcp_child *c = container_of(q, struct mcp_child, hello);

	(void)why;
	if (!m)
		return;
	timer_cancel(c->loop, &c->timer);
	if (json_type(m->result) != JSON_OBJECT ||
		put(c, 0, STR("notifications/initialized"), STR("")) < 0) {
		kill_it(c, "it refuses to initialize");
		return;
	}
	flush(c);
	c->why[0] = '\0';
	enter(c, MCP_CHILD_READY);
}

static void too_late(struct timer *t)
{
	kill_it(container_of(t, struct mcp_child, timer), "it does not get ready");
}

void mcp_child_start(struct mcp_child *c)
{
	int r;

	c->report.fd = -1;
	c->in.fd = c->out.fd = -1;
	c->why[0] = '\0';
	buf_init(&c->send, MCP_CHILD_SEND_MAX);
	lines_init(&c->lines, MCP_CHILD_LINE_MAX);
	c->hello = (struct mcp_ask){.done = greeted};
	c->strange = 0;
	enter(c, MCP_CHILD_HELLO);
	r = launch(c);
	if (r == 0)
		r = ask(c, &c->hello, STR("initialize"),
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
		close_all(c);
		wait_and_restart(c);
		return;
	}
	if (timer_set(c->loop, &c->timer, MCP_HELLO_MS, too_late) < 0)
		log_warn("mcp: out of memory for a timer");
}

/* The steps: its input is closed, SIGTERM, SIGKILL. */
static void stayed(struct timer *t)
{
	struct mcp_child *c = container_of(t, struct mcp_child, timer);

	if (c->termed) {
		tree_kill_now(c->pid);
		return;
	}
	c->termed = true;
	kill(-c->pid, SIGTERM);
	if (timer_set(c->loop, &c->timer, MCP_LEAVE_MS, stayed) < 0)
		tree_kill_now(c->pid);
}

void mcp_child_leave(struct mcp_child *c, const char *why)
{
	enter(c, MCP_CHILD_LEAVING);
	fail_all(c, why);
	timer_cancel(c->loop, &c->timer);
	if (!c->pid) {
		left(c);
		return;
	}
	loop_close(c->loop, &c->in);
	if (timer_set(c->loop, &c->timer, MCP_LEAVE_MS, stayed) < 0)
		tree_kill_now(c->pid);
}

void mcp_child_free(struct mcp_child *c, const char *why, bool kill)
{
	children_forget(&c->child);
	timer_cancel(c->loop, &c->timer);
	if (c->pid && kill)
		tree_kill_now(c->pid);
	c->pid = 0;
	enter(c, MCP_CHILD_OFF);
	close_all(c);
	fail_all(c, why);
	arena_reset(&c->memory);
}
