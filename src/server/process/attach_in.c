/* Attached connections: input from the peer. */
#include "server/process/attach_private.h"

#include "server/process/process_spec.h"

#include <errno.h>

enum { CONTROL_MEMORY = 65536 /* memory for a parsed control frame */ };

/* --- stdin ---------------------------------------------------------------------- */

static void attach_mute(struct attachment *a)
{
	a->sends_stdin = false;
	a->is_muted = true;
}

/* stdin belongs to the newest attachment that sends stdin. a has sent its first byte. */
static void attach_claim_stdin(struct attachment *a)
{
	if (a->sends_stdin || a->is_muted)
		return;
	LIST_EACH (struct attachment, b, &a->all->list, node) {
		if (!b->sends_stdin || b->follower.process != a->follower.process)
			continue;
		if (b->serial > a->serial)
			attach_mute(a);
		else
			attach_mute(b);
	}
	a->sends_stdin = !a->is_muted;
	if (a->is_muted)
		attach_send_error(a, "stdin is used by a newer attachment.");
}

/* Returns how many bytes were handled. Bytes without a reader are discarded and count. */
static size_t attach_write_stdin(struct attachment *a, struct str bytes)
{
	ssize_t n = -EPIPE;

	if (!a->is_muted)
		n = process_stdin_write(a->follower.process, bytes);
	if (n < 0)
		n = (ssize_t)bytes.n;
	a->credit += (uint64_t)n;
	return (size_t)n;
}

/* stdin takes bytes again. */
static void attach_clear_stuck(struct attachment *a)
{
	a->is_stuck = false;
	timer_cancel(a->all->api->box->loop, &a->stuck);
}

static size_t attach_count_input(const struct attachment *a)
{
	return a->input.n - a->input_at;
}

static void attach_send_credit(struct attachment *a)
{
	struct jw w;
	size_t at;

	if (a->state != ATTACH_OPEN || a->credit - a->credit_sent < ATTACH_WINDOW / 4)
		return;
	a->credit_sent = a->credit;
	at = attach_control_begin(a, &w, "credit");
	jw_key(&w, "bytes");
	jw_uint(&w, a->credit);
	attach_control_end(a, &w, at);
}

void attach_pass_stdin(struct attachment *a)
{
	if (attach_count_input(a))
		a->input_at +=
			attach_write_stdin(a, str_skip(buf_view(&a->input), a->input_at));
	if (!attach_count_input(a)) {
		buf_free(&a->input);
		a->input_at = 0;
		a->is_stuck = false;
		if (a->input_ends && !a->is_muted)
			process_stdin_end(a->follower.process);
		a->input_ends = false;
	}
	attach_send_credit(a);
}

static void attach_queue_stdin(struct attachment *a, struct str bytes)
{
	attach_claim_stdin(a);
	if (!attach_count_input(a))
		bytes = str_skip(bytes, attach_write_stdin(a, bytes));
	if (attach_count_input(a) + bytes.n > ATTACH_WINDOW) {
		attach_fail(a, "More stdin was sent than the window allows.");
		return;
	}
	if (a->input_at > a->input.n / 2) {
		buf_consume(&a->input, a->input_at);
		a->input_at = 0;
	}
	buf_str(&a->input, bytes);
	if (a->input.err)
		attach_fail(a, "The sandbox is out of memory.");
}

/* --- Control frames --------------------------------------------------------------- */

enum { CONTROL_END, CONTROL_SIGNAL, CONTROL_RESIZE, CONTROL_PING };

static const char *const attach_types[] = {
	[CONTROL_END] = "end",
	[CONTROL_SIGNAL] = "signal",
	[CONTROL_RESIZE] = "resize",
	[CONTROL_PING] = "ping",
	NULL,
};

static void attach_signal(struct attachment *a, struct params *p)
{
	static const struct param to = {"to", PARAM_CHOICE, .words = process_targets};
	unsigned target = PROCESS_TREE;
	int signo = process_signal_read(json_get(p->body, "signal"));
	int r = params_read(p, &to, 1, &target);

	if (r)
		attach_send_error(a, p->error);
	else if (!signo)
		attach_send_error(a, "signal: it must be the name or number of a signal");
	else
		r = process_signal(
			a->follower.process, signo, (enum process_target)target);
	/* The process may have ended meanwhile: this is no error of the peer. */
	if (r < 0 && r != -ESRCH)
		attach_send_error(a, "The signal cannot be sent to the process.");
}

static void attach_resize(struct attachment *a, struct params *p)
{
	uint16_t rows, columns;
	int r = process_size_read(p, &rows, &columns);

	if (r)
		attach_send_error(a, p->error);
	else if (process_resize(a->follower.process, rows, columns) == -ENOTTY)
		attach_send_error(a, "The process has no pty.");
}

static void attach_handle_control(struct attachment *a, unsigned type, struct params *p)
{
	switch (type) {
	case CONTROL_END:
		attach_claim_stdin(a);
		a->input_ends = true;
		break;
	case CONTROL_SIGNAL:
		attach_signal(a, p);
		break;
	case CONTROL_RESIZE:
		attach_resize(a, p);
		break;
	default:
		break;
	}
}

static void attach_parse_control(struct attachment *a, struct str text)
{
	static const struct param param = {
		"type", PARAM_CHOICE, true, .words = attach_types};
	struct arena arena;
	struct params p = {.arena = &arena};
	unsigned type;
	int r;

	arena_init(&arena, CONTROL_MEMORY);
	r = params_parse_body(&p, text);
	if (!r)
		r = params_read(&p, &param, 1, &type);
	if (r)
		attach_fail(a, p.error[0] ? p.error : "The sandbox is out of memory.");
	else
		attach_handle_control(a, type, &p);
	arena_reset(&arena);
}

/* --- Frames ------------------------------------------------------------------------ */

static void attach_parse_frames(struct attachment *a, struct str bytes)
{
	struct process_frame f;
	int r = 0;

	while (a->state == ATTACH_OPEN && r == 0) {
		r = process_frames_next(&a->frames, &bytes, &f);
		if (r == 0 && f.type == PROCESS_FRAME_STDIN)
			attach_queue_stdin(a, f.bytes);
		else if (r == 0)
			attach_parse_control(a, f.bytes);
		else if (r < 0)
			attach_fail(a,
				r == ERR_LIMIT         ? "The frame is too long."
					: r == -ENOMEM ? "The sandbox is out of memory."
						       : "The frame is malformed.");
	}
}

static void attach_on_stuck(struct timer *t)
{
	struct attachment *a = container_of(t, struct attachment, stuck);

	a->is_stuck = true;
	a->waits_for_stdin = false;
	attach_run(a, true);
}

/*
 * stdin is full. The process usually reads soon, and then the bytes need no copy. Frames
 * behind them must not wait for a process that does not read.
 */
static int attach_wait_for_stdin(struct attachment *a)
{
	if (a->is_stuck)
		return 1;
	/* Other events of the process do not extend the wait. */
	if (!timer_is_armed(&a->stuck))
		timer_set(a->all->api->box->loop, &a->stuck, ATTACH_STUCK_MS,
			attach_on_stuck);
	a->waits_for_stdin = true;
	/* The process may have read everything since the write that found stdin full. */
	process_stdin_await(a->follower.process);
	return -EAGAIN;
}

bool attach_end_stdin_wait(struct attachment *a)
{
	bool waited = a->waits_for_stdin;

	a->waits_for_stdin = false;
	return waited;
}

/* Splices stdin to the process. 1: not possible now; else as attach_receive. */
static int attach_splice_stdin(struct attachment *a, size_t *budget)
{
	size_t n = process_frames_count_data(&a->frames);
	ssize_t got;

	if (a->state != ATTACH_OPEN || n < ATTACH_COPY || a->cannot_move || a->is_muted ||
		transport_get_plain_fd(&a->transport) < 0)
		return 1;
	if (attach_count_input(a))
		return attach_wait_for_stdin(a);
	attach_claim_stdin(a);
	if (a->is_muted)
		return 1;
	got = process_stdin_splice(
		a->follower.process, a->transport.fd, n < *budget ? n : *budget);
	if (got > 0) {
		process_frames_skip(&a->frames, (size_t)got);
		a->credit += (uint64_t)got;
		*budget -= (size_t)got;
		attach_clear_stuck(a);
		a->has_moved = true;
		return 0;
	}
	if (got == 0)
		return ERR_CLOSED;
	if (got == -EAGAIN)
		return -EAGAIN;
	if (got == -ENOBUFS)
		return attach_wait_for_stdin(a);
	a->cannot_move = got != -EPIPE;
	return 1;
}

static int attach_read(struct attachment *a, size_t *budget)
{
	static char piece[ATTACH_READ];
	size_t n = *budget < sizeof(piece) ? *budget : sizeof(piece);
	ssize_t got;

	/* Reads the next head alone: if its frame is long, the bytes can be spliced. */
	if (a->has_moved && !process_frames_count_data(&a->frames))
		n = PROCESS_FRAME_HEAD;
	a->has_moved = false;
	got = transport_recv(&a->transport, piece, n);
	if (got <= 0)
		return got ? (int)got : ERR_CLOSED;
	*budget -= (size_t)got;
	attach_parse_frames(a, str_make(piece, (size_t)got));
	return 0;
}

int attach_receive(struct attachment *a)
{
	size_t budget = attach_get_quota(a);
	int r = 0;

	if (a->early.n) {
		attach_parse_frames(a, buf_view(&a->early));
		buf_free(&a->early);
	}
	while (r == 0 && budget) {
		r = attach_splice_stdin(a, &budget);
		if (r == 1)
			r = attach_read(a, &budget);
	}
	return r == -EAGAIN ? 0 : r < 0 ? r : 1;
}
