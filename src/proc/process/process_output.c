/* Outputs of processes: read from their pipes as they come, kept within bounds. */
#include "proc/process/process_private.h"

#include "base/fd.h"
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>

enum { PROCESS_READ_BUDGET = 256 << 10 }; /* bytes per wake-up and output: 0.1 ms */

/* No events but the end of the pipe, which is reported once, and not at each wait. */
enum { SOURCE_QUIET = EPOLLONESHOT };

static unsigned process_source_number(const struct process_source *s)
{
	return (unsigned)(s - s->process->out);
}

unsigned process_outputs(const struct process *p)
{
	return p->record->pty ? 1 : PROCESS_OUTPUTS;
}

static const char *process_part_name(unsigned no, bool spool)
{
	static const char *const parts[][2] = {{":1", ":1s"}, {":2", ":2s"}};

	return parts[no][spool];
}

/* --- Bounds ---------------------------------------------------------------- */

/* The share of each output if all together keep too much. */
static uint64_t process_output_share(const struct processes *all)
{
	uint64_t n = PROCESS_OUTPUTS * (uint64_t)(all->running + all->exited);
	uint64_t share = PROCESS_OUTPUT_TOTAL / (n ? n : 1);

	return share > PROCESS_OUTPUT_MIN ? share : PROCESS_OUTPUT_MIN;
}

/* The limit of unread bytes for a process that waits for its readers. */
static uint64_t process_unread_limit(const struct process *p)
{
	uint64_t limit = p->record->output_limit, share = process_output_share(p->all);
	bool scarce = p->all->output_bytes > PROCESS_OUTPUT_TOTAL / 2;

	return scarce && share < limit ? share : limit;
}

/* If files have no holes, a new file releases the memory. */
static void process_source_compact(struct process_source *s)
{
	int r = 0;

	if (!process_spool_is_wasteful(&s->spool))
		return;
	r = process_spool_compact(&s->spool);
	if (r == 0)
		r = process_store(s->process,
			process_part_name(process_source_number(s), true), s->spool.fd);
	if (r < 0)
		log_warn("process %s: the memory of its output cannot be released: %s",
			s->process->id, err_text(r));
}

/* Keeps the last keep bytes. */
static void process_source_trim(struct process_source *s, uint64_t keep)
{
	uint64_t before = process_spool_size(&s->spool);
	uint64_t to = s->spool.end > keep ? s->spool.end - keep : 0;
	const struct process_record *r = s->process->record;

	if (r->wait_when_full && to > r->out[process_source_number(s)].released)
		to = r->out[process_source_number(s)].released;
	process_spool_trim(&s->spool, to);
	s->process->all->output_bytes -= before - process_spool_size(&s->spool);
	process_source_compact(s);
}

/* Trims all outputs of exited processes, the oldest first, or of the others. */
static void process_trim_outputs(struct processes *all, bool ended)
{
	uint64_t share = process_output_share(all);

	LIST_EACH (struct process, p, &all->list, node) {
		if (all->output_bytes <= PROCESS_OUTPUT_TOTAL)
			return;
		if ((p->record->state == PROCESS_EXITED) != ended)
			continue;
		for (unsigned i = 0; i < process_outputs(p); i++)
			if (p->out[i].spool.fd >= 0)
				process_source_trim(&p->out[i], share);
	}
}

static void process_source_bound(struct process_source *s)
{
	struct processes *all = s->process->all;

	if (process_spool_size(&s->spool) > s->process->record->output_limit)
		process_source_trim(s, s->process->record->output_limit);
	if (all->output_bytes <= PROCESS_OUTPUT_TOTAL)
		return;
	process_trim_outputs(all, true);
	process_trim_outputs(all, false);
}

/* The number of bytes that may be read from the source now. */
static uint64_t process_source_space(const struct process_source *s)
{
	const struct process_record *r = s->process->record;
	uint64_t unread = s->spool.end - r->out[process_source_number(s)].released;
	uint64_t budget = s->wide ? PROCESS_PIPE_WIDE : PROCESS_READ_BUDGET;
	uint64_t limit;

	if (!r->wait_when_full)
		return budget;
	limit = process_unread_limit(s->process);
	if (unread >= limit)
		return 0;
	return limit - unread < budget ? limit - unread : budget;
}

/* --- Reading --------------------------------------------------------------- */

void process_widen_pipe(bool *wide, int fd, uint64_t moved)
{
	if (*wide || moved < PROCESS_WIDE_AFTER)
		return;
	fd_widen_pipe(fd, PROCESS_PIPE_WIDE);
	*wide = true;
}

void process_source_close(struct process *p, unsigned no)
{
	struct process_source *s = &p->out[no];

	if (s->fd < 0)
		return;
	loop_remove(p->all->conf->loop, &s->io);
	fd_close(&s->fd);
	p->record->out[no].open = false;
	process_store_drop(p, process_part_name(no, false));
	process_wake(p);
}

/* Reads once: 0; 1: there is nothing to read now; negative: the output has ended. */
static int process_source_read(struct process_source *s, size_t max)
{
	ssize_t got = process_spool_append(&s->spool, s->fd, max);

	if (got == -EAGAIN || got == -EINTR)
		return 1;
	if (got <= 0)
		return ERR_CLOSED;
	s->process->all->output_bytes += (uint64_t)got;
	process_widen_pipe(&s->wide, s->fd, s->spool.end);
	process_source_bound(s);
	return 0;
}

static void process_source_on_event(struct io *io, uint32_t events)
{
	struct process_source *s = container_of(io, struct process_source, io);
	struct process *p = s->process;
	uint64_t space = process_source_space(s);
	int r;

	(void)events;
	if (!space) {
		s->paused = true;
		loop_set_events(p->all->conf->loop, &s->io, SOURCE_QUIET);
		return;
	}
	r = process_source_read(s, (size_t)space);
	/* Closing a pty would send SIGHUP to the process, which may open it again. */
	if (r < 0 && p->record->pty && p->record->state != PROCESS_EXITED)
		loop_set_events(p->all->conf->loop, &s->io, EPOLLIN | EPOLLET);
	else if (r < 0)
		process_source_close(p, process_source_number(s));
	else if (r == 0)
		process_wake(p);
}

int process_source_watch(struct process *p, unsigned no)
{
	struct process_source *s = &p->out[no];

	/*
	 * A read of a pty returns at most PROCESS_LANDING bytes: splice would save
	 * nothing.
	 */
	if (p->record->pty)
		s->spool.no_splice = true;
	else
		fd_widen_pipe(s->fd, PROCESS_PIPE);
	return loop_add(
		p->all->conf->loop, &s->io, s->fd, EPOLLIN, process_source_on_event);
}

void process_source_resume(struct process *p, unsigned no)
{
	struct process_source *s = &p->out[no];

	if (!s->paused || !process_source_space(s))
		return;
	s->paused = false;
	loop_set_events(p->all->conf->loop, &s->io, EPOLLIN);
}

/* The number of bytes in a pty is not known: all of them are read, which are few. */
static void process_source_drain(struct process_source *s)
{
	size_t left = SHELL_LAST_MAX;
	uint64_t before;

	while (left) {
		int r;

		before = s->spool.end;
		r = process_source_read(s, left);
		if (r < 0)
			process_source_close(s->process, process_source_number(s));
		else if (r > 0)
			loop_set_events(s->process->all->conf->loop, &s->io, EPOLLIN);
		if (r)
			return;
		left -= s->spool.end - before < left ? (size_t)(s->spool.end - before)
						     : left;
	}
}

void process_source_mark_exit(struct process *p)
{
	for (unsigned i = 0; i < process_outputs(p); i++) {
		struct process_source *s = &p->out[i];
		int waiting = 0;

		if (s->fd >= 0 && p->record->pty)
			process_source_drain(s);
		else if (s->fd >= 0 && ioctl(s->fd, FIONREAD, &waiting) < 0)
			waiting = 0;
		p->record->out[i].at_exit = s->spool.end + (uint64_t)waiting;
		process_source_resume(p, i);
	}
}

void process_sources_free(struct process *p)
{
	for (unsigned i = 0; i < PROCESS_OUTPUTS; i++) {
		struct process_source *s = &p->out[i];

		loop_remove(p->all->conf->loop, &s->io);
		fd_close(&s->fd);
		/* An output that was not restored has not been counted. */
		if (s->spool.fd >= 0 && s->spool.meta)
			p->all->output_bytes -= process_spool_size(&s->spool);
		process_spool_free(&s->spool);
	}
}

/* --- For readers ----------------------------------------------------------- */

void process_output(const struct process *p, unsigned no, struct process_output *out)
{
	const struct process_output_record *r = &p->record->out[no];

	*out = (struct process_output){
		.start = p->record->spool[no].start,
		.end = p->out[no].spool.end,
		.at_exit = r->at_exit,
		.open = r->open,
	};
}

int process_output_read(const struct process *p, unsigned no, uint64_t at, size_t max,
	struct buf *out, struct process_part *part)
{
	return process_spool_read(&p->out[no].spool, at, max, out, part);
}

ssize_t process_output_send(
	const struct process *p, unsigned no, uint64_t at, size_t n, int sock)
{
	return process_spool_send(&p->out[no].spool, at, n, sock);
}

/* Finds the smallest offset of followers with releases; false: there are none. */
static bool process_find_slowest(const struct process *p, unsigned no, uint64_t *offset)
{
	bool found = false;

	LIST_EACH (const struct process_follower, f, &p->followers.waiters, waiter.node) {
		if (!f->releases || (found && f->released[no] >= *offset))
			continue;
		*offset = f->released[no];
		found = true;
	}
	return found;
}

void process_release(
	struct process *p, unsigned no, struct process_follower *f, uint64_t offset)
{
	struct process_output_record *r = &p->record->out[no];

	if (offset > p->out[no].spool.end)
		offset = p->out[no].spool.end;
	if (f && offset > f->released[no])
		f->released[no] = offset;
	(void)process_find_slowest(p, no, &offset);
	if (offset > r->released)
		r->released = offset;
	process_source_resume(p, no);
}
