#include "server/process/attach_input.h"

#include "server/process/process_spec.h"

#include <errno.h>

enum {
	ATTACH_READ = 65536,    /* bytes per receive, into a buffer that all share */
	ATTACH_CONTROL = 4096,  /* bytes of a control frame to the sandbox */
	ATTACH_STUCK_MS = 100,  /* stdin is full for so long: reads on */
	CONTROL_MEMORY = 65536, /* memory for a parsed control frame */
};

static struct process *attach_input_get_process(const struct attach_input *in)
{
	return in->output->cursor.follower.process;
}

void attach_input_init(
	struct attach_input *in, struct attach_inputs *all, uint64_t credit)
{
	in->all = all;
	in->credit = in->credit_sent = credit;
	process_frames_init(&in->frames, true, ATTACH_CONTROL);
	buf_init(&in->early, HTTP_HEAD_MAX + HTTP_WINDOW);
	/* Up to half of the buffer can be bytes that the process has taken already. */
	buf_init(&in->bytes, 2 * ATTACH_WINDOW + ATTACH_READ);
	in->serial = ++all->serial;
	list_prepend(&all->list, &in->node);
}

void attach_input_free(struct attach_input *in)
{
	list_remove(&in->node);
	timer_cancel(in->loop, &in->stuck);
	process_frames_free(&in->frames);
	buf_free(&in->early);
	buf_free(&in->bytes);
}

/* --- stdin ---------------------------------------------------------------------- */

static void attach_input_mute(struct attach_input *in)
{
	in->sends_stdin = false;
	in->is_muted = true;
}

/* stdin belongs to the newest attachment that sends stdin. in has got its first byte. */
static void attach_input_claim(struct attach_input *in)
{
	if (in->sends_stdin || in->is_muted)
		return;
	LIST_EACH (struct attach_input, b, &in->all->list, node) {
		if (!b->sends_stdin ||
			attach_input_get_process(b) != attach_input_get_process(in))
			continue;
		if (b->serial > in->serial)
			attach_input_mute(in);
		else
			attach_input_mute(b);
	}
	in->sends_stdin = !in->is_muted;
	if (in->is_muted)
		attach_output_put_error(
			in->output, "stdin is used by a newer attachment.");
}

/* Returns how many bytes were handled. Bytes without a reader are discarded and count. */
static size_t attach_input_write(struct attach_input *in, struct str bytes)
{
	ssize_t n = -EPIPE;

	if (!in->is_muted)
		n = process_stdin_write(attach_input_get_process(in), bytes);
	if (n < 0)
		n = (ssize_t)bytes.n;
	in->credit += (uint64_t)n;
	return (size_t)n;
}

/* stdin takes bytes again. */
static void attach_input_clear_stuck(struct attach_input *in)
{
	in->is_stuck = false;
	timer_cancel(in->loop, &in->stuck);
}

static size_t attach_input_count(const struct attach_input *in)
{
	return in->bytes.n - in->at;
}

static void attach_input_send_credit(struct attach_input *in)
{
	struct jw w;
	size_t at;

	if (in->output->ended || in->credit - in->credit_sent < ATTACH_WINDOW / 4)
		return;
	in->credit_sent = in->credit;
	at = attach_output_begin_control(in->output, &w, "credit");
	jw_key(&w, "bytes");
	jw_uint(&w, in->credit);
	attach_output_end_control(in->output, &w, at);
}

void attach_input_pass(struct attach_input *in)
{
	if (attach_input_count(in))
		in->at += attach_input_write(in, str_skip(buf_view(&in->bytes), in->at));
	if (!attach_input_count(in)) {
		buf_free(&in->bytes);
		in->at = 0;
		in->is_stuck = false;
		if (in->ends && !in->is_muted)
			process_stdin_end(attach_input_get_process(in));
		in->ends = false;
	}
	attach_input_send_credit(in);
}

static void attach_input_queue(struct attach_input *in, struct str bytes)
{
	attach_input_claim(in);
	if (!attach_input_count(in))
		bytes = str_skip(bytes, attach_input_write(in, bytes));
	if (attach_input_count(in) + bytes.n > ATTACH_WINDOW) {
		attach_output_fail(
			in->output, "More stdin was sent than the window allows.");
		return;
	}
	if (in->at > in->bytes.n / 2) {
		buf_consume(&in->bytes, in->at);
		in->at = 0;
	}
	buf_str(&in->bytes, bytes);
	if (in->bytes.err)
		attach_output_fail(in->output, "The sandbox is out of memory.");
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

static void attach_input_signal(struct attach_input *in, struct params *p)
{
	static const struct param to = {"to", PARAM_CHOICE, .words = process_targets};
	unsigned target = PROCESS_TREE;
	int signo = process_signal_read(json_get(p->body, "signal"));
	int r = params_read(p, &to, 1, &target);

	if (r)
		attach_output_put_error(in->output, p->error);
	else if (!signo)
		attach_output_put_error(
			in->output, "signal: it must be the name or number of a signal");
	else
		r = process_signal(
			attach_input_get_process(in), signo, (enum process_target)target);
	/* The process may have ended meanwhile: this is no error of the peer. */
	if (r < 0 && r != -ESRCH)
		attach_output_put_error(
			in->output, "The signal cannot be sent to the process.");
}

static void attach_input_resize(struct attach_input *in, struct params *p)
{
	uint16_t rows, columns;
	int r = process_size_read(p, &rows, &columns);

	if (r)
		attach_output_put_error(in->output, p->error);
	else if (process_resize(attach_input_get_process(in), rows, columns) == -ENOTTY)
		attach_output_put_error(in->output, "The process has no pty.");
}

static void attach_input_handle_control(
	struct attach_input *in, unsigned type, struct params *p)
{
	switch (type) {
	case CONTROL_END:
		attach_input_claim(in);
		in->ends = true;
		break;
	case CONTROL_SIGNAL:
		attach_input_signal(in, p);
		break;
	case CONTROL_RESIZE:
		attach_input_resize(in, p);
		break;
	default:
		break;
	}
}

static void attach_input_parse_control(struct attach_input *in, struct str text)
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
		attach_output_fail(in->output,
			p.error[0] ? p.error : "The sandbox is out of memory.");
	else
		attach_input_handle_control(in, type, &p);
	arena_reset(&arena);
}

/* --- Frames ------------------------------------------------------------------------ */

static void attach_input_parse_frames(struct attach_input *in, struct str bytes)
{
	struct process_frame f;
	int r = 0;

	while (!in->output->ended && r == 0) {
		r = process_frames_next(&in->frames, &bytes, &f);
		if (r == 0 && f.type == PROCESS_FRAME_STDIN)
			attach_input_queue(in, f.bytes);
		else if (r == 0)
			attach_input_parse_control(in, f.bytes);
		else if (r < 0)
			attach_output_fail(in->output,
				r == ERR_LIMIT         ? "The frame is too long."
					: r == -ENOMEM ? "The sandbox is out of memory."
						       : "The frame is malformed.");
	}
}

static void attach_input_on_stuck(struct timer *t)
{
	struct attach_input *in = container_of(t, struct attach_input, stuck);

	in->is_stuck = true;
	in->waits_for_stdin = false;
	in->resume(in);
}

/*
 * stdin is full. The process usually reads soon, and then the bytes need no copy. Frames
 * behind them must not wait for a process that does not read.
 */
static int attach_input_await_space(struct attach_input *in)
{
	if (in->is_stuck)
		return 1;
	/* Other events of the process do not extend the wait. */
	if (!timer_is_armed(&in->stuck))
		timer_set(in->loop, &in->stuck, ATTACH_STUCK_MS, attach_input_on_stuck);
	in->waits_for_stdin = true;
	/* The process may have read everything since the write that found stdin full. */
	process_stdin_await(attach_input_get_process(in));
	return -EAGAIN;
}

bool attach_input_end_wait(struct attach_input *in)
{
	bool waited = in->waits_for_stdin;

	in->waits_for_stdin = false;
	return waited;
}

/* Splices stdin to the process. 1: not possible now; else as attach_input_receive. */
static int attach_input_splice(struct attach_input *in, size_t *budget)
{
	size_t n = process_frames_count_data(&in->frames);
	ssize_t got;

	if (in->output->ended || n < ATTACH_COPY || in->cannot_move || in->is_muted ||
		transport_get_plain_fd(in->transport) < 0)
		return 1;
	if (attach_input_count(in))
		return attach_input_await_space(in);
	attach_input_claim(in);
	if (in->is_muted)
		return 1;
	got = process_stdin_splice(attach_input_get_process(in), in->transport->fd,
		n < *budget ? n : *budget);
	if (got > 0) {
		process_frames_skip(&in->frames, (size_t)got);
		in->credit += (uint64_t)got;
		*budget -= (size_t)got;
		attach_input_clear_stuck(in);
		in->has_moved = true;
		return 0;
	}
	if (got == 0)
		return ERR_CLOSED;
	if (got == -EAGAIN)
		return -EAGAIN;
	if (got == -ENOBUFS)
		return attach_input_await_space(in);
	in->cannot_move = got != -EPIPE;
	return 1;
}

static int attach_input_read(struct attach_input *in, size_t *budget)
{
	static char piece[ATTACH_READ];
	size_t n = *budget < sizeof(piece) ? *budget : sizeof(piece);
	ssize_t got;

	/* Reads the next head alone: if its frame is long, the bytes can be spliced. */
	if (in->has_moved && !process_frames_count_data(&in->frames))
		n = PROCESS_FRAME_HEAD;
	in->has_moved = false;
	got = transport_recv(in->transport, piece, n);
	if (got <= 0)
		return got ? (int)got : ERR_CLOSED;
	*budget -= (size_t)got;
	attach_input_parse_frames(in, str_make(piece, (size_t)got));
	return 0;
}

int attach_input_receive(struct attach_input *in, size_t quota)
{
	size_t budget = quota;
	int r = 0;

	if (in->early.n) {
		attach_input_parse_frames(in, buf_view(&in->early));
		buf_free(&in->early);
	}
	while (r == 0 && budget) {
		r = attach_input_splice(in, &budget);
		if (r == 1)
			r = attach_input_read(in, &budget);
	}
	return r == -EAGAIN ? 0 : r < 0 ? r : 1;
}
