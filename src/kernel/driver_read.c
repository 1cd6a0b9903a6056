/* Input and output of a driver's process: text and frames. */
#include "kernel/driver_private.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static bool driver_has_cell(const struct driver *d)
{
	return d->runner.state == RUNNER_BUSY;
}

bool driver_drain(struct driver *d, size_t max)
{
	static char room[DRIVER_READ];

	while (max && d->pipe.fd >= 0) {
		ssize_t n = read(d->pipe.fd, room, sizeof(room));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		/* Output between cells is dropped. */
		if (driver_has_cell(d))
			cell_put_text(&d->runner.cell, str_make(room, (size_t)n));
		max -= (size_t)n < max ? (size_t)n : max;
	}
	return false;
}

void driver_pipe_ready(struct io *io, uint32_t events)
{
	struct driver *d = container_of(io, struct driver, pipe);

	(void)events;
	if (driver_drain(d, DRIVER_READ))
		loop_close(d->loop, io);
}

void driver_send(struct driver *d)
{
	if (d->channel.fd < 0)
		return;
	while (d->out.n) {
		ssize_t n = send(d->channel.fd, d->out.p, d->out.n, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break; /* the reader reports a broken channel */
		buf_consume(&d->out, (size_t)n);
	}
	if (!d->out.n)
		buf_free(&d->out);
	loop_set_events(d->loop, &d->channel, d->out.n ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void driver_put(struct driver *d, const char *op, const char *key, struct str value)
{
	struct buf body = BUF_INIT(DRIVER_FRAME_MAX * 2);
	struct jw w;

	jw_init(&w, &body);
	jw_object(&w);
	jw_key(&w, "op");
	jw_cstr(&w, op);
	jw_key(&w, "id");
	jw_uint(&w, d->cell_id);
	if (key) {
		jw_key(&w, key);
		jw_str(&w, value);
	}
	jw_end(&w);
	if (body.err)
		d->out.err = body.err;
	driver_frame_put(&d->out, buf_view(&body));
	buf_free(&body);
}

static void driver_copy_text(struct driver *d, struct json_val v, char *to, size_t n)
{
	struct str s = STR("");

	if (json_str(v, &d->json, &s) < 0)
		s = STR("");
	snprintf(to, n, "%.*s", (int)(s.n < n ? s.n : n - 1), s.p);
}

static void driver_set_idle(struct driver *d)
{
	if (!d->dying) {
		driver_enter(d, RUNNER_IDLE);
		d->runner.ops->idle(d->runner.arg);
	} else if (d->runner.state == RUNNER_BUSY) {
		/*
		 * A dying process gets no cell. The caller has the result of the last
		 * one.
		 */
		driver_enter(d, RUNNER_STOPPING);
	}
}

static int driver_on_hello(struct driver *d, struct json_val frame)
{
	struct str text = driver_text();
	struct buf body = BUF_INIT(DRIVER_FRAME_MAX);
	int r;

	(void)frame;
	if (d->runner.state != RUNNER_STARTING)
		return ERR_SYNTAX;
	buf_str(&body, text);
	buf_fmt(&body, "\nmain_loop(%s)\n", d->without_ipython ? "True" : "False");
	if (!body.err)
		driver_frame_put(&d->out, buf_view(&body));
	if (d->prepare.n)
		driver_put(d, "prepare", "code", d->prepare);
	r = body.err ? body.err : d->out.err;
	buf_free(&body);
	if (r)
		return r;
	spawn_report_close(&d->report);
	driver_enter(d, RUNNER_LOADING);
	driver_send(d);
	return 0;
}

static int driver_on_ready(struct driver *d, struct json_val frame)
{
	if (d->runner.state != RUNNER_LOADING)
		return ERR_SYNTAX;
	driver_copy_text(
		d, json_get(frame, "exe"), d->runner.python, sizeof(d->runner.python));
	driver_copy_text(d, json_get(frame, "py"), d->version, sizeof(d->version));
	driver_copy_text(d, json_get(frame, "mode"), d->mode, sizeof(d->mode));
	driver_copy_text(
		d, json_get(frame, "why"), d->plain_reason, sizeof(d->plain_reason));
	log_info("kernel: %s, Python %s, %s%s%s", d->runner.python, d->version, d->mode,
		d->plain_reason[0] ? ": " : "", d->plain_reason);
	driver_set_idle(d);
	return 0;
}

/* Acknowledges output. The driver waits for this, so that its next output comes later. */
static int driver_send_ack(struct driver *d)
{
	driver_put(d, "seen", NULL, STR(""));
	driver_send(d);
	return d->out.err;
}

static int driver_on_data(struct driver *d, struct json_val frame)
{
	struct json_val data = json_get(frame, "d");
	struct str s;

	if (driver_has_cell(d) &&
		json_str(json_get(data, "text/plain"), &d->json, &s) == 0)
		cell_put_text(&d->runner.cell, s);
	if (driver_has_cell(d) &&
		json_str(json_get(data, "image/png"), &d->json, &s) == 0)
		cell_put_image(&d->runner.cell, s);
	if (driver_has_cell(d))
		rich_put(&d->runner.cell.rich, data, &d->json);
	return driver_send_ack(d);
}

static int driver_on_error(struct driver *d, struct json_val frame)
{
	struct str s;

	if (driver_has_cell(d) && json_str(json_get(frame, "text"), &d->json, &s) == 0)
		cell_put_text(&d->runner.cell, s);
	return driver_send_ack(d);
}

static int driver_on_done(struct driver *d, struct json_val frame)
{
	int64_t id;

	if (json_i64(json_get(frame, "id"), &id) < 0 || (uint64_t)id != d->cell_id)
		return ERR_SYNTAX;
	d->runner.pause = 0;
	if (d->runner.state == RUNNER_BUSY) {
		d->runner.ops->done(d->runner.arg);
		cell_reset(&d->runner.cell);
	} else if (d->runner.state != RUNNER_STOPPING) {
		return ERR_SYNTAX;
	}
	driver_set_idle(d);
	return 0;
}

static int driver_handle_frame(struct driver *d, struct str text)
{
	static const struct {
		const char *type;
		int (*fn)(struct driver *d, struct json_val frame);
	} types[] = {
		{"hello", driver_on_hello},
		{"ready", driver_on_ready},
		{"execute_result", driver_on_data},
		{"display_data", driver_on_data},
		{"error", driver_on_error},
		{"done", driver_on_done},
	};
	static const struct json_caps caps = {16, 1000, 100};
	struct json_error e;
	struct json json;
	struct str type;
	int r;

	arena_rewind(&d->json);
	r = json_parse(&json, text, &caps, &d->json, &e);
	if (r == 0)
		r = json_str(json_get(json_root(&json), "t"), &d->json, &type);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(types); i++)
		if (str_eq(type, str_c(types[i].type)))
			return types[i].fn(d, json_root(&json));
	return r ? r : ERR_SYNTAX;
}

/*
 * Handles complete frames, each after the text printed before it: the pipe holds at
 * most DRIVER_PIPE bytes. Frames are read in place, and handling one does not move the
 * buffer.
 */
static int driver_handle_frames(struct driver *d)
{
	struct str frame;
	int r;

	while ((r = driver_frames_next(&d->frames, &frame)) == 0) {
		driver_drain(d, DRIVER_PIPE);
		r = driver_handle_frame(d, frame);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : 0;
}

int driver_read(struct driver *d)
{
	static char room[DRIVER_READ];
	ssize_t n = recv(d->channel.fd, room, sizeof(room), 0);
	int r;

	if (n < 0)
		return errno == EINTR ? 0 : errno == EAGAIN ? 1 : -errno;
	if (n == 0)
		return ERR_CLOSED;
	r = driver_frames_put(&d->frames, str_make(room, (size_t)n));
	return r ? r : driver_handle_frames(d);
}

void driver_channel_ready(struct io *io, uint32_t events)
{
	struct driver *d = container_of(io, struct driver, channel);
	int r = 0;

	if (events & EPOLLOUT)
		driver_send(d);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		r = driver_read(d);
	if (r >= 0)
		return;
	if (r != ERR_CLOSED)
		log_warn("kernel: the channel to the Python process is broken: %s",
			err_text(r));
	/*
	 * The channel is useless from now on: a cell may have closed it or written into
	 * it.
	 */
	loop_close(d->loop, io);
	driver_kill(d);
}
