/*
 * The channel of a process, which it starts or finds by its id. The channel carries the
 * outputs by offset, each in frames of its own kind, stdin, and the exit. A process
 * without kill_on_disconnect outlives the channel.
 */
#include "server/stream/channel.h"

#include "limits.h"
#include "server/process/process_cursor.h"
#include "server/process/process_spec.h"
#include "server/process/processes.h"
#include "shell/shell.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

struct process_channel {
	struct channel channel;
	struct process_cursor cursor;
	struct loop *loop;
	bool starts;   /* the result of the start has not been sent */
	struct buf in; /* stdin that the process has not taken */
	bool in_ends;  /* in holds the last bytes */
	struct later later;
};

static struct process_channel *channel_process_cast(struct channel *c)
{
	return container_of(c, struct process_channel, channel);
}

static struct process *channel_process_get_process(const struct process_channel *x)
{
	return x->cursor.follower.process;
}

/* --- stdin -------------------------------------------------------------------------- */

/* Bytes without a reader count as taken. */
static void channel_process_pass_stdin(struct process_channel *x)
{
	ssize_t n = 0;

	if (process_state(channel_process_get_process(x)) == PROCESS_STARTING)
		return;
	if (x->in.n)
		n = process_stdin_write(channel_process_get_process(x), buf_view(&x->in));
	if (n < 0)
		n = (ssize_t)x->in.n;
	buf_consume(&x->in, (size_t)n);
	if (!x->in.n)
		buf_free(&x->in);
	if (!x->in.n && x->in_ends) {
		x->in_ends = false;
		process_stdin_end(channel_process_get_process(x));
	}
	if (n)
		channel_ack_input(&x->channel, (size_t)n);
}

static void channel_process_input(struct channel *c, struct str bytes)
{
	struct process_channel *x = channel_process_cast(c);

	buf_str(&x->in, bytes);
	if (x->in.err)
		channel_close(c, -1, "Out of memory.");
	else
		channel_process_pass_stdin(x);
}

static void channel_process_end_input(struct channel *c)
{
	struct process_channel *x = channel_process_cast(c);

	x->in_ends = true;
	channel_process_pass_stdin(x);
}

/* --- Control ------------------------------------------------------------------------ */

static void channel_process_resize(struct channel *c, uint16_t rows, uint16_t columns)
{
	if (process_resize(channel_process_get_process(channel_process_cast(c)), rows,
		    columns) < 0)
		channel_send_error(c, "The process has no pty.");
}

static void channel_process_cancel(struct channel *c, unsigned mode)
{
	static const int signals[] = {
		SIGINT, SIGTERM, SIGKILL}; /* as idem_cancel_modes */
	int r = process_signal(channel_process_get_process(channel_process_cast(c)),
		signals[mode], PROCESS_TREE);

	if (r < 0 && r != -ESRCH)
		channel_send_error(c, "The signal cannot be sent to the process.");
}

/* --- The beginning ------------------------------------------------------------------ */

static void channel_process_on_change(struct waiter *f)
{
	struct process_channel *x =
		container_of(f, struct process_channel, cursor.follower.waiter);

	channel_process_pass_stdin(x);
	channel_wake(&x->channel);
}

static struct process *channel_process_refuse(
	struct channel_refusal *why, unsigned status, const char *words)
{
	why->status = status;
	snprintf(why->text, sizeof(why->text), "%s", words);
	why->message = why->text;
	return NULL;
}

/* Reads the spec and starts the process. */
static struct process *channel_process_start_spec(
	struct stream *s, struct params *params, struct channel_refusal *why)
{
	const struct api *api = stream_get_api(s);
	struct process_spec spec;
	struct process *p;
	const char *what;
	int r = process_spec_read(params, api->box->shell_setup->env, &spec);

	if (r)
		return channel_process_refuse(why, (unsigned)r, params->error);
	r = process_start(api->processes, &spec, &p, &what);
	if (r == ERR_LIMIT)
		return channel_process_refuse(why, 429,
			"The maximum number of processes is reached. End one of them.");
	if (r == ERR_REFUSED)
		return channel_process_refuse(why, 422, PROCESS_USER_FIXED);
	if (r < 0)
		return channel_process_refuse(
			why, 503, "The process cannot be started now.");
	return p;
}

static struct process *channel_process_start(
	struct stream *s, const struct stream_request *ask, struct channel_refusal *why)
{
	struct arena arena;
	struct params params = {.arena = &arena, .body = ask->start};
	struct process *p;

	arena_init(&arena, STREAM_TEXT_MEMORY);
	p = channel_process_start_spec(s, &params, why);
	arena_reset(&arena);
	return p;
}

static struct process *channel_process_find(
	struct stream *s, const struct stream_request *ask, struct channel_refusal *why)
{
	struct process *p = process_find(stream_get_api(s)->processes, ask->process);
	uint64_t want[PROCESS_OUTPUTS] = {
		ask->offset == UINT64_MAX ? 0 : ask->offset, ask->stderr_at};

	if (!p)
		return channel_process_refuse(why, 404, "No process has this id.");
	if (!process_cursor_is_valid(p, want))
		return channel_process_refuse(
			why, 416, "The offset is beyond the end of the output.");
	return p;
}

static void channel_process_put_object(struct process_channel *x, struct jw *w)
{
	jw_key(w, "process");
	process_write(w, channel_process_get_process(x));
}

static struct process_channel *channel_process_new(void)
{
	return calloc(1, sizeof(struct process_channel));
}

static struct channel *channel_process_begin(struct stream *s,
	const struct stream_request *ask, struct jw *w, struct channel_refusal *why)
{
	struct process_channel *x = channel_process_new();
	struct process *p = NULL;

	if (!x)
		channel_process_refuse(why, 503, "Out of memory.");
	else if (json_type(ask->start) == JSON_OBJECT)
		p = channel_process_start(s, ask, why);
	else
		p = channel_process_find(s, ask, why);
	if (!p) {
		free(x);
		return NULL;
	}
	x->loop = stream_get_api(s)->box->loop;
	x->starts = process_state(p) == PROCESS_STARTING;
	if (!x->starts) {
		x->cursor.at[PROCESS_STDOUT] =
			ask->offset == UINT64_MAX ? 0 : ask->offset;
		x->cursor.at[PROCESS_STDERR] = ask->stderr_at;
	}
	buf_init(&x->in, STREAM_INPUT);
	x->cursor.follower.waiter.fn = channel_process_on_change;
	process_cursor_begin(&x->cursor, p);
	if (!x->starts)
		channel_process_put_object(x, w);
	return &x->channel;
}

/* Sends that the program was executed. */
static void channel_process_send_started(struct process_channel *x)
{
	struct jw w;

	x->starts = false;
	channel_begin_text(&x->channel, &w, "started");
	channel_process_put_object(x, &w);
	channel_end_text(&x->channel, &w);
}

/* --- Outputs ------------------------------------------------------------------------ */

static void channel_process_send_gap(
	struct process_channel *x, const struct process_cursor_part *gap)
{
	struct jw w;

	channel_begin_text(&x->channel, &w, "gap");
	jw_key(&w, "output");
	jw_cstr(&w, gap->no == PROCESS_STDERR ? "stderr" : "stdout");
	jw_key(&w, "from");
	jw_uint(&w, gap->from);
	jw_key(&w, "to");
	jw_uint(&w, gap->to);
	channel_end_text(&x->channel, &w);
	process_cursor_move(&x->cursor, gap->no, gap->to);
}

/* Sends a frame of the first bytes of the part. Returns 0 or an error. */
static int channel_process_send_bytes(
	struct process_channel *x, const struct process_cursor_part *part, size_t max)
{
	struct buf bytes = BUF_INIT(STREAM_PIECE);
	struct process_part read;
	int r;

	if (max > STREAM_PIECE)
		max = STREAM_PIECE;
	if (max > part->to - part->from)
		max = (size_t)(part->to - part->from);
	r = process_output_read(
		channel_process_get_process(x), part->no, part->from, max, &bytes, &read);
	if (!r) {
		channel_send(&x->channel,
			part->no == PROCESS_STDERR ? CHANNEL_STDERR : CHANNEL_OUTPUT,
			part->from, bytes.n, buf_view(&bytes));
		process_cursor_move(&x->cursor, part->no, part->from + bytes.n);
	}
	buf_free(&bytes);
	return r;
}

static int channel_process_close(
	struct process_channel *x, int exit_code, const char *why)
{
	channel_close(&x->channel, exit_code, why);
	return -1;
}

/* Closes the channel with the exit code, which is 128 + signal as in a shell. */
static int channel_process_send_exit(struct process_channel *x)
{
	int status = process_get_exit(channel_process_get_process(x))->status;

	process_set_seen(channel_process_get_process(x));
	return channel_process_close(x,
		WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), NULL);
}

static int channel_process_send_failure(struct process_channel *x)
{
	const char *detail;
	enum process_reason reason =
		process_failure(channel_process_get_process(x), &detail);

	return channel_process_close(x,
		reason == PROCESS_NOT_FOUND                ? 127
			: reason == PROCESS_NOT_EXECUTABLE ? 126
							   : -1,
		detail);
}

static int channel_process_send_next(struct channel *c, size_t max)
{
	struct process_channel *x = channel_process_cast(c);
	const struct process *p = channel_process_get_process(x);
	struct process_cursor_part part;
	int r;

	if (process_state(p) == PROCESS_STARTING)
		return 1;
	if (process_state(p) == PROCESS_FAILED)
		return channel_process_send_failure(x);
	if (x->starts) {
		channel_process_send_started(x);
		return 0;
	}
	if (process_is_removed(p))
		return channel_process_close(x, -1, "The process was removed.");
	if (x->cursor.follower.releases)
		process_cursor_release(&x->cursor, c->sent - c->acked);
	r = process_cursor_next(&x->cursor, &part);
	if (r == ERR_CLOSED)
		return channel_process_send_exit(x);
	if (r)
		return r;
	if (part.lost)
		channel_process_send_gap(x, &part);
	else if (channel_process_send_bytes(x, &part, max) < 0)
		return channel_process_close(x, -1, "The output cannot be read.");
	return 0;
}

static void channel_process_free_memory(struct later *later)
{
	free(container_of(later, struct process_channel, later));
}

static void channel_process_free(struct channel *c)
{
	struct process_channel *x = channel_process_cast(c);

	process_cursor_end(&x->cursor);
	buf_free(&x->in);
	loop_defer_free(x->loop, &x->later, channel_process_free_memory);
}

const struct channel_kind channel_process = {
	.begin = channel_process_begin,
	.more = channel_process_send_next,
	.input = channel_process_input,
	.end = channel_process_end_input,
	.resize = channel_process_resize,
	.cancel = channel_process_cancel,
	.free = channel_process_free,
};
