/*
 * Rewrites the journal without obsolete records, in steps, beside the old file. The old
 * file is the journal until the last step, which also adds the changes since the other
 * steps.
 */
#include "action/ledger/ledger_private.h"

#include "base/atomic_file.h"
#include "base/fd.h"
#include "limits.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	LEDGER_STEP_BYTES = 1 << 20, /* bytes copied at once into a new file */
	LEDGER_STEP = 2000,          /* records copied at once: some milliseconds */
	LEDGER_ENTRY_BYTES = 200,    /* of a file, for an entry without its answer */
	LEDGER_GONE_BYTES = 26,      /* of a file, for an id alone */
	LEDGER_EVENT_BYTES = 60,     /* of a file, for an event */
};

enum phase { COPY_EVICTED, COPY_EVENTS, COPY_ENTRIES, COPY_FINAL };

struct shrink {
	struct ledger to; /* its journal, and the ring of its events */
	struct buf late;
	struct atomic_file swap; /* of a file with a name */
	enum phase phase;
	uint64_t evicted;          /* the next used id, counted as evicted_total */
	struct ledger_entry *next; /* the next entry */
};

/* Work done by a step; the step ends when it has done enough. */
struct step {
	size_t records;
	uint64_t bytes;
};

static bool ledger_shrink_is_step_full(const struct step *s)
{
	return s->records >= LEDGER_STEP || s->bytes >= LEDGER_STEP_BYTES;
}

/* --- One entry ---------------------------------------------------------------- */

/* The request is not needed any more when the action has ended. */
static int ledger_shrink_copy_accept(
	struct ledger *to, const struct ledger *from, struct ledger_entry *e)
{
	struct buf request = BUF_INIT(JOURNAL_RECORD_MAX);
	struct ledger_entry copy = *e;
	int r;

	if (!e->request_n)
		return ledger_add_accept(to, e);
	r = ledger_read_request(from, e, &request);
	if (!r)
		r = ledger_add_queue(to, &copy, buf_view(&request));
	e->copy.request_at = copy.request_at;
	buf_free(&request);
	return r;
}

static int ledger_shrink_copy_end(
	struct ledger *to, const struct ledger *from, struct ledger_entry *e)
{
	struct buf answer = BUF_INIT(JOURNAL_RECORD_MAX);
	int r = ledger_read_answer(from, e, &answer);

	if (!r)
		r = ledger_add_end(
			to, e, e->state, e->status, buf_view(&answer), &e->copy.at);
	buf_free(&answer);
	return r;
}

/* Adds the records of an entry that the new file lacks. */
static int ledger_shrink_copy_entry(struct ledger *to, const struct ledger *from,
	struct ledger_entry *e, struct step *step)
{
	struct ledger_copy *c = &e->copy;
	bool ended = !ledger_is_open(e);
	bool started = e->state != LEDGER_ACCEPTED && e->state != LEDGER_CANCELLED;
	int r = c->accepted ? 0 : ledger_shrink_copy_accept(to, from, e);

	step->records++;
	if (!c->accepted)
		step->bytes += e->request_n;
	if (!r && started && !c->started)
		r = ledger_add_start(to, e);
	if (!r && e->cancel != c->cancel)
		r = ledger_add_cancel(to, e);
	if (!r && e->out_n && !c->has_output)
		r = ledger_add_output(to, e);
	if (!r && ended && !c->ended) {
		step->bytes += e->n;
		r = ledger_shrink_copy_end(to, from, e);
	}
	if (!r && e->acked && !c->acked)
		r = ledger_add_ack(to, e);
	c->accepted = true;
	c->started = started;
	c->cancel = e->cancel;
	c->has_output = e->out_n;
	c->ended = ended;
	c->acked = e->acked;
	return r;
}

/* --- Its steps ---------------------------------------------------------------- */

/* Ids used meanwhile overwrite the first ones in the ring: those are skipped. */
static int ledger_shrink_copy_evicted(
	struct shrink *s, const struct ledger *l, struct step *step)
{
	int r = 0;

	if (s->evicted + l->evicted_n < l->evicted_total)
		s->evicted = l->evicted_total - l->evicted_n;
	for (; s->evicted < l->evicted_total && !r && !ledger_shrink_is_step_full(step);
		step->records++)
		r = ledger_add_evicted(
			&s->to, l->evicted[s->evicted++ % LEDGER_GONE_MAX]);
	return r;
}

static int ledger_shrink_copy_events(
	struct shrink *s, const struct ledger *l, struct step *step)
{
	uint64_t first = ledger_first_event(l), at;
	int r = 0;

	if (s->to.event + 1 < first) {
		s->to.events_n = 0;
		s->to.event = first - 1;
	}
	for (; s->to.event < l->event && !r && !ledger_shrink_is_step_full(step);
		step->records++) {
		uint64_t seq = s->to.event + 1;
		struct ledger_event e;

		r = ledger_read_event(l, seq, &e);
		if (!r)
			r = ledger_add_event(&s->to, &e, &at);
		if (!r)
			r = ledger_index_event(&s->to, seq, at);
	}
	return r;
}

static int ledger_shrink_copy_entries(
	struct shrink *s, const struct ledger *l, struct step *step)
{
	int r = 0;

	for (; s->next && !r && !ledger_shrink_is_step_full(step);
		s->next = s->next->newer)
		r = ledger_shrink_copy_entry(&s->to, l, s->next, step);
	return r;
}

/* All the rest in a single step, since no record may be added in between. */
static int ledger_shrink_copy_final(struct shrink *s, struct ledger *l)
{
	struct step all = {0};
	int r = 0;

	for (; s->evicted < l->evicted_total && !r; all.records = 0)
		r = ledger_shrink_copy_evicted(s, l, &all);
	for (struct ledger_entry *e = l->oldest; e && !r; e = e->newer)
		r = ledger_shrink_copy_entry(&s->to, l, e, &all);
	s->to.lease = l->lease;
	if (!r && l->lease)
		r = ledger_add_lease(&s->to);
	for (all = (struct step){0}; s->to.event < l->event && !r; all.records = 0)
		r = ledger_shrink_copy_events(s, l, &all);
	return r ? r : ledger_add_posted(&s->to);
}

static int ledger_shrink_sync(struct shrink *s, const struct ledger *l)
{
	int r = journal_flush(&s->to.journal);

	if (!r && l->sync && fdatasync(s->to.journal.fd) < 0)
		r = -errno;
	return r;
}

/* --- Beginning and end ----------------------------------------------------------- */

static int ledger_shrink_skip_record(void *ctx, const struct journal_entry *j)
{
	(void)ctx;
	(void)j;
	return 0;
}

/* Makes a file that will take the journal's name, or memory if the journal has none. */
static int ledger_shrink_open_file(struct shrink *s, const struct ledger *l)
{
	uint64_t torn;
	int fd, r = 0;

	if (l->dir < 0) {
		fd = fd_create_memory("od-ledger", 0);
	} else {
		r = atomic_file_begin(&s->swap, l->dir);
		/*
		 * The journal needs a copy of the descriptor, and its lock before it has
		 * the name.
		 */
		fd = r ? r : fd_dup(s->swap.fd, 0);
	}
	if (fd < 0)
		return fd;
	s->to.journal.fd = fd;
	r = l->dir < 0 ? 0 : ledger_lock_file(fd, 0);
	if (!r)
		r = journal_begin(
			&s->to.journal, fd, ledger_shrink_skip_record, NULL, &torn);
	journal_collect(&s->to.journal, &s->late);
	return r;
}

static struct shrink *ledger_shrink_new(void)
{
	return calloc(1, sizeof(struct shrink));
}

static int ledger_shrink_begin(struct ledger *l)
{
	struct shrink *s = ledger_shrink_new();
	int r;

	if (!s)
		return -ENOMEM;
	l->shrink = s;
	buf_init(&s->late, JOURNAL_LATE_MAX);
	s->to = (struct ledger){.dir = l->dir, .boot = l->boot, .journal.fd = -1};
	memcpy(s->to.box, l->box, sizeof(l->box));
	s->swap = (struct atomic_file){.fd = -1};
	for (struct ledger_entry *e = l->oldest; e; e = e->newer)
		e->copy = (struct ledger_copy){0};
	s->next = l->oldest;
	r = ledger_shrink_open_file(s, l);
	return r ? r : ledger_add_box(&s->to);
}

void ledger_shrink_stop(struct ledger *l)
{
	struct shrink *s = l->shrink;

	if (!s)
		return;
	if (s->swap.fd >= 0)
		atomic_file_end(&s->swap);
	fd_close(&s->to.journal.fd);
	free(s->to.events);
	buf_free(&s->late);
	free(s);
	l->shrink = NULL;
}

void ledger_shrink_skip_entry(struct ledger *l, const struct ledger_entry *e)
{
	if (l->shrink && l->shrink->next == e)
		l->shrink->next = e->newer;
}

/* Makes the new file the journal. */
static void ledger_shrink_switch_file(struct ledger *l)
{
	struct shrink *s = l->shrink;
	uint64_t *events = l->events;

	fd_close(&l->journal.fd);
	l->journal = s->to.journal;
	journal_collect(&l->journal, NULL);
	l->events = s->to.events;
	for (struct ledger_entry *e = l->oldest; e; e = e->newer) {
		e->at = e->copy.at;
		e->request_at = e->copy.request_at;
	}
	l->moved = true;
	s->to.journal.fd = -1;
	s->to.events = events;
}

static int ledger_shrink_finish(struct ledger *l)
{
	static const struct atomic_file_attr ours = {0600, (uid_t)-1, (gid_t)-1};
	struct shrink *s = l->shrink;
	int r = ledger_shrink_copy_final(s, l);

	if (!r)
		r = ledger_shrink_sync(s, l);
	if (!r && l->dir >= 0)
		r = atomic_file_commit(&s->swap, l->name, &ours, NULL);
	if (!r)
		ledger_shrink_switch_file(l);
	return r;
}

static int ledger_shrink_run_step(struct ledger *l)
{
	struct shrink *s = l->shrink;
	struct step step = {0};
	int r = 0;

	switch (s->phase) {
	case COPY_EVICTED:
		r = ledger_shrink_copy_evicted(s, l, &step);
		break;
	case COPY_EVENTS:
		r = ledger_shrink_copy_events(s, l, &step);
		break;
	case COPY_ENTRIES:
		r = ledger_shrink_copy_entries(s, l, &step);
		break;
	case COPY_FINAL:
		return ledger_shrink_finish(l);
	}
	if (!ledger_shrink_is_step_full(&step))
		s->phase++;
	return r ? r : ledger_shrink_sync(s, l);
}

bool ledger_is_large(const struct ledger *l)
{
	uint64_t counts = l->answers + l->request_bytes +
		l->entries * LEDGER_ENTRY_BYTES + l->evicted_n * LEDGER_GONE_BYTES +
		l->events_n * LEDGER_EVENT_BYTES;

	return l->journal.size >= LEDGER_SHRINK_MIN && l->journal.size / 2 >= counts &&
		l->journal.size >= l->shrink_from;
}

bool ledger_shrink(struct ledger *l)
{
	bool last = l->shrink && l->shrink->phase == COPY_FINAL;
	int r = 0;

	if (!l->shrink && !ledger_is_large(l))
		return false;
	r = l->shrink ? ledger_shrink_run_step(l) : ledger_shrink_begin(l);
	if (!r && !last)
		return true;
	/* After a failure, the next attempt waits until the journal has grown. */
	l->shrink_from = r ? l->journal.size + LEDGER_SHRINK_MIN : 0;
	ledger_shrink_stop(l);
	return false;
}
