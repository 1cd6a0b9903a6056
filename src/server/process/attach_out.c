/* Attached connections: output to the peer. */
#include "server/process/attach_private.h"

#include "server/process/process_spec.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { RELEASE_LAG = 32 << 10 /* half of the smallest output_limit */ };

/* --- Control frames ----------------------------------------------------------------- */

size_t attach_control_begin(struct attachment *a, struct jw *w, const char *type)
{
	size_t at = process_frame_begin(&a->text, PROCESS_FRAME_CONTROL);

	jw_init(w, &a->text);
	jw_object(w);
	jw_key(w, "type");
	jw_cstr(w, type);
	return at;
}

void attach_control_end(struct attachment *a, struct jw *w, size_t at)
{
	jw_end(w);
	process_frame_end(&a->text, at);
}

void attach_put_empty(struct attachment *a)
{
	process_frame_end(&a->text, process_frame_begin(&a->text, PROCESS_FRAME_STDOUT));
}

void attach_send_error(struct attachment *a, const char *detail)
{
	struct jw w;
	size_t at = attach_control_begin(a, &w, "error");

	jw_key(&w, "detail");
	jw_cstr(&w, detail);
	attach_control_end(a, &w, at);
}

static void attach_send_gap(struct attachment *a, unsigned no, uint64_t to)
{
	struct process_info info;
	struct jw w;
	size_t at = attach_control_begin(a, &w, "gap");

	process_info(a->follower.process, &info);
	jw_key(&w, "output");
	jw_cstr(&w, no == PROCESS_STDERR ? "stderr" : info.pty ? "pty" : "stdout");
	jw_key(&w, "from");
	jw_uint(&w, a->sent[no]);
	jw_key(&w, "to");
	jw_uint(&w, to);
	attach_control_end(a, &w, at);
	a->sent[no] = to;
}

static void attach_send_exited(struct attachment *a)
{
	struct jw w;
	size_t at = attach_control_begin(a, &w, "exited");

	process_write_exit(&w, a->follower.process);
	process_set_seen(a->follower.process);
	attach_control_end(a, &w, at);
	attach_set_state(a, ATTACH_ENDING);
}

/* Sends some of the control frames; results as of attach_send. */
static int attach_send_text(struct attachment *a)
{
	struct str left = str_skip(buf_view(&a->text), a->text_at);
	struct iovec v = {(void *)(uintptr_t)left.p, left.n};
	ssize_t n = transport_send(&a->transport, &v, 1);

	if (n < 0)
		return n == -EAGAIN ? 1 : (int)n;
	a->text_at += (size_t)n;
	if (a->text_at == a->text.n) {
		buf_free(&a->text);
		a->text_at = 0;
	}
	return 0;
}

/* --- Frames of outputs -------------------------------------------------------------- */

/*
 * Copies the rest of the frame from the spool, since its length was sent already.
 * ERR_RANGE: a part of it is lost.
 */
static int attach_copy_frame(struct attachment *a)
{
	struct attach_frame *f = &a->frame;
	struct process_part part;
	int r;

	buf_init(&f->piece, ATTACH_SPOOLED);
	r = process_output_read(
		a->follower.process, f->no, a->sent[f->no], f->left, &f->piece, &part);
	if (!r && (part.from != a->sent[f->no] || f->piece.n != f->left))
		r = ERR_RANGE;
	return r;
}

/* Begins a frame of at most n bytes of the output. */
static int attach_begin_frame(struct attachment *a, unsigned no, uint64_t n)
{
	struct attach_frame *f = &a->frame;
	bool bare = !a->cannot_sendfile && transport_get_plain_fd(&a->transport) >= 0;
	size_t max = bare && a->releases ? ATTACH_SPOOLED : ATTACH_FRAME;

	f->no = no;
	f->left = n < max ? (size_t)n : max;
	f->head_left = sizeof(f->head);
	process_frame_write_head(f->head,
		no == PROCESS_STDERR ? PROCESS_FRAME_STDERR : PROCESS_FRAME_STDOUT,
		f->left);
	if (f->left > ATTACH_COPY && bare)
		return 0;
	return attach_copy_frame(a);
}

static void attach_count_frame(struct attachment *a, size_t n)
{
	struct attach_frame *f = &a->frame;

	f->left -= n;
	a->sent[f->no] += n;
	if (!f->left)
		buf_free(&f->piece);
}

/* Sends the head and the copied bytes. */
static int attach_send_copied(struct attachment *a)
{
	struct attach_frame *f = &a->frame;
	struct iovec v[2] = {
		{f->head + sizeof(f->head) - f->head_left, f->head_left},
		{f->piece.p + f->piece.n - f->left, f->left},
	};
	size_t head = f->head_left;
	ssize_t n = transport_send(&a->transport, v, 2);

	if (n < 0)
		return n == -EAGAIN ? 1 : (int)n;
	if ((size_t)n < head) {
		f->head_left -= (size_t)n;
		return 1;
	}
	f->head_left = 0;
	attach_count_frame(a, (size_t)n - head);
	return 0;
}

/* Sends the head. With MSG_MORE the kernel waits for the bytes that follow. */
static int attach_send_head(struct attachment *a)
{
	struct attach_frame *f = &a->frame;
	ssize_t n = send(a->transport.fd, f->head + sizeof(f->head) - f->head_left,
		f->head_left, MSG_NOSIGNAL | MSG_MORE);

	if (n < 0)
		return errno == EAGAIN ? 1 : errno == EINTR ? 0 : -errno;
	f->head_left -= (size_t)n;
	return 0;
}

static int attach_sendfile(struct attachment *a)
{
	struct attach_frame *f = &a->frame;
	ssize_t n = process_output_send(
		a->follower.process, f->no, a->sent[f->no], f->left, a->transport.fd);

	if (n > 0) {
		attach_count_frame(a, (size_t)n);
		return 0;
	}
	if (n == -EINVAL) {
		a->cannot_sendfile = true;
		return attach_copy_frame(a);
	}
	return n == -EAGAIN ? 1 : n ? (int)n : ERR_RANGE;
}

static int attach_send_frame(struct attachment *a)
{
	if (a->frame.piece.n)
		return attach_send_copied(a);
	if (a->frame.head_left)
		return attach_send_head(a);
	return attach_sendfile(a);
}

/* --- The next frame ---------------------------------------------------------------- */

/* The end offset of the output for this peer: at the exit, or at the end of output. */
static uint64_t attach_get_output_end(
	const struct attachment *a, const struct process_output *o)
{
	return !a->until_end && o->at_exit < o->end ? o->at_exit : o->end;
}

/* Begins the next frame of the output. 0: there is one; 1: none; or an error. */
static int attach_begin_output(struct attachment *a, unsigned no, bool *open)
{
	struct process_output o;
	uint64_t end;

	process_output(a->follower.process, no, &o);
	end = attach_get_output_end(a, &o);
	if (a->sent[no] < o.start && a->sent[no] < end) {
		attach_send_gap(a, no, o.start < end ? o.start : end);
		return 0;
	}
	if (a->sent[no] < end)
		return attach_begin_frame(a, no, end - a->sent[no]);
	*open = *open || (o.open && (a->until_end || o.end < o.at_exit));
	return 1;
}

/* The outputs take turns. 0: a frame is to be sent; 1: none; or an error. */
static int attach_begin_next(struct attachment *a)
{
	const struct process *p = a->follower.process;
	unsigned n = process_outputs(p), first = (a->frame.no + 1) % n;
	bool open = !process_get_exit(p);
	int r = 1;

	if (process_is_removed(p)) {
		attach_fail(a, "The process was removed.");
		return 0;
	}
	for (unsigned i = 0; i < n && r == 1; i++)
		r = attach_begin_output(a, (first + i) % n, &open);
	if (r == 1 && !open) {
		attach_send_exited(a);
		r = 0;
	}
	return r;
}

/*
 * Lets the process release bytes that the peer has acknowledged. Bytes in flight are kept
 * for a peer that loses the connection.
 */
static void attach_release(struct attachment *a)
{
	unsigned n = process_outputs(a->follower.process);
	int queued = 0;

	if (ioctl(a->transport.fd, SIOCOUTQ, &queued) < 0 || queued < 0)
		queued = 0;
	if (queued > RELEASE_LAG)
		queued = RELEASE_LAG;
	for (unsigned i = 0; i < n; i++)
		if (a->sent[i] > (uint64_t)queued)
			process_release(a->follower.process, i, &a->follower,
				a->sent[i] - (uint64_t)queued);
}

static uint64_t attach_sum_sent(const struct attachment *a)
{
	return a->sent[PROCESS_STDOUT] + a->sent[PROCESS_STDERR];
}

/*
 * Sends one frame or a part of it. 0: there may be more; 1: the socket is full, or *all
 * is sent.
 */
static int attach_send_step(struct attachment *a, bool *all)
{
	int r = 1;

	if (a->frame.left)
		return attach_send_frame(a);
	if (a->text.err)
		return a->text.err;
	if (a->text.n)
		return attach_send_text(a);
	if (a->state == ATTACH_OPEN)
		r = attach_begin_next(a);
	*all = r == 1;
	return r;
}

int attach_send(struct attachment *a)
{
	uint64_t before = attach_sum_sent(a), sent = 0;
	bool all = false;
	int r = 0, flushed;

	while (r == 0 && (sent < attach_get_quota(a) || a->frame.left)) {
		r = attach_send_step(a, &all);
		sent = attach_sum_sent(a) - before;
	}
	/*
	 * The output of a process that does not wait for its readers may lose its oldest
	 * bytes, so the rest of the frame is copied.
	 */
	if (r == 1 && a->frame.left && !a->frame.piece.n && !a->releases)
		r = attach_copy_frame(a) ? ERR_RANGE : 1;
	if (a->releases && sent && a->state == ATTACH_OPEN)
		attach_release(a);
	if (a->releases && !a->pipe_widened && before >= ATTACH_WIDE_AFTER) {
		attach_set_unsent(a, ATTACH_UNSENT_WIDE);
		a->pipe_widened = true;
	}
	if (r < 0)
		return r;
	flushed = transport_flush(&a->transport);
	return flushed ? flushed : !all;
}
