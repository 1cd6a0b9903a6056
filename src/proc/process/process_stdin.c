/*
 * stdin of processes. Bytes of peers go into a pipe of serve, the stage, and are
 * spliced from there into the pipe of the process. A step moves one of the two ends of
 * the stage: after a crash the number of bytes that it holds shows how far the step has
 * come, and no byte is lost or taken twice.
 *
 * A pty has no stage: the bytes of a write that a crash interrupts count as taken.
 */
#include "proc/process/process_private.h"

#include "base/fd.h"
#include "proc/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { SINK_COPY = 4096 }; /* PIPE_BUF: a pipe that is writable takes all of it */

static const char end_key = 0x04;

static void process_sink_on_event(struct io *io, uint32_t events);

void process_stdin(const struct process *p, struct process_stdin *out)
{
	*out = (struct process_stdin){
		.open = p->record->in.open,
		.offset = p->record->in.taken,
	};
}

void process_sink_close(struct process *p)
{
	static const char *const parts[] = {":0", ":0r", ":0w"};
	struct process_sink *s = &p->in;

	bool was_open = s->fd >= 0;

	if (p->record)
		p->record->in.open = false;
	loop_remove(p->all->conf->loop, &s->io);
	fd_close(&s->fd);
	fd_close(&s->stage[0]);
	fd_close(&s->stage[1]);
	if (!was_open)
		return;
	for (size_t i = 0; i < ARRAY_LEN(parts) && !(p->record && p->record->pty); i++)
		process_store_drop(p, parts[i]);
	process_wake(p);
}

/* --- The stage ------------------------------------------------------------- */

static void process_stage_begin(struct process *p, enum process_stage step)
{
	struct process_stdin_record *r = &p->record->in;

	r->taken_then = r->taken;
	r->held_then = p->in.held;
	__atomic_store_n(&r->stage, step, __ATOMIC_RELEASE);
}

/* n: bytes that went in or out. */
static void process_stage_end(struct process *p, ssize_t n)
{
	struct process_stdin_record *r = &p->record->in;
	uint32_t moved = n > 0 ? (uint32_t)n : 0;

	if (r->stage == STAGE_FILLS) {
		r->taken += moved;
		p->in.held += moved;
	} else {
		p->in.held -= moved;
	}
	__atomic_store_n(&r->stage, STAGE_IDLE, __ATOMIC_RELEASE);
}

static void process_stage_restore(struct process *p)
{
	struct process_stdin_record *r = &p->record->in;
	int held = 0;

	if (ioctl(p->in.stage[0], FIONREAD, &held) < 0)
		held = 0;
	p->in.held = (uint32_t)held;
	if (r->stage == STAGE_FILLS)
		r->taken = r->taken_then + (p->in.held - r->held_then);
	r->stage = STAGE_IDLE;
}

static bool process_is_writable(int fd)
{
	struct pollfd w = {.fd = fd, .events = POLLOUT};

	return poll(&w, 1, 0) > 0 && !(w.revents & ~POLLOUT);
}

/* Used where pipes cannot be spliced: a writable pipe takes SINK_COPY bytes. */
static ssize_t process_stage_copy(struct process_sink *s)
{
	char bytes[SINK_COPY];
	ssize_t n;

	if (!process_is_writable(s->fd)) {
		errno = EAGAIN;
		return -1;
	}
	n = read(s->stage[0], bytes, sizeof(bytes));
	return n > 0 ? write(s->fd, bytes, (size_t)n) : n;
}

static ssize_t process_stage_splice(struct process_sink *s)
{
	ssize_t n;

	if (!s->no_splice) {
		n = splice(s->stage[0], NULL, s->fd, NULL, s->held, SPLICE_F_NONBLOCK);
		if (n >= 0 || (errno != EINVAL && errno != ENOSYS && errno != EPERM))
			return n;
		s->no_splice = true;
	}
	return process_stage_copy(s);
}

/* Drains the stage into stdin: 0; 1: bytes are left; -EPIPE: stdin has no reader. */
static int process_stage_drain(struct process *p)
{
	struct process_sink *s = &p->in;
	ssize_t n;

	while (s->held) {
		process_stage_begin(p, STAGE_DRAINS);
		n = process_stage_splice(s);
		n = n < 0 ? -errno : n;
		process_stage_end(p, n);
		if (n == -EAGAIN || n == 0)
			return 1;
		if (n < 0 && n != -EINTR)
			return -EPIPE;
	}
	return 0;
}

/* The stage is as large as the pipe that it fills. */
static void process_sink_widen(struct process *p)
{
	bool wide = p->in.wide;

	process_widen_pipe(&wide, p->in.stage[1], p->record->in.taken);
	process_widen_pipe(&p->in.wide, p->in.fd, p->record->in.taken);
}

/* To be called after each step: closes stdin if it has ended, else waits for space. */
static void process_sink_update(struct process *p)
{
	struct process_sink *s = &p->in;
	int r = s->is_blocked;

	if (!p->record->pty)
		process_sink_widen(p);
	/* Until the pipe is writable, a step would be two useless system calls. */
	if (!r && s->stage[0] >= 0)
		r = process_stage_drain(p);
	s->is_blocked = r == 1;

	if (r < 0 || (r == 0 && p->record->in.ends)) {
		process_sink_close(p);
		return;
	}
	loop_set_events(
		p->all->conf->loop, &s->io, r || s->is_full ? EPOLLOUT : EPOLLONESHOT);
}

static void process_sink_on_event(struct io *io, uint32_t events)
{
	struct process_sink *s = container_of(io, struct process_sink, io);
	struct process *p = container_of(s, struct process, in);

	/* The end of a pty is detected by its output. */
	if ((events & (EPOLLERR | EPOLLHUP)) && !p->record->pty) {
		process_sink_close(p);
		return;
	}
	if (s->is_full)
		process_wake(p);
	s->is_full = s->is_blocked = false;
	process_sink_update(p);
}

int process_sink_watch(struct process *p)
{
	return loop_add(p->all->conf->loop, &p->in.io, p->in.fd, EPOLLONESHOT,
		process_sink_on_event);
}

void process_sink_restore(struct process *p)
{
	if (p->in.stage[0] >= 0)
		process_stage_restore(p);
	process_sink_update(p);
}

/* --- For writers ----------------------------------------------------------- */

/* Counts the bytes first: if a crash interrupts the write, they are not repeated. */
static ssize_t process_pty_write(struct process *p, struct str bytes)
{
	uint64_t before = p->record->in.taken;
	ssize_t n;

	p->record->in.taken = before + bytes.n;
	n = write(p->in.fd, bytes.p, bytes.n);
	p->record->in.taken = before + (n > 0 ? (uint64_t)n : 0);
	return n < 0 ? -errno : n;
}

static ssize_t process_stage_write(struct process *p, struct str bytes)
{
	ssize_t n;

	process_stage_begin(p, STAGE_FILLS);
	n = write(p->in.stage[1], bytes.p, bytes.n);
	n = n < 0 ? -errno : n;
	process_stage_end(p, n);
	return n;
}

static bool process_stdin_is_open(const struct process *p)
{
	return p->in.fd >= 0 && p->record->in.open && !p->record->in.ends;
}

ssize_t process_stdin_write(struct process *p, struct str bytes)
{
	bool pty = p->record->pty;
	size_t taken = 0;

	while (process_stdin_is_open(p) && taken < bytes.n) {
		struct str rest = str_skip(bytes, taken);
		ssize_t n =
			pty ? process_pty_write(p, rest) : process_stage_write(p, rest);

		if (n == -EINTR)
			continue;
		p->in.is_full |= n == -EAGAIN;
		if (n < 0 && n != -EAGAIN)
			process_sink_close(p);
		else
			process_sink_update(p);
		if (n <= 0)
			break;
		taken += (size_t)n;
	}
	return taken || process_stdin_is_open(p) ? (ssize_t)taken : -EPIPE;
}

static bool process_is_readable(int fd)
{
	struct pollfd w = {.fd = fd, .events = POLLIN};

	return poll(&w, 1, 0) > 0;
}

ssize_t process_stdin_splice(struct process *p, int fd, size_t n)
{
	ssize_t moved;

	if (!process_stdin_is_open(p))
		return -EPIPE;
	if (p->in.stage[1] < 0)
		return -EINVAL;
	do {
		process_stage_begin(p, STAGE_FILLS);
		moved = splice(fd, NULL, p->in.stage[1], NULL, n, SPLICE_F_NONBLOCK);
		moved = moved < 0 ? -errno : moved;
		process_stage_end(p, moved);
	} while (moved == -EINTR);
	/* -EAGAIN: fd is empty, or the stage is full. */
	if (moved == -EAGAIN && process_is_readable(fd)) {
		p->in.is_full = true;
		moved = -ENOBUFS;
	}
	process_sink_update(p);
	return moved;
}

void process_stdin_await(struct process *p)
{
	if (!process_stdin_is_open(p)) {
		process_wake(p);
		return;
	}
	p->in.is_full = true;
	process_sink_update(p);
}

void process_stdin_end(struct process *p)
{
	if (!process_stdin_is_open(p))
		return;
	/* Without the EOF character a program that reads lines would wait for ever. */
	if (p->record->pty && pty_is_canonical(p->in.fd) &&
		write(p->in.fd, &end_key, 1) < 0)
		errno = 0;
	p->record->in.open = false;
	p->record->in.ends = true;
	process_wake(p);
	process_sink_update(p);
}
