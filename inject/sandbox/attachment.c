#include "inject/sandbox/attachment.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/jw.h"
#include "base/signal_name.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/console/terminal.h"
#include "limits.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum {
	DONE = 1,
	CONTROL_MAX = 1 << 20, /* of a control frame, which may hold an argv */
	ROUNDS = 64,           /* pieces of output before input and signals are checked */
	LEAVE_MS = 1000,       /* from SIGTERM until the process is killed */
	PATH_MAX_N = 256,
	HEADS = 4096,         /* read at once where payload is moved without a copy */
	MANY = 1 << 20,       /* bytes of stdin after which its pipe is made larger */
	STDIN_PIPE = 1 << 18, /* to this size: fewer wake-ups */
};

/* --- Control frames to the sandbox ---------------------------------------------- */

static size_t attachment_begin_control(
	struct attachment *a, struct jw *w, const char *type)
{
	size_t at = process_frame_begin(&a->control, PROCESS_FRAME_CONTROL);

	jw_init(w, &a->control);
	jw_object(w);
	jw_key(w, "type");
	jw_cstr(w, type);
	return at;
}

static void attachment_end_control(struct attachment *a, struct jw *w, size_t at)
{
	jw_end(w);
	process_frame_end(&a->control, at);
}

static void attachment_send_end(struct attachment *a)
{
	struct jw w;
	size_t at = attachment_begin_control(a, &w, "end");

	attachment_end_control(a, &w, at);
	a->end_sent = true;
}

static void attachment_send_size(struct attachment *a)
{
	unsigned rows, columns;
	struct jw w;
	size_t at = attachment_begin_control(a, &w, "resize");

	terminal_get_size(&rows, &columns);
	jw_key(&w, "rows");
	jw_uint(&w, rows);
	jw_key(&w, "columns");
	jw_uint(&w, columns);
	attachment_end_control(a, &w, at);
}

/* Sends key signals to the process group, others to all processes: no child is left. */
static void attachment_send_signal(struct attachment *a, int signo)
{
	bool key = signo == SIGINT || signo == SIGQUIT;
	struct jw w;
	size_t at = attachment_begin_control(a, &w, "signal");

	jw_key(&w, "signal");
	jw_cstr(&w, signal_name(signo));
	jw_key(&w, "to");
	jw_cstr(&w, key ? "group" : "tree");
	attachment_end_control(a, &w, at);
	if (key || a->leave_at)
		return;
	a->leave_at = clock_ms() + LEAVE_MS;
	a->leave_signal = signo;
}

/* --- Sending ---------------------------------------------------------------------- */

/* Sends queued bytes. 1: the socket has no space; 0: all is sent; -errno. */
static int attachment_send(struct attachment *a)
{
	for (;;) {
		bool control = a->control.n && !process_input_in_frame(&a->in);
		struct iovec v[2] = {{a->control.p, a->control.n}};
		int v_n = control ? 1 : a->attached ? process_input_next(&a->in, v) : 0;
		ssize_t n;

		if (!v_n)
			return transport_flush(&a->call.transport);
		n = transport_send(&a->call.transport, v, v_n);
		if (n == -EAGAIN)
			return transport_flush(&a->call.transport) < 0 ? 0 : 1;
		if (n < 0)
			return (int)n;
		if (control)
			buf_consume(&a->control, (size_t)n);
		else
			process_input_sent(&a->in, (size_t)n);
	}
}

/*
 * Sends the end of stdin after its last byte. If the peer takes no more, it may have
 * sent the reason, so its data is read to the end.
 */
static int attachment_flush(struct attachment *a)
{
	int r;

	if (a->attached && a->in.ended && !a->end_sent && a->in.sent == a->in.read)
		attachment_send_end(a);
	if (a->control.err)
		return a->control.err;
	r = a->unwritable ? 0 : attachment_send(a);
	if (r >= 0 || r == -ENOMEM)
		return r;
	a->unwritable = true;
	return 0;
}

static void attachment_read_stdin(struct attachment *a)
{
	size_t n = 0;
	char *space = process_input_space(&a->in, &n);
	ssize_t got = space ? read(STDIN_FILENO, space, n) : -1;

	if (!space || (got < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (got > 0)
		process_input_add(&a->in, (size_t)got);
	else
		a->in.ended = true; /* EIO, too: a terminal that was closed */
	if (a->pipe_widened || a->in.read < MANY)
		return;
	fd_widen_pipe(STDIN_FILENO, STDIN_PIPE); /* fails if stdin is no pipe */
	a->pipe_widened = true;
}

/* --- Control frames from the sandbox ---------------------------------------------- */

static int attachment_take_attached(struct attachment *a, struct json_doc *d)
{
	struct json_val root = json_doc_root(d);
	struct json_val in = json_get(json_get(root, "process"), "stdin");
	uint64_t window = json_doc_uint(json_get(root, "window"), INT64_MAX);
	uint64_t taken = json_doc_uint(json_get(in, "offset"), INT64_MAX);
	int r = 0;

	if (a->attached || !window)
		return ERR_SYNTAX;
	a->attached = true;
	if (!a->takes_stdin)
		return 0;
	if (!a->in.ring.n)
		r = process_input_init(&a->in, (size_t)window);
	return r ? r : process_input_rewind(&a->in, taken);
}

static int attachment_take_gap(struct attachment *a, struct json_doc *d)
{
	struct json_val root = json_doc_root(d);
	unsigned no = str_eq(json_doc_str(d, json_get(root, "output")), STR("stderr"));
	uint64_t to = json_doc_uint(json_get(root, "to"), INT64_MAX);

	if (to > a->got[no])
		a->got[no] = to;
	return out_fail("while the connection was lost, the command printed more than "
			"the sandbox keeps",
		"some output of the command is lost");
}

static int attachment_take_exited(struct attachment *a, struct json_doc *d)
{
	struct json_val root = json_doc_root(d);

	a->end.code = process_exit_code(json_doc_int(json_get(root, "exit_code"), 255),
		json_doc_str(d, json_get(root, "signal")));
	a->end.timed_out = json_doc_is_true(json_get(root, "timed_out"));
	return DONE;
}

static int attachment_take_control(struct attachment *a, struct str text)
{
	struct str type;
	struct json_doc d;
	int r = json_doc_parse(&d, text);

	if (r)
		return ERR_SYNTAX;
	type = json_doc_str(&d, json_get(json_doc_root(&d), "type"));
	if (str_eq(type, STR("exited")))
		r = attachment_take_exited(a, &d);
	else if (str_eq(type, STR("attached")))
		r = attachment_take_attached(a, &d);
	else if (str_eq(type, STR("gap")))
		r = attachment_take_gap(a, &d);
	else if (str_eq(type, STR("credit")) && a->in.ring.n)
		r = process_input_credit(&a->in,
			json_doc_uint(json_get(json_doc_root(&d), "bytes"), INT64_MAX));
	else if (str_eq(type, STR("error"))) {
		buf_reset(&a->error_detail);
		out_clean(&a->error_detail,
			json_doc_str(&d, json_get(json_doc_root(&d), "detail")), false);
	}
	json_doc_free(&d);
	return r;
}

/* --- Receiving -------------------------------------------------------------------- */

/* Writes output. 0: all is written; 1: its reader does not read; -errno. */
static int attachment_write(struct attachment *a)
{
	while (a->output.n) {
		ssize_t n = outlet_write(&a->out[a->output_no], a->output);

		a->stalled = n == -EAGAIN;
		if (n < 0)
			return a->stalled ? 1 : (int)n;
		a->output = str_skip(a->output, (size_t)n);
	}
	a->stalled = false;
	return 0;
}

static int attachment_take_frame(struct attachment *a, const struct process_frame *f)
{
	if (f->type == PROCESS_FRAME_CONTROL)
		return attachment_take_control(a, f->bytes);
	a->output_no = f->type == PROCESS_FRAME_STDERR;
	a->output = f->bytes;
	a->got[a->output_no] += f->bytes.n;
	return 0;
}

/* After a splice that moved nothing: whether the outlet is not ready. */
static bool attachment_is_stalled(const struct outlet *o)
{
	struct pollfd p = {.fd = o->fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 0;
}

/* Moves output from a bare socket to a pipe without a copy; as attachment_write. */
static int attachment_move(struct attachment *a)
{
	size_t n = process_frames_count_data(&a->frames);
	int from = transport_get_plain_fd(&a->call.transport);
	unsigned no = a->frames.head[0] == PROCESS_FRAME_STDERR;
	ssize_t moved;

	if (!n || from < 0 || a->call.framed || a->call.in.n > a->call.at)
		return 0;
	moved = outlet_splice(&a->out[no], from, n);
	if (moved > 0) {
		process_frames_skip(&a->frames, (size_t)moved);
		a->got[no] += (uint64_t)moved;
		return 1;
	}
	if (moved == -EAGAIN && attachment_is_stalled(&a->out[no])) {
		a->output_no = no;
		a->stalled = true;
		return 1;
	}
	moved = http_client_map_error((int)moved);
	return moved == -EPIPE || moved == HTTP_CLIENT_LOST ? (int)moved : 0;
}

/* Results of a step beside 0 (it did something) and negative errors. */
enum { STEP_WAIT = 1, STEP_DONE = 2 };

static int attachment_receive_step(struct attachment *a)
{
	struct process_frame f;
	int r = attachment_write(a);

	if (r)
		return r < 0 ? r : STEP_WAIT;
	r = a->piece.n ? process_frames_next(&a->frames, &a->piece, &f) : 1;
	if (r < 0)
		return r;
	if (r == 0) {
		r = attachment_take_frame(a, &f);
		return r == DONE ? STEP_DONE : r;
	}
	r = attachment_move(a);
	if (r)
		return r < 0 ? r : a->stalled ? STEP_WAIT : 0;
	r = http_client_try_read(&a->call, &a->piece);
	if (r == -EAGAIN)
		return STEP_WAIT;
	if (r == 0)
		return ERR_CLOSED;
	return r == 1 ? 0 : r;
}

/* Handles the next frame: 0, DONE, or negative. */
static int attachment_receive(struct attachment *a)
{
	int r = 0;

	for (unsigned i = 0; i < ROUNDS && !r; i++)
		r = attachment_receive_step(a);
	if (r == STEP_DONE)
		return DONE;
	return r == STEP_WAIT ? 0 : r;
}

/* --- The loop --------------------------------------------------------------------- */

static void attachment_take_signals(struct attachment *a)
{
	int signo;

	while ((signo = stop_next_signal()))
		attachment_send_signal(a, signo);
	if (stop_is_resized() && a->request->pty)
		attachment_send_size(a);
}

/* Whether received bytes wait that poll does not report. */
static bool attachment_has_input(const struct attachment *a)
{
	return a->piece.n || a->call.in.n > a->call.at ||
		transport_pending(&a->call.transport);
}

static int attachment_step(struct attachment *a)
{
	size_t n;
	bool reads = a->takes_stdin && a->attached && !a->in.ended &&
		process_input_space(&a->in, &n);
	bool ready = !a->stalled && attachment_has_input(a);
	int unsent = attachment_flush(a);
	struct pollfd fds[] = {
		[1] = {.fd = a->call.transport.fd,
			.events = (short)((a->stalled ? 0 : POLLIN) |
				(unsent > 0 ? POLLOUT : 0))},
		[2] = {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN},
		[3] = {.fd = a->stalled ? a->out[a->output_no].fd : -1,
			.events = POLLOUT},
	};
	int r;

	if (unsent < 0)
		return unsent;
	if (!fds[1].events)
		fds[1].fd = -1; /* poll would report a hang-up again and again */
	r = stop_poll_n(fds, ARRAY_LEN(fds),
		ready ? clock_ms() : http_client_next_check(a->leave_at), false);
	if (r < 0)
		return r;
	if (r == 0 && http_client_is_lost(&a->call))
		return HTTP_CLIENT_LOST;
	if (a->leave_at && clock_ms() >= a->leave_at)
		return -ETIME;
	attachment_take_signals(a);
	if (fds[2].revents)
		attachment_read_stdin(a);
	if (ready || fds[1].revents & ~POLLOUT || fds[3].revents)
		return attachment_receive(a);
	return 0;
}

/* --- The connection --------------------------------------------------------------- */

static void attachment_reset(struct attachment *a)
{
	process_frames_free(&a->frames);
	process_frames_init(&a->frames, false, CONTROL_MAX);
	a->piece = str_make(NULL, 0);
	a->attached = a->end_sent = a->unwritable = false;
	buf_reset(&a->control);
}

/* Reads the answer to the request to attach: 0, or negative without a line printed. */
static int attachment_upgrade(struct attachment *a)
{
	int r = http_client_finish(&a->call);

	if (!r && a->call.head.status != 101)
		r = a->call.head.status == 404 ? -ESRCH : ERR_SYNTAX;
	http_client_set_limits(&a->call, 0, 0);
	if (transport_get_plain_fd(&a->call.transport) >= 0 && !a->call.framed &&
		a->out[0].is_pipe)
		a->call.piece_max = HEADS;
	return r;
}

/* Attaches at the offsets, on a new connection (anew) or on that of the start. */
static int attachment_attach(struct attachment *a, bool anew)
{
	struct target t;
	const struct http_client_request q = {.method = "GET",
		.target = &t,
		.headers = "Connection: Upgrade\r\nUpgrade: od.process.v1\r\n",
		.keep = true};
	int r;

	target_init(&t, PATH_MAX_N);
	target_add(&t, "/v1/processes/%s/attach?%s=%llu&stderr=%llu", a->id,
		a->request->pty ? "pty" : "stdout", (unsigned long long)a->got[0],
		(unsigned long long)a->got[1]);
	attachment_reset(a);
	r = anew ? sandbox_try_start(a->sandbox, &a->call, &q, RECONNECT_MS)
		 : sandbox_send_next(a->sandbox, &a->call, &q);
	target_free(&t);
	return r ? r : attachment_upgrade(a);
}

/* Whether a new connection may resolve r; -EPIPE is about our own output. */
static bool attachment_is_lost(int r)
{
	return r == ERR_CLOSED || r == ERR_TLS || r == -ECONNRESET || r == -ETIMEDOUT ||
		r == -ECONNREFUSED;
}

/* Writes the output that is still in the memory of the old connection. */
static int attachment_drain(struct attachment *a, uint64_t until)
{
	int r = attachment_write(a);

	while (r == 1) {
		struct pollfd fds[STOP_FDS] = {
			[1] = {.fd = a->out[a->output_no].fd, .events = POLLOUT},
			[2] = {.fd = -1}};

		r = stop_poll(fds, until, false);
		if (r >= 0)
			r = clock_ms() < until ? attachment_write(a) : ERR_CLOSED;
	}
	return r;
}

/* Reconnects after the error lost. 0: attached again; otherwise the final error. */
static int attachment_come_back(struct attachment *a, int lost)
{
	int r;

	reconnect_note_loss(&a->reconnect, a->got[0] + a->got[1] + a->in.taken);
	r = attachment_drain(a, a->reconnect.until);
	while (!r && (r = reconnect_wait(&a->reconnect)) == 0) {
		http_client_close(&a->call);
		http_client_begin(&a->call, -1, 0, false);
		r = attachment_attach(a, true);
		if (r == -EINTR || r == -ENOMEM || r == -ESRCH || !r)
			return r;
		r = 0;
	}
	return r == ERR_CLOSED ? lost : r;
}

static int attachment_fail(const struct attachment *a, int r)
{
	const char *name = a->sandbox->state.name;

	if (r == HTTP_CLIENT_LOST)
		return sandbox_fail(a->sandbox, r);
	if (a->error_detail.n)
		return out_fail("od-runtime logs prints the log of the sandbox",
			"the sandbox %s ended the connection: %.*s", name,
			STR_ARG(buf_view(&a->error_detail)));
	if (r == ERR_SYNTAX || r == ERR_LIMIT || r == ERR_RANGE)
		return out_fail("its client may be of another version: od-runtime update "
				"SANDBOX replaces it",
			"the reply of the sandbox %s cannot be read", name);
	return out_fail("od-runtime logs prints the log of the sandbox",
		"the connection to the sandbox %s was lost: %s", name,
		r == -ESRCH ? "the sandbox no longer has the process" : err_text(r));
}

/* Ends after LEAVE_MS without an exit; attachment_close kills the process. */
static int attachment_leave(struct attachment *a)
{
	a->end = (struct attachment_exit){.code = 128 + a->leave_signal};
	out_note("od-runtime: the command did not end within one second after %s and was "
		 "killed",
		signal_name(a->leave_signal));
	return 0;
}

int attachment_run(struct attachment *a)
{
	int r = stop_collect_signals();

	while (!r) {
		r = attachment_step(a);
		if (attachment_is_lost(r) && !a->error_detail.n)
			r = attachment_come_back(a, r);
	}
	stop_end_collecting();
	if (r == DONE)
		return 0;
	if (r == -ETIME)
		return attachment_leave(a);
	return attachment_is_lost(r) || r == HTTP_CLIENT_LOST || r == -ESRCH ||
			r == ERR_SYNTAX || r == ERR_LIMIT || r == ERR_RANGE
		? attachment_fail(a, r)
		: r;
}

/* --- Start ------------------------------------------------------------------------ */

static int attachment_read_start(struct attachment *a, struct reply *reply)
{
	const char *name = a->sandbox->state.name;
	struct json_doc d;
	int r;

	if (reply->status == 422)
		return process_fail_start(a->request, buf_view(&reply->body));
	if (reply->status == 404 || reply->status == 405)
		return out_fail("od-runtime update SANDBOX replaces its client",
			"the client in the sandbox %s is too old: it cannot execute "
			"programs",
			name);
	if (reply->status != 201 && reply->status != 200)
		return sandbox_fail_reply(a->sandbox, reply);
	r = json_doc_parse(&d, buf_view(&reply->body));
	if (!r)
		r = process_read_id(&d, json_doc_root(&d), a->id);
	json_doc_free(&d);
	return r ? attachment_fail(a, ERR_SYNTAX) : 0;
}

static int attachment_post(struct attachment *a, struct reply *reply)
{
	struct buf body = BUF_INIT(INJECT_REPLY_MAX);
	int r = process_request_write(a->request, &body);
	struct str part = buf_view(&body);
	const struct http_client_request q = {.method = "POST",
		.target = TARGET("/v1/processes"),
		.type = "application/json",
		.parts = &part,
		.parts_n = 1,
		.keep = true};

	if (!r)
		r = sandbox_start(a->sandbox, &a->call, &q, INJECT_ENGINE_MS);
	if (!r) {
		r = http_client_finish(&a->call);
		if (!r)
			r = http_client_read_all(&a->call, &reply->body);
		r = r ? sandbox_fail(a->sandbox, r) : 0;
	}
	reply->status = a->call.head.status;
	buf_free(&body);
	return r;
}

int attachment_start(
	struct attachment *a, const struct sandbox *s, const struct process_request *q)
{
	struct reply reply;
	int r;

	a->sandbox = s;
	a->request = q;
	a->takes_stdin = q->takes_stdin;
	a->control = (struct buf)BUF_INIT(CONTROL_MAX);
	a->error_detail = (struct buf)BUF_INIT(INJECT_TEXT_MAX);
	http_client_begin(&a->call, -1, 0, false);
	reply_init(&reply);
	r = attachment_post(a, &reply);
	if (!r)
		r = attachment_read_start(a, &reply);
	reply_free(&reply);
	if (r || q->detached)
		return r;
	r = attachment_attach(a, false);
	if (attachment_is_lost(r))
		r = attachment_come_back(a, r);
	return r && r != -EINTR && r != -ENOMEM && r > FAIL_BASE ? attachment_fail(a, r)
								 : r;
}

void attachment_close(struct attachment *a)
{
	http_client_close(&a->call);
	process_frames_free(&a->frames);
	process_input_free(&a->in);
	buf_free(&a->control);
	buf_free(&a->error_detail);
}
