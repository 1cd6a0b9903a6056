#include "server/process/attach_output.h"

#include "server/process/process_spec.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
	ATTACH_FRAME = 256 << 10,     /* bytes of a frame of output, in memory */
	ATTACH_SPOOLED = 1 << 20,     /* bytes of a frame that stays in the spool */
	ATTACH_UNSENT = 256 << 10,    /* bytes queued in the socket */
	ATTACH_WIDE_AFTER = 16 << 20, /* output after which the limit is raised */
	ATTACH_UNSENT_WIDE = 1 << 20, /* raised limit: fewer wake-ups; at most 512 MiB */
};

/* Sets how many unsent bytes may be queued in the socket. */
static void attach_output_set_unsent(struct attach_output *o, unsigned n)
{
	setsockopt(o->transport->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &n, sizeof(n));
}

void attach_output_init(struct attach_output *o, struct transport *t)
{
	o->transport = t;
	buf_init(&o->text, PROCESS_FRAME_MAX);
}

void attach_output_free(struct attach_output *o)
{
	buf_free(&o->text);
	buf_free(&o->frame.piece);
}

void attach_output_start(struct attach_output *o)
{
	attach_output_set_unsent(o, ATTACH_UNSENT);
}

/* --- Control frames ----------------------------------------------------------------- */

size_t attach_output_begin_control(
	struct attach_output *o, struct jw *w, const char *type)
{
	size_t at = process_frame_begin(&o->text, PROCESS_FRAME_CONTROL);

	jw_init(w, &o->text);
	jw_object(w);
	jw_key(w, "type");
	jw_cstr(w, type);
	return at;
}

void attach_output_end_control(struct attach_output *o, struct jw *w, size_t at)
{
	jw_end(w);
	process_frame_end(&o->text, at);
}

void attach_output_put_empty(struct attach_output *o)
{
	process_frame_end(&o->text, process_frame_begin(&o->text, PROCESS_FRAME_STDOUT));
}

void attach_output_put_error(struct attach_output *o, const char *detail)
{
	struct jw w;
	size_t at = attach_output_begin_control(o, &w, "error");

	jw_key(&w, "detail");
	jw_cstr(&w, detail);
	attach_output_end_control(o, &w, at);
}

static void attach_output_put_gap(
	struct attach_output *o, const struct process_cursor_part *gap)
{
	struct process_info info;
	struct jw w;
	size_t at = attach_output_begin_control(o, &w, "gap");

	process_info(o->cursor.follower.process, &info);
	jw_key(&w, "output");
	jw_cstr(&w, gap->no == PROCESS_STDERR ? "stderr" : info.pty ? "pty" : "stdout");
	jw_key(&w, "from");
	jw_uint(&w, gap->from);
	jw_key(&w, "to");
	jw_uint(&w, gap->to);
	attach_output_end_control(o, &w, at);
	process_cursor_move(&o->cursor, gap->no, gap->to);
}

static void attach_output_put_exited(struct attach_output *o)
{
	struct jw w;
	size_t at = attach_output_begin_control(o, &w, "exited");

	process_write_exit(&w, o->cursor.follower.process);
	process_set_seen(o->cursor.follower.process);
	attach_output_end_control(o, &w, at);
	o->ended = true;
}

void attach_output_fail(struct attach_output *o, const char *detail)
{
	if (o->ended)
		return;
	attach_output_put_error(o, detail);
	o->ended = o->failed = true;
}

/* Sends some of the control frames; results as of attach_output_send. */
static int attach_output_send_text(struct attach_output *o)
{
	struct str left = str_skip(buf_view(&o->text), o->text_at);
	struct iovec v = {(void *)(uintptr_t)left.p, left.n};
	ssize_t n = transport_send(o->transport, &v, 1);

	if (n < 0)
		return n == -EAGAIN ? 1 : (int)n;
	o->text_at += (size_t)n;
	if (o->text_at == o->text.n) {
		buf_free(&o->text);
		o->text_at = 0;
	}
	return 0;
}

/* --- Frames of outputs -------------------------------------------------------------- */

/*
 * Copies the rest of the frame from the spool, since its length was sent already.
 * ERR_RANGE: a part of it is lost.
 */
static int attach_output_copy_frame(struct attach_output *o)
{
	struct attach_frame *f = &o->frame;
	uint64_t at = o->cursor.at[f->no];
	struct process_part part;
	int r;

	buf_init(&f->piece, ATTACH_SPOOLED);
	r = process_output_read(
		o->cursor.follower.process, f->no, at, f->left, &f->piece, &part);
	if (!r && (part.from != at || f->piece.n != f->left))
		r = ERR_RANGE;
	return r;
}

/* Begins a frame of the first bytes of the part. */
static int attach_output_begin_frame(
	struct attach_output *o, const struct process_cursor_part *part)
{
	struct attach_frame *f = &o->frame;
	uint64_t n = part->to - part->from;
	bool bare = !o->cannot_sendfile && transport_get_plain_fd(o->transport) >= 0;
	size_t max = bare && o->cursor.follower.releases ? ATTACH_SPOOLED : ATTACH_FRAME;

	f->no = part->no;
	f->left = n < max ? (size_t)n : max;
	f->head_left = sizeof(f->head);
	process_frame_write_head(f->head,
		f->no == PROCESS_STDERR ? PROCESS_FRAME_STDERR : PROCESS_FRAME_STDOUT,
		f->left);
	if (f->left > ATTACH_COPY && bare)
		return 0;
	return attach_output_copy_frame(o);
}

static void attach_output_count_frame(struct attach_output *o, size_t n)
{
	struct attach_frame *f = &o->frame;

	f->left -= n;
	process_cursor_move(&o->cursor, f->no, o->cursor.at[f->no] + n);
	if (!f->left)
		buf_free(&f->piece);
}

/* Sends the head and the copied bytes. */
static int attach_output_send_copied(struct attach_output *o)
{
	struct attach_frame *f = &o->frame;
	struct iovec v[2] = {
		{f->head + sizeof(f->head) - f->head_left, f->head_left},
		{f->piece.p + f->piece.n - f->left, f->left},
	};
	size_t head = f->head_left;
	ssize_t n = transport_send(o->transport, v, 2);

	if (n < 0)
		return n == -EAGAIN ? 1 : (int)n;
	if ((size_t)n < head) {
		f->head_left -= (size_t)n;
		return 1;
	}
	f->head_left = 0;
	attach_output_count_frame(o, (size_t)n - head);
	return 0;
}

/* Sends the head. With MSG_MORE the kernel waits for the bytes that follow. */
static int attach_output_send_head(struct attach_output *o)
{
	struct attach_frame *f = &o->frame;
	ssize_t n = send(o->transport->fd, f->head + sizeof(f->head) - f->head_left,
		f->head_left, MSG_NOSIGNAL | MSG_MORE);

	if (n < 0)
		return errno == EAGAIN ? 1 : errno == EINTR ? 0 : -errno;
	f->head_left -= (size_t)n;
	return 0;
}

static int attach_output_sendfile(struct attach_output *o)
{
	struct attach_frame *f = &o->frame;
	ssize_t n = process_output_send(o->cursor.follower.process, f->no,
		o->cursor.at[f->no], f->left, o->transport->fd);

	if (n > 0) {
		attach_output_count_frame(o, (size_t)n);
		return 0;
	}
	if (n == -EINVAL) {
		o->cannot_sendfile = true;
		return attach_output_copy_frame(o);
	}
	return n == -EAGAIN ? 1 : n ? (int)n : ERR_RANGE;
}

static int attach_output_send_frame(struct attach_output *o)
{
	if (o->frame.piece.n)
		return attach_output_send_copied(o);
	if (o->frame.head_left)
		return attach_output_send_head(o);
	return attach_output_sendfile(o);
}

/* --- The next frame ---------------------------------------------------------------- */

/* Begins the next frame. 0: a frame is to be sent; 1: none; or an error. */
static int attach_output_begin_next(struct attach_output *o)
{
	struct process_cursor_part part;
	int r;

	if (process_is_removed(o->cursor.follower.process)) {
		attach_output_fail(o, "The process was removed.");
		return 0;
	}
	r = process_cursor_next(&o->cursor, &part);
	if (r == ERR_CLOSED) {
		attach_output_put_exited(o);
		return 0;
	}
	if (r)
		return r;
	if (!part.lost)
		return attach_output_begin_frame(o, &part);
	attach_output_put_gap(o, &part);
	return 0;
}

/* Lets the process release bytes that the peer has acknowledged. */
static void attach_output_release(struct attach_output *o)
{
	int queued = 0;

	if (ioctl(o->transport->fd, SIOCOUTQ, &queued) < 0 || queued < 0)
		queued = 0;
	process_cursor_release(&o->cursor, (uint64_t)queued);
}

static uint64_t attach_output_sum_sent(const struct attach_output *o)
{
	return o->cursor.at[PROCESS_STDOUT] + o->cursor.at[PROCESS_STDERR];
}

/*
 * Sends one frame or a part of it. 0: there may be more; 1: the socket is full, or *all
 * is sent.
 */
static int attach_output_send_step(struct attach_output *o, bool *all)
{
	int r = 1;

	if (o->frame.left)
		return attach_output_send_frame(o);
	if (o->text.err)
		return o->text.err;
	if (o->text.n)
		return attach_output_send_text(o);
	if (!o->ended)
		r = attach_output_begin_next(o);
	*all = r == 1;
	return r;
}

int attach_output_send(struct attach_output *o, size_t quota)
{
	uint64_t before = attach_output_sum_sent(o), sent = 0;
	bool all = false;
	int r = 0, flushed;

	while (r == 0 && (sent < quota || o->frame.left)) {
		r = attach_output_send_step(o, &all);
		sent = attach_output_sum_sent(o) - before;
	}
	/*
	 * The output of a process that does not wait for its readers may lose its oldest
	 * bytes, so the rest of the frame is copied.
	 */
	if (r == 1 && o->frame.left && !o->frame.piece.n && !o->cursor.follower.releases)
		r = attach_output_copy_frame(o) ? ERR_RANGE : 1;
	if (o->cursor.follower.releases && sent && !o->ended)
		attach_output_release(o);
	if (o->cursor.follower.releases && !o->wide && before >= ATTACH_WIDE_AFTER) {
		attach_output_set_unsent(o, ATTACH_UNSENT_WIDE);
		o->wide = true;
	}
	if (r < 0)
		return r;
	flushed = transport_flush(o->transport);
	return flushed ? flushed : !all;
}
