/*
 * exec --session: executes text in the shell of a persistent session. The text is an
 * action with an id, whose output is read by offset while it runs. The observation is
 * translated into an exit code and, at most, an error line.
 */
#include "inject/cli/exec/exec.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/jw.h"
#include "inject/cli/observation.h"
#include "inject/console/out.h"
#include "inject/console/outlet.h"
#include "inject/console/stop.h"
#include "inject/sandbox/process_request.h"
#include "limits.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum {
	WAIT_S = 10,      /* until the sandbox answers that nothing was printed */
	CANCEL_MS = 5000, /* for the answer to a request to end the command */
	TARGET_MAX = 256,
	LOST_MS = 2000, /* until a lost connection is given up */
	PAUSE_MS = 50,  /* between attempts */
};

struct session_run {
	const struct exec_command *command;
	const struct sandbox *sandbox;
	char id[2 * 16 + 1]; /* of the action */
	struct http_client
		call; /* all requests but those to cancel go over one connection */
	bool connected;
	struct outlet out;
	uint64_t offset;   /* offset in the output of the action */
	bool cr;           /* the last byte was CR, which is not written yet */
	bool finished;     /* the action has ended and its output was read */
	uint64_t deadline; /* of --timeout, monotonic ms; 0: none, or it has passed */
	bool timed_out;
	int signal; /* the first signal received; 0: none */
};

/* --- Requests ------------------------------------------------------------------- */

/* Sends a request. Its answer begins when the connection is readable. */
static int exec_session_send(struct session_run *x, const struct http_client_request *q)
{
	int r;

	if (x->connected && sandbox_send_next(x->sandbox, &x->call, q) == 0)
		return 0;
	http_client_close(&x->call);
	r = sandbox_try_start(x->sandbox, &x->call, q, INJECT_ENGINE_MS);
	x->connected = !r;
	return r;
}

/*
 * Whether to repeat a request, after an error r, on another connection: then the pause
 * is over, and *until is the time of the last attempt. All requests of this file may be
 * repeated, because the action has an id.
 */
static bool exec_session_can_retry(struct session_run *x, int r, uint64_t *until)
{
	bool lost = r == ERR_CLOSED || r == ERR_TLS || r == -ECONNRESET ||
		r == -ECONNREFUSED || r == -ETIMEDOUT;

	if (!lost || (*until && clock_ms() >= *until))
		return false;
	if (!*until)
		*until = clock_ms() + LOST_MS;
	x->connected = false;
	return stop_wait(-1, 0, clock_ms() + PAUSE_MS, false) == 0;
}

static int exec_session_receive(struct session_run *x, struct reply *reply)
{
	int r = http_client_finish(&x->call);

	if (!r)
		r = http_client_read_all(&x->call, &reply->body);
	reply->status = x->call.head.status;
	return r;
}

static int exec_session_request(struct session_run *x, struct reply *reply,
	const char *method, const struct target *t, struct str body)
{
	const struct http_client_request q = {.method = method,
		.target = t,
		.type = body.n ? "application/json" : NULL,
		.parts = &body,
		.parts_n = body.n ? 1 : 0,
		.keep = true};
	uint64_t until = 0;
	int r;

	do {
		buf_reset(&reply->body);
		r = exec_session_send(x, &q);
		if (!r)
			r = exec_session_receive(x, reply);
	} while (exec_session_can_retry(x, r, &until));
	return r;
}

static int exec_session_call_action(
	struct session_run *x, struct reply *reply, const char *method, struct str body)
{
	struct target t;
	int r;

	reply_init(reply);
	target_init(&t, TARGET_MAX);
	target_add(&t, "/v1/actions/%s", x->id);
	r = exec_session_request(x, reply, method, &t, body);
	target_free(&t);
	return r;
}

/* Ends the command; the sandbox sends SIGTERM and SIGKILL later if it continues. */
static void exec_session_cancel(struct session_run *x, const char *mode)
{
	struct reply reply;
	struct target t;

	target_init(&t, TARGET_MAX);
	target_add(&t, "/v1/actions/%s/cancel?mode=%s", x->id, mode);
	/* If the request fails, the command continues, and exec waits for it. */
	(void)!sandbox_request(
		x->sandbox, "POST", &t, (struct str){0}, CANCEL_MS, &reply);
	reply_free(&reply);
	target_free(&t);
}

/* --- Start ---------------------------------------------------------------------- */

/* Appends text in single quotes. */
static void exec_session_quote(struct buf *out, struct str text)
{
	buf_putc(out, '\'');
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, text.p[i]);
	buf_putc(out, '\'');
}

/* Whether an action would take text for a key, such as C-c, or for no command. */
static bool exec_session_is_key(struct str text)
{
	return !str_trim(text, " \t").n || (text.n == 3 && str_starts(text, STR("C-")));
}

/*
 * Writes the text as one command: an action refuses several, so that eval makes one of
 * several lines.
 */
static void exec_session_write_command(const struct exec_command *c, struct buf *out)
{
	struct buf text = BUF_INIT(INJECT_FILE_MAX);

	for (size_t i = 0; i < c->argc; i++) {
		buf_puts(&text, i ? " " : "");
		buf_puts(&text, c->argv[i]);
	}
	if (str_find_byte(buf_view(&text), '\n') < text.n ||
		exec_session_is_key(buf_view(&text))) {
		buf_puts(out, "eval ");
		exec_session_quote(out, buf_view(&text));
	} else {
		buf_str(out, buf_view(&text));
	}
	if (text.err)
		out->err = text.err;
	buf_free(&text);
}

static int exec_session_write_action(const struct exec_command *c, struct buf *out)
{
	struct buf command = BUF_INIT(8 * (size_t)INJECT_FILE_MAX);
	struct jw w;

	exec_session_write_command(c, &command);
	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "action");
	jw_cstr(&w, "run");
	jw_key(&w, "args");
	jw_object(&w);
	jw_key(&w, "command");
	jw_str(&w, buf_view(&command));
	jw_key(&w, "session");
	jw_cstr(&w, c->session);
	/* Without this member a command that prints nothing would end the action. */
	jw_key(&w, "blocking");
	jw_bool(&w, true);
	jw_end(&w);
	jw_end(&w);
	if (command.err)
		out->err = command.err;
	buf_free(&command);
	return out->err;
}

/* Reads whether a command runs in the session, and which one. */
static int exec_session_find_command(
	struct session_run *x, struct buf *command, bool *busy)
{
	struct json_val list, row;
	struct reply reply;
	struct json_doc d = {0};
	int it = 0;
	int r;

	*busy = false;
	reply_init(&reply);
	r = exec_session_request(
		x, &reply, "GET", TARGET("/v1/sessions"), (struct str){0});
	if (!r && !json_doc_parse(&d, buf_view(&reply.body))) {
		list = json_get(json_doc_root(&d), "sessions");
		while (json_next(list, &it, NULL, &row)) {
			if (!str_eq(json_doc_str(&d, json_get(row, "name")),
				    str_c(x->command->session)))
				continue;
			*busy = str_eq(
				json_doc_str(&d, json_get(row, "state")), STR("running"));
			out_clean(command, json_doc_str(&d, json_get(row, "command")),
				false);
		}
	}
	json_doc_free(&d);
	reply_free(&reply);
	return r;
}

static int exec_session_fail_busy(const struct session_run *x, struct str command)
{
	return out_fail(
		"end it (od-runtime sessions SANDBOX --kill NAME), or use another "
		"session (--session OTHER)",
		"the session %s is busy: '%.*s' is running there", x->command->session,
		STR_ARG(command));
}

/* Whether the action in an answer waits for its turn. */
static bool exec_session_is_queued(const struct reply *reply)
{
	bool waits = false;
	struct json_doc d;

	if (json_doc_parse(&d, buf_view(&reply->body)) == 0) {
		waits = str_eq(json_doc_str(&d, json_get(json_doc_root(&d), "state")),
			STR("accepted"));
		json_doc_free(&d);
	}
	return waits;
}

/*
 * The action waits for the shell to start, or for another command. In the second case it
 * is cancelled before its text is executed, and an error is printed.
 */
static int exec_session_check_turn(struct session_run *x)
{
	struct buf command = BUF_INIT(INJECT_TEXT_MAX);
	struct reply reply;
	bool busy;
	int r = exec_session_find_command(x, &command, &busy);

	reply_init(&reply);
	/* If the action still waits now, the command that was read is another one. */
	if (!r && busy)
		r = exec_session_call_action(x, &reply, "GET", (struct str){0});
	if (!r && busy && exec_session_is_queued(&reply)) {
		exec_session_cancel(x, "int");
		r = exec_session_fail_busy(x, buf_view(&command));
	}
	reply_free(&reply);
	buf_free(&command);
	return r;
}

static int exec_session_start(struct session_run *x)
{
	struct buf body = BUF_INIT(16 * (size_t)INJECT_FILE_MAX);
	uint8_t random[16];
	struct reply reply;
	int r = random_bytes(random, sizeof(random));

	reply_init(&reply);
	hex_encode(random, sizeof(random), x->id);
	if (!r)
		r = exec_session_write_action(x->command, &body);
	if (r == ERR_LIMIT)
		r = out_fail_usage("copy it into the sandbox (od-runtime cp) and execute "
				   "the file",
			"the command is longer than %d bytes", INJECT_FILE_MAX);
	if (!r)
		r = exec_session_call_action(x, &reply, "PUT", buf_view(&body));
	if (!r && reply.status != 200 && reply.status != 202)
		r = sandbox_fail_reply(x->sandbox, &reply);
	if (!r && exec_session_is_queued(&reply))
		r = exec_session_check_turn(x);
	reply_free(&reply);
	buf_free(&body);
	return r;
}

/* --- Output --------------------------------------------------------------------- */

/* Writes a line feed for each CR LF, which the terminal has made of a line feed. */
static int exec_session_print(struct session_run *x, struct str bytes)
{
	struct buf out = BUF_INIT(INJECT_REPLY_MAX);
	int r;

	for (size_t i = 0; i < bytes.n; i++) {
		char c = bytes.p[i];

		if (x->cr && c != '\n')
			buf_putc(&out, '\r');
		x->cr = c == '\r';
		if (!x->cr)
			buf_putc(&out, c);
	}
	r = out.err ? out.err : outlet_write_all(&x->out, buf_view(&out));
	buf_free(&out);
	return r;
}

static uint64_t exec_session_read_field(const struct session_run *x, const char *name)
{
	struct str value = {0};
	uint64_t n;

	if (http_field_find(&x->call.head.head, x->call.in.p, str_c(name), &value) ||
		str_u64(value, INT64_MAX, &n))
		return UINT64_MAX;
	return n;
}

/* The fields of the head are read before its body replaces them in memory. */
static int exec_session_read_output(struct session_run *x)
{
	struct reply reply;
	uint64_t next, length;
	int r = http_client_finish(&x->call);

	if (r)
		return r;
	reply_init(&reply);
	reply.status = x->call.head.status;
	next = exec_session_read_field(x, "x-next-offset");
	length = exec_session_read_field(x, "x-length");
	r = http_client_read_all(&x->call, &reply.body);
	if (!r && (reply.status != 200 || next == UINT64_MAX))
		r = sandbox_fail_reply(x->sandbox, &reply);
	else if (!r)
		r = exec_session_print(x, buf_view(&reply.body));
	if (!r) {
		x->offset = next;
		x->finished = length != UINT64_MAX && next >= length;
	}
	reply_free(&reply);
	return r;
}

static int exec_session_poll_output(struct session_run *x)
{
	struct target t;
	const struct http_client_request q = {
		.method = "GET", .target = &t, .keep = true};
	int r;

	target_init(&t, TARGET_MAX);
	target_add(&t, "/v1/actions/%s/out?from=%llu&wait=%d", x->id,
		(unsigned long long)x->offset, WAIT_S);
	r = exec_session_send(x, &q);
	target_free(&t);
	return r;
}

/* --- Signals and the time limit --------------------------------------------------- */

/* 0, or -EINTR for a second signal. */
static int exec_session_check_signal(struct session_run *x)
{
	int signo = stop_next_signal();

	if (!signo)
		return 0;
	if (x->signal)
		return -EINTR;
	x->signal = signo;
	exec_session_cancel(x, signo == SIGINT || signo == SIGQUIT ? "int" : "term");
	return 0;
}

static void exec_session_check_deadline(struct session_run *x)
{
	if (!x->deadline || clock_ms() < x->deadline)
		return;
	x->deadline = 0;
	x->timed_out = true;
	exec_session_cancel(x, "int");
}

/* Waits until the answer begins. */
static int exec_session_wait(struct session_run *x)
{
	for (;;) {
		struct pollfd fds[STOP_FDS] = {
			[1] = {.fd = x->call.transport.fd, .events = POLLIN},
			[2] = {.fd = -1}};
		int r;

		if (transport_pending(&x->call.transport))
			return 0;
		r = stop_poll(fds, x->deadline, false);
		if (r < 0)
			return r;
		if (r > 0)
			return 0;
		r = exec_session_check_signal(x);
		if (r)
			return r;
		exec_session_check_deadline(x);
	}
}

/* --- The end ---------------------------------------------------------------------- */

static int exec_session_exit_code(struct session_run *x, const struct observation *ob)
{
	const struct str refused = STR("is NOT executed");

	if (x->timed_out) {
		out_fail("give a longer --timeout, or leave it out",
			"the command did not end within --timeout %s and was "
			"interrupted",
			x->command->timeout->timeout_text);
		return EXIT_TIMEOUT;
	}
	if (!str_eq(ob->kind, STR("run")))
		return out_fail("od-runtime help exec",
			"the session %s did not execute the command: %.*s",
			x->command->session, STR_ARG(ob->content));
	if (ob->exit_code >= 0)
		return process_exit_code(ob->exit_code, STR(""));
	if (str_find(ob->suffix, refused) < ob->suffix.n)
		return exec_session_fail_busy(x, STR("another command"));
	return x->signal
		? 128 + x->signal
		: out_fail("od-runtime logs prints the log of the sandbox",
			  "the shell of the session %s has ended", x->command->session);
}

/* Reads the result of the action and removes its record: an exit code or an error. */
static int exec_session_finish(struct session_run *x)
{
	struct observation ob;
	struct reply reply, own;
	struct json_val v;
	struct json_doc d;
	int r = exec_session_call_action(x, &reply, "GET", (struct str){0});

	if (!r && (reply.status != 200 || json_doc_parse(&d, buf_view(&reply.body)))) {
		r = sandbox_fail_reply(x->sandbox, &reply);
	} else if (!r) {
		v = json_get(json_doc_root(&d), "observation");
		r = observation_read(&ob, json_raw(v))
			? out_fail("od-runtime logs prints the log of the sandbox",
				  "the exit code of the command is unknown")
			: exec_session_exit_code(x, &ob);
		observation_free(&ob);
		json_doc_free(&d);
	}
	reply_free(&reply);
	if (r >= 0) {
		/* If this fails, the sandbox removes the record later. */
		(void)!exec_session_call_action(x, &own, "DELETE", (struct str){0});
		reply_free(&own);
	}
	return r;
}

static int exec_session_copy_output(struct session_run *x)
{
	uint64_t until = 0;
	int r = 0;

	while (!r && !x->finished) {
		r = exec_session_poll_output(x);
		if (!r)
			r = exec_session_wait(x);
		if (!r)
			r = exec_session_read_output(x);
		if (!r)
			until = 0;
		else if (exec_session_can_retry(x, r, &until))
			r = 0;
	}
	if (!r && x->cr)
		r = outlet_write_all(&x->out, STR("\r"));
	return r;
}

int exec_run_session(const struct exec_command *c, const struct sandbox *s)
{
	struct session_run x = {.command = c, .sandbox = s};
	int r;

	if (c->timeout->timeout)
		x.deadline = clock_ms() + c->timeout->timeout * 1000;
	outlet_open(&x.out, STDOUT_FILENO);
	http_client_begin(&x.call, -1, 0, false);
	r = exec_session_start(&x);
	if (!r)
		r = stop_collect_signals();
	if (!r)
		r = exec_session_copy_output(&x);
	stop_end_collecting();
	if (!r)
		r = exec_session_finish(&x);
	/* The output has no reader any more, or a second signal was received. */
	if ((r == -EPIPE || r == -EINTR) && x.id[0])
		exec_session_cancel(&x, "int");
	if (r == -EPIPE)
		r = 128 + SIGPIPE;
	else if (r == -EINTR && x.signal)
		r = 128 + x.signal;
	else if (r < 0 && r != -EIO && r != -ENOSPC)
		r = sandbox_fail(s, r);
	http_client_close(&x.call);
	outlet_close(&x.out);
	return r;
}
