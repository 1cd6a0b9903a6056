/* Input and output of the process of an external plugin: frames, and what it prints. */
#include "plugin/external_private.h"

#include "base/fd.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DRAIN_READS = 16 }; /* more than a socket or a pipe holds */

static char room[PLUGIN_READ]; /* for a single read; used up before the next */

static bool external_is_noisy(const struct external *e)
{
	return e->noise >= PLUGIN_NOISE_MAX;
}

/*
 * Does not read from a process that sends too much: the kernel's buffers fill up, and it
 * blocks.
 */
static void external_update_events(struct external *e)
{
	uint32_t in = external_is_noisy(e) ? 0 : EPOLLIN;

	if (e->pipe.fd >= 0)
		loop_set_events(e->box->loop, &e->pipe, in);
	if (e->channel.fd >= 0)
		loop_set_events(
			e->box->loop, &e->channel, in | (e->out.n ? EPOLLOUT : 0));
}

static void external_on_noise_timer(struct timer *t)
{
	struct external *e = container_of(t, struct external, noise_timer);

	if (e->dropped)
		log_warn("plugin %s: %u more lines are not shown", e->plugin.name,
			e->dropped);
	e->noise = e->dropped = e->changes = 0;
	external_update_events(e);
}

bool external_count_noise(struct external *e)
{
	if (external_is_noisy(e)) {
		e->dropped++;
		return false;
	}
	if (!timer_is_armed(&e->noise_timer))
		timer_set(e->box->loop, &e->noise_timer, PLUGIN_NOISE_MS,
			external_on_noise_timer);
	e->noise++;
	if (external_is_noisy(e))
		external_update_events(e);
	return true;
}

/* --- Printed lines ------------------------------------------------------------ */

static void external_end_line(struct external *e)
{
	if (!e->line_n)
		return;
	e->line[e->line_n] = '\0';
	e->line_n = 0;
	snprintf(e->last, sizeof(e->last), "%s", e->line);
	if (external_count_noise(e))
		log_info("plugin %s: %s", e->plugin.name, e->line);
}

static void external_put_output(struct external *e, struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '\n')
			external_end_line(e);
		else if (e->line_n + 1 < sizeof(e->line))
			e->line[e->line_n++] = text.p[i];
}

/* 0: there may be more; 1: nothing now; negative: the end. */
static int external_read_pipe(struct external *e)
{
	ssize_t n = read(e->pipe.fd, room, sizeof(room));

	if (n < 0)
		return errno == EINTR ? 0 : errno == EAGAIN ? 1 : -errno;
	external_put_output(e, str_make(room, (size_t)n));
	return n ? 0 : ERR_CLOSED;
}

void external_pipe_ready(struct io *io, uint32_t events)
{
	struct external *e = container_of(io, struct external, pipe);

	(void)events;
	if (external_read_pipe(e) < 0)
		loop_close(e->box->loop, io);
}

/* --- Frames --------------------------------------------------------------- */

static void external_flush(struct external *e)
{
	while (e->out.n && e->channel.fd >= 0) {
		ssize_t n = send(e->channel.fd, e->out.p, e->out.n, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break; /* the reader detects a broken channel */
		buf_consume(&e->out, (size_t)n);
	}
	if (!e->out.n)
		buf_free(&e->out);
	external_update_events(e);
}

int external_send(struct external *e, struct str frame)
{
	if (frame.n >= PLUGIN_OUT_MAX - e->out.n)
		return ERR_LIMIT;
	buf_str(&e->out, frame);
	buf_putc(&e->out, '\n');
	if (e->out.err) {
		/*
		 * An incomplete frame must not stay: there may be space for its end only.
		 */
		int r = e->out.err;

		external_kill(e, "the sandbox is out of memory");
		return r;
	}
	external_flush(e);
	return 0;
}

void external_send_op(struct external *e, const char *op, uint64_t id)
{
	struct buf frame = BUF_INIT(PLUGIN_LINE_MAX);
	struct jw w;

	jw_init(&w, &frame);
	jw_object(&w);
	jw_key(&w, "op");
	jw_cstr(&w, op);
	if (id) {
		jw_key(&w, "id");
		jw_uint(&w, id);
	}
	jw_end(&w);
	if (!frame.err && external_send(e, buf_view(&frame)) < 0)
		log_info("plugin %s: no memory for %s", e->plugin.name, op);
	buf_free(&frame);
}

bool external_builtin_is_running(const struct plugin_instance *p)
{
	const struct external *e = p->data;

	return e->pid != 0;
}

void external_builtin_send_op(struct plugin_instance *p, const char *op)
{
	struct external *e = p->data;

	if (e->state == EXTERNAL_READY)
		external_send_op(e, op, 0);
}

static int external_handle_frame(struct external *e, struct str line, const char **why)
{
	struct plugin_frame f;
	struct str observation;
	uint64_t id;
	int r;

	if (e->builtin && plugin_frame_match_reply(line, &id, &observation))
		return external_builtin_on_reply(e, id, observation, why);
	if (e->builtin && e->builtin->on_frame && e->builtin->on_frame(e->plug, line))
		return 0;
	arena_rewind(&e->json);
	r = plugin_frame_read(&f, line, &e->json, why);
	if (r)
		return r;
	switch (f.op) {
	case PLUGIN_READY:
	case PLUGIN_UNAVAILABLE:
		*why = "it pauses and resumes calls too often";
		if (e->changes >= PLUGIN_NOISE_MAX)
			return ERR_SYNTAX;
		e->changes++;
		external_count_noise(e);
		if (f.op == PLUGIN_READY)
			external_set_ready(e);
		else
			external_set_absent(e, f.text);
		return 0;
	case PLUGIN_LOG:
		if (external_count_noise(e))
			log_info("plugin %s: %.*s", e->plugin.name,
				(int)(f.text.n < PLUGIN_LINE_MAX ? f.text.n
								 : PLUGIN_LINE_MAX),
				f.text.p);
		return 0;
	case PLUGIN_PONG:
		external_count_noise(e);
		return 0;
	case PLUGIN_REPLY:
		return external_on_reply(e, &f, why);
	}
	return 0;
}

static int external_read_channel(struct external *e, const char **why)
{
	ssize_t n = recv(e->channel.fd, room, sizeof(room), 0);
	struct str in, line;
	int r = 0;

	if (n < 0)
		return errno == EINTR ? 0 : errno == EAGAIN ? 1 : -errno;
	if (n == 0)
		return ERR_CLOSED;
	external_cancel_ping(e);
	in = str_make(room, (size_t)n);
	while (!r && !(r = lines_next(&e->lines, &in, &line)))
		r = external_handle_frame(e, line, why);
	return r < 0 ? r : 0;
}

void external_channel_ready(struct io *io, uint32_t events)
{
	struct external *e = container_of(io, struct external, channel);
	const char *why = NULL;
	char words[PLUGIN_WHY_MAX];
	int r = 0;

	if (events & EPOLLOUT)
		external_flush(e);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		r = external_read_channel(e, &why);
	if (r >= 0)
		return;
	loop_close(e->box->loop, io);
	if (r == ERR_CLOSED || r == -ECONNRESET) {
		external_set_ending(e);
		return;
	}
	if (r == ERR_LIMIT)
		snprintf(words, sizeof(words), "it has sent a frame of more than %d MiB",
			(e->builtin ? OBSERVATION_MAX : PLUGIN_FRAME_MAX) >> 20);
	else
		snprintf(words, sizeof(words),
			"it has sent a line that is not a frame: %s",
			why ? why : err_text(r));
	external_kill(e, words);
}

void external_drain(struct external *e)
{
	const char *why = NULL;

	for (int i = 0; i < DRAIN_READS && e->channel.fd >= 0; i++)
		if (external_read_channel(e, &why))
			break;
	for (int i = 0; i < DRAIN_READS && e->pipe.fd >= 0; i++)
		if (external_read_pipe(e))
			break;
	external_end_line(e);
}

void external_close(struct external *e)
{
	loop_close(e->box->loop, &e->pipe);
	loop_close(e->box->loop, &e->channel);
	spawn_report_close(&e->report);
	lines_free(&e->lines);
	buf_free(&e->out);
	arena_reset(&e->json);
	e->line_n = 0;
}
