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
#include "inject/sandbox/live.h"
#include "inject/sandbox/sandbox.h"
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
	struct call call;
	struct frames frames; /* without a terminal */
	struct buf typed;     /* input read, not yet sent */
	bool typed_all;       /* stdin has ended */
	bool sending;         /* a part of the input is not sent */
	unsigned size_tries;  /* to send the size, which fails until the shell runs */
	uint64_t size_at;     /* when the next try is due */
};

/* Copies the arguments of the sandbox's server, from which the client takes the user. */
static int copy_arguments(const struct engine *e, const struct sandbox *s, struct jw *w)
{
	struct json_val list, word;
	struct reply reply;
	struct doc d;
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
	r = engine_ask(
		e, &reply, "GET", (struct str){0}, "/containers/%s/json", s->state.id);

	if (!r && (reply.status != 200 || doc_parse(&d, buf_view(&reply.body))))
		r = out_fail(
			ENGINE_NEXT, "the engine does not describe %s", s->state.name);
	if (!r) {
		list = json_get(json_get(doc_root(&d), "Config"), "Cmd");
		while (json_next(list, &it, NULL, &word))
			jw_str(w, doc_str(&d, word));
		doc_free(&d);
	}
	reply_free(&reply);
	return r;
}

static int write_exec(struct session *x, const struct sandbox *s, struct buf *body)
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
	r = copy_arguments(x->engine, s, &w);
	jw_end(&w);
	jw_end(&w);
	return r ? r : body->err;
}

static int create(struct session *x, const struct sandbox *s)
{
	struct buf body = BUF_INIT(INJECT_TEXT_MAX);
	struct reply reply;
	int r = write_exec(x, s, &body);

	reply_init(&reply);
	if (!r)
		r = engine_ask(x->engine, &reply, "POST", buf_view(&body),
			"/containers/%s/exec", s->state.id);
	if (!r && reply.status != 201)
		r = engine_refused(&reply, NULL, "a shell in %s", s->state.name);
	if (!r)
		reply_id(&reply, x->id, sizeof(x->id));
	if (!r && !x->id[0])
		r = out_fail(ENGINE_NEXT, "the engine made an exec without an id");
	reply_free(&reply);
	buf_free(&body);
	return r;
}

/*
 * Starts the exec. After the head of the answer, the connection carries the shell's
 * bytes.
 */
static int begin(struct session *x)
{
	struct target target;
	struct str body = x->tty ? STR("{\"Detach\":false,\"Tty\":true}")
				 : STR("{\"Detach\":false,\"Tty\":false}");
	const struct call_request q = {
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
		r = out_fail("the client in it may be of another version; run it again",
			"the engine does not start a shell: status %u",
			x->call.head.status);
	call_limit(&x->call, 0, 0);
	return r;
}

static void tell_size(struct session *x)
{
	struct reply reply;
	unsigned rows, columns;

	terminal_size(&rows, &columns);
	/* A failure to set the terminal's size is no reason to end. */
	if (engine_tidy(x->engine, &reply, "POST", "/exec/%s/resize?h=%u&w=%u", x->id,
		    rows, columns) == 0 &&
		reply.status < 400)
		x->size_tries = 0;
	else
		x->size_tries -= x->size_tries > 0;
	x->size_at = clock_ms() + SIZE_MS;
	reply_free(&reply);
}

static int show_frames(struct session *x, struct str in)
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
static int receive(struct session *x)
{
	do {
		struct str piece;
		int r = call_try(&x->call, &piece);

		if (r == -EAGAIN)
			return 0;
		if (r == 0 || r == ERR_CLOSED)
			return 1;
		if (r == 1)
			r = x->tty ? fd_write_all(STDOUT_FILENO, piece.p, piece.n)
				   : show_frames(x, piece);
		if (r)
			return r;
	} while (x->call.in.n > x->call.at);
	return 0;
}

static int read_typed(struct session *x)
{
	char *room = buf_room(&x->typed, 4096);
	ssize_t n = room ? read(STDIN_FILENO, room, 4096) : -1;

	if (!room)
		return x->typed.err;
	if (n > 0)
		buf_commit(&x->typed, (size_t)n);
	else if (n == 0 || errno == EIO)
		x->typed_all = true;
	else if (errno != EAGAIN && errno != EINTR)
		return -errno;
	return 0;
}

static int send_typed(struct session *x)
{
	struct iovec v = {x->typed.p, x->typed.n};
	ssize_t n = transport_send(&x->call.way, &v, 1);

	if (n > 0)
		buf_consume(&x->typed, (size_t)n);
	if (n >= 0 || n == -EAGAIN)
		n = transport_flush(&x->call.way);
	x->sending = n == 1;
	/* If the shell has ended, receive() gets the end of the stream. */
	if (n == -EPIPE || n == -ECONNRESET)
		buf_reset(&x->typed);
	else if (n < 0 && n != -EAGAIN)
		return (int)n;
	return 0;
}

static int step(struct session *x, bool *half_closed)
{
	bool room = x->typed.n < x->typed.max / 2 && !x->typed_all;
	struct pollfd fds[STOP_FDS] = {
		[1] = {.fd = x->call.way.fd, .events = POLLIN},
		[2] = {.fd = room ? STDIN_FILENO : -1, .events = POLLIN},
	};
	int r;

	if (x->typed.n || x->sending)
		fds[1].events |= POLLOUT;
	else if (x->typed_all && !*half_closed && !x->tty) {
		*half_closed = true;
		/* Also over TLS, whose own close_notify would close both directions. */
		if (shutdown(x->call.way.fd, SHUT_WR) < 0)
			return -errno;
	}
	/* poll does not report bytes that TLS has buffered. */
	if (transport_pending(&x->call.way))
		return receive(x);
	r = stop_poll(fds, x->size_tries ? x->size_at : 0, false);
	if (r < 0)
		return r;
	if (stop_resized()) {
		x->size_tries = SIZE_TRIES;
		x->size_at = clock_ms();
	}
	/* The size is sent however much the shell writes meanwhile. */
	if (x->size_tries && clock_ms() >= x->size_at)
		tell_size(x);
	r = 0;
	if (fds[2].revents)
		r = read_typed(x);
	if (!r && (fds[1].revents & POLLOUT))
		r = send_typed(x);
	if (!r && (fds[1].revents & (POLLIN | POLLHUP | POLLERR)))
		r = receive(x);
	return r;
}

static int carry(struct session *x)
{
	bool half_closed = false;
	int r = 0;

	/* poll does not report bytes that came with the head of the answer. */
	if (x->call.in.n > x->call.at)
		r = receive(x);
	while (!r)
		r = step(x, &half_closed);
	return r == 1 ? 0 : r;
}

/*
 * The engine keeps a shell whose user has disconnected. The two keys end a shell that
 * waits for a command or for a program; if they do not, it ends with the sandbox.
 */
static void say_goodbye(struct session *x)
{
	static const char interrupt_and_end[] = "\x03\x04";

	buf_reset(&x->typed);
	buf_puts(&x->typed, interrupt_and_end);
	if (x->tty && send_typed(x))
		buf_reset(&x->typed);
}

static int exit_code(const struct session *x)
{
	int64_t code = -1;
	struct reply reply;
	struct doc d;
	int r = engine_ask(
		x->engine, &reply, "GET", (struct str){0}, "/exec/%s/json", x->id);

	if (!r && doc_parse(&d, buf_view(&reply.body)) == 0) {
		code = doc_int(json_get(doc_root(&d), "ExitCode"), -1);
		doc_free(&d);
	}
	reply_free(&reply);
	if (r)
		return r;
	return code < 0 ? out_fail("od-runtime ps shows whether the sandbox runs",
				  "the shell was cut off")
			: (int)(code & 255);
}

static int run(struct session *x)
{
	struct terminal terminal = {.raw = false};
	int r = begin(x);

	if (!r && x->tty) {
		r = stop_watch_size();
		if (!r)
			r = terminal_raw(&terminal);
		if (r)
			r = out_fail("run it from a terminal, or with standard input "
				     "from a file",
				"the terminal: %s", err_text(r));
		x->size_tries = SIZE_TRIES;
		if (!r)
			tell_size(x);
	}
	if (!r)
		r = carry(x);
	if (r == -EINTR)
		say_goodbye(x);
	terminal_restore(&terminal);
	call_close(&x->call);
	if (r == ERR_SYNTAX)
		r = engine_fail(x->engine, r);
	return r ? r : exit_code(x);
}

/*
 * Uses the sandbox's own stream if possible: a shell that the engine executes outlives
 * its user's connection.
 */
static int by_stream(struct sandbox *s)
{
	const struct live_conf conf = {.kind = "terminal"};
	int r = sandbox_key(s);

	return r ? r < 0 ? r : LIVE_NONE : live_run(s, &conf);
}

int cmd_shell(const struct options *o)
{
	struct sandbox s = {0};
	struct engine e;
	struct session x = {
		.engine = &e,
		.tty = terminal_is_there(),
		.typed = BUF_INIT(65536),
	};
	int r = engine_open(&e, o->host);

	call_begin(&x.call, -1, 0, false);
	if (!r)
		r = sandbox_need(&e, o->operand[0], &s);
	if (!r && (!s.running || s.paused))
		r = out_fail(s.running ? "od-runtime resume lets it go on"
				       : "od-runtime logs shows why",
			"the sandbox %s %s", s.state.name,
			s.running ? "is paused" : "does not run");
	if (!r)
		r = x.tty ? by_stream(&s) : LIVE_NONE;
	if (r == LIVE_NONE)
		r = create(&x, &s);
	if (!r && x.id[0])
		r = run(&x);
	call_close(&x.call);
	buf_free(&x.typed);
	state_forget(&s.state);
	return r;
}
