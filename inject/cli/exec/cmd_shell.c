/*
 * A shell in a sandbox on the user's own terminal: the engine executes the client, which
 * becomes the shell of the sandbox user, and this process transfers bytes both ways.
 */
#include "inject/cli/commands.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/console/terminal.h"
#include "inject/http/stream.h"
#include "inject/image/image.h"
#include "inject/sandbox/sandbox.h"
#include "inject/sandbox/terminal_stream.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SIZE_TRIES = 20, SIZE_MS = 25 };

struct session {
	const struct engine *engine;
	char id[STATE_ID_MAX + 1]; /* of the exec */
	bool tty;
	struct http_client call;
	struct frames frames; /* without a terminal */
	struct buf input;     /* input read, not yet sent */
	bool input_ended;     /* stdin has ended */
	bool sending;         /* a part of the input is not sent */
	unsigned size_tries;  /* to send the size, which fails until the shell runs */
	uint64_t size_at;     /* when the next try is due */
};

/* Copies the arguments of the sandbox's server, from which the client takes the user. */
static int cmd_shell_copy_args(
	const struct engine *e, const struct sandbox *s, struct jw *w)
{
	struct json_val list, word;
	struct reply reply;
	struct json_doc d;
	int it = 0;
	char number[8];
	int r;

	/* In an injected container the arguments belong to another program. */
	if (s->injected) {
		snprintf(number, sizeof(number), "%u", s->inside);
		jw_cstr(w, number);
		jw_cstr(w, "--username");
		jw_cstr(w, "root");
		return 0;
	}
	r = engine_request(
		e, &reply, "GET", (struct str){0}, "/containers/%s/json", s->state.id);

	if (!r && (reply.status != 200 || json_doc_parse(&d, buf_view(&reply.body))))
		r = out_fail(ENGINE_NEXT,
			"the engine did not return a valid description of the sandbox %s",
			s->state.name);
	if (!r) {
		list = json_get(json_get(json_doc_root(&d), "Config"), "Cmd");
		while (json_next(list, &it, NULL, &word))
			jw_str(w, json_doc_str(&d, word));
		json_doc_free(&d);
	}
	reply_free(&reply);
	return r;
}

static int cmd_shell_write_exec(
	struct session *x, const struct sandbox *s, struct buf *body)
{
	struct jw w;
	int r;

	jw_init(&w, body);
	jw_object(&w);
	jw_key(&w, "AttachStdin");
	jw_bool(&w, true);
	jw_key(&w, "AttachStdout");
	jw_bool(&w, true);
	jw_key(&w, "AttachStderr");
	jw_bool(&w, true);
	jw_key(&w, "Tty");
	jw_bool(&w, x->tty);
	/* The engine would delay ^P, as the first half of its own detach keys. */
	jw_key(&w, "DetachKeys");
	jw_cstr(&w, "ctrl-@,ctrl-^,ctrl-@,ctrl-^");
	jw_key(&w, "Cmd");
	jw_array(&w);
	jw_cstr(&w, IMAGE_CLIENT);
	jw_cstr(&w, "shell");
	r = cmd_shell_copy_args(x->engine, s, &w);
	jw_end(&w);
	jw_end(&w);
	return r ? r : body->err;
}

static int cmd_shell_create_exec(struct session *x, const struct sandbox *s)
{
	struct buf body = BUF_INIT(INJECT_TEXT_MAX);
	struct reply reply;
	int r = cmd_shell_write_exec(x, s, &body);

	reply_init(&reply);
	if (!r)
		r = engine_request(x->engine, &reply, "POST", buf_view(&body),
			"/containers/%s/exec", s->state.id);
	if (!r && reply.status != 201)
		r = engine_fail_reply(&reply, NULL,
			"creating an exec of a shell in the sandbox %s", s->state.name);
	if (!r)
		reply_read_id(&reply, x->id, sizeof(x->id));
	if (!r && !x->id[0])
		r = out_fail(ENGINE_NEXT,
			"the engine created an exec, but did not return its id");
	reply_free(&reply);
	buf_free(&body);
	return r;
}

/*
 * Starts the exec. After the head of the answer, the connection carries the shell's
 * bytes.
 */
static int cmd_shell_start_exec(struct session *x)
{
	struct target target;
	struct str body = x->tty ? STR("{\"Detach\":false,\"Tty\":true}")
				 : STR("{\"Detach\":false,\"Tty\":false}");
	const struct http_client_request q = {
		.method = "POST",
		.target = &target,
		.type = "application/json",
		.parts = &body,
		.parts_n = 1,
	};
	int r;

	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/exec/%s/start", x->id);
	r = engine_stream(x->engine, &x->call, &q, INJECT_ENGINE_MS);
	target_free(&target);
	if (!r && x->call.head.status != 200 && x->call.head.status != 101)
		r = out_fail("the client of the sandbox may be of another version: "
			     "od-runtime update SANDBOX replaces it",
			"the engine did not start a shell: HTTP status %u",
			x->call.head.status);
	http_client_set_limits(&x->call, 0, 0);
	return r;
}

static void cmd_shell_send_size(struct session *x)
{
	struct reply reply;
	unsigned rows, columns;

	terminal_get_size(&rows, &columns);
	/* A failure to set the terminal's size is no reason to end. */
	if (engine_cleanup(x->engine, &reply, "POST", "/exec/%s/resize?h=%u&w=%u", x->id,
		    rows, columns) == 0 &&
		reply.status < 400)
		x->size_tries = 0;
	else
		x->size_tries -= x->size_tries > 0;
	x->size_at = clock_ms() + SIZE_MS;
	reply_free(&reply);
}

static int cmd_shell_print_frames(struct session *x, struct str in)
{
	struct str piece;
	int fd, r;

	while ((r = frames_next(&x->frames, &in, &fd, &piece)) == 0) {
		r = fd_write_all(fd, piece.p, piece.n);
		if (r)
			return r;
	}
	return r < 0 ? r : 0;
}

/* Copies the shell's output: 0, 1 at its end, or negative. */
static int cmd_shell_receive(struct session *x)
{
	do {
		struct str piece;
		int r = http_client_try_read(&x->call, &piece);

		if (r == -EAGAIN)
			return 0;
		if (r == 0 || r == ERR_CLOSED)
			return 1;
		if (r == 1)
			r = x->tty ? fd_write_all(STDOUT_FILENO, piece.p, piece.n)
				   : cmd_shell_print_frames(x, piece);
		if (r)
			return r;
	} while (x->call.in.n > x->call.at);
	return 0;
}

static int cmd_shell_read_input(struct session *x)
{
	char *room = buf_reserve(&x->input, 4096);
	ssize_t n = room ? read(STDIN_FILENO, room, 4096) : -1;

	if (!room)
		return x->input.err;
	if (n > 0)
		buf_commit(&x->input, (size_t)n);
	else if (n == 0 || errno == EIO)
		x->input_ended = true;
	else if (errno != EAGAIN && errno != EINTR)
		return -errno;
	return 0;
}

static int cmd_shell_send_input(struct session *x)
{
	struct iovec v = {x->input.p, x->input.n};
	ssize_t n = transport_send(&x->call.transport, &v, 1);

	if (n > 0)
		buf_consume(&x->input, (size_t)n);
	if (n >= 0 || n == -EAGAIN)
		n = transport_flush(&x->call.transport);
	x->sending = n == 1;
	/* If the shell has ended, receive() gets the end of the stream. */
	if (n == -EPIPE || n == -ECONNRESET)
		buf_reset(&x->input);
	else if (n < 0 && n != -EAGAIN)
		return (int)n;
	return 0;
}

static int cmd_shell_poll(struct session *x, bool *half_closed)
{
	bool room = x->input.n < x->input.max / 2 && !x->input_ended;
	struct pollfd fds[STOP_FDS] = {
		[1] = {.fd = x->call.transport.fd, .events = POLLIN},
		[2] = {.fd = room ? STDIN_FILENO : -1, .events = POLLIN},
	};
	int r;

	if (x->input.n || x->sending)
		fds[1].events |= POLLOUT;
	else if (x->input_ended && !*half_closed && !x->tty) {
		*half_closed = true;
		/* Also over TLS, whose own close_notify would close both directions. */
		if (shutdown(x->call.transport.fd, SHUT_WR) < 0)
			return -errno;
	}
	/* poll does not report bytes that TLS has buffered. */
	if (transport_pending(&x->call.transport))
		return cmd_shell_receive(x);
	r = stop_poll(fds, x->size_tries ? x->size_at : 0, false);
	if (r < 0)
		return r;
	if (stop_is_resized()) {
		x->size_tries = SIZE_TRIES;
		x->size_at = clock_ms();
	}
	/* The size is sent however much the shell writes meanwhile. */
	if (x->size_tries && clock_ms() >= x->size_at)
		cmd_shell_send_size(x);
	r = 0;
	if (fds[2].revents)
		r = cmd_shell_read_input(x);
	if (!r && (fds[1].revents & POLLOUT))
		r = cmd_shell_send_input(x);
	if (!r && (fds[1].revents & (POLLIN | POLLHUP | POLLERR)))
		r = cmd_shell_receive(x);
	return r;
}

static int cmd_shell_transfer(struct session *x)
{
	bool half_closed = false;
	int r = 0;

	/* poll does not report bytes that came with the head of the answer. */
	if (x->call.in.n > x->call.at)
		r = cmd_shell_receive(x);
	while (!r)
		r = cmd_shell_poll(x, &half_closed);
	return r == 1 ? 0 : r;
}

/*
 * The engine keeps a shell whose user has disconnected. The two keys end a shell that
 * waits for a command or for a program; if they do not, it ends with the sandbox.
 */
static void cmd_shell_send_eof(struct session *x)
{
	static const char interrupt_and_end[] = "\x03\x04";

	buf_reset(&x->input);
	buf_puts(&x->input, interrupt_and_end);
	if (x->tty && cmd_shell_send_input(x))
		buf_reset(&x->input);
}

static int cmd_shell_read_exit_code(const struct session *x)
{
	int64_t code = -1;
	struct reply reply;
	struct json_doc d;
	int r = engine_request(
		x->engine, &reply, "GET", (struct str){0}, "/exec/%s/json", x->id);

	if (!r && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		code = json_doc_int(json_get(json_doc_root(&d), "ExitCode"), -1);
		json_doc_free(&d);
	}
	reply_free(&reply);
	if (r)
		return r;
	return code < 0 ? out_fail("od-runtime ps shows whether the sandbox is running; "
				   "od-runtime shell SANDBOX opens a new shell",
				  "the connection to the shell was lost")
			: (int)(code & 255);
}

static int cmd_shell_run_exec(struct session *x)
{
	struct terminal terminal = {.raw = false};
	int r = cmd_shell_start_exec(x);

	if (!r && x->tty) {
		r = stop_watch_size();
		if (!r)
			r = terminal_set_raw(&terminal);
		if (r)
			r = out_fail("run it from a terminal, or with standard input "
				     "from a file",
				"cannot set up the terminal: %s", err_text(r));
		x->size_tries = SIZE_TRIES;
		if (!r)
			cmd_shell_send_size(x);
	}
	if (!r)
		r = cmd_shell_transfer(x);
	if (r == -EINTR)
		cmd_shell_send_eof(x);
	terminal_restore(&terminal);
	http_client_close(&x->call);
	if (r == ERR_SYNTAX)
		r = engine_fail(x->engine, r);
	return r ? r : cmd_shell_read_exit_code(x);
}

/*
 * Uses the sandbox's own stream if possible: a shell that the engine executes outlives
 * its user's connection.
 */
static int cmd_shell_run_stream(struct sandbox *s)
{
	const struct terminal_stream_conf conf = {.kind = "terminal"};
	int r = sandbox_load_key(s);

	return r ? r < 0 ? r : TERMINAL_STREAM_NONE : terminal_stream_run(s, &conf);
}

static int cmd_shell(const struct command_line *line)
{
	struct sandbox s = {0};
	struct engine e;
	struct session x = {
		.engine = &e,
		.tty = terminal_is_attached(),
		.input = BUF_INIT(65536),
	};
	int r = engine_open(&e, line->host);

	http_client_begin(&x.call, -1, 0, false);
	if (!r)
		r = sandbox_require(&e, line->operand[0], &s);
	if (!r && (!s.running || s.paused))
		r = out_fail(s.running ? "od-runtime resume SANDBOX continues it"
				       : "od-runtime start SANDBOX starts it; od-runtime "
					 "logs shows why it ended",
			"the sandbox %s %s", s.state.name,
			s.running ? "is paused" : "is not running");
	if (!r)
		r = x.tty ? cmd_shell_run_stream(&s) : TERMINAL_STREAM_NONE;
	if (r == TERMINAL_STREAM_NONE)
		r = cmd_shell_create_exec(&x, &s);
	if (!r && x.id[0])
		r = cmd_shell_run_exec(&x);
	http_client_close(&x.call);
	buf_free(&x.input);
	state_wipe_key(&s.state);
	return r;
}

const struct command command_shell = {
	.name = "shell",
	.usage = "SANDBOX [OPTION...]",
	.purpose = "open a terminal in a sandbox, or execute a script from stdin",
	.examples = {"od-runtime shell box", "od-runtime shell box <script.sh"},
	.operands = 1,
	.subject = SUBJECT_SANDBOX,
	.run = cmd_shell,
};
