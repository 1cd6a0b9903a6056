#include "mcp/mcp_child.h"

#include "base/log.h"
#include "mcp/mcp_server.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The limits of one server, sizes in bytes. */
enum {
	MCP_CHILD_SEND_MAX = 16 << 20,  /* two messages of HTTP_BODY_MAX, not read yet */
	MCP_CHILD_TOKENS_MAX = 500000,  /* 20 bytes each; long lists of tools */
	MCP_CHILD_ARENA_MAX = 64 << 20, /* a message, decoded, and its index */
};

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

/*
 * Ends the message that begins at the offset before: makes it a line, or removes it on
 * error.
 */
static int mcp_child_end_line(struct mcp_child *c, size_t before)
{
	struct buf *out = &c->service.out;
	int err;

	/* JSON may have line feeds between values, but a message must not. */
	for (size_t i = before; !out->err && i < out->n; i++)
		if (out->p[i] == '\n' || out->p[i] == '\r')
			out->p[i] = ' ';
	buf_putc(out, '\n');
	err = out->err;
	if (err) {
		out->err = 0;
		out->n = before;
	}
	return err;
}

/* Writes a request; id 0: a notification. */
static int mcp_child_put_message(
	struct mcp_child *c, uint64_t id, struct str method, struct str params)
{
	size_t before = c->service.out.n;

	jsonrpc_write_call(&c->service.out, id, method, params);
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
	service_flush(&c->service);
	return 0;
}

int mcp_child_request(struct mcp_child *c, struct mcp_child_call *q, struct str method,
	struct str params)
{
	return c->service.state == SERVICE_READY
		? mcp_child_send_request(c, q, method, params)
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
		service_flush(&c->service);
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
	if (c->service.state == SERVICE_READY &&
		mcp_child_put_message(c, 0, method, params) == 0)
		service_flush(&c->service);
}

void mcp_child_send_answer(struct mcp_child *c, struct str id, const struct jsonrpc *m)
{
	size_t before = c->service.out.n;

	jsonrpc_write_forward(&c->service.out, id, m);
	if (mcp_child_end_line(c, before) == 0)
		service_flush(&c->service);
	else
		mcp_child_send_error(c, id, JSONRPC_INTERNAL,
			"The sandbox has no memory for the answer.");
}

void mcp_child_send_error(struct mcp_child *c, struct str id, int code, const char *words)
{
	size_t before = c->service.out.n;

	jsonrpc_write_error(&c->service.out, id, code, str_c(words));
	if (mcp_child_end_line(c, before) == 0)
		service_flush(&c->service);
}

static void mcp_child_send_pong(struct mcp_child *c, struct str id)
{
	size_t before = c->service.out.n;
	struct jw w;

	jsonrpc_begin(&w, &c->service.out, id);
	jw_raw(&w, STR("{}"));
	jsonrpc_end(&w);
	if (mcp_child_end_line(c, before) == 0)
		service_flush(&c->service);
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
	if (!line.n || c->stopping)
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

/* --- The process --------------------------------------------------------------- */

static struct mcp_child *mcp_child_of(struct service *s)
{
	return container_of(s, struct mcp_child, service);
}

static int mcp_child_on_received(struct service *s, char *bytes, size_t n)
{
	struct mcp_child *c = mcp_child_of(s);
	struct str in = str_make(bytes, n), line;
	int r;

	/*
	 * JSON allows CR between values, but in a stream of events CR would end a line.
	 */
	for (size_t i = 0; i < n; i++)
		if (bytes[i] == '\r')
			bytes[i] = ' ';
	while ((r = lines_next(&c->lines, &in, &line)) == 0) {
		mcp_child_handle_line(c, line);
		/* The receiver of an answer may have replaced this server. */
		if (s->state == SERVICE_OFF)
			return ERR_CLOSED;
	}
	if (r > 0)
		return 0;
	service_kill(s, "its message is too long");
	return r;
}

static void mcp_child_on_late(struct service *s)
{
	service_kill(s, "it was not ready in time");
}

static void mcp_child_pause(struct mcp_child *c)
{
	service_pause(&c->service);
	c->ops->on_state(c);
}

static void mcp_child_finish_stop(struct mcp_child *c)
{
	service_forget(&c->service, false);
	lines_free(&c->lines);
	arena_reset(&c->memory);
	c->ops->on_stopped(c);
}

static void mcp_child_on_exit(struct service *s, const char *killed, int status)
{
	struct mcp_child *c = mcp_child_of(s);
	char why[MCP_NAME_MAX + MCP_WHY_MAX + 64];

	if (c->stopping) {
		mcp_child_finish_stop(c);
		return;
	}
	if (killed)
		snprintf(c->why, sizeof(c->why), "%.*s", MCP_WHY_MAX - 1, killed);
	else if (WIFSIGNALED(status))
		snprintf(c->why, sizeof(c->why), "it was ended by signal %d",
			WTERMSIG(status));
	else
		snprintf(c->why, sizeof(c->why), "it has ended with exit code %d",
			WEXITSTATUS(status));
	log_warn("mcp: the server %s: %s", c->name, c->why);
	lines_free(&c->lines);
	snprintf(why, sizeof(why), "The MCP server %s failed: %s.", c->name, c->why);
	mcp_child_fail_requests(c, why);
	mcp_child_pause(c);
}

static void mcp_child_on_restart(struct service *s)
{
	mcp_child_start(mcp_child_of(s));
}

static const struct service_kind mcp_child_service = {
	.pause_ms = MCP_PAUSE_MS,
	.pause_max_ms = MCP_PAUSE_MAX_MS,
	.steady_ms = MCP_STEADY_MS,
	.late = mcp_child_on_late,
	.received = mcp_child_on_received,
	.ask = service_close_input,
	.exited = mcp_child_on_exit,
	.restart = mcp_child_on_restart,
};

void mcp_child_init(struct mcp_child *c, struct loop *loop)
{
	service_init(&c->service, &mcp_child_service, loop, MCP_CHILD_SEND_MAX);
}

static void mcp_child_on_initialize(
	struct mcp_child_call *q, const struct jsonrpc *m, const char *why)
{
	struct mcp_child *c = container_of(q, struct mcp_child, hello);

	(void)why;
	if (!m || c->service.state != SERVICE_STARTING)
		return;
	if (json_type(m->result) != JSON_OBJECT ||
		mcp_child_put_message(c, 0, STR("notifications/initialized"), STR("")) <
			0) {
		service_kill(&c->service, "it refused to initialize");
		return;
	}
	service_flush(&c->service);
	service_set_ready(&c->service);
	c->ops->on_state(c);
}

static int mcp_child_launch(struct mcp_child *c)
{
	const struct spawn sp = {
		.path = c->path,
		.argv = c->argv,
		.env = c->env,
		.cwd = c->cwd,
		.tty = -1,
		.fds = {-1, -1, STDERR_FILENO},
		.dies_with_parent = true,
		.user = c->user,
	};
	int r = service_start(&c->service, &sp, SERVICE_STDIO, MCP_HELLO_MS);

	return r ? r
		 : mcp_child_send_request(c, &c->hello, STR("initialize"),
			   STR("{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{"
			       "\"sampling\":{},\"elicitation\":{},"
			       "\"roots\":{\"listChanged\":true}},"
			       "\"clientInfo\":{\"name\":\"od-runtime\",\"version\":"
			       "\"" OD_VERSION "\"}}"));
}

void mcp_child_start(struct mcp_child *c)
{
	char why[MCP_WHY_MAX];
	int r;

	c->why[0] = '\0';
	lines_init(&c->lines, MCP_CHILD_LINE_MAX);
	c->hello = (struct mcp_child_call){.done = mcp_child_on_initialize};
	c->bad_lines = 0;
	r = mcp_child_launch(c);
	if (r == 0)
		return;
	snprintf(why, sizeof(why), "it cannot be started: %s", err_text(r));
	if (c->service.pid) {
		service_kill(&c->service, why);
		return;
	}
	memcpy(c->why, why, sizeof(why));
	mcp_child_pause(c);
}

void mcp_child_stop(struct mcp_child *c, const char *why)
{
	c->stopping = true;
	mcp_child_fail_requests(c, why);
	if (c->service.pid)
		service_end(&c->service, SERVICE_ASK, 0, NULL);
	else
		mcp_child_finish_stop(c);
}

void mcp_child_free(struct mcp_child *c, const char *why, bool kill)
{
	service_forget(&c->service, kill);
	lines_free(&c->lines);
	mcp_child_fail_requests(c, why);
	arena_reset(&c->memory);
}
