/* Input and output of the process of an external plugin: frames, and what it prints. */
#include "plugin/external_private.h"

#include "base/log.h"

#include <stdio.h>

static bool external_is_noisy(const struct external *e)
{
	return e->noise >= PLUGIN_NOISE_MAX;
}

static void external_on_noise_timer(struct timer *t)
{
	struct external *e = container_of(t, struct external, noise_timer);

	if (e->dropped)
		log_warn("plugin %s: %u more lines are not shown", e->plugin.name,
			e->dropped);
	e->noise = e->dropped = e->changes = 0;
	service_set_deaf(&e->service, false);
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
		/*
		 * The kernel's buffers fill up, and a process that sends too much blocks.
		 */
		service_set_deaf(&e->service, true);
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

void external_on_printed(struct service *s, struct str text)
{
	struct external *e = container_of(s, struct external, service);

	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '\n')
			external_end_line(e);
		else if (e->line_n + 1 < sizeof(e->line))
			e->line[e->line_n++] = text.p[i];
}

/* --- Frames --------------------------------------------------------------- */

int external_send(struct external *e, struct str frame)
{
	struct buf *out = &e->service.out;

	if (frame.n >= PLUGIN_OUT_MAX - out->n)
		return ERR_LIMIT;
	buf_str(out, frame);
	buf_putc(out, '\n');
	if (out->err) {
		/*
		 * An incomplete frame must not stay: there may be space for its end only.
		 */
		int r = out->err;

		service_kill(&e->service, "the sandbox is out of memory");
		return r;
	}
	service_flush(&e->service);
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

	return e->service.pid != 0;
}

void external_builtin_send_op(struct plugin_instance *p, const char *op)
{
	struct external *e = p->data;

	if (e->service.state == SERVICE_READY)
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

int external_on_received(struct service *s, char *bytes, size_t n)
{
	struct external *e = container_of(s, struct external, service);
	struct str in = str_make(bytes, n), line;
	const char *why = NULL;
	char words[PLUGIN_WHY_MAX];
	int r = 0;

	external_cancel_ping(e);
	while (!r && !(r = lines_next(&e->lines, &in, &line)))
		r = external_handle_frame(e, line, &why);
	if (r >= 0)
		return 0;
	if (r == ERR_LIMIT)
		snprintf(words, sizeof(words), "it has sent a frame of more than %d MiB",
			(e->builtin ? OBSERVATION_MAX : PLUGIN_FRAME_MAX) >> 20);
	else
		snprintf(words, sizeof(words),
			"it has sent a line that is not a frame: %s",
			why ? why : err_text(r));
	service_kill(s, words);
	return r;
}

void external_end_io(struct external *e)
{
	e->line_n = 0;
	lines_free(&e->lines);
	arena_reset(&e->json);
}
